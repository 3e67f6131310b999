//! How an attempt ended: from the session, its signals and the gate. The agent's prose decides nothing.

use std::time::Duration;

use crate::agent::{Ending, Fault, Stop};
use crate::diagnose::reports_error;
use crate::evidence::{CommitFailure, Evidence, GateResult, LandingFailure, ReviewResult, Session, Verdict};
use crate::model::{ErrorType, GateOf, GateOutcome, GateRecord, Outcome, Review, ReviewVerdict};
use crate::sandbox::denials_told;
use crate::signals::{Completion, Promise};
use crate::store::ConflictKind;
use crate::text::{duration, few, mask_secrets, one_line};
/// How much of the last line of an agent that reports failure without a reason is shown.
const LAST_LINE_CHARS: usize = 200;
/// How much of the error of an agent that crashed is shown before what its gate said.
const ENDING_CHARS: usize = 280;
const REJECTION_CHARS: usize = 400;
/// Protected files that a message names.
const NAMED: usize = 5;
/// How many tests that fail now and did not before are named.
const NAMED_TESTS: usize = 3;
/// How much of a reason for changing nothing is shown.
const REASON_CHARS: usize = 200;

/// What is said of an attempt that reported done and changed nothing.
const NO_CHANGE: &str = "the agent reported done, but changed no file, and the task has no gate of its own; where nothing has to be changed, it \
    must say why with `<no-change-needed>reason</no-change-needed>`";

/// What is said of done work that git refused.
pub const NOT_COMMITTED: &str = "the work could not be committed";

/// Whether the gate has something to judge: the agent ended normally and says the task is done.
pub fn claims_done(Session { stop, report, signals }: &Session) -> bool {
    *stop == Stop::Exited
        && report.ending == Ending::Completed
        && signals.completion == Completion::Done
        && signals.promise != Some(Promise::Failure)
}

/// Whether the agent ended without a signal, or crashed or took too long without saying that the task failed. The gate is run
/// all the same: the work may be complete. Not where a service was at fault or Ralph itself stopped it.
pub fn gave_no_signal(Session { stop, report, signals }: &Session) -> bool {
    let may_be_complete = match (stop, &report.ending) {
        (Stop::Exited, Ending::Completed) => signals.completion == Completion::Absent,
        (Stop::Exited | Stop::WallTimeout(_) | Stop::IdleTimeout(_), Ending::Faulted { fault, .. }) => {
            *fault == Fault::Crash && signals.completion != Completion::Failed
        }
        (Stop::WallTimeout(_) | Stop::IdleTimeout(_), Ending::Completed) => {
            signals.completion != Completion::Failed
        }
        (Stop::Interrupted | Stop::Budget | Stop::UserNote | Stop::OverLimit(_) | Stop::GuardLost, _) => {
            false
        }
    };
    may_be_complete && signals.promise != Some(Promise::Failure)
}

/// Whether only the signal is missing: the gate passed after an attempt without one, so the work may be done.
pub fn only_signal_missing(evidence: &Evidence) -> bool {
    evidence.gate_passed() && evidence.commit_failure.is_none() && gave_no_signal(&evidence.session)
}

/// What an attempt comes to. It is asked before done work is committed, and again where the commit fails.
pub fn verdict(evidence: &Evidence) -> Verdict {
    let verdict = match evidence.session.stop {
        Stop::Interrupted => error(ErrorType::Interrupted, "interrupted"),
        Stop::WallTimeout(limit) => late(evidence, ErrorType::Timeout, limit, ""),
        Stop::IdleTimeout(limit) => late(evidence, ErrorType::IdleTimeout, limit, " without output"),
        Stop::Budget => error(ErrorType::Interrupted, "stopped: the cost limit is reached"),
        Stop::UserNote => error(ErrorType::Interrupted, "ended by the user, to retry with a note"),
        Stop::OverLimit(excess) => error(ErrorType::Crash, &format!("stopped: the agent had {excess}")),
        Stop::GuardLost => error(ErrorType::Crash, "Ralph's guard process was killed during the attempt"),
        Stop::Exited => exited(evidence),
    };
    let verdict = with_green_gate(verdict, evidence);
    let denied = &evidence.session.report.denials;
    if verdict.is_failure() && !denied.is_empty() {
        // Without its tools the agent could not have done it: a matter of set-up, not of the task.
        let message = format!("the agent was denied permission: {}", denied.join(", "));
        return Verdict { abort: verdict.abort, ..error(ErrorType::Permission, &message) };
    }
    with_refusals(verdict, evidence)
}

