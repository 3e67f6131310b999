//! What every part of a run works with: the services it was given, its identity, its events and its signs of life.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::RunSettings;
use super::breaker_prompt::Attendant;
use super::claim_order::ExpectedFiles;
use super::run::{Engine, Role};
use super::run_end::{EngineError, Halt, Result, StopRun};
use super::seat::Drain;
use super::state_md_sync::STATE_MD;
use super::user_notes::UserNotes;
use crate::agent::{Agent, Guard, Interrupt, Signal, holder_mark};
use crate::clock::Clock;
use crate::decide::{Outlook, outlook};
use crate::event::{EventKind, GateAuthor, Observer, RunEvent, TaskRef};
use crate::evidence::Tampering;
use crate::exit::RunExit;
use crate::files::RealPaths;
use crate::host::{Host, is_over};
use crate::model::{RunId, Timestamp, Token};
use crate::project::{Project, RALPH_DIR};
use crate::sandbox::{Confinement, Denial, Forbidden, GitPlaces, Sandbox, Subject};
use crate::store::{
    ClaimRequest, Claimed, Owner, Purpose, RecoveryEnd, RunRequest, Scope, Store, StoreError, newest_copy,
    restore_command,
};
use crate::text::code_line;

/// How often a run with an attempt under way says that it lives: a lost attempt is known to have lasted until then.
const BETWEEN_BEATS: Duration = Duration::from_secs(2);
/// How often a run makes a backup of the database. One that takes long is made less often.
const BETWEEN_BACKUPS: Duration = Duration::from_secs(600);
const BACKUP_SHARE: u32 = 100;
const STOPPED: &str = "stopped by `ralph stop`";
/// Why a worker ends that its supervisor has no further work for.
const DRAINED: &str = "another worker ended the run";

pub(super) struct RunContext<'a> {
    pub project: &'a Project,
    pub work_tree: &'a Path,
    pub store: &'a mut Store,
    pub settings: &'a RunSettings,
    /// Every agent whose logs can be read.
    pub known_agents: &'a [&'a Agent],
    pub clock: &'a dyn Clock,
    pub random: &'a mut dyn FnMut() -> u64,
    pub host: &'a dyn Host,
    pub observer: &'a mut dyn Observer,
    pub attendant: &'a mut dyn Attendant,
    pub interrupt: Interrupt,
    pub sandbox: &'a Sandbox,
    /// Where git keeps what is confined launches' to use.
    pub git_places: Option<GitPlaces>,
    /// What the sandbox refused in the attempt under way.
    pub denials: Vec<Denial>,
    pub id: RunId,
    /// The name of this worker among those of the run.
    pub worker: &'a str,
    pub events: EventMaker<'a>,
    pub owner: Owner,
    pub started_at: Timestamp,
    /// Where Ralph's files led when the run began.
    pub real_paths: RealPaths,
    /// Whether this process is one of several workers of the run, with a working tree of its own.
    pub is_worker: bool,
    /// How many workers the run has.
    pub jobs: u32,
    pub expected_files: ExpectedFiles,
    /// Where the supervisor says that no further attempt is to begin.
    drain: Drain,
    pub attempt_under_way: bool,
    /// Attempts of dead runs were found: until then their agents may have written anything.
    pub lost_until: Option<Timestamp>,
    /// A gate ran since plan files were last synchronized.
    pub gate_ran: bool,
    /// What gates of the attempt under way changed of the scripts that they execute.
    pub gate_tampering: Option<Tampering>,
    /// Grows whenever something outside attempts may have written files.
    files_version: u64,
    /// The last change of a gate that was told.
    gate_change_told: i64,
    pub notes: UserNotes,
    last_heartbeat: Timestamp,
    /// When the next backup is due, by the steady clock.
    backup_due: Duration,
    interrupt_told: bool,
    /// How the guard is started, which starts agents and gates; empty for no guard.
    guard_command: Vec<OsString>,
    guard: Option<Guard>,
}

