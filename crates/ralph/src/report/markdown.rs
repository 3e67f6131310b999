//! The report as Markdown, for a pull request or a chat. Foreign text is a code span or escaped: it can neither break out of
//! its place nor call a person or an issue by name.

use std::time::Duration;

use ralph_core::event::TaskRef;
use ralph_core::text::{code_line, few, one_line};

use super::ReportFacts;
use super::changes::TaskChanges;
use super::facts::Failure;
use crate::facts::{OpenTask, RunTask};
use crate::plots::{self, Plot};
use crate::ui::format;

const TITLE: usize = 120;
const LINE: usize = 300;
/// Tasks and failures listed in each part.
const LISTED: usize = 50;
/// Files named of a task.
const FILES: usize = 8;

/// A text whose every character stands for itself. Only what would mean something in its place is escaped, so that the
/// source stays readable in a chat, too.
fn plain(text: &str, most: usize) -> String {
    let text = one_line(text, most);
    let mut out = String::new();
    // "- a", "1. a" and "===" mean something at the start of a line; "1.1 a" does not.
    let marker = text.split(' ').next().unwrap_or_default();
    let digits = marker.bytes().take_while(u8::is_ascii_digit).count();
    let is_item = matches!(marker.get(digits..), Some("." | ")") if digits > 0)
        || text.starts_with('=')
        || matches!(marker, "-" | "+")
        || marker.starts_with("--");
    let mark = is_item.then_some(digits);
    for (at, c) in text.char_indices() {
        let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '$' => out.extend(['\\', c]),
            _ if mark == Some(at) => out.extend(['\\', c]),
            '&' => out.push_str("&amp;"),
            // Apart from what follows, it is the name of nobody and of no issue, and no link.
            '@' | '#' if rest.starts_with(char::is_alphanumeric) => out.extend([c, '\u{2060}']),
            '#' if at == 0 => out.extend(['\\', c]),
            ':' if rest.starts_with("//") => out.extend([c, '\u{2060}']),
            c => out.push(c),
        }
    }
    out
}

/// A text as code, whatever it holds.
fn code(text: &str, most: usize) -> String {
    // In a table, a bar would end the cell even here.
    let text = code_line(text, most).replace('|', "¦");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    if text.is_empty() { String::new() } else { format!("{fence}{pad}{text}{pad}{fence}") }
}

fn name(task: &TaskRef) -> String {
    plain(&format!("{} {}", task.name(), task.title), TITLE)
}

/// A comment on GitHub has room for 65,536 characters. Each part may take so many, so that all have room.
const ALL_CHARS: usize = 64_000;
const PART_CHARS: usize = 8_000;

#[derive(Default)]
struct Document {
    text: String,
    chars: usize,
}

impl Document {
    fn line(&mut self, text: impl std::fmt::Display) {
        let text = format!("{text}\n");
        self.chars += text.chars().count();
        self.text.push_str(&text);
    }

    fn heading(&mut self, text: impl std::fmt::Display) {
        self.line(format_args!("\n## {text}\n"));
    }

    /// Lines that say in the end how to see the rest.
    fn lines(&mut self, lines: impl ExactSizeIterator<Item = String>, rest: impl Fn(usize) -> String) {
        let all = lines.len();
        let most = (self.chars + PART_CHARS).min(ALL_CHARS);
        let mut shown = 0;
        for line in lines.take(LISTED) {
            if self.chars + line.chars().count() > most {
                break;
            }
            shown += 1;
            self.line(line);
        }
        if all > shown {
            self.line(rest(all - shown));
        }
    }

    fn list(&mut self, items: impl ExactSizeIterator<Item = String>, all: &str) {
        self.lines(items.map(|item| format!("- {item}")), |more| format!("- … and {more} more: `{all}`"));
    }
}

