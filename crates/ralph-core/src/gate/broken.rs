//! Gates that cannot run: the shell exits with 126 or 127 where it cannot start a program. That is nobody's failure, unless
//! the program is what the task is to write.

use std::io::Read as _;
use std::path::{Component, Path};

use super::script::{looked_for, programs};
use crate::files::{Links, open};
use crate::model::Task;
use crate::text::one_line;
use crate::which;

/// Exit codes of a shell that found a program it could not execute, and of one that found none.
const CANNOT_EXECUTE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// How much of a script is read for its first line.
const FIRST_LINE: u64 = 256;
const NAME_CHARS: usize = 80;

/// Why a gate cannot run, and what makes it run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The program, or the path, that is at fault, where it is known.
    pub program: Option<String>,
    /// What is wrong, as a sentence without its full stop.
    pub why: String,
    /// What to do about it: `install npm`.
    pub fix: String,
}

/// A gate that exited by itself.
pub(super) struct Exited<'a> {
    pub command: &'a str,
    pub code: i32,
    pub output: &'a str,
    pub dir: &'a Path,
    /// The texts of the task, which name what it is to write.
    pub task_texts: &'a [String],
}

/// All that may name what a task is to write: its texts and its files.
pub fn task_texts(task: &Task) -> Vec<String> {
    let own = [&task.title, &task.description];
    let own = own.into_iter().chain(&task.done_when).chain(&task.files);
    own.cloned().collect()
}

/// Whether a gate could not run, and why. None for an ordinary failure.
pub(super) fn broken(exited: &Exited<'_>) -> Option<Broken> {
    if !matches!(exited.code, CANNOT_EXECUTE | NOT_FOUND) {
        return None;
    }
    let own = programs(exited.command);
    let said = not_started(exited.output).filter(|name| !name.is_empty());
    let is_missing = |name: &&str| problem(name, exited.dir).is_some();
    let guessed = || own.iter().copied().find(is_missing).map(str::to_owned);
    let name = said.or_else(guessed);
    // A gate that asks whether a program is there has run: `command -v x` exits with 127 in some shells.
    let asked_for = looked_for(exited.command);
    let is_asked_for = |name: &str| asked_for.contains(&name);
    if name.as_deref().map_or(!asked_for.is_empty(), is_asked_for) {
        return None;
    }
    let is_own_program = |name: &str| !name.contains('/') && own.contains(&name);
    if !name.as_deref().is_some_and(is_own_program) {
        let nested = name.iter().map(String::as_str).filter(|name| !name.contains('/'));
        let mut to_write = paths(exited.command, exited.dir).chain(name.iter().cloned());
        let is_named = |path: String| names(exited.task_texts, &path, exited.dir);
        if to_write.any(is_named) || nested.clone().any(|name| mentions(exited.task_texts, name)) {
            return None;
        }
    }
    let code = exited.code;
    let Some(name) = name else {
        return Some(Broken {
            program: None,
            why: format!("it exited with code {code}: a program in it is missing or not executable"),
            fix: "install what it needs".into(),
        });
    };
    // A script that the gate gives to an interpreter, as in `bash check.sh`.
    let is_script = !own.contains(&name.as_str()) && name.contains('.') && !name.contains('/');
    let is_script = is_script && split_words(exited.command).any(|word| word == name);
    // A relative path says nothing once the gate has gone elsewhere.
    let is_path = name.contains('/') || is_script;
    let elsewhere = is_path && split_words(exited.command).any(|word| word == "cd");
    let missing = is_script && !exited.dir.join(&name).exists();
    let found = if missing { Some(Broken::missing(&name)) } else { problem(&name, exited.dir) };
    let found = found.filter(|_| !elsewhere).unwrap_or_else(|| {
        Broken::new(&name, format!("cannot start `{name}`"), format!("make sure that {name} runs here"))
    });
    Some(Broken { why: format!("{} (exit code {code})", found.why), ..found })
}

/// Why a gate cannot run, before it does; none where an attempt on its task may change that.
pub fn sure_to_break(command: &str, dir: &Path, task_texts: &[String]) -> Option<Broken> {
    let is_named = |name: &str| {
        if name.contains('/') { names(task_texts, name, dir) } else { mentions(task_texts, name) }
    };
    programs(command)
        .into_iter()
        .filter(|program| !is_named(program))
        .find_map(|program| known_problem(program, dir))
}

/// What is wrong with a program before a gate runs; none if it can be started, or may yet be written.
pub(super) fn known_problem(program: &str, dir: &Path) -> Option<Broken> {
    let missing_path = program.contains('/')
        && inside(program, dir).is_some()
        && which::not_executable(program, dir, None).is_none();
    problem(program, dir).filter(|_| !missing_path)
}

impl Broken {
    fn new(program: &str, why: String, fix: String) -> Self {
        Self { program: Some(program.to_owned()), why, fix }
    }

    fn missing(name: &str) -> Self {
        Self::new(name, format!("`{name}` does not exist"), format!("add {name}"))
    }
}

