//! The report as a page. It loads nothing and runs nothing: its content security policy allows only the style sheet that
//! stands in it.

use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ralph_core::event::TaskRef;
use ralph_core::store::PlanCounts;
use ralph_core::text::{code_line, one_line};
use sha2::{Digest, Sha256};

use super::ReportFacts;
use super::changes::TaskChanges;
use super::facts::Failure;
use crate::facts::{OpenTask, RunTask};
use crate::plots::{self, escape};
use crate::ui::format::{self, counted};
use crate::ui::style::Standing;

/// How much of a text is shown.
const TITLE: usize = 200;
const LINE: usize = 500;
/// What is listed of each kind; a note says how to see more.
const LISTED: usize = 300;
const FAILURES: usize = 400;

static STYLE: LazyLock<String> = LazyLock::new(|| format!("{}{}", include_str!("style.css"), plots::STYLE));

/// A text of agents or people on one line, as part of the page.
fn line(text: &str) -> String {
    escape(&one_line(text, LINE))
}

fn title(task: &TaskRef) -> String {
    format!(
        "<span class=\"name\">{}</span> {}",
        escape(&one_line(task.name(), TITLE)),
        escape(&one_line(&task.title, TITLE))
    )
}

fn command(text: &str) -> String {
    format!("<code class=\"cmd\">{}</code>", escape(&code_line(text, LINE)))
}

fn time(duration_ms: u64) -> String {
    format::duration(Duration::from_millis(duration_ms))
}

pub fn page(facts: &ReportFacts) -> String {
    let style = STYLE.as_str();
    let hash = BASE64_STANDARD.encode(Sha256::digest(style.as_bytes()));
    let project = escape(&one_line(&facts.project, TITLE));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta name=\"robots\" content=\"noindex\"><title>{project}: run {}</title><style>{style}</style></head>\n<body>\n",
        escape(facts.run.run_id.as_str())
    );
    html.push_str(&head(facts));
    html.push_str("<main>\n");
    for part in [
        needs_you(facts),
        next(facts),
        asked(facts),
        done(facts),
        unverified(facts),
        not_done(facts),
        failures(&facts.failures),
        cost(facts),
        changes(&facts.changes),
        memory(facts),
    ] {
        html.push_str(&part);
    }
    html.push_str("</main>\n");
    html.push_str(&format!(
        "<footer>Made by Ralph {} on {}. More: {} {} {}</footer>\n</body></html>\n",
        env!("CARGO_PKG_VERSION"),
        facts.made_at.local(),
        command(&format!("ralph history --run {}", facts.run.run_id)),
        command("ralph status"),
        command("ralph stats"),
    ));
    html
}

fn section(class: &str, heading: &str, body: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<section{class}><h2>{}</h2>\n{body}</section>\n", escape(heading))
}

/// What a run came to, as a word in its color.
fn state(facts: &ReportFacts) -> (&'static str, &'static str) {
    match (facts.active, facts.run.exit_code) {
        (true, _) => ("run", "running"),
        (_, Some(0)) if facts.tasks.unverified() > 0 => ("weak", "finished, some unverified"),
        (_, Some(0)) => ("ok", "finished"),
        (_, None) => ("bad", "crashed"),
        (_, Some(130 | 143)) => ("weak", "interrupted"),
        (_, Some(4)) => ("weak", "limit reached"),
        (_, Some(_)) => ("bad", "stopped"),
    }
}

fn head(facts: &ReportFacts) -> String {
    let run = &facts.run;
    let (class, word) = state(facts);
    let until = match run.ended_at.or(run.crashed_at) {
        Some(end) => format!(" to {}", end.local_near(run.started_at)),
        None => String::new(),
    };
    let mut html = format!(
        "<header><h1>{}<span class=\"pill {class}\">{word}</span></h1>\
         <p class=\"soft\">Run {} · {}{until} · {}</p>\n{}<div class=\"facts\"><span><b>{}</b></span><span>{}</span></div>\n",
        escape(&one_line(&facts.project, TITLE)),
        escape(run.run_id.as_str()),
        run.started_at.local_near(facts.made_at),
        time(run.duration_ms),
        bar(&facts.tasks),
        escape(&facts.tasks.summary()),
        escape(&format::spent(run.attempts, run.uncounted_attempts, run.duration_ms, &run.cost)),
    );
    if let Some(reason) = &run.reason {
        html.push_str(&format!("<p>{}</p>\n", line(&format::run_end(run.exit_code == Some(0), reason))));
    }
    if let Some(hint) = &run.hint {
        html.push_str(&format!("<p class=\"soft\">{}</p>\n", line(hint)));
    }
    html + "</header>\n"
}

