use super::*;
use crate::analysis::Fact;

const ALL: [Cause; 6] = [
    Cause::MissingProgram,
    Cause::DiskFull,
    Cause::Unreachable,
    Cause::Authentication,
    Cause::Permission,
    Cause::MissingDependency,
];

fn find(cause: Cause, message: &str) -> Option<Option<String>> {
    let fact = Fact {
        message: format!("first line\n{message}\nlast line"),
        ..Fact::default()
    };
    cause.find(&Seen::new(&fact)).map(|found| found.name)
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
            (
                "exec: \"protoc\": executable file not found in $PATH",
                "protoc",
            ),
            ("Error: spawn Docker ENOENT", "Docker"),
            ("error: no such command: `nextest`", "nextest"),
            ("/usr/bin/env: ‘node’: No such file or directory", "node"),
            (
                "'make' is not recognized as an internal or external command",
                "make",
            ),
            ("bash: rm -rf $HOME; x y: command not found", ""),
        ],
    );
}

#[test]
fn ana_03_unreachable_services_are_named() {
    all_named(
        Cause::Unreachable,
        &[
            (
                "Error: connect ECONNREFUSED 127.0.0.1:5432",
                "127.0.0.1:5432",
            ),
            (
                "dial tcp localhost:80: connect: connection refused",
                "localhost:80",
            ),
            ("lib.rs:12: Connection refused by db:5432", "db:5432"),
            ("fatal: Could not resolve host: github.com", "github.com"),
            (
                "getaddrinfo ENOTFOUND registry.npmjs.org",
                "registry.npmjs.org",
            ),
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
            (
                "ModuleNotFoundError: No module named 'requests'",
                "requests",
            ),
            ("/usr/bin/python: No module named pytest", "pytest"),
            ("error[E0463]: can't find crate for `serde`", "serde"),
            (
                "no required module provides package github.com/a/b; to add it:",
                "github.com/a/b",
            ),
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
fn failing_tests_of_a_log_in_are_about_the_projects_own_code() {
    let mut fact = Fact {
        message: "expected 200, got 401 Unauthorized: permission denied".into(),
        failing: vec!["login".into()],
        ..Fact::default()
    };
    assert_eq!(Cause::Authentication.find(&Seen::new(&fact)), None);
    assert_eq!(Cause::Permission.find(&Seen::new(&fact)), None);
    fact.failing.clear();
    assert!(Cause::Authentication.find(&Seen::new(&fact)).is_some());
    assert!(Cause::Permission.find(&Seen::new(&fact)).is_some());
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
