//! Words as shells give them, and answers as they take them.

use std::ffi::OsString;

use ralph_core::text::one_line;

use super::Asker;
use super::values::{Answer, Candidate};

/// Characters of a description.
const ABOUT: usize = 80;
/// Where bash splits words too.
const BREAKS: [&str; 2] = [":", "="];

/// A command line as it was typed.
#[derive(Debug, PartialEq, Eq)]
pub struct Typed {
    /// Its words, without quotes, up to the cursor.
    pub words: Vec<String>,
    /// Bytes at the beginning of the last word that the shell does not replace.
    kept: usize,
    /// Whether the last word has an open quote, within which nothing needs a backslash.
    quote: Quote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    None,
    Open,
}

/// What a shell means by its words.
pub fn read(shell: Asker, words: &[OsString]) -> Typed {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match shell {
        Asker::Bash => of_bash(&words),
        Asker::Zsh => Typed {
            words,
            kept: 0,
            quote: Quote::None,
        },
        Asker::Fish => {
            let mut words = words;
            if let Some(last) = words.last_mut() {
                *last = unquoted(last);
            }
            Typed {
                words,
                kept: 0,
                quote: Quote::None,
            }
        }
    }
}

/// Bash takes a word with `:` or `=` in it for several, and replaces the last of them only. An empty word is none of a
/// broken one: there was a blank before it.
fn of_bash(pieces: &[String]) -> Typed {
    let is_break = |piece: &str| BREAKS.contains(&piece);
    let mut words: Vec<String> = Vec::new();
    let mut joins = false;
    let mut kept = 0;
    let mut quote = Quote::None;
    for piece in pieces {
        let plain = unquoted(piece);
        let broken = is_break(piece);
        match words
            .last_mut()
            .filter(|_| (joins || broken) && !piece.is_empty())
        {
            Some(word) => {
                kept = word.len() + if broken { piece.len() } else { 0 };
                word.push_str(&plain);
            }
            None => {
                kept = 0;
                words.push(plain);
            }
        }
        joins = broken;
        quote = match piece.chars().next() {
            Some('"' | '\'') => Quote::Open,
            _ => Quote::None,
        };
    }
    Typed { words, kept, quote }
}

/// A word as the shell would pass it on; a quote may still be open.
fn unquoted(word: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => plain.extend(letters.next()),
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, _) => plain.push(letter),
        }
    }
    plain
}

/// The answer: who completes, then what fits, a line each.
pub fn write(shell: Asker, typed: &Typed, answer: &Answer) -> String {
    let words = match answer {
        Answer::Files => return "files\n".into(),
        Answer::Dirs => return "dirs\n".into(),
        Answer::Words(words) => words,
    };
    let lines = words.iter().map(|candidate| line(shell, typed, candidate));
    std::iter::once("words".to_owned())
        .chain(lines)
        .map(|line| line + "\n")
        .collect()
}

fn line(shell: Asker, typed: &Typed, candidate: &Candidate) -> String {
    let about = one_line(&candidate.about, ABOUT);
    let word = &candidate.word;
    match shell {
        Asker::Bash => {
            let rest = word.get(typed.kept..).unwrap_or_default();
            match typed.quote {
                Quote::Open => rest.to_owned(),
                Quote::None => escaped(rest),
            }
        }
        Asker::Zsh => {
            let word = word.replace('\\', "\\\\").replace(':', "\\:");
            if about.is_empty() {
                word
            } else {
                format!("{word}:{about}")
            }
        }
        Asker::Fish => format!("{word}\t{about}"),
    }
}

/// A word with a backslash before what bash would not leave alone.
fn escaped(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    word.chars()
        .flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c]))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bash(pieces: &[&str]) -> (Vec<String>, usize) {
        let pieces: Vec<OsString> = pieces.iter().map(OsString::from).collect();
        let typed = read(Asker::Bash, &pieces);
        (typed.words, typed.kept)
    }

    #[test]
    fn bash_breaks_words_and_we_join_them() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            bash(&["ralph", "run", "a"]),
            (words(&["ralph", "run", "a"]), 0)
        );
        assert_eq!(
            bash(&["ralph", "run", "--model", "=", "op"]),
            (words(&["ralph", "run", "--model=op"]), 8)
        );
        assert_eq!(
            bash(&["ralph", "run", "--model", "="]),
            (words(&["ralph", "run", "--model="]), 8)
        );
        assert_eq!(
            bash(&["ralph", "a", ":", "b"]),
            (words(&["ralph", "a:b"]), 2)
        );
        assert_eq!(
            bash(&["ralph", "a", ":", "b", ":"]),
            (words(&["ralph", "a:b:"]), 4)
        );
        assert_eq!(
            bash(&["ralph", "a", ":", ""]),
            (words(&["ralph", "a:", ""]), 0)
        );
        assert_eq!(
            bash(&["ralph", "'a b'", "\"c"]),
            (words(&["ralph", "a b", "c"]), 0)
        );
    }

    #[test]
    fn every_shell_gets_its_own_form() {
        let answer = Answer::Words(vec![Candidate {
            word: "a:b#1".into(),
            about: "The\ttitle".into(),
        }]);
        let typed = read(Asker::Bash, &["ralph".into(), "a".into()]);
        assert_eq!(write(Asker::Bash, &typed, &answer), "words\na:b\\#1\n");
        let typed = read(Asker::Bash, &["ralph".into(), "a".into(), ":".into()]);
        assert_eq!(write(Asker::Bash, &typed, &answer), "words\nb\\#1\n");
        let typed = read(Asker::Bash, &["ralph".into(), "'a".into()]);
        assert_eq!(write(Asker::Bash, &typed, &answer), "words\na:b#1\n");
        let typed = read(Asker::Zsh, &["ralph".into(), "a".into()]);
        assert_eq!(
            write(Asker::Zsh, &typed, &answer),
            "words\na\\:b#1:The title\n"
        );
        assert_eq!(
            write(Asker::Fish, &typed, &answer),
            "words\na:b#1\tThe title\n"
        );
        assert_eq!(write(Asker::Fish, &typed, &Answer::Dirs), "dirs\n");
    }

    proptest! {
        #[test]
        fn any_words_are_harmless(pieces in proptest::collection::vec("[-a:='\"\\\\ é]{0,4}", 0..6)) {
            for shell in [Asker::Bash, Asker::Zsh, Asker::Fish] {
                let words: Vec<OsString> = pieces.iter().map(OsString::from).collect();
                let typed = read(shell, &words);
                let answer = Answer::Words(vec![Candidate { word: "é:x".into(), about: String::new() }]);
                prop_assert!(write(shell, &typed, &answer).starts_with("words\n"));
            }
        }
    }
}
