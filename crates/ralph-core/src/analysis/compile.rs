//! Compiler errors: their code and where they are.

use super::place::positions_in;
use super::seen::{Line, Seen};

/// What a report may call it.
const REPORTED: [&str; 3] = ["build_error", "compile_error", "compilation_error"];

/// Longer ones are not codes.
const CODE_CHARS: usize = 10;

/// What did not build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CompileError {
    /// The compiler's code for it, such as `E0433`.
    pub(super) code: Option<String>,
    /// The file it is in.
    pub(super) file: Option<String>,
}

/// The compiler error a failure tells of.
pub(super) fn compile_error(one: &Seen<'_>) -> Option<CompileError> {
    let code = one.lines.iter().find_map(code);
    let placed = one.lines.iter().find_map(placed_error);
    let known = one.is_error_type(&REPORTED)
        || one
            .lines
            .iter()
            .any(|line| line.lower.contains("could not compile"));
    if code.is_none() && placed.is_none() && !known {
        return None;
    }
    let arrow = |line: &Line| {
        let at = line.text.strip_prefix("--> ")?;
        positions_in(at).next().map(|(file, _)| file.to_owned())
    };
    let file = one.lines.iter().find_map(arrow).or(placed);
    Some(CompileError { code, file })
}

/// `error[E0433]`, `error TS2304:`, `error CS1002:`, `error C2065:`.
fn code(line: &Line) -> Option<String> {
    let errors = line.lower.match_indices("error");
    let mut afters = errors.filter_map(|(at, word)| line.text.get(at + word.len()..));
    afters.find_map(code_at)
}

fn code_at(after: &str) -> Option<String> {
    let bracketed = after
        .strip_prefix('[')
        .and_then(|code| code.split_once(']'));
    let code = match bracketed {
        Some((code, _)) => code,
        None => after.strip_prefix(' ')?.split_once(':')?.0,
    };
    let digits = code.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let lettered = digits.len() < code.len();
    let numbered = digits.len() >= 3 && digits.bytes().all(|b| b.is_ascii_digit());
    (lettered && numbered && code.len() <= CODE_CHARS).then(|| code.to_owned())
}

/// The file of `a.c:3:5: error: …`, `A.java:3: error: …`, `./a.go:3:5: undefined: x`.
fn placed_error(line: &Line) -> Option<String> {
    let (file, numbers) = positions_in(&line.text).next()?;
    let starts = line.text.starts_with(file);
    let says = line.lower.contains(": error:") || line.lower.contains(": fatal error:");
    // Tests of Go report a line, its compiler also a column.
    let go = file.ends_with(".go") && numbers == 2;
    (starts && (says || go)).then(|| file.trim_start_matches("./").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Fact;

    fn of(message: &str) -> Option<(Option<String>, Option<String>)> {
        let fact = Fact {
            message: message.into(),
            ..Fact::default()
        };
        compile_error(&Seen::new(&fact)).map(|error| (error.code, error.file))
    }

    fn found(code: Option<&str>, file: Option<&str>) -> Option<(Option<String>, Option<String>)> {
        Some((code.map(String::from), file.map(String::from)))
    }

    #[test]
    fn codes_and_files_of_compilers_are_known() {
        let rust = "error[E0433]: failed to resolve\n   --> src/lib.rs:3:5\n";
        assert_eq!(of(rust), found(Some("E0433"), Some("src/lib.rs")));
        let ts = "src/errors.ts(3,5): error TS2304: Cannot find name";
        assert_eq!(of(ts), found(Some("TS2304"), None));
        assert_eq!(of("a.c:3:5: error: ';' expected"), found(None, Some("a.c")));
        assert_eq!(of("./a.go:3:5: undefined: x"), found(None, Some("a.go")));
        assert_eq!(of("error: could not compile `x`"), found(None, None));
    }

    #[test]
    fn other_errors_are_no_compiler_errors() {
        for message in [
            "a_test.go:3: expected 1",
            "Error: boom",
            "error HTTP: 500",
            "error[abc]: x",
            "thread 'x' panicked at src/lib.rs:3:5: error: y",
        ] {
            assert_eq!(of(message), None, "{message}");
        }
    }
}
