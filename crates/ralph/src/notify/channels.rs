//! The channels that carry notifications: a command, the desktop, the terminal bell; `webhook.rs` holds the fourth.

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::agent::{
    BoundedText, HOLDER, Interrupt, Launch, ProcessLimits, Signal, Stream, Watch, end_left_overs,
    holder_mark, own_settings, run_exempt,
};
use ralph_core::hooks::when_recorded;
use ralph_core::host::{Host, ThisHost, process_owner};
use ralph_core::project::Project;
use ralph_core::store::{Owner, Store, StorePlace};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};

use super::notice::{Notice, Occasion, safe_line};
use super::webhook::Webhook;
use crate::settings::Settings;
use crate::store_place;

const POLL: Duration = Duration::from_millis(20);
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
const DESKTOP_LIMIT: Duration = Duration::from_secs(10);
/// How long a program has after TERM.
const GRACE: Duration = Duration::from_millis(500);
/// Bytes of a program's output that are kept for its error message.
const OUTPUT_KEPT: usize = 4 * 1024;

/// A notice, ready to be sent.
#[derive(Clone, Debug)]
pub struct Message {
    pub notice: Notice,
    pub json: String,
    /// A random id, the same for every retry.
    pub delivery: String,
}

impl Message {
    pub fn new(notice: Notice, random: &mut dyn FnMut() -> u64) -> serde_json::Result<Self> {
        let json = serde_json::to_string(&notice)?;
        let delivery = format!("{:016x}{:016x}", random(), random());
        Ok(Self { notice, json, delivery })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Sent,
    /// This machine or session has no such channel, for this reason.
    Unavailable(&'static str),
}

/// Sends a message, or says why it could not. Starts nothing new after the cutoff.
type SendMessage = dyn Fn(&Message, &Cutoff) -> Result<Delivery, String> + Send;

/// A way to reach a person.
pub struct Channel {
    pub name: &'static str,
    /// Where messages go, without anything secret.
    pub target: Option<String>,
    /// Whether it runs a process, which must not be left behind.
    pub has_process: bool,
    pub send: Box<SendMessage>,
}

pub fn channels(settings: &Settings, root: &Path) -> Vec<Channel> {
    let notify = &settings.notify;
    let mut channels = Vec::new();
    if let Some(webhook) = Webhook::of(settings) {
        channels.push(Channel {
            name: "webhook",
            target: Some(webhook.target()),
            has_process: false,
            send: Box::new(move |message, cutoff| webhook.send(message, cutoff)),
        });
    }
    if let Some(command) = notify.command.value.clone() {
        let root = root.to_owned();
        channels.push(Channel {
            name: "command",
            target: None,
            has_process: true,
            send: Box::new(move |message, cutoff| run_command(&command, &root, message, cutoff)),
        });
    }
    if *notify.bell {
        let send = Box::new(|_: &Message, _: &Cutoff| Ok(ring_bell()));
        channels.push(Channel { name: "bell", target: None, has_process: false, send });
    }
    if *notify.desktop {
        let root = root.to_owned();
        channels.push(Channel {
            name: "desktop",
            target: None,
            has_process: true,
            send: Box::new(move |message, cutoff| show_on_desktop(&root, &message.notice, cutoff)),
        });
    }
    channels
}

/// Says when the time for a message is over.
#[derive(Clone, Debug, Default)]
pub struct Cutoff(Interrupt);

impl Cutoff {
    pub fn now(&self) {
        self.0.raise(Signal::Terminate);
    }

    pub fn is_over(&self) -> bool {
        self.0.first().is_some()
    }

    /// Waits, but not beyond the cutoff.
    pub fn wait(&self, duration: Duration) {
        let started = Instant::now();
        while !self.is_over() {
            let left = duration.saturating_sub(started.elapsed());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(POLL));
        }
    }
}

/// Runs the command and ends all of it on TERM, which comes when the run ends and when it is killed. Standard input is
/// passed on through descriptor 3, because a shell gives a background job none.
const GROUP: &str = r#"exec 3<&0
trap 'trap "" TERM; kill 0; sleep 1; kill -9 0' TERM
sh -c "$1" <&3 3<&- &
exec 3<&-
wait $!"#;

/// A shell command in the project's root, with the notice as JSON on its standard input.
fn run_command(command: &str, root: &Path, message: &Message, cutoff: &Cutoff) -> Result<Delivery, String> {
    let notice = &message.notice;
    let env = |name: &str, value: &str| (name.to_owned(), OsString::from(value));
    let variables = [
        env("RALPH_NOTIFY_OCCASION", notice.occasion.as_str()),
        env("RALPH_NOTIFY_TITLE", &notice.title),
        env("RALPH_NOTIFY_MESSAGE", &notice.message),
        env("RALPH_RUN_ID", &notice.run_id),
        ("RALPH_PROJECT".to_owned(), root.into()),
        (HOLDER.to_owned(), holder_mark(&ThisHost::new().owner()).into()),
    ];
    let launch = Launch {
        program: "sh".into(),
        args: when_recorded(&[GROUP, "sh", command]),
        env: own_settings().chain(variables).collect(),
        cwd: root.to_owned(),
        stdin: format!("\n{}\n", message.json),
        ..Launch::default()
    };
    call(&launch, COMMAND_LIMIT, cutoff, store_place::of(&Project::at(root)).ok())
}

/// Rings the terminal that Ralph was started from. A bell moves no cursor, so it garbles no display.
fn ring_bell() -> Delivery {
    // A terminal that is gone, as for a run in the background, is none.
    match own_terminal().is_some_and(|mut terminal| terminal.write_all(b"\x07").is_ok()) {
        true => Delivery::Sent,
        false => Delivery::Unavailable("no terminal"),
    }
}

/// The session's terminal, unless writing to it would stop the program (`stty tostop`).
fn own_terminal() -> Option<File> {
    let terminal = OpenOptions::new().write(true).open("/dev/tty").ok()?;
    let modes = tcgetattr(&terminal).ok()?.local_modes;
    let is_foreground = || tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp());
    let may_ring = !modes.contains(LocalModes::TOSTOP) || is_foreground();
    may_ring.then_some(terminal)
}

