//! Writing a task as a block of a spec.

use super::command::first_word;
use super::inline_code::{as_code, codes, longest_run};
use super::label::Field;
use super::syntax::{bullet, numbered};
use super::value::{commit, files};
use crate::plan_files::DraftTask;

/// How a block shows its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyAs {
    /// As code: it is read back as a command whatever programs there are.
    Code,
    /// As it is, like in the fix tasks of smart-ralph; as code where that would be read otherwise.
    Bare,
}

/// The block of a task, with `\n` as line end and without one at its end. Empty fields are left
/// out; what it depends on is not in it, for the place in the file says that.
#[must_use]
pub fn render(task: &DraftTask, verify_as: VerifyAs) -> String {
    let mut block = head(task);
    field(&mut block, Field::Do, &task.description);
    let files: Vec<_> = task.files.iter().map(|file| written_file(file)).collect();
    field(&mut block, Field::Files, &files.join(", "));
    field(
        &mut block,
        Field::DoneWhen,
        task.done_when.as_deref().unwrap_or_default(),
    );
    if let Some(command) = &task.verify {
        field(
            &mut block,
            Field::Verify,
            &written_command(command.trim(), verify_as),
        );
    }
    if let Some(message) = &task.commit {
        field(&mut block, Field::Commit, &written_message(message.trim()));
    }
    block
}

fn head(task: &DraftTask) -> String {
    let mut head = format!("- [{}] {}", if task.done { 'x' } else { ' ' }, task.name);
    let fix = task.fix_of.as_ref().map(|key| format!("FIX {key}"));
    let fix = fix.filter(|fix| !task.markers.contains(fix));
    for marker in task.markers.iter().chain(&fix) {
        head.push_str(&format!(" [{marker}]"));
    }
    for word in task.title.split_whitespace() {
        head.push(' ');
        head.push_str(word);
    }
    if task.title.trim().is_empty() {
        head.push_str(" Untitled");
    }
    head
}

/// Adds a field: its first line beside the name, unless that begins a list or a fence.
fn field(block: &mut String, field: Field, value: &str) {
    let value = value.trim_end().trim_start_matches(['\n', '\r']);
    if value.is_empty() {
        return;
    }
    block.push_str(&format!("\n  - **{}**:", field.name()));
    for (at, line) in value.split('\n').enumerate() {
        let line = line.trim_end();
        if at == 0 && !begins_block(line) {
            block.push_str(&format!(" {line}"));
        } else if line.is_empty() {
            block.push('\n');
        } else {
            block.push_str(&format!("\n    {line}"));
        }
    }
}

fn begins_block(line: &str) -> bool {
    let is_item = bullet(line).or_else(|| numbered(line)).is_some();
    is_item || line.starts_with("```") || line.starts_with("~~~") || line.starts_with([' ', '\t'])
}

fn written_file(file: &str) -> String {
    let file = file.trim();
    // These could be read together with those of another file.
    let is_plain = !file.contains(['`', '(', ')', '{', '}']) && !begins_block(file);
    match files(file).as_slice() {
        [read] if read == file && is_plain => file.to_owned(),
        _ => as_code(file),
    }
}

fn written_command(command: &str, verify_as: VerifyAs) -> String {
    if command.contains('\n') {
        let fence = "`".repeat(longest_run(command).max(2) + 1);
        return format!("{fence}bash\n{command}\n{fence}");
    }
    let is_plain = first_word(command).is_some() && codes(command).is_empty();
    match verify_as {
        _ if command.is_empty() => String::new(),
        VerifyAs::Bare if is_plain && !begins_block(command) => command.to_owned(),
        _ => as_code(command),
    }
}

fn written_message(message: &str) -> String {
    match message.contains('\n') || commit(message).is_none() {
        true => message.to_owned(),
        false => as_code(message),
    }
}
