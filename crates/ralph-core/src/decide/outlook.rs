//! Who waits for whom: why nothing can be run, and what a person can do about it.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::model::{Status, TaskId};
use crate::store::{PlanNode, Scope};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiter {
    pub task_id: TaskId,
    pub name: String,
    pub waits_for: Vec<Blocker>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocker {
    pub task_id: TaskId,
    pub name: String,
    pub status: Status,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Tasks in scope, and how many of them are finished.
    pub total: usize,
    pub finished: usize,
    pub skipped: usize,
    /// Work under way that something in scope waits for, or is.
    pub under_way: Vec<TaskId>,
    /// What is blocked or failed in scope, or holds something in scope up.
    pub stuck: Vec<Blocker>,
    /// Unfinished tasks in scope that wait, each with what it directly waits for.
    pub waiting: Vec<Waiter>,
}

impl Outlook {
    pub fn is_finished(&self) -> bool {
        self.finished == self.total
    }
}

/// Looks over the plan. Nodes come in the order they would be claimed.
pub fn outlook(plan: &[PlanNode], scope: &Scope) -> Outlook {
    let index = Index::of(plan);
    let covered = index.covered(scope);
    let mut outlook = Outlook::default();
    let mut holding: HashSet<&TaskId> = HashSet::new();
    let mut queue: Vec<&PlanNode> = Vec::new();
    for node in plan.iter().filter(|node| covered.contains(&node.id)) {
        outlook.total += 1;
        if node.status.satisfies() {
            outlook.finished += 1;
            outlook.skipped += usize::from(node.status == Status::Skipped);
            continue;
        }
        queue.push(node);
        holding.insert(&node.id);
        let waits_for = index.direct(node);
        if !waits_for.is_empty() {
            outlook.waiting.push(Waiter {
                task_id: node.id.clone(),
                name: node.name.clone(),
                waits_for: waits_for.iter().map(|node| blocker(node)).collect(),
            });
        }
    }
    // Everything that holds something in scope up, near or far.
    while let Some(node) = queue.pop() {
        for held_by in index.direct(node) {
            if holding.insert(&held_by.id) {
                queue.push(held_by);
            }
        }
    }
    for node in plan.iter().filter(|node| holding.contains(&node.id)) {
        match node.status {
            Status::InProgress => outlook.under_way.push(node.id.clone()),
            Status::Failed | Status::Blocked => outlook.stuck.push(blocker(node)),
            Status::Pending | Status::Done | Status::Skipped => {}
        }
    }
    outlook
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldUp {
    /// For each blocked or failed task, how many unfinished ones cannot go on before it, near or far. Its own ancestors do
    /// not count: they are where it belongs, not what comes after it.
    pub dependents: HashMap<TaskId, u64>,
    /// For each task that is held up, the first of those that hold it up.
    pub by: HashMap<TaskId, TaskId>,
}

pub fn held_up(plan: &[PlanNode]) -> HeldUp {
    let index = Index::of(plan);
    let places: HashMap<&TaskId, usize> = plan.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let place = |id: &TaskId| places.get(id).copied();
    // What waits for each task. By places, because a large plan with many blocked tasks is walked through many times.
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); plan.len()];
    for (at, node) in plan.iter().enumerate().filter(|(_, node)| !node.status.satisfies()) {
        for holds in index.direct(node) {
            if let Some(after) = place(&holds.id).and_then(|holds| next.get_mut(holds)) {
                after.push(at);
            }
        }
    }
    let mut held_up = HeldUp::default();
    // The last stuck task that each place was reached from.
    let mut reached_from: Vec<Option<usize>> = vec![None; plan.len()];
    let is_stuck = |node: &PlanNode| matches!(node.status, Status::Blocked | Status::Failed);
    for (from, stuck) in plan.iter().enumerate().filter(|(_, node)| is_stuck(node)) {
        let mut reach = |at: usize| match reached_from.get_mut(at) {
            Some(last) if *last != Some(from) => {
                *last = Some(from);
                true
            }
            _ => false,
        };
        reach(from);
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(here) = reached.get(at) {
            let after = next.get(*here).into_iter().flatten().copied();
            let after: Vec<usize> = after.filter(|after| reach(*after)).collect();
            reached.extend(after);
            at += 1;
        }
        for node in reached.iter().skip(1).filter_map(|at| plan.get(*at)) {
            held_up.by.entry(node.id.clone()).or_insert_with(|| stuck.id.clone());
        }
        let parent = |at: usize| plan.get(at).and_then(|node| place(node.parent.as_ref()?));
        let mut above = parent(from);
        let mut own = 0;
        // An old file may hold a cycle of parents.
        while let Some(at) =
            above.filter(|at| own < reached.len() && reached_from.get(*at) == Some(&Some(from)))
        {
            own += 1;
            above = parent(at);
        }
        held_up.dependents.insert(stuck.id.clone(), (reached.len() - 1).saturating_sub(own) as u64);
    }
    held_up
}