impl<'a> RunContext<'a> {
    /// `own_files` are those of the project that Ralph writes too.
    pub(super) fn new<'b: 'a>(engine: &'a mut Engine<'b>, own_files: &[String]) -> Result<Self, EngineError> {
        let now = engine.clock.now();
        let mut real_paths = RealPaths::default();
        let ralph_dir = engine.project.ralph_dir();
        real_paths.remember([ralph_dir.join(STATE_MD), ralph_dir]);
        // AGENTS.md is below the work tree, the others below the root.
        for dir in [engine.work_tree, engine.project.root()] {
            real_paths.remember(own_files.iter().map(|path| dir.join(path)));
        }
        let (id, started_at, is_worker, drain) = match &engine.role {
            Role::Worker(seat, drain) => (seat.run_id.clone(), seat.started_at, true, drain.clone()),
            Role::Alone | Role::Supervisor(_) => {
                (RunId::from_random((engine.random)() as u32), now, false, Drain::default())
            }
        };
        Ok(Self {
            events: EventMaker { seq: 0, run_id: id.clone(), worker: engine.worker, clock: engine.clock },
            id,
            worker: engine.worker,
            owner: engine.host.owner(),
            gate_change_told: engine.store.last_gate_change()?,
            project: engine.project,
            work_tree: engine.work_tree,
            store: engine.store,
            settings: engine.settings,
            known_agents: engine.known,
            clock: engine.clock,
            random: engine.random,
            host: engine.host,
            observer: engine.observer,
            attendant: engine.attendant,
            interrupt: engine.interrupt.clone(),
            sandbox: engine.sandbox,
            git_places: None,
            denials: Vec::new(),
            started_at,
            real_paths,
            is_worker,
            expected_files: ExpectedFiles::default(),
            jobs: match &engine.role {
                Role::Worker(seat, _) => seat.jobs,
                Role::Supervisor(jobs) => jobs.count,
                Role::Alone => 1,
            },
            drain,
            attempt_under_way: false,
            lost_until: None,
            gate_ran: false,
            gate_tampering: None,
            files_version: 0,
            notes: UserNotes::default(),
            last_heartbeat: now,
            backup_due: Duration::ZERO,
            interrupt_told: false,
            guard_command: engine.guard_command.clone(),
            guard: None,
        })
    }
}

pub(super) struct EventMaker<'a> {
    /// The number of the last one.
    seq: u64,
    run_id: RunId,
    worker: &'a str,
    clock: &'a dyn Clock,
}

impl EventMaker<'_> {
    /// The number of the next event.
    pub(super) fn next(&self) -> u64 {
        self.seq + 1
    }

    /// Makes an event; its number is used up whether it is stored or only shown.
    pub(super) fn event(&mut self, kind: EventKind) -> RunEvent {
        self.seq += 1;
        let event = RunEvent::new(self.seq, self.clock.now(), &self.run_id, kind);
        RunEvent { worker: self.worker.to_owned(), ..event }
    }
}

impl RunContext<'_> {
    pub(super) fn event(&mut self, kind: EventKind) -> RunEvent {
        self.events.event(kind)
    }

    /// Shows an event that is of interest only while it happens.
    pub(super) fn show(&mut self, kind: EventKind) {
        let event = self.event(kind);
        self.observer.event(&event);
    }

    /// Makes an event, stores it in the transaction of `write`, and shows it.
    pub(super) fn tell_with(
        &mut self,
        kind: EventKind,
        write: impl FnOnce(&mut Store, &mut RunEvent) -> Result<(), StoreError>,
    ) -> Result<RunEvent, StoreError> {
        let mut event = self.event(kind);
        write(self.store, &mut event)?;
        self.show_stored(&event);
        Ok(event)
    }

    /// Shows an event under the number it was stored with: another worker of the run may have used up the next ones.
    pub(super) fn show_stored(&mut self, event: &RunEvent) {
        self.events.seq = self.events.seq.max(event.seq);
        self.observer.event(event);
    }

    /// Stores an event that belongs to no other transaction, and shows it.
    pub(super) fn tell(&mut self, kind: EventKind) -> Result {
        self.tell_with(kind, Store::append_event)?;
        Ok(())
    }

    pub(super) fn warn(&mut self, message: impl Into<String>) -> Result {
        let message = message.into();
        self.tell(EventKind::Warning { message })
    }

    /// What a person should know before the first attempt.
    pub(super) fn tell_notices(&mut self) -> Result {
        self.settings.notices.iter().try_for_each(|message| self.warn(message))
    }

    pub(super) fn show_progress(&mut self) -> Result {
        let tasks = self.store.counts()?;
        let cost = self.store.run_rates(&self.id)?.cost;
        self.show(EventKind::Progress { tasks, cost });
        Ok(())
    }

    /// For [`Store::read_ahead`]: what is looked at before an attempt.
    pub(super) fn read_requests_ahead(&self, store: &Store) {
        let _ = store.gate_changes(self.gate_change_told);
        let _ = store.has_gate_due();
        let _ = store.iterations(&self.id);
        // For a request to stop, and for one to pause.
        let _ = store.asked_of(&self.id);
        let _ = store.asked_of(&self.id);
    }

    /// Names every change of a gate since the last check, by any author. An attempt under way is not touched by them: its
    /// gate is the one at its claim.
    pub(super) fn tell_gate_changes(&mut self, by: GateAuthor) -> Result {
        for change in self.store.gate_changes(self.gate_change_told)? {
            self.gate_change_told = change.id;
            self.tell(EventKind::GateChanged {
                task: change.task,
                before: change.before.as_deref().map(shown_command),
                after: change.after.as_deref().map(shown_command),
                by,
            })?;
        }
        Ok(())
    }
}

