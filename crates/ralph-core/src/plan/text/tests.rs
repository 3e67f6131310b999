use super::*;
use proptest::prelude::*;

#[test]
fn indents_go() {
    assert_eq!(dedented("\tx ", 2), "  x");
    assert_eq!(dedented(" x", 4), "x");
    assert_eq!(block("first\n    a\n      b\n\n    c\n  "), "first\na\n  b\n\nc");
    assert_eq!(block("\n  a\n    b\n"), "a\n  b");
    assert_eq!(block(""), "");
}

#[test]
fn imp_03_files() {
    for (text, expected) in [
        ("src/a.ts, `src/b.ts`", &["src/a.ts", "src/b.ts"][..]),
        ("src/a.ts (create), `b.ts` (modify, see `c`) , d", &["src/a.ts", "b.ts", "d"]),
        ("`a.ts` and `b.ts` — like `c.ts`", &["a.ts", "b.ts"]),
        ("Create: `a b.ts`", &["a b.ts"]),
        ("app/(auth)/a.tsx, `src/{a,b}.ts`, src/{c,d}", &["app/(auth)/a.tsx", "src/{a,b}.ts", "src/{c,d}"]),
        ("a (b, c", &["a (b", "c"]),
        ("`a, b", &["`a", "b"]),
        ("a.ts (x) (y (z)) - new", &["a.ts"]),
        ("a,, b,", &["a", "b"]),
        ("none (verification only)", &[]),
        ("`None`", &[]),
    ] {
        assert_eq!(paths(text), expected, "{text}");
    }
    for nothing in ["", "None", "N/A", "n/a", "-", "None.", "TBD", "`nothing`"] {
        assert!(is_placeholder(nothing), "{nothing}");
    }
    assert!(!is_placeholder("nonesuch") && !is_placeholder("none of them"));
}

#[test]
fn imp_03_labels() {
    use Emphasis::{Bold, Italic, Plain};
    for (text, name, value, emphasis) in [
        ("**Do**: a `b`", "Do", "a `b`", Bold),
        ("**Done when:** a", "Done when", "a", Bold),
        ("**Verify**:", "Verify", "", Bold),
        ("_Requirements: FR-1_", "Requirements", "FR-1", Italic),
        ("*Design:* a", "Design", "a", Italic),
        ("_Verify_: x", "Verify", "x", Italic),
        ("Files: *.rs", "Files", "*.rs", Plain),
    ] {
        let expected = Label { name, value, emphasis };
        assert_eq!(label(text), Some(expected), "{text}");
    }
    for text in ["**Verify: x", "**Verify** x", "Verify that it works", ""] {
        assert_eq!(label(text), None, "{text}");
    }
}

#[test]
fn imp_04_numbers_in_headings() {
    for (words, number, is_called_phase) in [
        ("Phase 1: Base", "1", true),
        ("PHASE 02.1 — Base", "02.1", true),
        ("**Phase 3**: X", "3", true),
        ("Phase  4. X", "4", true),
        ("🚀 Phase 02B (new)", "02B", true),
        ("2. Core", "2", false),
        ("2) Core", "2", false),
        ("2.1 Core", "2.1", false),
        ("1.2. A", "1.2", false),
        ("2 - Core", "2", false),
        ("4: A", "4", false),
        ("3", "3", false),
    ] {
        assert_eq!(phase_words(words), Some((number, is_called_phase)), "{words}");
    }
    for words in [
        "Phase one",
        "Phases 1-6",
        "Phase1",
        "3 wishes",
        "3rd party",
        "2024 goals",
        "1.2.3 Notes",
        "1..2 a",
        "v1.0",
        "",
    ] {
        assert_eq!(phase_words(words), None, "{words}");
    }
}

#[test]
fn imp_04_what_ends_a_phase() {
    let mut phases = Phases::default();
    for (level, words, phase, count) in [
        (1, "Plan", None, 0),
        (2, "Phase 1: Base", Some("1"), 1),
        (3, "Notes", Some("1"), 1),
        (3, "2. Setup", Some("1"), 1),
        (3, "Phase 1.1", Some("1.1"), 2),
        (3, "More", Some("1"), 3),
        (2, "2. Core", Some("2"), 4),
        (2, "Later", None, 5),
        (3, "Phase 3", Some("3"), 6),
        (1, "End", None, 7),
    ] {
        phases.heading(level, words);
        assert_eq!((phases.current(), phases.count), (phase, count), "{words}");
    }
}

#[test]
fn phases_are_called_what_their_headings_say() {
    let text = "# Plan\n## Phase 1: Make it work (POC)\n### 2. Setup\n## **Phase 2** — _Commands_\n## Phase 3\n\
                ## 4. Release ##\n## Phase 1: Again\n```\n## Phase 5: Hidden\n```\n";
    let names = phase_names(text);
    let names: Vec<(&str, &str)> =
        names.iter().map(|(number, name)| (number.as_str(), name.as_str())).collect();
    assert_eq!(names, [("1", "Make it work (POC)"), ("2", "Commands"), ("4", "Release")]);
}

proptest! {
    #[test]
    fn one_line_is_one_line(text in any::<String>()) {
        let line = one_line(&text);
        prop_assert!(!line.contains(char::is_control));
        prop_assert_eq!(one_line(&line), line);
    }

    #[test]
    fn a_block_has_no_blank_ends(text in "[ \ta\n]{0,40}") {
        let block = block(&text);
        prop_assert!(!block.starts_with('\n'));
        prop_assert_eq!(block.trim_end(), &block);
    }

    #[test]
    fn never_panics(text in any::<String>(), near in "[*# Phase0-9.:)`(,é]{0,20}") {
        for text in [text, near] {
            let _ = (phase_words(&text), paths(&text));
        }
    }
}
