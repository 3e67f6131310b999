//! Boxes of plan files, set as the tasks stand. Only the marks change; every other byte stays.

use std::path::{Path, PathBuf};

use super::tasks_md::{self, Spec};
use super::{Format, checklist, json_plan};

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
/// others are passed over. A box that is so already stays, also with its `[X]`.
pub fn mark(format: Format, text: &str, marks: &[(&str, bool)]) -> String {
    match format {
        Format::TasksMd => tasks_md::mark(text, &Spec::of(text).marks(), marks),
        Format::Checklist => match checklist::read(text) {
            Ok(draft) => {
                let places = draft.tasks.into_iter();
                let places = places.filter_map(|task| Some((task.name, task.mark?.start))).collect();
                tasks_md::mark(text, &places, marks)
            }
            Err(_) => text.to_owned(),
        },
        Format::Prd | Format::TaskMaster | Format::Beads => json_plan::mark(format, text, marks),
        Format::Gsd | Format::Github | Format::Lines => text.to_owned(),
    }
}
