//! Commands in what people write about checking a task.
//!
//! A sentence taken for a command is a gate that can never pass (`npm run build succeeds`), or one
//! that always does (`test passes`); so where there is doubt there is no command.

use std::borrow::Cow;

use crate::text::Pattern;

/// Tells whether there is a program of this name.
pub(crate) type CanRun<'f> = &'f dyn Fn(&str) -> bool;

/// Words that the shell itself knows.
pub(super) const SHELL_WORDS: [&str; 24] = [
    ".", ":", "[", "[[", "case", "cd", "command", "echo", "eval", "exec", "export", "false", "for", "if",
    "printf", "pwd", "set", "source", "test", "true", "type", "until", "while", "{",
];

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

pub(super) fn has_word(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one.eq_ignore_ascii_case(word))
}

/// A line without what says that it must succeed, unless it is a sentence.
pub(super) fn bare_command(line: &str) -> Option<&str> {
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
}
