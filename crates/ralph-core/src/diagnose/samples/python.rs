//! pytest, unittest and tracebacks.

use super::{Kind, Tool, different, names, print, progress, same};

/// One failure as pytest shows it.
fn failure(name: &str, line: u32, error: &str) -> String {
    let kind = error.split(':').next().unwrap();
    format!(
        "____________________ {name} ____________________\n\n    def {name}():\n        x = f()\n\
         >       check(x)\nE       {error}\n\ntests/test_a.py:{line}: {kind}\n"
    )
}

fn pytest(dir: &str, time: &str, failing: &[(&str, &str)]) -> String {
    let listings: String = failing.iter().map(|(n, e)| failure(n, n.len() as u32 * 7, e)).collect();
    let summary: String =
        failing.iter().map(|(n, e)| format!("FAILED {dir}tests/test_a.py::{n} - {e}\n")).collect();
    format!(
        "============================= test session starts =============================\n\
         platform linux -- Python 3.12.1, pytest-8.3.2, pluggy-1.5.0\nrootdir: /home/a/{time}\n\
         collected 9 items\n\ntests/test_a.py FF.s.x...                       [100%]\n\n\
         =================================== FAILURES ===================================\n{listings}\
         ==================================== PASSES ====================================\n\
         ___________________________________ test_fine __________________________________\n\
         ------------------------------ Captured stdout call ------------------------------\nerror: {time}\n\
         =========================== short test summary info ============================\n\
         PASSED tests/test_a.py::test_fine\nSKIPPED [1] tests/test_a.py:3: no\n\
         XFAIL tests/test_a.py::test_later - wanted\n{summary}\
         ================== {} failed, 5 passed, 1 xfailed in {time}s ===================\n",
        failing.len()
    )
}

const A: (&str, &str) = ("test_add", "AssertionError: assert 3 == 4");
const B: (&str, &str) = ("test_sub", "KeyError: 'b'");

#[test]
fn fp_01_pytest() {
    let one = pytest("", "0.12", &[A, B]);
    same(&one, &pytest("../", "31.4", &[B, A]), Kind::Tests, Some(Tool("pytest")));
    different(&one, &pytest("", "0.12", &[A, ("test_mul", B.1)]));
    progress(&one, &pytest("", "0.12", &[B]));
    names(&one, &["tests/test_a.py::test_add", "tests/test_a.py::test_sub"]);
}

#[test]
fn fp_04_pytest_another_exception_or_message_is_progress() {
    let one = pytest("", "0.12", &[A]);
    progress(&one, &pytest("", "0.12", &[(A.0, "TypeError: no such thing")]));
    progress(&one, &pytest("", "0.12", &[(A.0, "AssertionError: the sum is wrong")]));
    same(
        &one,
        &pytest("", "0.12", &[(A.0, "AssertionError: assert 5 == 8")]),
        Kind::Tests,
        Some(Tool("pytest")),
    );
}

#[test]
fn fp_04_pytest_the_exception_of_every_failing_test_counts() {
    let one = |shown: &str, summary: &str| {
        format!(
            "==== FAILURES ====\n{}==== short test summary info ====\nFAILED tests/test_a.py::test_add - {shown}\n\
             FAILED tests/test_a.py::test_sub - {summary}\n==== 2 failed in 0.1s ====\n",
            failure("test_add", 3, "ValueError: no such user at all")
        )
    };
    let whole = "ValueError: no such user at all";
    progress(&one(whole, "KeyError: 'b'"), &one(whole, "TypeError: no"));
    progress(&one(whole, "KeyError: 'b'"), &one(whole, "KeyError: 'c'"));
    progress(&one(whole, "assert 3 == 4"), &one(whole, "KeyError: 'c'"));
    progress(&one(whole, "KeyError: a - b"), &one(whole, "OSError: a - b"));
    // What repeats the explanation of a test, cut to the terminal's width, adds nothing.
    let cut = |value: &str| one("ValueError: no such us...", &format!("assert {value}..."));
    assert_eq!(print(&cut("12 =")).evidence, print(&one(whole, "assert 3 ...")).evidence);
    same(&cut("3 == "), &cut("12 ="), Kind::Tests, Some(Tool("pytest")));
    progress(&cut("3 == "), &one("ValueError: no such us...", "KeyErro..."));
    // Nor does a line that the terminal wrapped.
    let wrapped = "ValueError: no such us";
    let deep = |summary: &str| {
        one(summary, "KeyError: 'b'").replace("FAILED ", &format!("FAILED {}/", "deep/".repeat(9)))
    };
    assert_eq!(print(&deep(wrapped)).evidence, print(&deep(whole)).evidence);
    let (b, c) = (deep(whole), deep(whole).replace("'b'", "'c'"));
    progress(&b, &c);
    // Tracebacks of Python's own form count as the explanation.
    let native = |summary: &str| {
        format!(
            "____ test_add ____\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'a'\n\
             FAILED a.py::test_add - KeyError: 'a'\nFAILED a.py::test_sub - {summary}\n"
        )
    };
    progress(&native("KeyError: 'b'"), &native("TypeError: no"));
}

