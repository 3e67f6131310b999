//! Committing what an attempt changed, and nothing else.

mod alone;
mod cause;
mod choose;
mod cut_off;
mod follow;
mod intent;
mod message;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::iter;
use std::time::Duration;

pub use message::commit_message;

use super::call::{FOREIGN, INDEX_FILE};
use super::conduct::CallKind;
use super::index::Index;
use super::paths::RepoPath;
use super::places::Places;
use super::programs::{ProgramKind, held_up_commit};
use super::save::commit_at;
use super::{Git, GitError, Left, Snapshot};
use crate::agent::{
    self, Access, BoundedText, Exit, Interrupt, Launch, ProcessLimits, Stop, Stream, Watch,
};
use crate::model::CommitIntent;
use crate::text;
use alone::alone;
use cause::real_cause;
pub(super) use choose::choose;
use follow::{Made, follow};

/// How often a commit is tried that others get in the way of.
const TRIES: u32 = 3;
/// A commit that runs a program which appeared during the run has no more time than this. From the next run on the program
/// counts as a person's and has all the time that the settings give.
const NEW_PROGRAM_LIMIT: Duration = Duration::from_secs(60);
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

/// Who looks on while a commit is made.
pub trait CommitWatch {
    /// Called many times a second.
    fn tick(&mut self);
    /// This is about to be committed. Should the process die now, the commit can be found by it. An error stops the commit.
    fn intends(&mut self, intent: &CommitIntent) -> Result<(), GitError>;
}

impl<F: FnMut()> CommitWatch for F {
    fn tick(&mut self) {
        self();
    }

    fn intends(&mut self, _intent: &CommitIntent) -> Result<(), GitError> {
        Ok(())
    }
}

impl Git {
    /// Commits what changed since `before`, with `git commit` and all its hooks. Ralph's own files are not in it, and
    /// neither are files that were uncommitted when the run began and before this work: whose lines are whose cannot
    /// be told, so they stay as they are and are named. What a person has staged stays staged.
    pub fn commit(
        &self,
        order: &CommitOrder<'_>,
        interrupt: &Interrupt,
        watch: &mut dyn CommitWatch,
    ) -> Result<CommitOutcome, GitError> {
        let places = self.settled_places()?;
        let _alone = alone(&places, order.timeout, interrupt, watch)?;
        // Whoever began one and did not end it is dead.
        self.finish_commit()?;
        let mut tries = 1;
        loop {
            let head = commit_at(&places, "HEAD")?;
            let made = self.commit_once(&places, order, interrupt, watch);
            cut_off::end(&places);
            match made {
                // Somebody else committed meanwhile, an agent of another run or a person.
                Err(GitError::CommitFailed { .. })
                    if tries < TRIES && commit_at(&places, "HEAD")? != head =>
                {
                    tries += 1;
                }
                made => return made.map_err(|error| real_cause(&places, error)),
            }
        }
    }

