//! Every key: one table, which the program obeys, the footer abbreviates and `?` lists.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Top,
    Bottom,
    NextPane,
    PreviousPane,
    Pane(u8),
    Open,
    Back,
    Search,
    Next,
    Previous,
    Note,
    NoteNow,
    Pause,
    GoAhead,
    Skip,
    Model,
    Edit,
    Add,
    Diff,
    Explain,
    Problems,
    Undo,
    Copy,
    Mouse,
    Redraw,
    Help,
    Quit,
    Suspend,
}

/// Keys that do the same.
pub struct Binding {
    pub command: Command,
    keys: &'static [(KeyCode, KeyModifiers)],
    /// How the keys are called.
    pub name: &'static str,
    /// A word for the footer.
    pub short: Option<&'static str>,
    pub help: &'static str,
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

macro_rules! keys {
    ($($($code:expr $(, $modifier:ident)?);+ => $command:expr, $name:literal, $short:expr, $help:literal;;)*) => {
        pub const BINDINGS: &[Binding] = &[$(
            Binding {
                command: $command,
                keys: &[$(($code, keys!(@modifier $($modifier)?))),+],
                name: $name,
                short: $short,
                help: $help,
            },
        )*];
    };
    (@modifier) => { NONE };
    (@modifier $modifier:ident) => { $modifier };
}

use KeyCode::{BackTab, Char, End, Enter, Esc, Home, Tab};

keys! {
    KeyCode::Up; Char('k') => Command::Up, "↑ k", None, "move up";;
    KeyCode::Down; Char('j') => Command::Down, "↓ j", None, "move down";;
    KeyCode::Left; Char('h') => Command::Left, "← h", None, "fold a task; the tab before";;
    KeyCode::Right; Char('l') => Command::Right, "→ l", None, "unfold a task; the next tab";;
    KeyCode::PageUp; Char('u'), CTRL => Command::PageUp, "PgUp", None, "a page up";;
    KeyCode::PageDown; Char('d'), CTRL => Command::PageDown, "PgDn", None, "a page down";;
    Home; Char('g') => Command::Top, "Home g", None, "to the top";;
    End; Char('G') => Command::Bottom, "End G", None, "to the end; a log is followed from there";;
    Tab => Command::NextPane, "Tab", None, "the next pane; Shift-Tab the one before";;
    BackTab => Command::PreviousPane, "Shift-Tab", None, "the pane before";;
    Char('1') => Command::Pane(1), "1", None, "plan";;
    Char('2') => Command::Pane(2), "2", None, "attempts of the task";;
    Char('3') => Command::Pane(3), "3", None, "live output, prompt, report, diff, log";;
    Char('4') => Command::Pane(4), "4", None, "memory: the learnings in the prompt";;
    Char('5') => Command::Pane(5), "5", None, "workers and limits";;
    Enter => Command::Open, "Enter", None, "open: fold a task, look at an attempt, enlarge the details";;
    Esc => Command::Back, "Esc", None, "close, go back";;
    Char(':') => Command::Note, ":", Some("note"), "tell the task's next attempt something";;
    Char('!') => Command::NoteNow, "!", Some("note now"), "end the attempt under way and retry with a note";;
    Char('p') => Command::Pause, "p", Some("pause"), "pause the run after its attempt, or resume it";;
    Char('r') => Command::GoAhead, "r", Some("go ahead"), "let a blocked task be attempted again";;
    Char('s') => Command::Skip, "s", Some("skip"), "skip the task";;
    Char('m') => Command::Model, "m", Some("model"), "choose the model of the next attempt";;
    Char('e') => Command::Edit, "e", Some("edit"), "edit the task in $EDITOR";;
    Char('a') => Command::Add, "a", Some("add"), "add a task";;
    Char('d') => Command::Diff, "d", Some("diff"), "what the attempt changed";;
    Char('x') => Command::Explain, "x", Some("explain"), "the prompt of the next attempt and how it is made";;
    Char('P') => Command::Problems, "P", Some("problems only"), "only tasks that need you or are unverified";;
    Char('/') => Command::Search, "/", Some("search"), "search tasks, or the text in view";;
    Char('n') => Command::Next, "n", None, "the next one found";;
    Char('N') => Command::Previous, "N", None, "the one found before";;
    Char('z') => Command::Undo, "z", Some("undo"), "undo what you did last";;
    Char('y') => Command::Copy, "y", Some("copy"), "copy the selection to the clipboard";;
    Char('M') => Command::Mouse, "M", None, "mouse on or off: off, the terminal selects text";;
    Char('?') => Command::Help, "?", Some("help"), "this list";;
    Char('q'); Char('c'), CTRL => Command::Quit, "q", Some("quit"), "quit; runs continue";;
    Char('z'), CTRL => Command::Suspend, "Ctrl-Z", None, "back to the shell; fg returns";;
    Char('l'), CTRL => Command::Redraw, "Ctrl-L", None, "draw everything anew";;
}

/// The keys of the footer, each with a word, and how many columns all of them take.
pub fn footer() -> (Vec<(&'static str, &'static str)>, usize) {
    let keys = BINDINGS.iter().filter_map(|binding| Some((binding.name.split(' ').next()?, binding.short?)));
    let keys: Vec<_> = keys.collect();
    let columns = keys.iter().map(|key| columns(*key)).sum();
    (keys, columns)
}

pub fn columns((key, what): (&str, &str)) -> usize {
    key.chars().count() + what.chars().count() + 3
}

pub fn command(key: KeyEvent) -> Option<Command> {
    // Whether Shift is told with a capital letter depends on the terminal.
    let pressed = (key.code, key.modifiers.difference(KeyModifiers::SHIFT));
    let binding = BINDINGS.iter().find(|binding| binding.keys.contains(&pressed));
    binding.map(|binding| binding.command)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_has_two_meanings_and_each_has_help() {
        let mut seen = HashSet::new();
        for binding in BINDINGS {
            assert!(!binding.help.is_empty() && !binding.name.is_empty());
            for key in binding.keys {
                assert!(seen.insert(key), "{}", binding.name);
            }
        }
    }

    #[test]
    fn a_capital_letter_is_one_with_and_without_shift() {
        for modifiers in [NONE, KeyModifiers::SHIFT] {
            assert_eq!(command(KeyEvent::new(Char('P'), modifiers)), Some(Command::Problems));
        }
        assert_eq!(command(KeyEvent::new(Char('p'), NONE)), Some(Command::Pause));
        assert_eq!(command(KeyEvent::new(Char('p'), KeyModifiers::ALT)), None);
    }
}
