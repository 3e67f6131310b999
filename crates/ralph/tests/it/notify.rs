//! Notifications: a webhook that answers, hangs or is not there, a command, the bell, the desktop.

mod receiver;
mod tls;
mod ways;
mod webhook;

use serde_json::Value;

use crate::run::DONE;
use crate::support::Project;
use receiver::Receiver;

const FAILED: &str = "echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"";
/// A task whose key begins with `bad` fails, every other is done.
const BY_KEY: &str = "case $RALPH_TASK_KEY in bad*) FAILED;; *) DONE;; esac";

/// A project with these tasks, each tried once, and these settings of `[notify]`.
fn project(keys: &[&str], notify: &str) -> Project {
    let project = Project::new();
    project.agent(&BY_KEY.replace("FAILED", FAILED).replace("DONE", DONE));
    project.set("notify", notify);
    for key in keys {
        project.add(&[&format!("Thing {key}"), "--key", key]);
    }
    project
}

/// A project whose notices are posted to a receiver.
fn with_webhook(keys: &[&str], receiver: &Receiver, more: &str) -> Project {
    let url = receiver.url();
    project(keys, &format!("webhook = \"{url}\"\n{more}"))
}

/// The occasions of notices, in order.
fn occasions(notices: &[Value]) -> Vec<&str> {
    let occasions = notices.iter().map(|notice| notice["occasion"].as_str());
    occasions.map(Option::unwrap).collect()
}
