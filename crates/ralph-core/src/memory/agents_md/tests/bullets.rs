//! Bullets: what is one, where new ones go, how one goes.

use super::support::*;
use crate::memory::agents_md::{Place, Section, Section::*, Wanted, read, write};

fn texts(file: &str) -> Vec<String> {
    read(file).bullets.into_iter().map(|bullet| bullet.text).collect()
}

#[test]
fn agm_15_a_bullet_is_its_marker_line_and_what_is_indented_below() {
    let file = "## Error Fixes\nprose\n- a  \n  more\n    - nested\n\n  after blank\n\n* b\n+ c\r\n\
                \td\r\n - no bullet\n1. none\n-none\n  none\n- ## e\n-\n- - f\n***\n> - g\n\n    - h\n";
    assert_eq!(texts(file), ["a\nmore\n  - nested\n\nafter blank", "b", "c\nd", "## e", "- f"]);
}

#[test]
fn agm_15_bullets_have_the_place_they_stand_at() {
    let file = "- none\n## Phase-Specific\n- a\n### Phase 02.50:\n- b\n#### Deeper\n- c\n\
                ### Notes\n- d\n### Phase 7: Login ###\n- e\n### No phase:\n- f\n## Error Fixes ##\n\
                ### Phase 7:\n- g\n## Failure Context  \n### Phase 7:\n- h\n# End\n- none\n";
    let found = read(file);
    let places: Vec<_> =
        found.bullets.iter().map(|b| (b.text.as_str(), b.place.section, b.place.phase.as_deref())).collect();
    assert_eq!(
        places,
        [
            ("a", PhaseSpecific, None),
            ("b", PhaseSpecific, Some("2.5")),
            ("c", PhaseSpecific, Some("2.5")),
            ("d", PhaseSpecific, None),
            ("e", PhaseSpecific, Some("7")),
            ("f", PhaseSpecific, None),
            ("g", ErrorFixes, None),
            ("h", FailureContext, None),
        ]
    );
    assert_eq!(found.sections, [PhaseSpecific, ErrorFixes, FailureContext]);
}

#[test]
fn agm_15_bullets_of_a_second_section_are_read_and_the_first_is_written() {
    let file = "## Error Fixes\n- a\n# X\n## Error Fixes\n- b\n";
    assert_eq!(texts(file), ["a", "b"]);
    assert_eq!(read(file).sections, [ErrorFixes]);
    let wanted = bullets(&[bullet(ErrorFixes, "b"), bullet(ErrorFixes, "c")]);
    let expected = "## Error Fixes\n- a\n- c\n# X\n## Error Fixes\n- b\n";
    assert_eq!(written(file, &wanted), expected);
}

#[test]
fn agm_14_new_bullets_follow_the_last_one_and_known_ones_stay() {
    let wanted = bullets(&[
        bullet(ErrorFixes, "c"),
        bullet(ErrorFixes, "a"),
        bullet(ErrorFixes, " d\r\nd2 "),
        bullet(ErrorFixes, "c"),
    ]);
    for (file, expected) in [
        ("## Error Fixes\n\n- b\n* a\n\n## X\n", "## Error Fixes\n\n- b\n* a\n- c\n- d\n  d2\n\n## X\n"),
        ("## Error Fixes\n- a\n\nprose\n", "## Error Fixes\n- a\n- c\n- d\n  d2\n\nprose\n"),
        ("## Error Fixes\n- a\nlazy\n\n  more\n\nx\n", {
            "## Error Fixes\n- a\nlazy\n\n  more\n- c\n- d\n  d2\n\nx\n"
        }),
        ("## Error Fixes\n- a\n### Own\n- b\n", "## Error Fixes\n- a\n- c\n- d\n  d2\n### Own\n- b\n"),
        ("## Error Fixes\n- a\n---\nx\n", "## Error Fixes\n- a\n- c\n- d\n  d2\n---\nx\n"),
    ] {
        assert_eq!(written(file, &wanted), expected);
    }
}

