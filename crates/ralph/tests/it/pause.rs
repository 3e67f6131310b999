//! The pause, driven through a real pseudo-terminal.

use expectrl::process::unix::WaitStatus;
use expectrl::session::OsSession;
use expectrl::{Eof, Expect};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, tcgetattr};

use crate::support::{Project, eventually};

const QUESTION: &str = "[r]esume / [s]kip / [a]bort:";

/// Two tasks whose gates fail the same way while `broken` is there; two failures open the breaker.
fn project() -> Project {
    let mut project = Project::new();
    project.set_env("TERM", "xterm-256color");
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "2");
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "1");
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.write("gate.sh", "[ -f broken ] || exit 0\necho \"sh: 1: frobnicate: not found\"\nexit 1");
    project.write("broken", "");
    for key in ["a", "b", "c"] {
        project.add(&[&format!("Thing {key}"), "--key", key, "--verify", "sh gate.sh"]);
    }
    project
}

/// A run in a terminal that somebody sits at.
struct Seat {
    session: OsSession,
}

impl Seat {
    fn take(project: &Project, args: &[&str]) -> Self {
        Self { session: project.in_terminal(args, 100) }
    }

    /// Waits for a text; returns what came before it.
    #[track_caller]
    fn wait_for(&mut self, text: &str) -> String {
        let found = self.session.expect(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        String::from_utf8_lossy(found.before()).into_owned()
    }

    /// Waits for the question; returns what came before it. By then keys are heard: what is typed from here on is an answer.
    #[track_caller]
    fn wait_for_question(&mut self) -> String {
        let screen = self.wait_for(QUESTION);
        assert!(self.hears_keys(), "the question was shown too early");
        screen
    }

    /// Whether each key is read as it is pressed.
    fn hears_keys(&self) -> bool {
        let terminal = self.session.get_process().get_raw_handle().unwrap();
        !tcgetattr(terminal).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// Whether a line that was typed waits to be read.
    fn has_unread_line(&self) -> bool {
        let path = format!("/proc/{}/fd/0", self.session.get_process().pid());
        let terminal = rustix::fs::open(path, OFlags::RDONLY | OFlags::NOCTTY, Mode::empty()).unwrap();
        poll(&mut [PollFd::new(&terminal, PollFlags::IN)], Some(&Timespec::default())).unwrap() > 0
    }

    fn type_in(&mut self, keys: &str) {
        self.session.send(keys).unwrap();
    }

    /// Waits for the end; returns the rest of the screen and the exit code.
    #[track_caller]
    fn end(mut self) -> (String, i32) {
        let rest = self.session.expect(Eof).unwrap();
        let rest = String::from_utf8_lossy(rest.as_bytes()).into_owned();
        match self.session.get_process().wait().unwrap() {
            WaitStatus::Exited(_, code) => (rest, code),
            other => panic!("{other:?}\n{rest}"),
        }
    }
}

#[test]
fn pau_01_03_resume_resets_and_the_next_failure_does_not_ask_again() {
    let project = project();
    let mut seat = Seat::take(&project, &["run"]);
    let screen = seat.wait_for_question();
    assert!(screen.contains("CIRCUIT BREAKER: 2 consecutive failures"), "{screen}");
    assert!(screen.contains("Multiple tasks are failing - systemic issue suspected"));
    assert!(screen.contains("Failure Analysis:") && screen.contains("frobnicate"));
    assert!(screen.contains("33mCIRCUIT BREAKER"), "yellow: {screen:?}");
    seat.type_in("r");
    // a and b are forgiven and fail again: the first of them does not ask, the second does.
    seat.wait_for_question();
    assert_eq!(project.history().len(), 4);
    std::fs::remove_file(project.path("broken")).unwrap();
    seat.type_in("R\n");
    let (rest, code) = seat.end();
    assert_eq!(code, 0, "{rest}");
}

#[test]
fn pau_02_a_wrong_key_asks_again() {
    let project = project();
    let mut seat = Seat::take(&project, &["run"]);
    seat.wait_for_question();
    let status = project.ok(&["status"]).stdout;
    assert!(status.contains("waiting for your answer in its terminal"), "{status}");
    // All at once: none of it is lost.
    seat.type_in("x\na");
    seat.wait_for("Invalid choice. Enter r, s, or a.");
    seat.wait_for("[r]esume / [s]kip / [a]bort:");
    let (rest, code) = seat.end();
    assert_eq!(code, 7, "{rest}");
    assert!(rest.contains("Stopped: you aborted the run") && !rest.contains("error:"), "{rest}");
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["breaker"]["state"], "open", "abort leaves it open");
}

#[test]
fn pau_02_a_key_typed_as_the_question_appears_is_an_answer() {
    let project = project();
    let mut seat = Seat::take(&project, &["run"]);
    // Nobody has read the screen yet.
    eventually("keys are heard", || seat.hears_keys());
    seat.type_in("a");
    let (screen, code) = seat.end();
    assert_eq!(code, 7, "{screen}");
}

#[test]
fn pau_02_what_was_typed_during_an_attempt_is_no_answer() {
    let project = project();
    let waits = "cat >/dev/null; touch began; until [ -e go ]; do sleep 0.05; done";
    project.write("agent.sh", &format!("{waits}; echo \"<task-done>$RALPH_TASK_ID</task-done>\""));
    let mut seat = Seat::take(&project, &["run"]);
    eventually("an attempt is made", || project.path("began").exists());
    seat.type_in("a\n");
    eventually("the line has arrived", || seat.has_unread_line());
    project.write("go", "");
    seat.wait_for_question();
    std::fs::remove_file(project.path("broken")).unwrap();
    seat.type_in("r");
    let (rest, code) = seat.end();
    assert_eq!(code, 0, "{rest}");
}

#[test]
fn quiet_never_asks() {
    for (args, code) in [
        (&["-C", "web", "init", "--quiet"][..], 2),
        (&["-C", "../new", "init", "--quiet"], 0),
        (&["init", "--quiet"], 0),
        (&["run", "--quiet"], 6),
        // These ask, and have no such option.
        (&["plan", "--quiet", "A goal"], 2),
        (&["task", "delete", "--quiet", "a"], 2),
    ] {
        let project = project();
        project.write("web/index.html", "");
        project.write("../new/index.html", "");
        let (screen, ended) = Seat::take(&project, args).end();
        assert_eq!(ended, code, "{args:?}: {screen}");
        assert!(!screen.contains("? ") && !screen.contains(QUESTION), "{args:?}: {screen}");
    }
}

#[test]
fn pau_04_skip_goes_on_with_another_task_and_never_the_same() {
    let project = project();
    let mut seat = Seat::take(&project, &["run"]);
    seat.wait_for_question();
    std::fs::remove_file(project.path("broken")).unwrap();
    seat.type_in("s");
    let (rest, code) = seat.end();
    assert_eq!(code, 5, "a still waits: {rest}");
    assert_eq!(project.status_of("b"), "skipped", "the last to fail");
    let tried: Vec<String> =
        project.history().iter().map(|a| a["key"].as_str().unwrap().to_owned()).collect();
    assert_eq!(tried, ["a", "b", "c"]);
    let state = project.read(".ralph/STATE.md");
    assert!(!state.contains("**Next task:** b"), "{state}");
}

#[test]
fn pau_05_ctrl_c_and_a_closed_terminal_end_the_run() {
    let project = project();
    let mut seat = Seat::take(&project, &["run"]);
    seat.wait_for_question();
    seat.type_in("\u{3}");
    assert_eq!(seat.end().1, 130);
    let project = self::project();
    let mut seat = Seat::take(&project, &["run"]);
    seat.wait_for_question();
    seat.type_in("\u{4}");
    assert_eq!(seat.end().1, 7, "end of input");
    let project = self::project();
    let mut seat = Seat::take(&project, &["run"]);
    seat.wait_for_question();
    drop(seat);
    // The terminal is gone: nothing of the run stays.
    eventually("the run ends", || project.json(&["status", "--json"])["run"]["ended_at"].is_string());
    let run = &project.json(&["status", "--json"])["run"];
    assert_eq!(run["outcome"], "aborted", "{run}");
    assert_eq!(run["exit_code"], 7);
}

#[test]
fn pau_05_under_nohup_a_run_outlives_its_terminal() {
    let project = project();
    // The shell ends with the session; what it started goes on.
    let program = env!("CARGO_BIN_EXE_ralph");
    let script = format!("trap '' HUP; {program} run </dev/tty & wait");
    let session = project.any_in_terminal(&["sh", "-c", &script], 100, "");
    let mut seat = Seat { session };
    seat.wait_for_question();
    drop(seat);
    eventually("the run goes on as if nobody were there", || {
        project.json(&["status", "--json"])["run"]["exit_code"] == 6
    });
}

#[test]
fn pau_06_pause_on_says_when_and_nobody_means_unattended() {
    for (name, value, args, code) in [
        ("RALPH_SET_RUN_PAUSE_ON", "never", vec!["run"], 6),
        ("RALPH_SET_RUN_PAUSE_TIMEOUT", "1", vec!["run"], 6),
        ("RALPH_SET_RUN_PAUSE_ON", "breaker", vec!["run", "--no-input"], 6),
    ] {
        let mut project = project();
        project.set_env(name, value);
        let (rest, ended) = Seat::take(&project, &args).end();
        assert_eq!(ended, code, "{rest}");
    }
    let mut project = project();
    project.set_env("RALPH_SET_RUN_PAUSE_ON", "failure");
    let mut seat = Seat::take(&project, &["run"]);
    let screen = seat.wait_for_question();
    assert!(screen.contains("FAILURE: an attempt on a failed"), "{screen}");
    seat.type_in("s");
    let screen = seat.wait_for_question();
    assert!(screen.contains("FAILURE: an attempt on b failed"), "skip reset the count: {screen}");
    seat.type_in("a");
    assert_eq!(seat.end().1, 7);
    assert_eq!(project.status_of("a"), "skipped");
}

#[test]
fn pau_06_a_stuck_task_asks_where_that_is_wanted() {
    let mut project = project();
    project.set_env("RALPH_SET_RUN_PAUSE_ON", "stuck");
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "5");
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "50");
    let mut seat = Seat::take(&project, &["run"]);
    let screen = seat.wait_for_question();
    assert!(screen.contains("STUCK: a has failed 3 times in a row"), "{screen}");
    seat.type_in("a");
    assert_eq!(seat.end().1, 7);
    assert_eq!(project.history().len(), 3);
}

#[test]
fn pau_01_no_color_means_no_escape_codes_in_the_warning() {
    let mut project = project();
    project.set_env("NO_COLOR", "1");
    let mut seat = Seat::take(&project, &["run"]);
    let screen = seat.wait_for_question();
    let warning = screen.split("CIRCUIT BREAKER").nth(1).unwrap();
    assert!(!warning.contains("\u{1b}["), "{warning:?}");
    seat.type_in("a");
    assert_eq!(seat.end().1, 7);
}
