use proptest::prelude::*;

use super::Hidden::{Comment, FenceBegin, FenceEnd, FenceInside};
use super::Kind::*;
use super::*;

fn kinds(file: &str) -> Vec<Kind> {
    Lines::of(file).lines.iter().map(|line| line.kind).collect()
}

fn hidden(file: &str) -> Vec<Option<Hidden>> {
    let lines = Lines::of(file).lines;
    lines.iter().map(|line| line.hidden).collect()
}

#[test]
fn a_line_end_is_no_part_of_the_text() {
    let lines = Lines::of("\u{feff}## A\r\n\r\r\nb\r");
    let texts: Vec<_> = lines.lines.iter().map(|line| line.text).collect();
    assert_eq!(texts, ["## A", "", "b"]);
    let raw: String = lines.lines.iter().map(|line| line.raw).collect();
    assert_eq!(raw, "## A\r\n\r\r\nb\r");
    assert_eq!((lines.mark, lines.tail), ("\u{feff}", ""));
    let ends: Vec<_> = lines.lines.iter().map(|line| (line.start, line.end())).collect();
    assert_eq!(ends, [(3, 9), (9, 12), (12, 14)]);
    assert_eq!(lines.lines[0].kind, Heading(1 + 1));
}

#[test]
fn agm_13_fences_hide_headings() {
    assert_eq!(kinds("```\n# A\n``\n```\n# B"), [Closed, Closed, Closed, Closed, Heading(1)]);
    assert_eq!(kinds("   ~~~~ x\n~~~\n# A\n~~~~~\n"), [Closed; 4]);
    assert_eq!(kinds("``` a`b\n# A"), [Paragraph, Heading(1)]);
    assert_eq!(kinds("    ```\n# A"), [Other, Heading(1)]);
}

#[test]
fn agm_13_comments_and_indented_code_hide_headings() {
    assert_eq!(kinds("<!-- a\n# A\n\n# B --> x\n# C"), [Closed, Closed, Closed, Closed, Heading(1)]);
    assert_eq!(kinds("<!-- a -->\n# A"), [Closed, Heading(1)]);
    assert_eq!(kinds("<pre>\n# A\n\n</pre>\n# B"), [Closed, Closed, Closed, Closed, Heading(1)]);
    assert_eq!(kinds("    # A\n\t# B\n   # C"), [Other, Other, Heading(1)]);
}

#[test]
fn agm_13_what_is_never_closed_is_the_tail() {
    for (tail, missing) in [
        ("```\n# A\n", "a line ``` after"),
        ("~~~~\n~~~\n", "a line ~~~~ after"),
        ("```\n    ```", "a line ``` after"),
        ("<!-- a\n\n# A", "-->"),
        ("<pre>\n# A\n", "closing tag"),
        ("<? a\n\n# A", "closing tag"),
        ("<![CDATA[\n\n# A", "closing tag"),
        ("```", "a line ``` after"),
    ] {
        let file = format!("a\r\n\n{tail}");
        let lines = Lines::of(&file);
        assert_eq!(lines.lines.len(), 2);
        assert_eq!(lines.tail, tail);
        assert!(lines.never_closed().unwrap().contains(missing), "{tail}");
    }
    for closed in ["```\n```", "- ```\n  a", "> ```\n> a", "<!-- -->", "<div>\n", "<prefix>\n", "<? ?>"] {
        assert_eq!(Lines::of(closed).tail, "", "{closed}");
    }
}

#[test]
fn underlined_headings_begin_with_their_paragraph() {
    assert_eq!(kinds("a\nb\n---\n"), [Heading(2), Paragraph, Paragraph]);
    assert_eq!(kinds("a\n    b\n  ==  \n"), [Heading(1), Paragraph, Paragraph]);
    assert_eq!(kinds("a\n\n---\n"), [Paragraph, Blank, Other]);
    assert_eq!(kinds("- a\n---\n> b\n---"), [Bullet, Other, Other, Other]);
    assert_eq!(kinds("a\n- \n"), [Heading(2), Paragraph]);
    assert_eq!(Lines::of("a \n==").lines[0].heading(), Some((1, "a")));
}

