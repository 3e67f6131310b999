//! `ralph logs`: what agents said and did, and what happened in a run.

mod follow;
mod memory;
mod retention;
mod tries;

use serde_json::{Value, json};

use crate::support::{Background, Project, eventually};

const DONE: &str = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

/// A project whose agent is this script.
fn project(script: &str) -> Project {
    let project = Project::new();
    project.agent(script);
    project
}

/// A project whose agent speaks Claude Code's language: each line of the script is one event.
fn claude_like(events: &[Value]) -> Project {
    let project = Project::new();
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    project.write("events", &lines);
    project.agent("cat events");
    let toml = project.read(".ralph.toml");
    let output = "[agents.script]\noutput = \"claude\"";
    project.write(".ralph.toml", &toml.replace("[agents.script]", output));
    project
}

fn said(text: &str) -> Value {
    json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}})
}

#[test]
fn a_log_is_for_people_unless_it_is_wanted_raw() {
    let project = project(&format!(
        "printf 'first \\033[31mred\\033[0m \\033]0;title\\007line\\n\\n  kept  apart\\n'
         printf '\\033[2Jwarned\\n' >&2; {DONE}"
    ));
    project.add(&["Paint it", "--key", "a", "--verify", "echo checked; exit 1"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let shown = project.ok(&["logs", "a"]);
    assert_eq!(shown.stderr, "");
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[0].starts_with("a Paint it · attempt 1 · script · 20"), "{lines:?}");
    assert!(lines[0].ends_with(" · gate failed"), "{lines:?}");
    assert_eq!(lines[1..5], ["", "first red line", "", "  kept  apart"]);
    assert!(lines[5].starts_with("<task-done>t-"));
    assert!(lines[7].starts_with("✗ gate failed: "), "{lines:?}");
    assert!(lines[8].ends_with(" s"), "{lines:?}");
    assert_eq!(
        lines[9..],
        ["  last lines of the gate's output:", "  │ checked", "  last lines of its stderr:", "  │ warned"]
    );
    let log = project.ok(&["logs", "a", "--path"]).text().to_owned();
    let raw = project.ok(&["logs", "a", "--raw"]).stdout;
    assert_eq!(raw.as_bytes(), std::fs::read(log).unwrap());
    assert!(raw.contains("\u{1b}]0;title\u{7}"));
}

#[test]
fn what_claude_code_said_is_there_in_full_with_every_tool() {
    let long = "word ".repeat(100);
    let answer = "All parsed.\n<task-done>a</task-done>";
    let project = claude_like(&[
        json!({"type": "system", "subtype": "init", "model": "claude-sonnet-5-5", "session_id": "s"}),
        said(&format!("First.\n{long}\nlast line of it")),
        json!({"type": "assistant", "timestamp": "2001-01-01T00:00:00Z", "message": {"content": [
            {"type": "tool_use", "name": "Bash", "input": {"command": "cargo test"}},
            {"type": "tool_use", "name": "Write", "input": {"file_path": "src/a.rs"}}]}}),
        said(answer),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": answer,
               "total_cost_usd": 0.25, "usage": {"input_tokens": 10, "output_tokens": 5}}),
    ]);
    project.add(&["Parse", "--key", "a"]);
    project.ok(&["run"]);
    let text = project.ok(&["logs", "a"]).stdout;
    for told in [
        "· started claude-sonnet-5-5\n● First.\n  word word",
        "\n  last line of it\n",
        // A time long before the attempt is not one of it.
        "\n→ Bash cargo test\n→ Write src/a.rs\n● All parsed.\n  <task-done>a</task-done>\n\n◐ done, unverified\n  ",
        ", $0.25, 10 tokens in, 5 out\n",
    ] {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
    assert!(!text.contains("result:"), "{text}");
    assert_eq!(text.matches("word").count(), 100);
}

#[test]
fn an_attempt_under_way_is_found() {
    let project = project(&format!("echo working; while [ ! -f go ]; do sleep 0.05; done; {DONE}"));
    project.add(&["A", "--key", "a"]);
    let none = project.ralph(&["logs", "a"]).expect_code(2);
    assert!(none.stderr.contains("a has no attempts yet"), "{}", none.stderr);
    let run = Background(project.start(&["run"]));
    eventually("the agent is at work", || project.ralph(&["logs", "a"]).stdout.contains("working"));
    let shown = project.ok(&["logs", "a"]).stdout;
    assert!(shown.lines().next().unwrap().ends_with("· in progress"), "{shown}");
    assert!(shown.contains("to follow it: ralph logs -f a"), "{shown}");
    let document = project.json(&["logs", "a", "--json"]);
    assert_eq!(document["under_way"], json!(true));
    assert_eq!(document["attempt"], json!(1));
    assert_eq!(document["agent"], json!("script"));
    project.write("go", "");
    run.expect_success();
    let document = project.json(&["logs", "a", "--json"]);
    assert_eq!(document["under_way"], json!(false));
    assert_eq!(document["outcome"], json!("done"));
    assert_eq!(document["path"], json!(project.ok(&["logs", "a", "--path"]).text()));
}

