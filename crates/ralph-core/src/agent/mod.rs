//! Agents: programs that get a prompt and work. Each is one file with a [`Program`]; running the process and
//! reading its stream safely is common to all.

mod attempt_log;
mod bounded_text;
mod child;
mod claude;
mod codex;
mod event_fields;
mod faults;
mod gemini;
mod guard;
mod guard_process;
mod guard_protocol;
mod interrupt;
mod opencode;
mod pipes;
mod price;
mod process;
mod quota;
mod session;
mod session_reader;
mod session_report;
#[cfg_attr(
    not(test),
    expect(clippy::disallowed_methods, reason = "/proc is the kernel's, out of agents' reach")
)]
mod sweep;
#[cfg(test)]
pub(crate) mod tests;
mod text_stream;
mod worker_process;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use attempt_log::{AttemptLog, LINE_LIMIT, LogReader, OnEntry, read_log};
pub(crate) use bounded_text::push_last;
pub use bounded_text::{BoundedText, LineSplitter, partial_line};
pub use faults::Fault;
pub use guard::Guard;
pub use guard_process::stand_guard;
pub use interrupt::{DelayedInterrupt, Interrupt, Signal};
pub use price::{LIST_PRICES_DATE, Price, Prices, output_prices};
pub use process::{
    EndSignal, Ended, ProcessLimits, SpawnError, Stop, Stream, Watch, own_settings, run, run_below,
    run_exempt,
};
pub(crate) use process::{LeftOvers, end_with_us, limit_hint, run_to_end};
pub use quota::{Excess, Quota};
pub use session_reader::{ReadSession, SessionReader};
pub use session_report::{Activity, AgentReport, Ending, Exit, LimitNotice, LogEntry, StreamParser, Usage};
pub(crate) use sweep::is_in_an_environment;
pub use sweep::{
    HOLDER, adopt_orphans, end_left_overs, end_of_holders, end_of_runs, holder_mark, processes_of_runs,
};
pub use worker_process::{WorkerProcess, reap_orphans};

use crate::model::{RunId, TaskId, names};
use crate::sandbox::Belongings;
use text_stream::TextParser;

/// A program that works on tasks, as the settings want it.
#[derive(Clone, Debug)]
pub struct Agent {
    kind: AgentKind,
    setup: Setup,
}

impl Agent {
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    pub fn name(&self) -> &str {
        &self.setup.name
    }

    /// The account whose usage limits it meets; by its own name where the settings name none.
    pub fn account(&self) -> &str {
        self.setup.account.as_deref().unwrap_or(&self.setup.name)
    }

