//! Whole runs over arbitrary plans, with arbitrary outcomes, kills and settings: each run ends, and no task gets more
//! counted attempts than a person allowed. Processes are played and waits pass at once; engine and database are real.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Answer, Attendant, Engine, OnOpen, PauseOn, Question, RunSettings};
use crate::agent::tests::{Played, play};
use crate::agent::{AgentKind, Exit, Interrupt, Launch, Setup, Signal, Stop};
use crate::clock::Clock;
use crate::event::RunEvent;
use crate::host::{Host, Liveness};
use crate::model::{ErrorType, Key, NewTask, Status, Strategy as Choice, TaskId, Timestamp};
use crate::project::Project;
use crate::store::{Mark, Owner, Store};

/// The shortest wait for a limited agent, and the longest time that is waited for it.
const BACKOFF: Duration = Duration::from_secs(5);
const MAX_WAIT: Duration = Duration::from_secs(60);
/// More naps in one run mean that it does not end.
const MOST_NAPS: u32 = 200_000;

/// What an agent's session comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session {
    Done,
    /// It fails, and says one of a few reasons.
    Failed(u8),
    Silent,
    Crashed,
    TimedOut,
    Limited,
    Overloaded,
    BadLogin,
    /// It gives up on the whole run.
    Promise,
    /// It says that the task is blocked.
    Blocked,
    /// It asks for a change of the plan.
    Asks(&'static str),
    /// Another run makes so many attempts meanwhile; then it fails.
    OtherRun(u32),
}

/// What becomes of the sessions of a task.
#[derive(Clone, Copy, Debug)]
enum Nature {
    Good,
    Hopeless(u8),
    Arbitrary,
}

#[derive(Clone, Debug)]
struct PlanTask {
    nature: Nature,
    /// How far before it its parent and a task it waits for are.
    parent: Option<usize>,
    after: Option<usize>,
    gate: bool,
}

/// One run: after how many events Ralph is killed, and whether a person gives a blocked task a go-ahead afterwards.
#[derive(Clone, Debug)]
struct Stretch {
    killed_after: Option<u32>,
    go_ahead: Option<prop::sample::Index>,
}

#[derive(Clone, Debug)]
struct Story {
    plan: Vec<PlanTask>,
    sessions: Vec<Session>,
    /// How gates end: passed, or failed with one of a few causes.
    gates: Vec<u8>,
    answers: Vec<Answer>,
    stretches: Vec<Stretch>,
    max_attempts: u32,
    max_total_attempts: u32,
    threshold: u32,
    on_open: OnOpen,
    pause_on: PauseOn,
    recovery: bool,
    service_retries: u32,
    strategy: Choice,
}

impl Story {
    fn settings(&self, limit: Option<u32>) -> RunSettings {
        let mut settings = RunSettings {
            limit,
            strategy: self.strategy,
            pause_on: self.pause_on,
            service_retries: self.service_retries,
            backoff: BACKOFF,
            backoff_cap: 2 * BACKOFF,
            max_wait: Some(MAX_WAIT),
            agents_md: None,
            ..RunSettings::default()
        };
        settings.policy.max_attempts = self.max_attempts;
        settings.policy.max_total_attempts = self.max_total_attempts;
        settings.breaker.threshold = self.threshold;
        settings.breaker.on_open = self.on_open;
        settings.breaker.cooldown = Duration::from_secs(1);
        settings.recovery.enabled = self.recovery;
        settings
    }

    /// Attempts that do not count, between two that do: limits within the longest wait, each with retries of the service.
    fn most_uncounted(&self) -> u64 {
        let limits = 2 * MAX_WAIT.as_secs() / BACKOFF.as_secs() + 2;
        limits * (u64::from(self.service_retries) + 2)
    }
}

/// A process that was killed has no last words.
struct Killed;

struct World {
    story: Story,
    dir: tempfile::TempDir,
    millis: Cell<i64>,
    random: Cell<u64>,
    session: Cell<usize>,
    gate: Cell<usize>,
    answer: Cell<usize>,
    last_pid: Cell<u32>,
    living: RefCell<Vec<u32>>,
}

