//! Learnings from the command line: looking at them, adding and changing them.

mod files;
mod search;
mod upkeep;

use serde_json::{Value, json};

use crate::support::{Output, Project};

/// Adds a learning; returns its id.
#[track_caller]
fn learn(project: &Project, content: &str, args: &[&str]) -> String {
    let mut all = vec!["learnings", "add", content];
    all.extend(args);
    let told = project.ok(&all);
    let id = told.text().strip_prefix("added ").unwrap().to_owned();
    assert!(id.starts_with("l-") && id.len() == 8, "{id}");
    id
}

/// Imports lines; all must be new.
#[track_caller]
fn import(project: &Project, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let args = ["learnings", "import", "-", "--json"];
    let output = project.ralph_with_input(&args, &text).expect_code(0);
    assert_eq!(output.json()["imported"], json!(lines.len()));
}

/// A learning as JSON.
#[track_caller]
fn shown(project: &Project, id: &str) -> Value {
    project.json(&["learnings", "show", id, "--json"])
}

/// The ids a command lists.
#[track_caller]
fn listed(project: &Project, args: &[&str]) -> Vec<String> {
    let mut all = vec!["learnings", "list", "--json"];
    all.extend(args);
    let rows = project.json(&all);
    let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(id).collect()
}

/// The time so many days ago.
fn days_ago(project: &Project, days: u32) -> String {
    let sql = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?1)";
    let before = format!("-{days} days");
    let row = project.database().query_row(sql, [before], |row| row.get(0));
    row.unwrap()
}

/// The command is refused as wrong usage, says these words and prints nothing.
#[track_caller]
fn refused(output: Output, words: &[&str]) {
    let output = output.expect_code(2);
    for word in words {
        assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
    }
    assert_eq!(output.stdout, "");
}

#[test]
fn life_06_a_learning_added_by_hand_has_no_task() {
    let project = Project::new();
    let args = [
        "--category",
        "pitfall",
        "--tags",
        "a, b b,,a",
        "--tag",
        "src/x.rs",
        "--title",
        "The cache",
        "--pin",
    ];
    let id = learn(&project, "Clear it\nfirst", &args);
    let learning = shown(&project, &id);
    let expected = json!({
        "id": id, "category": "pitfall", "tags": ["a", "b b", "src/x.rs"], "title": "The cache",
        "content": "Clear it\nfirst", "task_id": null, "task_key": null, "source": "human",
        "pinned": true, "state": "active", "shown": 0, "helpful": 0, "harmful": 0,
        "last_used_at": null, "pruned_at": null, "superseded_by": null, "restored_at": null,
        "supersedes": [], "withheld": false,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&learning[field], value, "{field}");
    }
    let plain = project.json(&["learnings", "add", "Plain", "--json"]);
    assert_eq!((&plain["category"], &plain["tags"]), (&json!("other"), &json!([])));
}

#[test]
fn content_may_come_from_standard_input_and_secrets_are_masked() {
    let project = Project::new();
    let args = ["learnings", "add", "-", "--json"];
    let output = project
        .ralph_with_input(&args, "\u{1b}[31mpassword = hunter2hunter2\u{1b}[0m\r\n日本\n\n")
        .expect_code(0);
    assert_eq!(output.json()["content"], json!("password = [masked]\n日本"));
    assert!(output.stderr.contains("[masked]"), "{}", output.stderr);
    assert_eq!(project.ok(&["learnings", "add", "harmless"]).stderr, "");
}

#[test]
fn what_cannot_be_stored_is_refused_with_the_limit() {
    let project = Project::new();
    let add = |args: &[&str]| {
        let mut all = vec!["learnings", "add"];
        all.extend(args);
        project.ralph(&all)
    };
    refused(add(&[" \n"]), &["content", "empty"]);
    refused(add(&[&"x".repeat(10_001)]), &["10001", "10000"]);
    refused(add(&["x", "--category", ""]), &["category"]);
    refused(add(&["x", "--category", &"c".repeat(65)]), &["64"]);
    refused(add(&["x", "--tag", &"t".repeat(101)]), &["100"]);
    let tags: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    refused(add(&["x", "--tags", &tags.join(",")]), &["101", "100"]);
    refused(add(&["x", "--title", &"t".repeat(301)]), &["300"]);
    refused(add(&[]), &["CONTENT"]);
    assert_eq!(listed(&project, &["--state", "all"]), Vec::<String>::new());
}

