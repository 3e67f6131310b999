//! `Suggestion:` what follows from the pattern. The rules are tried in their order.

use std::fmt;

use super::common::{commonest, distinct, files, is_most, is_nearly_all, models_tried, tally, untried_next};
use super::failures::{Failure, Failures, task_names};
use crate::diagnose::Cause;
use crate::text::one_line;

const NOTHING: &str = "Check recent changes or environment";

/// How long the line's text and the parts it is made of may get.
const MAX_CHARS: usize = 240;
const PART_CHARS: usize = 80;

/// How many failing tests of an attempt are looked at.
const MAX_TESTS: usize = 200;

/// Causes outside the code come first: no attempt can fix them.
const RULES: [fn(&Failures<'_>) -> Option<String>; 13] = [
    timeouts,
    |failures| OUTSIDE.iter().find_map(|advice| advice.given(failures)),
    |failures| trouble(failures, true),
    |failures| DEPENDENCY.given(failures),
    does_not_build,
    same_test,
    same_gate,
    no_signal,
    crashes,
    |failures| trouble(failures, false),
    one_task,
    same_error,
    next_model,
];

/// A cause, the error types that mean it, and what to do: where its name is known, and where not.
struct Advice(Cause, &'static [&'static str], &'static str, &'static str);

const DISK_FULL: &str = "free disk space: the disk is full";
const LOG_IN: &str = "log in or renew the credentials: authentication failed";

const OUTSIDE: [Advice; 5] = [
    Advice(
        Cause::MissingProgram,
        &["spawn"],
        "install `{}` or fix PATH: command not found",
        "install the missing program, or fix PATH",
    ),
    Advice(Cause::DiskFull, &[], DISK_FULL, DISK_FULL),
    Advice(
        Cause::Unreachable,
        &["network"],
        "start the service or check the network: {} does not answer",
        "start the service or check the network: the connection failed",
    ),
    Advice(Cause::Authentication, &["auth"], LOG_IN, LOG_IN),
    Advice(
        Cause::Permission,
        &["permission"],
        "fix the permissions: access to `{}` is denied",
        "fix the permissions: access is denied",
    ),
];

const DEPENDENCY: Advice = Advice(
    Cause::MissingDependency,
    &[],
    "install dependencies first: `{}` is missing",
    "install the missing dependencies first",
);

/// Failures that count against no task. Set-up: nothing works before somebody has seen to it. The service: it may pass.
const TROUBLES: [(&str, bool, &str); 8] = [
    ("auth", true, "log in again or renew the key: the agent's authentication failed"),
    ("spawn", true, "install the agent or fix PATH: Ralph cannot start it"),
    ("permission", true, "allow the tools the agent asks for: permission was denied"),
    ("config", true, "check agent and model in .ralph.toml: the API does not know them"),
    ("git", true, "run `git status` and fix what it reports: git cannot commit"),
    ("rate_limit", false, "wait for the usage limit to reset, or use another agent"),
    ("overloaded", false, "try again later: the agent's API is overloaded"),
    ("network", false, "check the network: the agent's API is unreachable"),
];

/// Recent troubles with service and set-up, commonest first, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    kinds: Vec<(&'static str, u64)>,
    is_set_up: bool,
    advice: &'static str,
}

impl Trouble {
    /// The troubles, where there are more of them than counted failures.
    pub(super) fn dominating(uncounted: &[(String, u32)], failures: usize) -> Option<Self> {
        let times = |kind: &str| -> u64 {
            let own = uncounted.iter().filter(|(own, _)| own == kind);
            own.map(|(_, times)| u64::from(*times)).sum()
        };
        let mut kinds: Vec<_> = TROUBLES.iter().map(|(kind, ..)| (*kind, times(kind))).collect();
        kinds.retain(|(_, times)| *times > 0);
        kinds.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let total: u64 = kinds.iter().map(|(_, times)| times).sum();
        let commonest = kinds.first()?.0;
        let (_, is_set_up, advice) = *TROUBLES.iter().find(|(kind, ..)| *kind == commonest)?;
        let dominates = usize::try_from(total).is_ok_and(|total| total > failures);
        dominates.then_some(Self { kinds, is_set_up, advice })
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The others would crowd out what is counted.
        for (kind, times) in self.kinds.iter().take(2) {
            write!(f, "{times} × {kind}, ")?;
        }
        f.write_str("not counted")
    }
}

pub(super) fn suggestion(failures: &Failures<'_>) -> String {
    let advice = RULES.iter().find_map(|rule| rule(failures));
    one_line(advice.as_deref().unwrap_or(NOTHING), MAX_CHARS)
}

