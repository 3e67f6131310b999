//! Done that can be trusted, at its edges: gates that change or are changed, tampering and its name, reviews that were not
//! given and what reviews cost, what only a gate left behind.

use serde_json::{Value, json};

use crate::evidence::{brief, pytest, repository, verification};
use crate::run::{DONE, outcomes};
use crate::streams;
use crate::support::Project;

/// A repository whose done work is committed.
fn committing(files: &[(&str, &str)], agent: &str) -> Project {
    let project = repository(files, agent);
    project.set("git", "commit = \"on-success\"");
    project.git(&["config", "user.name", "t"]);
    project.git(&["config", "user.email", "t@localhost"]);
    project.git(&["commit", "-qam", "settings"]);
    project
}

#[test]
fn a_gate_that_was_changed_is_run_before_the_next_attempt() {
    const FAILS: &str = "echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"";
    // What the first attempt does, whether failed work is rolled back, the new gate, what that said before.
    for (first, rollback, gate, baseline) in [
        (FAILS.to_owned(), false, "true", "green"),
        (FAILS.to_owned(), false, "test -f work.txt", "red"),
        (format!("touch work.txt; {FAILS}"), true, "test -f work.txt", "red"),
        // Its own work may be why it passes, and a gate that fails fails in spite of that.
        (format!("touch work.txt; {FAILS}"), false, "test -f work.txt", "unknown"),
        (format!("touch work.txt; {FAILS}"), false, "test -f more.txt", "red"),
    ] {
        let project = repository(&[], &first);
        project.set("git", if rollback { "rollback = \"reset\"" } else { "" });
        project.git(&["commit", "-qam", "settings"]);
        project.add(&["A", "--key", "a", "--verify", "false"]);
        project.ralph(&["run", "--once"]).expect_code(4);
        project.ok(&["task", "edit", "a", "--verify", gate]);
        project.write("agent.sh", &format!("cat > /dev/null; touch work.txt more.txt; {DONE}\n"));
        let run = project.ok(&["run"]);
        let told = run.stdout.contains("a the gate already passes before any work");
        assert_eq!(brief(&verification(&project, "a")), ("gate", baseline, baseline == "green"), "{gate}");
        assert_eq!(told, baseline == "green", "{}", run.stdout);
    }
}

