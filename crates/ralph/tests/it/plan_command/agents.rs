//! The real Claude Code and Codex plan; only the model behind them is scripted.

use serde_json::json;

use super::{GOAL, PLAN, PROSE, SAVED, sessions};
use crate::codex::CODEX;
use crate::model_server::Reply;
use crate::stage::{CLAUDE, Player, Stage, user_text};
use crate::support::Project;

/// A stage whose model gives these answers, in order.
fn stage(player: &'static Player, answers: &'static [&'static str]) -> Stage {
    let mut answers = answers.iter();
    Stage::with(player, Project::with_git(), move |_| Reply::text(*answers.next().unwrap_or(&PLAN)))
}

#[test]
fn real_agents_make_a_plan_and_hear_what_was_wrong() {
    for player in [&CLAUDE, &CODEX] {
        for answers in [&[PLAN][..], &[PROSE, PLAN]] {
            let stage = stage(player, answers);
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
            let asked = user_text(requests.last().unwrap());
            assert!(asked.contains(GOAL), "{asked}");
            assert_eq!(asked.contains("the answer contains no plan"), answers.len() == 2, "{asked}");
            stage.expect_no_process();
        }
    }
}
