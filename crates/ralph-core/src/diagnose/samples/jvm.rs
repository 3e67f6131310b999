//! Maven, Gradle, JUnit and Java.

use super::{Kind, Tool, different, names, print, progress, same};

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
        .map(|n| format!("[ERROR]   BarTest.{n}:{} expected: <1> but was: <2>\n", time.len()))
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
    same(&one, &surefire(&["takes", "adds"], "3.1"), Kind::Tests, Some(Tool("surefire")));
    different(&one, &surefire(&["adds", "divides"], "0.012"));
    progress(&one, &surefire(&["takes"], "0.012"));
    names("[ERROR] adds(com.foo.BarTest)  Time elapsed: 0.01 s  <<< ERROR!\n", &["com.foo.BarTest.adds"]);
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
    same(&one("adds", 3), &one("adds", 30), Kind::Tests, Some(Tool("gradle")));
    different(&one("adds", 3), &one("takes", 3));
}

#[test]
fn fp_04_gradle_another_exception_is_progress() {
    let one = |failures: &[(&str, &str)], at: u32| {
        let failures: String = failures
            .iter()
            .map(|(test, error)| {
                format!("AppTest > {test}() FAILED\n    {error} at AppTest.java:{at}\n        Caused by: java.io.IOException at App.java:{at}\n\n")
            })
            .collect();
        format!("> Task :test FAILED\n\n{failures}3 tests completed, 1 failed\n\nBUILD FAILED in {at}s\n")
    };
    let failed = "org.opentest4j.AssertionFailedError";
    let (a, b) = (("testA", failed), ("testB", failed));
    same(&one(&[a, b], 10), &one(&[b, a], 12), Kind::Tests, Some(Tool("gradle")));
    for other in ["java.lang.NullPointerException", "com.foo.App$Broken"] {
        progress(&one(&[a, b], 10), &one(&[a, ("testB", other)], 10));
    }
    // With the whole exception, as with `exceptionFormat = "full"`.
    let full = |message: &str| {
        format!(
            "AppTest > testB() FAILED\n    {failed}: {message}\n        at AppTest.testB(AppTest.java:10)\n"
        )
    };
    progress(&full("no user"), &full("no group"));
}

/// The console launcher's output; a failure has a class, a test, its title and its exception.
fn console(failing: &[(&str, &str, &str, &str)], at: u32) -> String {
    let tree: String =
        failing.iter().map(|(_, _, title, error)| format!("|   '-- {title} [X] {error}\n")).collect();
    let failures: String = failing
        .iter()
        .map(|(class, test, title, error)| {
            let (method, types) = test.split_once('(').unwrap_or((test, ""));
            let types = types.trim_end_matches(')');
            format!(
                "  JUnit Jupiter:{}:{title}\n    \
                 MethodSource [className = '{class}', methodName = '{method}', methodParameterTypes = '{types}']\n    \
                 => {error}\n       {class}.{method}(AppTest.java:{at})\n       [...]\n",
                class.rsplit('.').next().unwrap()
            )
        })
        .collect();
    format!(
        "Thanks for using JUnit! Support its development at https://junit.org/sponsoring\n\n.\n\
         +-- JUnit Jupiter [OK]\n| '-- AppTest [OK]\n|   +-- testA() [OK]\n{tree}+-- JUnit Vintage [OK]\n'-- JUnit Platform Suite [OK]\n\n\
         Failures ({}):\n{failures}\nTest run finished after {at} ms\n[         4 containers found      ]\n\
         [         0 containers failed     ]\n[         2 tests found           ]\n[         1 tests failed          ]\n\n",
        failing.len()
    )
}

const ADDS: (&str, &str, &str, &str) =
    ("com.foo.BarTest", "adds", "adds()", "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>");
const TAKES: (&str, &str, &str, &str) = (
    "com.foo.BarTest",
    "takes",
    "takes()",
    "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
);