fn problem(name: &str, dir: &Path) -> Option<Broken> {
    let search = which::search_path();
    if let Some(path) = which::find(name, dir, search.as_ref()) {
        let interpreter = name.contains('/').then(|| interpreter(&path)).flatten()?;
        if which::find(&interpreter, dir, search.as_ref()).is_some() {
            return None;
        }
        let why = format!("`{name}` needs `{interpreter}`, which is not installed");
        return Some(Broken::new(
            name,
            why,
            format!("install {interpreter}, or change the first line of {name}"),
        ));
    }
    if !name.contains('/') || inside(name, dir).is_none() {
        let why = match name.contains('/') {
            true => format!("`{name}` is not installed"),
            false => format!("`{name}` is not installed or not on PATH"),
        };
        return Some(Broken::new(name, why, format!("install {name}")));
    }
    Some(match which::not_executable(name, dir, None) {
        Some(_) => Broken::new(name, format!("`{name}` is not executable"), format!("`chmod +x {name}`")),
        None => Broken::missing(name),
    })
}

/// The program that a script's first line names.
fn interpreter(script: &Path) -> Option<String> {
    let mut start = Vec::new();
    let file = open(script, Links::Follow).ok()?;
    file.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let start = String::from_utf8_lossy(&start);
    let mut words = start.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?;
    let named = match program.rsplit('/').next() {
        Some("env") => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        _ => program,
    };
    Some(one_line(named, NAME_CHARS))
}

/// What a shell, or `env`, says it could not start.
fn not_started(output: &str) -> Option<String> {
    let name = output.lines().rev().find_map(named_in)?;
    Some(one_line(name, NAME_CHARS))
}

/// How shells and `env` end a line about a program that they could not start.
const ENDS: [&str; 11] = [
    ": bad interpreter: No such file or directory",
    ": cannot execute: required file not found",
    ": cannot execute: No such file or directory",
    ": cannot execute binary file: Exec format error",
    ": Exec format error",
    ": command not found",
    ": not found",
    ": No such file or directory",
    ": No such file",
    ": Permission denied",
    ": Is a directory",
];

fn named_in(line: &str) -> Option<&str> {
    const QUOTES: [char; 5] = ['\'', '"', '`', '\u{2018}', '\u{2019}'];
    let line = line.trim();
    let before = ENDS.iter().find_map(|end| line.strip_suffix(end))?;
    let name = before.rsplit(": ").next()?;
    let name = name.strip_prefix("cannot open ").unwrap_or(name);
    Some(name.trim_matches(|c: char| QUOTES.contains(&c) || c.is_whitespace()))
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let separates = |c: char| c.is_whitespace() || "'\"`;|&()<>=,:[]{}*".contains(c);
    text.split(separates).filter(|word| !word.is_empty())
}

/// The words of a command that may be paths inside the tree.
fn paths(command: &str, dir: &Path) -> impl Iterator<Item = String> {
    let words = split_words(command).filter(|word| word.contains(['/', '.']));
    let inside = words.filter_map(|word| inside(word, dir));
    inside.collect::<Vec<_>>().into_iter()
}

