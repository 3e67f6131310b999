//! Agents: programs that get a prompt and work. Each is one file behind the same trait; running the process and
//! reading its stream safely is common to all.

mod aside;
mod brief;
mod child;
pub mod claude;
pub mod codex;
mod command;
pub mod gemini;
mod guard;
mod guarding;
mod interrupt;
mod json;
mod kind;
mod lines;
mod list_prices;
mod log;
pub mod opencode;
mod pipes;
mod price;
mod process;
mod reader;
mod report;
mod respite;
mod setup;
mod spared;
mod strays;
#[cfg_attr(
    not(test),
    expect(
        clippy::disallowed_methods,
        reason = "/proc is the kernel's, out of agents' reach"
    )
)]
mod sweep;
mod tail;
#[cfg(test)]
pub(crate) mod testing;
mod wire;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use aside::run_aside;
pub use claude::Claude;
pub use codex::Codex;
pub use command::{CommandAgent, OutputFormat};
pub use gemini::Gemini;
pub use guard::Guard;
pub use guarding::stand_guard;
pub use interrupt::{Interrupt, Signal};
pub use kind::{AgentKind, CredentialFile, Facts};
pub use lines::LineSplitter;
pub use list_prices::LIST_PRICES_DATE;
pub use log::{AttemptLog, LINE_LIMIT, read_log};
pub use opencode::Opencode;
pub use price::{Price, Prices, output_prices};
pub use process::{
    EndSignal, Ended, ProcessLimits, SpawnError, Stop, Stream, Watch, own_settings, run, run_below,
};
pub(crate) use process::{LeftOvers, attend, limit_hint};
pub use reader::{LogReader, OnTold};
pub use report::{
    Activity, AgentReport, Ending, Exit, Fault, LimitNotice, StreamParser, Told, Usage,
};
pub use respite::Respite;
pub use setup::Setup;
pub use sweep::{adopt_orphans, end_left_overs, end_of_runs, processes_of_runs};
pub use tail::{BoundedText, partial_line};

use crate::model::{RunId, TaskId};

/// A program that works on tasks.
pub trait Agent: Send + Sync {
    /// What the settings say about it.
    fn setup(&self) -> &Setup;
    /// How it is started. Pure: nothing is run here.
    fn launch(&self, request: &LaunchRequest<'_>) -> Launch;
    /// A fresh reader for one session's stream.
    fn parser(&self) -> Box<dyn StreamParser>;
    /// Its name in the settings.
    fn name(&self) -> &str {
        &self.setup().name
    }
    /// The signal that asks it to end.
    fn first_signal(&self) -> EndSignal {
        EndSignal::Terminate
    }
    /// What is known of its kind before it is started.
    fn facts(&self) -> Option<&'static Facts> {
        self.setup().kind.and_then(AgentKind::facts)
    }
    /// Its models, cheapest first; an agent without models is its own model name.
    fn ladder(&self) -> &[String] {
        &self.setup().models
    }
    /// What its models cost, as far as that is known before any attempt.
    fn prices(&self) -> Prices {
        let known = |model: &String| Some((model.clone(), self.price(Some(model), None)?));
        self.ladder().iter().filter_map(known).collect()
    }
    /// What a model costs: as the settings say, else the list price. The program may make another name of the one it is
    /// given, and tell that; the settings may have either.
    fn price(&self, model: Option<&str>, told: Option<&str>) -> Option<Price> {
        let setup = self.setup();
        let of_settings = |name: &str| setup.prices.get(name).copied();
        let listed = |name: &str| list_prices::list_price(setup.kind, name);
        model
            .and_then(of_settings)
            .or_else(|| told.and_then(of_settings))
            .or_else(|| told.and_then(listed))
            .or_else(|| model.and_then(listed))
    }
    /// Whether Ralph can know what an attempt with this model costs: the agent says so, or it counts tokens that have a
    /// price, or the settings say that the model is free. OpenCode says so of the models it knows.
    fn can_tell_cost(&self, model: &str) -> bool {
        let price = self.price(Some(model), None);
        match self.output() {
            OutputFormat::Claude | OutputFormat::Opencode => true,
            OutputFormat::Codex | OutputFormat::Gemini => price.is_some(),
            OutputFormat::Text => price.is_some_and(|price| price.is_free()),
        }
    }
    /// What its standard output is.
    fn output(&self) -> OutputFormat {
        let setup = self.setup();
        match setup.kind {
            Some(AgentKind::Claude) => OutputFormat::Claude,
            Some(AgentKind::Codex) => OutputFormat::Codex,
            Some(AgentKind::Gemini) => OutputFormat::Gemini,
            Some(AgentKind::Opencode) => OutputFormat::Opencode,
            Some(AgentKind::Command) | None => setup.output,
        }
    }
    /// The text it gets as its prompt, from the rules for signals and the task's part.
    fn prompt(&self, rules: &str, task: &str) -> String {
        format!("{}\n\n{task}", rules.trim_end())
    }
    /// The text it gets as (appended) system prompt, where it takes one.
    fn system_prompt(&self, _rules: &str) -> Option<String> {
        None
    }
}

/// What an agent needs to know of the attempt.
#[derive(Clone, Debug)]
pub struct LaunchRequest<'a> {
    /// The task.
    pub task_id: &'a TaskId,
    /// Its key.
    pub task_key: Option<&'a str>,
    /// The number people see.
    pub attempt: u32,
    /// The model.
    pub model: &'a str,
    /// The run.
    pub run_id: &'a RunId,
    /// The project's root, where `.ralph/` is.
    pub project_root: &'a Path,
    /// The tree the agent works in.
    pub work_tree: &'a Path,
    /// The rules for signals.
    pub rules: &'a str,
    /// The task's part of the prompt.
    pub task_prompt: &'a str,
    /// Whether Ralph runs as root, which some agents mind.
    pub is_root: bool,
    /// What is left of the budgets, for agents that can mind it themselves.
    pub budget_usd: Option<f64>,
}

/// A process to be started: plain data, so that it can be shown, tested and executed elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to Ralph's own environment.
    pub env: Vec<(String, OsString)>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Its standard input.
    pub stdin: String,
    /// What it may touch; for sandboxes.
    pub access: Access,
}

/// What a process may touch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Access {
    /// Paths it may read; empty is all.
    pub readable: Vec<PathBuf>,
    /// Paths it may write; empty is all.
    pub writable: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: Network,
}

/// Whether a process may use the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Network {
    /// It may.
    #[default]
    Open,
    /// It may not.
    Closed,
}

/// The variables every child of a run has; left-overs are found by them.
pub fn child_environment(request: &LaunchRequest<'_>) -> Vec<(String, OsString)> {
    vec![
        ("RALPH_TASK_ID".into(), request.task_id.as_str().into()),
        (
            "RALPH_TASK_KEY".into(),
            request.task_key.unwrap_or_default().into(),
        ),
        ("RALPH_ATTEMPT".into(), request.attempt.to_string().into()),
        ("RALPH_MODEL".into(), request.model.into()),
        ("RALPH_RUN_ID".into(), request.run_id.as_str().into()),
        ("RALPH_PROJECT".into(), request.project_root.into()),
    ]
}

/// Variables from settings, as a process takes them.
pub(crate) fn os_environment(env: &[(String, String)]) -> Vec<(String, OsString)> {
    env.iter()
        .map(|(name, value)| (name.clone(), value.into()))
        .collect()
}