#[test]
fn fp_01_junit_console() {
    let one = console(&[ADDS, TAKES], 10);
    same(&one, &console(&[TAKES, ADDS], 120), Kind::Tests, Some(Tool("junit")));
    different(&one, &console(&[ADDS, (ADDS.0, "divides", "divides()", ADDS.3)], 10));
    progress(&one, &console(&[TAKES], 10));
    names(&one, &["com.foo.BarTest.adds", "com.foo.BarTest.takes"]);
    // Without the source of the method.
    let bare = "Failures (1):\n  JUnit Jupiter:AppTest:testB()\n    \
        => org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n       \
        AppTest.testB(AppTest.java:10)\n\nTest run finished after 64 ms\n";
    names(bare, &["AppTest.testB"]);
    // A class that failed as a whole.
    names(
        "Failures (1):\n  JUnit Jupiter:BarTest\n    ClassSource [className = 'com.foo.BarTest', filePosition = null]\n    \
         => java.lang.IllegalStateException: x\n",
        &["com.foo.BarTest"],
    );
}

#[test]
fn fp_01_junit_invocations_are_told_apart() {
    let of = |test, title| {
        let failing = console(&[("com.foo.BarTest", test, title, ADDS.3)], 3);
        print(&failing).failing.concat()
    };
    assert_eq!(
        of("t(java.lang.String, int)", "t(String, int):[2] a: b, 5"),
        "com.foo.BarTest.t(String, int)[2]"
    );
    assert_eq!(of("t(int)", "a title:[2] 5"), "com.foo.BarTest.t(int)[2]");
    assert_eq!(of("t", "t():repetition 3 of 4"), "com.foo.BarTest.t[3]");
    assert_eq!(of("t", "t():adds two"), "com.foo.BarTest.t adds two");
    assert_eq!(of("t", "a title"), "com.foo.BarTest.t");
    names(
        "Failures (1):\n  JUnit Jupiter:BarTest:t(int):[2] 5\n    => java.lang.Error: x\n",
        &["BarTest.t(int)[2]"],
    );
}

#[test]
fn fp_04_junit_console_another_exception_or_message_is_progress() {
    let one = console(&[ADDS, TAKES], 10);
    for error in ["java.lang.NullPointerException", "org.opentest4j.AssertionFailedError: no user"] {
        let other = (TAKES.0, TAKES.1, TAKES.2, error);
        progress(&one, &console(&[ADDS, other], 10));
    }
}