/// How far the plan is: verified, unverified, running, blocked.
fn bar(tasks: &PlanCounts) -> String {
    let total = tasks.total.max(1) as f64;
    let mut from = 0.0;
    let mut pieces = String::new();
    for (n, class) in [
        (tasks.verified, "b-ok"),
        (tasks.done.saturating_sub(tasks.verified), "b-weak"),
        (tasks.in_progress, "b-run"),
        (tasks.blocked + tasks.failed, "b-bad"),
    ] {
        let width = n as f64 / total * 1000.0;
        if n > 0 {
            pieces.push_str(&format!(
                "<rect class=\"{class}\" x=\"{from:.0}\" width=\"{width:.0}\" height=\"8\"/>"
            ));
        }
        from += width;
    }
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 1000 8\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">{pieces}</svg>\n",
        escape(&tasks.summary())
    )
}

fn mark(standing: Standing) -> String {
    let class = match standing.status {
        _ if standing.verified => "ok",
        ralph_core::model::Status::Done => "weak",
        ralph_core::model::Status::InProgress => "run",
        ralph_core::model::Status::Blocked | ralph_core::model::Status::Failed => "bad",
        _ => "idle",
    };
    format!("<span class=\"{class}\" aria-hidden=\"true\">{}</span>", standing.glyph())
}

/// A list whose end says how to see the rest.
fn list(items: impl ExactSizeIterator<Item = String>, all: &str) -> String {
    let more = items.len().saturating_sub(LISTED);
    let mut html = "<ul>".to_owned();
    items.take(LISTED).for_each(|item| html.push_str(&format!("<li>{item}</li>\n")));
    if more > 0 {
        html.push_str(&format!("<li class=\"soft\">… and {more} more: {}</li>", command(all)));
    }
    html + "</ul>\n"
}

fn open_task(task: &OpenTask) -> String {
    let dependents = match task.dependents {
        0 => String::new(),
        n => format!("{} for it", if n == 1 { "1 task waits".to_owned() } else { format!("{n} tasks wait") }),
    };
    let mut html = format!(
        "<div class=\"item\">{}<span>{}</span><span class=\"end\">{dependents}</span><span class=\"more\">{}",
        mark(Standing::of(task.status)),
        title(&task.task),
        line(&task.happened)
    );
    if let Some(why) = &task.why {
        html.push_str(&format!("<br>{}", line(why)));
    }
    if let Some(next) = task.next.as_ref().filter(|_| task.needs_you()) {
        html.push_str(&format!("<span class=\"type\">{}</span>", command(next)));
    }
    html + "</span></div>"
}

fn needs_you(facts: &ReportFacts) -> String {
    let tasks: Vec<&OpenTask> = facts.needs_you().collect();
    if tasks.is_empty() {
        return String::new();
    }
    section("needs", "Needs you", &list(tasks.into_iter().map(open_task), "ralph status"))
}

fn next(facts: &ReportFacts) -> String {
    let steps = facts.next_steps();
    let items = steps.iter().map(|step| match &step.command {
        Some(one) => format!("{} <span class=\"type\">{}</span>", line(&step.why), command(one)),
        None => line(&step.why),
    });
    section("", "What to do next", &list(items, "ralph status"))
}

