//! The task that is to fix a failure, and how it stands in tasks.md.

use super::failure::Failure;
use crate::diagnose::{ErrorKind, diagnose};
use crate::text::neutral::fence_for;
use crate::text::{cut_words, one_line};

const SUMMARY_CHARS: usize = 50;
const ERROR_CHARS: usize = 500;
const NO_ERROR: &str = "Task execution failed";
const NO_ATTEMPT: &str = "No previous fix attempted";
/// What stands for a gate in the block of a fix task that has none.
pub const NO_VERIFY: &str = "echo 'Verify manually'";
const FIELD: &str = "  - **Verify**:";
const BELOW: &str = "    ";
const SHORTEST_FENCE: usize = 3;
const NO_SCOPE: &str = "recovery";
const NO_FOLDER: &str = ".";

/// What the failed task says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Original<'a> {
    pub files: &'a [String],
    /// Its Verify field as its author wrote it.
    pub verify: Option<&'a str>,
    /// The folder of its spec, such as `specs/my-feature`.
    pub spec_folder: Option<&'a str>,
    /// The category of the failure's report, such as `test_failure`.
    pub error_category: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixTask {
    pub key: String,
    /// The key of the task it is to fix.
    pub fix_of: String,
    pub title: String,
    /// What to do: the Do field, its steps on lines of their own.
    pub description: String,
    /// Its files, else the one folder where they should be.
    pub files: Vec<String>,
    /// How it is proved, as it stands in the Verify field.
    pub verify: String,
    pub done_when: String,
    pub commit: String,
}

impl FixTask {
    pub fn new(key: String, failure: &Failure, original: &Original<'_>) -> Self {
        let fix_of = &failure.task_id;
        let error = line_of(Some(&failure.error)).unwrap_or_else(|| NO_ERROR.to_owned());
        let attempt = line_of(failure.known_attempt()).unwrap_or_else(|| NO_ATTEMPT.to_owned());
        let summary = match line_of(failure.known_error()) {
            Some(known) => cut_words(&known, SUMMARY_CHARS).into_owned(),
            None => format!("task {fix_of} failure"),
        };
        let of_category = || ErrorKind::of_category(original.error_category?);
        let kind = diagnose(&error).kind().or_else(of_category);
        let kind = kind.unwrap_or(ErrorKind::Other);
        let scope = original.spec_folder.and_then(scope_of).unwrap_or_else(|| NO_SCOPE.to_owned());
        Self {
            key,
            title: format!("Fix: {summary}"),
            description: format!(
                "Address the error: {error}\n1. Analyze the failure: {attempt}\n2. Review related \
                 code in Files list\n3. Implement fix for: {error}"
            ),
            files: files_of(original),
            verify: verify_of(original),
            done_when: format!("Error \"{error}\" no longer occurs"),
            commit: format!("fix({scope}): address {kind} from task {fix_of}"),
            fix_of: fix_of.clone(),
        }
    }

    pub fn markers(&self) -> Vec<String> {
        vec![format!("FIX {}", self.fix_of)]
    }

    /// Its block for tasks.md: lines that end in `\n`, no blank line around them.
    pub fn block(&self) -> String {
        let mut lines = vec![format!("- [ ] {} [FIX {}] {}", self.key, self.fix_of, self.title)];
        let (first, steps) = self.description.split_once('\n').unwrap_or((&self.description, ""));
        lines.push(format!("  - **Do**: {first}"));
        lines.extend(steps.lines().map(|step| format!("    {step}")));
        lines.push(format!("  - **Files**: {}", self.files.join(", ")));
        lines.push(format!("  - **Done when**: {}", self.done_when));
        lines.extend(verify_lines(&self.verify));
        lines.push(format!("  - **Commit**: `{}`", self.commit));
        lines.join("\n") + "\n"
    }
}

/// A text on one line, as long as an error may be; none where nothing is left of it. Inside a line
/// it can neither begin a block of Markdown nor end one.
fn line_of(text: Option<&str>) -> Option<String> {
    let line = one_line(text?, usize::MAX);
    let line = cut_words(&line, ERROR_CHARS);
    (!line.is_empty()).then(|| line.into_owned())
}

fn files_of(original: &Original<'_>) -> Vec<String> {
    let files = original.files.iter().map(|file| one_line(file, usize::MAX));
    let files: Vec<String> = files.filter(|file| !file.is_empty()).collect();
    if files.is_empty() { vec![folder_of(original.spec_folder)] } else { files }
}

fn folder_of(spec_folder: Option<&str>) -> String {
    let folder = one_line(spec_folder.unwrap_or_default(), usize::MAX);
    match folder.trim_end_matches('/') {
        "" if folder.is_empty() => NO_FOLDER.to_owned(),
        "" => "/".to_owned(),
        folder => folder.to_owned(),
    }
}

fn verify_of(original: &Original<'_>) -> String {
    let verify = original.verify.unwrap_or_default();
    let verify = if verify.trim().is_empty() { NO_VERIFY } else { verify };
    verify.trim_end().to_owned()
}

/// The spec's name as the scope of a commit message: one word, in which nothing ends the scope.
fn scope_of(spec_folder: &str) -> Option<String> {
    let parts = spec_folder.split(['/', '\\']).map(str::trim);
    let name = parts.rev().find(|part| !part.is_empty() && *part != ".")?;
    let is_of_scope = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let words = name.split(|c| !is_of_scope(c)).filter(|word| !word.is_empty());
    let scope = words.collect::<Vec<_>>().join("-");
    scope.contains(char::is_alphanumeric).then_some(scope)
}

/// The Verify field's lines: a command on its line, a script in a fence below it. What is read back from them is what was given, white space
/// around it aside.
fn verify_lines(verify: &str) -> Vec<String> {
    let verify = verify.trim_end();
    let script: Vec<&str> = verify.lines().skip_while(|line| line.trim().is_empty()).collect();
    if let [] | [_] = script.as_slice() {
        return vec![format!("{FIELD} {}", verify.trim())];
    }
    let mut lines = vec![FIELD.to_owned()];
    let below = |line: &&str| if line.is_empty() { String::new() } else { format!("{BELOW}{line}") };
    if is_fenced(&script) {
        lines.extend(script.iter().map(below));
    } else {
        // Longer than any in the script, so that none of those ends it.
        let fence = fence_for(verify);
        lines.push(format!("{BELOW}{fence}"));
        lines.extend(script.iter().map(below));
        lines.push(format!("{BELOW}{fence}"));
    }
    lines
}

/// Whether the lines are one fenced block already: opened by the first, closed by the last.
fn is_fenced(lines: &[&str]) -> bool {
    let [first, between @ .., last] = lines else { return false };
    let Some(mark @ ('`' | '~')) = first.chars().next() else { return false };
    let length = first.chars().take_while(|c| *c == mark).count();
    let info = first.get(length..).unwrap_or_default();
    let closes = |line: &&str| {
        let line = line.trim();
        line.len() >= length && line.chars().all(|c| c == mark)
    };
    let opens = length >= SHORTEST_FENCE && !(mark == '`' && info.contains('`'));
    opens && closes(last) && !between.iter().any(closes)
}

#[cfg(test)]
mod tests;
