//! What each line is.

use super::{Kind, Kind::*, Lines, Part::*};

fn kinds(file: &str) -> Vec<Kind> {
    Lines::of(file).map(|line| line.kind).collect()
}

fn never_closed(file: &str) -> Option<usize> {
    let mut lines = Lines::of(file);
    lines.by_ref().for_each(drop);
    lines.never_closed()
}

#[test]
fn a_line_end_is_no_part_of_the_text() {
    let lines: Vec<_> = Lines::of("\u{feff}a\r\n\r\r\n\n b\r").collect();
    let texts: Vec<_> = lines.iter().map(|line| line.text).collect();
    assert_eq!(texts, ["a", "", "", " b"]);
    let ends: Vec<_> = lines.iter().map(|line| (line.start, line.end)).collect();
    assert_eq!(ends, [(3, 6), (6, 9), (9, 10), (10, 13)]);
}

#[test]
fn imp_01_plain_lines() {
    assert_eq!(
        kinds("# A\n- [ ] 1.1 a\n  - b\n\t\n- [ ] c\n- [x] VF d\n #e\n # f\n"),
        [Heading, Task, Text, Blank, Text, Task, Text, Text]
    );
    assert_eq!(kinds("\u{feff}- [ ] 1.1 a"), [Task]);
}

#[test]
fn imp_01_a_fence_at_column_0_hides_tasks_to_its_end() {
    let inside = [Fence(Begin), Fence(Inside), Fence(Inside), Fence(End), Task];
    assert_eq!(
        kinds("```sh\n- [ ] 1.1 a\n# b\n   ````\n- [ ] 1.2 c"),
        inside
    );
    assert_eq!(kinds("~~~\n```\n    ~~~\n~~~\n- [ ] 1.2 c"), inside);
    assert_eq!(
        kinds("```\n- [ ] 1.1 a\n``` x\n"),
        [Fence(Begin), Fence(Inside), Fence(Inside)]
    );
    assert_eq!(never_closed("a\n```\n- [ ] 1.1 a\n"), Some(2));
    assert_eq!(never_closed("a\n```\n```\n  ```\n"), None);
}

#[test]
fn imp_01_a_comment_at_column_0_hides_tasks_to_its_end() {
    assert_eq!(
        kinds("<!-- a\n- [ ] 1.1 a\n   b --> c\n- [ ] 1.2 a"),
        [Comment(Begin), Comment(Inside), Comment(End), Task]
    );
    assert_eq!(kinds("<!-- a -->\n- [ ] 1.1 a"), [Comment(Begin), Task]);
    assert_eq!(kinds("a <!--\n- [ ] 1.1 a"), [Text, Task]);
    assert_eq!(never_closed("<!-- a\n- [ ] 1.1 a"), Some(0));
}

#[test]
fn an_indented_fence_ends_where_it_is_closed() {
    assert_eq!(
        kinds("- [ ] 1.1 a\n    ```\nb\n\n- [ ] c\n```\n  ```\n  d"),
        [
            Task,
            Fence(Begin),
            Fence(Inside),
            Fence(Inside),
            Fence(Inside),
            Fence(Inside),
            Fence(End),
            Text
        ]
    );
    assert_eq!(
        kinds("- ~~~\n  a\n  ~~~\nb"),
        [Fence(Begin), Fence(Inside), Fence(End), Text]
    );
    assert_eq!(
        kinds(" - **Verify**: ```sh\n   a\n   ```\n b"),
        [Fence(Begin), Fence(Inside), Fence(End), Text]
    );
    assert_eq!(
        kinds("  <!-- a\nb -->\n  <!-- c --> d\n  e"),
        [Comment(Begin), Comment(End), Comment(Begin), Text]
    );
}

#[test]
fn an_indented_fence_never_closed_ends_at_a_line_indented_less() {
    assert_eq!(
        kinds("  ```\n  a\n\n\nb\n```\n  ```x\n```"),
        [
            Fence(Begin),
            Fence(Inside),
            Fence(Inside),
            Fence(Inside),
            Text,
            Fence(Begin),
            Fence(Inside),
            Fence(End)
        ]
    );
    assert_eq!(
        kinds("    ```\n    a\n  - b"),
        [Fence(Begin), Fence(Inside), Text]
    );
    assert_eq!(
        kinds("  ```\n  a\n```\nb"),
        [Fence(Begin), Fence(Inside), Fence(End), Text]
    );
    assert_eq!(kinds(" - **Verify**: ```sh\n   a\n b"), [Text, Text, Text]);
    assert_eq!(
        kinds("  <!-- a\n  b\nc"),
        [Comment(Begin), Comment(Inside), Text]
    );
    assert_eq!(never_closed("  ```\n  a\n"), None);
}

#[test]
fn a_field_that_is_indented_less_ends_a_fence_even_if_another_is_closed_after_it() {
    assert_eq!(
        kinds("    ```\n    a\n  - **Verify**:\n    ```\n    b\n    ```\n"),
        [
            Fence(Begin),
            Fence(Inside),
            Text,
            Fence(Begin),
            Fence(Inside),
            Fence(End)
        ]
    );
    assert_eq!(
        kinds("  ```\n  - **Verify**: a\n  ```\n  b\n"),
        [Fence(Begin), Fence(Inside), Fence(End), Text]
    );
}

#[test]
fn what_is_indented_hides_no_task_and_no_heading() {
    for line in ["- [ ] 1.2 b", "# b"] {
        for (begin, end) in [("  ```", "  ```"), ("  <!--", "  -->"), ("- ~~~", " ~~~")] {
            let found = kinds(&format!("{begin}\n  a\n{line}\n{end}\n"));
            assert!(
                matches!(found.get(2), Some(Task | Heading)),
                "{begin} {line}"
            );
        }
    }
}
