//! `ralph status`: the state of the project, once or until the run ends.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ralph_core::agent::Interrupt;
use ralph_core::exit::RunExit;
use ralph_core::host::{ThisHost, is_stopped};

use crate::command_error::{CommandError, CommandResult};
use crate::facts::{PlanFacts, RunFacts, StatusFacts};
use crate::settings::Settings;
use crate::ui::keys::{Echo, Input, TerminalMode, is_foreground, read_some};
use crate::ui::{self, report, style, table};
use crate::workspace::Workspace;
use crate::{interrupts, output};

/// How long a key or a signal may wait to be heard.
const NAP: Duration = Duration::from_millis(100);
/// Ctrl-D.
const END_OF_INPUT: u8 = 4;

/// Show the state of the plan, the current or last run, and what needs you.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show this run instead; `ralph runs` lists them.
    #[arg(long, value_name = "ID", conflicts_with = "watch")]
    run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Refresh until the run ends; press q to quit. Without a terminal, print the report after each change, with --json as
    /// one line.
    #[arg(short, long)]
    watch: bool,
    /// Seconds between refreshes.
    #[arg(long, value_name = "SECS", default_value = "1", value_parser = interval, requires = "watch")]
    interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|n| (0.1..=86_400.0).contains(n));
    seconds
        .and_then(|n| Duration::try_from_secs_f64(n).ok())
        .ok_or_else(|| "expected a number of seconds from 0.1 to 86400".into())
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    if let Some(error) = workspace.replaced_plan() {
        output::note(format_args!("warning: {}", error.message()));
        for hint in error.hints() {
            output::note(format_args!(" hint: {hint}"));
        }
    }
    let settings = workspace.settings()?;
    if let Some(id) = &args.run {
        let plan = PlanFacts::read(&workspace)?;
        let run = RunFacts::read(&workspace.store, &plan, &workspace.run(id)?)?;
        return output::print(args.json, &run, || output::text(report::run(&run, ui::width())));
    }
    if args.watch {
        let watched = Watched::new(&workspace, &settings)?;
        return match !args.json && std::io::stdout().is_terminal() {
            true => watch_in_place(watched, args.interval),
            false => watch_changes(watched, args),
        };
    }
    let facts = StatusFacts::read(&workspace, &settings)?;
    output::print(args.json, &facts, || output::text(report::status(&facts, ui::width())))
}

/// The state of a project, read again only when something changed: a large plan takes its time.
struct Watched<'w> {
    workspace: &'w Workspace,
    settings: &'w Settings,
    version: u64,
    facts: StatusFacts,
}

impl<'w> Watched<'w> {
    fn new(workspace: &'w Workspace, settings: &'w Settings) -> Result<Self, CommandError> {
        let version = workspace.store.changes()?;
        let facts = StatusFacts::read(workspace, settings)?;
        Ok(Self { workspace, settings, version, facts })
    }

    fn refresh(&mut self) -> Result<(), CommandError> {
        // A run may also die or be suspended, which nobody writes down.
        let host = ThisHost::new();
        let mut runs = self.facts.active.iter();
        let is_other = runs.any(|run| run.stopped != is_stopped(&host, &run.owner));
        let version = self.workspace.store.changes()?;
        if version != self.version || is_other || !self.workspace.has_active_run()? {
            *self = Self::new(self.workspace, self.settings)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.facts.active.is_empty()
    }

    fn text(&self) -> String {
        report::status(&self.facts, ui::width())
    }
}

/// Draws over what was drawn before.
fn watch_in_place(mut watched: Watched<'_>, interval: Duration) -> CommandResult {
    let interrupt = interrupts::listen()?;
    let keys = is_foreground().then(|| TerminalMode::single_keys(Echo::Off));
    let mut is_first = true;
    while !watched.is_over() {
        draw(&watched.text(), is_first);
        is_first = false;
        if let Some(exit) = wait(interval, &interrupt, keys.is_some()) {
            return Ok(exit);
        }
        watched.refresh()?;
    }
    if !is_first {
        write("\u{1b}[H\u{1b}[J");
    }
    // Whole: this one stays.
    output::text(watched.text());
    Ok(ExitCode::SUCCESS)
}

/// Waits for the next refresh; the exit code if there is to be none.
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
        if !listen {
            std::thread::sleep(left.min(NAP));
            continue;
        }
        let quits = |key: &u8| matches!(key, b'q' | b'Q' | &END_OF_INPUT);
        match read_some(left.min(NAP)) {
            Input::Ended => return Some(ExitCode::SUCCESS),
            Input::Bytes(keys) if keys.iter().any(quits) => return Some(ExitCode::SUCCESS),
            Input::Bytes(_) | Input::Nothing => {}
        }
    }
}

/// Prints the report when something in it has changed.
fn watch_changes(mut watched: Watched<'_>, args: &Args) -> CommandResult {
    interrupts::quit_on_interrupt()?;
    let mut seen = String::new();
    loop {
        let json = serde_json::to_string(&watched.facts)
            .map_err(|e| CommandError::environment(format_args!("{e}")))?;
        if json != seen {
            let gap = if seen.is_empty() { "" } else { "\n" };
            match args.json {
                true => output::line(&json),
                false => output::text(format_args!("{gap}{}", watched.text())),
            }
            seen = json;
        }
        if watched.is_over() || output::wait_unless_closed(args.interval) {
            return Ok(ExitCode::SUCCESS);
        }
        watched.refresh()?;
    }
}

/// Draws on the whole screen without clearing it first: what does not change does not flicker.
fn draw(text: &str, is_first: bool) {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    let height = size.map_or(24, |(_, height)| usize::from(height.0).max(3));
    // What was on the screen before moves up out of sight, and can be scrolled back to.
    let mut frame = if is_first { "\n".repeat(height) } else { String::new() };
    frame.push_str("\u{1b}[H");
    // The last line stays empty: writing into its end would scroll.
    let room = height - 1;
    let total = text.lines().count();
    let shown = if total > room { room - 1 } else { total };
    let more = (total > shown).then(|| format!("… {} more lines; `ralph status` shows all", total - shown));
    for line in text.lines().take(shown).chain(more.as_deref()) {
        frame.push_str(&style::if_wanted(&table::cut(line, ui::width())));
        frame.push_str("\u{1b}[K\n");
    }
    frame.push_str("\u{1b}[J");
    write(&frame);
}

fn write(frame: &str) {
    let mut out = std::io::stdout().lock();
    // A terminal that is gone sends a signal.
    let _ = out.write_all(frame.as_bytes()).and_then(|()| out.flush());
}