/// What the sandbox refused may be why an attempt failed. The first time that is not held against the task; people are told
/// what would allow it.
fn with_refusals(verdict: Verdict, evidence: &Evidence) -> Verdict {
    if !verdict.is_failure() || evidence.denied.is_empty() {
        return verdict;
    }
    let refused = format!("the sandbox may have refused {}", denials_told(&evidence.denied));
    if evidence.denied_before || verdict.abort {
        return Verdict { message: joined(verdict.message, refused), ..verdict };
    }
    error(ErrorType::SandboxDenied, &refused)
}

/// The work may be complete where the agent crashed or took too long, so people are told that its gate passed.
fn with_green_gate(verdict: Verdict, evidence: &Evidence) -> Verdict {
    let ended_early =
        matches!(verdict.error_type, Some(ErrorType::Crash | ErrorType::Timeout | ErrorType::IdleTimeout));
    if !(ended_early && evidence.gate_passed()) {
        return verdict;
    }
    let told = |message: String| format!("{}; the gate passed", one_line(&message, ENDING_CHARS));
    Verdict { message: verdict.message.map(told), ..verdict }
}

/// An agent that took too long because its service did not answer has not failed itself.
fn late(evidence: &Evidence, error_type: ErrorType, limit: Duration, how: &str) -> Verdict {
    match &evidence.session.report.ending {
        Ending::Faulted {
            fault: fault @ (Fault::RateLimit | Fault::Overloaded | Fault::Network),
            message,
            ..
        } => error(error_type_of(*fault), message),
        _ => error(error_type, &format!("timed out after {}{how}", duration(limit))),
    }
}

/// What is told already, and what has to be told beside it.
fn joined(told: Option<String>, more: String) -> Option<String> {
    Some(told.map_or_else(|| more.clone(), |told| format!("{told}; {more}")))
}

fn exited(evidence: &Evidence) -> Verdict {
    let signals = &evidence.session.signals;
    let says_failed = signals.completion == Completion::Failed;
    match &evidence.session.report.ending {
        // An agent that says it failed has said more than its exit code.
        Ending::Faulted { fault: Fault::Crash | Fault::Budget, .. } if says_failed => {
            signalled_failure(evidence)
        }
        Ending::Faulted { fault, message, .. } => error(error_type_of(*fault), message),
        Ending::Completed if says_failed || signals.promise == Some(Promise::Failure) => {
            signalled_failure(evidence)
        }
        Ending::Completed => by_the_gate(evidence),
    }
}

/// An attempt that says it is done, or says nothing: its gate decides, and then whether its work could be committed. Without
/// a signal a gate that passes is only recorded, unless the settings let it stand for one.
fn by_the_gate(evidence: &Evidence) -> Verdict {
    const NO_SIGNAL: &str = "the agent ended without reporting a result";
    let signals = &evidence.session.signals;
    let says_done = signals.completion == Completion::Done;
    let no_signal = |rest: &str| plain(Outcome::NoSigil, &format!("{NO_SIGNAL}{rest}"));
    let done_but = |message: String| Verdict { message: Some(message), ..Verdict::done() };
    let verdict = match evidence.deciding_gate() {
        Some(GateResult::NotStarted(why)) => error(ErrorType::Spawn, &format!("cannot run the gate: {why}")),
        Some(GateResult::Interrupted) => {
            error(ErrorType::Interrupted, "interrupted while the gate was running")
        }
        Some(GateResult::Ran(gate)) => match gate.outcome {
            GateOutcome::Broken => error(ErrorType::GateBroken, &told(gate)),
            // The project's gate passed before, too.
            GateOutcome::Passed if says_done && gate.of == GateOf::Always && is_idle(evidence) => {
                plain(Outcome::NoSigil, NO_CHANGE)
            }
            GateOutcome::Passed if says_done => Verdict::done(),
            GateOutcome::Passed if evidence.accept_green => {
                done_but(format!("{NO_SIGNAL}, but the gate `{}` passed ([run] accept_green)", gate.command))
            }
            GateOutcome::Passed => no_signal(&format!(", but the gate `{}` passed", gate.command)),
            _ if !says_done => no_signal(&format!("; {}", told(gate))),
            // A fix task is to remove one error, not all of them.
            GateOutcome::FailedDifferently => {
                done_but(format!("the original error is gone, but {}", told(gate)))
            }
            GateOutcome::Failed | GateOutcome::TimedOut => failed(ErrorType::TestFailure, &told(gate)),
        },
        None if !says_done => no_signal(""),
        None if signals.contradicted && evidence.commit_failure.is_none() => plain(
            Outcome::NoSigil,
            "the agent reported done, but wrote that it did not finish, and there is no gate",
        ),
        None if evidence.gates_on && evidence.changed_nothing() && evidence.commit_failure.is_none() => {
            match &signals.no_change_needed {
                Some(reason) => done_but(format!(
                    "nothing had to be changed: {}",
                    one_line(&mask_secrets(reason), REASON_CHARS)
                )),
                None => plain(Outcome::NoSigil, NO_CHANGE),
            }
        }
        None => Verdict::done(),
    };
    let verdict = match &evidence.integrity.review {
        Some(ReviewResult::Interrupted) if verdict.outcome == Outcome::Done => {
            error(ErrorType::Interrupted, "interrupted while the work was being reviewed")
        }
        Some(ReviewResult::Given(review))
            if verdict.outcome == Outcome::Done && review.verdict == ReviewVerdict::Rejected =>
        {
            failed(ErrorType::ReviewRejected, &rejected(review))
        }
        _ => with_tampering(verdict, evidence),
    };
    match (&evidence.commit_failure, &evidence.landing_failure) {
        (Some(failure), _) if verdict.outcome == Outcome::Done => not_committed(failure),
        (None, Some(failure)) => not_landed(failure),
        _ => verdict,
    }
}

