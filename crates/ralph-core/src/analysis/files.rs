//! `Affected:` the file that most failures name or changed.

use super::place::files_in;
use super::seen::Seen;
use super::words::{commonest, distinct};
use crate::text::code_line;

/// How many files of a failure are looked at.
const MAX_FILES: usize = 100;

/// How much of a path is shown.
const PATH_CHARS: usize = 120;

/// The line's text.
pub(super) fn affected(seen: &[Seen<'_>]) -> Option<String> {
    let (file, count) = commonest(seen.iter().flat_map(files))?;
    Some(format!("{file} ({count} of {})", seen.len()))
}

/// The commonest file of these failures.
pub(super) fn commonest_file(seen: &[&Seen<'_>]) -> Option<(String, usize)> {
    commonest(seen.iter().flat_map(|one| files(one)))
}

/// A failure's files, each once. Where it lists none, those that its message names.
fn files(one: &Seen<'_>) -> Vec<String> {
    let listed: Vec<String> = one
        .fact
        .files
        .iter()
        .take(MAX_FILES)
        .filter_map(|file| plain(file))
        .collect();
    if !listed.is_empty() {
        return distinct(listed);
    }
    let named = one.lines.iter().flat_map(|line| files_in(&line.text));
    distinct(named.take(MAX_FILES).filter_map(plain))
}

/// A path as it is shown; none for Ralph's own files, which every attempt touches.
fn plain(path: &str) -> Option<String> {
    let path = code_line(path, PATH_CHARS);
    let path = path.strip_prefix("./").unwrap_or(&path);
    let own = path.split('/').any(|part| part == ".ralph")
        || path.rsplit('/').next() == Some("AGENTS.md");
    (!path.is_empty() && !own).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Fact;

    fn of(all: &[(&[&str], &str)]) -> Option<String> {
        let facts: Vec<Fact> = all
            .iter()
            .map(|(files, message)| Fact {
                files: files.iter().map(|file| (*file).to_owned()).collect(),
                message: (*message).to_owned(),
                ..Fact::default()
            })
            .collect();
        affected(&facts.iter().map(Seen::new).collect::<Vec<_>>())
    }

    #[test]
    fn ana_01_the_commonest_file_is_counted_once_for_each_failure() {
        let all: [(&[&str], &str); 3] = [
            (&["a.rs", "a.rs", "a.rs"], ""),
            (&["b.toml"], ""),
            (&["./b.toml", "c.sql"], ""),
        ];
        assert_eq!(of(&all).as_deref(), Some("b.toml (2 of 3)"));
    }

    #[test]
    fn ana_02_ralphs_own_files_are_not_affected() {
        let own: &[&str] = &[".ralph/STATE.md", "AGENTS.md", "/p/.ralph/x", "./AGENTS.md"];
        assert_eq!(of(&[(own, "")]), None);
        assert_eq!(
            of(&[(own, "bad conf/a.yaml")]).as_deref(),
            Some("conf/a.yaml (1 of 1)")
        );
        assert_eq!(
            of(&[(&["x.ralph/a"], "")]).as_deref(),
            Some("x.ralph/a (1 of 1)")
        );
    }

    #[test]
    fn ana_02_nothing_found_is_no_line() {
        assert_eq!(of(&[(&[], "no idea"), (&["", " \n"], "")]), None);
    }
}
