//! The gate of a task: what its `Verify` makes of a command.

use super::command::{Programs, all_of};
use super::entries::Entry;
use super::fenced::{Fenced, fences};
use super::inline_code::codes;
use super::lines::{Kind, Line, Part};
use super::syntax::{bullet, numbered};
use super::value::is_nothing;

/// Languages of fences that are scripts; one without a language is too.
const SHELLS: [&str; 7] = ["", "bash", "console", "sh", "shell", "terminal", "zsh"];

/// What was found in `Verify` fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gate {
    /// To be run in this order.
    commands: Vec<String>,
    /// Texts that are no commands.
    pub(super) prose: Vec<String>,
    /// Codes that cannot be run although others beside them can.
    pub(super) doubtful: Vec<String>,
}

impl Gate {
    /// The command that runs all that was found.
    pub(super) fn command(&self) -> Option<String> {
        let commands: Vec<&str> = self.commands.iter().map(String::as_str).collect();
        all_of(&commands)
    }

    /// Adds what a field says: beside its name, be it code or a command; else in a fence; else in
    /// the texts below it.
    pub(super) fn add(&mut self, entry: &Entry<'_, '_>, programs: &mut Programs<'_>) {
        let Texts { beside, below } = Texts::of(entry, programs);
        let script = script(entry.lines);
        let is_intro = beside.ends_with(':') && (script.is_some() || !below.is_empty());
        if !is_intro && self.add_text(&beside, programs) {
            return;
        }
        if script.is_some() {
            self.commands.extend(script);
            return;
        }
        let texts = if below.is_empty() {
            vec![beside]
        } else {
            below
        };
        for text in texts {
            if !self.add_text(&text, programs) && !is_nothing(&text) {
                self.prose.push(text);
            }
        }
    }

    /// Adds the codes of a title.
    pub(super) fn add_title(&mut self, title: &str, programs: &mut Programs<'_>) {
        self.add_codes(&codes(title), programs);
    }

    /// Adds the codes of a text or, where it has none, the text if it can be run.
    fn add_text(&mut self, text: &str, programs: &mut Programs<'_>) -> bool {
        let codes = codes(text);
        if !codes.is_empty() {
            return self.add_codes(&codes, programs);
        }
        let is_command = !is_nothing(text) && programs.can_run(text);
        self.commands.extend(is_command.then(|| text.to_owned()));
        is_command
    }

    fn add_codes(&mut self, codes: &[&str], programs: &mut Programs<'_>) -> bool {
        let codes = codes.iter().map(|code| code.trim());
        let codes: Vec<_> = codes.filter(|code| !is_nothing(code)).collect();
        // A path may be that of a program which the task is yet to make.
        let can_run = |code: &&&str| code.contains('/') || programs.can_run(code);
        let (sure, doubtful): (Vec<_>, Vec<_>) = codes.iter().partition(can_run);
        if !sure.is_empty() {
            self.doubtful
                .extend(doubtful.iter().map(|code: &&str| (*code).to_owned()));
        }
        self.commands
            .extend(codes.iter().map(|code| (*code).to_owned()));
        !codes.is_empty()
    }
}

/// The texts of a field that are in no fence.
struct Texts {
    beside: String,
    below: Vec<String>,
}

impl Texts {
    fn of(entry: &Entry<'_, '_>, programs: &mut Programs<'_>) -> Self {
        let first = entry.lines.first().map(|line| line.kind);
        let is_fence = first == Some(Kind::Fence(Part::Begin));
        let beside = if is_fence { "" } else { entry.value };
        let mut texts = Self {
            beside: beside.to_owned(),
            below: Vec::new(),
        };
        let mut is_apart = beside.is_empty();
        for line in entry.below() {
            if line.kind != Kind::Text {
                is_apart = true;
                continue;
            }
            let words = line.words.trim_end();
            if let Some(item) = bullet(words).or_else(|| numbered(words)) {
                texts.below.push(item.to_owned());
            } else if is_apart || texts.is_next(words, programs) {
                texts.below.push(words.to_owned());
            } else {
                append(texts.below.last_mut().unwrap_or(&mut texts.beside), words);
            }
            is_apart = false;
        }
        texts
    }

    /// Whether a line is a command of its own and does not go on with the one above it. Beside a
    /// name stands one command, however many lines it takes.
    fn is_next(&self, words: &str, programs: &mut Programs<'_>) -> bool {
        let above = self.below.last().filter(|_| self.beside.is_empty());
        above.is_some_and(|above| !above.ends_with(['\\', '&', '|'])) && programs.can_run(words)
    }
}

fn append(text: &mut String, words: &str) {
    // The shell itself joins lines after a backslash.
    text.push(if text.ends_with('\\') { '\n' } else { ' ' });
    text.push_str(words);
}

/// What stands in the fences; those that name another language count only where no other does.
fn script(lines: &[Line<'_>]) -> Option<String> {
    let is_shell = |fence: &Fenced<'_>| {
        let mut shells = SHELLS.iter();
        shells.any(|shell| shell.eq_ignore_ascii_case(fence.language))
    };
    let mut fences = fences(lines);
    fences.retain(|fence| !fence.text.is_empty());
    if fences.iter().any(is_shell) {
        fences.retain(is_shell);
    }
    let texts: Vec<_> = fences.into_iter().map(|fence| fence.text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
