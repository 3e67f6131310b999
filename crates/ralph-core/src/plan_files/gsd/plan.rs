//! One plan file.

use super::check;
use super::elements::{Element, Tags};
use super::frontmatter::{Entry, Frontmatter};
use super::ids::PlanId;
use super::prose::{headed, title_of};
use super::step::{self, Step, labelled, with_label};
use crate::plan_files::draft::Problem;
use crate::plan_files::text::{block, paragraphs};

/// A plan file, read.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) path: String,
    pub(super) id: PlanId,
    pub(super) wave: u32,
    /// As written.
    pub(super) depends_on: Vec<String>,
    pub(super) depends_on_line: usize,
    pub(super) files: Vec<String>,
    /// The objective's first sentence.
    pub(super) title: Option<String>,
    /// The words of its heading.
    pub(super) heading: Option<String>,
    pub(super) description: String,
    /// Only where there are no steps: those have their own.
    pub(super) verify: Option<String>,
    pub(super) done_when: Option<String>,
    pub(super) steps: Vec<Step>,
    pub(super) line: usize,
}

/// Elements that say nothing about the work, or have a place of their own.
const ELSEWHERE: [&str; 8] = [
    "objective",
    "context",
    "task",
    "execution_context",
    "output",
    "verify",
    "verification",
    "success_criteria",
];

/// Reads a plan file. Where it has problems, there may be no plan.
pub(super) fn read(
    path: &str,
    file: &str,
    can_run: &dyn Fn(&str) -> bool,
    problems: &mut Vec<Problem>,
) -> Option<Plan> {
    let front = match Frontmatter::of(file) {
        Ok(front) => front,
        Err(problem) => {
            problems.push(problem);
            return None;
        }
    };
    let tags = Tags::of(file);
    let parts = tags.within(front.end..file.len(), problems);
    // What follows from a tag that is not closed need not be told.
    let is_whole = problems.is_empty();
    let mut steps = Vec::new();
    for task in parts.iter().filter(|part| part.name == "task") {
        let told = problems.len();
        let within = tags.within(task.range.clone(), problems);
        let step = step::read(task, &within, can_run);
        if step.title.is_empty() && problems.len() == told {
            let expected = "a task has no name and no action; expected <name>…</name>".to_owned();
            problems.push(Problem {
                line: task.line,
                expected,
            });
        }
        steps.push(step);
    }
    let id = PlanId::of(path, front.first("phase"), front.first("plan"));
    if id.is_none() {
        let expected =
            "the file name has no plan number; expected a name such as 01-02-PLAN.md".to_owned();
        problems.push(Problem { line: 1, expected });
    }
    let wave = wave(&front, problems);
    let body = Body::of(file.get(front.end..).unwrap_or_default(), &parts);
    if is_whole && steps.is_empty() && body.objective.is_empty() && body.rest.is_empty() {
        let line = tags.line_of(front.end.min(file.len().saturating_sub(1)));
        let expected = "there is nothing to do; expected <objective> or <task> elements".to_owned();
        problems.push(Problem { line, expected });
    }
    let mut done_when = vec![body.success_criteria];
    let mut verify = None;
    if steps.is_empty() {
        let check = check::read(&body.verification, can_run);
        verify = check.command;
        done_when.push(check.words);
    } else {
        done_when.push(body.verification);
    }
    let done_when = paragraphs(done_when.iter().map(String::as_str));
    let rest = if steps.is_empty() {
        body.rest
    } else {
        String::new()
    };
    let depends_on = list(&front, ["depends_on", "depends-on"]);
    let files = list(&front, ["files_modified", "files-modified"]);
    let context = with_label("Context", &body.context);
    id.map(|id| Plan {
        path: path.to_owned(),
        id,
        wave,
        depends_on: names(&depends_on),
        depends_on_line: depends_on.line.max(1),
        files: step::files(&files.values.join(
            "
",
        )),
        title: title_of(&body.objective),
        heading: body.heading,
        description: paragraphs([body.objective.as_str(), &context, &rest]),
        verify,
        done_when: (!done_when.is_empty()).then_some(done_when),
        steps,
        line: body.line.max(1),
    })
}

/// What stands under the first of two spellings of a key.
fn list<'a>(front: &Frontmatter<'a>, keys: [&str; 2]) -> Entry<'a> {
    keys.iter()
        .find_map(|key| front.get(key))
        .cloned()
        .unwrap_or_default()
}

/// Names of plans; some authors leave out the brackets around `01-01, 01-02`.
fn names(entry: &Entry<'_>) -> Vec<String> {
    let names = entry.values.iter().flat_map(|value| value.split(','));
    names
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// The plans of a wave run side by side; without a number a plan is in the first.
fn wave(front: &Frontmatter<'_>, problems: &mut Vec<Problem>) -> u32 {
    let Some(entry) = front.get("wave") else {
        return 1;
    };
    let Some(value) = entry.values.first() else {
        return 1;
    };
    value.parse().unwrap_or_else(|_| {
        let expected = format!("the wave is `{value}`; expected a number such as 1");
        problems.push(Problem {
            line: entry.line,
            expected,
        });
        1
    })
}

/// What stands after the frontmatter, without the tasks.
#[derive(Debug, Default)]
struct Body {
    objective: String,
    context: String,
    verification: String,
    success_criteria: String,
    heading: Option<String>,
    /// Other elements, such as the feature of a test-driven plan.
    rest: String,
    /// Where the objective begins.
    line: usize,
}

impl Body {
    fn of(text: &str, parts: &[Element<'_>]) -> Self {
        let find = |name: &str| parts.iter().find(|part| part.name == name);
        let content = |name: &str| {
            find(name)
                .map(|part| block(part.content))
                .unwrap_or_default()
        };
        let headed = headed(text);
        let or = |found: String, headed: String| if found.is_empty() { headed } else { found };
        let rest = parts
            .iter()
            .filter(|part| !ELSEWHERE.contains(&part.name))
            .map(labelled);
        let rest: Vec<String> = rest.collect();
        Self {
            objective: or(content("objective"), headed.objective),
            context: or(content("context"), headed.context),
            verification: or(content("verification"), content("verify")),
            success_criteria: content("success_criteria"),
            heading: headed.title,
            rest: paragraphs(rest.iter().map(String::as_str)),
            line: find("objective").map_or(1, |part| part.line),
        }
    }
}
