//! What is stored can be read back: every kind of event, field by field.

use super::*;
use crate::model::Cost;
use crate::recovery::{Failure, FailureFacts};

fn task() -> TaskRef {
    TaskRef {
        task_id: TaskId::from_stored("t-000001"),
        key: Some(Key::from_stored("1.3")),
        spec: Some("dates".into()),
        name: "dates:1.3".into(),
        title: "Parse dates".into(),
    }
}

fn counts() -> PlanCounts {
    PlanCounts { total: 3, pending: 1, done: 2, verified: 1, ..PlanCounts::default() }
}

fn finished() -> AttemptFinished {
    AttemptFinished {
        task: task(),
        attempt_number: 2,
        gate: Some(GateOutcome::Passed),
        attempt: 2,
        iteration: 7,
        agent: Some("claude".into()),
        model: "sonnet".into(),
        outcome: Outcome::NoSigil,
        error_type: Some(ErrorType::Reported("type_error".into())),
        counted: true,
        message: Some("it said nothing".into()),
        duration_ms: 61_000,
        cost_usd: Some(0.25),
        cost_estimated: false,
        tokens_input: Some(10),
        tokens_output: None,
        files_changed: Some(vec!["src/a.rs".into()]),
        gate_files_changed: Vec::new(),
        learned: 1,
        learnt: 1,
        status: Status::Blocked,
        verified: false,
        verification: Verification::default(),
        reason: Some("too often".into()),
    }
}

/// One of every kind; those that differ by what they may lack are there twice.
fn every_kind() -> Vec<EventKind> {
    let mut all = of_attempts();
    all.extend(of_plans());
    all.extend(of_runs());
    all
}

fn of_attempts() -> Vec<EventKind> {
    let id = task().task_id;
    let choice = ModelChoice { model: "sonnet".into(), rationale: "default".into() };
    vec![
        EventKind::LostFound {
            task: task(),
            lost_run_id: RunId::from_stored("r-2"),
            counted: false,
            status: Status::Pending,
            verified: false,
        },
        EventKind::AttemptStarted {
            task: TaskRef { key: None, ..task() },
            attempt: 1,
            iteration: 1,
            agent: "claude".into(),
            choice,
            log_path: None,
            learnings: vec![LearningId::from_stored("l-1")],
            notes: vec![1],
        },
        EventKind::NoteAdded { task: task(), note: "look at a.rs".into(), now: true },
        EventKind::Activity {
            task_id: id.clone(),
            activity: Activity::Tool { name: "Write".into(), target: "src/a.rs".into() },
        },
        EventKind::Activity { task_id: id, activity: Activity::LimitWarning { utilization: Some(0.8) } },
        EventKind::LandingStarted { task: task() },
        EventKind::Landed { task: task(), commit: "abc".into(), branch: "ralph/r-1".into() },
        EventKind::Unmerged { branch: "ralph/r-1".into(), commits: 2, into: Some("main".into()) },
        EventKind::Conflict {
            task: task(),
            kind: ConflictKind::Conflict,
            files: vec!["a.rs".into()],
            others: vec!["1.2".into()],
        },
        EventKind::GateStarted { task: task(), command: "true".into(), run: 1 },
        EventKind::GateFinished {
            task: task(),
            outcome: GateOutcome::TimedOut,
            of: GateOf::Always,
            baseline: true,
            flaky: false,
            duration_ms: 3,
        },
        EventKind::ReviewStarted { task: task(), agent: "codex".into(), model: "gpt".into() },
        EventKind::ReviewFinished {
            task: task(),
            agent: "codex".into(),
            verdict: Some(ReviewVerdict::Rejected),
            findings: vec!["it does half".into()],
            duration_ms: 3,
            cost_usd: None,
        },
        EventKind::GateGreenBefore { task: task(), command: "true".into() },
        EventKind::GateChanged {
            task: task(),
            before: Some("make test".into()),
            after: None,
            by: GateAuthor::Elsewhere,
        },
        EventKind::GateWaiting {
            task: task(),
            path: "specs/a/tasks.md".into(),
            before: Some("make test".into()),
            after: Some("true".into()),
        },
        EventKind::AttemptFinished(Box::new(finished())),
        EventKind::AttemptFinished(Box::new(AttemptFinished {
            error_type: Some(ErrorType::RateLimit),
            files_changed: None,
            cost_usd: None,
            ..finished()
        })),
        EventKind::ParentGate { task: task(), passed: true },
        EventKind::Skipped { task: task() },
        EventKind::HandedOver { task: task(), reason: "not worth it".into() },
    ]
}

