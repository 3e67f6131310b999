//! What keys do: they move, or they ask before they change something.

use crossterm::event::KeyEvent;
use ralph_core::model::Status;
use ratatui_core::text::Line;

use super::{App, Effect};
use crate::tui::ansi;
use crate::tui::dialog::{Done, Question};
use crate::tui::keys::{Command, command};
use crate::tui::layout::Pane;
use crate::tui::view::{Ask, Tab};

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if let Some(dialog) = &mut self.dialog {
            let done = dialog.key(key);
            return self.answered(done);
        }
        let Some(command) = command(key) else { return Vec::new() };
        self.message = None;
        if self.help {
            return match command {
                Command::Down | Command::PageDown => self.scroll_help(1),
                Command::Up | Command::PageUp => self.scroll_help(-1),
                Command::Quit if key.modifiers.is_empty() => self.close_help(),
                Command::Quit => vec![Effect::Quit],
                Command::Suspend => vec![Effect::Suspend],
                _ => self.close_help(),
            };
        }
        self.obey(command)
    }

    fn scroll_help(&mut self, by: isize) -> Vec<Effect> {
        self.scrolled = self.scrolled.saturating_add_signed(by);
        Vec::new()
    }

    fn close_help(&mut self) -> Vec<Effect> {
        (self.help, self.scrolled) = (false, 0);
        Vec::new()
    }

    fn answered(&mut self, done: Done) -> Vec<Effect> {
        match done {
            Done::NotYet => Vec::new(),
            Done::Canceled => {
                self.dialog = None;
                Vec::new()
            }
            Done::Search(text) => {
                self.dialog = None;
                self.start_search(text)
            }
            Done::Do(action) => {
                self.dialog = None;
                self.say("…");
                vec![Effect::Ask(Ask::Do(action))]
            }
        }
    }

    fn obey(&mut self, command: Command) -> Vec<Effect> {
        use Command as C;
        match command {
            C::Quit => return vec![Effect::Quit],
            C::Suspend => return vec![Effect::Suspend],
            C::Redraw => return vec![Effect::Redraw],
            C::Help => (self.help, self.scrolled) = (true, 0),
            C::Up => self.step(-1),
            C::Down => self.step(1),
            C::PageUp => self.step(-self.page()),
            C::PageDown => self.step(self.page()),
            C::Top => self.step(isize::MIN / 2),
            C::Bottom => self.step(isize::MAX / 2),
            C::Left => self.sideways(false),
            C::Right => self.sideways(true),
            C::NextPane => self.turn(1),
            C::PreviousPane => self.turn(Pane::ALL.len() - 1),
            C::Pane(number) => {
                if let Some(pane) = Pane::ALL.get(usize::from(number).saturating_sub(1)) {
                    self.look_at(*pane);
                }
            }
            C::Open => self.open(),
            C::Back => self.back(),
            C::Diff => self.show(Tab::Diff),
            C::Explain => {
                self.explain = self.tab != Tab::Prompt || !self.explain;
                self.show(Tab::Prompt);
            }
            C::Problems => {
                let selected = self.selected().cloned();
                self.problems = !self.problems;
                self.set_rows(selected.as_ref());
            }
            C::Search => self.ask(Question::search()),
            C::Next => self.find(true, false),
            C::Previous => self.find(false, false),
            C::Copy => return vec![Effect::Copy(self.copied())],
            C::Mouse => {
                self.mouse = !self.mouse;
                self.say(match self.mouse {
                    true => "mouse on",
                    false => "mouse off: the terminal selects text; M switches it on again",
                });
                return vec![Effect::Mouse(self.mouse)];
            }
            C::Note
            | C::NoteNow
            | C::Pause
            | C::GoAhead
            | C::Skip
            | C::Model
            | C::Edit
            | C::Add
            | C::Undo => {
                return self.change_plan(command);
            }
        }
        Vec::new()
    }

    /// Everything that changes a run or the plan asks first.
    fn change_plan(&mut self, command: Command) -> Vec<Effect> {
        use Command as C;
        if self.read_only {
            self.fail("inside an attempt nothing can be changed");
            return Vec::new();
        }
        match command {
            C::Pause => {
                match self.head.run.as_ref().filter(|run| !run.state.is_over()) {
                    Some(run) => self.ask(Question::pause(&run.state)),
                    None => self.fail("no run is under way; start one: ralph run"),
                }
                return Vec::new();
            }
            C::Add => {
                self.ask(Question::add());
                return Vec::new();
            }
            C::Undo => return vec![Effect::Ask(Ask::LastAction)],
            _ => {}
        }
        let Some(task) = self.selected().cloned() else {
            self.fail("no task is selected");
            return Vec::new();
        };
        let name = self.name_of(&task);
        match command {
            C::Edit => return vec![Effect::Ask(Ask::Whole(task))],
            C::Note => self.ask(Question::note(&name, task)),
            C::NoteNow if self.is_under_way(&task) => self.ask(Question::note_now(&name, task)),
            C::NoteNow => self.ask(Question::note_soon(&name, task)),
            C::GoAhead if self.plan.get(&task).is_some_and(|row| row.status != Status::Blocked) => {
                self.fail(format!("{name} is not blocked"));
            }
            C::GoAhead => self.ask(Question::go_ahead(&name, task)),
            C::Skip => self.ask(Question::skip(&name, task)),
            _ => self.ask(Question::model(&name, task, &self.head.models)),
        }
        Vec::new()
    }

    /// What `y` copies: what has the focus.
    fn copied(&mut self) -> String {
        let text = match self.focus {
            Pane::Plan => self.selected().map(|id| match self.plan.get(id) {
                Some(row) => format!("{} {}", row.name, row.title),
                None => id.to_string(),
            }),
            Pane::Attempts => {
                let all = self.attempts();
                let at = self.attempt().and_then(|at| all.get(at).copied());
                at.map(|one| one.line(self.now))
            }
            Pane::Details => Some(self.text.whole()),
            Pane::Memory | Pane::Workers => {
                let contents = self.memory.learnings.iter().map(|one| one.content.as_str());
                Some(contents.collect::<Vec<_>>().join("\n"))
            }
        };
        let text = ansi::lines(&text.unwrap_or_default());
        let lines: Vec<String> = text.iter().map(Line::to_string).collect();
        let text = lines.join("\n");
        let lines = crate::ui::format::counted(lines.len() as u64, "line");
        self.say(format!("copied {lines} to the clipboard, if the terminal allows it"));
        text
    }
}
