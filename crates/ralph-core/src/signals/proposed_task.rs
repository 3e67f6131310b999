//! Tasks that a request proposes: JSON objects under the many names agents use, or blocks as in tasks.md.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::UnreadableRequest as Unreadable;
use super::given;
use super::plan_request::fold;
use crate::plan::{DraftTask, tasks_md};
use crate::text::{Pattern, group};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedTask {
    pub key: Option<String>,
    pub title: String,
    pub description: String,
    pub files: Vec<String>,
    /// When it counts as done, in words.
    pub done_when: Option<String>,
    pub verify: Option<String>,
    pub commit: Option<String>,
    /// Names of the tasks that must be done before; an empty list says that there are none, no list
    /// says nothing.
    pub depends: Option<Vec<String>>,
}

/// Reads every proposed task, an object or a string of Markdown. Titles stay as they are, placeholders
/// included.
pub(super) fn proposed_tasks(values: Vec<Value>) -> Result<Vec<ProposedTask>, Unreadable> {
    let mut tasks = Vec::new();
    for value in values {
        match value {
            Value::String(text) => tasks.extend(from_markdown(&text)),
            Value::Object(_) => tasks.push(from_object(Fields::new(value))?),
            Value::Null => {}
            _ => return Err(Unreadable::BadTasks),
        }
    }
    Ok(tasks)
}

fn from_object(mut fields: Fields) -> Result<ProposedTask, Unreadable> {
    let owned = |text: &str| given(text).map(str::to_owned);
    let key = owned(&fields.text("id", &["key", "taskId"])?);
    let title = fields.text("title", &["name", "task", "summary"])?;
    let about = fields.text("description", &["details"])?;
    let steps = fields.strings("do", &["steps"])?.unwrap_or_default();
    let parts = [owned(&about).unwrap_or_default(), numbered(&steps)];
    let description = parts.iter().filter(|part| !part.is_empty()).cloned();
    let files = fields.strings("files", &["file", "relevantFiles"])?;
    let verify = fields.strings("verify", &["verification", "verifyCommand", "gate"])?;
    let verify = verify.unwrap_or_default();
    let commands: Vec<&str> = verify.iter().filter_map(|line| given(unticked(line))).collect();
    let depends = fields.strings("dependsOn", &["depends", "dependencies", "after"])?;
    let done_when = fields.text("doneWhen", &["done", "acceptanceCriteria"])?;
    let commit = fields.text("commit", &["commitMessage"])?;
    Ok(ProposedTask {
        title: plain_title(&title, key.as_deref()),
        key,
        description: description.collect::<Vec<_>>().join("\n\n"),
        files: names(&files.unwrap_or_default()),
        done_when: owned(&done_when),
        verify: (!commands.is_empty()).then(|| commands.join(" && ")),
        commit: owned(unticked(&commit)),
        depends: depends.map(|list| names(&list)),
    })
}

/// The tasks of a string: blocks as in tasks.md, or one task whose title is the first line.
fn from_markdown(text: &str) -> Vec<ProposedTask> {
    let text = text.trim();
    // A block is read under a key of ours: its own may be missing, or repeated.
    let mut given_keys = Vec::new();
    let lines = text.lines().map(|line| match after_checkbox(line) {
        Some(head) => {
            let (key, title) = split_key(head.trim());
            given_keys.push(key.map(str::to_owned));
            format!("- [ ] 1.{} {title}\n", given_keys.len())
        }
        None => format!("{line}\n"),
    });
    let file: String = lines.collect();
    let tasks = match tasks_md::Spec::of(&file).read(&|_| true) {
        Ok(draft) if text.starts_with(['-', '*', '+']) => draft.tasks,
        _ => {
            let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
            return vec![ProposedTask {
                title: plain_title(title, None),
                description: rest.trim().to_owned(),
                ..ProposedTask::default()
            }];
        }
    };
    let task = |(task, key): (DraftTask, Option<String>)| {
        // Markers that claim a place in the plan are left out: only the request itself can give one.
        let mut words: Vec<String> = task.markers;
        words.retain(|marker| marker != "P" && !marker.starts_with("FIX"));
        let mut title: String = words.iter().map(|marker| format!("[{marker}] ")).collect();
        title.push_str(&task.title);
        ProposedTask {
            key,
            title,
            description: task.description,
            files: names(&task.files),
            done_when: task.done_when,
            verify: task.verify,
            commit: task.commit,
            depends: None,
        }
    };
    tasks.into_iter().zip(given_keys).map(task).collect()
}

