//! Checking a request against the plan and saying what it comes to. Pure: nothing is changed here.

mod change;
mod circle;
mod depends;
mod gate;
mod keys;
mod refusal;
mod standing;
mod texts;

use super::quoted::quoted;
use super::request::{Kind, Request};
use depends::Graph;

pub use change::{Change, Dependency, Place, PlannedTask};
pub use refusal::Refusal;
pub use standing::{Known, Limits, Standing};

/// Plans the change that `request` asks for, or says why it is refused as a whole.
///
/// # Errors
///
/// The first thing that speaks against it, in a sentence that can be shown to the agent.
pub fn plan_change(
    request: &Request,
    standing: &Standing<'_>,
    limits: &Limits,
) -> Result<Change, Refusal> {
    entitled(request, standing, limits)?;
    let reasoning = texts::reasoning(&request.reasoning, limits)?;
    countable(request, standing, limits)?;
    let mut tasks = Vec::with_capacity(request.proposed.len());
    let keys = keys::keys(&request.proposed, standing)?;
    for ((index, proposed), key) in request.proposed.iter().enumerate().zip(keys) {
        tasks.push(texts::task(index + 1, proposed, key, standing, limits)?);
    }

    let mut graph = Graph::new(request, standing, &tasks, limits)?;
    graph.refuse_circles()?;
    let order = graph.order();
    if request.kind == Kind::SplitTask {
        graph.one_after_another(&order);
    }
    let tasks = graph.hand_over(tasks, &order);
    Ok(Change::new(request.kind, reasoning, tasks, standing))
}

/// Whether this task may be changed by this request at all.
fn entitled(request: &Request, standing: &Standing<'_>, limits: &Limits) -> Result<(), Refusal> {
    let attempted = quoted(standing.name());
    let named = request.original.trim();
    if named.is_empty() {
        return Err(Refusal::NoOriginal { attempted });
    }
    if !standing.is_named(named) {
        return Err(Refusal::OtherTask {
            named: quoted(named),
            attempted,
        });
    }
    if standing.modifications >= limits.per_task {
        return Err(Refusal::TooManyChanges {
            limit: limits.per_task,
        });
    }
    if standing.depth >= limits.depth {
        return Err(Refusal::TooDeep {
            limit: limits.depth,
        });
    }
    if request.kind == Kind::SplitTask && standing.has_open_children {
        return Err(Refusal::OpenParts);
    }
    Ok(())
}

/// Whether there are as many proposed tasks as there may be.
fn countable(request: &Request, standing: &Standing<'_>, limits: &Limits) -> Result<(), Refusal> {
    let given = request.proposed.len();
    match request.kind {
        _ if given == 0 => Err(Refusal::NoTasks),
        _ if given > limits.proposed => Err(Refusal::TooManyTasks {
            given,
            limit: limits.proposed,
        }),
        Kind::SplitTask if given == 1 => Err(Refusal::OnePart {
            attempted: quoted(standing.name()),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
