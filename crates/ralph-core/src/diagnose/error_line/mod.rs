//! The line of an output that says what went wrong.
//!
//! The output is read once, line by line. Each line that says something is given a [`Rank`] by what it
//! looks like: what a test runner or compiler says of the cause ranks above what a program says of
//! itself, and that above counts and wrappers (`1 failed`, `make: *** … Error 1`). One line is kept of
//! each rank, the first or the last; the best rank wins.

mod blocks;
mod diagnostic;
mod noise;
mod python;
mod stated;

use super::reports_error;
use blocks::Blocks;
use noise::Noise;
use python::Python;

pub(super) use stated::is_stated;

/// Longer lines are cut: what an error says, it says at its beginning.
const LONGEST: usize = 2000;

/// How much a line tells of the cause, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A count or a wrapper: `1 failed, 2 passed`, `error: could not compile`.
    Summary,
    /// A phrase that programs use of failures among other things.
    Hint,
    /// A place in a file and something about it.
    Placed,
    /// Any other line that reports an error.
    Plain,
    /// What the shell or the system says: `x: command not found`, `No such file or directory`.
    System,
    /// npm's own.
    Npm,
    /// A program's own word for it: `error: …`, `fatal: …`.
    Stated,
    /// The name of a failing test.
    Named,
    /// An exception: `TypeError: …`.
    Exception,
    /// The end of a Python traceback.
    Traceback,
    /// The message of a panic or of a failing test.
    Message,
    /// A compiler's or linter's, with a place or a code.
    Diagnostic,
    /// What pytest says of the first failing test.
    Pytest,
}

impl Rank {
    const COUNT: usize = Self::Pytest as usize + 1;

    /// Whether later lines of the rank give way to the first: the first compiler error causes the
    /// others, whereas the last thing that a program says is what ended it.
    const fn first_counts(self) -> bool {
        matches!(
            self,
            Self::Placed
                | Self::Npm
                | Self::Named
                | Self::Exception
                | Self::Message
                | Self::Diagnostic
                | Self::Pytest
        )
    }
}

/// The best line of each rank so far.
#[derive(Default)]
struct Best([Option<String>; Rank::COUNT]);

impl Best {
    fn offer(&mut self, rank: Rank, line: &str) {
        if let Some(slot) = self.0.get_mut(rank as usize)
            && !(slot.is_some() && rank.first_counts())
        {
            *slot = Some(line.to_owned());
        }
    }

    /// Forgets what only looked like an error: the runner says that there was none.
    fn forget_weak(&mut self) {
        for slot in self.0.iter_mut().take(Rank::System as usize) {
            *slot = None;
        }
    }

    fn take(self) -> Option<String> {
        self.0.into_iter().rev().flatten().next()
    }
}

/// Looks for the line while an output is read.
#[derive(Default)]
pub(super) struct ErrorLine {
    best: Best,
    python: Python,
    blocks: Blocks,
    noise: Noise,
}

impl ErrorLine {
    pub(super) fn line(&mut self, line: &str) {
        let line = line
            .get(..line.floor_char_boundary(LONGEST))
            .unwrap_or(line);
        let trimmed = line.trim();
        if self.python.line(line, trimmed) {
            return;
        }
        if let Some((rank, line)) = self.blocks.line(trimmed) {
            self.best.offer(rank, &line);
        } else if noise::declares_success(trimmed) {
            self.best.forget_weak();
        } else if !self.blocks.in_console()
            && !self.noise.skips(trimmed)
            && let Some(rank) = rank(trimmed)
        {
            self.best.offer(rank, trimmed);
        }
    }

    /// The line that tells best what went wrong, trimmed, if any does.
    pub(super) fn finish(mut self) -> Option<String> {
        let (pytest, traceback) = self.python.finish();
        for (rank, line) in [(Rank::Pytest, pytest), (Rank::Traceback, traceback)] {
            if let Some(line) = line {
                self.best.offer(rank, &line);
            }
        }
        self.best.take()
    }
}

/// The line of a text that tells best what went wrong, trimmed, if any does.
#[must_use]
pub fn error_line(text: &str) -> Option<String> {
    let mut reader = ErrorLine::default();
    text.lines().for_each(|line| reader.line(line));
    reader.finish()
}

/// What a line is by itself.
fn rank(line: &str) -> Option<Rank> {
    if noise::is_summary(line) {
        return reports_error(line).then_some(Rank::Summary);
    }
    if diagnostic::is_diagnostic(line) {
        return Some(Rank::Diagnostic);
    }
    if let Some(telling) = stated::npm(line) {
        return telling.then_some(Rank::Npm);
    }
    if stated::is_exception(line) {
        return Some(Rank::Exception);
    }
    if stated::names_a_test(line) {
        return Some(Rank::Named);
    }
    if stated::is_stated(line) {
        return Some(Rank::Stated);
    }
    if noise::is_mild(line) {
        return None;
    }
    if stated::is_systems(line) {
        return Some(Rank::System);
    }
    if reports_error(line) {
        return Some(Rank::Plain);
    }
    if diagnostic::has_place(line) {
        return Some(Rank::Placed);
    }
    stated::hints(line).then_some(Rank::Hint)
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;