/// A report as surefire, Gradle and the console launcher write it.
fn report(failing: &[&str], time: &str, element: &str) -> String {
    let cases: String = failing
        .iter()
        .map(|n| {
            format!(
                "  <testcase name=\"{n}\" classname=\"com.foo.BarTest\" time=\"{time}\">\n    {element}\n\
                 \tat com.foo.BarTest.{n}(BarTest.java:{})\n]]></failure>\n  </testcase>\n",
                time.len()
            )
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"com.foo.BarTest\" time=\"{time}\" tests=\"3\" errors=\"0\" skipped=\"1\" failures=\"1\">\n  \
         <properties>\n    <property name=\"java.version\" value=\"17\"/>\n  </properties>\n  \
         <testcase name=\"fine()\" classname=\"com.foo.BarTest\" time=\"{time}\"/>\n{cases}  \
         <testcase name=\"not\" classname=\"com.foo.BarTest\" time=\"0\">\n    <skipped/>\n  </testcase>\n\
         </testsuite>\n"
    )
}

const FAILURE: &str = "<failure message=\"expected: &lt;1> but was: &lt;2&gt;\" \
    type=\"org.opentest4j.AssertionFailedError\"><![CDATA[org.opentest4j.AssertionFailedError: expected: <1> but was: <2>";

#[test]
fn fp_01_junit_report() {
    let one = report(&["adds", "takes"], "0.012", FAILURE);
    same(&one, &report(&["takes()", "adds()"], "3.1", FAILURE), Kind::Tests, Some(Tool("junit")));
    different(&one, &report(&["adds", "divides"], "0.012", FAILURE));
    progress(&one, &report(&["takes"], "0.012", FAILURE));
    // Without line ends, as pytest and others write it.
    let line = one.replace('\n', "");
    assert_eq!(print(&line).failing, print(&one).failing);
    let long = report(&["adds", "takes"], &"0".repeat(3000), FAILURE).replace('\n', "");
    assert_eq!(print(&long).failing, print(&one).failing);
    // Errors, and a class that failed as a whole.
    names(
        "<testcase classname=\"a.B\" name=\"x\"><error type=\"E\" message=\"m\"/></testcase>\n\
         <testcase classname=\"a.C\" name=\"\">\n<error/></testcase>\n<testcase classname=\"a.B\" name=\"y\"></testcase>\n",
        &["a.B.x", "a.C"],
    );
}

#[test]
fn fp_01_junit_names_are_those_of_surefire() {
    let surefire = print(&surefire(&["adds", "takes"], "0.012"));
    for same in [
        console(&[ADDS, TAKES], 10),
        report(&["adds", "takes"], "0.012", FAILURE),
        report(&["adds()", "takes()"], "0.012", FAILURE),
    ] {
        let same = print(&same);
        assert_eq!((&same.coarse, &same.fine), (&surefire.coarse, &surefire.fine));
        assert_eq!(same.evidence, surefire.evidence);
    }
    names(
        "[ERROR] com.foo.BarTest.t(int)[2] -- Time elapsed: 0.01 s <<< FAILURE!\n",
        &["com.foo.BarTest.t(int)[2]"],
    );
}

#[test]
fn fp_04_junit_report_another_exception_or_message_is_progress() {
    let of = |element: &str| report(&["adds"], "0.1", element);
    let failed = of("<failure message=\"no user\" type=\"a.FooException\"><![CDATA[");
    progress(&failed, &of("<failure message=\"no user\" type=\"a.BarException\"><![CDATA["));
    progress(&failed, &of("<failure message=\"no group\" type=\"a.FooException\"><![CDATA["));
    let again = of("<failure message=\"a.FooException: no user\" type=\"a.FooException\"><![CDATA[");
    let text = of("<failure type=\"a.FooException\"><![CDATA[a.FooException: no user");
    for same in [again, text] {
        assert_eq!(print(&same), print(&failed));
    }
    // pytest's has no type, and repeats the explanation with escapes.
    let pytest = |value: &str| {
        format!(
            "<testcase classname=\"tests.test_a\" name=\"test_b\" time=\"0.1\"><failure message=\"AssertionError: assert &#x27;{value}&#x27; == 3\">\
             def test_b():\n&gt;       assert f() == 3\nE       assert &#x27;{value}&#x27; == 3\n\ntests/test_a.py:3: AssertionError</failure></testcase>\n"
        )
    };
    same(&pytest("a"), &pytest("b"), Kind::Tests, Some(Tool("junit")));
    names(&pytest("a"), &["tests.test_a.test_b"]);
}

#[test]
fn fp_02_javac_and_maven() {
    let javac = |dir: &str, at: u32, name: &str| {
        format!(
            "{dir}B.java:{at}: error: cannot find symbol\nclass B {{ void f(){{ {name}(); }} }}\n                 ^\n  \
             symbol:   method {name}()\n  location: class B\n1 error\n"
        )
    };
    same(&javac("", 1, "foo"), &javac("src/main/", 33, "foo"), Kind::Compiler, Some(Tool("javac")));
    different(&javac("", 1, "foo"), &javac("", 1, "bar"));
    let maven = |dir: &str, at: u32, name: &str| {
        format!(
            "[INFO] BUILD FAILURE\n[ERROR] {dir}/src/B.java:[{at},5] cannot find symbol\n\
             [ERROR]   symbol:   method {name}()\n[ERROR]   location: class B\n"
        )
    };
    same(&maven("/a", 3, "foo"), &maven("/b", 30, "foo"), Kind::Compiler, Some(Tool("javac")));
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
    same(&one(3, "NullPointerException"), &one(9, "NullPointerException"), Kind::Lines, None);
    different(&one(3, "NullPointerException"), &one(3, "IllegalStateException"));
}
