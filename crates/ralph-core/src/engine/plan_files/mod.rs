//! The files of imported specs, kept true while Ralph runs: `tasks.md`, `.progress.md`, `.ralph-state.json`.
//!
//! What a file should show follows from the database alone, so that whatever a kill left undone is done by the next look. A
//! person's edit wins: a file is read again before it is written, and what somebody changed in it is taken in first.

mod file;
mod known;
mod log;
mod show;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use self::file::{FileFault, Text, change_file};
use self::known::KnownFile;
use self::log::{log_of, state_of};
use self::show::{Shown, block_of, mark_of};
use super::agents_md::AGENTS_LAST_WORDS;
use super::exchange::{Missed, exchange};
use super::run::{EngineError, Run};
use crate::event::{EventKind, GateAuthor};
use crate::files::{
    Cleared, InPlace, Limit, Links, Lock, Swap, quick_digest, read, recover, stamp, tick_in_place,
};
use crate::import::{self, PROGRESS_MD, STATE_JSON, TASKS_MD};
use crate::model::{Status, TaskId, Timestamp};
use crate::plan_files::{Format, tasks_md};
use crate::spec::progress_md;
use crate::spec::state_json;
use crate::store::{FixRecord, Hand, ImportRequest, Side, SourceFile, StoreError, Tick};
use crate::text::one_line;

pub(super) use self::known::PlanFiles;
pub(super) use self::log::LogNews;

/// How long another run's turn is waited for.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// How much of a line is kept.
const LINE_CHARS: usize = 300;

impl Run<'_, '_> {
    /// At the start: what killed runs left is put right, what people changed is taken in, and all of it is shown.
    pub(super) fn open_plan_files(&mut self) -> Result<(), EngineError> {
        let sources = self.engine.store.sources()?;
        let sources = sources
            .into_iter()
            .filter(|source| source.format == Format::TasksMd.as_str())
            // Whatever was remembered: at the start every file is read.
            .map(|source| {
                KnownFile::new(SourceFile {
                    digest: None,
                    ..source
                })
            });
        self.plan_files.sources = sources.collect();
        let written = self.plan_files.sources.iter().filter_map(|known| {
            let (at, _) = stamp(&self.source_path(&known.source))?;
            Some(Timestamp::from(at))
        });
        // An agent of a run that died may have written them last.
        let until = self.lost_until.map(|until| until.plus(AGENTS_LAST_WORDS));
        let hand = match written.max() {
            Some(at) if until.is_some_and(|until| at <= until) => Hand::Agent(None),
            _ => Hand::Person,
        };
        self.sync_plan_files(None, hand, &LogNews::default())
    }

    /// Fixes what a killed run left in the middle of writing a file or those beside it.
    fn recover_files(&mut self, path: &Path, own_path: &Path) -> Result<(), FileFault> {
        let beside = [STATE_JSON, PROGRESS_MD].map(|name| own_path.with_file_name(name));
        let beside = beside
            .iter()
            .filter_map(|path| self.real_paths.real(path).ok());
        let files: Vec<PathBuf> = [path.to_owned()].into_iter().chain(beside).collect();
        for file in files {
            for saved in recover(&file)? {
                let message = format!(
                    "a plan file was edited before a crash; that version is saved in {}",
                    saved.display()
                );
                self.tell(EventKind::Warning { message })?;
            }
        }
        Ok(())
    }

    fn source_path(&self, source: &SourceFile) -> PathBuf {
        self.engine.project.root().join(&source.path)
    }

    /// Brings files and database together. With a task only that one's box is looked at, as long as nobody changed the
    /// file.
    pub(super) fn sync_plan_files(
        &mut self,
        task: Option<&TaskId>,
        hand: Hand,
        news: &LogNews,
    ) -> Result<(), EngineError> {
        if self.plan_files.sources.is_empty() {
            return Ok(());
        }
        // While another run's agent is at work nobody can tell a person's hand.
        // The same where a gate ran since the last look: it runs what agents wrote.
        let gate_ran = std::mem::take(&mut self.plan_files.gate_ran);
        let hand = match hand {
            Hand::Person if gate_ran || self.others_at_work()? => Hand::Agent(None),
            hand => hand,
        };
        for mut known in std::mem::take(&mut self.plan_files.sources) {
            let path = known.source.path.clone();
            let synced = self.sync_source(&mut known, task, &hand, news);
            self.plan_files.sources.push(known);
            match synced {
                Ok(()) => {}
                Err(FileFault::Engine(error)) => return Err(error),
                Err(FileFault::File(why)) => self.tell_fault(&path, &why)?,
            }
        }
        Ok(())
    }