/// A gate's command as events show it.
pub(super) fn shown_command(command: &str) -> String {
    code_line(command, 200)
}

impl RunContext<'_> {
    /// Ralph's own directory, if it is still where it was when the run began.
    pub(super) fn ralph_dir(&self) -> std::io::Result<PathBuf> {
        self.real_paths.real(&self.project.ralph_dir())
    }

    /// Somebody else than an attempt may have written files: a gate, a hook, a person during a wait.
    pub(super) fn files_may_have_changed(&mut self) {
        self.files_version += 1;
    }

    pub(super) fn files_version(&self) -> u64 {
        self.files_version
    }

    /// Fails where the database is no longer the file that was opened: nobody would find what is recorded in it.
    pub(super) fn check_database(&self) -> Result {
        Ok(self.store.check_in_place()?)
    }

    /// Makes a backup at the start of a run, and from time to time: what an agent overwrites in the file itself is lost. Where
    /// there is no room for one, the run goes on without.
    fn back_up(&mut self) {
        let started = self.clock.steady();
        if started < self.backup_due {
            return;
        }
        if self.ralph_dir().is_ok() {
            let _ = self.store.back_up();
        }
        let ended = self.clock.steady();
        self.backup_due = ended + BETWEEN_BACKUPS.max((ended - started) * BACKUP_SHARE);
    }

    /// Saves a database that was deleted, replaced or damaged, through its open handle: the end of the run says where it is and
    /// how to put it back.
    pub(super) fn save_database(&mut self, stop: StopRun, lost: &StoreError) -> StopRun {
        if self.project.ralph_dir().symlink_metadata().is_err() {
            // Where this fails, the store says why.
            let _ = self.project.make_dir();
        }
        let (saved, hint) = match self.store.rescue(self.clock.now()) {
            Ok(rescued) => {
                let saved = format!("Ralph saved a copy of the database in {}", rescued.path.display());
                (saved, format!("restore it: {}", rescued.restore))
            }
            Err(error) => {
                let path = self.project.database();
                let saved = format!("Ralph cannot save a copy of the database: {error}");
                match newest_copy(&path) {
                    Some(copy) => {
                        let restore = restore_command(&copy, &path, self.clock.now());
                        let name = copy.display();
                        (format!("{saved}; the last backup is {name}"), format!("restore it: {restore}"))
                    }
                    None => (saved, "restore .ralph/progress.db from a backup".to_owned()),
                }
            }
        };
        let reason = format!("{lost}; {saved}");
        StopRun { budget: stop.budget, ..StopRun::error(reason).with_hint(hint) }
    }
}