#[test]
fn indented_lines_belong_to_the_item_above() {
    assert_eq!(
        kinds("- a\n  # b\n\n\n  ```\n\tc\n# d"),
        [Bullet, Inside, Blank, Blank, Inside, Inside, Heading(1)]
    );
    assert_eq!(kinds("- a\n # b\n  # c"), [Bullet, Heading(1), Heading(1)]);
    assert_eq!(kinds("- a\nb\n  c"), [Bullet, Paragraph, Paragraph]);
    assert_eq!(kinds("10. a\n    ```\n   b"), [Other, Inside, Paragraph]);
    assert_eq!(kinds(" - a\n   b\n  c"), [Other, Inside, Paragraph]);
}

#[test]
fn markers_alone() {
    assert_eq!(kinds("-\n  a"), [Bullet, Inside]);
    assert_eq!(kinds("-\n\n  # a"), [Bullet, Blank, Heading(1)]);
    assert_eq!(kinds("-\n  a\n\n  b"), [Bullet, Inside, Blank, Inside]);
    assert_eq!(kinds("a\n*\n2. b\n1. c"), [Paragraph, Paragraph, Paragraph, Other]);
    assert_eq!(kinds("* * *\n*a*\n- b"), [Other, Paragraph, Bullet]);
}

#[test]
fn code_and_comments_are_known_wherever_they_stand() {
    let (begin, inside, end) = (Some(FenceBegin), Some(FenceInside), Some(FenceEnd));
    assert_eq!(hidden("- a\n  ```sh\n  b\n\n  ```\n  c"), [None, begin, inside, inside, end, None]);
    assert_eq!(hidden("- ~~~\n  a\n  ~~~\nb"), [begin, inside, end, None]);
    // What stands in an item ends with it.
    assert_eq!(
        hidden("- a\n  ```\n  b\n- c\n  <!-- d\n# e"),
        [None, begin, inside, None, Some(Comment), None]
    );
    assert_eq!(hidden("> ```\n> a\n> ```\nb <!--\nc"), [begin, inside, end, None, None]);
    assert_eq!(hidden("<!-- a\nb --> c\nd"), [Some(Comment), Some(Comment), None]);
}

#[test]
fn words_of_lines() {
    assert_eq!(indent("  a"), (2, "a"));
    assert_eq!(indent(" \ta"), (4, "a"));
    assert_eq!(indent("\t a"), (5, "a"));
    assert_eq!(indent("  "), (2, ""));
    for (line, heading) in [
        ("## A b", Some((2, "A b"))),
        ("##\tA \t", Some((2, "A"))),
        ("# A ##  ", Some((1, "A"))),
        ("### A#", Some((3, "A#"))),
        ("## ##", Some((2, ""))),
        ("##", Some((2, ""))),
        ("##A", None),
        ("####### A", None),
        ("", None),
    ] {
        assert_eq!(atx_heading(line), heading, "{line}");
    }
    assert!(is_rule("* * *") && is_rule("---") && is_rule("_ __\t"));
    assert!(!is_rule("--") && !is_rule("--*") && !is_rule("+++") && !is_rule(""));
    for (line, item) in [
        ("- a", Some("a")),
        ("*\ta", Some("a")),
        ("+", Some("")),
        ("12. a", Some("a")),
        ("1)", Some("")),
        ("-a", None),
        ("1", None),
        ("1.a", None),
        (". a", None),
        ("1234567890. a", None),
        ("1é", None),
        ("**a**", None),
    ] {
        assert_eq!(list_item(line), item, "{line}");
    }
}

