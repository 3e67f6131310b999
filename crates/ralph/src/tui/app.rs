//! What the screen shows and how events change it. Nothing here reads or writes anything: events come in, effects go out.

mod commands;
mod moves;
mod text;

use std::collections::{HashMap, HashSet};

use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};
use ralph_core::model::{Status, Task, TaskId, Timestamp};
use ralph_core::store::PlanRow;
use ratatui_core::layout::Size;

use super::ansi;
use super::dialog::{Dialog, Question};
use super::layout::{Areas, Pane};
use super::outline::{Node, Outline, Row};
use super::view::{Head, Memory, Reply, Request, Tab, TextKey, Wanted, Which};
use crate::facts::{AttemptFacts, CurrentAttempt, TaskFacts};
pub use text::{Search, Text};

/// What the program is to do for the screen.
#[derive(Debug, PartialEq)]
pub enum Effect {
    Request(Request),
    /// Opens a task in the person's editor.
    Edit(Box<Task>),
    Copy(String),
    Mouse(bool),
    Redraw,
    Suspend,
    Quit,
}

#[derive(Debug)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(Size),
    Reply(Reply),
    /// A second has passed.
    Tick(Timestamp),
    /// What the editor made of a task; none where nothing was changed.
    Edited(TaskId, Result<Option<Box<ralph_core::model::TaskEdit>>, String>),
    /// Something that Ralph would have printed.
    Note(String),
}

/// A line that says what was done, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    pub is_error: bool,
}

