//! One plan file: the plan and the steps that its task elements are.

use super::super::check::{NO_COMMAND, checks, runnable};
use super::super::command::{CanRun, Directory, all_of, first_word};
use super::super::text::{block, label, one_line, paragraphs, paths};
use super::super::{DraftTask, Problem};
use super::body::Body;
use super::markup::{Element, Entry, Frontmatter, Tags};
use super::roadmap::PlanId;
use crate::markdown::{Lines, code_only, list_item, numbered};
use crate::text::{first_sentences, plain_line};

/// The longest title made of a sentence, in characters.
const LONGEST_TITLE: usize = 100;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) path: String,
    pub(super) id: PlanId,
    pub(super) wave: u32,
    pub(super) depends_on: Vec<String>,
    pub(super) depends_on_line: usize,
    /// The title of a plan that has none in its objective or in the roadmap.
    pub(super) heading: Option<String>,
    /// Whether it says of itself that it is finished.
    pub(super) is_complete: bool,
    /// Lines of boxes in its text that are open.
    pub(super) open_boxes: Vec<usize>,
    /// The plan as a task. It has a check of its own only where there are no steps: those have theirs.
    pub(super) task: DraftTask,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Step {
    pub(super) task: DraftTask,
    pub(super) notes: Vec<String>,
}

/// Elements of a plan that say nothing about the work, or have a place of their own.
const ELSEWHERE_IN_PLAN: &str =
    "objective context task execution_context output verify verification success_criteria";

/// Elements that have a place of their own in a task.
const ELSEWHERE_IN_STEP: &str = "name title files verify done acceptance_criteria";

impl Plan {
    /// Reads a plan file. One whose markup is broken is one task, with the whole text: its agent can still follow it. None where
    /// there is nothing to do or the file has no plan's name.
    pub(super) fn read(
        path: &str,
        file: &str,
        can_run: CanRun<'_>,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let front = Frontmatter::of(file);
        let front = front.map_err(|problem| problems.push(problem)).unwrap_or_default();
        let tags = Tags::of(file);
        let parts = tags.within(front.end..file.len(), problems);
        let mut steps = Vec::new();
        for task in parts.iter().filter(|part| part.name == "task") {
            let told = problems.len();
            let within = tags.within(task.range.clone(), problems);
            let step = Step::read(task, &within, can_run);
            if step.task.title.is_empty() && problems.len() == told {
                let expected = "a task has no name and no action; expected <name>…</name>";
                problems.push(Problem::new(task.line, expected));
            }
            steps.push(step);
        }
        let is_broken = !problems.is_empty();
        problems
            .iter_mut()
            .for_each(|one| one.expected.push_str("; the agent gets the whole plan as one task"));
        let body = Body::of(file, front.end);
        if steps.is_empty() {
            for (words, range, line) in body.tasks() {
                let told = problems.len();
                let within = tags.within(range.clone(), problems);
                // Tags in a text that has none of tasks are only text.
                problems.truncate(told);
                steps.push(Step::under(words, &file[range], line, &within, can_run));
            }
        }
        let id = PlanId::of(path, front.first("phase"), front.first("plan"));
        if id.is_none() {
            let expected = "the file name has no plan number (expected a name such as 01-02-PLAN.md); Ralph leaves it out";
            problems.push(Problem::new(1, expected));
        }
        let wave = wave(&front, problems);
        let content = |name| content(&parts, name);
        let headed = body.headed();
        let or = |found: String, other: String| if found.is_empty() { other } else { found };
        let objective = or(content("objective"), headed.objective);
        let context = with_label("Context", &or(content("context"), headed.context));
        let verification = or(content("verification"), content("verify"));
        // Other elements, such as the feature of a test-driven plan.
        let mut rest = described(&parts, ELSEWHERE_IN_PLAN);
        let text = file.get(front.end..).unwrap_or_default();
        if steps.is_empty() && objective.is_empty() && rest.is_empty() && parts.is_empty() {
            rest = block(text);
        }
        if is_broken {
            steps.clear();
        } else if steps.is_empty() && objective.is_empty() && rest.is_empty() {
            let line = tags.line_of(front.end.min(file.len().saturating_sub(1)));
            let expected =
                "there is nothing to do (expected <objective> or <task> elements); Ralph leaves it out";
            problems.push(Problem::new(line, expected));
            return None;
        }
        let mut check = Check::default();
        if steps.is_empty() {
            check = Check::of(&verification, can_run);
        } else {
            check.words = verification;
            rest.clear();
        }
        let done_when = paragraphs([content("success_criteria").as_str(), &check.words]);
        let depends_on = list(&front, ["depends_on", "depends-on"]);
        // Some authors leave out the brackets around `01-01, 01-02`.
        let names = depends_on.values.iter().flat_map(|value| value.split(','));
        let names = names.map(|name| name.trim().to_owned());
        let listed_files = list(&front, ["files_modified", "files-modified"]);
        let objective_at = parts.iter().find(|part| part.name == "objective");
        let mut task = DraftTask {
            title: title_of(&objective).unwrap_or_default(),
            description: paragraphs([objective.as_str(), &context, &rest]),
            verify: check.command,
            files: files(&listed_files.values.join("\n")),
            done_when: (!done_when.is_empty()).then_some(done_when),
            line: objective_at.map_or(1, |part| part.line),
            ..DraftTask::default()
        };
        if is_broken {
            task.description = block(text);
            task.for_person = text.contains("type=\"checkpoint");
        }
        Some(Self {
            path: path.to_owned(),
            id: id?,
            wave,
            depends_on: names.filter(|name| !name.is_empty()).collect(),
            depends_on_line: depends_on.line.max(1),
            heading: headed.title,
            is_complete: is_complete(&front, &body),
            open_boxes: body.open_boxes(),
            task,
            steps,
        })
    }
}

