//! The failing tests that test runners name: a row for each form in which they do, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use regex::Captures;

use super::Tool;
use super::fingerprint::{NAMES, add_name, tidy, untimed};
use super::own_lines::{FailingTest, OwnLines, Reading};
use super::reports::{Console, Event, Failure};
use super::shapes::{RAISED_AT_TEXT, insert_bounded};
use crate::text::{Pattern, Table, group};

/// A title of mocha has no more parts than this.
const MOCHA_PARTS: usize = 20;

/// Where names come from: a family of runners, how well this form names a test (0 is best), and the tool. Of the sources
/// of a family, the best that names any counts: the others repeat the same tests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source(&'static str, u8, &'static str);

const PYTEST: Source = Source("pytest", 0, "pytest");
const PYTEST_HEADER: Source = Source("pytest", 1, "pytest");
const PYTEST_LISTING: Source = Source("pytest", 2, "pytest");
const UNITTEST: Source = Source("unittest", 0, "unittest");
const UNITTEST_PROGRESS: Source = Source("unittest", 1, "unittest");
const NEXTEST: Source = Source("rust", 0, "cargo nextest");
const LIBTEST: Source = Source("rust", 1, "cargo test");
const MOCHA: Source = Source("javascript", 0, "mocha");
const VITEST: Source = Source("javascript", 1, "vitest");
const JEST: Source = Source("javascript", 2, "jest");
const CROSSED: Source = Source("javascript", 3, "jest");
const TAP: Source = Source("tap", 0, "tap");
const NODE: Source = Source("tap", 1, "node test");
const GOTESTSUM: Source = Source("go", 0, "go test");
const GO: Source = Source("go", 1, "go test");
const GRADLE: Source = Source("jvm", 0, "gradle");
const SUREFIRE: Source = Source("jvm", 1, "surefire");
const SUREFIRE_LIST: Source = Source("jvm", 2, "surefire");
const JUNIT: Source = Source("junit", 0, "junit");
const GOOGLETEST: Source = Source("googletest", 0, "googletest");
const CTEST: Source = Source("ctest", 0, "ctest");
const RSPEC: Source = Source("rspec", 0, "rspec");

