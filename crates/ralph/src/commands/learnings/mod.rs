//! `ralph learnings …`: what agents and people learned.

mod transfer;
mod upkeep;
mod wording;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::engine::recall;
use ralph_core::memory::recall::upkeep::withheld;
use ralph_core::memory::recall::{Candidate, RecallPolicy, RecallQuery, ScoreParts};
use ralph_core::model::{Learning, LearningId, LearningState, NewLearning, Source, Timestamp};
use ralph_core::store::{LearningEdit, LearningFilter, Store, StoreError};
use ralph_core::text::{clean, one_line};
use serde::Serialize;
use serde_json::json;
use wording::{BY_HAND, Wording};

use crate::command_error::{CommandError, CommandResult};
use crate::ui::format::{age, counted, time};
use crate::ui::table::{self, Table};
use crate::ui::{self, scores, style};
use crate::workspace::{Workspace, ago, now, random};
use crate::{input, output};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(ListArgs),
    /// Show one learning with all its details.
    Show {
        /// The learning's id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    Search(SearchArgs),
    Add(AddArgs),
    Edit(EditArgs),
    /// Pin learnings: Ralph never withholds or archives them.
    Pin {
        /// Ids of the learnings.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Unpin them.
        #[arg(long)]
        off: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    Prune(upkeep::PruneArgs),
    Restore(upkeep::RestoreArgs),
    Merge(upkeep::MergeArgs),
    Import(transfer::ImportArgs),
    Export(transfer::ExportArgs),
}

pub fn run(dir: Option<&Path>, command: Command) -> CommandResult {
    let look = || Workspace::open_to_read(dir);
    let open = || Workspace::open(dir);
    match command {
        Command::List(args) => list(&look()?, &args),
        Command::Show { id, json } => show(&look()?, &id, json),
        Command::Search(args) => search(dir, &look()?, args),
        Command::Add(args) => add(&mut open()?, args),
        Command::Edit(args) => edit(&mut open()?, args),
        Command::Pin { ids, off, json } => upkeep::pin(&mut open()?, &ids, off, json),
        Command::Prune(args) => upkeep::prune(&mut open()?, &args),
        Command::Restore(args) => upkeep::restore(&mut open()?, &args),
        Command::Merge(args) => upkeep::merge(&mut open()?, &args),
        Command::Import(args) => transfer::import(dir, &mut open()?, &args),
        Command::Export(args) => transfer::export(dir, &look()?, &args),
    }
}

/// Which learnings, where several commands ask it alike.
#[derive(Debug, clap::Args)]
pub struct FilterArgs {
    /// Only learnings in this state.
    #[arg(long, value_enum, default_value_t = State::Active)]
    state: State,
    /// Only learnings of this category.
    #[arg(long, value_name = "C")]
    category: Option<String>,
    /// Only learnings with this tag (case-insensitive).
    #[arg(long, value_name = "T")]
    tag: Option<String>,
    /// Only learnings from this task (id or key).
    #[arg(long)]
    task: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum State {
    /// Can be shown to agents.
    Active,
    /// Archived: not shown to agents.
    Pruned,
    /// Replaced by another learning.
    Superseded,
    /// All learnings.
    All,
}

impl FilterArgs {
    fn filter(&self, workspace: &Workspace) -> Result<LearningFilter, CommandError> {
        let task = workspace.optional_task(self.task.as_deref())?;
        Ok(LearningFilter {
            state: match self.state {
                State::Active => Some(LearningState::Active),
                State::Pruned => Some(LearningState::Pruned),
                State::Superseded => Some(LearningState::Superseded),
                State::All => None,
            },
            category: self.category.clone(),
            tag: self.tag.clone(),
            task: task.map(|task| task.id),
            ..LearningFilter::default()
        })
    }
}

/// The learnings with these ids, each once. All of them exist, or nothing is done.
fn named(store: &Store, ids: &[String]) -> Result<Vec<Learning>, CommandError> {
    let mut found: Vec<Learning> = Vec::new();
    for id in ids.iter().map(|id| id.trim()) {
        if !found.iter().any(|learning| learning.id.as_str() == id) {
            found.push(store.learning(id)?);
        }
    }
    Ok(found)
}

/// The same, if all of them are active.
fn named_active(store: &Store, ids: &[String]) -> Result<Vec<Learning>, CommandError> {
    let found = named(store, ids)?;
    match found.iter().find(|l| l.state != LearningState::Active) {
        None => Ok(found),
        Some(other) => Err(StoreError::LearningNotActive {
            id: other.id.clone(),
            state: other.state,
            successor: other.superseded_by.clone(),
        }
        .into()),
    }
}

fn ids(learnings: &[Learning]) -> Vec<LearningId> {
    learnings.iter().map(|l| l.id.clone()).collect()
}

fn cell(text: &str) -> String {
    one_line(text, 500)
}

fn print_done(doing: &str, workspace: &Workspace, id: &LearningId) {
    let content = workspace.store.learning(id.as_str()).map(|l| l.content);
    let content = cell(&content.unwrap_or_default());
    let line = format!("{doing} {}: {content}", cell(id.as_str()));
    output::line(table::cut(&line, ui::width().min(160)));
}

/// List learnings, newest first; `*` marks pinned ones.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only learnings from this source: agent, human, import, merge, agents_md.
    #[arg(long, value_name = "S")]
    source: Option<Source>,
    /// Only pinned learnings.
    #[arg(long)]
    pinned: bool,
    /// Only learnings newer than this: 7d, 12h.
    #[arg(long, value_name = "DURATION", value_parser = input::span)]
    newer_than: Option<Duration>,
    /// Only learnings older than this: 90d.
    #[arg(long, value_name = "DURATION", value_parser = input::span)]
    older_than: Option<Duration>,
    /// Show at most N learnings, the newest.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn list(workspace: &Workspace, args: &ListArgs) -> CommandResult {
    let mut learnings = workspace.store.learnings(&LearningFilter {
        source: args.source,
        pinned: args.pinned,
        since: args.newer_than.map(ago),
        before: args.older_than.map(ago),
        ..args.filter.filter(workspace)?
    })?;
    learnings.truncate(args.limit.unwrap_or(usize::MAX));
    let none = "no learnings match; add one with `ralph learnings add TEXT`";
    output::list(args.json, &learnings, none, || {
        let mut table =
            Table::new(["", "ID", "CATEGORY", "STATE", "AGE", "SHOWN", "HELPED", "HURT", "CONTENT"]);
        for learning in &learnings {
            table.row([
                if learning.pinned { "*" } else { "" }.into(),
                cell(learning.id.as_str()),
                cell(&learning.category),
                match args.filter.state {
                    State::Active => String::new(),
                    _ => learning.state.to_string(),
                },
                age(now().since(learning.created_at)),
                learning.shown.to_string(),
                learning.record.helpful.to_string(),
                learning.record.harmful.to_string(),
                cell(&learning.content),
            ]);
        }
        table.render()
    })
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    learning: Learning,
    supersedes: Vec<LearningId>,
    /// Its record is so bad that no prompt shows it.
    withheld: bool,
}

fn show(workspace: &Workspace, id: &str, json: bool) -> CommandResult {
    let learning = workspace.store.learning(id.trim())?;
    let replaced = workspace.store.learnings(&LearningFilter {
        superseded_by: Some(learning.id.clone()),
        ..LearningFilter::default()
    })?;
    let candidate = Candidate { record: learning.record, pinned: learning.pinned, ..Candidate::default() };
    let shown = Shown {
        supersedes: ids(&replaced),
        withheld: learning.state == LearningState::Active && withheld(&candidate),
        learning,
    };
    output::print(json, &shown, || print(&shown))
}

fn print(shown: &Shown) {
    let learning = &shown.learning;
    output::field("id", cell(learning.id.as_str()));
    output::field("category", cell(&learning.category));
    if let Some(title) = &learning.title {
        output::field("title", cell(title));
    }
    if !learning.tags.is_empty() {
        output::field("tags", one_line(&learning.tags.join(", "), usize::MAX));
    }
    let since = match (&learning.superseded_by, learning.pruned_at) {
        (Some(successor), _) => format!(" by {}", cell(successor.as_str())),
        (None, Some(pruned)) => format!(" {}", time(pruned)),
        (None, None) => String::new(),
    };
    let pinned = if learning.pinned { ", pinned" } else { "" };
    output::field("state", format_args!("{}{since}{pinned}", learning.state));
    if shown.withheld {
        let why = "not shown to agents: it hurt more often than it helped";
        let how = "`ralph learnings pin` shows it anyway";
        output::text(table::wrap_all(&format!("{:<10} {why}; {how}", "")));
    }
    for id in &shown.supersedes {
        output::field("supersedes", cell(id.as_str()));
    }
    output::field("source", learning.source);
    if let Some(task) = &learning.task_id {
        let key = learning.task_key.as_ref();
        let key = key.map(|key| format!(" ({})", cell(key.as_str())));
        output::field("task", cell(task.as_str()) + &key.unwrap_or_default());
    }
    output::field("created", time(learning.created_at));
    if let Some(restored) = learning.restored_at {
        output::field("restored", time(restored));
    }
    let last = learning.last_used_at.map(|last| format!(", last {}", time(last)));
    output::field("shown", counted(learning.shown, "time") + &last.unwrap_or_default());
    output::field("helped", counted(learning.record.helpful, "task"));
    output::field("hurt", counted(learning.record.harmful, "task"));
    output::line(format_args!("\n{}", clean(&learning.content)));
}

/// Search learnings, ranked as for a task's prompt.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// The text to search for, such as a task's description; `-` reads it from stdin.
    #[arg(required_unless_present = "batch")]
    text: Option<String>,
    /// A task title to search for.
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Show at most N learnings.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Search only what was known at this time: 2026-01-31T12:00:00Z or 2026-01-31.
    #[arg(long, value_name = "TIME", value_parser = input::time)]
    before: Option<Timestamp>,
    /// Show how each score is calculated.
    #[arg(long)]
    explain: bool,
    /// Run many searches and print one line of JSON each. FILE (`-` for stdin) has lines
    /// {"id", "title", "description", "before"}.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "title", "before"])]
    batch: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct SearchResult<'r> {
    id: &'r str,
    score: f64,
    category: &'r str,
    title: Option<&'r str>,
    content: &'r str,
    tags: &'r [String],
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<ScoreParts>,
}

