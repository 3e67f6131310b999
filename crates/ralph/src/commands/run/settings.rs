//! From the user's settings and flags to the engine's.

use std::collections::HashMap;
use std::time::Duration;

use ralph_core::context::Limits;
use ralph_core::decide::{Budgets, Policy};
use ralph_core::engine::{
    BreakerSettings, CommitWhen, GateSettings, GitSettings, OnDirty, OnOpen, PauseOn,
    RecoverySettings, RunSettings,
};
use ralph_core::git::RollbackMode;
use ralph_core::hooks::{Hooks, OnHookFailure};
use ralph_core::logs;
use ralph_core::recovery;
use ralph_core::store::Scope;
use serde_json::json;

use super::Args;
use crate::command_error::CommandError;
use crate::settings::{Settings, Value, shown};
use crate::workspace::{Workspace, apply_state};

/// Flags win over everything.
pub(super) fn apply_flags(settings: &mut Settings, args: &Args) {
    let text = |text: &Option<String>| text.clone().map(Value::Text);
    let count = |n: Option<u32>| n.map(|n| Value::Count(u64::from(n)));
    settings.set_flag("run", "agent", text(&args.agent));
    let fallback = (!args.fallback.is_empty()).then(|| Value::List(args.fallback.clone()));
    settings.set_flag("run", "fallback", fallback);
    for (name, value) in [
        ("max_cost_usd", args.max_cost),
        ("max_cost_usd_per_task", args.max_task_cost),
        ("max_cost_usd_per_day", args.max_daily_cost),
        ("max_minutes_per_task", args.max_task_minutes),
    ] {
        settings.set_flag("run", name, value.map(Value::Number));
    }
    let no_wait = args.no_wait.then_some(Duration::ZERO);
    let max_wait = args.max_wait.or(no_wait);
    settings.set_flag("run", "max_wait", max_wait.map(Value::Duration));
    settings.set_flag(
        "run",
        "strategy",
        args.strategy.map(|s| Value::Text(s.to_string())),
    );
    settings.set_flag(
        "run",
        "limit",
        count(if args.once { Some(1) } else { args.limit }),
    );
    settings.set_flag("run", "value_usd", args.value_usd.map(Value::Number));
    settings.set_flag("run", "max_minutes", args.max_minutes.map(Value::Number));
    settings.set_flag("run", "max_attempts", count(args.max_attempts));
    settings.set_flag(
        "run",
        "attempt_timeout",
        args.attempt_timeout.map(Value::Duration),
    );
    let require = args.require_gates.then_some(Value::Flag(true));
    settings.set_flag("gate", "require", require);
    let recovery = match (args.recovery, args.no_recovery) {
        (true, _) => Some(Value::Flag(true)),
        (_, true) => Some(Value::Flag(false)),
        _ => None,
    };
    settings.set_flag("recovery", "enabled", recovery);
    settings.set_flag(
        "run",
        "idle_timeout",
        args.idle_timeout.map(Value::Duration),
    );
}

