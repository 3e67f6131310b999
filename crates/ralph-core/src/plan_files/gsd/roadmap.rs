//! ROADMAP.md: the order of the phases, what plans are about and which are ticked.

use std::collections::{HashMap, HashSet};

use super::ids::{normal, without_kind};
use super::prose::short;
use crate::plan_files::markdown::{Place, Places, checkbox, heading, list_item};
use crate::plan_files::phase::phase_words;
use crate::plan_files::text::{indent, without_mark};

/// A roadmap, read. Phases and ids are in their normal form.
#[derive(Debug, Default)]
pub(super) struct Roadmap {
    /// Phases in the order in which they are named first.
    pub(super) phases: Vec<String>,
    pub(super) ticked_phases: HashSet<String>,
    pub(super) plans: HashMap<String, Entry>,
    /// Where something begins that hides the rest of the file, and what is missing.
    pub(super) unclosed: Option<(usize, String)>,
}

/// A plan's line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) is_ticked: bool,
    pub(super) title: Option<String>,
}

impl Roadmap {
    /// Reads a roadmap; whatever is not known is passed over.
    pub(super) fn of(text: &str) -> Self {
        let mut roadmap = Self::default();
        let mut known = HashSet::new();
        let mut places = Places::default();
        for (at, line) in without_mark(text).lines().enumerate() {
            if places.next(at + 1, line, None) != Place::Open {
                continue;
            }
            let (_, rest) = indent(line);
            let (is_ticked, words) = match list_item(rest) {
                Some(item) => checkbox(item).unwrap_or((false, item)),
                None => match heading(rest) {
                    Some((_, words)) => (false, words),
                    None => continue,
                },
            };
            if let Some(phase) = phase_words(words).filter(|phase| phase.is_called_phase) {
                let phase = normal(phase.number);
                if is_ticked {
                    roadmap.ticked_phases.insert(phase.clone());
                }
                if known.insert(phase.clone()) {
                    roadmap.phases.push(phase);
                }
            } else if let Some((id, title)) = plan_words(words) {
                let entry = roadmap.plans.entry(id).or_default();
                entry.is_ticked |= is_ticked;
                entry.title = entry.title.take().or(title);
            }
        }
        roadmap.unclosed = places.unclosed();
        roadmap
    }
}

/// The id and title in `01-02-PLAN.md — Title`, `**01-02: Title**`, `[01-02-PLAN.md](path): Title`.
fn plan_words(words: &str) -> Option<(String, Option<String>)> {
    let words = words.trim_start_matches(['*', '_', '`', '[', '~']);
    let words = words.strip_prefix("Plan ").unwrap_or(words);
    let is_of_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let end = words.find(|c| !is_of_id(c)).unwrap_or(words.len());
    let (file, after) = words.split_at_checked(end)?;
    let id = without_kind(file.trim_end_matches('.'));
    let is_id = id.starts_with(|c: char| c.is_ascii_digit()) && id.contains('-');
    let after = match after.trim_start_matches(['*', '_', '`']).strip_prefix("](") {
        Some(link) => link.split_once(')').map_or("", |(_, after)| after),
        None => after,
    };
    let is_mark =
        |c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—' | '*' | '_' | '`');
    let title = after
        .trim_start_matches(is_mark)
        .trim_end_matches(['*', '_', '~']);
    is_id.then(|| (normal(id), short(title)))
}

#[cfg(test)]
mod tests {
    use super::{Entry, Roadmap, plan_words};
    use proptest::prelude::*;

    #[test]
    fn phases_in_the_order_they_are_named() {
        let roadmap = Roadmap::of(
            "# Roadmap\n- Integer phases (1, 2): planned\n- [x] **Phase 1: Base** - a\n- [ ] Phase 3: c\n\
             <!-- - [ ] Phase 9 -->\n### Phase 02.1: b (INSERTED)\n### Phase 1: Base\n- Phases 4-6\n```\n## Phase 8\n```\n",
        );
        assert_eq!(roadmap.phases, ["1", "3", "2.1"]);
        assert!(roadmap.ticked_phases.contains("1") && roadmap.ticked_phases.len() == 1);
    }

    #[test]
    fn plans_in_all_their_shapes() {
        let of = |words| plan_words(words).map(|(id, title)| (id, title.unwrap_or_default()));
        for words in [
            "01-02-PLAN.md — Do it",
            "01-02: Do it",
            "**01-02-PLAN.md** -- Do it.",
            "**01-02: Do it**",
            "[01-02-PLAN.md](phases/01-a/01-02-PLAN.md) - Do it",
            "`01-02-PLAN.md` Do it",
            "Plan 01-02: Do it",
        ] {
            assert_eq!(
                of(words),
                Some(("1-2".to_owned(), "Do it".to_owned())),
                "{words}"
            );
        }
        assert_eq!(
            plan_words("02.1-01-PLAN.md"),
            Some(("2.1-1".to_owned(), None))
        );
        for words in ["TBD", "v1-2", "3 things", "", "[x](y)"] {
            assert_eq!(of(words), None, "{words}");
        }
    }

    #[test]
    fn ticks_and_titles() {
        let roadmap =
            Roadmap::of("Plans:\n- [ ] 01-01: a\n- [x] 01-01-PLAN.md\n  - [ ] 01-02-PLAN.md — b\n");
        assert_eq!(
            roadmap.plans["1-1"],
            Entry {
                is_ticked: true,
                title: Some("a".to_owned())
            }
        );
        assert_eq!(
            roadmap.plans["1-2"],
            Entry {
                is_ticked: false,
                title: Some("b".to_owned())
            }
        );
    }

    #[test]
    fn what_hides_the_rest_is_told() {
        assert_eq!(
            Roadmap::of("a\n```\n- [x] 01-01: b\n").unclosed.unwrap().0,
            2
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), near in "[-# \\[\\]x*01Phase:—(\n.]{0,40}") {
            let _ = (Roadmap::of(&text), Roadmap::of(&near));
        }
    }
}
