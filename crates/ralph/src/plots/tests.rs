//! What plots say, and whether they are drawn to scale.

use ralph_core::replay::{Options, Row, replay};

use super::canvas::Ink;
use super::charts::{Mark, Row as Bar, rows};
use super::{decisions, memory};
use crate::facts::{CostPoint, DecisionFacts, MemoryFacts, ModelSpending, StrategyFacts};

#[test]
fn the_title_on_memory_says_how_much_of_it_was_shown() {
    for (learnings, ever_shown, helped, harmed, title) in [
        (0, 0, 0, 0, "No learnings yet"),
        (1, 0, 0, 0, "The only learning was not shown yet"),
        (1200, 0, 0, 0, "None of 1,200 learnings was shown yet"),
        (1, 1, 1, 0, "1 of 1 learning was shown; helped 1 time, harmed 0 times (all runs)"),
        (9, 1, 2, 1, "1 of 9 learnings was shown; helped 2 times, harmed 1 time (all runs)"),
        (
            1200,
            1100,
            2500,
            3,
            "1,100 of 1,200 learnings were shown; helped 2,500 times, harmed 3 times (all runs)",
        ),
    ] {
        let facts = MemoryFacts { learnings, ever_shown, helped, harmed, ..MemoryFacts::default() };
        assert_eq!(memory(&facts).title, title);
    }
}

#[test]
fn a_cost_of_nothing_is_not_an_unknown_cost() {
    let spending = |cost_usd: Option<f64>, attempts_without_cost| ModelSpending {
        model: "local".to_owned(),
        cost_usd,
        cost_estimated: false,
        attempts: 3,
        verified: 2,
        attempts_without_cost,
    };
    let point = |usd: f64| CostPoint {
        at: ralph_core::model::Timestamp::from_secs(1),
        task: Some("1.1".to_owned()),
        verified: 1,
        spent_usd: usd,
        cost_per_verified_usd: usd,
        is_at_least: false,
    };
    // What was spent, the cost of the tasks that became verified; the titles; the cell of the table on spending.
    for (spend, costs, spend_title, cost_title, cell) in [
        (vec![], &[][..], "Nothing was spent yet", "No verified task with a known cost yet", None),
        (
            vec![spending(None, 3)],
            &[],
            "No agent reported what it cost",
            "No verified task with a known cost yet",
            Some("-"),
        ),
        (
            vec![spending(Some(0.0), 0)],
            &[0.0],
            "The agents reported a cost of $0",
            "The first verified task cost $0.00",
            Some("$0.00"),
        ),
        (
            vec![spending(Some(0.0), 0)],
            &[0.0, 0.0],
            "The agents reported a cost of $0",
            "Cost per verified task stayed at about $0.00 over 1 verified task",
            Some("$0.00"),
        ),
        (
            vec![spending(Some(1.5), 0)],
            &[0.0, 0.75],
            "All $1.50 went to local",
            "Cost per verified task rose from $0.00 to $0.75 over 1 verified task",
            Some("$1.50"),
        ),
        (
            vec![spending(Some(1.5), 2)],
            &[0.75],
            "At least $1.50 went to local",
            "The first verified task cost $0.75",
            Some("≥$1.50"),
        ),
    ] {
        let cost_over_time = costs.iter().map(|usd| point(*usd)).collect();
        let facts = DecisionFacts { spend, cost_over_time, ..DecisionFacts::default() };
        let plots = decisions(&facts);
        let plot = |id: &str| plots.iter().find(|plot| plot.id == id).unwrap();
        assert_eq!((plot("spend").title.as_str(), plot("cost").title.as_str()), (spend_title, cost_title));
        assert_eq!(plot("spend").table.rows.first().map(|row| row[1].as_str()), cell);
    }
}

