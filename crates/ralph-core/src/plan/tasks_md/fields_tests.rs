use super::*;
use crate::markdown::Lines;

fn found(text: &str) -> Vec<(Option<Field>, String)> {
    let text = format!("- [ ] 1.1 a\n{text}");
    let file = Lines::of(&text);
    let entries = entries(&file.lines[1..]);
    let pairs = entries.iter().map(|entry| match entry.field {
        Some(_) => (entry.field, entry.text()),
        None => (None, entry.markdown()),
    });
    pairs.collect()
}

fn field(field: Field, text: &str) -> (Option<Field>, String) {
    (Some(field), text.to_owned())
}

fn other(text: &str) -> (Option<Field>, String) {
    (None, text.to_owned())
}

#[test]
fn imp_03_fields_at_any_indent() {
    for indent in [" ", "  ", "\t", "      "] {
        let text = format!(
            "{indent}- **Do**: a\n{indent}  1. b\n{indent}     - Verify: c\n\n{indent}* Files: d\n\
             {indent}+ **Skills**: e\n{indent}  - **Verify**: f"
        );
        let expected = [
            field(Field::Do, "a\n1. b\n   - Verify: c"),
            field(Field::Files, "d"),
            other("+ **Skills**: e\n  - **Verify**: f"),
        ];
        assert_eq!(found(&text), expected, "{indent:?}");
    }
}

#[test]
fn paragraphs_and_lines_that_go_on() {
    assert_eq!(
        found("  title\n  goes on\n    - **Do**: a\n  b\n  1. c\n\n  d\n\ne\n  - **Verify**: f\ng"),
        [
            other("title\ngoes on"),
            field(Field::Do, "a\nb\n1. c"),
            other("d"),
            other("e"),
            field(Field::Verify, "f\ng"),
        ]
    );
}

#[test]
fn names_that_are_no_items() {
    assert_eq!(
        found("  **Do**: a\n  - b\n\n  c\n\n  **Skills**: d\n  - _Design: e_\n\n  **Verify:** f\n\ng"),
        [
            field(Field::Do, "a\n- b\n\nc"),
            other("**Skills**: d"),
            field(Field::Design, "e"),
            field(Field::Verify, "f"),
            other("g"),
        ]
    );
}

#[test]
fn fences_belong_to_what_they_stand_below() {
    let fence = "```sh\n- **Do**: b\n\n```";
    for (gap, fence_column) in [("", "  "), ("\n", "  "), ("", "    "), ("\n", "    ")] {
        let indented = fence.replace('\n', &format!("\n{fence_column}"));
        let text = format!("  - **Verify**:\n{gap}{fence_column}{indented}\n  - **Commit**: c");
        let expected = [field(Field::Verify, fence), field(Field::Commit, "c")];
        assert_eq!(found(&text), expected, "{text}");
    }
    assert_eq!(
        found("  - **Commit**: a\n\n  ~~~\n  b\n  ~~~\n"),
        [field(Field::Commit, "a"), other("~~~\nb\n~~~")]
    );
}

#[test]
fn rules_and_comments_stand_alone() {
    assert_eq!(
        found("  - **Do**: a\n  <!-- Verify: x\n  - **Verify**: y -->\n---\n\n- **Verify**: b"),
        [field(Field::Do, "a"), other("---"), other("- **Verify**: b")]
    );
}

#[test]
fn imp_03_commits() {
    for (value, expected) in [
        ("feat(x): add module", "feat(x): add module"),
        ("`feat(x): add module`", "feat(x): add module"),
        ("`fix: a` (only if fixes needed)", "fix: a"),
        ("`` fix `a` ``", "fix `a`"),
        ("`fix` the `a`", "`fix` the `a`"),
        ("fix: a - b", "fix: a - b"),
        ("nonesuch", "nonesuch"),
    ] {
        assert_eq!(commit(value).unwrap(), expected, "{value}");
    }
    for nothing in ["None", "none", "NONE (verification only)", "`None`", "N/A", "", "``"] {
        assert_eq!(commit(nothing), None, "{nothing}");
    }
}
