//! `ralph init`: settings with their explanations, a place for the plan. Safe to repeat.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use ralph_core::files::private;
use ralph_core::project::Project;
use ralph_core::store::SqliteStore;
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::settings::keys::{KEYS, Kind};
use crate::trust;
use crate::workspace::{Workspace, start_dir};

/// Make this directory a project: settings and a place for the plan.
///
/// Writes a commented .ralph.toml and .ralph/ with its own .gitignore. What is there already stays as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let root = start_dir(dir)?;
    let made = create(&root)?;
    if args.json {
        output::json(&json!({ "root": root, "made": made }));
        return Ok(ExitCode::SUCCESS);
    }
    if made.is_empty() {
        output::line(format_args!(
            "{} is a Ralph project already; nothing was changed",
            root.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    for path in made {
        output::line(format_args!("made {path}"));
    }
    output::line("");
    output::line("Next:");
    output::line("  ralph task add \"Title\" -d \"What to do\" --verify \"cargo test\"");
    output::line("  ralph run");
    Ok(ExitCode::SUCCESS)
}

/// Makes what is missing; returns what that was.
pub fn create(root: &Path) -> Result<Vec<&'static str>, CommandError> {
    let project = Project::at(root);
    trust::check(&project)?;
    let mut made = Vec::new();
    let had_database = project.database().exists();
    if had_database {
        // A file of a newer Ralph is refused before anything is written beside it.
        SqliteStore::open(&project.database())?;
    }
    if write_new(&project.config(), &config_text())? {
        made.push(".ralph.toml");
    }
    for dir in [project.ralph_dir(), project.logs()] {
        private::make_dir(&dir).map_err(|e| failed(&dir, &e))?;
    }
    if project.keep_out_of_git() {
        made.push(".ralph/.gitignore");
    }
    Workspace::create(project)?;
    if !had_database {
        made.push(".ralph/progress.db");
    }
    Ok(made)
}

/// Writes a file unless there is one. `true` if it was written.
fn write_new(path: &Path, text: &str) -> Result<bool, CommandError> {
    // Settings that everybody may write are not obeyed.
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o664)
        .open(path);
    match opened {
        Ok(mut file) => {
            file.write_all(text.as_bytes())
                .map_err(|e| failed(path, &e))?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(path, &error)),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::environment(format_args!(
        "{} cannot be written: {error}",
        path.display()
    ))
    .hint("check the directory's permissions and free space")
}

/// Every setting, commented out, with its default and what it does.
pub fn config_text() -> String {
    let mut text = String::from(
        "# Settings of Ralph. Every line is optional; what is commented out shows the default.\n\
         # Durations are seconds, or have a unit: 90, \"30m\", \"1h30m\".\n",
    );
    let mut section = "";
    for key in KEYS {
        if key.section != section {
            section = key.section;
            text.push_str(&format!("\n[{section}]\n"));
        }
        let is_bare = key.default.parse::<f64>().is_ok() || matches!(key.default, "true" | "false");
        let line = match (key.default, key.kind) {
            ("", Kind::Count) => format!("{} = 50   # an example; none by default", key.name),
            ("", Kind::Number) => format!("{} = 30   # an example; none by default", key.name),
            ("", _) => format!("{} = \"…\"   # none by default", key.name),
            (default, _) if is_bare => format!("{} = {default}", key.name),
            (default, _) => format!("{} = \"{default}\"", key.name),
        };
        text.push_str(&format!("# {}\n# {line}\n", key.doc));
    }
    text.push_str(
        "\n# Claude Code needs no settings. These are its defaults:\n\
         # [agents.claude]\n\
         # kind = \"claude\"\n\
         # command = [\"claude\"]\n\
         # models = [\"haiku\", \"sonnet\", \"opus\"]   # cheapest first\n\
         # skip_permissions = true                # it works unattended\n\
         #\n\
         # Any command can be an agent: prompt on standard input, result on standard output.\n\
         # [agents.mine]\n\
         # kind = \"command\"\n\
         # command = [\"my-agent\", \"--model\", \"{model}\"]\n\
         # models = [\"small\", \"large\"]\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings::Settings;

    #[test]
    fn the_settings_written_are_read_back_also_when_uncommented() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        fs::write(&file, config_text()).unwrap();
        Settings::load(&file, std::iter::empty()).unwrap();
        let uncommented: String = config_text()
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") => {
                    format!("{rest}\n")
                }
                _ if line.starts_with('[') => format!("{line}\n"),
                _ => String::new(),
            })
            .take_while(|line| !line.starts_with("kind"))
            .collect();
        fs::write(&file, &uncommented).unwrap();
        Settings::load(&file, std::iter::empty())
            .unwrap_or_else(|e| panic!("{e:?}\n{uncommented}"));
    }
}
