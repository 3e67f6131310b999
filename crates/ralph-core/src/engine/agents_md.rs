//! AGENTS.md: failures and learnings where people and every agent read them, and what people write there.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::exchange::{Missed, Picture, exchange};
use super::run::{EngineError, Run};
use crate::agents_md::{
    Bullet, Found, Known, LastWrite, Section, Situation, SyncPlan, Wanted, category_and_tags,
    collapsed, read, reconcile, write,
};
use crate::event::EventKind;
use crate::files::{self, Cleared, Limit, Links, Lock, RealPaths, Swap, digest, recover, stamp};
use crate::model::{LearningId, NewLearning, Source, Timestamp};
use crate::project::Project;
use crate::store::{ConfirmedWrite, LearningCounts, Store, StoreError};
use crate::text::mask_secrets;

/// Failures shown of one phase.
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

/// When the file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before an attempt: what is new in it a person wrote.
    Before,
    /// After one: what is new the agent wrote.
    After,
}

/// How the file and the learnings stood when they were last brought together.
#[derive(Debug)]
pub(super) struct Together {
    digest: String,
    branch: Option<String>,
    learnings: LearningCounts,
}

/// What a look at the file found worth doing.
struct Drawn {
    text: String,
    write: ConfirmedWrite,
    /// Whether anything differs from what is known of the last write.
    news: bool,
}

