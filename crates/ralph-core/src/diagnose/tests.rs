//! What holds for any output.

use super::fingerprint::LISTED_NAMES;
use super::*;
use proptest::prelude::*;

/// Pieces of what the parsers look for, in orders that no program writes.
const PIECES: [&str; 58] = [
    "FAILED ",
    "ERROR ",
    "a.py::t[",
    "] - ",
    "::",
    " - ",
    "====",
    "____ ",
    " ____",
    " = ",
    "E   ",
    "a.py:3: KeyError",
    "test ",
    " ... FAILED",
    "failures:\n",
    "    x\n",
    "FAIL [ 1s] ",
    "(1/2) ",
    "● ",
    "FAIL src/a.ts",
    " > ",
    "✕ ",
    "✖ ",
    "not ok 1 - ",
    "--- FAIL: ",
    "(0.1s)",
    "[ERROR] ",
    " <<< ",
    "Failures:",
    "error[E1]: `a`\n",
    " --> ",
    "a.c:1:2: error: ",
    "error TS1: ",
    "\u{1b}[",
    "\u{1b}]",
    "\r",
    "\n",
    "'",
    "\"",
    "0x12ef",
    "/tmp/é/",
    "12:03:04 ",
    "symbol: ",
    "é",
    "<testcase name=\"a\" ",
    "<failure message='",
    "<error",
    "/>",
    "</testcase>",
    "&#x1F600;&lt",
    "Failures (1):\n",
    "  JUnit Jupiter:A:b():[1]\n",
    "MethodSource [className = '",
    "=> ",
    "...\n",
    "FAIL\tp\t0.1s\n",
    "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"T\"}\n",
    "\n{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"",
];

