//! AGENTS.md: failures and learnings where people and every agent read them, and what people write there.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::run_context::RunContext;
use super::run_end::{EngineError, Halt, Result};
use super::shared_file::{FileError, edit};
use crate::files::{self, Cleared, Limit, Links, Lock, RealPaths, digest, recover, stamp};
use crate::memory::agents_md::{
    Bullet, Found, Known, LastWrite, Section, Situation, SyncPlan, Wanted, category_and_tags, collapsed,
    read, reconcile, write,
};
use crate::model::{LearningId, NewLearning, Source, Timestamp};
use crate::project::Project;
use crate::store::{ConfirmedWrite, Store, StoreError};
use crate::text::mask_secrets;

const MOST_ENTRIES: u32 = 100;
/// Bullets that Ralph writes of its own accord; the newest count.
const MOST_BULLETS: usize = 10_000;
/// A file that was written less than this ago may not be whole yet.
const SETTLES: Duration = Duration::from_millis(20);
/// How long an agent may go on writing after its run died.
pub(super) const AGENTS_LAST_WORDS: Duration = Duration::from_millis(2500);
/// How often a file that others are writing is looked at.
const LOOKS: u32 = 40;
/// How long another run's turn is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
const LOCK: &str = "agents_md.lock";

/// Who wrote what is new in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenBy {
    /// Before an attempt, where no agent was at work.
    Person,
    Agent,
}

#[derive(Default)]
pub(super) struct AgentsMd {
    /// How the file looked after it was last brought up to date.
    seen: Option<files::Stamp>,
    fault_told: bool,
    secret_told: bool,
}

/// What is remembered of the file as it should be.
struct Drawn {
    write: ConfirmedWrite,
    /// Whether anything differs from what is known of the last write.
    news: bool,
}

/// Where the file is; none where the settings say that there is to be none.
fn path_in(run: &RunContext<'_>) -> Option<PathBuf> {
    let path = run.settings.agents_md.as_ref()?;
    Some(run.project.root().join(path))
}

fn written_at(run: &RunContext<'_>) -> Option<Timestamp> {
    let (at, _) = stamp(&path_in(run)?)?;
    Some(at.into())
}

/// What the file is remembered by, wherever the project is moved.
fn key_in(run: &RunContext<'_>) -> String {
    run.settings.agents_md.clone().unwrap_or_default()
}

fn agents_may_have_written(run: &mut RunContext<'_>) -> Result<bool> {
    // A dead run's agent was ended with it: who wrote the file later was somebody else.
    let until = run.lost_until.take().map(|until| until.plus(AGENTS_LAST_WORDS));
    let lost = written_at(run).zip(until).is_some_and(|(written, until)| written <= until);
    Ok(lost || run.others_at_work()?)
}

impl AgentsMd {
    /// After an attempt, where anything can have changed: a failure, a learning, a phase that is over, or the file.
    pub(super) fn sync_after(
        &mut self,
        run: &mut RunContext<'_>,
        branch: Option<String>,
        has_news: bool,
    ) -> Result {
        let same = self.seen.is_some() && self.seen == path_in(run).map(|path| stamp(&path));
        if same && !has_news && !run.store.has_finished_failures()? {
            return Ok(());
        }
        self.sync(run, branch, WrittenBy::Agent)
    }

    /// Brings the file and the database together. A file that cannot be read or written is told of and stops nothing.
    pub(super) fn sync(&mut self, run: &mut RunContext<'_>, branch: Option<String>, by: WrittenBy) -> Result {
        let Some(path) = path_in(run) else { return Ok(()) };
        if by == WrittenBy::Person && self.seen == Some(stamp(&path)) {
            return Ok(());
        }
        // While another agent is at work, or where one was when its run died, nobody can tell who wrote.
        let by = if agents_may_have_written(run)? { WrittenBy::Agent } else { by };
        let seen = match self.sync_file(run, &path, branch, by) {
            Ok(whole) => whole,
            Err(FileError::Halt(halt)) => return Err(halt),
            Err(FileError::File(error)) => {
                if !self.fault_told {
                    self.fault_told = true;
                    run.warn(format!("cannot update {}: {error}", path.display()))?;
                }
                // What was swapped out may still have to be brought in.
                false
            }
        };
        self.seen = seen.then(|| stamp(&path));
        Ok(())
    }

