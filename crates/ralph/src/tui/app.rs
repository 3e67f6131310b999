//! What the screen shows and how keys change it. Nothing here reads or writes anything: events come in, effects go out.

use std::collections::{HashMap, HashSet, VecDeque};

use crossterm::event::{KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ralph_core::model::{Task, TaskId, Timestamp};
use ralph_core::store::PlanRow;
use ratatui_core::layout::{Position, Size};
use ratatui_core::text::Line;

use super::ansi;
use super::dialog::{Dialog, Done, Question};
use super::keys::{Command, command};
use super::layout::{Areas, Pane};
use super::outline::{Outline, Row};
use super::texts::MOST_LINES;
use super::view::{Append, Ask, Head, Memory, Tab, TextKey, Told, Wanted, Which};
use crate::facts::{AttemptFacts, CurrentAttempt, TaskFacts};

/// What the program is to do for the screen.
#[derive(Debug, PartialEq)]
pub enum Effect {
    Ask(Ask),
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
    Told(Told),
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

/// The text of the details, broken into lines of the screen.
#[derive(Debug, Default)]
pub struct Text {
    key: TextKey,
    lines: VecDeque<Line<'static>>,
    pub broken: Vec<Line<'static>>,
    columns: usize,
    pub top: usize,
    /// Whether the end stays in view while lines come.
    pub follows: bool,
}

/// What is searched, and what was found.
#[derive(Debug, Default)]
pub struct Search {
    pub text: String,
    /// Tasks; those of the details are looked for when they are wanted.
    found: Vec<TaskId>,
}

/// An attempt of the selected task.
#[derive(Clone, Copy, Debug)]
pub enum AttemptView<'a> {
    Recorded(&'a AttemptFacts),
    UnderWay(&'a CurrentAttempt),
}

#[derive(Debug)]
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
    /// The attempt that was chosen; the newest one where none was.
    chosen: Option<Which>,
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
            focus: Pane::Plan,
            lower: Pane::Memory,
            zoomed: false,
            outline: Outline::default(),
            rows: Vec::new(),
            cursor: 0,
            top: 0,
            follows_run: true,
            folded: HashSet::new(),
            problems: false,
            plan: HashMap::new(),
            head: Head::default(),
            task: None,
            chosen: None,
            tab: Tab::default(),
            explain: false,
            text: Text { follows: true, ..Text::default() },
            memory: Memory::default(),
            scrolled: 0,
            dialog: None,
            help: false,
            message: None,
            search: Search::default(),
            mouse: true,
            ready: false,
            wanted: Wanted::default(),
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
            effects.push(Effect::Ask(Ask::Show(Box::new(wanted))));
        }
        effects
    }

    fn change(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Event::Key(key) => self.key(key),
            Event::Paste(text) => {
                if let Some(dialog) = &mut self.dialog {
                    dialog.insert(&text);
                }
                Vec::new()
            }
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Resize(size) => {
                self.size = size;
                Vec::new()
            }
            Event::Tick(now) => {
                self.now = now;
                Vec::new()
            }
            Event::Told(told) => self.take(told),
            Event::Edited(task, edited) => {
                match edited {
                    Ok(Some(edit)) => self.ask(Question::edit(self.name_of(&task), task, edit)),
                    Ok(None) => self.say("nothing was changed"),
                    Err(why) => self.fail(why),
                }
                Vec::new()
            }
            Event::Note(text) => {
                self.say(text);
                Vec::new()
            }
        }
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

    fn take(&mut self, told: Told) -> Vec<Effect> {
        self.ready = true;
        match told {
            Told::Outline(outline) => self.set_outline(outline),
            Told::Rows(rows) => self.plan = rows,
            Told::Head(head) => self.head = *head,
            Told::Task(task) => {
                self.task = task.map(|task| *task);
                self.keep_choice();
            }
            Told::Memory(memory) => self.memory = memory,
            // Also what comes late to the text that is still there: its reader may be asked for it again.
            Told::Text { key, lines, how } if key == self.wanted.text || key == self.text.key => {
                self.text.take(key, &lines, how)
            }
            // Of something that was left since.
            Told::Text { .. } => {}
            Told::Found(found) => {
                self.search.found = found;
                self.find(true, true);
            }
            Told::LastAction(Some((id, what))) => self.ask(Question::undo(id, &what)),
            Told::LastAction(None) => self.say("nothing to undo"),
            Told::Whole(task) => return vec![Effect::Edit(task)],
            Told::Receipt(text) => self.say(text),
            Told::Failed(why) => self.fail(why),
        }
        Vec::new()
    }

    fn set_outline(&mut self, outline: Outline) {
        let selected = self.selected().cloned();
        self.outline = outline;
        self.set_rows(selected.as_ref());
    }

    /// Lays the rows out anew, with the same task selected where it is still there.
    fn set_rows(&mut self, selected: Option<&TaskId>) {
        self.rows = self.outline.rows(&self.folded, self.problems);
        let node = |row: &Row| match row {
            Row::Task(at) => self.outline.nodes.get(*at),
            Row::Phase(_) => None,
        };
        let of = |id: &TaskId| self.rows.iter().position(|row| node(row).is_some_and(|node| node.id == *id));
        let running = || {
            self.rows.iter().position(|row| {
                node(row).is_some_and(|node| node.status == ralph_core::model::Status::InProgress)
            })
        };
        let first = || self.rows.iter().position(|row| matches!(row, Row::Task(_)));
        let running = self.follows_run.then(running).flatten();
        self.cursor = match selected {
            _ if running.is_some() => running.unwrap_or(0),
            Some(id) => of(id).unwrap_or(self.cursor),
            None => first().unwrap_or(0),
        };
    }

    /// An attempt that has ended has a number now.
    fn keep_choice(&mut self) {
        if self.chosen == Some(Which::UnderWay)
            && self.task.as_ref().is_some_and(|task| task.under_way.is_none())
        {
            self.chosen = None;
        }
    }

    pub fn selected(&self) -> Option<&TaskId> {
        match self.rows.get(self.cursor)? {
            Row::Task(at) => self.outline.nodes.get(*at).map(|node| &node.id),
            Row::Phase(_) => None,
        }
    }

    /// The facts of the selected task, once they are there.
    pub fn facts(&self) -> Option<&TaskFacts> {
        self.task.as_ref().filter(|task| Some(&task.task.id) == self.selected())
    }

    fn name_of(&self, task: &TaskId) -> String {
        self.plan.get(task).map_or_else(|| task.to_string(), |row| row.name.clone())
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
        let chosen = self.chosen.and_then(|chosen| all.iter().position(|one| one.which() == chosen));
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

    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
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
            C::NoteNow => self.ask(Question::note_now(&name, task)),
            C::GoAhead => self.ask(Question::go_ahead(&name, task)),
            C::Skip => self.ask(Question::skip(&name, task)),
            _ => self.ask(Question::model(&name, task, &self.head.models)),
        }
        Vec::new()
    }

    fn page(&self) -> isize {
        isize::try_from(self.areas().inner(self.focus).height.max(2) - 1).unwrap_or(1)
    }

    /// Moves the selection, or what is in view.
    fn step(&mut self, by: isize) {
        match self.focus {
            Pane::Plan => {
                let last = self.rows.len().saturating_sub(1);
                self.follows_run = false;
                self.cursor = self.cursor.saturating_add_signed(by).min(last);
                // A heading is not selected.
                if matches!(self.rows.get(self.cursor), Some(Row::Phase(_))) {
                    self.cursor = match by < 0 && self.cursor > 0 {
                        true => self.cursor - 1,
                        false => (self.cursor + 1).min(last),
                    };
                }
                self.chosen = None;
            }
            Pane::Attempts => {
                let all = self.attempts();
                let last = all.len().saturating_sub(1);
                let at = self.attempt().unwrap_or(0).saturating_add_signed(by).min(last);
                // The newest is followed: a new one takes its place.
                self.chosen = all.get(at).map(|one| one.which()).filter(|_| at < last);
            }
            Pane::Details => self.text.scroll(by, self.areas().inner(Pane::Details).height.into()),
            Pane::Memory | Pane::Workers => self.scrolled = self.scrolled.saturating_add_signed(by).min(500),
        }
    }

    fn sideways(&mut self, right: bool) {
        match self.focus {
            Pane::Plan => self.fold(!right),
            Pane::Memory | Pane::Workers | Pane::Attempts | Pane::Details => {
                let at = Tab::ALL.iter().position(|tab| *tab == self.tab).unwrap_or(0);
                let next = if right { at + 1 } else { at + Tab::ALL.len() - 1 } % Tab::ALL.len();
                if let Some(tab) = Tab::ALL.get(next) {
                    self.tab = *tab;
                }
            }
        }
    }

    fn fold(&mut self, fold: bool) {
        self.follows_run = false;
        let Some(Row::Task(at)) = self.rows.get(self.cursor) else { return };
        let Some(node) = self.outline.nodes.get(*at) else { return };
        let (id, depth) = (node.id.clone(), node.depth);
        let changed = match fold {
            true => node.below > 0 && self.folded.insert(id.clone()),
            false => self.folded.remove(&id),
        };
        if changed {
            self.set_rows(Some(&id));
        } else if fold && depth > 0 {
            // Nothing to fold: to the parent.
            let above = self.outline.nodes.get(..*at).unwrap_or_default();
            let parent = above.iter().rev().find(|node| node.depth < depth).map(|node| node.id.clone());
            self.select(parent.as_ref());
        }
    }

    /// Selects a task, unfolding what hides it.
    fn select(&mut self, id: Option<&TaskId>) {
        let Some((id, at)) = id.and_then(|id| Some((id, self.outline.place_of(id)?))) else { return };
        let above = self.outline.nodes.get(..at).unwrap_or_default();
        let mut depth = self.outline.nodes.get(at).map_or(0, |node| node.depth);
        for node in above.iter().rev() {
            if node.depth < depth {
                depth = node.depth;
                self.folded.remove(&node.id);
            }
        }
        self.follows_run = false;
        self.set_rows(Some(id));
        self.chosen = None;
    }

    fn turn(&mut self, by: usize) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus).unwrap_or(0);
        if let Some(pane) = Pane::ALL.get((at + by) % Pane::ALL.len()) {
            self.look_at(*pane);
        }
    }

    fn look_at(&mut self, pane: Pane) {
        (self.focus, self.scrolled) = (pane, 0);
    }

    fn show(&mut self, tab: Tab) {
        self.tab = tab;
        self.look_at(Pane::Details);
    }

    fn open(&mut self) {
        match self.focus {
            Pane::Plan => {
                let Some(Row::Task(at)) = self.rows.get(self.cursor) else { return };
                let Some(node) = self.outline.nodes.get(*at) else { return };
                match node.below > 0 && !self.problems {
                    true => self.fold(!self.folded.contains(&node.id)),
                    false => self.look_at(Pane::Details),
                }
            }
            Pane::Attempts => self.look_at(Pane::Details),
            Pane::Details | Pane::Memory | Pane::Workers => self.zoomed = !self.zoomed,
        }
    }

    fn back(&mut self) {
        match self.zoomed {
            true => self.zoomed = false,
            false if self.focus != Pane::Plan => self.look_at(Pane::Plan),
            // Back to what is being worked on.
            false => {
                let selected = self.selected().cloned();
                (self.follows_run, self.chosen) = (true, None);
                self.set_rows(selected.as_ref());
            }
        }
    }

    fn start_search(&mut self, text: String) -> Vec<Effect> {
        self.search = Search { text, found: Vec::new() };
        if self.search.text.is_empty() {
            return Vec::new();
        }
        match self.focus {
            Pane::Details => {
                self.find(true, true);
                Vec::new()
            }
            _ => vec![Effect::Ask(Ask::Find(self.search.text.clone()))],
        }
    }

    /// Goes to the next one found, or the one before; `here` counts what is in view.
    fn find(&mut self, forward: bool, here: bool) {
        if self.search.text.is_empty() {
            return self.say("nothing was searched yet; / searches");
        }
        if self.focus == Pane::Details {
            if !self.text.find(&self.search.text, forward, here) {
                self.fail(format!("`{}` is not in this text", self.search.text));
            }
            return;
        }
        // In the order of the tree.
        let found: HashSet<&TaskId> = self.search.found.iter().collect();
        let places: Vec<usize> = self
            .outline
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| found.contains(&node.id) && (!self.problems || node.is_problem()))
            .map(|(at, _)| at)
            .collect();
        let at = match self.rows.get(self.cursor) {
            Some(Row::Task(at) | Row::Phase(at)) => *at,
            None => 0,
        };
        let next = match forward {
            true => places.iter().find(|place| **place > at || here && **place == at).or(places.first()),
            false => places.iter().rfind(|place| **place < at).or(places.last()),
        };
        let Some(next) = next.copied() else {
            return self.fail(format!("no task has `{}` in its name or title", self.search.text));
        };
        let number = places.iter().position(|place| *place == next).map_or(0, |at| at + 1);
        let id = self.outline.nodes.get(next).map(|node| node.id.clone());
        self.select(id.as_ref());
        self.say(format!("{number} of {} with `{}`; n and N go on", places.len(), self.search.text));
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

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        if self.dialog.is_some() || self.help {
            return Vec::new();
        }
        let at = Position::new(mouse.column, mouse.row);
        let areas = self.areas();
        let Some(pane) = areas.pane_at(at) else { return Vec::new() };
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                if self.focus != pane {
                    self.look_at(pane);
                }
                self.click(pane, at, &areas);
            }
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
                let by = if mouse.kind == MouseEventKind::ScrollUp { -3 } else { 3 };
                let focus = std::mem::replace(&mut self.focus, pane);
                self.step(by);
                self.focus = focus;
            }
            _ => {}
        }
        Vec::new()
    }

    fn click(&mut self, pane: Pane, at: Position, areas: &Areas) {
        let inner = areas.inner(pane);
        let line = at.y.checked_sub(inner.y).map(usize::from).filter(|_| inner.contains(at));
        match (pane, line) {
            (Pane::Plan, Some(line)) => {
                let row = self.top + line;
                if line < areas.plan_rows() && matches!(self.rows.get(row), Some(Row::Task(_))) {
                    (self.chosen, self.follows_run) = (None, false);
                    self.cursor = row;
                }
            }
            (Pane::Attempts, Some(line)) => {
                let all = self.attempts();
                let first = self.first_attempt(inner.height.into());
                if let Some(one) = all.get(first + line) {
                    self.chosen = Some(one.which());
                }
            }
            (Pane::Details, None) if at.y == areas.area(pane).y => {
                if let Some(tab) = super::layout::tab_at(areas.area(pane), at.x) {
                    self.tab = tab;
                }
            }
            _ => {}
        }
    }

    /// The first attempt in view, where so many are.
    pub fn first_attempt(&self, height: usize) -> usize {
        let all = self.attempts().len();
        let at = self.attempt().unwrap_or(0);
        at.saturating_sub(height.max(1) - 1).max(all.saturating_sub(height).min(at))
    }
}

