//! The files that an output names where it tells of errors: `src/lib.rs:3:5`, `--> src/a.rs:1`, `File "a.py", line 3`.

use crate::diagnose::reports_error;

/// No report needs more.
const MOST: usize = 5;
/// Longer words are no paths.
const LONGEST: usize = 200;

/// Files named with a line number, or on a line that reports an error; each once, in order.
pub(super) fn named_files(output: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for line in output.lines() {
        let tells = reports_error(line);
        for word in line.split([' ', '\t', '"', '\'', '(', ')', '`', ',', '[', ']', '<', '>']) {
            let Some((path, placed)) = path(word) else {
                continue;
            };
            let python = line.trim_start().starts_with("File \"");
            if (placed || tells || python) && !files.iter().any(|file| file == path) {
                files.push(path.to_owned());
            }
            if files.len() == MOST {
                return files;
            }
        }
    }
    files
}

/// A path relative to the project, and whether a line number follows it.
fn path(word: &str) -> Option<(&str, bool)> {
    let word = word.trim_end_matches(['.', ':', ';']);
    let mut parts = word.split(':');
    let name = parts.next()?.trim_start_matches("./");
    let placed = parts
        .next()
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    let (stem, ending) = name.rsplit('/').next()?.rsplit_once('.')?;
    let file = !stem.is_empty()
        && (1..=5).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic());
    let plain = name.len() <= LONGEST
        && !name.starts_with(['/', '-', '~', '$'])
        && !name.contains("..")
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@' | '+'));
    // A word with a dot is a file only where something says so.
    let certain = placed || name.contains('/');
    (file && plain && certain).then_some((name, placed))
}

#[cfg(test)]
mod tests {
    use super::named_files;

    #[test]
    fn cap_09_files_that_errors_name() {
        for (output, files) in [
            (
                "error[E0433]: failed to resolve\n --> src/lib.rs:3:5\n",
                vec!["src/lib.rs"],
            ),
            (
                "src/app.py:14: error: Name \"x\" is not defined",
                vec!["src/app.py"],
            ),
            (
                "  File \"pkg/mod.py\", line 3, in f\nKeyError: 'a'",
                vec!["pkg/mod.py"],
            ),
            ("main.c:4:10: error: expected ';'", vec!["main.c"]),
            (
                "FAILED tests/test_a.py::test_b - assert 1 == 2",
                vec!["tests/test_a.py"],
            ),
            ("src/a.ts(3,5): error TS2322: no", vec!["src/a.ts"]),
            (
                "version 1.2.3 of foo.bar at http://x.y/z.html is fine",
                vec![],
            ),
            ("error: e.g. nothing", vec![]),
            ("error: see /etc/passwd and ../up.rs:3", vec![]),
        ] {
            assert_eq!(named_files(output), files, "{output}");
        }
    }
}
