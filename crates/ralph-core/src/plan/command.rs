//! Commands in what people write about checking a task.
//!
//! A sentence taken for a command is a gate that can never pass (`npm run build succeeds`), or one
//! that always does (`test passes`); so where there is doubt there is no command.

use std::borrow::Cow;

use crate::markdown::{Fence, code_only, list_item};
use crate::text::Pattern;

/// Tells whether there is a program of this name.
pub(crate) type CanRun<'f> = &'f dyn Fn(&str) -> bool;

/// Words that the shell itself knows.
const SHELL_WORDS: [&str; 24] = [
    ".", ":", "[", "[[", "case", "cd", "command", "echo", "eval", "exec", "export", "false", "for", "if",
    "printf", "pwd", "set", "source", "test", "true", "type", "until", "while", "{",
];

/// What may stand around a command in backticks without saying more than that it must succeed.
const SAYS_NO_MORE: &str = "run running passes pass succeeds succeed works exits 0 code zero with without no errors error warnings \
    cleanly clean green compiles builds and all tests the is are command must successfully";

/// Ends of a line that say no more than that the command before them must succeed.
static VERDICT: Pattern = Pattern::new(
    " (?i-u:passes|succeeds|works|compiles|is green|is clean|exits (?:with )?(?:code )?0|without errors|with no errors\
     |(?:runs )?cleanly|successfully)[.]*$",
);

/// Words that sentences have and commands do not.
const OF_SENTENCES: &str = "the that sure should must pass passes succeed succeeds returns shows prints outputs works exists exits \
    fails reports contains renders loads and are is has with without when after";

/// Whether a line is a command as far as one can tell: its first word can be run.
pub fn is_command(line: &str, can_run: CanRun<'_>) -> bool {
    first_word(line).is_some_and(|word| SHELL_WORDS.contains(&word) || can_run(word))
}

/// The word that names the program: after assignments, `!` and `(`.
pub(crate) fn first_word(line: &str) -> Option<&str> {
    /// Values of assignments are such as `a`, `'a b'`, `a\ b` and `$(a b)`.
    static WORD: Pattern = Pattern::new(
        r#"^[ \t\n!(;]*(?:[A-Za-z_][A-Za-z0-9_]*=(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|\((?:[^()'"]|'[^']*'|"[^"]*")*\)|[^ \t\n;()'"\\])*[ \t\n!(;]+)*([^ \t\n;)|&!(][^ \t\n;)|&]*)"#,
    );
    static ASSIGNMENT: Pattern = Pattern::new("^[A-Za-z_][A-Za-z0-9_]*=");
    let word = WORD.captures(line)?.get(1)?.as_str();
    (!ASSIGNMENT.is_match(word)).then_some(word)
}

/// Whether commands that are joined into one share the directory they change to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directory {
    Shared,
    Own,
}

/// Commands that must all succeed, as one.
pub(crate) fn all_of(commands: &[impl AsRef<str>], directory: Directory) -> Option<String> {
    let grouped = |command: &str| {
        // `&&` binds a command as a whole: `a || b` or `a; b` would come apart.
        let without_and = command.replace("&&", "");
        let is_loose = without_and.contains("||") || without_and.contains([';', '&', '#', '\n']);
        // The line end closes the group also after `;`, `&`, a comment and a here-document.
        match directory {
            Directory::Own if is_loose || command.contains("cd ") => format!("(\n{command}\n)"),
            Directory::Shared if is_loose => format!("{{ {command}\n}}"),
            _ => command.to_owned(),
        }
    };
    match commands {
        [] => None,
        [only] => Some(only.as_ref().to_owned()),
        several => {
            let grouped: Vec<_> = several.iter().map(|one| grouped(one.as_ref())).collect();
            Some(grouped.join(" && "))
        }
    }
}

/// The command that a text about checking is, where it is one line of command and no sentence.
pub(crate) fn command_in(text: &str, can_run: CanRun<'_>) -> Option<String> {
    let line = only_line(text)?;
    let line = list_item(line).unwrap_or(line);
    let command = match code_only(line) {
        Some(code) => code,
        None if line.contains('`') => code_among_words(line)?,
        None => bare_command(line)?,
    };
    let first = first_word(command)?;
    (matches!(first, "cd" | "[") || can_run(first)).then(|| command.to_owned())
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
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.is_empty() || has_word(SAYS_NO_MORE, word)
    });
    (is_one && says_no_more).then(|| code.trim())
}

