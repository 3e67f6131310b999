//! Gates: whether the programs they start are there.

use std::path::Path;

use ralph_core::engine::{DueGate, open_gates, told_unready, unready_gates};
use ralph_core::gate::{PIPE_SHELL, has_pipe};
use ralph_core::store::{SqliteStore, StoreError};
use ralph_core::text::few;
use ralph_core::which::{find, search_path};

use super::finding::{Check, Finding};
use crate::settings::Settings;

/// Tasks that are named in one finding.
const NAMED: usize = 5;

/// What there is to say of the gates of tasks that are not finished.
pub fn findings(
    store: &SqliteStore,
    settings: &Settings,
    root: &Path,
) -> Result<Vec<Finding>, StoreError> {
    let gates = open_gates(store, settings.text("gate", "verify"))?;
    let mut findings: Vec<Finding> = unready_gates(&gates, root)
        .iter()
        .map(|unready| {
            let fix = format!(
                "{}, or change the gate: ralph task edit TASK --verify CMD",
                unready.problem.fix
            );
            Finding::warning(Check::Gates, told_unready(unready), fix)
        })
        .collect();
    if find(PIPE_SHELL, root, search_path().as_ref()).is_none() {
        findings.extend(without_bash(&gates));
    }
    if findings.is_empty() && !gates.is_empty() {
        let message = "the programs of all gates are installed";
        findings.push(Finding::ok(Check::Gates, message));
    }
    Ok(findings)
}

fn without_bash(gates: &[DueGate]) -> Option<Finding> {
    let piped = gates.iter().filter(|gate| has_pipe(&gate.command));
    let names: Vec<String> = piped.map(|gate| gate.name.clone()).collect();
    if names.is_empty() {
        return None;
    }
    let message = format!(
        "bash is not installed: gates with a pipeline ({}) fail only if its last command fails",
        few(&names, NAMED)
    );
    Some(Finding::warning(Check::Gates, message, "install bash"))
}
