//! Telling whether the same thing failed again.
//!
//! The coarse fingerprint is made from the names of the failing tests; where none are named, from the
//! compiler's code, file and symbol of each error; else from the last three error lines, without what
//! changes from run to run. The fine one adds exception types and how their messages begin.

use super::hash::Hash;

/// How many failing names a fingerprint lists; all of them go into its digest.
pub(super) const LISTED_NAMES: usize = 500;

/// How many lines of evidence a person is shown, for each of the two.
const SHOWN_LINES: usize = 100;

/// What failed, boiled down to two short strings that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// 16 hex digits: equal means the same failure again.
    pub coarse: String,
    /// 16 hex digits: the same with exception types and how the messages begin.
    pub fine: String,
    /// What the coarse one was made from.
    pub kind: Kind,
    /// The test runner or compiler that was recognised, if any.
    pub tool: Option<Tool>,
    /// The failing tests, sorted, at most 500; empty unless tests are named.
    pub failing: Vec<String>,
    /// What it was made from, for people: for the coarse one, then `message: …` for the fine one.
    pub evidence: Vec<String>,
}

/// What a coarse fingerprint is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The names of the failing tests.
    Tests,
    /// Compiler code, file name and symbol.
    Compiler,
    /// The last error lines.
    Lines,
}

impl Kind {
    /// The word for it in output and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Compiler => "compiler",
            Self::Lines => "lines",
        }
    }
}

/// A program whose output is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tool {
    /// Python's pytest.
    Pytest,
    /// Python's unittest.
    Unittest,
    /// Rust's own test runner.
    CargoTest,
    /// cargo-nextest.
    Nextest,
    /// JavaScript's jest.
    Jest,
    /// JavaScript's vitest.
    Vitest,
    /// JavaScript's mocha.
    Mocha,
    /// Anything that speaks the Test Anything Protocol.
    Tap,
    /// Node's own test runner.
    NodeTest,
    /// go test.
    GoTest,
    /// Maven's test runner.
    Surefire,
    /// Gradle's test task.
    Gradle,
    /// `JUnit`'s console launcher, or a report in its XML.
    Junit,
    /// C++'s `GoogleTest`.
    GoogleTest,
    /// CMake's test runner.
    Ctest,
    /// Ruby's `RSpec`.
    Rspec,
    /// The Rust compiler.
    Rustc,
    /// The `TypeScript` compiler.
    Typescript,
    /// JavaScript's eslint.
    Eslint,
    /// gcc, clang and others that report as they do.
    Gcc,
    /// Python's mypy.
    Mypy,
    /// Compilers of .NET.
    Msbuild,
    /// The Java compiler.
    Javac,
    /// The linker.
    Linker,
    /// The Go compiler.
    Go,
}

impl Tool {
    /// The program's usual name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::CargoTest => "cargo test",
            Self::Nextest => "cargo nextest",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Mocha => "mocha",
            Self::Tap => "tap",
            Self::NodeTest => "node test",
            Self::GoTest => "go test",
            Self::Surefire => "surefire",
            Self::Gradle => "gradle",
            Self::Junit => "junit",
            Self::GoogleTest => "googletest",
            Self::Ctest => "ctest",
            Self::Rspec => "rspec",
            Self::Rustc => "rustc",
            Self::Typescript => "tsc",
            Self::Eslint => "eslint",
            Self::Gcc => "gcc",
            Self::Mypy => "mypy",
            Self::Msbuild => "msbuild",
            Self::Javac => "javac",
            Self::Linker => "ld",
            Self::Go => "go",
        }
    }
}

impl Fingerprint {
    pub(super) fn new(kind: Kind, tool: Option<Tool>, coarse: &[String], fine: &[String]) -> Self {
        let mut digest = Hash::new();
        digest.part(kind.as_str());
        coarse.iter().for_each(|part| digest.part(part));
        let coarse_digest = digest.hex();
        digest.part("");
        fine.iter().for_each(|part| digest.part(part));
        let listed = if kind == Kind::Tests { LISTED_NAMES } else { 0 };
        let shown = |parts: &[String]| parts.iter().take(SHOWN_LINES).cloned().collect::<Vec<_>>();
        let mut evidence = shown(coarse);
        evidence.extend(shown(fine).iter().map(|line| format!("message: {line}")));
        Self {
            coarse: coarse_digest,
            fine: digest.hex(),
            kind,
            tool,
            failing: coarse.iter().take(listed).cloned().collect(),
            evidence,
        }
    }
}
