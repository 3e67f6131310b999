//! The live display: what is being done now, how far the plan is, a line per finished attempt.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anstream::ColorChoice;
use indicatif::style::ProgressTracker;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};
use ralph_core::event::{EventKind, Observer, RunEvent};
use ralph_core::model::{Cost, Status, Timestamp};
use ralph_core::store::PlanCounts;
use ralph_core::text::one_line;

use super::keys::TerminalMode;
use super::style::{BOLD, CYAN, DIM, paint};
use super::{format, lines, style, table};
use crate::threads;

/// Columns of the plan's bar.
const BAR: u64 = 24;

pub struct Terminal {
    screen: MultiProgress,
    /// Task, attempt, model, elapsed time.
    current: ProgressBar,
    doing: ProgressBar,
    /// Until when the run waits.
    until: Arc<Mutex<Option<Timestamp>>>,
    plan: ProgressBar,
    /// What the plan's line shows.
    shown: (PlanCounts, Cost),
    /// Whether the terminal wants colours.
    colours: bool,
    /// Keeps typed keys from being echoed into the live lines.
    mode: Option<TerminalMode>,
}

impl Terminal {
    pub fn new() -> Self {
        let screen = MultiProgress::with_draw_target(draw_target());
        let add = |template: &str| {
            let bar = ProgressBar::new(0);
            // The templates are constants; one that does not parse falls back to indicatif's own.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.with_key("time", elapsed));
            }
            screen.add(bar)
        };
        let current = add("{spinner} {msg} · {time}");
        let until: Arc<Mutex<Option<Timestamp>>> = Arc::default();
        let doing = add("  {msg}{left}");
        doing.set_style(doing.style().with_key("left", countdown(&until)));
        // The counts have a line of their own: with every kind of them it is as wide as a terminal.
        let plan = add("  {msg}\n  {prefix} · {time}");
        let colours = anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
        Self {
            screen,
            current,
            doing,
            until,
            plan,
            shown: Default::default(),
            colours,
            mode: Some(TerminalMode::no_echo()),
        }
    }

    fn show_plan(&mut self, tasks: &PlanCounts, cost: &Cost) {
        self.shown = (*tasks, *cost);
        let room = super::width().saturating_sub(4).max(10);
        self.plan.set_message(table::cut(&tasks.summary(), room));
        let mut text = style::bar(tasks, BAR);
        if let Some(cost) = format::total(cost) {
            text.push_str(&format!(" {cost}"));
        }
        self.plan.set_prefix(self.coloured(text));
    }

    fn print(&self, text: &str) {
        let width = super::width();
        let lines: Vec<String> = text.lines().map(|line| table::wrap(line, width)).collect();
        let text = lines.join("\n");
        if self.screen.is_hidden() {
            let _ = writeln!(anstream::stdout().lock(), "{text}");
            return;
        }
        // Above the live lines. Not `suspend`: it panics where the terminal is gone.
        let _ = self.screen.println(self.coloured(text));
    }

    fn set_doing(&self, text: &str) {
        let room = super::width().saturating_sub(4).max(10);
        self.doing.set_message(self.coloured(paint(DIM, table::cut(&one_line(text, 500), room))));
    }

    /// Shows how long the wait still takes, or no longer.
    fn wait_until(&self, until: Option<Timestamp>) {
        if let Ok(mut known) = self.until.lock() {
            *known = until;
        }
        match until {
            Some(_) => tick(&self.doing, Duration::from_secs(1)),
            None => self.doing.disable_steady_tick(),
        }
    }

    /// Live lines do not pass `anstream`, so what it would take away is taken away here.
    fn coloured(&self, text: String) -> String {
        if self.colours { text } else { anstream::adapter::strip_str(&text).to_string() }
    }

    fn clear(&mut self) {
        self.mode = None;
        for bar in [&self.current, &self.doing, &self.plan] {
            bar.disable_steady_tick();
            bar.finish_and_clear();
        }
        let _ = self.screen.clear();
    }
}

fn elapsed(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let _ = write!(out, "{}", format::elapsed(state.elapsed()));
}

/// Standard output, drawn anew at most ten times a second.
fn draw_target() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::<LiveLines>::default(), 10)
}

/// Standard output below the live display. Each line ends with a line break and the cursor stands below the last one, so
/// that a terminal that wraps lines anew after a change of its width mixes up nothing, and the rows to erase are counted
/// at the width the terminal has then.
#[derive(Debug, Default)]
struct LiveLines(Mutex<Drawn>);

#[derive(Debug, Default)]
struct Drawn {
    /// What is to be written.
    out: String,
    /// The columns of the lines on the screen, and the terminal's width when they were drawn.
    lines: Vec<usize>,
    width: usize,
    /// How far the cursor is to go up before lines are erased.
    up: usize,
    erased: bool,
    /// The columns of the lines of the drawing that is being made; each is followed by blanks, which are not written.
    new_lines: Vec<usize>,
    in_line: bool,
}

impl Drawn {
    /// Erases so many rows, as they were counted when they were drawn.
    fn erase(&mut self, rows: usize, width: usize) {
        let rows_of = |columns: usize, width: usize| columns.div_ceil(width.max(1)).max(1);
        let (mut counted, mut now) = (0, 0);
        for columns in self.lines.iter().rev().take_while(|columns| {
            let is_wanted = counted < rows;
            counted += rows_of(**columns, self.width);
            is_wanted
        }) {
            now += rows_of(*columns, width);
        }
        if now > 0 {
            self.out.push_str(&format!("\x1b[{now}A\r\x1b[0J"));
        }
    }

