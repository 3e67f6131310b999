//! The real Claude Code and Codex plan; only the model behind them is scripted.

use serde_json::json;

use super::{GOAL, PLAN, PROSE, SAVED, sessions};
use crate::codex::CODEX;
use crate::model_server::Reply;
use crate::stage::{CLAUDE, Player, Stage, user_text};
use crate::support::Project;

/// A stage whose model gives these answers, in order.
fn stage(player: &'static Player, answers: &[&str]) -> Stage {
    let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
    let mut answers = answers.into_iter();
    Stage::with(player, Project::with_git(), move |_| {
        Reply::text(answers.next().unwrap_or_else(|| PLAN.to_owned()))
    })
}

#[test]
fn real_agents_make_a_plan_and_hear_what_was_wrong() {
    let cyclic = PLAN
        .replace("the form\n  - **Do", "the form (depends on 1.2)\n  - **Do")
        .replace("the page\n  - **Do", "the page (depends on 1.1)\n  - **Do");
    let passing = PLAN.replace("test -f page.txt", "true");
    for player in [&CLAUDE, &CODEX] {
        for (answers, reasons) in [
            (vec![PLAN], vec![]),
            (vec![PROSE, PLAN], vec!["the answer contains no plan"]),
            (
                vec![&cyclic, &passing, PLAN],
                vec![
                    "1.1: this task and another one depend on each other",
                    "1.2: the gate `true` passes already",
                ],
            ),
        ] {
            let stage = stage(player, &answers);
            let made = stage.project.json(&["plan", GOAL, "--yes", "--json"]);
            assert_eq!((&made["rounds"], &made["added"]), (&json!(answers.len()), &json!(2)), "{made}");
            assert_eq!(made["agent"], player.agent);
            assert_eq!(stage.project.read(SAVED), PLAN);
            let (last, earlier) =
                sessions(&stage.project).split_last().map(|(a, b)| (a.clone(), b.to_vec())).unwrap();
            assert_eq!(last, format!("plan {} done", answers.len()));
            assert!(earlier.iter().all(|session| session.ends_with("failed")), "{earlier:?}");
            let spent: f64 =
                stage.project.history().iter().map(|row| row["cost_usd"].as_f64().unwrap()).sum();
            assert!(spent > 0.0 && (spent - made["cost_usd"].as_f64().unwrap()).abs() < 1e-9, "{made}");
            let requests = stage.model.requests();
            let asked: Vec<String> =
                requests.iter().map(user_text).filter(|text| text.contains(GOAL)).collect();
            for reason in &reasons {
                assert!(asked.iter().any(|text| text.contains(reason)), "{reason}: {asked:?}");
            }
            assert!(!asked[0].contains("The check of the plan found"), "{}", asked[0]);
            stage.expect_no_process();
        }
    }
}

#[test]
fn real_agents_are_asked_three_times_at_most() {
    for player in [&CLAUDE, &CODEX] {
        let stage = stage(player, &[PROSE; 4]);
        let refused = stage.project.ralph(&["plan", GOAL, "--yes"]).expect_code(1);
        assert!(refused.stderr.contains("no usable plan after 3 rounds"), "{}", refused.stderr);
        assert_eq!(sessions(&stage.project), ["plan 1 failed", "plan 2 failed", "plan 3 failed"]);
        assert!(!stage.project.path(SAVED).exists());
        stage.expect_no_process();
    }
}