/// What follows the checkbox of a list item.
fn after_checkbox(line: &str) -> Option<&str> {
    static CHECKBOX: Pattern = Pattern::new(r"^[-*+]\s*\[[ xX]?\](?<name>(?s:.*))$");
    CHECKBOX.name(line)
}

/// The key at the beginning of a task line, where there is one, and the rest: `1.3`, `12-01`, `V4`. A
/// number alone, or letters and a number (`S3`, `H2`), may as well be part of a title.
fn split_key(text: &str) -> (Option<&str>, &str) {
    static KEYED: Pattern = Pattern::new(concat!(
        r"^[*`:.)]*(?<key>[A-Z]{0,3}[0-9]+(?:[.-][0-9]+)+|V[EF]?[0-9]+|VF)[*`:.)]*",
        r"\s+(?<rest>(?s:\S.*))$"
    ));
    match KEYED.captures(text) {
        Some(found) => (Some(group(&found, "key")), group(&found, "rest").trim()),
        None => (None, text),
    }
}

/// A title without the checkbox and the key that some repeat in it.
fn plain_title(title: &str, key: Option<&str>) -> String {
    let title = title.trim();
    if let Some(rest) = after_checkbox(title) {
        return split_key(rest.trim()).1.to_owned();
    }
    let rest = key.and_then(|key| title.strip_prefix(key)?.strip_prefix([' ', ':']));
    let rest = rest.map(str::trim).filter(|rest| !rest.is_empty());
    rest.unwrap_or(title).to_owned()
}

/// Steps as a numbered list; a single one, and those that have their own marks, stay as they are.
fn numbered(steps: &[String]) -> String {
    let steps: Vec<&str> = steps.iter().filter_map(|step| given(step)).collect();
    let is_marked = |step: &&str| step.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '*');
    if steps.len() < 2 || steps.iter().all(is_marked) {
        return steps.join("\n");
    }
    let lines = steps.iter().zip(1..).map(|(step, n)| format!("{n}. {step}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The content of a string that is one code span as a whole, else the string. Commands have
/// backticks of their own, so nothing less counts.
fn unticked(value: &str) -> &str {
    let value = value.trim();
    let inner = value.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.filter(|code| !code.contains('`')).unwrap_or(value).trim()
}

/// The names of a list: one per line or comma, list marks, backticks and remarks in parentheses aside,
/// each once.
fn names(values: &[String]) -> Vec<String> {
    let mut known = HashSet::new();
    let parts = values.iter().flat_map(|text| text.split([',', '\n']));
    let names = parts.filter_map(|part| {
        let part = part.trim();
        let part = part.strip_prefix("- ").or_else(|| part.strip_prefix("* ")).unwrap_or(part);
        let name = match part.split_once(" (") {
            Some((name, remark)) if remark.ends_with(')') => name,
            _ => part,
        };
        given(name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'')))
    });
    names.filter(|name| known.insert(*name)).map(str::to_owned).collect()
}

/// The fields of a JSON object, whose names are matched without case, `_`, `-` and blanks.
pub(super) struct Fields(HashMap<String, Value>);

impl Fields {
    /// Takes an object apart; anything else has no fields. Nulls are as good as absent.
    pub(super) fn new(value: Value) -> Self {
        let mut fields = HashMap::new();
        if let Value::Object(object) = value {
            for (name, value) in object.into_iter().filter(|(_, value)| !value.is_null()) {
                fields.entry(fold(&name)).or_insert(value);
            }
        }
        Self(fields)
    }

    /// The value under a name, else under the first of the other names that agents give it.
    pub(super) fn take(&mut self, name: &str, others: &[&str]) -> Option<Value> {
        let mut names = std::iter::once(&name).chain(others);
        names.find_map(|name| self.0.remove(&fold(name)))
    }