#[test]
fn fp_01_pytest_other_forms_name_the_same_tests() {
    let verbose = "tests/test_a.py::test_add FAILED                    [ 50%]\n\
        tests/test_a.py::test_fine PASSED                   [ 75%]\n\
        tests/test_a.py::test_later XFAIL                   [ 80%]\n\
        tests/test_a.py::test_sub ERROR                     [100%]\n";
    let workers = "[gw1] [ 50%] FAILED tests/test_a.py::test_add \n\
        [gw0] [100%] PASSED tests/test_a.py::test_fine \n\
        [gw0] [100%] ERROR tests/test_a.py::test_sub \n";
    let quiet = "FF.\nFAILED tests/test_a.py::test_add - asse...\nERROR tests/test_a.py::test_sub\n\
        2 failed, 1 passed in 0.02s";
    let coarse = print(&pytest("", "0.1", &[A, B])).coarse;
    for form in [verbose, workers, quiet] {
        assert_eq!(print(form).coarse, coarse, "{form}");
    }
}

#[test]
fn fp_01_pytest_without_a_summary() {
    let body = |names: &[&str]| {
        let failures: String = names.iter().map(|n| failure(n, 3, "ValueError: x")).collect();
        format!("=================== FAILURES ====================\n{failures}===== 1 failed in 2s =====\n")
    };
    names(&body(&["test_b", "test_a"]), &["test_a", "test_b"]);
    progress(&body(&["test_b", "test_a"]), &body(&["test_b"]));
    // Cut down to the listings.
    let listing = |name: &str| {
        failure(name, 3, "ValueError: x").lines().skip(1).map(|l| format!("{l}\n")).collect::<String>()
    };
    names(&listing("test_a"), &["test_a"]);
    // A listing without its beginning names nothing: three error lines it is.
    let cut = format!("E       KeyError: 'a'\n\na.py:3: KeyError\n{}", listing("test_a"));
    assert_eq!(print(&cut).kind, Kind::Lines);
    // Setup and collection errors.
    let errors = "==== ERRORS ====\n_____ ERROR at setup of test_a _____\nE   ValueError: x\n\
        _ ERROR collecting tests/test_b.py _\nE   ImportError: y\n==== 2 errors in 0.1s ====";
    names(errors, &["test_a", "tests/test_b.py"]);
}

#[test]
fn fp_01_parameters_count_but_addresses_in_them_do_not() {
    let one =
        |p: &str| format!("FAILED a.py::test_p[{p}] - AssertionError: assert 0\n=== 1 failed in 0.1s ===");
    same(&one("<f at 0x7f00aa12>"), &one("<f at 0x7fffbb34>"), Kind::Tests, Some(Tool("pytest")));
    same(&one("/tmp/pytest-1/x"), &one("/tmp/pytest-2/y"), Kind::Tests, Some(Tool("pytest")));
    different(&one("1-a - b"), &one("2-a - b"));
    names(&one("a - b"), &["a.py::test_p[a - b]"]);
}

fn unittest(failing: &[&str], dir: &str, time: &str) -> String {
    let failures: String = failing
        .iter()
        .map(|n| {
            format!(
                "======================================================================\nFAIL: {n} (m.T.{n})\n\
                 Adds up\n----------------------------------------------------------------------\n\
                 Traceback (most recent call last):\n  File \"{dir}/m.py\", line {}, in {n}\n    \
                 self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n",
                time.len()
            )
        })
        .collect();
    format!(
        "test_ok (m.T.test_ok) ... ok\n{failures}\
         ----------------------------------------------------------------------\n\
         Ran 5 tests in {time}s\n\nFAILED (failures={}, expected failures=1)\n",
        failing.len()
    )
}

#[test]
fn fp_01_unittest() {
    let one = unittest(&["test_a", "test_b"], "/a", "0.001");
    same(&one, &unittest(&["test_b", "test_a"], "/b/c", "12.5"), Kind::Tests, Some(Tool("unittest")));
    different(&one, &unittest(&["test_a", "test_c"], "/a", "0.001"));
    progress(&one, &unittest(&["test_a"], "/a", "0.001"));
    names("test_a (m.T) ... FAIL\ntest_b (m.T) ... skipped 'x'\n", &["m.T.test_a"]);
    names(
        "FAIL: test_s (m.T.test_s) (i=0)\nERROR: setUpClass (m.U)",
        &["m.T.test_s (i=0)", "m.U.setUpClass"],
    );
}

#[test]
fn fp_03_tracebacks() {
    let one = |dir: &str, line: u32, error: &str| {
        format!(
            "Starting at {line}\nTraceback (most recent call last):\n  File \"{dir}/app.py\", line {line}, in <module>\n    \
             main()\n    ~~~~^^\n  File \"{dir}/app.py\", line 3, in main\n    raise Error\n{error}\n"
        )
    };
    same(
        &one("/a", 3, "FileNotFoundError: [Errno 2] No such file: '/a/b.txt'"),
        &one("/b", 9, "FileNotFoundError: [Errno 2] No such file: '/c/d.txt'"),
        Kind::Lines,
        None,
    );
    different(&one("/a", 3, "KeyError: 'x'"), &one("/a", 3, "ZeroDivisionError: division by zero"));
    progress(&one("/a", 3, "KeyError: 'x'"), &one("/a", 3, "KeyError: 'y'"));
}
