//! Circles in what waits for what.

/// One circle for every group of nodes that all wait for each other, in the order of the smallest
/// node of each; `edges[n]` are the nodes that `n` waits for. Takes linear time and no recursion.
pub(crate) fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let group_of = groups(edges);
    // Within a group every node has a way on that stays in it, so walking leads into a circle.
    let next_of: Vec<Option<usize>> = edges
        .iter()
        .enumerate()
        .map(|(node, next)| {
            next.iter()
                .copied()
                .find(|next| is_same(&group_of, node, *next))
        })
        .collect();
    let mut is_told = vec![false; edges.len()];
    let mut found = Vec::new();
    for start in 0..edges.len() {
        let group = group_of.get(start).copied().unwrap_or_default();
        let is_new = is_told.get(group) == Some(&false);
        if is_new && next_of.get(start).copied().flatten().is_some() {
            if let Some(told) = is_told.get_mut(group) {
                *told = true;
            }
            found.push(circle(&next_of, start));
        }
    }
    found
}

/// The circle as a chain of names that ends where it began; long ones are cut.
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

fn is_same(group_of: &[usize], one: usize, other: usize) -> bool {
    group_of
        .get(other)
        .is_some_and(|group| group_of.get(one) == Some(group))
}

fn circle(next_of: &[Option<usize>], start: usize) -> Vec<usize> {
    let mut way = Vec::new();
    let mut place = std::collections::HashMap::new();
    let mut node = start;
    loop {
        if let Some(begun) = place.insert(node, way.len()) {
            return way.split_off(begun);
        }
        way.push(node);
        match next_of.get(node).copied().flatten() {
            Some(next) => node = next,
            None => return way,
        }
    }
}

const UNSEEN: usize = usize::MAX;

/// Tarjan's algorithm with a stack of its own: a number for each node, the same for nodes that can
/// reach each other.
fn groups(edges: &[Vec<usize>]) -> Vec<usize> {
    let count = edges.len();
    let mut state = Search {
        seen_as: vec![UNSEEN; count],
        lowest: vec![0; count],
        group_of: vec![UNSEEN; count],
        waiting: Vec::new(),
        seen: 0,
        groups: 0,
    };
    // A node and how many of its edges are done.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..count {
        if state.seen_as.get(start) == Some(&UNSEEN) {
            state.enter(start);
            path.push((start, 0));
        }
        while let Some((node, done)) = path.pop() {
            match edges.get(node).and_then(|next| next.get(done)).copied() {
                Some(next) => {
                    path.push((node, done + 1));
                    if state.seen_as.get(next) == Some(&UNSEEN) {
                        state.enter(next);
                        path.push((next, 0));
                    } else if state.group_of.get(next) == Some(&UNSEEN) {
                        state.lower(node, state.seen_as.get(next).copied());
                    }
                }
                None => {
                    state.leave(node);
                    if let Some((above, _)) = path.last().copied() {
                        state.lower(above, state.lowest.get(node).copied());
                    }
                }
            }
        }
    }
    state.group_of
}

struct Search {
    seen_as: Vec<usize>,
    lowest: Vec<usize>,
    group_of: Vec<usize>,
    waiting: Vec<usize>,
    seen: usize,
    groups: usize,
}

impl Search {
    fn enter(&mut self, node: usize) {
        for list in [&mut self.seen_as, &mut self.lowest] {
            if let Some(place) = list.get_mut(node) {
                *place = self.seen;
            }
        }
        self.seen += 1;
        self.waiting.push(node);
    }

    fn lower(&mut self, node: usize, to: Option<usize>) {
        if let (Some(lowest), Some(to)) = (self.lowest.get_mut(node), to) {
            *lowest = to.min(*lowest);
        }
    }

    fn leave(&mut self, node: usize) {
        if self.lowest.get(node) != self.seen_as.get(node) {
            return;
        }
        while let Some(member) = self.waiting.pop() {
            if let Some(group) = self.group_of.get_mut(member) {
                *group = self.groups;
            }
            if member == node {
                break;
            }
        }
        self.groups += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{chain, cycles};
    use proptest::prelude::*;

    #[test]
    fn every_group_has_one_circle() {
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
        fn circles_are_real_and_found(
            edges in prop::collection::vec(prop::collection::vec(0usize..8, 0..4), 8)
        ) {
            let found = cycles(&edges);
            for circle in &found {
                for (at, node) in circle.iter().enumerate() {
                    prop_assert!(edges[*node].contains(&circle[(at + 1) % circle.len()]));
                }
            }
            // Taking away what waits for nothing leaves something just where there is a circle.
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
