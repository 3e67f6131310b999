//! AGENTS.md: failures and learnings where people and every agent read them, and what people write there.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::run::{EngineError, Run};
use crate::agents_md::{
    Bullet, Found, Known, LastWrite, Place, Section, Situation, SyncPlan, Wanted,
    category_and_tags, read, reconcile, write,
};
use crate::event::EventKind;
use crate::files::{Lock, swap};
use crate::model::{LearningId, NewLearning, Source};
use crate::store::ConfirmedWrite;
use crate::text::mask_secrets;

/// Failures shown of one phase.
const MOST_ENTRIES: u32 = 100;
/// Bullets that Ralph writes of its own accord; the newest count.
const MOST_BULLETS: usize = 10_000;
/// A file that was written less than this ago may not be whole yet.
const SETTLES: Duration = Duration::from_millis(20);
/// How often a file that others keep writing is tried again.
const MOST_TRIES: u32 = 20;

/// When the file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before an attempt: what is new in it a person wrote.
    Before,
    /// After one: what is new the agent wrote.
    After,
}

/// What a look at the file found worth doing.
struct Drawn {
    text: String,
    write: ConfirmedWrite,
    /// Whether anything differs from what is known of the last write.
    news: bool,
}

impl Run<'_, '_> {
    /// Where the file is; none where the settings say that there is to be none.
    fn agents_md(&self) -> Option<PathBuf> {
        let path = self.engine.settings.agents_md.as_ref()?;
        Some(self.engine.work_tree.join(path))
    }

    /// What the file is remembered by, wherever the project is moved.
    fn agents_md_key(&self) -> String {
        self.engine.settings.agents_md.clone().unwrap_or_default()
    }

    /// After an attempt, where anything can have changed: a failure, a learning, a phase that is over, or the file.
    pub(super) fn sync_after(&mut self, failed: bool, learnt: bool) -> Result<(), EngineError> {
        let same = self.agents_md_seen.is_some()
            && self.agents_md_seen == self.agents_md().map(|path| stamp(&path));
        if same && !failed && !learnt && !self.engine.store.has_failure_entries()? {
            return Ok(());
        }
        self.sync_agents_md(Moment::After)
    }

    /// Brings the file and the database together. A file that cannot be read or written is told of and stops nothing.
    pub(super) fn sync_agents_md(&mut self, moment: Moment) -> Result<(), EngineError> {
        let Some(path) = self.agents_md() else {
            return Ok(());
        };
        let stamp = stamp(&path);
        if moment == Moment::Before && self.agents_md_seen == Some(stamp) {
            return Ok(());
        }
        match self.sync_file(&path, moment) {
            Ok(()) => {}
            Err(SyncError::Engine(error)) => return Err(error),
            Err(SyncError::File(error)) => {
                if !self.agents_md_fault_told {
                    self.agents_md_fault_told = true;
                    let message = format!("{} is left as it is: {error}", path.display());
                    self.tell(EventKind::Warning { message })?;
                }
            }
        }
        self.agents_md_seen = Some(self::stamp(&path));
        Ok(())
    }

