//! Settings: one typed struct, from flags over the environment over an imported spec's state file over `.ralph.toml` over
//! defaults. The table below is the only place that names a key; documentation, `ralph config` and completion read it.

mod agents;
mod changed_defaults;
pub mod edit;
mod load;
mod sandbox;
mod types;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use ralph_core::engine::{CommitWhen, OnDirty, OnOpen, PauseOn, ReviewWhen};
use ralph_core::files::{Limit, Links, read_text};
use ralph_core::model::Strategy;
use ralph_core::sandbox::{Mode, Network};
use ralph_core::text::{mask_secrets, shell_word};

pub use self::agents::{AgentSettings, FIELDS as AGENT_FIELDS, build as build_agent, format_name};
pub use self::changed_defaults::{defaults_revision, notices};
use self::edit::Name;
pub use self::load::{PREFIX, nearest};
pub use self::sandbox::{AgentNetwork, GateNetwork, Size};
use self::types::SettingType;
pub use self::types::{
    AgentsMd, AnySetting, BaselineWhen, Count, Kind, Patterns, Rollback, Secret, Setting, Source, StoreUrl,
    WebhookUrl, parse_duration, shown_url,
};
use crate::command_error::CommandError;
use crate::notify::Occasion;

pub const DEFAULT_AGENT: &str = "claude";

#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub section: &'static str,
    pub name: &'static str,
    pub kind: Kind,
    pub doc: &'static str,
}

impl Key {
    pub fn named(name: &Name) -> Option<&'static Self> {
        match name.agent() {
            Some(_) => AGENT_FIELDS.iter().find(|key| key.name == name.key),
            None => KEYS.iter().find(|key| [key.section] == *name.table && key.name == name.key),
        }
    }
}

/// A setting with a new name. The old one is accepted for one release.
#[derive(Clone, Copy, Debug)]
pub struct Renamed {
    pub section: &'static str,
    pub old: &'static str,
    pub new: &'static str,
    /// What a value of the old setting is called now.
    values: &'static [(&'static str, &'static str)],
}

pub const RENAMED: &[Renamed] = &[
    Renamed { section: "gate", old: "verify", new: "default", values: &[] },
    Renamed { section: "gate", old: "retries", new: "rerun", values: &[] },
    Renamed {
        section: "gate",
        old: "precheck",
        new: "baseline",
        values: &[("true", "first"), ("false", "off")],
    },
];

impl Renamed {
    /// What an old name stands for.
    pub fn find(section: &str, old: &str) -> Option<&'static Self> {
        RENAMED.iter().find(|renamed| (renamed.section, renamed.old) == (section, old))
    }

    pub fn value<'t>(&self, text: &'t str) -> &'t str {
        let new = self.values.iter().find(|(old, _)| *old == text);
        new.map_or(text, |(_, new)| *new)
    }
}

