//! What a gate's script looks like to a shell: whether it has a pipeline, and which programs it starts.
//!
//! Where the text is ambiguous, the answer is the one that changes nothing about how the shell itself would run the gate.

use super::tokens::{Kind, Token, commands, tokens, unquoted};

/// Reads the exit codes of the last pipeline. The shell's own verdict stands where it is a failure. Otherwise the first
/// member that failed decides, except the last one (the shell has judged that), a member that was cut off by a later one
/// (141, SIGPIPE), and, where a failure of the pipeline is what the gate wants (`!`, the condition of an `if`), a member
/// that exited with 1, as a search does that found nothing.
const READ_PIPESTATUS: &str = r#"
ralph_codes=("$?" "${PIPESTATUS[@]}"); ralph_last=$((${#ralph_codes[@]} - 1))
for ((ralph_n = 1; ralph_codes[0] == 0 && ralph_n < ralph_last; ralph_n++)); do
  case ${ralph_codes[ralph_n]}:${ralph_codes[ralph_last]} in 0:* | 141:*) continue ;; 1:0) ;; 1:*) continue ;; esac
  printf '%s\n' "ralph-pipe: $ralph_n of $ralph_last" >&2; exit "${ralph_codes[ralph_n]}"
done; exit "${ralph_codes[0]}"
"#;

/// The start of the line that says which command of a pipeline failed.
const PIPE_MARK: &str = "ralph-pipe: ";

/// Whether a gate has a pipeline of its own: not a quoted `|`, not `||`, and none inside `$( )`.
pub fn has_pipe(script: &str) -> bool {
    let read = tokens(script);
    read.list.iter().any(|token| token.is_pipe())
}

/// The script for bash that also fails where a member of its last pipeline fails. None where the script is better left
/// alone: it has no pipeline, or it is not complete, so that a line after it would become part of it.
pub(super) fn minding_pipes(script: &str) -> Option<String> {
    let read = tokens(script);
    let significant = |token: &&Token<'_>| token.kind != Kind::Separator("\n");
    let last = read.list.iter().rev().find(significant)?;
    let continues = matches!(last.kind, Kind::Separator("|" | "|&" | "||" | "&&" | "("));
    if !read.complete || continues || !read.list.iter().any(Token::is_pipe) {
        return None;
    }
    let mut minding = script.to_owned();
    // From the end, so that earlier places stay valid. A pipeline inside a subshell is known only there.
    for end in ends_of_last_subshells(&read.list) {
        minding.insert_str(end, &format!("\n{READ_PIPESTATUS}"));
    }
    // After an empty line: the script may end with a comment or a backslash.
    minding.push('\n');
    minding.push_str(READ_PIPESTATUS);
    Some(minding)
}

/// A line about the command of a pipeline that failed, in an output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PipeMark<'o> {
    /// Which command, of how many.
    pub member: (usize, usize),
    /// The output before and after the line.
    pub before: &'o [u8],
    pub after: &'o [u8],
}

/// The line that [`READ_PIPESTATUS`] prints with a single write, which therefore arrives in one piece.
pub(super) fn find_pipe_mark(chunk: &[u8]) -> Option<PipeMark<'_>> {
    let windows = chunk.windows(PIPE_MARK.len());
    let start = windows.into_iter().rposition(|part| part == PIPE_MARK.as_bytes())?;
    let (before, rest) = chunk.split_at(start);
    let length = rest.iter().position(|byte| *byte == b'\n')? + 1;
    let (line, after) = rest.split_at(length);
    let numbers = std::str::from_utf8(line.get(PIPE_MARK.len()..)?).ok()?;
    let (member, all) = numbers.trim_end().split_once(" of ")?;
    Some(PipeMark { member: (member.parse().ok()?, all.parse().ok()?), before, after })
}

