//! Budgets: what may be spent, what was, and when a person is warned.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{Cost, SpentOnTask};
use crate::store::Reserved;

/// What may be spent; `None` is without end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budgets {
    pub run_usd: Option<f64>,
    pub day_usd: Option<f64>,
    pub task_usd: Option<f64>,
    pub run_time: Option<Duration>,
    pub task_time: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub run: Cost,
    pub day: Cost,
    pub run_time: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    RunCost,
    DayCost,
    RunTime,
    TaskCost,
    TaskTime,
}

impl Budget {
    /// Its flag, and what people call it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::RunCost => ("--max-cost", "the cost limit"),
            Self::DayCost => ("--max-daily-cost", "today's cost limit"),
            Self::TaskCost => ("--max-task-cost", "the task's cost limit"),
            Self::RunTime => ("--max-minutes", "the time limit"),
            Self::TaskTime => ("--max-task-minutes", "the task's time limit"),
        }
    }

    fn is_money(self) -> bool {
        matches!(self, Self::RunCost | Self::DayCost | Self::TaskCost)
    }
}

/// A budget and how much of it is used: dollars or minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    pub budget: Budget,
    pub used: f64,
    pub most: f64,
    /// Whether an estimate is part of what is used.
    #[serde(default)]
    pub estimated: bool,
}

/// A share of a budget that is worth a warning.
const NEAR: f64 = 0.8;
/// Less than this is a matter of adding floating numbers up.
const NOTHING: f64 = 1e-9;

impl Meter {
    pub fn is_reached(&self) -> bool {
        self.used + NOTHING >= self.most
    }

    /// Whether a person should know that it soon will be.
    pub fn is_near(&self) -> bool {
        self.used + NOTHING >= NEAR * self.most
    }

    /// `the cost limit of $5 was reached ($5.03)`.
    pub fn told_reached(&self) -> String {
        format!("{} was reached ({})", self.limit(), self.amount())
    }

    /// `84% of the cost limit of $5 is used ($4.20)`.
    pub fn told_near(&self) -> String {
        let share = 100.0 * self.used / self.most;
        format!("{share:.0}% of {} is used ({})", self.limit(), self.amount())
    }

    /// The flag that allows as much again: `--max-task-cost 3`.
    pub fn allow_more(&self) -> String {
        let more = 2.0 * self.used.max(self.most);
        let (flag, _) = self.budget.words();
        let more = if more < 1.0 { (more * 100.0).ceil() / 100.0 } else { more.ceil() };
        format!("{flag} {more}")
    }

    fn limit(&self) -> String {
        let most = match self.most.fract() == 0.0 || self.most < 0.01 {
            _ if !self.budget.is_money() => in_minutes(self.most),
            true => format!("${}", self.most),
            false => format!("${:.2}", self.most),
        };
        let (_, limit) = self.budget.words();
        format!("{limit} of {most}")
    }

    fn amount(&self) -> String {
        let about = if self.estimated { "~" } else { "" };
        if self.budget.is_money() { format!("{about}${:.2}", self.used) } else { in_minutes(self.used) }
    }
}

pub fn meters(budgets: &Budgets, spent: &Spent) -> Vec<Meter> {
    let run_time = budgets.run_time.map(minutes);
    let known = [
        meter(Budget::RunCost, spent.run.known_usd(), budgets.run_usd, spent.run.cost_estimated),
        meter(Budget::DayCost, spent.day.known_usd(), budgets.day_usd, spent.day.cost_estimated),
        meter(Budget::RunTime, minutes(spent.run_time), run_time, false),
    ];
    known.into_iter().flatten().collect()
}

pub fn task_meters(budgets: &Budgets, spent: &SpentOnTask) -> Vec<Meter> {
    let known = [
        meter(Budget::TaskCost, spent.usd, budgets.task_usd, spent.estimated),
        meter(Budget::TaskTime, minutes(spent.time), budgets.task_time.map(minutes), false),
    ];
    known.into_iter().flatten().collect()
}

