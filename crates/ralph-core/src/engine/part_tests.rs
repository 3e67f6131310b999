//! Each part of a run by itself: played processes, a store on a file system in memory, a clock that only the test moves.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::agents_md_sync::WrittenBy;
use super::run::Run;
use super::run_end::{Halt, Result};
use super::{Answer, Attendant, CommitWhen, Engine, PauseOn, Question, RunSettings};
use crate::agent::tests::{Played, play};
use crate::agent::{Agent, AgentKind, Exit, Interrupt, Setup, Stop};
use crate::clock::Clock;
use crate::decide::{Outage, Turn};
use crate::event::{EventKind, RunEvent};
use crate::exit::RunExit;
use crate::host::{Host, Liveness};
use crate::model::{NewTask, TaskMetrics, Timestamp};
use crate::project::Project;
use crate::store::{Claimed, LearningFilter, Owner, Purpose, Store};

struct HeldClock(Cell<u64>);

impl Clock for HeldClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1_800_000_000).plus(self.steady())
    }

    fn sleep(&self, duration: Duration) {
        self.0.set(self.0.get() + duration.as_secs());
    }

    fn steady(&self) -> Duration {
        Duration::from_secs(self.0.get())
    }
}

/// A person who gives the same answer each time.
struct Person {
    answer: Answer,
    asked: Rc<Cell<u32>>,
}

impl Attendant for Person {
    fn is_there(&self) -> bool {
        self.answer != Answer::Nobody
    }

    fn ask(&mut self, _question: &Question<'_>) -> Answer {
        self.asked.set(self.asked.get() + 1);
        self.answer
    }
}

struct AliveHost;

impl Host for AliveHost {
    fn owner(&self) -> Owner {
        Owner { host: "here".into(), pid: 1, pid_started: "then".into() }
    }

    fn liveness(&self, _owner: &Owner) -> Liveness {
        Liveness::Alive
    }
}

struct Fixture {
    dir: Rc<tempfile::TempDir>,
    settings: RunSettings,
    clock: HeldClock,
    answer: Answer,
    asked: Rc<Cell<u32>>,
    worker: &'static str,
    /// What displays were shown.
    shown: Rc<RefCell<Vec<RunEvent>>>,
}

