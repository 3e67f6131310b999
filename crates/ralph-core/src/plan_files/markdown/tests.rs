use super::without_emphasis;
use super::{Place, Place::*, Places, boxed, checkbox, code_only, heading, list_item};
use proptest::prelude::*;

fn places(file: &str) -> Vec<Place> {
    let mut places = Places::default();
    let lines = file.lines().enumerate();
    lines
        .map(|(at, line)| places.next(at + 1, line, Some(0)))
        .collect()
}

#[test]
fn fences_hide_lines_until_they_close() {
    assert_eq!(
        places("```\n``\n~~~\n```` \nx"),
        [FenceBegin, Fenced, Fenced, Fenced, Open]
    );
    assert_eq!(places("``` a`b\nx"), [Open, Open]);
    assert_eq!(
        places("  ~~~ rust\n- x\n  ~~~"),
        [FenceBegin, Fenced, Fenced]
    );
}

#[test]
fn a_fence_in_an_item_ends_with_the_next_item() {
    assert_eq!(
        places("  ```\n  code\n- [ ] b\n"),
        [FenceBegin, Fenced, Open]
    );
    assert_eq!(
        places("  ```\n  - [ ] b\n  ```\n"),
        [FenceBegin, Fenced, Fenced]
    );
}

#[test]
fn comments_hide_lines_until_they_close() {
    assert_eq!(
        places("<!-- a\nb\nc --> d\ne"),
        [Comment, Comment, Comment, Open]
    );
    assert_eq!(places("<!-- a -->\nb <!--\nc"), [Comment, Open, Open]);
}

#[test]
fn what_is_never_closed_is_told() {
    let mut places = Places::default();
    places.next(3, "~~~~", None);
    let (line, what) = places.unclosed().unwrap();
    assert_eq!((line, what.contains("~~~~")), (3, true));
}

#[test]
fn list_items_and_their_boxes() {
    for item in ["- [ ] a", "* [ ] a", "+ [ ] a", "1. [ ] a", "12) [ ]  a "] {
        assert_eq!(
            list_item(item).and_then(checkbox),
            Some((false, "a")),
            "{item}"
        );
    }
    assert_eq!(checkbox("[x] a"), Some((true, "a")));
    assert_eq!(checkbox("[X]"), Some((true, "")));
    for other in ["[]", "[ ]a", "[x](link)", "[é] a", "[", "[x", "a [ ] b"] {
        assert_eq!(checkbox(other), None, "{other}");
    }
    assert_eq!(boxed("[~] a"), Some(('~', "a")));
    for other in ["-a", "1 a", "1.a", "1234567890. a", "**a**", ""] {
        assert_eq!(list_item(other), None, "{other}");
    }
}

#[test]
fn headings_and_emphasis() {
    assert_eq!(heading("## A b ##"), Some((2, "A b")));
    assert_eq!(heading("#a"), None);
    assert_eq!(heading("####### a"), None);
    assert_eq!(without_emphasis(" **a *b* c** "), "a *b* c");
    assert_eq!(without_emphasis("***a***"), "a");
    assert_eq!(without_emphasis("**a** and **b**"), "**a** and **b**");
    assert_eq!(without_emphasis("** a **"), "** a **");
    assert_eq!(without_emphasis("****"), "****");
    assert_eq!(without_emphasis("_snake_case_"), "_snake_case_");
}

#[test]
fn code_is_all_or_nothing() {
    assert_eq!(code_only(" `cargo test` "), Some("cargo test"));
    assert_eq!(code_only("``echo `id` x``"), Some("echo `id` x"));
    for other in ["`a` and `b`", "run `a`", "``", "```", "a", "", "`a``"] {
        assert_eq!(code_only(other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn never_panics(text in any::<String>(), near in "[-*+ `~<>!x\\[\\]#_1.é]{0,20}") {
        for text in [&text, &near] {
            let mut places = Places::default();
            for (at, line) in text.lines().enumerate() {
                places.next(at, line, None);
            }
            let _ = (places.unclosed(), list_item(text).map(checkbox), heading(text));
            let _ = (without_emphasis(text), code_only(text), boxed(text));
        }
    }
}