#[test]
fn agents_and_reports_are_told_which_tests_of_the_gate_failed_before() {
    let tests = "import os\n\ndef test_new():\n    assert os.path.exists('new.txt')\n\n\
                 def test_old():\n    assert os.path.exists('old.txt')\n\n\
                 def test_good():\n    assert not os.path.exists('broken')\n";
    let agent = format!(
        "test -e second && touch old.txt && rm broken; touch second new.txt; test -e old.txt || touch broken; {DONE}"
    );
    let project = repository(&[("test_all.py", tests)], &agent);
    project.add(&["Write new.txt and old.txt", "--key", "a", "--verify", &pytest()]);
    project.ok(&["run"]);
    let prompt = project.read(".ralph/last-prompt");
    let section = prompt.split("### Tests That Failed Before\n").nth(1).unwrap();
    let section = section.split("\n#").next().unwrap();
    assert!(section.contains("so this task did not break them"), "{section}");
    assert!(section.contains("- test_all.py::test_new\n- test_all.py::test_old"), "{section}");
    let message = project.history()[0]["message"].as_str().unwrap().to_owned();
    for part in [
        "; failing now and not before: test_all.py::test_good",
        "; failing before the task, too: test_all.py::test_old",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let why = project.json(&["failures", "list", "--json"])[0]["why_it_failed"].clone();
    assert!(why.as_str().unwrap().contains("failing before the task, too"), "{why}");
}

#[test]
fn tampering_has_a_name_of_its_own_and_people_are_told_how_to_allow_it() {
    let project = repository(
        &[("check.sh", "test -f right.txt\n")],
        &format!("test -e once && touch right.txt; touch once; echo exit 0 > check.sh; {DONE}"),
    );
    project.add(&["Fix check.sh", "--key", "a", "--verify", "sh check.sh"]);
    let checked = project.ralph(&["plan", "check", "--json"]).expect_code(1).json();
    let findings = checked["findings"].as_array().unwrap();
    assert!(findings.iter().any(|one| one["check"] == "gate_protected"), "{checked}");
    let run = project.ok(&["run"]);
    assert_eq!(outcomes(&project), [("failed".into(), json!("tampered")), ("done".into(), Value::Null)]);
    let told =
        "only if the task is to change protected files, allow that: ralph task edit a --may-change check.sh";
    assert_eq!(run.stdout.matches(told).count(), 1, "{}", run.stdout);
    assert!(run.stdout.contains("tampered: `sh check.sh` exited with code 1"), "{}", run.stdout);
    assert!(project.ok(&["history"]).stdout.contains("tampered: "));
    assert_eq!(project.json(&["stats", "--json"])["by_error_category"][0]["category"], json!("tampered"));
    let prompt = project.read(".ralph/last-prompt");
    assert!(prompt.contains("report that as the\n  reason of a failure"), "{prompt}");
    // As people are told.
    project.ok(&["task", "reset", "a"]);
    project.ok(&["task", "edit", "a", "--may-change", "check.sh"]);
    project.ok(&["run"]);
    assert_eq!(verification(&project, "a")["protected"], json!([]));
    assert_eq!(project.read("check.sh"), "exit 0\n");
}

#[test]
fn a_review_that_was_not_given_is_on_record_and_what_reviews_cost_is_counted() {
    let project = streams::project(&streams::done(0.2), "");
    streams::speaker(&project, "critic", &streams::said(0.5, "It is fine."));
    project.configure("[review]\nagent = \"critic\"\nwhen = \"always\"");
    project.add(&["Write it", "--key", "a"]);
    let run = project.ok(&["run"]);
    let review = json!({ "verdict": "not_given", "agent": "critic", "findings": ["gave no verdict"] });
    assert_eq!(verification(&project, "a")["review"], review);
    assert_eq!(verification(&project, "a")["level"], json!("none"));
    for shown in [
        run.stdout,
        project.ok(&["task", "show", "a"]).stdout,
        project.ok(&["report", "--format", "md"]).stdout,
    ] {
        assert!(shown.contains("not reviewed: critic gave no verdict"), "{shown}");
    }
    let stats = project.json(&["stats", "--json"]);
    let reviews = &stats["reviews"][0];
    assert_eq!(
        (&reviews["agent"], &reviews["reviews"], &reviews["accepted"], &reviews["rejected"]),
        (&json!("critic"), &json!(2), &json!(0), &json!(0))
    );
    assert_eq!((&reviews["cost_usd"], &stats["total"]["cost_usd"]), (&json!(1.0), &json!(0.2)));
    let shown = project.ok(&["stats"]).stdout;
    assert!(shown.contains("Reviews") && shown.contains("$1.00"), "{shown}");
}

#[test]
fn what_only_a_gate_left_behind_is_not_committed() {
    let project = committing(&[], DONE);
    project.add(&["Idle", "--key", "a", "--verify", "echo x >> report.log"]);
    project.ok(&["run"]);
    assert_eq!(project.git(&["log", "--format=%s"]).lines().count(), 2);
    assert_eq!(project.task("a")["status"], json!("done"));
}

#[test]
fn what_a_gate_changes_is_nobodys_unless_the_attempt_changed_it_too() {
    // What the gate does beside looking for work.txt, whether the agent commits itself, what the commits have.
    for (gate, own_commit, files, work) in [
        ("echo x >> made.log; echo x >> tracked.txt", false, "work.txt\n", "work\n"),
        ("echo x >> made.log; echo x >> tracked.txt", true, "work.txt\n", "work\n"),
        // It formats what the attempt wrote.
        ("test ! -f work.txt || echo formatted >> work.txt", false, "work.txt\n", "work\nformatted\n"),
    ] {
        let commit = if own_commit { "git add work.txt; git commit -qm own;" } else { "" };
        let project =
            committing(&[("tracked.txt", "1\n")], &format!("echo work > work.txt; {commit} {DONE}"));
        project.add(&["A", "--key", "a", "--verify", &format!("{gate}; test -f work.txt")]);
        project.ok(&["run"]);
        assert_eq!(project.git(&["diff", "--name-only", "HEAD~1", "HEAD"]), files, "{gate} {own_commit}");
        assert_eq!(project.git(&["show", "HEAD:work.txt"]), work);
        assert_eq!(project.history()[0]["files_changed"], json!(["work.txt"]));
    }
    // What it left after an attempt that failed is not taken for that attempt's work either.
    let project = committing(&[], &format!("echo x >> work.txt; {DONE}"));
    let gate = "echo x >> made.log; test $(wc -l < work.txt) -ge 2";
    project.add(&["A", "--key", "a", "--verify", gate]);
    project.ok(&["run"]);
    assert_eq!(project.history().len(), 2);
    assert_eq!(project.git(&["show", "--format=", "--name-only", "HEAD"]), "work.txt\n");
}

#[test]
fn the_commit_has_the_protected_versions_whatever_was_staged_or_committed() {
    const CHECK: &str = "test -f work.txt\n";
    for tamper in [
        "git mv tests/check.sh tests/renamed.sh",
        "git rm -q tests/check.sh",
        "git rm -q --cached tests/check.sh",
        "echo true > tests/check.sh; git add -A",
        "git rm -q tests/check.sh; git add -A; git commit -qm own",
        "mv tests away; ln -s away tests; echo true > away/check.sh; git add -A",
    ] {
        let agent = format!("echo x > work.txt; {tamper}; {DONE}");
        let project = committing(&[("tests/check.sh", CHECK)], &agent);
        project.add(&["A", "--key", "a", "--verify", "sh tests/check.sh"]);
        project.ok(&["run"]);
        assert_eq!(project.git(&["show", "HEAD:tests/check.sh"]), CHECK, "{tamper}");
        assert_eq!(project.git(&["status", "--porcelain"]), "", "{tamper}");
    }
}

#[test]
fn a_script_that_changes_while_its_gate_runs_is_no_judge() {
    const CHECK: &str = "sh work.sh || exit 1\ntest -f right.txt\n";
    let agent = format!("cat \"$RALPH_PROJECT/trick\" > work.sh; {DONE}");
    for (trick, always) in [
        // What failed would pass when it is run again.
        ("echo exit 0 > tests/check.sh; exit 1", false),
        // The shell goes on reading in the new text.
        ("printf 'exit 0\\nexit 0\\nexit 0\\nexit 0\\nexit 0\\n' > tests/check.sh", false),
        // The task's gate silences the project's.
        ("echo exit 0 > tests/all.sh", true),
    ] {
        let project = committing(&[("tests/check.sh", CHECK), ("tests/all.sh", CHECK)], &agent);
        project.write(".ralph/trick", trick);
        project.write("agent.sh", &project.read("agent.sh").replace("/trick", "/.ralph/trick"));
        let verify = if always { "sh work.sh" } else { "sh tests/check.sh" };
        project.set("gate", if always { "always = \"sh tests/all.sh\"" } else { "" });
        project.git(&["commit", "-qam", "settings"]);
        project.add(&["A", "--key", "a", "--verify", verify]);
        let run = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
        let last = project.history().pop().unwrap();
        assert_eq!((&last["outcome"], &last["error_type"]), (&json!("failed"), &json!("tampered")), "{last}");
        let script = if always { "tests/all.sh" } else { "tests/check.sh" };
        assert_eq!(last["verification"]["protected"], json!([script]), "{trick}");
        let told = format!("does not count: {script} changed while it ran");
        assert!(last["message"].as_str().unwrap().contains(&told), "{last} {}", run.stdout);
        assert_eq!(project.read(script), CHECK, "{trick}");
    }
    // A gate may write what a pattern protects; that is put back and held against nobody.
    let project = committing(&[("tests/golden.txt", "1\n")], &format!("touch work.txt; {DONE}"));
    project.set("gate", "protect = [\"tests/**\"]");
    project.git(&["commit", "-qam", "settings"]);
    project.add(&["A", "--key", "a", "--verify", "echo x >> tests/golden.txt; test -f work.txt"]);
    project.ok(&["run"]);
    assert_eq!(verification(&project, "a")["protected"], json!([]));
    assert_eq!(project.git(&["show", "--format=", "--name-only", "HEAD"]), "work.txt\n");
}

/// A real test runner, and a project whose one test fails from the beginning while the other passes.
struct Runner {
    gate: String,
    /// What is tested, its right text and one that fails.
    source: &'static str,
    right: &'static str,
    wrong: &'static str,
    /// The tests as they are, mended, and with the good one skipped.
    tests: &'static str,
    failing: &'static str,
    mended: &'static str,
    skipped: &'static str,
    /// A further file with a test.
    more: (&'static str, &'static str),
    others: &'static [(&'static str, &'static str)],
}

/// Everything that a gate shows, in one project, from the first task to the last.
fn every_feature(runner: &Runner, mut project: Project) {
    let Runner { source, tests, more, .. } = runner;
    let home = std::env::var("HOME").unwrap();
    for (name, default) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let value = std::env::var(name).unwrap_or_else(|_| format!("{home}/{default}"));
        project.set_env(name, &value);
    }
    for (name, text) in [
        ("wrong", runner.wrong),
        ("right", runner.right),
        ("mended", runner.mended),
        ("skipped", runner.skipped),
        ("more", more.1),
    ] {
        project.write(&format!(".ralph/texts/{name}"), text);
    }
    project.write(
        "agent.sh",
        &format!(
            "cat > .ralph/prompt-$RALPH_TASK_KEY; t=.ralph/texts
             case $RALPH_TASK_KEY in
               breaks) if [ -e .ralph/once ]; then cp $t/right {source}; else touch .ralph/once; cp $t/wrong {source}; fi;;
               tampers) cp $t/skipped {tests};;
               mends) cp $t/mended {tests};;
               adds) cp $t/more {};;
               skips) cp $t/skipped {tests};;
             esac; touch $RALPH_TASK_KEY.txt; {DONE}",
            more.0
        ),
    );
    let gate = serde_json::to_string(&runner.gate).unwrap();
    project.set("gate", &format!("always = {gate}\nprotect = [\"tests/**\"]\nbaseline_timeout = 600"));
    project.git(&["commit", "-qam", "settings"]);
    let add = |key: &str, verify: &str, more: &[&str]| {
        project.add(&[&[key, "--key", key, "--verify", verify], more].concat());
    };
    add("breaks", "test -f breaks.txt", &[]);
    add("tampers", "test -f tampers.txt", &[]);
    add("mends", &runner.gate, &["--may-change", "tests/**"]);
    add("adds", &runner.gate, &[]);
    add("same", &runner.gate, &[]);
    add("skips", &runner.gate, &["--may-change", "tests/**"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("6 of 6 done (4 verified, 2 already green)"), "{}", run.stdout);
    let history = project.history();
    let broke = &history[0];
    assert_eq!((&broke["key"], &broke["error_type"]), (&json!("breaks"), &json!("test_failure")));
    let always = &broke["verification"]["gates"][1];
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let (regressions, known) = (names(&always["regressions"]), names(&always["baseline"]["failing"]));
    assert_eq!((regressions.len(), known.len()), (1, 1), "{always}");
    assert!(regressions[0].contains("two") && known[0].contains("old"), "{always}");
    let prompt = project.read(".ralph/prompt-breaks");
    assert!(prompt.contains("Tests That Failed Before") && prompt.contains(&known[0]), "{prompt}");
    for (key, expected, protected) in [
        ("breaks", ("gate", "red", false), json!([])),
        ("tampers", ("gate", "red", false), json!([tests])),
        ("mends", ("gate", "red", false), json!([])),
        ("adds", ("gate", "green", false), json!([])),
        ("same", ("gate", "green", true), json!([])),
        ("skips", ("gate", "green", true), json!([])),
    ] {
        let verification = verification(&project, key);
        assert_eq!(brief(&verification), expected, "{key}");
        assert_eq!(verification["protected"], protected, "{key}");
        let is_weaker = key == "skips";
        assert_eq!(verification["weakened"] != json!([]), is_weaker, "{key}: {verification}");
    }
    let adds = &verification(&project, "adds")["gates"][0];
    assert_eq!(
        (&adds["baseline"]["tests"]["passed"], &adds["tests"]["passed"]),
        (&json!(2), &json!(3)),
        "{adds}"
    );
    assert!(project.read(runner.tests).contains("skip") || project.read(runner.tests).contains("ignore"));
}

