//! The desktop's own notifications, where there is a desktop.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::agent::{Access, Launch};

use super::Occasion;
use super::aside::{Fault, call};
use super::notice::Notice;
use super::sender::{Cutoff, Delivery, Parcel, Sender};

/// How long the desktop may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What kind of desktop there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One that `notify-send` speaks to.
    Freedesktop,
    /// macOS.
    Mac,
    /// None.
    Absent,
}

/// Shows notices on the desktop.
pub struct Desktop {
    kind: Kind,
    root: PathBuf,
}

impl Desktop {
    /// The desktop of this session.
    pub fn here(root: &Path) -> Self {
        let session = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];
        let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let kind = if cfg!(target_os = "macos") {
            Kind::Mac
        } else if session.iter().any(is_set) {
            Kind::Freedesktop
        } else {
            Kind::Absent
        };
        Self {
            kind,
            root: root.to_owned(),
        }
    }

    /// The program that shows it.
    fn launch(&self, notice: &Notice) -> Option<Launch> {
        let (program, args) = match self.kind {
            Kind::Freedesktop => ("notify-send", notify_send(notice)),
            Kind::Mac => ("osascript", osascript(notice)),
            Kind::Absent => return None,
        };
        Some(Launch {
            program: program.to_owned(),
            args,
            env: Vec::new(),
            cwd: self.root.clone(),
            stdin: String::new(),
            access: Access::default(),
        })
    }
}

fn notify_send(notice: &Notice) -> Vec<String> {
    let urgency = match notice.occasion {
        Occasion::Done | Occasion::Limit => "normal",
        Occasion::Blocked | Occasion::Breaker | Occasion::Budget | Occasion::Error => "critical",
    };
    // The body may hold mark-up, and backslashes mean something in it.
    let body = notice
        .message
        .replace('\\', "\\\\")
        .replace('&', "&amp;")
        .replace('<', "&lt;");
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

impl Sender for Desktop {
    fn name(&self) -> &'static str {
        "desktop"
    }

    fn patience(&self) -> Duration {
        LIMIT
    }

    fn has_process(&self) -> bool {
        true
    }

    fn send(&self, parcel: &Parcel, cutoff: &Cutoff) -> Result<Delivery, String> {
        let Some(launch) = self.launch(&parcel.notice) else {
            return Ok(Delivery::Nowhere("no desktop"));
        };
        match call(&launch, LIMIT, cutoff, None) {
            Ok(()) => Ok(Delivery::Sent),
            Err(Fault::NotThere) => Ok(Delivery::Nowhere("notify-send not found")),
            Err(Fault::Failed(how)) => Err(format!("{} {how}", launch.program)),
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::model::Timestamp;

    use super::*;
    use crate::notify::{Place, notice, sample};

    #[test]
    fn text_is_neither_an_option_nor_markup_nor_a_script() {
        let place = Place {
            name: "--version".into(),
            root: "/p".into(),
            host: "h".into(),
        };
        let mut notice =
            notice(&sample(Occasion::Blocked, Timestamp::from_secs(0)), &place).unwrap();
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

    #[test]
    fn without_a_desktop_nothing_is_started() {
        let desktop = Desktop {
            kind: Kind::Absent,
            root: "/".into(),
        };
        let place = Place {
            name: "p".into(),
            root: "/p".into(),
            host: "h".into(),
        };
        let notice = notice(&sample(Occasion::Done, Timestamp::from_secs(0)), &place).unwrap();
        assert_eq!(desktop.launch(&notice), None);
    }
}
