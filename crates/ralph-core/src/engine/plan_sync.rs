//! The files of imported plans, kept in sync while Ralph runs; beside a keyed `tasks.md` also `.progress.md` and
//! `.ralph-state.json`.
//!
//! What a file should show follows from the database alone, so that whatever a kill left undone is done by the next look. A
//! person's edit wins: a file is read again before it is written, and what somebody changed in it is taken in first.

mod shown;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use self::shown::{LINE_CHARS, Shown, Standing, block_of, log_of, state_of};
use super::agents_md_sync::{AGENTS_LAST_WORDS, whole};
use super::run_context::{RunContext, shown_command};
use super::run_end::Result;
use super::shared_file::{FileError, edit};
use super::trackers::{GITHUB, close_done_issues};
use crate::event::{EventKind, GateAuthor, TaskRef};
use crate::files::{Cleared, Limit, Links, Lock, Stamp, quick_digest, read, recover, stamp};
use crate::model::{Status, Timestamp};
use crate::plan::import::{self, PROGRESS_MD, STATE_JSON, TASKS_MD};
use crate::plan::marks::{Places, mark, written_file};
use crate::plan::tasks_md::Spec;
use crate::plan::{Format, progress_md, state_json};
use crate::store::{Author, FixRecord, ImportRequest, ShownFile, Side, SourceFile, StoreError};
use crate::text::one_line;

pub(super) use self::shown::{LogNews, mark_of};

/// How long another run's turn is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than a tick of the clock that file systems take their times from.
const CLOCK_TICK: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(super) struct PlanFiles {
    /// The files, read once; new imports are seen by the next run.
    sources: Vec<KnownFile>,
    told: Vec<String>,
}

#[derive(Clone, Debug)]
struct KnownFile {
    source: SourceFile,
    format: Format,
    /// Whether texts that were swapped out of the file, or of those beside it, may have to be brought in.
    unsettled: bool,
    /// How the file, its log and its state looked on the disk when they were last in sync.
    seen: Seen,
    log_and_state: [Seen; 2],
    standing: Option<Standing>,
    /// Where the boxes are in the text with this digest.
    places: Option<(String, Places)>,
}

/// How a file looked on the disk at some moment.
#[derive(Clone, Debug, Default)]
struct Seen {
    stamp: Stamp,
    /// Of its text, where the stamp alone does not tell: a file that was written just before may be written again within the
    /// same tick of the file system's clock.
    digest: Option<String>,
    /// Whether it was looked at, at all.
    was_seen: bool,
}

impl Seen {
    fn of(path: &Path) -> Self {
        let stamp = stamp(path);
        let age = stamp.map(|(at, _)| SystemTime::now().duration_since(at).unwrap_or_default());
        let is_sure = age.is_none_or(|age| age > CLOCK_TICK);
        let digest = if is_sure { None } else { digest_of(path) };
        Self { stamp, was_seen: is_sure || digest.is_some(), digest }
    }

    /// A file into which a text with this digest was written just now. It need not be read to know that.
    fn written(path: &Path, digest: String) -> Self {
        Self { stamp: stamp(path), was_seen: true, digest: Some(digest) }
    }

    fn is_same(&self, path: &Path) -> bool {
        self.was_seen
            && stamp(path) == self.stamp
            && self.digest.as_ref().is_none_or(|digest| digest_of(path).as_ref() == Some(digest))
    }
}

fn digest_of(path: &Path) -> Option<String> {
    let bytes = read(path, Links::Follow, Limit::TEXT).ok()?;
    Some(quick_digest(&String::from_utf8_lossy(&bytes)))
}

impl PlanFiles {
    /// At the start: what killed runs left is fixed, what people changed is taken in, and all of it is shown.
    pub(super) fn open(&mut self, run: &mut RunContext<'_>) -> Result {
        let sources = run.store.own_sources()?.into_iter();
        let written = sources.filter_map(|source| Some((Format::parse(&source.format)?, source)));
        self.sources = written
            .filter(|(format, source)| {
                format.is_written() || run.settings.write_trackers && is_tracker(source)
            })
            // At the start every file is read, and a run that was killed may have left something.
            .map(|(format, source)| KnownFile {
                source: SourceFile { digest: None, ..source },
                format,
                unsettled: true,
                seen: Seen::default(),
                log_and_state: [Seen::default(), Seen::default()],
                standing: None,
                places: None,
            })
            .collect();
        let written = self.sources.iter().filter_map(|known| {
            let (at, _) = stamp(&written_file(known.format, &source_path(run, &known.source)))?;
            Some(Timestamp::from(at))
        });
        // An agent of a run that died may have written them last.
        let until = run.lost_until.map(|until| until.plus(AGENTS_LAST_WORDS));
        let author = match written.max() {
            Some(at) if until.is_some_and(|until| at <= until) => Author::Agent(None),
            _ => Author::Person,
        };
        self.sync(run, author, &LogNews::default())
    }

