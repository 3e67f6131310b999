//! What the order of a file says about which task waits for which.

/// How many neighbours run side by side at most.
const LARGEST_GROUP: usize = 5;

/// What the order of tasks depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// Whether it may run beside its neighbours.
    pub(super) is_parallel: bool,
    /// Which phase it is in; only sameness counts.
    pub(super) phase: usize,
    /// Number of the task it is to mend.
    pub(super) fix_of: Option<usize>,
}

/// For each task the numbers of those it waits for. Fixes are given without circles.
///
/// A fix waits for what its original waits for by order, and the original for its fixes.
pub(super) fn waits(steps: &[Step]) -> Vec<Vec<usize>> {
    let mut waits = by_order(steps);
    let roots = roots(steps);
    for (at, root) in roots
        .into_iter()
        .enumerate()
        .filter(|(at, root)| at != root)
    {
        let before = waits.get(root).cloned().unwrap_or_default();
        if let Some(own) = waits.get_mut(at) {
            *own = before;
        }
    }
    // After all, since what an original waits for by order must not hold its fixes.
    for (at, step) in steps.iter().enumerate() {
        if let Some(original) = step.fix_of.and_then(|of| waits.get_mut(of)) {
            original.push(at);
        }
    }
    waits
}

/// The order of all that are no fixes: each waits for the group before its own.
fn by_order(steps: &[Step]) -> Vec<Vec<usize>> {
    let mut waits = Vec::with_capacity(steps.len());
    let mut before = Vec::new();
    let mut group: Vec<usize> = Vec::new();
    let mut group_is_of: Option<&Step> = None;
    for (at, step) in steps.iter().enumerate() {
        if step.fix_of.is_some() {
            waits.push(Vec::new());
            continue;
        }
        let joins = step.is_parallel && group_is_of == Some(step) && group.len() < LARGEST_GROUP;
        if !joins {
            before = std::mem::take(&mut group);
            group_is_of = Some(step);
        }
        group.push(at);
        waits.push(before.clone());
    }
    waits
}

/// For each task the one at the end of its chain of fixes; itself where it is no fix.
fn roots(steps: &[Step]) -> Vec<usize> {
    let mut roots: Vec<usize> = (0..steps.len()).collect();
    let mut known = vec![false; steps.len()];
    for at in 0..steps.len() {
        let mut chain = Vec::new();
        let mut here = at;
        while let (Some(false), Some(of)) =
            (known.get(here), steps.get(here).and_then(|s| s.fix_of))
        {
            chain.push(here);
            // Seen from now on, so that each task is passed once.
            if let Some(known) = known.get_mut(here) {
                *known = true;
            }
            here = of;
        }
        let root = roots.get(here).copied().unwrap_or(here);
        for one in chain {
            if let Some(of_one) = roots.get_mut(one) {
                *of_one = root;
            }
        }
    }
    roots
}

/// Numbers of the tasks whose chain of fixes leads back to themselves.
pub(super) fn in_circles(fix_of: &[Option<usize>]) -> Vec<usize> {
    let mut is_passed = vec![false; fix_of.len()];
    let mut circles = Vec::new();
    for start in 0..fix_of.len() {
        let mut walk = Vec::new();
        let mut here = Some(start);
        while let Some(at) = here
            && let Some(is_passed) = is_passed.get_mut(at).filter(|is_passed| !**is_passed)
        {
            *is_passed = true;
            walk.push(at);
            here = fix_of.get(at).copied().flatten();
        }
        let met_itself = here.and_then(|at| walk.iter().position(|one| *one == at));
        circles.extend(
            met_itself
                .and_then(|from| walk.get(from..))
                .unwrap_or_default(),
        );
    }
    circles.sort_unstable();
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `p` beside its neighbours, `-` not, `|` another phase, a digit the task to mend.
    fn steps(text: &str) -> Vec<Step> {
        let mut phase = 0;
        let mut steps = Vec::new();
        for c in text.chars() {
            match c {
                '|' => phase += 1,
                c => steps.push(Step {
                    is_parallel: c == 'p',
                    phase,
                    fix_of: c.to_digit(10).map(|of| of as usize),
                }),
            }
        }
        steps
    }

    #[test]
    fn imp_04_order_gives_dependencies() {
        assert_eq!(waits(&steps("---")), [vec![], vec![0], vec![1]]);
        assert_eq!(
            waits(&steps("-pp-")),
            [vec![], vec![0], vec![0], vec![1, 2]]
        );
        assert_eq!(waits(&steps("pp")), [const { Vec::<usize>::new() }; 2]);
        assert_eq!(waits(&steps("p|p-")), [vec![], vec![0], vec![1]]);
    }

    #[test]
    fn imp_04_a_group_has_five_at_most() {
        let waits = waits(&steps("pppppppp-"));
        assert!(waits[4].is_empty());
        assert_eq!(waits[5], [0, 1, 2, 3, 4]);
        assert_eq!(waits[7], [0, 1, 2, 3, 4]);
        assert_eq!(waits[8], [5, 6, 7]);
    }

    #[test]
    fn rcx_fixes_stand_outside_the_order() {
        // The fix 2 of 1, and 3 of 2; 4 waits for 1 only.
        assert_eq!(
            waits(&steps("--12-")),
            [vec![], vec![0, 2], vec![0, 3], vec![0], vec![1]]
        );
        // A fix within a group does not end it, and may stand before its original.
        assert_eq!(
            waits(&steps("-p1p")),
            [vec![], vec![0, 2], vec![0], vec![0]]
        );
        assert_eq!(waits(&steps("2--")), [vec![1], vec![], vec![1, 0]]);
    }

    #[test]
    fn long_chains_have_one_root() {
        let chain: Vec<_> = (0..10_000_usize)
            .map(|at| Step {
                fix_of: at.checked_sub(1),
                ..Step::default()
            })
            .collect();
        assert!(roots(&chain).iter().all(|root| *root == 0));
        let back: Vec<_> = (1..10_000)
            .map(|at| Step {
                fix_of: Some(at),
                ..Step::default()
            })
            .chain([Step::default()])
            .collect();
        assert!(roots(&back).iter().all(|root| *root == 9_999));
    }

    #[test]
    fn circles_of_fixes() {
        assert!(in_circles(&[None, Some(0), Some(1)]).is_empty());
        assert_eq!(in_circles(&[Some(0), Some(0), None]), [0]);
        assert_eq!(
            in_circles(&[Some(1), Some(2), Some(1), Some(3), Some(0)]),
            [1, 2, 3]
        );
    }
}
