//! The plan as a tree that can be folded: which rows there are, in which order, and which of them are in view.

use std::collections::HashSet;

use ralph_core::model::{Status, TaskId};
use ralph_core::store::OutlineNode;

use crate::facts::tree_order;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// Each task after its parent, with its place in the tree.
    pub nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub id: TaskId,
    pub depth: u16,
    /// How many rows below it belong to it.
    pub below: u32,
    pub status: Status,
    pub verified: bool,
    /// The heading of its phase.
    pub phase: Option<String>,
}

impl Node {
    /// Whether somebody should look at it: it needs a person, or no gate verified it.
    pub fn is_problem(&self) -> bool {
        match self.status {
            Status::Blocked | Status::Failed => true,
            Status::Done => !self.verified,
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The phase of the task at this place begins.
    Phase(usize),
    Task(usize),
}

impl Outline {
    /// From tasks in plan order.
    pub fn new(plan: Vec<OutlineNode>) -> Self {
        let order = tree_order(plan.iter().map(|node| (&node.id, node.parent.as_ref())));
        let mut nodes: Vec<Node> = Vec::with_capacity(plan.len());
        // The places of the ancestors of what comes next.
        let mut above: Vec<usize> = Vec::new();
        for (at, depth) in order {
            above.truncate(depth);
            above.iter().for_each(|ancestor| nodes[*ancestor].below += 1);
            above.push(nodes.len());
            let OutlineNode { id, status, verified, phase, .. } = plan[at].clone();
            let depth = u16::try_from(depth).unwrap_or(u16::MAX);
            nodes.push(Node { id, depth, below: 0, status, verified, phase });
        }
        Self { nodes }
    }

    pub fn place_of(&self, id: &TaskId) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == *id)
    }

    /// The rows that are to be seen: without what is folded, or only the problems.
    pub fn rows(&self, folded: &HashSet<TaskId>, problems: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        if problems {
            let places = self.nodes.iter().enumerate().filter(|(_, node)| node.is_problem());
            return places.map(|(at, _)| Row::Task(at)).collect();
        }
        let (mut at, mut phase) = (0, None);
        while let Some(node) = self.nodes.get(at) {
            if node.depth == 0 && node.phase.is_some() && node.phase != phase {
                rows.push(Row::Phase(at));
            }
            if node.depth == 0 {
                phase.clone_from(&node.phase);
            }
            rows.push(Row::Task(at));
            let below = if folded.contains(&node.id) { node.below as usize } else { 0 };
            at += 1 + below;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tasks: &[(&str, Option<&str>, Option<&str>)]) -> Outline {
        let node = |(id, parent, phase): &(&str, Option<&str>, Option<&str>)| OutlineNode {
            id: TaskId::from_stored(*id),
            parent: parent.map(TaskId::from_stored),
            status: Status::Pending,
            verified: false,
            phase: phase.map(str::to_owned),
        };
        Outline::new(tasks.iter().map(node).collect())
    }

    fn shown(outline: &Outline, folded: &[&str], problems: bool) -> Vec<String> {
        let folded = folded.iter().map(|id| TaskId::from_stored(*id)).collect();
        let name = |row| match row {
            Row::Phase(at) => format!("[{}]", outline.nodes[at].phase.as_deref().unwrap()),
            Row::Task(at) => " ".repeat(outline.nodes[at].depth.into()) + outline.nodes[at].id.as_str(),
        };
        outline.rows(&folded, problems).into_iter().map(name).collect()
    }

    #[test]
    fn children_stand_below_their_parents_wherever_they_were_added() {
        let outline = plan(&[
            ("a", None, None),
            ("b", None, None),
            ("a1", Some("a"), None),
            ("a11", Some("a1"), None),
            ("a2", Some("a"), None),
        ]);
        assert_eq!(shown(&outline, &[], false), ["a", " a1", "  a11", " a2", "b"]);
        assert_eq!(shown(&outline, &["a1"], false), ["a", " a1", " a2", "b"]);
        assert_eq!(shown(&outline, &["a", "a1"], false), ["a", "b"]);
    }

    #[test]
    fn phases_have_a_heading_where_they_begin() {
        let outline = plan(&[
            ("a", None, Some("1")),
            ("b", None, Some("1")),
            ("c", None, Some("2")),
            ("d", None, None),
        ]);
        assert_eq!(shown(&outline, &[], false), ["[1]", "a", "b", "[2]", "c", "d"]);
    }

    #[test]
    fn a_cycle_of_parents_loses_nothing() {
        let outline = plan(&[("a", Some("b"), None), ("b", Some("a"), None), ("c", Some("gone"), None)]);
        assert_eq!(shown(&outline, &[], false), ["c", "a", " b"]);
    }

    #[test]
    fn problems_are_what_needs_a_person_and_what_nobody_verified() {
        let mut outline =
            plan(&[("a", None, None), ("b", Some("a"), None), ("c", None, None), ("d", None, None)]);
        outline.nodes[1].status = Status::Blocked;
        outline.nodes[2].status = Status::Done;
        (outline.nodes[3].status, outline.nodes[3].verified) = (Status::Done, true);
        assert_eq!(shown(&outline, &[], true), [" b", "c"]);
    }
}
