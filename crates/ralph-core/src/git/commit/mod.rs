//! Committing what an attempt changed, and nothing else.

mod alone;
mod choose;
mod cut_off;
mod follow;
mod message;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

pub use message::commit_message;

use super::call::{FOREIGN, INDEX_FILE};
use super::index::Index;
use super::paths::RepoPath;
use super::places::Places;
use super::save::commit_at;
use super::{Git, GitError, Left, Snapshot};
use crate::agent::{
    self, Access, BoundedText, Exit, Interrupt, Launch, ProcessLimits, Stop, Stream, Watch,
};
use crate::text;
use alone::alone;
pub(super) use choose::choose;
use follow::{Made, follow};

/// How often a commit is tried that others get in the way of.
const TRIES: u32 = 3;
/// How much of what git and the hooks say is kept, of its beginning and of its end.
const OUTPUT: usize = 8 * 1024;

/// A commit to be made.
#[derive(Clone, Debug)]
pub struct CommitOrder<'a> {
    /// The tree when the run began: what was uncommitted then is a person's.
    pub run_start: &'a Snapshot,
    /// The tree before the work that is to be committed: before the attempt, or before the first of several.
    pub before: &'a Snapshot,
    /// The message.
    pub message: &'a str,
    /// Variables the hooks get.
    pub env: Vec<(String, OsString)>,
    /// How long it may take, hooks and all.
    pub timeout: Duration,
    /// How long it has after TERM.
    pub grace: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitOutcome {
    /// The commit HEAD is at now; none if there was nothing to commit.
    pub hash: Option<String>,
    /// The files in it.
    pub files: Vec<String>,
    /// Those of them that a hook put into it.
    pub by_hooks: Vec<String>,
    /// What the attempt changed and is not in it.
    pub left_out: Vec<Left>,
    /// What did not go well all the same.
    pub warning: Option<String>,
}

impl Git {
    /// Commits what changed since `before`, with `git commit` and all its hooks. Ralph's own files are not in it, and
    /// neither are files that were uncommitted when the run began and before this work: whose lines are whose cannot
    /// be told, so they stay as they are and are named. What a person has staged stays staged.
    pub fn commit(
        &self,
        order: &CommitOrder<'_>,
        interrupt: &Interrupt,
        look_on: &mut dyn FnMut(),
    ) -> Result<CommitOutcome, GitError> {
        let places = self.settled_places()?;
        let _alone = alone(&places, order.timeout, interrupt, look_on)?;
        // Whoever began one and did not end it is dead.
        self.finish_commit()?;
        let mut tries = 1;
        loop {
            let head = commit_at(&places, "HEAD")?;
            let made = self.commit_once(&places, order, interrupt, look_on);
            cut_off::end(&places);
            match made {
                // Somebody else committed meanwhile, an agent of another run or a person.
                Err(GitError::CommitFailed { .. })
                    if tries < TRIES && commit_at(&places, "HEAD")? != head =>
                {
                    tries += 1;
                }
                made => return made,
            }
        }
    }

    fn commit_once(
        &self,
        places: &Places,
        order: &CommitOrder<'_>,
        interrupt: &Interrupt,
        look_on: &mut dyn FnMut(),
    ) -> Result<CommitOutcome, GitError> {
        places.wait_for_index()?;
        let now = self.snapshot()?;
        let choice = choose(order.run_start, order.before, &now);
        let rooted = |paths: &[Vec<u8>]| -> BTreeSet<RepoPath> {
            paths.iter().map(|path| self.rooted(path)).collect()
        };
        let (mut paths, dropped) = (rooted(&choice.paths), rooted(&choice.dropped));
        let nothing = CommitOutcome {
            left_out: choice.left_out,
            ..CommitOutcome::default()
        };
        if paths.is_empty() && dropped.is_empty() {
            return Ok(nothing);
        }
        let head = now.head();
        let index = Index::like_head(places, head)?;
        index.forget(&dropped)?;
        index.take(&paths)?;
        if is_same_tree(places, &index, head)? {
            return Ok(nothing);
        }
        let taken = paths.clone();
        paths.extend(dropped.iter().cloned());
        cut_off::begin(places, head, &paths)?;
        let ended = self.run_commit(&index, order, interrupt, look_on);
        let hash = commit_at(places, "HEAD")?.filter(|hash| Some(hash.as_str()) != head);
        let (hash, mut warnings) = match (hash, ended) {
            (None, Err(error)) => return Err(error),
            (None, Ok(())) => return Ok(nothing),
            (Some(hash), Ok(())) => (hash, Vec::new()),
            // What failed came after the commit, a hook of its own; or somebody else moved HEAD meanwhile.
            (Some(hash), Err(error)) => match is_same_tree(places, &index, Some(&hash))? {
                true => (hash, vec![error.to_string()]),
                false => return Err(error),
            },
        };
        let hash = match parent(places, &hash)? {
            other if other.as_deref() == head => hash,
            // Somebody moved HEAD while the hooks ran: the tree is of another time, and would take their work out.
            other => {
                let index = Index::like_head(places, other.as_deref())?;
                index.forget(&dropped)?;
                index.take(&taken)?;
                let words = ["commit", "--amend", "--no-edit", "--no-verify", "--quiet"];
                index
                    .call(&["-c", "core.hooksPath=/dev/null"])
                    .args(&words)
                    .run()?;
                commit_at(places, "HEAD")?.unwrap_or(hash)
            }
        };
        let made = Made {
            places,
            index: &index,
            old: head,
            new: &hash,
            paths: &paths,
            run_start: order.run_start,
        };
        let (committed, fault) = follow(self, &made);
        warnings.extend(fault);
        let names = |committed: &mut dyn Iterator<Item = &RepoPath>| -> Vec<String> {
            committed.map(|path| self.display(path)).collect()
        };
        Ok(CommitOutcome {
            hash: Some(hash),
            files: names(&mut committed.iter()),
            by_hooks: names(&mut committed.iter().filter(|path| !paths.contains(*path))),
            warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
            ..nothing
        })
    }