/// The engine's settings from the user's.
pub fn run_settings(
    settings: &Settings,
    scope: Scope,
    args: &Args,
) -> Result<RunSettings, CommandError> {
    let defaults = RunSettings::default();
    let memory = Limits {
        budget_chars: settings.count("memory", "budget_chars").unwrap_or(5000) as usize,
        max_learnings: settings.count("memory", "max_learnings").unwrap_or(5) as usize,
        ..Limits::default()
    };
    let (gate_timeout, grace) = gate_limits(settings);
    Ok(RunSettings {
        scope,
        defaults_revision: crate::settings::defaults_revision(),
        notices: Vec::new(),
        limit: settings.count("run", "limit"),
        budgets: budgets(settings),
        policy: policy(settings),
        strategy: match settings.text("run", "strategy") {
            Some(name) => name.parse()?,
            None => defaults.strategy,
        },
        forced_model: args.model.clone(),
        model: settings.text("run", "model").map(str::to_owned),
        value_usd: settings
            .number("run", "value_usd")
            .unwrap_or(defaults.value_usd),
        breaker: BreakerSettings {
            threshold: settings
                .count("breaker", "threshold")
                .unwrap_or(defaults.breaker.threshold),
            on_open: match settings.text("breaker", "on_open") {
                Some("wait") => OnOpen::Wait,
                _ => OnOpen::Exit,
            },
            cooldown: settings
                .duration("breaker", "cooldown")
                .unwrap_or(defaults.breaker.cooldown),
        },
        pause_on: match settings.text("run", "pause_on") {
            Some("never") => PauseOn::Never,
            Some("stuck") => PauseOn::Stuck,
            Some("failure") => PauseOn::Failure,
            _ => PauseOn::Breaker,
        },
        pause_timeout: settings
            .duration("run", "pause_timeout")
            .unwrap_or(defaults.pause_timeout),
        attempt_timeout: settings
            .duration("run", "attempt_timeout")
            .map_or(defaults.attempt_timeout, or_without_end),
        idle_timeout: settings
            .duration("run", "idle_timeout")
            .filter(|idle| !idle.is_zero()),
        grace,
        hooks: hooks(settings),
        git: GitSettings {
            commit_timeout: gate_timeout,
            ..git(settings)
        },
        gate: GateSettings {
            enabled: !args.no_gate,
            verify: settings.text("gate", "verify").map(str::to_owned),
            timeout: gate_timeout,
            retries: settings.count("gate", "retries").unwrap_or(0),
            precheck: settings.flag("gate", "precheck"),
            accept_green: settings.flag("run", "accept_green"),
        },
        service_retries: settings.count("run", "service_retries").unwrap_or(4),
        backoff: settings
            .duration("run", "backoff")
            .unwrap_or(defaults.backoff),
        backoff_cap: settings
            .duration("run", "backoff_cap")
            .unwrap_or(defaults.backoff_cap),
        max_wait: settings
            .duration("run", "max_wait")
            .filter(|wait| !wait.is_zero()),
        recovery: recovery(settings),
        recovery_by_spec: HashMap::new(),
        memory,
        agents_md: agents_md(settings),
        logs: log_limits(settings),
        max_attempt_bytes: max_attempt_bytes(settings),
        lease: defaults.lease,
    })
}

/// How long logs are kept.
pub fn log_limits(settings: &Settings) -> logs::Limits {
    let number = |name, or| settings.count("logs", name).unwrap_or(or);
    logs::Limits::new(number("keep_days", 30), number("max_mb", 1024))
}

/// How large the log of one attempt may grow.
fn max_attempt_bytes(settings: &Settings) -> Option<u64> {
    let mb = settings.count("logs", "max_attempt_mb").unwrap_or(256);
    (mb > 0).then(|| u64::from(mb) * 1024 * 1024)
}

fn hooks(settings: &Settings) -> Hooks {
    let command = |name| settings.text("hooks", name).map(str::to_owned);
    Hooks {
        before_run: command("before_run"),
        before_attempt: command("before_attempt"),
        after_attempt: command("after_attempt"),
        after_run: command("after_run"),
        timeout: settings
            .duration("hooks", "timeout")
            .filter(|time| !time.is_zero()),
        on_failure: match settings.flag("hooks", "veto") {
            true => OnHookFailure::Veto,
            false => OnHookFailure::Report,
        },
    }
}

fn git(settings: &Settings) -> GitSettings {
    GitSettings {
        commit: match settings.text("git", "commit") {
            Some("on-success") => CommitWhen::OnSuccess,
            _ => CommitWhen::Never,
        },
        rollback: match settings.text("git", "rollback") {
            Some("stash") => Some(RollbackMode::Stash),
            Some("reset") => Some(RollbackMode::Reset),
            _ => None,
        },
        branch: settings.text("git", "branch").map(str::to_owned),
        on_dirty: match settings.text("git", "on_dirty") {
            Some("refuse") => OnDirty::Refuse,
            _ => OnDirty::Continue,
        },
        query_timeout: settings
            .duration("git", "query_timeout")
            .unwrap_or(GitSettings::default().query_timeout)
            .max(Duration::from_secs(1)),
        ..GitSettings::default()
    }
}

