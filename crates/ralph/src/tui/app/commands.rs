//! What keys do: they move, or they ask before they change something.

use crossterm::event::KeyEvent;
use ralph_core::model::{Status, TaskId};
use ratatui_core::text::Line;

use super::{App, Effect};
use crate::tui::ansi;
use crate::tui::dialog::{Done, Question};
use crate::tui::keys::{Command, command};
use crate::tui::layout::Pane;
use crate::tui::view::{Request, Tab};

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if let Some(dialog) = &mut self.dialog {
            let done = dialog.key(key);
            return self.answered(done);
        }
        let Some(command) = command(key) else { return Vec::new() };
        self.message = None;
        if self.help {
            match command {
                Command::Down | Command::PageDown => self.scrolled = self.scrolled.saturating_add(1),
                Command::Up | Command::PageUp => self.scrolled = self.scrolled.saturating_sub(1),
                Command::Quit if !key.modifiers.is_empty() => return vec![Effect::Quit],
                Command::Suspend => return vec![Effect::Suspend],
                _ => (self.help, self.scrolled) = (false, 0),
            }
            return Vec::new();
        }
        self.obey(command)
    }

    fn answered(&mut self, done: Done) -> Vec<Effect> {
        if done != Done::NotYet {
            self.dialog = None;
        }
        match done {
            Done::NotYet | Done::Canceled => Vec::new(),
            Done::Search(text) => self.start_search(text),
            Done::Do(action) => {
                self.say("…");
                vec![Effect::Request(Request::Do(action))]
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
            _ => return self.change_plan(command),
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
        let task = self.selected().cloned();
        match (command, task) {
            (C::Pause, _) => match self.head.run.as_ref().filter(|run| !run.state.is_over()) {
                Some(run) => self.ask(Question::pause(&run.state)),
                None => self.fail("no run is under way; start one: ralph run"),
            },
            (C::Add, _) => self.ask(Question::add()),
            (C::Undo, _) => return vec![Effect::Request(Request::LastAction)],
            (_, None) => self.fail("no task is selected"),
            (C::Edit, Some(task)) => return vec![Effect::Request(Request::Whole(task))],
            (_, Some(task)) => self.ask_about(command, task),
        }
        Vec::new()
    }

    fn ask_about(&mut self, command: Command, task: TaskId) {
        use Command as C;
        let name = self.name_of(&task);
        match command {
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
    }

    /// What `y` copies: what has the focus.
    fn copied(&mut self) -> String {
        let text = match self.focus {
            Pane::Plan => self.selected().map(|id| self.name_of(id)),
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
