//! Every pane as it looks, and what keys and the mouse do: the real store behind, a buffer in place of the terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use ralph_core::model::{Attempt, ErrorType, GateOutcome, Outcome};

use super::*;
use crate::tui::testing::{NOW, RUN, Sample, Shown, task};
use crate::ui::format;

fn mouse(shown: &mut Shown, kind: MouseEventKind, column: u16, row: u16) {
    let modifiers = KeyModifiers::NONE;
    shown.event(Event::Mouse(MouseEvent { kind, column, row, modifiers }));
    shown.settle();
}

#[test]
fn the_first_screen_says_how_far_what_now_and_what_needs_a_person() {
    let shown = Sample::night().show(100, 30);
    insta::assert_snapshot!(shown.screen());
}

#[test]
fn a_large_terminal_has_all_five_panes() {
    let shown = Sample::night().show(160, 50);
    insta::assert_snapshot!(shown.screen());
}

#[test]
fn a_small_terminal_has_one_pane_at_a_time() {
    let mut shown = Sample::night().show(60, 15);
    let mut screens = vec![shown.screen()];
    for _ in 0..4 {
        shown.key(KeyCode::Tab);
        screens.push(shown.screen());
    }
    insta::assert_snapshot!(screens.join("\n=====\n"));
}

#[test]
fn no_size_makes_it_fail() {
    let mut shown = Sample::night().show(100, 30);
    for (width, height) in
        [(1, 1), (19, 3), (20, 4), (33, 9), (79, 19), (80, 20), (60, 15), (300, 100), (1000, 8)]
    {
        for keys in ["?", "?", ":", "", "/", ""] {
            shown.resize(width, height);
            shown.keys(keys);
            shown.screen();
            shown.key(KeyCode::Esc);
        }
    }
}

#[test]
fn every_tab_shows_what_its_command_shows() {
    let mut shown = Sample::night().show(100, 30);
    shown.keys("3");
    shown.expect("I look at the tests first.");
    shown.key(KeyCode::Right);
    shown.expect("[Prompt]");
    // No prompt was kept: that of the next attempt stands in its place.
    shown.expect("the prompt of attempt 2 of 2.2 was not kept");
    shown.expect("## Assigned Task");
    shown.sample.keep_prompt("## Told\n\nUse ghp_0123456789abcdefghijABCDEFGHIJ012345 here.\n");
    shown.keys("x");
    shown.expect("Learnings: ");
    shown.keys("x");
    shown.expect("attempt 2, sonnet · x: prompt of the next attempt");
    shown.expect("## Told");
    assert!(!shown.screen().contains("ghp_"), "{}", shown.screen());
    // The report of the attempt before.
    shown.keys("2");
    shown.key(KeyCode::Up);
    shown.keys("3");
    shown.key(KeyCode::Right);
    for text in ["[Report]", "attempt 1", "gate failed: 3 of 41 tests failed", "Count from 1."] {
        shown.expect(text);
    }
    shown.keys("d");
    shown.expect("made without git");
    shown.keys("3");
    shown.key(KeyCode::Right);
    for text in ["[Log]", "Run r-00000001: 8 tasks", "2.4 blocked (needs you): same failure 3 times"] {
        shown.expect(text);
    }
}

#[test]
fn the_keys_that_there_are_are_listed() {
    let mut shown = Sample::night().show(100, 50);
    shown.keys("?");
    insta::assert_snapshot!(shown.screen());
    shown.keys("q");
    assert!(!shown.app.help && shown.effects.is_empty());
    shown.keys("q");
    assert_eq!(shown.effects, [Effect::Quit]);
}

#[test]
fn a_project_without_a_task_or_a_run_says_what_to_type() {
    let shown = Sample::empty().show(80, 20);
    for text in ["no run yet; start one: ralph run", "no tasks yet; a adds one"] {
        shown.expect(text);
    }
    let mut shown = Sample::plan().show(100, 30);
    shown.expect("0 of 8 done");
    shown.keys("p");
    shown.expect("no run is under way; start one: ralph run");
}

#[test]
fn the_selection_follows_the_run_until_somebody_chooses() {
    let mut shown = Sample::night().show(100, 30);
    shown.expect("2 Attempts of 2.2");
    let moved = |shown: &Shown, from: &str, to: &str| {
        let db = shown.sample.database();
        let id = |key: &str| shown.sample.store().task(key).unwrap().id.to_string();
        db.execute("UPDATE tasks SET status = 'pending' WHERE id = ?1", [id(from)]).unwrap();
        db.execute("UPDATE tasks SET status = 'in_progress' WHERE id = ?1", [id(to)]).unwrap();
        db.execute("UPDATE claims SET task_id = ?1", [id(to)]).unwrap();
    };
    moved(&shown, "2.2", "2.3");
    shown.settle();
    shown.expect("2 Attempts of 2.3");
    shown.key(KeyCode::Up);
    shown.expect("2 Attempts of 2.2");
    moved(&shown, "2.3", "1.1");
    shown.settle();
    shown.expect("2 Attempts of 2.2");
    shown.key(KeyCode::Esc);
    shown.expect("2 Attempts of 1.1");
}

