//! Where blocks go, and what stands around them.

use super::*;

const NEW: &str = "- [ ] 1.3.1 [FIX 1.3] b\n  - **Do**: c";

fn after(text: &str) -> String {
    insert_after(text, "1.3", NEW).unwrap()
}

#[test]
fn rci_03_one_blank_line_on_each_side() {
    let expected = format!("- [ ] 1.3 a\n  - x\n\n{NEW}\n\n- [ ] 1.4 d\n");
    assert_eq!(after("- [ ] 1.3 a\n  - x\n\n- [ ] 1.4 d\n"), expected);
    assert_eq!(after("- [ ] 1.3 a\n  - x\n- [ ] 1.4 d\n"), expected);
    assert_eq!(after("- [ ] 1.3 a\n  - x\n\n\n- [ ] 1.4 d\n"), expected);
}

#[test]
fn rci_03_blank_lines_that_are_there_stay() {
    assert_eq!(
        after("- [ ] 1.3 a\n \t\n\r\n\n## b\n"),
        format!("- [ ] 1.3 a\n \t\n{NEW}\n\r\n\n## b\n")
    );
    assert_eq!(
        after("- [ ] 1.3 a\n\n---\n\n## b\n"),
        format!("- [ ] 1.3 a\n\n{NEW}\n\n---\n\n## b\n")
    );
}

#[test]
fn rci_03_at_the_end_of_the_file() {
    let expected = format!("- [ ] 1.3 a\n\n{NEW}\n");
    for text in ["- [ ] 1.3 a", "- [ ] 1.3 a\n", "- [ ] 1.3 a\n\n"] {
        assert_eq!(after(text), expected, "{text:?}");
    }
    assert_eq!(after("- [ ] 1.3 a\n\n\n"), format!("{expected}\n"));
    assert_eq!(
        after("- [ ] 1.3 a\n  "),
        format!("- [ ] 1.3 a\n  \n{NEW}\n")
    );
}

#[test]
fn what_is_never_closed_does_not_swallow_the_block() {
    assert_eq!(
        after("- [ ] 1.3 a\n\n```\n- [ ] 1.4 b"),
        format!("- [ ] 1.3 a\n\n{NEW}\n\n```\n- [ ] 1.4 b")
    );
}

#[test]
fn imp_08_the_commonest_line_end_is_used() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(
        after("- [ ] 1.3 a\r\n- [ ] 1.4 d\r\ne\n"),
        crlf(&format!("- [ ] 1.3 a\n\n{NEW}\n\n- [ ] 1.4 d\n")) + "e\n"
    );
    assert_eq!(
        after("- [ ] 1.3 a\n- [ ] 1.4 d\r\n"),
        format!("- [ ] 1.3 a\n\n{NEW}\n\n- [ ] 1.4 d\r\n")
    );
}

#[test]
fn rci_02_the_order_of_keys() {
    let add = |text: &str, of: &str, key: &str| {
        insert_after(text, of, &format!("- [ ] {key} [FIX {of}] x")).unwrap()
    };
    let mut text = "- [x] 1.3 a\n\n- [ ] 1.30 b\n\n- [ ] 1.4 b\n".to_owned();
    for (of, key) in [
        ("1.3", "1.3.1"),
        ("1.3.1", "1.3.1.1"),
        ("1.3", "1.3.2"),
        ("1.3.1", "1.3.1.2"),
    ] {
        text = add(&text, of, key);
    }
    let blocks = Blocks::of(&text).all;
    let keys: Vec<_> = blocks.iter().map(|block| block.head.key).collect();
    assert_eq!(
        keys,
        ["1.3", "1.3.1", "1.3.1.1", "1.3.1.2", "1.3.2", "1.30", "1.4"]
    );
    assert!(!text.contains("\n\n\n"));
}

#[test]
fn rci_02_a_descendant_far_away_counts() {
    let text = "- [ ] 1.3.1 a\n- [ ] 1.3 b\n- [ ] 1.4 c\n- [ ] 1.3.2 d\n## e\n";
    assert_eq!(
        insert_after(text, "1.3", "- [ ] 1.3.3 f").unwrap(),
        text.replace("## e", "\n- [ ] 1.3.3 f\n\n## e")
    );
    let text = "- [ ] 1.3.1 a\n- [ ] 1.3 b\n- [ ] 1.4 c\n";
    assert_eq!(
        insert_after(text, "1.3", "- [ ] 1.3.3 f").unwrap(),
        text.replace("- [ ] 1.4", "\n- [ ] 1.3.3 f\n\n- [ ] 1.4")
    );
}

#[test]
fn rci_01_without_the_task_there_is_no_place() {
    for text in [
        "",
        "- [ ] 1.30 a\n- [ ] 1.3.1 b\n  - [ ] 1.3 c\n",
        "```\n- [ ] 1.3 a\n```\n",
    ] {
        assert_eq!(insert_after(text, "1.3", NEW), None);
        assert_eq!(insert_before(text, "1.3", NEW), None);
        assert_eq!(insert_after_block(text, "1.3", NEW), None);
    }
}

#[test]
fn after_the_own_block_and_before() {
    let text = "# a\n- [ ] 1.3 b\n  c\n\n- [ ] 1.3.1 d\n";
    assert_eq!(
        insert_after_block(text, "1.3", "- [ ] 1.9 e").unwrap(),
        "# a\n- [ ] 1.3 b\n  c\n\n- [ ] 1.9 e\n\n- [ ] 1.3.1 d\n"
    );
    for (text, expected) in [
        ("# a\n- [ ] 1.3 b\n", "# a\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n"),
        (
            "# a\n\n- [ ] 1.3 b\n",
            "# a\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n",
        ),
        (
            "# a\n\n\n- [ ] 1.3 b\n",
            "# a\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n",
        ),
        (
            "a\n\n---\n- [ ] 1.3 b\n",
            "a\n\n---\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n",
        ),
        ("- [ ] 1.3 b", "- [ ] 1.9 e\n\n- [ ] 1.3 b"),
        ("\n\r\n- [ ] 1.3 b", "- [ ] 1.9 e\n\n\r\n- [ ] 1.3 b"),
        ("\u{feff}- [ ] 1.3 b", "\u{feff}- [ ] 1.9 e\n\n- [ ] 1.3 b"),
    ] {
        assert_eq!(
            insert_before(text, "1.3", "\n- [ ] 1.9 e\n").unwrap(),
            expected
        );
    }
}
