//! A run of several workers: one process starts them, shows what they tell, and ends the run when they have ended. All that
//! must hold over all of them (limits, budgets, the breaker, pauses, usage limits) is in the store, which each asks for itself.

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::agents_md_sync::WrittenBy;
use super::run::Run;
use super::run_end::{Halt, Result, StopRun, millis};
use super::seat::{DRAIN, Seat, WorkerEnd, WorkerMessage, order};
use crate::agent::{WorkerProcess, reap_orphans};
use crate::event::{EventKind, RunEvent};
use crate::exit::RunExit;
use crate::hooks::HookPoint;
use crate::store::BreakerState;

/// How often the supervisor looks after its workers when they tell nothing.
const LOOK: Duration = Duration::from_millis(100);
/// A worker that was killed so often in a row, without an attempt of the run in between, is not started again.
const MOST_RESTARTS: u32 = 5;

/// How workers are started.
#[derive(Clone, Debug)]
pub struct Jobs {
    pub count: u32,
    pub command: Vec<OsString>,
    /// The settings file, as the run read it.
    pub config: String,
}

struct Member {
    name: String,
    process: Option<WorkerProcess>,
    end: Option<WorkerEnd>,
    restarts: u32,
}

enum News {
    Event(Box<RunEvent>),
    Ended(WorkerEnd),
    /// Its output has ended, and so has it.
    Closed,
}

struct Crew<'j> {
    jobs: &'j Jobs,
    members: Vec<Member>,
    sender: Sender<(usize, News)>,
    news: Receiver<(usize, News)>,
    /// Signals that were passed on: none, the first, the second.
    signals: u32,
    is_draining: bool,
    /// Whether an attempt began since the workers were started last.
    has_worked: bool,
}

impl<'j> Crew<'j> {
    fn new(jobs: &'j Jobs) -> Self {
        let (sender, news) = channel();
        let name = |n| Member { name: format!("w{n}"), process: None, end: None, restarts: 0 };
        let members = (1..=jobs.count).map(name).collect();
        Self { jobs, members, sender, news, signals: 0, is_draining: false, has_worked: false }
    }

    fn start(&mut self, place: usize, seat: &Seat) -> std::io::Result<()> {
        let line = serde_json::to_string(seat)?;
        let sender = self.sender.clone();
        let process = WorkerProcess::start(&self.jobs.command, &line, move |line| {
            let news = match line {
                None => News::Closed,
                Some(line) => match serde_json::from_slice(line) {
                    Ok(WorkerMessage::Event(event)) => News::Event(event),
                    Ok(WorkerMessage::Ended(end)) => News::Ended(end),
                    // Not ours: a library that prints.
                    Err(_) => return,
                },
            };
            let _ = sender.send((place, news));
        })?;
        if let Some(member) = self.members.get_mut(place) {
            (member.process, member.end) = (Some(process), None);
        }
        Ok(())
    }

    fn is_working(&self) -> bool {
        self.members.iter().any(|member| member.process.is_some())
    }

    fn tell(&mut self, order: u8) {
        self.members.iter_mut().filter_map(|member| member.process.as_mut()).for_each(|one| one.order(order));
    }

    /// No worker is to begin a further attempt.
    fn drain(&mut self) {
        if !std::mem::replace(&mut self.is_draining, true) {
            self.tell(DRAIN);
        }
    }
}

