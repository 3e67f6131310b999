//! Telling a command from a sentence about one.
//!
//! A sentence taken for a command is a gate that can never pass (`npm run build succeeds`), or one
//! that always does (`test passes`); so where there is doubt there is no command.

use crate::plan_files::markdown::{Fence, code_only, list_item};

/// What may stand around a command in backticks without saying more than that it must succeed.
const SAYS_NO_MORE: [&str; 31] = [
    "run",
    "running",
    "passes",
    "pass",
    "succeeds",
    "succeed",
    "works",
    "exits",
    "0",
    "code",
    "zero",
    "with",
    "without",
    "no",
    "errors",
    "error",
    "warnings",
    "cleanly",
    "clean",
    "green",
    "compiles",
    "builds",
    "and",
    "all",
    "tests",
    "the",
    "is",
    "are",
    "command",
    "must",
    "successfully",
];

/// Ends of a line that say no more than that the command before them must succeed.
const VERDICTS: [&str; 14] = [
    " passes",
    " succeeds",
    " works",
    " compiles",
    " is green",
    " is clean",
    " exits 0",
    " exits with 0",
    " exits with code 0",
    " without errors",
    " with no errors",
    " runs cleanly",
    " cleanly",
    " successfully",
];

/// Words that sentences have and commands do not.
const OF_SENTENCES: [&str; 29] = [
    "the", "that", "sure", "should", "must", "pass", "passes", "succeed", "succeeds", "returns",
    "shows", "prints", "outputs", "works", "exists", "exits", "fails", "reports", "contains",
    "renders", "loads", "and", "are", "is", "has", "with", "without", "when", "after",
];

/// What a shell knows without a program.
const OF_SHELL: [&str; 3] = ["cd", "[", "!"];

/// The command that a text about checking is, where it is one line of command and no sentence.
/// `can_run` tells whether there is a program of this name.
pub(crate) fn command_in(text: &str, can_run: &dyn Fn(&str) -> bool) -> Option<String> {
    let line = only_line(text)?;
    let line = list_item(line).unwrap_or(line);
    let command = match code_only(line) {
        Some(code) => code,
        None if line.contains('`') => code_among_words(line)?,
        None => bare_command(line)?,
    };
    let first = first_word(command)?;
    (OF_SHELL.contains(&first) || can_run(first)).then(|| command.to_owned())
}

/// The line where there is just one, leaving out a fence around it.
fn only_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let line = match Fence::opened_by(first) {
        Some(fence) => {
            let line = lines.next()?;
            lines.next().filter(|last| fence.is_closed_by(last))?;
            line
        }
        None => first,
    };
    lines.next().is_none().then_some(line)
}

/// `Run `cargo test`, all tests pass.`
fn code_among_words(line: &str) -> Option<&str> {
    let mut parts = line.split('`');
    let (before, code, after) = (parts.next()?, parts.next()?, parts.next()?);
    let is_one = parts.next().is_none();
    let mut words = before.split_whitespace().chain(after.split_whitespace());
    let says_no_more = words.all(|word| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        word.is_empty() || SAYS_NO_MORE.contains(&word.as_str())
    });
    (is_one && says_no_more).then(|| code.trim())
}

/// `npm run build succeeds`
fn bare_command(line: &str) -> Option<&str> {
    let line = ["Run: ", "Run ", "run: "]
        .iter()
        .find_map(|run| line.strip_prefix(run))
        .unwrap_or(line);
    let mut command = line.trim();
    while let Some(shorter) = without_verdict(command) {
        command = shorter;
    }
    (!is_sentence(command)).then_some(command)
}

fn without_verdict(line: &str) -> Option<&str> {
    let line = line.trim_end_matches('.');
    let cut = |verdict: &&str| {
        let at = line.len().checked_sub(verdict.len())?;
        let end = line.get(at..)?;
        end.eq_ignore_ascii_case(verdict)
            .then(|| line.get(..at))
            .flatten()
    };
    VERDICTS.iter().find_map(cut).map(str::trim_end)
}