fn search(dir: Option<&Path>, workspace: &Workspace, args: SearchArgs) -> CommandResult {
    let policy = RecallPolicy::search(usize::try_from(args.limit).unwrap_or(usize::MAX));
    if let Some(file) = &args.batch {
        return transfer::search_batch(dir, workspace, file, &policy, args.explain);
    }
    let query = RecallQuery {
        title: args.title.unwrap_or_default(),
        text: input::argument(args.text.unwrap_or_default(), "text")?,
        ..RecallQuery::default()
    };
    let as_of = args.before.unwrap_or_else(now);
    let recalled = recall(&workspace.store, &query, as_of, args.before, &policy)?;
    let chosen = recalled.chosen().map(|(ranked, candidate)| SearchResult {
        id: &candidate.id,
        score: ranked.scored.score,
        category: &candidate.category,
        title: Some(candidate.title.as_str()).filter(|title| !title.is_empty()),
        content: &candidate.content,
        tags: &candidate.tags,
        created_at: Timestamp::from_millis(candidate.created_at_ms),
        parts: args.explain.then_some(ranked.scored.parts),
    });
    let found: Vec<SearchResult<'_>> = chosen.collect();
    output::print(args.json, &json!({ "results": found }), || match found.is_empty() {
        true => output::note("no learnings match; `ralph learnings list` shows all learnings"),
        false => output::text(result_table(&found)),
    })
}

