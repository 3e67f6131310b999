//! Signs in an attempt's patch that its tests check less than before: tests and assertions that went away, and marks that skip
//! tests. They are pointed out to people and judged by nobody: there are good reasons for each.

use std::collections::BTreeMap;

use crate::text::{Pattern, code_line};

/// What is said at most.
const MOST_NOTES: usize = 10;

/// Files that hold tests, by the names that runners look for.
static TEST_FILE: Pattern = Pattern::new(
    r"(?:^|/)(?:tests?|spec|specs|__tests__)/|(?:^|/)test_[^/]*$|(?:_test|_spec|\.test|\.spec|Test|Tests)\.[a-z]+$|(?:^|/)conftest\.py$",
);
/// A mark that makes a runner leave a test out.
static SKIPS: Pattern = Pattern::new(concat!(
    r"#\[ignore|@(?:unittest\.)?skip(?:If|Unless)?\b|@?pytest\.mark\.(?:skip|skipif|xfail)\b|\bpytest\.skip\(|self\.skipTest\(",
    r"|@(?:unittest\.)?expectedFailure\b|\b(?:it|test|describe|suite)\.(?:skip|todo|failing|only)\b|\b(?:xit|xtest|xdescribe)\(|\bt\.Skip(?:Now|f)?\(|@(?:Disabled|Ignore)\b",
));
/// A test's own line.
static TEST: Pattern = Pattern::new(concat!(
    r"^\s*(?:#\[(?:tokio::|async_std::)?test\b|(?:async )?def test_|func Test[A-Z_]|@Test\b|(?:public )?function test",
    r"|(?:it|test)\s*(?:\.each[^(]*)?\(\s*['\x22`])",
));
static ASSERTS: Pattern = Pattern::new(
    r"\bassert(?:_eq|_ne|_matches)?\b!?|\bself\.assert\w+\(|\bexpect\(|\bt\.(?:Error|Fatal)f?\(|\bASSERT_\w+\(|\bEXPECT_\w+\(|\bassert\.\w+\(|\brequire\.\w+\(",
);

/// How the lines of one kind changed.
#[derive(Default)]
struct Balance {
    added: usize,
    removed: usize,
}

impl Balance {
    fn lost(&self) -> usize {
        self.removed.saturating_sub(self.added)
    }
}

#[derive(Default)]
struct Signs {
    is_test_file: bool,
    deleted: bool,
    tests: Balance,
    asserts: Balance,
    skips: Balance,
    first_skip: Option<String>,
    /// The tests and assertions that went away here.
    removed: Vec<String>,
    /// How many of them came in another file.
    moved: usize,
}

impl Signs {
    /// Whether most of what a deleted file checked is now checked in another one.
    fn is_moved(&self) -> bool {
        self.moved > 0 && self.moved * 2 >= self.removed.len()
    }
}

/// What a patch in git's form takes away from tests, in sentences for people. A test that moves to another file is none that went
/// away.
pub fn weakened(patch: &str) -> Vec<String> {
    let mut files: BTreeMap<&str, Signs> = BTreeMap::new();
    let mut path = "";
    let mut added: BTreeMap<&str, usize> = BTreeMap::new();
    for line in patch.lines() {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            path = names.split_once(" b/").map_or(names, |(old, _)| old);
            let signs = files.entry(path).or_default();
            signs.is_test_file = TEST_FILE.is_match(path);
            continue;
        }
        let Some(signs) = files.get_mut(path) else {
            continue;
        };
        signs.deleted |= line.starts_with("deleted file mode");
        let (text, is_added) = match line.split_at_checked(1) {
            Some(("+", text)) if !line.starts_with("+++ ") => (text, true),
            Some(("-", text)) if !line.starts_with("--- ") => (text, false),
            _ => continue,
        };
        let count = |balance: &mut Balance, pattern: &Pattern| {
            if pattern.is_match(text) {
                *(if is_added { &mut balance.added } else { &mut balance.removed }) += 1;
            }
        };
        count(&mut signs.tests, &TEST);
        count(&mut signs.asserts, &ASSERTS);
        count(&mut signs.skips, &SKIPS);
        if signs.is_test_file && (TEST.is_match(text) || ASSERTS.is_match(text)) {
            match is_added {
                true => *added.entry(text.trim()).or_default() += 1,
                false => signs.removed.push(text.trim().to_owned()),
            }
        }
        if is_added && signs.first_skip.is_none() && SKIPS.is_match(text) {
            signs.first_skip = Some(code_line(text.trim(), 80));
        }
    }
    for signs in files.values_mut().filter(|signs| signs.deleted) {
        for line in &signs.removed {
            if let Some(left) = added.get_mut(line.as_str()).filter(|left| **left > 0) {
                *left -= 1;
                signs.moved += 1;
            }
        }
    }
    notes(&files)
}

