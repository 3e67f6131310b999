//! jest, vitest, mocha, Node's runner, tsc, eslint and stack traces of Node.

use super::{Kind, Tool, different, names, progress, same};

fn jest(failing: &[&str], time: &str) -> String {
    let details: String = failing
        .iter()
        .map(|n| {
            format!(
                "  ● Math › {n}\n\n    expect(received).toBe(expected) // Object.is equality\n\n    \
                 Expected: {time}\n    Received: 2\n\n      at Object.toBe (src/a.test.js:{}:59)\n\n",
                time.len()
            )
        })
        .collect();
    format!(
        "PASS src/ok.test.js\n  ● Console\n\n    console.error\n      took {time}\n\nFAIL src/a.test.js ({time} s)\n  \
         Math\n    ✕ {} ({time} ms)\n    ✓ ok (17 ms)\n    ○ skipped sk\n\n{details}\
         Summary of all failing tests\nFAIL src/a.test.js\n{details}\n\
         Test Suites: 1 failed, 1 passed, 2 total\nTests:       2 failed, 1 passed, 4 total\nTime:        {time} s\n",
        failing.join(&format!(" ({time} ms)\n    ✕ "))
    )
}

#[test]
fn fp_01_jest() {
    let one = jest(&["adds", "takes"], "5");
    same(&one, &jest(&["takes", "adds"], "1.25"), Kind::Tests, Some(Tool("jest")));
    different(&one, &jest(&["adds", "divides"], "5"));
    progress(&one, &jest(&["takes"], "5"));
    names(&one, &["src/a.test.js › Math › adds", "src/a.test.js › Math › takes"]);
    let broken = "FAIL src/b.test.ts\n  ● Test suite failed to run\n\n    Cannot find module './nope' from 'b.test.ts'\n";
    names(broken, &["src/b.test.ts"]);
}

fn vitest(failing: &[&str], time: &str) -> String {
    let list: String = failing.iter().map(|n| format!("     × {n} {time}ms\n")).collect();
    let details: String = failing
        .iter()
        .map(|n| {
            format!(
                " FAIL  src/a.test.ts > Math > {n}\nAssertionError: expected 2 to be 3 // Object.is equality\n\n\
                 - 3\n+ 2\n\n ❯ src/a.test.ts:{}:59\n\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/3]⎯\n",
                time.len()
            )
        })
        .collect();
    format!(
        " RUN  v4.1.12 /tmp/{time}/js\n\n ❯ src/a.test.ts (3 tests | 2 failed) {time}ms\n{list}     ✓ ok 0ms\n\n\
         ⎯⎯⎯⎯⎯⎯⎯ Failed Tests 2 ⎯⎯⎯⎯⎯⎯⎯\n\n{details}\n Test Files  1 failed (1)\n      Tests  2 failed | 1 passed (3)\n   \
         Start at  01:30:30\n   Duration  {time}ms (transform 21ms, setup 0ms)\n"
    )
}

#[test]
fn fp_01_vitest() {
    let one = vitest(&["adds", "takes"], "9");
    same(&one, &vitest(&["takes", "adds"], "1234"), Kind::Tests, Some(Tool("vitest")));
    different(&one, &vitest(&["adds", "divides"], "9"));
    progress(&one, &vitest(&["adds"], "9"));
    names(
        " FAIL  |unit| src/b.test.ts [ src/b.test.ts ]\nError: Cannot find module './nope'\n",
        &["src/b.test.ts"],
    );
}

