//! `Suggestion:` what follows from the pattern. The rules are tried in their order.

use super::cause::{Cause, Found};
use super::compile::compile_error;
use super::files::commonest_file;
use super::models;
use super::picture::{Picture, task_names};
use super::seen::Seen;
use super::words::{code, commonest, distinct, is_most, is_nearly_all, listed, tally};
use crate::text::one_line;

/// Where nothing follows from the pattern.
const NOTHING: &str = "Check recent changes or environment";

/// How long the line's text and the parts it is made of may get.
const MAX_CHARS: usize = 240;
const PART_CHARS: usize = 80;

/// How many failing tests of an attempt are looked at.
const MAX_TESTS: usize = 200;

type Rule = fn(&Picture<'_>) -> Option<String>;

/// Causes outside the code come first: no attempt can mend them.
const RULES: [Rule; 17] = [
    timeouts,
    missing_program,
    disk_full,
    unreachable_service,
    authentication,
    permission,
    set_up,
    missing_dependency,
    does_not_build,
    same_test,
    same_gate,
    no_signal,
    crashes,
    service,
    one_task,
    same_error,
    next_model,
];

/// The line's text.
pub(super) fn suggestion(picture: &Picture<'_>) -> String {
    let advice = RULES.iter().find_map(|rule| rule(picture));
    let advice = advice.unwrap_or_else(|| NOTHING.to_owned());
    one_line(&advice, MAX_CHARS)
}

fn timeouts(picture: &Picture<'_>) -> Option<String> {
    let late = most(picture, Seen::timed_out)?;
    let count = format!("{} of {} timed out", late.len(), picture.failures());
    let tasks = listed(&task_names(&late));
    if late.iter().all(|one| one.is_error_type(&["idle_timeout"])) {
        let log = log_of(late.first()?);
        return Some(format!(
            "{count} without output: raise `idle_timeout`, or see {log}"
        ));
    }
    let now = match picture.around.attempt_timeout_minutes {
        0 => "now under a minute".to_owned(),
        minutes => format!("now {minutes} min"),
    };
    Some(format!(
        "{count}: raise `attempt_timeout` ({now}) or split {tasks}"
    ))
}

fn missing_program(picture: &Picture<'_>) -> Option<String> {
    Some(match mostly(picture, Cause::MissingProgram)?.name {
        Some(program) => format!(
            "install {} or fix PATH: command not found",
            code_part(&program)
        ),
        None => "install the missing program, or fix PATH".to_owned(),
    })
}

fn disk_full(picture: &Picture<'_>) -> Option<String> {
    mostly(picture, Cause::DiskFull)?;
    Some("free disk space: the disk is full".to_owned())
}

fn unreachable_service(picture: &Picture<'_>) -> Option<String> {
    Some(match mostly(picture, Cause::Unreachable)?.name {
        Some(place) => format!("start the service or check the network: {place} does not answer"),
        None => "start the service or check the network: the connection failed".to_owned(),
    })
}

fn authentication(picture: &Picture<'_>) -> Option<String> {
    mostly(picture, Cause::Authentication)?;
    Some("log in or renew the credentials: authentication failed".to_owned())
}

fn permission(picture: &Picture<'_>) -> Option<String> {
    Some(match mostly(picture, Cause::Permission)?.name {
        Some(place) => format!(
            "fix the permissions: access to {} is denied",
            code_part(&place)
        ),
        None => "fix the permissions: access is denied".to_owned(),
    })
}

fn set_up(picture: &Picture<'_>) -> Option<String> {
    let advice = picture.trouble.as_ref()?.set_up_advice()?;
    Some(advice.to_owned())
}

fn missing_dependency(picture: &Picture<'_>) -> Option<String> {
    Some(match mostly(picture, Cause::MissingDependency)?.name {
        Some(package) => format!(
            "install dependencies first: {} is missing",
            code_part(&package)
        ),
        None => "install the missing dependencies first".to_owned(),
    })
}

/// The same compiler error nearly everywhere: no task is to blame.
fn does_not_build(picture: &Picture<'_>) -> Option<String> {
    let all = picture.failures();
    let errors: Vec<_> = picture
        .seen
        .iter()
        .filter_map(|one| compile_error(one).map(|error| (one, error)))
        .collect();
    let common_code = commonest(errors.iter().filter_map(|(_, error)| error.code.clone()))
        .filter(|(_, count)| is_nearly_all(*count, all));
    let alike = picture.alike();
    let in_common = common_code.is_some() || is_nearly_all(alike.len(), all);
    if all < 2 || !is_nearly_all(errors.len(), all) || !in_common {
        return None;
    }
    let failed: Vec<&Seen<'_>> = errors.iter().map(|(one, _)| *one).collect();
    let in_most =
        |found: Option<(String, usize)>| found.filter(|(_, count)| is_nearly_all(*count, all));
    let told = commonest(errors.iter().filter_map(|(_, error)| error.file.clone()));
    let file = in_most(told)
        .or_else(|| in_most(commonest_file(&failed)))
        .map(|(file, _)| format!("in {file}"));
    let code = common_code.map(|(code, _)| code);
    let what: Vec<String> = code.into_iter().chain(file).collect();
    let what = match what.join(" ") {
        what if what.is_empty() => what,
        what => format!(" ({what})"),
    };
    Some(match common_gate(&failed) {
        Some(gate) => format!("run {gate} yourself first: the build fails{what}"),
        None => format!("fix the build first: it fails{what}"),
    })
}

/// A better model did not help: what is asked for may be impossible.
fn same_test(picture: &Picture<'_>) -> Option<String> {
    let tests = picture
        .seen
        .iter()
        .flat_map(|one| distinct(one.fact.failing.iter().take(MAX_TESTS).map(String::as_str)));
    let all = picture.failures();
    let (test, by) = tally(tests)
        .into_iter()
        .filter(|(test, count)| is_most(*count, all) && !test.trim().is_empty())
        .find_map(|(test, _)| {
            let by = models_failing(picture, test);
            (by.len() > 1).then_some((test, by))
        })?;
    Some(format!(
        "{} fails with {}: the task or the test may be wrong",
        code_part(test),
        listed(&by)
    ))
}

fn models_failing(picture: &Picture<'_>, test: &str) -> Vec<String> {
    let with = |one: &&Seen<'_>| {
        one.fact
            .failing
            .iter()
            .take(MAX_TESTS)
            .any(|own| own == test)
    };
    let facts: Vec<_> = picture
        .seen
        .iter()
        .filter(with)
        .map(|one| one.fact.clone())
        .collect();
    models::tried(&facts, &picture.around.ladder)
}

