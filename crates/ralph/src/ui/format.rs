//! Numbers and rows as people read them.

use std::collections::HashMap;
use std::time::Duration;

use ralph_core::model::{
    Attempt, Baseline, Cost, ErrorType, GateOf, GateRun, Level, NO_MODEL, Outcome, ReviewVerdict, TaskId,
    TestCounts, Timestamp, Verification,
};
use ralph_core::store::{Note, NoteState, SessionKind, SideSession};
use ralph_core::text::{code_line, few, one_line};

use super::style::{self, EvidenceKind, done_word};
use super::table::{Table, cut};

/// How much of a gate's command is shown.
pub const COMMAND_CHARS: usize = 80;
/// From so many columns on, all of a table fits.
const WIDE: usize = 100;

/// A duration as people say it: `0.4 s`, `12 s`, `3 min 5 s`, `12 min`, `6 h 40 min`, `2 d 3 h`.
pub fn duration(duration: Duration) -> String {
    match duration.as_millis() {
        0..9_950 => format!("{:.1} s", duration.as_secs_f64()),
        _ => elapsed(duration),
    }
}

/// The same without fractions: `4 s`.
pub fn elapsed(duration: Duration) -> String {
    let parts = |whole: u64, unit: &str, rest: u64, small: &str| match rest {
        0 => format!("{whole} {unit}"),
        _ => format!("{whole} {unit} {rest} {small}"),
    };
    let seconds = rounded(duration.as_millis(), 1000);
    let minutes = rounded(duration.as_millis(), 60_000);
    let hours = rounded(duration.as_millis(), 3_600_000);
    match (seconds, minutes) {
        (0..60, _) => format!("{seconds} s"),
        (60..600, _) => parts(seconds / 60, "min", seconds % 60, "s"),
        (_, 0..60) => format!("{minutes} min"),
        (_, 60..2880) => parts(minutes / 60, "h", minutes % 60, "min"),
        _ => parts(hours / 24, "d", hours % 24, "h"),
    }
}

/// A span in the unit that says enough: `12 s`, `5 min`, `3 h`, `90 d`.
pub fn age(age: Duration) -> String {
    let of = |unit: u128| rounded(age.as_millis(), unit * 1000);
    match (of(1), of(60), of(3600)) {
        (seconds @ 0..60, ..) => format!("{seconds} s"),
        (_, minutes @ 0..60, _) => format!("{minutes} min"),
        (.., hours @ 0..48) => format!("{hours} h"),
        _ => format!("{} d", of(86_400)),
    }
}

/// How long ago: `just now`, `5 min ago`.
pub fn ago(age: Duration) -> String {
    match age.as_secs() {
        0 => "just now".to_owned(),
        _ => format!("{} ago", self::age(age)),
    }
}

fn rounded(millis: u128, unit: u128) -> u64 {
    u64::try_from((millis + unit / 2) / unit).unwrap_or(u64::MAX)
}

/// A point in time on this machine's clock, to the second.
pub fn time(time: Timestamp) -> String {
    time.local()
}

/// A cost; unknown is not zero, and an estimate is shown as one: `~$0.42`.
pub fn cost(usd: Option<f64>, is_estimate: bool) -> String {
    let about = if is_estimate { "~" } else { "" };
    match usd {
        None => "-".into(),
        Some(usd) if usd > 0.0 && usd < 0.0005 => format!("{about}<$0.01"),
        Some(usd) if usd > 0.0 && usd < 0.095 => format!("{about}${usd:.3}"),
        Some(usd) => format!("{about}${usd:.2}"),
    }
}

pub fn attempt_cost(attempt: &Attempt) -> Option<String> {
    let estimated = attempt.cost_estimated;
    attempt.cost_usd.map(|usd| cost(Some(usd), estimated))
}

/// What several attempts cost, where any was made: `$4.12`, `at least $4.12`, `cost unknown`.
pub fn total(total: &Cost) -> Option<String> {
    match total.cost_usd {
        None => Some("cost unknown".to_owned()),
        Some(usd) if total.cost_unknown == 0 && usd <= 0.0 => None,
        usd if total.cost_unknown > 0 => Some(format!("at least {}", cost(usd, total.cost_estimated))),
        usd => Some(cost(usd, total.cost_estimated)),
    }
}

/// The same for a table: `$4.12`, `≥$4.12`, `-`; empty where nothing was spent.
pub fn short_total(total: &Cost) -> String {
    match self::total(total) {
        None => String::new(),
        Some(_) => cost_at_least(total.cost_usd, total.cost_estimated, total.cost_unknown),
    }
}

