//! Boxes of plan files, set as the tasks stand. Only the marks change; every other byte stays.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Format;
use super::outline::{Dialect, Outline};

impl Format {
    /// Whether Ralph writes into files of this format.
    pub fn is_written(self) -> bool {
        match self {
            Self::TasksMd | Self::Checklist | Self::Gsd => true,
            Self::Prd | Self::Lines => false,
        }
    }
}

/// The file that shows which tasks are done, given where the plan was imported from.
pub fn written_file(format: Format, source: &Path) -> PathBuf {
    match format {
        Format::Gsd if source.is_dir() => source.join("ROADMAP.md"),
        _ => source.to_owned(),
    }
}

/// The text with the boxes of these tasks ticked (`true`) or open (`false`). Names are those that reading the text gives its tasks;
/// others are passed over. The steps of a task are ticked with it, and never opened. A box that is so already stays, also with its `[X]`.
pub fn mark(format: Format, text: &str, marks: &[(&str, bool)]) -> String {
    let outline = match format {
        Format::TasksMd => Outline::of(text, Dialect::Spec),
        Format::Checklist => Outline::of(text, Dialect::Checklist),
        Format::Gsd | Format::Prd | Format::Lines => return text.to_owned(),
    };
    let marks: HashMap<&str, bool> = marks.iter().copied().collect();
    let mut text = text.as_bytes().to_vec();
    for item in &outline.items {
        let Some(done) = marks.get(item.name.as_str()) else {
            continue;
        };
        let steps = item.steps.iter().filter(|_| *done);
        for mark in [&item.mark].into_iter().chain(steps).filter(|mark| mark.is_done != *done) {
            if let Some(byte) = text.get_mut(mark.at) {
                *byte = if *done { b'x' } else { b' ' };
            }
        }
    }
    // A mark is one byte, and so is what replaces it.
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
