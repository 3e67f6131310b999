//! Which try's log is shown, and what is shown of one that went wrong before it began.

use super::{DONE, project};
use crate::support::eventually;

#[test]
fn a_try_that_does_not_count_is_reached_by_its_number_and_by_its_run() {
    let project = project(&format!(
        "if [ ! -e begun ]; then echo first words; touch begun; sleep 60; fi; echo later words; {DONE}"
    ));
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    project.ok(&["run", "--detach"]);
    eventually("the agent begins", || project.path("begun").exists());
    project.ok(&["stop"]);
    project.ok(&["run"]);
    let history = project.json(&["history", "a", "--json"]);
    assert_eq!(history[0]["attempt_number"], 1, "{history}");
    assert_eq!(history[0]["counted"], false);
    assert_eq!(history[1]["attempt_number"], 2);
    let runs = [0, 1].map(|n: usize| history[n]["run_id"].as_str().unwrap().to_owned());
    let listed = project.ok(&["history", "a"]).stdout;
    assert!(listed.contains(" (1) "), "{listed}");
    for (args, words) in [
        (&[][..], "later words"),
        (&["--attempt", "1"], "later words"),
        (&["--attempt-number", "1"], "first words"),
        (&["--try", "1"], "first words"),
        (&["--attempt-number", "2"], "later words"),
        (&["--run", &runs[0]], "first words"),
        (&["--run", &runs[1]], "later words"),
        (&["--run", &runs[0], "--attempt", "1"], "first words"),
        (&["--run", &runs[0], "-f"], "first words"),
    ] {
        let shown = project.ok(&[&["logs", "a"], args].concat()).stdout;
        assert!(shown.contains(words), "{args:?}: {shown}");
        let other = match words {
            "first words" => "later words",
            _ => "first words",
        };
        assert!(!shown.contains(other), "{args:?}: {shown}");
    }
    let shown = project.ok(&["logs", "a", "--attempt-number", "1"]).stdout;
    assert!(shown.contains("· attempt (1), not counted ·"), "{shown}");
    let run = project.ok(&["logs", "--run", &runs[0]]).stdout;
    assert!(run.contains("attempt (1), not counted, "), "{run}");
    let document = project.json(&["logs", "a", "--attempt-number", "1", "--json"]);
    assert_eq!(document["attempt_number"], 1);
    for (args, why) in [
        (&["logs", "a", "--attempt-number", "9"][..], "a has no attempt (9)"),
        (&["logs", "b", "--run", &runs[0]], "b has no attempts in run"),
        (&["logs", "a", "--run", "r-0"], "unknown run `r-0`"),
        (&["logs", "a", "--attempt-number", "1", "--attempt", "1"], "cannot be used with"),
        (&["logs", "--attempt-number", "1"], "required"),
    ] {
        let no = project.ralph(args).expect_code(2);
        assert!(no.stderr.contains(why), "{args:?}: {}", no.stderr);
    }
}

#[test]
fn what_an_agent_printed_instead_of_events_is_shown_and_told() {
    for output in ["claude", "codex", "gemini", "opencode"] {
        let project = project(
            "echo 'Error: no such module'; echo; printf '\\033]0;title\\007  at \\033[31mmain.js\\n'; exit 1",
        );
        let toml = project.read(".ralph.toml");
        let format = format!("[agents.script]\noutput = \"{output}\"");
        project.write(".ralph.toml", &toml.replace("[agents.script]", &format));
        project.add(&["A", "--key", "a"]);
        project.ralph(&["run", "--once"]).expect_code(4);
        let shown = project.ok(&["logs", "a"]).stdout;
        assert!(shown.contains("┆ Error: no such module\n┆   at main.js\n"), "{output}: {shown}");
        assert!(!shown.contains('\u{1b}'), "{output}: {shown}");
        let message = project.history()[0]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("script ended without "), "{message}");
        assert!(message.ends_with("(exit code 1): Error: no such module; at main.js"), "{message}");
        let failure = project.ok(&["failures", "show", "a"]).stdout;
        assert!(failure.contains("no such module"), "{output}: {failure}");
    }
}
