//! What stands outside the owned sections stays.

use super::support::*;
use crate::memory::agents_md::{Section::*, read};

/// Files without an owned section, whatever they look like.
const WITHOUT: [&str; 22] = [
    "# Error Fixes\n- a\n",
    "### Error Fixes\n- a\n",
    " ## Error Fixes\n- a\n",
    "##Error Fixes\n- a\n",
    "## error fixes\n- a\n",
    "## Error Fixes:\n- a\n",
    "## Error Fixes#\n- a\n",
    "\\## Error Fixes\n- a\n",
    "> ## Error Fixes\n- a\n",
    "Error Fixes\n---\n- a\n",
    "Error Fixes\n===\n- a",
    "```\n## Error Fixes\n- a\n```\n",
    "  ~~~~ text `x`\n## Error Fixes\n~~~\n- a\n~~~~~ \n",
    "```\n## Error Fixes\n``` x\n- a\n    ```\n```\n",
    "<!--\n## Error Fixes\n- a\n-->\n",
    "<!-- ->\n\n## Error Fixes\n- a\n--> x\n",
    "<pre>\n\n## Error Fixes\n- a\n</pre>\n",
    "    ## Error Fixes\n- a\n",
    "\t## Error Fixes\n- a",
    "- x\n  ## Error Fixes\n- a\n",
    "- x\n\n  ```\n\n  ## Error Fixes\n- a\n",
    "1. x\n   ## Error Fixes\n- a\n",
];

#[test]
fn agm_13_what_only_looks_like_a_section_is_none() {
    for file in WITHOUT {
        assert_eq!(read(file).sections, [], "{file}");
        let out = written(file, &bullets(&[bullet(ErrorFixes, "a")]));
        let end = if file.ends_with('\n') { "" } else { "\n" };
        assert_eq!(out, format!("{file}{end}\n## Error Fixes\n\n- a\n"));
        assert_eq!(written(file, &removed(&[bullet(ErrorFixes, "a")])), file);
    }
}

#[test]
fn agm_13_forms_of_a_heading_that_begin_a_section() {
    for file in [
        "## Error Fixes\n- a",
        "##  Error Fixes \t\n- a\n",
        "##\tError Fixes ####  \n- a\n",
        "\u{feff}## Error Fixes\r\n- a\r\n",
        "x\n## Error Fixes\n- a\n",
        "- x\n  ```\n## Error Fixes\n- a\n",
        "``` x`y\n## Error Fixes\n- a\n",
        "x <!--\n## Error Fixes\n- a\n",
        "<!-- x -->\n## Error Fixes\n- a\n",
        "<!-->\n## Error Fixes\n- a\n",
        "1. x\n   ```\n## Error Fixes\n- a\n",
    ] {
        assert_eq!(read(file).bullets, [bullet(ErrorFixes, "a")], "{file}");
        assert_eq!(written(file, &bullets(&[bullet(ErrorFixes, "a")])), file);
    }
}

#[test]
fn agm_13_what_ends_a_section() {
    for end in ["# X", "## X", "#", "##", " ## Error Fixes", "X\n---", "X\nY\n  ====", "## Error Fixe"] {
        let file = format!("## Error Fixes\n- a\n\n{end}\n- b");
        assert_eq!(read(&file).bullets, [bullet(ErrorFixes, "a")], "{end}");
        let out = written(&file, &bullets(&[bullet(ErrorFixes, "c")]));
        assert_eq!(out, format!("## Error Fixes\n- a\n- c\n\n{end}\n- b"));
    }
    for inside in ["### X", "#X", "    # X", "---", "***", "X\n\n---", "```\n# X\n```", "<!-- \n# X -->"] {
        let file = format!("## Error Fixes\n- a\n\n{inside}\n- b\n");
        assert_eq!(read(&file).bullets.len(), 2, "{inside}");
    }
}

#[test]
fn agm_13_a_section_never_lands_in_what_is_not_closed() {
    for tail in ["```\n# x", "~~~~\n~~~\n", "<!--\n- [\n", "   ```\r\n", "<pre>\n</b>"] {
        let out = written(&format!("# A\n\n{tail}"), &bullets(&[bullet(ErrorFixes, "a")]));
        let gap = if tail.starts_with(' ') { "<!-- -->\n\n" } else { "" };
        assert_eq!(out, format!("# A\n\n## Error Fixes\n\n- a\n\n{gap}{tail}"));
        let file = format!("## Error Fixes\n{tail}");
        let out = written(&file, &bullets(&[bullet(ErrorFixes, "a"), bullet(CodebasePatterns, "b")]));
        let sections = "## Error Fixes\n\n- a\n\n## Codebase Patterns\n\n- b\n";
        assert_eq!(out, format!("{sections}\n{gap}{tail}"));
    }
}

#[test]
fn agm_13_a_byte_order_mark_stays_in_front() {
    let wanted = bullets(&[bullet(ErrorFixes, "a")]);
    let out = written("\u{feff}```\nx", &wanted);
    assert_eq!(out, "\u{feff}## Error Fixes\n\n- a\n\n```\nx");
    let remove = removed(&[bullet(ErrorFixes, "a")]);
    assert_eq!(written(&out, &remove), "\u{feff}## Error Fixes\n\n```\nx");
}

#[test]
fn agm_13_an_indented_heading_is_not_swallowed_by_a_new_bullet() {
    let file = "## Error Fixes\n  ## Else\n- a\n";
    let out = written(file, &bullets(&[bullet(ErrorFixes, "a")]));
    assert_eq!(out, "## Error Fixes\n\n- a\n\n<!-- -->\n\n  ## Else\n- a\n");
    assert_eq!(read(&out).bullets, [bullet(ErrorFixes, "a")]);
}

#[test]
fn agm_13_new_lines_have_the_commonest_line_end() {
    let wanted = bullets(&[bullet(ErrorFixes, "b\nc")]);
    for (file, expected) in [
        ("## Error Fixes\r\n- a\r\nx\n", "## Error Fixes\r\n- a\r\nx\n- b\r\n  c\r\n"),
        ("## Error Fixes\r\n- a\n", "## Error Fixes\r\n- a\n- b\n  c\n"),
        ("x\r\n## Error Fixes\r\n- a", "x\r\n## Error Fixes\r\n- a\r\n- b\r\n  c\r\n"),
        ("a\r\r\nb\r", "a\r\r\nb\r\r\n\r\n## Error Fixes\r\n\r\n- b\r\n  c\r\n"),
    ] {
        assert_eq!(written(file, &wanted), expected);
    }
}
