//! The progress bar.

/// How many cells it has.
const CELLS: u64 = 20;

/// `[████████░░░░░░░░░░░░] 40% (4 of 10 tasks)`. Rounded down: full means everything.
pub(super) fn bar(finished: u64, total: u64) -> String {
    let finished = finished.min(total);
    let filled = share(finished, total, CELLS);
    let percent = share(finished, total, 100);
    let cell = |at: u64| if at < filled { '█' } else { '░' };
    let cells: String = (0..CELLS).map(cell).collect();
    let tasks = if total == 1 { "task" } else { "tasks" };
    format!("[{cells}] {percent}% ({finished} of {total} {tasks})")
}

/// How many of `of` parts are reached; nothing of nothing is 0.
fn share(part: u64, whole: u64, of: u64) -> u64 {
    let wide = u128::from(part) * u128::from(of);
    let share = wide.checked_div(u128::from(whole)).unwrap_or(0);
    u64::try_from(share).unwrap_or(of)
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn ana_05_the_bar_has_twenty_cells() {
        assert_eq!(bar(4, 10), "[████████░░░░░░░░░░░░] 40% (4 of 10 tasks)");
        assert_eq!(bar(0, 0), "[░░░░░░░░░░░░░░░░░░░░] 0% (0 of 0 tasks)");
        assert_eq!(bar(1, 1), "[████████████████████] 100% (1 of 1 task)");
    }

    #[test]
    fn ana_05_nearly_done_is_not_done() {
        assert_eq!(
            bar(999, 1000),
            "[███████████████████░] 99% (999 of 1000 tasks)"
        );
        assert!(bar(u64::MAX, u64::MAX).contains(" 100% "));
        assert!(bar(9, 3).contains(" 100% (3 of 3 "));
    }
}