impl AttemptView<'_> {
    pub fn which(&self) -> Which {
        match self {
            Self::Recorded(attempt) => Which::Recorded(attempt.record.attempt_number),
            Self::UnderWay(_) => Which::UnderWay,
        }
    }
}

impl Text {
    fn take(&mut self, key: TextKey, lines: &[String], how: Append) {
        if how == Append::Anew {
            // A log begins empty and is read from its end; everything else is read from its beginning.
            if lines.is_empty() && matches!(key.tab, Tab::Live | Tab::Log) {
                self.follows = true;
            } else if self.key != key {
                (self.follows, self.top) = (false, 0);
            }
            self.lines.clear();
            self.broken.clear();
        }
        self.key = key;
        let new = ansi::lines(&lines.join("\n"));
        if self.columns > 0 {
            self.broken.extend(new.iter().flat_map(|line| ansi::wrap(line, self.columns)));
        }
        self.lines.extend(new);
        if self.lines.len() > MOST_LINES {
            self.lines.drain(..self.lines.len() - MOST_LINES);
            self.columns = 0;
        }
    }

    /// Breaks the lines for a pane of this size.
    fn fit(&mut self, columns: usize, height: usize) {
        if self.columns != columns && columns > 0 {
            self.columns = columns;
            self.broken = self.lines.iter().flat_map(|line| ansi::wrap(line, columns)).collect();
        }
        let last = self.broken.len().saturating_sub(height);
        self.top = if self.follows { last } else { self.top.min(last) };
    }

