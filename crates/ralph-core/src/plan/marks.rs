//! Boxes of plan files, set as the tasks stand. Only the marks change; every other byte stays.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::outline::{Dialect, Outline};
use super::{Format, gsd};

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
    let changed = match format {
        Format::TasksMd => of_outline(&Outline::of(text, Dialect::Spec), marks),
        Format::Checklist => of_outline(&Outline::of(text, Dialect::Checklist), marks),
        Format::Gsd => gsd::marked(text, marks),
        Format::Prd | Format::Lines => Vec::new(),
    };
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for (at, done) in changed {
        out.push_str(text.get(kept..at).unwrap_or_default());
        out.push(if done { 'x' } else { ' ' });
        // A mark is one byte, and so is what replaces it.
        kept = at + 1;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out
}

/// Where marks change and how, in the order of the text.
fn of_outline(outline: &Outline<'_>, marks: &[(&str, bool)]) -> Vec<(usize, bool)> {
    let marks: HashMap<&str, bool> = marks.iter().copied().collect();
    let mut changed = Vec::new();
    for item in &outline.items {
        if let Some(done) = marks.get(item.name.as_str()).copied() {
            let steps = item.steps.iter().filter(|_| done);
            let boxes = [&item.mark].into_iter().chain(steps).filter(|mark| mark.is_done != done);
            changed.extend(boxes.map(|mark| (mark.at, done)));
        }
    }
    // The steps of a task may stand behind its parts.
    changed.sort_unstable();
    changed
}

#[cfg(test)]
mod tests;