/// Unfinished dependencies of tasks in scope that are not in scope themselves.
pub fn unmet_outside(plan: &[PlanNode], scope: &Scope) -> Vec<TaskId> {
    let index = Index::of(plan);
    let covered = index.covered(scope);
    let unfinished = plan.iter().filter(|node| covered.contains(&node.id) && !node.status.satisfies());
    let outside: HashSet<&TaskId> = unfinished
        .flat_map(|node| &node.depends_on)
        .filter(|id| !covered.contains(id))
        .filter(|id| index.by_id.get(id).is_some_and(|node| !node.status.satisfies()))
        .collect();
    plan.iter().filter(|node| outside.contains(&node.id)).map(|node| node.id.clone()).collect()
}

/// The tasks in a scope, with all below them and made for them, in plan order.
pub fn covered<'a>(plan: &'a [PlanNode], scope: &Scope) -> Vec<&'a TaskId> {
    let index = Index::of(plan);
    let covered = index.covered(scope);
    plan.iter().map(|node| &node.id).filter(|id| covered.contains(id)).collect()
}

/// The plan, ready to be asked.
struct Index<'a> {
    by_id: HashMap<&'a TaskId, &'a PlanNode>,
    children: HashMap<&'a TaskId, Vec<&'a PlanNode>>,
    made_for: HashMap<&'a TaskId, Vec<&'a PlanNode>>,
    /// For each task below a failed one, the nearest of these.
    failed_above: HashMap<&'a TaskId, &'a PlanNode>,
}

impl<'a> Index<'a> {
    fn of(plan: &'a [PlanNode]) -> Self {
        let by_id: HashMap<&TaskId, &PlanNode> = plan.iter().map(|node| (&node.id, node)).collect();
        let mut children: HashMap<&TaskId, Vec<&PlanNode>> = HashMap::new();
        let mut made_for: HashMap<&TaskId, Vec<&PlanNode>> = HashMap::new();
        for node in plan {
            if let Some(parent) = &node.parent {
                children.entry(parent).or_default().push(node);
            }
            if let Some(task) = &node.made_for {
                made_for.entry(task).or_default().push(node);
            }
        }
        let failed_above = failed_above(plan, &children);
        Self { by_id, children, made_for, failed_above }
    }

    fn covered<'s>(&self, scope: &'s Scope) -> HashSet<&'s TaskId>
    where
        'a: 's,
    {
        let roots = match scope {
            Scope::All => return self.by_id.keys().copied().collect(),
            Scope::Below(roots) => roots,
        };
        let mut covered: HashSet<&TaskId> = HashSet::new();
        let mut queue: Vec<&TaskId> = roots.iter().collect();
        while let Some(id) = queue.pop() {
            if covered.insert(id) {
                for nodes in [self.children.get(id), self.made_for.get(id)] {
                    queue.extend(nodes.into_iter().flatten().map(|node| &node.id));
                }
            }
        }
        covered
    }

    /// What a task itself waits for: open dependencies, open children, failed ancestors.
    fn direct(&self, node: &'a PlanNode) -> Vec<&'a PlanNode> {
        let dependencies = node.depends_on.iter().filter_map(|id| self.by_id.get(id).copied());
        let parts = self.children.get(&node.id).into_iter().flatten().copied();
        let mut found: Vec<&PlanNode> =
            dependencies.chain(parts).filter(|node| !node.status.satisfies()).collect();
        // Those further up hold up the nearest one in turn.
        found.extend(self.failed_above.get(&node.id));
        found
    }
}

