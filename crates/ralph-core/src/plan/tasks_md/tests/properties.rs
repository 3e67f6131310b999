//! What holds for any file.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::render;
use super::*;

/// Lines that mean something, alone or together. `@` stands for a key of its own.
const LINES: [&str; 64] = [
    "",
    "",
    "",
    "",
    " ",
    "\t",
    "- [ ] @ a",
    "- [ ] @ a",
    "- [x] @ [P] b",
    "- [X] @: [P] [VERIFY] c `d`",
    "- [ ] @ [P] é 日本",
    "- [ ] @ [FIX 1.1] e",
    "- [x] @ [FIX 1.2.1] f",
    "- [ ] @. [FIX 9.9] g",
    "- [ ] no key",
    "  - [ ] step",
    "    * [X] step",
    "# Tasks",
    "## Phase 1: A",
    "### Phase 2.1 - B",
    "## 3. C",
    "#### D",
    "#no",
    "  - **Do**:",
    "  - **Do**: x",
    "    1. step",
    "    2. step",
    "      - deep",
    "\t- tabbed",
    "  - **Files**: a, `b`",
    "  - **Files**:",
    "    - `c` (new)",
    "  - **Done when**: y",
    "  - **Verify**: `pnpm test`",
    "  - **Verify**: grep -q x y",
    "  - **Verify**:",
    "  - **Verify**: ```sh",
    "  - **Verify**: Manual: look",
    "  **Verify**: `a` and `b || c`",
    "  - **Commit**: `feat: z`",
    "  - **Commit**: None",
    "  - _Requirements: FR-1_",
    "  - **Skills**: e2e",
    "```",
    "```sh",
    "  ```",
    "    ```bash",
    "    ```",
    "~~~",
    "  ~~~~",
    "- ```",
    "<!--",
    "<!-- a -->",
    "  <!-- b",
    "-->",
    "c -->",
    "---",
    "* * *",
    "text",
    "  text",
    "äöü 🚀",
    "> quote",
    "\u{feff}",
    "    code",
];

const KEYS: [&str; 16] = [
    "1.1", "1.2", "1.2.1", "1.2.1.1", "1.20", "V1", "V1.1", "VE2", "VF", "VF.1", "12-01", "12-01.1", "2.1",
    "1.2.2", "3.1", "1.1.1",
];

/// A file: lines with their ends, tasks with keys of their own.
fn file() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        12 => select(&LINES[..]).prop_map(str::to_owned),
        1 => "[ \t`~#<>*_:\\[\\]().,x1é-]{0,12}",
    ];
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r\r\n")];
    let rest = (select(&["", "\u{feff}", "- [ ] 0.1 z\n"][..]), any::<bool>(), any::<bool>());
    (vec((line, end), 0..40), rest).prop_map(|(lines, (start, is_dos, is_ended))| {
        let mut keys = KEYS.iter();
        let mut text = start.to_owned();
        for (line, end) in lines {
            let key = if line.contains('@') { keys.next().unwrap_or(&"1.1") } else { "" };
            text.push_str(&line.replace('@', key));
            text.push_str(if is_dos { "\r\n" } else { end });
        }
        let open = text.trim_end_matches(['\r', '\n']).len();
        if !is_ended {
            text.truncate(open);
        }
        text
    })
}

/// A file and the key of one of its tasks.
fn file_and_key() -> impl Strategy<Value = (String, String)> {
    let has_key = |draft: Draft| draft.tasks.iter().any(|task| task.named_by_author);
    let with_task = file().prop_filter("no plan", move |text| try_draft(text).is_ok_and(has_key));
    (with_task, any::<Index>()).prop_map(|(text, index)| {
        let tasks = try_draft(&text).unwrap().tasks;
        let tasks: Vec<_> =
            tasks.into_iter().filter(|task| task.named_by_author && !task.name.contains('#')).collect();
        let key = index.get(&tasks).name.clone();
        (text, key)
    })
}

