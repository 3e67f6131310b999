//! Learnings come from files and go into files.

use serde_json::{Value, json};

use super::{days_ago, import, learn, listed, refused, shown};
use crate::support::{Output, Project};

fn import_text(project: &Project, text: &str) -> Output {
    project.write("in.jsonl", text);
    project.ralph(&["learnings", "import", "in.jsonl"])
}

#[test]
fn life_06_an_export_comes_back_as_it_was() {
    let one = Project::new();
    one.agent(
        "printf '<learning category=\"my\\nown\" tags=\"a, b b\">two\\nlines, a tab\\tand \"quotes\"</learning>\\n'
         echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    one.add(&["A"]);
    one.ok(&["run"]);
    learn(&one, "日本語 — and C++", &["--title", "Signs", "--tag", "src/x.rs"]);
    learn(&one, &("words ".repeat(328) + &"password=\"h7k2\" ".repeat(2)), &[]);
    let words = "the very same words in two learnings";
    let many = |from: usize| (from..from + 15).map(|n| format!("tag{n}")).collect::<Vec<_>>();
    import(
        &one,
        &[
            json!({ "id": "my:own/id", "category": "c", "content": words, "tags": many(0), "created_at": "2020-02-29" }),
            json!({ "category": "c", "content": words, "tags": many(15) }),
            json!({ "id": "after", "category": "c", "content": "x", "created_at": "2020-02-29" }),
        ],
    );
    one.ok(&["learnings", "merge"]);
    let first = one.ok(&["learnings", "export"]).stdout;
    assert!(first.contains("[masked]"), "longer than what was given: {first}");
    assert_eq!(first.lines().count(), 5, "{first}");
    let two = Project::new();
    let told = import_text(&two, &first).expect_code(0);
    assert_eq!(told.text(), "imported 5 learnings");
    assert_eq!(two.ok(&["learnings", "export"]).stdout, first);
    let again = import_text(&two, &first).expect_code(0);
    assert_eq!(again.text(), "imported 0 learnings, 5 already existed");
    assert_eq!(two.ok(&["learnings", "export"]).stdout, first);
    let learning = shown(&two, "after");
    assert_eq!(
        (&learning["source"], &learning["task_id"], &learning["created_at"]),
        (&json!("import"), &Value::Null, &json!("2020-02-29T00:00:00.000Z"))
    );
    let array = two.json(&["learnings", "export", "--json"]);
    let lines: Vec<Value> = first.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(array, json!(lines));
}

#[test]
fn life_06_lines_have_the_members_of_the_contract() {
    let project = Project::new();
    import(
        &project,
        &[
            json!({ "id": "l-2", "category": "pitfall", "title": "T", "content": " text \n", "tags": ["a", " b "],
                    "created_at": "2026-01-31T12:00:00+02:00", "future": { "any": [1] } }),
            json!({ "id": 17, "category": "pattern", "content": "", "title": "Only a title", "tags": null,
                    "created_at": "2026-01-31" }),
        ],
    );
    assert_eq!(
        project.ok(&["learnings", "export"]).stdout,
        "{\"id\":\"17\",\"category\":\"pattern\",\"title\":\"Only a title\",\"content\":\"Only a title\",\
         \"tags\":[],\"created_at\":\"2026-01-31T00:00:00.000Z\"}\n\
         {\"id\":\"l-2\",\"category\":\"pitfall\",\"title\":\"T\",\"content\":\"text\",\"tags\":[\"a\",\"b\"],\
         \"created_at\":\"2026-01-31T10:00:00.000Z\"}\n"
    );
    let args = ["learnings", "import", "-", "--json"];
    let lines = "\u{feff}{\"id\":\"17\",\"category\":\"pattern\",\"content\":\"Only a title\"}\n\n\
                 {\"category\":\"c\",\"content\":\"new\"}\r\n";
    let told = project.ralph_with_input(&args, lines).expect_code(0).json();
    assert_eq!((&told["imported"], &told["known"]), (&json!(1), &json!(1)));
    let id = told["ids"][0].as_str().unwrap();
    assert_eq!(shown(&project, id)["content"], json!("new"));
    assert_eq!(listed(&project, &["--newer-than", "1h"]), [id], "it is learnt now");
}

#[test]
fn a_bad_line_is_named_and_nothing_is_imported() {
    let project = Project::new();
    learn(&project, "there", &[]);
    import(&project, &[json!({ "id": "taken", "category": "c", "content": "mine" })]);
    let before = project.ok(&["learnings", "export"]).stdout;
    let line = |member: &str, value: Value| {
        let mut line = json!({ "category": "c", "content": "x", "tags": [] });
        line[member] = value;
        line.to_string()
    };
    let tags = |n: usize| json!((0..n).map(|n| n.to_string()).collect::<Vec<_>>());
    for (bad, expected) in [
        ("{".to_owned(), "JSON object"),
        ("\"text\"".to_owned(), "JSON object"),
        (line("tags", json!("a,b")), "`tags` to be an array of strings"),
        (line("tags", json!(["a", 1])), "`tags` to be an array of strings"),
        (line("tags", tags(1001)), "at most 1000"),
        (line("tags", json!(["t".repeat(501)])), "at most 500"),
        (line("category", Value::Null), "expected a `category`"),
        (line("category", json!("c".repeat(65))), "at most 64"),
        (line("content", Value::Null), "expected a `content`"),
        (line("content", json!(5)), "`content` to be a string"),
        (line("content", json!(" ")), "content is empty"),
        (line("content", json!("x".repeat(10_001))), "at most 10000"),
        (line("title", json!("x".repeat(2001))), "at most 2000"),
        (line("id", json!("")), "learning's id"),
        (line("id", json!("a\u{1b}[2Jb")), "learning's id"),
        (line("id", json!("--merge")), "learning's id"),
        (line("id", json!("a<b")), "learning's id"),
        (line("id", json!("a`b")), "learning's id"),
        (line("id", json!([7])), "`id` to be a string or a number"),
        (line("id", json!("taken")), "taken by another learning"),
        (line("id", json!("twice")), "line 1"),
        (line("created_at", json!("yesterday")), "2026-01-31"),
        (line("created_at", json!(1)), "`created_at` to be a string"),
    ] {
        let good = "{\"category\":\"c\",\"content\":\"good\",\"id\":\"twice\"}\n\n";
        let output = import_text(&project, &format!("{good}{bad}\n"));
        assert!(!output.stderr.contains('\u{1b}'), "{:?}", output.stderr);
        refused(output, &["in.jsonl:3: ", expected]);
        assert_eq!(project.ok(&["learnings", "export"]).stdout, before);
    }
    let missing = project.ralph(&["learnings", "import", "none.jsonl"]);
    refused(missing, &["cannot read none.jsonl"]);
}

#[test]
fn imports_are_cleaned_and_masked_and_merge_nothing() {
    let project = Project::new();
    let lines = "{\"category\":\"c\",\"content\":\"\\u001b[31mred\\u001b[0m password = hunter2hunter2\"}\n\
                 {\"category\":\"c\",\"content\":\"the same words\"}\n{\"category\":\"c\",\"content\":\"the same words\"}\n";
    let output = import_text(&project, lines).expect_code(0);
    assert_eq!(output.text(), "imported 3 learnings");
    assert!(output.stderr.contains("masked possible secrets in 1 learning;"), "{}", output.stderr);
    assert!(project.ok(&["learnings", "export"]).stdout.contains("\"red password = [masked]\""));
    assert_eq!(listed(&project, &[]).len(), 3);
}

#[test]
fn an_export_goes_into_a_file_whole() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    import(
        &project,
        &[
            json!({ "id": "a", "category": "x", "content": "one", "tags": ["T"], "created_at": days_ago(&project, 9) }),
            json!({ "id": "b", "category": "y", "content": "two" }),
            json!({ "id": "c", "category": "y", "content": "three" }),
        ],
    );
    project.ok(&["learnings", "prune", "c"]);
    project.write("deep/here", "");
    let told = project.ok(&["-C", "deep", "learnings", "export", "out.jsonl"]);
    assert_eq!((told.stdout.as_str(), told.stderr.as_str()), ("", "exported 2 learnings to out.jsonl\n"));
    assert_eq!(project.read("deep/out.jsonl"), project.ok(&["learnings", "export"]).stdout);
    let exported = |args: &[&str]| {
        let lines = project.ok(&[&["learnings", "export"], args].concat()).json_lines();
        let ids: Vec<String> = lines.iter().map(|l| l["id"].as_str().unwrap().to_owned()).collect();
        ids.join(" ")
    };
    assert_eq!(exported(&["--state", "all"]), "a b c", "oldest first, then by id");
    assert_eq!(exported(&["--state", "pruned"]), "c");
    assert_eq!(exported(&["--category", "x", "-"]), "a");
    assert_eq!(exported(&["--tag", "t", "--state", "all"]), "a");
    refused(project.ralph(&["learnings", "export", "--task", "zz"]), &["zz"]);
    // A link and the rights of a file stay.
    std::fs::set_permissions(project.path("deep/out.jsonl"), PermissionsExt::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("deep/out.jsonl", project.path("link")).unwrap();
    project.ok(&["learnings", "export", "link", "--category", "y"]);
    let file = project.path("deep/out.jsonl").metadata().unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o640);
    assert!(project.path("link").is_symlink());
    assert_eq!(project.read("link").lines().count(), 1);
    assert_eq!(exported(&["/dev/stdout", "--category", "x"]), "a");
    for bad in ["none/out.jsonl", "deep"] {
        let failed = project.ralph(&["learnings", "export", bad]).expect_code(1);
        assert!(failed.stderr.contains(&format!("cannot write {bad}")), "{}", failed.stderr);
    }
    let left = std::fs::read_dir(project.path("deep")).unwrap().count();
    assert_eq!(left, 2, "nothing but the export and what was there");
}