fn has_word(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one.eq_ignore_ascii_case(word))
}

fn bare_command(line: &str) -> Option<&str> {
    let line = ["Run: ", "Run ", "run: "].iter().find_map(|run| line.strip_prefix(run)).unwrap_or(line);
    let mut command = line.trim();
    while let Some(verdict) = VERDICT.regex().and_then(|regex| regex.find(command)) {
        command = command[..verdict.start()].trim_end();
    }
    (!is_sentence(command)).then_some(command)
}

fn is_sentence(line: &str) -> bool {
    let Some(words) = outside_quotes(line) else {
        return true;
    };
    let has_word = words.split_whitespace().enumerate().any(|(at, word)| {
        let bare = word.trim_end_matches([',', '.', ';', ':']);
        has_word(OF_SENTENCES, bare) || (at > 0 && word.starts_with('('))
    });
    let ends_as_one = words
        .trim_end()
        .strip_suffix(['.', ',', ':'])
        .is_some_and(|line| line.ends_with(|c: char| c.is_alphabetic()));
    has_word || ends_as_one || words.contains(['—', '→', '…'])
}

/// The line with `_` in place of quotations; none where a quote is left open.
fn outside_quotes(line: &str) -> Option<Cow<'_, str>> {
    static QUOTATION: Pattern = Pattern::new(r#"'[^']*'|"(?:[^"\\]|\\.)*"|\\."#);
    let outside = QUOTATION.regex()?.replace_all(line, "_");
    (!outside.contains(['\'', '"'])).then_some(outside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn imp_03_the_word_that_is_run() {
        for (line, word) in [
            ("pnpm test", "pnpm"),
            ("! grep -q a b", "grep"),
            ("!grep a", "grep"),
            ("(cd a && b)", "cd"),
            ("A=1 B='x y' C=\"a \\\" b\" D=a\\ b ./run", "./run"),
            ("( A= ! b )", "b"),
            ("A=$(b 'c)' d); e \"$A\"", "e"),
            ("true; a", "true"),
            ("ls|wc", "ls"),
            ("grep -q 'a=b' c", "grep"),
            ("Manual: a", "Manual:"),
            ("a-b=c d", "a-b=c"),
        ] {
            assert_eq!(first_word(line), Some(word), "{line}");
        }
        for line in ["", "  ", "A=1", "!", "(", "A='b c"] {
            assert_eq!(first_word(line), None, "{line}");
        }
        let lines = ["a 1", "b", "! a 2", "cd x", "[ -f x ]", ": x", ""];
        let answers = lines.map(|line| is_command(line, &|word| word == "a"));
        assert_eq!(answers, [true, false, true, true, true, true, false]);
    }

    #[test]
    fn commands_in_a_row_all_have_to_succeed() {
        for (commands, shared, own) in [
            (&["a || b; c"][..], "a || b; c", "a || b; c"),
            (&["a && b", "c | d"], "a && b && c | d", "a && b && c | d"),
            (&["a", "b || c"], "a && { b || c\n}", "a && (\nb || c\n)"),
            (&["a &", "b # c"], "{ a &\n} && { b # c\n}", "(\na &\n) && (\nb # c\n)"),
            (&["cd x", "b"], "cd x && b", "(\ncd x\n) && b"),
        ] {
            assert_eq!(all_of(commands, Directory::Shared).unwrap(), shared);
            assert_eq!(all_of(commands, Directory::Own).unwrap(), own);
        }
        assert_eq!(all_of(&[] as &[&str], Directory::Own), None);
    }

    fn command(text: &str) -> Option<String> {
        let can_run = "npm cargo tsc test make grep curl ./check.sh go";
        command_in(text, &|word| can_run.split(' ').any(|one| one == word))
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
            ("Run `go test ./... -v` -- all tests pass.", "go test ./... -v"),
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
