//! One task element of a plan.

use super::check;
use super::elements::Element;
use super::prose::{title_of, whole, without_number};
use crate::plan_files::text::{block, paragraphs};

/// A task element, read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) files: Vec<String>,
    pub(super) verify: Option<String>,
    pub(super) done_when: Option<String>,
    /// What a person should know.
    pub(super) notes: Vec<String>,
}

/// Elements that have a place of their own in a task.
const ELSEWHERE: [&str; 6] = [
    "name",
    "title",
    "files",
    "verify",
    "done",
    "acceptance_criteria",
];

/// Reads a task from its element and those within it. Where nothing tells a title it is empty.
pub(super) fn read(
    task: &Element<'_>,
    parts: &[Element<'_>],
    can_run: &dyn Fn(&str) -> bool,
) -> Step {
    let content = |name: &str| {
        let part = parts.iter().find(|part| part.name == name);
        part.map(|part| block(part.content)).unwrap_or_default()
    };
    let mut step = Step {
        line: task.line,
        title: title(task, &content).unwrap_or_default(),
        files: files(&content("files")),
        ..Step::default()
    };
    if let Some(kind) = task
        .attribute("type")
        .and_then(|kind| kind.strip_prefix("checkpoint"))
    {
        step.title = checkpoint_title(&step.title, kind);
        step.notes
            .push("a checkpoint, which a person must do".to_owned());
    }
    let check = check::read(&content("verify"), can_run);
    if check.command.is_none() && !check.words.is_empty() {
        step.notes
            .push("its check is not a command, so the task has no gate".to_owned());
    }
    step.verify = check.command;
    let done = paragraphs([
        content("done").as_str(),
        &content("acceptance_criteria"),
        &check.words,
    ]);
    step.done_when = (!done.is_empty()).then_some(done);
    step.description = description(parts, step.done_when.as_deref());
    step
}

/// The name, or the first sentence of what there is to do.
fn title(task: &Element<'_>, content: &dyn Fn(&str) -> String) -> Option<String> {
    let attribute = task.attribute("name").unwrap_or_default().to_owned();
    let names = [content("name"), content("title"), attribute];
    let name = names.iter().find_map(|name| whole(without_number(name)));
    name.or_else(|| {
        let told = ["decision", "what-built", "action", "instructions"];
        told.iter().find_map(|name| title_of(&content(name)))
    })
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

/// The action as it is, the other elements with their names, and when it is done.
fn description(parts: &[Element<'_>], done_when: Option<&str>) -> String {
    let said = parts.iter().filter(|part| !ELSEWHERE.contains(&part.name));
    let mut said: Vec<String> = said.map(labelled).collect();
    said.extend(done_when.map(|done| with_label("Done when", done)));
    paragraphs(said.iter().map(String::as_str))
}

/// What an element says, under its name.
pub(super) fn labelled(part: &Element<'_>) -> String {
    let text = block(part.content);
    if matches!(part.name, "action" | "objective") {
        return text;
    }
    let mut label = part.name.replace(['-', '_'], " ");
    if let Some(first) = label.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    with_label(&label, &text)
}

/// The text behind its label, or below it where it has several lines.
pub(super) fn with_label(label: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.contains('\n') => format!("{label}:\n{text}"),
        text => format!("{label}: {text}"),
    }
}

/// The paths in what stands in `files`: between commas or on lines, with remarks left out.
pub(super) fn files(content: &str) -> Vec<String> {
    let mut depth = 0usize;
    let parts = content.split(|c: char| {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            '\n' => depth = 0,
            _ => {}
        }
        c == '\n' || (c == ',' && depth == 0)
    });
    parts.filter_map(path).map(str::to_owned).collect()
}

/// The path at the beginning of a text such as `- src/a.rs (new)`.
fn path(text: &str) -> Option<&str> {
    let text = text.trim();
    let text = crate::plan_files::markdown::list_item(text).unwrap_or(text);
    let word = text.split_whitespace().next()?.trim_matches('`');
    let is_alone = word.len() + 2 >= text.len();
    let is_nothing = ["none", "n/a", "tbd", "-"]
        .iter()
        .any(|nothing| word.eq_ignore_ascii_case(nothing));
    let is_path = !word.starts_with('(') && (is_alone || word.contains(['/', '.']));
    (is_path && !is_nothing && !word.is_empty()).then_some(word)
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
