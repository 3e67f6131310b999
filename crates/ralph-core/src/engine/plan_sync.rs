//! The files of imported specs, kept in sync while Ralph runs: `tasks.md`, `.progress.md`, `.ralph-state.json`.
//!
//! What a file should show follows from the database alone, so that whatever a kill left undone is done by the next look. A
//! person's edit wins: a file is read again before it is written, and what somebody changed in it is taken in first.

mod shown;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self::shown::{LINE_CHARS, Shown, block_of, log_of, mark_of, state_of};
use super::agents_md_sync::{AGENTS_LAST_WORDS, whole};
use super::run_context::{RunContext, shown_command};
use super::run_end::Result;
use super::shared_file::{FileError, edit};
use crate::event::{EventKind, GateAuthor, TaskRef};
use crate::files::{Cleared, Limit, Links, Lock, Stamp, quick_digest, read, recover, stamp};
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

    fn only(&self, task: Option<&TaskId>) -> &[FiledTask] {
        match task {
            None => &self.tasks,
            Some(id) => match self.places.get(id) {
                Some(at) => self.tasks.get(*at..=*at).unwrap_or_default(),
                None => &[],
            },
        }
    }
}

impl PlanFiles {
    /// At the start: what killed runs left is put right, what people changed is taken in, and all of it is shown.
    pub(super) fn open(&mut self, run: &mut RunContext<'_>) -> Result {
        let sources = run.store.sources()?.into_iter();
        self.sources = sources
            .filter(|source| source.format == Format::TasksMd.as_str())
            // Whatever was remembered: at the start every file is read.
            .map(|source| KnownFile::new(SourceFile { digest: None, ..source }))
            .collect();
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

    /// Brings files and database together. With a task only that one's box is looked at, as long as nobody changed the
    /// file.
    pub(super) fn sync(
        &mut self,
        run: &mut RunContext<'_>,
        task: Option<&TaskId>,
        author: Author,
        news: &LogNews,
    ) -> Result {
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
                Err(FileError::Halt(halt)) => return Err(halt),
                Err(FileError::File(why)) => self.tell_fault(run, &path, &why.to_string())?,
            }
        }
        Ok(())
    }

    fn tell_fault(&mut self, run: &mut RunContext<'_>, path: &str, why: &str) -> Result {
        let message = format!("cannot update {path}: {why}");
        if !self.told.contains(&message) {
            self.told.push(message.clone());
            run.warn(message)?;
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
    ) -> Result<(), FileError> {
        let own_path = source_path(run, &known.source);
        // What a link leads to is the file, not the link; its log and state stand beside the link.
        let path = &run.real_paths.real(&own_path)?;
        let _lock = Lock::within(&run.ralph_dir()?.join("plan_files.lock"), PATIENCE)?;
        if known.unsettled {
            recover_files(run, path, &own_path)?;
            known.unsettled = false;
        }
        let mut all = !known.is_only(run, task)?;
        if !all && known.stamp == stamp(path) && !known.has_news(run, task)? {
            return write_log_and_state(run, &own_path, known, task, news);
        }
        let first = read(path, Links::Refuse, Limit::TEXT)?;
        if std::fs::metadata(path)?.permissions().readonly() {
            return Err(FileError::file("it is read-only"));
        }
        let edited = edit(path, Some(first), |text| {
            let text = text.unwrap_or_default();
            let seen = quick_digest(text);
            if known.source.digest.as_deref() != Some(&seen) {
                if !self.read_again(run, &known.source, text, &seen, author)? {
                    return Ok((text.to_owned(), None));
                }
                known.source.digest = Some(seen);
                known.marks = None;
                all = true;
            }
            if all {
                known.look_again(run)?;
            }
            let (text, shown) = known.drawn(run, text, task.filter(|_| !all))?;
            Ok((text, Some(shown)))
        });
        // Until it is known to be cleared: what was swapped out may be nowhere else.
        known.unsettled = true;
        let edited = edited?;
        // Before it is noted: what a kill leaves of a swap may be put back, and is then drawn anew.
        let cleared = edited.swap.done()?;
        known.unsettled = cleared == Cleared::StillOpen;
        let Some(shown) = edited.note else {
            // No plan: looked at anew the next time, whatever is in it then.
            known.source.digest = None;
            return Ok(());
        };
        let text = edited.text;
        // What somebody wrote at the very moment is read the next time.
        let is_as_drawn = |(_, length): &(_, u64)| *length == text.len() as u64;
        known.stamp = stamp(path).filter(|stamp| cleared == Cleared::Quiet && is_as_drawn(stamp));
        let digest = quick_digest(&text);
        run.store.note_filed(known.source.id, &digest, &shown.ticked, &shown.filed)?;
        known.source.digest = Some(digest);
        for (id, ticked) in &shown.ticked {
            if let Some(task) = known.places.get(id).and_then(|at| known.tasks.get_mut(*at)) {
                task.tick = if *ticked { Tick::Ticked } else { Tick::Open };
            }
        }
        if !shown.filed.is_empty() {
            known.look_again(run)?;
        }
        write_log_and_state(run, &own_path, known, task.filter(|_| !all), news)
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
    ) -> Result<bool> {
        let path = &source.path;
        let draft = match import::read_tasks_md(run.project.root(), path, text) {
            Ok(draft) => draft,
            Err(error) => {
                let why = one_line(&error.to_string(), LINE_CHARS);
                self.tell_fault(run, path, &format!("it is not a valid plan right now: {why}"))?;
                return Ok(false);
            }
        };
        run.tell_gate_changes(GateAuthor::Elsewhere)?;
        let now = run.clock.now();
        let request = ImportRequest {
            path,
            format: &source.format,
            digest,
            draft: &draft,
            fixes: &[],
            asked_for: false,
            author: author.clone(),
            dry_run: false,
        };
        let report = match run.store.import_plan(&request, now, run.random) {
            Ok(report) => report,
            Err(error @ (StoreError::DuplicateKey { .. } | StoreError::Cycle(_))) => {
                self.tell_fault(run, path, &error.to_string())?;
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        if !report.is_empty() {
            run.tell(EventKind::PlanFileRead {
                path: path.clone(),
                added: report.added.len(),
                updated: report.updated.len(),
                finished: report.finished.len(),
                removed: report.removed.len(),
            })?;
        }
        for task in report.unproven {
            let name = task.name;
            run.warn(format!(
                "{name} was checked off in {path} while an agent was running; the task stays open. \
                 If you checked it off, run `ralph task done {name}`"
            ))?;
        }
        for gate in report.gates_waiting {
            let task = run.store.task(gate.id.as_str())?;
            run.tell(EventKind::GateWaiting {
                task: TaskRef::from(&task),
                path: path.clone(),
                before: gate.before.as_deref().map(shown_command),
                after: gate.after.as_deref().map(shown_command),
            })?;
        }
        run.tell_gate_changes(GateAuthor::PlanFile)?;
        Ok(true)
    }
}

impl KnownFile {
    /// Whether the file does not show what it should of this task, or lacks a task.
    fn has_news(&self, run: &RunContext<'_>, task: Option<&TaskId>) -> Result<bool> {
        let unfiled = run.store.unfiled_tasks(self.source.id)?;
        Ok(!unfiled.is_empty() || self.only(task).iter().any(|task| mark_of(task).is_some()))
    }

    /// Whether nothing but this task can have changed since the last look; it is looked at again.
    fn is_only(&mut self, run: &RunContext<'_>, task: Option<&TaskId>) -> Result<bool> {
        let counts = run.store.counts()?;
        let Some(id) = task.filter(|_| !self.tasks.is_empty()) else {
            return Ok(false);
        };
        let mut expected = self.counts;
        if let (Some(at), Some(now)) = (self.places.get(id), run.store.filed_task(id)?) {
            let Some(before) = self.tasks.get_mut(*at) else {
                return Ok(false);
            };
            expected.moved(before.status, now.status);
            *before = now;
        }
        // No plan's file shows what is verified.
        expected.verified = counts.verified;
        self.counts = counts;
        Ok(expected == counts)
    }

    fn look_again(&mut self, run: &RunContext<'_>) -> Result {
        self.tasks = run.store.filed_tasks(self.source.id)?;
        self.places = self.tasks.iter().enumerate().map(|(at, task)| (task.id.clone(), at)).collect();
        self.counts = run.store.counts()?;
        Ok(())
    }

    fn drawn(&mut self, run: &RunContext<'_>, text: &str, only: Option<&TaskId>) -> Result<(String, Shown)> {
        let mut shown = Shown::default();
        let mut marks: Vec<(String, bool)> = Vec::new();
        for task in self.only(only) {
            if let Some(done) = mark_of(task) {
                marks.push((task.name.clone(), done));
                shown.ticked.push((task.id.clone(), done));
            }
        }
        let mut text = text.to_owned();
        if !marks.is_empty() {
            let marks: Vec<(&str, bool)> = marks.iter().map(|(name, done)| (name.as_str(), *done)).collect();
            let places = self.marks.get_or_insert_with(|| Spec::of(&text).marks());
            text = tasks_md::mark(&text, places, &marks);
        }
        let folder = self.source.path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        // Where the last new task behind a task went: the next one goes behind that.
        let mut behind: HashMap<String, String> = HashMap::new();
        for unfiled in run.store.unfiled_tasks(self.source.id)? {
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
                text = if is_done { tasks_md::mark(&put, &places, &[(&name, true)]) } else { put };
                // Those of the text before.
                self.marks = None;
                if unfiled.side == Side::After && unfiled.fix.is_none() {
                    behind.insert(unfiled.beside.clone(), name.clone());
                }
            }
            shown.ticked.push((unfiled.task.id.clone(), is_done));
            shown.filed.push((unfiled.task.id.clone(), name));
        }
        Ok((text, shown))
    }
}

/// Fixes what a killed run left in the middle of writing a file or those beside it.
fn recover_files(run: &mut RunContext<'_>, path: &Path, own_path: &Path) -> Result<(), FileError> {
    let beside = [STATE_JSON, PROGRESS_MD].map(|name| run.real_paths.real(&own_path.with_file_name(name)));
    for file in [path.to_owned()].into_iter().chain(beside.into_iter().flatten()) {
        for saved in recover(&file)? {
            let saved = saved.display();
            run.warn(format!("a plan file was edited before a crash; that version is saved in {saved}"))?;
        }
    }
    Ok(())
}

fn write_log_and_state(
    run: &RunContext<'_>,
    path: &Path,
    known: &mut KnownFile,
    only: Option<&TaskId>,
    news: &LogNews,
) -> Result<(), FileError> {
    let is_own = |id: &TaskId| known.places.contains_key(id);
    let records = run.store.fix_records()?;
    let records: Vec<&FixRecord> =
        records.iter().filter(|(id, _)| is_own(id)).map(|(_, record)| record).collect();
    let nothing = LogNews::default();
    let news = match &news.task {
        Some(id) if !is_own(id) => &nothing,
        _ => news,
    };
    let log = log_of(known.only(only), &known.tasks, &records, news);
    let state = state_of(&known.tasks, &records);
    let logged = change_beside(run, path, PROGRESS_MD, |text| Ok(progress_md::update(text, &log)));
    let stated = change_beside(run, path, STATE_JSON, |text| {
        state_json::update(text, &state).map_err(|problem| problem.to_string())
    });
    known.unsettled |= !matches!((&logged, &stated), (Ok(true), Ok(true)));
    logged.and(stated).map(drop)
}

/// Changes a file beside a plan's; one that is not there is made beside a `tasks.md`, where there is something to say.
/// Whether nothing of it is left to be brought in.
fn change_beside(
    run: &RunContext<'_>,
    plan: &Path,
    name: &str,
    mut change: impl FnMut(&str) -> Result<String, String>,
) -> Result<bool, FileError> {
    let path = plan.with_file_name(name);
    if plan.file_name().is_none_or(|name| name != TASKS_MD) && !path.exists() {
        return Ok(true);
    }
    let mut changed = || {
        let path = run.real_paths.real(&path)?;
        let edited = edit(&path, whole(&path)?, |text| {
            let text = change(text.unwrap_or_default()).map_err(FileError::file)?;
            Ok((text, ()))
        })?;
        Ok(edited.swap.done()? != Cleared::StillOpen)
    };
    changed().map_err(|error| match error {
        FileError::File(why) => FileError::file(format!("{name}: {why}")),
        halt @ FileError::Halt(_) => halt,
    })
}

fn source_path(run: &RunContext<'_>, source: &SourceFile) -> PathBuf {
    run.project.root().join(&source.path)
}
