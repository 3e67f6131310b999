//! The terminal: taken, drawn on, and always given back: at the end, for the shell, for an editor, after a panic and after
//! a signal.

use std::io::{self, Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute};
use ratatui_core::layout::{Rect, Size};
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};

use super::app::App;
use super::draw::draw;
use crate::output;

/// More than any terminal takes.
const MOST_COPIED: usize = 100_000;

const SOON: Duration = Duration::from_millis(20);

/// Whether the terminal is ours now. Static, for an end of the process that drops nothing.
static TAKEN: AtomicBool = AtomicBool::new(false);

pub struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    mouse: bool,
    /// Whether colors are wanted.
    colors: bool,
}

impl Screen {
    pub fn take() -> io::Result<Self> {
        restore_after_panic();
        let mut screen = Self {
            terminal: Terminal::new(CrosstermBackend::new(stdout()))?,
            mouse: true,
            colors: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> io::Result<()> {
        TAKEN.store(true, Ordering::SeqCst);
        terminal::enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        self.set_mouse(self.mouse)?;
        output::hold_notes();
        // What was drawn before is not there any more; the size may be another one.
        self.redraw()
    }

    pub fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    pub fn draw(&mut self, app: &App) -> io::Result<()> {
        let colors = self.colors;
        self.terminal.draw(|frame| {
            draw(frame, app);
            if !colors {
                for cell in &mut frame.buffer_mut().content {
                    (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
                }
            }
        })?;
        Ok(())
    }

    /// The next picture is drawn whole. Not by asking where the cursor stands, which not every terminal answers.
    pub fn redraw(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from(size))
    }

    pub fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        self.mouse = on;
        if on { execute!(stdout(), EnableMouseCapture) } else { execute!(stdout(), DisableMouseCapture) }
    }

    /// Puts a text into the clipboard, where the terminal allows it (OSC 52).
    pub fn copy(&self, text: &str) -> io::Result<()> {
        let text = ralph_core::text::first_bytes(text, MOST_COPIED);
        write!(stdout(), "\u{1b}]52;c;{}\u{7}", BASE64.encode(text))?;
        stdout().flush()
    }

    /// Gives the terminal to somebody else meanwhile.
    pub fn lend<T>(&mut self, to: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let result = to();
        self.enter()?;
        Ok(result)
    }

    /// Goes to sleep until the shell wakes this process, as other programs do on Ctrl-Z.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.lend(|| {
            // All of what the shell started sleeps, such as a script around it; this process in any case.
            let _ = kill_current_process_group(Signal::TSTP);
            kill_process(getpid(), Signal::STOP)
        })??;
        // Our own signal is heard by any thread, maybe a little later.
        std::thread::sleep(SOON);
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Puts the terminal back as it was, once.
pub fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = execute!(
            stdout(),
            DisableMouseCapture,
            DisableBracketedPaste,
            cursor::Show,
            LeaveAlternateScreen
        );
        let _ = terminal::disable_raw_mode();
        for note in output::held_notes(false) {
            output::note(note);
        }
    }
}

/// A panic's words belong on the screen as it was before.
fn restore_after_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        before(panic);
    }));
}

/// Signals that were sent to this process.
pub struct Signals {
    ended: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    /// Whether the terminal is somebody else's now, who stops together with this process.
    lent: Arc<AtomicBool>,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        let (ended, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            signal_hook::flag::register_usize(signal, ended.clone(), usize::try_from(signal).unwrap_or(0))?;
        }
        let lent = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register_conditional_default(SIGTSTP, lent.clone())?;
        signal_hook::flag::register(SIGTSTP, stopped.clone())?;
        Ok(Self { ended, stopped, lent })
    }

    /// While somebody else has the terminal, its keys are theirs.
    pub fn lend<T>(&self, to: impl FnOnce() -> T) -> T {
        self.lent.store(true, Ordering::SeqCst);
        let result = to();
        self.lent.store(false, Ordering::SeqCst);
        self.take_stop();
        let interrupt = usize::try_from(SIGINT).unwrap_or(0);
        let _ = self.ended.compare_exchange(interrupt, 0, Ordering::SeqCst, Ordering::SeqCst);
        result
    }

    /// The signal that asks this process to end.
    pub fn end(&self) -> Option<u8> {
        u8::try_from(self.ended.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
    }

    /// Whether somebody asked it to sleep.
    pub fn take_stop(&self) -> bool {
        self.stopped.swap(false, Ordering::SeqCst)
    }
}