/// The programs without which a script cannot succeed, as it names them. Left out are names that only a shell can work out,
/// commands whose failure the script survives (`a || b`, `a; b`), programs that it looks for itself (`command -v x`), and
/// all that follows a branch, a function or a change of the search path.
pub fn programs(script: &str) -> Vec<&str> {
    let mut needs = Needs::default();
    let mut command: Vec<&str> = Vec::new();
    let tokens = tokens(script).list;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Word => {
                command.push(token.text);
                continue;
            }
            Kind::Target => continue,
            Kind::Separator(_) => {}
        }
        let defines_function = token.text == "(" && !command.is_empty();
        if defines_function || !needs.read(&std::mem::take(&mut command)) {
            needs.survives |= tokens[at..].iter().any(|later| later.text == "||");
            return needs.certain();
        }
        match token.text {
            "||" => needs.survives = true,
            ";" | "\n" => needs.ended = Some(needs.stops_at_failure),
            "&" => {
                needs.joined.clear();
                needs.ended = Some(false);
            }
            _ => {}
        }
    }
    needs.read(&command);
    needs.certain()
}

/// The names that a script looks for itself, to find out whether they can be started.
pub(super) fn looked_for(script: &str) -> Vec<&str> {
    let mut needs = Needs::default();
    for words in commands(script) {
        needs.read(&words);
    }
    needs.looked_for
}

/// The command that a simple command starts in the end, through assignments and programs such as `env`; with its arguments.
pub(super) fn unwrapped<'a, 's>(mut words: &'a [&'s str]) -> Option<(&'s str, &'a [&'s str])> {
    loop {
        while let [word, rest @ ..] = words
            && is_assignment(word)
        {
            words = rest;
        }
        let [word, arguments @ ..] = words else {
            return None;
        };
        match WRAPPERS.iter().find(|(name, ..)| name == word) {
            Some((_, with_value, before)) => words = after_options(arguments, with_value, *before),
            None => return Some((word, arguments)),
        }
    }
}

/// What a script needs, collected command by command.
#[derive(Debug, Default)]
struct Needs<'s> {
    sure: Vec<&'s str>,
    /// Those of commands that `&&` and `|` join, which count where the last of them decides about the script.
    joined: Vec<&'s str>,
    /// Whether `joined` is complete, and if so whether its failure ends the script.
    ended: Option<bool>,
    /// Whether a failure within `joined` is survived.
    survives: bool,
    /// After `set -e`.
    stops_at_failure: bool,
    /// In another directory, where relative paths mean something else.
    elsewhere: bool,
    looked_for: Vec<&'s str>,
}

/// Programs that start another: their options that take a value, and how many arguments come before that other program.
const WRAPPERS: [(&str, &str, usize); 10] = [
    ("!", "", 0),
    ("{", "", 0),
    ("command", "", 0),
    ("env", "uC", 0),
    ("exec", "a", 0),
    ("nice", "n", 0),
    ("nohup", "", 0),
    ("stdbuf", "ioe", 0),
    ("time", "fo", 0),
    ("timeout", "ks", 1),
];
const SHELLS: [&str; 3] = ["sh", "bash", "dash"];
/// After these nobody knows which command runs, or what its name means.
const CHANGES_WHAT_FOLLOWS: [&str; 12] =
    ["if", "case", "while", "until", "for", "select", "function", ".", "source", "eval", "alias", "trap"];
const BUILTINS: [&str; 42] = [
    "!", ":", "[", "[[", "{", "}", "break", "builtin", "cd", "command", "continue", "declare", "echo",
    "exec", "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "let", "local", "popd",
    "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "test", "time", "times", "true",
    "type", "typeset", "ulimit", "umask", "unset",
];

