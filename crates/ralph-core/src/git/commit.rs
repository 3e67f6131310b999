//! Committing what an attempt changed, and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::call::{CallKind, FOREIGN, INDEX_FILE, zero_separated};
use super::index::Index;
use super::paths::{RepoPath, bare, display_path, parents};
use super::repository::Repository;
use super::snapshot::{Content, FileState};
use super::trust::{ProgramKind, fix_for_commit};
use super::{Git, GitError, Left, LeftBecause, Snapshot};
use crate::agent::{self, BoundedText, Exit, Interrupt, Launch, ProcessLimits, Stop, Stream, Watch};
use crate::files::Lock;
use crate::model::CommitIntent;
use crate::sandbox::{Confinement, run_confined};
use crate::text;

/// How often a commit is tried that others get in the way of.
const ATTEMPTS: u32 = 3;
/// A commit that runs a program which appeared during the run has no more time than this. From the next run on the program
/// counts as a person's and has all the time that the settings give.
const NEW_PROGRAM_LIMIT: Duration = Duration::from_secs(60);
/// How much of what git and the hooks print is kept, of its beginning and of its end.
const OUTPUT: usize = 8 * 1024;
const NAP: Duration = Duration::from_millis(20);
/// A commit that fits into less than this does not fail for want of disk space.
const PROBE: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub struct CommitOrder<'a> {
    /// The working tree when the run began: what was uncommitted then is a person's.
    pub run_start: &'a Snapshot,
    /// The working tree before the work that is to be committed: before the attempt, or before the first of several.
    pub before: &'a Snapshot,
    /// The working tree as it is, where nothing ran since it was read.
    pub now: Option<&'a Snapshot>,
    pub message: &'a str,
    pub env: Vec<(String, OsString)>,
    pub timeout: Duration,
    /// How long it has after TERM.
    pub grace: Duration,
    /// What confines the hooks, which may run what an attempt wrote.
    pub confinement: Option<&'a Confinement>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitOutcome {
    /// The commit HEAD is at now; none if there was nothing to commit.
    pub hash: Option<String>,
    pub files: Vec<String>,
    /// Those of them that a hook added.
    pub by_hooks: Vec<String>,
    /// What the attempt changed and is not in it.
    pub left_out: Vec<Left>,
    /// What went wrong although the commit was made.
    pub warning: Option<String>,
    /// The working tree after the commit, where that is known without looking again.
    pub tree_after: Option<Snapshot>,
}

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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// Paths of the project, as they are in the working tree.
    pub(super) paths: Vec<Vec<u8>>,
    /// Paths that are to be tracked no longer; their files stay.
    pub(super) dropped: Vec<Vec<u8>>,
    left_out: Vec<Left>,
}

/// Takes what changed since `before`, but for what was a person's already: dirty when the run began and still so before.
/// Neither is what took the place of such a file taken, or what is below its name now: with it the file would go.
pub(super) fn choose(run_start: &Snapshot, before: &Snapshot, now: &Snapshot) -> Choice {
    let is_persons = |path: &[u8]| before.dirty.contains_key(path) && run_start.dirty.contains_key(path);
    // Git lists a nested repository with a slash at the end.
    let is_below_persons =
        |path: &[u8]| parents(path).any(|dir| is_persons(dir) || is_persons(&[dir, b"/"].concat()));
    let mut choice = Choice::default();
    for (path, state) in &now.dirty {
        let known = before.dirty.get(path);
        let is_unchanged = known.is_some_and(|known| known.is_same_as(state));
        // Git's letters for a submodule may stay the same while it moves on: it is looked at again.
        if is_unchanged && (state.submodule.is_none() || is_persons(path)) {
            continue;
        }
        let why = if is_persons(path)
            || is_below_persons(path)
            || below(before, path).any(|path| is_persons(path))
            || was_moved(path, state, run_start, before, now)
        {
            Some(LeftBecause::UncommittedBefore)
        } else if path.ends_with(b"/") {
            Some(LeftBecause::Repository)
        } else if state.is_dropped() {
            choice.dropped.push(path.clone());
            None
        } else {
            choice.paths.push(path.clone());
            // What is uncommitted inside a submodule cannot be taken along.
            let is_dirty = |letters: &Vec<u8>| letters.get(2..).is_some_and(|rest| rest != b"..");
            let inside = state.submodule.as_ref().is_some_and(is_dirty);
            inside.then_some(LeftBecause::Submodule)
        };
        choice.left_out.extend(why.map(|why| Left { what: display_path(bare(path)), why }));
    }
    choice
}