#[test]
fn boxes_of_items() {
    for (line, at) in [("- [ ] a", 3), ("  * [ ] a", 5), ("+ [\t] a", 3), ("1. [ ] a", 4), ("12) [ ]  a ", 5)]
    {
        let found = checkbox(line).unwrap();
        assert_eq!((found.at, found.words), (at, "a"), "{line}");
        assert_eq!(found.is_ticked(), Some(false), "{line}");
    }
    for line in ["1. **[ ] a**", "- __[ ] a__", "- *[ ]* a", "- **[ ]** a"] {
        let found = checkbox(line).unwrap();
        assert_eq!((&line[found.at..=found.at], found.words), (" ", "a"), "{line}");
    }
    assert_eq!(checkbox("- [X]").unwrap().is_ticked(), Some(true));
    assert_eq!(checkbox("- [é] a").unwrap().is_ticked(), None);
    for line in ["- []", "- [ ]a", "- [x](link)", "- [", "- [x", "- a [ ] b", "[ ] a"] {
        assert_eq!(checkbox(line), None, "{line}");
    }
}

fn codes(text: &str) -> Vec<&str> {
    spans(text).into_iter().map(|span| span.content).collect()
}

#[test]
fn emphasis_and_code() {
    for (text, bare) in [
        (" **a *b* c** ", "a *b* c"),
        ("***a***", "a"),
        ("**a** and **b**", "**a** and **b**"),
        ("** a **", "** a **"),
        ("****", "****"),
        ("_snake_case_", "_snake_case_"),
    ] {
        assert_eq!(without_emphasis(text), bare);
    }
    assert_eq!(codes("run `a b` and `c`."), ["a b", "c"]);
    assert_eq!(codes("``a `b` c`` ```d```"), ["a `b` c", "d"]);
    assert_eq!(codes("`` `a` `` ` b ` `  `"), ["`a`", "b", "  "]);
    assert_eq!(codes("a `b``c` d"), ["b``c"]);
    assert_eq!(codes("`` a `b`"), ["b"]);
    assert_eq!(leading_code("`a` (b `c`)"), Some(("a", " (b `c`)")));
    assert_eq!(leading_code("a `b`"), None);
    assert_eq!(code_only(" `cargo test` "), Some("cargo test"));
    assert_eq!(code_only("``echo `id` x``"), Some("echo `id` x"));
    for other in ["`a` and `b`", "run `a`", "``", "```", "a", "", "`a``"] {
        assert_eq!(code_only(other), None, "{other}");
    }
    for text in ["a", "a `b` c", "`a`", "``", " a ", " a", "a``b`", " ` "] {
        assert_eq!(codes(&as_code(text)), [text], "{text}");
    }
}

#[test]
fn hostile_nesting_takes_linear_time() {
    let deep = "- ".repeat(50_000) + "a\n" + &"b\n".repeat(50_000);
    let lines = Lines::of(&deep);
    assert_eq!((lines.too_deep, lines.lines.len()), (Some(0), 50_001));
    let quotes = ">".repeat(50_000) + "\n" + &"b\n".repeat(50_000);
    assert_eq!(Lines::of(&quotes).too_deep, Some(0));
    let mut stairs = String::new();
    for depth in 0..2_000 {
        stairs += &format!("{}- a\n", "  ".repeat(depth));
    }
    assert_eq!(Lines::of(&stairs).too_deep, Some(MAX_DEPTH));
    assert_eq!(Lines::of(&"- ".repeat(60)).too_deep, None);
}

proptest! {
    #[test]
    fn lines_are_the_file_again(
        text in any::<String>(),
        near in "([-*+>#=`~ \t\r\n1.a]|```|<!--|-->|<pre>|- \\[ \\] ){0,40}",
    ) {
        for text in [text, near] {
            let lines = Lines::of(&text);
            let raw: String = lines.lines.iter().map(|line| line.raw).collect();
            prop_assert_eq!(format!("{}{raw}{}", lines.mark, lines.tail), text.clone());
            for line in &lines.lines {
                prop_assert_eq!(text.get(line.start..line.end()), Some(line.raw));
                let _ = (line.heading(), checkbox(line.text), spans(line.text));
            }
        }
    }
}