/// A path as the tree's root sees it; none where it leads out of the tree.
fn inside(path: &str, dir: &Path) -> Option<String> {
    let path = Path::new(path);
    let path = if path.is_absolute() { path.strip_prefix(dir).ok()? } else { path };
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Whether the task's texts name a path: whole, by its file name, or by a folder above it.
fn names(texts: &[String], path: &str, dir: &Path) -> bool {
    let Some(path) = inside(path, dir) else {
        return false;
    };
    let file = path.rsplit('/').next().unwrap_or(&path);
    // A name without an ending is a word like any other.
    let telling = file.contains('.') || path.contains('/');
    let mut words = texts.iter().flat_map(|text| split_words(text));
    telling
        && words.any(|word| {
            let word = word.trim_start_matches("./").trim_end_matches(['.', '!', '?']);
            let folder = word.strip_suffix('/').filter(|folder| !folder.is_empty());
            let above = folder.is_some_and(|folder| path.starts_with(&format!("{folder}/")));
            word == path || word == file || above || word.ends_with(&format!("/{path}"))
        })
}

fn mentions(texts: &[String], name: &str) -> bool {
    let mut words = texts.iter().flat_map(|text| split_words(text));
    words.any(|word| word.trim_end_matches(['.', '!', '?']).eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, mode, text) in [
            ("plain.sh", 0o644, "#!/bin/sh\n"),
            ("snake.py", 0o755, "#!/usr/bin/env -S python9 -u\n"),
            ("old.sh", 0o755, "#!/no/such/sh\n"),
            ("good.sh", 0o755, "#!/bin/sh\n"),
        ] {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        dir
    }

    #[test]
    fn out_01_a_gate_that_cannot_run_says_why_and_what_to_do() {
        let dir = tree();
        // The command, its exit code, what was printed, the task's text, and why it is broken; none for a plain failure.
        for (command, code, output, text, why) in [
            (
                "npm9 test",
                127,
                "sh: 1: npm9: not found",
                "Add tests",
                Some("`npm9` is not installed or not on PATH"),
            ),
            (
                "npm9 test src/a.ts",
                127,
                "sh: 1: npm9: not found",
                "Write src/a.ts with npm9",
                Some("`npm9` is not installed"),
            ),
            ("npm9 test >x 2>&1", 127, "", "Add tests", Some("`npm9` is not installed")),
            ("bash: x", 127, "bash: line 1: tool9: command not found", "", Some("`tool9` is not installed")),
            (
                "./snake.py",
                127,
                "/usr/bin/env: \u{2018}python9\u{2019}: No such file or directory",
                "",
                Some("`python9` is not installed"),
            ),
            ("./snake.py", 127, "", "", Some("`./snake.py` needs `python9`, which is not installed")),
            ("./old.sh", 127, "sh: 1: ./old.sh: not found", "", Some("`./old.sh` needs `/no/such/sh`")),
            (
                "./old.sh",
                126,
                "bash: line 1: ./old.sh: /no/such/sh: bad interpreter: No such file or directory",
                "",
                Some("`/no/such/sh` is not installed"),
            ),
            (
                "./plain.sh",
                126,
                "sh: 1: ./plain.sh: Permission denied",
                "",
                Some("`./plain.sh` is not executable"),
            ),
            (
                "./check.sh",
                127,
                "sh: 1: ./check.sh: not found",
                "Add tests",
                Some("`./check.sh` does not exist"),
            ),
            (
                "cd sub && ./check.sh",
                127,
                "sh: 1: ./check.sh: not found",
                "",
                Some("cannot start `./check.sh`"),
            ),
            ("exit 127", 127, "", "", Some("it exited with code 127")),
            (
                "bash gone.sh",
                127,
                "bash: gone.sh: No such file or directory",
                "",
                Some("`gone.sh` does not exist"),
            ),
            (
                "cd . && sh gone.sh",
                127,
                "sh: 0: cannot open gone.sh: No such file",
                "",
                Some("cannot start `gone.sh`"),
            ),
            // What only asks whether a program is there.
            ("command -v jq9", 127, "", "Install it", None),
            ("type jq9", 127, "jq9: not found", "", None),
            ("command -v jq9 && jq9 .", 127, "", "", None),
            (
                "command -v sh && npm9 test",
                127,
                "sh: 1: npm9: not found",
                "",
                Some("`npm9` is not installed"),
            ),
            // What the task is to write.
            ("./check.sh", 127, "sh: 1: ./check.sh: not found", "Write check.sh, please", None),
            ("cd sub && ./check.sh", 127, "sh: 1: ./check.sh: not found", "Write `sub/check.sh`.", None),
            ("./bin/check", 127, "sh: 1: ./bin/check: not found", "bin/", None),
            ("./plain.sh", 126, "sh: 1: ./plain.sh: Permission denied", "Write ./plain.sh", None),
            ("./snake.py", 127, "env: 'python9': No such file or directory", "Write snake.py", None),
            ("./good.sh", 127, "./good.sh: 3: foo9: not found", "Write good.sh", None),
            ("npm test", 127, "sh: 1: jest9: not found", "Set up jest9", None),
            ("npm9 test", 1, "sh: 1: npm9: not found", "", None),
        ] {
            let found =
                broken(&Exited { command, code, output, dir: dir.path(), task_texts: &[text.to_owned()] });
            let found = found.map(|broken| broken.why);
            match (why, &found) {
                (None, None) => {}
                (Some(why), Some(found)) if found.contains(why) => {}
                _ => panic!("{command} ({code}, {output}, {text}): {found:?}"),
            }
        }
    }

    #[test]
    fn a_gate_is_sure_to_break_unless_its_task_speaks_of_the_program() {
        let dir = tree();
        for (command, text, breaks) in [
            ("npm9 test", "Add tests", true),
            ("cd web && npm9 test", "Add tests", true),
            ("npm9 test", "Install npm9.", false),
            ("npm9 test || true", "Add tests", false),
            ("./plain.sh", "Add tests", true),
            ("./plain.sh", "Rewrite plain.sh", false),
            ("./unwritten.sh", "Add tests", false),
        ] {
            let found = sure_to_break(command, dir.path(), &[text.to_owned()]);
            assert_eq!(found.is_some(), breaks, "{command}: {text}");
        }
    }

    #[test]
    fn programs_that_run_or_may_yet_be_written_have_no_problem() {
        let dir = tree();
        for program in ["sh", "/bin/sh", "./good.sh", "./unwritten.sh", "bin/check"] {
            assert_eq!(known_problem(program, dir.path()), None, "{program}");
        }
        for program in ["no-such-9", "/no/such/9", "./plain.sh", "./snake.py"] {
            assert!(known_problem(program, dir.path()).is_some(), "{program}");
        }
    }
}
