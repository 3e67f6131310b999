//! The plots on decisions: cost per verified task, success by model, retries, spending, strategies.

use ralph_core::text::one_line;

use super::canvas::Ink;
use super::charts::{self, Line, Mark, Point, Row};
use super::{Plot, Values};
use crate::facts::{
    CostPoint, DecisionFacts, ModelSpending, ModelSuccess, RetryKind, RetryResult, Share, StrategyFacts,
};
use crate::ui::format::{self, counted};

/// Models drawn; the table has all.
const MODELS: usize = 6;
const NAME_CHARS: usize = 40;
/// A line goes up or down if its ends differ by this part.
const CHANGE: f64 = 0.1;

/// All of them, in the order in which a page shows them. Where there is nothing to draw, the sentence says so.
pub fn decisions(facts: &DecisionFacts) -> Vec<Plot> {
    vec![
        cost(&facts.cost_over_time),
        success(&facts.success),
        retries(&facts.retries),
        spend(&facts.spend),
        strategies(facts.strategies.as_ref()),
    ]
}

fn nothing(id: &'static str, title: &str) -> Plot {
    Plot { id, title: title.to_owned(), note: None, svg: None, table: Values::default() }
}

fn name(model: &str) -> String {
    one_line(model, NAME_CHARS)
}

fn usd(amount: f64) -> String {
    format::cost(Some(amount), false)
}

fn percent(rate: f64) -> String {
    format!("{:.0}%", rate * 100.0)
}

/// `48% of 23`.
fn of(share: &Share) -> String {
    format!("{} of {}", percent(share.rate), share.of)
}

/// How many of how many, the rate and its interval, as cells of a table.
fn cells(share: &Share) -> [String; 4] {
    let interval = format!("{} to {}", percent(share.low), percent(share.high));
    [share.done.to_string(), share.of.to_string(), percent(share.rate), interval]
}

/// The same in words.
fn in_words(share: &Share) -> String {
    let [done, of, rate, interval] = cells(share);
    format!("{done} of {of} done ({rate}); 95% interval {interval}")
}

fn mark(share: &Share, ink: Ink) -> Mark {
    Mark::Share { rate: share.rate, low: share.low, high: share.high, ink }
}

fn at_least(point: &CostPoint) -> &'static str {
    if point.is_at_least { "at least " } else { "" }
}

fn cost(points: &[CostPoint]) -> Plot {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return nothing("cost", "No verified task with a known cost yet");
    };
    let (from, to) = (first.cost_per_verified_usd, last.cost_per_verified_usd);
    let tasks = counted(last.verified, "verified task");
    let went = |how: &str| {
        let (from, to, at_least) = (usd(from), usd(to), at_least(last));
        format!("Cost per verified task {how} from {from} to {at_least}{to} over {tasks}")
    };
    let title = match (to - from) / from {
        _ if points.len() == 1 => format!("The first verified task cost {}{}", at_least(last), usd(to)),
        change if change > CHANGE => went("rose"),
        change if change < -CHANGE => went("fell"),
        _ if last.is_at_least => format!("Cost per verified task is at least {} over {tasks}", usd(to)),
        _ => format!("Cost per verified task stayed at about {} over {tasks}", usd(to)),
    };
    let line = Line {
        points: points
            .iter()
            .map(|point| Point {
                at: point.at.as_millis() as f64 / 1000.0,
                value: point.cost_per_verified_usd,
                says: format!(
                    "{}: {} verified{}, {}{} spent, {} each",
                    point.at.local_near(last.at),
                    counted(point.verified, "task"),
                    task(point).map(|task| format!(" with {task}")).unwrap_or_default(),
                    at_least(point),
                    usd(point.spent_usd),
                    usd(point.cost_per_verified_usd)
                ),
            })
            .collect(),
        below: below(points),
        amount: &|amount| usd(amount),
    };
    let rows = points.iter().map(|point| {
        vec![
            point.at.local(),
            task(point).unwrap_or_else(|| "(end)".to_owned()),
            point.verified.to_string(),
            format!("{}{}", at_least(point), usd(point.spent_usd)),
            usd(point.cost_per_verified_usd),
        ]
    });
    let table = Values {
        headings: vec!["When", "Task", "Verified", "Spent until then", "Per verified task"],
        rows: rows.collect(),
    };
    let note = match last.is_at_least {
        true => {
            "What was spent so far, failures and reviews included, for each verified task. Some attempts did not report a cost."
        }
        false => "What was spent so far, failures and reviews included, for each verified task.",
    };
    Plot { id: "cost", svg: charts::line(&line, &title), title, note: Some(note.to_owned()), table }
}

fn task(point: &CostPoint) -> Option<String> {
    Some(one_line(point.task.as_deref()?, NAME_CHARS))
}