/// What stands under the first of two spellings of a key.
fn list<'a>(front: &Frontmatter<'a>, keys: [&str; 2]) -> Entry<'a> {
    let found = keys.iter().find_map(|key| front.get(key));
    found.cloned().unwrap_or_default()
}

/// The plans of a wave run side by side; without a number a plan is in the first.
fn wave(front: &Frontmatter<'_>, problems: &mut Vec<Problem>) -> u32 {
    let Some((value, entry)) = front.first("wave").zip(front.get("wave")) else {
        return 1;
    };
    value.parse().unwrap_or_else(|_| {
        let expected = format!("the wave is `{value}`, not a number such as 1; Ralph takes it as the first");
        problems.push(Problem::new(entry.line, expected));
        1
    })
}

impl Step {
    /// Reads a task from its element and those within it. Where nothing tells a title it is empty.
    fn read(task: &Element<'_>, parts: &[Element<'_>], can_run: CanRun<'_>) -> Self {
        let content = |name: &str| content(parts, name);
        let attribute = ["name", "title"].iter().find_map(|name| task.attribute(name));
        let attribute = attribute.unwrap_or_default().to_owned();
        let names = [content("name"), content("title"), attribute];
        let name = names
            .iter()
            .map(|name| one_line(without_number(name)))
            .find(|name| !name.is_empty())
            .map(|name| plain_line(&name, LONGEST_TITLE));
        let title = name.or_else(|| {
            let told = ["decision", "what-built", "action", "instructions", "description"];
            told.iter().find_map(|name| title_of(&content(name)))
        });
        let mut title = title.unwrap_or_default();
        let mut notes = Vec::new();
        let mut for_person = false;
        let kind = task.attribute("type");
        if let Some(kind) = kind.and_then(|kind| kind.strip_prefix("checkpoint")) {
            title = checkpoint_title(&title, kind);
            for_person = true;
            notes.push("a checkpoint, which a person must do".to_owned());
        }
        let check = Check::of(&content("verify"), can_run);
        if !check.words.is_empty() {
            let why = check.why.filter(|why| *why != NO_COMMAND);
            let why = why.unwrap_or("it is not a command");
            notes.push(match check.command {
                None => format!("its check is no gate ({why}), so the task has none"),
                Some(_) => format!("the gate does not include a part of its check ({why})"),
            });
        }
        let done = [content("done"), content("acceptance_criteria"), check.words];
        let done = paragraphs(done.iter().map(String::as_str));
        let described = described(parts, ELSEWHERE_IN_STEP);
        let task = DraftTask {
            title,
            description: paragraphs([described.as_str(), &with_label("Done when", &done)]),
            verify: check.command,
            files: files(&content("files")),
            done_when: (!done.is_empty()).then_some(done),
            for_person,
            line: task.line,
            ..DraftTask::default()
        };
        Self { task, notes }
    }

    /// A task under a heading of a plan in plain Markdown.
    fn under(words: &str, text: &str, line: usize, parts: &[Element<'_>], can_run: CanRun<'_>) -> Self {
        let mut notes = Vec::new();
        let verify: Vec<&str> = Lines::of(text)
            .lines
            .iter()
            .filter(|line| line.hidden.is_none())
            .filter_map(|line| label(list_item(line.words()).unwrap_or(line.words())))
            .filter(|label| {
                ["verify", "verification", "automated"]
                    .iter()
                    .any(|name| label.name.eq_ignore_ascii_case(name))
            })
            .map(|label| label.value)
            .filter(|value| !value.is_empty())
            .collect();
        let element = content(parts, "verify");
        let verify = if element.is_empty() { verify.join("\n") } else { element };
        let check = Check::of(&verify, can_run);
        if !check.words.is_empty() {
            notes.push("its check is not a command, so the gate does not include it".to_owned());
        }
        let title = without_number(words);
        let title = numbered(title).map_or(title, |(_, title)| title.trim());
        let task = DraftTask {
            title: plain_line(&one_line(title), LONGEST_TITLE),
            description: block(text),
            verify: check.command,
            line,
            ..DraftTask::default()
        };
        Self { task, notes }
    }
}