#[test]
fn what_is_being_read_stays_when_the_run_moves_on() {
    let mut shown = Sample::night().show(100, 30);
    shown.expect("following the run");
    shown.keys("3");
    shown.key(KeyCode::Right);
    shown.key(KeyCode::Right);
    shown.expect("[Report]");
    assert!(!shown.screen().contains("following the run"));
    let end = "INSERT INTO iteration_outcomes (task_id, attempt_number, ordinal, counted, model, started_at, duration_ms, outcome, run_id, agent)
         SELECT task_id, 2, 2, 1, model, started_at, 1000, 'failed', run_id, agent FROM claims";
    let next = "UPDATE claims SET attempt_number = 3, log_path = NULL";
    for sql in [end, next] {
        shown.sample.database().execute(sql, []).unwrap();
    }
    shown.settle();
    shown.expect("attempt 2 · failed");
    // The newest one is watched again.
    shown.keys("2G");
    shown.expect("under way: the report comes when the attempt has ended");
}

#[test]
fn what_the_agent_does_is_followed_until_somebody_scrolls() {
    let mut shown = Sample::night().show(100, 30);
    let said: Vec<String> = (0..100).map(|n| format!("step {n} of many")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    shown.sample.log(&said);
    shown.settle();
    shown.expect("step 99 of many");
    shown.keys("3k");
    assert!(!shown.app.text.follows);
    shown.keys("g");
    assert!(!shown.screen().contains("step 99 "));
    shown.keys("G");
    assert!(shown.app.text.follows);
    shown.expect("step 99 of many");
    // Every line of a text can be searched.
    shown.keys("/step 42 ");
    shown.key(KeyCode::Enter);
    shown.expect("step 42 of many");
    shown.keys("/nothing of the kind");
    shown.key(KeyCode::Enter);
    shown.expect("is not in this text");
}

#[test]
fn problems_only_leaves_out_everything_else() {
    let mut shown = Sample::night().show(100, 30);
    shown.keys("P");
    shown.expect("1 Problems");
    let screen = shown.screen();
    assert!(screen.contains("2.4 Import from CSV") && screen.contains("1.3 Describe the format"), "{screen}");
    assert!(!screen.contains("Keep the list"), "{screen}");
    shown.keys("P");
    shown.expect("Keep the list");
}

#[test]
fn a_search_goes_from_one_to_the_next_and_around() {
    let mut shown = Sample::plan().show(100, 30);
    shown.keys("/the");
    shown.key(KeyCode::Enter);
    shown.expect("1 of 3 with `the`");
    shown.keys("n");
    shown.expect("2 Attempts of 1.3");
    shown.keys("nn");
    shown.expect("2 Attempts of 1.1");
    shown.keys("N");
    shown.expect("2 Attempts of 3.2");
    shown.keys("/nobody has 100%");
    shown.key(KeyCode::Enter);
    shown.expect("no task has");
}

#[test]
fn each_change_asks_once_and_shows_a_receipt() {
    let mut shown = Sample::night().show(100, 30);
    // What is typed, what the question says, and the receipt.
    for (select, key, typed, question, receipt) in [
        ("2.3", ":", "use the short form", "Note for 2.3", "2.3 Undo · note for the next attempt"),
        ("2.3", "m", "sonnet", "Known: haiku, sonnet.", "2.3 Undo · sonnet for the next attempt"),
        ("2.4", "r", "", "Let 2.4 Import from CSV go ahead?", "2.4 Import from CSV · may be attempted again"),
        ("3.2", "s", "nobody reads it", "Skip 3.2 Write the manual?", "3.2 Write the manual · skipped"),
        ("3.2", "z", "", "You skipped 3.2 (Write the manual).", "undone: you skipped 3.2"),
        ("3.2", "a", "Publish it", "Add a task", "Publish it · added"),
    ] {
        let id = shown.sample.store().task(select).unwrap().id;
        shown.app.select(Some(&id));
        shown.event(Event::Resize(shown.app.size));
        shown.settle();
        let before = shown.sample.store().plan_actions(100).unwrap().len();
        shown.keys(key);
        shown.expect(question);
        shown.key(KeyCode::Esc);
        assert_eq!(shown.sample.store().plan_actions(100).unwrap().len(), before, "{key}");
        shown.keys(key);
        shown.keys(typed);
        shown.key(KeyCode::Enter);
        shown.expect(receipt);
    }
    let store = shown.sample.store();
    let undo = store.task("2.3").unwrap();
    assert_eq!(store.notes(&undo.id).unwrap()[0].text, "use the short form");
    assert_eq!(store.metrics(&undo.id).unwrap().users_model.as_deref(), Some("sonnet"));
    assert_eq!(store.task("2.4").unwrap().status.as_str(), "pending");
    assert_eq!(store.task("3.2").unwrap().status.as_str(), "pending");
    assert!(store.tasks(None).unwrap().iter().any(|task| task.title == "Publish it"));
}

#[test]
fn the_run_is_paused_and_resumed_by_one_key() {
    let mut shown = Sample::night().show(100, 30);
    shown.keys("py");
    shown.expect("pauses after its current attempt");
    shown.expect("pausing");
    shown.keys("p");
    shown.expect("Resume the run?");
    shown.keys("y");
    shown.expect("run r-00000001 resumed");
}

#[test]
fn what_cannot_be_done_says_why() {
    let mut shown = Sample::night().show(100, 30);
    shown.keys("r");
    shown.expect("error: 2.2 Tick items off is not blocked");
    shown.keys("G!");
    shown.expect("No attempt is under way: its next attempt reads the note.");
    shown.key(KeyCode::Esc);
    shown.app.read_only = true;
    for key in [":", "!", "p", "r", "s", "m", "e", "a", "z"] {
        shown.keys(key);
        assert!(shown.app.dialog.is_none() && shown.effects.is_empty(), "{key}");
        shown.expect("inside an attempt nothing can be changed");
    }
}

#[test]
fn an_edited_task_is_changed_after_a_question() {
    let mut shown = Sample::night().show(100, 30);
    shown.keys("e");
    let Some(Effect::Edit(task)) = shown.effects.pop() else { panic!("no editor") };
    assert_eq!(task.title, "Tick items off");
    let edit = ralph_core::model::TaskEdit { title: Some("Tick off".to_owned()), ..Default::default() };
    shown.event(Event::Edited(task.id.clone(), Ok(Some(Box::new(edit)))));
    shown.expect("Changes: title.");
    shown.key(KeyCode::Enter);
    shown.expect("2.2 Tick off · changed");
    shown.event(Event::Edited(task.id.clone(), Ok(None)));
    shown.expect("nothing was changed");
    shown.event(Event::Edited(task.id.clone(), Err("vi failed".to_owned())));
    shown.expect("error: vi failed");
}

#[test]
fn the_mouse_selects_scrolls_and_opens_tabs_and_can_be_switched_off() {
    let mut shown = Sample::night().show(100, 30);
    let click = MouseEventKind::Down(MouseButton::Left);
    let row = shown.screen().lines().position(|line| line.contains("2.4 Import")).unwrap();
    mouse(&mut shown, click, 5, row as u16);
    shown.expect("2 Attempts of 2.4");
    mouse(&mut shown, MouseEventKind::ScrollDown, 5, 8);
    shown.expect("2 Attempts of 3.2");
    let tabs = shown.screen().lines().position(|line| line.contains("[Live]")).unwrap();
    let at = shown.screen().lines().nth(tabs).unwrap().chars().collect::<String>();
    let column =
        at.chars().collect::<Vec<_>>().windows(6).position(|six| six.iter().collect::<String>() == "Report");
    mouse(&mut shown, click, column.unwrap() as u16, tabs as u16);
    shown.expect("[Report]");
    shown.keys("M");
    assert_eq!(shown.effects, [Effect::Mouse(false)]);
}

#[test]
fn what_is_selected_is_copied() {
    let mut shown = Sample::night().show(100, 30);
    shown.keys("y");
    assert_eq!(shown.effects.pop(), Some(Effect::Copy("2.2 Tick items off".to_owned())));
    shown.keys("3y");
    let Some(Effect::Copy(text)) = shown.effects.pop() else { panic!("nothing copied") };
    assert!(text.contains("I look at the tests first."), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_tree_is_folded_and_unfolded() {
    let sample = Sample::plan();
    let parent = sample.store().task("1.1").unwrap().id;
    let mut seed = 100;
    for (key, title) in [("1.1.1", "Open it"), ("1.1.2", "Lock it")] {
        let new = ralph_core::model::NewTask {
            title: title.to_owned(),
            key: Some(ralph_core::model::Key::from_stored(key)),
            parent: Some(parent.clone()),
            ..Default::default()
        };
        let mut random = || {
            seed += 1;
            seed
        };
        sample.store().add_task(&new, crate::tui::testing::NOW, &mut random).unwrap();
    }
    let mut shown = sample.show(100, 30);
    shown.expect("  · 1.1.1 Open it");
    shown.keys("gh");
    shown.expect("▸2");
    assert!(!shown.screen().contains("Open it"));
    shown.keys("/Lock");
    shown.key(KeyCode::Enter);
    shown.expect("2 Attempts of 1.1.2");
    shown.keys("h");
    shown.expect("2 Attempts of 1.1 ");
    shown.key(KeyCode::Enter);
    assert!(!shown.screen().contains("Open it"));
}

#[test]
fn runs_that_ended_crashed_or_are_older_say_so() {
    let finished = || {
        let sample = Sample::night();
        let end = "UPDATE runs SET ended_at = ?1, outcome = 'finished', exit_code = 0";
        sample.database().execute(end, ["2027-01-15T07:00:00Z"]).unwrap();
        sample.database().execute("DELETE FROM claims", []).unwrap();
        sample
    };
    let shown = finished().show(100, 30);
    shown.expect("todo · finished after ");
    // Nothing runs, so the first look is at what needs a person.
    shown.expect("2 Attempts of 2.4");
    finished().show(60, 15).expect(" of 8 done");
    let sample = Sample::night();
    sample.database().execute("UPDATE runs SET pid = 1, pid_started = 'never'", []).unwrap();
    let shown = sample.show(100, 30);
    shown.expect("crashed after");
    shown.expect("to continue: ralph run");
    // What it was working on waits again.
    shown.expect("· 2.2 Tick items off");
    let sample = Sample::night();
    let newer = "INSERT INTO runs (id, started_at, ended_at, outcome, exit_code, settings, host, pid, pid_started, number)
         SELECT 'r-00000002', '2027-01-15T07:59:00Z', '2027-01-15T07:59:30Z', 'finished', 0, '{}', host, pid, pid_started, 2
         FROM runs";
    sample.database().execute(newer, []).unwrap();
    sample.database().execute("DELETE FROM claims", []).unwrap();
    sample
        .database()
        .execute(
            "UPDATE runs SET ended_at = started_at, exit_code = 4, outcome = 'limit' WHERE id = ?1",
            [RUN],
        )
        .unwrap();
    let mut shown = sample.show_run(100, 30, Some(RUN));
    shown.expect("r-00000001 limit after");
    shown.keys("/2.1");
    shown.key(KeyCode::Enter);
    shown.expect("#2 sonnet");
}

#[test]
fn hostile_texts_reach_the_screen_as_letters() {
    let sample = Sample::night();
    let hostile = "evil\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}txt\u{200b}\u{9b}31m\r\nmore";
    let id = sample.store().task("2.2").unwrap().id;
    sample
        .database()
        .execute("UPDATE tasks SET title = ?1, reason = ?1 WHERE id = ?2", [hostile, id.as_str()])
        .unwrap();
    sample.database().execute("UPDATE learnings SET content = ?1, category = ?1", [hostile]).unwrap();
    sample
        .database()
        .execute("UPDATE iteration_outcomes SET message = ?1, model = ?1, rationale = ?1", [hostile])
        .unwrap();
    sample.log(&[hostile]);
    let mut shown = sample.show(160, 50);
    for keys in ["", "x", "x", "d", "2", "k", "3l", "l", "l", "l", "l"] {
        shown.keys(keys);
        let screen = shown.screen();
        let bad = screen.chars().find(|c| c.is_control() && *c != '\n' || ralph_core::text::is_invisible(*c));
        assert_eq!(bad, None, "{screen}");
        assert!(screen.contains("evil"), "{screen}");
    }
}

#[test]
fn only_what_is_in_view_is_asked_for() {
    let sample = Sample::empty();
    {
        let db = sample.database();
        for n in 0..500 {
            db.execute(
                "INSERT INTO tasks (id, title, created_at, updated_at, position) VALUES (?1, ?1, '', '', ?2)",
                rusqlite::params![format!("t-{n:06}"), n],
            )
            .unwrap();
        }
    }
    let mut shown = sample.show(100, 30);
    assert!(shown.app.wanted.rows.len() < 100, "{}", shown.app.wanted.rows.len());
    shown.keys("G");
    shown.expect("t-000499");
    assert!(shown.app.plan.len() < 100);
    shown.event(Event::Key(KeyEvent::new(KeyCode::PageUp, KeyModifiers::NONE)));
    shown.settle();
    shown.expect("t-000476");
}

#[test]
fn a_failed_test_that_the_agent_reported_was_no_gate() {
    let mut attempt = Attempt::new(&task("1.1", "a"), NOW);
    attempt.outcome = Outcome::Failed;
    attempt.error_type = Some(ErrorType::TestFailure);
    attempt.message = Some("3 of 41".to_owned());
    assert_eq!(format::outcome_line(&attempt), "failed (test failure): 3 of 41");
    attempt.gate = Some(GateOutcome::Failed);
    assert_eq!(format::outcome_line(&attempt), "gate failed: 3 of 41");
}