/// Makes a struct of each section, the struct of all of them, and the lists of what is in it.
macro_rules! settings {
    ($(
        $section:ident: $Section:ident {
            $( $(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, )+
        }
    )+) => {
        $(
            #[derive(Clone, Debug)]
            pub struct $Section {
                $( $(#[doc = $doc])+ pub $name: Setting<$type>, )+
            }

            impl Default for $Section {
                fn default() -> Self {
                    Self { $( $name: Setting::new($default), )+ }
                }
            }
        )+

        /// All keys, in the order they are documented.
        pub const KEYS: &[Key] = &[$($(
            Key {
                section: stringify!($section),
                name: stringify!($name),
                kind: <$type as SettingType>::KIND,
                doc: concat!($($doc),+).trim_ascii_start(),
            },
        )+)+];

        #[derive(Clone, Debug)]
        pub struct Settings {
            $( pub $section: $Section, )+
            pub agents: BTreeMap<String, AgentSettings>,
            /// What `.ralph.toml` says of each: its fields, and the line of each.
            agent_fields: BTreeMap<String, BTreeMap<String, usize>>,
            /// The old names in use, each with where it stands.
            old_names: Vec<(Source, &'static Renamed)>,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $( $section: $Section::default(), )+
                    agents: agents::built_in(),
                    agent_fields: BTreeMap::new(),
                    old_names: Vec::new(),
                }
            }
        }

        impl Settings {
            pub fn all(&self) -> impl Iterator<Item = (&'static Key, &dyn AnySetting)> {
                let settings: Vec<&dyn AnySetting> = vec![$($( &self.$section.$name, )+)+];
                KEYS.iter().zip(settings)
            }

            fn find_mut(&mut self, section: &str, name: &str) -> Option<&mut dyn AnySetting> {
                match (section, name) {
                    $($(
                        (stringify!($section), stringify!($name)) => Some(&mut self.$section.$name),
                    )+)+
                    _ => None,
                }
            }
        }
    };
}

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

settings! {
    store: StoreSection {
        /// The PostgreSQL server that has the plan, such as `postgres://ralph@db.example/team`. By default the plan is in
        /// `.ralph/progress.db`. `RALPH_STORE` overrides it.
        url: Option<StoreUrl> = None,
        /// The schema of this project on the server. By default a name made from the repository's first commit.
        schema: Option<String> = None,
    }
    run: RunSection {
        /// The agent to use: a built-in one such as `claude`, or a name from `[agents.NAME]`.
        agent: String = DEFAULT_AGENT.to_owned(),
        /// Fallback agents, in order, used when the main agent has hit its usage limit or is unavailable.
        fallback: Vec<String> = Vec::new(),
        /// How Ralph chooses the model for each attempt.
        strategy: Strategy = Strategy::Adaptive,
        /// The model the strategy starts with.
        model: Option<String> = None,
        /// What a finished task is worth, in dollars. `adaptive` blocks a task instead of spending more on it.
        value_usd: f64 = 15.0,
        /// How many tasks a run works on at once, each in a working tree of its own.
        jobs: Count = Count(1),
        /// Whether even a single worker works in a tree of its own instead of yours.
        isolate: bool = false,
        /// Maximum number of attempts in one run.
        limit: Option<Count> = None,
        /// Cost limit of one run, in dollars. No new attempt starts once it is reached.
        max_cost_usd: Option<f64> = None,
        /// Cost limit of one task over all runs, in dollars. The task is blocked once it is reached.
        max_cost_usd_per_task: Option<f64> = None,
        /// Cost limit of all runs on one day (UTC), in dollars.
        max_cost_usd_per_day: Option<f64> = None,
        /// Time limit of one task over all runs, in minutes. The task is blocked once it is reached.
        max_minutes_per_task: Option<f64> = None,
        /// Time limit of one run, in minutes. The current attempt still finishes.
        max_minutes: Option<f64> = None,
        /// Consecutive failures after which a task is blocked and needs you.
        max_attempts: Count = Count(5),
        /// Counted attempts on a task and its fix tasks, over all runs, after which the task is blocked until you allow
        /// more.
        max_total_attempts: Count = Count(15),
        /// Consecutive failures after which Ralph switches to the next stronger model, unless there is progress.
        escalate_after: Count = Count(2),
        /// Consecutive failures after which a task counts as stuck: its prompt then warns the agent and asks for a
        /// diagnosis.
        stuck_after: Count = Count(3),
        /// Count an attempt that ends without reporting a result as done if its gate passes and did not pass before the
        /// attempt. Gates then run before every attempt, too.
        accept_green: bool = false,
        /// Time limit of one attempt. 0 means no limit.
        attempt_timeout: Duration = minutes(30),
        /// How long an agent may print nothing before Ralph stops it. 0 means no limit.
        idle_timeout: Duration = minutes(10),
        /// How long a process has to exit after SIGTERM before Ralph sends SIGKILL.
        grace: Duration = seconds(5),
        /// How often Ralph retries after an API or network error.
        service_retries: u32 = 4,
        /// Delay before the first such retry. It doubles with each retry.
        backoff: Duration = seconds(2),
        /// Longest delay between retries.
        backoff_cap: Duration = minutes(5),
        /// Longest time to wait for a usage limit to reset. 0 means do not wait.
        max_wait: Duration = minutes(1440),
        /// When a run in a terminal pauses and asks you what to do.
        pause_on: PauseOn = PauseOn::Breaker,
        /// How long such a pause waits for your answer.
        pause_timeout: Duration = minutes(10),
    }
    memory: MemorySection {
        /// Maximum size of the memory part of a prompt, in characters.
        budget_chars: u32 = 5000,
        /// Maximum number of learnings in one prompt.
        max_learnings: u32 = 5,
        /// Whether Ralph maintains AGENTS.md, or the path to use instead.
        agents_md: AgentsMd = AgentsMd::Standard,
    }
    breaker: BreakerSection {
        /// Consecutive failures, over all tasks, that open the circuit breaker.
        threshold: Count = Count(5),
        /// What a run does when the circuit breaker opens: exit, or wait and run one trial attempt.
        on_open: OnOpen = OnOpen::Exit,
        /// With `on_open = "wait"`: how long to wait before the trial attempt.
        cooldown: Duration = minutes(15),
    }
    recovery: RecoverySection {
        /// Whether Ralph adds a fix task when a task fails.
        enabled: bool = false,
        /// Maximum number of fix tasks per task.
        max_fix_tasks_per_original: Count = Count(3),
        /// How deeply fix tasks may be nested (a fix of a fix has depth 2).
        max_fix_task_depth: Count = Count(3),
    }
    gate: GateSection {
        /// The gate for tasks that have none of their own.
        default: Option<String> = None,
        /// A gate for the whole project. It runs after the gate of every task, and a task that breaks it is not done.
        always: Option<String> = None,
        /// Time limit of a gate or a commit. 0 means no limit.
        timeout: Duration = minutes(10),
        /// When to run a task's gates without its work, to see what they say then: before its first attempt, or never.
        baseline: BaselineWhen = BaselineWhen::First,
        /// Time limit of such a run. Nothing is concluded from a gate that takes longer. 0 means no limit.
        baseline_timeout: Duration = minutes(1),
        /// How often to rerun a failing gate. If a rerun passes, the task is done and the gate is recorded as flaky.
        rerun: u32 = 1,
        /// Only gates that take less than this are rerun.
        rerun_below: Duration = minutes(5),
        /// Files that attempts may not change, such as `tests/**`. Ralph puts them back before the gate runs.
        protect: Patterns = Patterns(Vec::new()),
        /// Whether a run refuses to start while a task in its scope has no gate.
        require: bool = false,
    }
    sandbox: SandboxSection {
        /// Whether agents and gates are confined: as far as that works here, or not at all unless all of it is enforced.
        mode: Mode = Mode::Auto,
        /// Further directories that agents and gates may write, such as package caches.
        cache: Vec<String> = Vec::new(),
        /// Further files and directories that they may not read.
        deny_read: Vec<String> = Vec::new(),
        /// Files and directories that they may read although Ralph hides them by default, such as `~/.aws`.
        allow_read: Vec<String> = Vec::new(),
        /// Further environment variables that they get. `NAME_*` stands for all that begin so.
        env: Vec<String> = Vec::new(),
        /// What agents may reach: everything, nothing, or only these hosts.
        network: AgentNetwork = AgentNetwork(Network::Open),
        /// What gates may reach. `loopback` is the sandbox's own, not the machine's.
        gate_network: GateNetwork = GateNetwork(Network::Open),
        /// Maximum number of processes at once.
        max_processes: Option<Count> = None,
        /// Maximum memory.
        max_memory: Option<Size> = None,
        /// Maximum size of a file that is written.
        max_file: Option<Size> = None,
    }
    review: ReviewSection {
        /// The agent that reviews finished work. By default the agent of the run, in a fresh session.
        agent: Option<String> = None,
        /// The model that reviews. By default the strongest of the agent's list.
        model: Option<String> = None,
        /// Which finished work is reviewed before it counts as done: none, what no gate verified, or all.
        when: ReviewWhen = ReviewWhen::Never,
        /// Rejections in a row after which a task is blocked and needs you.
        rounds: Count = Count(2),
        /// Time limit of one review. 0 means no limit.
        timeout: Duration = minutes(10),
    }
    plan: PlanSection {
        /// The model that `ralph plan` uses. By default the strongest of the agent's list.
        model: Option<String> = None,
        /// Cost limit of one `ralph plan`, in dollars.
        max_cost_usd: Option<f64> = None,
    }
    trackers: TrackersSection {
        /// Whether Ralph closes the issue of a finished task, with a comment. For issues imported with `ralph import gh:…`.
        write: bool = false,
    }
    git: GitSection {
        /// Whether Ralph commits the changes of a finished task.
        commit: CommitWhen = CommitWhen::Never,
        /// What to do with the changes of a failed attempt.
        rollback: Rollback = Rollback::Off,
        /// The branch to work on. Ralph creates it if it does not exist. With a remote, the branch there, `ralph/shared` by
        /// default.
        branch: Option<String> = None,
        /// The remote on whose branch finished work lands, such as `origin`. For several machines that share a plan.
        remote: Option<String> = None,
        /// How long Ralph tries again when the remote does not answer.
        remote_timeout: Duration = minutes(10),
        /// What to do when the working tree is dirty at start, if Ralph commits or rolls back.
        on_dirty: OnDirty = OnDirty::Continue,
        /// How long a git query may take before the run stops with an error. Ralph allows more in large or slow
        /// repositories.
        query_timeout: Duration = seconds(10),
    }
    worktree: WorktreeSection {
        /// Directory for the working trees of workers. By default `ralph/worktrees` in `$XDG_STATE_HOME`, which is
        /// `~/.local/state` if unset.
        dir: Option<String> = None,
        /// Files that are not in git and that a new working tree gets a copy of, such as `.env`.
        copy: Vec<String> = Vec::new(),
        /// Command to run in a new working tree, such as `npm ci`.
        setup: Option<String> = None,
    }
    notify: NotifySection {
        /// Events that send a notification.
        on: Vec<Occasion> = Occasion::ALL.to_vec(),
        /// URL that receives each notification as a JSON POST.
        webhook: Option<WebhookUrl> = None,
        /// Secret that signs webhook requests (HMAC-SHA256).
        webhook_secret: Option<Secret> = None,
        /// Time limit of one webhook request. 0 means no limit.
        webhook_timeout: Duration = seconds(10),
        /// How often Ralph retries a failed webhook request.
        webhook_retries: u32 = 3,
        /// Command that receives each notification as JSON on stdin.
        command: Option<String> = None,
        /// Whether to ring the terminal bell.
        bell: bool = false,
        /// Whether to show desktop notifications, where a desktop is available.
        desktop: bool = false,
    }
    report: ReportSection {
        /// Whether to write a report after each run, however it ended. Notifications then say where it is.
        at_end: bool = false,
        /// Directory for reports. By default `.ralph/reports`.
        dir: Option<String> = None,
    }
    hooks: HooksSection {
        /// Command to run before a run. Hooks receive the event as JSON on stdin.
        before_run: Option<String> = None,
        /// Command to run before each attempt.
        before_attempt: Option<String> = None,
        /// Command to run after each attempt.
        after_attempt: Option<String> = None,
        /// Command to run after a run.
        after_run: Option<String> = None,
        /// Time limit of one hook. 0 means no limit.
        timeout: Duration = minutes(1),
        /// Whether a failing `before_run` or `before_attempt` hook stops the run.
        veto: bool = true,
    }
    logs: LogsSection {
        /// How many days to keep raw logs. 0 means forever.
        keep_days: u32 = 30,
        /// Maximum total size of raw logs, in MB. Ralph deletes the oldest first. 0 means no limit.
        max_mb: u32 = 1024,
        /// Maximum size of one attempt's raw log, in MB. A larger log keeps only its end and says so. 0 means no limit.
        max_attempt_mb: u32 = 256,
    }
}

impl Settings {
    pub fn load(
        file: &Path,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, CommandError> {
        Self::parse(file, &Self::read(file)?, environment)
    }

    /// The text of a settings file; empty where there is none.
    pub fn read(file: &Path) -> Result<String, CommandError> {
        match read_text(file, Links::Follow, Limit::SETTINGS) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            read => read.map_err(|error| {
                CommandError::environment(format_args!("cannot read {}: {error}", file.display()))
            }),
        }
    }

    /// The settings if the file held this text.
    pub fn parse(
        file: &Path,
        text: &str,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, CommandError> {
        let mut settings = Self::default();
        let name = file.file_name().unwrap_or(file.as_os_str());
        load::read_file(&mut settings, &name.to_string_lossy(), text)?;
        load::read_environment(&mut settings, environment)?;
        Ok(settings)
    }

    /// What a person should know who uses old names of settings, each with what to do about it.
    pub fn old_names(&self) -> Vec<(String, String)> {
        let notice = |(source, renamed): &(Source, &Renamed)| {
            let Renamed { section, old, new, .. } = renamed;
            let message = format!(
                "{source}: [{section}] {old} is now called {new}; the old name works for one release"
            );
            let value = self.find(section, new).and_then(|setting| setting.shown_text());
            let value = value.filter(|value| !value.contains('\n') && mask_secrets(value) == *value);
            let value = value.map_or("VALUE".into(), |value| shell_word(&value));
            let fix = match source {
                Source::Environment(name) => {
                    format!("set {} instead of {name}", load::variable(section, new))
                }
                _ => format!("ralph config set {section}.{new} {value}"),
            };
            (message, fix)
        };
        self.old_names.iter().map(notice).collect()
    }

    fn find(&self, section: &str, name: &str) -> Option<&dyn AnySetting> {
        let mut all = self.all();
        all.find(|(key, _)| (key.section, key.name) == (section, name)).map(|(_, setting)| setting)
    }

    pub fn agent_source(&self, agent: &str, field: &str) -> Source {
        let line = self.agent_fields.get(agent).and_then(|fields| fields.get(field));
        line.map_or(Source::Default, |line| Source::File { line: *line })
    }

    pub fn agent(&self) -> &str {
        match self.run.agent.as_str() {
            "" => DEFAULT_AGENT,
            name => name,
        }
    }

    /// The agent that reviews.
    pub fn reviewer(&self) -> &str {
        self.review.agent.as_deref().filter(|name| !name.is_empty()).unwrap_or(self.agent())
    }

    /// The agents that runs use: the main agent, then its fallbacks in order.
    pub fn team(&self) -> Vec<&str> {
        let first = self.agent();
        let own = self.agents.get(first).map(|agent| &agent.fallback);
        let fallback = Some(&*self.run.fallback).filter(|names| !names.is_empty()).or(own);
        let mut names = vec![first];
        for name in fallback.into_iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Whether `.ralph.toml` speaks of an agent.
    pub fn is_configured(&self, agent: &str) -> bool {
        self.agent_fields.contains_key(agent)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::project::Project;
    use ralph_core::store::Scope;

    use super::*;
    use crate::commands::run::{Args, run_settings};

    /// What runs and notifications make of the settings.
    fn read(settings: &Settings) -> String {
        let run = run_settings(settings, Scope::All, &Args::default());
        let planning = crate::commands::plan::limits(settings);
        let (team, reviewer) = (settings.team(), settings.reviewer());
        let url = settings.store.url.as_ref().map_or("postgres://h/d", |url| &url.0);
        let place = crate::store_place::named(&Project::at("/"), settings, url);
        let place = place.map_or_else(|error| error.message().to_owned(), |place| place.to_string());
        format!("{run:?} {team:?} {reviewer} {} {planning:?} {place}", crate::notify::described(settings))
    }

    #[test]
    fn a_key_that_nothing_reads_changes_nothing() {
        let mut before = Settings::default();
        before.notify.webhook.value = Some(WebhookUrl("https://hooks.example/".to_owned()));
        for key in KEYS {
            let mut after = before.clone();
            let setting = after.find_mut(key.section, key.name).unwrap();
            let default = setting.shown_text().unwrap_or_default();
            let choice = key.kind.choices().into_iter().find(|word| **word != default);
            let other = match key.kind {
                Kind::Text | Kind::Words | Kind::Patterns => "codex",
                _ => choice.unwrap_or("97"),
            };
            setting.read(other, Source::Flag).unwrap();
            assert_ne!(read(&after), read(&before), "nothing reads {}.{}", key.section, key.name);
        }
    }

    #[test]
    fn cli_02_every_key_of_the_design_is_there() {
        for (section, names) in [
            (
                "run",
                "agent strategy model limit max_cost_usd max_minutes max_attempts max_total_attempts attempt_timeout idle_timeout \
                 pause_on pause_timeout",
            ),
            ("memory", "budget_chars max_learnings agents_md"),
            ("breaker", "threshold on_open cooldown"),
            ("recovery", "enabled max_fix_tasks_per_original max_fix_task_depth"),
            ("gate", "default always timeout baseline baseline_timeout rerun rerun_below require"),
            ("git", "commit rollback branch"),
        ] {
            for name in names.split_whitespace() {
                let is_there = KEYS.iter().any(|key| (key.section, key.name) == (section, name));
                assert!(is_there, "[{section}] {name}");
            }
        }
    }
}