/// What a task says, whatever stands around it.
fn alone(task: &DraftTask) -> DraftTask {
    DraftTask { line: 0, mark: None, after: Vec::new(), steps: Vec::new(), ..task.clone() }
}

/// The white space before a task.
fn indent_of(text: &str, key: &str) -> String {
    let tasks = try_draft(text).unwrap().tasks;
    let line = tasks.iter().find(|task| task.name == key).unwrap().line;
    let line = text.trim_start_matches('\u{feff}').split('\n').nth(line - 1).unwrap();
    line[..line.len() - line.trim_start().len()].to_owned()
}

/// The text put in, where all else is as before.
fn put_in(before: &str, after: &str) -> Option<String> {
    let prefix = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    (0..=prefix).rev().find_map(|at| {
        let (head, tail) = (before.get(..at)?, before.get(at..)?);
        let inserted = after.strip_prefix(head)?.strip_suffix(tail)?;
        // Of the places that come to the same, the one where whole lines went in.
        let whole = inserted.trim_start_matches([' ', '\t']).starts_with("- [ ]")
            || inserted.starts_with(['\r', '\n']);
        whole.then(|| inserted.to_owned())
    })
}

type Insert = fn(&str, &str, &str) -> Option<String>;

const INSERTS: [Insert; 2] = [insert_after, insert_before];