impl Picture for Drawn {
    fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Run<'_, '_> {
    /// Where the file is; none where the settings say that there is to be none.
    fn agents_md(&self) -> Option<PathBuf> {
        let path = self.engine.settings.agents_md.as_ref()?;
        Some(self.engine.work_tree.join(path))
    }

    fn agents_md_written_at(&self) -> Option<Timestamp> {
        let (at, _) = stamp(&self.agents_md()?)?;
        Some(at.into())
    }

    fn agents_may_have_written(&mut self) -> Result<bool, EngineError> {
        // A dead run's agent was ended with it: who wrote the file later was somebody else.
        let written = self.agents_md_written_at();
        let lost = self
            .lost_until
            .take()
            .is_some_and(|until| written.is_some_and(|at| at <= until.plus(AGENTS_LAST_WORDS)));
        Ok(lost || self.others_at_work()?)
    }

    /// Whether agents of other runs are at work.
    pub(super) fn others_at_work(&self) -> Result<bool, EngineError> {
        let claims = self.engine.store.claims()?;
        Ok(claims.iter().any(|claim| {
            claim.run_id != self.id && claim.purpose == crate::store::Purpose::Attempt
        }))
    }

    /// What the file is remembered by, wherever the project is moved.
    fn agents_md_key(&self) -> String {
        self.engine.settings.agents_md.clone().unwrap_or_default()
    }

    /// After an attempt, where anything can have changed: a failure, a learning, a phase that is over, or the file.
    pub(super) fn sync_after(&mut self, failed: bool, learnt: bool) -> Result<(), EngineError> {
        let same = self.agents_md_seen.is_some()
            && self.agents_md_seen == self.agents_md().map(|path| stamp(&path));
        if same && !failed && !learnt && !self.engine.store.has_finished_failures()? {
            return Ok(());
        }
        self.sync_agents_md(Moment::After)
    }

    /// Brings the file and the database together. A file that cannot be read or written is told of and stops nothing.
    pub(super) fn sync_agents_md(&mut self, moment: Moment) -> Result<(), EngineError> {
        let Some(path) = self.agents_md() else {
            return Ok(());
        };
        if moment == Moment::Before && self.agents_md_seen == Some(stamp(&path)) {
            return Ok(());
        }
        // While another agent is at work, or where one was when its run died, nobody can tell a person's hand.
        let moment = if self.agents_may_have_written()? {
            Moment::After
        } else {
            moment
        };
        let seen = match self.sync_file(&path, moment) {
            Ok(whole) => whole,
            Err(SyncError::Engine(error)) => return Err(error),
            Err(SyncError::File(error)) => {
                if !self.agents_md_fault_told {
                    self.agents_md_fault_told = true;
                    let message = format!("{} was not updated: {error}", path.display());
                    self.tell(EventKind::Warning { message })?;
                }
                // What was swapped out may still have to be brought in.
                false
            }
        };
        self.agents_md_seen = seen.then(|| stamp(&path));
        Ok(())
    }

    /// Gives whether all that is in the file was seen.
    fn sync_file(&mut self, path: &Path, moment: Moment) -> Result<bool, SyncError> {
        // What a link leads to is the file, not the link.
        let path = &self.real_paths.real(path)?;
        let lock = self.ralph_dir()?.join("agents_md.lock");
        let _lock = Lock::within(&lock, PATIENCE)?;
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        if self.agents_md_seen.is_none() {
            for saved in recover(path)? {
                let saved = saved.display();
                let message = format!(
                    "AGENTS.md was edited before a crash; that version is saved in {saved}"
                );
                self.tell(EventKind::Warning { message })?;
            }
        }
        // What Ralph itself wrote is whole, however short a time ago it was.
        let own = self.agents_md_seen.is_some_and(|seen| seen == stamp(path));
        let first = if own { whole(path)? } else { settled(path)? };
        let read_only = std::fs::metadata(path).is_ok_and(|meta| meta.permissions().readonly());
        if read_only {
            return Err(SyncError::File(std::io::Error::other("it is read-only")));
        }
        let was_a_persons = first.as_deref().is_some_and(is_a_persons);
        let mut swap = Swap::new(path);
        let drawn = exchange(
            first,
            |text| {
                let text = text.map(std::str::from_utf8).transpose();
                let text = text.map_err(|_| SyncError::File(not_text()))?;
                self.draw(text, moment)
            },
            |expected, text| Ok(swap.put(expected, text)?),
        );
        match drawn {
            Ok(drawn) => {
                if was_a_persons && !is_a_persons(drawn.text.as_bytes()) {
                    self.tell_of_own_sections()?;
                }
                self.confirm(drawn)?;
                Ok(swap.done()? == Cleared::Quiet)
            }
            Err(Missed::Failed(error)) => Err(error),
            Err(Missed::Busy) => {
                // The file holds what they wrote.
                swap.done()?;
                Err(SyncError::File(std::io::Error::other(
                    "another process keeps changing it",
                )))
            }
        }
    }

    /// Nobody should find new sections in a file of theirs and wonder.
    fn tell_of_own_sections(&mut self) -> Result<(), EngineError> {
        let name = self.agents_md_key();
        let message = format!(
            "Ralph keeps what failed and what was learned in your {name}, in sections of its own; agents_md = false \
             under [memory] in .ralph.toml turns that off"
        );
        self.tell(EventKind::Warning { message })
    }

    /// The file as it should be, after what is new in it was learnt.
    fn draw(&mut self, text: Option<&str>, moment: Moment) -> Result<Drawn, SyncError> {
        let counts = self.engine.store.learning_counts()?;
        let drawn = match self.only_added(text, counts)? {
            Some(added) => self.draw_news(text, &added)?,
            None => self.draw_all(text, moment)?,
        };
        self.agents_md_known = Some(Together {
            digest: drawn.write.digest.clone(),
            branch: drawn.write.branch.clone(),
            learnings: self.engine.store.learning_counts()?,
        });
        Ok(drawn)
    }

    /// The learnings that have come since file and learnings were last brought together, where nothing else has changed.
    fn only_added(
        &self,
        text: Option<&str>,
        counts: LearningCounts,
    ) -> Result<Option<Vec<Known>>, SyncError> {
        let (Some(text), Some(before)) = (text, &self.agents_md_known) else {
            return Ok(None);
        };
        if before.branch != self.branch() || before.digest != digest(text) {
            return Ok(None);
        }
        if (before.learnings.active, before.learnings.newest) == (counts.active, counts.newest) {
            return Ok(Some(Vec::new()));
        }
        let new = self.engine.store.learnings_after(before.learnings.newest)?;
        let none_went = before.learnings.active + new.len() as u64 == counts.active;
        Ok(none_went.then_some(new))
    }

    /// The file is as it was left: only failures and these learnings are new.
    fn draw_news(&mut self, text: Option<&str>, new: &[Known]) -> Result<Drawn, SyncError> {
        let nowhere = HashMap::new();
        let wanted = Wanted {
            bullets: new.iter().map(|known| bullet(known, &nowhere)).collect(),
            remove: Vec::new(),
            failures: self.engine.store.failure_entries(MOST_ENTRIES)?,
        };
        let ours = self.engine.store.written_names(&self.agents_md_key())?;
        let drawn = write(text, &wanted, &|name| self.is_ours(name, &ours));
        let added = new.iter();
        Ok(Drawn {
            news: text != Some(drawn.as_str()),
            write: ConfirmedWrite {
                branch: self.branch(),
                digest: digest(&drawn),
                added: added
                    .map(|known| (known.id.clone(), known.place.section))
                    .collect(),
                gone: Vec::new(),
                names: names(&wanted),
            },
            text: drawn,
        })
    }

    fn draw_all(&mut self, text: Option<&str>, moment: Moment) -> Result<Drawn, SyncError> {
        let key = self.agents_md_key();
        let found = text.map(read);
        let branch = self.branch();
        let (last, rolled_back) = self
            .engine
            .store
            .last_write(&key, &digest(text.unwrap_or_default()))?;
        let mut learnings = self.engine.store.known_learnings()?;
        if found
            .as_ref()
            .is_some_and(|found| has_strangers(found, &learnings))
        {
            learnings.extend(self.engine.store.put_away_learnings()?);
        }
        let plan = reconcile(&Situation {
            found: found.as_ref(),
            last: last.as_ref(),
            branch: branch.as_deref(),
            rolled_back,
            after_attempt: moment == Moment::After,
            learnings: &learnings,
            written_at: self.agents_md_written_at(),
        });
        if self.learn_from_file(&plan, moment)? {
            learnings = self.engine.store.known_learnings()?;
        }
        let wanted: Vec<&Known> = learnings.iter().filter(|known| known.active).collect();
        let skip = wanted.len().saturating_sub(MOST_BULLETS);
        let wanted = wanted.get(skip..).unwrap_or_default();
        let failures = self.engine.store.failure_entries(MOST_ENTRIES)?;
        let ours = self.engine.store.written_names(&key)?;
        let standing = found.as_ref().map(standing).unwrap_or_default();
        let request = Wanted {
            bullets: wanted
                .iter()
                .map(|known| bullet(known, &standing))
                .collect(),
            remove: plan.remove,
            failures,
        };
        let drawn = write(text, &request, &|name| self.is_ours(name, &ours));
        let (added, gone) = differences(last.as_ref(), wanted, &plan.old, &standing);
        let digest = digest(&drawn);
        let same = |last: &LastWrite| last.branch == branch && last.digest == digest;
        let news = !added.is_empty() || !gone.is_empty() || !last.as_ref().is_some_and(same);
        Ok(Drawn {
            news,
            write: ConfirmedWrite {
                branch,
                digest,
                added,
                gone,
                names: names(&request),
            },
            text: drawn,
        })
    }

    /// Whether a failure entry is Ralph's own: it wrote one under that name, or would have, had it not been killed.
    fn is_ours(&self, name: &str, written: &HashSet<String>) -> bool {
        written.contains(name) || self.engine.store.has_failed(name).unwrap_or(false)
    }

    fn branch(&self) -> Option<String> {
        self.git.as_ref().and_then(crate::git::Git::branch)
    }

    /// What people and agents wrote becomes learnings, what people deleted is put away. Whether anything changed.
    fn learn_from_file(&mut self, plan: &SyncPlan, moment: Moment) -> Result<bool, SyncError> {
        let now = self.engine.clock.now();
        let source = match moment {
            Moment::Before => Source::AgentsMd,
            Moment::After => Source::Agent,
        };
        let new: Vec<NewLearning> = plan.add.iter().filter_map(learning).collect();
        if new.len() < plan.add.len() && !self.agents_md_secret_told {
            self.agents_md_secret_told = true;
            let message = "a bullet in AGENTS.md looks like it contains a secret; Ralph did not store it as \
                           a learning";
            self.tell(EventKind::Warning {
                message: message.to_owned(),
            })?;
        }
        let store = &mut *self.engine.store;
        if !new.is_empty() {
            store.add_bullets(&new, source, now, self.engine.random)?;
        }
        if !plan.prune.is_empty() {
            store.delete_bullets(&plan.prune, now)?;
        }
        if !plan.restore.is_empty() {
            store.restore_learnings(&plan.restore, now)?;
        }
        Ok(!new.is_empty() || !plan.prune.is_empty() || !plan.restore.is_empty())
    }

    fn confirm(&mut self, drawn: Drawn) -> Result<(), SyncError> {
        if drawn.news && !drawn.text.is_empty() {
            let key = self.agents_md_key();
            self.engine.store.confirm_write(&key, &drawn.write)?;
        }
        Ok(())
    }
}

/// Takes the failures of finished phases out of the file outside a run, after a person changed the plan. What else is in
/// the file is left to the next run.
pub fn refresh_failures(
    store: &mut dyn Store,
    project: &Project,
    file: &str,
) -> Result<std::io::Result<()>, StoreError> {
    if !store.has_finished_failures()? {
        return Ok(Ok(()));
    }
    match without_finished(store, project, file) {
        Ok(()) => Ok(Ok(())),
        Err(SyncError::File(error)) => Ok(Err(error)),
        Err(SyncError::Engine(EngineError::Store(error))) => Err(error),
        Err(SyncError::Engine(error)) => Ok(Err(std::io::Error::other(error.to_string()))),
    }
}

fn without_finished(store: &mut dyn Store, project: &Project, file: &str) -> Result<(), SyncError> {
    let path = RealPaths::default().real(&project.root().join(file))?;
    let _lock = Lock::within(&project.ralph_dir().join("agents_md.lock"), PATIENCE)?;
    let first = settled(&path)?;
    if first.is_none() {
        return Ok(());
    }
    let wanted = Wanted {
        bullets: Vec::new(),
        remove: Vec::new(),
        failures: store.failure_entries(MOST_ENTRIES)?,
    };
    let ours = store.written_names(file)?;
    let mut swap = Swap::new(&path);
    let drawn = exchange(
        first,
        |text| {
            let text = text.map(std::str::from_utf8).transpose();
            let text = text.map_err(|_| SyncError::File(not_text()))?;
            let is_ours =
                |name: &str| ours.contains(name) || store.has_failed(name).unwrap_or(false);
            let drawn = write(text, &wanted, &is_ours);
            let before = digest(text.unwrap_or_default());
            let (last, _) = store.last_write(file, &before)?;
            // Where somebody else has written since, the next run finds out what.
            let last = last.filter(|last| last.digest == before);
            Ok::<_, SyncError>(Drawn {
                news: last.is_some(),
                write: ConfirmedWrite {
                    branch: last.and_then(|last| last.branch),
                    digest: digest(&drawn),
                    added: Vec::new(),
                    gone: Vec::new(),
                    names: names(&wanted),
                },
                text: drawn,
            })
        },
        |expected, text| Ok(swap.put(expected, text)?),
    );
    let drawn = match drawn {
        Ok(drawn) => drawn,
        Err(Missed::Failed(error)) => return Err(error),
        Err(Missed::Busy) => {
            swap.done()?;
            return Err(SyncError::File(std::io::Error::other(
                "another process keeps changing it",
            )));
        }
    };
    if drawn.news {
        store.confirm_write(file, &drawn.write)?;
    }
    swap.done()?;
    Ok(())
}

/// Why a file was not brought up to date.
#[derive(Debug, thiserror::Error)]
enum SyncError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    File(#[from] std::io::Error),
}

impl From<crate::store::StoreError> for SyncError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Engine(error.into())
    }
}