/// The times of the ends and of the middle.
fn below(points: &[CostPoint]) -> Vec<(usize, String)> {
    let end = points.len() - 1;
    let mut places = vec![0, end / 2, end];
    places.dedup();
    if end < 4 {
        places.retain(|place| *place == 0 || *place == end);
    }
    let near = points.first().map(|point| point.at);
    let time = |place: usize| {
        let at = points.get(place)?.at;
        Some((place, at.local_near(near?)))
    };
    places.into_iter().filter_map(time).collect()
}

fn success(models: &[ModelSuccess]) -> Plot {
    let firsts: Vec<(&str, Share)> = models
        .iter()
        .filter_map(|of| Some((of.model.as_str(), of.attempts.iter().find(|one| one.attempt == 1)?.share)))
        .collect();
    let title = match &firsts[..] {
        [] if models.is_empty() => return nothing("success", "No attempts yet"),
        [] => "No first attempts: the tasks had been attempted before".to_owned(),
        [(model, share)] => format!(
            "{} finished {} of {} on the first attempt",
            name(model),
            share.done,
            counted(share.of, "task")
        ),
        [(one, of_one), (other, of_other), ..] => {
            let sure = if of_one.is_apart(of_other) { "" } else { ", too few to tell them apart" };
            format!(
                "On the first attempt {} finished {} of its tasks and {} {}{sure}",
                name(one),
                percent(of_one.rate),
                name(other),
                percent(of_other.rate)
            )
        }
    };
    let label = |attempt: u32, and_later: bool| match and_later {
        true => format!("attempt {attempt} and later"),
        false => format!("attempt {attempt}"),
    };
    let mut rows = Vec::new();
    let mut table = Vec::new();
    for (place, ModelSuccess { model, attempts }) in models.iter().enumerate() {
        for (at, one) in attempts.iter().enumerate() {
            let share = one.share;
            let label = label(one.attempt, one.and_later);
            table.push([name(model), label.clone()].into_iter().chain(cells(&share)).collect());
            if place < MODELS {
                rows.push(Row {
                    name: (at == 0).then(|| name(model)),
                    says: format!("{}, {label}: {}", name(model), in_words(&share)),
                    label,
                    mark: mark(&share, Ink::Accent),
                    value: of(&share),
                });
            }
        }
    }
    let headings = vec!["Model", "Attempt", "Done", "Of", "Rate", "95% interval"];
    let left_out = models.len().saturating_sub(MODELS);
    let more = match left_out {
        0 => String::new(),
        n => format!(" {} only in the table.", counted(n as u64, "more model")),
    };
    let note = format!(
        "Attempts that ended done. Lines show the 95% interval, which is wide after few attempts.{more}"
    );
    Plot::of_rows("success", title, Some(note), &rows, headings, table.into_iter())
}

fn kind(kind: RetryKind) -> &'static str {
    match kind {
        RetryKind::FirstAttempt => "first attempt",
        RetryKind::SameModel => "same model again",
        RetryKind::OtherModel => "model changed",
        RetryKind::AfterNote => "after your note",
    }
}

fn retries(results: &[RetryResult]) -> Plot {
    let find = |kind: RetryKind| results.iter().find(|result| result.kind == kind).map(|result| result.share);
    let title = match (find(RetryKind::SameModel), find(RetryKind::OtherModel)) {
        _ if results.is_empty() => return nothing("retries", "No attempts yet"),
        (None, None) => "No second attempt so far".to_owned(),
        (Some(same), None) => {
            format!("A retry with the same model worked {} of {} times", same.done, same.of)
        }
        (None, Some(other)) => {
            format!("A retry with another model worked {} of {} times", other.done, other.of)
        }
        (Some(same), Some(other)) => {
            let sure = if same.is_apart(&other) { "" } else { "; too few to tell them apart" };
            format!(
                "The same model again worked in {} of retries, another model in {}{sure}",
                percent(same.rate),
                percent(other.rate)
            )
        }
    };
    let cost = |result: &RetryResult| {
        format::cost_at_least(result.cost_usd, result.cost_estimated, result.attempts_without_cost)
    };
    let rows: Vec<Row> = results
        .iter()
        .map(|result| {
            let ink = if result.kind == RetryKind::FirstAttempt { Ink::Idle } else { Ink::Accent };
            let kind = kind(result.kind);
            Row {
                name: None,
                label: kind.to_owned(),
                mark: mark(&result.share, ink),
                value: of(&result.share),
                says: format!("{kind}: {}; cost {}", in_words(&result.share), cost(result)),
            }
        })
        .collect();
    let cells = results.iter().map(|result| {
        let kind = [kind(result.kind).to_owned()].into_iter();
        kind.chain(cells(&result.share)).chain([cost(result)]).collect()
    });
    let headings = vec!["Attempt", "Done", "Of", "Rate", "95% interval", "Cost"];
    let note = match find(RetryKind::AfterNote) {
        Some(_) => " Attempts after your note are also in one of the other rows.",
        None => "",
    };
    let note = format!(
        "Model changed: by escalation, as a fallback, or by you. A task that was done and is reset begins anew.{note}"
    );
    Plot::of_rows("retries", title, Some(note), &rows, headings, cells)
}

