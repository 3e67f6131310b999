//! Short ways to say what is wanted.

use crate::memory::agents_md::{Bullet, Entry, PhaseEntries, Place, Section, Wanted, write};

pub(super) const INTRO: &str = "Failure learnings from current phase - cleared on phase completion.";

pub(super) fn bullet(section: Section, text: &str) -> Bullet {
    let place = Place { section, phase: None };
    Bullet { place, text: text.to_owned() }
}

pub(super) fn in_phase(phase: &str, text: &str) -> Bullet {
    let place = Place { section: Section::PhaseSpecific, phase: Some(phase.to_owned()) };
    Bullet { place, text: text.to_owned() }
}

/// A short entry of the task with this name; each `error` makes it another one.
pub(super) fn entry(name: &str, error: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        at: "2026-01-20 14:32:15".to_owned(),
        times: 1,
        error: error.to_owned(),
        attempted: "Tried.".to_owned(),
        files: vec!["a.rs".to_owned()],
        context: "Why.".to_owned(),
        last_good: None,
    }
}

pub(super) fn lines_of(name: &str, error: &str) -> String {
    format!(
        "- [{name} | 2026-01-20 14:32:15] **Error:** {error}\n  **Attempted:** Tried.\n  \
         **Files:** a.rs\n  **Context:** Why.\n"
    )
}

pub(super) fn phase(label: &str, entries: &[Entry]) -> PhaseEntries {
    PhaseEntries { phase: Some(label.to_owned()), entries: entries.to_vec() }
}

pub(super) fn bullets(bullets: &[Bullet]) -> Wanted {
    Wanted { bullets: bullets.to_vec(), ..Wanted::default() }
}

pub(super) fn removed(remove: &[Bullet]) -> Wanted {
    Wanted { remove: remove.to_vec(), ..Wanted::default() }
}

pub(super) fn failures(failures: &[PhaseEntries]) -> Wanted {
    Wanted { failures: failures.to_vec(), ..Wanted::default() }
}

/// Writes, where every entry is Ralph's; and once more, which must change nothing.
pub(super) fn written(file: &str, wanted: &Wanted) -> String {
    written_by(Some(file), wanted, &|_| true)
}

pub(super) fn written_by(file: Option<&str>, wanted: &Wanted, is_ours: &dyn Fn(&str) -> bool) -> String {
    let once = write(file, wanted, is_ours);
    assert_eq!(write(Some(&once), wanted, is_ours), once, "the second time");
    once
}
