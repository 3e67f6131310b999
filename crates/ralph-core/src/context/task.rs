//! The whole prompt: the task's part from its template, with the memory part behind it.

use serde::Serialize;

use super::further::FurtherPart;
use super::input::TaskPart;
use super::neutral::{inert_line, one_line};
use super::templates::{Template, TemplateError};
use crate::text::without_invisible;

/// What a task template may use.
#[derive(Serialize)]
struct Data<'a> {
    id: String,
    title: String,
    description: &'a str,
    done_when: Option<String>,
    commit: Option<String>,
    further: &'a [FurtherPart],
    parent: Option<ParentData<'a>>,
    prerequisites: Vec<PrerequisiteData>,
    specs_dir: Option<String>,
    memory: &'a str,
}

#[derive(Serialize)]
struct ParentData<'a> {
    title: String,
    description: &'a str,
}

#[derive(Serialize)]
struct PrerequisiteData {
    id: String,
    title: String,
    summary: Option<String>,
}

/// Renders the prompt of an attempt. `memory` is [`RenderedMemory::text`], or empty for none, of
/// which the prompt then bears no trace. The prompt ends with exactly one line end.
///
/// A template may use `id`, `title`, `description`, `done_when`, `commit`, `further` (each with `title`, `text`), `parent.title`, `parent.description`,
/// `prerequisites` (each with `id`, `title`, `summary`), `specs_dir` and `memory`.
///
/// Descriptions are the user's own words and stay as they are, but for line ends behind them and characters
/// that nobody sees. Those of tasks that agents made were neutralized when they were made.
///
/// [`RenderedMemory::text`]: super::RenderedMemory::text
///
/// # Errors
///
/// When the template uses something that is not there, or uses it wrongly.
pub fn render_task(
    task: &TaskPart,
    memory: &str,
    template: &Template,
) -> Result<String, TemplateError> {
    let prerequisites = task.prerequisites.iter().map(|done| PrerequisiteData {
        id: one_line(&done.id),
        title: one_line(&done.title),
        summary: done.summary.as_deref().and_then(non_blank).map(inert_line),
    });
    let mut prompt = template.render(Data {
        id: one_line(&task.id),
        title: one_line(&task.title),
        description: body(&task.description),
        done_when: task.done_when.as_deref().and_then(non_blank).map(one_line),
        commit: task.commit.as_deref().and_then(non_blank).map(one_line),
        further: &task.further,
        parent: task.parent.as_ref().map(|parent| ParentData {
            title: one_line(&parent.title),
            description: body(&parent.description),
        }),
        prerequisites: prerequisites.collect(),
        specs_dir: task.specs_dir.as_deref().and_then(non_blank).map(one_line),
        memory,
    })?;
    prompt.truncate(prompt.trim_end_matches(['\n', '\r']).len());
    prompt.push('\n');
    Ok(without_invisible(&prompt).into_owned())
}

fn non_blank(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}

/// A text without the line ends behind it, which would double the blank line to the next section.
fn body(text: &str) -> &str {
    non_blank(text).map_or("", |text| text.trim_end_matches(['\n', '\r']))
}