fn budgets(settings: &Settings) -> Budgets {
    let usd = |name| settings.number("run", name);
    let minutes = |name| {
        let minutes = settings.number("run", name)?;
        Duration::try_from_secs_f64(minutes * 60.0).ok()
    };
    Budgets {
        run_usd: usd("max_cost_usd"),
        day_usd: usd("max_cost_usd_per_day"),
        task_usd: usd("max_cost_usd_per_task"),
        run_time: minutes("max_minutes"),
        task_time: minutes("max_minutes_per_task"),
    }
}

/// What each spec's own state file says of the recovery of its tasks; one alone speaks for the whole plan, as far as the
/// plan is its own.
pub fn recovery_of(
    settings: &Settings,
    workspace: &Workspace,
) -> Result<(RecoverySettings, HashMap<String, RecoverySettings>), CommandError> {
    let specs = workspace.specs()?;
    let by_spec: HashMap<_, _> = specs
        .into_iter()
        .map(|(tasks, state)| {
            let mut own = settings.without_spec();
            apply_state(&mut own, &state, &tasks);
            let own = recovery(&own);
            (tasks, own)
        })
        .collect();
    let of_plan = match by_spec.is_empty() {
        true => recovery(settings),
        false => recovery(&settings.without_spec()),
    };
    Ok((of_plan, by_spec))
}

fn recovery(settings: &Settings) -> RecoverySettings {
    let limits = recovery::Limits::default();
    let count = |name, or: usize| {
        let count = settings.count("recovery", name);
        count.map_or(or, |n| n as usize)
    };
    RecoverySettings {
        enabled: settings.flag("recovery", "enabled"),
        limits: recovery::Limits {
            per_task: count("max_fix_tasks_per_original", limits.per_task),
            depth: count("max_fix_task_depth", limits.depth),
            per_root: limits.per_root,
        },
    }
}

/// Where AGENTS.md is, below the project's root; none where it is not wanted.
pub fn agents_md(settings: &Settings) -> Option<String> {
    match settings.get("memory", "agents_md") {
        Some(Value::Flag(false)) => None,
        Some(Value::Text(text)) if text == "false" => None,
        Some(Value::Text(path)) if path != "true" && !path.trim().is_empty() => {
            Some(path.trim().trim_start_matches("./").to_owned())
        }
        _ => RunSettings::default().agents_md,
    }
}

/// How long a gate may take, and how long processes have after TERM.
pub fn gate_limits(settings: &Settings) -> (Duration, Duration) {
    let defaults = RunSettings::default();
    (
        settings
            .duration("gate", "timeout")
            .map_or(defaults.gate.timeout, or_without_end),
        settings.duration("run", "grace").unwrap_or(defaults.grace),
    )
}

/// A time limit, where 0 means none: longer than any run.
fn or_without_end(limit: Duration) -> Duration {
    const WITHOUT_END: Duration = Duration::from_secs(u32::MAX as u64);
    match limit.is_zero() {
        true => WITHOUT_END,
        false => limit,
    }
}

/// Thresholds of the escalation.
pub fn policy(settings: &Settings) -> Policy {
    let defaults = Policy::default();
    let escalate_after = settings
        .count("run", "escalate_after")
        .unwrap_or(defaults.escalate_after);
    Policy {
        max_attempts: settings
            .count("run", "max_attempts")
            .unwrap_or(defaults.max_attempts),
        max_total_attempts: settings
            .count("run", "max_total_attempts")
            .unwrap_or(defaults.max_total_attempts),
        stuck_after: settings
            .count("run", "stuck_after")
            .unwrap_or(defaults.stuck_after),
        escalate_after,
        // One failure later there is no more waiting for progress.
        escalate_always: escalate_after.saturating_add(1),
        ..defaults
    }
}

/// The settings as the run's record keeps them.
pub(super) fn recorded(settings: &Settings) -> String {
    let values: serde_json::Map<String, serde_json::Value> = settings
        .all()
        .filter_map(|(key, setting)| {
            Some((
                format!("{}.{}", key.section, key.name),
                json!(shown(key, setting.value.as_ref()?)),
            ))
        })
        .collect();
    serde_json::Value::Object(values).to_string()
}