/// For each task below a failed one, the nearest of these. Each failed task tells its descendants down to the next failed
/// ones, so that every task is visited once, however deep the plan is nested.
fn failed_above<'a>(
    plan: &'a [PlanNode],
    children: &HashMap<&'a TaskId, Vec<&'a PlanNode>>,
) -> HashMap<&'a TaskId, &'a PlanNode> {
    let mut found: HashMap<&TaskId, &PlanNode> = HashMap::new();
    let is_failed = |node: &PlanNode| node.status == Status::Failed;
    for failed in plan.iter().filter(|node| is_failed(node)) {
        let mut queue = vec![failed];
        while let Some(node) = queue.pop() {
            for child in children.get(&node.id).into_iter().flatten() {
                // An old file may hold a cycle of parents.
                let is_new = child.id != failed.id && found.insert(&child.id, failed).is_none();
                if is_new && !is_failed(child) {
                    queue.push(child);
                }
            }
        }
    }
    found
}

fn blocker(node: &PlanNode) -> Blocker {
    Blocker { task_id: node.id.clone(), name: node.name.clone(), status: node.status }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, status: Status, parent: Option<&str>, deps: &[&str]) -> PlanNode {
        PlanNode {
            id: TaskId::from_stored(id),
            name: id.to_owned(),
            status,
            parent: parent.map(TaskId::from_stored),
            depends_on: deps.iter().map(|id| TaskId::from_stored(*id)).collect(),
            own_work: false,
            made_for: None,
        }
    }

    fn names(blockers: &[Blocker]) -> Vec<&str> {
        blockers.iter().map(|blocker| blocker.name.as_str()).collect()
    }

    #[test]
    fn a_blocked_task_holds_up_its_dependents_and_that_is_said() {
        let plan = [
            node("a", Status::Blocked, None, &[]),
            node("b", Status::Pending, None, &["a"]),
            node("c", Status::Pending, None, &["b"]),
            node("d", Status::Done, None, &[]),
        ];
        let outlook = outlook(&plan, &Scope::All);
        assert_eq!((outlook.total, outlook.finished), (4, 1));
        assert_eq!(names(&outlook.stuck), ["a"]);
        assert_eq!(outlook.waiting.len(), 2);
        assert_eq!(names(&outlook.waiting[1].waits_for), ["b"]);
        assert!(outlook.under_way.is_empty());
    }

    #[test]
    fn dependents_are_counted_near_and_far_but_ancestors_are_not() {
        let plan = [
            node("p", Status::Pending, None, &[]),
            node("a", Status::Blocked, Some("p"), &[]),
            node("b", Status::Pending, None, &["a"]),
            node("c", Status::Pending, None, &["b", "f"]),
            // It waits for the blocked one's parent.
            node("d", Status::Pending, None, &["p"]),
            node("e", Status::Skipped, None, &["a"]),
            node("f", Status::Failed, None, &[]),
            node("g", Status::Blocked, None, &[]),
        ];
        let held_up = held_up(&plan);
        let of = |id: &str| held_up.dependents.get(&TaskId::from_stored(id)).copied();
        assert_eq!((of("a"), of("f"), of("g")), (Some(3), Some(1), Some(0)));
        assert_eq!(of("b"), None);
        let by = |id: &str| held_up.by.get(&TaskId::from_stored(id)).map(TaskId::as_str);
        assert_eq!((by("p"), by("c"), by("d")), (Some("a"), Some("a"), Some("a")));
        assert_eq!((by("a"), by("e")), (None, None));
    }

    #[test]
    fn work_elsewhere_that_matters_is_seen_and_other_work_is_not() {
        let plan = [
            node("a", Status::InProgress, None, &[]),
            node("b", Status::Pending, None, &["a"]),
            node("c", Status::InProgress, None, &[]),
        ];
        let scope = Scope::Below(vec![TaskId::from_stored("b")]);
        assert_eq!(outlook(&plan, &scope).under_way, [TaskId::from_stored("a")]);
        assert_eq!(unmet_outside(&plan, &scope), [TaskId::from_stored("a")]);
    }

    #[test]
    fn a_failed_ancestor_is_waited_for() {
        let plan = [
            node("p", Status::Failed, None, &[]),
            node("q", Status::Pending, Some("p"), &[]),
            node("r", Status::Pending, Some("q"), &[]),
        ];
        let outlook = outlook(&plan, &Scope::Below(vec![TaskId::from_stored("q")]));
        assert_eq!((outlook.total, outlook.finished), (2, 0));
        assert_eq!(names(&outlook.stuck), ["p"]);
        assert_eq!(names(&outlook.waiting[1].waits_for), ["p"]);
    }
}
