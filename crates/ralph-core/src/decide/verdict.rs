//! How an attempt ended: from the session, its signals and the gate. The agent's prose decides nothing.

use crate::agent::{AgentReport, Ending, Fault, Stop};
use crate::diagnose::reports_error;
use crate::evidence::{CommitFailure, Evidence, GateView, Green, Verdict};
use crate::model::{ErrorType, GateOutcome, GateRecord, Outcome};
use crate::signals::{Completion, Promise, Signals};
use crate::text::{duration, mask_secrets, one_line};

/// How much of the last line of an agent that reports failure without a reason is shown.
const LAST_LINE_CHARS: usize = 200;
/// How much of the error of an agent that crashed is shown before what its gate said.
const ENDING_CHARS: usize = 280;

/// Whether the gate has something to judge: the agent ended normally and says the task is done.
pub fn claims_done(stop: Stop, report: &AgentReport, signals: &Signals) -> bool {
    stop == Stop::Exited
        && report.ending == Ending::Completed
        && signals.completion == Completion::Done
        && signals.promise != Some(Promise::Failure)
}

/// Whether the agent ended, crashed or took too long, and said neither that the task is done nor that it failed. The gate is
/// run all the same: the signal may only have been forgotten. Not where a service was at fault or Ralph itself stopped it.
pub fn gave_no_signal(stop: Stop, report: &AgentReport, signals: &Signals) -> bool {
    let by_itself = match (stop, &report.ending) {
        (Stop::Exited, Ending::Completed) => true,
        (Stop::Exited | Stop::WallTimeout(_) | Stop::IdleTimeout(_), Ending::Faulted { fault, .. }) => {
            *fault == Fault::Crash
        }
        (Stop::WallTimeout(_) | Stop::IdleTimeout(_), Ending::Completed) => true,
        (Stop::Interrupted | Stop::Budget | Stop::GuardLost, _) => false,
    };
    by_itself && signals.completion == Completion::Absent && signals.promise != Some(Promise::Failure)
}

pub fn verdict(evidence: &Evidence<'_>) -> Verdict {
    let verdict = match evidence.stop {
        Stop::Interrupted => error(ErrorType::Interrupted, "interrupted"),
        Stop::WallTimeout(limit) => service_trouble(evidence).unwrap_or_else(|| {
            let message = format!("timed out after {}", duration(limit));
            error(ErrorType::Timeout, &message)
        }),
        Stop::IdleTimeout(limit) => service_trouble(evidence).unwrap_or_else(|| {
            let message = format!("timed out after {} without output", duration(limit));
            error(ErrorType::IdleTimeout, &message)
        }),
        Stop::Budget => error(ErrorType::Interrupted, "stopped: the cost limit is reached"),
        Stop::GuardLost => error(ErrorType::Crash, "Ralph's guard process was killed during the attempt"),
        Stop::Exited => exited(evidence),
    };
    let verdict = with_green_gate(verdict, evidence.gate);
    let denied = &evidence.report.denials;
    if verdict.is_failure() && !denied.is_empty() {
        // Without its tools the agent could not have done it: a matter of set-up, not of the task.
        let message = format!("the agent was denied permission: {}", denied.join(", "));
        return Verdict { abort: verdict.abort, ..error(ErrorType::Permission, &message) };
    }
    verdict
}

/// The work may be complete where the agent crashed or took too long, so people are told that its gate passed.
fn with_green_gate(verdict: Verdict, gate: GateView<'_>) -> Verdict {
    let ended_early =
        matches!(verdict.error_type, Some(ErrorType::Crash | ErrorType::Timeout | ErrorType::IdleTimeout));
    match gate {
        GateView::Ran(gate) if ended_early && gate.outcome == GateOutcome::Passed => {
            let told = |message: String| format!("{}; the gate passed", one_line(&message, ENDING_CHARS));
            Verdict { message: verdict.message.map(told), ..verdict }
        }
        _ => verdict,
    }
}

