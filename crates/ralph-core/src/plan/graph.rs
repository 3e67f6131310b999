//! What waits for what: cycles, for every reader of plans and every change of one.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Problem;

/// Cycles that have no node in common, one at least for all nodes that wait for each other; `edges[n]` are the nodes that `n`
/// waits for. Takes linear time and no recursion.
pub(crate) fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Node {
        New,
        /// At this place of the path.
        OnPath(usize),
        Done,
    }
    let mut nodes = vec![Node::New; edges.len()];
    let mut is_told = vec![false; edges.len()];
    let mut found = Vec::new();
    // Each node of the path with the edges that are left of it.
    let mut path: Vec<(usize, std::slice::Iter<'_, usize>)> = Vec::new();
    for start in 0..edges.len() {
        let mut next = Some(start).filter(|start| nodes[*start] == Node::New);
        loop {
            if let Some(node) = next.take() {
                nodes[node] = Node::OnPath(path.len());
                path.push((node, edges[node].iter()));
            }
            let Some((node, left)) = path.last_mut() else {
                break;
            };
            let Some(other) = left.next() else {
                nodes[*node] = Node::Done;
                path.pop();
                continue;
            };
            match nodes.get(*other) {
                Some(Node::New) => next = Some(*other),
                Some(Node::OnPath(from)) => {
                    let cycle: Vec<usize> = path[*from..].iter().map(|(node, _)| *node).collect();
                    if !cycle.iter().any(|node| is_told[*node]) {
                        cycle.iter().for_each(|node| is_told[*node] = true);
                        found.push(cycle);
                    }
                }
                Some(Node::Done) | None => {}
            }
        }
    }
    found
}