/// Whether a plan says that it is finished: by its status, or by its boxes, all of which are ticked.
fn is_complete(front: &Frontmatter<'_>, body: &Body<'_>) -> bool {
    let is_over = |status: &str| {
        let status = status.trim_matches(|c: char| !c.is_alphanumeric());
        ["complete", "completed", "done", "shipped"].iter().any(|word| status.eq_ignore_ascii_case(word))
    };
    front.first("status").is_some_and(is_over)
        || body.status().is_some_and(is_over)
        || (!body.tasks().is_empty() && body.boxes().next().is_some() && body.open_boxes().is_empty())
}

fn content(parts: &[Element<'_>], name: &str) -> String {
    let part = parts.iter().find(|part| part.name == name);
    part.map(|part| block(part.content)).unwrap_or_default()
}

/// The title of what a person does; `kind` is what stands behind `checkpoint` (`:human-verify`).
fn checkpoint_title(title: &str, kind: &str) -> String {
    const CHECKPOINT: &str = "Checkpoint:";
    let bare = match title.split_at_checked(CHECKPOINT.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(CHECKPOINT) => rest.trim(),
        _ => title,
    };
    let kind = kind.replace([':', '-'], " ");
    let title = if bare.is_empty() { kind.trim() } else { bare };
    format!("{CHECKPOINT} {title}").trim_end().to_owned()
}

/// The action as it is, and other elements under their names.
fn described(parts: &[Element<'_>], elsewhere: &str) -> String {
    let said = parts.iter().filter(|part| elsewhere.split(' ').all(|name| name != part.name));
    let said: Vec<String> = said
        .map(|part| {
            let text = block(part.content);
            if matches!(part.name, "action" | "objective") {
                return text;
            }
            let mut label = part.name.replace(['-', '_'], " ");
            if let Some(first) = label.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            with_label(&label, &text)
        })
        .collect();
    paragraphs(said.iter().map(String::as_str))
}

/// The text behind its label, or below it where it has several lines.
fn with_label(label: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.contains('\n') => format!("{label}:\n{text}"),
        text => format!("{label}: {text}"),
    }
}

/// The paths in what stands in `files`: between commas or on lines, with remarks left out.
fn files(content: &str) -> Vec<String> {
    let lines = content.lines().map(str::trim);
    let found = lines.flat_map(|line| paths(list_item(line).unwrap_or(line)));
    found.filter(|path| !path.starts_with('(') && !path.contains(char::is_whitespace)).collect()
}

/// What an element `verify` asks for: a command that can be a gate, and words for people.
#[derive(Debug, Default, PartialEq, Eq)]
struct Check {
    command: Option<String>,
    words: String,
    /// Why a command of it is no gate.
    why: Option<&'static str>,
}

impl Check {
    fn of(content: &str, can_run: CanRun<'_>) -> Self {
        let mut commands = Vec::new();
        let mut words = String::new();
        let mut why = None;
        let mut rest = content;
        while let Some((before, after)) = rest.split_once("<automated>")
            && let Some((command, after)) = after.split_once("</automated>")
        {
            words.push_str(before);
            match automated(command, can_run) {
                Ok(command) => commands.push(command),
                Err(reason) => {
                    words.push_str(command);
                    why = why.or(Some(reason));
                }
            }
            rest = after;
        }
        words.push_str(rest);
        for tag in ["manual", "human", "human-check"] {
            for tag in [format!("<{tag}>"), format!("</{tag}>")] {
                words = words.replace(&tag, "");
            }
        }
        let words = block(&words);
        if let Some(command) = all_of(&commands, Directory::Own) {
            return Self { command: Some(command), words, why };
        }
        let (commands, others) = checks(&words, can_run);
        let words = if commands.is_empty() { words } else { others.join("\n") };
        Self { command: all_of(&commands, Directory::Own), words, why }
    }
}

/// A command that its author calls automated, or why it is none.
fn automated(content: &str, can_run: CanRun<'_>) -> Result<String, &'static str> {
    let command = block(content);
    let command = code_only(&command).unwrap_or(&command);
    let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase()) && !can_run(word);
    if command.is_empty() || first_word(command).is_some_and(is_name) {
        return Err(NO_COMMAND);
    }
    // Some authors write `&amp;&amp;`, since it looks like XML. The ampersand last, so that nothing is undone twice.
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let mut command = command.trim().to_owned();
    for (entity, mark) in entities {
        command = command.replace(entity, mark);
    }
    let command = runnable(&command, can_run)?;
    // Several lines fail where one of them does.
    Ok(if command.contains('\n') { format!("set -e\n{command}") } else { command })
}

/// The first sentence of a text as a title; none where the text says nothing.
pub(super) fn title_of(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    let mut paragraph = String::new();
    for line in lines {
        let is_over = line.is_empty() || list_item(line).is_some() || is_label(line);
        if is_over && !paragraph.is_empty() {
            break;
        }
        paragraph.push_str(list_item(line).unwrap_or(line));
        paragraph.push(' ');
    }
    short(&paragraph)
}

pub(super) fn short(words: &str) -> Option<String> {
    let line = one_line(words);
    let sentence = first_sentences(&line, 1);
    let title = sentence.strip_suffix('.').unwrap_or(sentence).trim_end_matches(':');
    (!title.is_empty()).then(|| plain_line(title, LONGEST_TITLE))
}

/// Lines such as `Purpose: …` begin something else.
fn is_label(line: &str) -> bool {
    let words = line.trim_start_matches('*');
    ["Purpose", "Output", "Goal"]
        .iter()
        .any(|label| words.strip_prefix(label).is_some_and(|rest| rest.starts_with([':', '*'])))
}

/// `Task 3: Words`, `Plan 5.2: Words` without what the place in the plan tells.
pub(super) fn without_number(words: &str) -> &str {
    let words = words.trim();
    let rest = words.strip_prefix("Task ").or_else(|| words.strip_prefix("Plan "));
    let numbered = rest.and_then(|rest| rest.split_once([':', '—', '–'])).filter(|(number, _)| {
        number.starts_with(|c: char| c.is_ascii_digit()) && !number.trim().contains(' ')
    });
    match numbered {
        Some((_, title)) if !title.trim().is_empty() => title.trim(),
        _ => words,
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
