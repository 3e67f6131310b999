//! Looking ahead: is an indented fence or comment closed before the next task, heading or field?

use super::closed::{Closed, closing_fence};
use super::head::Head;
use super::label::Label;
use super::lines::next_line;
use super::syntax::{bullet, heading, indent};

/// What closes blocks in a stretch of a file that ends at a task line, a heading or a field.
///
/// A stretch is looked at once, however many blocks are opened in it, so a file takes linear time.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    end: usize,
    /// Closing lines, as position and length: those that no longer one follows.
    backticks: Vec<(usize, usize)>,
    tildes: Vec<(usize, usize)>,
    /// Position of the last `-->`.
    comment: Option<usize>,
}

impl Ahead {
    /// Whether a block that a line before `from` opens is closed in its stretch. To be asked with
    /// rising positions.
    pub(super) fn closes(&mut self, file: &str, from: usize, what: Closed) -> bool {
        if from >= self.end {
            *self = Self::of(file, from);
        }
        let longest = |closing: &[(usize, usize)]| {
            let next = closing.partition_point(|(at, _)| *at < from);
            closing.get(next).map_or(0, |(_, length)| *length)
        };
        match what {
            Closed::Fence(b'`', length) => longest(&self.backticks) >= length,
            Closed::Fence(_, length) => longest(&self.tildes) >= length,
            Closed::Comment => self.comment.is_some_and(|last| last >= from),
        }
    }

    fn of(file: &str, from: usize) -> Self {
        let mut ahead = Self {
            end: from,
            ..Self::default()
        };
        while let Some((line, end)) = next_line(file, ahead.end) {
            if Head::of(line).is_some() || heading(line).is_some() || is_field(line) {
                break;
            }
            ahead.note(line, ahead.end);
            ahead.end = end;
        }
        ahead
    }

    fn note(&mut self, line: &str, at: usize) {
        let (columns, words) = indent(line);
        if Closed::Comment.is_closed_by(words) {
            self.comment = Some(at);
        }
        // A fence at column 0 belongs to the document, not to an item.
        if let Some((mark, length)) = closing_fence(words).filter(|_| columns > 0) {
            let closing = if mark == b'`' {
                &mut self.backticks
            } else {
                &mut self.tildes
            };
            while closing.pop_if(|(_, shorter)| *shorter <= length).is_some() {}
            closing.push((at, length));
        }
    }
}

fn is_field(line: &str) -> bool {
    let label = bullet(indent(line).1).and_then(Label::of_item);
    label.is_some_and(|label| label.field.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "  ```\n  ````\n  ~~~\n -->\n  ```\n```\n- [ ] 1.1 a\n  ````\n";

    fn closes(from: &str, what: Closed) -> bool {
        Ahead::default().closes(FILE, FILE.find(from).unwrap(), what)
    }

    #[test]
    fn the_longest_line_that_follows_decides() {
        let fence = |length| Closed::Fence(b'`', length);
        assert!(closes("  ```", fence(4)) && !closes("  ```", fence(5)));
        assert!(closes("  ~~~", fence(3)) && !closes("  ~~~", fence(4)));
        assert!(!closes("```\n- [", fence(3)));
        assert!(closes("  ~~~", Closed::Fence(b'~', 3)) && !closes(" -->", Closed::Fence(b'~', 3)));
        assert!(closes(" -->", Closed::Comment) && !closes("```\n- [", Closed::Comment));
    }

    #[test]
    fn one_look_answers_all_questions_of_a_stretch() {
        let mut ahead = Ahead::default();
        for at in FILE.match_indices('\n').map(|(at, _)| at + 1) {
            for length in 3..6 {
                let what = Closed::Fence(b'`', length);
                let alone = Ahead::default().closes(FILE, at, what);
                assert_eq!(ahead.closes(FILE, at, what), alone, "{at} {length}");
            }
        }
    }
}
