//! A shell script as words, targets of redirections and what separates commands.
//!
//! This is no full parser: it knows quotes, substitutions, here-documents and comments, and no grammar.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    pub(super) start: usize,
    /// It stands directly beside another of the same kind, as in `((`.
    pub(super) doubled: bool,
}

impl Token<'_> {
    pub(super) fn is_pipe(&self) -> bool {
        matches!(self.kind, Kind::Separator("|" | "|&"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Target,
    Separator(&'static str),
}

pub(super) struct Tokens<'s> {
    pub(super) list: Vec<Token<'s>>,
    /// No quote, parenthesis or here-document is still open.
    pub(super) complete: bool,
}

const SEPARATORS: [&str; 11] = ["||", "|&", "|", "&&", ";;", ";", "&", "(", ")", "\n", "\r"];
const REDIRECTIONS: [&str; 12] = ["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"];

pub(super) fn tokens(script: &str) -> Tokens<'_> {
    let mut read = Tokens { list: Vec::new(), complete: true };
    let mut here_documents: Vec<(String, bool)> = Vec::new();
    let mut redirection: Option<&str> = None;
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = script.get(at..).filter(|rest| !rest.is_empty()) {
        let is_process = rest.starts_with("<(") || rest.starts_with(">(");
        if rest.starts_with([' ', '\t']) {
            at += 1;
        } else if rest.starts_with("\\\n") {
            at += 2;
        } else if rest.starts_with('#') {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(found) = starts(rest, &REDIRECTIONS).filter(|_| !is_process) {
            redirection = Some(found);
            at += found.len();
        } else if let Some(found) = starts(rest, &SEPARATORS) {
            let doubled =
                matches!(found, "(" | ")") && (script[..at].ends_with(found) || rest[1..].starts_with(found));
            read.list.push(Token { kind: Kind::Separator(found), text: found, start: at, doubled });
            at += found.len();
            match found {
                "(" => depth += 1,
                // The end of a pattern in a `case` closes nothing.
                ")" => depth = depth.saturating_sub(1),
                "\n" => {
                    for (end, tabs) in here_documents.drain(..) {
                        match after_here_document(&script[at..], &end, tabs) {
                            Some(length) => at += length,
                            None => {
                                read.complete = false;
                                at = script.len();
                            }
                        }
                    }
                }
                _ => {}
            }
        } else {
            let word = word(rest);
            read.complete &= word.closed;
            let text = &rest[..word.length];
            let after = &rest[word.length..];
            match redirection.take() {
                Some(operator @ ("<<" | "<<-")) => {
                    let end = text.replace(['\'', '"', '\\'], "");
                    here_documents.push((end, operator == "<<-"));
                }
                Some(_) => read.list.push(token(Kind::Target, text, at)),
                // The number of what is redirected.
                None if is_number(text) && after.starts_with(['<', '>']) => {}
                None => read.list.push(token(Kind::Word, text, at)),
            }
            at += word.length.max(1);
        }
    }
    read.complete &= depth == 0 && here_documents.is_empty() && redirection.is_none();
    read
}

fn token(kind: Kind, text: &str, start: usize) -> Token<'_> {
    Token { kind, text, start, doubled: false }
}

fn starts(text: &str, known: &[&'static str]) -> Option<&'static str> {
    known.iter().copied().find(|known| text.starts_with(known))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// How long the body of a here-document is, with its last line.
fn after_here_document(text: &str, end: &str, tabs: bool) -> Option<usize> {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        let bare = if tabs { bare.trim_start_matches('\t') } else { bare };
        if bare == end {
            return Some(length);
        }
    }
    None
}

/// A word's length in bytes, and whether everything that was opened in it is closed.
struct Word {
    length: usize,
    closed: bool,
}

/// Reads a word with its quotes and substitutions. One pass over the text, with a stack in place of recursion: the text may
/// nest as deep as it likes.
fn word(text: &str) -> Word {
    let bytes = text.as_bytes();
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let inside = open.last().copied();
        let starts_group = matches!((byte, next), (b'$' | b'<' | b'>', Some(b'(')));
        match inside {
            Some(b'\'') if byte == b'\'' => _ = open.pop(),
            Some(b'\'') => {}
            Some(b'e') if byte == b'\\' => at += 1,
            Some(b'e') if byte == b'\'' => _ = open.pop(),
            Some(b'e') => {}
            _ if byte == b'\\' => at += 1,
            Some(end @ (b'"' | b'`')) if byte == end => _ = open.pop(),
            Some(b')') if byte == b')' => _ = open.pop(),
            Some(b'}') if byte == b'}' => _ = open.pop(),
            _ if byte == b'`' => open.push(b'`'),
            _ if byte == b'$' && next == Some(b'{') => {
                open.push(b'}');
                at += 1;
            }
            _ if byte == b'$' && next == Some(b'(') => {
                open.push(b')');
                at += 1;
            }
            Some(b'"') => {}
            _ if byte == b'"' => open.push(b'"'),
            _ if byte == b'$' && next == Some(b'\'') => {
                open.push(b'e');
                at += 1;
            }
            _ if byte == b'\'' => open.push(b'\''),
            Some(b')') if byte == b'(' => open.push(b')'),
            Some(_) => {}
            None if starts_group => {
                open.push(b')');
                at += 1;
            }
            None if b" \t\n\r;&|()<>".contains(&byte) => break,
            None => {}
        }
        at += 1;
    }
    // A backslash may be the last character of all.
    let length = at.min(bytes.len());
    let mut end = length;
    while !text.is_char_boundary(end) {
        end += 1;
    }
    Word { length: end, closed: open.is_empty() }
}

/// The words of every simple command of a script, wherever it stands.
pub(super) fn commands(script: &str) -> Vec<Vec<&str>> {
    let list = tokens(script).list;
    let commands = list.split(|token| matches!(token.kind, Kind::Separator(_)));
    let words = commands.map(|command| {
        let words = command.iter().filter(|token| token.kind == Kind::Word);
        words.map(|token| token.text).collect::<Vec<_>>()
    });
    words.filter(|words| !words.is_empty()).collect()
}

/// What a quoted word contains, where a shell changes nothing in it.
pub(super) fn unquoted(word: &str) -> Option<&str> {
    let inside = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    let found = inside('\'').or_else(|| inside('"'))?;
    (!found.contains(['\'', '"', '$', '`', '\\'])).then_some(found)
}

/// The text before the parenthesis that closes what it stands in.
pub(super) fn up_to_parenthesis(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = tokens(text).list.into_iter().find(|token| match token.kind {
        Kind::Separator("(") => {
            depth += 1;
            false
        }
        Kind::Separator(")") if depth == 0 => true,
        Kind::Separator(")") => {
            depth -= 1;
            false
        }
        _ => false,
    });
    end.map_or(text, |end| &text[..end.start])
}