#[test]
fn agm_14_without_a_bullet_new_ones_follow_what_stands_there() {
    let wanted = bullets(&[bullet(ErrorFixes, "a"), bullet(ErrorFixes, "b")]);
    for (file, expected) in [
        ("## Error Fixes", "## Error Fixes\n\n- a\n- b\n"),
        ("## Error Fixes\n\n\n", "## Error Fixes\n\n- a\n- b\n\n\n"),
        ("## Error Fixes\n[x]\n## Y\n", "## Error Fixes\n[x]\n\n- a\n- b\n\n## Y\n"),
        ("## Error Fixes\n### Own\n- b\n", "## Error Fixes\n\n- a\n\n### Own\n- b\n"),
        ("## Error Fixes\r\n\r\n# Y\r\n", "## Error Fixes\r\n\r\n- a\r\n- b\r\n\r\n# Y\r\n"),
        ("## Error Fixes\n\nY\n===\n", "## Error Fixes\n\n- a\n- b\n\nY\n===\n"),
    ] {
        assert_eq!(written(file, &wanted), expected);
    }
}

#[test]
fn agm_14_a_bullet_is_known_by_section_and_text() {
    let file = "## Phase-Specific\n\n### Phase 1:\n\n- a\n\n## Codebase Patterns\n\n- b\n";
    let wanted = bullets(&[in_phase("2", "a"), bullet(PhaseSpecific, "a")]);
    assert_eq!(write(Some(file), &wanted, &|_| true), file);
    let wanted = bullets(&[bullet(ErrorFixes, "b")]);
    assert_eq!(written(file, &wanted), format!("{file}\n## Error Fixes\n\n- b\n"));
}

#[test]
fn agm_14_phases_stand_in_order_of_their_numbers() {
    let wanted = bullets(&[
        in_phase("10", "x"),
        in_phase("2.1", "y"),
        in_phase("03", "z"),
        in_phase("1", "w"),
        bullet(PhaseSpecific, "v"),
    ]);
    let file = "## Phase-Specific\n\n### Phase 2:\n\n- a\n### Phase 3: Login\n- b\n### Notes\n- n\n";
    assert_eq!(
        written(file, &wanted),
        "## Phase-Specific\n\n- v\n\n### Phase 1:\n\n- w\n\n### Phase 2:\n\n- a\n\n\
         ### Phase 2.1:\n\n- y\n\n### Phase 3: Login\n- b\n- z\n\n### Phase 10:\n\n- x\n\n\
         ### Notes\n- n\n"
    );
}

#[test]
fn agm_15_removed_bullets_go_whole() {
    let remove = removed(&[bullet(ErrorFixes, "b\n\nmore\n- c")]);
    for (file, expected) in [
        ("## Error Fixes\n- a\n- b\n\n  more\n  - c\n- d\n", "## Error Fixes\n- a\n- d\n"),
        ("## Error Fixes\n\n* b \n\n  more\n  - c\n\n- d\n", "## Error Fixes\n\n- d\n"),
        ("## Error Fixes\n\n- a\n\n- b\n\n  more\n  - c\n", "## Error Fixes\n\n- a\n"),
        ("## Error Fixes\n\n- b\n\n  more\n  - c", "## Error Fixes\n"),
        ("## Error Fixes\n- b\n\n  more\n  - c\n\n# E\n", "## Error Fixes\n\n# E\n"),
        ("## Error Fixes\r\n\r\n\r\n- b\r\n\r\n  more\r\n  - c\r\n\r\n\r\nx", {
            "## Error Fixes\r\n\r\n\r\n\r\nx"
        }),
        ("## Error Fixes\nx\n- b\n\n  more\n  - c\ny\n", "## Error Fixes\nx\n\ny\n"),
        ("## Error Fixes\nx\n- b\n\n  more\n  - c\n---\n", "## Error Fixes\nx\n\n---\n"),
        ("## Error Fixes\nx\n- b\n\n  more\n  - c\n*\n  y\n", "## Error Fixes\nx\n\n*\n  y\n"),
        ("## Error Fixes\nx\n- b\n\n  more\n  - c\n- y\n", "## Error Fixes\nx\n- y\n"),
        ("## Error Fixes\n\n- b\n\n  more\n  - c\n\n```\n", "## Error Fixes\n\n```\n"),
        ("## Error Fixes\n\n- b\n\n  more\n  - c\n```\n", "## Error Fixes\n\n```\n"),
    ] {
        assert_eq!(written(file, &remove), expected, "{file:?}");
    }
    for file in ["## Error Fixes\n- b\n", "## Codebase Patterns\n- b\n\n  more\n  - c\n", "- b\n"] {
        assert_eq!(written(file, &remove), file);
    }
}

