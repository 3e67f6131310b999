//! The report as a page. It loads nothing and runs nothing: its content security policy allows only the style sheet that
//! stands in it.

use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ralph_core::event::TaskRef;
use ralph_core::model::Timestamp;
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
/// How much of the page its parts may take, as HTML: the whole stays below 2 MB. There are six lists.
const LIST_BYTES: usize = 80 * 1024;
const FAILURE_BYTES: usize = 400 * 1024;
const DIFF_BYTES: usize = 800 * 1024;
/// Of one task.
const TASK_DIFF_BYTES: usize = 64 * 1024;

static STYLE: LazyLock<String> = LazyLock::new(|| format!("{}{}", include_str!("style.css"), plots::STYLE));

const NONE_VERIFIED: &str = "<p class=\"soft\">Nothing: no gate passed for a finished task.</p>\n";

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
    let verified: Vec<&RunTask> = facts.run.done.iter().filter(|task| task.standing.verified).collect();
    let unverified = facts.run.done.iter().filter(|task| !task.standing.verified).collect();
    for part in [
        listed("needs", "Needs you", facts.needs_you().collect(), open_task, "ralph status"),
        next(facts),
        asked(facts),
        match verified.is_empty() {
            true => section("", "Verified in this run", NONE_VERIFIED),
            false => {
                listed("", "Verified in this run: {}", verified, done_task, &of_run(facts, "ralph history"))
            }
        },
        listed("", "Done, unverified: {}", unverified, done_task, &of_run(facts, "ralph status")),
        listed("", "Not done yet: {}", facts.not_done_yet().collect(), open_task, "ralph task list"),
        failures(facts),
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
        command(&of_run(facts, "ralph history")),
        command(&of_run(facts, "ralph status")),
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
        (_, Some(0)) if facts.run.done.iter().any(|task| !task.standing.verified) => {
            ("weak", "finished, some unverified")
        }
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
    let until = facts.until();
    let mut html = format!(
        "<header><h1>{}<span class=\"pill {class}\">{word}</span></h1>\
         <p class=\"soft\">Run {} · {}{until} · {}</p>\n{}<div class=\"facts\"><span>Plan now: <b>{}</b></span><span>This run: {}</span></div>\n",
        escape(&one_line(&facts.project, TITLE)),
        escape(run.run_id.as_str()),
        run.started_at.local().get(..16).unwrap_or_default(),
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
        escape(&format!("Plan now: {}", tasks.summary()))
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
    list_within(LIST_BYTES, items, all)
}

fn list_within(most: usize, items: impl ExactSizeIterator<Item = String>, all: &str) -> String {
    let all_items = items.len();
    let mut html = "<ul>".to_owned();
    let mut listed = 0;
    for item in items.take(LISTED) {
        if html.len() + item.len() > most {
            break;
        }
        listed += 1;
        html.push_str(&format!("<li>{item}</li>\n"));
    }
    let more = all_items - listed;
    if more > 0 {
        html.push_str(&format!("<li class=\"soft\">… and {more} more: {}</li>", command(all)));
    }
    html + "</ul>\n"
}

/// A command about this run, which may not be the last one.
fn of_run(facts: &ReportFacts, command: &str) -> String {
    format!("{command} --run {}", facts.run.run_id)
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

/// Tasks under a heading, in which `{}` is their number. Without any, there is no heading either.
fn listed<T>(class: &str, heading: &str, tasks: Vec<T>, item: fn(T) -> String, all: &str) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let heading = heading.replace("{}", &counted(tasks.len() as u64, "task"));
    section(class, &heading, &list(tasks.into_iter().map(item), all))
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
        "<details class=\"fold\"><summary>The plan now: {count}</summary>{}</details>\n",
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

fn failures(facts: &ReportFacts) -> String {
    let all = facts.failures.as_slice();
    if all.is_empty() {
        return String::new();
    }
    // Those of tasks that are still not done say what is left to do.
    let (past, present): (Vec<&Failure>, Vec<&Failure>) = all.iter().partition(|failure| failure.is_done_now);
    let (mut shown, mut bytes) = (0, 0);
    let mut paragraphs = |failures: &[&Failure]| {
        let mut html = String::new();
        for one in failures {
            let one = failure(one);
            if shown >= FAILURES || bytes + one.len() > FAILURE_BYTES {
                break;
            }
            (shown, bytes) = (shown + 1, bytes + one.len());
            html.push_str(&one);
        }
        html
    };
    let mut html = paragraphs(&present);
    let of_past = paragraphs(&past);
    if !of_past.is_empty() {
        html.push_str(&format!(
            "<details class=\"fold\"><summary>{} of tasks that are done since</summary>{of_past}</details>\n",
            counted(past.len() as u64, "failure")
        ));
    }
    if all.len() > shown {
        let more = all.len() - shown;
        html.push_str(&format!(
            "<p class=\"soft\">… and {more} more: {}</p>",
            command(&of_run(facts, "ralph failures list"))
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
    // Days are those of cost limits (UTC).
    let day = |at: Timestamp| at.to_string().get(..10).map(str::to_owned);
    let is_of_today = facts.active || day(run.ended_at.unwrap_or(run.started_at)) == day(facts.made_at);
    words.extend(
        run.cost_today_usd
            .filter(|_| is_of_today)
            .map(|usd| format!("today: {}", format::cost(Some(usd), run.cost_today_estimated))),
    );
    let agents = facts.agents.iter().filter_map(|of| {
        let name = one_line(of.agent.as_deref()?, 60);
        let cost = format::short_total(&of.cost);
        let cost = if cost == "-" { String::new() } else { format!(" {cost}") };
        let words = format!("{name}: {}, {} done{cost}", counted(of.attempts, "attempt"), of.done);
        Some(words.trim_end().to_owned())
    });
    words.extend(agents);
    let plots: String = plots::decisions(&facts.decisions).iter().map(plots::Plot::figure).collect();
    let html = format!("<p>{}</p>\n<div class=\"plots\">{plots}</div>\n", escape(&words.join(" · ")));
    section("", "Cost and decisions", &html)
}

/// The lines of a diff as so many bytes of HTML, and whether there are more: lines of a kind that follow each other share
/// their color.
fn diff_lines(diff: &str, most: usize) -> (String, bool) {
    const END: &str = "</span>";
    let mut html = String::new();
    let mut open = "";
    let mut is_cut = false;
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
        let mut piece = String::new();
        if class != open {
            if !open.is_empty() {
                piece.push_str(END);
            }
            if !class.is_empty() {
                piece.push_str(&format!("<span class=\"{class}\">"));
            }
        }
        piece.push_str(&escape(text));
        piece.push('\n');
        if html.len() + piece.len() + END.len() > most {
            is_cut = true;
            break;
        }
        open = class;
        html.push_str(&piece);
    }
    if !open.is_empty() {
        html.push_str(END);
    }
    (html, is_cut)
}

fn changes(all: &[TaskChanges]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut room = DIFF_BYTES;
    let items = all.iter().map(|of| {
        let state = of.state();
        let files = counted(of.files.len() as u64, "file");
        let see = if of.in_git { format!("ralph diff {}", of.task.name()) } else { "git diff".to_owned() };
        let see = command(&see);
        let (diff, is_cut) = match &of.diff {
            Some(diff) => diff_lines(diff, TASK_DIFF_BYTES.min(room)),
            None => (String::new(), true),
        };
        room = room.saturating_sub(diff.len());
        let more = of.is_cut || is_cut;
        let body = match diff.is_empty() {
            true => format!("<p class=\"soft\">{}</p>", escape(&one_line(&of.files.join(", "), LINE))),
            false => format!("<pre>{diff}</pre>"),
        };
        let rest = match (more, diff.is_empty()) {
            (true, false) => format!("<p class=\"soft\">It goes on: {see}</p>"),
            (true, true) => format!("<p class=\"soft\">{see}</p>"),
            (false, _) => String::new(),
        };
        format!(
            "<details><summary>{} <span class=\"soft\">{files}{state}</span></summary>{body}{rest}</details>",
            title(&of.task)
        )
    });
    section("", "Changes", &list_within(DIFF_BYTES + LIST_BYTES, items, "ralph diff TASK"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_cut_by_the_bytes_of_its_html_and_its_spans_are_closed() {
        let diff =
            "diff --git a/x b/x\n@@ -1 +1 @@\n".to_owned() + &"+\"a\",\n".repeat(2000) + " same\n-gone\n";
        for most in [0, 10, 50, 100, 1000, 5000, 1_000_000] {
            let (html, is_cut) = diff_lines(&diff, most);
            assert!(html.len() <= most, "{most}: {}", html.len());
            assert_eq!(html.matches("<span").count(), html.matches("</span>").count(), "{most}");
            assert_eq!(is_cut, most < 1_000_000, "{most}");
        }
        let (html, _) = diff_lines(&diff, 1_000_000);
        assert_eq!(html.matches("<span").count(), 4, "lines of a kind share one");
    }
}