    fn sync_file(&mut self, path: &Path, moment: Moment) -> Result<(), SyncError> {
        let _lock = Lock::wait(&self.engine.project.ralph_dir().join("agents_md.lock"))?;
        let mut text = settled(path)?;
        for _ in 0..MOST_TRIES {
            let drawn = self.draw(text.as_deref(), moment)?;
            if text.as_deref() == Some(drawn.text.as_str())
                || (text.is_none() && drawn.text.is_empty())
            {
                return self.confirm(drawn);
            }
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir)?;
            }
            let was = swap(path, drawn.text.as_bytes())?.map(utf8).transpose()?;
            if was == text {
                return self.confirm(drawn);
            }
            // Somebody wrote it in between: their text is what the next round begins with.
            text = was;
        }
        Err(SyncError::File(std::io::Error::other(
            "others keep writing it",
        )))
    }

    /// The file as it should be, after what is new in it was learnt.
    fn draw(&mut self, text: Option<&str>, moment: Moment) -> Result<Drawn, SyncError> {
        let counts = self.engine.store.learning_counts()?;
        let known = text.map(digest).map(|digest| (digest, counts));
        if known.is_some() && known == self.agents_md_known {
            return self.draw_failures(text);
        }
        let drawn = self.draw_all(text, moment)?;
        let counts = self.engine.store.learning_counts()?;
        self.agents_md_known = Some((drawn.write.digest.clone(), counts));
        Ok(drawn)
    }

    /// Neither the file nor the learnings have changed since they were last brought together: only failures are new.
    fn draw_failures(&mut self, text: Option<&str>) -> Result<Drawn, SyncError> {
        let wanted = Wanted {
            bullets: Vec::new(),
            remove: Vec::new(),
            failures: self.engine.store.failure_entries(MOST_ENTRIES)?,
        };
        let store = &*self.engine.store;
        let drawn = write(text, &wanted, &|name| store.is_task(name).unwrap_or(false));
        let digest = digest(&drawn);
        if let Some((known, _)) = &mut self.agents_md_known {
            known.clone_from(&digest);
        }
        Ok(Drawn {
            news: text != Some(drawn.as_str()),
            write: ConfirmedWrite {
                branch: self.git.as_ref().and_then(crate::git::Git::branch),
                digest,
                added: Vec::new(),
                gone: Vec::new(),
            },
            text: drawn,
        })
    }

    fn draw_all(&mut self, text: Option<&str>, moment: Moment) -> Result<Drawn, SyncError> {
        let key = self.agents_md_key();
        let found = text.map(read);
        let branch = self.git.as_ref().and_then(crate::git::Git::branch);
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
        });
        if self.learn_from_file(&plan, moment)? {
            learnings = self.engine.store.known_learnings()?;
        }
        let wanted: Vec<&Known> = learnings.iter().filter(|known| known.active).collect();
        let skip = wanted.len().saturating_sub(MOST_BULLETS);
        let wanted = wanted.get(skip..).unwrap_or_default();
        let failures = self.engine.store.failure_entries(MOST_ENTRIES)?;
        let store = &*self.engine.store;
        let standing = found.as_ref().map(standing).unwrap_or_default();
        let drawn = write(
            text,
            &Wanted {
                bullets: wanted
                    .iter()
                    .map(|known| bullet(known, &standing))
                    .collect(),
                remove: plan.remove,
                failures,
            },
            &|name| store.is_task(name).unwrap_or(false),
        );
        let (added, gone) = differences(last.as_ref(), wanted, &standing);
        let news = !added.is_empty() || !gone.is_empty() || text != Some(drawn.as_str());
        Ok(Drawn {
            news: news || last.is_none(),
            write: ConfirmedWrite {
                branch,
                digest: digest(&drawn),
                added,
                gone,
            },
            text: drawn,
        })
    }

    /// What people and agents wrote becomes learnings, what people deleted is put away. Whether anything changed.
    fn learn_from_file(&mut self, plan: &SyncPlan, moment: Moment) -> Result<bool, SyncError> {
        let now = self.engine.clock.now();
        let source = match moment {
            Moment::Before => Source::AgentsMd,
            Moment::After => Source::Agent,
        };
        let new: Vec<NewLearning> = plan.add.iter().filter_map(learning).collect();
        let store = &mut *self.engine.store;
        if !new.is_empty() {
            store.add_bullets(&new, source, now, self.engine.random)?;
        }
        if !plan.prune.is_empty() {
            store.prune_learnings(&plan.prune, now)?;
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

fn has_strangers(found: &Found, learnings: &[Known]) -> bool {
    let known: HashSet<&str> = learnings.iter().map(|known| known.text.as_str()).collect();
    found
        .bullets
        .iter()
        .any(|bullet| !known.contains(bullet.text.as_str()))
}

/// Where bullets stand that are there already; a person may have put them elsewhere.
fn standing(found: &Found) -> HashMap<&str, &Place> {
    let bullets = found.bullets.iter();
    bullets
        .map(|bullet| (bullet.text.as_str(), &bullet.place))
        .collect()
}

fn bullet(known: &Known, standing: &HashMap<&str, &Place>) -> Bullet {
    let place = standing.get(known.text.as_str()).copied();
    Bullet {
        place: place.unwrap_or(&known.place).clone(),
        text: known.text.clone(),
    }
}

/// What is in the file now and was not, and what was and is not.
fn differences(
    last: Option<&LastWrite>,
    wanted: &[&Known],
    standing: &HashMap<&str, &Place>,
) -> (Vec<(LearningId, Section)>, Vec<LearningId>) {
    let mut before: HashMap<&LearningId, Section> = last
        .iter()
        .flat_map(|last| last.bullets.iter().map(|(id, section)| (id, *section)))
        .collect();
    let mut added = Vec::new();
    for known in wanted {
        let place = standing.get(known.text.as_str()).copied();
        let section = place.unwrap_or(&known.place).section;
        if before.remove(&known.id) != Some(section) {
            added.push((known.id.clone(), section));
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

/// The file's text once nobody is in the middle of writing it; none where there is no file.
fn settled(path: &Path) -> Result<Option<String>, SyncError> {
    for _ in 0..MOST_TRIES {
        let Ok(meta) = std::fs::metadata(path) else {
            return Ok(None);
        };
        let age = meta
            .modified()
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_none_or(|age| age >= SETTLES) {
            break;
        }
        std::thread::sleep(SETTLES / 4);
    }
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(utf8(bytes)?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, std::io::Error> {
    String::from_utf8(bytes)
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Enough to see that a file is another one.
pub(super) type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

/// What a text looks like, in a few characters; for comparing with what this same program wrote.
fn digest(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}