    /// Brings files and database together.
    pub(super) fn sync(&mut self, run: &mut RunContext<'_>, author: Author, news: &LogNews) -> Result {
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
            let synced = self.sync_source(run, &mut known, &author, news);
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
        author: &Author,
        news: &LogNews,
    ) -> Result<(), FileError> {
        if is_tracker(&known.source) {
            return close_done_issues(run, &known.source);
        }
        let own_path = source_path(run, &known.source);
        let file = written_file(known.format, &own_path);
        if known.format == Format::Gsd && !file.exists() {
            // Without a roadmap there is nothing to show.
            return Ok(());
        }
        // What a link leads to is the file, not the link; its log and state stand beside the link.
        let path = &run.real_paths.real(&file)?;
        let _lock = Lock::within(&run.ralph_dir()?.join("plan_files.lock"), PATIENCE)?;
        if known.unsettled {
            recover_files(run, path, &own_path)?;
        }
        let mut shown = Shown::default();
        if known.unsettled || !known.seen.is_same(path) || has_news(run, known)? {
            let Some(drawn) = self.draw(run, known, path, author)? else {
                // No plan: looked at anew the next time, whatever is in it then.
                known.source.digest = None;
                return Ok(());
            };
            shown = drawn;
        }
        if known.format != Format::TasksMd {
            return Ok(());
        }
        let settled = write_log_and_state(run, known, &own_path, &shown, news);
        known.unsettled |= !matches!(settled, Ok(true));
        settled.map(drop)
    }

    /// Takes in what somebody wrote into the file, and shows in it how its tasks stand. None where it is no plan.
    fn draw(
        &mut self,
        run: &mut RunContext<'_>,
        known: &mut KnownFile,
        path: &Path,
        author: &Author,
    ) -> Result<Option<Shown>, FileError> {
        let first = read(path, Links::Refuse, Limit::TEXT)?;
        if std::fs::metadata(path)?.permissions().readonly() {
            return Err(FileError::file("it is read-only"));
        }
        // Until it is known to be cleared: what was swapped out may be nowhere else.
        known.unsettled = true;
        known.seen = Seen::default();
        let edited = edit(path, Some(first), |text| {
            let text = text.unwrap_or_default();
            let seen = quick_digest(text);
            if known.source.digest.as_deref() != Some(&seen) {
                known.standing = None;
                if !self.read_again(run, known, text, &seen, author)? {
                    return Ok((text.to_owned(), None));
                }
                known.source.digest = Some(seen.clone());
            }
            let (text, shown) = drawn(run, known, text, &seen)?;
            Ok((text, Some(shown)))
        })?;
        // Before it is noted: what a kill leaves of a swap may be put back, and is then drawn anew.
        known.unsettled = edited.swap.done()? == Cleared::StillOpen;
        let Some(shown) = edited.note else { return Ok(None) };
        let digest = quick_digest(&edited.text);
        // They are those of the text that was drawn, and a tick moves no other box.
        known.places = known
            .places
            .take()
            .filter(|_| shown.filed.is_empty())
            .map(|(_, places)| (digest.clone(), places));
        let Shown { ticked, filed, settled } = &shown;
        run.store.note_filed(known.source.id, &ShownFile { digest: &digest, ticked, filed, settled })?;
        known.seen = Seen::written(path, digest.clone());
        known.source.digest = Some(digest);
        Ok(Some(shown))
    }

