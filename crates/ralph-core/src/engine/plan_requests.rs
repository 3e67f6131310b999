//! Changes of the plan that agents ask for: each is checked, and granted or refused.

use std::path::Path;

use super::run_context::RunContext;
use super::run_end::Result;
use crate::event::{EventKind, TaskRef};
use crate::evidence::Verdict;
use crate::model::{Outcome, Task};
use crate::plan::command::is_command;
use crate::signals::plan_change::{PlanTask, RequestingTask, plan_changes};
use crate::signals::{ChangeKind, plan_requests};
use crate::store::{PlanChange, Store, StoreError};

/// Whether a granted change keeps the task itself open: its agent found another way, and whether that works is yet to be
/// seen.
pub(super) fn keeps_task_open(change: &PlanChange) -> bool {
    let kind = change.kind.as_deref().and_then(ChangeKind::parse);
    change.outcome.is_ok() && kind.is_some_and(ChangeKind::leaves_original_open)
}

/// What became of the changes that the last attempt asked for.
pub(super) fn tell_of_changes(run: &mut RunContext<'_>, task: &Task, asked: usize) -> Result {
    if asked == 0 {
        return Ok(());
    }
    let changes = run.store.plan_changes(&task.id)?;
    let skip = changes.len().saturating_sub(asked);
    for change in changes.into_iter().skip(skip) {
        run.tell(EventKind::PlanChange {
            task: TaskRef::from(task),
            kind: change.kind,
            reasoning: change.reasoning,
            added: change.tasks,
            refusal: change.refusal,
        })?;
    }
    Ok(())
}

/// The changes of the plan that an answer asks for, each looked into.
pub(super) fn requested_changes(
    store: &Store,
    root: &Path,
    task: &Task,
    verdict: &Verdict,
    result_text: &str,
) -> Result<Vec<PlanChange>, StoreError> {
    let requests = plan_requests(result_text);
    if requests.is_empty() || !verdict.counts() {
        return Ok(Vec::new());
    }
    let before = store.change_standing(&task.id)?;
    let family = store.fix_family(&task.id)?;
    let children = store.children(&task.id)?;
    let from = RequestingTask {
        task,
        is_done: verdict.outcome == Outcome::Done,
        is_fix: !family.lineage.above.is_empty(),
        changes: before.made,
        depth: before.depth,
        has_open_children: children.iter().any(|child| !child.status.satisfies()),
        plan: &|name| {
            let found = store.task_beside(name, &task.id).ok()??;
            let waits_for = store.waits_for(&found.id).ok()?;
            let of_other_spec = found.spec != task.spec;
            Some(PlanTask { name: found.name, waits_for, of_other_spec })
        },
        can_run: &|command| is_command(command, &|word| crate::plan::import::can_run(root, word)),
    };
    Ok(plan_changes(requests, &from))
}
