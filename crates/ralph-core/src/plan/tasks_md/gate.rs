//! The gate of a task: what its `Verify` makes of a command.

use super::super::check::{NO_COMMAND, check, runnable, script_line};
use super::super::command::{CanRun, Directory, all_of, is_command};
use super::fields::{Entry, is_nothing, without_marker};
use crate::markdown::{list_item, spans};

/// Languages of fences that are scripts; one without a language is too.
const SHELLS: [&str; 7] = ["", "bash", "console", "sh", "shell", "terminal", "zsh"];

/// What was found in `Verify` fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gate {
    /// To be run in this order.
    commands: Vec<String>,
    /// What is no command, and why.
    pub(super) left_out: Vec<(String, &'static str)>,
}

impl Gate {
    pub(super) fn command(&self) -> Option<String> {
        all_of(&self.commands, Directory::Shared)
    }

    /// What a person should know of it.
    pub(super) fn notes(&self) -> Vec<String> {
        let consequence = match self.commands.is_empty() {
            true => "the task has no gate",
            false => "the gate does not include it",
        };
        let left_out = self.left_out.iter().map(|(text, why)| {
            let why = if *why == NO_COMMAND { String::new() } else { format!(" ({why})") };
            format!("Verify \"{}\" is not a runnable command{why}: {consequence}", text.replace('\n', " "))
        });
        left_out.collect()
    }

    /// Adds what a field says: beside its name; else in a fence; else in the texts below it.
    pub(super) fn add(&mut self, entry: &Entry<'_, '_>, can_run: CanRun<'_>) {
        let Texts { mut beside, below } = Texts::of(entry, can_run);
        let script = script(entry);
        let is_intro = beside.ends_with(':') && (script.is_some() || !below.is_empty());
        if !is_intro && !is_nothing(&beside) {
            // What is expected of a command may stand below it.
            let expected = below.iter().filter(|text| is_expectation(text));
            expected.for_each(|text| beside.extend([" ", text]));
            let is_code = beside.contains('`');
            match check(&beside, can_run) {
                Ok(command) => return self.commands.push(command),
                Err(why) if is_code || (script.is_none() && below.is_empty()) => {
                    return self.left_out.push((beside, why));
                }
                Err(_) => {}
            }
        }
        if let Some(script) = script {
            return match runnable(&script, can_run) {
                Ok(script) => self.commands.push(script),
                Err(why) => self.left_out.push((script, why)),
            };
        }
        for text in below.into_iter().filter(|text| !is_nothing(text)) {
            match check(&text, can_run) {
                Ok(command) => self.commands.push(command),
                Err(why) => self.left_out.push((text, why)),
            }
        }
    }

    /// Adds what the title of a checkpoint says from its first code on.
    pub(super) fn add_title(&mut self, title: &str, can_run: CanRun<'_>) {
        let Some(first) = spans(title).into_iter().next() else {
            return;
        };
        match check(&title[first.whole.start..], can_run) {
            Ok(command) => self.commands.push(command),
            Err(why) => self.left_out.push((title.to_owned(), why)),
        }
    }
}

/// Whether a text says what comes of the command above it.
fn is_expectation(text: &str) -> bool {
    let first = text.split([' ', ':']).next().unwrap_or_default();
    ["expect", "expected", "should", "must", "returns", "prints", "outputs", "shows", "contains", "exits"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word))
}

/// The texts of a field that are in no fence.
#[derive(Default)]
struct Texts {
    beside: String,
    below: Vec<String>,
}

impl Texts {
    fn of(entry: &Entry<'_, '_>, can_run: CanRun<'_>) -> Self {
        if entry.opens_fence() {
            return Self::default();
        }
        let is_fence = entry.lines.first().is_some_and(|line| line.hidden.is_some());
        let beside = if is_fence { "" } else { entry.value };
        let mut texts = Self { beside: beside.to_owned(), below: Vec::new() };
        let mut is_apart = beside.is_empty();
        for line in entry.below() {
            let words = line.words().trim_end();
            if line.hidden.is_some() || words.is_empty() {
                is_apart = true;
                continue;
            }
            if list_item(words).is_some() {
                texts.below.push(without_marker(words).to_owned());
            } else if is_apart || texts.is_next(words, can_run) {
                texts.below.push(words.to_owned());
            } else {
                let text = texts.below.last_mut().unwrap_or(&mut texts.beside);
                // The shell itself joins lines after a backslash.
                text.push(if text.ends_with('\\') { '\n' } else { ' ' });
                text.push_str(words);
            }
            is_apart = false;
        }
        texts
    }

    /// Whether a line is a command of its own and does not go on with the one above it. Beside a
    /// name stands one command, however many lines it takes.
    fn is_next(&self, words: &str, can_run: CanRun<'_>) -> bool {
        let above = self.below.last().filter(|_| self.beside.is_empty());
        above.is_some_and(|above| !above.ends_with(['\\', '&', '|'])) && is_command(words, can_run)
    }
}

/// What stands in the fences; those that name another language count only where no other does.
fn script(entry: &Entry<'_, '_>) -> Option<String> {
    let is_shell =
        |(language, _): &(&str, String)| SHELLS.iter().any(|one| one.eq_ignore_ascii_case(language));
    let mut fences = entry.fences();
    fences.retain(|(_, text)| !text.is_empty());
    if fences.iter().any(is_shell) {
        fences.retain(is_shell);
    }
    let lines: Vec<&str> = fences.iter().flat_map(|(_, text)| text.lines()).collect();
    // What a terminal showed: commands stand behind prompts, and the other lines are what they printed.
    let typed: Vec<&str> = lines.iter().filter_map(|line| line.trim_start().strip_prefix("$ ")).collect();
    let lines = if typed.is_empty() { lines } else { typed };
    let texts: Vec<_> = lines.into_iter().map(script_line).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
