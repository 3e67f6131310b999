//! `ralph status --watch`: the report again and again, until the run ends.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anstream::ColorChoice;
use ralph_core::agent::Interrupt;
use ralph_core::exit::RunExit;
use ralph_core::host::{ThisHost, is_stopped};

use super::Args;
use super::report::Report;
use super::show;
use crate::command_error::{CommandError, CommandResult};
use crate::settings::Settings;
use crate::ui::keys::{Echo, Input, TerminalMode, is_foreground, read_some};
use crate::ui::{self, table};
use crate::workspace::Workspace;
use crate::{interrupts, output};

/// How long a key or a signal may wait to be heard.
const NAP: Duration = Duration::from_millis(100);

pub fn watch(workspace: &Workspace, settings: &Settings, args: &Args) -> CommandResult {
    if !args.json && std::io::stdout().is_terminal() {
        in_place(workspace, settings, args.interval)
    } else {
        by_change(workspace, settings, args)
    }
}

/// What is looked at; looked at anew only when something was written, because a large plan takes its time.
struct Watched<'w> {
    workspace: &'w Workspace,
    settings: &'w Settings,
    version: u64,
    report: Report,
}

impl<'w> Watched<'w> {
    fn new(workspace: &'w Workspace, settings: &'w Settings) -> Result<Self, CommandError> {
        Ok(Self {
            workspace,
            settings,
            version: workspace.store.changes()?,
            report: Report::of(workspace, settings)?,
        })
    }

    fn look(&mut self) -> Result<(), CommandError> {
        let version = self.workspace.store.changes()?;
        // A run may also die or be stopped, which nobody writes down.
        let host = ThisHost::new();
        let mut runs = self.report.active.iter();
        let is_other = runs.any(|run| run.stopped != is_stopped(&host, &run.owner));
        if version != self.version || is_other || !self.workspace.has_active_run()? {
            self.version = version;
            self.report = Report::of(self.workspace, self.settings)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.report.active.is_empty()
    }
}

/// Draws over what was drawn before.
fn in_place(workspace: &Workspace, settings: &Settings, interval: Duration) -> CommandResult {
    let interrupt = interrupts::listen()?;
    let keys = is_foreground().then(|| TerminalMode::single_keys(Echo::Off));
    let mut screen = Screen::new();
    let mut watched = Watched::new(workspace, settings)?;
    loop {
        let text = show::text(&watched.report, ui::width());
        if watched.is_over() {
            // Whole: this one stays.
            screen.clear();
            output::text(text);
            return Ok(ExitCode::SUCCESS);
        }
        screen.draw(&text);
        if let Some(exit) = wait(interval, &interrupt, keys.is_some()) {
            return Ok(exit);
        }
        watched.look()?;
    }
}

/// Waits for the next look; the exit code if there is to be none.
fn wait(interval: Duration, interrupt: &Interrupt, listen: bool) -> Option<ExitCode> {
    let started = Instant::now();
    loop {
        if let Some(signal) = interrupt.first() {
            return Some(ExitCode::from(RunExit::Interrupted(signal).code()));
        }
        let left = interval.saturating_sub(started.elapsed());
        if left.is_zero() {
            return None;
        }
        let nap = left.min(NAP);
        let input = match listen {
            true => read_some(nap),
            false => {
                std::thread::sleep(nap);
                Input::Nothing
            }
        };
        match input {
            Input::Bytes(keys) if keys.iter().any(|key| matches!(key, b'q' | b'Q' | 4)) => {
                return Some(ExitCode::SUCCESS);
            }
            Input::Ended => return Some(ExitCode::SUCCESS),
            Input::Bytes(_) | Input::Nothing => {}
        }
    }
}

/// Prints the report when something in it has changed.
fn by_change(workspace: &Workspace, settings: &Settings, args: &Args) -> CommandResult {
    interrupts::quit_on_interrupt()?;
    let mut watched = Watched::new(workspace, settings)?;
    let mut seen = String::new();
    loop {
        let json = serde_json::to_string(&watched.report)
            .map_err(|e| CommandError::environment(format_args!("{e}")))?;
        if json != seen {
            let text = show::text(&watched.report, ui::width());
            match (args.json, seen.is_empty()) {
                (true, _) => output::line(&json),
                (false, true) => output::text(text),
                (false, false) => output::text(format_args!("\n{text}")),
            }
            seen = json;
        }
        if watched.is_over() || output::wait_unless_closed(args.interval) {
            return Ok(ExitCode::SUCCESS);
        }
        watched.look()?;
    }
}

/// The screen of a terminal, drawn over without being cleared: what does not change does not flicker.
struct Screen {
    colours: bool,
    drawn: bool,
}

impl Screen {
    fn new() -> Self {
        let colours = anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
        Self { colours, drawn: false }
    }

    fn draw(&mut self, text: &str) {
        let (width, height) = size();
        // What was on the screen moves up out of sight, and can be scrolled back to.
        let mut frame = match self.drawn {
            true => String::new(),
            false => "\n".repeat(height),
        };
        self.drawn = true;
        frame.push_str("\u{1b}[H");
        // The last line stays empty: writing into its end would scroll.
        let room = height.saturating_sub(1).max(1);
        let total = text.lines().count();
        let shown = if total > room { room.saturating_sub(1) } else { total };
        for line in text.lines().take(shown) {
            frame.push_str(&self.coloured(&table::cut(line, width)));
            frame.push_str("\u{1b}[K\n");
        }
        if total > shown {
            let more = format!("… {} more lines; `ralph status` shows all", total - shown);
            frame.push_str(&table::cut(&more, width));
            frame.push_str("\u{1b}[K\n");
        }
        frame.push_str("\u{1b}[J");
        self.write(&frame);
    }

    /// Makes room for what is to stay.
    fn clear(&self) {
        if self.drawn {
            self.write("\u{1b}[H\u{1b}[J");
        }
    }

    /// `anstream` would take the moves away with the colours, so colours are taken away here.
    fn coloured(&self, text: &str) -> String {
        match self.colours {
            true => text.to_owned(),
            false => anstream::adapter::strip_str(text).to_string(),
        }
    }

    fn write(&self, frame: &str) {
        let mut out = std::io::stdout().lock();
        // A terminal that is gone sends a signal.
        let _ = out.write_all(frame.as_bytes()).and_then(|()| out.flush());
    }
}

fn size() -> (usize, usize) {
    match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((width, height)) => (usize::from(width.0).max(20), usize::from(height.0).max(3)),
        None => (80, 24),
    }
}