fn meter(budget: Budget, used: f64, most: Option<f64>, estimated: bool) -> Option<Meter> {
    most.map(|most| Meter { budget, used, most, estimated })
}

/// What an attempt may still cost; `None` where no budget says so. Never below nothing.
pub fn rest_usd(meters: &[Meter]) -> Option<f64> {
    let costs = meters.iter().filter(|meter| meter.budget.is_money());
    costs.map(|meter| (meter.most - meter.used).max(0.0)).reduce(f64::min)
}

/// What an attempt of one of several workers may cost, of what is neither spent nor reserved by others: a fair share, but no
/// less than an attempt usually needs. None where that is not left now and others may give something back. `usual` is what
/// attempts of the run cost on average.
pub fn share_usd(meters: &[Meter], reserved: &Reserved, jobs: u32, usual: f64) -> Option<f64> {
    let free = |meter: &Meter| {
        let others = if meter.budget == Budget::RunCost { reserved.run_usd } else { reserved.all_usd };
        (meter.most - meter.used - others).max(0.0)
    };
    let free = meters.iter().filter(|meter| meter.budget.is_money()).map(free).reduce(f64::min)?;
    // The budget is reached, since the run last looked.
    if free <= NOTHING {
        return None;
    }
    let idle = jobs.saturating_sub(reserved.attempts).max(1);
    let share = (free / f64::from(idle)).max(TIMES_USUAL * usual);
    match free + NOTHING >= share {
        true => Some(share.min(free)),
        // Nobody is there who could give anything back.
        false if reserved.all_usd == 0.0 => Some(free),
        false => None,
    }
}

/// An attempt that costs more than this many usual ones is stopped, where others need the budget too.
const TIMES_USUAL: f64 = 2.0;

fn in_minutes(minutes: f64) -> String {
    match minutes < 0.95 {
        true => format!("{} s", (minutes * 60.0).round()),
        false => format!("{} min", (minutes * 10.0).round() / 10.0),
    }
}