impl World {
    fn new(story: Story) -> Rc<Self> {
        // Thousands of transactions: where there is a file system in memory, that is quicker.
        let memory = PathBuf::from("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Rc::new(Self {
            story,
            dir: dir.unwrap(),
            millis: Cell::new(1_800_000_000_000),
            random: Cell::new(1),
            session: Cell::new(0),
            gate: Cell::new(0),
            answer: Cell::new(0),
            last_pid: Cell::new(0),
            living: RefCell::new(Vec::new()),
        })
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.millis.get())
    }

    fn random(&self) -> u64 {
        let next =
            self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random.set(next);
        next >> 16
    }

    fn store(&self) -> Store {
        Store::create(&Project::at(self.dir.path()).database()).unwrap()
    }

    fn add_plan(&self) {
        std::fs::create_dir_all(self.dir.path().join(".ralph")).unwrap();
        let mut store = self.store();
        let mut ids: Vec<TaskId> = Vec::new();
        for (place, task) in self.story.plan.iter().enumerate() {
            let before = |back: Option<usize>| {
                let back = back.filter(|back| *back <= place && *back > 0)?;
                ids.get(place - back).cloned()
            };
            let parent = before(task.parent);
            let after = before(task.after).filter(|id| Some(id) != parent.as_ref());
            let new = NewTask {
                title: format!("Task {place}"),
                key: Key::parse(&format!("k{place}")).ok(),
                parent,
                after: after.into_iter().collect(),
                verify: task.gate.then(|| "gate".to_owned()),
                ..NewTask::default()
            };
            let added = store.add_task(&new, self.now(), &mut || self.random());
            // A task that waits for its own parent is refused; then it is one without either.
            let bare = NewTask { parent: None, after: Vec::new(), ..new };
            let added = added.or_else(|_| store.add_task(&bare, self.now(), &mut || self.random()));
            ids.push(added.unwrap());
        }
    }

    /// One process of a run: an agent's session or a gate.
    fn play(self: &Rc<Self>, launch: &Launch) -> Played {
        if launch.program == "sh" {
            let gates = &self.story.gates;
            let at = self.gate.replace(self.gate.get() + 1);
            let cause = gates[at % gates.len()];
            return Played {
                exit: Exit::Code(i32::from(cause > 0)),
                stop: Stop::Exited,
                output: format!("error: cause {cause} of module_{cause} is not there\n"),
            };
        }
        let variable = |name: &str| {
            let found = launch.env.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned())
        };
        let id = variable("RALPH_TASK_ID").unwrap_or_default();
        let key = variable("RALPH_TASK_KEY").unwrap_or_default();
        let place: Option<usize> = key.strip_prefix('k').and_then(|place| place.parse().ok());
        let nature = place.and_then(|place| self.story.plan.get(place));
        let session = match nature.map(|task| task.nature) {
            Some(Nature::Good) => Session::Done,
            Some(Nature::Hopeless(cause)) => Session::Failed(cause),
            Some(Nature::Arbitrary) | None => self.next_session(),
        };
        self.play_session(session, &id, &key)
    }

    fn next_session(&self) -> Session {
        let sessions = &self.story.sessions;
        let at = self.session.replace(self.session.get() + 1);
        match sessions[at % sessions.len()] {
            // Each request is made once, so that the plan does not grow with the number of attempts.
            Session::Asks(_) | Session::OtherRun(_) if at >= sessions.len() => Session::Failed(0),
            session => session,
        }
    }

    fn play_session(self: &Rc<Self>, session: Session, id: &str, key: &str) -> Played {
        let said = |text: &str| {
            let result = serde_json::json!({"type": "result", "is_error": false, "result": text});
            (0, format!("{result}\n"))
        };
        let refused = |status: u16| {
            let result = serde_json::json!(
                {"type": "result", "is_error": true, "api_error_status": status, "result": "no"});
            (1, format!("{result}\n"))
        };
        let failed = format!("<task-failed>{id}</task-failed>");
        let because =
            |cause: u8| said(&format!("error: cause {cause} of module_{cause} is not there\n{failed}"));
        let (code, output) = match session {
            Session::Done => said(&format!("<task-done>{id}</task-done>")),
            Session::Failed(cause) => because(cause),
            Session::Silent | Session::TimedOut => said("I looked at it."),
            Session::Crashed => (2, String::new()),
            Session::Limited => refused(429),
            Session::Overloaded => refused(529),
            Session::BadLogin => refused(401),
            Session::Promise => said(&format!("{failed}\n<promise>FAILURE</promise>")),
            Session::Blocked => {
                said(&format!("{failed}\n<difficulty-estimate>blocked</difficulty-estimate>"))
            }
            Session::Asks(kind) => {
                let name = if key.is_empty() { id } else { key };
                let request = serde_json::json!({"type": kind, "originalTaskId": name,
                    "reasoning": "It is too large.", "proposedTasks": [
                        {"title": "One part", "verify": "true"}, {"title": "Another part", "verify": "true"}]});
                let failed =
                    if kind == "ADD_FOLLOWUP" { format!("<task-done>{id}</task-done>") } else { failed };
                said(&format!("{failed}\n\nTASK_MODIFICATION_REQUEST\n```json\n{request:#}\n```\n"))
            }
            Session::OtherRun(attempts) => {
                // It may have to wait for this very attempt; then it is told to stop.
                self.run(Some(attempts), None);
                because(1)
            }
        };
        Played {
            exit: Exit::Code(code),
            stop: match session {
                Session::TimedOut => Stop::WallTimeout(Duration::from_secs(60)),
                _ => Stop::Exited,
            },
            output,
        }
    }

    /// A run to its end, which is a kill where it was to be killed. One with a limit is another run beside a first.
    fn run(self: &Rc<Self>, limit: Option<u32>, killed_after: Option<u32>) {
        let pid = self.last_pid.get() + 1;
        self.last_pid.set(pid);
        self.living.borrow_mut().push(pid);
        let settings = self.story.settings(limit);
        let interrupt = Interrupt::default();
        let clock = Naps { world: self, interrupt: limit.map(|_| interrupt.clone()), taken: Cell::new(0) };
        let agent = AgentKind::Command.build(Setup {
            name: "played".into(),
            command: vec!["played".into()],
            models: vec!["small".into(), "large".into()],
            output: AgentKind::Claude,
            ..Setup::default()
        });
        let project = Project::at(self.dir.path());
        let mut store = self.store();
        let mut random = || self.random();
        let mut events = 0;
        let mut observer = |_: &RunEvent| {
            events += 1;
            if killed_after == Some(events) {
                resume_unwind(Box::new(Killed));
            }
        };
        let mut engine = Engine {
            role: crate::engine::Role::Alone,
            project: &project,
            work_tree: self.dir.path(),
            store: &mut store,
            agent: &agent,
            reviewer: &agent,
            fallback: &[],
            known: &[],
            settings: &settings,
            settings_json: "{}".into(),
            clock: &clock,
            random: &mut random,
            host: &Machine { world: self, pid },
            observer: &mut observer,
            attendant: &mut Person { world: self },
            interrupt,
            sandbox: &crate::sandbox::Sandbox::default(),
            guard_command: Vec::new(),
            worker: crate::event::WORKER,
            output: None,
        };
        let ended = catch_unwind(AssertUnwindSafe(|| engine.run()));
        self.living.borrow_mut().retain(|living| *living != pid);
        match ended {
            Ok(summary) => drop(summary.unwrap()),
            Err(end) if end.is::<Killed>() => {}
            Err(end) => resume_unwind(end),
        }
    }
}