    /// Gives whether all that is in the file was seen.
    fn sync_file(
        &mut self,
        run: &mut RunContext<'_>,
        path: &Path,
        branch: Option<String>,
        by: WrittenBy,
    ) -> Result<bool, FileError> {
        // What a link leads to is the file, not the link.
        let path = &run.real_paths.real(path)?;
        let _lock = Lock::within(&run.ralph_dir()?.join(LOCK), PATIENCE)?;
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        if self.seen.is_none() {
            for saved in recover(path)? {
                let saved = saved.display();
                run.warn(format!("AGENTS.md was edited before a crash; that version is saved in {saved}"))?;
            }
        }
        // What Ralph itself wrote is whole, however short a time ago it was.
        let own = self.seen.is_some_and(|seen| seen == stamp(path));
        let first = if own { whole(path)? } else { settled(path)? };
        if std::fs::metadata(path).is_ok_and(|meta| meta.permissions().readonly()) {
            return Err(FileError::file("it is read-only"));
        }
        let was_a_persons = first.as_deref().is_some_and(is_a_persons);
        let edited = edit(path, first, |text| self.draw(run, text, branch.as_deref(), by))?;
        if was_a_persons && !is_a_persons(edited.text.as_bytes()) {
            // Nobody should find new sections in a file of theirs and wonder.
            let name = key_in(run);
            run.warn(format!(
                "Ralph added its sections to your {name}. To turn this off: ralph config set memory.agents_md false"
            ))?;
        }
        if edited.note.news && !edited.text.is_empty() {
            run.store.confirm_write(&key_in(run), &edited.note.write)?;
        }
        Ok(edited.swap.done()? == Cleared::Quiet)
    }

    /// The file as it should be, after what is new in it was learned.
    fn draw(
        &mut self,
        run: &mut RunContext<'_>,
        text: Option<&str>,
        branch: Option<&str>,
        by: WrittenBy,
    ) -> Result<(String, Drawn), FileError> {
        let key = key_in(run);
        let found = text.map(read);
        let (last, rolled_back) = run.store.last_write(&key, &digest(text.unwrap_or_default()))?;
        let mut learnings = run.store.known_learnings()?;
        if found.as_ref().is_some_and(|found| has_strangers(found, &learnings)) {
            learnings.extend(run.store.archived_learnings()?);
        }
        let plan = reconcile(&Situation {
            found: found.as_ref(),
            last: last.as_ref(),
            branch,
            rolled_back,
            after_attempt: by == WrittenBy::Agent,
            learnings: &learnings,
            written_at: written_at(run),
        });
        if self.learn_from_file(run, &plan, by)? {
            learnings = run.store.known_learnings()?;
        }
        let wanted: Vec<&Known> = learnings.iter().filter(|known| known.active).collect();
        let wanted = wanted.get(wanted.len().saturating_sub(MOST_BULLETS)..).unwrap_or_default();
        let standing = found.as_ref().map(standing).unwrap_or_default();
        let bullets = wanted.iter().map(|known| bullet(known, &standing)).collect();
        let (text, write) = rendered(run.store, &key, text, branch, bullets, plan.remove)?;
        let (added, gone) = differences(last.as_ref(), wanted, &plan.old, &standing);
        let same = |last: &LastWrite| last.branch.as_deref() == branch && last.digest == write.digest;
        let news = !added.is_empty() || !gone.is_empty() || !last.as_ref().is_some_and(same);
        Ok((text, Drawn { news, write: ConfirmedWrite { added, gone, ..write } }))
    }

    /// What people and agents wrote becomes learnings, what people deleted is archived. Whether anything changed.
    fn learn_from_file(&mut self, run: &mut RunContext<'_>, plan: &SyncPlan, by: WrittenBy) -> Result<bool> {
        let now = run.clock.now();
        let source = match by {
            WrittenBy::Person => Source::AgentsMd,
            WrittenBy::Agent => Source::Agent,
        };
        let new: Vec<NewLearning> = plan.add.iter().filter_map(learning).collect();
        if new.len() < plan.add.len() && !self.secret_told {
            self.secret_told = true;
            run.warn(
                "a bullet in AGENTS.md looks like it contains a secret; Ralph did not store it as a learning",
            )?;
        }
        let store = &mut *run.store;
        if !new.is_empty() {
            store.add_bullets(&new, source, now, run.random)?;
        }
        if !plan.prune.is_empty() {
            store.delete_bullets(&plan.prune, now)?;
        }
        if !plan.restore.is_empty() {
            store.restore_learnings(&plan.restore, now)?;
        }
        Ok(!new.is_empty() || !plan.prune.is_empty() || !plan.restore.is_empty())
    }
}

/// The text of the file with these bullets and the failures of open phases, and what is to be remembered of it.
fn rendered(
    store: &mut Store,
    key: &str,
    text: Option<&str>,
    branch: Option<&str>,
    bullets: Vec<Bullet>,
    remove: Vec<Bullet>,
) -> Result<(String, ConfirmedWrite), StoreError> {
    let wanted = Wanted { bullets, remove, failures: store.failure_entries(MOST_ENTRIES)? };
    let store = &*store;
    let ours = store.written_names(key)?;
    // An entry is Ralph's own where it wrote one under that name, or would have, had it not been killed.
    let is_ours = |name: &str| ours.contains(name) || store.has_failed(name).unwrap_or(false);
    let drawn = write(text, &wanted, &is_ours);
    let entries = wanted.failures.iter().flat_map(|phase| &phase.entries);
    let write = ConfirmedWrite {
        branch: branch.map(str::to_owned),
        digest: digest(&drawn),
        added: Vec::new(),
        gone: Vec::new(),
        names: entries.map(|entry| entry.name.clone()).collect(),
    };
    Ok((drawn, write))
}