#[test]
fn list_takes_only_what_is_asked_for() {
    let project = Project::new();
    project.agent(
        "echo '<learning category=\"pattern\" tags=\"Parser\">use the lexer</learning>'
         echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    project.add(&["A", "--key", "k"]);
    project.ok(&["run"]);
    import(
        &project,
        &[
            json!({ "id": "old", "category": "pitfall", "content": "one", "created_at": days_ago(&project, 100) }),
            json!({ "id": "young", "category": "pitfall", "content": "two", "created_at": days_ago(&project, 3) }),
        ],
    );
    let by_hand = learn(&project, "three", &["--pin", "--tag", "parser"]);
    let by_agent = listed(&project, &["--task", "k"]);
    assert_eq!(by_agent.len(), 1);
    let all = [&by_hand, &by_agent[0], "young", "old"];
    assert_eq!(listed(&project, &[]), all, "newest first");
    for (args, expected) in [
        (&["--category", "pitfall"][..], &all[2..]),
        (&["--tag", "PARSER"], &all[..2]),
        (&["--source", "human"], &all[..1]),
        (&["--source", "import"], &all[2..]),
        (&["--pinned"], &all[..1]),
        (&["--newer-than", "90d"], &all[..3]),
        (&["--older-than", "1d"], &all[2..]),
        (&["--older-than", "1d", "--newer-than", "4d"], &all[2..3]),
        (&["--limit", "2"], &all[..2]),
        (&["--state", "pruned"], &[]),
        (&["--tag", "nobody's"], &[]),
    ] {
        assert_eq!(listed(&project, args), expected, "{args:?}");
    }
    project.ok(&["learnings", "prune", "old"]);
    assert_eq!(listed(&project, &["--state", "pruned"]), ["old"]);
    assert_eq!(listed(&project, &["--state", "all"]).len(), 4);
    let list = |args: &[&str]| project.ralph(&[&["learnings", "list"], args].concat());
    refused(list(&["--state", "dead"]), &["dead", "active, pruned, superseded, all"]);
    refused(list(&["--source", "me"]), &["me", "human"]);
    refused(list(&["--newer-than", "soon"]), &["soon", "90d"]);
    refused(list(&["--task", "none"]), &["there is no task `none`", "task list"]);
    let none = list(&["--tag", "none"]).expect_code(0);
    assert_eq!(none.stdout, "");
    assert!(none.stderr.contains("no learnings match"), "{}", none.stderr);
}

#[test]
fn lists_are_tables_that_mark_what_is_pinned_and_archived() {
    let project = Project::new();
    let line = |id: &str, content: &str, days: u32| json!({ "id": id, "category": "pitfall", "content": content, "created_at": days_ago(&project, days) });
    import(
        &project,
        &[line("l-1", "clear the\ncache", 100), line("l-2", "kept", 3), line("l-3", "away", 200)],
    );
    let sql = "UPDATE learnings SET shown = 12, helpful = 3, harmful = 1 WHERE id = 'l-1'";
    project.database().execute(sql, []).unwrap();
    project.ok(&["learnings", "pin", "l-2"]);
    project.ok(&["learnings", "prune", "l-3"]);
    insta::assert_snapshot!(project.ok(&["learnings", "list"]).text(), @r"
       ID   CATEGORY  AGE    SHOWN  HELPED  HURT  CONTENT
    *  l-2  pitfall   3 d    0      0       0     kept
       l-1  pitfall   100 d  12     3       1     clear the cache
    ");
    insta::assert_snapshot!(project.ok(&["learnings", "list", "--state", "all"]).text(), @r"
       ID   CATEGORY  STATE   AGE    SHOWN  HELPED  HURT  CONTENT
    *  l-2  pitfall   active  3 d    0      0       0     kept
       l-1  pitfall   active  100 d  12     3       1     clear the cache
       l-3  pitfall   pruned  200 d  0      0       0     away
    ");
}

#[test]
fn show_tells_all_that_is_known() {
    let project = Project::new();
    project.agent(
        "echo '<learning category=\"pattern\" tags=\"lexer, src/lexer.rs\">use the lexer</learning>'
         echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    project.add(&["A", "--key", "k"]);
    project.ok(&["run"]);
    let old = listed(&project, &[]).remove(0);
    let args = ["learnings", "edit", &old, "--title", "Lexer", "--json"];
    let new = project.json(&args)["id"].as_str().unwrap().to_owned();
    let sql = "UPDATE learnings SET shown = 9, helpful = 0, harmful = 7,
               created_at = '2026-01-02T03:04:05.678Z', last_used_at = '2026-02-03T04:05:06.789Z'";
    project.database().execute(sql, []).unwrap();
    let task = project.task("k")["id"].as_str().unwrap().to_owned();
    let show = |id: &str| {
        let text = project.ok(&["learnings", "show", id]).stdout;
        text.replace(&old, "OLD").replace(&new, "NEW").replace(&task, "TASK")
    };
    insta::assert_snapshot!(show(&new), @r"
    id         NEW
    category   pattern
    title      Lexer
    tags       lexer, src/lexer.rs
    state      active
               not shown to agents: it hurt more often than it helped; `ralph learnings pin` shows it anyway
    supersedes OLD
    source     human
    task       TASK (k)
    created    2026-01-02 03:04:05
    shown      9 times, last 2026-02-03 04:05:06
    helped     0 tasks
    hurt       7 tasks

    use the lexer
    ");
    assert!(show(&old).contains("state      superseded by NEW\n"), "{}", show(&old));
    assert_eq!(shown(&project, &new)["withheld"], json!(true));
    assert_eq!(shown(&project, &new)["supersedes"], json!([old]));
    project.ok(&["learnings", "pin", &new]);
    assert_eq!(shown(&project, &new)["withheld"], json!(false), "pinned");
    project.ok(&["learnings", "pin", &new, "--off"]);
    project.ok(&["learnings", "prune", &new]);
    assert!(show(&new).contains("state      pruned 2"), "{}", show(&new));
    let unknown = project.ralph(&["learnings", "show", "l-nobody"]);
    refused(unknown, &["there is no learning `l-nobody`", "list --state all"]);
}

#[test]
fn edit_makes_a_new_one_that_takes_the_old_ones_place() {
    let project = Project::new();
    let old = learn(&project, "before", &["--tags", "a,b", "--title", "T"]);
    let told = project.ok(&["learnings", "edit", &old, "--content", "after", "--title", ""]);
    let new = told.text().strip_prefix(&format!("{old} is now ")).unwrap();
    let learning = shown(&project, new);
    assert_eq!(
        (&learning["content"], &learning["title"], &learning["tags"]),
        (&json!("after"), &Value::Null, &json!(["a", "b"]))
    );
    assert_eq!(shown(&project, &old)["superseded_by"], json!(new));
    let args = ["learnings", "edit", new, "--content", "-", "--tags", "", "--category", "c", "--json"];
    let newest = project.ralph_with_input(&args, "from stdin\n").expect_code(0).json();
    assert_eq!(
        (&newest["content"], &newest["tags"], &newest["category"]),
        (&json!("from stdin"), &json!([]), &json!("c"))
    );
    let newest = newest["id"].as_str().unwrap();
    let edit = |id: &str, args: &[&str]| project.ralph(&[&["learnings", "edit", id], args].concat());
    refused(edit(newest, &[]), &["nothing to change"]);
    refused(edit(newest, &["--content", " "]), &["empty"]);
    refused(edit(&old, &["--content", "x"]), &["superseded by", new, "restore"]);
    refused(edit("l-nobody", &["--content", "x"]), &["l-nobody"]);
    assert_eq!(listed(&project, &[]), [newest]);
}

#[test]
fn pin_is_for_all_that_are_named_or_none() {
    let project = Project::new();
    let (a, b) = (learn(&project, "a", &[]), learn(&project, "b", &[]));
    refused(project.ralph(&["learnings", "pin", &a, "l-nobody"]), &["l-nobody"]);
    assert_eq!(listed(&project, &["--pinned"]), Vec::<String>::new());
    let pinned = project.json(&["learnings", "pin", &a, &b, &a, "--json"]);
    assert_eq!(pinned, json!({ "pinned": [a, b] }));
    assert_eq!(project.ok(&["learnings", "pin", &b, "--off"]).text(), format!("unpinned {b}"));
    assert_eq!(listed(&project, &["--pinned"]), [a]);
    refused(project.ralph(&["learnings", "pin"]), &["ID"]);
}

#[test]
fn escape_codes_in_learnings_do_not_reach_the_terminal() {
    let project = Project::new();
    // As another program may have written them: the command line lets none in.
    let evil = "wipe\u{1b}[2J \u{9b}31m\u{202e}it\u{7}";
    let sql = "INSERT INTO learnings (id, category, title, content, relevance_tags, created_at)
               VALUES (?1, ?2, ?2, ?2, json_array(?2), '2026-01-01T00:00:00.000Z')";
    for id in ["l-1", "l-2", "l-\u{1b}[2J"] {
        project.database().execute(sql, [id, evil]).unwrap();
    }
    for args in [
        &["list"][..],
        &["list", "--state", "all"],
        &["show", "l-1"],
        &["search", "wipe", "--explain"],
        &["merge", "--dry-run"],
        &["merge"],
        &["restore", "l-1"],
        &["prune", "--dry-run", "--older-than", "1s", "--unused-for", "0"],
        &["prune", "l-1", "l-2", "l-\u{1b}[2J"],
        &["restore", "l-1", "l-\u{1b}[2J"],
        &["pin", "l-\u{1b}[2J"],
        &["export"],
    ] {
        let output = project.ok(&[&["learnings"], args].concat());
        let seen = output.stdout + &output.stderr;
        let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!seen.contains(bad), "{args:?}: {seen:?}");
        assert!(!seen.is_empty(), "{args:?}");
    }
}

#[test]
fn every_command_and_flag_has_a_help_text() {
    let project = Project::empty();
    let help = project.ok(&["learnings", "--help"]).stdout;
    for command in
        ["list", "show", "search", "add", "edit", "pin", "prune", "restore", "merge", "import", "export"]
    {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        let own = project.ok(&["learnings", command, "-h"]).stdout;
        for line in own.lines().filter(|line| line.starts_with("      --")) {
            let (_, text) = line.trim().split_once("  ").unwrap_or_default();
            assert!(text.trim().len() > 5, "{command}: {line:?}");
        }
    }
}
