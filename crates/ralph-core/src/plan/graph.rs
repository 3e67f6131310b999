//! What waits for what: cycles, for every reader of plans and every change of one.

use std::collections::{HashMap, HashSet};

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

/// The cycle as a chain of names that ends where it began; long ones are cut.
pub(crate) fn chain<'a>(names: impl ExactSizeIterator<Item = &'a str> + Clone) -> String {
    const MOST: usize = 6;
    let first = names.clone().next().unwrap_or_default();
    let mut links: Vec<&str> = names.clone().take(MOST).collect();
    if names.len() > MOST {
        links.push("…");
    }
    links.push(first);
    links.join(" → ")
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

/// A problem for each cycle, at the first of its lines.
pub(crate) fn refuse_cycles<'a>(
    what: &str,
    edges: &[Vec<usize>],
    name: impl Fn(usize) -> &'a str,
    line: impl Fn(usize) -> usize,
    problems: &mut Vec<Problem>,
) {
    for cycle in cycles(edges) {
        let first = cycle.iter().map(|node| line(*node)).min().unwrap_or(1);
        let expected = format!(
            "these {what} depend on each other in a cycle: {}; expected an order in which they can be done",
            chain(cycle.iter().map(|node| name(*node)))
        );
        problems.push(Problem::new(first, expected));
    }
}

#[cfg(test)]
mod tests {
    use super::{chain, cycles};
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
    fn chains_end_where_they_began() {
        assert_eq!(chain(["a", "b"].into_iter()), "a → b → a");
        assert_eq!(chain(["a"; 9].into_iter()), "a → a → a → a → a → a → … → a");
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

    proptest! {
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