/// What a line of some form says.
#[derive(Clone, Copy)]
enum Form {
    /// The name of a failing test, and which of the next lines are its own.
    Test(Source, Reading),
    /// The heading of a test's own lines.
    Heading(Reading),
    /// The heading of a list of names, each of which has this form.
    List(Source, &'static Pattern),
    PytestBanner,
    PytestSummary,
    PytestHeader,
    PytestListing,
    PytestRaised,
    NextestPassed,
    JsFile,
    JsPassed,
    JestTest,
    Crossed,
    /// `3 failing` or `Failures:`, below which failures are numbered.
    Numbering,
    Numbered,
    GoFailed,
    GoPackage,
    Started,
    Passed,
}

use Form::{Heading, List, Test};

/// Each form and how it is recognized. The group `name` is the test; a line with a group `skip` tells of no failure.
static FORMS: Table<Form> = Table::new(&[
    (Form::PytestBanner, r"^=+ (?<name>.*[A-Za-z0-9].*) =+$"),
    (
        Form::PytestSummary,
        concat!(
            r"^(?:\[gw[0-9]+\] (?:\[ *[0-9]+%\] )?)?(?:FAILED|ERROR|SUBFAIL|SUBFAILED) +",
            r"(?<name>(?<path>[^ :\[]+)[^\[]*?(?:\[.*?\]+)?)(?: +- (?<message>.*))?$"
        ),
    ),
    (Test(PYTEST, Reading::Nothing), r"^(?<name>[^ :]+\.py::.*) (?:FAILED|ERROR)(?: +\[ *[0-9]+%\])?$"),
    (
        Form::PytestHeader,
        r"^_+ (?:ERROR (?:at setup of|at teardown of|collecting) )?(?<name>.*[A-Za-z0-9].*) _+$",
    ),
    (Form::PytestListing, r"^    (?:async )?def (?<name>test[^( ]*)\("),
    (Form::PytestRaised, RAISED_AT_TEXT),
    (
        Test(UNITTEST, Reading::Traceback),
        r"^(?:FAIL|ERROR): (?<name>(?<test>[^ ()]+) \((?<case>[^ ()0-9][^ ()]*)\)(?<more>.*))$",
    ),
    (
        Test(UNITTEST_PROGRESS, Reading::Nothing),
        r"^[ \t]*(?<name>(?<test>[^ ()]+) \((?<case>[^ ()0-9][^ ()]*)\)(?<more>.*)) \.\.\. (?:FAIL|ERROR)$",
    ),
    (
        Test(LIBTEST, Reading::Nothing),
        r"^[ \t]*test (?<name>.*?)(?: \(line .*?\))?(?: - (?:should panic|compile))* \.\.\. FAILED$",
    ),
    (Heading(Reading::Free), r"^[ \t]*---- (?<name>.*) stdout ----$"),
    (List(LIBTEST, &LISTED_LIBTEST), r"^[ \t]*failures:$"),
    (
        Test(NEXTEST, Reading::Panic),
        r"^[ \t]*(?:FAIL|TIMEOUT|ABORT|LEAK-FAIL|XFAIL|SIG[A-Z]+) \[ *>?[0-9.]+s\] +(?:\([^)]*\) +)?(?<name>.*)$",
    ),
    (
        Test(NEXTEST, Reading::Nothing),
        r"^[ \t]*TRY [0-9]+ (?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+) \[ *[0-9.]+s\] +(?:\([^)]*\) +)?(?<name>.*)$",
    ),
    (
        Form::NextestPassed,
        r"^[ \t]*(?:(?:TRY [0-9]+ )?PASS|FLAKY[^\[]*) \[ *[0-9.]+s\] +(?:\([^)]*\) +)?(?<name>.*)$",
    ),
    (
        Test(VITEST, Reading::Free),
        r"^[ \t]*FAIL +(?:\|[^|]*\| +)?(?<name>[^ ]+\.(?:[cm]?[jt]sx?|vue|svelte) > .*)$",
    ),
    (
        Form::JsFile,
        r"^[ \t]*FAIL +(?:\|[^|]*\| +)?(?<name>[^ ]+\.(?:[cm]?[jt]sx?|vue|svelte))(?<more>(?: [^>].*)?)$",
    ),
    (Form::JsPassed, r"^[ \t]*PASS "),
    (Form::JestTest, r"^[ \t]*● (?<name>.*)$"),
    (Form::Crossed, r"^[ \t]*[✕×](?<name>.*)$"),
    (Form::Numbering, r"^[ \t]*(?:Failures:|(?<name>[0-9]+) failing)$"),
    (Form::Numbered, r"^[ \t]*[0-9]+\) (?<name>.*)$"),
    (
        Test(TAP, Reading::Free),
        r"^[ \t]*not ok (?:[0-9]+ *)?(?:- )?(?<name>.*?)(?: # (?:(?<skip>(?i-u:todo|skip).*)|.*))?$",
    ),
    (Test(NODE, Reading::Free), r"^[ \t]*✖ (?<name>.* \([0-9.]+m?s\))$"),
    (Form::GoFailed, r"^[ \t]*(?<before>.*)--- FAIL: (?<name>.*)$"),
    (
        Test(GOTESTSUM, Reading::Indented),
        r"^[ \t]*=== FAIL: (?<name>(?:(?<package>[^ ]+) )?(?<test>[^ (]+))(?: \(.*)?$",
    ),
    (Form::GoPackage, r"^(?:FAIL[ \t]+(?<name>[^ \t]+)|ok[ \t]+[^ \t]+)[ \t]+(?:[0-9.]+m?s|\(cached\))"),
    (Test(GRADLE, Reading::Indented), r"^(?<name>[^ :]+ > .*?)(?:\(\))? FAILED$"),
    (Test(SUREFIRE, Reading::Free), r"^\[ERROR\] +(?<name>[^ :][^:]*?)[ -]*(?:Time elapsed.*)? <<< "),
    (List(SUREFIRE_LIST, &LISTED_SUREFIRE), r"^\[ERROR\] +(?:Failures|Errors): *$"),
    (
        Test(GOOGLETEST, Reading::Printed),
        r"^[ \t]*\[  FAILED  \] (?<name>[^ ,]+)(?:, where .*)?(?: \([0-9.]+ ms\))?$",
    ),
    (Heading(Reading::Free), r" Test .*?: (?<name>[^*]*?)[. ]*\*\*\*"),
    (List(CTEST, &LISTED_CTEST), r"^[ \t]*The following tests FAILED:$"),
    (Test(RSPEC, Reading::Nothing), r"^[ \t]*rspec [^ ]*_spec\.rb[^ ]* # (?<name>.*)$"),
    (Form::Started, r"^[ \t]*(?:=== (?:RUN|CONT|NAME) +|\[ RUN      \] )(?<name>.*)$"),
    (Form::Passed, r"^[ \t]*(?:--- (?:PASS|SKIP): |\[       OK \] )(?<name>.*)$"),
]);

static LISTED_LIBTEST: Pattern = Pattern::new(concat!(
    r"^    +(?<name>[^ ]*[^ :]|.* - .*?)",
    r"(?: \(line .*?\))?(?: - (?:should panic|compile))*$"
));
/// Lines of a message may stand between.
static LISTED_SUREFIRE: Pattern =
    Pattern::new(r"^\[ERROR\]    *(?<name>[^ :]+\.[^ :]+)(?:[: ]|$)|^\[ERROR\]    |^  ");
static LISTED_CTEST: Pattern = Pattern::new(r"^[ \t]*[0-9]+ - (?<name>.*?)(?: \([^(]*\))?$");
/// Before 3.0, surefire wrote `testX(com.foo.BarTest)`.
static OLD_SUREFIRE: Pattern = Pattern::new(r"^(?<test>[^.(]+)\((?<class>[^()]*\.[^()]*)\)$");
/// What jest's dot marks without being a test.
static NO_TEST: Pattern = Pattern::new("^(?:Console|Cannot log after tests|Validation)");

/// Which part of pytest's report a line belongs to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    /// Before any banner: perhaps the rest of the failures.
    #[default]
    Unknown,
    Failures,
    Other,
}

