//! What kind of error a text reports, and causes outside the code, both known by what programs say about them.

use super::shapes::is_file;
use crate::model::names;
use crate::text::{Pattern, Table};

/// Longer ones are not names of programs, packages or hosts.
const NAME_CHARS: usize = 80;

/// Something outside the code that makes attempts fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    MissingProgram,
    DiskFull,
    /// A service or the network does not answer.
    Unreachable,
    /// Credentials are missing or refused.
    Authentication,
    Permission,
    MissingDependency,
}

/// How programs tell of each cause; the group `name` is what it is about.
static CAUSES: Table<Cause> = Table::new(&[
    (Cause::MissingProgram, r"(?-u:\b)(?i-u:command not found): *(?<name>[^ ]+)"),
    (
        Cause::MissingProgram,
        concat!(
            r"(?:^|: )(?<name>[^:]*?):? *(?-u:\b)(?i-u:command not found|executable file not found",
            r"|is not recognized as an internal or external command)(?-u:\b)"
        ),
    ),
    (
        Cause::MissingProgram,
        concat!(
            r"(?-u:\b)(?i-u:no such command):? *(?<name>[^ ]+)|(?-u:\b)(?i-u:spawn) (?<spawn>[^ ]+).*(?-u:\b)(?i-u:ENOENT)(?-u:\b)",
            r"|^(?:(?:/bin/)?(?:ba|da)?sh:|.*: (?:line )?[0-9]+:)(?:.*: | )(?<sh>[^ :]+): not found(?: \(|$)",
            r"|(?-u:\b)env: (?:.*: )?(?<env>[^ :]+): (?i-u:no such file or directory)(?-u:\b)"
        ),
    ),
    (Cause::DiskFull, r"(?i-u:\b(?:no space left on device|ENOSPC|disk full|disk quota exceeded)\b)"),
    (Cause::Unreachable, r"(?i-u:\b(?:could not resolve host|ENOTFOUND)\b)[: ]*(?<name>[^ ]+)?"),
    (
        Cause::Unreachable,
        concat!(
            r"(?i-u:\b(?:(?:cannot|can't|could not|couldn't|unable to|failed to) connect|connection (?:timed out|error|refused)",
            r"|ECONNREFUSED|ECONNRESET|connection reset by peer|network is unreachable|no route to host",
            r"|name or service not known|failure in name resolution|getaddrinfo)\b)"
        ),
    ),
    (
        Cause::Authentication,
        concat!(
            r"(?i-u:\b(?:authentication (?:failed|required)|invalid api key|invalid credentials|not logged in",
            r"|could not read username|permission denied \(publickey|401 unauthorized)\b)"
        ),
    ),
    (
        Cause::Permission,
        r"(?i-u:\b(?:permission denied|EACCES|operation not permitted|access is denied|read-only file system)\b)",
    ),
    (
        Cause::MissingDependency,
        concat!(
            r"(?i-u:\b(?:cannot find module|no module named|cannot find package|can't find crate for",
            r"|no required module provides package|cannot load such file --",
            r"|could not find a version that satisfies the requirement|no matching package named",
            r"|failed to resolve import))[: ]+(?<name>[^ ]+)"
        ),
    ),
]);

impl Cause {
    /// Whether a line tells of this cause, and what it is about where that is told.
    pub(super) fn in_line(self, line: &str) -> Option<Option<String>> {
        let found = CAUSES.matches(line);
        let (_, found) = found.into_iter().find(|(cause, _)| *cause == self)?;
        let named = ["name", "spawn", "sh", "env"].iter().find_map(|part| found.name(part));
        let named = named.and_then(|word| name(word.as_str()));
        let words = || line.split_whitespace().map(bare);
        match self {
            // The project's own files are not to be installed.
            Self::MissingDependency => named.filter(|name| !is_own(name)).map(Some),
            Self::Unreachable => {
                let address = || words().find(|word| is_address(word)).and_then(name);
                Some(named.or_else(address))
            }
            Self::Permission => Some(words().find(|word| word.contains('/')).and_then(name)),
            _ => Some(named),
        }
    }
}

