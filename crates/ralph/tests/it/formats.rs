//! Plans of other programs: imported, worked through, marked in their files, and exported.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{Output, Project};

const PRD: &str = r#"{
  "project": "Shop",
  "userStories": [
    { "id": "US-001", "title": "Add a cart", "priority": 2, "passes": false,
      "acceptanceCriteria": [
        { "criterion": "It adds", "testCommand": "test -f cart", "passes": false },
        { "criterion": "It keeps", "testCommand": "test -f kept", "passes": false }
      ] },
    { "id": "US-002", "title": "Pay", "priority": 1, "passes": false, "dependsOn": ["US-001"], "acceptanceCriteria": ["false"] },
    { "id": "US-003", "title": "Ship", "priority": 3, "passes": true }
  ]
}
"#;
const TASK_MASTER: &str = r#"{ "tasks": [
  { "id": 1, "title": "Base", "status": "done", "dependencies": [], "testStrategy": "Run it", "subtasks": [] },
  { "id": 2, "title": "Upper", "status": "pending", "dependencies": [1], "testStrategy": "",
    "subtasks": [ { "id": 1, "title": "Left, pending", "status": "pending", "dependencies": [2] },
                  { "id": 2, "title": "Right", "status": "in-progress", "dependencies": [] } ] },
  { "id": 3, "title": "Roof", "status": "deferred", "dependencies": [2] }
] }
"#;
const BEADS: &str = r#"{"id":"bd-1","title":"Epic","status":"open","priority":1,"issue_type":"epic"}
{"id":"bd-2","title":"Second","status":"in_progress","priority":0,"issue_type":"task","dependencies":[{"issue_id":"bd-2","depends_on_id":"bd-1","type":"parent-child"},{"issue_id":"bd-2","depends_on_id":"bd-3","type":"blocks"}]}
{"id":"bd-3","title":"First","status":"open","priority":2,"issue_type":"bug"}
{"id":"bd-4","title":"Old","status":"closed","priority":0,"issue_type":"task"}
"#;
const CHECKLIST: &str = "# Things\r\n\r\n- [ ] Parent\r\n  - [X] First part\r\n  - [ ] Second part\r\n* [ ] Alone\r\n\r\nNo box: [ ].\r\n";
const ROADMAP: &str = "# Roadmap\n\n- [ ] **Phase 1: Base** - the base\n- [ ] **Phase 2: Top**\n\n### Phase 1: Base\nPlans:\n- [ ] 01-01-PLAN.md: write it\n";

/// A plan of GSD whose task is of this type.
fn gsd_plan(kind: &str) -> String {
    format!(
        "---\nphase: 01-base\nplan: 01\nwave: 1\ndepends_on: []\n---\n<objective>\nMake the base.\n</objective>\n<tasks>\n\
         <task type=\"auto\">\n<name>Task 1: Write it</name>\n<files>a.txt</files>\n<action>Write a.</action>\n</task>\n\
         <task type=\"{kind}\">\n<name>Task 2: Look at it</name>\n<files>b.txt</files>\n<action>Look.</action>\n</task>\n</tasks>\n"
    )
}