/// Whether a file has content, and none of Ralph's sections.
fn is_a_persons(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    !text.trim().is_empty() && read(&text).sections.is_empty()
}

fn has_strangers(found: &Found, learnings: &[Known]) -> bool {
    let known: HashSet<&str> = learnings.iter().map(|known| known.key.as_str()).collect();
    found
        .bullets
        .iter()
        .any(|bullet| !known.contains(collapsed(&bullet.text).as_str()))
}

/// Bullets that are there already; a person may have put them elsewhere, or wrapped their lines.
fn standing(found: &Found) -> HashMap<String, &Bullet> {
    let bullets = found.bullets.iter();
    bullets
        .map(|bullet| (collapsed(&bullet.text), bullet))
        .collect()
}

fn bullet(known: &Known, standing: &HashMap<String, &Bullet>) -> Bullet {
    match standing.get(&known.key) {
        Some(there) => (*there).clone(),
        None => Bullet {
            place: known.place.clone(),
            text: known.text.clone(),
        },
    }
}

/// The tasks whose failures are shown.
fn names(wanted: &Wanted) -> Vec<String> {
    let entries = wanted.failures.iter().flat_map(|phase| &phase.entries);
    entries.map(|entry| entry.name.clone()).collect()
}

/// What is in the file now and was not, and what was and is not.
fn differences(
    last: Option<&LastWrite>,
    wanted: &[&Known],
    old: &[(LearningId, Section)],
    standing: &HashMap<String, &Bullet>,
) -> (Vec<(LearningId, Section)>, Vec<LearningId>) {
    let mut before: HashMap<&LearningId, Section> = last
        .iter()
        .flat_map(|last| last.bullets.iter().map(|(id, section)| (id, *section)))
        .collect();
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
    Some(NewLearning {
        category,
        title: None,
        content: bullet.text.clone(),
        tags,
    })
}

/// What the file holds once nobody is in the middle of writing it; none where there is no file.
fn settled(path: &Path) -> Result<Option<Vec<u8>>, SyncError> {
    for _ in 0..LOOKS {
        let age = match std::fs::metadata(path) {
            Ok(meta) => meta
                .modified()
                .ok()
                .and_then(|at| SystemTime::now().duration_since(at).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if age.is_none_or(|age| age >= SETTLES) {
            return Ok(whole(path)?);
        }
        std::thread::sleep(SETTLES / 4);
    }
    Err(SyncError::File(std::io::Error::other(
        "another process is writing it",
    )))
}

/// What the file holds; none where there is no file.
fn whole(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match files::read(path, Links::Refuse, Limit::TEXT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn not_text() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8")
}
