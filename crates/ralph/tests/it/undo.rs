//! `ralph undo`: whatever a person did, everything is as it was before.

use std::collections::BTreeMap;

use crate::run::DONE;
use crate::support::{Background, Project, eventually};

/// Every row of the plan and its history. Left out: what undo itself keeps, and what only says when or in which place of an index.
fn dump(project: &Project) -> BTreeMap<String, Vec<String>> {
    const NOT_COMPARED: [&str; 4] = ["plan_actions", "gate_changes", "claims", "runs"];
    let database = project.database();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let tables = names(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%fts%'",
    );
    let mut all = BTreeMap::new();
    for table in tables.into_iter().filter(|table| !NOT_COMPARED.contains(&table.as_str())) {
        let columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let compared = columns.iter().filter(|column| !["updated_at", "doc"].contains(&column.as_str()));
        let pairs: Vec<String> = compared.map(|column| format!("'{column}=' || quote({column})")).collect();
        if pairs.is_empty() {
            continue;
        }
        let rows = names(&format!("SELECT {} FROM {table} ORDER BY 1", pairs.join(" || ' ' || ")));
        all.insert(table, rows);
    }
    all
}

#[test]
fn every_action_is_taken_back_completely_and_named() {
    let mut project = Project::new();
    project.agent(&format!("case $RALPH_TASK_KEY in bad) exit 3;; esac; {DONE}"));
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "2");
    project.add(&["Good", "--key", "good", "--verify", "true"]);
    project.add(&["Bad", "--key", "bad"]);
    project.ralph(&["run"]);
    project.add(&["Parent", "--key", "p"]);
    project.add(&["One", "--key", "p1", "--parent", "p", "--after", "bad"]);
    project.add(&["Two", "--key", "p2", "--parent", "p", "--description", "old"]);
    for (action, says) in [
        (&["task", "add", "New", "--key", "n", "--parent", "p"][..], "you added n (New)"),
        (&["task", "edit", "p2", "--title", "Zwei"], "you changed the title of p2 (Two): \"Two\" → \"Zwei\""),
        (&["task", "edit", "p2", "--verify", "test 1 = 1", "--key", "q2"], "gate"),
        (&["task", "edit", "p2", "--description", "new"], "you changed the description of p2 (Two)\n"),
        (&["task", "edit", "bad", "--verify", "true"], "you changed the gate of bad (Bad): none → \"true\""),
        (
            &["task", "edit", "p2", "--next-model", "m"],
            "you changed the next model of p2 (Two): none → \"m\"",
        ),
        (&["task", "edit", "p2", "--priority", "3"], "priority"),
        (&["task", "done", "p1"], "you marked p1 (One) as done"),
        (&["task", "done", "p"], "you marked p (Parent) as done"),
        (&["task", "fail", "p1", "--reason", "no"], "you marked p1 (One) as failed"),
        (&["task", "skip", "p"], "you skipped p (Parent)"),
        (&["task", "reset", "good"], "you reset good (Good)"),
        (&["task", "reset", "bad"], "you reset bad (Bad)"),
        (&["task", "delete", "bad", "--yes"], "you deleted bad (Bad)"),
        (&["task", "delete", "p", "--recursive", "--yes"], "you deleted p (Parent)"),
        (&["task", "deps", "add", "p2", "p1"], "you added a dependency to p2 (Two)"),
        (&["task", "deps", "rm", "p1", "bad"], "you removed a dependency from p1 (One)"),
        (&["note", "p2", "use AKIAIOSFODNN7EXAMPLE"], "you left a note for p2 (Two): \"use "),
    ] {
        let before = dump(&project);
        project.ok(action);
        assert_ne!(dump(&project), before, "{action:?} does something");
        let told = project.ok(&["undo"]).stdout;
        assert!(told.contains(says) && !told.contains("AKIA"), "{action:?}: {told}");
        let after = dump(&project);
        for (table, rows) in &before {
            assert_eq!(&after[table], rows, "{action:?}: {table}");
        }
    }
    // What changes nothing is nothing to take back.
    project.ok(&["task", "skip", "p1"]);
    let nothing = project.ok(&["task", "skip", "p1"]).stderr;
    assert!(nothing.contains("nothing changed"), "{nothing}");
}

#[test]
fn what_cannot_be_taken_back_says_why_in_words() {
    let project = Project::new();
    project.agent("until [ -f go ]; do sleep 0.05; done; echo TASK_COMPLETE");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project.ok(&["task", "edit", "b", "--key", "c"]);
    project.add(&["D", "--key", "b"]);
    let edit = project.json(&["undo", "--list", "--json"])[1]["id"].to_string();
    let refused = project.ralph(&["undo", &edit]).expect_code(2).stderr;
    assert!(refused.contains("another task has the key b now"), "{refused}");

    // The title of a task may change during an attempt, and back; a decision about it may not be taken back.
    let run = Background(project.start(&["run", "a"]));
    eventually("the attempt", || project.status_of("a") == "in_progress");
    project.ok(&["task", "edit", "a", "--title", "X"]);
    let told = project.ok(&["undo"]).stdout;
    assert!(told.contains("you changed the title of a (A): \"A\" → \"X\""), "{told}");
    project.ok(&["task", "edit", "a", "--title", "Y"]);
    project.write("go", "");
    run.expect_success();
    project.ok(&["undo"]);
    assert_eq!(project.task("a")["title"], "A");
    let added = project.json(&["undo", "--list", "--json"]);
    let added = added.as_array().unwrap().iter().find(|action| action["tasks"][0]["key"] == "a").unwrap();
    let refused = project.ralph(&["undo", &added["id"].to_string()]).expect_code(2).stderr;
    assert!(refused.contains("a was attempted since"), "{refused}");
}