/// `$4.12`, or `≥$4.12` where some attempts did not tell their cost.
pub fn cost_at_least(usd: Option<f64>, is_estimate: bool, unknown: u64) -> String {
    let at_least = if usd.is_some() && unknown > 0 { "≥" } else { "" };
    format!("{at_least}{}", cost(usd, is_estimate))
}

/// `31 attempts (2 not counted), 6 h 12 min, $4.12`: what a run took.
pub fn spent(counted: u64, uncounted: u64, duration_ms: u64, cost: &Cost) -> String {
    let mut facts = vec![attempts(counted, uncounted), duration(Duration::from_millis(duration_ms))];
    facts.extend(total(cost));
    facts.join(", ")
}

/// `claude opus`; an agent without models of its own has its name as the model. None where neither is known.
pub fn agent_and_model(agent: Option<&str>, model: Option<&str>) -> Option<String> {
    match (agent, model) {
        (Some(agent), Some(model)) if agent != model => Some(format!("{agent} {model}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// A number of bytes: `512 B`, `3.2 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match UNITS.iter().find(|(unit, _)| n >= *unit) {
        // In tenths, rounded down: room that is not there is not promised.
        Some((unit, name)) => format!("{}.{} {name}", n / unit, n % unit * 10 / unit),
        None => format!("{n} B"),
    }
}

/// `queued`, or `shown in attempt 2`.
pub fn note_state(note: &Note) -> String {
    match (note.state, note.attempt) {
        (NoteState::Shown, Some(attempt)) => format!("shown in attempt {attempt}"),
        _ => note.state.to_string(),
    }
}

/// A number with its thousands apart: `1,430`.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 attempt`, `2 attempts`.
pub fn counted(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {thing}{plural}")
}

/// `3 attempts (2 not counted)`: all attempts, and how many of them count against no task.
pub fn attempts(counted: u64, uncounted: u64) -> String {
    let attempts = self::counted(counted + uncounted, "attempt");
    match (counted, uncounted) {
        (_, 0) => attempts,
        (0, _) => format!("{attempts} (not counted)"),
        (_, uncounted) => format!("{attempts} ({uncounted} not counted)"),
    }
}

/// An attempt by its number in `ralph history`: `attempt 2`, `attempt (3), not counted`.
pub fn attempt_name(counted: bool, attempt: u32, attempt_number: u32) -> String {
    match (counted, attempt_number) {
        (true, _) => format!("attempt {attempt}"),
        // An event of an older version.
        (false, 0) => format!("attempt {attempt}, not counted"),
        (false, number) => format!("attempt ({number}), not counted"),
    }
}

/// How a run ended: `Finished: every task is done`, `Stopped: interrupted (Ctrl-C)`, `Stopped by …`.
pub fn run_end(is_finished: bool, reason: &str) -> String {
    match (is_finished, reason.strip_prefix("stopped ")) {
        (true, _) => format!("Finished: {reason}"),
        (false, Some(how)) => format!("Stopped {how}"),
        (false, None) => format!("Stopped: {reason}"),
    }
}

pub fn outcome(attempt: &Attempt) -> String {
    match attempt.outcome {
        Outcome::Done => done_word(attempt.verified, EvidenceKind::from(&attempt.verification)).to_owned(),
        outcome => failure(outcome, error_of(attempt).as_ref(), None),
    }
}

/// What the word done rests on, a line for each piece of evidence.
pub fn evidence(verification: &Verification, commit: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = verification.gates.iter().map(gate_evidence).collect();
    lines.extend(commit.map(|commit| format!("commit {}", commit.get(..10).unwrap_or(commit))));
    if let Some(review) = &verification.review {
        let agent = one_line(&review.agent, 60);
        let findings = review.findings.iter().map(|finding| one_line(finding, 300));
        match review.verdict {
            ReviewVerdict::NotGiven => {
                lines.push(format!("not reviewed: {agent} {}", findings.collect::<Vec<_>>().join("; ")));
            }
            verdict => {
                lines.push(format!("{verdict} by {agent}"));
                lines.extend(findings.map(|finding| format!("finding: {finding}")));
            }
        }
    }
    lines.extend(
        verification.no_change_needed.as_ref().map(|why| format!("nothing had to be changed: {why}")),
    );
    lines.extend(remarks(verification));
    if verification.already_green {
        lines.push("already green: the gate passed before any work, too".to_owned());
    }
    if lines.is_empty() && verification.level == Level::None {
        lines.push("nothing that Ralph checked".to_owned());
    }
    lines
}

/// What Ralph noticed of the work: protected files that it put back, tests that may check less.
pub fn remarks(verification: &Verification) -> Vec<String> {
    let mut lines = Vec::new();
    if !verification.protected.is_empty() {
        lines.push(format!("protected files restored: {}", few(&verification.protected, 5)));
    }
    if !verification.weakened.is_empty() {
        lines.push(format!("tests may check less: {}", one_line(&verification.weakened.join("; "), 600)));
    }
    lines
}

/// `gate `pytest`: exit 0, 1.2 s, 12 tests, 12 passed; before: failed, 10 tests, 9 passed`.
fn gate_evidence(gate: &GateRun) -> String {
    let whose = match gate.of {
        GateOf::Task => "gate",
        GateOf::Default => "default gate",
        GateOf::Always => "project's gate",
    };
    let exit = gate.exit_code.map_or_else(|| gate.outcome.to_string(), |code| format!("exit {code}"));
    let time = duration(Duration::from_millis(gate.duration_ms));
    let flaky = if gate.flaky { ", flaky: it failed first" } else { "" };
    let excused = if gate.excused { ", fails as before" } else { "" };
    let before = match gate.baseline.result {
        Baseline::Green => "; before: passed",
        Baseline::Red => "; before: failed",
        Baseline::Unknown => "; before: unknown",
    };
    let tests_before = gate.baseline.tests.filter(|_| gate.baseline.result != Baseline::Unknown);
    format!(
        "{whose} `{}`: {exit}, {time}{}{flaky}{excused}{before}{}",
        code_line(&gate.command, COMMAND_CHARS),
        tests(gate.tests),
        tests(tests_before)
    )
}

fn tests(counts: Option<TestCounts>) -> String {
    let told =
        |counts: TestCounts| format!(", {}, {} passed", counted(counts.collected, "test"), counts.passed);
    counts.map(told).unwrap_or_default()
}

/// How an attempt ended, with its message.
pub fn outcome_line(attempt: &Attempt) -> String {
    match (attempt.outcome, &attempt.message) {
        (Outcome::Done, Some(message)) => format!("{}: {message}", outcome(attempt)),
        (Outcome::Done, None) => outcome(attempt),
        (outcome, message) => failure(outcome, error_of(attempt).as_ref(), message.as_deref()),
    }
}

/// What went wrong. Where no gate ran, the agent itself reported that a test failed.
fn error_of(attempt: &Attempt) -> Option<ErrorType> {
    match &attempt.error_type {
        Some(error @ ErrorType::TestFailure) if attempt.gate.is_none() => {
            Some(ErrorType::Reported(error.as_str().to_owned()))
        }
        error => error.clone(),
    }
}

/// What went wrong in an attempt: the kind of failure, then the message where it says more than the kind.
pub fn failure(outcome: Outcome, error: Option<&ErrorType>, message: Option<&str>) -> String {
    let reported;
    // The message of some kinds names the kind itself: "timed out after 30 min".
    let (kind, is_in_message) = match error {
        None if outcome == Outcome::NoSigil => ("ended without reporting a result", true),
        None => ("failed", false),
        Some(ErrorType::TestFailure) => ("gate failed", false),
        Some(ErrorType::CommitRefused) => ("commit refused", true),
        Some(ErrorType::PushRefused) => ("push refused", true),
        Some(ErrorType::ReviewRejected) => ("rejected by the review", true),
        Some(ErrorType::Conflict | ErrorType::IntegrationFailure) => ("could not land", false),
        Some(ErrorType::Tampered) => ("tampered", false),
        Some(ErrorType::Git) => ("git failed", true),
        Some(ErrorType::GateBroken) => ("broken gate", false),
        Some(ErrorType::Timeout | ErrorType::IdleTimeout) => ("timed out", true),
        Some(ErrorType::Crash) => ("crashed", false),
        Some(ErrorType::RateLimit) => ("rate limit", false),
        Some(ErrorType::Overloaded) => ("API error", false),
        Some(ErrorType::Network) => ("network error", false),
        Some(ErrorType::Auth) => ("authentication failed", false),
        Some(ErrorType::Spawn) => ("could not start the agent", true),
        Some(ErrorType::Permission) => ("permission denied", false),
        Some(ErrorType::Config) => ("configuration error", false),
        Some(ErrorType::SandboxDenied) => ("sandbox", false),
        Some(ErrorType::Interrupted) => ("interrupted", true),
        Some(ErrorType::Lost) => ("interrupted by a crash", true),
        // The agent did not say.
        Some(ErrorType::Reported(name)) if name == "unknown" => ("failed", false),
        Some(ErrorType::Reported(name)) => {
            reported = format!("failed ({})", name.replace('_', " "));
            (reported.as_str(), false)
        }
    };
    match message {
        Some(message) if is_in_message || outcome == Outcome::NoSigil => message.to_owned(),
        Some(message) => {
            // Agents begin such messages with the kind as well, and a gate's names the gate.
            let message = message.strip_prefix("API Error: ").unwrap_or(message);
            let is_gate =
                matches!(error, Some(ErrorType::TestFailure | ErrorType::Tampered | ErrorType::GateBroken));
            let message = if is_gate { message.replacen("the gate `", "`", 1) } else { message.to_owned() };
            format!("{kind}: {message}")
        }
        None => kind.to_owned(),
    }
}

pub fn history(attempts: &[Attempt], now: Timestamp) -> String {
    // In a narrow terminal the outcome needs the room.
    let choice_room = if super::width() < WIDE { 12 } else { 60 };
    let mut table =
        Table::new(["", "TASK", "ATTEMPT", "MODEL", "TIME", "COST", "STARTED", "MODEL CHOICE", "OUTCOME"]);
    for attempt in attempts {
        table.row([
            style::outcome_mark(attempt.outcome, attempt.counted, attempt.verified),
            attempt.name.clone(),
            if attempt.counted {
                attempt.attempt.to_string()
            } else {
                // It has no number that counts; by this one `ralph logs --attempt-number` finds it.
                format!("({})", attempt.attempt_number)
            },
            match (&attempt.agent, attempt.model.as_str()) {
                (None, NO_MODEL) => "-".to_owned(),
                (_, model) => model.to_owned(),
            },
            duration(Duration::from_millis(attempt.duration_ms)),
            attempt_cost(attempt).unwrap_or_default(),
            attempt.started_at.local_near(now),
            cut(
                &one_line(short_rationale(attempt.rationale.as_deref().unwrap_or_default()), 60),
                choice_room,
            ),
            outcome_line(attempt),
        ]);
    }
    table.render()
}

/// Sessions beside attempts, of each kind in a table of its own; nothing where there were none. `names` are those of tasks.
pub fn side_sessions(sessions: &[SideSession], names: &HashMap<TaskId, String>, now: Timestamp) -> String {
    let kinds = [
        (SessionKind::Plan, ["PLANNING", "ROUND"], "a plan that passed the check"),
        (SessionKind::Review, ["REVIEW OF", "ATTEMPT"], "accepted"),
    ];
    let mut text = String::new();
    for (kind, [what, number], done) in kinds {
        let mut table = Table::new([what, number, "MODEL", "TIME", "COST", "STARTED", "OUTCOME"]);
        let of_kind: Vec<&SideSession> = sessions.iter().filter(|session| session.kind == kind).collect();
        for session in &of_kind {
            let tilde = if session.cost_estimated { "~" } else { "" };
            table.row([
                match session.task_id.as_ref().and_then(|task| names.get(task)) {
                    Some(name) => name.clone(),
                    None => one_line(&session.goal, 40),
                },
                session.attempt.to_string(),
                session.model.clone(),
                duration(Duration::from_millis(session.duration_ms)),
                session.cost_usd.map(|usd| format!("{tilde}${usd:.2}")).unwrap_or_default(),
                session.started_at.local_near(now),
                match (session.outcome, &session.message) {
                    (None, _) => "not finished".to_owned(),
                    (Some(Outcome::Done), _) => done.to_owned(),
                    (Some(Outcome::Failed), message) if kind == SessionKind::Review => {
                        let finding = message.as_ref().map(|finding| format!(": {}", one_line(finding, 80)));
                        format!("rejected{}", finding.unwrap_or_default())
                    }
                    (Some(_), Some(message)) => one_line(message, 80),
                    (Some(outcome), None) => outcome.to_string(),
                },
            ]);
        }
        if !of_kind.is_empty() {
            text += &(table.render() + "\n");
        }
    }
    text
}

/// Notes to attempts, below the attempts; nothing where there are none.
pub fn notes(notes: &[Note], names: &HashMap<TaskId, String>, now: Timestamp) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["NOTE TO", "WRITTEN", "STATE", "TEXT"]);
    for note in notes {
        table.row([
            names.get(&note.task_id).cloned().unwrap_or_default(),
            note.created_at.local_near(now),
            note_state(note),
            one_line(&note.text, 80),
        ]);
    }
    format!("\n{}", table.render())
}