    fn write(&mut self, text: &str) {
        if self.in_line {
            self.out.push_str("\r\n");
        } else {
            self.new_lines.push(table::shown(text));
            self.out.push_str(text);
        }
        self.in_line = !self.in_line;
    }
}

impl LiveLines {
    fn with(&self, change: impl FnOnce(&mut Drawn)) -> std::io::Result<()> {
        if let Ok(mut drawn) = self.0.lock() {
            change(&mut drawn);
        }
        Ok(())
    }
}

impl TermLike for LiveLines {
    fn width(&self) -> u16 {
        u16::try_from(super::width()).unwrap_or(u16::MAX)
    }

    fn height(&self) -> u16 {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        size.map_or(24, |(_, height)| height.0)
    }

    fn move_cursor_up(&self, n: usize) -> std::io::Result<()> {
        self.with(|drawn| drawn.up = n)
    }

    fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> std::io::Result<()> {
        self.with(|drawn| {
            drawn.write(text);
            drawn.write("");
        })
    }

    fn write_str(&self, text: &str) -> std::io::Result<()> {
        self.with(|drawn| drawn.write(text))
    }

    /// Called once per row, after the cursor went up to the first one.
    fn clear_line(&self) -> std::io::Result<()> {
        let width = super::width();
        self.with(|drawn| {
            if !std::mem::replace(&mut drawn.erased, true) {
                drawn.erase(drawn.up + 1, width);
            }
        })
    }

    fn flush(&self) -> std::io::Result<()> {
        let width = super::width();
        let mut out = String::new();
        self.with(|drawn| {
            drawn.lines = std::mem::take(&mut drawn.new_lines);
            (drawn.width, drawn.erased, drawn.up) = (width, false, 0);
            out = std::mem::take(&mut drawn.out);
        })?;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(out.as_bytes())?;
        stdout.flush()
    }
}

/// Writes how long it is until the time that is known, after a separator.
fn countdown(until: &Arc<Mutex<Option<Timestamp>>>) -> impl ProgressTracker + 'static {
    let until = Arc::clone(until);
    move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let until = until.lock().ok().and_then(|until| *until);
        if let Some(until) = until {
            let left = until.since(crate::workspace::now());
            let _ = write!(out, " · {} left", format::duration(left));
        }
    }
}

impl Observer for Terminal {
    fn event(&mut self, event: &RunEvent) {
        match &event.kind {
            EventKind::Paused => {
                self.doing.set_message("");
                let _ = self.screen.clear();
                self.screen.set_draw_target(ProgressDrawTarget::hidden());
                self.mode = None;
            }
            EventKind::Resumed => {
                self.mode = Some(TerminalMode::no_echo());
                self.screen.set_draw_target(draw_target());
            }
            // In a terminal the question shows the analysis, or the end of the run does.
            EventKind::RunStarted { tasks, .. } => {
                self.show_plan(tasks, &Cost::default());
                tick(&self.plan, Duration::from_millis(250));
            }
            EventKind::AttemptStarted { task, attempt, choice, agent, learnings, .. } => {
                let model = if *agent == choice.model { "" } else { &choice.model };
                let shown = lines::learnings_shown(learnings.len(), " · ");
                let facts = format!(" · attempt {attempt} · {agent} {model}");
                let facts = format!("{}{shown}", facts.trim_end());
                let room = super::width().saturating_sub(table::shown(&facts) + 12).max(10);
                let name = table::cut(&format!("{} {}", task.name(), task.title), room);
                self.current.reset_elapsed();
                let line = format!("{}{}", paint(BOLD, name), paint(CYAN, facts));
                self.current.set_message(self.coloured(line));
                tick(&self.current, Duration::from_millis(120));
                self.set_doing("starting");
                // The counts come after each attempt; meanwhile this task is not waiting.
                let (mut tasks, cost) = self.shown;
                tasks.moved(Status::Pending, Status::InProgress);
                self.show_plan(&tasks, &cost);
            }
            EventKind::Activity { activity, .. } => self.set_doing(&lines::activity(activity)),
            EventKind::GateStarted { command, .. } => self.set_doing(&format!("gate: {command}")),
            EventKind::Progress { tasks, cost } => self.show_plan(tasks, cost),
            EventKind::Waiting { reason, until, .. } => {
                self.current.set_message("");
                self.set_doing(&format!("waiting for {reason}"));
                self.wait_until(*until);
            }
            EventKind::WaitOver => {
                self.wait_until(None);
                self.set_doing("");
            }
            EventKind::Interrupted { .. } => self.set_doing("stopping"),
            EventKind::RunFinished { .. } => self.clear(),
            _ => {}
        }
        if let Some(line) = lines::line(event) {
            self.print(&line);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // An error may end a run without its last event.
        self.clear();
    }
}

/// Lets a line move by itself, where the thread for that can be started.
fn tick(line: &ProgressBar, every: Duration) {
    if threads::can_start() {
        line.enable_steady_tick(every);
    }
}
