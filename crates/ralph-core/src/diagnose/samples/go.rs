//! go.

use super::{Kind, Tool, different, names, print, progress, same};

fn go(failing: &[&str], time: &str) -> String {
    let fails: String = failing
        .iter()
        .map(|n| {
            format!(
                "=== RUN   {n}\n--- FAIL: {n} ({time}s)\n    --- FAIL: {n}/sub ({time}s)\n        a_test.go:{}: got 3, want 4\n",
                time.len()
            )
        })
        .collect();
    format!(
        "=== RUN   TestOk\n--- PASS: TestOk (0.00s)\n--- SKIP: TestNot (0.00s)\n{fails}FAIL\nexit status 1\n\
         FAIL\texample.com/m/a\t{time}s\nok  \texample.com/m/b\t{time}s\nFAIL\n"
    )
}

#[test]
fn fp_01_go_test() {
    let one = go(&["TestA", "TestB"], "0.00");
    same(&one, &go(&["TestB", "TestA"], "12.30"), Kind::Tests, Some(Tool("go test")));
    different(&one, &go(&["TestA", "TestC"], "0.00"));
    progress(&one, &go(&["TestB"], "0.00"));
    names(&go(&["TestA"], "0.00"), &["example.com/m/a.TestA", "example.com/m/a.TestA/sub"]);
}

#[test]
fn fp_02_go_build() {
    let one = |dir: &str, at: u32, name: &str| {
        format!(
            "# example.com/m/a\n{dir}a.go:{at}:5: undefined: {name}\n{dir}b.go:{at}:2: \"fmt\" imported and not used\n\
             FAIL\texample.com/m/a [build failed]\nFAIL\n"
        )
    };
    same(&one("./", 3, "foo"), &one("pkg/deep/", 40, "foo"), Kind::Compiler, Some(Tool("go")));
    different(&one("./", 3, "foo"), &one("./", 3, "bar"));
}

#[test]
fn fp_03_go_panic() {
    let one = |at: &str, what: &str| {
        format!(
            "panic: {what}\n\ngoroutine {} [running]:\nmain.main()\n\t/a/{at}/main.go:{} +0x{at}\nexit status 2\n",
            at.len(),
            at.len()
        )
    };
    let range = "runtime error: index out of range [5] with length 3";
    same(&one("1d", range), &one("45c8f", &range.replace('5', "7")), Kind::Lines, None);
    different(&one("1d", range), &one("1d", "no configuration"));
}

/// Two packages, in each of which a test of the same name may fail.
fn packages(failing: &[(&str, &str)], time: &str) -> String {
    failing
        .iter()
        .map(|(package, test)| {
            format!(
                "--- FAIL: {test} ({time}s)\n    a_test.go:3: got 3, want 4\nFAIL\nFAIL\texample.com/{package}\t{time}s\n"
            )
        })
        .chain([format!("ok  \texample.com/r\t{time}s\n?   \texample.com/s\t[no test files]\nFAIL\n")])
        .collect()
}

#[test]
fn fp_01_go_packages_tell_tests_apart() {
    let both = packages(&[("p", "TestB"), ("q", "TestB")], "0.003");
    names(&both, &["example.com/p.TestB", "example.com/q.TestB"]);
    same(&both, &packages(&[("q", "TestB"), ("p", "TestB")], "1.25"), Kind::Tests, Some(Tool("go test")));
    different(&packages(&[("p", "TestB")], "0.003"), &packages(&[("q", "TestB")], "0.003"));
    progress(&both, &packages(&[("q", "TestB")], "0.003"));
    // Where no package is named, the test's name has to do.
    names("--- FAIL: TestB (0.00s)\nFAIL\n", &["TestB"]);
    names("--- FAIL: TestB (0.00s)\nFAIL\nFAIL\tcommand-line-arguments\t0.002s\nFAIL\n", &["TestB"]);
    // A test that printed without a line end.
    names(
        "no line end--- FAIL: TestB (0.00s)\nFAIL\nFAIL    example.com/p   0.002s\n",
        &["example.com/p.TestB"],
    );
    names(
        "=== Failed\n=== FAIL: p TestB/sub (0.00s)\n    a_test.go:4: got 3\n    --- FAIL: TestB/sub (0.00s)\n\n\
         === FAIL: p TestB (re-run 1) (0.00s)\n\nDONE 3 tests, 2 failures in 0.003s\n",
        &["p.TestB", "p.TestB/sub"],
    );
}

