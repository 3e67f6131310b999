//! From the user's settings and flags to the engine's.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::decide::Policy;
use ralph_core::engine::{
    BreakerSettings, GateSettings, GitSettings, RecoverySettings, ReviewSettings, RunSettings, TreeSettings,
    project_dir,
};
use ralph_core::hooks::Hooks;
use ralph_core::logs;
use ralph_core::memory::prompt::Limits;
use ralph_core::recovery;
use ralph_core::store::Scope;
use serde_json::json;

use super::Args;
use crate::command_error::CommandError;
use crate::facts::budgets_of;
use crate::settings::{AgentsMd, BaselineWhen, Count, Rollback, Settings};
use crate::workspace::{Workspace, apply_state};

pub fn apply_flags(settings: &mut Settings, args: &Args) {
    let limit = if args.once { Some(1) } else { args.limit };
    let no_wait = args.no_wait.then_some(Duration::ZERO);
    let run = &mut settings.run;
    run.agent.set_flag(args.agent.clone());
    run.fallback.set_flag((!args.fallback.is_empty()).then(|| args.fallback.clone()));
    run.strategy.set_flag(args.strategy);
    run.value_usd.set_flag(args.value_usd);
    run.jobs.set_flag(args.jobs.map(Count));
    run.limit.set_flag(limit.map(|n| Some(Count(n))));
    run.max_cost_usd.set_flag(args.max_cost.map(Some));
    run.max_cost_usd_per_task.set_flag(args.max_task_cost.map(Some));
    run.max_cost_usd_per_day.set_flag(args.max_daily_cost.map(Some));
    run.max_minutes.set_flag(args.max_minutes.map(Some));
    run.max_minutes_per_task.set_flag(args.max_task_minutes.map(Some));
    run.max_wait.set_flag(args.max_wait.or(no_wait));
    run.max_attempts.set_flag(args.max_attempts.map(Count));
    run.attempt_timeout.set_flag(args.attempt_timeout);
    run.idle_timeout.set_flag(args.idle_timeout);
    settings.sandbox.mode.set_flag(args.sandbox);
    settings.gate.require.set_flag(args.require_gates.then_some(true));
    settings.recovery.enabled.set_flag((args.recovery || args.no_recovery).then_some(args.recovery));
}

pub fn run_settings(settings: &Settings, scope: Scope, args: &Args) -> RunSettings {
    let run = &settings.run;
    let gate = &settings.gate;
    let memory = &settings.memory;
    let (breaker, hooks) = (&settings.breaker, &settings.hooks);
    let (gate_timeout, grace) = gate_limits(settings);
    RunSettings {
        scope,
        defaults_revision: crate::settings::defaults_revision(),
        notices: Vec::new(),
        limit: run.limit.map(|limit| limit.0),
        budgets: budgets_of(settings),
        policy: policy(settings),
        strategy: *run.strategy,
        forced_model: args.model.clone(),
        model: run.model.value.clone(),
        value_usd: *run.value_usd,
        breaker: BreakerSettings {
            threshold: breaker.threshold.0,
            on_open: *breaker.on_open,
            cooldown: *breaker.cooldown,
        },
        pause_on: *run.pause_on,
        pause_timeout: *run.pause_timeout,
        attempt_timeout: or_without_end(*run.attempt_timeout),
        idle_timeout: unless_zero(*run.idle_timeout),
        grace,
        hooks: Hooks {
            before_run: hooks.before_run.value.clone(),
            before_attempt: hooks.before_attempt.value.clone(),
            after_attempt: hooks.after_attempt.value.clone(),
            after_run: hooks.after_run.value.clone(),
            timeout: unless_zero(*hooks.timeout),
            veto: *hooks.veto,
        },
        git: GitSettings {
            commit: *settings.git.commit,
            rollback: match *settings.git.rollback {
                Rollback::Off => None,
                Rollback::Mode(mode) => Some(mode),
            },
            branch: settings.git.branch.value.clone(),
            remote: settings.git.remote.value.clone().filter(|remote| !remote.trim().is_empty()),
            remote_timeout: *settings.git.remote_timeout,
            on_dirty: *settings.git.on_dirty,
            commit_timeout: gate_timeout,
            query_timeout: (*settings.git.query_timeout).max(Duration::from_secs(1)),
        },
        jobs: run.jobs.0,
        isolate: *run.isolate,
        worktrees: TreeSettings {
            dir: settings.worktree.dir.as_ref().map(PathBuf::from).unwrap_or_default(),
            copy: settings.worktree.copy.value.clone(),
            setup: settings.worktree.setup.value.clone(),
        },
        gate: GateSettings {
            enabled: !args.no_gate,
            default: gate.default.value.clone(),
            always: gate.always.value.clone(),
            timeout: gate_timeout,
            baseline: *gate.baseline == BaselineWhen::First,
            baseline_timeout: or_without_end(*gate.baseline_timeout),
            rerun: *gate.rerun,
            rerun_below: *gate.rerun_below,
            protect: gate.protect.0.clone(),
            require: *gate.require,
            accept_green: *run.accept_green,
        },
        review: ReviewSettings {
            when: *settings.review.when,
            model: settings.review.model.value.clone(),
            rounds: settings.review.rounds.0,
            timeout: or_without_end(*settings.review.timeout),
        },
        service_retries: *run.service_retries,
        backoff: *run.backoff,
        backoff_cap: *run.backoff_cap,
        max_wait: unless_zero(*run.max_wait),
        recovery: recovery(settings),
        recovery_by_spec: HashMap::new(),
        memory: Limits {
            budget_chars: *memory.budget_chars as usize,
            max_learnings: *memory.max_learnings as usize,
        },
        agents_md: agents_md(settings),
        logs: log_limits(settings),
        write_trackers: *settings.trackers.write,
        max_attempt_bytes: match *settings.logs.max_attempt_mb {
            0 => None,
            mb => Some(u64::from(mb) * 1024 * 1024),
        },
        sandbox: super::sandbox_settings(settings),
        lease: RunSettings::default().lease,
    }
}

