//! `ralph import`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::import::{self, FoundPlan, ImportError};
use ralph_core::plan_files::Format;
use ralph_core::store::{
    GateEdit, Hand, ImportReport, ImportRequest, ImportedTask, SourceStore, StoreError,
};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format::counted;
use crate::ui::lines;
use crate::ui::progress::waiting;
use crate::ui::style::Standing;
use crate::workspace::{Workspace, now, random, start_dir};

/// How many tasks of a kind are listed.
const LISTED: usize = 20;

/// Import a plan from a file and keep the file in sync.
///
/// The path is a file, a spec folder with tasks.md, or a folder with .planning. Importing the same file again adds new
/// tasks and updates changed ones. Tasks that are no longer in the file stay in the plan, and finished tasks stay done.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ralph import specs/auth               a spec: tasks.md, .progress.md, .ralph-state.json\n  \
    ralph import TODO.md --dry-run        a checklist, only to see what would happen\n  \
    ralph import plan.jsonl               the output of `ralph export`")]
pub struct Args {
    /// The file or folder.
    path: PathBuf,
    /// The file's format; detected by default.
    #[arg(long, value_enum, default_value_t = Chosen::Auto)]
    format: Chosen,
    /// Show what would change, and change nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Chosen {
    /// Detect it from the name and the content.
    Auto,
    /// Tasks with keys under phases, kept in sync while Ralph runs.
    #[value(alias = "tasks_md", alias = "tasks.md", alias = "spec")]
    TasksMd,
    /// A Markdown list with checkboxes.
    Checklist,
    /// A prd.json with user stories.
    Prd,
    /// Plans below .planning/phases.
    Gsd,
    /// JSON lines, as written by `ralph export`.
    #[value(alias = "lines", alias = "json-lines")]
    Jsonl,
}

impl Chosen {
    fn format(self) -> Option<Format> {
        match self {
            Self::Auto => None,
            Self::TasksMd => Some(Format::TasksMd),
            Self::Checklist => Some(Format::Checklist),
            Self::Prd => Some(Format::Prd),
            Self::Gsd => Some(Format::Gsd),
            Self::Jsonl => Some(Format::Lines),
        }
    }
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open_or_create(dir)?;
    let path = start_dir(dir)?.join(&args.path);
    let (found, report) = take_in(&mut workspace, &path, args.format.format(), args.dry_run)?;
    let without_gate = match workspace.has_project_gate() {
        true => 0,
        false => report.without_gate,
    };
    if args.json {
        output::json(&json!({
            "path": found.path,
            "format": found.format.as_str(),
            "dry_run": args.dry_run,
            "added": report.added,
            "updated": report.updated,
            "finished": report.finished,
            "unproven": report.unproven,
            "removed": report.removed,
            "gates_changed": report.gates_changed,
            "unchanged": report.unchanged,
            "without_gate": without_gate,
            "notes": found.draft.notes.iter().map(|note| json!({"line": note.line, "text": note.text})).collect::<Vec<_>>(),
        }));
        return Ok(ExitCode::SUCCESS);
    }
    for note in &found.draft.notes {
        output::note(format_args!("{}:{}: {}", found.path, note.line, note.text));
    }
    show(args, &found.path, &report);
    if let Some(ungated) = lines::ungated(without_gate, "ID") {
        output::line(ungated);
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes the plan at a path in, or only finds out what that would change.
pub fn take_in(
    workspace: &mut Workspace,
    path: &Path,
    format: Option<Format>,
    dry_run: bool,
) -> Result<(FoundPlan, ImportReport), CommandError> {
    let found =
        import::open(workspace.project.root(), path, format).map_err(|error| refused(&error))?;
    let request = ImportRequest {
        path: &found.path,
        format: found.format.as_str(),
        digest: &found.digest,
        draft: &found.draft,
        fixes: &found.fixes,
        asked_for: true,
        hand: Hand::Person,
        dry_run,
    };
    let store = &mut workspace.store;
    let count = found.draft.tasks.len() as u64;
    let what = format!("importing {}", counted(count, "task"));
    let report = waiting(&what, || store.import_plan(&request, now(), &mut random))
        .map_err(|error| clash(error, &found.path))?;
    Ok((found, report))
}

fn show(args: &Args, path: &str, report: &ImportReport) {
    let would = if args.dry_run { "would be " } else { "" };
    list('+', &report.added);
    list('~', &report.updated);
    list_gates(&report.gates_changed);
    list('✓', &report.finished);
    list('-', &report.removed);
    let mut parts = vec![format!(
        "{} {would}added",
        counted(report.added.len() as u64, "task")
    )];
    for (n, word) in [
        (report.updated.len(), "updated"),
        (report.finished.len(), "checked off in the file"),
        (report.unchanged, "unchanged"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {word}"));
        }
    }
    output::line(format_args!("{path}: {}", parts.join(", ")));
    if !report.removed.is_empty() {
        output::line(format_args!(
            "{} no longer in the file but kept in the plan; delete with `ralph task delete`",
            counted(report.removed.len() as u64, "task")
                + if report.removed.len() == 1 {
                    " is"
                } else {
                    " are"
                }
        ));
    }
    if args.dry_run {
        output::line("nothing was changed (--dry-run)");
    }
}

fn list(mark: char, tasks: &[ImportedTask]) {
    for task in tasks.iter().take(LISTED) {
        let standing = Standing {
            status: task.status,
            verified: task.verified,
            done_by: task.done_by,
        };
        output::line(format_args!(
            "{mark} {}  {}  ({})",
            task.name,
            ralph_core::text::one_line(&task.title, 80),
            standing.plain()
        ));
    }
    if tasks.len() > LISTED {
        output::line(format_args!("{mark} … and {} more", tasks.len() - LISTED));
    }
}

fn list_gates(gates: &[GateEdit]) {
    for gate in gates.iter().take(LISTED) {
        output::line(format_args!(
            "  the gate of {}: {} → {}",
            gate.name,
            lines::gate(gate.before.as_deref()),
            lines::gate(gate.after.as_deref())
        ));
    }
    if gates.len() > LISTED {
        output::line(format_args!("  … and {} more gates", gates.len() - LISTED));
    }
}

fn refused(error: &ImportError) -> CommandError {
    let hint = match error {
        ImportError::File { .. } => {
            "pass a file, a spec folder with tasks.md, or a folder with .planning"
        }
        ImportError::Content(_) => "nothing was imported; fix these lines and import again",
    };
    CommandError::usage(error).hint(hint)
}

fn clash(error: StoreError, path: &str) -> CommandError {
    match &error {
        StoreError::DuplicateKey { key, holder, .. } => CommandError::usage(format_args!(
            "{path}: the key `{key}` is already used by {holder}, which comes from another file"
        ))
        .hint(format!(
            "nothing was imported; rename one of the keys, for example with `ralph task edit {holder} --key NEW`"
        )),
        StoreError::Cycle(_) => CommandError::from(error).hint("nothing was imported"),
        _ => error.into(),
    }
}