/// Time that passes only in naps, and then tenfold.
struct Naps<'w> {
    world: &'w World,
    /// Told to stop when the run has to wait.
    interrupt: Option<Interrupt>,
    taken: Cell<u32>,
}

impl Clock for Naps<'_> {
    fn now(&self) -> Timestamp {
        self.world.now()
    }

    fn sleep(&self, duration: Duration) {
        self.taken.set(self.taken.get() + 1);
        assert!(self.taken.get() < MOST_NAPS, "the run does not end");
        let passed = duration.as_millis() as i64 * 10;
        self.world.millis.set(self.world.millis.get() + passed);
        self.interrupt.iter().for_each(|interrupt| interrupt.raise(Signal::Terminate));
    }

    fn steady(&self) -> Duration {
        Duration::from_millis(self.world.millis.get() as u64)
    }
}

struct Machine<'w> {
    world: &'w World,
    pid: u32,
}

impl Host for Machine<'_> {
    fn owner(&self) -> Owner {
        Owner { host: "here".into(), pid: self.pid, pid_started: "then".into() }
    }

    fn liveness(&self, owner: &Owner) -> Liveness {
        if self.world.living.borrow().contains(&owner.pid) { Liveness::Alive } else { Liveness::Dead }
    }
}

/// Somebody who answers a few questions and then goes to bed.
struct Person<'w> {
    world: &'w World,
}