fn of_plans() -> Vec<EventKind> {
    vec![
        EventKind::FixCreated {
            task: task(),
            fix: "1.3.1".into(),
            fix_title: "Fix".into(),
            failure: Box::new(Failure::without_block("1", FailureFacts::default(), String::new())),
        },
        EventKind::PlanChange {
            task: task(),
            kind: None,
            reasoning: "why not".into(),
            added: vec!["1.4".into()],
            refusal: Some("too many".into()),
        },
        EventKind::GivenUp { task: task(), lines: vec!["a".into(), "b".into()] },
        EventKind::PlanFileRead { path: "tasks.md".into(), added: 1, updated: 2, finished: 3, removed: 4 },
        EventKind::LearningsTidied {
            merged: vec![Merged {
                into: LearningId::from_stored("l-3"),
                from: vec![LearningId::from_stored("l-1")],
            }],
            pruned: vec![LearningId::from_stored("l-2")],
            undo: Some("m-00000001".into()),
        },
        EventKind::LogsPruned { files: 2, bytes: 4096 },
    ]
}

fn of_runs() -> Vec<EventKind> {
    vec![
        EventKind::RunStarted {
            agent: "claude".into(),
            strategy: "fixed".into(),
            limit: Some(3),
            tasks: counts(),
            without_gate: 1,
            ungated: vec!["1.3".into()],
            gates_off: false,
            already_green: vec!["1.4".into()],
            asked: RunRequested { tasks: vec!["1".into()], task_count: 1, ..RunRequested::default() },
            jobs: 1,
            branch: None,
            sandbox: None,
        },
        EventKind::Progress { tasks: counts(), cost: Cost::new(1.5, 1) },
        EventKind::BreakerOpened {
            failures: 5,
            tasks: 3,
            analysis: Analysis {
                failures: 5,
                pattern: Some("5 of 5: no such file".into()),
                affected: None,
                shared: None,
                models: None,
                suggestion: "look".into(),
            },
        },
        EventKind::BreakerProbes,
        EventKind::Paused,
        EventKind::Resumed,
        EventKind::Waiting {
            waiting_for: WaitingFor::OtherRun,
            reason: "another run".into(),
            until: Some(Timestamp::from_millis(1_700_000_000_123)),
        },
        EventKind::WaitOver,
        EventKind::AgentChanged {
            agent: "codex".into(),
            instead_of: "claude".into(),
            reason: Some("its usage limit".into()),
            limited_until: Some(Timestamp::from_millis(1_700_000_000_123)),
        },
        EventKind::BudgetNear {
            meter: Meter { estimated: true, budget: Budget::DayCost, used: 4.0, most: 5.0 },
            message: "nearly".into(),
        },
        EventKind::BranchChanged { branch: "ralph/night".into() },
        EventKind::Committed { task: task(), commit: "0123456789".into(), files: 2 },
        EventKind::RolledBack {
            task: task(),
            reference: "refs/ralph/rollback/t-000001-001".into(),
            files: 3,
            commits: 1,
        },
        EventKind::HookFailed { hook: HookPoint::AfterRun, message: "exited with code 1".into() },
        EventKind::Warning { message: "mind the gap".into() },
        EventKind::Interrupted { signal: "INT".into(), by_command: false },
        EventKind::RunFinished {
            exit_code: 4,
            outcome: "limit".into(),
            reason: "enough".into(),
            hint: Some("again".into()),
            budget: Some(Budget::RunCost),
            attempts: 3,
            done: 2,
            cost: Cost::new(0.5, 0),
            duration_ms: 1000,
            tasks: counts(),
        },
    ]
}

/// The names of the kinds in the enum's own text: a new kind is missed here until it has a sample.
fn names() -> Vec<String> {
    let (_, body) = include_str!("../event.rs").split_once("pub enum EventKind {\n").unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let variants = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = variants.filter(|line| line.starts_with(char::is_uppercase));
    let snake_case = |variant: &str| {
        let name = variant.split(|c: char| !c.is_alphanumeric()).next().unwrap();
        let mut snake = String::new();
        for c in name.chars() {
            if c.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.extend(c.to_lowercase());
        }
        snake
    };
    variants.map(snake_case).collect()
}

#[test]
fn every_kind_of_event_reads_back_as_it_was_written() {
    let samples = every_kind();
    assert!(names().len() > 30, "{:?}", names());
    for name in names() {
        assert!(samples.iter().any(|kind| kind.name() == name), "no sample of {name}");
    }
    let run = RunId::from_stored("r-1");
    for (seq, kind) in (1..).zip(samples) {
        let name = kind.name();
        let written = RunEvent::new(seq, Timestamp::from_secs(7), &run, kind);
        let json = serde_json::to_string(&written).unwrap();
        let read: RunEvent = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
        assert_eq!(read.kind.name(), name);
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        assert!(json.contains(&format!("\"type\":\"{name}\"")), "{json}");
    }
}
