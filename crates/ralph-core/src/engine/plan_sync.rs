//! The files of imported specs, kept in sync while Ralph runs: `tasks.md`, `.progress.md`, `.ralph-state.json`.
//!
//! What a file should show follows from the database alone, so that whatever a kill left undone is done by the next look. A
//! person's edit wins: a file is read again before it is written, and what somebody changed in it is taken in first.

mod shown;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self::shown::{LINE_CHARS, Shown, block_of, log_of, mark_of, state_of};
use super::agents_md_sync::AGENTS_LAST_WORDS;
use super::exchange::{Missed, Picture, exchange};
use super::run_context::RunContext;
use super::run_end::EngineError;
use crate::event::{EventKind, GateAuthor};
use crate::files::{
    Cleared, Limit, Links, Lock, Stamp, Swap, quick_digest, read, recover, stamp, tick_in_place,
};
use crate::model::{Status, TaskId, Timestamp};
use crate::plan::import::{self, PROGRESS_MD, STATE_JSON, TASKS_MD};
use crate::plan::tasks_md::{self, Spec};
use crate::plan::{Format, progress_md, state_json};
use crate::store::{
    Author, FiledTask, FixRecord, ImportRequest, PlanCounts, Side, SourceFile, StoreError, Tick,
};
use crate::text::one_line;

pub(super) use self::shown::LogNews;

/// How long another run's turn is waited for.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// What is known of the files between two looks.
#[derive(Debug, Default)]
pub(super) struct PlanFiles {
    /// The files, read once; new imports are seen by the next run.
    sources: Vec<KnownFile>,
    /// Faults that were told already.
    told: Vec<String>,
}

/// A file with its tasks as they were at the last look.
#[derive(Clone, Debug)]
struct KnownFile {
    source: SourceFile,
    tasks: Vec<FiledTask>,
    /// Where each task stands in that list.
    places: HashMap<TaskId, usize>,
    /// Where the boxes of tasks stand in the text with the source's digest; none where that has to be read first.
    marks: Option<HashMap<String, usize>>,
    /// How the file looked on the disk after it was last read or written.
    stamp: Stamp,
    /// Whether texts that were swapped out of the file, or of those beside it, may have to be brought in.
    unsettled: bool,
    /// The whole plan's counts then: where they moved by more than one's own task, somebody else was at work.
    counts: PlanCounts,
}

impl KnownFile {
    fn new(source: SourceFile) -> Self {
        Self {
            source,
            tasks: Vec::new(),
            places: HashMap::new(),
            marks: None,
            stamp: None,
            // A run that was killed may have left some.
            unsettled: true,
            counts: PlanCounts::default(),
        }
    }

    /// One of the tasks, or all of them.
    fn only(&self, task: Option<&TaskId>) -> &[FiledTask] {
        match task {
            None => &self.tasks,
            Some(id) => match self.places.get(id) {
                Some(at) => self.tasks.get(*at..=*at).unwrap_or_default(),
                None => &[],
            },
        }
    }

    fn take(&mut self, tasks: Vec<FiledTask>, counts: PlanCounts) {
        self.places = tasks.iter().enumerate().map(|(at, task)| (task.id.clone(), at)).collect();
        self.tasks = tasks;
        self.counts = counts;
    }
}

impl PlanFiles {
    /// At the start: what killed runs left is put right, what people changed is taken in, and all of it is shown.
    pub(super) fn open(&mut self, run: &mut RunContext<'_>) -> Result<(), EngineError> {
        let sources = run.store.sources()?;
        let sources = sources
            .into_iter()
            .filter(|source| source.format == Format::TasksMd.as_str())
            // Whatever was remembered: at the start every file is read.
            .map(|source| KnownFile::new(SourceFile { digest: None, ..source }));
        self.sources = sources.collect();
        let written = self.sources.iter().filter_map(|known| {
            let (at, _) = stamp(&source_path(run, &known.source))?;
            Some(Timestamp::from(at))
        });
        // An agent of a run that died may have written them last.
        let until = run.lost_until.map(|until| until.plus(AGENTS_LAST_WORDS));
        let author = match written.max() {
            Some(at) if until.is_some_and(|until| at <= until) => Author::Agent(None),
            _ => Author::Person,
        };
        self.sync(run, None, author, &LogNews::default())
    }