/// Claims, other runs, and what people ask of this one.
impl RunContext<'_> {
    /// Says once that an end was asked for, shows notes, and extends the lease from time to time. A missed beat is no reason
    /// to stop an agent.
    pub(super) fn beat(&mut self) {
        if let Some(signal) = self.interrupt.first().filter(|_| !self.interrupt_told) {
            self.interrupt_told = true;
            let by_command = self.store.stop_was_sent(&self.id).unwrap_or(false);
            self.show(EventKind::Interrupted { signal: signal.name().to_owned(), by_command });
        }
        self.show_new_notes();
        let now = self.clock.now();
        let lease = self.settings.lease;
        let between = if self.attempt_under_way { BETWEEN_BEATS.min(lease / 4) } else { lease / 4 };
        if now.since(self.last_heartbeat) >= between {
            self.last_heartbeat = now;
            let _ = self.store.heartbeat(&self.id, now, now.plus(lease));
        }
    }

    pub(super) fn claim(&mut self, purpose: Purpose) -> Result<Option<Claimed>> {
        self.check_database()?;
        self.back_up();
        let now = self.clock.now();
        let later = if purpose == Purpose::Attempt { self.overlapping()? } else { Vec::new() };
        Ok(self.store.claim(&ClaimRequest {
            purpose,
            later,
            scope: self.settings.scope.clone(),
            run_id: self.id.clone(),
            worker: self.worker.to_owned(),
            owner: self.owner.clone(),
            token: Token::from_random((self.random)()),
            now,
            expires_at: now.plus(self.settings.lease),
            limit: self.settings.limit.filter(|_| self.is_worker),
        })?)
    }

    /// The task is free again, as if nobody had looked at it.
    pub(super) fn release(&mut self, claimed: &Claimed) -> Result {
        Ok(self.store.release(&claimed.task.id, &claimed.token)?)
    }

    /// A claim that another process took, or dealt with, is no reason to stop: the work was only not ours.
    pub(super) fn unless_moved(&mut self, result: Result) -> Result {
        match result {
            Err(Halt::Error(EngineError::Store(StoreError::ClaimMoved(task)))) => {
                self.warn(format!("another process took over {task}; this run does not record the attempt"))
            }
            other => other,
        }
    }

    /// Blocks a claimed task until a person decides, without an attempt, and with it the recovery chain that ends here.
    pub(super) fn block(&mut self, claimed: &Claimed, reason: &str, end: Option<&RecoveryEnd>) -> Result {
        let Claimed { task, token, .. } = claimed;
        let now = self.clock.now();
        let kind = EventKind::HandedOver { task: TaskRef::from(task), reason: reason.to_owned() };
        self.tell_with(kind, |store, event| store.block_claimed(&task.id, token, reason, end, event, now))?;
        self.show_progress()
    }

    /// Counted attempts of the run so far, of all its workers.
    pub(super) fn attempts(&self) -> Result<u32, StoreError> {
        self.store.iterations(&self.id)
    }

    /// The number of a claimed attempt in the run, if every one that is under way counts.
    pub(super) fn iteration(&self) -> Result<u32, StoreError> {
        self.store.next_iteration(&self.id)
    }

    /// Whether other workers may use up what is left of the limit of attempts.
    pub(super) fn is_limit_taken(&self) -> Result<bool> {
        let Some(limit) = self.settings.limit.filter(|_| self.is_worker) else { return Ok(false) };
        Ok(self.attempts()? + self.store.attempts_under_way(&self.id)? >= limit)
    }

    /// Another run of the project that is at work in the same tree.
    pub(super) fn other_run(&self) -> Result<Option<RunId>> {
        if self.is_worker { Ok(None) } else { Ok(self.run_in_checkout()?) }
    }

    /// Another run that works in the project's own tree.
    pub(super) fn run_in_checkout(&self) -> Result<Option<RunId>, StoreError> {
        let now = self.clock.now();
        let others = self.store.open_runs()?.into_iter();
        let mut others = others.filter(|run| run.id != self.id && run.branch.is_none());
        let other = others.find(|run| !is_over(run, self.host.liveness(&run.owner), now));
        Ok(other.map(|run| run.id))
    }

    /// Whether agents of other runs are at work.
    pub(super) fn others_at_work(&self) -> Result<bool> {
        let claims = self.store.claims()?;
        Ok(claims.iter().any(|claim| claim.purpose == Purpose::Attempt && claim.run_id != self.id))
    }

    pub(super) fn outlook(&self) -> Result<Outlook> {
        Ok(outlook(&self.store.skeleton()?, &self.settings.scope))
    }

    /// Whether nothing in scope is left to do. For the whole plan the kept counts say so.
    pub(super) fn is_finished(&self) -> Result<bool> {
        match self.settings.scope {
            Scope::All => Ok(self.store.counts()?.is_settled()),
            Scope::Below(_) => Ok(self.outlook()?.is_finished()),
        }
    }

    /// The end of a run that has nothing left to do.
    pub(super) fn all_done(&self) -> Result<StopRun> {
        let (what, skipped) = match self.settings.scope {
            Scope::All => ("every task", self.store.counts()?.skipped > 0),
            Scope::Below(_) => ("every selected task", self.outlook()?.skipped > 0),
        };
        let or_skipped = if skipped { " or skipped" } else { "" };
        Ok(StopRun::new(RunExit::Finished, format!("{what} is done{or_skipped}")))
    }

    /// Whether nothing more is to begin, by a signal or by the supervisor.
    pub(super) fn is_told_to_end(&self) -> bool {
        self.interrupt.first().is_some() || self.drain.is_asked()
    }

    /// Stops for a signal, at the limit of attempts, or where a person at another terminal asked for it.
    pub(super) fn check_requests(&self) -> Result {
        self.check_signal()?;
        if self.drain.is_asked() {
            return Err(StopRun::new(RunExit::NothingToRun, DRAINED).into());
        }
        let attempts = self.attempts()?;
        if let Some(limit) = self.settings.limit.filter(|limit| attempts >= *limit) {
            let plural = if limit == 1 { "" } else { "s" };
            let reason = format!("the limit of {limit} attempt{plural} was reached");
            return Err(StopRun::new(RunExit::Limit, reason).into());
        }
        match self.store.asked_of(&self.id)? {
            Some(RunRequest::Stop) => Err(StopRun::new(RunExit::Aborted, STOPPED).into()),
            _ => Ok(()),
        }
    }

    /// Stops after a signal, which `ralph stop` sends too.
    pub(super) fn check_signal(&self) -> Result {
        let Some(signal) = self.interrupt.first() else { return Ok(()) };
        let asked = self.store.stop_was_sent(&self.id)?;
        let reason = match (self.interrupt.hung_up(), asked, signal) {
            (true, _, _) => "interrupted: the terminal was closed",
            (false, true, _) => STOPPED,
            (false, false, Signal::Interrupt) => "interrupted (Ctrl-C)",
            (false, false, Signal::Terminate) => "interrupted (SIGTERM)",
        };
        Err(StopRun::new(RunExit::Interrupted(signal), reason).into())
    }
}

