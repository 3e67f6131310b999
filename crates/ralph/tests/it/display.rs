//! What a person sees: the live display in a real pseudo-terminal.

use expectrl::{Eof, Expect};

use crate::support::{Project, eventually};

/// Runs the binary in a terminal of so many columns to its end; returns everything it wrote.
fn in_terminal(project: &Project, args: &[&str], columns: u16) -> String {
    let mut session = project.in_terminal(args, columns);
    let captured = session.expect(Eof).unwrap();
    String::from_utf8_lossy(captured.as_bytes()).into_owned()
}

/// Whether a colour or style is set anywhere: `ESC [ … m`.
fn is_styled(screen: &str) -> bool {
    screen.split("\u{1b}[").skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

fn project() -> Project {
    let mut project = Project::new();
    project.set_env("TERM", "xterm-256color");
    project.agent(
        "sleep 0.4; echo 'Reading the parser'; sleep 0.4
         case $RALPH_TASK_KEY in
           bad) echo 'FAILURE_REASON: the widget is square and it ought to be round, says the specification';;
           *) echo \"<task-done>$RALPH_TASK_ID</task-done>\";;
         esac",
    );
    project.add(&["A task whose title is rather long and does not fit a narrow terminal", "--key", "good"]);
    project.add(&["Bad", "--key", "bad"]);
    project
}

#[test]
fn a_terminal_shows_what_is_done_now_and_how_far_the_plan_is() {
    let project = project();
    let screen = in_terminal(&project, &["run", "--max-attempts", "1"], 60);
    for seen in [
        "attempt 1",
        "Reading the parser",
        "0 of 2 done · ",
        "1 of 2 done (1 ",
        "░",
        "ATTEMPTS",
        "blocked (needs you)",
        "Stopped:",
    ] {
        assert!(screen.contains(seen), "{seen} in {screen:?}");
    }
    assert!(is_styled(&screen), "{screen:?}");
}

#[test]
fn no_color_and_narrow_terminals_are_respected() {
    let mut project = project();
    project.set_env("NO_COLOR", "1");
    let screen = in_terminal(&project, &["run", "--max-attempts", "1"], 40);
    assert!(!is_styled(&screen), "{screen:?}");
    // After the live lines are cleared, everything that stays fits.
    let stays = in_terminal(&project, &["task", "list"], 40);
    for line in stays.lines() {
        assert!(line.trim_end().chars().count() <= 40, "{line:?}");
    }
}

#[test]
fn quiet_in_a_terminal_is_quiet() {
    let project = project();
    project.ok(&["task", "skip", "bad"]);
    assert_eq!(in_terminal(&project, &["run", "--quiet"], 80).trim(), "");
}

#[test]
fn exit_04_out_08_a_terminal_that_is_closed_ends_the_run_in_order() {
    let mut project = Project::new();
    project.set_env("TERM", "xterm-256color");
    project.agent("echo 'I work'; touch begun; sleep 60");
    project.add(&["A", "--key", "a"]);
    let session = project.in_terminal(&["run"], 80);
    eventually("the agent begins", || project.path("begun").exists());
    drop(session);
    eventually("the run ends", || project.json(&["status", "--json"])["run"]["ended_at"].is_string());
    let run = project.json(&["status", "--json"])["run"].clone();
    assert_eq!(run["exit_code"], 143, "{run}");
    let tried = &project.history()[0];
    assert_eq!(tried["error_type"], "interrupted", "{tried}");
    assert_eq!(tried["counted"], false);
    assert_eq!(project.status_of("a"), "pending");
}
