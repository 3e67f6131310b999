//! No box is lost: each is ticked with its task, or was named in the notes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::markdown::{Lines, checkbox};
use crate::plan::tasks_md::Spec;
use crate::plan::{Draft, checklist};

/// Lines of all the formats, alone or together.
const LINES: [&str; 66] = [
    "",
    "",
    "- [ ] 1. a",
    "- [x] 1. a",
    "- [ ] 1.1 b",
    "- [ ]* 1.2 c",
    "  - [ ] 1.1 d",
    "  - [ ]* 1.3 e",
    "    - [ ] 1.1.1 f",
    "- [ ] **1.1** g",
    "- [-] 2. h",
    "- [~] i",
    "- [X] T001 [P] [US1] j (depends on T002)",
    "- [ ] T002 k",
    "- [ ] T002 l — depends on T001–T003",
    "- [ ] US-001: m",
    "- [ ] **P1-01:** n",
    "- [ ] V4 [VERIFY] o `pnpm test`",
    "- [ ] VF p",
    "- [ ] 1.3.1 [FIX 1.3] q",
    "* [ ] r",
    "+ [x] s",
    "1. [ ] t",
    "2) [ ] u",
    "  - [ ] v",
    "  * [x] w",
    "      - [ ] x",
    "\t- [ ] y",
    " - [ ] z",
    "- [ ]",
    "- [?] a",
    "> - [ ] b",
    "- plain",
    "  - **Verify**: `grep a b` returns nothing",
    "  - **Files**: a",
    "  - After: T001",
    "  - _Requirements: 1.2_",
    "text",
    "  text",
    "# A",
    "## Phase 2: B",
    "---",
    "```",
    "  ```",
    "<!-- - [ ] c -->",
    "<!--",
    "-->",
    "| [ ] | d |",
    "1. **[ ] e**",
    "### [ ] f",
    "[ ] g",
    "~~[ ] h~~",
    "\u{a0}- [ ] i",
    "\u{2013} [ ] j",
    "\u{2022} [ ] k",
    "a) [ ] l",
    "- 1.1 [ ] m",
    "#### 1.2 [ ] n",
    "T001 [ ] o",
    "- - [ ] p",
    "- > [ ] q",
    "- [ ](link) r",
    "-\t[ ]\ts",
    "<li>[ ] t</li>",
    "10. [ ] u",
    "- [/] v",
];

fn draft(format: Format, text: &str) -> Option<Draft> {
    let draft = match format {
        Format::TasksMd => Spec::of(text).read(&|_| true),
        _ => checklist::read(text, &|_| true),
    };
    let mut draft = draft.ok()?;
    draft.leave_out_optional(|_| false);
    Some(draft)
}

proptest! {
    #[test]
    fn imp_02_no_box_is_lost(
        lines in vec(select(&LINES[..]), 0..30),
        end in select(&["\n", "\r\n"][..]),
        format in select(&[Format::TasksMd, Format::Checklist][..]),
    ) {
        let text = lines.join(end);
        let Some(draft) = draft(format, &text) else {
            return Ok(());
        };
        let open = draft.tasks.iter().filter(|task| !task.done);
        let marks: Vec<(&str, bool)> = open.map(|task| (task.name.as_str(), true)).collect();
        let marked = mark(format, &text, &marks);
        prop_assert_eq!(text.len(), marked.len());
        // Whatever looks like an open box, by no reader's own rules.
        for (number, line) in (1..).zip(&Lines::of(&marked).lines).filter(|(_, line)| line.hidden.is_none()) {
            let is_told = draft.notes.iter().any(|note| note.line == number);
            prop_assert!(is_told || !line.text.contains("[ ]"), "{number}: {text}");
        }
        let file = Lines::of(&text);
        let mut boxes = Vec::new();
        for line in file.lines.iter().filter(|line| line.hidden.is_none()) {
            boxes.extend(checkbox(line.text).map(|found| line.start + found.at));
        }
        for (at, (old, new)) in text.bytes().zip(marked.bytes()).enumerate() {
            prop_assert!(old == new || boxes.contains(&at), "{at}: {text}");
        }
        let again = draft.tasks.iter().map(|task| task.name.as_str()).collect::<std::collections::HashSet<_>>();
        prop_assert_eq!(again.len(), draft.tasks.len());
    }

    #[test]
    fn imp_08_places_of_another_text_change_nothing_but_marks(
        one in vec(select(&LINES[..]), 0..12),
        other in vec(select(&LINES[..]), 0..12),
        format in select(&[Format::TasksMd, Format::Checklist][..]),
    ) {
        let (one, other) = (one.join("\n"), other.join("\n"));
        let places = Places::of(format, &one).unwrap();
        let marks: Vec<(&str, bool)> = places.0.keys().map(|name| (name.as_str(), true)).collect();
        let marked = places.mark(&other, &marks);
        for (at, (old, new)) in other.bytes().zip(marked.bytes()).enumerate() {
            prop_assert!(old == new || other[..at].ends_with('[') && other[at + 1..].starts_with(']'), "{at}: {other}");
        }
    }

    #[test]
    fn marking_never_panics(text in any::<String>(), names in vec(any::<String>(), 0..3)) {
        let marks: Vec<(&str, bool)> = names.iter().map(|name| (name.as_str(), true)).collect();
        for format in [Format::TasksMd, Format::Checklist, Format::Gsd, Format::Prd, Format::Lines] {
            prop_assert_eq!(mark(format, &text, &marks).len(), text.len());
        }
    }
}

#[test]
fn a_roadmap_shows_plans_and_the_phases_that_they_finish() {
    let text = "- [ ] **Phase 1: a**\n- [ ] Phase 2: b\n\n## Phase 1\n- [x] 01-01-PLAN.md — c\n- [ ] 01-02: d\n\n## Phase 2\n- [ ] 02-01\n";
    let one = mark(Format::Gsd, text, &[("01-02", true), ("01-02/1", true)]);
    assert_eq!(one, text.replace("[ ] **Phase 1", "[x] **Phase 1").replace("[ ] 01-02", "[x] 01-02"));
    assert_eq!(mark(Format::Gsd, &one, &[("1-2", false)]), one.replace("[x] 01-02", "[ ] 01-02"));
    assert_eq!(mark(Format::Gsd, text, &[("09-01", true)]), text);
}