/// A table; where parts are to be shown, each row is followed by its own.
fn result_table(found: &[SearchResult<'_>]) -> String {
    let mut table = Table::new(["SCORE", "ID", "CATEGORY", "CONTENT"]);
    for one in found {
        let score = format!("{:.3}", one.score);
        table.row([score, cell(one.id), cell(one.category), cell(one.content)]);
    }
    let rendered = table.render();
    let mut lines = rendered.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, one) in lines.zip(found) {
        text.push_str(&format!("{line}\n"));
        if let Some(parts) = &one.parts {
            let why = style::paint(style::DIM, scores::parts(parts));
            text.push_str(&table::wrap(&format!("       {why}"), ui::width()));
            text.push('\n');
        }
    }
    text
}

/// Add a learning by hand.
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// What to remember; `-` reads it from stdin.
    content: String,
    /// The category: success_pattern, pitfall, tool_usage, code_structure, testing_strategy,
    /// debugging_technique, or a word of your own.
    #[arg(long, value_name = "C", default_value = "other")]
    category: String,
    /// Keywords to find it by: words, phrases, symbols, paths; can be repeated.
    #[arg(long, visible_alias = "tag", value_name = "A,B", value_delimiter = ',')]
    tags: Vec<String>,
    /// A one-line title.
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Pin it: Ralph never withholds or archives it.
    #[arg(long)]
    pin: bool,
    /// Print the new learning as JSON.
    #[arg(long)]
    json: bool,
}

