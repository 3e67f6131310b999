//! Fix tasks: the example, what replaces a missing field, and hostile errors.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::recovery::FailureFacts;

fn failure(error: Option<&str>, attempted_fix: Option<&str>) -> Failure {
    let block = FailureFacts {
        error: error.map(str::to_owned),
        attempted_fix: attempted_fix.map(str::to_owned),
        status: None,
    };
    Failure::of_block("1.3", block, String::new())
}

fn fix(error: Option<&str>, original: &Original<'_>) -> FixTask {
    FixTask::new("1.3.1".into(), &failure(error, None), original)
}

fn title(error: &str) -> String {
    fix(Some(error), &Original::default()).title
}

fn commit(error: &str, spec_folder: Option<&str>) -> String {
    let original = Original { spec_folder, ..Original::default() };
    fix(Some(error), &original).commit
}

const EXAMPLE: &str = r#"- [ ] 1.3.1 [FIX 1.3] Fix: File not found: src/parser.ts
  - **Do**: Address the error: File not found: src/parser.ts
    1. Analyze the failure: Checked alternate paths
    2. Review related code in Files list
    3. Implement fix for: File not found: src/parser.ts
  - **Files**: plugins/ralph-specum/commands/implement.md
  - **Done when**: Error "File not found: src/parser.ts" no longer occurs
  - **Verify**: grep -q "Parse Failure" implement.md
  - **Commit**: `fix(recovery): address missing file from task 1.3`
"#;

