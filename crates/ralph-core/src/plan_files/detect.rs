//! Which format a file has.

use crate::plan_files::text::without_mark;
use serde_json::Value;

/// A format of plan files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Task lines with keys, and fields below them.
    TasksMd,
    /// Any Markdown list with checkboxes.
    Checklist,
    /// prd.json.
    Prd,
    /// A plan file of get-shit-done.
    Gsd,
    /// Ralph's own export: JSON lines.
    Lines,
}

impl Format {
    /// Its name, as it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TasksMd => "tasks_md",
            Self::Checklist => "checklist",
            Self::Prd => "prd",
            Self::Gsd => "gsd",
            Self::Lines => "jsonl",
        }
    }
}

/// Tells the format of a file by its name and text. Whether the text is a tasks.md is for the
/// reader of those to say.
#[must_use]
pub fn detect(path_name: &str, text: &str, is_tasks_md: bool) -> Format {
    let name = path_name
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(path_name)
        .to_ascii_lowercase();
    let text = without_mark(text);
    let is_markdown = name.ends_with(".md") || name.ends_with(".markdown");
    if name.ends_with(".jsonl") || (!is_markdown && begins_with_typed_line(text)) {
        Format::Lines
    } else if name.ends_with(".json") || (!is_markdown && begins_as_json(text)) {
        Format::Prd
    } else if is_gsd_plan(&name, text) {
        Format::Gsd
    } else if is_tasks_md {
        Format::TasksMd
    } else {
        Format::Checklist
    }
}

/// Whether the first line is an object that tells its type, and no whole prd.json.
fn begins_with_typed_line(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    first.starts_with('{')
        && matches!(serde_json::from_str(first), Ok(Value::Object(object))
            if object.contains_key("type") && !object.contains_key("userStories"))
}

/// An object or an array of objects; a checkbox without a list (`[ ] x`) or a link is none.
fn begins_as_json(text: &str) -> bool {
    let text = text.trim_start();
    match text.strip_prefix('[').map(str::trim_start) {
        Some(inner) => inner.starts_with('{') || inner.trim_end() == "]",
        None => text.starts_with('{'),
    }
}

fn is_gsd_plan(name: &str, text: &str) -> bool {
    let has_frontmatter = || {
        text.trim_start()
            .lines()
            .next()
            .is_some_and(|line| line.trim_end() == "---")
    };
    let has_tasks = || text.contains("<task ") || text.contains("<task>");
    match name {
        "plan.md" => has_frontmatter() && has_tasks(),
        name => name.ends_with("-plan.md") && (has_frontmatter() || has_tasks()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, detect};
    use proptest::prelude::*;

    #[test]
    fn files_are_told_by_name_and_text() {
        let line = "{\"type\":\"task\"}\n{\"type\":\"task\"}\n";
        for (name, text, format) in [
            ("plan.jsonl", "", Format::Lines),
            ("export.json", line, Format::Lines),
            ("-", line, Format::Lines),
            ("prd.json", "{\n \"userStories\": []}", Format::Prd),
            (
                "prd.json",
                "{\"type\":\"prd\",\"userStories\":[]}",
                Format::Prd,
            ),
            ("prd.json", "not json", Format::Prd),
            ("-", "\u{feff} [\n {\"id\": \"a\"}]", Format::Prd),
            ("-", "[ ] a", Format::Checklist),
            ("TODO.md", "[![badge](a)](b)\n- [ ] a", Format::Checklist),
            ("TODO.md", "{\"type\": 1}\n- [ ] a", Format::Checklist),
            ("a/01-02-PLAN.md", "---\nphase: 1\n---\n", Format::Gsd),
            ("01-02-PLAN.md", "# Plan\n<task type=\"auto\">", Format::Gsd),
            ("MY-PLAN.md", "- [ ] a", Format::Checklist),
            ("PLAN.md", "- [ ] a", Format::Checklist),
            ("PLAN.md", "---\nplan: 1\n---\n<task>", Format::Gsd),
            ("", "", Format::Checklist),
        ] {
            assert_eq!(detect(name, text, false), format, "{name}: {text}");
        }
    }

    #[test]
    fn tasks_md_is_told_by_its_reader() {
        assert_eq!(detect("a.md", "- [ ] 1.1 a", true), Format::TasksMd);
        assert_eq!(
            detect("01-01-PLAN.md", "---\n---\n- [ ] 1.1 a", true),
            Format::Gsd
        );
        assert_eq!(detect("a.json", "{}", true), Format::Prd);
    }

    proptest! {
        #[test]
        fn never_panics(name in any::<String>(), text in any::<String>(), is_tasks_md: bool) {
            let _ = detect(&name, &text, is_tasks_md);
        }
    }
}