/// The same failures in each form; the events of packages that run at once are mixed.
fn forms(time: &str, got: &str) -> [String; 3] {
    let plain = format!(
        "hello\n--- FAIL: TestB ({time}s)\n    --- FAIL: TestB/sub ({time}s)\n        p_test.go:4: {got}\nFAIL\n\
         FAIL\texample.com/p\t{time}s\n--- FAIL: TestB ({time}s)\n    q_test.go:3: boom\nFAIL\n\
         FAIL\texample.com/q\t{time}s\nok  \texample.com/r\t{time}s\nFAIL\n"
    );
    let verbose = format!(
        "=== RUN   TestA\nhello\n--- PASS: TestA ({time}s)\n=== RUN   TestB\n=== RUN   TestB/sub\n    p_test.go:4: {got}\n\
         --- FAIL: TestB ({time}s)\n    --- FAIL: TestB/sub ({time}s)\nFAIL\nFAIL\texample.com/p\t{time}s\n\
         === RUN   TestB\n    q_test.go:3: boom\n--- FAIL: TestB ({time}s)\nFAIL\nFAIL\texample.com/q\t{time}s\n\
         === RUN   TestOk\n--- PASS: TestOk ({time}s)\nPASS\nok  \texample.com/r\t{time}s\nFAIL\n"
    );
    let event = |action: &str, package: &str, test: &str, rest: &str| {
        format!(
            "{{\"Time\":\"2026-01-02T03:04:05.06{}Z\",\"Action\":\"{action}\",\"Package\":\"example.com/{package}\"{}{rest}}}\n",
            time.len(),
            if test.is_empty() { String::new() } else { format!(",\"Test\":\"{test}\"") }
        )
    };
    let said = |package: &str, test: &str, text: &str| {
        event("output", package, test, &format!(",\"Output\":\"{text}\\n\""))
    };
    let elapsed = format!(",\"Elapsed\":{time}");
    let json = [
        event("run", "p", "TestB", ""),
        event("run", "q", "TestB", ""),
        said("p", "TestB/sub", &format!("    p_test.go:4: {got}")),
        said("q", "TestB", "    q_test.go:3: boom"),
        said("q", "TestB", &format!("--- FAIL: TestB ({time}s)")),
        said("p", "TestB", &format!("--- FAIL: TestB ({time}s)")),
        said("p", "TestB/sub", &format!("    --- FAIL: TestB/sub ({time}s)")),
        event("fail", "p", "TestB/sub", &elapsed),
        event("fail", "p", "TestB", &elapsed),
        event("fail", "q", "TestB", &elapsed),
        said("q", "", &format!("FAIL\\texample.com/q\\t{time}s")),
        event("fail", "q", "", &elapsed),
        event("pass", "r", "TestOk", &elapsed),
        event("fail", "p", "", &elapsed),
    ];
    [plain, verbose, json.concat()]
}

#[test]
fn fp_01_go_forms_name_the_same_tests() {
    let expected = ["example.com/p.TestB", "example.com/p.TestB/sub", "example.com/q.TestB"];
    let [plain, ..] = forms("0.00", "got 3, want 4");
    for (form, later) in forms("0.00", "got 3, want 4").iter().zip(forms("12.30", "got 5, want 6")) {
        names(form, &expected);
        same(form, &later, Kind::Tests, Some(Tool("go test")));
        assert_eq!(print(form), print(&plain), "{form}");
    }
}

#[test]
fn fp_04_go_forms_tell_messages_apart() {
    for (form, other) in forms("0.00", "got 3, want 4").iter().zip(forms("0.00", "no such user")) {
        progress(form, &other);
    }
    // A line that is cut is still read.
    let long = |start: &str| {
        let [.., json] = forms("0.00", &format!("{start} {}", "and more ".repeat(400)));
        json
    };
    progress(&long("this"), &long("that"));
}

#[test]
fn fp_02_go_build_in_events() {
    let one = |name: &str| {
        format!(
            "{{\"ImportPath\":\"example.com/t\",\"Action\":\"build-output\",\"Output\":\"# example.com/t\\n\"}}\n\
             {{\"ImportPath\":\"example.com/t\",\"Action\":\"build-output\",\"Output\":\"t/t_test.go:3:27: undefined: {name}\\n\"}}\n\
             {{\"ImportPath\":\"example.com/t\",\"Action\":\"build-fail\"}}\n\
             {{\"Time\":\"2026-01-02T03:04:05Z\",\"Action\":\"fail\",\"Package\":\"example.com/t\",\"Elapsed\":0}}\n"
        )
    };
    same(&one("foo"), &one("foo"), Kind::Compiler, Some(Tool("go")));
    different(&one("foo"), &one("bar"));
    let plain =
        "# example.com/t\nt/t_test.go:3:27: undefined: foo\nFAIL\texample.com/t [build failed]\nFAIL\n";
    assert_eq!(print(&one("foo")).coarse, print(plain).coarse);
}