#[test]
fn pytest_shows_every_feature() {
    let runner = Runner {
        gate: format!("{} tests", pytest()),
        source: "m.py",
        right: "def two():\n    return 2\n",
        // Of another length: Python takes its compiled copy of a file of the same second and length.
        wrong: "def two():\n    return 33\n",
        tests: "tests/test_m.py",
        failing: "from m import two\n\ndef test_old():\n    assert False\n\ndef test_two():\n    assert two() == 2\n",
        mended: "from m import two\n\ndef test_old():\n    assert True\n\ndef test_two():\n    assert two() == 2\n",
        skipped: "import pytest\nfrom m import two\n\ndef test_old():\n    assert True\n\n@pytest.mark.skip\ndef test_two():\n    assert two() == 2\n",
        more: ("tests/test_more.py", "def test_more():\n    assert True\n"),
        others: &[("conftest.py", "")],
    };
    every_feature(&runner, of_runner(&runner));
}

#[test]
fn cargo_test_shows_every_feature() {
    let runner = Runner {
        gate: "cargo test --offline".into(),
        source: "src/lib.rs",
        right: "pub fn two() -> i32 {\n    2\n}\n",
        wrong: "pub fn two() -> i32 {\n    3\n}\n",
        tests: "tests/m.rs",
        failing: "#[test]\nfn old() {\n    assert!(false);\n}\n\n#[test]\nfn two() {\n    assert_eq!(small::two(), 2);\n}\n",
        mended: "#[test]\nfn old() {\n    assert!(true);\n}\n\n#[test]\nfn two() {\n    assert_eq!(small::two(), 2);\n}\n",
        skipped: "#[test]\nfn old() {\n    assert!(true);\n}\n\n#[test]\n#[ignore]\nfn two() {\n    assert_eq!(small::two(), 2);\n}\n",
        more: ("tests/more.rs", "#[test]\nfn more() {}\n"),
        others: &[(
            "Cargo.toml",
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        )],
    };
    every_feature(&runner, of_runner(&runner));
}

