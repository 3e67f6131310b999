//! The seed's example and whole files.

use super::support::*;
use crate::memory::agents_md::{Entry, Section, Wanted, read, write};

const SEED: &str = "\
# Project Learnings

## Error Fixes
[existing error fixes]

## Codebase Patterns
[existing codebase patterns]

## Phase-Specific
[existing phase-specific learnings]

## Failure Context

Failure learnings from current phase - cleared on phase completion.

### Phase 12:

- [12-01 | 2026-01-20 14:32:15] **Error:** Command 'npm test' failed with exit code 1
  **Attempted:** Ran test suite to verify implementation
  **Files:** bin/lib/learnings.sh, bin/ralph.sh
  **Context:** Tests failed because jest config was missing in package.json

- [12-01 | 2026-01-20 14:35:22] **Error:** sed: -e expression #1, char 15: unterminated `s' command
  **Attempted:** Tried to extract failure reason using sed pattern
  **Files:** bin/lib/learnings.sh
  **Context:** Single quotes in error message broke sed pattern

";

fn seed_entries() -> [Entry; 2] {
    let first = Entry {
        name: "12-01".to_owned(),
        at: "2026-01-20 14:32:15".to_owned(),
        times: 1,
        error: "Command 'npm test' failed with exit code 1".to_owned(),
        attempted: "Ran test suite to verify implementation".to_owned(),
        files: vec!["bin/lib/learnings.sh".to_owned(), "bin/ralph.sh".to_owned()],
        context: "Tests failed because jest config was missing in package.json".to_owned(),
        last_good: None,
    };
    let second = Entry {
        at: "2026-01-20 14:35:22".to_owned(),
        error: "sed: -e expression #1, char 15: unterminated `s' command".to_owned(),
        attempted: "Tried to extract failure reason using sed pattern".to_owned(),
        files: vec!["bin/lib/learnings.sh".to_owned()],
        context: "Single quotes in error message broke sed pattern".to_owned(),
        ..first.clone()
    };
    [first, second]
}

#[test]
fn agm_03_04_the_seed_example_is_written_as_it_stands() {
    let before = SEED.split("## Failure Context").next().unwrap();
    let wanted = failures(&[phase("12", &seed_entries())]);
    // The seed's example ends in a blank line before its fence.
    assert_eq!(written(before, &wanted), SEED.trim_end().to_owned() + "\n");
    assert_eq!(written(SEED, &wanted), SEED);
}

#[test]
fn agm_10_11_clearing_the_seed_example_leaves_heading_and_intro() {
    let cleared = written(SEED, &Wanted::default());
    let expected = SEED.split("\n### Phase 12:").next().unwrap();
    assert_eq!(cleared, format!("{expected}\n"));
    assert!(cleared.contains("## Failure Context\n\nFailure learnings"));
}

#[test]
fn agm_02_a_new_file() {
    let wanted = Wanted {
        bullets: vec![
            bullet(Section::CodebasePatterns, "pattern"),
            in_phase("10", "ten"),
            bullet(Section::PhaseSpecific, "any phase"),
            in_phase("02", "two"),
            bullet(Section::ErrorFixes, "fix\n\nmore"),
            in_phase("2", "two again"),
        ],
        remove: Vec::new(),
        failures: vec![
            phase("3", &[entry("3-1", "b")]),
            crate::memory::agents_md::PhaseEntries { phase: None, entries: vec![entry("t-1", "c")] },
            phase("02", &[entry("2-1", "a")]),
        ],
    };
    let [a, b, c] = [("2-1", "a"), ("3-1", "b"), ("t-1", "c")].map(|(n, e)| lines_of(n, e));
    let expected = format!(
        "# Project Learnings\n\n## Error Fixes\n\n- fix\n\n  more\n\n## Codebase Patterns\n\n\
         - pattern\n\n## Phase-Specific\n\n- any phase\n\n### Phase 2:\n\n- two\n- two again\n\n\
         ### Phase 10:\n\n- ten\n\n## Failure Context\n\n{INTRO}\n\n\
         ### Phase 2:\n\n{a}\n### Phase 3:\n\n{b}\n### No phase:\n\n{c}"
    );
    assert_eq!(written_by(None, &wanted, &|_| false), expected);
    let found = read(&expected);
    assert_eq!(found.sections, Section::ALL);
    assert_eq!(found.entry_names, ["2-1", "3-1", "t-1"]);
    let texts: Vec<_> = found.bullets.iter().map(|b| b.text.as_str()).collect();
    assert_eq!(texts, ["fix\n\nmore", "pattern", "any phase", "two", "two again", "ten"]);
    let phases: Vec<_> = found.bullets.iter().map(|b| b.place.phase.as_deref()).collect();
    assert_eq!(phases, [None, None, None, Some("2"), Some("2"), Some("10")]);
}

#[test]
fn agm_02_nothing_wanted_makes_no_file_and_no_section() {
    assert_eq!(write(None, &Wanted::default(), &|_| true), "");
    for file in ["", "\u{feff}", "a", "## Error Fixes", "# A\r\n\r\n## Failure Context"] {
        assert_eq!(write(Some(file), &Wanted::default(), &|_| true), file);
    }
    let nothing = Wanted {
        bullets: vec![bullet(Section::ErrorFixes, " \n\u{1}")],
        remove: vec![bullet(Section::ErrorFixes, "")],
        failures: vec![phase("1", &[])],
    };
    assert_eq!(write(None, &nothing, &|_| true), "");
    assert_eq!(write(Some("-\n## Error Fixes\n-\n"), &nothing, &|_| true), "-\n## Error Fixes\n-\n");
}

#[test]
fn agm_02_an_existing_file_gets_no_title() {
    let wanted = bullets(&[bullet(Section::ErrorFixes, "a")]);
    assert_eq!(written("", &wanted), "## Error Fixes\n\n- a\n");
    assert_eq!(written("\u{feff}", &wanted), "\u{feff}## Error Fixes\n\n- a\n");
    assert_eq!(written("\n", &wanted), "\n## Error Fixes\n\n- a\n");
}

#[test]
fn agm_02_missing_sections_are_added_at_the_end_in_their_order() {
    let wanted = bullets(&[
        bullet(Section::CodebasePatterns, "c"),
        bullet(Section::ErrorFixes, "e"),
        in_phase("1", "p"),
    ]);
    assert_eq!(
        written("## Phase-Specific\n# Else\nx", &wanted),
        "## Phase-Specific\n\n### Phase 1:\n\n- p\n\n# Else\nx\n\n## Error Fixes\n\n- e\n\n\
         ## Codebase Patterns\n\n- c\n"
    );
}

#[test]
fn agm_02_what_the_last_section_gets_comes_before_a_new_section() {
    let wanted = bullets(&[bullet(Section::CodebasePatterns, "c"), bullet(Section::ErrorFixes, "e")]);
    assert_eq!(
        written("## Codebase Patterns\n- b", &wanted),
        "## Codebase Patterns\n- b\n- c\n\n## Error Fixes\n\n- e\n"
    );
}