/// An agent that took too long because its service did not answer has not failed itself.
fn service_trouble(evidence: &Evidence<'_>) -> Option<Verdict> {
    match &evidence.report.ending {
        Ending::Faulted {
            fault: fault @ (Fault::RateLimit | Fault::Overloaded | Fault::Network),
            message,
            ..
        } => Some(error(error_type(*fault), message)),
        Ending::Faulted { .. } | Ending::Completed => None,
    }
}

fn exited(evidence: &Evidence<'_>) -> Verdict {
    let signals = evidence.signals;
    match &evidence.report.ending {
        // An agent that says it failed has said more than its exit code.
        Ending::Faulted { fault: Fault::Crash | Fault::Budget, .. }
            if signals.completion == Completion::Failed =>
        {
            Verdict { abort: signals.promise == Some(Promise::Failure), ..signalled_failure(evidence) }
        }
        Ending::Faulted { fault, message, .. } => error(error_type(*fault), message),
        Ending::Completed if signals.promise == Some(Promise::Failure) => {
            Verdict { abort: true, ..signalled_failure(evidence) }
        }
        Ending::Completed => match signals.completion {
            Completion::Failed => signalled_failure(evidence),
            Completion::Absent => without_signal(evidence),
            Completion::Done => done_if_the_gate_agrees(evidence),
        },
    }
}

/// An attempt without a signal. What its gate says is recorded, and counts where the settings want that.
fn without_signal(evidence: &Evidence<'_>) -> Verdict {
    const NO_SIGNAL: &str = "the agent ended without reporting a result";
    match evidence.gate {
        GateView::Ran(gate) => match gate.outcome {
            GateOutcome::Broken => gate_broken(gate),
            GateOutcome::Passed => {
                let message = format!("{NO_SIGNAL}, but the gate `{}` passed", gate.command);
                match evidence.green {
                    Green::Accepted if let Some(failure) = evidence.commit_failure => not_committed(failure),
                    Green::Accepted => Verdict {
                        message: Some(format!("{message} ([run] accept_green)")),
                        ..Verdict::done()
                    },
                    Green::Ignored => plain(Outcome::NoSigil, &message),
                }
            }
            GateOutcome::Failed | GateOutcome::FailedDifferently | GateOutcome::TimedOut => {
                let (command, ended) = (&gate.command, &gate.ended);
                let message = format!("{NO_SIGNAL}; the gate `{command}` {ended}");
                plain(Outcome::NoSigil, &message)
            }
        },
        GateView::NotStarted(why) => not_started(why),
        GateView::Interrupted => error(ErrorType::Interrupted, "interrupted while the gate was running"),
        GateView::NotRun => plain(Outcome::NoSigil, NO_SIGNAL),
    }
}

/// Nobody's failure: no attempt could change it.
pub fn gate_broken(gate: &GateRecord) -> Verdict {
    let (command, ended) = (&gate.command, &gate.ended);
    error(ErrorType::GateBroken, &format!("the gate `{command}` {ended}"))
}

fn not_started(why: &str) -> Verdict {
    error(ErrorType::Spawn, &format!("cannot run the gate: {why}"))
}

fn done_if_the_gate_agrees(evidence: &Evidence<'_>) -> Verdict {
    if let Some(failure) = evidence.commit_failure {
        return not_committed(failure);
    }
    match evidence.gate {
        GateView::Ran(gate) => match gate.outcome {
            GateOutcome::Passed => Verdict::done(),
            // A fix task is to remove one error, not all of them.
            GateOutcome::FailedDifferently => Verdict {
                message: Some(format!(
                    "the original error is gone, but the gate `{}` {}",
                    gate.command, gate.ended
                )),
                ..Verdict::done()
            },
            GateOutcome::Broken => gate_broken(gate),
            GateOutcome::Failed | GateOutcome::TimedOut => {
                gate_failure(&format!("the gate `{}` {}", gate.command, gate.ended))
            }
        },
        GateView::NotStarted(why) => not_started(why),
        GateView::Interrupted => error(ErrorType::Interrupted, "interrupted while the gate was running"),
        GateView::NotRun if evidence.signals.contradicted => plain(
            Outcome::NoSigil,
            "the agent reported done, but wrote that it did not finish, and there is no gate",
        ),
        GateView::NotRun => Verdict::done(),
    }
}

