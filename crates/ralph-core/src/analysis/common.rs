//! What failures have in common: the file they name or changed, the phase or key prefix, and the models tried.

use super::failures::Failure;
use super::{Fact, NAME_CHARS};
use crate::model::NO_MODEL;
use crate::text::{code_line, one_line};

/// How many files of a failure are looked at, and how much of a path is shown.
const MAX_FILES: usize = 100;
const PATH_CHARS: usize = 120;

const MAX_PARTS: usize = 8;

const MODELS_CHARS: usize = 160;

pub(super) fn is_most(count: usize, of: usize) -> bool {
    count.saturating_mul(2) > of
}

/// At least three of four.
pub(super) fn is_nearly_all(count: usize, of: usize) -> bool {
    count > 0 && count.saturating_mul(4) >= of.saturating_mul(3)
}

/// Each different item with how often it came, in the order of first appearance.
pub(super) fn tally<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts: Vec<(T, usize)> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(known, _)| *known == item) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    counts
}

/// The item that came most often; of equals the one that came first, which is the newest.
pub(super) fn commonest<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Option<(T, usize)> {
    // Of equals `max_by_key` takes the last.
    let counts = tally(items);
    counts.into_iter().rev().max_by_key(|(_, count)| *count)
}

/// The different items in the order of first appearance.
pub(super) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    tally(items).into_iter().map(|(item, _)| item).collect()
}

/// The file that most failures name or changed.
pub(super) fn affected(failures: &[Failure<'_>]) -> Option<String> {
    let (file, count) = commonest(failures.iter().flat_map(files))?;
    Some(format!("{file} ({count} of {})", failures.len()))
}

/// A failure's files, each once. Where it lists none, those that its message names.
pub(super) fn files(failure: &Failure<'_>) -> Vec<String> {
    let plain = |files: &[String]| -> Vec<String> {
        let files = files.iter().take(MAX_FILES);
        distinct(files.filter_map(|file| plain_path(file)))
    };
    match plain(&failure.fact.files) {
        none if none.is_empty() => plain(&failure.diagnosis.files()),
        listed => listed,
    }
}

/// A path as it is shown; none for Ralph's own files, which every attempt touches.
fn plain_path(path: &str) -> Option<String> {
    let path = code_line(path, PATH_CHARS);
    let path = path.strip_prefix("./").unwrap_or(&path);
    let own = path.split('/').any(|part| part == ".ralph") || path.rsplit('/').next() == Some("AGENTS.md");
    (!path.is_empty() && !own).then(|| path.to_owned())
}

/// The phase or the key prefix of nearly all failures, where they are of several tasks.
pub(super) fn shared(facts: &[Fact]) -> Option<String> {
    let phase = |fact: &Fact| fact.phase.clone().filter(|phase| !phase.trim().is_empty());
    let by_parts = |parts| shared_by_tasks(facts, |fact| key_prefix(fact.key.as_deref()?, parts));
    let (what, (value, count)) = match shared_by_tasks(facts, phase) {
        Some(phase) => ("phase", phase),
        // The longest prefix says most.
        None => ("key prefix", (1..=MAX_PARTS).rev().find_map(by_parts)?),
    };
    let value = one_line(&value, NAME_CHARS);
    Some(match facts.len() {
        all if count == all => format!("{what} {value}"),
        all => format!("{what} {value} ({count} of {all})"),
    })
}

/// The value that nearly all failures have, two tasks among them.
fn shared_by_tasks(facts: &[Fact], of: impl Fn(&Fact) -> Option<String>) -> Option<(String, usize)> {
    let (value, count) = commonest(facts.iter().filter_map(&of))?;
    let has_it = |fact: &&Fact| of(fact).as_ref() == Some(&value);
    let tasks = distinct(facts.iter().filter(has_it).map(|fact| fact.task.as_str()));
    (tasks.len() > 1 && is_nearly_all(count, facts.len())).then_some((value, count))
}

/// The first parts of a key: two of `1.2.3` are `1.2`, one of `12-01` is `12`.
fn key_prefix(key: &str, parts: usize) -> Option<String> {
    let ends = key.match_indices(['.', '-', '/']).map(|(at, _)| at);
    let end = ends.chain([key.len()]).nth(parts.checked_sub(1)?)?;
    let prefix = key.get(..end).filter(|prefix| !prefix.is_empty());
    prefix.map(str::to_owned)
}

/// The models tried: those of the ladder in its order, then others, longest ago first.
pub(super) fn models_tried<'f>(
    facts: impl DoubleEndedIterator<Item = &'f Fact>,
    ladder: &[String],
) -> Vec<String> {
    let used = facts.rev().map(|fact| one_line(&fact.model, NAME_CHARS));
    let used = distinct(used.filter(|model| !model.is_empty() && model != NO_MODEL));
    let rungs = distinct(ladder.iter().map(|rung| one_line(rung, NAME_CHARS)));
    let on = rungs.iter().filter(|rung| used.contains(rung));
    let off = used.iter().filter(|model| !rungs.contains(model));
    on.chain(off).cloned().collect()
}

