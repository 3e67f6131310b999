//! The terminal UI: `ralph ui` and `ralph run --ui`.
//!
//! [`app`] holds what is shown and changes it by events, without reading or writing anything; `draw` and `rows` make a
//! picture of it; `reader` reads the store in a thread of its own; this file and `screen` are the edge to the terminal.

mod ansi;
mod app;
mod dialog;
mod draw;
mod editing;
mod keys;
mod layout;
mod outline;
mod reader;
mod rows;
mod screen;
#[cfg(test)]
#[path = "tests/sample.rs"]
mod testing;
mod texts;
mod view;

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event as terminal;
use ralph_core::model::{RunId, Task};
use ratatui_core::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use self::app::{App, Effect, Event};
use self::reader::Reader;
use self::screen::{Screen, Signals};
use self::view::{Reply, Request};
use crate::command_error::{CommandError, CommandResult};
use crate::settings::Settings;
use crate::workspace::{Workspace, is_read_only, now};
use crate::{input, output};

const READER_ENDED: &str = "the thread that reads the project has ended";
/// How long a key, the reader and signals are waited for at once.
const NAP: Duration = Duration::from_millis(100);
/// How long what a person asked for last may take after they quit.
const PATIENCE: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);

/// Refuses what is no terminal that can be drawn on.
pub fn check_terminal() -> Result<(), CommandError> {
    let hint = "run `ralph status --watch` or `ralph logs -f` instead";
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(CommandError::usage("the terminal UI needs a terminal").hint(hint));
    }
    match std::env::var("TERM").as_deref() {
        Ok("dumb") | Ok("") | Err(_) => {
            Err(CommandError::usage("the terminal UI needs a terminal that can draw; TERM does not name one")
                .hint(hint)
                .hint("set TERM, as in TERM=xterm-256color"))
        }
        Ok(_) => Ok(()),
    }
}

/// Shows a project until the person quits. Runs go on.
pub fn open(workspace: Workspace, settings: Settings, run: Option<RunId>) -> CommandResult {
    let broken =
        |error: io::Error| CommandError::environment(format_args!("cannot use the terminal: {error}"));
    let signals = Signals::listen().map_err(broken)?;
    let editing = workspace.project.ralph_dir().join("task-being-edited.txt");
    let (requests, asked) = channel::<Request>();
    let (reply, replies) = channel::<Reply>();
    let (wake, woken) = UnixStream::pair().map_err(broken)?;
    wake.set_nonblocking(true).and_then(|()| woken.set_nonblocking(true)).map_err(broken)?;
    let reader_run = run.clone();
    let work = move || {
        let reader = Reader::new(workspace, settings, reader_run, |one| {
            // Nobody listens any more when the person has quit. What cannot be written has been: the pipe is full.
            let _ = reply.send(one);
            let _ = (&wake).write(&[1]);
        });
        reader.work(&asked);
    };
    let mut screen = Screen::take().map_err(broken)?;
    let reader = thread::Builder::new().name("reader".to_owned()).spawn(work).map_err(broken)?;
    let size = screen.size().map_err(broken)?;
    let app = App::new(size, now(), is_read_only(), run.map(|run| run.to_string()));
    let edge = Edge { app, requests, replies, woken, signals, editing };
    let ended = edge.run(&mut screen);
    // The reader ends when nobody can ask any more; what it was asked to do is done first.
    let quit = Instant::now();
    while !reader.is_finished() && quit.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    drop(screen);
    ended.map_err(broken)
}

/// Where events come in and effects go out.
struct Edge {
    app: App,
    requests: Sender<Request>,
    replies: Receiver<Reply>,
    /// Has something to read when the reader has replied.
    woken: UnixStream,
    signals: Signals,
    /// The file in which a task is edited.
    editing: std::path::PathBuf,
}