/// Whether nothing was changed, and nobody says why.
fn is_idle(evidence: &Evidence) -> bool {
    let says_why = evidence.session.signals.no_change_needed.is_some();
    evidence.changed_nothing() && !says_why && evidence.commit_failure.is_none()
}

fn rejected(review: &Review) -> String {
    let finding = review.findings.first().map(|finding| format!(": {finding}"));
    one_line(&format!("{} rejected the work{}", review.agent, finding.unwrap_or_default()), REJECTION_CHARS)
}

/// The gate judged other files than the agent left, which must be told with its result.
fn with_tampering(verdict: Verdict, evidence: &Evidence) -> Verdict {
    let Some(tampering) = &evidence.integrity.tampering else {
        return verdict;
    };
    let put_back = format!(
        "the attempt changed protected files, which Ralph put back: {}",
        few(&tampering.names(), NAMED)
    );
    let error_type = match verdict.error_type {
        Some(ErrorType::TestFailure) => Some(ErrorType::Tampered),
        other => other,
    };
    Verdict { message: joined(verdict.message, put_back), error_type, ..verdict }
}

fn told(gate: &GateRecord) -> String {
    let whose = if gate.of == GateOf::Always { "the project's gate" } else { "the gate" };
    let named = |when: &str, tests: &[String]| match tests {
        [] => String::new(),
        tests => format!("; failing {when}: {}", few(tests, NAMED_TESTS)),
    };
    // Of the project's gate, tests that failed before are held against nobody.
    let is_known = |test: &&String| gate.of != GateOf::Always && gate.baseline.failing.contains(test);
    let known: Vec<String> = gate.diagnosis.failing().iter().filter(is_known).cloned().collect();
    let tests = named("now and not before", &gate.regressions) + &named("before the task, too", &known);
    format!("{whose} `{}` {}{tests}", gate.command, gate.ended)
}

/// The verdict on a parent whose children are done and whose own gate did not pass.
pub fn parent_verdict(gate: &GateRecord) -> Verdict {
    match gate.outcome {
        GateOutcome::Broken => error(ErrorType::GateBroken, &told(gate)),
        _ => failed(
            ErrorType::TestFailure,
            &format!("the gate `{}`, run after all subtasks, {}", gate.command, gate.ended),
        ),
    }
}

/// The verdict on an attempt whose process died. It is done where its work was committed, for that comes last, after its
/// signal and its gate.
pub fn lost_verdict(committed: bool) -> Verdict {
    if committed { Verdict::done() } else { error(ErrorType::Lost, "Ralph crashed during the attempt") }
}