pub(super) fn models_line(facts: &[Fact], ladder: &[String]) -> String {
    let models = models_tried(facts.iter(), ladder);
    let text = match models.as_slice() {
        [] => "none tried".to_owned(),
        [only] => format!("{only} only"),
        more => {
            // The remark is worth more than the last of many names.
            let remark = if escalated(facts, ladder) { " (escalated)" } else { "" };
            let room = MODELS_CHARS - remark.len();
            format!("{}{remark}", one_line(&more.join(", "), room))
        }
    };
    one_line(&text, MODELS_CHARS)
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
        let mut older = facts.iter().skip(at + 1);
        older.any(|older| older.task == newer.task && higher(&older.model, &newer.model))
    })
}

pub(super) fn untried_next(facts: &[Fact], ladder: &[String]) -> Option<(String, String)> {
    let models = models_tried(facts.iter(), ladder);
    let [only] = models.as_slice() else { return None };
    let at = ladder.iter().position(|rung| rung == only)?;
    let next = ladder.get(at + 1)?;
    Some((only.clone(), one_line(next, NAME_CHARS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(of: &[(&str, &str)]) -> Vec<Fact> {
        let fact = |(task, model): &(&str, &str)| Fact {
            task: (*task).to_owned(),
            key: Some((*task).to_owned()),
            model: (*model).to_owned(),
            ..Fact::default()
        };
        of.iter().map(fact).collect()
    }

    fn ladder() -> Vec<String> {
        ["haiku", "sonnet", "opus"].map(String::from).into()
    }

    #[test]
    fn most_is_more_than_half_and_nearly_all_three_of_four() {
        let most: Vec<usize> = (0..=5).filter(|count| is_most(*count, 5)).collect();
        assert_eq!(most, [3, 4, 5]);
        assert!(!is_most(2, 4) && !is_most(0, 0));
        assert!(is_nearly_all(3, 4) && is_nearly_all(4, 5));
        assert!(!is_nearly_all(3, 5) && !is_nearly_all(0, 0));
    }

    #[test]
    fn of_equals_the_first_is_the_commonest() {
        assert_eq!(commonest(["b", "a", "b", "a"]), Some(("b", 2)));
        assert_eq!(commonest(["b", "a", "a"]), Some(("a", 2)));
        assert_eq!(commonest(Vec::<u8>::new()), None);
    }

    #[test]
    fn ana_02_models_are_named_in_the_order_of_the_ladder() {
        for (tries, expected) in [
            (&[("a", "opus"), ("a", "sonnet")][..], "sonnet, opus (escalated)"),
            (&[("a", "sonnet"), ("b", "sonnet")], "sonnet only"),
            (&[("a", "none"), ("a", "haiku")], "haiku only"),
            (&[("a", "none"), ("a", "")], "none tried"),
            // Escalation is upwards and on one task.
            (&[("a", "sonnet"), ("a", "opus")], "sonnet, opus"),
            (&[("a", "opus"), ("b", "sonnet")], "sonnet, opus"),
            (&[("a", "new"), ("a", "opus")], "opus, new (escalated)"),
            (&[("a", "opus"), ("b", "haiku"), ("a", "haiku")], "haiku, opus (escalated)"),
        ] {
            assert_eq!(models_line(&facts(tries), &ladder()), expected, "{tries:?}");
        }
    }

    #[test]
    fn the_next_rung_is_named_while_there_is_one() {
        let next = |model| untried_next(&facts(&[("a", model)]), &ladder());
        assert_eq!(next("haiku"), Some(("haiku".into(), "sonnet".into())));
        assert_eq!(next("opus"), None);
        assert_eq!(next("other"), None);
    }

    #[test]
    fn ana_02_the_longest_common_prefix_of_keys_is_told() {
        let of = |keys: &[&str]| shared(&facts(&keys.iter().map(|key| (*key, "")).collect::<Vec<_>>()));
        assert_eq!(of(&["1.2.1", "1.2.3"]).as_deref(), Some("key prefix 1.2"));
        assert_eq!(of(&["12-01", "12-02"]).as_deref(), Some("key prefix 12"));
        let most = of(&["1.2.1", "1.2.3", "1.2", "3.1"]);
        assert_eq!(most.as_deref(), Some("key prefix 1.2 (3 of 4)"));
        assert_eq!(of(&["1.1", "12.1"]), None);
        assert_eq!(of(&["V4", "V5"]), None);
    }

    #[test]
    fn ana_02_one_task_shares_nothing() {
        assert_eq!(shared(&facts(&[("1.2", ""), ("1.2", "")])), None);
        assert_eq!(shared(&[]), None);
    }

    #[test]
    fn ana_02_a_phase_is_shared_by_three_of_four() {
        let mut facts = facts(&[("1.1", ""), ("2.1", ""), ("3.1", ""), ("4.1", "")]);
        for fact in facts.iter_mut().take(3) {
            fact.phase = Some("2".into());
        }
        assert_eq!(shared(&facts).as_deref(), Some("phase 2 (3 of 4)"));
        facts[0].phase = Some("1".into());
        assert_eq!(shared(&facts), None);
    }

    fn affected_by(all: &[(&[&str], &str)]) -> Option<String> {
        let fact = |(files, message): &(&[&str], &str)| Fact {
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            message: (*message).to_owned(),
            ..Fact::default()
        };
        let facts: Vec<Fact> = all.iter().map(fact).collect();
        affected(&facts.iter().map(Failure::new).collect::<Vec<_>>())
    }

    #[test]
    fn ana_01_the_commonest_file_is_counted_once_for_each_failure() {
        let all: [(&[&str], &str); 3] =
            [(&["a.rs", "a.rs", "a.rs"], ""), (&["b.toml"], ""), (&["./b.toml", "c.sql"], "")];
        assert_eq!(affected_by(&all).as_deref(), Some("b.toml (2 of 3)"));
    }

    #[test]
    fn ana_02_ralphs_own_files_are_not_affected() {
        let own: &[&str] = &[".ralph/STATE.md", "AGENTS.md", "/p/.ralph/x", "./AGENTS.md"];
        assert_eq!(affected_by(&[(own, "")]), None);
        let named = affected_by(&[(own, "bad conf/a.yaml")]);
        assert_eq!(named.as_deref(), Some("conf/a.yaml (1 of 1)"));
        let other = affected_by(&[(&["x.ralph/a"], "")]);
        assert_eq!(other.as_deref(), Some("x.ralph/a (1 of 1)"));
    }

    #[test]
    fn ana_02_nothing_found_is_no_line() {
        assert_eq!(affected_by(&[(&[], "no idea"), (&["", " \n"], "")]), None);
    }
}