#[test]
fn agm_15_removal_heeds_the_phase_where_given() {
    let file = "## Phase-Specific\n- a\n### Phase 1:\n- a\n### Phase 02:\n- a\n";
    let one = written(file, &removed(&[in_phase("2.0", "a")]));
    assert_eq!(one, "## Phase-Specific\n- a\n### Phase 1:\n- a\n### Phase 02:\n");
    let all = written(file, &removed(&[bullet(PhaseSpecific, "a")]));
    assert_eq!(all, "## Phase-Specific\n### Phase 1:\n### Phase 02:\n");
}

#[test]
fn agm_15_what_is_wanted_there_is_not_removed() {
    let file = "## Phase-Specific\n### Phase 1:\n- a\n- b\n";
    let with = |wanted, remove| Wanted { bullets: vec![wanted], ..removed(&[remove]) };
    let keeps = with(in_phase("1", "a"), in_phase("01", "a"));
    assert_eq!(written(file, &keeps), file);
    let keeps = with(in_phase("2", "a"), bullet(PhaseSpecific, "a"));
    assert_eq!(written(file, &keeps), file);
    let moves = with(in_phase("2", "a"), in_phase("1", "a"));
    let expected = "## Phase-Specific\n### Phase 1:\n- b\n\n### Phase 2:\n\n- a\n";
    assert_eq!(written(file, &moves), expected);
}

#[test]
fn agm_12_texts_that_look_like_markdown_read_back() {
    for text in [
        "```sh\n# not a heading\n```",
        "~~~\nunclosed",
        "a\n# b\n## Error Fixes\n- c\n===\n---",
        "- -",
        "---",
        "* * *",
        "# a",
        "<!-- open",
        "a\n\n\n    code\n\n\tb",
        "[12-01 | 2026-01-20 14:32:15] **Error:** x",
        "$x | `y` & \\z \"q\" 's' /a/b",
    ] {
        for section in [ErrorFixes, CodebasePatterns, PhaseSpecific] {
            for file in ["", "## Error Fixes\n- a\n\n## Phase-Specific\n  x\n  # Else\n"] {
                let wanted = bullets(&[bullet(section, text), bullet(section, "last")]);
                let out = written(file, &wanted);
                let found = read(&out).bullets;
                assert!(found.contains(&bullet(section, text)), "{out}");
                assert!(found.contains(&bullet(section, "last")), "{out}");
            }
        }
    }
}

#[test]
fn agm_15_a_phase_matters_in_phase_specific_only() {
    let place = |section| Place { section, phase: Some("3".to_owned()) };
    let wanted: Vec<_> = [ErrorFixes, FailureContext]
        .map(|section: Section| crate::memory::agents_md::Bullet { place: place(section), text: "a".into() })
        .to_vec();
    let out = written("", &bullets(&wanted));
    assert_eq!(out, format!("## Error Fixes\n\n- a\n\n## Failure Context\n\n{INTRO}\n\n- a\n"));
    assert_eq!(written(&out, &removed(&wanted)), {
        format!("## Error Fixes\n\n## Failure Context\n\n{INTRO}\n")
    });
}
