//! Boxes of plan files, set as the tasks stand. Only the marks change; every other byte stays.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::outline::{Dialect, Outline};
use super::{Format, gsd, json_plan};

impl Format {
    /// Whether Ralph writes into files of this format.
    pub fn is_written(self) -> bool {
        match self {
            Self::TasksMd | Self::Checklist | Self::Gsd | Self::Prd | Self::TaskMaster | Self::Beads => true,
            Self::Github | Self::Lines => false,
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
    if matches!(format, Format::Prd | Format::TaskMaster | Format::Beads) {
        return json_plan::mark(format, text, marks);
    }
    if format == Format::Gsd {
        return set(text, &gsd::marked(text, marks));
    }
    match Places::of(format, text) {
        Some(places) => places.mark(text, marks),
        None => text.to_owned(),
    }
}

/// Where the boxes of a text are. Marks are one byte each, so the places hold for the text with other marks, too.
#[derive(Clone, Debug)]
pub struct Places(HashMap<String, Boxes>);

#[derive(Clone, Debug)]
struct Boxes {
    own: usize,
    steps: Vec<usize>,
}

impl Places {
    /// None where the format has no boxes.
    pub fn of(format: Format, text: &str) -> Option<Self> {
        let outline = match format {
            Format::TasksMd => Outline::of(text, Dialect::Spec),
            Format::Checklist => Outline::of(text, Dialect::Checklist),
            Format::Gsd | Format::Lines => return None,
            Format::Prd | Format::TaskMaster | Format::Beads | Format::Github => return None,
        };
        let boxes = outline.items.iter().map(|item| {
            let steps = item.steps.iter().map(|step| step.at).collect();
            (item.name.clone(), Boxes { own: item.mark.at, steps })
        });
        Some(Self(boxes.collect()))
    }

    /// The text with these boxes ticked or open, as [`mark`] does it.
    pub fn mark(&self, text: &str, marks: &[(&str, bool)]) -> String {
        let mut changed = Vec::new();
        for (name, done) in marks {
            let Some(boxes) = self.0.get(*name) else {
                continue;
            };
            let steps = boxes.steps.iter().filter(|_| *done);
            changed.extend([&boxes.own].into_iter().chain(steps).map(|at| (*at, *done)));
        }
        set(text, &changed)
    }
}

/// The text with the boxes at these places ticked or open; one that is so already stays.
fn set(text: &str, boxes: &[(usize, bool)]) -> String {
    let mut text = text.as_bytes().to_vec();
    for (at, done) in boxes {
        // Whatever a place is said to be, nothing but a mark is written over.
        if let Some([b'[', mark, b']']) = at.checked_sub(1).and_then(|from| text.get_mut(from..from + 3))
            && matches!(mark, b'x' | b'X') != *done
        {
            *mark = if *done { b'x' } else { b' ' };
        }
    }
    // A mark is one byte, and so is what replaces it.
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
