//! `.ralph.toml`, the environment and AGENTS.md: whether they can be read, what does nothing, who may read secrets.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralph_core::files::{Limit, Links, read_text};
use ralph_core::project::Project;
use ralph_core::text::{MASK, shell_word};
use serde_json::Value;

use super::{Finding, database};
use crate::command_error::{CommandError, shell_path};
use crate::commands::config::{Row, rows};
use crate::commands::run;
use crate::notify::is_url;
use crate::settings::{PREFIX, Settings, Source};
use crate::ui::format::counted;

const OTHERS_READ: u32 = 0o044;

pub fn unreadable(
    error: &CommandError,
    project: &Project,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Finding {
    let fix = fix(error.message(), project, environment);
    Finding::error("settings", error.message(), fix).with(error.hints())
}

/// Where the fault is: in the file, in the environment, or in the plan, whose specs have a say too.
fn fix(message: &str, project: &Project, environment: impl Iterator<Item = (OsString, OsString)>) -> String {
    let file = project.config();
    let text = read_text(&file, Links::Follow, Limit::SETTINGS);
    if text.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        return format!("chmod u+r {}", shell_path(&file));
    }
    if Settings::load(&file, std::iter::empty()).is_err() {
        return "fix .ralph.toml; see all settings: ralph config show --all".to_owned();
    }
    if Settings::load(&file, environment).is_ok() {
        return database::restore_fix(&project.database());
    }
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = words.find(|word| word.starts_with(PREFIX)).unwrap_or(PREFIX);
    format!("unset {name}, or set it to a valid value (see docs/config.md)")
}

pub fn findings(settings: &Settings, file: &Path) -> Vec<Finding> {
    let mut findings = vec![summary(settings, file)];
    findings.extend(secrets(settings, file));
    let old_names = settings.old_names().into_iter();
    findings.extend(old_names.map(|(what, fix)| Finding::warning("settings", what, fix)));
    if settings.notify.webhook.as_ref().is_some_and(|url| !is_url(&url.0)) {
        // The value is not shown: it may be a secret in the wrong place.
        let message = "[notify] webhook is not a valid URL: no notification is sent to it";
        let fix = "use https://HOST/PATH, then test it: ralph notify test";
        findings.push(Finding::warning("settings", message, fix));
    }
    findings
}

fn summary(settings: &Settings, file: &Path) -> Finding {
    let in_file = settings.all().filter(|(_, setting)| setting.source().line().is_some());
    let agents = settings.agents.keys().filter(|name| settings.is_configured(name));
    let (in_file, agents) = (in_file.count() as u64, agents.count() as u64);
    let message = if file.exists() {
        format!(".ralph.toml: {}, {}", counted(in_file, "setting"), counted(agents, "agent"))
    } else {
        "no .ralph.toml: using the defaults".to_owned()
    };
    let elsewhere = settings.all().filter_map(|(key, setting)| {
        let (Source::Environment(place) | Source::Spec(place)) = setting.source() else { return None };
        Some(format!("{place} sets [{}] {}", key.section, key.name))
    });
    Finding::ok("settings", message).with(elsewhere)
}

/// The names of secrets in the file. The address of a webhook is one: it is all that is needed to post there.
fn secret_names(settings: &Settings) -> Vec<String> {
    let mut names = Vec::new();
    for Row { section, key, value, .. } in rows(settings).into_iter().filter(|row| row.line.is_some()) {
        match value {
            Value::Object(env) => {
                let secrets = env.into_iter().filter(|(_, value)| value.to_string().contains(MASK));
                names.extend(secrets.map(|(name, _)| format!("[{section}] {key} {name}")));
            }
            Value::Null => {}
            value if key == "webhook" || value.to_string().contains(MASK) => {
                names.push(format!("[{section}] {key}"));
            }
            _ => {}
        }
    }
    names
}

fn secrets(settings: &Settings, file: &Path) -> Option<Finding> {
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    let names = secret_names(settings);
    if names.is_empty() || mode & OTHERS_READ == 0 {
        return None;
    }
    let names = names.join(", ");
    let message =
        format!(".ralph.toml contains secrets and other users can read it (mode {mode:o}): {names}");
    Some(Finding::warning("settings", message, format!("chmod 600 {}", shell_path(file))))
}

