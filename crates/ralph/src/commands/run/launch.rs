//! How an agent would be started, as people see it: what Ralph adds, without what is secret.

use ralph_core::agent::{Agent, LaunchRequest};
use ralph_core::decide::{Budgets, Spent, meters, rest_usd, task_meters};
use ralph_core::engine::Prompt;
use ralph_core::model::{RunId, Task};
use ralph_core::store::{Store, StoreError};
use serde::Serialize;

use crate::secrets::{shown, shown_words};
use crate::workspace::{Workspace, now};

/// Characters of one argument that are shown.
const SHOWN: usize = 200;

/// A process that would be started.
#[derive(Debug, Serialize)]
pub struct ShownLaunch {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    cwd: String,
    stdin_chars: usize,
}

/// What an attempt on a task may cost, were a run to start now.
pub fn rest_of_budgets(store: &Store, budgets: &Budgets, task: &Task) -> Result<Option<f64>, StoreError> {
    let spent = Spent { day_usd: store.spent_on_day(now())?.known_usd(), ..Spent::default() };
    let mut all = meters(budgets, &spent);
    all.extend(task_meters(budgets, &store.spent_on_task(&task.id)?));
    Ok(rest_usd(&all))
}

/// How the agent would be started on a task.
pub fn launch(
    agent: &Agent,
    workspace: &Workspace,
    task: &Task,
    prompt: &Prompt,
    budget_usd: Option<f64>,
) -> ShownLaunch {
    let root = workspace.project.root();
    let launch = agent.launch(&LaunchRequest {
        task_id: &task.id,
        task_key: task.key.as_ref().map(|key| key.as_str()),
        attempt: 1,
        model: &prompt.choice.model,
        run_id: &RunId::from_stored("r-…"),
        project_root: root,
        work_tree: root,
        rules: &prompt.rules,
        task_prompt: &prompt.task,
        is_root: rustix::process::getuid().is_root(),
        budget_usd,
    });
    let words = launch.args.iter().map(String::as_str);
    ShownLaunch {
        program: launch.program,
        args: shown_words(words, SHOWN),
        env: launch
            .env
            .iter()
            .map(|(name, value)| {
                let value = shown(name, &value.to_string_lossy(), SHOWN);
                (name.clone(), value)
            })
            .collect(),
        cwd: launch.cwd.display().to_string(),
        stdin_chars: launch.stdin.chars().count(),
    }
}

impl ShownLaunch {
    /// As a command line that a person can read.
    pub fn render(&self) -> String {
        let mut text = format!("in {}\n", self.cwd);
        for (name, value) in &self.env {
            text.push_str(&format!("  {name}={value}\n"));
        }
        text.push_str(&self.program);
        for arg in &self.args {
            text.push_str(&format!("\n  {arg}"));
        }
        text.push_str(&format!(
            "\nstandard input: {} characters (print them with `ralph context`)\n",
            self.stdin_chars
        ));
        text
    }
}
