//! Where the default strategy begins: the middle of the ladder, unless experience says that less will do or that more is
//! needed.

use super::ModelQuestion;
use crate::model::{Difficulty, Neighbour, Recent};

/// So many of the last attempts are looked at.
pub const RECENT_WINDOW: u32 = 20;
const LEAST_RECENT: u32 = 3;

/// Whether nearly all went well: four in five.
fn goes_well(recent: Recent) -> bool {
    recent.counted >= LEAST_RECENT && recent.done * 5 >= recent.counted * 4
}

/// The rung of a task's first attempt, and why.
pub(super) fn first_rung(question: &ModelQuestion<'_>, start: usize) -> (usize, String) {
    let near = question.neighbours;
    let (recent, configured) = (question.recent, question.configured.is_some());
    if !configured && start > 0 && looks_easy(question) && goes_well(recent) && !weak(question, 0) {
        let Recent { done, counted } = recent;
        return (0, format!("looks easy, and {done} of the last {counted} attempts succeeded"));
    }
    // A hard task that a cheaper model did: that will do for this one too.
    let enough = (0..start).find(|rung| {
        let did = |task: &&Neighbour| is_hard(task) && task.done.as_ref() == question.ladder.get(*rung);
        !configured && near.iter().any(|task| did(&task)) && !weak(question, *rung)
    });
    if let Some(rung) = enough {
        let names = names(near, |task| is_hard(task) && task.done.as_ref() == question.ladder.get(rung));
        return (rung, format!("it finished {names}, a similar hard task"));
    }
    let top = question.ladder.len().saturating_sub(1);
    let rung = (start..top).find(|rung| !weak(question, *rung)).unwrap_or(top);
    if rung == start || top == start {
        return (start, "default, cost-optimized strategy".into());
    }
    let below = question.ladder.get(rung - 1).map_or("", String::as_str);
    let names = names(near, |task| speaks_against(question, task, rung - 1));
    (rung, format!("{below} failed on {names}, a similar task"))
}

/// By its own estimate, else by those of tasks like it.
fn looks_easy(question: &ModelQuestion<'_>) -> bool {
    let easy = |difficulty: Difficulty| difficulty <= Difficulty::Easy;
    if let Some(own) = question.difficulty {
        return easy(own);
    }
    let mut balance = 0.0;
    for task in question.neighbours {
        match task.difficulty {
            Some(difficulty) if easy(difficulty) => balance += task.likeness,
            Some(_) => balance -= task.likeness,
            None => {}
        }
    }
    balance > 0.0
}

fn is_hard(task: &Neighbour) -> bool {
    task.difficulty.is_some_and(|difficulty| difficulty >= Difficulty::Hard)
}

/// Whether a task shows that a rung is not up to such tasks: it failed there, and the task is hard or another model did
/// it. From the middle of the ladder on a failure alone shows nothing: most tasks fail once. Below it is enough.
fn speaks_against(question: &ModelQuestion<'_>, task: &Neighbour, rung: usize) -> bool {
    let Some(model) = question.ladder.get(rung) else { return false };
    let failed = task.failed.contains(model) && task.done.as_ref() != Some(model);
    let cheap = rung < (question.ladder.len() - 1) / 2;
    failed && (cheap || task.done.is_some() || is_hard(task))
}

/// Whether more speaks against a rung than for it.
fn weak(question: &ModelQuestion<'_>, rung: usize) -> bool {
    let Some(model) = question.ladder.get(rung) else { return false };
    let mut balance = 0.0;
    for task in question.neighbours {
        if speaks_against(question, task, rung) {
            balance -= task.likeness;
        } else if task.done.as_ref() == Some(model) {
            balance += task.likeness;
        }
    }
    balance < 0.0
}

