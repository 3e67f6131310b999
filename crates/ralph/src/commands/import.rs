//! `ralph import` and `ralph export`: plans in files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use ralph_core::engine::GITHUB;
use ralph_core::files::write_whole;
use ralph_core::plan::import::{self, FoundPlan, ImportError};
use ralph_core::plan::{Format, NO_TASKS, Note, export, jsonl};
use ralph_core::store::{
    Author, GateEdit, ImportReport, ImportRequest, ImportedTask, ReplacedTask, StoreError,
};
use ralph_core::text::{mask_secrets, one_line, shell_word};
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
    /// Also import tasks that the file marks as optional.
    #[arg(long)]
    optional: bool,
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
    /// A prd.json with user stories, or another list of tasks in JSON.
    Prd,
    /// Task Master's tasks.json.
    #[value(alias = "task-master")]
    Taskmaster,
    /// The issues.jsonl of beads.
    Beads,
    /// The output of `gh issue list --json`.
    Github,
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
            Self::Taskmaster => Some(Format::TaskMaster),
            Self::Beads => Some(Format::Beads),
            Self::Github => Some(Format::Github),
            Self::Gsd => Some(Format::Gsd),
            Self::Jsonl => Some(Format::Lines),
        }
    }
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open_or_create(dir)?;
    let choice = Choice { format: args.format.format(), optional: args.optional, dry_run: args.dry_run };
    let path = match args.path.to_str() {
        Some(query) if query.starts_with(GITHUB) => args.path.clone(),
        _ => start_dir(dir)?.join(&args.path),
    };
    let (found, report) = import_plan(&mut workspace, &path, &choice)?;
    let without_gate = if workspace.has_project_gate() { &[][..] } else { &report.without_gate };
    let notes = found.draft.notes.iter();
    let path_of = |note: &Note| note.path.clone().unwrap_or_else(|| found.path.clone());
    let notes: Vec<_> =
        notes.map(|note| json!({ "path": path_of(note), "line": note.line, "text": note.text })).collect();
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
        show_notes(&found.path, &found.draft.notes);
        show(args, &found.path, &report);
        if !found.format.is_written() {
            let path = &found.path;
            let closes = || workspace.settings().is_ok_and(|settings| *settings.trackers.write);
            match path.starts_with(GITHUB) {
                true if closes() => {
                    output::note("Ralph closes the issue of each finished task ([trackers] write)")
                }
                true => output::note(
                    "Ralph closes these issues only with [trackers] write = true (ralph config set trackers.write true)",
                ),
                false => output::note(format_args!(
                    "Ralph does not write to this format: {path} will not show what is done"
                )),
            }
        }
        if let Some(ungated) = lines::ungated(without_gate.len() as u64, without_gate) {
            output::note(ungated);
        }
    })
}

/// How a plan is taken in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    pub format: Option<Format>,
    /// Whether tasks that the file calls optional are tasks, too.
    pub optional: bool,
    /// Only find out what would change.
    pub dry_run: bool,
}

/// Takes the plan at a path in, or only finds out what that would change.
pub fn import_plan(
    workspace: &mut Workspace,
    path: &Path,
    choice: &Choice,
) -> Result<(FoundPlan, ImportReport), CommandError> {
    let root = workspace.project.root();
    let mut found = match path.to_str().and_then(|path| path.strip_prefix(GITHUB)) {
        Some(query) => github_issues(root, query)?,
        None => import::open(root, path, choice.format).map_err(|error| refused(&error))?,
    };
    if !choice.optional && found.draft.tasks.iter().any(|task| task.optional) {
        let known = workspace.store.sources()?.into_iter().find(|source| source.path == found.path);
        let known =
            known.map(|source| workspace.store.filed_tasks(source.id)).transpose()?.unwrap_or_default();
        found.draft.leave_out_optional(|name| known.iter().any(|task| task.name == name));
    }
    let request = ImportRequest {
        path: &found.path,
        format: found.format.as_str(),
        digest: &found.digest,
        draft: &found.draft,
        fixes: &found.fixes,
        asked_for: true,
        author: Author::Person,
        dry_run: choice.dry_run,
    };
    let store = &mut workspace.store;
    let count = found.draft.tasks.len() as u64;
    let what = format!("importing {}", counted(count, "task"));
    let report = waiting(&what, || store.import_plan(&request, now(), &mut random))
        .map_err(|error| clash(error, &found.path))?;
    Ok((found, report))
}

