//! cargo test, cargo nextest and rustc.

use super::{Kind, Tool, different, names, progress, same};

fn cargo_test(failing: &[&str], time: &str) -> String {
    let lines = |f: &dyn Fn(&str) -> String| failing.iter().map(|n| f(n)).collect::<String>();
    format!(
        "   Compiling demo v0.1.0 (/tmp/{time}/demo)\nwarning: unused variable: `x`\n --> src/lib.rs:3:9\n\n\
         running 4 tests\ntest tests::ok ... ok\ntest tests::slow ... ignored\n{}\nfailures:\n\n{}\n\
         failures:\n{}\n\
         test result: FAILED. 1 passed; {} failed; 1 ignored; 0 measured; 0 filtered out; finished in {time}s\n\n\
         error: test failed, to rerun pass `--lib`\n",
        lines(&|n| format!("test {n} ... FAILED\n")),
        lines(&|n| format!(
            "---- {n} stdout ----\n\nthread '{n}' ({}) panicked at src/lib.rs:9:18:\n\
             assertion `left == right` failed: off\n  left: 1\n right: 2\n\
             note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n",
            time.len()
        )),
        lines(&|n| format!("    {n}\n")),
        failing.len()
    )
}

#[test]
fn fp_01_cargo_test() {
    let one = cargo_test(&["tests::a", "tests::b"], "0.12");
    same(&one, &cargo_test(&["tests::b", "tests::a"], "10.5"), Kind::Tests, Some(Tool("cargo test")));
    different(&one, &cargo_test(&["tests::a", "tests::c"], "0.12"));
    progress(&one, &cargo_test(&["tests::a"], "0.12"));
    names(
        "test src/lib.rs - f (line 12) ... FAILED\ntest t::p - should panic ... FAILED\n",
        &["src/lib.rs - f", "t::p"],
    );
}

fn nextest(failing: &[&str], time: &str) -> String {
    let fails: String =
        failing.iter().map(|n| format!("        FAIL [   {time}s] (1/4) demo {n}\n")).collect();
    let inner: String = failing
        .iter()
        .map(|n| {
            let test = n.rsplit(' ').next().unwrap();
            format!("  stdout ───\n\n    running 1 test\n    test {test} ... FAILED\n\n    failures:\n        {test}\n\n")
        })
        .collect();
    format!(
        "    Starting 4 tests across 1 binary\n{fails}{inner}        PASS [   {time}s] (2/4) demo tests::ok\n\
         ────────────\n     Summary [   {time}s] 4 tests run: 1 passed, 3 failed, 0 skipped\n{fails}\
         error: test run failed\n"
    )
}

#[test]
fn fp_01_nextest() {
    let one = nextest(&["tests::a", "tests::b"], "0.025");
    same(&one, &nextest(&["tests::b", "tests::a"], "3.100"), Kind::Tests, Some(Tool("cargo nextest")));
    different(&one, &nextest(&["tests::a", "tests::c"], "0.025"));
    progress(&one, &nextest(&["tests::b"], "0.025"));
    let flaky = "  TRY 1 FAIL [   0.01s] demo t::flaky\n  TRY 2 PASS [   0.01s] demo t::flaky\n\
        TRY 1 FAIL [   0.01s] demo t::bad\n  TRY 2 FAIL [   0.01s] demo t::bad\n  SIGSEGV [   0.01s] demo t::worse\n";
    names(flaky, &["demo t::bad", "demo t::worse"]);
}

fn rustc(dir: &str, line: u32, code: &str, symbol: &str) -> String {
    format!(
        "   Compiling demo v0.1.0 (/home/{line}/demo)\nwarning: unused import: `y`\n --> {dir}/z.rs:1:5\n\n\
         error[{code}]: cannot find function `{symbol}` in this scope\n  --> {dir}/lib.rs:{line}:39\n   |\n\
         {line} | pub fn f() -> u32 {{ {symbol}(x) }}\n   |                     ^^^ not found in this scope\n\n\
         For more information about this error, try `rustc --explain {code}`.\n\
         error: could not compile `demo` (lib) due to 1 previous error\n"
    )
}

#[test]
fn fp_02_rustc() {
    let one = rustc("src", 12, "E0425", "foo");
    same(&one, &rustc("crates/a/src", 99, "E0425", "foo"), Kind::Compiler, Some(Tool("rustc")));
    different(&one, &rustc("src", 12, "E0425", "bar"));
    different(&one, &rustc("src", 12, "E0433", "foo"));
    different(&one, &one.replace("lib.rs", "main.rs"));
    let lint = |line: u32| {
        format!(
            "error: this `if` has identical blocks\n --> src/a.rs:{line}:5\n\nerror: could not compile `demo`\n"
        )
    };
    same(&lint(3), &lint(8), Kind::Compiler, Some(Tool("rustc")));
}

#[test]
fn fp_02_several_errors_in_any_order() {
    let (a, b) = (rustc("src", 1, "E0425", "foo"), rustc("src", 2, "E0425", "bar"));
    same(&format!("{a}{b}"), &format!("{b}{a}"), Kind::Compiler, Some(Tool("rustc")));
    different(&format!("{a}{b}"), &a);
}

#[test]
fn fp_03_a_panic_without_tests() {
    let one = |at: &str, message: &str| {
        format!(
            "thread 'main' ({at}) panicked at src/main.rs:{at}:5:\n{message}\n\
             note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
        )
    };
    same(&one("3", "failed at 12"), &one("88", "failed at 99"), Kind::Lines, None);
    progress(&one("3", "index"), &one("3", "overflow"));
}