    fn commit_once(
        &self,
        places: &Places,
        order: &CommitOrder<'_>,
        interrupt: &Interrupt,
        watch: &mut dyn CommitWatch,
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
        let filters = self.commit_limit(order, |kind| kind == ProgramKind::Filter)?;
        let index = Index::like_head(places, head)?.for_commit(filters);
        index.forget(&dropped)?;
        index.take(&paths)?;
        let tree = index.tree()?;
        if tree_of(places, head)?.as_ref() == Some(&tree) || head.is_none() && index.is_empty()? {
            return Ok(nothing);
        }
        let taken = paths.clone();
        paths.extend(dropped.iter().cloned());
        cut_off::begin(places, head, &paths)?;
        let subject = order.message.lines().next().unwrap_or_default();
        watch.intends(&CommitIntent {
            head: head.map(str::to_owned),
            branch: places.branch()?,
            tree,
            subject: subject.to_owned(),
        })?;
        let ended = self.run_commit(&index, order, interrupt, watch);
        // Whatever was interrupted: a commit that was made must be known, or it would be made again.
        let _finishing = places.conduct.finish();
        let hash = commit_at(places, "HEAD")?.filter(|hash| Some(hash.as_str()) != head);
        let (hash, mut warnings) = match (hash, ended) {
            (None, Err(error)) => return Err(error),
            (None, Ok(())) => return Ok(nothing),
            (Some(hash), Ok(())) => (hash, Vec::new()),
            // What failed came after the commit, a hook of its own; or somebody else moved HEAD meanwhile.
            (Some(hash), Err(error)) => {
                match tree_of(places, Some(&hash))? == Some(index.tree()?) {
                    true => {
                        let (_, fix) = self.new_programs(&error);
                        let fix = fix.map(|fix| format!("later commits skip it: {fix}"));
                        (hash, iter::once(error.to_string()).chain(fix).collect())
                    }
                    false => return Err(error),
                }
            }
        };
        let hash = match parent(places, &hash)? {
            other if other.as_deref() == head => hash,
            // Somebody moved HEAD while the hooks ran: the tree is of another time, and would take their work out.
            other => {
                let index = Index::like_head(places, other.as_deref())?;
                let index = index.for_commit(filters);
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

    /// How long a part of a commit may take: less where it runs a program that appeared during the run.
    fn commit_limit(
        &self,
        order: &CommitOrder<'_>,
        runs: impl Fn(ProgramKind) -> bool,
    ) -> Result<Duration, GitError> {
        let programs = self.conduct.new_in_commits()?;
        Ok(match programs.iter().any(|program| runs(program.kind)) {
            true => order.timeout.min(NEW_PROGRAM_LIMIT),
            false => order.timeout,
        })
    }

    /// What a person has to do before a commit that failed like this can be made, because of programs that appeared during
    /// the run; and the names of all such programs. Where there is something to do, later commits run none of them.
    pub fn new_programs(&self, error: &GitError) -> (Vec<String>, Option<String>) {
        let programs = self.conduct.new_in_commits().unwrap_or_default();
        let fix = held_up_commit(error, &programs);
        if fix.is_some() {
            self.conduct.distrust_new_programs();
        }
        (programs.into_iter().map(|one| one.name).collect(), fix)
    }

    /// Runs `git commit` with an index.
    fn run_commit(
        &self,
        index: &Index<'_>,
        order: &CommitOrder<'_>,
        interrupt: &Interrupt,
        watch: &mut dyn CommitWatch,
    ) -> Result<(), GitError> {
        // The filters have done their work; a person's own slow hooks have all their time beside a new filter.
        let limit = self.commit_limit(order, |kind| kind != ProgramKind::Filter)?;
        let limits = ProcessLimits {
            wall: limit,
            idle: None,
            grace: order.grace,
        };
        let mut output = Output {
            seen: BoundedText::new(OUTPUT, OUTPUT),
            watch,
        };
        let mut launch = self.launch(index, order);
        let overrides = self.conduct.overrides(CallKind::Commit(limit))?.variables();
        launch.env.extend(
            overrides
                .into_iter()
                .map(|(name, value)| (name.to_string_lossy().into_owned(), value)),
        );
        let ended = agent::run(&launch, &limits, interrupt, &mut output)
            .map_err(|error| GitError::Spawn(error.source))?;
        let output = text::mask_secrets(&output.seen.into_text())
            .trim()
            .to_owned();
        match (ended.stop, ended.exit) {
            (Stop::Exited | Stop::Budget | Stop::GuardLost, Exit::Code(0)) => Ok(()),
            (Stop::Exited | Stop::Budget | Stop::GuardLost, exit) => Err(GitError::CommitFailed {
                message: summary(&output, exit),
                output,
            }),
            (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => {
                Err(GitError::CommitTimedOut { limit, output })
            }
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

/// What a commit holds.
fn tree_of(places: &Places, commit: Option<&str>) -> Result<Option<String>, GitError> {
    match commit {
        Some(commit) => {
            let tree = places.call(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]);
            tree.line().map(Some)
        }
        None => Ok(None),
    }
}

/// The last line somebody said, or how it ended.
fn summary(output: &str, exit: Exit) -> String {
    match output.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => text::one_line(line, 200),
        None => match exit {
            Exit::Code(code) => format!("git exited with code {code} and no message"),
            Exit::Signal(signal) => format!("git was killed by signal {signal}"),
        },
    }
}

struct Output<'a> {
    seen: BoundedText,
    watch: &'a mut dyn CommitWatch,
}

impl Watch for Output<'_> {
    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.seen.push(chunk);
    }

    fn tick(&mut self) {
        self.watch.tick();
    }
}

#[cfg(test)]
mod tests;
