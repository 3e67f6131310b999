//! AGENTS.md: what failed and what was learned, in a file that people and agents share.

use std::time::Duration;

use serde_json::json;

use crate::support::Project;

mod hands;

/// Fails with a report; the reason is in `why`, what it learned in `learned`.
fn project() -> Project {
    let project = Project::new();
    project.agent(
        "if [ -f why ]; then\n\
         echo '<failure-report>'\necho 'what_tried: Rewrote the parser. It was slow.'\n\
         echo \"why_failed: $(cat why)\"\necho 'relevant_files: src/a.rs, src/b.rs'\necho '</failure-report>'\n\
         fi\n\
         [ -f learnt ] && cat learnt\n\
         [ -f edit ] && sh ./edit\n\
         if [ -f why ]; then echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"\n\
         else echo \"<task-done>$RALPH_TASK_ID</task-done>\"; fi",
    );
    project
}

fn without_times(text: &str) -> String {
    let mut all = Vec::new();
    for line in text.lines() {
        match line.split_once(" | 20") {
            Some((head, rest)) if line.starts_with("- [") => {
                let rest = rest.split_once(']').unwrap().1;
                all.push(format!("{head} | TIME]{rest}"));
            }
            _ => all.push(line.to_owned()),
        }
    }
    all.join("\n")
}