impl Attendant for Person<'_> {
    fn is_there(&self) -> bool {
        true
    }

    fn ask(&mut self, _question: &Question<'_>) -> Answer {
        let at = self.world.answer.replace(self.world.answer.get() + 1);
        let answer = self.world.story.answers.get(at);
        answer.copied().unwrap_or(Answer::Nobody)
    }
}

fn session() -> impl Strategy<Value = Session> {
    prop_oneof![
        8 => Just(Session::Done),
        8 => (0..3_u8).prop_map(Session::Failed),
        3 => Just(Session::Silent),
        2 => Just(Session::Crashed),
        2 => Just(Session::TimedOut),
        2 => Just(Session::Limited),
        2 => Just(Session::Overloaded),
        1 => Just(Session::Blocked),
        1 => Just(Session::Asks("SPLIT_TASK")),
        1 => Just(Session::Asks("ADD_PREREQUISITE")),
        1 => Just(Session::Asks("ADD_FOLLOWUP")),
        1 => (1..4_u32).prop_map(Session::OtherRun),
    ]
}

fn any_session() -> impl Strategy<Value = Session> {
    prop_oneof![
        30 => session(),
        1 => Just(Session::BadLogin),
        1 => Just(Session::Promise),
    ]
}

fn plan_task() -> impl Strategy<Value = PlanTask> {
    let nature = prop_oneof![
        2 => Just(Nature::Good),
        2 => (0..2_u8).prop_map(Nature::Hopeless),
        3 => Just(Nature::Arbitrary),
    ];
    let near = || prop::option::weighted(0.3, 1..4_usize);
    let parts = (nature, near(), near(), prop::bool::weighted(0.4));
    parts.prop_map(|(nature, parent, after, gate)| PlanTask { nature, parent, after, gate })
}

fn stretch() -> impl Strategy<Value = Stretch> {
    let index = prop::option::weighted(0.4, any::<prop::sample::Index>());
    (prop::option::weighted(0.7, 1..120_u32), index)
        .prop_map(|(killed_after, go_ahead)| Stretch { killed_after, go_ahead })
}

fn story() -> impl Strategy<Value = Story> {
    let answers = [Answer::Resume, Answer::Resume, Answer::Skip, Answer::Nobody, Answer::Abort];
    let answer = prop::sample::select(answers.to_vec());
    let on_open = prop::sample::select(vec![OnOpen::Exit, OnOpen::Wait, OnOpen::Wait]);
    let pause_on =
        prop::sample::select(vec![PauseOn::Never, PauseOn::Breaker, PauseOn::Stuck, PauseOn::Failure]);
    let played = (
        vec(plan_task(), 1..8),
        vec(any_session(), 1..30),
        vec(0..3_u8, 1..10),
        vec(answer, 0..4),
        vec(stretch(), 0..5),
    );
    let settings = (
        1..6_u32,
        1..16_u32,
        1..6_u32,
        on_open,
        pause_on,
        any::<bool>(),
        0..3_u32,
        prop::sample::select(Choice::ALL.to_vec()),
    );
    (played, settings).prop_map(|(played, settings)| {
        let (plan, sessions, gates, answers, stretches) = played;
        let (max_attempts, max_total_attempts, threshold, on_open, pause_on, recovery, retries, strategy) =
            settings;
        Story {
            plan,
            sessions,
            gates,
            answers,
            stretches,
            max_attempts,
            max_total_attempts,
            threshold,
            on_open,
            pause_on,
            recovery,
            service_retries: retries,
            strategy,
        }
    })
}

/// A world with its plan; while the second is held, the world plays every process.
fn begin(story: Story) -> (Rc<World>, impl Sized) {
    let world = World::new(story);
    world.add_plan();
    let player = Rc::clone(&world);
    (world, play(Rc::new(move |launch| player.play(launch))))
}