/// An agent that succeeds and notes the titles it was given.
fn project() -> Project {
    let project = Project::new();
    project.agent(
        "sed -n 's/^\\*\\*Title:\\*\\* //p' .ralph/last-prompt | head -1 >> .ralph/order\n\
         echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    project
}

/// `title status [titles it depends on]` of every task.
fn tasks(project: &Project) -> Vec<String> {
    let list = project.json(&["task", "list", "--json"]);
    let list = list.as_array().unwrap();
    let title = |id: &Value| {
        let found = list.iter().find(|task| task["id"] == *id).unwrap();
        found["title"].as_str().unwrap()
    };
    let one = |task: &Value| {
        let mut after: Vec<&str> = task["depends_on"].as_array().unwrap().iter().map(title).collect();
        after.sort_unstable();
        let words = [task["title"].as_str().unwrap(), task["status"].as_str().unwrap(), &after.join("+")];
        words.join(" ").trim_end().to_owned()
    };
    list.iter().map(one).collect()
}

#[test]
fn imp_08_a_plan_of_any_format_is_done_and_only_marks_change() {
    let tagged = TASK_MASTER
        .replacen("{ \"tasks\"", "{ \"master\": { \"tasks\"", 1)
        .replace("\n] }", "\n], \"metadata\": {} } }");
    let word = |from: &str, to: &str| (format!("\"status\": \"{from}\""), format!("\"status\": \"{to}\""));
    let marked = |text: &str, marks: &[(String, String)]| {
        marks.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let task_master = [word("pending", "done"), word("in-progress", "done")];
    let beads = [
        ("\"status\":\"open\"", "\"status\":\"closed\""),
        ("\"status\":\"in_progress\"", "\"status\":\"closed\""),
    ];
    let beads = beads.map(|(from, to)| (from.to_owned(), to.to_owned()));
    let passes = [("\"passes\": false".to_owned(), "\"passes\": true".to_owned())];
    let boxes = [("- [ ]".to_owned(), "- [x]".to_owned()), ("* [ ]".to_owned(), "* [x]".to_owned())];
    let phase = [
        ("- [ ] **Phase 1".to_owned(), "- [x] **Phase 1".to_owned()),
        ("- [ ] 01-01".to_owned(), "- [x] 01-01".to_owned()),
    ];
    for (import, file, text, format, expected, order) in [
        ("prd.json", "prd.json", PRD, "prd", marked(PRD, &passes), "Add a cart\nPay\n"),
        (
            "tasks.json",
            "tasks.json",
            TASK_MASTER,
            "taskmaster",
            marked(TASK_MASTER, &task_master),
            "Right\nLeft, pending\n",
        ),
        (
            "tagged.json",
            "tagged.json",
            &tagged,
            "taskmaster",
            marked(&tagged, &task_master),
            "Right\nLeft, pending\n",
        ),
        ("issues.jsonl", "issues.jsonl", BEADS, "beads", marked(BEADS, &beads), "First\nSecond\n"),
        ("TODO.md", "TODO.md", CHECKLIST, "checklist", marked(CHECKLIST, &boxes), "Second part\nAlone\n"),
        (".", ".planning/ROADMAP.md", ROADMAP, "gsd", marked(ROADMAP, &phase), "Write it\nLook at it\n"),
    ] {
        let project = project();
        project.write(file, text);
        if format == "gsd" {
            project.write(".planning/phases/01-base/01-01-PLAN.md", &gsd_plan("auto"));
        }
        let report = project.json(&["import", import, "--json"]);
        assert_eq!((&report["format"], &report["kept_in_sync"]), (&json!(format), &json!(true)), "{import}");
        project.ok(&["run", "--no-gate"]);
        assert_eq!(project.read(".ralph/order"), order, "{import}");
        assert_eq!(project.read(file), expected, "{import}");
        let again = project.json(&["import", import, "--json"]);
        assert_eq!((&again["added"], &again["replaced"]), (&json!([]), &json!([])), "{import}");
    }
}

#[test]
fn imp_08_a_criterions_test_command_is_the_gate() {
    let project = project();
    project.write("prd.json", PRD);
    project.ok(&["import", "prd.json"]);
    let gate = project.task("US-001")["verify"].as_str().unwrap().to_owned();
    assert!(gate.contains("test -f cart") && gate.contains("test -f kept"), "{gate}");
    assert_eq!(project.task("US-002")["verify"], json!(null), "words are no gate");
    project.set("run", "max_attempts = 1");
    for (file, passes) in [("cart", "false"), ("kept", "true")] {
        project.write(file, "");
        project.ralph(&["run", "US-001"]);
        let line = format!("\"title\": \"Add a cart\", \"priority\": 2, \"passes\": {passes}");
        assert!(project.read("prd.json").contains(&line), "{file}: {}", project.read("prd.json"));
    }
}

#[test]
fn imp_05_a_replaced_prd_is_new_work_that_is_not_ticked_before_it_is_done() {
    let project = project();
    project.write("prd.json", PRD);
    project.ok(&["import", "prd.json"]);
    project.ok(&["run", "--no-gate"]);
    let next = PRD
        .replace("Add a cart", "Search by name")
        .replace("Pay", "Filter by price")
        .replace("It adds", "It finds")
        .replace("\"false\"", "\"It filters\"")
        .replace("test -f cart", "test -f search");
    project.write("prd.json", &next);
    let report = project.json(&["import", "prd.json", "--json"]);
    assert_eq!(
        (report["added"].as_array().unwrap().len(), report["replaced"].as_array().unwrap().len()),
        (2, 2),
        "{report}"
    );
    assert_eq!(project.read("prd.json"), next);
    for (key, title, status) in [
        ("US-001", "Search by name", "pending"),
        ("US-001#old", "Add a cart", "done"),
        ("US-002", "Filter by price", "pending"),
        ("US-003", "Ship", "done"),
    ] {
        let task = project.task(key);
        assert_eq!((&task["title"], &task["status"]), (&json!(title), &json!(status)), "{key}");
    }
    project.ralph(&["run", "--no-gate", "--once"]).expect_code(4);
    let first = "\"passes\": false,\n      \"acceptanceCriteria\"";
    let ticked = next.replacen(first, &first.replace("false", "true"), 1);
    let ticked =
        ticked.replace("\"test -f search\", \"passes\": false", "\"test -f search\", \"passes\": true");
    let ticked = ticked.replace("\"test -f kept\", \"passes\": false", "\"test -f kept\", \"passes\": true");
    assert_eq!(project.read("prd.json"), ticked);
    project.ok(&["run", "--no-gate"]);
    assert_eq!(project.read("prd.json"), next.replace("\"passes\": false", "\"passes\": true"));
}

#[test]
fn imp_02_optional_tasks_are_left_out_unless_they_are_wanted() {
    let text = "# Plan\n\n- [ ] 1. Base\n- [ ] 1.1 Write\n- [ ]* 1.2 Test\n- [ ] 2. Top\n";
    let project = project();
    project.write("tasks.md", text);
    let report = project.json(&["import", "tasks.md", "--json"]);
    assert_eq!(tasks(&project), ["Base pending", "Write pending", "Top pending Write"]);
    assert_eq!(report["notes"][0]["line"], 5);
    assert!(report["notes"][0]["text"].as_str().unwrap().contains("ralph import --optional"), "{report}");
    project.ok(&["run"]);
    assert_eq!(project.read("tasks.md"), text.replace("[ ] ", "[x] "), "the optional box stays open");
    project.ok(&["import", "tasks.md", "--optional"]);
    assert_eq!(project.status_of("1.2"), "pending");
    // A later import keeps it.
    project.ok(&["import", "tasks.md"]);
    project.ok(&["run"]);
    assert_eq!(project.read("tasks.md"), text.replace("[ ]", "[x]"));
}

#[test]
fn imp_03_a_checkpoint_is_for_a_person_and_no_agent_gets_it() {
    for kind in ["checkpoint:human-verify", "checkpoint:decision", "checkpoint:human-action"] {
        let project = project();
        project.write(".planning/ROADMAP.md", ROADMAP);
        project.write(".planning/phases/01-base/01-01-PLAN.md", &gsd_plan(kind));
        project.ok(&["import", "."]);
        let task = project.task("01-01/2");
        assert_eq!(
            (&task["status"], &task["needs_human"]),
            (&json!("blocked"), &json!(true)),
            "{kind}: {task}"
        );
        assert_ne!(project.ralph(&["run", "--no-gate"]).code, 0, "{kind}");
        assert_eq!(project.read(".ralph/order"), "Write it\n", "{kind}");
        assert_eq!(project.read(".planning/ROADMAP.md"), ROADMAP, "{kind}");
        assert!(project.ok(&["status"]).stdout.contains("next: ralph task done 01-01/2"), "{kind}");
        // Whatever a person asks for.
        let refused = project.ralph(&["run", "01-01/2", "--no-gate"]).expect_code(2);
        assert!(refused.stderr.contains("hint: when you have checked it: ralph task done 01-01/2"), "{kind}");
        project.ok(&["task", "done", "01-01/2"]);
        project.ok(&["task", "reset", "01-01"]);
        assert_eq!(project.task("01-01/2")["status"], "blocked", "{kind}");
        project.ralph(&["run", "--no-gate"]);
        assert_eq!(project.read(".ralph/order").matches("Write it").count(), 2, "{kind}");
        assert_eq!(project.read(".ralph/order").lines().count(), 2, "{kind}");
        project.ok(&["task", "done", "01-01/2"]);
        project.ok(&["run", "--no-gate"]);
        assert!(project.read(".planning/ROADMAP.md").contains("- [x] **Phase 1"), "{kind}");
    }
}

/// A project in which `gh` is this script, or missing; it notes its arguments.
fn with_gh(script: Option<&str>) -> Project {
    let mut project = project();
    let bin = project.path("../bin");
    fs::create_dir_all(&bin).unwrap();
    // The system's programs one by one, without a `gh` that is installed there.
    for name in ["sh", "cat", "git", "sed", "head"] {
        let found = ["/usr/bin", "/bin"]
            .map(|dir| format!("{dir}/{name}"))
            .into_iter()
            .find(|path| fs::exists(path).unwrap());
        std::os::unix::fs::symlink(found.unwrap(), bin.join(name)).unwrap();
    }
    if let Some(script) = script {
        fs::write(
            bin.join("gh"),
            format!("#!/bin/sh\nfor a in \"$@\"; do echo \"$a\"; done > gh.args\n{script}\n"),
        )
        .unwrap();
        fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    project.set_env("PATH", bin.to_str().unwrap());
    project
}

#[test]
fn imp_02_github_issues_come_through_gh() {
    let issues = r#"[{"number":7,"title":"Add search","body":"Find things.\n\n- [ ] fast","labels":[{"name":"ralph"}],"state":"OPEN","url":"https://github.com/a/b/issues/7"},
        {"number":8,"title":"Fix it","body":"","labels":[],"state":"CLOSED","url":"https://github.com/a/b/issues/8"}]"#;
    let project = with_gh(Some(&format!("cat <<'END'\n{issues}\nEND")));
    let report = project.json(&["import", "gh:label=ralph,milestone=Version 2", "--json"]);
    assert_eq!((&report["format"], &report["kept_in_sync"]), (&json!("github"), &json!(false)), "{report}");
    let args = project.read("gh.args");
    let args: Vec<&str> = args.lines().collect();
    let expected = [
        "issue",
        "list",
        "--json",
        "number,title,body,labels,state,url",
        "--limit",
        "1000",
        "--label=ralph",
        "--milestone=Version 2",
    ];
    assert_eq!(args, expected);
    assert_eq!(tasks(&project), ["Add search pending", "Fix it done"]);
    assert!(project.task("GH-7")["description"].as_str().unwrap().contains("Find things."));
    // Again: the same issues are the same tasks.
    let again = project.json(&["import", "gh:label=ralph,milestone=Version 2", "--json"]);
    assert_eq!((&again["added"], &again["unchanged"]), (&json!([]), &json!(2)), "{again}");
    project.ok(&["import", "gh:limit=5,state=all"]);
    assert!(project.read("gh.args").ends_with("--limit=5\n--state=all\n"), "{}", project.read("gh.args"));
    // And as a file that `gh` wrote.
    let other = self::project();
    other.write("found.json", issues);
    assert_eq!(other.json(&["import", "found.json", "--json"])["format"], "github");
    assert_eq!(tasks(&other), tasks(&project)[..2]);
}

#[test]
fn issues_are_closed_when_their_tasks_are_done_where_that_is_allowed() {
    let issues = r#"[{"number":7,"title":"Add search","body":"","labels":[],"state":"OPEN","url":"u"}]"#;
    let script = format!("echo \"$*\" >> gh.calls; case $2 in list) echo '{issues}';; esac");
    for (allowed, query, closed) in [("false", "gh:label=ralph", 0), ("true", "gh:label=ralph,repo=a/b", 1)] {
        let project = with_gh(Some(&script));
        project.ok(&["config", "set", "trackers.write", allowed]);
        let told = project.ok(&["import", query]).stderr;
        assert_eq!(told.contains("config set trackers.write true"), closed == 0, "{told}");
        project.ralph(&["run", "--no-gate"]).expect_code(0);
        let calls = project.read("gh.calls");
        let calls: Vec<&str> = calls.lines().filter(|call| call.starts_with("issue close")).collect();
        assert_eq!(calls.len(), closed, "{calls:?}");
        if let [call] = calls[..] {
            assert_eq!(call, "issue close 7 --comment Done by Ralph. --repo=a/b");
        }
        // Only once.
        project.ralph(&["run", "--no-gate"]).expect_code(0);
        assert_eq!(project.read("gh.calls").matches("issue close").count(), closed);
    }
    let project =
        with_gh(Some(&format!("case $2 in list) echo '{issues}';; *) echo 'HTTP 403' >&2; exit 1;; esac")));
    project.ok(&["config", "set", "trackers.write", "true"]);
    project.ok(&["import", "gh:"]);
    let run = project.ralph(&["run", "--no-gate"]).expect_code(0);
    let said = run.stdout + &run.stderr;
    assert!(said.contains("`gh issue close 7` failed: HTTP 403"), "{said}");
}

#[test]
fn imp_07_a_gh_that_cannot_help_is_told() {
    let failing = "echo 'gh: not logged in to any hosts' >&2; exit 4";
    for (script, query, code, said, hint) in [
        (None, "gh:label=x", 1, "cannot run gh", "gh auth login"),
        (Some(failing), "gh:label=x", 1, "not logged in to any hosts", "gh auth status"),
        (Some("echo nonsense"), "gh:label=x", 2, "gh:label=x:1:", "hint:"),
        (Some("echo '[]'"), "gh:colour=x", 2, "`colour=x` is not a filter", "gh:label=ralph"),
        (Some("echo '[]'"), "gh:ralph", 2, "`ralph` is not a filter", "gh:label=ralph"),
    ] {
        let project = with_gh(script);
        let Output { stderr, .. } = project.ralph(&["import", query]).expect_code(code);
        assert!(stderr.contains(said) && stderr.contains(hint), "{query}: {stderr}");
        assert_eq!(tasks(&project).len(), 0);
    }
}

#[test]
fn an_export_in_any_format_is_the_same_plan_elsewhere() {
    let project = project();
    for args in [
        &["Base", "--key", "1.1", "--verify", "test -f base", "-d", "Lay it."][..],
        &["Walls", "--key", "1.2", "--after", "1.1"],
        &["Cellar", "--key", "1.3", "--after", "1.1"],
        &["Roof, \"red\"", "--key", "2.1", "--after", "1.2", "--after", "1.3"],
    ] {
        project.add(args);
    }
    project.ok(&["task", "done", "1.1"]);
    let own = tasks(&project);
    assert_eq!(
        own,
        ["Base done", "Walls pending Base", "Cellar pending Base", "Roof, \"red\" pending Cellar+Walls"]
    );
    for (format, file, read_as, in_a_row) in [
        ("jsonl", "plan.jsonl", "jsonl", false),
        ("taskmaster", "tasks.json", "taskmaster", false),
        ("beads", "issues.jsonl", "beads", false),
        // Its order is all it has.
        ("tasks.md", "tasks.md", "tasks_md", true),
    ] {
        let printed = project.ok(&["export", "--format", format]).stdout;
        project.ok(&["export", "--format", format, "-o", file]);
        let text = project.read(file);
        // The first line may hold the time.
        assert_eq!(text.split_once('\n').unwrap().1, printed.split_once('\n').unwrap().1, "{format}");
        let other = self::project();
        other.write(file, &text);
        assert_eq!(other.json(&["import", file, "--json"])["format"], read_as, "{format}");
        let expected = match in_a_row {
            false => own.clone(),
            true => own[..2]
                .iter()
                .cloned()
                .chain(["Cellar pending Walls".into(), "Roof, \"red\" pending Cellar".into()])
                .collect(),
        };
        assert_eq!(tasks(&other), expected, "{format}:\n{text}");
        // Other programs have no place for a gate.
        let gate = if matches!(format, "jsonl" | "tasks.md") { json!("test -f base") } else { json!(null) };
        let list = other.json(&["task", "list", "--json"]);
        assert_eq!(list[0]["verify"], gate, "{format}");
    }
}