#[test]
fn node_shows_every_feature() {
    let runner = Runner {
        gate: "node --test tests/*.test.js".into(),
        source: "m.js",
        right: "exports.two = () => 2;\n",
        wrong: "exports.two = () => 3;\n",
        tests: "tests/m.test.js",
        failing: "const test = require('node:test');\nconst assert = require('assert');\ntest('old', () => assert(false));\ntest('two', () => assert.equal(require('../m.js').two(), 2));\n",
        mended: "const test = require('node:test');\nconst assert = require('assert');\ntest('old', () => assert(true));\ntest('two', () => assert.equal(require('../m.js').two(), 2));\n",
        skipped: "const test = require('node:test');\nconst assert = require('assert');\ntest('old', () => assert(true));\ntest.skip('two', () => assert.equal(require('../m.js').two(), 2));\n",
        more: ("tests/more.test.js", "require('node:test')('more', () => {});\n"),
        others: &[],
    };
    every_feature(&runner, of_runner(&runner));
}

fn of_runner(runner: &Runner) -> Project {
    let files = [(runner.source, runner.right), (runner.tests, runner.failing)];
    repository(&[&files, runner.others].concat(), DONE)
}

#[test]
fn plan_check_runs_the_default_gate_within_the_time_for_baselines() {
    let project = repository(&[], DONE);
    project.add(&["Write it", "--key", "a", "--files", "a.txt"]);
    for (settings, code, checks) in [
        ("", 1, &["no_gate"][..]),
        ("default = \"true\"", 0, &["gate_passes_already"]),
        ("default = \"false\"", 0, &[]),
        ("default = \"sleep 60\"\nbaseline_timeout = \"1s\"", 0, &["gate_slow"]),
    ] {
        let config = project.read(".ralph.toml");
        project.set("gate", settings);
        let found = project.ralph(&["plan", "check", "--json"]).expect_code(code).json();
        let found = found["findings"].as_array().unwrap().iter().map(|one| one["check"].as_str().unwrap());
        assert_eq!(found.collect::<Vec<_>>(), checks, "{settings}");
        project.write(".ralph.toml", &config);
    }
}

#[test]
fn old_names_of_settings_are_told_where_they_are_used() {
    let mut project = Project::new();
    project.agent(DONE);
    project.set("gate", "precheck = false");
    project.set_env("RALPH_SET_GATE_RETRIES", "2");
    project.add(&["A", "--key", "a", "--verify", "true"]);
    let run = project.ok(&["run"]);
    let doctor = project.ralph(&["doctor"]).stdout;
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "[gate] precheck is now called baseline; the old name works for one release",
        "ralph config set gate.baseline off",
        "RALPH_SET_GATE_RETRIES: [gate] retries is now called rerun",
        "set RALPH_SET_GATE_RERUN instead of RALPH_SET_GATE_RETRIES",
    ] {
        for text in [&run.stdout, &doctor] {
            assert!(in_one_line(text).contains(told), "{told}: {text}");
        }
    }
    assert_eq!(verification(&project, "a")["baseline"], json!("unknown"), "they work");
    project.ok(&["config", "set", "gate.baseline", "off"]);
    let run = project.ok(&["run"]).stdout;
    assert!(!run.contains("precheck"), "{run}");
}