/// The nodes in their order, but each behind those that it waits for. `edges` have no cycle.
pub(crate) fn sequence(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut sequence = Vec::with_capacity(edges.len());
    let mut is_placed = vec![false; edges.len()];
    let mut path: Vec<(usize, std::slice::Iter<'_, usize>)> = Vec::new();
    for start in 0..edges.len() {
        if !is_placed[start] {
            path.push((start, edges[start].iter()));
        }
        while let Some((node, left)) = path.last_mut() {
            match left.next() {
                Some(other) if is_placed[*other] => {}
                Some(other) => path.push((*other, edges[*other].iter())),
                None => {
                    if !std::mem::replace(&mut is_placed[*node], true) {
                        sequence.push(*node);
                    }
                    path.pop();
                }
            }
        }
    }
    sequence
}

/// How often cycles are looked for.
const ROUNDS: usize = 16;

/// What is noted at a task of whose dependencies some were left out.
pub(crate) const CYCLE: &str =
    "this task and another one depend on each other; Ralph uses their order in the file";

/// Leaves out the waits that could never end, and gives the nodes that had them. A whole waits for its parts, whatever `waits` says.
/// In a cycle it is the earlier node that does not wait for a later one.
pub(crate) fn drop_cycles(
    waits: &mut [Vec<usize>],
    parents: impl Iterator<Item = Option<usize>>,
) -> Vec<usize> {
    if waits.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let parents: Vec<Option<usize>> = parents.collect();
    let mut dropped = Vec::new();
    for round in 0..ROUNDS {
        let found = cycles(&with_parts(waits, &parents));
        if found.is_empty() {
            return dropped;
        }
        for cycle in found {
            let cycle: BTreeSet<usize> = cycle.into_iter().collect();
            let is_forward = |at: &usize| waits[*at].iter().any(|other| other > at && cycle.contains(other));
            let forward: Vec<usize> = cycle.iter().copied().filter(is_forward).collect();
            // In a tangle of cycles, all that wait for later ones.
            let most = if round < ROUNDS / 2 { 1 } else { cycle.len() };
            let chosen: Vec<usize> = match forward.is_empty() {
                false => forward.iter().copied().take(most).collect(),
                true => cycle.iter().copied().collect(),
            };
            for at in chosen {
                let count = waits[at].len();
                waits[at].retain(|other| !cycle.contains(other) || (!forward.is_empty() && *other < at));
                dropped.extend((waits[at].len() < count).then_some(at));
            }
        }
    }
    // What is still circular is not worth more.
    waits.iter_mut().for_each(Vec::clear);
    dropped
}

/// What each node waits for, its parts included.
pub(crate) fn with_parts(waits: &[Vec<usize>], parents: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut edges = waits.to_vec();
    for (at, parent) in parents.iter().enumerate() {
        parent.iter().for_each(|parent| edges[*parent].push(at));
    }
    edges
}

/// The nodes that names stand for, each once; names come with their lines, and unknown ones are problems.
pub(crate) fn resolve(
    names: &[(usize, impl AsRef<str>)],
    nodes: &HashMap<&str, usize>,
    unknown: impl Fn(&str) -> String,
    problems: &mut Vec<Problem>,
) -> Vec<usize> {
    let mut is_known = HashSet::new();
    let mut known = Vec::new();
    for (line, name) in names {
        match nodes.get(name.as_ref()) {
            Some(node) => known.extend(is_known.insert(*node).then_some(*node)),
            None => problems.push(Problem::new(*line, unknown(name.as_ref()))),
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::{cycles, drop_cycles, with_parts};
    use proptest::prelude::*;

    #[test]
    fn every_group_has_a_cycle() {
        assert!(cycles(&[vec![1, 2], vec![2], vec![]]).is_empty());
        assert_eq!(cycles(&[vec![0]]), [[0]]);
        assert_eq!(cycles(&[vec![1], vec![2], vec![1]]), [[1, 2]]);
        let two = [vec![1], vec![0], vec![3, 0], vec![2], vec![4]];
        assert_eq!(cycles(&two), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(cycles(&[vec![9]]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn long_chains_need_no_stack() {
        let count = 200_000;
        let mut edges: Vec<Vec<usize>> = (1..count).map(|next| vec![next]).collect();
        edges.push(Vec::new());
        assert!(cycles(&edges).is_empty());
        edges[count - 1].push(0);
        assert_eq!(cycles(&edges)[0].len(), count);
    }

    #[test]
    fn of_a_cycle_the_later_task_keeps_what_it_waits_for() {
        let mut waits = [vec![2], vec![0], vec![1], vec![2]];
        assert_eq!(drop_cycles(&mut waits, [None; 4].into_iter()), [0]);
        assert_eq!(waits, [vec![], vec![0], vec![1], vec![2]]);
        // A part that waits for what waits for its whole.
        let mut waits = [vec![], vec![2], vec![0]];
        assert_eq!(drop_cycles(&mut waits, [None, Some(0), None].into_iter()), [1]);
        assert_eq!(waits, [vec![], vec![], vec![0]]);
    }

    proptest! {
        #[test]
        fn nothing_is_circular_when_cycles_are_dropped(
            mut waits in prop::collection::vec(prop::collection::vec(0usize..8, 0..4), 8),
            parents in prop::collection::vec(prop::option::of(0usize..8), 8),
        ) {
            // A part stands behind its whole.
            let parents: Vec<_> = parents.into_iter().enumerate().map(|(at, of)| of.filter(|of| *of < at)).collect();
            let before = waits.clone();
            let was_circular = !cycles(&with_parts(&waits, &parents)).is_empty();
            let dropped = drop_cycles(&mut waits, parents.iter().copied());
            prop_assert!(cycles(&with_parts(&waits, &parents)).is_empty());
            prop_assert_eq!(was_circular, before != waits);
            prop_assert_eq!(was_circular, !dropped.is_empty());
        }

        #[test]
        fn cycles_are_real_and_found(
            edges in prop::collection::vec(prop::collection::vec(0usize..8, 0..4), 8)
        ) {
            let found = cycles(&edges);
            for cycle in &found {
                for (at, node) in cycle.iter().enumerate() {
                    prop_assert!(edges[*node].contains(&cycle[(at + 1) % cycle.len()]));
                }
            }
            // Taking away what waits for nothing leaves something just where there is a cycle.
            let mut left: Vec<usize> = (0..8).collect();
            loop {
                let before = left.len();
                let now = left.clone();
                left.retain(|node| edges[*node].iter().any(|next| now.contains(next)));
                if left.len() == before {
                    break;
                }
            }
            prop_assert_eq!(found.is_empty(), left.is_empty());
        }
    }
}