    pub fn facts(&self) -> Option<&'static Facts> {
        self.kind.facts()
    }

    /// Its models, cheapest first; an agent without models is its own model name.
    pub fn ladder(&self) -> &[String] {
        &self.setup.models
    }

    pub fn first_signal(&self) -> EndSignal {
        self.kind.program().first_signal
    }

    /// How it is started. Pure: nothing is run here. Variables that the settings state win over the agent's own, and those
    /// of the attempt over both.
    pub fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let (setup, program) = (&self.setup, self.kind.program());
        let words = setup.command.iter().cloned();
        let words = words.chain((program.arguments)(setup, request)).chain(setup.args.iter().cloned());
        let mut words = words.map(|word| match self.kind {
            AgentKind::Command => word.replace("{model}", request.model),
            _ => word,
        });
        let own = (program.environment)(setup, request).into_iter();
        let own = own.map(|(name, value)| (name.to_owned(), value.into()));
        let settings = setup.env.iter().map(|(name, value)| (name.clone(), value.into()));
        // OpenCode works where this variable says, not where it was started.
        let is_opencode = self.kind == AgentKind::Opencode;
        let pwd = is_opencode.then(|| ("PWD".to_owned(), request.work_tree.into()));
        Launch {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env: own.chain(settings).chain(child_environment(request)).chain(pwd).collect(),
            cwd: request.work_tree.to_owned(),
            stdin: self.prompt(request.rules, request.task_prompt),
            confined: None,
        }
    }

    /// The text it gets as its prompt, from the rules for signals and the task's part.
    pub fn prompt(&self, rules: &str, task: &str) -> String {
        (self.kind.program().prompt)(rules, task)
    }

    /// The text it gets as (appended) system prompt, where it takes one.
    pub fn system_prompt(&self, rules: &str) -> Option<String> {
        (self.kind == AgentKind::Claude).then(|| rules.to_owned())
    }

    pub fn parser(&self) -> Box<dyn StreamParser> {
        match self.kind {
            AgentKind::Command => (self.setup.output.program().parser)(self.name(), true),
            kind => (kind.program().parser)(kind.as_str(), false),
        }
    }

    /// Whose events it prints; [`AgentKind::Command`] for text.
    pub fn output(&self) -> AgentKind {
        if self.kind == AgentKind::Command { self.setup.output } else { self.kind }
    }

    /// What its models cost, as far as that is known before any attempt.
    pub fn prices(&self) -> Prices {
        let known = |model: &String| Some((model.clone(), self.price(Some(model), None)?));
        self.ladder().iter().filter_map(known).collect()
    }

    /// What a model costs: as the settings say, else the list price. The program may make another name of the one it is
    /// given, and tell that; the settings may have either.
    pub fn price(&self, model: Option<&str>, told: Option<&str>) -> Option<Price> {
        let stated = |name: &str| self.setup.prices.get(name).copied();
        let stated = [model, told].into_iter().flatten().find_map(stated);
        let mut names = [told, model].into_iter().flatten();
        stated.or_else(|| names.find_map(|name| price::list_price(self.kind, name)))
    }

    /// Whether Ralph can know what an attempt with this model costs: the agent says so, or it counts tokens that have a
    /// price, or the settings say that the model is free. OpenCode says so of the models it knows.
    pub fn can_tell_cost(&self, model: &str) -> bool {
        let price = self.price(Some(model), None);
        match self.output() {
            AgentKind::Claude | AgentKind::Opencode => true,
            AgentKind::Codex | AgentKind::Gemini => price.is_some(),
            AgentKind::Command => price.is_some_and(|price| price.is_free()),
        }
    }
}

struct Program {
    facts: Option<Facts>,
    /// The arguments of one session that reads its prompt from standard input, before those of the settings. Without a
    /// model its flag is left out, so that the program's own default stands.
    arguments: fn(&Setup, &LaunchRequest<'_>) -> Vec<String>,
    /// The variables it needs beside the ones every child gets.
    environment: fn(&Setup, &LaunchRequest<'_>) -> Vec<(&'static str, &'static str)>,
    prompt: fn(&str, &str) -> String,
    /// The signal that asks it to end.
    first_signal: EndSignal,
    /// The reader of its stream; whether it is that of a command that prints such a stream under this name.
    parser: fn(&str, bool) -> Box<dyn StreamParser>,
}

/// Any command: prompt on standard input, result text on standard output.
const COMMAND: Program = Program {
    facts: None,
    arguments: |_, _| Vec::new(),
    environment: |_, _| Vec::new(),
    prompt: |rules, task| format!("{}\n\n{task}", rules.trim_end()),
    first_signal: EndSignal::Terminate,
    parser: |_, _| Box::new(TextParser::default()),
};

names! {
    /// A kind of agent, by its name in the settings; as the output of a command, whose events it prints.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum AgentKind {
        Claude => "claude",
        Codex => "codex",
        Gemini => "gemini",
        Opencode => "opencode",
        /// Any command, and output that is nothing but text.
        #[default]
        Command => "command",
    }
}

/// What is known of a kind before it is started.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The program, unless the settings name another.
    pub program: &'static str,
    /// The models, cheapest first, unless the settings name others. Without any the program chooses by its own settings.
    pub models: &'static [&'static str],
    /// The version whose stream this reader was tested with.
    pub tested: &'static str,
    pub install: &'static str,
    /// The one command, or step, that logs in.
    pub login: &'static str,
    /// Variables that may hold its credentials; one is enough.
    pub credential_variables: &'static [&'static str],
    /// Files that may hold them; one is enough.
    pub credential_files: &'static [CredentialFile],
    /// What is its own among a person's files and variables.
    pub belongings: Belongings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialFile {
    /// The variable that names another directory than `usual`.
    pub moved_by: &'static str,
    /// The directory below the home directory, if the variable names none; empty for the home directory itself.
    pub usual: &'static str,
    pub file: &'static str,
}