impl<'s> Needs<'s> {
    /// Reads a simple command; false where what follows cannot be known.
    fn read(&mut self, mut words: &[&'s str]) -> bool {
        if words.is_empty() {
            return true;
        }
        if let Some(fatal) = self.ended.take() {
            self.end_of_joined(fatal);
        }
        loop {
            while let [word, rest @ ..] = words
                && is_assignment(word)
            {
                if word.starts_with("PATH=") {
                    return false;
                }
                words = rest;
            }
            let [word, arguments @ ..] = words else {
                return true;
            };
            let word: &'s str = word;
            if CHANGES_WHAT_FOLLOWS.contains(&word) {
                return false;
            }
            let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
            let is_here = !self.elsewhere || !word.contains('/') || word.starts_with('/');
            if !BUILTINS.contains(&word) && word.chars().all(plain) && is_here {
                self.joined.push(word);
            }
            let is_flag = |flag: &&str| flag.starts_with('-');
            let looks =
                word == "command" && arguments.first().is_some_and(|flag| flag.eq_ignore_ascii_case("-v"));
            match word {
                "cd" | "pushd" | "popd" => self.elsewhere = true,
                "export" if arguments.iter().any(|word| word.starts_with("PATH=")) => return false,
                "set" => {
                    self.stops_at_failure |= arguments
                        .iter()
                        .any(|flag| *flag == "errexit" || (is_flag(flag) && flag.contains('e')))
                }
                "type" | "hash" | "which" => self.looked_for.extend(arguments),
                _ if looks => self.looked_for.extend(arguments),
                _ if SHELLS.contains(&word) => {
                    if let ["-c" | "-ec", inner, ..] = arguments
                        && let Some(inner) = unquoted(inner)
                    {
                        self.joined.extend(programs(inner));
                    }
                }
                _ => {
                    let wrapper = WRAPPERS.iter().find(|(name, ..)| *name == word);
                    let Some((_, with_value, before)) = wrapper else {
                        return true;
                    };
                    words = after_options(arguments, with_value, *before);
                    continue;
                }
            }
            return true;
        }
    }

    fn end_of_joined(&mut self, is_fatal: bool) {
        if is_fatal && !self.survives {
            self.sure.append(&mut self.joined);
        }
        self.joined.clear();
        self.survives = false;
    }

    fn certain(mut self) -> Vec<&'s str> {
        // What stands last decides.
        self.end_of_joined(true);
        let looked_for = self.looked_for;
        self.sure.retain(|program| !looked_for.contains(program));
        self.sure
    }
}