    fn tell_fault(&mut self, path: &str, why: &str) -> Result<(), EngineError> {
        let message = format!("{path} was not updated: {why}");
        if !self.plan_files.told.contains(&message) {
            self.plan_files.told.push(message.clone());
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }

    fn sync_source(
        &mut self,
        known: &mut KnownFile,
        task: Option<&TaskId>,
        hand: &Hand,
        news: &LogNews,
    ) -> Result<(), FileFault> {
        let own_path = self.source_path(&known.source);
        // What a link leads to is the file, not the link; its log and state stand beside the link.
        let path = &self.real_paths.real(&own_path)?;
        let lock = self.ralph_dir()?.join("plan_files.lock");
        let _lock = Lock::within(&lock, PATIENCE)?;
        if known.unsettled {
            self.recover_files(path, &own_path)?;
            known.unsettled = false;
        }
        let mut whole = !self.is_only(known, task)?;
        if !whole && known.stamp == stamp(path) && !self.has_news(known, task)? {
            return self.write_log_and_state(&own_path, known, task, news);
        }
        let first = read(path, Links::Refuse, Limit::TEXT)?;
        if std::fs::metadata(path)?.permissions().readonly() {
            return Err(FileFault::File("it is read-only".into()));
        }
        let mut shown = Shown::default();
        let mut is_plan = true;
        let mut swap = Swap::new(path);
        let put = exchange(
            Some(first),
            |text| {
                let text = std::str::from_utf8(text.unwrap_or_default())
                    .map_err(|_| FileFault::File("it is not UTF-8".into()))?;
                let look = quick_digest(text);
                if known.source.digest.as_deref() != Some(&look) {
                    is_plan = self.read_again(&known.source, text, &look, hand)?;
                    known.source.digest = Some(look);
                    whole = true;
                }
                if !is_plan {
                    return Ok(Text(text.to_owned()));
                }
                if whole {
                    self.look_again(known)?;
                }
                let (text, now) = self.drawn(known, text, task.filter(|_| !whole))?;
                shown = now;
                Ok(Text(text))
            },
            |expected, text| {
                // Ticks need no exchange, to which what somebody writes at the same time could be lost.
                if let Some(expected) = expected
                    && tick_in_place(path, expected, text)? == InPlace::Written
                {
                    return Ok(Some(expected.to_vec()));
                }
                Ok::<_, FileFault>(swap.put(expected, text)?)
            },
        );
        let text = match put {
            Ok(text) => text.0,
            Err(Missed::Failed(error)) => {
                // What was swapped out may be nowhere else.
                known.unsettled = true;
                return Err(error);
            }
            Err(Missed::Busy) => {
                known.unsettled = swap.done()? == Cleared::StillOpen;
                return Err(FileFault::File("another process keeps changing it".into()));
            }
        };
        // Before it is noted: what a kill leaves of a swap may be put back, and is then drawn anew.
        let cleared = swap.done()?;
        known.unsettled = cleared == Cleared::StillOpen;
        if !is_plan {
            // Looked at anew the next time, whatever is in it then.
            known.source.digest = None;
            return Ok(());
        }
        // What somebody wrote at the very moment is read the next time.
        let is_as_drawn = |(_, length): &(_, u64)| *length == text.len() as u64;
        known.stamp = stamp(path).filter(|stamp| cleared == Cleared::Quiet && is_as_drawn(stamp));
        let digest = quick_digest(&text);
        let store = &mut *self.engine.store;
        store
            .note_filed(known.source.id, &digest, &shown.ticked, &shown.filed)
            .map_err(EngineError::from)?;
        known.source.digest = Some(digest);
        for (id, ticked) in &shown.ticked {
            if let Some(task) = known.places.get(id).and_then(|at| known.tasks.get_mut(*at)) {
                task.tick = if *ticked { Tick::Ticked } else { Tick::Open };
            }
        }
        if !shown.filed.is_empty() {
            self.look_again(known)?;
        }
        self.write_log_and_state(&own_path, known, task.filter(|_| !whole), news)
    }

    /// Whether the file does not show what it should of this task, or lacks a task.
    fn has_news(&self, known: &KnownFile, task: Option<&TaskId>) -> Result<bool, FileFault> {
        let store = &*self.engine.store;
        let unfiled = store
            .unfiled_tasks(known.source.id)
            .map_err(EngineError::from)?;
        Ok(!unfiled.is_empty() || known.only(task).iter().any(|task| mark_of(task).is_some()))
    }

    /// Whether nothing but this task can have changed since the last look; it is looked at again.
    fn is_only(&self, known: &mut KnownFile, task: Option<&TaskId>) -> Result<bool, EngineError> {
        let store = &*self.engine.store;
        let counts = store.counts()?;
        let Some(id) = task.filter(|_| !known.tasks.is_empty()) else {
            return Ok(false);
        };
        let mut expected = known.counts;
        if let (Some(at), Some(now)) = (known.places.get(id), store.filed_task(id)?) {
            let Some(before) = known.tasks.get_mut(*at) else {
                return Ok(false);
            };
            expected.moved(before.status, now.status);
            *before = now;
        }
        // No plan's file shows what is verified.
        expected.verified = counts.verified;
        let same = expected == counts;
        known.counts = counts;
        Ok(same)
    }

    fn look_again(&self, known: &mut KnownFile) -> Result<(), FileFault> {
        let store = &*self.engine.store;
        let tasks = store
            .filed_tasks(known.source.id)
            .map_err(EngineError::from)?;
        known.take(tasks, store.counts().map_err(EngineError::from)?);
        Ok(())
    }

    /// Takes in what somebody changed: the text that is drawn from, for by now the file may hold another. One that cannot be
    /// read as a plan changes nothing. Gives whether it could be.
    fn read_again(
        &mut self,
        source: &SourceFile,
        text: &str,
        digest: &str,
        hand: &Hand,
    ) -> Result<bool, FileFault> {
        let root = self.engine.project.root();
        let draft = match import::read_tasks_md(root, &source.path, text) {
            Ok(draft) => draft,
            Err(error) => {
                let why = one_line(&error.to_string(), LINE_CHARS);
                self.tell_fault(
                    &source.path,
                    &format!("it is not a valid plan right now: {why}"),
                )?;
                return Ok(false);
            }
        };
        self.tell_gate_changes(GateAuthor::Elsewhere)?;
        let now = self.engine.clock.now();
        let request = ImportRequest {
            path: &source.path,
            format: &source.format,
            digest,
            draft: &draft,
            fixes: &[],
            asked_for: false,
            hand: hand.clone(),
            dry_run: false,
        };
        let imported = self
            .engine
            .store
            .import_plan(&request, now, self.engine.random);
        match imported {
            Ok(report) => {
                if !report.is_empty() {
                    self.tell(EventKind::PlanFileRead {
                        path: source.path.clone(),
                        added: report.added.len(),
                        updated: report.updated.len(),
                        finished: report.finished.len(),
                        removed: report.removed.len(),
                    })?;
                }
                for task in report.unproven {
                    let (name, path) = (task.name, &source.path);
                    let message = format!(
                        "{name} was checked off in {path} while an agent was running; the task stays open. \
                         If you checked it off, run `ralph task done {name}`"
                    );
                    self.tell(EventKind::Warning { message })?;
                }
                for gate in report.gates_waiting {
                    self.tell_waiting_gate(&source.path, &gate)?;
                }
                self.tell_gate_changes(GateAuthor::PlanFile)?;
                Ok(true)
            }
            Err(error @ (StoreError::DuplicateKey { .. } | StoreError::Cycle(_))) => {
                self.tell_fault(&source.path, &error.to_string())?;
                Ok(false)
            }
            Err(error) => Err(EngineError::from(error).into()),
        }
    }

    /// The file as it should be.
    fn drawn(
        &self,
        known: &KnownFile,
        text: &str,
        only: Option<&TaskId>,
    ) -> Result<(String, Shown), FileFault> {
        let store = &*self.engine.store;
        let source = &known.source;
        let mut shown = Shown::default();
        let mut marks: Vec<(&str, bool)> = Vec::new();
        for task in known.only(only) {
            if let Some(done) = mark_of(task) {
                marks.push((&task.name, done));
                shown.ticked.push((task.id.clone(), done));
            }
        }
        let mut text = if marks.is_empty() {
            text.to_owned()
        } else {
            tasks_md::mark(text, &marks).text
        };
        let folder = source.path.rsplit_once('/').map(|(folder, _)| folder);
        // Where the last new task behind a task went: the next one goes behind that.
        let mut behind: HashMap<String, String> = HashMap::new();
        for unfiled in store.unfiled_tasks(source.id).map_err(EngineError::from)? {
            let name = unfiled.task.name().to_owned();
            let there = tasks_md::find(&text, &name).is_some();
            if !there {
                let block = block_of(&unfiled, &text, folder);
                let last = behind.get(&unfiled.beside).unwrap_or(&unfiled.beside);
                let put = match unfiled.side {
                    Side::After => tasks_md::insert_after(&text, last, &block),
                    Side::Before => tasks_md::insert_before(&text, &unfiled.beside, &block),
                };
                let Some(put) = put else { continue };
                // A name that is no key of this format would be read as part of the task above.
                if tasks_md::find(&put, &name).is_none() {
                    continue;
                }
                text = put;
                if unfiled.side == Side::After && unfiled.fix.is_none() {
                    behind.insert(unfiled.beside.clone(), name.clone());
                }
                if unfiled.task.status == Status::Done {
                    text = tasks_md::mark(&text, &[(&name, true)]).text;
                }
            }
            shown
                .ticked
                .push((unfiled.task.id.clone(), unfiled.task.status == Status::Done));
            shown.filed.push((unfiled.task.id.clone(), name));
        }
        Ok((text, shown))
    }

    fn write_log_and_state(
        &mut self,
        path: &Path,
        known: &mut KnownFile,
        only: Option<&TaskId>,
        news: &LogNews,
    ) -> Result<(), FileFault> {
        let made = is_tasks_md(path);
        let records = self.engine.store.fix_records().map_err(EngineError::from)?;
        let records: Vec<&FixRecord> = records
            .iter()
            .filter(|(id, _)| known.places.contains_key(id))
            .map(|(_, record)| record)
            .collect();
        let nothing = LogNews::default();
        let is_own = |id: &TaskId| known.places.contains_key(id);
        let news = match &news.task {
            Some(id) if !is_own(id) => &nothing,
            _ => news,
        };
        let log = log_of(known.only(only), &known.tasks, &records, news);
        let state = state_of(&known.tasks, &records);
        let progress = path.with_file_name(PROGRESS_MD);
        let mut cleared = Vec::new();
        if made || progress.exists() {
            let changed = change_file(&self.real_paths.real(&progress)?, |text| {
                let mut log = log.clone();
                // A line with a commit that Ralph knows nothing of is better than one without.
                let there = progress_md::read(text).completed;
                let there: HashSet<&str> = there.iter().map(|line| line.key.as_str()).collect();
                log.completed
                    .retain(|task| task.commit.is_some() || !there.contains(task.key.as_str()));
                Ok(progress_md::update(text, &log))
            });
            cleared.push(changed.map_err(|fault| fault.of(PROGRESS_MD)));
        }
        let json = path.with_file_name(STATE_JSON);
        if made || json.exists() {
            let changed = change_file(&self.real_paths.real(&json)?, |text| {
                state_json::update(text, &state)
                    .map_err(|problem| FileFault::File(problem.to_string()))
            });
            cleared.push(changed.map_err(|fault| fault.of(STATE_JSON)));
        }
        known.unsettled |= !cleared
            .iter()
            .all(|one| matches!(one, Ok(Cleared::Quiet | Cleared::Late)));
        cleared.into_iter().try_for_each(|one| one.map(drop))
    }
}

/// Only beside a file of this name does Ralph create the log and the state file.
fn is_tasks_md(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == TASKS_MD)
}
