//! Lines at the bottom of a terminal that are drawn again and again: of a run, and of work that takes long.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::{format, style, table};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often live lines are drawn again by themselves.
pub const TICK: Duration = Duration::from_millis(120);

/// Lines that stay below everything else that is printed. Each ends with a line break, so that a terminal that wraps
/// lines anew when its width changes mixes up nothing, and the rows to erase are counted at the width it has then.
pub struct LiveLines {
    out: Box<dyn Write + Send>,
    /// The columns of the lines on the screen.
    drawn: Vec<usize>,
}

impl LiveLines {
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self { out: Box::new(out), drawn: Vec::new() }
    }

    /// Draws the lines in place of those on the screen, below a text that stays.
    pub fn draw(&mut self, above: &str, lines: &[String]) {
        let width = super::width();
        let rows: usize = self.drawn.iter().map(|columns| columns.div_ceil(width).max(1)).sum();
        let mut frame = match rows {
            0 => String::new(),
            rows => format!("\x1b[{rows}A\r\x1b[0J"),
        };
        frame.push_str(&style::if_wanted(above));
        self.drawn.clear();
        for line in lines {
            let line = table::cut(line, width);
            self.drawn.push(table::shown(&line));
            frame.push_str(&style::if_wanted(&line));
            frame.push('\n');
        }
        // A terminal that is gone sends a signal.
        let _ = self.out.write_all(frame.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// The sign of life in front of a line.
pub fn spinner(elapsed: Duration) -> char {
    const FRAMES: [char; 8] = ['⠁', '⠂', '⠄', '⡀', '⢀', '⠠', '⠐', '⠈'];
    let frame = elapsed.as_millis() / TICK.as_millis() % FRAMES.len() as u128;
    FRAMES.get(frame as usize).copied().unwrap_or(' ')
}

/// How many of many are done: `123 of 937`.
pub struct Progress {
    started: Instant,
    total: usize,
    done: usize,
    /// None where standard error is not a terminal.
    live: Option<LiveLines>,
}

impl Progress {
    pub fn new(total: usize) -> Self {
        let live = io::stderr().is_terminal().then(|| LiveLines::new(io::stderr()));
        Self { started: Instant::now(), total, done: 0, live }
    }

    pub fn at(&mut self, done: usize) {
        self.done = done;
        self.draw();
    }

    fn draw(&mut self) {
        if let Some(live) = self.live.as_mut().filter(|_| self.started.elapsed() > PATIENCE) {
            live.draw("", &[format!("{} of {}", self.done, self.total)]);
        }
    }

    /// Does something that may write to the same terminal.
    pub fn aside<T>(&mut self, write: impl FnOnce() -> T) -> T {
        self.clear();
        let result = write();
        self.draw();
        result
    }

    fn clear(&mut self) {
        if let Some(live) = &mut self.live {
            live.draw("", &[]);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Does something whose progress is not known, and says what.
pub fn waiting<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (working, over) = channel::<()>();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let show = move || {
            let mut live = LiveLines::new(io::stderr());
            let mut pause = PATIENCE;
            while over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let elapsed = started.elapsed();
                let line = format!("{} {what} · {}", spinner(elapsed), format::elapsed(elapsed));
                live.draw("", &[line]);
                pause = TICK;
            }
            live.draw("", &[]);
        };
        // Where no thread can be started, nothing is shown.
        let _ = std::thread::Builder::new().spawn_scoped(scope, show);
        let result = work();
        drop(working);
        result
    })
}