fn show_on_desktop(root: &Path, notice: &Notice, cutoff: &Cutoff) -> Result<Delivery, String> {
    let session = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let (program, args) = if cfg!(target_os = "macos") {
        ("osascript", osascript(notice))
    } else if session.iter().any(is_set) {
        ("notify-send", notify_send(notice))
    } else {
        return Ok(Delivery::Unavailable("no desktop"));
    };
    let launch = Launch { program: program.to_owned(), args, cwd: root.to_owned(), ..Launch::default() };
    call(&launch, DESKTOP_LIMIT, cutoff, None).map_err(|how| format!("{program} {how}"))
}

fn notify_send(notice: &Notice) -> Vec<String> {
    let urgency = match notice.occasion {
        Occasion::Done | Occasion::Limit => "normal",
        Occasion::Blocked | Occasion::Breaker | Occasion::Budget | Occasion::Error => "critical",
    };
    // The body may hold markup, and backslashes have a meaning in it.
    let body = notice.message.replace('\\', "\\\\").replace('&', "&amp;").replace('<', "&lt;");
    vec![
        "--app-name=ralph".to_owned(),
        format!("--urgency={urgency}"),
        "--".to_owned(),
        notice.title.clone(),
        body,
    ]
}

/// Title and message are arguments of the script, never part of it.
fn osascript(notice: &Notice) -> Vec<String> {
    let script = "on run argv\n\
        display notification (item 2 of argv) with title (item 1 of argv)\n\
        end run";
    let args = ["-e", script, "--", &notice.title, &notice.message];
    args.map(str::to_owned).to_vec()
}

/// Ends what notification programs left running. Called at the end, when no attempt follows that would do it.
pub fn end_leftover_processes() {
    end_left_overs(GRACE, &Interrupt::default(), None);
}

/// Runs a program to its end, within a limit, exempt from the cleanup after attempts. With a database it is recorded
/// there as the project's own command before it reads anything, so that `ralph` commands in it may write.
fn call(
    launch: &Launch,
    limit: Duration,
    cutoff: &Cutoff,
    database: Option<StorePlace>,
) -> Result<Delivery, String> {
    let limits = ProcessLimits { wall: limit, idle: None, grace: GRACE };
    let mut output = Output { printed: BoundedText::new(0, OUTPUT_KEPT), database, recorded: None };
    let ended = run_exempt(launch, &limits, &cutoff.0, &mut output);
    if let Some((mut store, process)) = output.recorded.take() {
        // A row that stays names a process that will never exist again.
        let _ = store.forget_hook(&process);
    }
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) if error.source.kind() == ErrorKind::NotFound => {
            return Ok(Delivery::Unavailable("notify-send not found"));
        }
        Err(error) => return Err(safe_line(&error.to_string(), 200)),
    };
    let Some(how) = ended.failure() else { return Ok(Delivery::Sent) };
    let printed = output.printed.into_text();
    let last = printed.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.map(|line| format!(": {}", safe_line(line, 200)));
    Err(format!("{how}{}", last.unwrap_or_default()))
}

/// Collects what a program prints, and records its process in the database.
struct Output {
    printed: BoundedText,
    database: Option<StorePlace>,
    recorded: Option<(Store, Owner)>,
}

impl Watch for Output {
    fn started(&mut self, group: Pid) {
        let host = ThisHost::new().owner().host;
        self.recorded = self.database.as_ref().and_then(|database| {
            let process = process_owner(host, group)?;
            let mut store = database.open_again().ok()?;
            store.note_hook(&process).ok()?;
            Some((store, process))
        });
    }

    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.printed.push(chunk);
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::model::Timestamp;

    use super::super::notice::{Place, notice, sample};
    use super::*;

    #[test]
    fn text_is_neither_an_option_nor_markup_nor_a_script() {
        let place = Place { name: "--version".into(), root: "/p".into(), host: "h".into() };
        let mut notice = notice(&sample(Occasion::Blocked, Timestamp::from_secs(0)), &place).unwrap();
        notice.message = "a \\n <b>&</b> \" quoted".into();
        let args = notify_send(&notice);
        let end = args.iter().position(|arg| arg == "--").unwrap();
        assert!(args[end + 1].starts_with("--version: "), "{args:?}");
        assert_eq!(args[end + 2], "a \\\\n &lt;b>&amp;&lt;/b> \" quoted");
        assert!(args.contains(&"--urgency=critical".to_owned()));
        let args = osascript(&notice);
        assert!(!args[1].contains("quoted"), "{args:?}");
        assert_eq!(args[4], notice.message);
    }
}
