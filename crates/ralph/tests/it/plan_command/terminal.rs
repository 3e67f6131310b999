//! What a person at a terminal does with a plan.

use expectrl::process::unix::WaitStatus;
use expectrl::{Eof, Expect};

use super::{GOAL, PLAN, SAVED, project, prompt, sessions, titles};
use crate::support::Project;

const QUESTION: &str = "[q]uit? ";

/// Types these lines, each after what it waits for; the rest of the screen and the exit code.
#[track_caller]
fn plan(project: &Project, args: &[&str], lines: &[(&str, &str)]) -> (String, i32) {
    let mut session = project.in_terminal(&[&["plan", GOAL][..], args].concat(), 100);
    for (wait_for, line) in lines {
        session.expect(*wait_for).unwrap_or_else(|e| panic!("{wait_for}: {e}"));
        session.send_line(line).unwrap();
    }
    let rest = session.expect(Eof).unwrap();
    let rest = String::from_utf8_lossy(rest.as_bytes()).into_owned();
    match session.get_process().wait().unwrap() {
        WaitStatus::Exited(_, code) => (rest, code),
        other => panic!("{other:?}\n{rest}"),
    }
}

#[test]
fn a_plan_is_accepted_saved_or_left() {
    for (lines, code, saved, tasks) in [
        (&[("1.2 Write the page", ""), (QUESTION, "a")][..], 0, true, 2),
        (&[(QUESTION, "s")], 0, true, 0),
        (&[(QUESTION, "q")], 7, false, 0),
        // A slip of the finger and a wish that was not written cost no session.
        (&[(QUESTION, "w"), (QUESTION, "c"), ("different?", ""), (QUESTION, "a")], 0, true, 2),
    ] {
        let project = project(&[PLAN]);
        let (rest, ended) = plan(&project, &[], lines);
        assert_eq!(
            (project.path(SAVED).exists(), titles(&project).len()),
            (saved, tasks),
            "{lines:?}: {rest}"
        );
        assert_eq!(sessions(&project), ["plan 1 done"], "{lines:?}");
        assert!(rest.contains(if saved { "saved 2 tasks" } else { "nothing was saved" }), "{rest}");
        assert_eq!(ended, code, "{lines:?}: {rest}");
    }
}

#[test]
fn a_plan_is_changed_in_words() {
    let other = PLAN.replace("Write the page", "Draw the page");
    let project = project(&[PLAN, &other]);
    let lines =
        [(QUESTION, "c"), ("What should be different?", "Draw it"), ("Draw the page", ""), (QUESTION, "a")];
    let (rest, code) = plan(&project, &[], &lines);
    assert_eq!(code, 0, "{rest}");
    assert_eq!(titles(&project), ["Write the form", "Draw the page"]);
    assert_eq!(sessions(&project), ["plan 1 done", "plan 2 done"]);
    let asked = prompt(&project, 2);
    assert!(asked.contains("Change the plan: Draw it") && asked.contains(PLAN.trim_end()), "{asked}");
}

#[test]
fn a_plan_is_edited_and_checked_again() {
    // An edited plan is shown again. What the check finds in it goes to the agent only where the person wants that.
    let fixed = PLAN.replace("Write the page", "Fixed page");
    for (script, asked_again) in [
        ("sed -i 's/Write the page/Edited page/' \"$1\"", None),
        ("sed -i 's/test -f page.txt/true/' \"$1\"", Some("1.2: the gate `true` passes already")),
        ("sed -i 's/1.2 Write/1.1 Write/' \"$1\"", Some("a task above has the key 1.1")),
    ] {
        let mut project = project(&[PLAN, &fixed]);
        project.write("edit.sh", script);
        project.set_env("EDITOR", "sh edit.sh");
        let (title, lines) = match asked_again {
            None => ("Edited page", &[(QUESTION, "e"), ("Edited page", ""), (QUESTION, "a")][..]),
            Some(reason) => (
                "Fixed page",
                &[(QUESTION, "e"), (reason, ""), ("[f]ix", "f"), ("Fixed page", ""), (QUESTION, "a")][..],
            ),
        };
        let (rest, code) = plan(&project, &[], lines);
        assert_eq!(code, 0, "{script}: {rest}");
        assert_eq!(titles(&project), ["Write the form", title], "{script}");
        assert!(!project.path(".ralph/plan-being-edited.md").exists());
        if let Some(reason) = asked_again {
            let asked = prompt(&project, 2);
            assert!(asked.contains("edited by hand") && asked.contains(reason), "{script}: {asked}");
        }
    }
}

#[test]
fn a_person_may_accept_what_the_check_finds_fault_with() {
    let mut project = project(&[PLAN]);
    project.write("edit.sh", "sed -i 's/test -f page.txt/true/' \"$1\"");
    project.set_env("EDITOR", "sh edit.sh");
    let (rest, code) =
        plan(&project, &[], &[(QUESTION, "e"), ("passes already", ""), ("[a]ccept as it is", "a")]);
    assert_eq!(code, 0, "{rest}");
    assert_eq!(project.task("1.2")["verify"], "true");
    assert_eq!(sessions(&project), ["plan 1 done"]);
}

#[test]
fn an_interview_adds_the_answers_to_the_goal() {
    let project = project(&[PLAN]);
    project.write(".ralph/answer.0", "? Which provider?\n? Which page?\n");
    let lines = [("Which provider?", "GitHub"), ("Which page?", "The first"), (QUESTION, "a")];
    let (rest, code) = plan(&project, &["--interview"], &lines);
    assert_eq!(code, 0, "{rest}");
    assert!(prompt(&project, 0).contains("at most five questions"));
    let asked = prompt(&project, 1);
    for answer in ["- Which provider? GitHub", "- Which page? The first"] {
        assert!(asked.contains(answer), "{asked}");
    }
    assert_eq!(sessions(&project), ["plan 0 done", "plan 1 done"]);
}
