//! The four sections of AGENTS.md that Ralph keeps, in a file that people and their agents also
//! write: text in, text out.
//!
//! ```text
//! file ─► lines (what Markdown makes of each) ─► layout (owned sections, their parts, list items)
//!           ├─► read:  bullets and names of failure entries
//!           └─► write: take out what is to go ─► put in what is missing
//! ```
//!
//! Nothing is rendered anew: what `write` does not take out or put in stays byte for byte. What is
//! already there is left alone, so writing the same again changes nothing.

mod entry;
mod layout;
mod model;
mod phase;
mod plan;
mod put_in;
mod splice;
mod sync;
mod take_out;
mod text;

#[cfg(test)]
mod tests;

use layout::Layout;
use plan::Plan;

pub use model::{Bullet, Entry, Found, PhaseEntries, Place, Section, Wanted};
pub use sync::{
    Known, LastWrite, Situation, SyncPlan, category_and_tags, collapsed, place, reconcile,
};
pub use text::bullet_text;

/// Finds the owned sections of a file, their bullets and whose failure entries they hold.
#[must_use]
pub fn read(file: &str) -> Found {
    let layout = Layout::of(file);
    let mut found = Found::default();
    for section in &layout.sections {
        if !found.sections.contains(&section.name) {
            found.sections.push(section.name);
        }
    }
    let mut names = std::collections::HashSet::new();
    for (section, part, block) in layout.blocks() {
        match &block.entry_name {
            Some(name) if names.insert(name) => found.entry_names.push(name.clone()),
            Some(_) => {}
            None if block.text.is_empty() => {}
            None => found.bullets.push(Bullet {
                place: Place {
                    section: section.name,
                    phase: part.learning_phase(section.name).label(),
                },
                text: block.text.to_string(),
            }),
        }
    }
    found
}

/// The file with what is wanted in it; `None` is a file that does not exist yet.
///
/// `is_ours` tells by its name whether a failure entry is Ralph's to replace. Entries under a name
/// that `wanted` holds are, whatever it says. With nothing to change the file comes back as it is.
#[must_use]
pub fn write(file: Option<&str>, wanted: &Wanted, is_ours: &dyn Fn(&str) -> bool) -> String {
    let plan = Plan::new(wanted, is_ours);
    let original = file.unwrap_or_default();
    let layout = Layout::of(original);
    let line_end = text::commonest_line_end(layout.file.raw_lines());
    match take_out::take_out(&layout, &plan, line_end) {
        None => put_in::put_in(&layout, &plan, line_end, file.is_none())
            .unwrap_or_else(|| original.to_owned()),
        Some(rest) => put_in::put_in(&Layout::of(&rest), &plan, line_end, false).unwrap_or(rest),
    }
}
