//! What may be spent: as a run was started, with its flags, and as the settings say.

use std::time::Duration;

use ralph_core::decide::Budgets;
use ralph_core::model::RunId;
use ralph_core::store::{Store, StoreError};
use serde_json::{Map, Value};

use crate::settings::Settings;

/// The budgets that hold for a run. What all runs of a day may spend is what the settings say, once it is over.
pub fn budgets(
    store: &Store,
    settings: &Settings,
    run: Option<(&RunId, RunTime)>,
) -> Result<Budgets, StoreError> {
    let of_settings = of(settings);
    let Some((run, time)) = run else { return Ok(of_settings) };
    let recorded = store.run_settings(run)?;
    // Older versions recorded none.
    let recorded = recorded.and_then(|json| serde_json::from_str::<Map<String, Value>>(&json).ok());
    let Some(recorded) = recorded.filter(|recorded| !recorded.is_empty()) else { return Ok(of_settings) };
    let number = |key: &str| recorded.get(key)?.as_str()?.parse::<f64>().ok();
    let budgets = Budgets {
        run_usd: number("run.max_cost_usd"),
        day_usd: number("run.max_cost_usd_per_day"),
        task_usd: number("run.max_cost_usd_per_task"),
        run_time: minutes(number("run.max_minutes")),
        task_time: minutes(number("run.max_minutes_per_task")),
    };
    Ok(match time {
        RunTime::UnderWay => budgets,
        RunTime::Over => Budgets { day_usd: of_settings.day_usd, ..budgets },
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTime {
    UnderWay,
    Over,
}

/// The budgets of the next run.
pub fn of(settings: &Settings) -> Budgets {
    let run = &settings.run;
    Budgets {
        run_usd: *run.max_cost_usd,
        day_usd: *run.max_cost_usd_per_day,
        task_usd: *run.max_cost_usd_per_task,
        run_time: minutes(*run.max_minutes),
        task_time: minutes(*run.max_minutes_per_task),
    }
}

fn minutes(minutes: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(minutes? * 60.0).ok()
}
