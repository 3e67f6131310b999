//! Lines in which compilers and linters report an error and its place.

use super::super::shape;

/// Whether a line is a compiler's or a linter's error.
pub(super) fn is_diagnostic(line: &str) -> bool {
    line.starts_with("error[") && line.contains("]: ")
        || line.starts_with("error TS")
        || line.starts_with("CMake Error at ")
        || is_placed(line)
        || is_linkers(line)
}

/// `path:3:5: error: …`, `path(3,5): error TS2322: …`, `path:3:5 - error …`, `3:5  error  …`.
fn is_placed(line: &str) -> bool {
    // eslint names the file on a line of its own.
    if let Some((place, rest)) = line.split_once("  ")
        && let Some((row, column)) = place.split_once(':')
        && [row, column].iter().all(|n| n.parse::<u32>().is_ok())
    {
        return rest.trim_start().starts_with("error ");
    }
    let Some((path, numbers, rest)) = shape::place(line) else {
        return false;
    };
    let rest = rest.trim_start_matches([':', ')', ' ', '-']);
    let word = rest.split([' ', ':']).next().unwrap_or_default();
    let file = path.contains(['.', '/']) && !path.contains(' ');
    file && (matches!(word, "error" | "fatal") && rest.contains("error")
        || numbers == 2 && (is_code(word) || path.ends_with(".go")))
}

/// Whether a line is about a place in a file: `a.lua:2: attempt to …`, `… at a.pl line 2.`
pub(super) fn has_place(line: &str) -> bool {
    let line = line.split_once(": ").map_or(line, |(program, rest)| {
        if program.contains([':', ' ', '(']) {
            line
        } else {
            rest
        }
    });
    let at_line = line.rsplit_once(" line ").is_some_and(|(before, number)| {
        before.contains(" at ")
            && number
                .trim_end_matches('.')
                .bytes()
                .all(|b| b.is_ascii_digit())
    });
    at_line
        || shape::place(line).is_some_and(|(path, _, rest)| {
            let quiet = [" note", " info", " warning", " debug", " in "];
            path.contains('.')
                && !path.contains([' ', '('])
                && !path.starts_with("http")
                && rest.starts_with(' ')
                && !quiet.iter().any(|word| rest.starts_with(word))
        })
}

/// A linter's code: one to four capital letters and three or four digits.
pub(super) fn is_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = word
        .bytes()
        .skip(letters)
        .take_while(u8::is_ascii_digit)
        .count();
    (1..=4).contains(&letters) && (3..=4).contains(&digits) && letters + digits == word.len()
}

fn is_linkers(line: &str) -> bool {
    line.contains("undefined reference to ")
        || line.contains("multiple definition of ")
        || line.contains("/ld: cannot find ")
        || line.contains("ld: error: ")
        || line.contains("lld: error: ")
}
