//! Keys of fix tasks, and each limit.

use super::*;
use proptest::prelude::*;

fn owned(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn lineage(above: &[&str], failed: &str, fixes: &[&str], below_root: usize) -> Lineage {
    let (above, fixes) = (owned(above), owned(fixes));
    Lineage { above, failed: failed.to_owned(), fixes, below_root }
}

fn next(lineage: &Lineage) -> Result<String, LimitReached> {
    next_fix(lineage, &Limits::default(), &|_| false)
}

#[test]
fn rcg_01_the_key_goes_on_counting() {
    assert_eq!(next(&lineage(&[], "1.3", &[], 0)).as_deref(), Ok("1.3.1"));
    assert_eq!(next(&lineage(&[], "1.3", &["1.3.1"], 1)).as_deref(), Ok("1.3.2"));
    assert_eq!(next(&lineage(&["1.3"], "1.3.1", &[], 1)).as_deref(), Ok("1.3.1.1"));
    assert_eq!(next(&lineage(&[], "V4", &[], 0)).as_deref(), Ok("V4.1"));
}

#[test]
fn rcg_01_a_key_of_another_task_is_not_used() {
    let next = |fixes: &[&str], plan: &[&str]| {
        let taken = |key: &str| plan.contains(&key);
        let lineage = lineage(&[], "1.3", fixes, fixes.len());
        next_fix(&lineage, &Limits::default(), &taken)
    };
    assert_eq!(next(&[], &["1.3", "1.3.1", "1.3.2", "1.3.4"]).as_deref(), Ok("1.3.3"));
    assert_eq!(next(&["1.3.2"], &["1.3", "1.3.1", "1.3.2"]).as_deref(), Ok("1.3.3"));
}

#[test]
fn rcl_03_a_fourth_fix_of_one_task_is_refused() {
    let reached = next(&lineage(&[], "1.3", &["1.3.1", "1.3.2", "1.3.3"], 3)).unwrap_err();
    assert_eq!(
        reached.lines,
        ["ERROR: Max fix attempts (3) reached for task 1.3", "Fix attempts: 1.3.1, 1.3.2, 1.3.3"]
    );
    assert_eq!(reached.end.to_string(), "FAIL (max limit)");
}

#[test]
fn rcl_04_counts_are_kept_per_task_and_below_the_root() {
    let first = ["1.3.1.1", "1.3.1.2", "1.3.1.3"];
    assert!(next(&lineage(&["1.3"], "1.3.1", &first, 4)).is_err());
    assert_eq!(next(&lineage(&[], "1.3", &["1.3.1"], 4)).as_deref(), Ok("1.3.2"));
    assert_eq!(next(&lineage(&["1.3"], "1.3.2", &[], 8)).as_deref(), Ok("1.3.2.1"));
    let reached = next(&lineage(&["1.3"], "1.3.2", &[], 9)).unwrap_err();
    assert_eq!(
        reached.lines,
        [
            "ERROR: Max fix tasks (9) reached below task 1.3",
            "Fix task chain: 1.3 -> 1.3.2",
            "The fix tasks did not fix this task. Manual intervention required."
        ]
    );
    assert!(reached.end.to_string().starts_with("FAIL"));
}

#[test]
fn rcl_05_the_checks_come_in_order() {
    let limits = Limits { per_task: 0, depth: 0, per_root: 0 };
    let all = lineage(&["1.3"], "1.3.1", &[], 9);
    let first = |limits| next_fix(&all, &limits, &|_| false).unwrap_err().end;
    assert_eq!(first(limits), FinalState::MaxLimit);
    let limits = Limits { per_task: 1, ..limits };
    assert_eq!(first(limits), FinalState::MaxDepth);
    let limits = Limits { depth: 2, ..limits };
    assert_eq!(first(limits), FinalState::MaxBelowRoot);
}

#[test]
fn rcd_01_depth_is_counted_by_links() {
    assert_eq!(lineage(&[], "1.2.3.4", &[], 0).depth(), 0);
    assert_eq!(lineage(&["V4"], "V4.1", &[], 1).depth(), 1);
    assert_eq!(lineage(&["1.3", "1.3.1"], "1.3.1.1", &[], 2).depth(), 2);
    let deepest = next(&lineage(&["1.3", "1.3.1"], "1.3.1.1", &[], 2));
    assert_eq!(deepest.as_deref(), Ok("1.3.1.1.1"));
}

#[test]
fn rcd_02_the_deepest_fix_gets_none_of_its_own() {
    let reached = next(&lineage(&["1.3", "1.3.1", "1.3.1.1"], "1.3.1.1.1", &[], 3));
    let reached = reached.unwrap_err();
    assert_eq!(
        reached.lines,
        [
            "ERROR: Max fix task depth (3) exceeded for task 1.3.1.1.1",
            "Fix task chain: 1.3 -> 1.3.1 -> 1.3.1.1 -> 1.3.1.1.1",
            "The fix chain has become too deep. Manual intervention required."
        ]
    );
    assert_eq!(reached.end.to_string(), "FAIL (max depth)");
}

/// One node of a tree of fixes.
struct Node {
    above: Vec<String>,
    key: String,
    fixes: Vec<String>,
}

proptest! {
    /// Whichever tasks fail, in whatever order, the limits hold and no key comes twice.
    #[test]
    fn rcl_04_rcd_01_the_tree_of_fixes_is_bounded(
        failures in proptest::collection::vec(any::<usize>(), 0..60),
        per_task in 1usize..5,
        depth in 1usize..5,
        per_root in 1usize..12,
    ) {
        let limits = Limits { per_task, depth, per_root };
        let mut nodes = vec![Node { above: vec![], key: "1.3".into(), fixes: vec![] }];
        for failure in failures {
            let count = nodes.len();
            let keys: Vec<String> = nodes.iter().map(|node| node.key.clone()).collect();
            let node = &mut nodes[failure % count];
            let lineage = Lineage {
                above: node.above.clone(),
                failed: node.key.clone(),
                fixes: node.fixes.clone(),
                below_root: count - 1,
            };
            let taken = |key: &str| keys.iter().any(|one| one == key);
            if let Ok(key) = next_fix(&lineage, &limits, &taken) {
                prop_assert!(!taken(&key));
                node.fixes.push(key.clone());
                let above = lineage.chain();
                nodes.push(Node { above, key, fixes: vec![] });
            }
        }
        prop_assert!(nodes.len() <= per_root + 1);
        for node in &nodes {
            prop_assert!(node.above.len() <= depth && node.fixes.len() <= per_task);
        }
    }
}

fn history(key: &str, count: usize, end: FinalState) -> FixHistory {
    let fixes = (1..=count).map(|n| format!("{key}.{n}")).collect();
    FixHistory { key: key.into(), fixes, end }
}

#[test]
fn rch_01_the_line_of_a_task_that_passed() {
    assert_eq!(
        history("1.3", 2, FinalState::Pass).text(),
        "Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS"
    );
    assert_eq!(history("2.1", 1, FinalState::Pass).text(), "Task 2.1: 1 fix attempted (2.1.1) - Final: PASS");
}

#[test]
fn rch_02_the_line_of_a_task_that_reached_a_limit() {
    assert_eq!(
        history("3.4", 3, FinalState::MaxLimit).text(),
        "Task 3.4: 3 fixes attempted (3.4.1, 3.4.2, 3.4.3) - Final: FAIL (max limit)"
    );
    for end in [FinalState::MaxDepth, FinalState::MaxBelowRoot, FinalState::Fail] {
        let text = history("V4", 1, end).text();
        assert!(text.starts_with("Task V4: 1 fix attempted (V4.1) - Final: FAIL"), "{text}");
    }
}

#[test]
fn rch_01_02_states_read_back() {
    for (end, words) in FinalState::ALL.map(|end| (end, end.as_str())) {
        assert_eq!(FinalState::read(words), Some(end));
    }
    assert_eq!(FinalState::read("MAYBE"), None);
}
