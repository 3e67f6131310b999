//! The terminal UI in a real pseudo-terminal: keys are typed and the screen is read while a real run goes on.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use expectrl::process::unix::WaitStatus;
use expectrl::session::OsSession;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{Background, PATIENCE, Project, eventually};

/// What the tests' agents end with.
const DONE: &str = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"";
const LEFT: &str = "\u{1b}[?1049l";

/// A terminal with a program in it, and what stands on its screen.
struct Terminal {
    session: OsSession,
    screen: vt100::Parser,
    /// Everything that was written.
    all: Vec<u8>,
}

impl Terminal {
    fn new(session: OsSession, columns: u16) -> Self {
        Self { session, screen: vt100::Parser::new(30, columns, 0), all: Vec::new() }
    }

    /// Reads what was written since; `false` at its end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.session.try_read(&mut buffer) {
                Ok(0) => return false,
                Ok(length) => {
                    self.screen.process(&buffer[..length]);
                    self.all.extend_from_slice(&buffer[..length]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen is as wanted.
    #[track_caller]
    fn until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) {
        let started = Instant::now();
        loop {
            let goes_on = self.read();
            if wanted(&self.text()) {
                return;
            }
            assert!(goes_on && started.elapsed() < PATIENCE, "no {what} in\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    fn expect(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    fn press(&mut self, keys: &str) {
        use std::io::Write;
        self.session.write_all(keys.as_bytes()).unwrap();
        self.session.flush().unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.session.get_process().pid().as_raw()).unwrap()
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.session.get_process_mut().set_window_size(columns, rows).unwrap();
        self.screen.screen_mut().set_size(rows, columns);
    }

    /// Waits for the end of the program; everything it wrote, and how it ended.
    #[track_caller]
    fn end(mut self) -> (String, WaitStatus) {
        let started = Instant::now();
        while self.read() {
            assert!(started.elapsed() < PATIENCE, "it does not end\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
        let all = String::from_utf8_lossy(&self.all).into_owned();
        (all, self.session.get_process().wait().unwrap())
    }
}

/// Whether the last thing a program did to the terminal was to leave it as it was.
#[track_caller]
fn expect_restored(all: &str) {
    let left = all.rfind(LEFT).unwrap_or_else(|| panic!("never left: {all:?}"));
    let taken = all.rfind("\u{1b}[?1049h").unwrap();
    assert!(left > taken, "{all:?}");
    for on in ["\u{1b}[?1000h", "\u{1b}[?2004h", "\u{1b}[?25l"] {
        let off = on.replace('h', "l");
        let off = if on.ends_with("25l") { "\u{1b}[?25h" } else { off.as_str() };
        assert!(all.rfind(off) > all.rfind(on), "{on:?} stays: {all:?}");
    }
}

fn project() -> Project {
    let mut project = Project::new();
    project.set_env("TERM", "xterm-256color");
    // Each attempt says what it does and waits for a word.
    project.agent(&format!(
        "echo \"I work on $RALPH_TASK_KEY\"; while [ ! -f go-$RALPH_TASK_KEY ]; do [ -f agent.sh ] || exit 1; sleep 0.02; done; {DONE}"
    ));
    for (key, title) in [("a", "First"), ("b", "Second"), ("c", "Third")] {
        project.add(&[title, "--key", key]);
    }
    project
}

fn ui(project: &Project, args: &[&str], columns: u16) -> Terminal {
    Terminal::new(project.in_terminal(args, columns), columns)
}

fn exit_code(status: &WaitStatus) -> i32 {
    match status {
        WaitStatus::Exited(_, code) => *code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_of_another_process_is_seen_steered_and_left_alone() {
    let project = project();
    let run = Background(project.start(&["run"]));
    let mut ui = ui(&project, &["ui"], 100);
    ui.expect("I work on a");
    ui.expect("running");
    // Who waits for whom, what needs a person, and the attempt under way.
    ui.expect("▶ a #1");
    project.write("go-a", "");
    // The selection follows the run.
    ui.expect("I work on b");
    ui.expect("1 of 3 done");
    ui.press("G:");
    ui.expect("Note for c");
    ui.press("mind the gap\r");
    ui.expect("c Third · note for the next attempt");
    assert_eq!(project.json(&["note", "c", "--json"])[0]["text"], json!("mind the gap"));
    // Back to what is being worked on.
    ui.press("\u{1b}");
    ui.expect("2 Attempts of b Second");
    ui.press("!");
    ui.expect("Note for b Second, now");
    ui.press("begin anew\r");
    ui.expect("retries with the note");
    eventually("a second attempt is under way", || {
        project.history().iter().any(|one| one["key"] == json!("b") && one["counted"] == json!(false))
    });
    ui.press("q");
    let (all, status) = ui.end();
    assert_eq!(exit_code(&status), 0);
    expect_restored(&all);
    // The run goes on.
    assert!(project.json(&["status", "--json"])["active"][0].is_object());
    project.write("go-b", "");
    project.write("go-c", "");
    run.expect_success();
    assert!(project.read(".ralph/last-prompt").contains("mind the gap"));
}

#[test]
fn run_ui_starts_a_run_that_outlives_it() {
    let project = project();
    let mut ui = ui(&project, &["run", "--ui", "--limit", "2"], 100);
    ui.expect("I work on a");
    ui.press("q");
    let (all, status) = ui.end();
    assert_eq!(exit_code(&status), 0);
    expect_restored(&all);
    for key in ["a", "b"] {
        project.write(&format!("go-{key}"), "");
    }
    eventually("the run ends", || project.json(&["status", "--json"])["run"]["ended_at"].is_string());
    let run = project.json(&["status", "--json"])["run"].clone();
    assert_eq!((&run["exit_code"], project.history().len()), (&json!(4), 2));
    // What cannot start says so, without a screen.
    let none = Project::new();
    let refused = Terminal::new(none.in_terminal(&["run", "--ui"], 80), 80);
    assert_ne!(exit_code(&refused.end().1), 0);
}

#[test]
fn a_finished_run_a_crashed_one_and_none_are_shown() {
    let project = project();
    let mut before = ui(&project, &["ui"], 100);
    before.expect("no run yet; start one: ralph run");
    before.press("q");
    before.end();
    for key in ["a", "b", "c"] {
        project.write(&format!("go-{key}"), "");
    }
    project.ok(&["run"]);
    let mut after = ui(&project, &["ui"], 100);
    after.expect("3 of 3 done");
    after.expect("I work on a");
    after.press("3llll");
    after.expect("[Log]");
    after.expect("Finished: every task");
    after.press("q");
    after.end();
    let run = project.json(&["runs", "--json"])[0]["run_id"].as_str().unwrap().to_owned();
    project.ok(&["task", "reset", "c"]);
    project
        .database()
        .execute(
            "UPDATE runs SET ended_at = NULL, exit_code = NULL, outcome = NULL, pid_started = 'never'",
            [],
        )
        .unwrap();
    let mut crashed = ui(&project, &["ui", "--run", &run], 100);
    crashed.expect("crashed");
    crashed.press("q");
    crashed.end();
    project.ralph(&["ui", "--run", "r-nothing"]).expect_code(2);
}

#[test]
fn it_is_resized_suspended_and_continued() {
    let project = project();
    let mut ui = ui(&project, &["ui"], 100);
    ui.expect("2 Attempts of a First");
    ui.resize(60, 15);
    ui.until("one pane", |screen| !screen.contains("2 Attempts") && screen.contains("1 Plan"));
    ui.press("\t");
    ui.expect("2 Attempts of a First");
    ui.resize(100, 30);
    ui.until("all panes", |screen| {
        ["1 Plan", "2 Attempts", "3 [Live]"].iter().all(|pane| screen.contains(pane))
    });
    ui.press("\u{1a}");
    let pid = ui.pid();
    let state = move || {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        stat.rsplit(") ").next().unwrap_or_default().chars().next()
    };
    eventually("it sleeps", || state() == Some('T'));
    ui.read();
    let asleep = String::from_utf8_lossy(&ui.all).into_owned();
    expect_restored(&asleep);
    project.ok(&["task", "skip", "b"]);
    kill_process(pid, Signal::CONT).unwrap();
    ui.expect("– b Second");
    ui.press("q");
    let (all, status) = ui.end();
    assert_eq!(exit_code(&status), 0);
    assert_eq!(all.matches("\u{1b}[?1049h").count(), 2);
    expect_restored(&all);
}

#[test]
fn signals_and_panics_give_the_terminal_back() {
    let mut project = project();
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut ui = ui(&project, &["ui"], 100);
        ui.expect("1 Plan");
        kill_process(ui.pid(), signal).unwrap();
        let (all, status) = ui.end();
        assert_eq!(exit_code(&status), code);
        expect_restored(&all);
    }
    project.set_env("RALPH_UI_PANIC", "1");
    let mut ui = ui(&project, &["ui"], 100);
    ui.press("j");
    let (all, status) = ui.end();
    assert_ne!(exit_code(&status), 0);
    expect_restored(&all);
    // What it says stands on the screen that stays.
    assert!(all.rfind("panicked").is_some_and(|said| said > all.rfind(LEFT).unwrap()), "{all:?}");
}

#[test]
fn it_ends_with_its_terminal() {
    let mut project = project();
    project.set_env("TERM", "xterm-256color");
    // Closes the terminal without ending what runs in it, and tells how that ended within a minute.
    let story = r#"
import fcntl, os, pty, struct, sys, termios, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "ui"])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
seen = b""
while b"Plan" not in seen:
    seen += os.read(terminal, 4096)
os.close(terminal)
for _ in range(600):
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        print("code", os.waitstatus_to_exitcode(status))
        break
    time.sleep(0.1)
else:
    os.kill(pid, 9)
    print("it goes on")
"#;
    let mut command = std::process::Command::new("python3");
    command.args(["-c", story, env!("CARGO_BIN_EXE_ralph")]).current_dir(project.root());
    let output = project.clean(&mut command).output().unwrap();
    // By the signal, or because it cannot draw any more.
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(["code 129\n", "code 1\n"].contains(&said.as_str()), "{said}");
}

#[test]
fn an_editor_has_the_terminal_meanwhile() {
    let mut project = project();
    project.write("editor.sh", "sed -i 's/^Title: First/Title: The very first/; s/^Gate:.*/Gate: true/' \"$1\"; echo edited > was-there");
    project.set_env("EDITOR", "sh editor.sh");
    let mut ui = ui(&project, &["ui"], 100);
    ui.expect("a First");
    ui.press("e");
    ui.expect("Changes: title, gate.");
    assert!(project.path("was-there").exists());
    ui.press("\r");
    ui.expect("a The very first · changed");
    ui.press("z");
    ui.expect("You changed the title and gate of a");
    ui.press("y");
    ui.expect("undone: you changed the title and gate of a");
    ui.press("q");
    expect_restored(&ui.end().0);
    assert_eq!(project.task("a")["title"], json!("First"));
    assert!(!project.path(".ralph/task-being-edited.txt").exists());
}

#[test]
fn colors_can_be_switched_off_and_a_copy_goes_to_the_clipboard() {
    let mut project = project();
    let colored = |all: &str| {
        all.split("\u{1b}[").skip(1).any(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0);
            rest[end..].starts_with('m')
                && rest[..end]
                    .split(';')
                    .any(|code| (30..38).contains(&code.parse().unwrap_or(0)) || code == "38")
        })
    };
    for (set, wanted) in [(false, true), (true, false)] {
        if set {
            project.set_env("NO_COLOR", "1");
        }
        let mut ui = ui(&project, &["ui"], 100);
        ui.expect("a First");
        ui.press("y");
        ui.expect("copied 1 line");
        ui.press("M");
        ui.expect("mouse off");
        ui.press("q");
        let (all, _) = ui.end();
        assert_eq!(colored(&all), wanted, "{all:?}");
        // `a First` in base 64.
        assert!(all.contains("\u{1b}]52;c;YSBGaXJzdA==\u{7}"), "{all:?}");
    }
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let mut project = project();
    for args in [&["ui"][..], &["run", "--ui"]] {
        let refused = project.ralph(args).expect_code(2);
        assert!(refused.stderr.contains("needs a terminal"), "{}", refused.stderr);
        assert!(refused.stderr.contains("ralph status --watch"), "{}", refused.stderr);
    }
    project.set_env("TERM", "dumb");
    let (all, status) = ui(&project, &["ui"], 80).end();
    assert_eq!(exit_code(&status), 2);
    assert!(all.contains("TERM=xterm-256color") && !all.contains("\u{1b}[?1049h"), "{all:?}");
}

#[test]
fn inside_an_attempt_it_can_only_look() {
    let mut project = Project::new();
    project.set_env("TERM", "xterm-256color");
    // An agent that opens it in a terminal of its own, and tries to skip a task.
    project.agent(&format!(
        "until_seen() {{ for n in $(seq 5000); do grep -q \"$1\" seen && return; sleep 0.02; done; }}; touch seen
         (until_seen Second; printf s; until_seen inside; printf q) |
             script -qefc \"stty rows 30 cols 100; $RALPH ui\" seen > /dev/null 2>&1
         {DONE}"
    ));
    project.set_env("RALPH", env!("CARGO_BIN_EXE_ralph"));
    project.add(&["First", "--key", "a"]);
    project.add(&["Second", "--key", "b"]);
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    let seen = project.read("seen");
    let mut screen = vt100::Parser::new(30, 100, 0);
    screen.process(seen.split(LEFT).next().unwrap().as_bytes());
    let seen = screen.screen().contents();
    assert!(seen.contains("inside an attempt nothing can be changed"), "{seen}");
    assert_eq!(project.status_of("b"), "pending");
}