/// Where what appeared in a place that nothing may be written to is moved, below `.ralph`.
const MOVED: &str = "sandbox";

/// The sandbox: every launch that runs what an agent wrote is confined as the settings say.
impl RunContext<'_> {
    /// What confines a launch in the working tree; none where nothing does.
    pub(super) fn confinement(&self, subject: Subject<'_>) -> Result<Option<Confinement>> {
        let confinement =
            self.sandbox.confinement(subject, self.project.root(), self.work_tree, self.git_places.as_ref());
        Ok(confinement.map_err(EngineError::Sandbox)?)
    }

    /// After a confined launch: what appeared where nothing may be written is moved away before anything reads it.
    pub(super) fn clear_forbidden(&mut self, confinement: Option<&Confinement>) -> Result {
        let Some(confinement) = confinement else { return Ok(()) };
        let aside = self.ralph_dir().map(|dir| dir.join(MOVED));
        let undone = aside.and_then(|aside| confinement.undo_forbidden(&aside));
        match undone {
            Ok(undone) => {
                for Forbidden { path, moved, is_restored } in undone {
                    self.files_may_have_changed();
                    let path = path.strip_prefix(self.work_tree).unwrap_or(&path).display().to_string();
                    let path = code_line(&path, 200);
                    let name = moved.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    self.warn(match is_restored {
                        true => format!("{path} may not be changed in an attempt; Ralph restored it"),
                        false => format!(
                            "{path} may not be made in an attempt; Ralph moved it to {RALPH_DIR}/{MOVED}/{name}"
                        ),
                    })?;
                }
                Ok(())
            }
            Err(error) => {
                let stop = format!("cannot move away what an attempt may not make: {error}");
                Err(StopRun::error(stop)
                    .with_hint("look into the work tree before the next `ralph run`")
                    .into())
            }
        }
    }
}

/// The guard: started with the run, lent to whatever starts an agent or a gate, replaced when it is gone.
impl RunContext<'_> {
    /// A run without a guard is still a run: what it leaves behind when it is killed is found by the next one.
    pub(super) fn start_guard(&mut self) -> Result {
        if self.guard_command.is_empty() {
            return Ok(());
        }
        match Guard::start(&self.guard_command, &holder_mark(&self.owner)) {
            Ok(guard) => self.guard = Some(guard),
            Err(error) => self.warn(format!("cannot start the guard process: {error}"))?,
        }
        Ok(())
    }

    /// The guard, to start something with. It goes back by [`Self::return_guard`].
    pub(super) fn take_guard(&mut self) -> Result<Option<Guard>> {
        if self.guard.is_some() {
            self.replace_lost_guard()?
        } else {
            self.start_guard()?
        }
        Ok(self.guard.take())
    }

    /// Takes the guard back, and says what became of it meanwhile.
    pub(super) fn return_guard(&mut self, guard: Option<Guard>) -> Result {
        self.guard = guard;
        if self.guard.as_mut().is_some_and(Guard::was_stopped) {
            self.warn("Ralph's guard process was suspended; Ralph resumed it")?;
        }
        self.replace_lost_guard()
    }

    fn replace_lost_guard(&mut self) -> Result {
        if !self.guard.as_mut().is_some_and(Guard::is_lost) {
            return Ok(());
        }
        self.guard = None;
        self.warn("Ralph's guard process was killed; Ralph started a new one")?;
        self.start_guard()
    }

    pub(super) fn dismiss_guard(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
    }
}
