//! Budgets of money and time: read from what is recorded, so that they hold over restarts.

use super::next::Step;
use super::run::{EngineError, Run, StopRun};
use crate::decide::{Budget, Meter, Spent, meters, rest_usd, task_meters};
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::model::{Task, TaskId};

impl Run<'_, '_> {
    /// Stops the run where a budget is used up; warns once where it nearly is.
    pub(super) fn mind_budgets(&mut self) -> Result<Option<StopRun>, EngineError> {
        for meter in self.meters()? {
            if meter.is_reached() {
                let mut stop = StopRun::new(RunExit::Limit, meter.told_reached());
                stop.budget = Some(meter.budget);
                return Ok(Some(stop));
            }
            if meter.is_near() && !self.warned.contains(&meter.budget) {
                self.warned.push(meter.budget);
                self.tell(EventKind::BudgetNear {
                    meter,
                    message: meter.told_near(),
                })?;
            }
        }
        Ok(None)
    }

    /// The budgets of this run and this day.
    fn meters(&self) -> Result<Vec<Meter>, EngineError> {
        let budgets = &self.engine.settings.budgets;
        let now = self.engine.clock.now();
        let steady = self.engine.clock.steady();
        let mut spent = Spent {
            run_time: steady.saturating_sub(self.started_steady),
            ..Spent::default()
        };
        if budgets.run_usd.is_some() {
            let cost = self.engine.store.run_rates(&self.id)?.cost;
            (spent.run_usd, spent.run_estimated) = (cost.known_usd(), cost.cost_estimated);
        }
        if budgets.day_usd.is_some() {
            let cost = self.engine.store.spent_on_day(now)?;
            (spent.day_usd, spent.day_estimated) = (cost.known_usd(), cost.cost_estimated);
        }
        Ok(meters(budgets, &spent))
    }

    fn task_meters(&self, task: &TaskId) -> Result<Vec<Meter>, EngineError> {
        let budgets = &self.engine.settings.budgets;
        if budgets.task_usd.is_none() && budgets.task_time.is_none() {
            return Ok(Vec::new());
        }
        let spent = self.engine.store.spent_on_task(task)?;
        Ok(task_meters(budgets, &spent))
    }

    /// Why a task gets no further attempt: its own budget is used up.
    pub(super) fn task_budget_reached(
        &self,
        task: &Task,
    ) -> Result<Option<(Budget, String)>, EngineError> {
        let meters = self.task_meters(&task.id)?;
        let reached = meters.into_iter().find(Meter::is_reached);
        Ok(reached.map(|meter| {
            let (told, more) = (meter.told_reached(), meter.allow_more());
            let reason = format!("{told}; `ralph run {} {more}` allows more", task.name());
            (meter.budget, reason)
        }))
    }

    /// Warns once where a task's budget is nearly used up.
    pub(super) fn warn_of_task_budget(&mut self, task: &Task) -> Result<(), EngineError> {
        for meter in self.task_meters(&task.id)? {
            let key = (task.id.clone(), meter.budget);
            if !meter.is_near() || meter.is_reached() || self.warned_of_task.contains(&key) {
                continue;
            }
            self.warned_of_task.push(key);
            let message = format!("{}: {}", task.name(), meter.told_near());
            self.tell(EventKind::BudgetNear { meter, message })?;
        }
        Ok(())
    }

    /// An attempt ended because its budget was used up: the loop finds out which one, unless a cent is missing.
    pub(super) fn after_budget(&mut self, task: &Task) -> Result<Step, EngineError> {
        if self.mind_budgets()?.is_some() || self.task_budget_reached(task)?.is_some() {
            return Ok(Step::Continue);
        }
        let reason = "the agent used up the rest of the budget";
        Ok(Step::Stop(StopRun::new(RunExit::Limit, reason)))
    }

    /// What an attempt on a task may cost.
    pub(super) fn rest_of_budgets(&self, task: &TaskId) -> Result<Option<f64>, EngineError> {
        let mut all = self.meters()?;
        all.extend(self.task_meters(task)?);
        Ok(rest_usd(&all))
    }

    /// A cost limit means nothing where nobody can tell what attempts cost.
    pub(super) fn warn_of_unknown_cost(&mut self) -> Result<(), EngineError> {
        let budgets = &self.engine.settings.budgets;
        let limited = budgets.run_usd.or(budgets.day_usd).or(budgets.task_usd);
        if limited.is_none() || self.unknown_cost_told {
            return Ok(());
        }
        self.unknown_cost_told = true;
        let name = self.agent().name();
        let message = format!(
            "{name} does not report its cost, so cost limits do not apply to it; set prices under \
             [agents.{name}] in .ralph.toml: price = {{ MODEL = {{ input = …, output = … }} }}"
        );
        self.tell(EventKind::Warning { message })
    }
}