/// Collects what the runners name while an output is read.
#[derive(Default)]
pub(super) struct Runners {
    names: BTreeMap<Source, BTreeSet<String>>,
    own_lines: OwnLines,
    console: Console,
    list: Option<(Source, &'static Pattern)>,
    section: Section,
    /// The test whose source pytest lists.
    listing: Option<String>,
    /// A listing without its beginning: the set would be incomplete.
    unnamed: bool,
    /// The JavaScript file that is being reported, and who reports it, until one of its tests is named.
    file: Option<(String, &'static str)>,
    file_failed: bool,
    /// Go tests of a package that is not known yet: its name follows them.
    unpackaged: BTreeSet<String>,
    in_numbered: bool,
    in_mocha: bool,
    mocha_title: Vec<String>,
}

impl Runners {
    /// Reads a line; the message of pytest's short summary, if it is one of it.
    pub(super) fn line(&mut self, line: &str) -> Option<String> {
        if let Some((source, pattern)) = self.list {
            match pattern.captures(line) {
                Some(found) => self.add(source, group(&found, "name")),
                None => self.list = None,
            }
        }
        let mut is_header = false;
        let mut summary = None;
        if let Some(name) = self.console.line(line) {
            self.add(JUNIT, &name);
            is_header |= self.begin(&name, Reading::Free);
        }
        if self.own_lines.expects_name() && !line.trim().is_empty() {
            is_header |= self.begin(line.trim().trim_end_matches(':'), Reading::Free);
        }
        let forms = FORMS.matches(line);
        self.mocha_title(line, &forms);
        for (form, found) in forms {
            let taken = self.take(form, &found);
            is_header |= taken;
            if taken && matches!(form, Form::PytestSummary) {
                summary = Some(group(&found, "message").to_owned());
            }
        }
        if !is_header {
            self.own_lines.line(line);
        }
        summary
    }

    pub(super) fn failure(&mut self, failure: &Failure) {
        let name = failure.name();
        self.add(JUNIT, &name);
        let kind = Some(failure.kind.as_str()).filter(|kind| !failure.message.contains(kind));
        let message = [kind.unwrap_or_default(), &failure.message].join(": ");
        self.own_lines.report(&name, message.trim_matches([':', ' ']));
    }

    /// An event of `go test -json`, in which the lines of several tests are mixed.
    pub(super) fn event(&mut self, event: &Event) {
        if let Some((package, test)) = event.failed() {
            self.add(GO, &qualified(package, test));
            self.own_lines.begin(test, Reading::Nothing);
        } else if let Some(test) = &event.test {
            let lines = event.output.lines().map(str::trim);
            let own = lines.filter(|line| !line.starts_with("=== ") && !line.starts_with("--- "));
            own.for_each(|line| self.own_lines.print(test, line));
        }
    }

    fn add(&mut self, source: Source, name: &str) {
        add_name(self.names.entry(source).or_default(), name);
    }

    /// Opens a test's own lines; what tests print in pytest's report opens none.
    fn begin(&mut self, name: &str, reading: Reading) -> bool {
        let begins = self.section != Section::Failures || reading == Reading::Marked;
        if begins {
            self.own_lines.begin(untimed(name), reading);
        }
        begins
    }

    /// Takes a line of this form. Whether it is a heading, and so no test's own line.
    fn take(&mut self, form: Form, found: &Captures<'_>) -> bool {
        let name = group(found, "name");
        let timed = || untimed(name).len() < name.trim_end().len();
        match form {
            Test(source, reading) => {
                let Some(id) = id_of(source, found) else { return false };
                self.add(source, untimed(&id));
                return reading != Reading::Nothing && self.begin(name, reading);
            }
            Heading(reading) => return self.begin(name, reading),
            List(source, pattern) => self.list = Some((source, pattern)),
            Form::PytestBanner => {
                self.section = match name.trim() {
                    "FAILURES" | "ERRORS" => Section::Failures,
                    _ => Section::Other,
                };
                self.listing = None;
                self.own_lines.close();
                return true;
            }
            Form::PytestSummary => {
                let path = group(found, "path");
                let named = path.contains('.') && name.contains("::") || path.ends_with(".py");
                if named {
                    self.add(PYTEST, name);
                    self.own_lines.summarize(name, group(found, "message"));
                }
                return named;
            }
            Form::PytestHeader | Form::PytestListing | Form::PytestRaised
                if self.section == Section::Other => {}
            Form::PytestHeader => {
                self.add(PYTEST_HEADER, name);
                return self.section == Section::Failures && self.begin(name, Reading::Marked);
            }
            Form::PytestListing => self.listing = Some(name.to_owned()),
            Form::PytestRaised => match self.listing.take() {
                Some(name) => self.add(PYTEST_LISTING, &name),
                None => self.unnamed = true,
            },
            // It failed before and passed when tried again.
            Form::NextestPassed => {
                self.names.entry(NEXTEST).or_default().remove(&tidy(name));
            }
            Form::JsFile => {
                self.close_file();
                let vitest = group(found, "more").contains(" [ ");
                self.file = Some((name.to_owned(), if vitest { "vitest" } else { "jest" }));
                self.file_failed = true;
            }
            Form::JsPassed => self.close_file(),
            Form::JestTest if NO_TEST.is_match(name) => {}
            Form::JestTest => {
                if let Some((file, _)) = &self.file
                    && !name.starts_with("Test suite failed to run")
                {
                    self.file_failed = false;
                    let whole = format!("{file} › {}", name.trim());
                    self.add(JEST, &whole);
                }
                return self.begin(name, Reading::Free);
            }
            // Others like the sign as well: only in a file's report, or with a time.
            Form::Crossed if self.file.is_some() || timed() => self.add(CROSSED, untimed(name)),
            Form::Crossed => {}
            Form::Numbering => {
                self.in_numbered = true;
                self.in_mocha |= !name.is_empty();
            }
            Form::Numbered if matches!(name, "Failure:" | "Error:") => {
                return self.begin("", Reading::Name);
            }
            Form::Numbered => return self.in_numbered && self.begin(name, Reading::Free),
            // It may follow what a test printed without a line end.
            Form::GoFailed => {
                let alone = group(found, "before").is_empty();
                if alone || timed() {
                    add_name(&mut self.unpackaged, untimed(name));
                }
                return alone && self.begin(name, Reading::Indented);
            }
            Form::GoPackage => self.close_package(name),
            Form::Started => {
                self.own_lines.start(name.trim());
                return true;
            }
            Form::Passed => {
                self.own_lines.pass(untimed(name));
                return true;
            }
        }
        false
    }

    /// A file in which no test failed has failed as a whole.
    fn close_file(&mut self) {
        if let Some((file, tool)) = self.file.take().filter(|_| self.file_failed) {
            self.add(Source("javascript files", 0, tool), &file);
        }
    }

    fn close_package(&mut self, package: &str) {
        for test in std::mem::take(&mut self.unpackaged) {
            self.add(GO, &qualified(package, &test));
        }
    }

    /// A title of mocha begins with its number and goes on below, one part on each line, up to a colon.
    fn mocha_title(&mut self, line: &str, forms: &[(Form, Captures<'_>)]) {
        if !self.in_mocha {
            return;
        }
        let text = line.trim();
        let numbered = forms.iter().find(|(form, _)| matches!(form, Form::Numbered));
        if let Some((_, found)) = numbered {
            self.mocha_title = vec![group(found, "name").to_owned()];
        } else if self.mocha_title.is_empty() || text.is_empty() || !line.starts_with("     ") {
            self.mocha_title.clear();
        } else {
            self.mocha_title.push(text.to_owned());
        }
        if text.ends_with(':') && !self.mocha_title.is_empty() {
            let title = std::mem::take(&mut self.mocha_title).join(" › ");
            self.add(MOCHA, title.trim_end_matches(':'));
        } else if self.mocha_title.len() > MOCHA_PARTS {
            self.mocha_title.clear();
        }
    }

    /// All names, the runner that named most, and the tests with their own lines.
    pub(super) fn finish(mut self) -> (BTreeSet<String>, Option<Tool>, Vec<FailingTest>) {
        self.close_file();
        self.close_package("");
        if self.unnamed {
            self.names.remove(&PYTEST_LISTING);
        }
        let mut all = BTreeSet::new();
        let mut most = (0, None);
        let mut done = "";
        for (Source(family, _, tool), names) in self.names {
            if names.is_empty() || done == family {
                continue;
            }
            done = family;
            if names.len() > most.0 {
                most = (names.len(), Some(Tool(tool)));
            }
            names.into_iter().for_each(|name| insert_bounded(&mut all, name, NAMES));
        }
        (all, most.1, self.own_lines.finish())
    }
}

/// What a test is called in every run and release; none where the line names no test.
fn id_of(source: Source, found: &Captures<'_>) -> Option<String> {
    let name = group(found, "name");
    if found.name("skip").is_some() || name.is_empty() {
        return None;
    }
    match source {
        UNITTEST | UNITTEST_PROGRESS => unittest_name(found),
        GOTESTSUM => Some(qualified(group(found, "package"), group(found, "test"))),
        SUREFIRE => Some(match OLD_SUREFIRE.captures(name) {
            Some(old) => format!("{}.{}", group(&old, "class"), group(&old, "test")),
            None => name.replacen("()", "", 1),
        }),
        _ => Some(name.to_owned()),
    }
}

/// `test_a (mod.Case)` and, since 3.11, `test_a (mod.Case.test_a)`: the same name; a sub-test's parameters follow.
fn unittest_name(found: &Captures<'_>) -> Option<String> {
    let (test, case) = (group(found, "test"), group(found, "case"));
    let valid = |part: &str, more: &str| {
        part.chars().all(|c| c.is_alphanumeric() || "_.<>".contains(c) || more.contains(c))
    };
    let named = case.contains('.') || test.starts_with("test");
    let doubled = case.ends_with(&format!(".{test}"));
    let whole = if doubled { case.to_owned() } else { format!("{case}.{test}") };
    (valid(test, "") && valid(case, "-") && named)
        .then(|| format!("{whole}{}", group(found, "more").trim_end()))
}

/// As go writes it in a stack trace. Files that were named on the command line are no package.
fn qualified(package: &str, test: &str) -> String {
    if package.is_empty() || package == "command-line-arguments" {
        test.to_owned()
    } else {
        format!("{package}.{test}")
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::fingerprint;

    #[track_caller]
    fn named(line: &str, expected: Option<&str>) {
        let found = fingerprint(line).unwrap().failing;
        assert_eq!(found, Vec::from_iter(expected), "{line}");
    }

    #[test]
    fn fp_01_ids() {
        for (line, expected) in [
            ("FAILED a.py::t - ValueError: x - y", Some("a.py::t")),
            ("FAILED a.py::t[a - b] - assert 0", Some("a.py::t[a - b]")),
            ("FAILED a.py::t[a b]", Some("a.py::t[a b]")),
            ("FAILED a.py::t - assert [1] - [2]", Some("a.py::t")),
            ("ERROR tests/a.py - ImportError", Some("tests/a.py")),
            ("ERROR tests/a.py", Some("tests/a.py")),
            ("a.py::C::t[1] FAILED          [ 50%]", Some("a.py::C::t[1]")),
            ("a.py::t ERROR", Some("a.py::t")),
            ("[gw0] [ 50%] FAILED a.py::t", Some("a.py::t")),
            ("a.py::t PASSED [ 50%]", None),
            ("PASSED a.py::t", None),
            ("XFAIL a.py::t - FAILED", None),
            ("FAILED (failures=1)", None),
            ("ERROR: not found: a.py", None),
            ("ERROR the build broke in a.py", None),
            ("_ test_x _", Some("test_x")),
            ("_ _ _ _", None),
            ("__init__", None),
        ] {
            named(line, expected);
        }
    }

    #[test]
    fn fp_01_names_of_old_and_new_releases_are_equal() {
        for (line, expected) in [
            ("FAIL: test_a (m.T)", Some("m.T.test_a")),
            ("FAIL: test_a (m.T.test_a)", Some("m.T.test_a")),
            ("FAIL: test_a (m.T) (i=1)", Some("m.T.test_a (i=1)")),
            ("ERROR: setUpClass (m.T)", Some("m.T.setUpClass")),
            ("ERROR: numpy (1.2.3)", None),
            ("ERROR: could not open (a.b)", None),
        ] {
            named(line, expected);
        }
    }
}