#[test]
fn agm_02_03_04_a_failure_is_written_under_its_phase() {
    let project = project();
    project.write("why", "It \"broke\" at a|b & c\\d: `x` $HOME 'q'");
    project.add(&["One", "--key", "12-01"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let file = project.read("AGENTS.md");
    assert_eq!(
        without_times(&file),
        "# Project Learnings\n\n## Failure Context\n\n\
         Failure learnings from current phase - cleared on phase completion.\n\n\
         ### Phase 12:\n\n\
         - [12-01 | TIME] **Error:** It \"broke\" at a|b & c\\d: `x` $HOME 'q'\n  \
         **Attempted:** Rewrote the parser. It was slow.\n  \
         **Files:** src/a.rs, src/b.rs\n  \
         **Context:** It \"broke\" at a|b & c\\d: `x` $HOME 'q'"
    );
    let stamp = file.split("| ").nth(1).unwrap();
    assert_eq!(&stamp[4..5], "-");
    assert_eq!(&stamp[19..20], "]", "to the second: {stamp}");
}

#[test]
fn agm_05_06_a_long_error_is_cut_on_a_word_and_nothing_is_suggested() {
    let project = project();
    let long = "word ".repeat(150);
    project.write("why", &long);
    project.write("learnt", "<retry-suggestion>Try the other door.</retry-suggestion>\n");
    project.add(&["One", "--key", "1"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let file = project.read("AGENTS.md");
    let error = file.split("**Error:** ").nth(1).unwrap().lines().next().unwrap();
    assert!(
        error.chars().count() <= 500 && error.trim_end_matches('…').trim_end().ends_with("word"),
        "{error}"
    );
    let context = file.split("**Context:** ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(context.trim(), long.trim(), "the fuller reason");
    let lower = file.to_lowercase();
    assert!(!lower.contains("severity") && !lower.contains("other door"), "{file}");
}

#[test]
fn agm_08_equal_failures_collapse() {
    let project = project();
    project.write("why", "the same");
    project.add(&["One", "--key", "1", "--phase", "05"]);
    project.ralph(&["run", "--limit", "3"]).expect_code(4);
    let file = project.read("AGENTS.md");
    assert!(file.contains("### Phase 5:"), "{file}");
    assert_eq!(file.matches("**Error:**").count(), 1, "{file}");
    assert!(file.contains("] ×3 **Error:** the same"), "{file}");
}

#[test]
fn agm_07_10_a_finished_phase_is_cleared_and_skipped_tasks_stay() {
    let project = project();
    project.write("why", "broken");
    for (key, phase) in [("a", "1"), ("b", "1"), ("c", "2")] {
        project.add(&[key, "--key", key, "--phase", phase]);
    }
    for key in ["a", "b", "c"] {
        project.ralph(&["run", key, "--once"]).expect_code(4);
    }
    let file = project.read("AGENTS.md");
    assert_eq!(file.matches("**Error:**").count(), 3, "{file}");
    std::fs::remove_file(project.path("why")).unwrap();
    project.ok(&["run", "a"]);
    let file = project.read("AGENTS.md");
    assert!(file.contains("- [a |"), "one task's success clears nothing: {file}");
    project.ok(&["run", "b"]);
    let file = project.read("AGENTS.md");
    assert!(!file.contains("### Phase 1:") && !file.contains("- [a |"), "{file}");
    assert!(file.contains("### Phase 2:") && file.contains("- [c |"), "{file}");
    project.ok(&["task", "skip", "c"]);
    project.add(&["d", "--key", "d", "--phase", "2"]);
    project.ok(&["run"]);
    let file = project.read("AGENTS.md");
    assert!(file.contains("- [c |"), "those of skipped tasks stay: {file}");
    assert!(file.contains("cleared on phase completion"), "{file}");
}

#[test]
fn agm_09_at_most_a_hundred_of_a_phase_the_newest() {
    let project = project();
    for n in 0..103 {
        project.add(&[&format!("Thing {n}"), "--key", &format!("k{n}"), "--phase", "3"]);
    }
    let mut project = project;
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "1");
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "1000");
    project.write("why", "broken");
    project.ralph(&["run"]).expect_code(5);
    let file = project.read("AGENTS.md");
    assert_eq!(file.matches("**Error:**").count(), 100);
    assert_eq!(file.matches("**Context:**").count(), 100);
    assert!(!file.contains("- [k2 |") && file.contains("- [k3 |") && file.contains("- [k102 |"));
    assert!(file.find("- [k3 |") < file.find("- [k102 |"), "newest last");
}

#[test]
fn agm_01_it_can_be_moved_or_switched_off() {
    let mut moved = project();
    moved.set_env("RALPH_SET_MEMORY_AGENTS_MD", "docs/NOTES.md");
    moved.write("why", "broken");
    moved.add(&["One", "--key", "1"]);
    moved.ralph(&["run", "--once"]).expect_code(4);
    assert!(moved.read("docs/NOTES.md").contains("### No phase:"));
    assert!(!moved.path("AGENTS.md").exists());
    let mut off = project();
    off.set_env("RALPH_SET_MEMORY_AGENTS_MD", "false");
    off.write("why", "broken");
    off.add(&["One", "--key", "1"]);
    off.ralph(&["run", "--once"]).expect_code(4);
    assert!(!off.path("AGENTS.md").exists());
}

#[test]
fn agm_14_learnings_land_by_category_and_never_twice() {
    let project = project();
    project.write(
        "learnt",
        "<learning category=\"pitfall\" tags=\"a\">Never link twice.</learning>\n\
         <learning category=\"code_structure\" tags=\"b\">Parsers live in src/parse.</learning>\n\
         <learning category=\"other\" tags=\"phase 2\">Phase two needs the database.</learning>\n",
    );
    project.add(&["One", "--key", "1"]);
    project.add(&["Two", "--key", "2"]);
    project.ok(&["run"]);
    assert_eq!(
        project.read("AGENTS.md"),
        "# Project Learnings\n\n## Error Fixes\n\n- Never link twice.\n\n\
         ## Codebase Patterns\n\n- Parsers live in src/parse.\n\n\
         ## Phase-Specific\n\n### Phase 2:\n\n- Phase two needs the database.\n"
    );
}

#[test]
fn agm_15_what_a_person_writes_is_learned_and_what_a_person_deletes_is_archived() {
    let project = project();
    project.write("learnt", "<learning category=\"pitfall\" tags=\"a\">Never link twice.</learning>\n");
    project.add(&["One", "--key", "1"]);
    project.ok(&["run"]);
    let file = project.read("AGENTS.md");
    project.write("AGENTS.md", &file.replace("- Never link twice.", "- Port 80 is taken."));
    std::fs::remove_file(project.path("learnt")).unwrap();
    project.add(&["Two", "--key", "2"]);
    project.ok(&["run"]);
    let file = project.read("AGENTS.md");
    assert!(file.contains("- Port 80 is taken.") && !file.contains("Never link"), "{file}");
    let all = project.json(&["learnings", "list", "--state", "all", "--json"]);
    let brief: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["content"].clone(), one["state"].clone(), one["source"].clone()))
        .collect();
    assert!(brief.contains(&(json!("Port 80 is taken."), json!("active"), json!("agents_md"))), "{brief:?}");
    assert!(brief.contains(&(json!("Never link twice."), json!("pruned"), json!("agent"))), "{brief:?}");
    project.add(&["Three", "--key", "3"]);
    project.ok(&["run"]);
    assert_eq!(project.read("AGENTS.md"), file, "and it stays so");
}

#[test]
fn agm_15_a_bullet_that_appears_during_an_attempt_is_the_agents() {
    let project = project();
    project.write("edit", "printf '## Codebase Patterns\\n\\n- Tabs everywhere.\\n' > AGENTS.md");
    project.add(&["One", "--key", "1"]);
    project.ok(&["run"]);
    let all = project.json(&["learnings", "list", "--json"]);
    assert_eq!((&all[0]["content"], &all[0]["source"]), (&json!("Tabs everywhere."), &json!("agent")));
}

#[test]
fn agm_15_a_branch_a_rollback_and_a_lost_file_delete_nothing() {
    let project = Project::with_git();
    project.agent("[ -f learnt ] && cat learnt\necho '<no-change-needed>It only tells.</no-change-needed>'\necho \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.write("README.md", "x");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.write("learnt", "<learning category=\"pitfall\" tags=\"a\">Never link twice.</learning>\n");
    project.add(&["One", "--key", "1"]);
    project.ok(&["run"]);
    let whole = project.read("AGENTS.md");
    std::fs::remove_file(project.path("learnt")).unwrap();
    let again = |n: u32| {
        project.add(&[&format!("More {n}"), "--key", &format!("m{n}")]);
        project.ok(&["run"]);
        assert_eq!(project.read("AGENTS.md"), whole, "{n}");
    };
    std::fs::remove_file(project.path("AGENTS.md")).unwrap();
    again(1);
    project.git(&["checkout", "-qb", "other"]);
    project.write("AGENTS.md", "# Project Learnings\n\n## Error Fixes\n");
    again(2);
    project.write("AGENTS.md", "# Project Learnings\n");
    again(3);
}

#[test]
fn agm_13_every_other_byte_stays() {
    let project = project();
    let own = "\u{feff}# Mine\r\n\r\n### Failure Context\r\n```\r\n## Error Fixes\r\n- no\r\n```\r\nlast";
    project.write("AGENTS.md", own);
    project.write("why", "broken");
    project.add(&["One", "--key", "1"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let file = project.read("AGENTS.md");
    assert!(file.starts_with(own), "{file:?}");
    assert!(file[own.len()..].starts_with("\r\n\r\n## Failure Context\r\n"), "{file:?}");
    assert!(project.json(&["learnings", "list", "--json"]).as_array().unwrap().is_empty());
}

#[test]
fn phf_01_02_other_tasks_of_the_phase_are_told() {
    let project = project();
    project.write("why", "the socket is taken");
    for (key, phase) in [("a", "1"), ("b", "1"), ("c", "2")] {
        project.add(&[key, "--key", key, "--phase", phase]);
    }
    project.add(&["No phase", "--key", "d"]);
    project.ralph(&["run", "a", "--once"]).expect_code(4);
    let told = project.ok(&["context", "b"]).stdout;
    assert!(told.contains("### Failure Context"), "{told}");
    assert!(told.contains("AGENTS.md has them in full"), "{told}");
    assert!(told.contains("] the socket is taken"), "{told}");
    for other in ["a", "c", "d"] {
        let told = project.ok(&["context", other]).stdout;
        assert!(!told.contains("### Failure Context"), "{other}: {told}");
    }
}

#[test]
fn agm_16_two_runs_and_a_hand_at_once_lose_nothing() {
    let mut project = project();
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "1");
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "1000");
    project.write("why", "broken");
    project.write(
        "agent.sh",
        "cat >/dev/null\necho \"<learning category=\\\"pitfall\\\" tags=\\\"x\\\">Beware of $RALPH_TASK_KEY, it bites like nothing else.</learning>\"\n\
         echo \"FAILURE_REASON: broken $RALPH_TASK_KEY\"\n\
         echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"",
    );
    for n in 0..24 {
        project.add(&[&format!("Thing {n}"), "--key", &format!("k{n}"), "--phase", "1"]);
    }
    project.write("AGENTS.md", "# Mine\n\n## Codebase Patterns\n\n- First.\n");
    let mut runs = [project.start(&["run"]), project.start(&["run"])];
    for n in 0..15 {
        use std::io::Write;
        // A person's editor: the whole file is read, changed and put in place by a rename.
        if n % 2 == 0 {
            let text = std::fs::read_to_string(project.path("AGENTS.md")).unwrap();
            let text = text.replacen("- First.\n", &format!("- First.\n- By hand {n}.\n"), 1);
            let text = text.replacen("# Mine\n", &format!("# Mine\nNote {n}.\n"), 1);
            project.write("mine.new", &text);
            std::fs::rename(project.path("mine.new"), project.path("AGENTS.md")).unwrap();
        } else {
            let mut file = std::fs::OpenOptions::new().append(true).open(project.path("AGENTS.md")).unwrap();
            file.write_all(format!("\n## Codebase Patterns\n- Appended {n}.\n").as_bytes()).unwrap();
        }
        std::thread::sleep(Duration::from_millis(60));
    }
    for run in &mut runs {
        run.wait().unwrap();
    }
    project.add(&["Last", "--key", "last", "--phase", "9"]);
    project.ralph(&["run"]).expect_code(5);
    let file = project.read("AGENTS.md");
    for n in 0..24 {
        assert!(file.contains(&format!("**Error:** broken k{n}\n")), "{n}: {file}");
    }
    for n in 0..15 {
        let word = if n % 2 == 0 { "By hand" } else { "Appended" };
        assert!(file.contains(&format!("- {word} {n}.")), "{n}: {file}");
        assert!(n % 2 == 1 || file.contains(&format!("\nNote {n}.\n")), "{n}: {file}");
    }
    assert!(file.starts_with("# Mine\n"));
}

#[test]
fn agm_15_a_rollback_on_the_same_branch_is_no_deletion() {
    let project = Project::with_git();
    project.agent("cat learnt\necho '<no-change-needed>It only tells.</no-change-needed>'\necho \"<task-done>$RALPH_TASK_ID</task-done>\"");
    let learn = |n: u32, what: &str| {
        project.write("learnt", &format!("<learning category=\"pitfall\" tags=\"a\">{what}</learning>\n"));
        project.add(&[&format!("Task {n}"), "--key", &format!("k{n}")]);
        project.ok(&["run"]);
    };
    learn(1, "Never link twice.");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "one"]);
    learn(2, "Close sockets before files.");
    project.git(&["checkout", "-q", "AGENTS.md"]);
    learn(3, "Dates without a zone are local.");
    let file = project.read("AGENTS.md");
    for what in ["Never link twice.", "Close sockets before files.", "Dates without a zone are local."] {
        assert!(file.contains(&format!("- {what}\n")), "{what}: {file}");
    }
    assert_eq!(project.json(&["learnings", "list", "--json"]).as_array().unwrap().len(), 3);
}

