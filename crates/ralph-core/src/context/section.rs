//! What a section gives back when it was asked to fit a certain room.

use super::explain::LeftOut;
use super::measure::chars;

/// A section's text and what did not get into it. Text that is not empty begins with the blank
/// line that sets it off and ends with one line end, so that sections are simply joined.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub(super) text: String,
    pub(super) left_out: Vec<LeftOut>,
}

impl Section {
    /// How much of the budget the section takes.
    pub(super) fn size(&self) -> usize {
        chars(&self.text)
    }
}