pub fn markdown(facts: &ReportFacts) -> String {
    let run = &facts.run;
    let of_run = |command: &str| format!("{command} --run {}", run.run_id);
    let mut page = Document::default();
    page.line(format_args!("# {}: run {}\n", plain(&facts.project, TITLE), run.run_id));
    page.line(format_args!("**Plan now: {}**\n", facts.tasks.summary()));
    let spent = format::spent(run.attempts, run.uncounted_attempts, run.duration_ms, &run.cost);
    let until = facts.until();
    let started = run.started_at.local();
    page.line(format_args!("Run from {}{until}: {spent}.\n", started.get(..16).unwrap_or(&started)));
    match (&run.reason, facts.active) {
        (_, true) => page.line("The run is active."),
        (Some(reason), _) => page.line(plain(&format::run_end(run.exit_code == Some(0), reason), LINE) + "."),
        (None, _) => {}
    }
    let held: Vec<&OpenTask> = facts.needs_you().collect();
    if !held.is_empty() {
        page.heading("Needs you");
        page.list(held.into_iter().map(open_task), "ralph status");
    }
    page.heading("What to do next");
    let steps = facts.next_steps();
    page.list(
        steps.iter().map(|step| match &step.command {
            Some(command) => format!("{}: {}", plain(&step.why, LINE), code(command, LINE)),
            None => plain(&step.why, LINE),
        }),
        "ralph status",
    );
    page.heading("What was asked");
    page.list(facts.asked_in_words().iter().map(|text| plain(text, LINE)), &of_run("ralph status"));
    for (heading, is_verified) in [("Verified", true), ("Done, unverified", false)] {
        let done = run.done.iter().filter(|task| task.standing.verified == is_verified);
        let done: Vec<&RunTask> = done.collect();
        if !done.is_empty() {
            page.heading(heading);
            page.line("| Task | Attempts | Time | Cost | Evidence |\n|---|--:|--:|--:|---|");
            let rest = |more| format!("\n… and {more} more: `{}`", of_run("ralph status"));
            page.lines(done.into_iter().map(done_task), rest);
        }
    }
    let rest: Vec<&OpenTask> = facts.not_done_yet().collect();
    if !rest.is_empty() {
        page.heading("Not done yet");
        page.list(rest.into_iter().map(open_task), "ralph task list");
    }
    if !facts.failures.is_empty() {
        page.heading(format_args!("Failed attempts: {}", facts.failures.len()));
        page.list(facts.failures.iter().map(failed_attempt), &of_run("ralph failures list"));
    }
    if !facts.changes.is_empty() {
        page.heading("Changed files");
        page.list(facts.changes.iter().map(changed_files), "ralph diff TASK");
    }
    page.heading("Cost and decisions");
    if let Some(cost) = format::total(&run.cost) {
        page.line(format_args!("This run: {}\n", plain(&cost, LINE)));
    }
    let plots = plots::decisions(&facts.decisions).into_iter().chain([plots::memory(&facts.memory)]);
    page.list(
        plots.map(|Plot { title, .. }| plain(&title, LINE)).collect::<Vec<_>>().into_iter(),
        "ralph stats",
    );
    if !facts.learned.is_empty() {
        page.heading(format_args!(
            "{} from this run",
            format::counted(facts.learned.len() as u64, "learning")
        ));
        page.list(facts.learned.iter().map(|one| code(&one.content, LINE)), "ralph learnings list");
    }
    page.text
}

fn failed_attempt(failure: &Failure) -> String {
    let since = if failure.is_done_now { ", done since" } else { "" };
    let why = failure.why.as_deref().map(|why| format!(", {}", code(why, LINE)));
    format!(
        "{}, attempt {} with {}{since}: {}{}",
        plain(&format!("{} {}", failure.name, failure.title), TITLE),
        failure.attempt,
        plain(&failure.model, TITLE),
        code(&failure.outcome, LINE),
        why.unwrap_or_default()
    )
}

fn changed_files(of: &TaskChanges) -> String {
    let state = of.state();
    let files = code(&few(&of.files, FILES), LINE);
    format!("{}{state}: {files}", name(&of.task))
}

fn open_task(task: &OpenTask) -> String {
    let why = task.why.as_deref().map(|why| format!(": {}", code(why, LINE))).unwrap_or_default();
    let next = task.next.as_deref().filter(|_| task.needs_you());
    let next = next.map(|next| format!("; next: {}", code(next, LINE))).unwrap_or_default();
    format!(
        "{} **{}** · {}{why}{next}",
        crate::ui::style::Standing::of(task.status).glyph(),
        name(&task.task),
        plain(&task.happened, LINE)
    )
}

fn done_task(task: &RunTask) -> String {
    let evidence = task.verification.as_ref().map(|it| format::evidence(it, task.commit.as_deref()));
    let evidence = evidence.unwrap_or_default().join(" · ");
    let attempts = task.attempts + task.uncounted_attempts;
    let time = format::duration(Duration::from_millis(task.duration_ms));
    format!(
        "| {} {} | {} | {} | {} | {} |",
        task.standing.glyph(),
        name(&task.task),
        if attempts > 0 { attempts.to_string() } else { String::new() },
        if attempts > 0 { time } else { String::new() },
        plain(&format::short_total(&task.cost), TITLE),
        code(&evidence, LINE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stands_for_itself() {
        assert_eq!(plain("**a** [b](c) <img>", 80), r"\*\*a\*\* \[b\](c) \<img\>");
        assert_eq!(plain("1.1 my-app: 2 of 3 (done)!", 80), "1.1 my-app: 2 of 3 (done)!");
        for (text, escaped) in [
            ("- a", r"\- a"),
            ("12) a", r"12\) a"),
            ("# a", r"\# a"),
            ("+ a", r"\+ a"),
            ("---", r"\---"),
            ("1.", r"1\."),
        ] {
            assert_eq!(plain(text, 80), escaped);
        }
        assert_eq!(plain("@all #1 https://x", 80), "@\u{2060}all #\u{2060}1 https:\u{2060}//x");
        assert_eq!(code("a `b` | c", 80), "``a `b` ¦ c``");
        assert_eq!(code("`x`", 80), "`` `x` ``");
        assert_eq!(code("a\nb", 80), "`a b`");
    }
}