fn spend(models: &[ModelSpending]) -> Plot {
    let known = |of: &&ModelSpending| of.cost_usd.is_some();
    let at_least = if models.iter().any(|of| of.attempts_without_cost > 0) { "at least " } else { "" };
    let total: f64 = models.iter().filter_map(|of| of.cost_usd).sum();
    let spent: Vec<&ModelSpending> = models.iter().filter(known).collect();
    let title = match spent.as_slice() {
        [] if models.is_empty() => return nothing("spend", "Nothing was spent yet"),
        [] => "No agent reported what it cost".to_owned(),
        _ if total <= 0.0 => "The agents reported a cost of $0".to_owned(),
        [only] if at_least.is_empty() => format!("All {} went to {}", usd(total), name(&only.model)),
        [only] => format!("At least {} went to {}", usd(total), name(&only.model)),
        [first, ..] => format!(
            "{} took {} of {at_least}{}",
            name(&first.model),
            usd(first.cost_usd.unwrap_or_default()),
            usd(total)
        ),
    };
    let cost =
        |of: &ModelSpending| format::cost_at_least(of.cost_usd, of.cost_estimated, of.attempts_without_cost);
    let rows: Vec<Row> = spent
        .iter()
        .take(MODELS)
        .map(|of| Row {
            name: None,
            label: name(&of.model),
            mark: Mark::Bar(vec![(of.cost_usd.unwrap_or_default(), Ink::Accent)]),
            value: format!("{} · {} verified", cost(of), of.verified),
            says: format!(
                "{}: {} for {}, {} verified",
                name(&of.model),
                cost(of),
                counted(of.attempts, "attempt"),
                of.verified
            ),
        })
        .collect();
    let cells = models.iter().map(|of| {
        let each = of.cost_usd.filter(|_| of.verified > 0).map(|usd| usd / of.verified as f64);
        vec![
            name(&of.model),
            cost(of),
            of.attempts.to_string(),
            of.verified.to_string(),
            format::cost(each, of.cost_estimated),
        ]
    });
    let headings = vec!["Model", "Cost", "Attempts", "Verified", "Per verified task"];
    Plot::of_rows("spend", title, None, &rows, headings, cells)
}

fn strategies(facts: Option<&StrategyFacts>) -> Plot {
    let Some(facts) = facts else {
        return nothing(
            "strategies",
            "Too few attempts to compare strategies: at least 10 attempts with 2 models are needed",
        );
    };
    let report = &facts.report;
    let mut scores: Vec<_> = report.strategies.iter().collect();
    scores.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let Some(best) = scores.first() else {
        return nothing("strategies", "There is no strategy to compare");
    };
    let current = scores.iter().find(|score| score.name == facts.current);
    let title = match current {
        Some(current) if current.loss <= best.loss => {
            format!(
                "Your strategy, {}, would cost least, unsolved tasks included: {} per task",
                current.name,
                usd(current.loss)
            )
        }
        Some(current) => format!(
            "{} would cost {} per task, unsolved tasks included; your strategy, {}, {}",
            best.name,
            usd(best.loss),
            current.name,
            usd(current.loss)
        ),
        None => {
            format!("{} would cost least, unsolved tasks included: {} per task", best.name, usd(best.loss))
        }
    };
    let rows: Vec<Row> = scores
        .iter()
        .map(|score| Row {
            name: None,
            label: score.name.to_string(),
            mark: Mark::Bar(vec![
                (score.cost_per_task, Ink::Accent),
                ((score.loss - score.cost_per_task).max(0.0), Ink::Idle),
            ]),
            value: format!("{} · {} solved", usd(score.loss), percent(score.solved)),
            says: format!(
                "{}: {} cost per task, {} solved, loss {}",
                score.name,
                usd(score.cost_per_task),
                percent(score.solved),
                usd(score.loss)
            ),
        })
        .collect();
    let all = scores.iter().copied().chain([&report.best_fixed.score, &report.oracle]);
    let cells = all.map(|score| {
        vec![score.name.to_string(), percent(score.solved), usd(score.cost_per_task), usd(score.loss)]
    });
    let imputed = match report.imputed {
        0 => String::new(),
        n => format!(
            " {} not recorded: estimated from the model's success rate, so the figures are rough.",
            counted(n as u64, "outcome")
        ),
    };
    let note = format!(
        "{} replayed. Loss is cost (blue) plus the value of unsolved tasks (gray), {} each.{imputed}",
        counted(report.tasks as u64, "task"),
        usd(facts.value_usd)
    );
    let headings = vec!["Strategy", "Solved", "Cost per task", "Loss"];
    Plot::of_rows("strategies", title, Some(note), &rows, headings, cells)
}
