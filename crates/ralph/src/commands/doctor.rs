//! `ralph doctor`: whether a run would work, and what mends what would not.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use ralph_core::store::{PlanStore, RunStore};
use serde::Serialize;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::settings::{Settings, build_agent};
use crate::ui::style::{GREEN, RED, YELLOW, paint};
use crate::workspace::Workspace;

/// Check what a run needs: git, the agent, settings, the database, files; each finding with what mends it.
///
/// Exits 1 when something would stop a run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    Warning,
    Error,
}

#[derive(Debug, Serialize)]
struct Finding {
    /// What was looked at.
    check: &'static str,
    level: Level,
    /// What was found.
    message: String,
    /// What mends it.
    fix: Option<String>,
}

fn ok(check: &'static str, message: impl Into<String>) -> Finding {
    Finding {
        check,
        level: Level::Ok,
        message: message.into(),
        fix: None,
    }
}

fn bad(check: &'static str, level: Level, message: impl Into<String>, fix: &str) -> Finding {
    Finding {
        check,
        level,
        message: message.into(),
        fix: Some(fix.to_owned()),
    }
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut findings = vec![git()];
    match Workspace::open(dir) {
        Err(error) => findings.push(bad("project", Level::Error, error.message(), "ralph init")),
        Ok(workspace) => look(&workspace, &mut findings),
    }
    let stops = findings.iter().any(|one| one.level == Level::Error);
    if args.json {
        output::json(&serde_json::json!({ "ok": !stops, "findings": findings }));
    } else {
        for finding in &findings {
            show(finding);
        }
    }
    Ok(ExitCode::from(u8::from(stops)))
}

fn look(workspace: &Workspace, findings: &mut Vec<Finding>) {
    findings.push(database(workspace));
    match workspace.settings() {
        Err(error) => findings.push(bad(
            "settings",
            Level::Error,
            error.message(),
            "mend .ralph.toml; `ralph config show` lists every setting",
        )),
        Ok(settings) => {
            findings.push(ok("settings", "they can be read"));
            findings.push(agent(&settings));
            findings.push(agents_md(workspace, &settings));
        }
    }
    findings.extend(plan(workspace).unwrap_or_default());
}

fn git() -> Finding {
    match said("git", &["--version"]) {
        Some(version) => ok("git", version),
        None => bad(
            "git",
            Level::Warning,
            "git is not installed: what attempts change is not seen",
            "install git",
        ),
    }
}

fn database(workspace: &Workspace) -> Finding {
    match workspace.store.integrity() {
        Ok(word) if word == "ok" => ok("database", "it is sound"),
        Ok(word) => bad(
            "database",
            Level::Error,
            format!("SQLite says: {word}"),
            "bring back .ralph/progress.db from a copy",
        ),
        Err(error) => bad(
            "database",
            Level::Error,
            error.to_string(),
            "bring back .ralph/progress.db from a copy",
        ),
    }
}

fn agent(settings: &Settings) -> Finding {
    let name = settings.text("run", "agent").unwrap_or("claude");
    if let Err(error) = build_agent(name, &settings.agents) {
        let fix = "name another agent: [run] agent in .ralph.toml";
        return bad("agent", Level::Error, error.message(), fix);
    }
    let known = settings.agents.get(name);
    let program = known.and_then(|agent| agent.setup.command.first());
    let program = program.map_or(name, String::as_str);
    if found(program) {
        let version = said(program, &["--version"]).filter(|_| name == "claude");
        let version = version
            .map(|version| format!(", {version}"))
            .unwrap_or_default();
        return ok("agent", format!("{name}: {program}{version}"));
    }
    bad(
        "agent",
        Level::Error,
        format!("{name}: the program `{program}` is not there"),
        "install it, or change command under [agents.NAME] in .ralph.toml",
    )
}

/// Claude Code reads CLAUDE.md; where there is one that does not lead to AGENTS.md, what stands there is not read.
fn agents_md(workspace: &Workspace, settings: &Settings) -> Finding {
    let check = "agents_md";
    let Some(file) = super::run::agents_md(settings) else {
        return ok(check, "it is switched off");
    };
    let root = workspace.project.root();
    let path = root.join(&file);
    match std::fs::read(&path) {
        Err(error) if path.is_symlink() || error.kind() != std::io::ErrorKind::NotFound => {
            let message = format!("{file} cannot be kept: {error}");
            return bad(
                check,
                Level::Warning,
                message,
                "make it a file that can be read",
            );
        }
        Ok(bytes) if std::str::from_utf8(&bytes).is_err() => {
            let message = format!("{file} cannot be kept: it is not UTF-8");
            return bad(check, Level::Warning, message, "save it as UTF-8");
        }
        _ => {}
    }
    let name = file.rsplit('/').next().unwrap_or(&file).to_owned();
    let claude_md = root.join("CLAUDE.md");
    let same = match (claude_md.canonicalize(), path.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => file == "CLAUDE.md",
    };
    match std::fs::read_to_string(claude_md) {
        Ok(text) if !same && !text.contains(&name) => bad(
            check,
            Level::Warning,
            format!("CLAUDE.md does not mention {name}: Claude Code does not read what failed"),
            &format!("echo '@{file}' >> CLAUDE.md"),
        ),
        _ => ok(check, format!("{file} reaches agents that read it")),
    }
}

fn plan(workspace: &Workspace) -> Result<Vec<Finding>, CommandError> {
    let counts = workspace.store.counts()?;
    let mut findings = Vec::new();
    if counts.total == 0 {
        let fix = "ralph task add TITLE --verify COMMAND";
        findings.push(bad("plan", Level::Warning, "there are no tasks", fix));
    }
    let claims = workspace.store.claims()?.len();
    if claims > 0 {
        findings.push(ok("claims", format!("{claims} held now")));
    }
    Ok(findings)
}

/// The first line a program prints.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(ralph_core::text::one_line(text.lines().next()?, 100))
}

/// Whether a program is there: as a path, or on PATH.
fn found(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).exists())
}

fn show(finding: &Finding) {
    let mark = match finding.level {
        Level::Ok => paint(GREEN, "✓"),
        Level::Warning => paint(YELLOW, "!"),
        Level::Error => paint(RED, "✗"),
    };
    output::line(format_args!(
        "{mark} {}: {}",
        finding.check, finding.message
    ));
    if let Some(fix) = &finding.fix {
        output::line(format_args!("    {fix}"));
    }
}
