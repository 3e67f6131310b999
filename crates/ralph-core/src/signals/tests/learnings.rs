//! Learnings: complete ones are kept, others skipped.

use crate::signals::{LearningSignal, limits};

fn learnings(text: &str) -> Vec<LearningSignal> {
    crate::signals::tests::signals(text).learnings
}

fn contents(text: &str) -> Vec<String> {
    learnings(text).into_iter().map(|learning| learning.content).collect()
}

#[test]
fn lsg_01_category_tags_and_content() {
    let found = learnings("x <learning category=\"pitfall\" tags=\"a, b b ,,a\">\n two\nlines \n</learning>");
    let expected = LearningSignal {
        category: "pitfall".into(),
        tags: vec!["a".into(), "b b".into()],
        content: "two\nlines".into(),
    };
    assert_eq!(found, [expected]);
}

#[test]
fn lsg_02_every_one_is_kept_in_order() {
    let one = |n: usize| format!("<learning category='a' tags='b'>same {}</learning>", n % 2);
    let text: String = (0..3).map(one).collect();
    assert_eq!(contents(&text), ["same 0", "same 1", "same 0"]);
    assert_eq!(contents("no learning at all"), Vec::<String>::new());
}

#[test]
fn lsg_03_incomplete_ones_are_skipped() {
    let good = "<learning category=\"c\" tags=\"t\">good</learning>";
    for bad in [
        "<learning tags=\"t\">x</learning>",
        "<learning category=\"c\">x</learning>",
        "<learning category=\"\" tags=\"t\">x</learning>",
        "<learning category=\"c\" tags=\" , \">x</learning>",
        "<learning category=\"c\" tags=\"t\"> \n </learning>",
        "<learning category=c tags=t>x</learning>",
        "<learning category=\"c tags=\"t\">x</learning>",
        "<learning category=\"c\" tags=\"t\">x",
        "<learning>x</learning>",
    ] {
        assert_eq!(contents(&format!("{bad}\n{good}")), ["good"], "{bad}");
        assert_eq!(contents(&format!("{good}\n{bad}")), ["good"], "{bad}");
    }
}

#[test]
fn lsg_04_exact_name_either_order_either_quotes() {
    assert_eq!(contents("<learnings category=\"x\" tags=\"y\">z</learnings>"), Vec::<String>::new());
    assert_eq!(contents("<learning\n tags='y'\n category='x'\n>z</learning>"), ["z"]);
    assert_eq!(contents("<learning id=\"7\" tags=\"y > z\" category='x'>z</learning>"), ["z"]);
}

#[test]
fn lsg_05_other_categories_are_kept() {
    let found = learnings("<learning category=\"my own\" tags=\"y\">z</learning>");
    assert_eq!(found[0].category, "my own");
}

#[test]
fn sig_07_placeholders_are_not_learnings() {
    for text in [
        "<learning category=\"...\" tags=\"a\">x</learning>",
        "<learning category=\"a\" tags=\"...\">x</learning>",
        "<learning category=\"a\" tags=\"b\">...</learning>",
        "<learning category=\"a\" tags=\"b\"><one insight></learning>",
    ] {
        assert_eq!(contents(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn learnings_are_bounded() {
    let tags = "tag word, ".repeat(10)
        + &(0..2 * limits::TAGS).map(|n| format!("{n}{},", "x".repeat(300))).collect::<String>();
    let one = format!(
        "<learning category='{}' tags='{tags}'>{}</learning>",
        "c".repeat(99),
        "word ".repeat(limits::LEARNING_CHARS)
    );
    let others = "<learning category='c' tags='t'>x</learning>".repeat(limits::LEARNINGS);
    let found = learnings(&(one + &others));
    assert_eq!(found.len(), limits::LEARNINGS);
    assert_eq!(found[0].category.len(), limits::CATEGORY_CHARS);
    assert_eq!(found[0].tags.len(), limits::TAGS);
    assert_eq!(found[0].tags[1].len(), limits::TAG_CHARS);
    assert_eq!(found[0].content.len(), limits::LEARNING_CHARS - 1, "cut after a word");
}