/// An attempt of the selected task.
#[derive(Clone, Copy, Debug)]
pub enum AttemptView<'a> {
    Recorded(&'a AttemptFacts),
    UnderWay(&'a CurrentAttempt),
}

#[derive(Debug, Default)]
pub struct App {
    pub size: Size,
    pub now: Timestamp,
    /// Inside an attempt nothing can be done but look.
    pub read_only: bool,
    /// The run that was asked for.
    pub run: Option<String>,
    pub focus: Pane,
    /// The one of memory and workers that is shown where there is room for one.
    pub lower: Pane,
    /// Whether the pane in focus has the whole screen.
    pub zoomed: bool,
    pub outline: Outline,
    pub rows: Vec<Row>,
    pub cursor: usize,
    pub top: usize,
    /// Whether the selection follows the run, as long as nobody chooses a task.
    follows_run: bool,
    folded: HashSet<TaskId>,
    pub problems: bool,
    pub plan: HashMap<TaskId, PlanRow>,
    pub head: Head,
    pub task: Option<TaskFacts>,
    /// The number of the attempt that was chosen; the newest one where none was.
    chosen: Option<u32>,
    pub tab: Tab,
    pub explain: bool,
    pub text: Text,
    pub memory: Memory,
    /// First line in view of memory, workers and help.
    pub scrolled: usize,
    pub dialog: Option<Dialog>,
    pub help: bool,
    pub message: Option<Message>,
    pub search: Search,
    pub mouse: bool,
    /// Whether anything was read yet.
    pub ready: bool,
    wanted: Wanted,
}

impl App {
    pub fn new(size: Size, now: Timestamp, read_only: bool, run: Option<String>) -> Self {
        Self {
            size,
            now,
            read_only,
            run,
            lower: Pane::Memory,
            follows_run: true,
            text: Text::following(),
            mouse: true,
            ..Self::default()
        }
    }

    /// What is asked for at first, so that the first picture is a whole one.
    pub fn first(&mut self) -> Wanted {
        self.settle();
        self.wanted = self.wants();
        self.wanted.clone()
    }

    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.change(event);
        self.settle();
        let wanted = self.wants();
        if wanted != self.wanted {
            self.wanted = wanted.clone();
            effects.push(Effect::Request(Request::Show(Box::new(wanted))));
        }
        effects
    }

    fn change(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) => return self.key(key),
            Event::Paste(text) => self.dialog.iter_mut().for_each(|dialog| dialog.insert(&text)),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Resize(size) => self.size = size,
            Event::Tick(now) => self.now = now,
            Event::Reply(told) => return self.take(told),
            Event::Edited(task, Ok(Some(edit))) => self.ask(Question::edit(self.name_of(&task), task, edit)),
            Event::Edited(_, Ok(None)) => self.say("nothing was changed"),
            Event::Edited(_, Err(why)) => self.fail(why),
            Event::Note(text) => self.say(text),
        }
        Vec::new()
    }

    fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: ansi::plain(&text.into()), is_error: false });
    }

    fn fail(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: ansi::plain(&text.into()), is_error: true });
    }

    fn ask(&mut self, question: Question) {
        self.dialog = Some(Dialog::new(question));
    }

    fn take(&mut self, told: Reply) -> Vec<Effect> {
        self.ready = true;
        match told {
            Reply::Outline(outline) => {
                let selected = self.selected().cloned();
                self.outline = outline;
                self.set_rows(selected.as_ref());
            }
            Reply::Rows(rows) => self.plan = rows,
            Reply::Head(head) => self.head = *head,
            Reply::Task(task) => self.task = task.map(|task| *task),
            Reply::Memory(memory) => self.memory = memory,
            // Also what comes late to the text that is still there: its reader may be asked for it again.
            Reply::Text { key, lines, how } if key == self.wanted.text || key == self.text.key => {
                self.text.take(key, &lines, how)
            }
            // Of something that was left since.
            Reply::Text { .. } => {}
            Reply::Found(found) => {
                self.search.found = found;
                self.find(true, true);
            }
            Reply::LastAction(Some((id, what))) => self.ask(Question::undo(id, &what)),
            Reply::LastAction(None) => self.say("nothing to undo"),
            Reply::Whole(task) => return vec![Effect::Edit(task)],
            Reply::Receipt(text) => self.say(text),
            Reply::Failed(why) => self.fail(why),
        }
        Vec::new()
    }

    /// Lays the rows out anew, with the same task selected where it is still there.
    fn set_rows(&mut self, selected: Option<&TaskId>) {
        self.rows = self.outline.rows(&self.folded, self.problems);
        let node = |row: &Row| match row {
            Row::Task(at) => self.outline.nodes.get(*at),
            Row::Phase(_) => None,
        };
        let place =
            |is_it: &dyn Fn(&Node) -> bool| self.rows.iter().position(|row| node(row).is_some_and(is_it));
        let running = self.follows_run.then(|| place(&|node| node.status == Status::InProgress)).flatten();
        let needs_you = || place(&|node| matches!(node.status, Status::Blocked | Status::Failed));
        self.cursor = match (running, selected) {
            (Some(running), _) => running,
            (None, Some(id)) => place(&|node| node.id == *id).unwrap_or(self.cursor),
            (None, None) => needs_you().or_else(|| place(&|_| true)).unwrap_or(0),
        };
    }

    /// Whether the selection goes with the run.
    pub fn follows(&self) -> bool {
        self.follows_run && self.head.run.as_ref().is_some_and(|run| !run.state.is_over())
    }

    fn is_under_way(&self, task: &TaskId) -> bool {
        self.head.active.iter().flat_map(|run| &run.attempts).any(|one| one.task.task_id == *task)
    }

    pub fn selected(&self) -> Option<&TaskId> {
        match self.rows.get(self.cursor)? {
            Row::Task(at) => self.outline.nodes.get(*at).map(|node| &node.id),
            Row::Phase(_) => None,
        }
    }

    pub fn facts(&self) -> Option<&TaskFacts> {
        self.task.as_ref().filter(|task| Some(&task.task.id) == self.selected())
    }

    /// What a task is called, with its title in a question.
    fn name_of(&self, task: &TaskId) -> String {
        self.plan.get(task).map_or_else(|| task.to_string(), |row| format!("{} {}", row.name, row.title))
    }

    /// The attempts of the selected task, oldest first.
    pub fn attempts(&self) -> Vec<AttemptView<'_>> {
        let Some(facts) = self.facts() else { return Vec::new() };
        let of_run = |attempt: &&AttemptFacts| {
            self.run
                .as_ref()
                .is_none_or(|run| attempt.record.run_id.as_ref().is_some_and(|of| of.as_str() == run))
        };
        let mut all: Vec<AttemptView<'_>> =
            facts.history.iter().filter(of_run).map(AttemptView::Recorded).collect();
        all.extend(facts.under_way.as_ref().map(AttemptView::UnderWay));
        all
    }

    /// The attempt in view, by its place among them.
    pub fn attempt(&self) -> Option<usize> {
        let all = self.attempts();
        let chosen = self.chosen.and_then(|chosen| all.iter().position(|one| one.number() == chosen));
        chosen.or_else(|| all.len().checked_sub(1))
    }

    fn which(&self) -> Option<Which> {
        self.attempt().and_then(|at| self.attempts().get(at).map(|one| one.which()))
    }

    pub fn areas(&self) -> Areas {
        self.areas_in(self.size)
    }

    /// Where everything stands on a screen of this size.
    pub fn areas_in(&self, size: Size) -> Areas {
        let attempts =
            self.facts().map_or(0, |facts| facts.history.len() + usize::from(facts.under_way.is_some()));
        let message = self.message.as_ref().map_or(0, |message| message.text.chars().count());
        Areas::of(size, self.focus, self.lower, self.zoomed, attempts, message)
    }

    /// Keeps what is selected in view and every place within what there is.
    fn settle(&mut self) {
        if matches!(self.focus, Pane::Memory | Pane::Workers) {
            self.lower = self.focus;
        }
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
        if matches!(self.rows.get(self.cursor), Some(Row::Phase(_))) {
            self.cursor += 1;
        }
        let areas = self.areas();
        let height = areas.plan_rows();
        if self.cursor < self.top {
            // The heading above the first task of a phase stays in view with it.
            let heading = self.cursor > 0 && matches!(self.rows.get(self.cursor - 1), Some(Row::Phase(_)));
            self.top = self.cursor - usize::from(heading);
        }
        if self.cursor >= self.top + height {
            self.top = self.cursor + 1 - height;
        }
        self.top = self.top.min(self.rows.len().saturating_sub(height.min(self.rows.len())));
        let text = areas.inner(Pane::Details);
        self.text.fit(text.width.into(), text.height.into());
    }

    fn wants(&self) -> Wanted {
        // A screenful more on both sides: scrolling shows no gaps.
        let height = self.areas().plan_rows();
        let rows = self.rows.iter().skip(self.top.saturating_sub(height)).take(3 * height);
        let rows = rows.filter_map(|row| match row {
            Row::Task(at) => self.outline.nodes.get(*at).map(|node| node.id.clone()),
            Row::Phase(_) => None,
        });
        let task = self.selected().cloned();
        let attempt = if self.tab == Tab::Log { None } else { self.which() };
        Wanted {
            rows: rows.collect(),
            text: TextKey {
                task: task.clone().filter(|_| self.tab != Tab::Log),
                attempt,
                tab: self.tab,
                explain: self.explain && self.tab == Tab::Prompt,
            },
            task,
        }
    }

    /// The first attempt in view, where so many are.
    pub fn first_attempt(&self, height: usize) -> usize {
        let all = self.attempts().len();
        let at = self.attempt().unwrap_or(0);
        at.saturating_sub(height.max(1) - 1).max(all.saturating_sub(height).min(at))
    }

    pub fn is_folded(&self, at: usize) -> bool {
        self.outline.nodes.get(at).is_some_and(|node| self.folded.contains(&node.id))
    }

    pub fn wanted_text(&self) -> &TextKey {
        &self.wanted.text
    }
}

impl AttemptView<'_> {
    /// In the database.
    fn number(&self) -> u32 {
        match self {
            Self::Recorded(attempt) => attempt.record.attempt_number,
            Self::UnderWay(attempt) => attempt.attempt_number,
        }
    }

    fn which(&self) -> Which {
        match self {
            Self::Recorded(attempt) => Which::Recorded(attempt.record.attempt_number),
            Self::UnderWay(_) => Which::UnderWay,
        }
    }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
