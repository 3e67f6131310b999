//! The live display: what is being done now, how far the plan is, a line per finished attempt.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anstream::ColorChoice;
use indicatif::style::ProgressTracker;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
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

/// Draws on standard output.
pub struct Terminal {
    screen: MultiProgress,
    /// Task, attempt, model, elapsed time.
    current: ProgressBar,
    /// What the agent is doing.
    doing: ProgressBar,
    /// Until when the run waits.
    until: Arc<Mutex<Option<Timestamp>>>,
    /// The plan.
    plan: ProgressBar,
    /// What the plan's line shows.
    shown: (PlanCounts, Cost),
    /// Whether the terminal wants colours.
    colours: bool,
    /// Keeps typed keys from being echoed into the live lines.
    mode: Option<TerminalMode>,
}

impl Terminal {
    /// An empty display.
    pub fn new() -> Self {
        let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stdout_with_hz(10));
        let add = |template: &str| {
            let bar = ProgressBar::new(0);
            // The templates are constants; one that does not parse falls back to indicatif's own.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            screen.add(bar)
        };
        let current = add("{spinner} {msg} · {elapsed}");
        let until: Arc<Mutex<Option<Timestamp>>> = Arc::default();
        let doing = add("  {msg}{left}");
        doing.set_style(doing.style().with_key("left", countdown(&until)));
        // The counts have a line of their own: with every kind of them it is as wide as a terminal.
        let plan = add("  {msg}\n  {prefix} · {elapsed}");
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
        self.doing
            .set_message(self.coloured(paint(DIM, table::cut(&one_line(text, 500), room))));
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
        if self.colours {
            text
        } else {
            anstream::adapter::strip_str(&text).to_string()
        }
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
                self.screen
                    .set_draw_target(ProgressDrawTarget::stdout_with_hz(10));
            }
            // In a terminal the question shows the analysis, or the end of the run does.
            EventKind::RunStarted { tasks, .. } => {
                self.show_plan(tasks, &Cost::default());
                tick(&self.plan, Duration::from_millis(250));
            }
            EventKind::AttemptStarted {
                task,
                attempt,
                choice,
                agent,
                learnings,
                ..
            } => {
                let model = if *agent == choice.model {
                    ""
                } else {
                    &choice.model
                };
                let shown = lines::learnings_shown(learnings.len(), " · ");
                let facts = format!(" · attempt {attempt} · {agent} {model}");
                let facts = format!("{}{shown}", facts.trim_end());
                let room = super::width()
                    .saturating_sub(table::shown(&facts) + 12)
                    .max(10);
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
