//! The tasks of a plan in the order of its tree.

use std::collections::HashMap;

use ralph_core::model::TaskId;

/// The place of each task among these, and its depth: after its parent, and once. A task whose parent is nowhere, or below itself
/// as in a damaged file, stands at the top. Not by recursion: a plan may be nested ten thousand deep.
pub fn tree_order<'t>(tasks: impl Iterator<Item = (&'t TaskId, Option<&'t TaskId>)>) -> Vec<(usize, usize)> {
    let tasks: Vec<_> = tasks.collect();
    let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    // Last ones first, as they are put on the stack.
    let mut children = vec![Vec::new(); tasks.len()];
    let mut open = Vec::new();
    for (at, (_, parent)) in tasks.iter().enumerate().rev() {
        match parent.and_then(|id| places.get(id)) {
            Some(parent) => children[*parent].push(at),
            None => open.push((at, 0)),
        }
    }
    let (mut order, mut seen, mut in_cycles) = (Vec::new(), vec![false; tasks.len()], 0..tasks.len());
    while let Some((at, depth)) = open.pop().or_else(|| in_cycles.next().map(|at| (at, 0))) {
        if !std::mem::replace(&mut seen[at], true) {
            order.push((at, depth));
            open.extend(children[at].iter().map(|child| (*child, depth + 1)));
        }
    }
    order
}