fn add(workspace: &mut Workspace, args: AddArgs) -> CommandResult {
    let mut wording = Wording::new(BY_HAND);
    let content = input::argument(args.content, "content")?;
    let new = || -> Result<NewLearning, String> {
        Ok(NewLearning {
            category: wording.category(&args.category)?,
            title: wording.title(&args.title.unwrap_or_default())?,
            content: wording.content(&content)?,
            tags: wording.tags(&args.tags)?,
        })
    };
    let new = new().map_err(CommandError::usage)?;
    let store = &mut workspace.store;
    let id = store.add_learning(&new, Source::Human, now(), &mut random)?;
    if args.pin {
        store.pin_learning(&id, true)?;
    }
    wording.note_masked();
    let learning = store.learning(id.as_str())?;
    output::print(args.json, &learning, || output::line(format_args!("added {id}")))
}

/// Change a learning; the changed version gets a new id and keeps its statistics.
///
/// `ralph learnings restore ID` restores the old version. An empty value clears the title or the tags: --title "".
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// The learning's id.
    id: String,
    /// New category.
    #[arg(long, value_name = "C")]
    category: Option<String>,
    /// New tags, replacing the old ones; can be repeated.
    #[arg(long, visible_alias = "tag", value_name = "A,B", value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// New title.
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// New content; `-` reads it from stdin.
    #[arg(long, value_name = "TEXT")]
    content: Option<String>,
    /// Print the new learning as JSON.
    #[arg(long)]
    json: bool,
}

fn edit(workspace: &mut Workspace, args: EditArgs) -> CommandResult {
    let old = LearningId::from_stored(args.id.trim());
    let mut wording = Wording::new(BY_HAND);
    let content = args.content.map(|text| input::argument(text, "content"));
    let content = content.transpose()?;
    let edit = || -> Result<LearningEdit, String> {
        Ok(LearningEdit {
            category: args.category.map(|c| wording.category(&c)).transpose()?,
            title: args.title.map(|title| wording.title(&title)).transpose()?,
            content: content.map(|text| wording.content(&text)).transpose()?,
            tags: args.tags.map(|tags| wording.tags(&tags)).transpose()?,
        })
    };
    let edit = edit().map_err(CommandError::usage)?;
    if edit == LearningEdit::default() {
        return Err(CommandError::usage("nothing to change")
            .hint("pass an option such as --content or --tags; see `ralph learnings edit --help`"));
    }
    let store = &mut workspace.store;
    let new = store.edit_learning(&old, &edit, now(), &mut random)?;
    wording.note_masked();
    let learning = store.learning(new.as_str())?;
    output::print(args.json, &learning, || output::line(format_args!("{old} is now {new}")))
}
