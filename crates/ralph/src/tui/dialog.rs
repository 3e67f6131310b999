//! Questions: each change of the plan asks once, with what it will do, and a line to type where it needs words.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::model::{TaskEdit, TaskId};
use ralph_core::store::{NOTE_CHARS, NoteTime};

use super::editing;
use super::view::{Action, RunState};

#[derive(Debug)]
pub struct Dialog {
    pub question: Question,
    /// What was typed, and where the cursor stands in it.
    pub input: Option<Input>,
}

#[derive(Debug, Default)]
pub struct Input {
    pub text: String,
    /// In bytes.
    pub cursor: usize,
}

#[derive(Debug)]
pub struct Question {
    pub title: String,
    pub help: String,
    /// What Enter does.
    pub yes: &'static str,
    /// Without what is typed; none for a search.
    action: Option<Action>,
}

#[derive(Debug, PartialEq)]
pub enum Done {
    NotYet,
    Canceled,
    Do(Action),
    Search(String),
}

impl Question {
    fn new(title: impl Into<String>, help: impl Into<String>, yes: &'static str, action: Action) -> Self {
        Self { title: title.into(), help: help.into(), yes, action: Some(action) }
    }

    pub fn note(name: &str, task: TaskId) -> Self {
        let most = crate::ui::format::number(NOTE_CHARS as u64);
        let help = format!("Its next attempt reads the note. At most {most} characters.");
        let note = Action::Note(task, String::new(), NoteTime::NextAttempt);
        Self::new(format!("Note for {name}"), help, "leave the note", note)
    }

    pub fn note_now(name: &str, task: TaskId) -> Self {
        let help = "Ralph ends the attempt under way, which does not count, and retries with the note.";
        let note = Action::Note(task, String::new(), NoteTime::Now);
        Self::new(format!("Note for {name}, now"), help, "end the attempt", note)
    }

    /// The same where no attempt is under way.
    pub fn note_soon(name: &str, task: TaskId) -> Self {
        let help = "No attempt is under way: its next attempt reads the note.";
        Self { help: help.to_owned(), ..Self::note(name, task) }
    }

    pub fn pause(state: &RunState) -> Self {
        let (title, help, yes) = match state {
            RunState::Pausing | RunState::Paused => {
                ("Resume the run?", "Ralph continues with the next attempt.", "resume")
            }
            _ => (
                "Pause the run?",
                "Ralph finishes the attempt under way and then waits until you resume.",
                "pause",
            ),
        };
        Self::new(title, help, yes, Action::Pause)
    }

    pub fn go_ahead(name: &str, task: TaskId) -> Self {
        let help = "The run under way, or the next one, may attempt it again.";
        Self::new(format!("Let {name} go ahead?"), help, "go ahead", Action::GoAhead(task))
    }

    pub fn skip(name: &str, task: TaskId) -> Self {
        let help = "Tasks that depend on it can then run. You may give a reason.";
        Self::new(format!("Skip {name}?"), help, "skip", Action::Skip(task, None))
    }

    pub fn model(name: &str, task: TaskId, models: &[String]) -> Self {
        let known = if models.is_empty() { String::new() } else { format!(" Known: {}.", models.join(", ")) };
        let (title, help) =
            (format!("Model for the next attempt of {name}"), format!("Empty: Ralph chooses.{known}"));
        Self::new(title, help, "choose", Action::Model(task, None))
    }

    pub fn edit(name: String, task: TaskId, edit: Box<TaskEdit>) -> Self {
        let help = format!("Changes: {}. It takes effect at the next attempt.", editing::described(&edit));
        Self::new(format!("Change {name}?"), help, "change", Action::Edit(task, edit))
    }

    pub fn add() -> Self {
        let help = "A title; e then adds a gate and a description.";
        Self::new("Add a task at the end of the plan", help, "add", Action::Add(String::new()))
    }

    pub fn undo(id: i64, what: &str) -> Self {
        Self::new("Undo?", format!("You {what}."), "undo", Action::Undo(id))
    }

    pub fn search() -> Self {
        Self { title: "Search".to_owned(), help: String::new(), yes: "search", action: None }
    }

    fn takes_words(&self) -> bool {
        use Action::{Add, Model, Note, Skip};
        matches!(self.action, None | Some(Note(..) | Skip(..) | Model(..) | Add(_)))
    }

    /// Whether it stands in one line at the foot.
    pub fn is_search(&self) -> bool {
        self.action.is_none()
    }
}

impl Dialog {
    pub fn new(question: Question) -> Self {
        let input = question.takes_words().then(Input::default);
        Self { question, input }
    }