fn timeouts(failures: &Failures<'_>) -> Option<String> {
    let late = most(failures, |one| one.fact.is_error_type(&["timeout", "idle_timeout"]))?;
    let count = format!("{} of {} timed out", late.len(), failures.count());
    let tasks = listed(&task_names(&late));
    if late.iter().all(|one| one.fact.is_error_type(&["idle_timeout"])) {
        let log = log_of(late.first()?);
        return Some(format!("{count} without output: raise `idle_timeout`, or see {log}"));
    }
    let now = match failures.around.attempt_timeout_minutes {
        0 => "now under a minute".to_owned(),
        minutes => format!("now {minutes} min"),
    };
    Some(format!("{count}: raise `attempt_timeout` ({now}) or split {tasks}"))
}

impl Advice {
    /// What to do, where most failures have the cause.
    fn given(&self, failures: &Failures<'_>) -> Option<String> {
        let Self(cause, error_types, named, unnamed) = self;
        let found = failures.all.iter().filter_map(|one| one.cause(*cause, error_types));
        let found: Vec<Option<String>> = found.collect();
        if !is_most(found.len(), failures.count()) {
            return None;
        }
        Some(match commonest(found.into_iter().flatten()) {
            Some((name, _)) => named.replace("{}", &part(&name)),
            None => (*unnamed).to_owned(),
        })
    }
}

/// What to do about set-up, or about the service.
fn trouble(failures: &Failures<'_>, is_set_up: bool) -> Option<String> {
    let trouble = failures.trouble.as_ref().filter(|trouble| trouble.is_set_up == is_set_up)?;
    Some(trouble.advice.to_owned())
}

/// The same compiler error nearly everywhere: no task is to blame.
fn does_not_build(failures: &Failures<'_>) -> Option<String> {
    let all = failures.count();
    let in_most = |found: Option<(String, usize)>| {
        let found = found.filter(|(_, count)| is_nearly_all(*count, all));
        found.map(|(value, _)| value)
    };
    let failed: Vec<&Failure<'_>> = failures.all.iter().filter(|one| one.is_build_error()).collect();
    let errors = || failed.iter().map(|one| &one.diagnosis.compiler_errors);
    let codes = errors().filter_map(|errors| errors.iter().find_map(|error| error.plain_code()));
    let code = in_most(commonest(codes.map(str::to_owned)));
    let in_common = code.is_some() || is_nearly_all(failures.alike().len(), all);
    if all < 2 || !is_nearly_all(failed.len(), all) || !in_common {
        return None;
    }
    let paths = errors().filter_map(|errors| errors.iter().find_map(|error| error.path()));
    let file = in_most(commonest(paths.map(str::to_owned)))
        .or_else(|| in_most(commonest(failed.iter().flat_map(|one| files(one)))))
        .map(|file| format!("in {file}"));
    let what = match (code, file) {
        (Some(code), Some(file)) => format!(" ({code} {file})"),
        (one, other) => one.or(other).map_or(String::new(), |one| format!(" ({one})")),
    };
    let gates = failed.iter().filter_map(|one| one.fact.gate.as_deref());
    Some(match commonest(gates).and_then(|(gate, _)| command(gate)) {
        Some(gate) => format!("run {gate} yourself first: the build fails{what}"),
        None => format!("fix the build first: it fails{what}"),
    })
}

/// A better model did not help: what is asked for may be impossible.
fn same_test(failures: &Failures<'_>) -> Option<String> {
    let tests_of = |one: &Failure<'_>| one.fact.failing.iter().take(MAX_TESTS).cloned().collect::<Vec<_>>();
    let counts = tally(failures.all.iter().flat_map(|one| distinct(tests_of(one))));
    let by_most =
        |(test, count): &(String, usize)| is_most(*count, failures.count()) && !test.trim().is_empty();
    let (test, by) = counts.into_iter().filter(by_most).find_map(|(test, _)| {
        let failing = failures.all.iter().filter(|one| tests_of(one).contains(&test));
        let by = models_tried(failing.map(|one| one.fact), &failures.around.ladder);
        (by.len() > 1).then_some((test, by))
    })?;
    Some(format!("{} fails with {}: the task or the test may be wrong", code(&test), listed(&by)))
}

