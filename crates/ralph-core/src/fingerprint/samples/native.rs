//! go, gcc and clang, ld, Maven, Gradle, Java, GoogleTest, CTest and RSpec.

use super::{Kind, Tool, different, names, progress, same};

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
    same(
        &one,
        &go(&["TestB", "TestA"], "12.30"),
        Kind::Tests,
        Some(Tool::GoTest),
    );
    different(&one, &go(&["TestA", "TestC"], "0.00"));
    progress(&one, &go(&["TestB"], "0.00"));
    names(&go(&["TestA"], "0.00"), &["TestA", "TestA/sub"]);
}

#[test]
fn fp_02_go_build() {
    let one = |dir: &str, at: u32, name: &str| {
        format!(
            "# example.com/m/a\n{dir}a.go:{at}:5: undefined: {name}\n{dir}b.go:{at}:2: \"fmt\" imported and not used\n\
             FAIL\texample.com/m/a [build failed]\nFAIL\n"
        )
    };
    same(
        &one("./", 3, "foo"),
        &one("pkg/deep/", 40, "foo"),
        Kind::Compiler,
        Some(Tool::Go),
    );
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
    same(
        &one("1d", range),
        &one("45c8f", &range.replace('5', "7")),
        Kind::Lines,
        None,
    );
    different(&one("1d", range), &one("1d", "no configuration"));
}

#[test]
fn fp_02_gcc_and_clang() {
    let gcc = |dir: &str, at: u32, name: &str| {
        format!(
            "{dir}c.c: In function ‘main’:\n{dir}c.c:{at}:21: error: ‘{name}’ undeclared (first use in this function)\n    \
             {at} | int main(){{ int x = {name}; }}\n      |                     ^\n\
             {dir}c.c:{at}:24: warning: implicit declaration of function ‘foo{at}’ [-Wimplicit-function-declaration]\n\
             make: *** [Makefile:{at}: all] Error 1\n"
        )
    };
    same(
        &gcc("", 2, "y"),
        &gcc("/src/deep/", 90, "y"),
        Kind::Compiler,
        Some(Tool::Gcc),
    );
    different(&gcc("", 2, "y"), &gcc("", 2, "z"));
    let clang = |at: u32, name: &str| {
        format!(
            "a/b.cpp:{at}:3: error: use of undeclared identifier '{name}'\n1 error generated.\n"
        )
    };
    same(
        &clang(3, "y"),
        &clang(5, "y"),
        Kind::Compiler,
        Some(Tool::Gcc),
    );
    different(&clang(3, "y"), &clang(3, "z"));
    let header = |dir: &str, name: &str| {
        format!(
            "{dir}/x.c:1:10: fatal error: {name}: No such file or directory\ncompilation terminated.\n"
        )
    };
    same(
        &header("/a", "foo.h"),
        &header("b", "foo.h"),
        Kind::Compiler,
        Some(Tool::Gcc),
    );
    different(&header("/a", "sub/foo.h"), &header("/a", "sub/bar.h"));
}

#[test]
fn fp_02_linker() {
    let one = |object: &str, name: &str| {
        format!(
            "/usr/bin/ld: /tmp/{object}.o: in function `main':\nd.c:(.text+0xa): undefined reference to `{name}'\n\
             collect2: error: ld returned 1 exit status\n"
        )
    };
    same(
        &one("ccTbJCKo", "f"),
        &one("cc12abcd", "f"),
        Kind::Compiler,
        Some(Tool::Linker),
    );
    different(&one("ccTbJCKo", "f"), &one("ccTbJCKo", "g"));
}

fn surefire(failing: &[&str], time: &str) -> String {
    let fails: String = failing
        .iter()
        .map(|n| {
            format!(
                "[ERROR] com.foo.BarTest.{n} -- Time elapsed: {time} s <<< FAILURE!\n\
                 org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n\
                 \tat com.foo.BarTest.{n}(BarTest.java:{})\n\n",
                time.len()
            )
        })
        .collect();
    let results: String = failing
        .iter()
        .map(|n| {
            format!(
                "[ERROR]   BarTest.{n}:{} expected: <1> but was: <2>\n",
                time.len()
            )
        })
        .collect();
    format!(
        "[INFO]  T E S T S\n[INFO] Running com.foo.BarTest\n\
         [ERROR] Tests run: 3, Failures: 2, Errors: 0, Skipped: 0, Time elapsed: {time} s <<< FAILURE! -- in com.foo.BarTest\n\
         {fails}[INFO] Results:\n[INFO] \n[ERROR] Failures: \n{results}[INFO] \n\
         [ERROR] Tests run: 3, Failures: 2, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n[INFO] Total time:  {time} s\n\
         [ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:test\n"
    )
}

