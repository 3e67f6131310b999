//! `ralph demo-agent`: the demo's agent. It is started like any command agent: prompt on standard input, what it does and its
//! signals on standard output. It follows a script, but reads its prompt: what Ralph remembers decides which part it follows.

use std::env;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use ralph_core::diagnose::error_line;

use super::parts;
use super::project::{self, FAST, asset};
use crate::command_error::{CommandError, CommandResult};
use crate::output;

/// How long people have to read a line.
const PAUSE: Duration = Duration::from_millis(280);

const TODO: &str = include_str!("assets/todo.script");
const GREETER: &str = include_str!("assets/greeter.script");

/// The headings under which the prompt lists earlier attempts, learnings, and what a fix task is to fix.
const PREVIOUS: &str = "### Previous Attempts";
const LEARNINGS: &str = "### Learnings from Previous Iterations";
const TO_FIX: &str = "### Failure to Fix";
/// How the prompt's line about the cause of a failure begins.
const WHY: &str = "- **Why it failed:** ";
/// The words by which a learning about the pitfall of the to-do list is known.
const PITFALL: &str = "wc -l";
/// The test of what is built: the gate of 2.1 of the greeter and so of all its fixes.
const BUILD: &str = "tests/build.sh";

/// Work on a task of the demo. Ralph starts this itself.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Use the script of `ralph demo --recovery`.
    #[arg(long)]
    recovery: bool,
}

/// Reads the prompt and works in the current directory.
pub fn work(args: &AgentArgs) -> CommandResult {
    let (Ok(id), Ok(key)) = (env::var("RALPH_TASK_ID"), env::var("RALPH_TASK_KEY")) else {
        let message = "`ralph demo-agent` only works when Ralph starts it";
        return Err(CommandError::usage(message).hint("run `ralph demo`"));
    };
    let mut prompt = Vec::new();
    std::io::stdin().read_to_end(&mut prompt).map_err(|error| {
        CommandError::environment(format_args!("cannot read the prompt from stdin: {error}"))
    })?;
    let prompt = String::from_utf8_lossy(&prompt);
    let script = if args.recovery { GREETER } else { TODO };
    match steps_for(script, &key, &prompt) {
        Some(steps) => follow(&id, &key, &steps, &prompt),
        None => decline(&id),
    }
    Ok(ExitCode::SUCCESS)
}

/// The steps of a script for a task with this prompt, a verb and its text each; `None` for a task that is not the demo's.
fn steps_for<'s>(script: &'s str, key: &str, prompt: &str) -> Option<Vec<(&'s str, &'s str)>> {
    let is_reminded = reminder(prompt).is_some();
    let wanted = |name: &str| match failure_to_fix(prompt) {
        Some(_) if is_reminded => name == "fix again",
        Some(failure) => name.strip_prefix("fix: ").is_some_and(|cause| failure.contains(cause)),
        None => name == key,
    };
    let again = format!("{key} again");
    let is_again = |name: &str| is_reminded && failure_to_fix(prompt).is_none() && name == again;
    let (_, steps) = parts(script).filter(|(name, _)| wanted(name) || is_again(name)).last()?;
    steps.lines().filter(|line| !line.is_empty()).map(|line| line.split_once(' ')).collect()
}

fn follow(id: &str, key: &str, steps: &[(&str, &str)], prompt: &str) {
    let pause = if env::var_os(FAST).is_some() { Duration::ZERO } else { PAUSE };
    let message = field(prompt, "**Commit message:** ").trim_matches('`');
    let mut written = Vec::new();
    for (verb, text) in steps {
        let text = text
            .replace("{told}", &reminder(prompt).unwrap_or_default())
            .replace("{failure}", failure_to_fix(prompt).unwrap_or_default())
            .replace("{message}", message);
        if let Err(problem) = do_step(verb, &text, &mut written) {
            return match *verb {
                "prove" => output::line(format_args!(
                    "Task {key}: {} FAILED\n- Error: {problem}\n- Attempted fix: {text}\n\
                     - Status: Blocked, needs manual intervention",
                    field(prompt, "**Title:** ")
                )),
                _ => output::line(format_args!("Error: {problem}\n<task-failed>{id}</task-failed>")),
            };
        }
        if !["commit", "close"].contains(verb) {
            thread::sleep(pause);
        }
    }
    output::line(format_args!("<task-done>{id}</task-done>"));
}

fn do_step(verb: &str, text: &str, written: &mut Vec<String>) -> Result<(), String> {
    let failed = |path: &str, error| format!("{path}: {error}");
    match verb {
        "say" | "close" => output::line(text),
        "read" => {
            let content = fs::read_to_string(text).map_err(|error| failed(text, error))?;
            let lines = content.lines().count();
            output::line(format_args!("Reading {text}, {lines} lines."));
        }
        "write" => {
            let (path, name) = text.split_once(' ').unwrap_or((text, text));
            let content = asset(name);
            project::write(Path::new(path), content).map_err(|error| failed(path, error))?;
            written.push(path.to_owned());
            let lines = content.lines().count();
            output::line(format_args!("Wrote {path}, {lines} lines."));
        }
        "check" => check(text).map_err(|said| format!("{said} (sh {text})"))?,
        "prove" => check(BUILD).map_err(|said| match said.split_once("FAIL: ") {
            Some((_, what)) => what.to_owned(),
            None => said,
        })?,
        "commit" => {
            if project::commit(Path::new("."), written, text) {
                output::line(format_args!("Committed: {text}."));
            }
        }
        other => return Err(format!("the script has an unknown step `{other}`")),
    }
    Ok(())
}