fn notes(files: &BTreeMap<&str, Signs>) -> Vec<String> {
    let holds_tests = |signs: &&Signs| signs.is_test_file || signs.tests.removed + signs.skips.added > 0;
    let sum = |of: fn(&Signs) -> &Balance| {
        let all = files.values().filter(holds_tests).map(of);
        all.fold(Balance::default(), |sum, one| Balance {
            added: sum.added + one.added,
            removed: sum.removed + one.removed,
        })
    };
    // What went away here and came there was moved.
    let (tests, asserts) = (sum(|signs| &signs.tests).lost(), sum(|signs| &signs.asserts).lost());
    let mut notes = Vec::new();
    for (path, signs) in files.iter().filter(|(_, signs)| holds_tests(signs)) {
        let path = code_line(path, 200);
        let skips = signs.skips.added.saturating_sub(signs.skips.removed);
        if signs.is_moved() {
            let lost = signs.removed.len() - signs.moved;
            if lost > 0 && (tests > 0 || asserts > 0) {
                notes.push(format!("{path} was moved without {lost} of its tests and assertions"));
            }
        } else if signs.deleted && signs.is_test_file && (tests > 0 || asserts > 0) {
            notes.push(format!("{path} was deleted"));
        } else if signs.tests.lost() > 0 && tests > 0 {
            notes.push(format!("{path}: {}", removed(signs.tests.lost().min(tests), "test")));
        } else if signs.asserts.lost() > 0 && asserts > 0 {
            notes.push(format!("{path}: {}", removed(signs.asserts.lost().min(asserts), "assertion")));
        }
        if let Some(line) = signs.first_skip.as_ref().filter(|_| skips > 0) {
            let more = if skips > 1 { format!(" and {} more", skips - 1) } else { String::new() };
            notes.push(format!("{path}: skips a test (`{line}`{more})"));
        }
    }
    notes.truncate(MOST_NOTES);
    notes
}

fn removed(count: usize, what: &str) -> String {
    let (plural, were) = if count == 1 { ("", "was") } else { ("s", "were") };
    format!("{count} {what}{plural} {were} removed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(path: &str, lines: &str) -> String {
        format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n{lines}")
    }

    #[test]
    fn tests_that_check_less_are_named() {
        for (path, lines, expected) in [
            (
                "tests/test_a.py",
                "-def test_one():\n-    assert one() == 1\n",
                &["tests/test_a.py: 1 test was removed"][..],
            ),
            (
                "a/test_a.py",
                "-    self.assertEqual(a, 1)\n+    pass\n",
                &["a/test_a.py: 1 assertion was removed"],
            ),
            (
                "tests/test_a.py",
                "+@pytest.mark.skip\n",
                &["tests/test_a.py: skips a test (`@pytest.mark.skip`)"],
            ),
            (
                "src/lib.rs",
                "+#[ignore]\n+#[ignore = \"x\"]\n",
                &["src/lib.rs: skips a test (`#[ignore]` and 1 more)"],
            ),
            (
                "a.test.js",
                "-it('adds', () => {\n+it.skip('adds', () => {\n",
                &["a.test.js: 1 test was removed", "a.test.js: skips a test (`it.skip('adds', () => {`)"],
            ),
            (
                "test_a.py",
                "+    @unittest.expectedFailure\n",
                &["test_a.py: skips a test (`@unittest.expectedFailure`)"],
            ),
            (
                "tests/test_a.py",
                "+@pytest.mark.xfail(reason='x')\n",
                &["tests/test_a.py: skips a test (`@pytest.mark.xfail(reason='x')`)"],
            ),
            ("a.spec.ts", "+describe.only('x')\n", &["a.spec.ts: skips a test (`describe.only('x')`)"]),
            ("a_test.go", "+\tt.Skip(\"later\")\n", &["a_test.go: skips a test (`t.Skip(\"later\")`)"]),
            ("tests/test_a.py", "-def test_one():\n+def test_first():\n", &[]),
            ("tests/test_a.py", "+def test_two():\n+    assert two()\n", &[]),
            ("src/a.py", "-    assert a == 1\n", &[]),
            ("src/skip.js", "+list.skip(1)\n", &[]),
            ("tests/test_a.py", "-@unittest.skip\n", &[]),
        ] {
            assert_eq!(weakened(&patch(path, lines)), expected, "{path}\n{lines}");
        }
    }

    #[test]
    fn a_test_that_moved_is_not_a_test_that_went_away() {
        let old = patch("tests/test_a.py", "-def test_one():\n-    assert one()\n")
            .replace("---", "deleted file mode 100644\n---");
        let new = patch("tests/test_b.py", "+def test_one():\n+    assert one()\n");
        assert_eq!(weakened(&format!("{old}{new}")), Vec::<String>::new());
        assert_eq!(weakened(&old), ["tests/test_a.py was deleted"]);
        let gone = old.replace("test_a", "test_gone").replace("one()", "gone()");
        assert_eq!(weakened(&format!("{gone}{old}{new}")), ["tests/test_gone.py was deleted"]);
        let less = patch("tests/test_b.py", "+def test_one():\n");
        let told = "tests/test_a.py was moved without 1 of its tests and assertions";
        assert_eq!(weakened(&format!("{old}{less}")), [told]);
    }

    proptest::proptest! {
        #[test]
        fn any_patch_can_be_read(patch in "(diff --git a/tests/x b/x\n|[-+]?(#\\[ignore\\]|assert|def test_|é|.{0,9})\n){0,20}") {
            proptest::prop_assert!(weakened(&patch).len() <= MOST_NOTES);
        }
    }
}