fn minutes(duration: Duration) -> f64 {
    duration.as_secs_f64() / 60.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn workers_never_reserve_more_than_is_left(
            most in 0.01_f64..50.0, used in 0.0_f64..60.0, usual in 0.0_f64..10.0,
            jobs in 1_u32..9, ends in proptest::collection::vec((any::<bool>(), 0.0_f64..1.0), 0..60),
        ) {
            let mut spent = used.min(most);
            let mut held: Vec<f64> = Vec::new();
            for (begins, share) in ends {
                let meter = Meter { budget: Budget::RunCost, used: spent, most, estimated: false };
                let sum: f64 = held.iter().sum();
                let attempts = held.iter().filter(|usd| **usd > 0.0).count() as u32;
                let reserved = Reserved { run_usd: sum, all_usd: sum, attempts };
                if begins && held.len() < jobs as usize {
                    match share_usd(&[meter], &reserved, jobs, usual) {
                        Some(usd) => held.push(usd),
                        // Somebody is there who will give something back.
                        None => prop_assert!(sum > 0.0 || meter.is_reached()),
                    }
                } else if let Some(usd) = held.pop() {
                    spent += usd * share;
                }
                prop_assert!(spent + held.iter().sum::<f64>() <= most + 1e-6);
            }
        }
    }

    #[test]
    fn a_share_is_fair_and_no_less_than_an_attempt_usually_needs() {
        let meter = |used: f64| [Meter { budget: Budget::RunCost, used, most: 10.0, estimated: false }];
        let reserved = |usd: f64, attempts: u32| Reserved { run_usd: usd, all_usd: usd, attempts };
        assert_eq!(share_usd(&[], &Reserved::default(), 4, 1.0), None);
        assert_eq!(share_usd(&meter(0.0), &Reserved::default(), 4, 0.0), Some(2.5));
        assert_eq!(share_usd(&meter(0.0), &reserved(7.5, 3), 4, 0.0), Some(2.5));
        assert_eq!(share_usd(&meter(0.0), &Reserved::default(), 4, 2.0), Some(4.0));
        // Too little now: others may give back; without others it is all there is.
        assert_eq!(share_usd(&meter(5.0), &reserved(4.0, 1), 4, 2.0), None);
        assert_eq!(share_usd(&meter(9.0), &Reserved::default(), 4, 2.0), Some(1.0));
        assert_eq!(share_usd(&meter(10.5), &Reserved::default(), 4, 2.0), None);
    }

    #[test]
    fn only_budgets_that_are_set_are_metered() {
        assert!(meters(&Budgets::default(), &Spent::default()).is_empty());
        let budgets =
            Budgets { run_usd: Some(5.0), run_time: Some(Duration::from_secs(3600)), ..Budgets::default() };
        let spent = Spent {
            run: Cost::new(4.2, 0),
            day: Cost::new(9.0, 0).estimated(true),
            run_time: Duration::from_secs(90),
        };
        let told: Vec<String> = meters(&budgets, &spent).iter().map(Meter::told_near).collect();
        assert_eq!(
            told,
            [
                "84% of the cost limit of $5 is used ($4.20)",
                "2% of the time limit of 60 min is used (1.5 min)"
            ]
        );
    }

    #[test]
    fn a_sum_with_an_estimate_in_it_is_about() {
        let budgets =
            Budgets { run_usd: Some(5.0), day_usd: Some(5.0), task_usd: Some(5.0), ..Budgets::default() };
        let run = Cost::new(5.0, 0).estimated(true);
        let spent = Spent { run, day: Cost::new(6.0, 0), ..Spent::default() };
        let mut all = meters(&budgets, &spent);
        all.extend(task_meters(
            &budgets,
            &SpentOnTask { usd: 7.0, estimated: true, ..SpentOnTask::default() },
        ));
        let told: Vec<String> = all.iter().map(Meter::told_reached).collect();
        assert_eq!(
            told,
            [
                "the cost limit of $5 was reached (~$5.00)",
                "today's cost limit of $5 was reached ($6.00)",
                "the task's cost limit of $5 was reached (~$7.00)"
            ]
        );
    }

    #[test]
    fn the_warning_comes_at_four_fifths_and_the_end_at_the_whole() {
        let budgets = Budgets { day_usd: Some(1.0), ..Budgets::default() };
        let at = |usd: f64| {
            let spent = Spent { day: Cost::new(usd, 0), ..Spent::default() };
            let meter = meters(&budgets, &spent).remove(0);
            (meter.is_near(), meter.is_reached())
        };
        assert_eq!(at(0.79), (false, false));
        assert_eq!(at(0.8), (true, false));
        // Ten times a tenth is a dollar, whatever floating numbers make of it.
        assert_eq!(at([0.1; 10].iter().sum()), (true, true));
    }

    proptest! {
        #[test]
        fn the_rest_is_the_least_of_all_and_never_below_nothing(
            run in proptest::option::of(0.0..10.0_f64), day in proptest::option::of(0.0..10.0_f64),
            task in proptest::option::of(0.0..10.0_f64),
            run_usd in 0.0..20.0_f64, day_usd in 0.0..20.0_f64, usd in 0.0..20.0_f64,
        ) {
            let budgets = Budgets { run_usd: run, day_usd: day, task_usd: task, ..Budgets::default() };
            let (of_run, of_day) = (Cost::new(run_usd, 0), Cost::new(day_usd, 0));
            let spent = Spent { run: of_run, day: of_day, ..Spent::default() };
            let mut all = meters(&budgets, &spent);
            all.extend(task_meters(&budgets, &SpentOnTask { usd, ..SpentOnTask::default() }));
            let rest = rest_usd(&all);
            prop_assert_eq!(rest.is_none(), run.or(day).or(task).is_none());
            if let Some(rest) = rest {
                prop_assert!(rest >= 0.0);
                for meter in &all {
                    prop_assert!(rest <= (meter.most - meter.used).max(0.0));
                    // Spending the rest never overruns another budget.
                    prop_assert!(meter.used >= meter.most || meter.used + rest <= meter.most + 1e-9);
                }
            }
        }
    }
}
