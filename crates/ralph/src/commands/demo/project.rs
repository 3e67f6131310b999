//! The scratch project: a directory, a small shell program without its parts, settings, a plan, a repository.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, iter};

use ralph_core::project::Project;
use toml_edit::Value;

use super::Story;
use crate::command_error::CommandError;
use crate::commands::import;
use crate::commands::init::{self, HEADER};
use crate::workspace::Workspace;

const AGENT: &str = "demo";
/// Set in the agent's environment when it is to work without pauses.
pub const FAST: &str = "RALPH_DEMO_FAST";
pub const SPEC: &str = "specs/greeter";
const PLAN: &str = "plan.jsonl";
/// What a broken project's tests begin with.
const MISSING: &str = "\ntodo-check --version || exit 1\n";

macro_rules! assets {
    ($($path:literal)+) => {
        &[$( ($path, include_str!(concat!("assets/", $path))), )+]
    };
}

const ASSETS: &[(&str, &str)] = assets! {
    "gitignore" "README.first.md" "README.md" "plan.jsonl" "todo.first.sh" "todo.sh"
    "lib/store.sh" "lib/list.sh" "lib/count.first.sh" "lib/count.sh" "lib/done.first.sh" "lib/done.sh"
    "tests/lib.sh" "tests/store.sh" "tests/list.sh" "tests/count.sh" "tests/done.sh" "tests/command.sh"
    "greeter/gitignore" "greeter/README.first.md" "greeter/README.md" "greeter/tasks.md"
    "greeter/build.first.sh" "greeter/build.quotes.sh" "greeter/build.sh"
    "greeter/lib/words.sh" "greeter/lib/greet.sh"
    "greeter/words/en.txt" "greeter/words/de.txt" "greeter/words/au.txt"
    "greeter/tests/lib.sh" "greeter/tests/words.sh" "greeter/tests/greet.sh" "greeter/tests/build.sh"
    "greeter/tests/readme.sh"
};

pub fn asset(path: &str) -> &'static str {
    let found = ASSETS.iter().find(|(known, _)| *known == path);
    found.map_or("", |(_, text)| text)
}

/// What is there before any task is done, by its path in the project. The tests are the gates: no task changes them.
fn first_files(story: Story) -> impl Iterator<Item = (String, &'static str)> {
    let (prefix, plan) = match story {
        Story::Recovery => ("greeter/", (format!("{SPEC}/tasks.md"), asset("greeter/tasks.md"))),
        Story::Learning | Story::Broken => ("", (PLAN.to_owned(), asset(PLAN))),
    };
    let named = [("gitignore", ".gitignore"), ("README.first.md", "README.md"), ("todo.first.sh", "todo.sh")];
    let named = named.map(|(from, to)| (to.to_owned(), asset(&format!("{prefix}{from}"))));
    let below = ASSETS.iter().filter_map(move |(path, text)| {
        let path = path.strip_prefix(prefix)?;
        let is_first = path.starts_with("tests/") || path.starts_with("words/");
        is_first.then(|| (path.to_owned(), *text))
    });
    named.into_iter().filter(|(_, text)| !text.is_empty()).chain(below).chain([plan])
}

#[derive(Clone, Debug)]
pub struct Scratch {
    pub root: PathBuf,
    /// Why it is not a git repository, if it is none.
    pub no_git: Option<String>,
}

/// Makes the project in a directory that is new or empty, else in a fresh one that stays.
pub fn make(dir: Option<&Path>, fast: bool, story: Story) -> Result<Scratch, CommandError> {
    let Some(dir) = dir else {
        let fresh = tempfile::Builder::new().prefix("ralph-demo-").tempdir().map_err(|error| {
            let place = env::temp_dir();
            failed(&place, &error).hint("choose another directory with --dir DIR")
        })?;
        let scratch = fill(fresh.path(), fast, story)?;
        // Only now: what could not be made leaves nothing behind.
        let _ = fresh.keep();
        return Ok(scratch);
    };
    claim(dir)?;
    let root = dir.canonicalize().map_err(|error| failed(dir, &error))?;
    fill(&root, fast, story)
}

/// Makes the directory the user named; one with something in it is refused.
fn claim(dir: &Path) -> Result<(), CommandError> {
    let entries = fs::create_dir_all(dir).and_then(|()| fs::read_dir(dir));
    let what = match entries.map(|mut entries| entries.next().is_none()) {
        Ok(true) => return Ok(()),
        Ok(false) => "is not empty",
        Err(_) if dir.is_file() => "is not a directory",
        Err(error) => return Err(failed(dir, &error)),
    };
    Err(CommandError::usage(format_args!("{} {what}", dir.display()))
        .hint("choose a new or empty directory, or omit --dir to use a temporary one"))
}

fn fill(root: &Path, fast: bool, story: Story) -> Result<Scratch, CommandError> {
    for (path, text) in first_files(story) {
        let text = match (story, path.as_str()) {
            (Story::Broken, "tests/lib.sh") => format!("{text}{MISSING}"),
            // No task depends on another, so that several tasks fail.
            (Story::Broken, PLAN) => {
                let tasks = text.lines().filter_map(|line| line.split_once(",\"after\":"));
                tasks.map(|(task, _)| format!("{task}}}\n")).collect()
            }
            _ => text.to_owned(),
        };
        write(&root.join(path), &text).map_err(|error| failed(root, &error))?;
    }
    let program = env::current_exe().map_err(|error| {
        CommandError::environment(format_args!("cannot find the path of the ralph program: {error}"))
    })?;
    init::create(root, &settings(&program.to_string_lossy(), fast, story))?;
    let mut workspace = Workspace::create(Project::at(root))?;
    let (plan, first_commit) = match story {
        Story::Learning | Story::Broken => (PLAN, "Start a to-do list"),
        Story::Recovery => (SPEC, "Start a greeter"),
    };
    import::import_plan(&mut workspace, &root.join(plan), &import::Choice::default())?;
    Ok(Scratch { root: root.to_owned(), no_git: start_repository(root, first_commit).err() })
}

pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

fn failed(path: &Path, error: &io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot write {}: {error}", path.display()))
}

/// Settings that make the built-in agent the project's own, so that `ralph run` works there later.
fn settings(program: &str, fast: bool, story: Story) -> String {
    let (recovery, flag) = match story {
        Story::Recovery => ("\n[recovery]\nenabled = true\n", ", \"--recovery\""),
        Story::Learning | Story::Broken => ("", ""),
    };
    let fast = if fast { format!("env = {{ {FAST} = \"1\" }}\n") } else { String::new() };
    format!(
        "{HEADER}\n[run]\nagent = \"{AGENT}\"\n{recovery}\n# The built-in agent of this demo.\n[agents.{AGENT}]\n\
         kind = \"command\"\ncommand = [{}, \"demo-agent\"{flag}]\nmodels = [\"small\", \"medium\", \"large\"]\n\
         price = {{ small = 0, medium = 0, large = 0 }}\n{fast}",
        Value::from(program)
    )
}

/// Settings of the repository: an author, and nothing that asks for keys or runs other programs.
const GIT_SETTINGS: [[&str; 2]; 7] = [
    ["user.name", "Ralph demo"],
    ["user.email", "demo@localhost"],
    ["commit.gpgsign", "false"],
    ["core.hooksPath", ".git/hooks"],
    ["core.autocrlf", "false"],
    // A commit may start housekeeping in the background, which would outlive the agent.
    ["gc.auto", "0"],
    ["maintenance.auto", "false"],
];

/// Variables by which a surrounding git, in a hook for example, would lead ours elsewhere.
const GIT_ELSEWHERE: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// Makes a directory a repository and commits everything in it; else says why it is none.
fn start_repository(root: &Path, message: &str) -> Result<(), String> {
    git(root, ["-c", "init.defaultBranch=main", "init", "-q", "--template="])?;
    for setting in GIT_SETTINGS {
        git(root, iter::once("config").chain(setting))?;
    }
    git(root, ["add", "--all"])?;
    git(root, ["commit", "-q", "-m", message])
}

/// Commits these files; `false` where there is nothing to commit, or no repository.
pub fn commit(root: &Path, files: &[String], message: &str) -> bool {
    let with_files = |words: &[&'static str]| {
        git(root, words.iter().copied().chain(files.iter().map(String::as_str))).is_ok()
    };
    root.join(".git").exists()
        && with_files(&["add", "--"])
        && !with_files(&["diff", "--cached", "--quiet", "--"])
        && git(root, ["commit", "-q", "-m", message]).is_ok()
}

/// Runs git; the error is a sentence for people.
fn git<'w>(root: &Path, words: impl IntoIterator<Item = &'w str>) -> Result<(), String> {
    let mut command = Command::new("git");
    for variable in GIT_ELSEWHERE {
        command.env_remove(variable);
    }
    let output = command.args(words).current_dir(root).stdin(Stdio::null()).output();
    let output = output.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "git is not installed".to_owned(),
        _ => format!("cannot start git: {error}"),
    })?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("git failed: {}", said.lines().last().unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn the_settings_name_the_agent_whatever_its_path_holds() {
        let program = "/opt/a \"b\" \\ é/ralph";
        let text = settings(program, true, Story::Recovery);
        let file = Path::new(".ralph.toml");
        let settings = Settings::parse(file, &text, iter::empty()).unwrap();
        assert_eq!(*settings.run.agent, AGENT);
        let agent = &settings.agents[AGENT];
        assert_eq!(agent.setup.command, [program, "demo-agent", "--recovery"]);
        assert_eq!(agent.setup.env, [(FAST.to_owned(), "1".to_owned())]);
        assert!(text.starts_with("# Ralph") && text.contains("[run]\nagent = \"demo\"\n"), "{text}");
        assert!(text.trim_end().ends_with("env = { RALPH_DEMO_FAST = \"1\" }"), "{text}");
    }

    #[test]
    fn every_story_starts_with_its_files() {
        let files = |story| first_files(story).map(|(path, _)| path).collect::<Vec<_>>();
        assert_eq!(
            files(Story::Learning),
            [
                ".gitignore",
                "README.md",
                "todo.sh",
                "tests/lib.sh",
                "tests/store.sh",
                "tests/list.sh",
                "tests/count.sh",
                "tests/done.sh",
                "tests/command.sh",
                "plan.jsonl"
            ]
        );
        assert_eq!(
            files(Story::Recovery),
            [
                ".gitignore",
                "README.md",
                "words/en.txt",
                "words/de.txt",
                "words/au.txt",
                "tests/lib.sh",
                "tests/words.sh",
                "tests/greet.sh",
                "tests/build.sh",
                "tests/readme.sh",
                "specs/greeter/tasks.md"
            ]
        );
    }
}