#[test]
fn agm_13_a_link_stays_a_link() {
    let project = project();
    project.write("CLAUDE.md", "Be kind.\n");
    std::os::unix::fs::symlink("CLAUDE.md", project.path("AGENTS.md")).unwrap();
    project.write("why", "broken");
    project.add(&["One", "--key", "1"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert!(project.path("AGENTS.md").is_symlink());
    let file = project.read("CLAUDE.md");
    assert!(file.starts_with("Be kind.\n") && file.contains("**Error:** broken"), "{file}");
}

#[test]
fn agm_10_failures_of_deleted_and_renamed_tasks_go() {
    let project = project();
    project.write("why", "broken");
    for key in ["a", "b"] {
        project.add(&[key, "--key", key, "--phase", "1"]);
        project.ralph(&["run", key, "--once"]).expect_code(4);
    }
    project.ok(&["task", "delete", "a", "--yes"]);
    project.ok(&["task", "edit", "b", "--key", "c"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let file = project.read("AGENTS.md");
    assert!(!file.contains("- [a |") && !file.contains("- [b |"), "{file}");
    assert!(file.contains("- [c |"), "{file}");
}

#[test]
fn a_file_that_is_not_text_is_left_as_it_is() {
    let project = project();
    std::fs::write(project.path("AGENTS.md"), b"caf\xe9\n").unwrap();
    project.write("why", "broken");
    project.add(&["One", "--key", "1"]);
    let output = project.ralph(&["run", "--limit", "2"]).expect_code(4);
    assert_eq!(std::fs::read(project.path("AGENTS.md")).unwrap(), b"caf\xe9\n");
    assert_eq!(output.stdout.matches("AGENTS.md: it is not UTF-8").count(), 1, "{}", output.stdout);
}

#[test]
fn agm_10_ana_05_the_pages_follow_a_persons_word_at_once() {
    let project = project();
    project.write("why", "broken");
    for (key, phase) in [("a", "1"), ("b", "1"), ("c", "2")] {
        project.add(&[key, "--key", key, "--phase", phase]);
    }
    project.ralph(&["run", "a", "--once"]).expect_code(4);
    assert!(project.read("AGENTS.md").contains("- [a |"));
    let state = project.read(".ralph/STATE.md");
    assert!(state.contains("- **Next task:** a: a\n"), "{state}");
    project.ok(&["task", "done", "a"]);
    let state = project.read(".ralph/STATE.md");
    assert!(state.contains("- **Next task:** b: b\n"), "{state}");
    assert!(project.read("AGENTS.md").contains("- [a |"), "b is open");
    let with_note = project.read("AGENTS.md") + "\nA person's line.\n";
    project.write("AGENTS.md", &with_note);
    project.ok(&["task", "skip", "b"]);
    let state = project.read(".ralph/STATE.md");
    assert!(state.contains("- **Next task:** c: c\n"), "{state}");
    let file = project.read("AGENTS.md");
    assert!(!file.contains("- [a |"), "{file}");
    assert!(file.contains("A person's line."), "{file}");
}

#[test]
fn ana_05_the_page_shows_the_attempt_under_way() {
    let done = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"\n";
    let (attempt, starting) = ("attempt 1 with script", "starting attempt 1");
    for (shown, agent_waits, gate, baseline) in [
        (attempt, true, "true", "off"),
        (attempt, false, "sh waits.sh", "off"),
        // The gate waits before the attempt, and not after it.
        (starting, false, "[ -e seen ] || { sh waits.sh; false; }", "first"),
    ] {
        let waits = format!(
            "for i in $(seq 200); do grep -q '{shown}' .ralph/STATE.md && break; sleep 0.05; done\n\
             cp .ralph/STATE.md seen\n"
        );
        let mut project = Project::new();
        project.set_env("RALPH_SET_GATE_BASELINE", baseline);
        project.agent(&if agent_waits { waits.clone() + done } else { done.to_owned() });
        project.write("waits.sh", &waits);
        project.add(&["Parse lists", "--key", "1.2", "--verify", gate]);
        project.ok(&["run"]);
        let seen = project.read("seen");
        assert!(seen.contains(&format!("- **Running:** 1.2: Parse lists, {shown}, since 20")), "{seen}");
        let after = project.read(".ralph/STATE.md");
        assert!(!after.contains("Running"), "{after}");
    }
}
