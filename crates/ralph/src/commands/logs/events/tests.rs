//! The story as it comes out.

use ralph_core::event::{EventKind, RunEvent};
use ralph_core::model::{Cost, Timestamp};
use ralph_core::store::PlanCounts;

use super::*;

fn stored(at: i64, kind: EventKind) -> StoredEvent {
    let at = Timestamp::from_secs(at);
    let event = RunEvent::new(1, at, &RunId::from_stored("r-00000001"), kind);
    StoredEvent {
        seq: 1,
        at,
        kind: event.kind.name().to_owned(),
        json: serde_json::to_string(&event).unwrap(),
    }
}

#[test]
fn a_night_has_two_days_and_what_is_not_known_has_a_name() {
    let tasks = PlanCounts { total: 3, done: 1, ..PlanCounts::default() };
    let day = 86_400;
    // A whole day later: another day on every clock.
    let next = 2 * day;
    let mut unknown = stored(next + 60, EventKind::BreakerProbes);
    unknown.kind = "stars_aligned".into();
    unknown.json = r#"{"type":"stars_aligned"}"#.into();
    let events = [
        stored(
            day - 1,
            EventKind::RunStarted {
                agent: "claude".into(),
                strategy: "fixed".into(),
                limit: None,
                tasks,
                without_gate: 0,
                ungated: Vec::new(),
                gates_off: false,
                already_green: Vec::new(),
                asked: Default::default(),
                jobs: 1,
                branch: None,
                sandbox: None,
            },
        ),
        stored(
            day - 1,
            EventKind::GivenUp {
                task: ralph_core::event::TaskRef {
                    task_id: TaskId::from_stored("t-000001"),
                    key: None,
                    spec: None,
                    name: String::new(),
                    title: "x".into(),
                },
                lines: vec![
                    "ERROR: Max fix attempts (3) reached for task 1.1".into(),
                    "  1.1.1, 1.1.2, 1.1.3".into(),
                ],
            },
        ),
        stored(next + 5, EventKind::Progress { tasks, cost: Cost::new(1.0, 0) }),
        unknown,
        stored(
            next + 3661,
            EventKind::RunFinished {
                exit_code: 5,
                outcome: "nothing_to_run".into(),
                reason: "the remaining tasks are blocked or depend on a failed task".into(),
                hint: Some("`ralph status` shows what each needs".into()),
                budget: None,
                attempts: 3,
                done: 1,
                cost: Cost::new(0.5, 0),
                duration_ms: 3_662_000,
                tasks,
            },
        ),
    ];
    let tell = |width| {
        let mut story = Story::new(width);
        let text: String = events.iter().map(|event| story.line(event)).collect();
        // Times are those of this machine's clock; here they are shown as those of UTC.
        let mut text = anstream::adapter::strip_str(&text).to_string();
        for event in &events {
            let utc = event.at.to_string();
            text = text.replace(&event.at.local()[..10], &utc[..10]);
            text = text.replace(&event.at.local()[11..], &utc[11..19]);
        }
        text
    };
    insta::assert_snapshot!(tell(200), @"
    1970-01-01
    23:59:59  Run r-00000001: 3 tasks, 1 done; agent claude, strategy fixed
    23:59:59  ERROR: Max fix attempts (3) reached for task 1.1
                1.1.1, 1.1.2, 1.1.3
    1970-01-03
    00:01:00  · stars aligned
    01:01:01  Stopped: the remaining tasks are blocked or depend on a failed task
              3 attempts, 1 h 1 min, $0.50
              1 of 3 done (1 unverified)
              hint: `ralph status` shows what each needs
    ");
    for line in tell(30).lines() {
        assert!(ui::table::shown(line.trim_end()) <= 30, "{line:?}");
    }
}