fn is_own(package: &str) -> bool {
    let own = ["./", "../", "/", "~", "@/", "src/"];
    own.iter().any(|start| package.starts_with(start)) || is_file(package)
}

/// A word without the quotes and stops around it.
fn bare(word: &str) -> &str {
    let around = |c: char| "\"'`‘’“”()[]{}<>,;:!".contains(c);
    word.trim_matches(around).trim_end_matches('.').trim_end_matches(around)
}

/// `127.0.0.1:5432`, `localhost:80`, `db:5432`. A short number after a plain word is a line or a count.
static ADDRESS: Pattern = Pattern::new(
    r"^(?:localhost:[0-9]{2,5}|(?<name>[A-Za-z0-9-]+(?:\.[A-Za-z0-9.-]+:[0-9]{2,5}|:[0-9]{4,5})))$",
);

fn is_address(word: &str) -> bool {
    let host = word.split(':').next().unwrap_or_default();
    ADDRESS.is_match(word) && !is_file(host)
}

/// A word that can be a name; what is none is left out rather than shown.
fn name(word: &str) -> Option<String> {
    let word = bare(word);
    let allowed = |c: char| c.is_alphanumeric() || "._/+@-:=<>~".contains(c);
    let is_name = word.chars().count() <= NAME_CHARS
        && word.chars().all(allowed)
        && word.chars().any(char::is_alphanumeric);
    is_name.then(|| word.to_owned())
}

names! {
    /// A kind of error, as it stands in a commit message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ErrorKind {
        /// Something that should be on disk is not.
        MissingFile => "missing file",
        Syntax => "syntax",
        Type => "type",
        Permission => "permission",
        Timeout => "timeout",
        /// A package or program that others need is missing or does not fit.
        Dependency => "dependency",
        TestFailure => "test failure",
        Build => "build",
        /// It runs, but does the wrong thing.
        Logic => "logic",
        /// None of these, or not known.
        Other => "error",
    }
}

/// What names a cause, before what only names the step that failed. Whole words count: `setTimeout` is no timeout.
static KINDS: Table<ErrorKind> = Table::new(&[
    (
        ErrorKind::MissingFile,
        concat!(
            r"(?i-u)\b(?:file not found|FileNotFoundError|no such file|ENOENT|cannot find module|module not found",
            r"|cannot find (?:the )?path|path not found|directory not found|missing file|file is missing|TS2307)\b"
        ),
    ),
    (
        ErrorKind::Syntax,
        concat!(
            r"(?i-u)\b(?:syntax ?error|invalid syntax|unexpected token|unexpected end of input|unexpected eof",
            r"|pars(?:e|ing) error|TS1[0-9]{3,})\b"
        ),
    ),
    (
        ErrorKind::Type,
        concat!(
            r"(?i-u)\b(?:type ?error|mismatched types|incompatible types|type mismatch|is not assignable to type",
            r"|TS[02-9][0-9]{3,}|E0308)\b"
        ),
    ),
    (
        ErrorKind::Permission,
        r"(?i-u)\b(?:permission denied|PermissionError|access denied|operation not permitted|EACCES|EPERM|read-only file system)\b",
    ),
    (
        ErrorKind::Timeout,
        r"(?i-u)\b(?:timeout|timed out|time-out|TimeoutError|ETIMEDOUT|deadline exceeded)\b",
    ),
    (
        ErrorKind::Dependency,
        concat!(
            r"(?i-u)\b(?:command not found|package not found|no module named|ModuleNotFoundError",
            r"|no matching (?:package|version|distribution)|ERESOLVE|(?:unmet|missing|unresolved) dependency",
            r"|dependency (?:conflict|error))\b"
        ),
    ),
    (
        ErrorKind::MissingFile,
        concat!(
            r"(?i-u:\b(?:not found|does not exist|could not find|cannot find)\b).*(?i-u:\b(?:files?|directory|folder)\b)",
            r"|(?i-u:\b(?:files?|directory|folder)\b).*(?i-u:\b(?:not found|does not exist|could not find|cannot find)\b)"
        ),
    ),
    (
        ErrorKind::TestFailure,
        r"(?i-u)\b(?:tests? failed|test failures?|failing tests?|test suite failed|assertion failed|AssertionError)\b",
    ),
    (
        ErrorKind::Build,
        concat!(
            r"(?i-u)\b(?:build (?:failed|error|failure)|failed to (?:build|compile)|could not compile",
            r"|compilation (?:failed|error)|compile error|linker error|linking with|E0[0-9]{3,})\b"
        ),
    ),
]);

