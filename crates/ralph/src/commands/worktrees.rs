//! `ralph worktrees`: the working trees of workers, shown and removed.

use std::path::Path;

use ralph_core::git::Git;
use ralph_core::host::{Host, Liveness, ThisHost};
use ralph_core::model::RunId;
use ralph_core::store::WorkerRow;
use ralph_core::text::{few, one_line};
use serde::Serialize;

use super::run::trees_dir;
use crate::command_error::{CommandError, CommandResult};
use crate::output::{self, Json};
use crate::ui::format::counted;
use crate::ui::table::Table;
use crate::workspace::{Workspace, now};

/// Files of unlanded work that are named.
const NAMED: usize = 5;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the working trees of this project's workers.
    List(Json),
    /// Remove the working trees that no worker uses.
    ///
    /// A tree with work that is on no branch and under no reference is kept, unless --force is given.
    Clean {
        /// Also remove trees with unsaved work; tells what is lost.
        #[arg(long)]
        force: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What becomes of trees with unsaved work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unsaved {
    Keep,
    Remove,
}

#[derive(Debug, Serialize)]
struct Tree {
    path: String,
    head: Option<String>,
    /// The run and the worker that use it.
    run_id: Option<RunId>,
    worker: Option<String>,
    /// Files with uncommitted changes.
    changed: Vec<String>,
    /// Commits that are on no branch and under no reference.
    unsaved_commits: u64,
    /// Why it is not known what is in it.
    unreadable: Option<String>,
    /// Whether its directory is gone.
    is_gone: bool,
}

impl Tree {
    /// What would be lost with it.
    fn unsaved(&self) -> Option<String> {
        let files = (!self.changed.is_empty()).then(|| few(&self.changed, NAMED));
        let commits = (self.unsaved_commits > 0).then(|| counted(self.unsaved_commits, "commit"));
        let unreadable = self.unreadable.as_ref().map(|why| format!("unknown: {why}"));
        let all: Vec<String> = commits.into_iter().chain(files).chain(unreadable).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    match command {
        Command::List(args) => {
            let workspace = Workspace::open_to_read(dir)?;
            let (_, trees) = trees(&workspace)?;
            output::print(args.json, &trees, || list(&trees))
        }
        Command::Clean { force, json } => {
            let workspace = Workspace::open(dir)?;
            let unsaved = if *force { Unsaved::Remove } else { Unsaved::Keep };
            clean(&workspace, unsaved, *json)
        }
    }
}

fn list(trees: &[Tree]) {
    if trees.is_empty() {
        return output::note("no working trees; `ralph run --jobs N` makes them");
    }
    let mut table = Table::new(["TREE", "USED BY", "UNSAVED WORK"]);
    for tree in trees {
        let used_by = tree.worker.as_ref().zip(tree.run_id.as_ref());
        let used_by = used_by.map(|(worker, run)| format!("{worker} of {run}"));
        let state = if tree.is_gone { Some("its directory is gone".to_owned()) } else { tree.unsaved() };
        table.row([tree.path.clone(), used_by.unwrap_or_default(), state.unwrap_or_default()]);
    }
    output::text(table.render());
}

/// The trees of this project, with the repository that they belong to.
fn trees(workspace: &Workspace) -> Result<(Option<Git>, Vec<Tree>), CommandError> {
    let root = workspace.project.root();
    let Some(git) = Git::discover(root) else { return Ok((None, Vec::new())) };
    let settings = workspace.settings()?;
    let all = trees_dir(settings.worktree.dir.as_deref(), root)?;
    let held = workspace.store.workers()?;
    let failed = |error: ralph_core::git::GitError| CommandError::environment(error.to_string());
    let mut trees = Vec::new();
    for known in git.trees().map_err(failed)? {
        let is_below = known.path.starts_with(&all);
        let own = Git::discover(&known.path).filter(|_| !known.is_gone);
        let is_others = own.as_ref().is_none_or(|own| own.project_root().as_deref() != Some(root));
        if !is_below && is_others {
            continue;
        }
        let path = known.path.display().to_string();
        let holder = held.iter().find(|held| held.work_tree == path && is_held(held));
        let inside = match (&own, known.is_gone) {
            (Some(own), _) => own.snapshot().and_then(|tree| Ok((tree.dirty(), own.unsaved_commits()?))),
            (None, true) => Ok(Default::default()),
            (None, false) => Err(ralph_core::git::GitError::Refused {
                command: "rev-parse".to_owned(),
                message: "it is no working tree of git".to_owned(),
            }),
        };
        let (inside, unreadable) = match inside {
            Ok(inside) => (inside, None),
            Err(error) => (Default::default(), Some(one_line(&error.to_string(), 200))),
        };
        trees.push(Tree {
            path,
            head: known.head,
            run_id: holder.map(|holder| holder.run_id.clone()),
            worker: holder.map(|holder| holder.worker.clone()),
            changed: inside.0,
            unsaved_commits: inside.1,
            unreadable,
            is_gone: known.is_gone,
        });
    }
    Ok((Some(git), trees))
}

fn is_held(worker: &WorkerRow) -> bool {
    match ThisHost::new().liveness(&worker.owner) {
        Liveness::Alive => true,
        Liveness::Dead => false,
        Liveness::Elsewhere => worker.expires_at >= now(),
    }
}

#[derive(Serialize)]
struct Cleaned {
    removed: Vec<Removed>,
    kept: Vec<Kept>,
}

#[derive(Serialize)]
struct Removed {
    path: String,
    /// What was in it and nowhere else.
    lost: Option<String>,
    /// The reference that its commits are saved under, where its directory was gone.
    saved: Option<String>,
}

#[derive(Serialize)]
struct Kept {
    path: String,
    why: String,
}

fn clean(workspace: &Workspace, policy: Unsaved, json: bool) -> CommandResult {
    let (git, trees) = trees(workspace)?;
    let mut done = Cleaned { removed: Vec::new(), kept: Vec::new() };
    for tree in trees {
        if let Some(run) = &tree.run_id {
            let worker = tree.worker.as_deref().unwrap_or_default();
            done.kept.push(Kept { why: format!("{worker} of run {run} uses it"), path: tree.path });
            continue;
        }
        let unsaved = tree.unsaved();
        if let Some(unsaved) = unsaved.as_ref().filter(|_| policy == Unsaved::Keep) {
            done.kept.push(Kept { why: format!("it has unsaved work: {unsaved}"), path: tree.path });
            continue;
        }
        let removed = git.as_ref().map_or(Ok(None), |git| git.remove_tree(Path::new(&tree.path)));
        match removed {
            Ok(saved) => done.removed.push(Removed { path: tree.path, lost: unsaved, saved }),
            Err(error) => done.kept.push(Kept { why: error.to_string(), path: tree.path }),
        }
    }
    let is_forcible = done.kept.iter().any(|kept| kept.why.starts_with("it has unsaved work"));
    output::print(json, &done, || {
        for removed in &done.removed {
            let lost = removed.lost.as_ref().map(|lost| format!("; lost: {lost}"));
            let saved = removed.saved.as_ref().map(|saved| format!("; its commits are saved at {saved}"));
            let more: String = lost.into_iter().chain(saved).collect();
            output::line(format_args!("removed {}{more}", removed.path));
        }
        for kept in &done.kept {
            output::line(format_args!("kept {}: {}", kept.path, kept.why));
        }
        if done.removed.is_empty() && done.kept.is_empty() {
            output::note("no working trees");
        }
        if is_forcible {
            output::note("hint: `ralph worktrees clean --force` removes those with unsaved work, too");
        }
    })
}