/// Claude Code reads CLAUDE.md; where there is one that does not lead to AGENTS.md, what stands there is not read.
pub fn agents_md(root: &Path, settings: &Settings) -> Finding {
    let check = "agents_md";
    let Some(file) = run::agents_md(settings) else { return Finding::ok(check, "turned off") };
    let path = root.join(&file);
    if let Err(error) = read_text(&path, Links::Follow, Limit::TEXT)
        && (path.is_symlink() || error.kind() != ErrorKind::NotFound)
    {
        let message = format!("cannot update {file}: {error}");
        return Finding::warning(check, message, "make it a readable file");
    }
    let name = file.rsplit('/').next().unwrap_or(&file);
    let claude_md = root.join("CLAUDE.md");
    let same = match (claude_md.canonicalize(), path.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => file == "CLAUDE.md",
    };
    match read_text(&claude_md, Links::Follow, Limit::TEXT) {
        Ok(text) if !same && !text.contains(name) => Finding::warning(
            check,
            format!("CLAUDE.md does not mention {name}, so Claude Code does not read it"),
            format!("echo {} >> {}", shell_word(&format!("@{file}")), shell_path(&claude_md)),
        ),
        _ if !path.exists() => Finding::ok(check, format!("none yet; runs create {file}")),
        _ => Finding::ok(check, format!("agents can read {file}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn look(toml: &str, mode: u32) -> Vec<Finding> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        std::fs::write(&file, toml).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let settings = Settings::load(&file, std::iter::empty()).unwrap();
        findings(&settings, &file)
    }

    #[test]
    fn a_broken_file_is_described_without_its_text() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        std::fs::write(&file, "[agents.x]\nenv = { K = 'hunter2' 'y' }\n").unwrap();
        let error = Settings::load(&file, std::iter::empty()).unwrap_err();
        let finding = unreadable(&error, &Project::at(dir.path()), std::iter::empty());
        assert!(finding.message.contains("line 2"), "{finding:?}");
        assert_eq!(finding.detail.len(), 1, "{finding:?}");
        assert!(!format!("{finding:?}").contains("hunter2"), "{finding:?}");
    }

    #[test]
    fn secrets_that_others_may_read_are_named_and_not_shown() {
        let toml = "[agents.claude]\nenv = { ANTHROPIC_API_KEY = 'hunter2' }\n[run]\nmodel = 'opus'";
        let findings = look(toml, 0o644);
        assert_eq!(findings[0].message, ".ralph.toml: 1 setting, 1 agent");
        let warning = &findings[1];
        assert_eq!(warning.level, Level::Warning);
        assert!(warning.message.contains("[agents.claude] env ANTHROPIC_API_KEY"));
        assert!(!warning.message.contains("hunter2"));
        assert!(warning.fix.as_ref().unwrap().starts_with("chmod 600 /"));
        assert_eq!(look(toml, 0o600).len(), 1);
        assert_eq!(look("[run]\nmodel = 'opus'", 0o644).len(), 1);
    }

    #[test]
    fn what_fixes_settings_is_where_the_fault_is() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path());
        let env = |name: &str| [(OsString::from(name), OsString::from("none"))].into_iter();
        let fix = |name: &str| {
            let error = Settings::load(&project.config(), env(name)).unwrap_err();
            unreadable(&error, &project, env(name)).fix.unwrap()
        };
        assert!(fix("RALPH_SET_RUN_LIMIT").starts_with("unset RALPH_SET_RUN_LIMIT,"));
        assert!(fix("RALPH_SET_NO_SUCH").starts_with("unset RALPH_SET_NO_SUCH,"));
        // Settings that are as they should be: what is left is the plan.
        let error = CommandError::environment("no such table: sources");
        let fix = unreadable(&error, &project, std::iter::empty()).fix.unwrap();
        assert!(fix.contains("progress.db"), "{fix}");
    }

    #[test]
    fn a_webhook_that_is_no_address_is_worth_a_warning() {
        let warned = |url: &str| {
            let found = look(&format!("[notify]\nwebhook = '{url}'"), 0o600);
            found.iter().any(|one| one.level == Level::Warning)
        };
        for url in ["https://hooks.example/x", "http://localhost:8080", "http://[::1]/x"] {
            assert!(!warned(url), "{url}");
        }
        for url in ["not a url", "hooks.example/x", "https://", "ftp://hooks.example", "/x"] {
            assert!(warned(url), "{url}");
        }
    }
}
