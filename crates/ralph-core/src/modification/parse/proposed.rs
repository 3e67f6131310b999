//! Proposed tasks: objects, or strings of Markdown.

use serde_json::Value;

use super::code::{names, unwrapped};
use super::fault::Fault;
use super::fields::Fields;
use super::placeholder::given;
use super::{block, headline};
use crate::modification::request::Proposed;

/// Reads every proposed task. Titles stay as they are, placeholders included.
pub(super) fn read_all(values: Vec<Value>) -> Result<Vec<Proposed>, Fault> {
    let mut tasks = Vec::new();
    for value in values {
        match value {
            Value::String(text) if text.trim().is_empty() => tasks.push(Proposed::default()),
            Value::String(text) => tasks.extend(block::read(&text)),
            Value::Object(_) => tasks.push(read(Fields::new(value))?),
            Value::Null => {}
            _ => return Err(Fault::BadTasks),
        }
    }
    Ok(tasks)
}

/// Reads a task that is an object.
fn read(mut fields: Fields) -> Result<Proposed, Fault> {
    let key = fields.text(&["id", "key", "taskId"], "id")?;
    let key = given(&key).map(str::to_owned);
    let title = fields.text(&["title", "name", "task", "summary"], "title")?;
    let about = fields.text(&["description", "details"], "description")?;
    let steps = fields.strings(&["do", "steps"], "do")?.unwrap_or_default();
    let parts = [
        given(&about).unwrap_or_default().to_owned(),
        numbered(&steps),
    ];
    let description: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let files = fields
        .strings(&["files", "file", "relevantFiles"], "files")?
        .unwrap_or_default();
    let verify = fields
        .strings(
            &["verify", "verification", "verifyCommand", "gate"],
            "verify",
        )?
        .unwrap_or_default();
    let commands: Vec<&str> = verify
        .iter()
        .map(|command| unwrapped(command))
        .filter_map(given)
        .collect();
    let depends = fields.strings(
        &["dependsOn", "depends", "dependencies", "after"],
        "dependsOn",
    )?;
    let done_when = fields.text(&["doneWhen", "done", "acceptanceCriteria"], "doneWhen")?;
    let commit = fields.text(&["commit", "commitMessage"], "commit")?;
    Ok(Proposed {
        title: plain_title(&title, key.as_deref()),
        key,
        description: description.join("\n\n"),
        files: names(files.iter().map(String::as_str)),
        done_when: given(&done_when).map(str::to_owned),
        verify: (!commands.is_empty()).then(|| commands.join(" && ")),
        commit: given(unwrapped(&commit)).map(str::to_owned),
        depends: depends.map(|list| names(list.iter().map(String::as_str))),
    })
}

/// A title without the checkbox and the key that some repeat in it.
fn plain_title(title: &str, key: Option<&str>) -> String {
    let title = title.trim();
    if headline::after_checkbox(title).is_some() {
        return headline::headline(title).title;
    }
    let rest = key.and_then(|key| title.strip_prefix(key));
    match rest.and_then(|rest| rest.strip_prefix([' ', ':'])) {
        Some(rest) if !rest.trim().is_empty() => rest.trim().to_owned(),
        _ => title.to_owned(),
    }
}

/// Steps as a numbered list; a single one, and those that have their own marks, stay as they are.
fn numbered(steps: &[String]) -> String {
    let steps: Vec<&str> = steps.iter().filter_map(|step| given(step)).collect();
    let marked =
        |step: &&str| step.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '*');
    if steps.len() < 2 || steps.iter().all(marked) {
        return steps.join("\n");
    }
    let lines: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(index, step)| format!("{}. {step}", index + 1))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Fault, read_all};
    use crate::modification::Proposed;
    use serde_json::json;

    #[test]
    fn mod_01_a_task_with_every_field() {
        let value = json!({
            "id": "1.3.1", "title": "Parser", "do": ["Write it", "Test it"], "files": ["a.rs", "b.rs"],
            "doneWhen": "It parses", "verify": "`cargo test`", "commit": "feat: parser", "dependsOn": ["1.2"],
        });
        let expected = Proposed {
            key: Some("1.3.1".into()),
            title: "Parser".into(),
            description: "1. Write it\n2. Test it".into(),
            files: vec!["a.rs".into(), "b.rs".into()],
            done_when: Some("It parses".into()),
            verify: Some("cargo test".into()),
            commit: Some("feat: parser".into()),
            depends: Some(vec!["1.2".into()]),
        };
        assert_eq!(read_all(vec![value]), Ok(vec![expected]));
    }

    #[test]
    fn mod_01_other_names_and_shapes() {
        let value = json!({
            "key": 7, "name": "7: Parser", "description": "Write it", "steps": "now", "files": "a.rs, `b.rs`",
            "done_when": null, "verify": ["make a", "make b"], "after": "1.2, 1.1", "extra": {"x": [1]},
        });
        let found = read_all(vec![value]).unwrap().remove(0);
        assert_eq!(
            (found.key.as_deref(), found.title.as_str()),
            (Some("7"), "Parser")
        );
        assert_eq!(found.description, "Write it\n\nnow");
        assert_eq!(found.files, ["a.rs", "b.rs"]);
        assert_eq!(found.verify.as_deref(), Some("make a && make b"));
        assert_eq!(found.depends, Some(vec!["1.2".into(), "1.1".into()]));
        let found = read_all(vec![json!({"title": "- [ ] 1.3.1 T", "dependsOn": []})]).unwrap();
        assert_eq!(
            (found[0].title.as_str(), found[0].depends.as_deref()),
            ("T", Some(&[][..]))
        );
    }

    #[test]
    fn sig_07_placeholders_are_no_values() {
        let value = json!({
            "id": "...", "title": "T", "do": ["<step>"], "files": ["<path>"], "verify": "<command>",
            "commit": "...", "doneWhen": "<criterion>",
        });
        let expected = Proposed {
            title: "T".into(),
            ..Proposed::default()
        };
        assert_eq!(read_all(vec![value]), Ok(vec![expected]));
    }

    #[test]
    fn mod_03_what_is_no_task_breaks_the_request() {
        assert_eq!(read_all(vec![json!(1)]), Err(Fault::BadTasks));
        assert_eq!(read_all(vec![json!([])]), Err(Fault::BadTasks));
        assert_eq!(
            read_all(vec![json!({"title": {}})]),
            Err(Fault::BadField("title"))
        );
        assert_eq!(
            read_all(vec![json!({"id": 1.1})]),
            Err(Fault::BadField("id"))
        );
    }
}
