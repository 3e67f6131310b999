use super::Frontmatter;
use proptest::prelude::*;

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
        tags: [a,\n  \"b, c\",\n  d\n]\nempty: []\nnothing:\n\
        must_haves:\n  truths:\n    - \"x: y\"\n  key_links:\n    - from: a\n      to: b\nlast: don't, #1\n---\nbody";
    assert_eq!(values(file, "phase"), ["01-base"]);
    assert_eq!(values(file, "plan"), ["02"]);
    assert_eq!(values(file, "depends_on"), ["01-01", "01-02"]);
    assert_eq!(
        values(file, "files_modified"),
        ["src/[slug]/a.ts", "b, c.ts"]
    );
    assert_eq!(values(file, "tags"), ["a", "b, c", "d"]);
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
    assert_eq!(
        values("---\r\ndepends_on:\r\n- a\r\n- b\r\n---\r\n", "depends_on"),
        ["a", "b"]
    );
    assert_eq!(
        values("---\ndepends_on: null\n---\n", "depends_on"),
        [""; 0]
    );
}

#[test]
fn files_without_frontmatter() {
    for file in ["", "\n---\na: b\n---\n", "# Plan\n---\n", "----\n"] {
        assert_eq!(Frontmatter::of(file).unwrap().end, 0, "{file}");
    }
}

#[test]
fn what_is_never_closed_is_told() {
    assert_eq!(Frontmatter::of("---\na: b\n").unwrap_err().line, 1);
    assert_eq!(
        Frontmatter::of("---\na: b\nc: [x,\n---\n")
            .unwrap_err()
            .line,
        3
    );
}

proptest! {
    #[test]
    fn never_panics(text in any::<String>(), near in "[-a:\\[\\],#'\" \n]{0,40}") {
        for text in [text, near] {
            for file in [format!("---\n{text}\n---\nx"), text] {
                if let Ok(front) = Frontmatter::of(&file) {
                    prop_assert!(file.is_char_boundary(front.end));
                }
            }
        }
    }
}