/// Issues that the `gh` program lists. The query is such as `label=ralph,milestone=v2`; its words are options of `gh issue list`.
fn github_issues(root: &Path, query: &str) -> Result<FoundPlan, CommandError> {
    const FIELDS: &str = "number,title,body,labels,state,url";
    const OPTIONS: [&str; 8] =
        ["label", "milestone", "assignee", "author", "search", "state", "limit", "repo"];
    let mut command = Command::new("gh");
    command.args(["issue", "list", "--json", FIELDS]).current_dir(root).stdin(Stdio::null());
    let words: Vec<&str> = query.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if !words.iter().any(|word| word.starts_with("limit=")) {
        command.args(["--limit", "1000"]);
    }
    for word in words {
        let option = word.split_once('=').filter(|(name, _)| OPTIONS.contains(name));
        let Some((name, value)) = option else {
            return Err(CommandError::usage(format_args!("`{word}` is not a filter of GitHub issues")).hint(
                format_args!(
                    "use NAME=VALUE with one of {}: ralph import gh:label=ralph",
                    OPTIONS.join(", ")
                ),
            ));
        };
        command.arg(format!("--{name}={value}"));
    }
    let ran = waiting("asking GitHub for issues", || command.output());
    let output = ran.map_err(|error| {
        CommandError::environment(format_args!("cannot run gh: {error}"))
            .hint("install the GitHub CLI and log in with `gh auth login`")
    })?;
    if !output.status.success() {
        let said = one_line(&mask_secrets(&String::from_utf8_lossy(&output.stderr)), 300);
        return Err(CommandError::environment(format_args!("gh issue list failed: {said}"))
            .hint("run `gh auth status`, and check that this is a clone of a GitHub repository"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let path = format!("{GITHUB}{query}");
    let draft = import::read_plan(root, &path, Format::Github, &text).map_err(|error| refused(&error))?;
    Ok(FoundPlan { path, format: Format::Github, draft, digest: String::new(), fixes: Vec::new() })
}

/// The same words about several lines of a file are said once.
fn show_notes(plan: &str, notes: &[Note]) {
    let mut groups: Vec<(&str, &str, Vec<usize>)> = Vec::new();
    let mut places = HashMap::new();
    for note in notes {
        let path = note.path.as_deref().unwrap_or(plan);
        let place = *places.entry((path, note.text.as_str())).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, _, lines)) => lines.push(note.line),
            None => groups.push((path, &note.text, vec![note.line])),
        }
    }
    const OTHERS: usize = 5;
    for (path, text, lines) in groups {
        let place = match lines.first() {
            None | Some(0) => path.to_owned(),
            Some(first) => format!("{path}:{first}"),
        };
        let mut others: Vec<String> = lines.iter().skip(1).take(OTHERS).map(usize::to_string).collect();
        if lines.len() > OTHERS + 1 {
            others.push(format!("and {} more", lines.len() - OTHERS - 1));
        }
        match others.is_empty() {
            true => output::note(format_args!("{place}: {text}")),
            false => {
                let word = if lines.len() == 2 { "line" } else { "lines" };
                output::note(format_args!("{place}: {text} (also {word} {})", others.join(", ")));
            }
        }
    }
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
        let standing =
            Standing { verified: task.verified, done_by: task.done_by, ..Standing::of(task.status) };
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
    if let ImportError::Content(problems) = error
        && let Some(none) = problems.iter().find(|problem| problem.expected == NO_TASKS)
    {
        let path = shell_word(&none.path);
        return CommandError::usage(error)
            .hint(format_args!("add checkboxes, or let an agent make a plan of it: ralph plan -f {path}"));
    }
    let hint = match error {
        ImportError::File { why, .. } if why.ends_with("expected UTF-8 text") => {
            "save the file as UTF-8 and import it again"
        }
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

/// Export the plan, by default as JSON lines, one task per line, for `ralph import`.
///
/// JSON lines keep everything. The other formats keep what they have a place for: tasks.md the order, the texts and the gates, Task
/// Master and beads the texts, the dependencies and the status.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The format to write.
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// Write to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The same as `--format jsonl`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// Ralph's own: one task per line.
    Jsonl,
    /// A spec with tasks in order.
    #[value(name = "tasks.md", alias = "tasks-md", alias = "tasks_md")]
    TasksMd,
    /// Task Master's tasks.json.
    Taskmaster,
    /// The issues.jsonl of beads.
    Beads,
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
    let text = match args.format {
        ExportFormat::Jsonl => jsonl::write(&tasks, &fix_of, now()),
        ExportFormat::TasksMd => Ok(export::tasks_md(&tasks)),
        ExportFormat::Taskmaster => export::task_master(&tasks),
        ExportFormat::Beads => export::beads(&tasks),
    };
    let text = text.map_err(CommandError::environment)?;
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