fn asked(facts: &ReportFacts) -> String {
    let mut html =
        facts.asked_in_words().iter().map(|text| format!("<p>{}</p>\n", line(text))).collect::<String>();
    let tasks = facts.plan.iter().map(|task| {
        format!(
            "<div class=\"item\">{}<span>{}</span><span class=\"end\">{}</span></div>",
            mark(task.standing),
            title(&task.task),
            escape(&task.standing.plain())
        )
    });
    let count = counted(facts.plan.len() as u64, "task");
    html.push_str(&format!(
        "<details class=\"fold\"><summary>The plan: {count}</summary>{}</details>\n",
        list(tasks, "ralph task list")
    ));
    section("", "Plan and settings", &html)
}

fn done_task(task: &RunTask) -> String {
    let took = match task.attempts + task.uncounted_attempts {
        0 => String::new(),
        n => {
            let cost = format::short_total(&task.cost);
            let cost = if cost.is_empty() { cost } else { format!(" · {cost}") };
            format!("{} · {}{cost}", counted(n, "attempt"), time(task.duration_ms))
        }
    };
    let evidence = task.verification.as_ref().map(|it| format::evidence(it, task.commit.as_deref()));
    let evidence =
        evidence.unwrap_or_default().iter().map(|text| line(text)).collect::<Vec<_>>().join("<br>");
    format!(
        "<div class=\"item\">{}<span>{}</span><span class=\"end\">{}</span><span class=\"more\">{evidence}</span></div>",
        mark(task.standing),
        title(&task.task),
        escape(&took)
    )
}

fn done(facts: &ReportFacts) -> String {
    let verified: Vec<&RunTask> = facts.run.done.iter().filter(|task| task.standing.verified).collect();
    if verified.is_empty() {
        return section(
            "",
            "Verified in this run",
            "<p class=\"soft\">Nothing: no gate passed for a finished task.</p>\n",
        );
    }
    let heading = format!("Verified in this run: {}", counted(verified.len() as u64, "task"));
    section("", &heading, &list(verified.into_iter().map(done_task), "ralph history"))
}

fn unverified(facts: &ReportFacts) -> String {
    let of_run: Vec<&RunTask> = facts.run.done.iter().filter(|task| !task.standing.verified).collect();
    if of_run.is_empty() {
        return String::new();
    }
    let heading = format!("Done, unverified: {}", counted(of_run.len() as u64, "task"));
    section("", &heading, &list(of_run.into_iter().map(done_task), "ralph status"))
}

fn not_done(facts: &ReportFacts) -> String {
    let tasks: Vec<&OpenTask> = facts.not_done_yet().collect();
    if tasks.is_empty() {
        return String::new();
    }
    let heading = format!("Not done yet: {}", counted(tasks.len() as u64, "task"));
    section("", &heading, &list(tasks.into_iter().map(open_task), "ralph task list"))
}

fn failure(failure: &Failure) -> String {
    let cost = failure.cost_usd.map(|usd| format!(", {}", format::cost(Some(usd), failure.cost_estimated)));
    let mut told = vec![line(&failure.outcome)];
    told.extend(failure.why.as_deref().map(line));
    told.extend(failure.tried.as_deref().map(|text| format!("Tried: {}", line(text))));
    told.extend(failure.suggestion.as_deref().map(|text| format!("Suggested: {}", line(text))));
    let told: Vec<String> = told.iter().map(|text| format!("{}.", text.trim_end_matches('.'))).collect();
    format!(
        "<div class=\"fail\"><h3>{} <span class=\"soft\">attempt {}, {}, {}{}{}</span></h3><p>{}</p></div>\n",
        escape(&one_line(&format!("{} {}", failure.name, failure.title), TITLE)),
        failure.attempt,
        line(&failure.model),
        time(failure.duration_ms),
        escape(&cost.unwrap_or_default()),
        if failure.is_done_now { ", done since" } else { "" },
        told.join(" ")
    )
}