/// The directory of a project's working trees. A relative one in the settings is below the project's root.
pub fn trees_dir(set: Option<&str>, root: &Path) -> Result<PathBuf, CommandError> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let all = match set.filter(|dir| !dir.is_empty()) {
        Some(dir) => root.join(dir),
        None => {
            let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")));
            let state = state.ok_or_else(|| {
                CommandError::environment("no place for the working trees of workers: no home directory")
                    .hint("set [worktree] dir, HOME or XDG_STATE_HOME")
            })?;
            state.join("ralph/worktrees")
        }
    };
    Ok(project_dir(&all, &root.canonicalize().unwrap_or_else(|_| root.to_owned())))
}

pub fn log_limits(settings: &Settings) -> logs::Limits {
    logs::Limits::new(*settings.logs.keep_days, *settings.logs.max_mb)
}

/// How fix tasks are made: in the plan as a whole, and in each spec whose own state file says something of it.
pub fn recovery_of(
    settings: &Settings,
    workspace: &Workspace,
) -> Result<(RecoverySettings, HashMap<String, RecoverySettings>), CommandError> {
    let specs = workspace.specs()?.into_iter();
    let by_spec = specs.map(|(tasks, state)| {
        let mut own = settings.clone();
        apply_state(&mut own, &state, &tasks);
        (tasks, recovery(&own))
    });
    Ok((recovery(settings), by_spec.collect()))
}

fn recovery(settings: &Settings) -> RecoverySettings {
    let recovery = &settings.recovery;
    RecoverySettings {
        enabled: *recovery.enabled,
        limits: recovery::Limits {
            per_task: recovery.max_fix_tasks_per_original.0 as usize,
            depth: recovery.max_fix_task_depth.0 as usize,
            ..recovery::Limits::default()
        },
    }
}

/// Where AGENTS.md is, below the project's root; none where it is not wanted.
pub fn agents_md(settings: &Settings) -> Option<String> {
    match &*settings.memory.agents_md {
        AgentsMd::Off => None,
        AgentsMd::At(path) if !path.trim().is_empty() => {
            Some(path.trim().trim_start_matches("./").to_owned())
        }
        AgentsMd::At(_) | AgentsMd::Standard => RunSettings::default().agents_md,
    }
}

/// How long a gate may take, and how long processes have after TERM.
pub fn gate_limits(settings: &Settings) -> (Duration, Duration) {
    (or_without_end(*settings.gate.timeout), *settings.run.grace)
}

/// A time limit, where 0 means none.
fn unless_zero(limit: Duration) -> Option<Duration> {
    (!limit.is_zero()).then_some(limit)
}

/// A time limit, where 0 means none: longer than any run.
fn or_without_end(limit: Duration) -> Duration {
    const WITHOUT_END: Duration = Duration::from_secs(u32::MAX as u64);
    unless_zero(limit).unwrap_or(WITHOUT_END)
}

pub fn policy(settings: &Settings) -> Policy {
    let run = &settings.run;
    Policy {
        max_attempts: run.max_attempts.0,
        max_total_attempts: run.max_total_attempts.0,
        stuck_after: run.stuck_after.0,
        escalate_after: run.escalate_after.0,
        // One failure later there is no more waiting for progress.
        escalate_always: run.escalate_after.0.saturating_add(1),
        ..Policy::default()
    }
}

/// The settings as the run's record keeps them.
pub(super) fn recorded(settings: &Settings) -> String {
    let values: serde_json::Map<String, serde_json::Value> = settings
        .all()
        .filter_map(|(key, setting)| {
            let name = format!("{}.{}", key.section, key.name);
            Some((name, json!(setting.shown_text()?)))
        })
        .collect();
    serde_json::Value::Object(values).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_settings_are_those_of_the_engine() {
        let ours = run_settings(&Settings::default(), Scope::All, &Args::default());
        let engines =
            RunSettings { defaults_revision: crate::settings::defaults_revision(), ..RunSettings::default() };
        assert_eq!(format!("{ours:?}"), format!("{engines:?}"));
    }
}