    /// A string, an array of strings, or whole numbers. Other numbers are refused: `1.10` would become `1.1`.
    pub(super) fn strings(
        &mut self,
        name: &'static str,
        others: &[&str],
    ) -> Result<Option<Vec<String>>, Unreadable> {
        let values = match self.take(name, others) {
            None => return Ok(None),
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
        };
        let values = values.into_iter().filter(|value| !value.is_null());
        let scalar = |value: Value| match value {
            Value::String(text) => Ok(text),
            Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
            _ => Err(Unreadable::BadField(name)),
        };
        values.map(scalar).collect::<Result<_, _>>().map(Some)
    }

    /// The same as one trimmed text, an array's lines joined; empty without any.
    pub(super) fn text(&mut self, name: &'static str, others: &[&str]) -> Result<String, Unreadable> {
        let lines = self.strings(name, others)?.unwrap_or_default();
        Ok(lines.join("\n").trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mod_01_names_are_matched_loosely() {
        for name in ["doneWhen", "done_when", "Done when", "DONE-WHEN"] {
            let mut fields = Fields::new(json!({ name: " x " }));
            assert_eq!(fields.text("doneWhen", &[]).unwrap(), "x", "{name}");
        }
        let mut fields = Fields::new(json!({"action": "b", "type": null, "kind": 7}));
        assert_eq!(fields.text("type", &["action", "kind"]).unwrap(), "b");
        assert_eq!(fields.text("type", &["action", "kind"]).unwrap(), "7");
        assert_eq!(fields.text("type", &["action", "kind"]).unwrap(), "");
    }

    #[test]
    fn mod_01_texts_may_be_arrays_of_lines() {
        let mut fields = Fields::new(json!({"a": ["x", null, 2], "b": {"c": 1}, "d": 1.1}));
        assert_eq!(fields.text("a", &[]).unwrap(), "x\n2");
        assert_eq!(fields.text("b", &[]), Err(Unreadable::BadField("b")));
        assert_eq!(fields.text("d", &[]), Err(Unreadable::BadField("d")));
        assert_eq!(Fields::new(json!([1])).text("a", &[]).unwrap(), "");
    }

    #[test]
    fn mod_01_a_task_with_every_field() {
        let value = json!({
            "id": "1.3.1", "title": "Parser", "do": ["Write it", "Test it"], "files": ["a.rs", "b.rs"],
            "doneWhen": "It parses", "verify": "`cargo test`", "commit": "feat: parser", "dependsOn": ["1.2"],
        });
        let expected = ProposedTask {
            key: Some("1.3.1".into()),
            title: "Parser".into(),
            description: "1. Write it\n2. Test it".into(),
            files: vec!["a.rs".into(), "b.rs".into()],
            done_when: Some("It parses".into()),
            verify: Some("cargo test".into()),
            commit: Some("feat: parser".into()),
            depends: Some(vec!["1.2".into()]),
        };
        assert_eq!(proposed_tasks(vec![value]), Ok(vec![expected]));
    }

    #[test]
    fn mod_01_other_names_and_shapes() {
        let value = json!({
            "key": 7, "name": "7: Parser", "description": "Write it", "steps": "now", "files": "a.rs, `b.rs`",
            "done_when": null, "verify": ["make a", "make b"], "after": "1.2, 1.1", "extra": {"x": [1]},
        });
        let found = proposed_tasks(vec![value]).unwrap().remove(0);
        assert_eq!((found.key.as_deref(), found.title.as_str()), (Some("7"), "Parser"));
        assert_eq!(found.description, "Write it\n\nnow");
        assert_eq!(found.files, ["a.rs", "b.rs"]);
        assert_eq!(found.verify.as_deref(), Some("make a && make b"));
        assert_eq!(found.depends, Some(vec!["1.2".into(), "1.1".into()]));
        let found = proposed_tasks(vec![json!({"title": "- [ ] 1.3.1 T", "dependsOn": []})]).unwrap();
        assert_eq!((found[0].title.as_str(), found[0].depends.as_deref()), ("T", Some(&[][..])));
    }

    #[test]
    fn sig_07_placeholders_in_tasks_are_no_values() {
        let value = json!({
            "id": "...", "title": "T", "do": ["<step>"], "files": ["<path>"], "verify": "<command>",
            "commit": "...", "doneWhen": "<criterion>",
        });
        let expected = ProposedTask { title: "T".into(), ..ProposedTask::default() };
        assert_eq!(proposed_tasks(vec![value]), Ok(vec![expected]));
    }

    #[test]
    fn mod_03_what_is_no_task_breaks_the_request() {
        assert_eq!(proposed_tasks(vec![json!(1)]), Err(Unreadable::BadTasks));
        assert_eq!(proposed_tasks(vec![json!([])]), Err(Unreadable::BadTasks));
        assert_eq!(proposed_tasks(vec![json!({"title": {}})]), Err(Unreadable::BadField("title")));
        assert_eq!(proposed_tasks(vec![json!({"id": 1.1})]), Err(Unreadable::BadField("id")));
    }

    #[test]
    fn mod_01_a_block_as_spec_executors_write_it() {
        let text = "- [ ] 1.3.1 Add the parser\n  - **Do**:\n    1. Write it\n       - with care\n    2. Test: all of it\n  \
                    - **Files**: `src/a.ts`, src/b.ts (new)\n  - **Done when**: It parses\n  \
                    - **Verify**: `pnpm test && echo PASS`\n  - **Commit**: `feat(a): add parser`\n  \
                    - _Requirements: FR-1_\n";
        let expected = ProposedTask {
            key: Some("1.3.1".into()),
            title: "Add the parser".into(),
            description: "1. Write it\n   - with care\n2. Test: all of it\n\nRequirements: FR-1".into(),
            files: vec!["src/a.ts".into(), "src/b.ts".into()],
            done_when: Some("It parses".into()),
            verify: Some("pnpm test && echo PASS".into()),
            commit: Some("feat(a): add parser".into()),
            depends: None,
        };
        assert_eq!(from_markdown(text), [expected]);
    }

    #[test]
    fn mod_01_every_checkbox_at_the_margin_is_a_task() {
        let found = from_markdown("- [ ] 1.3.1 A\n  - [ ] a step\n\n- [ ] B\n- [ ] 1.3.1 [P] [VERIFY] C");
        let keys: Vec<_> = found.iter().map(|task| task.key.as_deref()).collect();
        assert_eq!(keys, [Some("1.3.1"), None, Some("1.3.1")]);
        assert_eq!(found[0].description, "- a step");
        let titles: Vec<_> = found.iter().map(|task| task.title.as_str()).collect();
        assert_eq!(titles, ["A", "B", "[VERIFY] C"]);
        assert_eq!(from_markdown("Just a title")[0].title, "Just a title");
        assert_eq!(from_markdown(" "), [ProposedTask::default()]);
    }

    #[test]
    fn mod_01_key_and_title_of_a_task_line() {
        for (line, key, title) in [
            ("1.3.1 Add the parser", Some("1.3.1"), "Add the parser"),
            ("**1.3.1**: Add it", Some("1.3.1"), "Add it"),
            ("V4 [VERIFY] Check", Some("V4"), "[VERIFY] Check"),
            ("12-01: Add it", Some("12-01"), "Add it"),
            ("S3 upload", None, "S3 upload"),
            ("2 files to fix", None, "2 files to fix"),
            ("1.3.1", None, "1.3.1"),
            ("日本 1.3", None, "日本 1.3"),
        ] {
            assert_eq!(split_key(line), (key, title), "{line}");
        }
    }

    #[test]
    fn mod_01_strings_that_are_all_code_and_lists_of_names() {
        assert_eq!(unticked(" `make check` "), "make check");
        assert_eq!(unticked("test `date` = x"), "test `date` = x");
        let names = |text: &str| names(&[text.to_owned()]);
        assert_eq!(names("`a.rs`, b/c.rs (new), \"d.rs\""), ["a.rs", "b/c.rs", "d.rs"]);
        assert_eq!(names("\n - a.rs\n * `b.rs`\n- a.rs,None,<path>,,..."), ["a.rs", "b.rs"]);
    }
}
