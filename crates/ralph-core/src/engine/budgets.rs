//! Budgets of money and time: read from what is recorded, so that they hold over restarts.

use std::time::Duration;

use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
use crate::decide::{Budget, Meter, Spent, meters, rest_usd, share_usd, task_meters};
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::model::{Task, TaskId};
use crate::store::{Claimed, Reserved};

#[derive(Default)]
pub(super) struct BudgetWatch {
    /// When this process began, by the clock that nobody can set, and how long the run had been going on then.
    started: Duration,
    already: Duration,
    /// What the attempt under way may cost, where budgets are shared with other workers.
    reserved: Option<f64>,
    /// Budgets whose near end was told, with the task where it is a task's own.
    warned: Vec<(Option<TaskId>, Budget)>,
    /// A task whose own budget is used up was given to a person, and why.
    pub task_budget_reached: Option<(Budget, String)>,
    unknown_cost_told: bool,
}

impl BudgetWatch {
    pub(super) fn new(started: Duration, already: Duration) -> Self {
        Self { started, already, ..Self::default() }
    }

    /// How long the run has been going on.
    pub(super) fn elapsed(&self, run: &RunContext<'_>) -> Duration {
        run.clock.steady().saturating_sub(self.started) + self.already
    }

    /// Stops the run where a budget is used up; warns once where it nearly is.
    pub(super) fn check(&mut self, run: &mut RunContext<'_>) -> Result {
        for meter in self.meters(run)? {
            if meter.is_reached() {
                let stop = StopRun::budget(meter.budget, meter.told_reached());
                return Err(match meter.budget {
                    // The next run starts with the limits of a run unused, but not with that of the day.
                    Budget::DayCost => {
                        stop.with_hint(format!("`ralph run {}` allows more today (UTC)", meter.allow_more()))
                    }
                    _ => stop,
                }
                .into());
            }
            self.warn_if_near(run, None, meter)?;
        }
        Ok(())
    }

    /// Warns once of each budget of the run that is nearly used up.
    pub(super) fn warn(&mut self, run: &mut RunContext<'_>) -> Result {
        let meters = self.meters(run)?;
        let left = meters.into_iter().filter(|meter| !meter.is_reached());
        left.into_iter().try_for_each(|meter| self.warn_if_near(run, None, meter))
    }

    fn warn_if_near(&mut self, run: &mut RunContext<'_>, task: Option<&Task>, meter: Meter) -> Result {
        // What all workers share the supervisor warns of, once.
        if run.is_worker && task.is_none() {
            return Ok(());
        }
        let key = (task.map(|task| task.id.clone()), meter.budget);
        if !meter.is_near() || self.warned.contains(&key) {
            return Ok(());
        }
        self.warned.push(key);
        let message = match task {
            Some(task) => format!("{}: {}", task.name(), meter.told_near()),
            None => meter.told_near(),
        };
        run.tell(EventKind::BudgetNear { meter, message })
    }

    /// The budgets of this run and this day.
    fn meters(&self, run: &RunContext<'_>) -> Result<Vec<Meter>> {
        let budgets = &run.settings.budgets;
        let run_time = self.elapsed(run);
        let mut spent = Spent { run_time, ..Spent::default() };
        if budgets.run_usd.is_some() {
            spent.run = run.store.run_rates(&run.id)?.cost;
        }
        if budgets.day_usd.is_some() {
            spent.day = run.store.spent_on_day(run.clock.now())?;
        }
        Ok(meters(budgets, &spent))
    }

    fn task_meters(&self, run: &RunContext<'_>, task: &TaskId) -> Result<Vec<Meter>> {
        let budgets = &run.settings.budgets;
        if budgets.task_usd.is_none() && budgets.task_time.is_none() {
            return Ok(Vec::new());
        }
        Ok(task_meters(budgets, &run.store.spent_on_task(task)?))
    }

    /// Why a task gets no further attempt: its own budget is used up.
    pub(super) fn check_task(&self, run: &RunContext<'_>, task: &Task) -> Result<Option<(Budget, String)>> {
        let reached = self.task_meters(run, &task.id)?.into_iter().find(Meter::is_reached);
        Ok(reached.map(|meter| {
            let (told, more) = (meter.told_reached(), meter.allow_more());
            (meter.budget, format!("{told}; `ralph run {} {more}` allows more", task.name()))
        }))
    }

    /// Warns once where a task's budget is nearly used up.
    pub(super) fn warn_of_task(&mut self, run: &mut RunContext<'_>, task: &Task) -> Result {
        let meters = self.task_meters(run, &task.id)?.into_iter();
        let mut left = meters.filter(|meter| !meter.is_reached());
        left.try_for_each(|meter| self.warn_if_near(run, Some(task), meter))
    }

    /// An attempt ended because its budget was used up: the loop finds out which one, unless a cent is missing.
    pub(super) fn stop_after_budget(&mut self, run: &mut RunContext<'_>, task: &Task) -> Result {
        let reached = self.meters(run)?.iter().any(Meter::is_reached);
        // What was reserved for one attempt is not all there is.
        if reached || run.is_worker || self.check_task(run, task)?.is_some() {
            return Ok(());
        }
        Err(StopRun::new(RunExit::Limit, "the agent used up the rest of the cost limit").into())
    }

    pub(super) fn rest(&self, run: &RunContext<'_>, task: &TaskId) -> Result<Option<f64>> {
        let of_task = self.task_meters(run, task)?;
        if run.is_worker {
            return Ok([self.reserved, rest_usd(&of_task)].into_iter().flatten().reduce(f64::min));
        }
        let mut all = self.meters(run)?;
        all.extend(of_task);
        Ok(rest_usd(&all))
    }

    /// Reserves what an attempt of a worker may cost, so that all of them together never spend more than the budgets allow.
    /// `false` where it has to wait for what others have reserved.
    pub(super) fn reserve(&mut self, run: &mut RunContext<'_>, claimed: &Claimed) -> Result<bool> {
        self.reserved = None;
        let budgets = run.settings.budgets;
        if budgets.run_usd.is_none() && budgets.day_usd.is_none() {
            return Ok(true);
        }
        let (id, token, jobs) = (&claimed.task.id, &claimed.token, run.jobs);
        let mut meters = self.meters(run)?;
        loop {
            let rates = run.store.run_rates(&run.id)?;
            let usual = match rates.counted {
                0 => run.store.usual_cost()?,
                counted => rates.cost.known_usd() / f64::from(counted),
            };
            let decide = |reserved: &Reserved| share_usd(&meters, reserved, jobs, usual);
            self.reserved = run.store.reserve(id, token, &run.id, decide)?;
            // An attempt that ended meanwhile has given back what it reserved, and what it cost was not looked at.
            let now = self.meters(run)?;
            if rest_usd(&meters) == rest_usd(&now) {
                return Ok(self.reserved.is_some());
            }
            meters = now;
        }
    }

    /// A cost limit means nothing where nobody can tell what attempts cost.
    pub(super) fn warn_of_unknown_cost(
        &mut self,
        run: &mut RunContext<'_>,
        agent: &str,
        model: &str,
    ) -> Result {
        let budgets = &run.settings.budgets;
        let limited = budgets.run_usd.or(budgets.day_usd).or(budgets.task_usd);
        if limited.is_none() || self.unknown_cost_told {
            return Ok(());
        }
        self.unknown_cost_told = true;
        run.warn(format!(
            "the cost of {model} ({agent}) is unknown, so cost limits do not apply to it; set its price under \
             [agents.{agent}] in .ralph.toml: price = {{ \"{model}\" = {{ input = …, output = … }} }}"
        ))
    }
}
