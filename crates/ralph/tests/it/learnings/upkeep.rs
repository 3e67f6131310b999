//! Putting learnings away, joining them, and undoing both.

use serde_json::{Value, json};

use super::search::found;
use super::{days_ago, import, learn, listed, refused, shown};
use crate::support::Project;

const NONE: [&str; 0] = [];

#[test]
fn life_05_what_was_pruned_comes_back_and_is_found_again() {
    let project = Project::new();
    let (a, b) = (learn(&project, "Clear the cache", &[]), learn(&project, "Mind the parser", &[]));
    let told = project.ok(&["learnings", "prune", &a]);
    assert_eq!(
        told.text(),
        format!(
            "archived {a}: Clear the cache\narchived 1 learning; `ralph learnings restore ID` restores one"
        )
    );
    assert_eq!(found(&project, "cache", &[]), NONE);
    assert_eq!(listed(&project, &["--state", "pruned"]), [a.as_str()]);
    let dry = project.json(&["learnings", "prune", &b, "--dry-run", "--json"]);
    assert_eq!(dry, json!({ "pruned": [b] }));
    // All or nothing.
    refused(project.ralph(&["learnings", "prune", &b, &a]), &[&a, "pruned", "restore"]);
    refused(project.ralph(&["learnings", "prune", &b, "l-nobody"]), &["l-nobody"]);
    assert_eq!(listed(&project, &[]), [b.as_str()]);
    let told = project.ok(&["learnings", "restore", &a]);
    assert_eq!(told.text(), format!("restored {a}: Clear the cache"));
    assert_eq!(found(&project, "cache", &[]), [a.as_str()]);
    let again = project.ok(&["learnings", "restore", &a]);
    assert_eq!((again.stdout.as_str(), again.stderr), ("", format!("{a} is already active\n")));
    let nothing = project.json(&["learnings", "restore", &a, "--json"]);
    assert_eq!(nothing, json!({ "restored": [], "retired": [] }));
    let pruned = project.json(&["learnings", "prune", &a, &b, &a, "--json"]);
    assert_eq!(pruned, json!({ "pruned": [a, b] }));
    let restored = project.json(&["learnings", "restore", &b, &a, "--json"]);
    assert_eq!(restored, json!({ "restored": [b, a], "retired": [] }));
    refused(project.ralph(&["learnings", "restore", "l-nobody"]), &["l-nobody"]);
}

#[test]
fn life_05_what_was_merged_comes_back_and_is_found_again() {
    let project = Project::new();
    let words = "clear the old cache before you run the slow tests";
    let (a, b) = (
        learn(&project, words, &["--category", "pitfall", "--tags", "x"]),
        learn(&project, &format!("{words}!"), &["--category", "pitfall", "--tags", "y", "--pin"]),
    );
    let other = learn(&project, "something else altogether", &["--category", "pitfall"]);
    let planned = project.json(&["learnings", "merge", "--dry-run", "--json"]);
    assert_eq!(planned, json!({ "merged": [{ "into": null, "from": [b, a] }], "undo": null }));
    assert_eq!(listed(&project, &[]).len(), 3, "nothing was changed");
    let merged = project.json(&["learnings", "merge", "--json"])["merged"].clone();
    assert_eq!(merged[0]["from"], json!([b, a]), "the pinned one is the best");
    let into = merged[0]["into"].as_str().unwrap();
    let learning = shown(&project, into);
    assert_eq!(
        (&learning["content"], &learning["tags"], &learning["pinned"], &learning["source"]),
        (&json!(format!("{words}!")), &json!(["y", "x"]), &json!(true), &json!("human"))
    );
    assert_eq!(found(&project, "cache", &[]), [into]);
    let nothing = project.ok(&["learnings", "merge"]);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("no near-duplicates"), "{}", nothing.stderr);
    let told = project.ok(&["learnings", "restore", &a]).stdout;
    let mut lines: Vec<&str> = told.lines().collect();
    lines.sort_unstable();
    let retired = format!("archived {into}, which had replaced it");
    assert!(lines.contains(&retired.as_str()), "{told}");
    assert!(lines.contains(&format!("restored {a}: {words}").as_str()), "{told}");
    assert_eq!(lines.len(), 3, "{told}");
    let mut back = found(&project, "cache", &[]);
    back.sort_unstable();
    let mut both = vec![a, b];
    both.sort_unstable();
    assert_eq!(back, both);
    assert_eq!(shown(&project, into)["state"], json!("pruned"));
    assert_eq!(shown(&project, &other)["state"], json!("active"));
}

#[test]
fn life_05_an_edit_is_undone_by_the_old_ones_id() {
    let project = Project::new();
    let old = learn(&project, "the cache", &[]);
    let edit = ["learnings", "edit", &old, "--content", "the parser", "--json"];
    let new = project.json(&edit)["id"].as_str().unwrap().to_owned();
    let restored = project.json(&["learnings", "restore", &old, "--json"]);
    assert_eq!(restored, json!({ "restored": [old], "retired": [new] }));
    assert_eq!(found(&project, "cache", &[]), [old]);
    assert_eq!(found(&project, "parser", &[]), NONE);
}

