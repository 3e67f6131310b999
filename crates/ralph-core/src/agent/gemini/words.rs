//! What the assistant says, turn by turn, and which of it is its final text.

use super::super::brief::{SAID_LIMIT, push_bounded, tail};

/// Ends of signals that say how the task ended. Such a signal holds although a tool is used after it: models like to
/// note a topic or tick off a list with their last words, and then say nothing more.
const COMPLETIONS: [&str; 3] = ["</task-done>", "</task-failed>", "</promise>"];

/// The words of one session, each part bounded.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// What is being said.
    turn: String,
    /// The last turn that said something, or all from the last one that said how the task ended.
    last: String,
    /// Whether `last` says how the task ended.
    completed: bool,
    /// Everything but `turn`.
    said: String,
    /// What no reader of a log was told yet.
    untold: String,
}

impl Words {
    /// Takes a piece of the turn; one that does not continue the last stands on a line of its own.
    pub(super) fn piece(&mut self, text: &str, continues: bool) {
        if !continues && !self.turn.is_empty() {
            self.turn.push('\n');
            self.untold.push('\n');
        }
        for part in [&mut self.turn, &mut self.untold] {
            part.push_str(tail(text));
            if part.len() > 2 * SAID_LIMIT {
                let kept = tail(part).len();
                part.drain(..part.len() - kept);
            }
        }
    }

    /// The lines that were finished since this was last asked; all of it when the turn is over.
    pub(super) fn newly_said(&mut self) -> Option<String> {
        let rest = match self.turn.is_empty() {
            true => String::new(),
            false => {
                let end = self.untold.rfind('\n').map_or(0, |newline| newline + 1);
                self.untold.split_off(end)
            }
        };
        let new = std::mem::replace(&mut self.untold, rest);
        (!new.trim().is_empty()).then(|| new.trim_end_matches('\n').to_owned())
    }

    /// The turn is over: a tool is used, or the session ends.
    pub(super) fn end_turn(&mut self) {
        let turn = std::mem::take(&mut self.turn);
        if turn.trim().is_empty() {
            return;
        }
        let completes = COMPLETIONS.iter().any(|end| turn.contains(end));
        if completes || !self.completed {
            self.last.clear();
        }
        push_bounded(&mut self.last, &turn);
        push_bounded(&mut self.said, &turn);
        self.completed |= completes;
    }

    /// The line that is being said, for displays.
    pub(super) fn line(&self) -> Option<&str> {
        let recent = tail(&self.turn);
        let start = recent.ceil_char_boundary(recent.len().saturating_sub(4096));
        let recent = recent.get(start..).unwrap_or_default();
        recent.lines().rev().find(|line| !line.trim().is_empty())
    }

    /// The final text of a session that ended well.
    pub(super) fn last(&self) -> &str {
        tail(&self.last)
    }

    /// Everything that was said.
    pub(super) fn all(&self) -> &str {
        tail(&self.said)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn memory_stays_bounded(
            pieces in prop::collection::vec((0..40_000_usize, any::<bool>(), any::<bool>()), 0..40),
        ) {
            let mut words = Words::default();
            for (count, continues, ends) in pieces {
                words.piece(&"é</task-done>\n".repeat(count), continues);
                if ends {
                    words.end_turn();
                }
                for part in [&words.turn, &words.last, &words.said, &words.untold] {
                    prop_assert!(part.len() <= 2 * SAID_LIMIT);
                }
            }
            words.end_turn();
            prop_assert!(words.last().len() <= SAID_LIMIT && words.all().len() <= SAID_LIMIT);
        }
    }

    fn last(turns: &[&str]) -> String {
        let mut words = Words::default();
        for turn in turns {
            words.piece(turn, true);
            words.end_turn();
        }
        words.last().to_owned()
    }

    #[test]
    fn the_last_turn_that_says_something_is_the_final_text() {
        assert_eq!(last(&["I look.", "It works."]), "It works.");
        assert_eq!(last(&["It works.", "", " \n"]), "It works.");
        assert_eq!(last(&[]), "");
    }

    #[test]
    fn a_completion_before_the_last_tool_holds() {
        let done = "<task-done>t-1</task-done>";
        let failed = "<task-failed>t-1</task-failed>";
        assert_eq!(last(&["I look.", done, ""]), done);
        assert_eq!(
            last(&[done, "Noted.", "Bye."]),
            format!("{done}\nNoted.\nBye.")
        );
        assert_eq!(last(&[failed, "I try again.", done]), done);
    }

    #[test]
    fn pieces_are_joined_and_shown_by_line() {
        let mut words = Words::default();
        words.piece("First li", true);
        words.piece("ne.\nSec", true);
        assert_eq!(words.line(), Some("Sec"));
        words.piece("ond.\n\n", true);
        assert_eq!(words.line(), Some("Second."));
        words.piece("Third.", false);
        assert_eq!(words.newly_said().as_deref(), Some("First line.\nSecond."));
        assert_eq!(words.newly_said(), None);
        words.end_turn();
        assert_eq!(words.newly_said().as_deref(), Some("Third."));
        assert_eq!(words.newly_said(), None);
        assert_eq!(words.last(), "First line.\nSecond.\n\n\nThird.");
        assert_eq!(words.all(), words.last());
    }
}