    fn scroll(&mut self, by: isize, height: usize) {
        let last = self.broken.len().saturating_sub(height);
        self.top = self.top.saturating_add_signed(by).min(last);
        self.follows = self.top == last && matches!(self.key.tab, Tab::Live | Tab::Log);
    }

    /// Scrolls to a line with a text; `false` where there is none.
    fn find(&mut self, text: &str, forward: bool, here: bool) -> bool {
        let text = text.to_lowercase();
        let hits = self.broken.iter().enumerate();
        let hits: Vec<usize> = hits
            .filter(|(_, line)| line.to_string().to_lowercase().contains(&text))
            .map(|(at, _)| at)
            .collect();
        let next = match forward {
            true => hits.iter().find(|at| **at > self.top || here && **at == self.top).or(hits.first()),
            false => hits.iter().rfind(|at| **at < self.top).or(hits.last()),
        };
        if let Some(at) = next {
            (self.top, self.follows) = (*at, false);
        }
        next.is_some()
    }

    fn whole(&self) -> String {
        self.lines.iter().map(|line| line.to_string() + "\n").collect()
    }

    /// Whether this is the text that is wanted.
    pub fn is_of(&self, wanted: &TextKey) -> bool {
        self.key == *wanted
    }
}

impl App {
    pub fn is_folded(&self, at: usize) -> bool {
        self.outline.nodes.get(at).is_some_and(|node| self.folded.contains(&node.id))
    }

    pub fn wanted_text(&self) -> &TextKey {
        &self.wanted.text
    }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
