//! The state file of a spec, `.ralph-state.json`: text in, text out.
//!
//! ```text
//! text ─► valid JSON? ─► scan (where each value stands)
//!                          ├─► read:   what the file says
//!                          └─► update: wanted values ─► merge (what to splice) ─► splice
//! ```
//!
//! Nothing is rendered anew: keys that Ralph does not know, their order, the form of numbers and
//! the white space stay byte for byte, and a value that is already there is left alone.

mod merge;
mod model;
mod read;
mod render;
mod scan;
mod style;
mod value;

#[cfg(test)]
mod tests;

use scan::Document;

pub use model::{FixEntry, SpecState, StateNews, StateProblem};

const NEW_FILE: &str = "{}\n";

/// What the file says; an empty text is a file that does not exist yet. Values of the wrong kind
/// are passed over and noted.
pub fn read(text: &str) -> Result<SpecState, StateProblem> {
    match Document::of(text)? {
        None => Ok(SpecState::default()),
        Some(document) => Ok(read::read(&document)),
    }
}

/// The file with the news in it; an empty text becomes a new file.
pub fn update(text: &str, news: &StateNews) -> Result<String, StateProblem> {
    let document = Document::of(text)?;
    let wanted = news.wanted();
    match document {
        _ if wanted.is_empty() => Ok(text.to_owned()),
        Some(document) => Ok(merge::merged(&document, &wanted)),
        None => update(NEW_FILE, news),
    }
}
