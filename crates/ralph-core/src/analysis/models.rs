//! `Models:` which were tried, and whether a task was given to a better one.

use super::input::Fact;
use super::words::distinct;
use crate::model::NO_MODEL;
use crate::text::one_line;

/// How long a name and the whole line's text may get.
const NAME_CHARS: usize = 40;
const MAX_CHARS: usize = 160;

/// The models tried: those of the ladder in its order, then others, longest ago first.
pub(super) fn tried(facts: &[Fact], ladder: &[String]) -> Vec<String> {
    let used: Vec<String> = distinct(
        facts
            .iter()
            .rev()
            .map(|fact| one_line(&fact.model, NAME_CHARS))
            .filter(|model| !model.is_empty() && model != NO_MODEL),
    );
    let rungs: Vec<String> = distinct(ladder.iter().map(|rung| one_line(rung, NAME_CHARS)));
    let (on, off): (Vec<String>, Vec<String>) =
        used.into_iter().partition(|model| rungs.contains(model));
    let mut models: Vec<String> = rungs.into_iter().filter(|rung| on.contains(rung)).collect();
    models.extend(off);
    models
}

/// The line's text.
pub(super) fn line(facts: &[Fact], ladder: &[String]) -> String {
    let models = tried(facts, ladder);
    let text = match models.as_slice() {
        [] => "none tried".to_owned(),
        [only] => format!("{only} only"),
        more => {
            // The remark is worth more than the last of many names.
            let remark = if escalated(facts, ladder) {
                " (escalated)"
            } else {
                " (not escalated)"
            };
            let room = MAX_CHARS - remark.len();
            format!("{}{remark}", one_line(&more.join(", "), room))
        }
    };
    one_line(&text, MAX_CHARS)
}

/// Whether some task was tried with one model and later with a higher one. Where a model is on no
/// rung, any other one afterwards counts.
fn escalated(facts: &[Fact], ladder: &[String]) -> bool {
    let rung = |model: &str| ladder.iter().position(|rung| rung == model);
    let higher = |before: &str, after: &str| match (rung(before), rung(after)) {
        (Some(before), Some(after)) => after > before,
        _ => before != after && before != NO_MODEL && after != NO_MODEL,
    };
    facts.iter().enumerate().any(|(at, newer)| {
        facts.iter().skip(at + 1).any(|older| {
            older.task == newer.task && higher(older.model.as_str(), newer.model.as_str())
        })
    })
}

/// The rung above the only model tried.
pub(super) fn untried_next(facts: &[Fact], ladder: &[String]) -> Option<(String, String)> {
    let models = tried(facts, ladder);
    let [only] = models.as_slice() else {
        return None;
    };
    let at = ladder.iter().position(|rung| rung == only)?;
    let next = ladder.get(at + 1)?;
    Some((only.clone(), one_line(next, NAME_CHARS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(tries: &[(&str, &str)]) -> Vec<Fact> {
        let fact = |(task, model): &(&str, &str)| Fact {
            task: (*task).to_owned(),
            model: (*model).to_owned(),
            ..Fact::default()
        };
        tries.iter().map(fact).collect()
    }

    fn shown(tries: &[(&str, &str)]) -> String {
        line(&facts(tries), &ladder())
    }

    fn ladder() -> Vec<String> {
        ["haiku", "sonnet", "opus"].map(String::from).into()
    }

    #[test]
    fn ana_02_models_are_named_in_the_order_of_the_ladder() {
        assert_eq!(
            shown(&[("a", "opus"), ("a", "sonnet")]),
            "sonnet, opus (escalated)"
        );
        assert_eq!(shown(&[("a", "sonnet"), ("b", "sonnet")]), "sonnet only");
        assert_eq!(shown(&[("a", "none"), ("a", "haiku")]), "haiku only");
        assert_eq!(shown(&[("a", "none"), ("a", "")]), "none tried");
    }

    #[test]
    fn escalation_is_upwards_and_on_one_task() {
        assert_eq!(
            shown(&[("a", "sonnet"), ("a", "opus")]),
            "sonnet, opus (not escalated)"
        );
        assert_eq!(
            shown(&[("a", "opus"), ("b", "sonnet")]),
            "sonnet, opus (not escalated)"
        );
        assert_eq!(
            shown(&[("a", "new"), ("a", "opus")]),
            "opus, new (escalated)"
        );
        assert_eq!(
            shown(&[("a", "opus"), ("b", "haiku"), ("a", "haiku")]),
            "haiku, opus (escalated)"
        );
    }

    #[test]
    fn the_next_rung_is_named_while_there_is_one() {
        let next = |model| untried_next(&facts(&[("a", model)]), &ladder());
        assert_eq!(next("haiku"), Some(("haiku".into(), "sonnet".into())));
        assert_eq!(next("opus"), None);
        assert_eq!(next("other"), None);
    }
}