impl AgentKind {
    fn program(self) -> &'static Program {
        match self {
            Self::Claude => &claude::PROGRAM,
            Self::Codex => &codex::PROGRAM,
            Self::Gemini => &gemini::PROGRAM,
            Self::Opencode => &opencode::PROGRAM,
            Self::Command => &COMMAND,
        }
    }

    pub fn facts(self) -> Option<&'static Facts> {
        self.program().facts.as_ref()
    }

    pub fn build(self, setup: Setup) -> Agent {
        Agent { kind: self, setup }
    }
}

/// What the settings say about an agent: the same for every kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    pub name: String,
    /// The program and the arguments that come before Ralph's own.
    pub command: Vec<String>,
    pub models: Vec<String>,
    pub prices: Prices,
    pub env: Vec<(String, String)>,
    /// Whether tools are used without asking. Nobody is there to be asked, so tools are else denied.
    pub skip_permissions: bool,
    /// Arguments added after Ralph's own.
    pub args: Vec<String>,
    /// Whose events a plain command prints.
    pub output: AgentKind,
    /// Whose usage limits it meets, where the settings say.
    pub account: Option<String>,
}

impl Setup {
    /// The model to name to the program: none where it chooses by its own settings, because the agent's own name stands for
    /// one.
    fn named<'m>(&self, model: &'m str) -> Option<&'m str> {
        let is_the_agent = self.models.is_empty() && model == self.name;
        (!model.is_empty() && !is_the_agent).then_some(model)
    }

    fn has_arg(&self, flag: &str) -> bool {
        let is_flag = |rest: &str| rest.is_empty() || rest.starts_with('=');
        let mut args = self.args.iter();
        args.any(|arg| arg.strip_prefix(flag).is_some_and(is_flag))
    }
}

/// What an agent needs to know of the attempt.
#[derive(Clone, Debug)]
pub struct LaunchRequest<'a> {
    pub task_id: &'a TaskId,
    pub task_key: Option<&'a str>,
    pub attempt: u32,
    pub model: &'a str,
    pub run_id: &'a RunId,
    /// The project's root, where `.ralph/` is.
    pub project_root: &'a Path,
    pub work_tree: &'a Path,
    pub rules: &'a str,
    pub task_prompt: &'a str,
    /// Whether Ralph runs as root, which some agents mind.
    pub is_root: bool,
    /// Whether Ralph's sandbox confines it, so that it needs none of its own.
    pub is_confined: bool,
    /// What is left of the budgets, for agents that can mind it themselves.
    pub budget_usd: Option<f64>,
}

/// A process to be started: plain data, so that it can be shown, tested and executed elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    pub program: String,
    pub args: Vec<String>,
    /// Variables added to Ralph's own environment.
    pub env: Vec<(String, OsString)>,
    pub cwd: PathBuf,
    pub stdin: String,
    /// What it may use, where the sandbox made this launch. Then it gets nothing of Ralph's environment, and what it starts
    /// first leaves signals to the program.
    pub confined: Option<Quota>,
}

/// The variables every child of a run has; left-overs are found by them.
pub fn child_environment(request: &LaunchRequest<'_>) -> Vec<(String, OsString)> {
    vec![
        ("RALPH_TASK_ID".into(), request.task_id.as_str().into()),
        ("RALPH_TASK_KEY".into(), request.task_key.unwrap_or_default().into()),
        ("RALPH_ATTEMPT".into(), request.attempt.to_string().into()),
        ("RALPH_MODEL".into(), request.model.into()),
        ("RALPH_RUN_ID".into(), request.run_id.as_str().into()),
        ("RALPH_PROJECT".into(), request.project_root.into()),
    ]
}
