//! Single lines in which programs say that they failed.

use super::super::exception::without_leads;
use super::super::shape;

/// How far into a line a program may name itself before it says `error:`.
const NAME_BYTES: usize = 40;

/// How the system's own messages go.
const SYSTEM: [&str; 13] = [
    "process didn't exit successfully",
    "command not found",
    ": not found",
    "no such file or directory",
    "permission denied",
    "read-only file system",
    "no space left on device",
    "connection refused",
    "is a directory",
    "not a directory",
    "segmentation fault",
    "exec format error",
    "cannot allocate memory",
];

/// A longer line is prose, in which such a phrase may mean anything.
const HINT_BYTES: usize = 200;

/// Phrases of failing programs that are not errors in every context.
const HINTS: [&str; 24] = [
    "unbound variable",
    " differs",
    "mismatch",
    "expected ",
    "attempt to ",
    "out of memory",
    "not logged in",
    "rate limit",
    "hit your ",
    "reached maximum",
    "exceeded",
    "at capacity",
    "overloaded",
    "high demand",
    "disconnected",
    "an issue with",
    "loop detected",
    "unknown ",
    ": not ",
    "would reformat",
    "would be reformatted",
    "[warn] ",
    "sending signal ",
    "does not exist",
];

/// Whether a line begins with an exception and its message: `pkg.ValueError: bad`.
pub(super) fn is_exception(line: &str) -> bool {
    if line.starts_with("panic: ") || line.starts_with("what():") {
        return true;
    }
    // A word such as `Failed` or `Error` alone on its line is a heading; an exception's name has more parts.
    let is_name = |name: &str| name.chars().filter(char::is_ascii_uppercase).count() > 1;
    let text = without_leads(line);
    shape::exception(text).is_some_and(|(name, message)| !message.is_empty() || is_name(name))
}

/// Whether a line names a failing test.
pub(super) fn names_a_test(line: &str) -> bool {
    line.starts_with("not ok ")
        || line.starts_with("--- FAIL: ")
        || line.starts_with("FAIL: ")
        || line.starts_with("✕ ")
        || line.starts_with("✖ ")
        || line.starts_with("✘ ")
        || line.starts_with("Failure/Error: ")
        || line.starts_with("× ")
        || is_nextests(line)
        || line.starts_with("#   Failed test ")
        || line.contains("***Failed ")
        || line.ends_with(" FAILED")
        || line.contains(": FAIL ")
        || line.contains(": FAILED")
}

/// `FAIL [   0.005s] (1/3) shop tests::adds`, and the same with `TIMEOUT` or a signal's name.
fn is_nextests(line: &str) -> bool {
    line.split_once(" [ ").is_some_and(|(status, rest)| {
        (matches!(status, "FAIL" | "TIMEOUT" | "ABORT") || status.starts_with("SIG"))
            && rest.contains("s] ")
    })
}

/// Whether the shell or the system says it: `run.sh: line 2: x: command not found`.
pub(super) fn is_systems(line: &str) -> bool {
    let lower = line.to_lowercase();
    SYSTEM.iter().any(|phrase| lower.contains(phrase)) || is_shells(line)
}

/// `run.sh: line 2: …`
fn is_shells(line: &str) -> bool {
    line.split_once(": line ").is_some_and(|(script, rest)| {
        !script.contains(' ')
            && rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.contains(": ")
    })
}

/// Whether a program states that it failed: `error: …`, `tool: error: …`, `fatal: …`.
pub(in super::super) fn is_stated(line: &str) -> bool {
    let begin = line
        .get(..line.floor_char_boundary(NAME_BYTES))
        .unwrap_or(line);
    let lower = begin.to_ascii_lowercase();
    let said = lower.find("error: ").is_some_and(|at| {
        at == 0
            || lower
                .as_bytes()
                .get(at - 1)
                .is_some_and(|b| b" =".contains(b))
    });
    said || ["fatal: ", "[error] ", "[fatal] ", "conflict ("]
        .iter()
        .any(|begin| lower.starts_with(begin))
        || line.starts_with("! [")
        || lower.contains(": *** ")
}

/// Whether a line is npm's, and if so whether it says what went wrong.
pub(super) fn npm(line: &str) -> Option<bool> {
    let text = line
        .strip_prefix("npm error")
        .or_else(|| line.strip_prefix("npm ERR!"))?
        .trim_start();
    let quiet = [
        "code ",
        "syscall ",
        "errno ",
        "path ",
        "command ",
        "at ",
        "A complete log",
        "Lifecycle script",
        "workspace ",
        "location ",
        "Failed at the ",
        "This is probably not",
        "Exit status ",
    ];
    Some(!text.is_empty() && !quiet.iter().any(|begin| text.starts_with(begin)))
}

/// Whether a line holds a phrase that failing programs use, among others.
pub(super) fn hints(line: &str) -> bool {
    if line.len() > HINT_BYTES {
        return false;
    }
    let lower = line.to_lowercase();
    let none = ["error", "issue", "problem", "warning", "fail", "vulnerab"];
    HINTS.iter().any(|phrase| lower.contains(phrase))
        || lower.starts_with("diff in ")
        || lower.starts_with('✗')
        || lower.starts_with("no ")
            && lower.contains(" found")
            && !none.iter().any(|bad| lower.contains(bad))
}
