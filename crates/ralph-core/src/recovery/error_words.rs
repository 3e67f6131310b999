//! The words by which errors of a kind are known.

use super::error_kind::ErrorKind;

/// Phrases in lower case. They count only as whole words: `setTimeout` is no time-out.
pub(super) type Phrases = (ErrorKind, &'static [&'static str]);

/// What names a cause, before what only names the step that failed.
pub(super) const CAUSES: [Phrases; 6] = [
    (
        ErrorKind::MissingFile,
        &[
            "file not found",
            "filenotfounderror",
            "no such file",
            "enoent",
            "cannot find module",
            "module not found",
            "cannot find path",
            "cannot find the path",
            "path not found",
            "directory not found",
            "missing file",
            "file is missing",
        ],
    ),
    (
        ErrorKind::Syntax,
        &[
            "syntax error",
            "syntaxerror",
            "invalid syntax",
            "unexpected token",
            "unexpected end of input",
            "unexpected eof",
            "parse error",
            "parsing error",
        ],
    ),
    (
        ErrorKind::Type,
        &[
            "type error",
            "typeerror",
            "mismatched types",
            "incompatible types",
            "type mismatch",
            "is not assignable to type",
        ],
    ),
    (
        ErrorKind::Permission,
        &[
            "permission denied",
            "permissionerror",
            "access denied",
            "operation not permitted",
            "eacces",
            "eperm",
            "read-only file system",
        ],
    ),
    (
        ErrorKind::Timeout,
        &[
            "timeout",
            "timed out",
            "time-out",
            "timeouterror",
            "etimedout",
            "deadline exceeded",
        ],
    ),
    (
        ErrorKind::Dependency,
        &[
            "command not found",
            "package not found",
            "no module named",
            "modulenotfounderror",
            "no matching package",
            "no matching version",
            "no matching distribution",
            "eresolve",
            "unmet dependency",
            "missing dependency",
            "unresolved dependency",
            "dependency conflict",
            "dependency error",
        ],
    ),
];

/// What names the step that failed.
pub(super) const STEPS: [Phrases; 2] = [
    (
        ErrorKind::TestFailure,
        &[
            "test failed",
            "tests failed",
            "test failure",
            "test failures",
            "failing test",
            "failing tests",
            "test suite failed",
            "assertion failed",
            "assertionerror",
        ],
    ),
    (
        ErrorKind::Build,
        &[
            "build failed",
            "build error",
            "build failure",
            "failed to build",
            "failed to compile",
            "could not compile",
            "compilation failed",
            "compilation error",
            "compile error",
            "linker error",
            "linking with",
        ],
    ),
];

/// What a report's category says.
pub(super) const CATEGORIES: [(&str, ErrorKind); 9] = [
    ("test_failure", ErrorKind::TestFailure),
    ("build_error", ErrorKind::Build),
    ("missing_file", ErrorKind::MissingFile),
    ("logic_error", ErrorKind::Logic),
    ("type_error", ErrorKind::Type),
    ("dependency_error", ErrorKind::Dependency),
    ("timeout", ErrorKind::Timeout),
    ("syntax_error", ErrorKind::Syntax),
    ("permission", ErrorKind::Permission),
];