fn failures(all: &[Failure]) -> String {
    if all.is_empty() {
        return String::new();
    }
    // Those of tasks that are still not done say what is left to do.
    let (past, present): (Vec<&Failure>, Vec<&Failure>) = all.iter().partition(|failure| failure.is_done_now);
    let mut html: String = present.iter().take(FAILURES).map(|one| failure(one)).collect();
    let room = FAILURES.saturating_sub(present.len());
    if !past.is_empty() && room > 0 {
        let paragraphs: String = past.iter().take(room).map(|one| failure(one)).collect();
        html.push_str(&format!(
            "<details class=\"fold\"><summary>{} of tasks that are done since</summary>{paragraphs}</details>\n",
            counted(past.len() as u64, "failure")
        ));
    }
    if all.len() > FAILURES {
        let more = all.len() - FAILURES;
        html.push_str(&format!(
            "<p class=\"soft\">… and {more} more: {}</p>",
            command("ralph failures list")
        ));
    }
    section("", &format!("Failed attempts: {}", all.len()), &html)
}

fn cost(facts: &ReportFacts) -> String {
    let run = &facts.run;
    let mut words = vec![match format::total(&run.cost) {
        Some(total) => format!("This run: {total}"),
        None => "This run cost nothing".to_owned(),
    }];
    words.extend(
        run.cost_today_usd.map(|usd| format!("today: {}", format::cost(Some(usd), run.cost_today_estimated))),
    );
    let agents = facts.agents.iter().filter_map(|of| {
        let name = one_line(of.agent.as_deref()?, 60);
        let cost = format::short_total(&of.cost);
        Some(
            format!("{name}: {}, {} done {cost}", counted(of.attempts, "attempt"), of.done)
                .trim_end()
                .to_owned(),
        )
    });
    words.extend(agents);
    let plots: String = plots::decisions(&facts.decisions).iter().map(plots::Plot::figure).collect();
    let html = format!("<p>{}</p>\n<div class=\"plots\">{plots}</div>\n", escape(&words.join(" · ")));
    section("", "Cost and decisions", &html)
}

fn diff_lines(diff: &str) -> String {
    let mut html = String::with_capacity(diff.len() * 2);
    for text in diff.lines() {
        let class = match text.as_bytes() {
            [b'd', b'i', b'f', b'f', b' ', ..]
            | [b'+', b'+', b'+', b' ', ..]
            | [b'-', b'-', b'-', b' ', ..] => "file",
            [b'+', ..] => "add",
            [b'-', ..] => "del",
            [b'@', ..] => "at",
            _ => "",
        };
        match class {
            "" => html.push_str(&escape(text)),
            class => html.push_str(&format!("<span class=\"{class}\">{}</span>", escape(text))),
        }
        html.push('\n');
    }
    html
}

fn changes(all: &[TaskChanges]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let items = all.iter().map(|of| {
        let undone = if of.rolled_back { ", rolled back" } else { "" };
        let files = counted(of.files.len() as u64, "file");
        let see = command(&format!("ralph diff {}", of.task.name()));
        let (diff, rest) = match &of.diff {
            Some(diff) if of.is_cut => (format!("<pre>{}</pre>", diff_lines(diff)), format!("<p class=\"soft\">Truncated; to see all: {see}</p>")),
            Some(diff) => (format!("<pre>{}</pre>", diff_lines(diff)), String::new()),
            None => (format!("<p class=\"soft\">{}</p>", escape(&one_line(&of.files.join(", "), LINE))), format!("<p class=\"soft\">{see}</p>")),
        };
        format!("<details><summary>{} <span class=\"soft\">{files}{undone}</span></summary>{diff}{rest}</details>", title(&of.task))
    });
    section("", "Changes", &list(items, "ralph diff TASK"))
}

fn memory(facts: &ReportFacts) -> String {
    let mut html = plots::memory(&facts.memory).figure();
    if !facts.learned.is_empty() {
        let items = facts
            .learned
            .iter()
            .map(|one| format!("<span class=\"soft\">{}</span> {}", line(&one.category), line(&one.content)));
        let heading = counted(facts.learned.len() as u64, "learning");
        html.push_str(&format!(
            "<details class=\"fold\"><summary>{heading} from this run</summary>{}</details>\n",
            list(items, "ralph learnings list")
        ));
    }
    section("", "Memory", &html)
}
