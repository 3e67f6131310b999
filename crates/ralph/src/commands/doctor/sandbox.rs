//! What confines agents and gates here.

use ralph_core::sandbox::{Mode, Sandbox};

use super::Finding;

pub fn finding(sandbox: &Sandbox, is_isolated: bool) -> Finding {
    if let Some((why, fix)) = sandbox.refusal(is_isolated) {
        return Finding::error("sandbox", why, fix);
    }
    let enforced = sandbox.enforced(is_isolated);
    let Some(backend) = enforced.backend else {
        return match enforced.mode {
            Mode::Off => Finding::neutral("sandbox", "off: agents and gates may do all that you may"),
            Mode::Auto | Mode::Required => {
                let why: Vec<&str> = enforced.problems.iter().map(|problem| problem.why.as_str()).collect();
                let fix = enforced.problems.first().map(|problem| problem.fix.clone());
                let message = format!("none, agents and gates may do all that you may: {}", why.join("; "));
                Finding::warning("sandbox", message, fix.unwrap_or_default())
            }
        };
    };
    let network = format!("network {}, of gates {}", enforced.network, enforced.gate_network);
    let message = format!("{backend}; {network}");
    match enforced.gaps.is_empty() {
        true => Finding::ok("sandbox", message),
        false => {
            let fix = enforced.problems.first().map(|problem| problem.fix.clone());
            let message = format!("{message}; not enforced: {}", enforced.gaps.join("; "));
            Finding::warning("sandbox", message, fix.unwrap_or_else(|| "see docs/sandbox.md".to_owned()))
        }
    }
}