#[test]
fn fp_01_mocha() {
    let one = |deep: &str, time: &str| {
        format!(
            "  Math\n    1) adds\n    ✔ ok ({time}ms)\n    deep\n      2) {deep}\n\n  1 passing ({time}ms)\n  2 failing\n\n  \
             1) Math\n       adds:\n\n      AssertionError [ERR_ASSERTION]: 2 == 3\n      + expected - actual\n\n      \
             -2\n      +3\n      \n      at Context.<anonymous> (m/a.js:2:{})\n\n  2) Math\n       deep\n         {deep}:\n     \
             TypeError: Cannot read properties of null (reading 'x')\n      at Context.<anonymous> (m/a.js:2:135)\n",
            time.len()
        )
    };
    same(&one("fails", "7"), &one("fails", "700"), Kind::Tests, Some(Tool("mocha")));
    different(&one("fails", "7"), &one("breaks", "7"));
    names(&one("fails", "7"), &["Math › adds", "Math › deep › fails"]);
}

#[test]
fn fp_01_tap_and_node() {
    let tap = |failing: &[&str], time: &str| {
        let lines: String = failing
            .iter()
            .map(|n| {
                format!(
                    "    not ok 1 - {n} # time={time}ms\n      ---\n      duration_ms: {time}\n      ...\n"
                )
            })
            .collect();
        format!(
            "TAP version 13\n{lines}ok 2 - ok\nnot ok 3 - later # TODO\nnot ok 4 - never # SKIP no\n1..4\n"
        )
    };
    let one = tap(&["adds", "takes"], "6.04");
    same(&one, &tap(&["takes", "adds"], "0.1"), Kind::Tests, Some(Tool("tap")));
    different(&one, &tap(&["adds", "divides"], "6.04"));
    progress(&one, &tap(&["adds"], "6.04"));
    names(
        "▶ Math\n  ✖ adds (6.04ms)\n  ✔ ok (0.1ms)\nℹ fail 1\n\n✖ failing tests:\n✖ adds (6.04ms)\n",
        &["adds"],
    );
}

#[test]
fn fp_02_tsc() {
    let plain = |dir: &str, at: u32, code: &str, name: &str| {
        format!(
            "{dir}t.ts({at},22): error {code}: Cannot find name '{name}'.\n{dir}u.ts(1,{at}): error TS1005: ';' expected.\n"
        )
    };
    let one = plain("", 1, "TS2304", "foo");
    same(&one, &plain("src/deep/", 77, "TS2304", "foo"), Kind::Compiler, Some(Tool("tsc")));
    different(&one, &plain("", 1, "TS2304", "bar"));
    different(&one, &plain("", 1, "TS2552", "foo"));
    let pretty = "src/t.ts:1:22 - error TS2304: Cannot find name 'foo'.\n\n1 let x = foo();\n          ~~~\n\n\
        u.ts:3:1 - error TS1005: ';' expected.\n\nFound 2 errors in 2 files.\n";
    same(&one, pretty, Kind::Compiler, Some(Tool("tsc")));
}

#[test]
fn fp_02_eslint() {
    let one = |dir: &str, at: u32, name: &str| {
        format!(
            "\n{dir}/src/l.js\n  {at}:1   error    Unexpected var, use let or const instead  no-var\n  \
             {at}:5   warning  'a{at}' is assigned a value but never used    no-unused-vars\n  \
             {at}:33  error    '{name}' is not defined                        no-undef\n\n\
             ✖ 3 problems (2 errors, 1 warning)\n"
        )
    };
    same(&one("/a", 1, "b"), &one("/home/x", 40, "b"), Kind::Compiler, Some(Tool("eslint")));
    different(&one("/a", 1, "b"), &one("/a", 1, "c"));
}

#[test]
fn fp_03_node() {
    let one = |dir: &str, at: u32, message: &str| {
        format!(
            "{dir}/app.js:{at}\n    null.x\n         ^\n\nTypeError: {message}\n    at f ({dir}/app.js:{at}:20)\n    \
             at Module._compile (node:internal/modules/cjs/loader:1554:14)\n\nNode.js v20.20.{at}\n"
        )
    };
    let x = "Cannot read properties of null (reading 'x')";
    same(&one("/a", 3, x), &one("/b/c", 44, x), Kind::Lines, None);
    different(&one("/a", 3, x), &one("/a", 3, "foo is not a function"));
}