#[test]
fn strategies_are_compared_by_what_the_settings_say_a_task_is_worth() {
    // The small model solves half of the tasks, the large one all of them.
    let outcome = |task: usize, model: &str, success, cost_usd| Row {
        task: format!("t-{task}"),
        model: model.to_owned(),
        success,
        cost_usd: Some(cost_usd),
        difficulty: None,
        attempt: 1,
    };
    let outcomes: Vec<Row> = (0..20)
        .flat_map(|task| [outcome(task, "small", task % 2 == 0, 0.1), outcome(task, "large", true, 3.0)])
        .collect();
    for (value_usd, note) in [
        (0.5, "the value of unsolved tasks (gray), $0.50 each"),
        (100.0, "the value of unsolved tasks (gray), $100.00 each"),
    ] {
        let ladder = vec!["small".to_owned(), "large".to_owned()];
        let options = Options {
            ladder: ladder.clone(),
            value_usd,
            attempts: 4,
            retry_success: 0.0,
            seed: 0,
            model: None,
            impute: true,
        };
        let report = replay(&outcomes, &options);
        let worst = report.strategies.iter().max_by(|a, b| a.loss.total_cmp(&b.loss)).unwrap();
        let (loss, unsolved) = (worst.loss, 1.0 - worst.solved);
        assert!((loss - worst.cost_per_task - unsolved * value_usd).abs() < 1e-9, "{worst:?}");
        let facts = StrategyFacts { current: "adaptive".to_owned(), ladder, value_usd, report };
        let facts = DecisionFacts { strategies: Some(facts), ..DecisionFacts::default() };
        let plot = decisions(&facts).pop().unwrap();
        assert!(plot.note.unwrap().contains(note));
        let loss = crate::ui::format::cost(Some(loss), false);
        assert!(plot.table.rows.iter().any(|row| row[3] == loss), "{:?}", plot.table.rows);
    }
}

/// The values of an attribute, in the order in which elements with a class have it.
fn numbers(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
    let elements = svg.split('<').filter(|rest| rest.starts_with(element));
    let value = |rest: &str| {
        let (_, value) = rest.split_once(&format!(" {attribute}=\""))?;
        value.split('"').next()?.parse().ok()
    };
    elements.filter_map(value).collect()
}

#[test]
fn marks_stand_where_their_values_are_on_the_scale() {
    let row = |mark| Bar {
        name: None,
        label: "model".to_owned(),
        mark,
        value: "value".to_owned(),
        says: "says".to_owned(),
    };
    // Rates, and what part of the way from 0% to 100% each stands at.
    for (rate, low, high) in [(0.0, 0.0, 0.5), (0.5, 0.25, 0.75), (1.0, 0.2, 1.0)] {
        let svg = rows(&[row(Mark::Share { rate, low, high, ink: Ink::Accent })], "says").unwrap();
        let lines = numbers(&svg, "line class=\"s-rule", "x1");
        let (zero, end) = (lines[0], *lines.last().unwrap());
        let at = |part: f64| zero + (end - zero) * part;
        let is_near = |x: f64, part: f64| (x - at(part)).abs() < 0.3;
        assert!(is_near(numbers(&svg, "circle", "cx")[0], rate), "{rate}: {svg}");
        let interval = "line class=\"s-accent interval\"";
        assert!(is_near(numbers(&svg, interval, "x1")[0], low), "{low}: {svg}");
        assert!(is_near(numbers(&svg, interval, "x2")[0], high), "{high}: {svg}");
        for label in ["0%", "50%", "100%"] {
            assert!(svg.contains(&format!(">{label}</text>")), "{svg}");
        }
    }
    // Bars: each as long as its value, pieces one after another.
    let bars = [vec![(4.0, Ink::Accent)], vec![(1.0, Ink::Good), (2.0, Ink::Bad)], vec![(0.0, Ink::Idle)]];
    let svg = rows(&bars.map(|pieces| row(Mark::Bar(pieces))), "says").unwrap();
    let (x, width) = (numbers(&svg, "rect class=\"f-", "x"), numbers(&svg, "rect class=\"f-", "width"));
    assert_eq!(width.len(), 3, "{svg}");
    let unit = width[0] / 4.0;
    for (got, expected) in [(width[1], unit), (width[2], 2.0 * unit), (x[2] - x[1], unit), (x[1] - x[0], 0.0)]
    {
        assert!((got - expected).abs() < 0.3, "{got} {expected}: {svg}");
    }
    assert_eq!(rows(&[], "says"), None);
    assert_eq!(rows(&[row(Mark::Bar(vec![(0.0, Ink::Idle)]))], "says"), None);
}
