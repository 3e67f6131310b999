//! A log of any size is shown in little memory.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use super::{DONE, project};
use crate::support::{Project, data_memory};

/// How large the logs are.
const SIZE: usize = 50 * 1024 * 1024;
/// What showing one may take, in KiB: far less than the log. Tables of the program that are filled at its start count, too.
const MOST: u64 = 20 * 1024;

/// The most memory a command ever had, in KiB.
fn peak(project: &Project, args: &[&str]) -> u64 {
    let mut child = project.command(args).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(data_memory(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// Puts so many copies of a line in place of a log.
fn fill(project: &Project, line: &[u8]) {
    let log = project.ok(&["logs", "a", "--path"]).text().to_owned();
    let mut file = fs::File::create(log).unwrap();
    let block = line.repeat((1 << 20) / line.len());
    for _ in 0..SIZE / block.len() {
        file.write_all(&block).unwrap();
    }
}

fn of_one_attempt(kind: &str) -> Project {
    let project = project(DONE);
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    let toml = project.read(".ralph.toml");
    let output = format!("[agents.script]\noutput = \"{kind}\"");
    project.write(".ralph.toml", &toml.replace("[agents.script]", &output));
    project
}

#[test]
fn a_large_log_of_text_is_shown_in_little_memory() {
    let project = of_one_attempt("text");
    fill(&project, b"a line of output that says nothing at all\n");
    for args in [&["logs", "a"][..], &["logs", "a", "--raw"]] {
        let peak = peak(&project, args);
        assert!(peak > 0 && peak < MOST, "{args:?}: {peak} KiB");
    }
    // One line without an end.
    fill(&project, b"x");
    let peak = peak(&project, &["logs", "a"]);
    assert!(peak > 0 && peak < MOST, "{peak} KiB");
}

#[test]
fn a_large_log_of_events_is_shown_in_little_memory() {
    let project = of_one_attempt("claude");
    let said = serde_json::json!({"type": "assistant", "message": {"content": [
        {"type": "text", "text": "I go on and on. ".repeat(20)}]}});
    fill(&project, format!("{said}\n").as_bytes());
    let peak = peak(&project, &["logs", "a"]);
    assert!(peak > 0 && peak < MOST, "{peak} KiB");
}

#[test]
fn a_reader_of_the_first_lines_does_not_wait_for_the_rest() {
    use std::io::{BufRead, BufReader};
    let project = of_one_attempt("text");
    fill(&project, b"a line of output that says nothing at all\n");
    let mut child =
        project.command(&["logs", "a"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("a A · attempt 1"), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