impl ErrorKind {
    pub(super) fn in_text(text: &str) -> Option<Self> {
        let found = KINDS.matches(text);
        found.first().map(|(kind, _)| *kind)
    }

    /// The kind that a report's category names: `missing_file`, `syntax_error`.
    pub(crate) fn of_category(category: &str) -> Option<Self> {
        let name = category.trim().to_ascii_lowercase().replace('_', " ");
        Self::parse(name.strip_suffix(" error").unwrap_or(&name)).filter(|kind| *kind != Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::diagnose;
    use proptest::prelude::*;

    const ALL: [Cause; 6] = [
        Cause::MissingProgram,
        Cause::DiskFull,
        Cause::Unreachable,
        Cause::Authentication,
        Cause::Permission,
        Cause::MissingDependency,
    ];

    fn find(cause: Cause, message: &str) -> Option<Option<String>> {
        diagnose(&format!("first line\n{message}\nlast line")).cause(cause)
    }

    fn all_named(cause: Cause, cases: &[(&str, &str)]) {
        for (message, expected) in cases {
            let expected = (!expected.is_empty()).then(|| (*expected).to_owned());
            assert_eq!(find(cause, message), Some(expected), "{message}");
        }
    }

    #[test]
    fn ana_03_missing_programs_are_named() {
        all_named(
            Cause::MissingProgram,
            &[
                ("bash: line 1: pytest: command not found", "pytest"),
                ("zsh: command not found: pnpm", "pnpm"),
                ("sh: 1: cargo-nextest: not found", "cargo-nextest"),
                ("tests/list.sh: 29: ./tests/lib.sh: todo-check: not found (sh tests/list.sh)", "todo-check"),
                ("exec: \"protoc\": executable file not found in $PATH", "protoc"),
                ("Error: spawn Docker ENOENT", "Docker"),
                ("error: no such command: `nextest`", "nextest"),
                ("/usr/bin/env: ‘node’: No such file or directory", "node"),
                ("'make' is not recognized as an internal or external command", "make"),
                ("bash: rm -rf $HOME; x y: command not found", ""),
            ],
        );
    }

    #[test]
    fn ana_03_unreachable_services_are_named() {
        all_named(
            Cause::Unreachable,
            &[
                ("Error: connect ECONNREFUSED 127.0.0.1:5432", "127.0.0.1:5432"),
                ("dial tcp localhost:80: connect: connection refused", "localhost:80"),
                ("lib.rs:12: Connection refused by db:5432", "db:5432"),
                ("fatal: Could not resolve host: github.com", "github.com"),
                ("getaddrinfo ENOTFOUND packages.example.org", "packages.example.org"),
                ("thread:12 Network is unreachable", ""),
            ],
        );
    }

    #[test]
    fn ana_03_missing_packages_are_named_but_not_own_files() {
        all_named(
            Cause::MissingDependency,
            &[
                ("Error: Cannot find module 'left-pad'", "left-pad"),
                ("ModuleNotFoundError: No module named 'requests'", "requests"),
                ("/usr/bin/python: No module named pytest", "pytest"),
                ("error[E0463]: can't find crate for `serde`", "serde"),
                ("no required module provides package github.com/a/b; to add it:", "github.com/a/b"),
                ("cannot load such file -- rake", "rake"),
                ("TS2307: Cannot find module '@org/x' or its type", "@org/x"),
            ],
        );
        for own in ["./parser", "../a/b", "@/lib/x", "/abs/x", "parser.js"] {
            let message = format!("Error: Cannot find module '{own}'");
            assert_eq!(find(Cause::MissingDependency, &message), None, "{own}");
        }
    }

    #[test]
    fn ana_03_permissions_disks_and_log_ins_are_known() {
        let denied = "mkdir: cannot create '/var/x': Permission denied";
        assert_eq!(find(Cause::Permission, denied), Some(Some("/var/x".into())));
        let full = "write failed: No space left on device (os error 28)";
        assert_eq!(find(Cause::DiskFull, full), Some(None));
        let refused = "fatal: Authentication failed for 'https://x'";
        assert_eq!(find(Cause::Authentication, refused), Some(None));
    }

    #[test]
    fn ordinary_failures_have_no_cause_outside() {
        for message in [
            "error[E0433]: failed to resolve: use of undeclared type `Vec2`",
            "assertion failed: left == right",
            "thread 'tests::not_found' panicked at src/lib.rs:3:5",
            "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'",
            "FileAccessError: EnoentHandler",
            "the gate `cargo test` exited with code 101",
        ] {
            for cause in ALL {
                assert_eq!(find(cause, message), None, "{cause:?} {message}");
            }
        }
    }

    fn kind(error: &str, category: &str) -> String {
        let of_category = || ErrorKind::of_category(category);
        let kind = diagnose(error).kind().or_else(of_category);
        kind.unwrap_or(ErrorKind::Other).to_string()
    }

    #[test]
    fn rcg_05_the_kind_is_that_of_the_error() {
        for (expected, errors) in [
            (
                "missing file",
                &[
                    "File not found: src/parser.ts",
                    "ENOENT: no such file or directory, open 'a'",
                    "Error: Cannot find module './parser'",
                    "the file src/a.ts does not exist",
                    "src/a.ts(1,1): error TS2307: x",
                ][..],
            ),
            (
                "syntax",
                &[
                    "Syntax error in parser.ts line 42",
                    "SyntaxError: Unexpected token '}'",
                    "a.ts(3,4): error TS1005: ';' expected.",
                    "Parse error on line 3",
                ],
            ),
            (
                "type",
                &[
                    "error[E0308]: mismatched types",
                    "TypeError: undefined is not a function",
                    "a.ts(1,2): error TS2322: something",
                    "2 tests failed, one with E0308",
                ],
            ),
            ("permission", &["bash: ./x: Permission denied", "EACCES: x", "build failed: EPERM"]),
            ("timeout", &["Request timed out after 30 s", "test failed: timeout"]),
            ("dependency", &["bash: jq: command not found", "No module named 'yaml'"]),
            ("test failure", &["3 tests failed", "assertion failed: a == b"]),
            ("build", &["error: could not compile `x`", "error[E0433]: failed to resolve", "Build failed"]),
            (
                "error",
                &[
                    "",
                    "It does not work",
                    "setTimeout is not defined",
                    "handle_timeout is red",
                    "E1234",
                    "ts",
                ],
            ),
        ] {
            for error in errors {
                assert_eq!(kind(error, ""), expected, "{error}");
            }
        }
    }

    #[test]
    fn rcg_05_the_category_speaks_where_the_text_does_not() {
        for (category, expected) in [
            ("test_failure", "test failure"),
            ("build_error", "build"),
            ("missing_file", "missing file"),
            ("logic_error", "logic"),
            ("type_error", "type"),
            ("dependency_error", "dependency"),
            ("timeout", "timeout"),
            ("Timeout ", "timeout"),
            ("unknown", "error"),
            ("", "error"),
        ] {
            assert_eq!(kind("It broke", category), expected);
        }
        assert_eq!(kind("File not found: a", "test_failure"), "missing file");
    }

    proptest! {
        #[test]
        fn rcg_05_any_text_has_a_kind(error in any::<String>(), category in any::<String>()) {
            prop_assert!(!kind(&error, &category).is_empty());
        }
    }
}
