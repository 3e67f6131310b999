//! What single lines say of errors: that there was one, that there was none, or only how many.

use super::messages::without_leads;
use super::shapes::{self, place};
use crate::text::Pattern;

/// A longer line is prose, in which a phrase may mean anything.
const HINT_BYTES: usize = 200;

/// Words that a failing program uses of itself, alone: not in `error.rs`, not in `handles_error`.
static TELLING: Pattern = Pattern::new(concat!(
    r"(?:^|[^A-Za-z0-9_/\u{80}-\u{10FFFF}])(?i-u:errors?|failed|failures?|fails?|fatal|exception|panicked|panic|cannot",
    r"|can't|couldn't|could not|unable to|not found|no such file|assertion|denied|refused|aborted|segmentation fault",
    r"|killed|timed out|timeout|undefined|unexpected|invalid|missing|traceback)",
    r"(?:$|[^A-Za-z0-9_.\u{80}-\u{10FFFF}]|\.(?:$|[^A-Za-z0-9_\u{80}-\u{10FFFF}]))"
));
/// A line of a stack trace: where, not what.
static FRAME: Pattern = Pattern::new(r#"^(?:at |File "|\.\.\. |\^|~|goroutine )"#);
/// Phrases in which those words mean the opposite, and tests that passed. In lower case, as the next two.
static HARMLESS: Pattern = Pattern::new(concat!(
    r#"(?:^|[^0-9])(?:(?:0|no) (?:errors?|failed|failures)|without error|"is_error": ?false|error: null"#,
    r"|errors[:=] ?0|failures: 0|failed: 0|error handling)|^[✓✔]|^traceback \(",
    r"|(?:^|[ \t])(?:ok|passed|✓|success)[ \t]*$"
));
/// What is said of errors that are overcome.
static OVERCOME: Pattern = Pattern::new(concat!(
    r" (?:is|are) gone| (?:is|are|was|were) (?:fixed|resolved)|been (?:fixed|resolved)| went away| goes away",
    r"| disappeared|no longer|none of "
));
/// `none failed`, `no tests failed`, `without any errors`: at most one word stands between.
static DENIED: Pattern = Pattern::new(concat!(
    r"(?:^|[ \t])[^a-z0-9' \t]*(?:no|none|nothing|nobody|zero|never|without|not|didn't|doesn't|don't)[^a-z0-9' \t]*",
    r"[ \t]+(?:[^ \t]+[ \t]+)?[^a-z0-9' \t]*(?:errors?|failed|failing|failures?|fails?|exceptions?)(?:[^a-z0-9']*(?:[ \t]|$))"
));

/// Whether a line says that something went wrong, and not that nothing did.
pub fn reports_error(line: &str) -> bool {
    let tells =
        TELLING.is_match(line) || shapes::exception(line).is_some() || shapes::EXCEPTION_WORD.is_match(line);
    if !tells || FRAME.is_match(line) {
        return false;
    }
    let lower = line.to_lowercase();
    if HARMLESS.is_match(&lower) && !lower.ends_with("not ok") {
        return false;
    }
    STATED.is_match(line) || !(OVERCOME.is_match(&lower) || DENIED.is_match(&lower))
}

static PASSED: Pattern =
    Pattern::new(r"^(?:ok [0-9]|[✓✔]|PASS |--- PASS)| PASSED(?:[ \t]|$)| \.\.\. ok$|   Passed  ");

pub(super) fn is_passed_test(line: &str) -> bool {
    PASSED.is_match(line.trim())
}

/// Whether a line says that nothing is wrong, or no longer: `none failed`, `The error is gone.`, `ok 12 - adds`.
pub fn denies_error(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    let denied = HARMLESS.is_match(&lower) || OVERCOME.is_match(&lower) || DENIED.is_match(&lower);
    (denied || is_passed_test(line) || declares_success(line.trim())) && !reports_error(line)
}

/// A program's own word for it: `error: …`, `tool: error: …`, `fatal: …`.
pub(super) static STATED: Pattern = Pattern::new(
    r"^(?:.{0,32}[ =])?(?i-u:error: )|^(?i-u:fatal: |\[error\] |\[fatal\] |conflict \()|^! \[|^.{0,34}: \*\*\* ",
);

/// Lines that speak of errors and report none.
static QUIET: Pattern = Pattern::new(concat!(
    r"^(?:(?:warning|Warning|WARNING|note|help|hint|Hint):|warning\[|npm (?:warn|WARN)|= help:|= note: `|\+ |\+\+ |> |ok ",
    r"|--- PASS|=== RUN|PASS |SKIPPED |XFAIL |# Subtest|For more information|Some errors have|Compiling |Checking ",
    r"|Running |checking |looking for |plugins: |https?://|[0-9]* *\| |[0-9]* *\|$|[0-9]+ *\||[✓✔])",
    r"|: warning: |Warning: |  warning  | \.\.\. ok$| \.\.\. ignored| PASSED|   Passed  "
));
/// `"failed": 0,`, `# fail 0`.
static ZERO: Pattern =
    Pattern::new(r"^[^ \t]*(?:[ \t]+[^ \t]+){0,2}(?:[ :=]|^)(?:0|null|false|\[\]|none|None|undefined),*$");

pub(super) fn is_quiet(line: &str) -> bool {
    let zero = line.len() < 40 && line.split_whitespace().count() <= 3 && ZERO.is_match(line);
    zero || QUIET.is_match(line)
}

/// Lines that say only that something failed, not what.
static WRAPPER: Pattern = Pattern::new(concat!(
    r"^(?:error: (?:test failed, to rerun|doctest failed|test run failed|could not compile|aborting due to|linking with",
    r"|failed to run custom build command|subprocess-exited-with-error|metadata-generation-failed|failed to push some refs)",
    r"|Error: Process completed with exit code|ERROR: ResolutionImpossible|ERROR: usage:|collect2: error:",
    r"|clang: error: linker command failed|cc1: all warnings|compilation terminated|test result: FAILED",
    r"|Test executable failed|FAILED \(|Result: FAIL|Errors while running|The following tests FAILED",
    r"|tar: Error is not recoverable|tar: Child returned|Automatic merge failed|CMake Generate step failed",
    r"|-- Configuring incomplete|\[ERROR\] (?:To see the full stack|For more information|Re-run|\[Help)|\(Use `node)",
    r"|previous error|aborted due to|: \*\*\* \[.*\] Error |not remade because of errors|^[^ /]+(?: +[^ /]+){0,2}:$"
));
/// `1 failed, 2 passed`, `Found 2 errors in 1 file`, `✖ 3 problems (1 error)`, `ran 3 tests, some failing`.
static COUNT: Pattern = Pattern::new(concat!(
    r"^[= !✖-]*(?:Found )?(?:[0-9][^:]*|Tests?:?[^:]*|Tests?.*|Summary[^:]*|Interrupted:[^:]*?)?",
    r"(?:^|[ ,;(|])[0-9]+ +(?:failed|failures?|failing|errors?|problems?)(?:[ .,;()|]|$)"
));
static SOME_FAIL: Pattern =
    Pattern::new(r"^[= !✖-]*(?:Found )?(?:[0-9]|Tests? |Summary |(?i-u:ran) )[^:]{0,60}fail");

/// Whether a line only says that something failed, or how many things did.
pub(super) fn is_summary(line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ', '!', '✖', '-']);
    WRAPPER.is_match(line)
        || COUNT.is_match(line)
        || bare.len() <= 60 && !bare.contains(':') && SOME_FAIL.is_match(line)
}

/// Whether a runner says that nothing failed: `1 example, 0 failures`, `test result: ok. …`.
pub(super) fn declares_success(line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ']);
    let none = || [" 0 failed", " 0 failures", " 0 errors"].iter().any(|word| bare.contains(word));
    bare.starts_with("test result: ok")
        || bare.starts_with(|c: char| c.is_ascii_digit()) && none() && !reports_error(bare)
}

/// An error that is past or overcome, in lower case.
static PAST: Pattern =
    Pattern::new(r"no longer|instead of|fixed |now passes|defaulting to|falling back|retrying|reconnecting");

/// Whether a line speaks of an error that is past, overcome or only a name in the code: `Error::Date`, `handles_error`.
pub(super) fn is_mild(line: &str) -> bool {
    let is_name =
        |word: &&str| word.contains("::") || word.contains('_') && !word.contains(|c: char| c.is_uppercase());
    let heading = line.bytes().all(|b| b.is_ascii_lowercase());
    let only_names = || {
        let (names, rest): (Vec<&str>, Vec<&str>) = line.split_whitespace().partition(is_name);
        !names.is_empty() && !reports_error(&rest.join(" "))
    };
    heading || PAST.is_match(&line.to_lowercase()) || only_names()
}

/// Whether a line begins with an exception and its message: `pkg.ValueError: bad`.
pub(super) fn is_exception(line: &str) -> bool {
    if line.starts_with("panic: ") || line.starts_with("what():") {
        return true;
    }
    // A word such as `Failed` or `Error` alone on its line is a heading; an exception's name has more parts.
    let is_name = |name: &str| name.chars().filter(char::is_ascii_uppercase).count() > 1;
    let text = without_leads(line);
    shapes::exception(text).is_some_and(|(name, message)| !message.is_empty() || is_name(name))
}

pub(super) static NAMES_TEST: Pattern = Pattern::new(concat!(
    r"^(?:not ok |--- FAIL: |FAIL: |[✕✖✘×] |Failure/Error: |#   Failed test |(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]*) \[ .*s\] )",
    r"|\*\*\*Failed | FAILED$|: FAIL |: FAILED"
));

/// What the shell or the system says: `run.sh: line 2: x: command not found`.
pub(super) static SYSTEM: Pattern = Pattern::new(concat!(
    r"(?i-u:process didn't exit successfully|command not found|: not found|no such file or directory|permission denied",
    r"|read-only file system|no space left on device|connection refused|is a directory|not a directory",
    r"|segmentation fault|exec format error|cannot allocate memory)|^[^ ]*: line [0-9].*: "
));

/// npm's lines, and those of them that do not say what went wrong.
pub(super) static NPM: Pattern = Pattern::new("^npm (?:error|ERR!)");
pub(super) static NPM_QUIET: Pattern = Pattern::new(concat!(
    r"^npm (?:error|ERR!) *(?:$|(?:code|syscall|errno|path|command|at|workspace|location) |A complete log|Lifecycle script",
    r"|Failed at the |This is probably not|Exit status )"
));

/// Phrases of failing programs that are not errors in every context.
static HINT: Pattern = Pattern::new(concat!(
    r"(?i-u:unbound variable| differs|mismatch|expected |attempt to |out of memory|not logged in|rate limit|hit your ",
    r"|reached maximum|exceeded|at capacity|overloaded|high demand|disconnected|an issue with|loop detected|unknown ",
    r"|: not |would reformat|would be reformatted|\[warn\] |sending signal |does not exist|^diff in )|^✗|^(?i-u:no ).*(?i-u: found)"
));
static NO_HINT: Pattern = Pattern::new("^(?i-u:no ).*(?i-u:error|issue|problem|warning|fail|vulnerab)");

/// Whether a line holds a phrase that failing programs use, among others.
pub(super) fn hints(line: &str) -> bool {
    line.len() <= HINT_BYTES && HINT.is_match(line) && !NO_HINT.is_match(line)
}

/// A compiler's or a linter's error: `error[E1]: …`, `3:5  error  …` below eslint's file, and what linkers say.
static DIAGNOSTIC: Pattern = Pattern::new(concat!(
    r"^(?:error\[.*\]: |error TS|CMake Error at |[0-9]+:[0-9]+  +error )|undefined reference to |multiple definition of ",
    r"|/ld: cannot find |ld: error: "
));
/// What follows a place: `error: …`, `- error …`, `fatal error: …`.
static PLACED_ERROR: Pattern = Pattern::new(r"^[:) -]*(?:error[ :]|error$|fatal[ :].*error)");
/// A linter's code: one to four capital letters and three or four digits.
static LINTER_CODE: Pattern = Pattern::new(r"^[:) -]*[A-Z]{1,4}[0-9]{3,4}(?:[ :]|$)");

pub(super) fn is_diagnostic(line: &str) -> bool {
    DIAGNOSTIC.is_match(line)
        || place(line).is_some_and(|at| {
            let file = at.path.contains(['.', '/']) && !at.path.contains(' ');
            let coded = || LINTER_CODE.is_match(at.rest) || at.path.ends_with(".go");
            file && (PLACED_ERROR.is_match(at.rest) || at.numbers == 2 && coded())
        })
}

/// `error: …` of rustc and `F401 …` of ruff, both followed by ` --> path:1:8`.
pub(super) fn may_name_place(line: &str) -> bool {
    line.starts_with("error: ") || LINTER_CODE.is_match(line)
}

/// `… at a.pl line 2.`
static AT_LINE: Pattern = Pattern::new(r" at .* line [0-9]+\.*$");
static MILD_PLACE: Pattern = Pattern::new("^ (?:note|info|warning|debug|in )");

/// Whether a line is about a place in a file: `a.lua:2: attempt to …`, after a program's name perhaps.
pub(super) fn has_place(line: &str) -> bool {
    let program = line.split_once(": ").filter(|(name, _)| !name.contains([':', ' ', '(']));
    let line = program.map_or(line, |(_, rest)| rest);
    AT_LINE.is_match(line)
        || place(line).is_some_and(|at| {
            at.path.contains('.')
                && !at.path.contains([' ', '('])
                && !at.path.starts_with("http")
                && at.rest.starts_with(' ')
                && !MILD_PLACE.is_match(at.rest)
        })
}