#[test]
fn rcg_02_rcg_06_the_block_of_the_example() {
    let failure = failure(Some("File not found: src/parser.ts"), Some("Checked alternate paths"));
    let original = Original {
        files: &["plugins/ralph-specum/commands/implement.md".to_owned()],
        verify: Some(r#"grep -q "Parse Failure" implement.md"#),
        ..Original::default()
    };
    let fix = FixTask::new("1.3.1".into(), &failure, &original);
    assert_eq!(fix.block(), EXAMPLE);
    assert_eq!(fix.markers(), ["FIX 1.3"]);
    assert_eq!(fix.fix_of, "1.3");
}

#[test]
fn rcg_02_an_error_of_several_lines_stands_on_one() {
    let fix = fix(Some("a\n\n## b\r\n```\n- [ ] 1.4  c\t"), &Original::default());
    assert_eq!(fix.done_when, "Error \"a ## b ``` - [ ] 1.4 c\" no longer occurs");
    assert_eq!(fix.block().lines().count(), 9);
}

#[test]
fn rcg_03_the_summary_is_cut_on_a_word_boundary() {
    assert_eq!(title("short"), "Fix: short");
    let fifty = "12345 789 ".repeat(5);
    assert_eq!(title(&format!("{fifty}x")), format!("Fix: {}", fifty.trim()));
    assert_eq!(title(&format!("{}x", fifty.trim())), format!("Fix: {}x", fifty.trim()));
    assert_eq!(title(&format!("{}xy z", fifty.trim())), format!("Fix: {}", &fifty[..45]));
    assert_eq!(title(&"ä".repeat(60)), format!("Fix: {}", "ä".repeat(50)));
}

#[test]
fn rcg_03_without_an_error_the_task_is_named() {
    let fix = fix(None, &Original::default());
    assert_eq!(fix.title, "Fix: task 1.3 failure");
    assert_eq!(fix.done_when, "Error \"Task execution failed\" no longer occurs");
    assert_eq!(title("\u{1b}[0m"), "Fix: task 1.3 failure");
    let nothing = Failure::without_block("V4", FailureFacts::default(), String::new());
    let fix = FixTask::new("V4.1".into(), &nothing, &Original::default());
    assert_eq!(fix.title, "Fix: task V4 failure");
    assert!(fix.description.starts_with("Address the error: Task did not complete\n"));
}

#[test]
fn rcg_04_what_is_missing_is_replaced() {
    let none = fix(Some("x"), &Original::default());
    assert_eq!(none.files, ["."]);
    assert_eq!(none.verify, "echo 'Verify manually'");
    assert!(none.block().contains("\n    1. Analyze the failure: No previous fix attempted\n"));
    assert!(none.block().contains("\n  - **Verify**: echo 'Verify manually'\n"));
    let blank = Original {
        files: &[" ".to_owned()],
        verify: Some(" \n"),
        spec_folder: Some("specs/my-feature/"),
        error_category: None,
    };
    let blank = fix(Some("x"), &blank);
    assert_eq!(blank.files, ["specs/my-feature"]);
    assert_eq!(blank.verify, "echo 'Verify manually'");
}

#[test]
fn rcg_04_the_originals_own_fields_come_first() {
    let files = ["src/a.rs".to_owned(), "src/b.rs\n".to_owned()];
    let original = Original {
        files: &files,
        verify: Some("cargo test\ncargo clippy\n"),
        spec_folder: Some("specs/x"),
        error_category: None,
    };
    let block = fix(Some("x"), &original).block();
    assert!(block.contains("\n  - **Files**: src/a.rs, src/b.rs\n"));
    assert!(
        block.contains(
            "\n  - **Verify**:\n    ```\n    cargo test\n    cargo clippy\n    ```\n  - **Commit**: "
        )
    );
}

#[test]
fn rcg_05_the_scope_is_the_specs_name() {
    for (folder, scope) in [
        (None, "recovery"),
        (Some(""), "recovery"),
        (Some("."), "recovery"),
        (Some(".."), "recovery"),
        (Some("/"), "recovery"),
        (Some("specs/my-feature"), "my-feature"),
        (Some("./specs/my-feature/"), "my-feature"),
        (Some("specs/My (new) `x`"), "My-new-x"),
        (Some(r"specs\v1.2_ä"), "v1.2_ä"),
    ] {
        let expected = format!("fix({scope}): address error from task 1.3");
        assert_eq!(commit("x", folder), expected, "{folder:?}");
    }
}

#[test]
fn rcg_05_the_type_is_the_errors_kind() {
    assert_eq!(
        commit("Syntax error in parser.ts line 42", None),
        "fix(recovery): address syntax from task 1.3"
    );
    let original = Original { error_category: Some("test_failure"), ..Original::default() };
    assert_eq!(
        fix(Some("2 of 5 are red"), &original).commit,
        "fix(recovery): address test failure from task 1.3"
    );
}

proptest! {
    #[test]
    fn rcg_02_no_text_breaks_the_block(
        error in option::of(any::<String>()),
        attempt in option::of("[a#`~ \n\r\t>|*-]{0,40}"),
        files in vec("[a/. \n#-]{0,8}", 0..3),
        folder in option::of(any::<String>()),
        verify in option::of("[a `]{0,12}"),
    ) {
        let original = Original {
            files: &files,
            verify: verify.as_deref(),
            spec_folder: folder.as_deref(),
            error_category: None,
        };
        let failure = failure(error.as_deref(), attempt.as_deref());
        let fix = FixTask::new("1.3.1".into(), &failure, &original);
        prop_assert!(fix.title.chars().count() <= "Fix: ".len() + SUMMARY_CHARS);
        let block = fix.block();
        let starts = [
            "- [ ] 1.3.1 [FIX 1.3] Fix: ",
            "  - **Do**: Address the error: ",
            "    1. Analyze the failure: ",
            "    2. Review related code in Files list",
            "    3. Implement fix for: ",
            "  - **Files**: ",
            "  - **Done when**: Error \"",
            "  - **Verify**: ",
            "  - **Commit**: `fix(",
        ];
        let lines: Vec<&str> = block.split_terminator('\n').collect();
        prop_assert_eq!(lines.len(), starts.len());
        for (line, start) in lines.iter().zip(starts) {
            prop_assert!(line.starts_with(start), "{}", line);
            prop_assert!(line.len() > start.len() || start.ends_with("list"));
            prop_assert!(!line.contains('\r'));
        }
        prop_assert_eq!(lines[8].matches('`').count(), 2);
    }
}

/// Reads the field as Markdown has it: the rest of the line, else the fence below.
fn read(lines: &[String]) -> String {
    let inline = lines[0].strip_prefix(FIELD).unwrap();
    if !inline.is_empty() {
        assert_eq!(lines.len(), 1);
        return inline.trim().to_owned();
    }
    let fence = lines[1].trim();
    assert_eq!(fence.trim_matches('`'), "");
    let mut script = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(2) {
        if line.trim() == fence {
            assert_eq!(at, lines.len() - 1);
            break;
        }
        script.push(line.strip_prefix(BELOW).unwrap_or(line));
    }
    script.join("\n")
}

#[test]
fn rcg_04_a_command_stays_on_its_line() {
    for verify in ["cargo test", "`npm test` && echo \"```\"", "grep -q 'a  b' c.md"] {
        assert_eq!(verify_lines(verify), [format!("  - **Verify**: {verify}")]);
    }
    assert_eq!(verify_lines("\n  cargo test \r\n\n"), ["  - **Verify**: cargo test"]);
}

#[test]
fn rcg_04_a_script_stands_in_a_fence() {
    assert_eq!(
        verify_lines("set -e\r\n\r\nif a; then\r\n  b\r\nfi\r\n"),
        ["  - **Verify**:", "    ```", "    set -e", "", "    if a; then", "      b", "    fi", "    ```"]
    );
    let lines = verify_lines("cat <<X\n````\nX");
    assert_eq!(lines[1], "    `````");
}

#[test]
fn rcg_04_a_fence_is_kept_as_it_was() {
    assert_eq!(
        verify_lines("```bash\ncargo test\n```"),
        ["  - **Verify**:", "    ```bash", "    cargo test", "    ```"]
    );
    assert_eq!(verify_lines("```\na\n```\nb\n```")[1], "    ````");
}

proptest! {
    #[test]
    fn rcg_04_any_script_reads_back(text in "[a`~# \t\n-]{0,40}|(\\PC|\n){0,30}") {
        let whole = text.trim_end();
        let from = whole.lines().take_while(|line| line.trim().is_empty()).count();
        let script: Vec<&str> = whole.lines().skip(from).collect();
        if script.is_empty() || is_fenced(&script) {
            return Ok(());
        }
        let read = read(&verify_lines(&text));
        match script.len() {
            1 => prop_assert_eq!(read, script[0].trim()),
            _ => prop_assert_eq!(read, script.join("\n")),
        }
    }
}