fn mixture() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,5}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn well_formed(output: &str) {
    let Some(print) = fingerprint(output) else {
        let is_blank = |raw| lines::without_clock(&lines::visible(raw)).trim().is_empty();
        assert!(lines::raw_lines(output).all(is_blank));
        return;
    };
    for digest in [&print.coarse, &print.fine] {
        let digits = digest.strip_prefix("2:").unwrap();
        assert!(digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    }
    assert!(print.failing.is_sorted() && print.failing.len() <= LISTED_NAMES);
    assert_eq!(print.failing.is_empty(), print.kind != Kind::Tests);
    assert!(!print.evidence.is_empty());
    assert_eq!(fingerprint(output), Some(print.clone()));
}

#[test]
fn blank_output_has_no_fingerprint() {
    for output in ["", " \n\t\r\n", "\u{1b}[0m\n"] {
        assert_eq!(fingerprint(output), None);
    }
}

#[test]
fn all_names_count_though_not_all_are_listed() {
    let output =
        |last: usize| -> String { (0..=last).map(|n| format!("FAILED a.py::test_{n:04}\n")).collect() };
    let (one, two) = (output(700), output(701));
    let (one, two) = (fingerprint(&one).unwrap(), fingerprint(&two).unwrap());
    assert_eq!(one.failing, two.failing);
    assert_eq!(one.failing.len(), LISTED_NAMES);
    assert_ne!(one.coarse, two.coarse);
}

#[test]
fn names_count_wherever_they_stand() {
    let filler = "the build goes on and on\n".repeat(100_000);
    let print = fingerprint(&format!("--- FAIL: TestA (0.00s)\n{filler}")).unwrap();
    assert_eq!(print.failing, ["TestA"]);
}

#[test]
fn a_failing_test_in_the_middle_of_a_very_long_output_is_found() {
    let filler = "the build goes on and on, step by step by step\n".repeat(BEGIN_BYTES / 40);
    let mut reader = Reader::default();
    reader.push(filler.as_bytes());
    reader.push(b"--- FAIL: TestA (0.00s)\n    a_test.go:3: got 1\n");
    reader.push(filler.get(..4 * END_BYTES).unwrap().as_bytes());
    let found = reader.finish();
    assert_eq!(found.fingerprint.clone().unwrap().failing, ["TestA"]);
    assert_eq!(found.error_output(500).as_deref(), Some("TestA\n  a_test.go:3: got 1"));
    assert_eq!(found.headline().as_deref(), Some("TestA: a_test.go:3: got 1"));
}

#[test]
fn a_failing_test_is_found_among_more_errors_than_are_read() {
    let errors = "an error that is logged and handled, again and again\n".repeat(BEGIN_BYTES / 40);
    let mut reader = Reader::default();
    reader.push(errors.as_bytes());
    reader.push(errors.as_bytes());
    reader.push(b"--- FAIL: TestA (0.00s)\n    a_test.go:3: got 1\n");
    reader.push(errors.get(..4 * END_BYTES).unwrap().as_bytes());
    let found = reader.finish();
    assert_eq!(found.fingerprint.clone().unwrap().failing, ["TestA"]);
    assert!(found.failing_tests[0].lines.iter().any(|line| line == "a_test.go:3: got 1"), "{found:?}");
}

#[test]
fn cap_09_files_that_errors_name() {
    for (output, files) in [
        ("error[E0433]: failed to resolve\n --> src/lib.rs:3:5\n", &["src/lib.rs"][..]),
        ("src/app.py:14: error: Name \"x\" is not defined", &["src/app.py"]),
        ("  File \"pkg/mod.py\", line 3, in f\nKeyError: 'a'", &["pkg/mod.py"]),
        ("main.c:4:10: error: expected ';'", &["main.c"]),
        ("FAILED tests/test_a.py::test_b - assert 1 == 2", &["tests/test_a.py"]),
        ("src/a.ts(3,5): error TS2322: no", &["src/a.ts"]),
        ("version 1.2.3 of foo.bar at http://x.y/z.html is fine", &[]),
        ("error: e.g. nothing", &[]),
        ("error: see /etc/passwd and ../up.rs:3", &[]),
    ] {
        assert_eq!(diagnose(output).files(), files, "{output}");
    }
}

#[test]
fn the_error_output_stands_around_the_first_error_and_not_at_the_end() {
    let steps: String = (0..500).map(|n| format!("step {n}\n")).collect();
    let error = "src/a.c:3:5: error: unknown type name 'x'\n    3 | x y;\n      | ^\n";
    let excerpt = diagnose(&format!("{steps}{error}{steps}")).error_output(100).unwrap();
    assert!(excerpt.starts_with("src/a.c:3:5: error: unknown type name 'x'\n    3 | x y;"), "{excerpt}");
    let whole = diagnose(&format!("{steps}{error}{steps}")).error_output(500).unwrap();
    assert!(whole.starts_with("step 497\nstep 498\nstep 499\nsrc/a.c:3:5"), "{whole}");
    assert_eq!(diagnose(&steps).error_output(500), None);
}

proptest! {
    #[test]
    fn any_output_is_taken(output in any::<String>()) {
        well_formed(&output);
    }

    #[test]
    fn any_mixture_of_known_pieces_is_taken(output in mixture()) {
        well_formed(&output);
    }

    #[test]
    fn fp_01_order_durations_and_other_output_do_not_count(
        names in proptest::collection::btree_set("test_[a-z]{1,8}", 1..6),
        seconds in 0u32..1000,
        chatter in "[a-z ]{0,30}",
    ) {
        let output = |names: &mut dyn Iterator<Item = &String>, seconds: u32, chatter: &str| {
            let lines: String = names.map(|n| format!("FAILED t.py::{n} - ValueError: x\n")).collect();
            format!("{chatter}\n{lines}=== failed in {seconds}.1s ===")
        };
        let one = fingerprint(&output(&mut names.iter(), 1, "")).unwrap();
        let two = fingerprint(&output(&mut names.iter().rev(), seconds, &chatter)).unwrap();
        prop_assert_eq!(&one.coarse, &two.coarse);
        prop_assert_eq!(one.failing.len(), names.len());
        let fewer = fingerprint(&output(&mut names.iter().skip(1), 1, ""));
        prop_assert_ne!(fewer.map(|f| f.coarse), Some(one.coarse));
    }
}