    pub fn insert(&mut self, text: &str) {
        if let Some(input) = &mut self.input {
            input.insert(text);
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Done {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, &mut self.input) {
            (KeyCode::Esc, _) => Done::Canceled,
            (KeyCode::Char('c'), _) if control => Done::Canceled,
            (KeyCode::Enter, _) => self.done(),
            (KeyCode::Char('y' | 'Y'), None) => self.done(),
            (KeyCode::Char('n' | 'N' | 'q'), None) => Done::Canceled,
            (_, None) => Done::NotYet,
            (code, Some(input)) => {
                input.key(code, control);
                Done::NotYet
            }
        }
    }

    fn done(&self) -> Done {
        let typed = self.input.as_ref().map(|input| input.text.trim().to_owned()).unwrap_or_default();
        let Some(mut action) = self.question.action.clone() else { return Done::Search(typed) };
        match &mut action {
            Action::Note(..) | Action::Add(_) if typed.is_empty() => return Done::NotYet,
            Action::Note(_, text, _) | Action::Add(text) => *text = typed,
            Action::Skip(_, words) | Action::Model(_, words) => {
                *words = Some(typed).filter(|typed| !typed.is_empty());
            }
            Action::Pause | Action::GoAhead(_) | Action::Edit(..) | Action::Undo(_) => {}
        }
        Done::Do(action)
    }
}

impl Input {
    fn insert(&mut self, text: &str) {
        let text: String =
            text.replace('\r', "\n").chars().filter(|c| *c == '\n' || !c.is_control()).collect();
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    fn key(&mut self, code: KeyCode, control: bool) {
        let before = || self.text.get(..self.cursor).unwrap_or_default();
        let left = before().chars().next_back().map_or(0, char::len_utf8);
        let right =
            self.text.get(self.cursor..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        match (code, control) {
            (KeyCode::Char('a'), true) | (KeyCode::Home, _) => self.cursor = 0,
            (KeyCode::Char('e'), true) | (KeyCode::End, _) => self.cursor = self.text.len(),
            (KeyCode::Char('u'), true) => self.cut(0),
            (KeyCode::Char('w'), true) => {
                let start = before().trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.cut(start);
            }
            (KeyCode::Char(c), false) => self.insert(c.encode_utf8(&mut [0; 4])),
            (KeyCode::Backspace, _) => self.cut(self.cursor - left),
            (KeyCode::Delete, _) => {
                self.cursor += right;
                self.cut(self.cursor - right);
            }
            (KeyCode::Left, _) => self.cursor -= left,
            (KeyCode::Right, _) => self.cursor += right,
            _ => {}
        }
    }

    /// Cuts what is between a place and the cursor.
    fn cut(&mut self, from: usize) {
        if self.text.is_char_boundary(from) && from <= self.cursor {
            self.text.replace_range(from..self.cursor, "");
            self.cursor = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(dialog: &mut Dialog, keys: &[(KeyCode, KeyModifiers)]) -> Done {
        let mut done = Done::NotYet;
        for (code, modifiers) in keys {
            done = dialog.key(KeyEvent::new(*code, *modifiers));
        }
        done
    }

    #[test]
    fn words_are_edited_as_anywhere() {
        use KeyCode::{Backspace, Char, Delete, End, Enter, Home, Left, Right};
        let plain = KeyModifiers::NONE;
        let mut dialog = Dialog::new(Question::add());
        dialog.insert("größer ist bess\u{1b}er");
        let keys = [(Left, plain), (Backspace, plain), (Home, plain), (Right, plain), (Delete, plain)];
        typed(&mut dialog, &keys);
        assert_eq!(dialog.input.as_ref().unwrap().text, "gößer ist bessr");
        typed(&mut dialog, &[(End, plain), (Char('w'), KeyModifiers::CONTROL), (Char('x'), plain)]);
        let done = typed(&mut dialog, &[(Enter, plain)]);
        assert_eq!(done, Done::Do(Action::Add("gößer ist x".to_owned())));
        typed(&mut dialog, &[(Char('u'), KeyModifiers::CONTROL)]);
        assert_eq!(typed(&mut dialog, &[(Enter, plain)]), Done::NotYet);
    }

    #[test]
    fn a_question_without_words_is_answered_by_one_key() {
        let answer = |code| Dialog::new(Question::undo(7, "skipped 2.1")).key(KeyEvent::from(code));
        for code in [KeyCode::Enter, KeyCode::Char('y')] {
            assert_eq!(answer(code), Done::Do(Action::Undo(7)));
        }
        for code in [KeyCode::Esc, KeyCode::Char('n'), KeyCode::Char('q')] {
            assert_eq!(answer(code), Done::Canceled);
        }
        assert_eq!(answer(KeyCode::Char('x')), Done::NotYet);
    }
}
