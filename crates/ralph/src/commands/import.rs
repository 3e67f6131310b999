//! `ralph import` and `ralph export`: plans in files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::files::write_whole;
use ralph_core::plan::import::{self, FoundPlan, ImportError};
use ralph_core::plan::{Format, jsonl};
use ralph_core::store::{
    Author, GateEdit, ImportReport, ImportRequest, ImportedTask, ReplacedTask, StoreError,
};
use ralph_core::text::one_line;
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format::counted;
use crate::ui::lines;
use crate::ui::progress::waiting;
use crate::ui::style::Standing;
use crate::workspace::{Workspace, now, random, start_dir};

const LISTED: usize = 20;

/// Import a plan from a file.
///
/// The path is a file, a spec directory with tasks.md, or a directory with .planning. Importing the same file again adds new
/// tasks and updates changed ones. Tasks that are no longer in the file stay in the plan, and finished tasks stay done.
/// Keys are unique within a file: where several files have a task 1.1, commands accept `spec:1.1`.
/// While Ralph runs, it keeps the file in sync: it checks off what is done.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ralph import specs/auth               a spec: tasks.md, .progress.md, .ralph-state.json\n  \
    ralph import TODO.md --dry-run        a checklist; shows what would change\n  \
    ralph import plan.jsonl               the output of `ralph export`")]
pub struct Args {
    /// The file or directory.
    path: PathBuf,
    /// The file's format; detected by default.
    #[arg(long, value_enum, default_value_t = FormatChoice::Auto)]
    format: FormatChoice,
    /// Show what would change, and change nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormatChoice {
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

impl FormatChoice {
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
    let (found, report) = import_plan(&mut workspace, &path, args.format.format(), args.dry_run)?;
    let without_gate = match workspace.has_project_gate() {
        true => &[][..],
        false => &report.without_gate,
    };
    let notes = found.draft.notes.iter();
    let notes: Vec<_> = notes.map(|note| json!({ "line": note.line, "text": note.text })).collect();
    let document = json!({
        "path": found.path,
        "format": found.format.as_str(),
        "dry_run": args.dry_run,
        "added": report.added,
        "replaced": report.replaced,
        "kept_in_sync": found.format.is_written(),
        "updated": report.updated,
        "finished": report.finished,
        "unproven": report.unproven,
        "removed": report.removed,
        "gates_changed": report.gates_changed,
        "unchanged": report.unchanged,
        "without_gate": without_gate.len(),
        "notes": notes,
    });
    output::print(args.json, &document, || {
        for note in &found.draft.notes {
            output::note(format_args!("{}:{}: {}", found.path, note.line, note.text));
        }
        show(args, &found.path, &report);
        if !found.format.is_written() {
            output::note(format_args!(
                "Ralph does not write to this format: {} will not show what is done",
                found.path
            ));
        }
        if let Some(ungated) = lines::ungated(without_gate.len() as u64, without_gate) {
            output::note(ungated);
        }
    })
}

/// Takes the plan at a path in, or only finds out what that would change.
pub fn import_plan(
    workspace: &mut Workspace,
    path: &Path,
    format: Option<Format>,
    dry_run: bool,
) -> Result<(FoundPlan, ImportReport), CommandError> {
    let found = import::open(workspace.project.root(), path, format).map_err(|error| refused(&error))?;
    let request = ImportRequest {
        path: &found.path,
        format: found.format.as_str(),
        digest: &found.digest,
        draft: &found.draft,
        fixes: &found.fixes,
        asked_for: true,
        author: Author::Person,
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
    list('+', &report.added, args.dry_run);
    for ReplacedTask { name, title, by_name, .. } in report.replaced.iter().take(LISTED) {
        output::line(format_args!(
            "  {by_name} is new work; the finished task of that key is now {name}  {}",
            one_line(title, 80)
        ));
    }
    if report.replaced.len() > LISTED {
        output::line(format_args!("  … and {} more", report.replaced.len() - LISTED));
    }
    list('~', &report.updated, false);
    list_gates(&report.gates_changed);
    list('✓', &report.finished, false);
    list('-', &report.removed, false);
    let mut parts = vec![format!("{} {would}added", counted(report.added.len() as u64, "task"))];
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
        let removed = counted(report.removed.len() as u64, "task");
        let verb = if report.removed.len() == 1 { "is" } else { "are" };
        output::line(format_args!(
            "{removed} {verb} no longer in the file but kept in the plan; delete with `ralph task delete`"
        ));
    }
    if args.dry_run {
        output::line("nothing was changed (--dry-run)");
    }
}

/// `hide_ids`: a dry run makes ids up; the tasks will get others.
fn list(mark: char, tasks: &[ImportedTask], hide_ids: bool) {
    for task in tasks.iter().take(LISTED) {
        let name = match hide_ids && task.name == task.id.as_str() {
            true => String::new(),
            false => format!("{}  ", task.name),
        };
        let standing = Standing { status: task.status, verified: task.verified, done_by: task.done_by };
        output::line(format_args!("{mark} {name}{} · {}", one_line(&task.title, 80), standing.plain()));
    }
    if tasks.len() > LISTED {
        output::line(format_args!("{mark} … and {} more", tasks.len() - LISTED));
    }
}

fn list_gates(gates: &[GateEdit]) {
    for GateEdit { name, before, after, .. } in gates.iter().take(LISTED) {
        let (before, after) = (lines::gate(before.as_deref()), lines::gate(after.as_deref()));
        output::line(format_args!("  the gate of {name}: {before} → {after}"));
    }
    if gates.len() > LISTED {
        output::line(format_args!("  … and {} more gates", gates.len() - LISTED));
    }
}

fn refused(error: &ImportError) -> CommandError {
    let hint = match error {
        ImportError::File { .. } => {
            "pass a file, a spec directory with tasks.md, or a directory with .planning"
        }
        ImportError::Content(_) => "fix these lines and import again",
    };
    CommandError::usage(error).hint(hint)
}

fn clash(error: StoreError, path: &str) -> CommandError {
    match &error {
        StoreError::DuplicateKey { key, holder, .. } => CommandError::usage(format_args!(
            "{path}: the key `{key}` is already used by {holder}"
        ))
        .hint(format!("rename one of the keys, for example with `ralph task edit {holder} --key NEW`")),
        _ => error.into(),
    }
}

/// Export the plan as JSON lines, one task per line, for `ralph import`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Write to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// No effect: the output is always JSON lines.
    #[arg(long)]
    json: bool,
}

pub fn export(dir: Option<&Path>, args: &ExportArgs) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let tasks = workspace.tasks(None)?;
    let names: HashMap<&str, &str> = tasks.iter().map(|task| (task.id.as_str(), task.name())).collect();
    let mut fix_of = HashMap::new();
    for task in &tasks {
        let link = workspace.store.fix_link(&task.id)?;
        if let Some(original) = link.and_then(|link| link.original)
            && let Some(name) = names.get(original.as_str())
        {
            fix_of.insert(task.id.to_string(), (*name).to_owned());
        }
    }
    let text = jsonl::write(&tasks, &fix_of, now()).map_err(CommandError::environment)?;
    let Some(file) = &args.output else {
        output::text(text);
        return Ok(ExitCode::SUCCESS);
    };
    let path = start_dir(dir)?.join(file);
    write_whole(&path, text.as_bytes()).map_err(|error| CommandError::cannot_write(&path, &error))?;
    let count = counted(tasks.len() as u64, "task");
    output::note(format_args!("exported {count} to {}", file.display()));
    Ok(ExitCode::SUCCESS)
}
