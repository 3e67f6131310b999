//! Waits of hours with a clock that the test controls: real agents and a real database, but no real time.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::{Engine, NoAttendant, RunSettings, Summary};
use crate::agent::{AgentKind, Interrupt, Setup};
use crate::clock::Clock;
use crate::event::{EventKind, RunEvent};
use crate::exit::RunExit;
use crate::host::ThisHost;
use crate::model::{NewTask, Timestamp};
use crate::project::Project;
use crate::store::Store;

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const HOUR: i64 = 3600;

/// A clock that moves only while somebody sleeps, and jumps when it is told to.
struct TestClock {
    wall: Cell<i64>,
    steady: Cell<i64>,
    /// When so many milliseconds have passed, the wall clock moves by so many.
    jumps: RefCell<Vec<(i64, i64)>>,
}

impl TestClock {
    fn new(jumps: &[(i64, i64)]) -> Self {
        Self { wall: Cell::new(START.as_millis()), steady: Cell::new(0), jumps: RefCell::new(jumps.to_vec()) }
    }

    fn passed(&self) -> Duration {
        Duration::from_millis(self.steady.get() as u64)
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.wall.get())
    }

    fn sleep(&self, duration: Duration) {
        // Nobody watches, so a second may pass at once.
        let millis = duration.as_millis() as i64 * 10;
        self.wall.set(self.wall.get() + millis);
        self.steady.set(self.steady.get() + millis);
        let steady = self.steady.get();
        self.jumps.borrow_mut().retain(|(at, by)| {
            let due = steady >= *at;
            if due {
                self.wall.set(self.wall.get() + by);
            }
            !due
        });
    }

    fn steady(&self) -> Duration {
        self.passed()
    }
}

struct Night {
    dir: tempfile::TempDir,
    clock: TestClock,
    settings: RunSettings,
}

