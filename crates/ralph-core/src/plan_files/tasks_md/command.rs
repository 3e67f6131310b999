//! Telling commands from prose.

use std::collections::HashMap;

/// Words that the shell itself knows.
const SHELL_WORDS: [&str; 24] = [
    ".", ":", "[", "[[", "case", "cd", "command", "echo", "eval", "exec", "export", "false", "for",
    "if", "printf", "pwd", "set", "source", "test", "true", "type", "until", "while", "{",
];

/// Knows which programs can be run; asks once for each.
pub(super) struct Programs<'f> {
    can_run: &'f dyn Fn(&str) -> bool,
    asked: HashMap<String, bool>,
}

impl<'f> Programs<'f> {
    pub(super) fn new(can_run: &'f dyn Fn(&str) -> bool) -> Self {
        Self {
            can_run,
            asked: HashMap::new(),
        }
    }

    /// Whether a line begins with something that can be run.
    pub(super) fn can_run(&mut self, line: &str) -> bool {
        let Some(word) = first_word(line) else {
            return false;
        };
        if SHELL_WORDS.contains(&word) {
            return true;
        }
        if let Some(known) = self.asked.get(word) {
            return *known;
        }
        let answer = (self.can_run)(word);
        self.asked.insert(word.to_owned(), answer);
        answer
    }
}

/// The word that names the program: after assignments, `!` and `(`.
pub(super) fn first_word(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        let inner = rest.trim_start_matches(['!', '(', ';']);
        let after = after_assignment(inner).unwrap_or(inner).trim_start();
        if after.len() == rest.len() {
            break;
        }
        rest = after;
    }
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ';' | ')' | '|' | '&'));
    rest.get(..end.unwrap_or(rest.len()))
        .filter(|word| !word.is_empty())
}

/// What stands after `NAME=value`.
fn after_assignment(text: &str) -> Option<&str> {
    let (name, value) = text.split_once('=')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| value.get(value_length(value)..))?
}

/// Length of a value such as `a`, `'a b'`, `a\ b` or `$(a b)`.
fn value_length(text: &str) -> usize {
    let mut quote = None;
    let mut is_escaped = false;
    let mut depth = 0_usize;
    let end = text.find(|c: char| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match (quote, c) {
            _ if was_escaped => {}
            (Some(open), c) if c == open => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => is_escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth > 0 => depth -= 1,
            (None, c) if depth == 0 => return c.is_whitespace() || matches!(c, ';' | ')'),
            _ => {}
        }
        false
    });
    end.unwrap_or(text.len())
}

/// Commands that must all succeed, as one.
pub(super) fn all_of(commands: &[&str]) -> Option<String> {
    match commands {
        [] => None,
        [only] => Some((*only).to_owned()),
        several => {
            let grouped: Vec<_> = several.iter().map(|command| grouped(command)).collect();
            Some(grouped.join(" && "))
        }
    }
}

/// A command that `&&` binds as a whole: `a || b` or `a; b` would come apart.
fn grouped(command: &str) -> String {
    let without_and = command.replace("&&", "");
    // The line end closes the group also after `;`, `&` and a comment.
    match without_and.contains("||") || without_and.contains([';', '&', '#', '\n']) {
        true => format!("{{ {command}\n}}"),
        false => command.to_owned(),
    }
}

/// Whether a line is a command as far as one can tell: its first word can be run.
#[must_use]
pub fn is_command(line: &str, can_run: &dyn Fn(&str) -> bool) -> bool {
    Programs::new(can_run).can_run(line)
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
    }

    #[test]
    fn each_program_is_asked_for_once_and_shell_words_never() {
        let asked = std::cell::RefCell::new(Vec::new());
        let can_run = |word: &str| {
            asked.borrow_mut().push(word.to_owned());
            word == "a"
        };
        let mut programs = Programs::new(&can_run);
        let lines = ["a 1", "b", "! a 2", "b 3", "cd x", "[ -f x ]", ": x", ""];
        let answers = lines.map(|line| programs.can_run(line));
        assert_eq!(answers, [true, false, true, false, true, true, true, false]);
        assert_eq!(*asked.borrow(), ["a", "b"]);
    }

    #[test]
    fn commands_in_a_row_all_have_to_succeed() {
        assert_eq!(all_of(&[]), None);
        assert_eq!(all_of(&["a || b; c"]).unwrap(), "a || b; c");
        assert_eq!(all_of(&["a && b", "c | d"]).unwrap(), "a && b && c | d");
        assert_eq!(all_of(&["a", "b || c"]).unwrap(), "a && { b || c\n}");
        assert_eq!(all_of(&["a &", "b # c"]).unwrap(), "{ a &\n} && { b # c\n}");
    }
}