fn not_committed(failure: &CommitFailure) -> Verdict {
    match failure {
        CommitFailure::Interrupted => {
            error(ErrorType::Interrupted, "interrupted while the work was being committed")
        }
        CommitFailure::GitFault { why, .. } => {
            error(ErrorType::Spawn, &format!("cannot commit the work: {why}"))
        }
        CommitFailure::Refused { check, .. } => {
            gate_failure(&format!("the gate `{}` {}", check.command, check.ended))
        }
    }
}

fn plain(outcome: Outcome, message: &str) -> Verdict {
    Verdict { outcome, error_type: None, message: Some(message.into()), abort: false }
}

fn gate_failure(message: &str) -> Verdict {
    Verdict { error_type: Some(ErrorType::TestFailure), ..plain(Outcome::Failed, message) }
}

fn signalled_failure(evidence: &Evidence<'_>) -> Verdict {
    let signals = evidence.signals;
    let report = signals.failure_report.as_ref();
    let message = report
        .map(|report| report.why_failed.as_str())
        .or(signals.failed_block.as_ref().and_then(|block| block.error.as_deref()))
        .or(signals.failure_reason.as_deref());
    let message = match (message, last_line(&evidence.report.result_text)) {
        (Some(message), _) => message.to_owned(),
        (None, Some(line)) => format!("the agent reported failure: {line}"),
        (None, None) => "the agent reported failure".to_owned(),
    };
    let error_type = report.map(|report| ErrorType::Reported(report.error_category.clone()));
    Verdict { error_type, ..plain(Outcome::Failed, &message) }
}

/// The last line of an agent's text that is neither a signal nor a fence.
fn last_line(text: &str) -> Option<String> {
    let is_prose = |line: &&str| line.contains(char::is_alphanumeric) && !line.starts_with(['<', '`']);
    // A line that reports an error is quoted as such.
    let line = text.lines().rev().map(str::trim).find(is_prose).filter(|line| !reports_error(line))?;
    Some(one_line(&mask_secrets(line), LAST_LINE_CHARS))
}

fn error(error_type: ErrorType, message: &str) -> Verdict {
    Verdict {
        outcome: Outcome::Error,
        error_type: Some(error_type),
        message: Some(message.into()),
        abort: false,
    }
}

