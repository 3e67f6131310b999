//! The gate of a task: what its `Verify` makes of a command.

use super::super::command::{CanRun, Directory, all_of, is_command};
use super::fields::{Entry, is_nothing};
use crate::markdown::{codes, list_item};

/// Languages of fences that are scripts; one without a language is too.
const SHELLS: [&str; 7] = ["", "bash", "console", "sh", "shell", "terminal", "zsh"];

/// What was found in `Verify` fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gate {
    /// To be run in this order.
    commands: Vec<String>,
    pub(super) prose: Vec<String>,
    /// Codes that cannot be run although others beside them can.
    pub(super) doubtful: Vec<String>,
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
        let prose = self.prose.iter().map(|text| {
            format!("Verify \"{}\" is not a runnable command: {consequence}", text.replace('\n', " "))
        });
        let doubtful = self.doubtful.iter().map(|code| {
            let code = code.replace('\n', " ");
            format!("Verify runs \"{code}\" as a command, but that program was not found")
        });
        prose.chain(doubtful).collect()
    }

    /// Adds what a field says: beside its name, be it code or a command; else in a fence; else in
    /// the texts below it.
    pub(super) fn add(&mut self, entry: &Entry<'_, '_>, can_run: CanRun<'_>) {
        let Texts { beside, below } = Texts::of(entry, can_run);
        let script = script(entry);
        let is_intro = beside.ends_with(':') && (script.is_some() || !below.is_empty());
        if !is_intro && self.add_text(&beside, can_run) {
            return;
        }
        if script.is_some() {
            self.commands.extend(script);
            return;
        }
        let texts = match below.is_empty() {
            true => vec![beside],
            false => below,
        };
        for text in texts {
            if !self.add_text(&text, can_run) && !is_nothing(&text) {
                self.prose.push(text);
            }
        }
    }

    pub(super) fn add_title(&mut self, title: &str, can_run: CanRun<'_>) {
        self.add_codes(&codes(title), can_run);
    }

    /// Adds the codes of a text or, where it has none, the text if it can be run.
    fn add_text(&mut self, text: &str, can_run: CanRun<'_>) -> bool {
        let codes = codes(text);
        if !codes.is_empty() {
            return self.add_codes(&codes, can_run);
        }
        let is_command = !is_nothing(text) && is_command(text, can_run);
        self.commands.extend(is_command.then(|| text.to_owned()));
        is_command
    }

    fn add_codes(&mut self, codes: &[&str], can_run: CanRun<'_>) -> bool {
        let codes = codes.iter().map(|code| code.trim());
        let codes: Vec<&str> = codes.filter(|code| !is_nothing(code)).collect();
        // A path may be that of a program which the task is yet to make.
        let is_sure = |code: &&str| code.contains('/') || is_command(code, can_run);
        if codes.iter().any(is_sure) {
            let doubtful = codes.iter().filter(|code| !is_sure(code));
            self.doubtful.extend(doubtful.map(ToString::to_string));
        }
        self.commands.extend(codes.iter().map(ToString::to_string));
        !codes.is_empty()
    }
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
            if let Some(item) = list_item(words) {
                texts.below.push(item.to_owned());
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
    let texts: Vec<_> = fences.into_iter().map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