/// Lives through a story; then looks at what was recorded.
fn live(story: Story) {
    let (world, _playing) = begin(story);
    let mut go_aheads: HashMap<TaskId, u32> = HashMap::new();
    for stretch in world.story.stretches.clone() {
        world.run(None, stretch.killed_after);
        let mut store = world.store();
        let blocked = store.tasks(Some(Status::Blocked)).unwrap();
        if let Some(index) = stretch.go_ahead.filter(|_| !blocked.is_empty()) {
            let task = &blocked[index.index(blocked.len())].id;
            if store.mark(task, &Mark::Pending, world.now()).is_ok() {
                *go_aheads.entry(root(&store, task)).or_default() += 1;
            }
        }
    }
    world.run(None, None);
    let store = world.store();
    let attempts = store.history(None).unwrap();
    let mut counted: HashMap<TaskId, u32> = HashMap::new();
    for attempt in attempts.iter().filter(|attempt| attempt.counted) {
        *counted.entry(root(&store, &attempt.task_id)).or_default() += 1;
    }
    let allowed = world.story.max_total_attempts;
    for (task, counted) in &counted {
        let most = allowed * (1 + go_aheads.get(task).unwrap_or(&0));
        assert!(*counted <= most, "{task}: {counted} of {most}");
    }
    // The whole, from the plan and the settings alone.
    let asks = |session: &&Session| matches!(session, Session::Asks(_));
    let asked = world.story.sessions.iter().filter(asks).count();
    let tasks = world.story.plan.len() + 2 * asked;
    let given: u32 = go_aheads.values().sum();
    let most = u64::from(allowed) * (tasks as u64 + u64::from(given));
    let runs = u64::from(world.last_pid.get());
    let lost = attempts.iter().filter(|attempt| attempt.error_type == Some(ErrorType::Lost));
    assert!(lost.count() as u64 <= runs, "one kill, one lost attempt");
    let all: u64 = counted.values().map(|counted| u64::from(*counted)).sum();
    assert!(all <= most, "{all} counted attempts of {most}");
    let uncounted = attempts.len() as u64 - all;
    let most = (most + runs) * world.story.most_uncounted() + runs;
    assert!(uncounted <= most, "{uncounted} uncounted attempts of {most}");
}

fn root(store: &Store, task: &TaskId) -> TaskId {
    let link = store.fix_link(task).unwrap();
    link.and_then(|link| link.root).unwrap_or_else(|| task.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(32)
    ))]
    #[test]
    fn every_run_ends_and_no_task_gets_more_attempts_than_allowed(story in story()) {
        live(story);
    }
}

#[test]
fn a_parent_at_its_limit_is_blocked_when_its_gate_fails_once_more() {
    let parent = PlanTask { nature: Nature::Arbitrary, parent: None, after: None, gate: true };
    let child = PlanTask { nature: Nature::Good, parent: Some(1), gate: false, ..parent.clone() };
    // The gate fails, the task is split, its parts are done, and the gate fails again: that would be the third failure.
    live(Story {
        plan: vec![parent, child],
        sessions: vec![Session::Asks("SPLIT_TASK"), Session::Done, Session::Done],
        gates: vec![1, 0, 0, 1],
        max_total_attempts: 2,
        ..hopeless_before_good(0, 0)
    });
}

fn hopeless_before_good(hopeless: usize, good: usize) -> Story {
    let task = |nature| PlanTask { nature, parent: None, after: None, gate: false };
    let mut plan = vec![task(Nature::Hopeless(1)); hopeless];
    plan.extend(vec![task(Nature::Good); good]);
    Story {
        plan,
        sessions: vec![Session::Done],
        gates: vec![0],
        answers: Vec::new(),
        stretches: Vec::new(),
        max_attempts: 5,
        max_total_attempts: 15,
        threshold: 5,
        on_open: OnOpen::Wait,
        pause_on: PauseOn::Never,
        recovery: false,
        service_retries: 0,
        strategy: Choice::CostOptimized,
    }
}

#[test]
fn hopeless_tasks_are_forgiven_once_however_many_others_succeed() {
    let (world, _playing) = begin(hopeless_before_good(20, 40));
    world.run(None, None);
    let store = world.store();
    let counts = store.counts().unwrap();
    assert_eq!((counts.done, counts.blocked), (40, 20));
    for task in store.tasks(Some(Status::Blocked)).unwrap() {
        let counted = store.attempt_counts(&task.id).unwrap().counted;
        assert!((5..=10).contains(&counted), "{counted}");
    }
}