/// At most two names of tasks.
fn names(near: &[Neighbour], which: impl Fn(&Neighbour) -> bool) -> String {
    let names: Vec<&str> =
        near.iter().filter(|task| which(task)).map(|task| task.name.as_str()).take(2).collect();
    names.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::super::model_choice::tests::{ladder, question};
    use super::*;
    use crate::decide::choose_model;
    use crate::model::{ModelChoice, Strategy};

    const WELL: Recent = Recent { done: 9, counted: 10 };

    fn near(difficulty: Option<Difficulty>, failed: &[&str], done: Option<&str>) -> Neighbour {
        Neighbour {
            name: "1.2".into(),
            likeness: 0.8,
            difficulty,
            failed: failed.iter().map(|model| (*model).to_owned()).collect(),
            done: done.map(str::to_owned),
        }
    }

    fn first(
        neighbours: &[Neighbour],
        recent: Recent,
        difficulty: Option<Difficulty>,
        configured: Option<&str>,
    ) -> ModelChoice {
        let ladder = ladder();
        let mut question = question(&ladder, Strategy::CostOptimized, 0);
        question.neighbours = neighbours;
        question.recent = recent;
        question.difficulty = difficulty;
        question.configured = configured;
        choose_model(&question).choice
    }

    #[test]
    fn str_08_an_easy_looking_task_gets_the_cheapest_model_while_all_goes_well() {
        let easy = Some(Difficulty::Easy);
        let chosen = first(&[], WELL, easy, None);
        assert_eq!(chosen.model, "haiku");
        assert_eq!(chosen.rationale, "looks easy, and 9 of the last 10 attempts succeeded");
        let badly = Recent { done: 7, counted: 10 };
        let few = Recent { done: 2, counted: 2 };
        for recent in [badly, few, Recent::default()] {
            assert_eq!(first(&[], recent, easy, None).model, "sonnet");
        }
        assert_eq!(first(&[], WELL, None, None).model, "sonnet");
        assert_eq!(first(&[], WELL, Some(Difficulty::Moderate), None).model, "sonnet");
        assert_eq!(first(&[], WELL, easy, Some("sonnet")).model, "sonnet", "a person's word");
    }

    #[test]
    fn str_08_tasks_like_it_say_whether_it_looks_easy() {
        let easy = near(Some(Difficulty::Trivial), &[], Some("sonnet"));
        let hard = near(Some(Difficulty::Hard), &[], Some("sonnet"));
        assert_eq!(first(std::slice::from_ref(&easy), WELL, None, None).model, "haiku");
        assert_eq!(first(&[easy.clone(), hard], WELL, None, None).model, "sonnet");
        let failed = near(Some(Difficulty::Easy), &["haiku"], None);
        assert_eq!(first(&[easy, failed], WELL, None, None).model, "sonnet");
    }

    #[test]
    fn str_07_a_model_that_did_a_hard_task_suffices_for_one_like_it() {
        let hard = Some(Difficulty::Hard);
        let chosen = first(&[near(hard, &[], Some("sonnet"))], WELL, None, None);
        assert_eq!(chosen.model, "sonnet");
        let chosen = first(&[near(hard, &[], Some("haiku"))], Recent::default(), None, None);
        assert_eq!(chosen.model, "haiku");
        assert_eq!(chosen.rationale, "it finished 1.2, a similar hard task");
        let moderate = near(Some(Difficulty::Moderate), &[], Some("haiku"));
        assert_eq!(first(&[moderate], Recent::default(), None, None).model, "sonnet");
    }

    #[test]
    fn str_07_after_a_task_failed_one_like_it_starts_higher() {
        let hard = near(Some(Difficulty::Hard), &["haiku"], None);
        let chosen = first(&[hard], WELL, None, Some("haiku"));
        assert_eq!(chosen.model, "sonnet");
        assert_eq!(chosen.rationale, "haiku failed on 1.2, a similar task");
        let done_higher = near(None, &["haiku", "sonnet"], Some("opus"));
        assert_eq!(first(&[done_higher], WELL, None, Some("haiku")).model, "opus");
        let open = near(None, &["sonnet"], None);
        assert_eq!(first(&[open], WELL, None, None).model, "sonnet", "a failure alone shows nothing");
        let fixed = near(Some(Difficulty::Hard), &["sonnet"], Some("sonnet"));
        assert_eq!(first(&[fixed], WELL, None, None).model, "sonnet");
        let top = near(Some(Difficulty::Hard), &["haiku", "sonnet", "opus"], None);
        assert_eq!(first(&[top], WELL, None, None).model, "opus");
    }
}