impl Edge {
    fn run(mut self, screen: &mut Screen) -> io::Result<ExitCode> {
        let first = self.app.first();
        let _ = self.requests.send(Request::Show(Box::new(first)));
        let mut ticked = Instant::now();
        screen.draw(&self.app)?;
        loop {
            let mut changed = false;
            let mut events = Vec::new();
            self.wait()?;
            // Before any key is read: from a terminal that is gone, crossterm reads without end.
            if let Some(signal) = self.signals.end() {
                return Ok(ExitCode::from(128 + signal));
            }
            while terminal::poll(Duration::ZERO)? {
                events.extend(event(terminal::read()?));
            }
            loop {
                match self.replies.try_recv() {
                    Ok(told) => events.push(Event::Reply(told)),
                    Err(TryRecvError::Empty) => break,
                    // It panicked, and gave the terminal back.
                    Err(TryRecvError::Disconnected) => return Err(io::Error::other(READER_ENDED)),
                }
            }
            events.extend(output::held_notes(true).into_iter().map(Event::Note));
            if ticked.elapsed() >= SECOND {
                ticked = Instant::now();
                events.push(Event::Tick(now()));
            }
            if self.signals.take_stop() {
                self.suspend(screen)?;
                changed = true;
            }
            // For the test that a panic gives the terminal back.
            debug_assert!(events.is_empty() || std::env::var_os("RALPH_UI_PANIC").is_none(), "told to panic");
            for event in events {
                changed = true;
                for effect in self.app.update(event) {
                    if let Some(code) = self.effect(effect, screen)? {
                        return Ok(code);
                    }
                }
            }
            if changed {
                screen.draw(&self.app)?;
            }
        }
    }

    /// Waits for a key, for the reader or for a signal.
    fn wait(&self) -> io::Result<()> {
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.woken, PollFlags::IN)];
        let nap = Timespec { tv_sec: 0, tv_nsec: i64::from(NAP.subsec_nanos()) };
        match poll(&mut ready, Some(&nap)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if ready.first().is_some_and(|stdin| stdin.revents().intersects(PollFlags::HUP | PollFlags::ERR)) {
            // Mostly a signal says so.
            thread::sleep(NAP);
            return match self.signals.end() {
                Some(_) => Ok(()),
                None => Err(io::Error::other("the terminal is gone")),
            };
        }
        let mut sink = [0; 64];
        while matches!((&self.woken).read(&mut sink), Ok(n) if n == sink.len()) {}
        Ok(())
    }

    /// Does what the app asks for; the exit code if that is the end.
    fn effect(&mut self, effect: Effect, screen: &mut Screen) -> io::Result<Option<ExitCode>> {
        match effect {
            Effect::Request(request) => {
                // The reader has ended only where it panicked.
                if self.requests.send(request).is_err() {
                    return Err(io::Error::other(READER_ENDED));
                }
            }
            Effect::Edit(task) => {
                let edited = screen.lend(|| self.signals.lend(|| self.edit(&task)))?;
                let effects = self.app.update(Event::Resize(screen.size()?));
                let more = self.app.update(Event::Edited(task.id.clone(), edited));
                for effect in effects.into_iter().chain(more) {
                    self.effect(effect, screen)?;
                }
            }
            Effect::Copy(text) => screen.copy(&text)?,
            Effect::Mouse(on) => screen.set_mouse(on)?,
            Effect::Redraw => screen.redraw()?,
            Effect::Suspend => self.suspend(screen)?,
            Effect::Quit => return Ok(Some(ExitCode::SUCCESS)),
        }
        Ok(None)
    }

    fn suspend(&mut self, screen: &mut Screen) -> io::Result<()> {
        screen.suspend()?;
        self.signals.take_stop();
        let size = screen.size()?;
        for effect in self.app.update(Event::Resize(size)) {
            self.effect(effect, screen)?;
        }
        Ok(())
    }

    fn edit(&self, task: &Task) -> Result<Option<Box<ralph_core::model::TaskEdit>>, String> {
        let text = input::edited(&self.editing, &editing::text_of(task));
        let text = text.map_err(|error| error.message().to_owned())?;
        editing::changes(task, &text)
    }
}

fn event(event: terminal::Event) -> Option<Event> {
    match event {
        terminal::Event::Key(key) => Some(Event::Key(key)),
        terminal::Event::Mouse(mouse) => Some(Event::Mouse(mouse)),
        terminal::Event::Paste(text) => Some(Event::Paste(text)),
        terminal::Event::Resize(width, height) => Some(Event::Resize(Size::new(width, height))),
        terminal::Event::FocusGained | terminal::Event::FocusLost => None,
    }
}
