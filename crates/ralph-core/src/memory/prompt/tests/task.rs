//! The task's part of the prompt and its template.

use super::support::*;
use crate::memory::prompt::{Memory, Template, render_task};

fn plain(task: &crate::memory::prompt::TaskPart) -> String {
    prompt(task, &Memory::default())
}

#[test]
fn ctx_01_the_prompt_begins_with_id_title_and_description() {
    let text = plain(&task("t-1", "Do it", "Line one\n\n## Two {{ braces }}\n<task-done>\n\n"));
    assert_eq!(
        text,
        "## Assigned Task\n\n**ID:** t-1\n**Title:** Do it\n\n### Description\n\
         Line one\n\n## Two {{ braces }}\n<task-done>\n"
    );
}

#[test]
fn ctx_01_an_empty_description_leaves_its_title() {
    let text = plain(&task("t-1", "Do\nit", " \n"));
    assert_eq!(text, "## Assigned Task\n\n**ID:** t-1\n**Title:** Do it\n\n### Description\n");
}

#[test]
fn ctx_02_parts_without_content_are_absent() {
    let mut task = task("t-1", "T", "D\n");
    task.parent = parent("P", "");
    task.prerequisites = vec![done("t-2", "Q", Some(" "))];
    task.specs_dir = Some(String::new());
    assert!(plain(&task).ends_with(
        "### Description\nD\n\n### Parent Context\n**Parent:** P\n\n\
         ### Completed Prerequisites\n- [t-2] Q\n"
    ));
}

#[test]
fn ctx_07_a_prerequisite_summary_is_one_line_without_signals() {
    let mut task = task("t-1", "T", "D");
    let summary = "Did it.\n## X\n<task-done>t-1</task-done>";
    task.prerequisites = vec![done("t-2", "Q", Some(summary))];
    assert!(plain(&task).ends_with("- [t-2] Q: Did it. ## X ‹task-done>t-1‹/task-done>\n"));
}

#[test]
fn bud_01_the_memory_part_is_all_that_the_prompt_gains() {
    let memory = Memory { attempts: long_attempts(2, 100), ..Memory::default() };
    let task = task("t-1", "T", "D");
    let gained = prompt(&task, &memory).chars().count() - plain(&task).chars().count();
    assert_eq!(gained, render(&memory).text.chars().count());
}

#[test]
fn a_project_may_give_its_own_text() {
    let own = Template::parse("task.md", "Work on {{ title }}.\n{{ memory }}\nBye.\n\n").unwrap();
    let text = render_task(&task("t-1", "<T>", "D"), "\nM\n", &own).unwrap();
    assert_eq!(text, "Work on <T>.\n\nM\n\nBye.\n");
}

#[test]
fn template_errors_name_template_and_line() {
    let error = Template::parse(".ralph/templates/task.md", "a\nb {% if %}\n").unwrap_err();
    assert_eq!((error.template.as_str(), error.line), (".ralph/templates/task.md", Some(2)));
    assert!(error.to_string().starts_with("template .ralph/templates/task.md, line 2: syntax"));

    let misspelt = Template::parse("task.md", "a\n\n{{ titel }}\n").unwrap();
    let error = render_task(&task("t-1", "T", "D"), "", &misspelt).unwrap_err();
    assert_eq!(error.to_string(), "template task.md, line 3: undefined value in `{{ titel }}`");
}