impl Fixture {
    /// A project with one task.
    fn new() -> Self {
        let memory = PathBuf::from("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let fixture = Self::worker("w1", Rc::new(dir.unwrap()));
        std::fs::create_dir_all(fixture.dir.path().join(".ralph")).unwrap();
        let task = NewTask { title: "A".into(), verify: Some("check".into()), ..NewTask::default() };
        fixture.store().add_task(&task, fixture.clock.now(), &mut || 1).unwrap();
        fixture
    }

    fn worker(worker: &'static str, dir: Rc<tempfile::TempDir>) -> Self {
        Self {
            dir,
            settings: RunSettings::default(),
            clock: HeldClock(Cell::new(0)),
            answer: Answer::Nobody,
            asked: Rc::default(),
            worker,
            shown: Rc::default(),
        }
    }

    fn store(&self) -> Store {
        Store::create(&Project::at(self.dir.path()).database()).unwrap()
    }

    fn agent(name: &str) -> Agent {
        let setup = Setup { name: name.into(), command: vec![name.into()], ..Setup::default() };
        AgentKind::Command.build(setup)
    }

    /// A run that has just been made, with two agents. Runs of one project have one identity: they are its workers.
    fn run<T>(&self, test: impl FnOnce(&mut Run<'_>) -> T) -> T {
        let project = Project::at(self.dir.path());
        let (first, second) = (Self::agent("first"), Self::agent("second"));
        let mut engine = Engine {
            role: crate::engine::Role::Alone,
            project: &project,
            work_tree: self.dir.path(),
            store: &mut self.store(),
            agent: &first,
            reviewer: &first,
            fallback: &[&second],
            known: &[],
            settings: &self.settings,
            settings_json: "{}".into(),
            clock: &self.clock,
            random: &mut || 7,
            host: &AliveHost,
            observer: &mut |event: &RunEvent| self.shown.borrow_mut().push(event.clone()),
            attendant: &mut Person { answer: self.answer, asked: self.asked.clone() },
            interrupt: Interrupt::default(),
            sandbox: &crate::sandbox::Sandbox::default(),
            guard_command: Vec::new(),
            worker: self.worker,
            output: None,
        };
        let mut run = Run::new(&mut engine).unwrap();
        // The second worker joins the run of the first.
        if self.worker == "w1" {
            let tasks = run.context.store.counts().unwrap();
            run.record_start(tasks, "{}".into(), None, None).unwrap();
        }
        test(&mut run)
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(file)).unwrap_or_default()
    }

    fn warnings(&self) -> Vec<String> {
        let shown = self.shown.borrow();
        let messages = shown.iter().filter_map(|event| match &event.kind {
            EventKind::Warning { message } => Some(message.clone()),
            _ => None,
        });
        messages.collect()
    }

    fn count(&self, name: &str) -> usize {
        self.shown.borrow().iter().filter(|event| event.kind.name() == name).count()
    }
}

fn claim(run: &mut Run<'_>) -> Claimed {
    run.context.claim(Purpose::Attempt).unwrap().unwrap()
}

/// How the run ends by this result, if it does.
fn exit(result: Result) -> Option<RunExit> {
    match result {
        Ok(()) => None,
        Err(Halt::Stop(stop)) => Some(stop.exit),
        Err(Halt::Error(error)) => panic!("{error}"),
    }
}

/// Gates that end with this code.
fn gates(code: i32) -> impl Drop {
    play(Rc::new(move |_| Played { exit: Exit::Code(code), stop: Stop::Exited, output: String::new() }))
}

#[test]
fn two_workers_of_a_run_show_the_numbers_that_are_stored() {
    let first = Fixture::new();
    let second = Fixture::worker("w2", first.dir.clone());
    let run_id = first.run(|one| {
        second.run(|two| {
            for by_first in [true, false, true, true, false] {
                if by_first { one.context.warn("hello").unwrap() } else { two.context.warn("hello").unwrap() }
            }
            one.context.id.clone()
        })
    });
    let mut shown: Vec<(u64, String)> = Vec::new();
    for fixture in [&first, &second] {
        let events = fixture.shown.borrow();
        let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        shown.extend(events.iter().map(|event| (event.seq, event.worker.clone())));
    }
    shown.sort();
    let stored = first.store().some_events(&run_id, 0, 99).unwrap();
    let stored: Vec<_> =
        stored.iter().filter_map(|event| event.read()).map(|it| (it.seq, it.worker)).collect();
    assert_eq!(shown, stored);
    assert_eq!(stored.len(), 6);
}

#[test]
fn the_tree_without_a_repository_has_nothing_to_commit() {
    let mut fixture = Fixture::new();
    fixture.settings.git.commit = CommitWhen::OnSuccess;
    fixture.run(|run| {
        run.tree.open(&mut run.context).unwrap();
        let claimed = claim(run);
        let before = run.tree.before_attempt(&mut run.context, &claimed.task.id, 1).unwrap();
        assert_eq!(before.head(), None);
        assert_eq!(run.tree.commit(&mut run.context, &claimed, &before).unwrap(), Ok(None));
        assert_eq!(run.tree.branch(), None);
    });
    assert!(fixture.warnings()[0].starts_with("not a git repository"), "{:?}", fixture.warnings());
}

#[test]
fn the_team_switches_to_the_second_agent_until_the_firsts_limit_is_over() {
    let fixture = Fixture::new();
    fixture.run(|run| {
        let (team, context) = (&mut run.team, &mut run.context);
        let resets_at = context.clock.now().plus(Duration::from_secs(60)).as_millis() / 1000;
        team.note_limit(context, Some(resets_at)).unwrap();
        assert_eq!(team.turn(context).unwrap(), Turn::Works(1));
        team.switch_to(context, 1).unwrap();
        assert!(team.is_fallback());
        context.clock.sleep(Duration::from_secs(61));
        assert_eq!(team.turn(context).unwrap(), Turn::Works(0));
        // The second alone would wait; where it cannot work at all, nobody is left.
        let fault = |why: &str| super::team::Unavailable {
            outage: Outage::Permanent,
            why: why.into(),
            hint: Some("log in".into()),
        };
        team.note_unavailable(context, fault("bad key")).unwrap();
        team.switch_to(context, 0).unwrap();
        let ended = team.note_unavailable(context, fault("no key"));
        let Err(Halt::Stop(stop)) = ended else { panic!("{ended:?}") };
        assert_eq!(stop.reason, "first: no key; second: bad key");
    });
    assert_eq!(fixture.count("agent_changed"), 2);
}

#[test]
fn budgets_warn_once_and_then_stop_the_run() {
    let mut fixture = Fixture::new();
    fixture.settings.budgets.run_time = Some(Duration::from_secs(100));
    fixture.run(|run| {
        for (seconds, expected) in [(79, None), (2, None), (10, None), (10, Some(RunExit::Limit))] {
            run.context.clock.sleep(Duration::from_secs(seconds));
            assert_eq!(exit(run.budgets.check(&mut run.context)), expected, "{seconds}");
        }
    });
    assert_eq!(fixture.count("budget_near"), 1);
}

#[test]
fn gates_are_run_before_the_first_attempt_where_that_is_wanted() {
    for (baseline, code, told) in [(true, 0, 1), (true, 1, 0), (false, 0, 0)] {
        let mut fixture = Fixture::new();
        fixture.settings.gate.baseline = baseline;
        let _playing = gates(code);
        fixture.run(|run| {
            let claimed = claim(run);
            let (state_md, tree) = (&mut run.state_md, &mut run.tree);
            let found = run.gates.before_attempt(&mut run.context, state_md, tree, &claimed).unwrap();
            let green = found.unwrap().green_before_attempt;
            assert_eq!(green, baseline.then_some(code == 0));
            assert_eq!(run.context.gate_ran, baseline);
        });
        assert_eq!(fixture.count("gate_green_before"), told, "{baseline} {code}");
    }
}

#[test]
fn a_required_gate_that_is_missing_stops_an_attempt() {
    let mut fixture = Fixture::new();
    for (enabled, require, refused) in [(true, true, false), (false, true, true), (false, false, false)] {
        fixture.settings.gate.enabled = enabled;
        fixture.settings.gate.require = require;
        // Its own directory: a run that was started is not started again.
        let fixture = Fixture { settings: fixture.settings.clone(), ..Fixture::new() };
        fixture.run(|run| {
            let claimed = claim(run);
            let reason = run.gates.cannot_run(&run.context, &claimed).unwrap();
            assert_eq!(reason.is_some_and(|reason| reason.contains("gates are required")), refused);
        });
    }
}

#[test]
fn a_person_who_resumed_a_stuck_task_is_asked_again_only_after_more_failures() {
    for (answer, asked, end) in [(Answer::Resume, 2, None), (Answer::Abort, 1, Some(RunExit::Aborted))] {
        let mut fixture = Fixture::new();
        fixture.settings.pause_on = PauseOn::Stuck;
        fixture.answer = answer;
        fixture.run(|run| {
            let task = claim(run).task;
            let most = if end.is_some() { 3 } else { 6 };
            for failures in 1..=most {
                let stuck = failures >= 3;
                let metrics = TaskMetrics { consecutive_failures: failures, stuck, ..TaskMetrics::default() };
                let ended = exit(run.after_failure(&task, &metrics));
                assert_eq!(ended, end.filter(|_| stuck), "{failures}");
            }
        });
        assert_eq!(fixture.asked.get(), asked, "{answer:?}");
    }
}

#[test]
fn agents_md_takes_in_what_a_person_writes_and_is_left_alone_where_nothing_is_new() {
    let fixture = Fixture::new();
    let path = fixture.dir.path().join("AGENTS.md");
    std::fs::write(&path, "# Mine\n\n## Codebase Patterns\n\n- Tests need a database.\n").unwrap();
    fixture.run(|run| {
        let mut sync = || run.agents_md.sync(&mut run.context, None, WrittenBy::Person).unwrap();
        sync();
        let written = crate::files::stamp(&path);
        sync();
        assert_eq!(crate::files::stamp(&path), written);
        let learnings = run.context.store.learnings(&LearningFilter::active()).unwrap();
        let contents: Vec<&str> = learnings.iter().map(|one| one.content.as_str()).collect();
        assert_eq!(contents, ["Tests need a database."]);
    });
    assert!(fixture.read("AGENTS.md").contains("# Mine"));
}

#[test]
fn state_md_says_how_the_run_stands_and_a_page_that_cannot_be_written_is_told_once() {
    let fixture = Fixture::new();
    fixture.run(|run| {
        run.state_md.write(&mut run.context, "paused").unwrap();
        assert!(fixture.read(".ralph/STATE.md").contains("paused"));
        let page = fixture.dir.path().join(".ralph/STATE.md");
        std::fs::remove_file(&page).unwrap();
        std::fs::create_dir(&page).unwrap();
        run.state_md.write(&mut run.context, "running").unwrap();
        run.state_md.write(&mut run.context, "running").unwrap();
    });
    let warnings = fixture.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("cannot write STATE.md"), "{warnings:?}");
}