impl Run<'_> {
    /// Everything between the start and the end of a run of several workers. Gives why it ends.
    pub(super) fn supervise(&mut self, started: &RunEvent, jobs: &Jobs) -> Halt {
        let mut crew = Crew::new(jobs);
        match self.open_supervisor(started).and_then(|()| self.lead(&mut crew)) {
            Ok(()) => StopRun::error("the workers ended without a reason").into(),
            Err(halt) => {
                self.dismiss_crew(&mut crew);
                // Why the run ends matters more than what goes wrong here.
                let _ = self.tree.tell_unmerged(&mut self.context);
                halt
            }
        }
    }

    fn open_supervisor(&mut self, started: &RunEvent) -> Result {
        let run = &mut self.context;
        run.start_guard()?;
        run.tell_notices()?;
        run.hook_before(HookPoint::BeforeRun, started)?;
        run.record_lost_attempts()?;
        self.tree.open_for_workers(run)?;
        self.plan_files.open(run)?;
        run.warn_of_unready_gates()?;
        run.probe()?;
        self.state_md.write(run, "running")?;
        self.agents_md.sync(run, self.tree.branch(), WrittenBy::Person)
    }

    fn lead(&mut self, crew: &mut Crew<'_>) -> Result {
        loop {
            self.must_stop()?;
            crew.has_worked = false;
            for place in 0..crew.members.len() {
                self.start_worker(crew, place)?;
            }
            while crew.is_working() {
                self.look_after(crew)?;
            }
            self.after_workers(crew)?;
        }
    }

    fn start_worker(&mut self, crew: &mut Crew<'_>, place: usize) -> Result {
        let run = &self.context;
        let Some(name) = crew.members.get(place).map(|member| member.name.clone()) else { return Ok(()) };
        let seat = Seat {
            run_id: run.id.clone(),
            worker: name,
            started_at: run.started_at,
            elapsed_ms: millis(self.budgets.elapsed(run)),
            jobs: crew.jobs.count,
            config: crew.jobs.config.clone(),
        };
        crew.start(place, &seat).map_err(|error| {
            StopRun::error(format!("cannot start a worker: {error}"))
                .with_hint("check the limits on processes and memory, then `ralph run` again")
                .into()
        })
    }

    /// Waits for news for a moment, and sees to whatever is due.
    fn look_after(&mut self, crew: &mut Crew<'_>) -> Result {
        let mut news = crew.news.recv_timeout(LOOK).ok();
        while let Some((place, what)) = news {
            self.hear(crew, place, what)?;
            news = crew.news.try_recv().ok();
        }
        self.context.beat();
        reap_orphans();
        self.pass_signals_on(crew);
        self.state_md.show_attempt(&mut self.context);
        Ok(())
    }

    fn hear(&mut self, crew: &mut Crew<'_>, place: usize, news: News) -> Result {
        match news {
            News::Event(event) => {
                match &event.kind {
                    EventKind::AttemptStarted { .. } => {
                        crew.has_worked = true;
                        self.state_md.attempt_begins(&self.context);
                        for member in &mut crew.members {
                            member.restarts = 0;
                        }
                    }
                    EventKind::AttemptFinished(_) => {
                        self.state_md.refresh(&mut self.context)?;
                        self.budgets.warn(&mut self.context)?;
                    }
                    _ => {}
                }
                self.context.show_stored(&event);
            }
            News::Ended(end) => {
                if end.ends_the_run() {
                    crew.drain();
                }
                if let Some(member) = crew.members.get_mut(place) {
                    member.end = Some(end);
                }
            }
            News::Closed => return self.worker_ended(crew, place),
        }
        Ok(())
    }

    /// A worker is gone. One that did not say why was killed: its attempt is recorded, and another takes its place.
    fn worker_ended(&mut self, crew: &mut Crew<'_>, place: usize) -> Result {
        let stops = crew.is_draining || self.context.interrupt.first().is_some();
        let Some(member) = crew.members.get_mut(place) else { return Ok(()) };
        let Some(mut process) = member.process.take() else { return Ok(()) };
        // It closed its output, and may take a moment to end.
        let closed = Instant::now();
        while !process.has_ended() && closed.elapsed() < self.context.settings.grace {
            std::thread::sleep(Duration::from_millis(2));
        }
        process.kill();
        drop(process);
        if member.end.is_some() {
            return Ok(());
        }
        member.restarts += 1;
        let (name, restarts) = (member.name.clone(), member.restarts);
        self.context.record_lost_attempts()?;
        if stops {
            return Ok(());
        }
        if restarts > MOST_RESTARTS {
            let why = format!("worker {name} was killed {restarts} times in a row");
            return Err(StopRun::error(why).with_hint("`ralph logs` and `dmesg` may say why").into());
        }
        self.context.warn(format!("worker {name} was killed; Ralph started it again"))?;
        self.start_worker(crew, place)
    }

    fn pass_signals_on(&mut self, crew: &mut Crew<'_>) {
        let interrupt = &self.context.interrupt;
        let Some(signal) = interrupt.first() else { return };
        let told = if interrupt.at_once() { 2 } else { 1 };
        while crew.signals < told {
            crew.signals += 1;
            crew.tell(order(signal));
        }
    }

    /// All workers have ended: why the run does, unless there is more to do.
    fn after_workers(&mut self, crew: &mut Crew<'_>) -> Result {
        let ends: Vec<WorkerEnd> = crew.members.iter().filter_map(|member| member.end.clone()).collect();
        self.must_stop()?;
        let worst = ends.into_iter().min_by_key(WorkerEnd::rank);
        if let Some(end) = worst.clone().filter(WorkerEnd::ends_the_run) {
            return Err(end.stop().into());
        }
        self.check_breaker(None)?;
        if self.context.is_finished()? {
            return Err(self.context.all_done()?.into());
        }
        let is_open = self.context.store.breaker()?.state == BreakerState::Open;
        let was_open = worst.as_ref().is_some_and(|end| end.exit() == RunExit::BreakerOpen);
        // A person answered, or it cooled down; or something became ready when the last of them had gone.
        if !is_open && (was_open || crew.has_worked && !self.context.nothing_ready()?) {
            let limited = worst.as_ref().is_some_and(|end| end.exit() == RunExit::Limit);
            if !limited {
                return Ok(());
            }
        }
        Err(match worst {
            Some(end) => end.stop().into(),
            None => StopRun::error("every worker was killed").into(),
        })
    }

    /// The run ends, whatever its workers are at: they are told, and waited for.
    fn dismiss_crew(&mut self, crew: &mut Crew<'_>) {
        crew.drain();
        while crew.is_working() {
            // Also between news that come all the time.
            self.context.beat();
            self.pass_signals_on(crew);
            if let Ok((place, news)) = crew.news.recv_timeout(LOOK) {
                // What goes wrong now is not why the run ends.
                let _ = self.hear(crew, place, news);
            }
        }
        reap_orphans();
    }
}
