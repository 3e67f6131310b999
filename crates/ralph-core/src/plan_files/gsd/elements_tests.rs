use super::{Element, Tags};
use proptest::prelude::*;

fn found(file: &str) -> (Vec<Element<'_>>, Vec<usize>) {
    let mut problems = Vec::new();
    let elements = Tags::of(file).within(0..file.len(), &mut problems);
    (
        elements,
        problems.into_iter().map(|problem| problem.line).collect(),
    )
}

fn pairs(file: &str) -> Vec<(&str, &str, usize)> {
    let (elements, problems) = found(file);
    assert_eq!(problems, [0; 0], "{file}");
    elements
        .into_iter()
        .map(|element| (element.name, element.content, element.line))
        .collect()
}

#[test]
fn elements_by_line_and_side_by_side() {
    assert_eq!(
        pairs(
            "<objective>\nx\n</objective>\n\n<tasks>\n  <task type=\"auto\">a\n</task><task>b</task>\n</tasks>\n"
        ),
        [
            ("objective", "\nx\n", 1),
            ("task", "a\n", 6),
            ("task", "b", 7)
        ]
    );
    assert_eq!(
        pairs("<name>a</name> <files>b</files>"),
        [("name", "a", 1), ("files", "b", 1)]
    );
}

#[test]
fn content_is_left_alone() {
    let file = "<action>\n```tsx\n<div>\n</task>\n`<done>` Vec<T> a < b\n</action>\n<done>x</done>";
    let found = pairs(file);
    assert_eq!(
        (found.len(), found[0].0, found[1]),
        (2, "action", ("done", "x", 7))
    );
    assert_eq!(pairs("<action>\n<action>\n</action>\n</action>").len(), 1);
}

#[test]
fn tags_in_sentences_code_and_comments_are_none() {
    assert_eq!(
        pairs(
            "Use <task> here.\n`<task>`\n<!-- <task>\n<task> --> x\n```\n<task>\n```\n<br/>\n<div>\n"
        ),
        []
    );
}

#[test]
fn what_is_never_closed_is_told() {
    assert_eq!(found("\n<task>\n<name>a</name>\n<task>\n</task>").1, [2]);
    assert_eq!(found("<done>\n<done>x</done>\n").1, [1]);
    assert_eq!(found("<!-- x").1, [1]);
    assert_eq!(found("x\n~~~\n").1, [2]);
}

#[test]
fn attributes() {
    let (elements, _) = found("<task  id='1' type = \"checkpoint:decision\" gate=\"a\"></task>");
    assert_eq!(elements[0].attribute("type"), Some("checkpoint:decision"));
    assert_eq!(elements[0].attribute("id"), Some("1"));
    assert_eq!(elements[0].attribute("name"), None);
    let (elements, _) = found("<task type=auto></task>");
    assert_eq!(elements[0].attribute("type"), None);
}

#[test]
fn large_files_take_linear_time() {
    let begun = crate::testing::cpu_time();
    for part in [
        "<a ",
        "<task>",
        "</task>",
        "<!--",
        "<name>x</name>",
        "`<",
        "<a>\n",
        "> <a></",
    ] {
        let _ = found(&part.repeat(200_000));
    }
    assert!((crate::testing::cpu_time() - begun).as_secs() < 20);
}

proptest! {
    #[test]
    fn never_panics(text in any::<String>(), near in "(<task>|</task>|<name a=\"|>|`|```|\n|<!--|-->|é| |</){0,30}") {
        for text in [&text, &near] {
            let (elements, _) = found(text);
            for element in &elements {
                prop_assert_eq!(&text[element.range.clone()], element.content);
                let _ = element.attribute("a");
            }
        }
    }
}
