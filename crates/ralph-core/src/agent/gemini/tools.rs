//! The tools of one session: what they are used on, and which of them were denied.

use std::collections::VecDeque;

use super::super::Activity;
use super::super::brief::{SHOWN, name, short, text};
use super::events::{Parameters, ToolResult, ToolUse};
use crate::text::one_line;

const ACTIONS: usize = 36;
const DENIALS: usize = 32;
/// Uses whose result may still come.
const OPEN: usize = 64;

/// Tools that the program does not even offer where it would have to ask somebody first.
const ASKED_FOR: [&str; 4] = ["run_shell_command", "write_file", "replace", "web_fetch"];

/// What was done with tools, bounded.
#[derive(Debug, Default)]
pub(super) struct Tools {
    actions: VecDeque<String>,
    denials: Vec<String>,
    /// Ids and names of the last uses.
    open: VecDeque<(String, String)>,
    /// The agent chose to plan only, in which tools are denied that it may use else.
    planning: bool,
}

impl Tools {
    /// A tool is used.
    pub(super) fn used(&mut self, event: ToolUse) -> Option<Activity> {
        let tool = name(event.tool_name)?;
        let target = target(event.parameters.unwrap_or_default());
        push(
            &mut self.actions,
            ACTIONS,
            one_line(&format!("{tool} {target}"), SHOWN),
        );
        if let Some(id) = name(event.tool_id) {
            push(&mut self.open, OPEN, (id, tool.clone()));
        }
        Some(Activity::Tool { name: tool, target })
    }

    /// What came of it.
    pub(super) fn ended(&mut self, event: ToolResult) {
        let Some(id) = name(event.tool_id) else {
            return;
        };
        let Some(at) = self.open.iter().position(|(open, _)| *open == id) else {
            return;
        };
        let Some((_, tool)) = self.open.remove(at) else {
            return;
        };
        if text(event.status.as_ref()) == Some("success") {
            match tool.as_str() {
                "enter_plan_mode" => self.planning = true,
                "exit_plan_mode" => self.planning = false,
                _ => {}
            }
        }
        let error = event.error.unwrap_or_default();
        let denied = match text(error.kind.as_ref()) {
            Some("policy_violation") => true,
            Some("tool_not_registered") => ASKED_FOR.contains(&tool.as_str()),
            _ => false,
        };
        let is_news = self.denials.len() < DENIALS && !self.denials.contains(&tool);
        if denied && !self.planning && is_news {
            self.denials.push(tool);
        }
    }

    /// The last actions, oldest first, and the denied tools.
    pub(super) fn into_parts(self) -> (Vec<String>, Vec<String>) {
        (self.actions.into(), self.denials)
    }
}

/// Adds to a list that forgets its oldest.
fn push<T>(list: &mut VecDeque<T>, most: usize, item: T) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}

/// What a tool is used on: the most telling of its parameters.
fn target(parameters: Parameters) -> String {
    let telling = [
        parameters.file_path,
        parameters.command,
        parameters.pattern,
        parameters.dir_path,
        parameters.url,
        parameters.query,
        parameters.agent_name,
        parameters.name,
        parameters.title,
        parameters.prompt,
    ];
    let first = telling.into_iter().flatten().next();
    first.map(|text| short(&text.0, SHOWN)).unwrap_or_default()
}