/// The work was good by itself: what the gate says of it together with others' is no failure of the agent's.
fn not_landed(failure: &LandingFailure) -> Verdict {
    match failure.kind {
        ConflictKind::Conflict => error(ErrorType::Conflict, &failure.why),
        ConflictKind::IntegrationFailure => error(
            ErrorType::IntegrationFailure,
            &format!("the gate failed with what others landed meanwhile: {}", failure.why),
        ),
    }
}

fn not_committed(failure: &CommitFailure) -> Verdict {
    match failure {
        CommitFailure::Interrupted => {
            error(ErrorType::Interrupted, "interrupted while the work was being committed")
        }
        CommitFailure::GitFault { why, .. } => {
            error(ErrorType::Git, &format!("cannot commit the work: {why}"))
        }
        CommitFailure::PushRefused { why, .. } => error(ErrorType::PushRefused, why),
        CommitFailure::Refused { .. } => failed(ErrorType::CommitRefused, NOT_COMMITTED),
    }
}

fn plain(outcome: Outcome, message: &str) -> Verdict {
    Verdict { outcome, error_type: None, message: Some(message.into()), abort: false }
}

fn failed(error_type: ErrorType, message: &str) -> Verdict {
    Verdict { error_type: Some(error_type), ..plain(Outcome::Failed, message) }
}

fn signalled_failure(evidence: &Evidence) -> Verdict {
    let signals = &evidence.session.signals;
    let report = signals.failure_report.as_ref();
    let message = report
        .map(|report| report.why_failed.as_str())
        .or(signals.failed_block.as_ref().and_then(|block| block.error.as_deref()))
        .or(signals.failure_reason.as_deref());
    let message = match (message, last_line(&evidence.session.report.result_text)) {
        (Some(message), _) => message.to_owned(),
        (None, Some(line)) => format!("the agent reported failure: {line}"),
        (None, None) => "the agent reported failure".to_owned(),
    };
    let error_type = report.map(|report| ErrorType::Reported(report.error_category.clone()));
    let abort = signals.promise == Some(Promise::Failure);
    Verdict { error_type, abort, ..plain(Outcome::Failed, &message) }
}

/// The last line of an agent's text that is neither a signal nor a fence nor JSON.
fn last_line(text: &str) -> Option<String> {
    let is_signal = |line: &str| {
        line.starts_with(['<', '`', '{', '}', '[', ']', '"']) || line.contains("TASK_MODIFICATION_REQUEST")
    };
    let is_prose = |line: &&str| line.contains(char::is_alphanumeric) && !is_signal(line);
    // A line that reports an error is quoted as such.
    let line = text.lines().rev().map(str::trim).find(is_prose).filter(|line| !reports_error(line))?;
    Some(one_line(&mask_secrets(line), LAST_LINE_CHARS))
}

fn error(error_type: ErrorType, message: &str) -> Verdict {
    Verdict { error_type: Some(error_type), ..plain(Outcome::Error, message) }
}