/// Runs a test; one that fails ends the session with what it said.
fn check(test: &str) -> Result<(), String> {
    let mut command = Command::new("sh");
    let output = command.arg(test).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot start sh: {error}"))?;
    if output.status.success() {
        output::line(format_args!("sh {test} passed."));
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    output::text(&said);
    Err(error_line(&said).unwrap_or_else(|| "the test failed".to_owned()))
}

/// A task that the user added. The script does not know it, so only a real agent can do it.
fn decline(id: &str) {
    output::line("I am the demo's scripted agent and only know the tasks of the demo.");
    output::line(
        "<failure-report>\nwhat_tried: Looked up the task in the demo's script.\n\
         why_failed: The demo's agent is scripted. A task of your own needs a real agent, for example \
         `ralph run --agent claude`.\nerror_category: unknown\n</failure-report>\n\
         <difficulty-estimate>blocked</difficulty-estimate>",
    );
    output::line(format_args!("<task-failed>{id}</task-failed>"));
}

/// What the prompt says about an earlier attempt or the pitfall, as the agent repeats it.
fn reminder(prompt: &str) -> Option<String> {
    if let Some((_, previous)) = prompt.split_once(PREVIOUS) {
        let complaint = previous.lines().find_map(|line| line.get(line.find("FAIL:")?..));
        let complaint = complaint.unwrap_or("it failed").trim_end();
        return Some(format!("My prompt says why the last attempt failed: {complaint}"));
    }
    let (_, section) = prompt.split_once(LEARNINGS)?;
    let (section, _) = section.split_once("\n### ").unwrap_or((section, ""));
    let line = section.lines().find(|line| line.contains(PITFALL))?;
    let (_category, content) = line.split_once("]** ")?;
    Some(format!("A learning in my prompt says: {}", content.trim_end()))
}

fn failure_to_fix(prompt: &str) -> Option<&str> {
    let (_, section) = prompt.split_once(TO_FIX)?;
    section.lines().find_map(|line| line.strip_prefix(WHY))
}

/// A line of the prompt's own part about the task.
fn field<'p>(prompt: &'p str, label: &str) -> &'p str {
    let value = prompt.lines().find_map(|line| line.strip_prefix(label));
    value.unwrap_or("the task").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first thing the agent says.
    fn first(script: &'static str, key: &str, prompt: &str) -> Option<&'static str> {
        steps_for(script, key, prompt).map(|steps| steps[0].1)
    }

    #[test]
    fn only_what_the_prompt_says_changes_the_work() {
        let failed = format!("{PREVIOUS}\n\n{WHY}FAIL: count of an empty list\n");
        let learning = |text: &str| format!("{LEARNINGS}\n\n- **[pitfall]** {text}\n\n### Loop\nwc -l");
        let to_fix = |why: &str| format!("{TO_FIX}\nThis task fixes\n{WHY}{why}\n");
        let fixed = to_fix("unterminated quote") + PREVIOUS;
        for (script, key, prompt, begins) in [
            (TODO, "1.1", failed.as_str(), Some("lib/store.sh stores")),
            (TODO, "2.1", "", Some("todo_count in lib/count.sh counts the lines")),
            (TODO, "2.1", &failed, Some("todo_count in lib/count.sh now")),
            (
                TODO,
                "2.2",
                &learning("`wc -l` prints 1"),
                Some("todo_done in lib/done.sh marks an item as done and"),
            ),
            (
                TODO,
                "2.2",
                &learning("Something else"),
                Some("todo_done in lib/done.sh marks an item as done if"),
            ),
            (TODO, "9.9", "", None),
            (GREETER, "2.1", &failed, Some("greeter is one script")),
            (GREETER, "2.1.1", &to_fix("words/en.txt: no such file"), Some("build.sh now copies")),
            (GREETER, "2.1.1.1", &to_fix("unterminated quote"), Some("build.sh now writes")),
            (GREETER, "2.1.1.1", &fixed, Some("greeter contains its greetings")),
            (GREETER, "2.1.1", &to_fix("something else"), None),
            (GREETER, "2.1.1", "", None),
        ] {
            let said = first(script, key, prompt);
            assert_eq!(said.is_some(), begins.is_some(), "{key} {prompt}");
            assert!(said.unwrap_or("").starts_with(begins.unwrap_or("")), "{said:?}");
        }
        let said = reminder(&failed).unwrap();
        assert!(said.ends_with("failed: FAIL: count of an empty list"), "{said}");
    }
}