fn error_type(fault: Fault) -> ErrorType {
    match fault {
        Fault::RateLimit => ErrorType::RateLimit,
        Fault::Overloaded => ErrorType::Overloaded,
        Fault::Network => ErrorType::Network,
        Fault::Auth => ErrorType::Auth,
        Fault::Spawn => ErrorType::Spawn,
        Fault::Permission => ErrorType::Permission,
        Fault::Config => ErrorType::Config,
        // What the settings allow one session is a limit like that of its turns.
        Fault::Budget | Fault::Crash => ErrorType::Crash,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::agent::Usage;
    use crate::signals::{self, Scope};

    fn report(ending: Ending, text: &str) -> AgentReport {
        AgentReport {
            ending,
            result_text: text.into(),
            session_id: None,
            model: None,
            cost_usd: None,
            usage: Usage::default(),
            denials: Vec::new(),
            retries: 0,
            limit: None,
            actions: Vec::new(),
        }
    }

    fn fault(fault: Fault) -> Ending {
        Ending::Faulted { fault, message: "broken".into(), resets_at: None }
    }

    fn judge(report: &AgentReport, stop: Stop, gate: GateView<'_>) -> (Outcome, Option<String>, bool) {
        let scope = Scope { task_id: "t-000001", task_key: Some("1.3"), ladder: &[] };
        let signals = signals::parse(&report.result_text, &scope);
        let verdict = verdict(&Evidence {
            stop,
            report,
            signals: &signals,
            gate,
            green: Green::Ignored,
            commit_failure: None,
        });
        (verdict.outcome, verdict.error_type.as_ref().map(|e| e.to_string()), verdict.counts())
    }

    fn gate(outcome: GateOutcome) -> GateRecord {
        GateRecord {
            command: "check".into(),
            outcome,
            ended: "exited with code 1".into(),
            flaky: false,
            diagnosis: Box::default(),
            output_tail: String::new(),
            touched: Vec::new(),
            fix: None,
        }
    }

    const DONE: &str = "<task-done>t-000001</task-done>";
    const FAILED: &str = "<task-failed>1.3</task-failed>";

    #[test]
    fn out_01_done_needs_signal_and_gate() {
        let (pass, fail) = (gate(GateOutcome::Passed), gate(GateOutcome::Failed));
        let signalled = report(Ending::Completed, DONE);
        let silent = report(Ending::Completed, "all good");
        assert_eq!(judge(&signalled, Stop::Exited, GateView::Ran(&pass)), (Outcome::Done, None, true));
        assert_eq!(judge(&signalled, Stop::Exited, GateView::NotRun), (Outcome::Done, None, true));
        // OUT-02
        assert_eq!(
            judge(&signalled, Stop::Exited, GateView::Ran(&fail)),
            (Outcome::Failed, Some("test_failure".into()), true)
        );
        // OUT-03
        assert_eq!(judge(&silent, Stop::Exited, GateView::NotRun), (Outcome::NoSigil, None, true));
    }

    #[test]
    fn a_failure_without_a_reason_is_told_with_the_agents_last_line() {
        for (text, line) in [
            (
                "I began.\nThe server is down.\n```\n<task-failed>1.3</task-failed>\n```",
                Some("The server is down."),
            ),
            ("export TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz", Some("export TOKEN=")),
            ("<task-failed>1.3</task-failed>\n---\n", None),
        ] {
            let shown = last_line(text);
            assert!(
                shown.as_deref().is_some_and(|shown| line.is_some_and(|l| shown.starts_with(l)))
                    == line.is_some()
            );
            assert!(!shown.unwrap_or_default().contains("ghp_"));
        }
    }

    #[test]
    fn out_03_a_gate_without_a_signal_decides_only_where_that_is_wanted() {
        let silent = report(Ending::Completed, "all good");
        let signals = signals::parse("", &Scope { task_id: "t-000001", task_key: None, ladder: &[] });
        for (outcome, green, expected) in [
            (GateOutcome::Passed, Green::Ignored, (Outcome::NoSigil, true)),
            (GateOutcome::Passed, Green::Accepted, (Outcome::Done, true)),
            (GateOutcome::Failed, Green::Accepted, (Outcome::NoSigil, true)),
            (GateOutcome::TimedOut, Green::Accepted, (Outcome::NoSigil, true)),
            (GateOutcome::Broken, Green::Accepted, (Outcome::Error, false)),
        ] {
            let gate = gate(outcome);
            let evidence = Evidence {
                stop: Stop::Exited,
                report: &silent,
                signals: &signals,
                gate: GateView::Ran(&gate),
                green,
                commit_failure: None,
            };
            let verdict = verdict(&evidence);
            assert_eq!((verdict.outcome, verdict.counts()), expected, "{outcome:?} {green:?}");
            // An attempt that was stopped proves nothing.
            let late = Evidence { stop: Stop::WallTimeout(std::time::Duration::from_secs(1)), ..evidence };
            assert_eq!(super::verdict(&late).outcome, Outcome::Error);
        }
    }

    #[test]
    fn out_04_limits_of_time_count() {
        let signalled = report(Ending::Completed, DONE);
        for (stop, name) in [
            (Stop::WallTimeout(Duration::from_secs(60)), "timeout"),
            (Stop::IdleTimeout(Duration::from_secs(60)), "idle_timeout"),
        ] {
            let expected = (Outcome::Error, Some(name.to_owned()), true);
            assert_eq!(judge(&signalled, stop, GateView::NotRun), expected);
            // Unless it was the service that did not answer.
            let waited = report(fault(Fault::Network), "");
            let expected = (Outcome::Error, Some("network".to_owned()), false);
            assert_eq!(judge(&waited, stop, GateView::NotRun), expected);
        }
    }

    #[test]
    fn an_agent_that_ends_early_with_a_green_gate_is_told_with_that() {
        let passed = gate(GateOutcome::Passed);
        let failed = gate(GateOutcome::Failed);
        for (stop, gate, message) in [
            (Stop::Exited, &passed, "broken; the gate passed"),
            (Stop::WallTimeout(Duration::from_secs(60)), &passed, "timed out after 1 min; the gate passed"),
            (Stop::Exited, &failed, "broken"),
        ] {
            let report = report(fault(Fault::Crash), "");
            let signals = signals::parse("", &Scope { task_id: "t-000001", task_key: None, ladder: &[] });
            let told = verdict(&Evidence {
                stop,
                report: &report,
                signals: &signals,
                gate: GateView::Ran(gate),
                green: Green::Ignored,
                commit_failure: None,
            });
            assert_eq!(told.message.as_deref(), Some(message));
        }
    }

    #[test]
    fn out_05_06_07_faults_of_others_do_not_count() {
        for (kind, name, counted) in [
            (Fault::RateLimit, "rate_limit", false),
            (Fault::Overloaded, "overloaded", false),
            (Fault::Network, "network", false),
            (Fault::Auth, "auth", false),
            (Fault::Spawn, "spawn", false),
            (Fault::Permission, "permission", false),
            (Fault::Config, "config", false),
            (Fault::Crash, "crash", true),
        ] {
            let broken = report(fault(kind), DONE);
            let expected = (Outcome::Error, Some(name.to_owned()), counted);
            assert_eq!(judge(&broken, Stop::Exited, GateView::NotRun), expected);
        }
        let crashed = report(fault(Fault::Crash), FAILED);
        assert_eq!(judge(&crashed, Stop::Exited, GateView::NotRun), (Outcome::Failed, None, true));
    }

    #[test]
    fn out_08_an_interruption_does_not_count() {
        let signalled = report(Ending::Completed, DONE);
        let expected = (Outcome::Error, Some("interrupted".to_owned()), false);
        assert_eq!(judge(&signalled, Stop::Interrupted, GateView::NotRun), expected);
        assert_eq!(judge(&signalled, Stop::Exited, GateView::Interrupted), expected);
    }

    #[test]
    fn out_09_prose_never_changes_the_class() {
        for prose in ["rate limit reached", "401 unauthorized", "overloaded", "network error"] {
            let talks = report(Ending::Completed, prose);
            assert_eq!(judge(&talks, Stop::Exited, GateView::NotRun), (Outcome::NoSigil, None, true));
        }
    }

    #[test]
    fn denied_tools_matter_only_when_the_attempt_is_not_done() {
        let mut denied = report(Ending::Completed, DONE);
        denied.denials = vec!["Bash".into()];
        assert_eq!(judge(&denied, Stop::Exited, GateView::NotRun).0, Outcome::Done);
        denied.result_text = "could not".into();
        assert_eq!(
            judge(&denied, Stop::Exited, GateView::NotRun),
            (Outcome::Error, Some("permission".into()), false)
        );
    }

    #[test]
    fn sig_10_a_promise_of_failure_is_a_failed_attempt_and_aborts() {
        let scope = Scope { task_id: "t-000001", task_key: None, ladder: &[] };
        for (promise, abort) in [("FAILURE", true), ("COMPLETE", false)] {
            let report = report(Ending::Completed, &format!("{DONE}\n<promise>{promise}</promise>"));
            let signals = signals::parse(&report.result_text, &scope);
            let evidence = Evidence {
                stop: Stop::Exited,
                report: &report,
                signals: &signals,
                gate: GateView::NotRun,
                green: Green::Ignored,
                commit_failure: None,
            };
            let verdict = verdict(&evidence);
            assert_eq!(verdict.abort, abort);
            assert_eq!(verdict.outcome == Outcome::Failed, abort);
            assert_eq!(claims_done(Stop::Exited, &report, &signals), !abort);
        }
    }

    #[test]
    fn sig_11_a_contradicted_done_needs_a_gate() {
        let doubtful = report(Ending::Completed, &format!("I could not complete this.\n\n{DONE}"));
        let pass = gate(GateOutcome::Passed);
        assert_eq!(judge(&doubtful, Stop::Exited, GateView::NotRun).0, Outcome::NoSigil);
        assert_eq!(judge(&doubtful, Stop::Exited, GateView::Ran(&pass)).0, Outcome::Done);
    }
}