/// What a fault of an agent or its service is recorded as.
pub fn error_type_of(fault: Fault) -> ErrorType {
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
    use super::*;
    use crate::agent::{AgentReport, Usage};
    use crate::evidence::Integrity;
    use crate::model::GitRecord;
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

    fn evidence(report: &AgentReport, stop: Stop, gate: Option<GateResult>) -> Evidence {
        let scope = Scope { task_id: "t-000001", task_key: Some("1.3"), ladder: &[] };
        let signals = signals::parse(&report.result_text, &scope);
        Evidence {
            session: Session { stop, report: report.clone(), signals },
            gate,
            project_gate: None,
            gates_on: true,
            has_earlier_work: false,
            git: GitRecord::default(),
            accept_green: false,
            denied: Vec::new(),
            denied_before: false,
            integrity: Integrity::default(),
            commit_failure: None,
            landing_failure: None,
        }
    }

    fn judge(report: &AgentReport, stop: Stop, gate: Option<GateResult>) -> (Outcome, Option<String>, bool) {
        let verdict = verdict(&evidence(report, stop, gate));
        (verdict.outcome, verdict.error_type.as_ref().map(|e| e.to_string()), verdict.counts())
    }

    fn gate(outcome: GateOutcome) -> Option<GateResult> {
        Some(GateResult::Ran(GateRecord::new("check", outcome, "exited with code 1")))
    }

    #[test]
    fn what_the_sandbox_refused_is_held_against_a_task_only_the_second_time() {
        use crate::sandbox::{Denial, Denied};
        let fix = Some("ralph config set sandbox.cache /x".to_owned());
        let denial = Denial { what: Denied::Write, target: "/x/y".into(), fix };
        let told = "the sandbox may have refused writing /x/y (allow it: ralph config set sandbox.cache /x)";
        for (result, gate_says, before, expected, counts) in [
            (DONE, GateOutcome::Failed, false, Some("sandbox_denied"), false),
            (DONE, GateOutcome::Failed, true, Some("test_failure"), true),
            (FAILED, GateOutcome::Failed, false, Some("sandbox_denied"), false),
            (DONE, GateOutcome::Passed, false, None, true),
        ] {
            let report = report(Ending::Completed, result);
            let evidence = Evidence {
                denied: vec![denial.clone()],
                denied_before: before,
                ..evidence(&report, Stop::Exited, gate(gate_says))
            };
            let verdict = verdict(&evidence);
            let kind = verdict.error_type.as_ref().map(ErrorType::as_str);
            assert_eq!((kind, verdict.counts()), (expected, counts), "{verdict:?}");
            assert_eq!(verdict.message.is_some_and(|message| message.ends_with(told)), expected.is_some());
        }
    }

    const DONE: &str = "<task-done>t-000001</task-done>";
    const FAILED: &str = "<task-failed>1.3</task-failed>";

    #[test]
    fn out_01_done_needs_signal_and_gate() {
        let (pass, fail) = (gate(GateOutcome::Passed), gate(GateOutcome::Failed));
        let signalled = report(Ending::Completed, DONE);
        let silent = report(Ending::Completed, "all good");
        assert_eq!(judge(&signalled, Stop::Exited, pass.clone()), (Outcome::Done, None, true));
        assert_eq!(judge(&signalled, Stop::Exited, None), (Outcome::Done, None, true));
        // OUT-02
        assert_eq!(
            judge(&signalled, Stop::Exited, fail),
            (Outcome::Failed, Some("test_failure".into()), true)
        );
        // OUT-03
        assert_eq!(judge(&silent, Stop::Exited, None), (Outcome::NoSigil, None, true));
    }

    #[test]
    fn a_failure_without_a_reason_is_told_with_the_agents_last_line() {
        for (text, line) in [
            ("I began.\nIt is down.\n```\n<task-failed>1.3</task-failed>\n```", Some("It is down.")),
            ("export TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz", Some("export TOKEN=")),
            ("<task-failed>1.3</task-failed>\n---\n", None),
            (
                "Too large.\nTASK_MODIFICATION_REQUEST\n{\n\"proposedTasks\": [\n]\n}\n<task-failed>1.3</task-failed>",
                Some("Too large."),
            ),
            ("TASK_MODIFICATION_REQUEST\n{\"type\": \"SPLIT_TASK\"}\n<task-failed>1.3</task-failed>", None),
        ] {
            let shown = last_line(text);
            let is_shown = shown.as_deref().map(|shown| line.is_some_and(|line| shown.starts_with(line)));
            assert_eq!(is_shown, line.map(|_| true), "{shown:?}");
            assert!(!shown.unwrap_or_default().contains("ghp_"));
        }
    }

    #[test]
    fn out_03_a_gate_without_a_signal_decides_only_where_that_is_wanted() {
        let silent = report(Ending::Completed, "all good");
        for (outcome, accept_green, expected) in [
            (GateOutcome::Passed, false, (Outcome::NoSigil, true)),
            (GateOutcome::Passed, true, (Outcome::Done, true)),
            (GateOutcome::Failed, true, (Outcome::NoSigil, true)),
            (GateOutcome::TimedOut, true, (Outcome::NoSigil, true)),
            (GateOutcome::Broken, true, (Outcome::Error, false)),
        ] {
            let mut evidence = evidence(&silent, Stop::Exited, gate(outcome));
            evidence.accept_green = accept_green;
            let verdict = verdict(&evidence);
            assert_eq!((verdict.outcome, verdict.counts()), expected, "{outcome:?} {accept_green}");
            // An attempt that was stopped proves nothing.
            evidence.session.stop = Stop::WallTimeout(Duration::from_secs(1));
            assert_eq!(super::verdict(&evidence).outcome, Outcome::Error);
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
            assert_eq!(judge(&signalled, stop, None), expected);
            // Unless it was the service that did not answer.
            let waited = report(fault(Fault::Network), "");
            let expected = (Outcome::Error, Some("network".to_owned()), false);
            assert_eq!(judge(&waited, stop, None), expected);
        }
    }

    #[test]
    fn an_agent_that_ends_early_with_a_green_gate_is_told_with_that() {
        for (stop, outcome, message) in [
            (Stop::Exited, GateOutcome::Passed, "broken; the gate passed"),
            (
                Stop::WallTimeout(Duration::from_secs(60)),
                GateOutcome::Passed,
                "timed out after 1 min; the gate passed",
            ),
            (Stop::Exited, GateOutcome::Failed, "broken"),
        ] {
            let told = verdict(&evidence(&report(fault(Fault::Crash), ""), stop, gate(outcome)));
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
            assert_eq!(judge(&broken, Stop::Exited, None), expected);
        }
        let crashed = report(fault(Fault::Crash), FAILED);
        assert_eq!(judge(&crashed, Stop::Exited, None), (Outcome::Failed, None, true));
    }

    #[test]
    fn out_08_an_interruption_does_not_count() {
        let signalled = report(Ending::Completed, DONE);
        let expected = (Outcome::Error, Some("interrupted".to_owned()), false);
        assert_eq!(judge(&signalled, Stop::Interrupted, None), expected);
        assert_eq!(judge(&signalled, Stop::Exited, Some(GateResult::Interrupted)), expected);
    }

    #[test]
    fn out_09_prose_never_changes_the_class() {
        for prose in ["rate limit reached", "401 unauthorized", "overloaded", "network error"] {
            let talks = report(Ending::Completed, prose);
            assert_eq!(judge(&talks, Stop::Exited, None), (Outcome::NoSigil, None, true));
        }
    }

    #[test]
    fn denied_tools_matter_only_when_the_attempt_is_not_done() {
        let mut denied = report(Ending::Completed, DONE);
        denied.denials = vec!["Bash".into()];
        assert_eq!(judge(&denied, Stop::Exited, None).0, Outcome::Done);
        denied.result_text = "could not".into();
        assert_eq!(judge(&denied, Stop::Exited, None), (Outcome::Error, Some("permission".into()), false));
    }

    #[test]
    fn sig_10_a_promise_of_failure_is_a_failed_attempt_and_aborts() {
        for (promise, abort) in [("FAILURE", true), ("COMPLETE", false)] {
            let report = report(Ending::Completed, &format!("{DONE}\n<promise>{promise}</promise>"));
            let evidence = evidence(&report, Stop::Exited, None);
            let verdict = verdict(&evidence);
            assert_eq!(verdict.abort, abort);
            assert_eq!(verdict.outcome == Outcome::Failed, abort);
            assert_eq!(claims_done(&evidence.session), !abort);
        }
    }

    #[test]
    fn sig_11_a_contradicted_done_needs_a_gate() {
        let doubtful = report(Ending::Completed, &format!("I could not complete this.\n\n{DONE}"));
        assert_eq!(judge(&doubtful, Stop::Exited, None).0, Outcome::NoSigil);
        assert_eq!(judge(&doubtful, Stop::Exited, gate(GateOutcome::Passed)).0, Outcome::Done);
    }

    #[test]
    fn work_that_cannot_be_committed_has_an_outcome_of_its_own() {
        let done = report(Ending::Completed, DONE);
        let check = GateRecord::new("git commit", GateOutcome::Failed, "failed");
        for (failure, expected) in [
            (CommitFailure::Interrupted, (Outcome::Error, "interrupted", false)),
            (
                CommitFailure::GitFault { why: "it is gone".into(), remedy: String::new() },
                (Outcome::Error, "git", false),
            ),
            (
                CommitFailure::PushRefused { why: "no ticket".into(), fix: String::new() },
                (Outcome::Error, "push_refused", false),
            ),
            (CommitFailure::Refused { check, fix: None }, (Outcome::Failed, "commit_refused", true)),
        ] {
            for gate in [None, gate(GateOutcome::Passed)] {
                let mut evidence = evidence(&done, Stop::Exited, gate);
                evidence.commit_failure = Some(failure.clone());
                let verdict = verdict(&evidence);
                let error = verdict.error_type.as_ref().map(|error| error.as_str());
                assert_eq!(
                    (verdict.outcome, error, verdict.counts()),
                    (expected.0, Some(expected.1), expected.2)
                );
            }
        }
    }
}