fn is_sentence(line: &str) -> bool {
    let Some(words) = outside_quotes(line) else {
        return true;
    };
    let has_word = words.split_whitespace().enumerate().any(|(at, word)| {
        let bare = word.trim_end_matches([',', '.', ';', ':']).to_lowercase();
        OF_SENTENCES.contains(&bare.as_str()) || (at > 0 && word.starts_with('('))
    });
    let ends_as_one = words
        .trim_end()
        .strip_suffix(['.', ',', ':'])
        .is_some_and(|line| line.ends_with(|c: char| c.is_alphabetic()));
    has_word || ends_as_one || words.contains(['—', '→', '…'])
}

/// The line with nothing left between quotes; none where a quote is left open.
fn outside_quotes(line: &str) -> Option<String> {
    let mut open = None;
    let mut is_escaped = false;
    let mut outside = String::with_capacity(line.len());
    for c in line.chars() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' && open != Some('\'') {
            is_escaped = true;
        } else if open == Some(c) {
            open = None;
            outside.push(c);
        } else if open.is_none() {
            if matches!(c, '"' | '\'') {
                open = Some(c);
            }
            outside.push(c);
        }
    }
    open.is_none().then_some(outside)
}

/// The first word that is no assignment (`CI=1 npm test`) and no bracket.
fn first_word(command: &str) -> Option<&str> {
    let is_assignment = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let mut words = command
        .split_whitespace()
        .map(|word| word.trim_start_matches('('));
    words.find(|word| !word.is_empty() && !is_assignment(word))
}

#[cfg(test)]
mod tests {
    use super::command_in;
    use proptest::prelude::*;

    fn command(text: &str) -> Option<String> {
        let can_run = [
            "npm",
            "cargo",
            "tsc",
            "test",
            "make",
            "grep",
            "curl",
            "./check.sh",
            "go",
        ];
        command_in(text, &|word| can_run.contains(&word))
    }

    #[test]
    fn commands() {
        for (text, expected) in [
            ("npm test", "npm test"),
            ("`npm test`", "npm test"),
            ("\n  - `npm test`\n", "npm test"),
            ("```bash\nnpm test\n```", "npm test"),
            ("npm run build succeeds", "npm run build"),
            ("tsc --noEmit passes.", "tsc --noEmit"),
            ("cargo build compiles without errors", "cargo build"),
            (
                "Run `go test ./... -v` -- all tests pass.",
                "go test ./... -v",
            ),
            ("Run npm test", "npm test"),
            ("go test ./...", "go test ./..."),
            ("cd web && npm test", "cd web && npm test"),
            ("CI=1 npm test", "CI=1 npm test"),
            ("(cd web && npm test)", "(cd web && npm test)"),
            ("grep -q 'and the end.' a.md", "grep -q 'and the end.' a.md"),
            ("! grep -rq x src", "! grep -rq x src"),
            ("test -f a.rs", "test -f a.rs"),
            ("./check.sh", "./check.sh"),
        ] {
            assert_eq!(command(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn sentences() {
        for text in [
            "",
            "Build succeeds",
            "test suite should be green",
            "make sure it works",
            "make tests pass",
            "curl tests pass for all endpoints",
            "curl localhost:3000 returns 200",
            "`grep -c x a` returns 0",
            "`npm test` and `npm run lint`",
            "npm test\nnpm run lint",
            "npm test, then look at it.",
            "npm test — all green",
            "npm doesn't complain",
            "npm test (in the root)",
            "unknown --flag",
            "```\nnpm test\n",
            "```\nnpm test\nnpm run lint\n```",
            "`",
            "A=1",
        ] {
            assert_eq!(command(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), near in "[`'\"\\\\ a-c.(\n~-]{0,24}") {
            for text in [text, near] {
                let found = command_in(&text, &|_| true);
                prop_assert!(found.is_none_or(|found| !found.contains('\n') && !found.is_empty()));
            }
        }
    }
}