fn below<'s>(snapshot: &'s Snapshot, path: &[u8]) -> impl Iterator<Item = &'s Vec<u8>> {
    let dir = [path, b"/"].concat();
    let from = snapshot.dirty.range(dir.clone()..).map(|(path, _)| path);
    from.take_while(move |path| path.starts_with(&dir))
}

/// Whether a new path holds just what a person's uncommitted file did, which is gone: moved with its lines. A file that is
/// clean after HEAD moved was committed, by the person or by another run; that another one is like it means nothing.
fn was_moved(
    path: &[u8],
    state: &FileState,
    run_start: &Snapshot,
    before: &Snapshot,
    now: &Snapshot,
) -> bool {
    let is_same_head = before.head.is_none() || before.head == now.head;
    let is_gone = |path: &Vec<u8>| match now.dirty.get(path) {
        Some(state) => state.content == Content::Gone,
        None => is_same_head,
    };
    state.content != Content::Gone
        && !before.dirty.contains_key(path)
        && before.dirty.iter().any(|(other, old)| {
            old.content.is_same_as(&state.content) && run_start.dirty.contains_key(other) && is_gone(other)
        })
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
        let repository = self.settled()?;
        let _lock = repository.lock_commits(order.timeout, interrupt, watch)?;
        // The process that began one and did not end it is dead.
        self.finish_commit()?;
        let mut known = order.now.cloned();
        let mut attempts = 1;
        loop {
            repository.wait_for_index()?;
            let now = known.take().map_or_else(|| self.snapshot(), Ok)?;
            let made = self.commit_once(repository, order, &now, interrupt, watch);
            repository.forget_commit();
            match made {
                // Somebody else committed meanwhile, an agent of another run or a person.
                Err(GitError::CommitFailed { .. })
                    if attempts < ATTEMPTS && repository.commit_at("HEAD")? != now.head =>
                {
                    attempts += 1;
                }
                made => return made.map_err(|error| repository.real_cause(error)),
            }
        }
    }

    fn commit_once(
        &self,
        repository: &Repository,
        order: &CommitOrder<'_>,
        now: &Snapshot,
        interrupt: &Interrupt,
        watch: &mut dyn CommitWatch,
    ) -> Result<CommitOutcome, GitError> {
        let choice = choose(order.run_start, order.before, now);
        let rooted = |paths: &[Vec<u8>]| -> BTreeSet<RepoPath> {
            paths.iter().map(|path| self.rooted(path)).collect()
        };
        let (taken, dropped) = (rooted(&choice.paths), rooted(&choice.dropped));
        let paths: BTreeSet<RepoPath> = taken.union(&dropped).cloned().collect();
        let nothing = CommitOutcome { left_out: choice.left_out, ..CommitOutcome::default() };
        if paths.is_empty() {
            return Ok(nothing);
        }
        let head = now.head();
        let filter_limit = self.commit_limit(order, |kind| kind == ProgramKind::Filter)?;
        let original = repository.read_index()?;
        let original = original.as_ref();
        // Somebody may have staged something since the snapshot, or outside the project, which it does not show.
        let is_staged = !now.staged.is_empty()
            || !self.prefix.is_empty()
            || now.index != original.map(|index| index.identity);
        let build = |head: Option<&str>, is_staged: bool| -> Result<Index<'_>, GitError> {
            let index = Index::of_head(repository, head, original, is_staged)?;
            let index = index.for_commit(filter_limit);
            index.remove(&dropped)?;
            index.add(&taken)?;
            Ok(index)
        };
        let mut index = build(head, is_staged)?;
        let tree = index.write_tree()?;
        let is_empty = match head {
            Some(head) => repository.tree_of(head)?.as_ref() == Some(&tree),
            None => index.entries(|_| true)?.is_empty(),
        };
        if is_empty {
            return Ok(nothing);
        }
        repository.note_commit(head, &paths, original.map(|index| index.identity))?;
        let subject = order.message.lines().next().unwrap_or_default();
        watch.intends(&CommitIntent {
            head: head.map(str::to_owned),
            branch: now.branch.clone(),
            tree,
            subject: subject.to_owned(),
            isolated: false,
            landing: None,
        })?;
        let ended = self.run_commit(&index, order, interrupt, watch);
        // Whatever was interrupted: a commit that was made must be known, or it would be made again.
        let _finishing = repository.calls.finish();
        let made = match repository.head_commit() {
            // There is no commit at all.
            Err(GitError::Refused { .. }) if ended.is_err() => None,
            made => Some(made?).filter(|made| Some(made.hash.as_str()) != head),
        };
        let Some(made) = made else { return ended.map(|()| nothing) };
        let mut hash = made.hash.clone();
        let mut warnings = Vec::new();
        if let Err(error) = ended {
            // What failed came after the commit, a hook of its own; or somebody else moved HEAD meanwhile.
            if made.tree != index.write_tree()? {
                return Err(error);
            }
            let (_, fix) = self.new_programs(&error);
            warnings.push(error.to_string());
            warnings.extend(fix.map(|fix| format!("later commits skip it: {fix}")));
        }
        let parent = made.parents.first().map(String::as_str);
        let is_on_head = parent == head;
        if !is_on_head {
            // Somebody moved HEAD before git looked: the tree is of another time, and would take their work out.
            index = build(parent, true)?;
            let call = index.call(&["commit", "--amend", "--no-edit", "--no-verify", "--quiet"]);
            call.run()?;
            hash = repository.commit_at("HEAD")?.unwrap_or(hash);
        }
        let committed = match is_on_head {
            true => made.files.clone(),
            false => repository.differences(head, Some(&hash)).unwrap_or_else(|_| paths.clone()),
        };
        let copied = original.filter(|_| is_on_head && !is_staged && head.is_some());
        let (mut tree_after, mut updated) = (None, Ok(()));
        let installed = copied.map(|original| repository.install_index_over(original, &index.path()));
        match installed.transpose().map(Option::flatten) {
            Ok(Some(installed)) => {
                // Where no hook ran, the commit took its files and left all others as they were.
                let is_known = committed == taken
                    && dropped.is_empty()
                    && now.dirty.values().all(|state| state.submodule.is_none())
                    && !repository.has_hooks();
                tree_after = is_known.then(|| now.after_commit(&hash, &choice.paths, installed));
            }
            Ok(None) => updated = self.update_index(head, &committed, &paths, order.run_start),
            Err(error) => updated = Err(error),
        }
        warnings.extend(
            updated
                .err()
                .map(|error| format!("cannot update git's index after the commit: {error}; run `git reset`")),
        );
        let by_hooks = committed.iter().filter(|path| !paths.contains(*path));
        Ok(CommitOutcome {
            by_hooks: by_hooks.map(|path| self.display(path)).collect(),
            files: committed.iter().map(|path| self.display(path)).collect(),
            hash: Some(hash),
            tree_after,
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
        let programs = self.repository.new_in_commits()?;
        Ok(match programs.iter().any(|program| runs(program.kind)) {
            true => order.timeout.min(NEW_PROGRAM_LIMIT),
            false => order.timeout,
        })
    }

    /// What a person has to do before a commit that failed like this can be made, because of programs that appeared during
    /// the run; and the names of all such programs. Where there is something to do, later commits run none of them.
    pub fn new_programs(&self, error: &GitError) -> (Vec<String>, Option<String>) {
        let programs = self.repository.new_in_commits().unwrap_or_default();
        let fix = fix_for_commit(error, &programs);
        if fix.is_some() {
            self.repository.distrust_new_programs();
        }
        (programs.into_iter().map(|one| one.name).collect(), fix)
    }

    fn run_commit(
        &self,
        index: &Index<'_>,
        order: &CommitOrder<'_>,
        interrupt: &Interrupt,
        watch: &mut dyn CommitWatch,
    ) -> Result<(), GitError> {
        // The filters have done their work; a person's own slow hooks have all their time beside a new filter.
        let limit = self.commit_limit(order, |kind| kind != ProgramKind::Filter)?;
        let limits = ProcessLimits { wall: limit, idle: None, grace: order.grace };
        let mut output = CommitOutput { text: BoundedText::new(OUTPUT, OUTPUT), watch };
        self.repository.check_entry()?;
        let launch = self.launch(index, order, limit)?;
        let ended = run_confined(order.confinement, launch, |launch| {
            agent::run(launch, &limits, interrupt, &mut output)
        });
        let ended = ended.map_err(|error| GitError::CannotStart(error.source))?;
        let output = text::mask_secrets(&output.text.into_text()).trim().to_owned();
        match (ended.stop, ended.exit) {
            (
                Stop::Exited | Stop::Budget | Stop::UserNote | Stop::OverLimit(_) | Stop::GuardLost,
                Exit::Code(0),
            ) => Ok(()),
            (
                Stop::Exited | Stop::Budget | Stop::UserNote | Stop::OverLimit(_) | Stop::GuardLost,
                Exit::Code(code),
            ) => Err(GitError::CommitFailed { message: summary(&output, code), output }),
            (
                Stop::Exited | Stop::Budget | Stop::UserNote | Stop::OverLimit(_) | Stop::GuardLost,
                Exit::Signal(signal),
            ) => Err(GitError::CommitKilled { signal, output }),
            (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => {
                Err(GitError::CommitTimedOut { limit, output })
            }
            (Stop::Interrupted, _) => Err(GitError::Interrupted),
        }
    }

    fn launch(
        &self,
        index: &Index<'_>,
        order: &CommitOrder<'_>,
        limit: Duration,
    ) -> Result<Launch, GitError> {
        // Without a terminal, a program that asks for a passphrase fails at once.
        let unset = FOREIGN.into_iter().chain(["GPG_TTY"]).filter(|name| *name != INDEX_FILE);
        let unset = unset.filter(|name| std::env::var_os(name).is_some());
        let mut args: Vec<String> = unset.flat_map(|name| ["-u", name]).map(str::to_owned).collect();
        let git = crate::which::git().display().to_string();
        let program = match args.is_empty() {
            true => git,
            false => {
                args.push(git);
                "env".to_owned()
            }
        };
        // No maintenance in the background: it would be taken for something an agent left behind.
        for setting in ["gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false"] {
            args.extend(["-c", setting].map(str::to_owned));
        }
        args.extend(["commit", "--quiet", "--cleanup=whitespace", "--file=-"].map(str::to_owned));
        let mut env = order.env.clone();
        env.extend([
            (INDEX_FILE.to_owned(), index.path().into_os_string()),
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".into()),
            ("GIT_EDITOR".to_owned(), "true".into()),
        ]);
        let overrides = self.repository.overrides(CallKind::Commit(limit))?;
        let overrides = overrides.into_iter();
        env.extend(overrides.map(|(name, value)| (name.to_string_lossy().into_owned(), value)));
        Ok(Launch {
            program,
            args,
            env,
            // Where git looks first, and for hooks no other place than git's own.
            cwd: self.repository.top.clone(),
            stdin: order.message.to_owned(),
            confined: None,
        })
    }

    /// Brings the repository's index to the new HEAD where a person has staged nothing.
    fn update_index(
        &self,
        old: Option<&str>,
        committed: &BTreeSet<RepoPath>,
        paths: &BTreeSet<RepoPath>,
        run_start: &Snapshot,
    ) -> Result<(), GitError> {
        let staged = self.repository.staged_paths(old)?;
        let is_persons = |path: &RepoPath| match path.strip_prefix(self.prefix.as_slice()) {
            Some(inside) => run_start.dirty.contains_key(inside) || self.own_path(path).is_none(),
            None => true,
        };
        // What the attempt had staged and then taken back is not in the commit: the index is to forget it too.
        let stale = staged.intersection(paths);
        let all: BTreeSet<&RepoPath> = committed.iter().chain(stale).collect();
        let stays_staged = |path: &RepoPath| staged.contains(path) && is_persons(path);
        let reset = all.into_iter().filter(|path| !stays_staged(path));
        self.repository.reset_index(reset)
    }
}

impl Repository {
    /// One commit at a time among all runs in a working tree: between the look at HEAD and the commit nobody else may move
    /// it, or their work would be taken out. The lock is free when its holder dies, too.
    fn lock_commits(
        &self,
        patience: Duration,
        interrupt: &Interrupt,
        watch: &mut dyn CommitWatch,
    ) -> Result<Lock, GitError> {
        let path = self.git_dir.join("ralph-committing");
        let asked = Instant::now();
        loop {
            match Lock::within(&path, Duration::ZERO) {
                Ok(lock) => return Ok(lock),
                Err(_) if path.is_symlink() => {
                    let why = "Ralph's lock file was replaced by a symbolic link";
                    return Err(GitError::file(&path, std::io::Error::other(why)));
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    return Err(GitError::file(&path, error));
                }
                Err(_) if interrupt.first().is_some() => return Err(GitError::Interrupted),
                Err(_) if asked.elapsed() >= patience => return Err(GitError::Locked(path)),
                Err(_) => watch.tick(),
            }
            std::thread::sleep(NAP);
        }
    }

    /// Paths whose entry in the repository's index is another than HEAD's was.
    pub(super) fn staged_paths(&self, head: Option<&str>) -> Result<BTreeSet<RepoPath>, GitError> {
        let words = ["diff-index", "--cached", "--name-only", "--no-renames", "-z"];
        let call = match head {
            Some(head) => self.query(&words).arg(head),
            None => self.query(&["ls-files", "--cached", "-z"]),
        };
        let out = call.run()?;
        Ok(zero_separated(&out).map(<[u8]>::to_vec).collect())
    }

    /// The error itself, or what in the environment caused it, so that no other attempt would do better. Facts decide, not
    /// git's messages, which come in many languages.
    fn real_cause(&self, error: GitError) -> GitError {
        match error {
            GitError::CommitFailed { .. } | GitError::CommitKilled { .. } | GitError::Refused { .. } => {
                self.check_environment().err().unwrap_or(error)
            }
            error => error,
        }
    }

    fn check_environment(&self) -> Result<(), GitError> {
        self.check()?;
        for dir in [self.git_dir.clone(), self.shared_dir.join("objects")] {
            can_write(&dir).map_err(|error| GitError::file(&dir, error))?;
        }
        if let Some(message) = self.missing_identity()? {
            return Err(GitError::NoIdentity(message));
        }
        self.wait_for_index()?;
        // Locks of references that a commit moves; a git that was killed leaves them behind.
        self.wait_for(&self.git_dir.join("HEAD.lock"))?;
        self.wait_for(&self.shared_dir.join("packed-refs.lock"))?;
        match self.branch()? {
            Some(branch) => self.wait_for(&self.shared_dir.join(format!("{branch}.lock"))),
            None => Ok(()),
        }
    }
}

fn can_write(dir: &Path) -> std::io::Result<()> {
    let mut file = tempfile::tempfile_in(dir)?;
    file.write_all(&[0; PROBE])
}

/// The last line of the output, or how it ended.
fn summary(output: &str, code: i32) -> String {
    match output.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => text::one_line(line, 200),
        None => format!("git exited with code {code} and no message"),
    }
}

struct CommitOutput<'a> {
    text: BoundedText,
    watch: &'a mut dyn CommitWatch,
}

impl Watch for CommitOutput<'_> {
    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.text.push(chunk);
    }

    fn tick(&mut self) {
        self.watch.tick();
    }
}

#[cfg(test)]
mod tests;
