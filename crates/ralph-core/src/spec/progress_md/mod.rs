//! The log of a spec, `.progress.md`: text in, text out.
//!
//! ```text
//! text ─► layout (Ralph's sections and their list items)
//!           ├─► read:   what the log says
//!           └─► update: lines to replace, lines to put in ─► splice
//! ```
//!
//! Nothing is rendered anew: what `update` does not replace or put in stays byte for byte, and what
//! is already there is left alone, so the same news again change nothing.

mod entry;
mod layout;
mod model;
mod place;
mod plan;
mod read;
mod splice;

use layout::Layout;
use plan::Edits;

pub use model::{Completed, News, Progress};

/// What the log says. Lines that are not in Ralph's form are passed over.
#[must_use]
pub fn read(text: &str) -> Progress {
    read::read(&Layout::of(text))
}

/// The log with the news in it; an empty text is a log that does not exist yet.
#[must_use]
pub fn update(text: &str, news: &News) -> String {
    let layout = Layout::of(text);
    let edits = Edits::of(&layout, news);
    match edits.is_empty() {
        true => text.to_owned(),
        false => splice::spliced(&layout, edits),
    }
}

#[cfg(test)]
mod tests;
