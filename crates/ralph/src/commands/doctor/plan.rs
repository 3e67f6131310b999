//! The plan: whether there is anything to do, and whether the breaker lets it be done.

use ralph_core::store::{BreakerState, HistoryStore, PlanStore, SqliteStore, StoreError};

use super::finding::{Check, Finding};

const ADD: &str = "ralph task add TITLE --verify COMMAND";

/// What there is to say of a store that can be asked.
pub fn findings(store: &SqliteStore) -> Result<Vec<Finding>, StoreError> {
    let counts = store.counts()?;
    if counts.total == 0 {
        return Ok(vec![empty()]);
    }
    let message = format!("{}; {} ready", counts.summary(), store.ready_count()?);
    let mut findings = vec![Finding::ok(Check::Plan, message)];
    if store.breaker()?.state != BreakerState::Closed {
        let message = "circuit breaker open: the next run makes one trial attempt";
        findings.push(Finding::warning(
            Check::Plan,
            message,
            "ralph breaker reset",
        ));
    }
    Ok(findings)
}

/// There is nothing to do.
pub fn empty() -> Finding {
    Finding::warning(Check::Plan, "no tasks yet", ADD)
}