#[test]
fn named_learnings_are_merged_whatever_they_say() {
    let project = Project::new();
    let (a, b, c) = (
        learn(&project, "one thing", &["--category", "x"]),
        learn(&project, "another matter", &["--category", "y"]),
        learn(&project, "a third", &[]),
    );
    let merge = |args: &[&str]| project.ralph(&[&["learnings", "merge"], args].concat());
    refused(merge(&[&a]), &["two"]);
    refused(merge(&[&a, &a]), &["two"]);
    refused(merge(&[&a, "l-nobody"]), &["l-nobody"]);
    project.ok(&["learnings", "prune", &c]);
    refused(merge(&[&a, &c]), &[&c, "pruned"]);
    let dry = merge(&[&a, &b, "--dry-run"]).expect_code(0);
    assert_eq!(dry.text(), format!("would merge {b}, {a}: another matter"));
    assert_eq!(listed(&project, &[]), [b.clone(), a.clone()]);
    let told = merge(&[&a, &b]).expect_code(0);
    let into = listed(&project, &[]).remove(0);
    assert_eq!(told.text(), format!("merged {b}, {a} into {into}: another matter"));
    refused(merge(&[&a, &into]), &[&a, "superseded by", &into]);
}

#[test]
fn without_ids_what_is_old_and_unused_is_archived() {
    let project = Project::new();
    let line = |id: &str, days: u32| json!({ "id": id, "category": "c", "content": format!("{id} {days}"), "created_at": days_ago(&project, days) });
    import(
        &project,
        &[line("old", 100), line("used", 101), line("kept", 102), line("young", 20), line("new", 0)],
    );
    let used = "UPDATE learnings SET last_used_at = ?1 WHERE id = 'used'";
    project.database().execute(used, [days_ago(&project, 10)]).unwrap();
    project.ok(&["learnings", "pin", "kept"]);
    let prune = |args: &[&str]| -> Value {
        project.json(&[&["learnings", "prune", "--json"], args].concat())["pruned"].clone()
    };
    assert_eq!(prune(&["--dry-run"]), json!(["old"]));
    assert_eq!(prune(&["--dry-run", "--unused-for", "5d"]), json!(["old", "used"]));
    assert_eq!(prune(&["--dry-run", "--older-than", "7d"]), json!(["old"]));
    let ages = ["--dry-run", "--older-than", "7d", "--unused-for", "8d"];
    assert_eq!(prune(&ages), json!(["young", "old", "used"]));
    let would = project.ok(&["learnings", "prune", "--dry-run"]);
    assert_eq!(would.text(), "would archive old: old 100\nwould archive 1 learning");
    assert_eq!(listed(&project, &[]).len(), 5);
    assert_eq!(prune(&[]), json!(["old"]));
    assert_eq!(listed(&project, &["--state", "pruned"]), ["old"]);
    let nothing = project.ok(&["learnings", "prune"]);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("no learnings are old and unused"), "{}", nothing.stderr);
    refused(project.ralph(&["learnings", "prune", "used", "--older-than", "1d"]), &["--older-than"]);
    refused(project.ralph(&["learnings", "prune", "--older-than", "long"]), &["long", "90d"]);
}

#[test]
fn life_05_one_name_undoes_a_whole_merge() {
    let texts = [
        "clear the old cache before you run the slow tests",
        "the parser of dates reads two digits of a year as of this century",
        "never start the server twice on one port of this machine",
    ];
    for by_learning in [false, true] {
        let project = Project::new();
        let mut all = Vec::new();
        for text in texts {
            for end in ["", "!"] {
                let text = format!("{text}{end}");
                all.push(learn(&project, &text, &["--category", "pitfall"]));
            }
        }
        let merged = project.ok(&["learnings", "merge"]);
        let hint = merged.stderr.lines().last().unwrap();
        let (_, name) = hint.split_once("undo: ralph learnings restore --merge ").unwrap();
        let active = listed(&project, &[]);
        assert_eq!(active.len(), 3);
        // A learning that the merge made is a name for all of it too.
        let name = if by_learning { &active[1] } else { name };
        let done = project.json(&["learnings", "restore", "--merge", name, "--json"]);
        let mut restored: Vec<String> = serde_json::from_value(done["restored"].clone()).unwrap();
        restored.sort();
        all.sort();
        assert_eq!(restored, all);
        assert_eq!(done["retired"].as_array().unwrap().len(), 3);
        assert_eq!(listed(&project, &[]).len(), 6);
        refused(
            project.ralph(&["learnings", "restore", "--merge", "m-nothing"]),
            &["unknown merge `m-nothing`"],
        );
    }
}
