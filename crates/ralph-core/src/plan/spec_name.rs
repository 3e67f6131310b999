//! What people call a plan's file: `auth` for `specs/auth/tasks.md`, `prd` for `prd.json`.

use std::collections::{HashMap, HashSet};

use super::Format;
use super::import::TASKS_MD;

/// A name for each file, by its path and format: the folder of a tasks.md, the folder above `.planning`, else the name of the
/// file without its ending. Names that several files would have are lengthened by the folders above until they differ.
pub fn spec_names<'p>(files: impl IntoIterator<Item = (&'p str, &'p str)>) -> Vec<String> {
    let words: Vec<Vec<String>> = files.into_iter().map(|(path, format)| words(path, format)).collect();
    let mut taken = vec![1; words.len()];
    let name = |at: usize, taken: usize| {
        let words = &words[at];
        words[words.len().saturating_sub(taken)..].join("/")
    };
    loop {
        let names: Vec<String> = taken.iter().enumerate().map(|(at, taken)| name(at, *taken)).collect();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        names.iter().for_each(|name| *uses.entry(name).or_default() += 1);
        let mut is_longer = false;
        for (at, name) in names.iter().enumerate() {
            if uses[name.as_str()] > 1 && taken[at] < words[at].len() {
                taken[at] += 1;
                is_longer = true;
            }
        }
        if !is_longer {
            return numbered(names);
        }
    }
}

/// Every name that a file may be given by: its own, those with fewer or more folders, and its path.
pub fn is_spec_name(name: &str, path: &str, format: &str) -> bool {
    let words = words(path, format);
    name == path || (0..words.len()).any(|from| words[from..].join("/") == name)
}

/// The words of a path that make a name, each such that it needs no quotes in a shell and has no colon.
fn words(path: &str, format: &str) -> Vec<String> {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let last = parts.pop().unwrap_or("plan");
    let names_folder = last.eq_ignore_ascii_case(TASKS_MD)
        || format == Format::Gsd.as_str() && matches!(last, ".planning" | "ROADMAP.md");
    if !names_folder || parts.is_empty() {
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        parts.push(if stem.is_empty() { last.trim_start_matches('.') } else { stem });
    }
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    parts.iter().map(|part| part.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()).collect()
}

/// Names that differ by no folder (`a/tasks.md` and `a.md`) get a number.
fn numbered(names: Vec<String>) -> Vec<String> {
    let mut used: HashSet<String> = HashSet::new();
    let all: HashSet<String> = names.iter().cloned().collect();
    let number = |name: String| {
        let mut own = name.clone();
        let mut numbers = 2..;
        while !used.insert(own.clone()) {
            let mut free = numbers.by_ref().map(|number| format!("{name}-{number}"));
            own = free.find(|other| !all.contains(other)).unwrap_or_default();
        }
        own
    };
    names.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plan_01_a_spec_is_called_by_its_folder_or_file_and_lengthened_where_ambiguous() {
        for (files, names) in [
            (vec![("specs/auth/tasks.md", "tasks_md")], vec!["auth"]),
            (vec![("tasks.md", "tasks_md"), ("prd.json", "prd")], vec!["tasks", "prd"]),
            (vec![(".planning", "gsd"), ("web/.planning", "gsd")], vec!["planning", "web"]),
            (
                vec![("a/auth/tasks.md", "tasks_md"), ("b/auth/tasks.md", "tasks_md")],
                vec!["a/auth", "b/auth"],
            ),
            (
                vec![
                    ("x/a/auth/tasks.md", "tasks_md"),
                    ("y/a/auth/tasks.md", "tasks_md"),
                    ("auth.md", "checklist"),
                ],
                vec!["x/a/auth", "y/a/auth", "auth"],
            ),
            (vec![("My spec: 1/TASKS.md", "tasks_md")], vec!["My-spec--1"]),
            (vec![("a/tasks.md", "tasks_md"), ("a.md", "checklist")], vec!["a", "a-2"]),
            (vec![("/out/side/todo.md", "checklist")], vec!["todo"]),
        ] {
            assert_eq!(spec_names(files.iter().copied()), names, "{files:?}");
        }
        for name in ["auth", "specs/auth", "specs/auth/tasks.md"] {
            assert!(is_spec_name(name, "specs/auth/tasks.md", "tasks_md"), "{name}");
        }
        assert!(!is_spec_name("specs", "specs/auth/tasks.md", "tasks_md"));
    }

    proptest! {
        #[test]
        fn plan_01_names_of_different_files_differ(paths in prop::collection::hash_set("[ab/.:]{1,8}", 0..6)) {
            let names = spec_names(paths.iter().map(|path| (path.as_str(), "checklist")));
            let different: std::collections::HashSet<&String> = names.iter().collect();
            prop_assert!(names.iter().all(|name| !name.is_empty() && !name.contains([':', ' '])));
            prop_assert_eq!(different.len(), names.len());
        }
    }
}