proptest! {
    #[test]
    fn nothing_panics(text in prop_oneof![any::<String>(), file()], key in "[1-3V]{1,2}(\\.[1-3]){0,2}") {
        let is_plan = try_draft(&text).is_ok();
        prop_assert!(!is_plan || !Spec::of(&text).outline.items.is_empty());
        prop_assert_eq!(&mark(&text, &[]), &text);
        let is_there = has(&text, &key);
        for insert in INSERTS {
            prop_assert_eq!(insert(&text, &key, "- [ ] 9.9 x").is_some(), is_there);
        }
    }

    #[test]
    fn imp_08_marking_changes_one_byte((text, key) in file_and_key(), done: bool) {
        let before = try_draft(&text).unwrap();
        let marked = mark(&text, &[(&key, done)]);
        let differing = text.bytes().zip(marked.bytes()).filter(|(a, b)| a != b).count();
        let task = before.tasks.iter().find(|task| task.name == key).unwrap();
        let is_ticked = ["x", "X"].contains(&&text[task.mark.clone().unwrap()]);
        let most = usize::from(is_ticked != done) + if done { task.steps.len() } else { 0 };
        prop_assert_eq!(text.len(), marked.len());
        prop_assert!(differing <= most && (is_ticked == done || differing > 0));
        prop_assert_eq!(&mark(&marked, &[(&key, done)]), &marked);
        let after = try_draft(&marked).unwrap();
        for (old, new) in before.tasks.iter().zip(&after.tasks) {
            // A whole is done only with its parts.
            let done = if old.name == key || !old.done { new.done } else { old.done && new.done };
            prop_assert_eq!(&DraftTask { done, ..old.clone() }, new);
        }
    }

    #[test]
    fn imp_08_inserting_leaves_all_else_byte_for_byte((text, key) in file_and_key()) {
        let block = "- [ ] 9.9 x\n  - **Do**: y\n\n    z";
        for insert in INSERTS {
            let after = insert(&text, &key, block).unwrap();
            let inserted = put_in(&text, &after);
            prop_assert!(inserted.is_some(), "{after:?}");
            let indent = indent_of(&text, &key);
            let inserted = inserted.unwrap().replace("\r\n", "\n").replace(&format!("\n{indent}"), "\n");
            let inserted = inserted.strip_prefix(&indent).unwrap_or(&inserted);
            // What is indented below is kept from becoming a part of the block.
            let inserted = inserted.replace("\n<!-- -->\n", "");
            prop_assert_eq!(inserted.trim_matches('\n'), block);
            prop_assert!(inserted.len() <= block.len() + 4, "{inserted:?}");
        }
    }

    #[test]
    fn rci_03_there_is_one_blank_line_on_each_side((text, key) in file_and_key()) {
        for (number, insert) in INSERTS.into_iter().enumerate() {
            let after = insert(&text, &key, "- [ ] 9.9 x").unwrap();
            let lines: Vec<_> = after.split('\n').map(|line| line.trim_matches(['\r', ' ', '\t'])).collect();
            let at = lines.iter().position(|line| line.trim_start_matches('\u{feff}') == "- [ ] 9.9 x").unwrap();
            let (above, below) = (&lines[..at], &lines[at + 1..]);
            let is_blank = |line: Option<&&str>| line.is_none_or(|line| line.is_empty());
            prop_assert!(is_blank(above.last()) && is_blank(below.first()), "{after:?}");
            // More than one only where the file had more than two.
            if number < 1 && above.len() > 1 {
                prop_assert!(!is_blank(above.iter().rev().nth(1)), "{after:?}");
            }
        }
    }

    #[test]
    fn rci_03_reading_again_finds_every_task((text, key) in file_and_key()) {
        let name = format!("{key}.977");
        let fix = DraftTask {
            named_by_author: true,
            title: "Fix: x".into(),
            description: "Address the error: x\n1. y".into(),
            files: vec!["a".into(), "b".into()],
            done_when: Some("z".into()),
            verify: Some("grep -q x y".into()),
            commit: Some("fix: x".into()),
            markers: vec![format!("FIX {key}")],
            fix_of: Some(key.clone()),
            name,
            ..DraftTask::default()
        };
        let before = try_draft(&text).unwrap();
        for (number, insert) in INSERTS.into_iter().enumerate() {
            let changed = insert(&text, &key, &render(&fix)).unwrap();
            let mut after = try_draft(&changed).unwrap();
            let at = after.tasks.iter().position(|task| task.name == fix.name).unwrap();
            let new = after.tasks.remove(at);
            prop_assert_eq!(&alone(&new), &DraftTask { phase: new.phase.clone(), ..fix.clone() });
            prop_assert_eq!(before.tasks.len(), after.tasks.len());
            for (old, found) in before.tasks.iter().zip(&after.tasks) {
                prop_assert_eq!(alone(old), alone(found));
                let mut waits = found.after.clone();
                waits.retain(|name| *name != fix.name);
                prop_assert_eq!(&old.after, &waits);
                prop_assert_eq!(found.after.contains(&fix.name), old.name == key);
            }
            let of = after.tasks.iter().position(|task| task.name == key).unwrap();
            let is_below = |task: &DraftTask| task.name.starts_with(&format!("{key}.")) || task.parent.as_ref() == Some(&key);
            let last = after.tasks.iter().rposition(is_below).unwrap_or(of).max(of);
            prop_assert_eq!(at, [last + 1, of][number]);
        }
    }

    #[test]
    fn rendered_tasks_read_back(
        title in "[a-zé]{1,5}( [a-z`:]{1,5}){0,3}",
        description in "([a-zé:`]{1,5}( [a-z*`~-]{1,4}){0,2}\n{1,2}){0,4}[a-z]{1,5}",
        files in vec("[a-z/(){},` .-]{1,12}", 0..4),
        done_when in "[a-z:]{1,6}",
        verify in "[a-z]{1,4}( [a-z`'|;&$#~-]{1,4}){0,3}(\n[a-z`~]{1,6}){0,2}",
        commit in "[a-z]{1,6}: [a-z`]{1,5}",
    ) {
        let files: Vec<_> = files.iter().map(|file| file.trim().to_owned()).collect();
        let is_path = |file: &String| file.contains(|c: char| c.is_ascii_alphabetic());
        let task = DraftTask {
            name: "1.1".into(),
            named_by_author: true,
            title,
            description,
            files: files.into_iter().filter(is_path).collect(),
            done_when: Some(done_when),
            verify: Some(verify),
            commit: Some(commit),
            line: 1,
            mark: Some(3..4),
            ..DraftTask::default()
        };
        let block = render(&task);
        let read = Spec::of(&block).read(&|_| true).unwrap();
        prop_assert_eq!(&read.tasks[0], &task, "{}", block);
    }
}