/// The end of a wait: ` until 16:44`, or ` for 12 s` where it is close.
pub fn until(time: Timestamp, now: Timestamp) -> String {
    let wait = time.since(now);
    match wait.as_secs() {
        0..60 => format!(" for {}", elapsed(wait.max(Duration::from_secs(1)))),
        _ => format!(" until {}", time.local_near(now)),
    }
}

/// A model and why it was chosen: `haiku (60% chance, ~$0.05; if it fails: sonnet, opus)`.
pub fn model_choice(model: &str, rationale: &str) -> String {
    let plan = rationale.strip_prefix("adaptive: ").and_then(|plan| plan.split_once(" (")?.1.split_once(')'));
    match plan {
        None => format!("{model} ({rationale})"),
        Some((odds, "")) => format!("{model} ({odds})"),
        Some((odds, rest)) => {
            let rest = rest.trim_start_matches(", then ").replace(", then ", ", ");
            format!("{model} ({odds}; if it fails: {rest})")
        }
    }
}

/// Why a model was chosen, beside its name: of `adaptive: haiku (60% chance, ~$0.05), then sonnet` only what stands in
/// parentheses; the plan for later attempts is in the JSON.
pub fn short_rationale(rationale: &str) -> &str {
    let plan = rationale.strip_prefix("adaptive: ").unwrap_or(rationale);
    let odds = (plan != rationale).then(|| plan.split_once(" (")?.1.split_once(')')).flatten();
    odds.map_or(plan, |(odds, _)| odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_adaptive_names_the_odds_and_what_comes_next() {
        for (rationale, expected) in [
            ("cheapest model", "small (cheapest model)"),
            ("adaptive: small (60% chance, ~$0.03)", "small (60% chance, ~$0.03)"),
            (
                "adaptive: small (60% chance), then small, then large",
                "small (60% chance; if it fails: small, large)",
            ),
        ] {
            assert_eq!(model_choice("small", rationale), expected);
        }
    }

    #[test]
    fn a_failure_says_its_kind_once() {
        let api = failure(Outcome::Error, Some(&ErrorType::Overloaded), Some("API Error: 529 busy"));
        assert_eq!(api, "API error: 529 busy");
        let gate = Some("the gate `make` exited with code 1");
        let gate = failure(Outcome::Failed, Some(&ErrorType::TestFailure), gate);
        assert_eq!(gate, "gate failed: `make` exited with code 1");
        let broken = Some("the gate `make` cannot run: `make` is not installed");
        let broken = failure(Outcome::Error, Some(&ErrorType::GateBroken), broken);
        assert_eq!(broken, "broken gate: `make` cannot run: `make` is not installed");
    }

    #[test]
    fn durations_and_costs_are_short() {
        for (millis, text) in [
            (400, "0.4 s"),
            (9_960, "10 s"),
            (12_300, "12 s"),
            (59_600, "1 min"),
            (185_000, "3 min 5 s"),
            (180_000, "3 min"),
            (725_000, "12 min"),
            (779_000, "13 min"),
            (3_599_000, "1 h"),
            (3_723_000, "1 h 2 min"),
            (24_000_000, "6 h 40 min"),
            (180_000_000, "2 d 2 h"),
            (0, "0.0 s"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (3569, "59 min"),
            (3599, "1 h"),
            (7190, "2 h"),
            (7200, "2 h"),
            (169_000, "47 h"),
            (172_799, "2 d"),
            (172_800, "2 d"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
        assert_eq!(elapsed(Duration::from_millis(3400)), "3 s");
        assert_eq!(ago(Duration::from_millis(400)), "just now");
        assert_eq!(ago(Duration::from_secs(61)), "1 min ago");
        for (n, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1999, "1.9 kB"),
            (50_000_000, "50.0 MB"),
            (12_345_000_000, "12.3 GB"),
        ] {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(cost(None, true), "-");
        assert_eq!(cost(Some(0.0), false), "$0.00");
        assert_eq!(cost(Some(0.0021), false), "$0.002");
        assert_eq!(cost(Some(0.0004), true), "~<$0.01");
        assert_eq!(cost(Some(1.5), false), "$1.50");
        assert_eq!(cost(Some(0.42), true), "~$0.42");
        let about = Cost::new(4.12, 1).estimated(true);
        assert_eq!(total(&about).as_deref(), Some("at least ~$4.12"));
        assert_eq!(short_total(&about), "≥~$4.12");
    }
}