/// The arguments after a wrapper's options and its own first arguments.
fn after_options<'a, 's>(mut words: &'a [&'s str], with_value: &str, before: usize) -> &'a [&'s str] {
    while let [option, rest @ ..] = words
        && option.starts_with('-')
    {
        let takes_next = option.len() == 2 && option.ends_with(|c| with_value.contains(c));
        words = rest.get(usize::from(takes_next)..).unwrap_or_default();
    }
    words.get(before..).unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(name_char) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Where the closing parentheses stand of subshells that the script ends with, innermost last.
fn ends_of_last_subshells(list: &[Token<'_>]) -> Vec<usize> {
    let mut open: Vec<bool> = Vec::new();
    let mut closes: Vec<(usize, bool)> = Vec::new();
    let mut before: Option<Kind> = None;
    for token in list {
        match token.kind {
            Kind::Separator("(") => {
                // Not an array, a function's parentheses or arithmetic.
                let at_command = matches!(before, None | Some(Kind::Separator(_)));
                open.push(at_command && !token.doubled);
                closes.clear();
            }
            Kind::Separator(")") => closes.push((token.start, open.pop().unwrap_or(false))),
            Kind::Separator("\n" | ";") => {}
            _ => closes.clear(),
        }
        before = Some(token.kind);
    }
    // The outermost closes last in the text; only an unbroken row of subshells from there is known to be the end.
    let ends = closes.into_iter().rev();
    ends.take_while(|(_, is_subshell)| *is_subshell).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn out_01_a_pipe_is_one_that_the_shell_would_see() {
        for (script, expected) in [
            ("cargo test | tail -5", true),
            ("cargo test |& tail", true),
            ("(cd a && make | tail)", true),
            ("a |\n  b", true),
            ("if a | b; then c; fi", true),
            ("a || b", false),
            ("grep 'a|b' file", false),
            ("grep \"a|b\" file", false),
            ("grep a\\|b file", false),
            ("grep $'it\\'s|b' file", false),
            ("test -z \"$(a | b)\"", false),
            ("test -z $(a | b)", false),
            ("test -z `a | b`", false),
            ("diff <(a | b) c", false),
            ("echo ${x:-a|b}", false),
            ("make >| out", false),
            ("make # a | b", false),
            ("cat <<EOF\na | b\nEOF\nmake", false),
            ("cat <<'E' | sort\na\nE", true),
            ("echo a#b | c", true),
        ] {
            assert_eq!(has_pipe(script), expected, "{script}");
        }
    }

    #[test]
    fn a_script_that_is_not_complete_is_left_alone() {
        for script in [
            "a | b |",
            "a | b &&",
            "a | b ||",
            "a | echo 'b",
            "a | echo \"$(b",
            "(a | b",
            "a | cat <<EOF\nno end",
            "a | b >",
            "a",
        ] {
            assert_eq!(minding_pipes(script), None, "{script}");
        }
        for script in ["a | b \\", "a | b # why", "a | b;", "a | b\n\n", "a | b &"] {
            assert!(minding_pipes(script).is_some(), "{script}");
        }
    }

    #[test]
    fn the_member_that_failed_is_taken_out_of_the_output() {
        let found = find_pipe_mark(b"one\nralph-pipe: 1 of 2\ntwo");
        let expected = PipeMark { member: (1, 2), before: b"one\n", after: b"two" };
        assert_eq!(found, Some(expected));
        for other in ["one", "ralph-pipe: x of 2\n", "ralph-pipe: 1 of 2"] {
            assert_eq!(find_pipe_mark(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn programs_are_what_stands_where_a_command_does() {
        for (script, expected) in [
            ("npm test", &["npm"][..]),
            ("A=1 B='x y' cargo test 2>&1 | tail -5", &["cargo", "tail"]),
            ("! grep -q x <in >out && ./check.sh", &["grep", "./check.sh"]),
            ("(make; make check) 2>/dev/null", &["make"]),
            ("test -f x && [ -d y ] && true", &[]),
            ("\"$BIN\" --version; $x; ~/bin/y; a*", &[]),
            ("time make # and not this; nor that", &["make"]),
            ("cat <<EOF\nnot this\nEOF\nsort x\n", &["sort"]),
            // In another directory, through another program.
            ("cd sub && ./check.sh", &[]),
            ("cd web && npm test", &["npm"]),
            ("timeout -k 5 60 npm test", &["timeout", "npm"]),
            ("env -u A X=1 npm test", &["env", "npm"]),
            ("nice -n 5 time make", &["nice", "make"]),
            ("bash -c 'cd a && npm test'", &["bash", "npm"]),
            ("bash -c \"$x\"; sh -c", &["sh"]),
            ("exec make", &["make"]),
            // What a failure does not end.
            ("python3 x || python x", &[]),
            ("make && npm test || true", &[]),
            ("npm test; test -f x", &[]),
            ("server & curl x", &["curl"]),
            ("set -e\nmake\n./x || true\nnpm test", &["make", "npm"]),
            // What the script looks for itself.
            ("command -v jq", &[]),
            ("command -v jq >/dev/null && jq . x", &[]),
            ("type jq | grep x", &["grep"]),
            ("command jq", &["jq"]),
            // What cannot be known.
            ("make && . venv/bin/activate && pytest", &["make"]),
            ("make && . venv/bin/activate && pytest || true", &[]),
            ("PATH=$PWD/bin:$PATH tool", &[]),
            ("export PATH=$PWD/bin:$PATH; tool", &[]),
            ("if a; then b; fi", &[]),
            ("f() { x; }; f", &[]),
        ] {
            assert_eq!(programs(script), expected, "{script}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(script in "[a-c|&;()<>'\"`$\\\\{}#! \n\té]{0,60}") {
            let _ = has_pipe(&script);
            let _ = programs(&script);
            if let Some(minding) = minding_pipes(&script) {
                prop_assert!(minding.len() > script.len());
            }
        }
    }
}
