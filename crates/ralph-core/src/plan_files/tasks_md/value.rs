//! Values of fields that are not just text: files, commit messages, and nothing at all.

use super::inline_code::{leading_code, spans};

/// What a note may begin with.
const DASHES: [&str; 3] = [" - ", " – ", " — "];

/// Whether a value says that there is none: `None`, `N/A`, `-`, also with a note in parentheses.
pub(super) fn is_nothing(value: &str) -> bool {
    says_none(without_notes(value).trim_matches('`'))
}

fn says_none(word: &str) -> bool {
    let word = word.trim_end_matches('.');
    let is_named = ["none", "n/a"]
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name));
    is_named || matches!(word, "" | "-" | "–" | "—")
}

/// The commit message in a value: its code where it begins with one, else all of it.
pub(super) fn commit(value: &str) -> Option<String> {
    let message = match leading_code(value) {
        Some((code, after)) if is_note(after.trim()) => code,
        _ => value,
    };
    let message = message.trim();
    (!is_nothing(message)).then(|| message.to_owned())
}

fn is_note(text: &str) -> bool {
    text.is_empty() || (text.starts_with('(') && text.ends_with(')'))
}

/// The paths in a text such as `` src/a.ts (create), `src/b.ts` ``.
pub(super) fn files(text: &str) -> Vec<String> {
    let pieces = split_at_commas(text).into_iter();
    pieces
        .flat_map(paths)
        .filter(|path| !says_none(path))
        .collect()
}

/// What one piece between commas names: its codes, or itself without notes.
fn paths(piece: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut at = 0;
    for span in spans(piece) {
        // A code in a note is no file.
        let between = piece.get(at..span.whole.start).unwrap_or_default();
        if between.contains('(') || DASHES.into_iter().any(|dash| between.contains(dash)) {
            break;
        }
        paths.push(span.content.trim().to_owned());
        at = span.whole.end;
    }
    if paths.is_empty() {
        paths.push(without_notes(piece).to_owned());
    }
    paths
}

/// A text without what comes after a dash and without parentheses at its end.
fn without_notes(text: &str) -> &str {
    let dash = [" - ", " – ", " — "]
        .into_iter()
        .filter_map(|dash| text.find(dash))
        .min();
    let mut text = text
        .get(..dash.unwrap_or(text.len()))
        .unwrap_or(text)
        .trim();
    while let Some(before) = before_parentheses(text) {
        text = before.trim_end();
    }
    text
}

/// What stands before ` (…)` at the end of a text. `app/(auth)` has none.
fn before_parentheses(text: &str) -> Option<&str> {
    text.strip_suffix(')')?;
    let mut depth = 0_usize;
    let (open, _) = text.char_indices().rev().find(|(_, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    let before = text.get(..open)?;
    before.ends_with(char::is_whitespace).then_some(before)
}

/// Splits at commas, but not within code, nor within parentheses or braces that are closed.
fn split_at_commas(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut loose = Vec::new();
    let mut depth = 0_usize;
    for (at, byte) in bytes_outside_code(text) {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b',' => {
                loose.push(at);
                pieces.extend((depth == 0).then_some(at));
            }
            _ => {}
        }
    }
    split_at(text, if depth == 0 { &pieces } else { &loose })
}

fn bytes_outside_code(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut codes = spans(text).into_iter().map(|span| span.whole).peekable();
    text.bytes().enumerate().filter(move |(at, _)| {
        while codes.next_if(|code| code.end <= *at).is_some() {}
        !codes.peek().is_some_and(|code| code.contains(at))
    })
}

fn split_at<'a>(text: &'a str, commas: &[usize]) -> Vec<&'a str> {
    let starts = std::iter::once(0).chain(commas.iter().map(|comma| comma + 1));
    let ends = commas.iter().copied().chain([text.len()]);
    starts
        .zip(ends)
        .filter_map(|(start, end)| text.get(start..end))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imp_03_files() {
        for (text, expected) in [
            ("src/a.ts, `src/b.ts`", &["src/a.ts", "src/b.ts"][..]),
            (
                "src/a.ts (create), `b.ts` (modify, see `c`) , d",
                &["src/a.ts", "b.ts", "d"],
            ),
            ("`a.ts` and `b.ts` — like `c.ts`", &["a.ts", "b.ts"]),
            ("Create: `a b.ts`", &["a b.ts"]),
            (
                "app/(auth)/a.tsx, `src/{a,b}.ts`, src/{c,d}",
                &["app/(auth)/a.tsx", "src/{a,b}.ts", "src/{c,d}"],
            ),
            ("a (b, c", &["a (b", "c"]),
            ("`a, b", &["`a", "b"]),
            ("a.ts (x) (y (z)) - new", &["a.ts"]),
            ("a,, b,", &["a", "b"]),
        ] {
            assert_eq!(files(text), expected, "{text}");
        }
        for nothing in [
            "",
            "None",
            "N/A",
            "n/a",
            "-",
            "none (verification only)",
            "`None`",
            "None.",
        ] {
            assert_eq!(files(nothing), Vec::<String>::new(), "{nothing}");
        }
    }

    #[test]
    fn imp_03_commits() {
        for (value, expected) in [
            ("feat(x): add module", "feat(x): add module"),
            ("`feat(x): add module`", "feat(x): add module"),
            ("`fix: a` (only if fixes needed)", "fix: a"),
            ("`` fix `a` ``", "fix `a`"),
            ("`fix` the `a`", "`fix` the `a`"),
            ("fix: a - b", "fix: a - b"),
            ("nonesuch", "nonesuch"),
        ] {
            assert_eq!(commit(value).unwrap(), expected, "{value}");
        }
        for nothing in [
            "None",
            "none",
            "NONE (verification only)",
            "`None`",
            "N/A",
            "",
            "``",
        ] {
            assert_eq!(commit(nothing), None, "{nothing}");
        }
    }
}