    /// Fixes what a killed run left in the middle of writing a file or those beside it.
    fn recover_files(&self, run: &mut RunContext<'_>, path: &Path, own_path: &Path) -> Result<(), FileFault> {
        let beside = [STATE_JSON, PROGRESS_MD].map(|name| own_path.with_file_name(name));
        let beside = beside.iter().filter_map(|path| run.real_paths.real(path).ok());
        let files: Vec<PathBuf> = [path.to_owned()].into_iter().chain(beside).collect();
        for file in files {
            for saved in recover(&file)? {
                let message = format!(
                    "a plan file was edited before a crash; that version is saved in {}",
                    saved.display()
                );
                run.tell(EventKind::Warning { message })?;
            }
        }
        Ok(())
    }

    /// Brings files and database together. With a task only that one's box is looked at, as long as nobody changed the
    /// file.
    pub(super) fn sync(
        &mut self,
        run: &mut RunContext<'_>,
        task: Option<&TaskId>,
        author: Author,
        news: &LogNews,
    ) -> Result<(), EngineError> {
        if self.sources.is_empty() {
            return Ok(());
        }
        // While another run's agent is at work nobody can tell whether a person wrote it.
        // The same where a gate ran since the last look: it runs what agents wrote.
        let gate_ran = std::mem::take(&mut run.gate_ran);
        let author = match author {
            Author::Person if gate_ran || run.others_at_work()? => Author::Agent(None),
            author => author,
        };
        for mut known in std::mem::take(&mut self.sources) {
            let path = known.source.path.clone();
            let synced = self.sync_source(run, &mut known, task, &author, news);
            self.sources.push(known);
            match synced {
                Ok(()) => {}
                Err(FileFault::Engine(error)) => return Err(error),
                Err(FileFault::File(why)) => self.tell_fault(run, &path, &why)?,
            }
        }
        Ok(())
    }

