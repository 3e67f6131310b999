use super::{Element, Frontmatter, Tags};
use proptest::prelude::*;

fn found(file: &str) -> (Vec<Element<'_>>, Vec<usize>) {
    let mut problems = Vec::new();
    let elements = Tags::of(file).within(0..file.len(), &mut problems);
    (elements, problems.into_iter().map(|problem| problem.line).collect())
}

fn pairs(file: &str) -> Vec<(&str, &str, usize)> {
    let (elements, problems) = found(file);
    assert_eq!(problems, [0; 0], "{file}");
    elements.into_iter().map(|element| (element.name, element.content, element.line)).collect()
}

#[test]
fn elements_by_line_and_side_by_side() {
    assert_eq!(
        pairs(
            "<objective>\nx\n</objective>\n\n<tasks>\n  <task type=\"auto\">a\n</task><task>b</task>\n</tasks>\n"
        ),
        [("objective", "\nx\n", 1), ("task", "a\n", 6), ("task", "b", 7)]
    );
    assert_eq!(pairs("<name>a</name> <files>b</files>"), [("name", "a", 1), ("files", "b", 1)]);
}

#[test]
fn content_is_left_alone() {
    let file = "<action>\n```tsx\n<div>\n</task>\n`<done>` Vec<T> a < b\n</action>\n<done>x</done>";
    let found = pairs(file);
    assert_eq!((found.len(), found[0].0, found[1]), (2, "action", ("done", "x", 7)));
    assert_eq!(pairs("<action>\n<action>\n</action>\n</action>").len(), 1);
}

#[test]
fn tags_in_sentences_code_and_comments_are_none() {
    assert_eq!(
        pairs("Use <task> here.\n`<task>`\n<!-- <task>\n<task> --> x\n```\n<task>\n```\n<br/>\n<div>\n"),
        []
    );
}

#[test]
fn elements_that_are_never_closed_are_told() {
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
    for part in ["<a ", "<task>", "</task>", "<!--", "<name>x</name>", "`<", "<a>\n", "> <a></"] {
        let _ = found(&part.repeat(200_000));
    }
    assert!((crate::testing::cpu_time() - begun).as_secs() < 20);
}

proptest! {
    #[test]
    fn elements_never_panic(text in any::<String>(), near in "(<task>|</task>|<name a=\"|>|`|```|\n|<!--|-->|é| |</){0,30}") {
        for text in [&text, &near] {
            let (elements, _) = found(text);
            for element in &elements {
                prop_assert_eq!(&text[element.range.clone()], element.content);
                let _ = element.attribute("a");
            }
        }
    }
}

fn values(file: &str, key: &str) -> Vec<String> {
    let front = Frontmatter::of(file).unwrap();
    let entry = front.get(key).cloned().unwrap_or_default();
    entry.values.into_iter().map(str::to_owned).collect()
}

#[test]
fn values_in_all_their_shapes() {
    let file = "\u{feff}---\nphase: 01-base # the first\nplan: \"02\"\nwave: 1\n\
        depends_on: [\"01-01\", 01-02]  # ids (e.g., [\"00-01\"])\n\
        files_modified:\n  - src/[slug]/a.ts\n  - 'b, c.ts' # new\n# - d\nautonomous: true\n\
        tags: [a,\n  \"b c\",\n  d\n]\nempty: []\nnothing:\n\
        must_haves:\n  truths:\n    - \"x: y\"\n  key_links:\n    - from: a\n      to: b\nlast: don't, #1\n---\nbody";
    assert_eq!(values(file, "phase"), ["01-base"]);
    assert_eq!(values(file, "plan"), ["02"]);
    assert_eq!(values(file, "depends_on"), ["01-01", "01-02"]);
    assert_eq!(values(file, "files_modified"), ["src/[slug]/a.ts", "b, c.ts"]);
    assert_eq!(values(file, "tags"), ["a", "b c", "d"]);
    assert_eq!(values(file, "must_haves"), [""; 0]);
    assert_eq!(values(file, "last"), ["don't,"]);
    for key in ["empty", "nothing", "missing"] {
        assert_eq!(values(file, key), [""; 0], "{key}");
    }
    let front = Frontmatter::of(file).unwrap();
    assert_eq!(&file[front.end..], "body");
    assert_eq!(front.get("depends_on").unwrap().line, 5);
}

#[test]
fn items_may_stand_at_the_edge() {
    assert_eq!(values("---\r\ndepends_on:\r\n- a\r\n- b\r\n---\r\n", "depends_on"), ["a", "b"]);
    assert_eq!(values("---\ndepends_on: null\n---\n", "depends_on"), [""; 0]);
}

#[test]
fn files_without_frontmatter() {
    for file in ["", "\n---\na: b\n---\n", "# Plan\n---\n", "----\n"] {
        assert_eq!(Frontmatter::of(file).unwrap().end, 0, "{file}");
    }
}

#[test]
fn frontmatter_that_is_never_closed_is_told() {
    assert_eq!(Frontmatter::of("---\na: b\n").unwrap_err().line, 1);
    assert_eq!(Frontmatter::of("---\na: b\nc: [x,\n---\n").unwrap_err().line, 3);
}

proptest! {
    #[test]
    fn frontmatter_never_panics(text in any::<String>(), near in "[-a:\\[\\],#'\" \n]{0,40}") {
        for text in [text, near] {
            for file in [format!("---\n{text}\n---\nx"), text] {
                if let Ok(front) = Frontmatter::of(&file) {
                    prop_assert!(file.is_char_boundary(front.end));
                }
            }
        }
    }
}
