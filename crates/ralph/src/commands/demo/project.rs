//! The scratch project: a directory, a small shell program without its parts, settings, a plan.

use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ralph_core::project::Project;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use super::git::{self, GitUse};
use super::plan;
use super::recovery;
use super::story::Story;
use crate::command_error::CommandError;
use crate::commands::config::edit::{self, Name};
use crate::commands::init;
use crate::workspace::Workspace;

/// The agent's name in the project's settings.
pub const AGENT: &str = "demo";
/// Set in the agent's environment when it is to work without pauses.
pub const FAST: &str = "RALPH_DEMO_FAST";

/// What is there before any task is done. The tests are the gates: no task changes them.
const FILES: [(&str, &str); 9] = [
    (".gitignore", include_str!("assets/gitignore")),
    ("README.md", include_str!("assets/README.first.md")),
    ("todo.sh", include_str!("assets/todo.first.sh")),
    ("tests/lib.sh", include_str!("assets/tests/lib.sh")),
    ("tests/store.sh", include_str!("assets/tests/store.sh")),
    ("tests/list.sh", include_str!("assets/tests/list.sh")),
    ("tests/count.sh", include_str!("assets/tests/count.sh")),
    ("tests/done.sh", include_str!("assets/tests/done.sh")),
    ("tests/command.sh", include_str!("assets/tests/command.sh")),
];

/// How fast the agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// So that people can read along.
    Human,
    /// As fast as it can.
    Fast,
}

/// What a broken project's tests begin with.
const MISSING: &str = "\ntodo-check --version || exit 1\n";

/// A scratch project that is ready to run.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// Its root, absolute.
    pub root: PathBuf,
    /// Whether it is a git repository.
    pub git: GitUse,
}

/// Makes the project in a directory that is new or empty, else in a fresh one that stays.
pub fn make(dir: Option<&Path>, pace: Pace, story: Story) -> Result<Scratch, CommandError> {
    let Some(dir) = dir else {
        let fresh = tempfile::Builder::new()
            .prefix("ralph-demo-")
            .tempdir()
            .map_err(|error| {
                let place = env::temp_dir();
                failed(&place, &error).hint("choose another directory with --dir DIR")
            })?;
        let scratch = fill(fresh.path(), pace, story)?;
        // Only now: what could not be made leaves nothing behind.
        let _ = fresh.keep();
        return Ok(scratch);
    };
    claim(dir)?;
    let root = dir.canonicalize().map_err(|error| failed(dir, &error))?;
    fill(&root, pace, story)
}

/// Makes the directory the user named; one with something in it is refused.
fn claim(dir: &Path) -> Result<(), CommandError> {
    let refused = |what: &str| {
        CommandError::usage(format_args!("{} {what}", dir.display()))
            .hint("choose a new or empty directory, or omit --dir to use a temporary one")
    };
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(refused("is not empty")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(dir).map_err(|error| failed(dir, &error))
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(refused("is not a directory"))
        }
        Err(error) => Err(failed(dir, &error)),
    }
}

fn fill(root: &Path, pace: Pace, story: Story) -> Result<Scratch, CommandError> {
    let (files, first_commit) = match story {
        Story::Learning | Story::Broken => (&FILES[..], "Start a to-do list"),
        Story::Recovery => (&recovery::FILES[..], "Start a greeter"),
    };
    for (path, text) in files {
        let broken = story == Story::Broken && *path == "tests/lib.sh";
        let missing = if broken { MISSING } else { "" };
        let text = format!("{text}{missing}");
        write(&root.join(path), &text).map_err(|error| failed(root, &error))?;
    }
    init::create(root, &init::Choices::DEFAULT.text())?;
    let project = Project::at(root);
    configure(&project.config(), pace, story)?;
    let mut workspace = Workspace::create(project)?;
    match story {
        Story::Learning | Story::Broken => plan::add(&mut workspace, story)?,
        Story::Recovery => recovery::import_spec(&mut workspace)?,
    }
    Ok(Scratch {
        root: root.to_owned(),
        git: git::start(root, first_commit),
    })
}

/// Writes a file and the directories above it.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

/// Makes the built-in agent the project's own, so that `ralph run` works there later.
fn configure(file: &Path, pace: Pace, story: Story) -> Result<(), CommandError> {
    let text = fs::read_to_string(file).map_err(|error| failed(file, &error))?;
    let program = env::current_exe().map_err(|error| {
        CommandError::environment(format_args!(
            "cannot find the path of the ralph program: {error}"
        ))
    })?;
    let text = with_agent(&text, &program.to_string_lossy(), pace, story).map_err(|error| {
        CommandError::environment(format_args!(
            "{} is not valid TOML: {error}",
            file.display()
        ))
    })?;
    fs::write(file, text).map_err(|error| failed(file, &error))
}

fn with_agent(
    text: &str,
    program: &str,
    pace: Pace,
    story: Story,
) -> Result<String, toml_edit::TomlError> {
    let mut settings = edit::set(text, &Name::of("run", "agent"), AGENT.into())?;
    let mut command = vec![program, "demo-agent"];
    if story == Story::Recovery {
        settings = edit::set(&settings, &Name::of("recovery", "enabled"), true.into())?;
        command.push("--recovery");
    }
    let mut agent = Table::new();
    agent.insert("kind", value("command"));
    agent.insert("command", value(Array::from_iter(command)));
    agent.insert(
        "models",
        value(Array::from_iter(["small", "medium", "large"])),
    );
    let free = ["small", "medium", "large"].map(|model| (model, 0));
    agent.insert("price", value(InlineTable::from_iter(free)));
    if pace == Pace::Fast {
        agent.insert("env", value(InlineTable::from_iter([(FAST, "1")])));
    }
    let mut agents = Table::new();
    agents.set_implicit(true);
    agents.insert(AGENT, Item::Table(agent));
    let mut added = DocumentMut::new();
    added.insert("agents", Item::Table(agents));
    Ok(format!(
        "{settings}\n# The built-in agent of this demo.\n{added}"
    ))
}

fn failed(path: &Path, error: &io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn the_settings_name_the_agent_whatever_its_path_holds() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        let program = "/opt/a \"b\" \\ é/ralph";
        let text = with_agent(
            &init::Choices::DEFAULT.text(),
            program,
            Pace::Fast,
            Story::Learning,
        )
        .unwrap();
        fs::write(&file, &text).unwrap();
        let settings = Settings::load(&file, std::iter::empty()).unwrap();
        assert_eq!(settings.text("run", "agent"), Some(AGENT));
        let agent = &settings.agents[AGENT];
        assert_eq!(agent.setup.command, [program, "demo-agent"]);
        assert_eq!(agent.setup.env, [(FAST.to_owned(), "1".to_owned())]);
        assert!(
            text.starts_with("# Ralph") && text.contains("[run]\nagent = \"demo\"\n"),
            "the explanations stay\n{text}"
        );
        assert!(
            text.trim_end()
                .ends_with("env = { RALPH_DEMO_FAST = \"1\" }"),
            "the agent comes last\n{text}"
        );
    }
}