    /// Takes in what somebody changed: the text that is drawn from, for by now the file may hold another. One that cannot be
    /// read as a plan changes nothing. Gives whether it could be.
    fn read_again(
        &mut self,
        run: &mut RunContext<'_>,
        known: &KnownFile,
        text: &str,
        digest: &str,
        author: &Author,
    ) -> Result<bool> {
        let path = &known.source.path;
        let root = run.project.root();
        let draft = match known.format {
            // Its tasks stand in other files; the roadmap only lists them.
            Format::Gsd => import::open(root, &root.join(path), Some(Format::Gsd)).map(|found| found.draft),
            format => import::read_plan(root, path, format, text),
        };
        let mut draft = match draft {
            Ok(draft) => draft,
            Err(error) => {
                let why = one_line(&error.to_string(), LINE_CHARS);
                self.tell_fault(run, path, &format!("it is not a valid plan right now: {why}"))?;
                return Ok(false);
            }
        };
        if draft.tasks.iter().any(|task| task.optional) {
            let filed = run.store.filed_tasks(known.source.id)?;
            let names: HashSet<&str> = filed.iter().map(|task| task.name.as_str()).collect();
            draft.leave_out_optional(|name| names.contains(name));
        }
        run.tell_gate_changes(GateAuthor::Elsewhere)?;
        let now = run.clock.now();
        let request = ImportRequest {
            path,
            format: &known.source.format,
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
                "{name} was checked off in {path} while an agent was running; Ralph opened the box again. \
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

/// The file as it should be.
fn drawn(run: &RunContext<'_>, known: &mut KnownFile, text: &str, digest: &str) -> Result<(String, Shown)> {
    let source = &known.source;
    let mut shown = Shown::default();
    known.places.take_if(|(of, _)| of != digest);
    let tasks = run.store.due_boxes(source.id)?;
    let mut marks: Vec<(&str, bool)> = Vec::new();
    for task in &tasks {
        if let Some(done) = mark_of(task) {
            marks.push((&task.name, done));
            shown.ticked.push((task.id.clone(), done));
        }
    }
    let mut text = text.to_owned();
    if !marks.is_empty() {
        if known.places.is_none() {
            known.places = Places::of(known.format, &text).map(|places| (digest.to_owned(), places));
        }
        text = match &known.places {
            Some((_, places)) => places.mark(&text, &marks),
            None => mark(known.format, &text, &marks),
        };
    }
    shown.settled = tasks;
    if known.format != Format::TasksMd {
        return Ok((text, shown));
    }
    let folder = source.path.rsplit_once('/').map(|(folder, _)| folder);
    // Where the last new task behind a task went: the next one goes behind that.
    let mut behind: HashMap<String, String> = HashMap::new();
    for unfiled in run.store.unfiled_tasks(source.id)? {
        let name = unfiled.task.key_or_id().to_owned();
        let is_done = unfiled.task.status == Status::Done;
        let spec = Spec::of(&text);
        if !spec.has(&name) {
            let block = block_of(&unfiled, &spec, folder);
            let last = behind.get(&unfiled.beside).unwrap_or(&unfiled.beside);
            let put = match unfiled.side {
                Side::After => spec.insert_after(last, &block),
                Side::Before => spec.insert_before(&unfiled.beside, &block),
            };
            let Some(put) = put else { continue };
            // A name that is no key of this format would be read as part of the task above.
            if !Spec::of(&put).has(&name) {
                continue;
            }
            text = if is_done { mark(Format::TasksMd, &put, &[(&name, true)]) } else { put };
            if unfiled.side == Side::After && unfiled.fix.is_none() {
                behind.insert(unfiled.beside.clone(), name.clone());
            }
        }
        shown.ticked.push((unfiled.task.id.clone(), is_done));
        shown.filed.push((unfiled.task.id.clone(), name));
    }
    Ok((text, shown))
}

/// Whether the plan has something that the file may not show.
fn has_news(run: &RunContext<'_>, known: &KnownFile) -> Result<bool, FileError> {
    let id = known.source.id;
    Ok(!run.store.due_boxes(id)?.is_empty()
        || known.format == Format::TasksMd && !run.store.unfiled_tasks(id)?.is_empty())
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

/// Whether nothing of them is left to be brought in.
fn write_log_and_state(
    run: &RunContext<'_>,
    known: &mut KnownFile,
    path: &Path,
    shown: &Shown,
    news: &LogNews,
) -> Result<bool, FileError> {
    let beside = [PROGRESS_MD, STATE_JSON].map(|name| path.with_file_name(name));
    let is_as_written = known.log_and_state.iter().zip(&beside).all(|(seen, path)| seen.is_same(path));
    let mut standing = known.standing.take().filter(|_| is_as_written && shown.filed.is_empty());
    if standing.is_some() && shown.settled.is_empty() && news.is_empty() {
        known.standing = standing;
        return Ok(true);
    }
    // Of which tasks the log may not tell yet: all of them, where it is not as Ralph wrote it.
    let all;
    let (standing, tasks) = match &mut standing {
        Some(standing) => {
            shown.settled.iter().for_each(|task| standing.update(task));
            (standing, &shown.settled)
        }
        None => {
            all = run.store.filed_tasks(known.source.id)?;
            (standing.insert(Standing::of(&all)), &all)
        }
    };
    let records = run.store.fix_records()?;
    let records: Vec<&FixRecord> =
        records.iter().filter(|(id, _)| standing.has(id)).map(|(_, record)| record).collect();
    let nothing = LogNews::default();
    let is_own = news.task.as_ref().is_none_or(|task| standing.has(task));
    let log = log_of(tasks, standing, &records, if is_own { news } else { &nothing });
    let state = state_of(standing, &records);
    let logged = change_beside(run, path, PROGRESS_MD, |text| Ok(progress_md::update(text, &log)));
    let stated = change_beside(run, path, STATE_JSON, |text| {
        state_json::update(text, &state).map_err(|problem| problem.to_string())
    });
    let is_settled = logged? & stated?;
    known.standing = Some(std::mem::take(standing));
    known.log_and_state = beside.map(|path| Seen::of(&path));
    Ok(is_settled)
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

/// Whether a plan is a list of issues elsewhere, and no file.
fn is_tracker(source: &SourceFile) -> bool {
    source.path.starts_with(GITHUB)
}

fn source_path(run: &RunContext<'_>, source: &SourceFile) -> PathBuf {
    run.project.root().join(&source.path)
}