    fn tell_fault(&mut self, run: &mut RunContext<'_>, path: &str, why: &str) -> Result<(), EngineError> {
        let message = format!("cannot update {path}: {why}");
        if !self.told.contains(&message) {
            self.told.push(message.clone());
            run.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }

    fn sync_source(
        &mut self,
        run: &mut RunContext<'_>,
        known: &mut KnownFile,
        task: Option<&TaskId>,
        author: &Author,
        news: &LogNews,
    ) -> Result<(), FileFault> {
        let own_path = source_path(run, &known.source);
        // What a link leads to is the file, not the link; its log and state stand beside the link.
        let path = &run.real_paths.real(&own_path)?;
        let lock = run.ralph_dir()?.join("plan_files.lock");
        let _lock = Lock::within(&lock, PATIENCE)?;
        if known.unsettled {
            self.recover_files(run, path, &own_path)?;
            known.unsettled = false;
        }
        let mut whole = !self.is_only(run, known, task)?;
        if !whole && known.stamp == stamp(path) && !self.has_news(run, known, task)? {
            return self.write_log_and_state(run, &own_path, known, task, news);
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
                    is_plan = self.read_again(run, &known.source, text, &look, author)?;
                    known.source.digest = Some(look);
                    known.marks = None;
                    whole = true;
                }
                if !is_plan {
                    return Ok(Text(text.to_owned()));
                }
                if whole {
                    self.look_again(run, known)?;
                }
                let (text, now) = self.drawn(run, known, text, task.filter(|_| !whole))?;
                shown = now;
                Ok(Text(text))
            },
            |expected, text| {
                // Ticks need no exchange, to which what somebody writes at the same time could be lost.
                if let Some(expected) = expected
                    && tick_in_place(path, expected, text)?
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
        let store = &mut *run.store;
        store.note_filed(known.source.id, &digest, &shown.ticked, &shown.filed).map_err(EngineError::from)?;
        known.source.digest = Some(digest);
        for (id, ticked) in &shown.ticked {
            if let Some(task) = known.places.get(id).and_then(|at| known.tasks.get_mut(*at)) {
                task.tick = if *ticked { Tick::Ticked } else { Tick::Open };
            }
        }
        if !shown.filed.is_empty() {
            self.look_again(run, known)?;
        }
        self.write_log_and_state(run, &own_path, known, task.filter(|_| !whole), news)
    }

    /// Whether the file does not show what it should of this task, or lacks a task.
    fn has_news(
        &self,
        run: &RunContext<'_>,
        known: &KnownFile,
        task: Option<&TaskId>,
    ) -> Result<bool, FileFault> {
        let store = &*run.store;
        let unfiled = store.unfiled_tasks(known.source.id).map_err(EngineError::from)?;
        Ok(!unfiled.is_empty() || known.only(task).iter().any(|task| mark_of(task).is_some()))
    }

    /// Whether nothing but this task can have changed since the last look; it is looked at again.
    fn is_only(
        &self,
        run: &RunContext<'_>,
        known: &mut KnownFile,
        task: Option<&TaskId>,
    ) -> Result<bool, EngineError> {
        let store = &*run.store;
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

    fn look_again(&self, run: &RunContext<'_>, known: &mut KnownFile) -> Result<(), FileFault> {
        let store = &*run.store;
        let tasks = store.filed_tasks(known.source.id).map_err(EngineError::from)?;
        known.take(tasks, store.counts().map_err(EngineError::from)?);
        Ok(())
    }

    /// Takes in what somebody changed: the text that is drawn from, for by now the file may hold another. One that cannot be
    /// read as a plan changes nothing. Gives whether it could be.
    fn read_again(
        &mut self,
        run: &mut RunContext<'_>,
        source: &SourceFile,
        text: &str,
        digest: &str,
        author: &Author,
    ) -> Result<bool, FileFault> {
        let root = run.project.root();
        let draft = match import::read_tasks_md(root, &source.path, text) {
            Ok(draft) => draft,
            Err(error) => {
                let why = one_line(&error.to_string(), LINE_CHARS);
                self.tell_fault(run, &source.path, &format!("it is not a valid plan right now: {why}"))?;
                return Ok(false);
            }
        };
        run.tell_gate_changes(GateAuthor::Elsewhere)?;
        let now = run.clock.now();
        let request = ImportRequest {
            path: &source.path,
            format: &source.format,
            digest,
            draft: &draft,
            fixes: &[],
            asked_for: false,
            author: author.clone(),
            dry_run: false,
        };
        let imported = run.store.import_plan(&request, now, run.random);
        match imported {
            Ok(report) => {
                if !report.is_empty() {
                    run.tell(EventKind::PlanFileRead {
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
                    run.tell(EventKind::Warning { message })?;
                }
                for gate in report.gates_waiting {
                    run.tell_waiting_gate(&source.path, &gate)?;
                }
                run.tell_gate_changes(GateAuthor::PlanFile)?;
                Ok(true)
            }
            Err(error @ (StoreError::DuplicateKey { .. } | StoreError::Cycle(_))) => {
                self.tell_fault(run, &source.path, &error.to_string())?;
                Ok(false)
            }
            Err(error) => Err(EngineError::from(error).into()),
        }
    }

    /// The file as it should be.
    fn drawn(
        &self,
        run: &RunContext<'_>,
        known: &mut KnownFile,
        text: &str,
        only: Option<&TaskId>,
    ) -> Result<(String, Shown), FileFault> {
        let store = &*run.store;
        let mut shown = Shown::default();
        let mut marks: Vec<(String, bool)> = Vec::new();
        for task in known.only(only) {
            if let Some(done) = mark_of(task) {
                marks.push((task.name.clone(), done));
                shown.ticked.push((task.id.clone(), done));
            }
        }
        let marks: Vec<(&str, bool)> = marks.iter().map(|(name, done)| (name.as_str(), *done)).collect();
        let mut text = match marks.is_empty() {
            true => text.to_owned(),
            false => {
                let places = known.marks.get_or_insert_with(|| Spec::of(text).marks());
                tasks_md::mark(text, places, &marks)
            }
        };
        let folder = known.source.path.rsplit_once('/');
        let folder = folder.map(|(folder, _)| folder.to_owned());
        // Where the last new task behind a task went: the next one goes behind that.
        let mut behind: HashMap<String, String> = HashMap::new();
        let unfiled = store.unfiled_tasks(known.source.id);
        for unfiled in unfiled.map_err(EngineError::from)? {
            let name = unfiled.task.name().to_owned();
            let is_done = unfiled.task.status == Status::Done;
            let spec = Spec::of(&text);
            if !spec.has(&name) {
                let block = block_of(&unfiled, &spec, folder.as_deref());
                let last = behind.get(&unfiled.beside).unwrap_or(&unfiled.beside);
                let put = match unfiled.side {
                    Side::After => spec.insert_after(last, &block),
                    Side::Before => spec.insert_before(&unfiled.beside, &block),
                };
                let Some(put) = put else { continue };
                let places = Spec::of(&put).marks();
                // A name that is no key of this format would be read as part of the task above.
                if !places.contains_key(&name) {
                    continue;
                }
                text = match is_done {
                    true => tasks_md::mark(&put, &places, &[(&name, true)]),
                    false => put,
                };
                // Those of the text before.
                known.marks = None;
                if unfiled.side == Side::After && unfiled.fix.is_none() {
                    behind.insert(unfiled.beside.clone(), name.clone());
                }
            }
            shown.ticked.push((unfiled.task.id.clone(), is_done));
            shown.filed.push((unfiled.task.id.clone(), name));
        }
        Ok((text, shown))
    }

    fn write_log_and_state(
        &self,
        run: &RunContext<'_>,
        path: &Path,
        known: &mut KnownFile,
        only: Option<&TaskId>,
        news: &LogNews,
    ) -> Result<(), FileFault> {
        let made = is_tasks_md(path);
        let records = run.store.fix_records().map_err(EngineError::from)?;
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
            let changed =
                change_file(&run.real_paths.real(&progress)?, |text| Ok(progress_md::update(text, &log)));
            cleared.push(changed.map_err(|fault| fault.of(PROGRESS_MD)));
        }
        let json = path.with_file_name(STATE_JSON);
        if made || json.exists() {
            let changed = change_file(&run.real_paths.real(&json)?, |text| {
                state_json::update(text, &state).map_err(|problem| FileFault::File(problem.to_string()))
            });
            cleared.push(changed.map_err(|fault| fault.of(STATE_JSON)));
        }
        known.unsettled |= !cleared.iter().all(|one| matches!(one, Ok(Cleared::Quiet | Cleared::Late)));
        cleared.into_iter().try_for_each(|one| one.map(drop))
    }
}

fn source_path(run: &RunContext<'_>, source: &SourceFile) -> PathBuf {
    run.project.root().join(&source.path)
}

/// Only beside a file of this name does Ralph create the log and the state file.
fn is_tasks_md(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == TASKS_MD)
}

/// A text to be put into a file.
struct Text(String);

impl Picture for Text {
    fn text(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Changes a file that others may write too, at a path without links; one that is not there is made where there is
/// something to say.
fn change_file(
    path: &Path,
    mut change: impl FnMut(&str) -> Result<String, FileFault>,
) -> Result<Cleared, FileFault> {
    let first = match read(path, Links::Refuse, Limit::TEXT) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let mut swap = Swap::new(path);
    let put = exchange(
        first,
        |text| {
            let text = std::str::from_utf8(text.unwrap_or_default())
                .map_err(|_| FileFault::File(format!("{} is not UTF-8", path.display())))?;
            Ok(Text(change(text)?))
        },
        |expected, text| Ok::<_, FileFault>(swap.put(expected, text)?),
    );
    match put {
        Ok(_) | Err(Missed::Busy) => Ok(swap.done()?),
        Err(Missed::Failed(error)) => Err(error),
    }
}

/// Why a file was not brought up to date.
enum FileFault {
    Engine(EngineError),
    File(String),
}

impl FileFault {
    /// Says which of the files beside a plan it is about.
    fn of(self, name: &str) -> Self {
        match self {
            Self::File(why) => Self::File(format!("{name}: {why}")),
            engine @ Self::Engine(_) => engine,
        }
    }
}

impl From<EngineError> for FileFault {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<std::io::Error> for FileFault {
    fn from(error: std::io::Error) -> Self {
        Self::File(error.to_string())
    }
}