/// Different tasks fail alike in one command: it may fail whatever they do.
fn same_gate(failures: &Failures<'_>) -> Option<String> {
    let alike = failures.alike();
    let tasks = task_names(&alike);
    if !is_most(alike.len(), failures.count()) || tasks.len() < 2 {
        return None;
    }
    let gates = distinct(alike.iter().map(|one| one.fact.gate.as_deref()));
    let [Some(gate)] = gates.as_slice() else { return None };
    Some(format!(
        "run {} yourself: it may fail even without changes ({} fail the same way)",
        command(gate)?,
        listed(&tasks)
    ))
}

fn no_signal(failures: &Failures<'_>) -> Option<String> {
    let silent = most(failures, |one| one.fact.outcome == "no_sigil")?;
    let log = log_of(silent.first()?);
    Some(format!("the agent may not know how to report a result, or cannot finish: see {log}"))
}

fn crashes(failures: &Failures<'_>) -> Option<String> {
    let crashed = most(failures, |one| one.fact.is_error_type(&["crash"]))?;
    let log = log_of(crashed.first()?);
    Some(format!("{} of {} crashed: see {log}", crashed.len(), failures.count()))
}

fn one_task(failures: &Failures<'_>) -> Option<String> {
    let all: Vec<&Failure<'_>> = failures.all.iter().collect();
    let names = task_names(&all);
    let [name] = names.as_slice() else { return None };
    let advice = ", or set `[recovery] enabled = true` to add fix tasks";
    let fixes = if failures.around.recovery { "" } else { advice };
    let task = all.first()?.argument();
    Some(format!("only {name} fails: see `ralph history {task}`{fixes}"))
}

/// Different tasks fail with one error: a larger model would fail with it too.
fn same_error(failures: &Failures<'_>) -> Option<String> {
    let alike = failures.alike();
    let tasks = task_names(&alike);
    let log = log_of(alike.first()?);
    let systemic = is_most(alike.len(), failures.count()) && tasks.len() > 1;
    systemic.then(|| format!("{} fail with the same error: fix it first, see {log}", listed(&tasks)))
}

fn next_model(failures: &Failures<'_>) -> Option<String> {
    let (only, next) = untried_next(failures.facts, &failures.around.ladder)?;
    Some(format!("only {only} was tried: try {next}, the next model"))
}

/// The failures of which something holds, where they are most.
fn most<'p, 'f>(
    failures: &'p Failures<'f>,
    holds: impl Fn(&Failure<'f>) -> bool,
) -> Option<Vec<&'p Failure<'f>>> {
    let those: Vec<&Failure<'f>> = failures.all.iter().filter(|one| holds(one)).collect();
    is_most(those.len(), failures.count()).then_some(those)
}

fn log_of(one: &Failure<'_>) -> String {
    format!("`ralph logs {}`", one.argument())
}

/// A command as code: its first line, because lines run together are another command.
fn command(gate: &str) -> Option<String> {
    let mut lines = gate.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let more = if lines.next().is_some() { " …" } else { "" };
    Some(code(&format!("{first}{more}")))
}

fn code(text: &str) -> String {
    format!("`{}`", part(text))
}

/// A name or command in which no backtick ends the code.
fn part(text: &str) -> String {
    one_line(text, PART_CHARS).replace('`', "'")
}

/// `a`, `a and b`, `a, b and c`; of more than three the first two and how many there are besides.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, more @ ..] => format!("{first}, {second} and {} more", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uncounted: &[(&str, u32)], failures: usize) -> Option<Trouble> {
        let uncounted: Vec<(String, u32)> =
            uncounted.iter().map(|(kind, times)| ((*kind).to_owned(), *times)).collect();
        Trouble::dominating(&uncounted, failures)
    }

    #[test]
    fn ana_02_troubles_are_told_only_where_there_are_more_of_them_than_failures() {
        assert_eq!(of(&[("network", 5)], 5), None);
        let trouble = of(&[("network", 2), ("auth", 3), ("network", 2)], 6).unwrap();
        assert_eq!(trouble.to_string(), "4 × network, 3 × auth, not counted");
        assert_eq!(of(&[("interrupted", 9), ("lost", 9), ("auth", 0)], 0), None);
        assert!(of(&[("auth", u32::MAX), ("auth", u32::MAX)], 0).is_some());
    }

    #[test]
    fn names_are_listed_as_a_sentence_would() {
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).into();
        let lists: Vec<String> = (0..=4).map(|count| listed(&names[..count])).collect();
        assert_eq!(lists, ["", "a", "a and b", "a, b and c", "a, b and 2 more"]);
        assert_eq!(code("a `b`\nc"), "`a 'b' c`");
    }
}
