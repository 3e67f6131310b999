//! What waits for what: cycles, for every reader of plans and every change of one.

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
    let edges_of = |node: usize| edges.get(node).map_or(&[][..], Vec::as_slice).iter();
    for start in 0..edges.len() {
        if nodes.get(start) != Some(&Node::New) {
            continue;
        }
        let mut next = Some(start);
        loop {
            if let Some(node) = next.take()
                && let Some(state) = nodes.get_mut(node)
            {
                *state = Node::OnPath(path.len());
                path.push((node, edges_of(node)));
            }
            let Some((node, left)) = path.last_mut() else {
                break;
            };
            let node = *node;
            match left.next().map(|other| (*other, nodes.get(*other))) {
                Some((other, Some(Node::New))) => next = Some(other),
                Some((_, Some(Node::OnPath(from)))) => {
                    let cycle = path.get(*from..).unwrap_or_default();
                    let cycle: Vec<usize> = cycle.iter().map(|(node, _)| *node).collect();
                    let is_new = |node: &usize| is_told.get(*node) == Some(&false);
                    if cycle.iter().all(is_new) {
                        for node in &cycle {
                            is_told.get_mut(*node).into_iter().for_each(|told| *told = true);
                        }
                        found.push(cycle);
                    }
                }
                Some(_) => {}
                None => {
                    path.pop();
                    nodes.get_mut(node).into_iter().for_each(|state| *state = Node::Done);
                }
            }
        }
    }
    found
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
