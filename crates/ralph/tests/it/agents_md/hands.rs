//! People's hands, kills and links: what is in AGENTS.md when nobody was careful.

use std::time::Duration;

use serde_json::{Value, json};

use super::project;
use crate::support::Project;

const LEARNT: &str = "<learning category=\"pitfall\" tags=\"a\">Never link twice.</learning>\n";

fn states(project: &Project) -> Vec<(Value, Value, Value)> {
    let all = project.json(&["learnings", "list", "--state", "all", "--json"]);
    let all = all.as_array().unwrap().iter();
    all.map(|one| {
        let field = |name: &str| one[name].clone();
        (field("content"), field("state"), field("source"))
    })
    .collect()
}

#[test]
fn agm_13_a_link_to_nothing_stays_as_it_is() {
    let project = project();
    std::os::unix::fs::symlink("elsewhere/AGENTS.md", project.path("AGENTS.md")).unwrap();
    project.write("why", "broken");
    project.add(&["One", "--key", "1"]);
    let run = project.ralph(&["run", "--once"]).expect_code(4);
    assert!(project.path("AGENTS.md").is_symlink());
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("a broken symbolic link"), "{said}");
}

#[test]
fn agm_10_entries_in_a_file_that_was_moved_are_known_again() {
    let mut project = project();
    project.write("why", "broken");
    project.add(&["One", "--key", "1-1"]);
    project.add(&["Two", "--key", "2-1"]);
    project.ralph(&["run", "1-1", "--once"]).expect_code(4);
    std::fs::create_dir(project.path("docs")).unwrap();
    std::fs::rename(project.path("AGENTS.md"), project.path("docs/AGENTS.md")).unwrap();
    project.set_env("RALPH_SET_MEMORY_AGENTS_MD", "docs/AGENTS.md");
    project.ok(&["task", "done", "1-1"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let file = project.read("docs/AGENTS.md");
    assert!(!file.contains("[1-1 |") && file.contains("[2-1 |"), "{file}");
}

#[test]
fn agm_15_what_a_person_deleted_no_agent_brings_back() {
    let project = project();
    project.write("learnt", LEARNT);
    project.add(&["One", "--key", "1"]);
    project.ok(&["run"]);
    let file = project.read("AGENTS.md");
    let deleted = file.replace("- Never link twice.\n", "");
    project.write("AGENTS.md", &deleted);
    for key in ["2", "3"] {
        project.add(&["More", "--key", key]);
        project.ok(&["run"]);
        let file = project.read("AGENTS.md");
        assert!(!file.contains("Never link"), "{key}: {file}");
    }
    assert!(states(&project).iter().all(|(_, state, _)| state == "pruned"));
    // But a person does.
    project.write("AGENTS.md", &format!("{file}\n## More\n"));
    std::fs::remove_file(project.path("learnt")).unwrap();
    project.add(&["Last", "--key", "4"]);
    project.ok(&["run"]);
    assert!(project.read("AGENTS.md").contains("- Never link twice.\n"));
    let active = |(_, state, _): &&(Value, Value, Value)| state == "active";
    assert_eq!(states(&project).iter().filter(active).count(), 1);
}

#[test]
fn agm_15_what_a_person_writes_after_a_kill_is_the_persons() {
    let project = project();
    project.write("learnt", LEARNT);
    project.add(&["One", "--key", "1"]);
    project.ok(&["run"]);
    std::fs::remove_file(project.path("learnt")).unwrap();
    project.add(&["Two", "--key", "2"]);
    project.write("edit", "touch begun; sleep 60");
    let mut run = project.start(&["run"]);
    while !project.path("begun").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    // The agent is ended with its run; the person comes later.
    std::thread::sleep(Duration::from_millis(3000));
    let file = project.read("AGENTS.md");
    project.write("AGENTS.md", &file.replace("- Never link twice.", "- Port 80 is taken."));
    std::fs::remove_file(project.path("edit")).unwrap();
    project.ok(&["run"]);
    let states = states(&project);
    let port = (json!("Port 80 is taken."), json!("active"), json!("agents_md"));
    let link = (json!("Never link twice."), json!("pruned"), json!("agent"));
    assert!(states.contains(&port) && states.contains(&link), "{states:?}");
}

#[test]
fn file_01_what_killed_writers_left_is_gone_after_the_next_run() {
    let project = project();
    project.write("why", "broken");
    project.add(&["One", "--key", "1"]);
    // No process has this number: it is above the largest there is.
    project.write(".ralph-new.1999999999.a", "half a fi");
    project.write(".ralph/.ralph-new.1999999999.b", "half a fi");
    project.ralph(&["run", "--once"]).expect_code(4);
    for dir in [".", ".ralph"] {
        let names = std::fs::read_dir(project.path(dir)).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        let left = names.iter().any(|name| name.to_string_lossy().contains("-new."));
        assert!(!left, "{names:?}");
    }
}