#[test]
fn attempts_are_chosen_by_their_number() {
    let project = project("echo try $RALPH_ATTEMPT");
    project.add(&["A", "--key", "a"]);
    project.ralph(&["run", "--limit", "3"]).expect_code(4);
    assert!(project.ok(&["logs", "a"]).stdout.contains("try 3"));
    let second = project.ok(&["logs", "a", "--attempt", "2"]).stdout;
    assert!(second.contains("attempt 2") && second.contains("try 2"), "{second}");
    let fourth = project.ralph(&["logs", "a", "--attempt", "4"]).expect_code(2);
    assert!(fourth.stderr.contains("no attempt 4"), "{}", fourth.stderr);
}

#[test]
fn without_a_task_the_run_is_told_as_it_was_shown() {
    let project =
        project(&format!("case $RALPH_TASK_KEY in bad) echo 'FAILURE_REASON: square';; *) {DONE};; esac"));
    project.add(&["Good", "--key", "good"]);
    project.add(&["Bad", "--key", "bad"]);
    let none = project.ralph(&["logs"]).expect_code(2);
    assert!(none.stderr.contains("no runs yet"), "{}", none.stderr);
    let run = project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    let story = project.ok(&["logs"]).stdout;
    let told: Vec<&str> = story.lines().collect();
    assert_eq!(told[0].len(), "2026-11-17".len(), "{story}");
    // The same lines, each after a time of day; then how it ended, where the run shows its table.
    let shown: Vec<&str> = run.stdout.split("\n\n").next().unwrap().lines().collect();
    let bare: Vec<&str> = told[1..].iter().map(|line| line.get(10..).unwrap()).collect();
    assert_eq!(bare[..shown.len()], shown[..]);
    assert!(bare[shown.len()].starts_with("Stopped: the remaining tasks are blocked"), "{story}");
    assert!(bare.contains(&run.stdout.lines().last().unwrap()), "{story}");
    for line in &told[1..] {
        let time = line.get(..8).unwrap();
        let is_time = time.bytes().enumerate().all(|(i, b)| match i {
            2 | 5 => b == b':',
            _ => b.is_ascii_digit(),
        });
        assert!(is_time || time.trim().is_empty(), "{line}");
    }
}

#[test]
fn a_run_as_json_has_its_events_and_another_can_be_chosen() {
    let project = project(DONE);
    project.add(&["A", "--key", "a"]);
    let first = project.ok(&["run", "--json"]).json_lines();
    project.add(&["B", "--key", "b"]);
    project.ok(&["run"]);
    let id = first[0]["run_id"].as_str().unwrap();
    let document = project.json(&["logs", "--run", id, "--json"]);
    assert_eq!(document["run_id"], json!(id));
    assert_eq!(document["outcome"], json!("finished"));
    assert_eq!(document["active"], json!(false));
    assert_eq!(document["path"], Value::Null);
    let events = document["events"].as_array().unwrap();
    // Those that only displays want are not kept.
    let kept: Vec<&Value> = first.iter().filter(|event| events.contains(event)).collect();
    assert_eq!(kept.len(), events.len());
    assert_eq!(events.last().unwrap()["type"], json!("run_finished"));
    let raw = project.ok(&["logs", "--run", id, "--raw"]).json_lines();
    assert_eq!(&raw, events);
    assert_ne!(project.json(&["logs", "--json"])["run_id"], json!(id));
    let no = project.ralph(&["logs", "--run", "r-0"]).expect_code(2);
    assert!(no.stderr.contains("unknown run `r-0`"), "{}", no.stderr);
    let no = project.ralph(&["logs", "--path"]).expect_code(2);
    assert!(no.stderr.contains("printed to its terminal"), "{}", no.stderr);
    let printed = "UPDATE runs SET output = '.ralph/logs/run-1.log'";
    project.database().execute(printed, []).unwrap();
    let path = project.path(".ralph/logs/run-1.log");
    assert_eq!(project.ok(&["logs", "--path"]).text(), path.display().to_string());
}

#[test]
fn the_log_of_an_agent_that_is_gone_is_shown_as_text() {
    let project = project(&format!("echo hello; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    project.write(".ralph.toml", "[run]\n");
    let shown = project.ok(&["logs", "a"]);
    assert!(shown.stdout.contains("\nhello\n"), "{}", shown.stdout);
    assert!(shown.stderr.contains("`script` is no longer in the settings"), "{}", shown.stderr);
}

#[test]
fn in_a_terminal_lines_are_as_wide_as_it_is() {
    use expectrl::{Eof, Expect};
    let mut project = project(&format!("yes 'word and' | head -30 | tr '\\n' ' '; echo; {DONE}"));
    project.set_env("TERM", "xterm-256color");
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    for args in [&["logs", "a"][..], &["logs"]] {
        let mut session = project.in_terminal(args, 40);
        let all = session.expect(Eof).unwrap();
        let all = anstrip(&String::from_utf8_lossy(all.as_bytes()));
        for line in all.lines() {
            assert!(line.trim_end().chars().count() <= 40, "{line:?}");
        }
        assert!(args.len() == 1 || all.matches("word").count() == 30, "{all}");
    }
}

/// Without colours.
fn anstrip(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        all + part.get(end + 1..).unwrap_or_default()
    })
}