    /// Runs `git commit` with an index.
    fn run_commit(
        &self,
        index: &Index<'_>,
        order: &CommitOrder<'_>,
        interrupt: &Interrupt,
        look_on: &mut dyn FnMut(),
    ) -> Result<(), GitError> {
        let limits = ProcessLimits {
            wall: order.timeout,
            idle: None,
            grace: order.grace,
        };
        let mut output = Output {
            seen: BoundedText::new(OUTPUT, OUTPUT),
            look_on,
        };
        let launch = self.launch(index, order);
        let ended = agent::run(&launch, &limits, interrupt, &mut output)
            .map_err(|error| GitError::Spawn(error.source))?;
        let output = text::mask_secrets(&output.seen.into_text())
            .trim()
            .to_owned();
        match (ended.stop, ended.exit) {
            (Stop::Exited | Stop::Budget, Exit::Code(0)) => Ok(()),
            (Stop::Exited | Stop::Budget, exit) => Err(GitError::CommitFailed {
                message: summary(&output, exit),
                output,
            }),
            (Stop::WallTimeout | Stop::IdleTimeout, _) => Err(GitError::CommitTimedOut {
                limit: order.timeout,
                output,
            }),
            (Stop::Interrupted, _) => Err(GitError::Interrupted),
        }
    }

    fn launch(&self, index: &Index<'_>, order: &CommitOrder<'_>) -> Launch {
        // Without a terminal to ask at, whoever would ask for a passphrase fails at once.
        let mut args: Vec<String> = FOREIGN
            .into_iter()
            .chain(["GPG_TTY"])
            .filter(|name| *name != INDEX_FILE)
            .flat_map(|name| ["-u", name])
            .map(str::to_owned)
            .collect();
        // No tidying in the background: it would be taken for something an agent left behind.
        args.extend(
            [
                "git",
                "-c",
                "gc.auto=0",
                "-c",
                "maintenance.auto=false",
                "-c",
                "core.fsmonitor=false",
                "commit",
                "--quiet",
                "--cleanup=whitespace",
                "--file=-",
            ]
            .map(str::to_owned),
        );
        let mut env = order.env.clone();
        env.extend([
            (INDEX_FILE.to_owned(), index.path().into_os_string()),
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".into()),
            ("GIT_EDITOR".to_owned(), "true".into()),
        ]);
        Launch {
            program: "env".to_owned(),
            args,
            env,
            cwd: self.dir.clone(),
            stdin: order.message.to_owned(),
            access: Access::default(),
        }
    }
}

/// The commit before a commit; none before the first.
fn parent(places: &Places, commit: &str) -> Result<Option<String>, GitError> {
    commit_at(places, &format!("{commit}^"))
}

/// Whether an index holds just what HEAD does.
fn is_same_tree(places: &Places, index: &Index<'_>, head: Option<&str>) -> Result<bool, GitError> {
    match head {
        Some(head) => {
            let tree = places.call(&["rev-parse", "--verify", &format!("{head}^{{tree}}")]);
            Ok(tree.line()? == index.tree()?)
        }
        None => Ok(index.entries()?.is_empty()),
    }
}

/// The last line somebody said, or how it ended.
fn summary(output: &str, exit: Exit) -> String {
    match output.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => text::one_line(line, 200),
        None => match exit {
            Exit::Code(code) => format!("git exited with code {code} and said nothing"),
            Exit::Signal(signal) => format!("git was ended by signal {signal}"),
        },
    }
}

struct Output<'a> {
    seen: BoundedText,
    look_on: &'a mut dyn FnMut(),
}

impl Watch for Output<'_> {
    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.seen.push(chunk);
    }

    fn tick(&mut self) {
        (self.look_on)();
    }
}

#[cfg(test)]
mod tests;