impl Night {
    fn new(jumps: &[(i64, i64)]) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            clock: TestClock::new(jumps),
            settings: RunSettings::default(),
        }
    }

    /// A run over one task with an agent that is limited so often, until so many seconds after the start, and then done.
    fn run(&mut self, limited: u32, resets_after: Option<i64>) -> (Summary, Vec<RunEvent>, usize) {
        let root = self.dir.path();
        std::fs::create_dir_all(root.join(".ralph")).unwrap();
        let info = resets_after.map(|secs| START.as_millis() / 1000 + secs);
        let info = info.map(|at| format!(r#","resetsAt":{at}"#));
        let script = format!(
            r#"cat > /dev/null; echo x >> asked
            if [ $(wc -l < asked) -le {limited} ]; then
            echo '{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected"{}}}}}'
            echo '{{"type":"result","is_error":true,"api_error_status":429,"result":"limited"}}'; exit 1
            fi
            echo '{{"type":"result","is_error":false,"result":"<task-done>'$RALPH_TASK_ID'</task-done>"}}'"#,
            info.unwrap_or_default()
        );
        let agent = AgentKind::Command.build(Setup {
            name: "scripted".into(),
            command: vec!["sh".into(), "-c".into(), script],
            output: AgentKind::Claude,
            ..Setup::default()
        });
        let project = Project::at(root);
        let mut store = Store::create(&project.database()).unwrap();
        let mut next = 0;
        let mut random = || {
            next += 1;
            next
        };
        let task = NewTask { title: "A".into(), ..NewTask::default() };
        store.add_task(&task, self.clock.now(), &mut random).unwrap();
        let mut events = Vec::new();
        let summary = Engine {
            role: crate::engine::Role::Alone,
            project: &project,
            work_tree: root,
            store: &mut store,
            agent: &agent,
            reviewer: &agent,
            fallback: &[],
            known: &[],
            settings: &self.settings,
            settings_json: "{}".into(),
            clock: &self.clock,
            random: &mut random,
            host: &ThisHost::new(),
            observer: &mut |event: &RunEvent| events.push(event.clone()),
            attendant: &mut NoAttendant,
            interrupt: Interrupt::default(),
            sandbox: &crate::sandbox::Sandbox::default(),
            guard_command: Vec::new(),
            worker: crate::event::WORKER,
            output: None,
        }
        .run()
        .unwrap();
        let tries = store.history(None).unwrap().len();
        (summary, events, tries)
    }
}

fn waits(events: &[RunEvent]) -> usize {
    let waiting = |event: &&RunEvent| matches!(event.kind, EventKind::Waiting { .. });
    events.iter().filter(waiting).count()
}

#[test]
fn out_05_a_reset_hours_ahead_is_waited_for_to_the_minute() {
    let mut night = Night::new(&[]);
    let (summary, events, tries) = night.run(1, Some(5 * HOUR));
    assert_eq!((summary.exit, tries), (RunExit::Finished, 2));
    assert_eq!(waits(&events), 1);
    let passed = night.clock.passed().as_secs() as i64;
    assert!((5 * HOUR..5 * HOUR + 60).contains(&passed), "{passed}");
}

#[test]
fn out_05_a_machine_that_slept_through_the_reset_goes_on_at_once() {
    // After ten minutes the lid is closed for seven hours.
    let mut night = Night::new(&[(600_000, 7 * HOUR * 1000)]);
    let (summary, _, tries) = night.run(1, Some(5 * HOUR));
    assert_eq!((summary.exit, tries), (RunExit::Finished, 2));
    assert!(night.clock.passed() < Duration::from_secs(660));
}

#[test]
fn out_05_a_clock_that_is_set_back_makes_the_wait_no_longer() {
    let mut night = Night::new(&[(600_000, -3 * HOUR * 1000)]);
    let (summary, _, tries) = night.run(1, Some(5 * HOUR));
    assert_eq!((summary.exit, tries), (RunExit::Finished, 2));
    let passed = night.clock.passed().as_secs() as i64;
    assert!((5 * HOUR..5 * HOUR + 60).contains(&passed), "{passed}");
}

#[test]
fn out_05_without_a_reset_time_the_waits_grow_and_the_longest_wait_bounds_them_all() {
    let mut night = Night::new(&[]);
    night.settings.max_wait = Some(Duration::from_secs(2 * 3600));
    let (summary, events, tries) = night.run(1_000_000, None);
    assert_eq!(summary.exit, RunExit::Limit);
    assert!(summary.reason.contains("max_wait"), "{}", summary.reason);
    let passed = night.clock.passed().as_secs() as i64;
    assert!((HOUR..=2 * HOUR).contains(&passed), "{passed}");
    assert!((20..120).contains(&tries), "{tries}");
    assert_eq!(waits(&events) + 1, tries);
}

#[test]
fn a_time_that_has_passed_or_cannot_be_meant_is_not_believed() {
    for nonsense in [-HOUR, 400 * 24 * HOUR] {
        let mut night = Night::new(&[]);
        let (summary, _, tries) = night.run(2, Some(nonsense));
        assert_eq!((summary.exit, tries), (RunExit::Finished, 3));
        assert!(night.clock.passed() < Duration::from_secs(600));
    }
}

#[test]
fn the_time_limit_ends_a_wait() {
    let mut night = Night::new(&[]);
    night.settings.budgets.run_time = Some(Duration::from_secs(1800));
    let (summary, _, _) = night.run(1, Some(5 * HOUR));
    assert_eq!(summary.exit, RunExit::Limit);
    assert!(night.clock.passed() < Duration::from_secs(1900));
}

#[test]
fn a_run_gives_signs_of_life_through_a_long_wait() {
    let mut night = Night::new(&[]);
    night.run(1, Some(5 * HOUR));
    let store = Store::open(&Project::at(night.dir.path()).database()).unwrap();
    let run = store.last_run().unwrap().unwrap();
    let lease = night.settings.lease;
    assert!(run.expires_at.unwrap() > START.plus(Duration::from_secs(5 * 3600) - lease));
}