/// Takes the failures of finished phases out of the file outside a run, after a person changed the plan. What else is in
/// the file is left to the next run.
pub fn refresh_failures(
    store: &mut Store,
    project: &Project,
    file: &str,
) -> Result<std::io::Result<()>, StoreError> {
    if !store.has_finished_failures()? {
        return Ok(Ok(()));
    }
    match without_finished(store, project, file) {
        Ok(()) => Ok(Ok(())),
        Err(FileError::File(error)) => Ok(Err(error)),
        Err(FileError::Halt(Halt::Error(EngineError::Store(error)))) => Err(error),
        Err(FileError::Halt(Halt::Error(error))) => Ok(Err(std::io::Error::other(error))),
        Err(FileError::Halt(Halt::Stop(stop))) => Ok(Err(std::io::Error::other(stop.reason))),
    }
}

fn without_finished(store: &mut Store, project: &Project, file: &str) -> Result<(), FileError> {
    let path = RealPaths::default().real(&project.root().join(file))?;
    let _lock = Lock::within(&project.ralph_dir().join(LOCK), PATIENCE)?;
    let first = settled(&path)?;
    if first.is_none() {
        return Ok(());
    }
    let edited = edit(&path, first, |text| {
        let before = digest(text.unwrap_or_default());
        let (last, _) = store.last_write(file, &before)?;
        // Where somebody else has written since, the next run finds out what.
        let last = last.filter(|last| last.digest == before);
        let branch = last.as_ref().and_then(|last| last.branch.as_deref());
        let (text, write) = rendered(store, file, text, branch, Vec::new(), Vec::new())?;
        Ok((text, Drawn { news: last.is_some(), write }))
    })?;
    if edited.note.news {
        store.confirm_write(file, &edited.note.write)?;
    }
    edited.swap.done()?;
    Ok(())
}

/// Whether a file has content, and none of Ralph's sections.
fn is_a_persons(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    !text.trim().is_empty() && read(&text).sections.is_empty()
}

fn has_strangers(found: &Found, learnings: &[Known]) -> bool {
    let known: HashSet<&str> = learnings.iter().map(|known| known.key.as_str()).collect();
    found.bullets.iter().any(|bullet| !known.contains(collapsed(&bullet.text).as_str()))
}

/// Bullets that are there already; a person may have put them elsewhere, or wrapped their lines.
fn standing(found: &Found) -> HashMap<String, &Bullet> {
    found.bullets.iter().map(|bullet| (collapsed(&bullet.text), bullet)).collect()
}

fn bullet(known: &Known, standing: &HashMap<String, &Bullet>) -> Bullet {
    match standing.get(&known.key) {
        Some(there) => (*there).clone(),
        None => Bullet { place: known.place.clone(), text: known.text.clone() },
    }
}

/// What is in the file now and was not, and what was and is not.
fn differences(
    last: Option<&LastWrite>,
    wanted: &[&Known],
    old: &[(LearningId, Section)],
    standing: &HashMap<String, &Bullet>,
) -> (Vec<(LearningId, Section)>, Vec<LearningId>) {
    let mut before: HashMap<&LearningId, Section> =
        last.iter().flat_map(|last| last.bullets.iter().map(|(id, section)| (id, *section))).collect();
    let mut added = Vec::new();
    for known in wanted {
        let there = standing.get(&known.key).map(|bullet| &bullet.place);
        let section = there.unwrap_or(&known.place).section;
        if before.remove(&known.id) != Some(section) {
            added.push((known.id.clone(), section));
        }
    }
    for (id, section) in old {
        if before.remove(id) != Some(*section) {
            added.push((id.clone(), *section));
        }
    }
    (added, before.into_keys().cloned().collect())
}

/// A bullet that somebody wrote, as a learning. One with a secret in it stays in the file alone.
fn learning(bullet: &Bullet) -> Option<NewLearning> {
    if mask_secrets(&bullet.text) != bullet.text {
        return None;
    }
    let (category, tags) = category_and_tags(&bullet.place);
    Some(NewLearning { category, title: None, content: bullet.text.clone(), tags })
}

/// What the file holds once nobody is in the middle of writing it; none where there is no file.
fn settled(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    for _ in 0..LOOKS {
        let written = match std::fs::metadata(path) {
            Ok(meta) => meta.modified().ok(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let age = written.and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_none_or(|age| age >= SETTLES) {
            return whole(path);
        }
        std::thread::sleep(SETTLES / 4);
    }
    Err(std::io::Error::other("another process is writing it"))
}

/// What the file holds; none where there is no file.
pub(super) fn whole(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match files::read(path, Links::Refuse, Limit::TEXT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