/// Different tasks fail alike in one command: it may fail whatever they do.
fn same_gate(picture: &Picture<'_>) -> Option<String> {
    let alike = picture.alike();
    let tasks = task_names(&alike);
    if !is_most(alike.len(), picture.failures()) || tasks.len() < 2 {
        return None;
    }
    let gates = distinct(alike.iter().map(|one| one.fact.gate.as_deref()));
    let [Some(gate)] = gates.as_slice() else {
        return None;
    };
    Some(format!(
        "run {} yourself: it may fail even without changes ({} fail the same way)",
        command(gate)?,
        listed(&tasks)
    ))
}

fn no_signal(picture: &Picture<'_>) -> Option<String> {
    let silent = most(picture, |one| one.fact.outcome == "no_sigil")?;
    let log = log_of(silent.first()?);
    Some(format!(
        "the agent may not know how to report a result, or cannot finish: see {log}"
    ))
}

fn crashes(picture: &Picture<'_>) -> Option<String> {
    let crashed = most(picture, |one| one.is_error_type(&["crash"]))?;
    let log = log_of(crashed.first()?);
    Some(format!(
        "{} of {} crashed: see {log}",
        crashed.len(),
        picture.failures()
    ))
}

fn service(picture: &Picture<'_>) -> Option<String> {
    let advice = picture.trouble.as_ref()?.service_advice()?;
    Some(advice.to_owned())
}

fn one_task(picture: &Picture<'_>) -> Option<String> {
    let all: Vec<&Seen<'_>> = picture.seen.iter().collect();
    let names = task_names(&all);
    let [name] = names.as_slice() else {
        return None;
    };
    let fixes = if picture.around.recovery {
        ""
    } else {
        ", or set `[recovery] enabled = true` to add fix tasks"
    };
    let task = all.first()?.argument();
    Some(format!(
        "only {name} fails: see `ralph history {task}`{fixes}"
    ))
}

/// Different tasks fail with one error: a larger model would fail with it too.
fn same_error(picture: &Picture<'_>) -> Option<String> {
    let alike = picture.alike();
    let tasks = task_names(&alike);
    let log = log_of(alike.first()?);
    let systemic = is_most(alike.len(), picture.failures()) && tasks.len() > 1;
    systemic.then(|| {
        format!(
            "{} fail with the same error: fix it first, see {log}",
            listed(&tasks)
        )
    })
}

fn next_model(picture: &Picture<'_>) -> Option<String> {
    let facts: Vec<_> = picture.seen.iter().map(|one| one.fact.clone()).collect();
    let (only, next) = models::untried_next(&facts, &picture.around.ladder)?;
    Some(format!("only {only} was tried: try {next}, the next model"))
}

/// The failures of which something holds, where they are most.
fn most<'p, 'f>(
    picture: &'p Picture<'f>,
    holds: impl Fn(&Seen<'f>) -> bool,
) -> Option<Vec<&'p Seen<'f>>> {
    let those: Vec<&Seen<'f>> = picture.seen.iter().filter(|one| holds(one)).collect();
    is_most(those.len(), picture.failures()).then_some(those)
}

/// What a cause is about, where most failures have it.
fn mostly(picture: &Picture<'_>, cause: Cause) -> Option<Found> {
    let found: Vec<_> = picture
        .seen
        .iter()
        .filter_map(|one| cause.find(one))
        .collect();
    let count = found.len();
    let name = commonest(found.into_iter().filter_map(|found| found.name));
    is_most(count, picture.failures()).then(|| Found {
        name: name.map(|(name, _)| name),
    })
}

fn log_of(one: &Seen<'_>) -> String {
    format!("`ralph logs {}`", one.argument())
}

fn common_gate(failed: &[&Seen<'_>]) -> Option<String> {
    let (gate, _) = commonest(failed.iter().filter_map(|one| one.fact.gate.as_deref()))?;
    command(gate)
}

/// A command as code: its first line, because lines run together are another command.
fn command(gate: &str) -> Option<String> {
    let mut lines = gate.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let more = if lines.next().is_some() { " …" } else { "" };
    Some(code_part(&format!("{first}{more}")))
}

fn code_part(text: &str) -> String {
    code(text, PART_CHARS)
}