#[test]
fn fp_01_surefire() {
    let one = surefire(&["adds", "takes"], "0.012");
    same(
        &one,
        &surefire(&["takes", "adds"], "3.1"),
        Kind::Tests,
        Some(Tool::Surefire),
    );
    different(&one, &surefire(&["adds", "divides"], "0.012"));
    progress(&one, &surefire(&["takes"], "0.012"));
    names(
        "[ERROR] adds(com.foo.BarTest)  Time elapsed: 0.01 s  <<< ERROR!\n",
        &["com.foo.BarTest.adds"],
    );
    names(
        "[ERROR] Errors: \n[ERROR]   BarTest.takes:30 » NullPointer\n[INFO] \n[ERROR] Tests run: 3\n",
        &["BarTest.takes"],
    );
}

#[test]
fn fp_01_gradle() {
    let one = |name: &str, at: u32| {
        format!(
            "> Task :test FAILED\n\ncom.foo.BarTest > {name}() FAILED\n    \
             org.opentest4j.AssertionFailedError at BarTest.java:{at}\n\n3 tests completed, 1 failed\n\nBUILD FAILED in {at}s\n"
        )
    };
    same(
        &one("adds", 3),
        &one("adds", 30),
        Kind::Tests,
        Some(Tool::Gradle),
    );
    different(&one("adds", 3), &one("takes", 3));
}

#[test]
fn fp_02_javac_and_maven() {
    let javac = |dir: &str, at: u32, name: &str| {
        format!(
            "{dir}B.java:{at}: error: cannot find symbol\nclass B {{ void f(){{ {name}(); }} }}\n                 ^\n  \
             symbol:   method {name}()\n  location: class B\n1 error\n"
        )
    };
    same(
        &javac("", 1, "foo"),
        &javac("src/main/", 33, "foo"),
        Kind::Compiler,
        Some(Tool::Javac),
    );
    different(&javac("", 1, "foo"), &javac("", 1, "bar"));
    let maven = |dir: &str, at: u32, name: &str| {
        format!(
            "[INFO] BUILD FAILURE\n[ERROR] {dir}/src/B.java:[{at},5] cannot find symbol\n\
             [ERROR]   symbol:   method {name}()\n[ERROR]   location: class B\n"
        )
    };
    same(
        &maven("/a", 3, "foo"),
        &maven("/b", 30, "foo"),
        Kind::Compiler,
        Some(Tool::Javac),
    );
    different(&maven("/a", 3, "foo"), &maven("/a", 3, "bar"));
}

#[test]
fn fp_03_java() {
    let one = |at: u32, cause: &str| {
        format!(
            "Exception in thread \"main\" java.lang.RuntimeException: wrapped {at}\n\tat A.main(A.java:{at})\n\
             Caused by: java.lang.{cause}: no \"x{at}\"\n\tat A.g(A.java:{at})\n\t... {at} more\n"
        )
    };
    same(
        &one(3, "NullPointerException"),
        &one(9, "NullPointerException"),
        Kind::Lines,
        None,
    );
    different(
        &one(3, "NullPointerException"),
        &one(3, "IllegalStateException"),
    );
}

#[test]
fn fp_01_other_runners() {
    names(
        "[ RUN      ] S.a\n[  FAILED  ] S.a (3 ms)\n[       OK ] S.b (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] S.a\n",
        &["S.a"],
    );
    names(
        "67% tests passed, 1 tests failed out of 3\n\nThe following tests FAILED:\n\t  3 - parse (Failed)\n\t  4 - run (Timeout)\nErrors while running CTest\n",
        &["parse", "run"],
    );
    names(
        "Failed examples:\n\nrspec ./spec/a_spec.rb:12 # Foo does bar\n",
        &["Foo does bar"],
    );
}
