//! What the word done rests on: the gate before the work and after it, the project's gate, flaky gates, attempts without a
//! change. With the real pytest, `cargo test` and node's test runner.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::run::{DONE, project};
use crate::support::{Project, eventually};

/// The Python that has pytest: `RALPH_TEST_PYTHON`, else the one that `scripts/test` installs in `.tools/`.
pub fn pytest() -> String {
    let installed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools/python/bin/python");
    let python = std::env::var("RALPH_TEST_PYTHON").unwrap_or_else(|_| installed.display().to_string());
    assert!(PathBuf::from(&python).exists(), "{python} is missing: scripts/test installs it");
    format!("{python} -m pytest -q -p no:cacheprovider")
}

/// A repository with these files in its first commit, and an agent.
pub fn repository(files: &[(&str, &str)], agent: &str) -> Project {
    let project = Project::with_git();
    project.agent(agent);
    for (path, text) in files {
        project.write(path, text);
    }
    project.write(".gitignore", "__pycache__/\ntarget/\n*.count\n.ralph/\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "start"]);
    project
}

pub fn verification(project: &Project, name: &str) -> Value {
    project.task(name)["verification"].clone()
}

/// The level, the baseline and whether the gate was green before, of a done task.
pub fn brief(verification: &Value) -> (&str, &str, bool) {
    let text = |field: &str| verification[field].as_str().unwrap();
    (text("level"), text("baseline"), verification["already_green"].as_bool().unwrap())
}

#[test]
fn a_gate_that_passes_before_any_work_is_already_green_in_every_view() {
    let project = repository(&[], &format!("echo x > $RALPH_TASK_KEY.txt; {DONE}"));
    project.add(&["Green", "--key", "green", "--verify", "true"]);
    project.add(&["Red", "--key", "red", "--verify", "test -f red.txt"]);
    project.add(&["Bare", "--key", "bare"]);
    let run = project.ok(&["run"]);
    const SUMMARY: &str = "3 of 3 done (1 verified, 1 already green, 1 unverified)";
    assert_eq!(run.stdout.lines().last(), Some(SUMMARY), "{}", run.stdout);
    for told in [
        "! green the gate already passes before any work: true",
        "done, already green: the gate passed before any work, too",
        "Already green (the gate passed before any work, too)\n  ✓ green Green",
        "red: gate `test -f red.txt`: exit 0",
        "; before: failed",
    ] {
        assert!(run.stdout.contains(told), "{told:?} in\n{}", run.stdout);
    }
    for (name, expected) in [
        ("green", ("gate", "green", true)),
        ("red", ("gate", "red", false)),
        ("bare", ("none", "unknown", false)),
    ] {
        assert_eq!(brief(&verification(&project, name)), expected, "{name}");
    }
    assert_eq!(project.task("green")["verified"], json!(true));
    let history = project.history();
    assert_eq!(brief(&history[0]["verification"]), ("gate", "green", true));
    let status = project.json(&["status", "--json"]);
    assert_eq!(
        (&status["tasks"]["verified"], &status["tasks"]["already_green"], &status["tasks"]["unverified"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!(status["already_green"][0]["key"], json!("green"));
    assert_eq!(brief(&status["last_run"]["done"][1]["verification"]), ("gate", "red", false));
    assert_eq!(status["unverified"][0]["verification"]["level"], json!("none"));
    for view in [vec!["status"], vec!["task", "list"], vec!["history"]] {
        let shown = project.ok(&view).stdout;
        assert!(shown.contains("already green"), "{view:?}: {shown}");
    }
    let shown = project.ok(&["task", "show", "green"]).stdout;
    assert!(shown.contains("gate `true`: exit 0") && shown.contains("; before: passed"), "{shown}");
    let shown = project.ok(&["task", "show", "bare"]).stdout;
    assert!(shown.contains("nothing that Ralph checked"), "{shown}");
}

#[test]
fn a_gate_known_to_be_green_is_named_when_a_run_starts() {
    let project = project("echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"");
    project.add(&["Green", "--key", "green", "--verify", "true"]);
    let first = project.ralph(&["run", "--once"]).expect_code(4);
    assert!(!first.stdout.contains("so passing later shows little"), "{}", first.stdout);
    let second = project.ralph(&["run", "--once"]).expect_code(4);
    let told = "! the gate of green already passes before any work, so passing later shows little";
    assert!(second.stdout.contains(told), "{}", second.stdout);
    assert_eq!(second.stdout.matches("already passes before any work: true").count(), 0, "asked once");
}

#[test]
fn pytest_more_tests_than_before_are_verified_work() {
    let pytest = pytest();
    let test = "def test_a():\n    assert True\n";
    let agent = format!(
        "case $RALPH_TASK_KEY in
           more) printf '\\ndef test_b():\\n    assert True\\n' >> test_a.py;;
           same) echo >> notes.txt;;
         esac; {DONE}"
    );
    let project = repository(&[("test_a.py", test)], &agent);
    project.set("gate", &format!("default = \"{pytest}\""));
    project.add(&["More tests", "--key", "more"]);
    project.add(&["The same", "--key", "same"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("2 of 2 done (1 verified, 1 already green)"), "{}", run.stdout);
    assert_eq!(brief(&verification(&project, "more")), ("project", "green", false));
    assert_eq!(brief(&verification(&project, "same")), ("project", "green", true));
    let gate = &verification(&project, "more")["gates"][0];
    let counts =
        |collected: u64| json!({ "collected": collected, "passed": collected, "failed": 0, "skipped": 0 });
    assert_eq!((&gate["tests"], &gate["baseline"]["tests"]), (&counts(2), &counts(1)));
    assert_eq!((&gate["of"], &gate["exit_code"]), (&json!("default"), &json!(0)));
    let shown = project.ok(&["task", "show", "more"]).stdout;
    assert!(shown.contains(", 2 tests, 2 passed; before: passed, 1 test, 1 passed"), "{shown}");
}

#[test]
fn pytest_a_task_that_breaks_the_projects_gate_is_not_done() {
    let pytest = pytest();
    let tests = "import os\n\ndef test_old():\n    assert False\n\ndef test_other():\n    assert not os.path.exists('broken')\n";
    let agent = format!(
        "cp \"$RALPH_PROJECT/.ralph/last-prompt\" \"$RALPH_PROJECT/.ralph/prompt-$RALPH_TASK_KEY\"
         case $RALPH_TASK_KEY in
           breaks) test -e broken && rm broken || touch broken;;
         esac; touch $RALPH_TASK_KEY.txt; {DONE}"
    );
    let project = repository(&[("test_all.py", tests)], &agent);
    project.set("gate", &format!("always = \"{pytest}\""));
    project.add(&["Breaks", "--key", "breaks", "--verify", "test -f breaks.txt"]);
    project.add(&["Keeps", "--key", "keeps", "--verify", "test -f keeps.txt"]);
    project.add(&["Bare", "--key", "bare"]);
    let run = project.ok(&["run"]);
    let history = project.history();
    let first = &history[0];
    assert_eq!((&first["key"], &first["outcome"]), (&json!("breaks"), &json!("failed")));
    assert_eq!(first["error_type"], json!("test_failure"));
    let message = first["message"].as_str().unwrap();
    assert!(message.contains("the project's gate `"), "{message}");
    assert!(message.contains("failing now and not before: test_all.py::test_other"), "{message}");
    assert!(!message.contains("test_old"), "{message}");
    let gates = first["verification"]["gates"].as_array().unwrap();
    assert_eq!((&gates[0]["of"], &gates[1]["of"]), (&json!("task"), &json!("always")));
    assert_eq!(gates[1]["regressions"], json!(["test_all.py::test_other"]));
    assert_eq!(gates[1]["baseline"]["failing"], json!(["test_all.py::test_old"]));
    let report = &project.json(&["failures", "list", "--json"])[0];
    let why = report["why_it_failed"].as_str().unwrap();
    assert!(why.contains("the project's gate") && why.contains("test_other"), "{why}");
    assert!(!report["stack_trace_snippet"].as_str().unwrap().contains("test_old"), "{report}");
    // What failed before is held against nobody, and agents are told.
    for key in ["breaks", "keeps"] {
        assert_eq!(brief(&verification(&project, key)), ("gate", "red", false), "{key}");
        let prompt = project.read(&format!(".ralph/prompt-{key}"));
        let section = prompt.split("Tests That Failed Before").nth(1).unwrap();
        assert!(section.contains("- test_all.py::test_old"), "{prompt}");
        assert!(prompt.contains("Then Ralph runs the project's gate"), "{prompt}");
    }
    assert!(run.stdout.contains("fails as it did before this task"), "{}", run.stdout);
    // The project's gate failed, so it verifies nothing.
    let bare = verification(&project, "bare");
    assert_eq!(brief(&bare), ("none", "red", false));
    assert_eq!(
        (&bare["gates"][0]["excused"], &project.task("bare")["verified"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn cargo_test_a_tree_that_does_not_build_is_red_before() {
    let home = std::env::var("HOME").unwrap();
    let of = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{default}"));
    let mut project = repository(
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
            ),
            ("src/lib.rs", "pub fn two() -> i32 { \"two\" }\n"),
        ],
        &format!(
            "printf 'pub fn two() -> i32 {{ 2 }}\\n#[test]\\nfn is_two() {{ assert_eq!(two(), 2); }}\\n' > src/lib.rs; {DONE}"
        ),
    );
    project.set_env("CARGO_HOME", &of("CARGO_HOME", ".cargo"));
    project.set_env("RUSTUP_HOME", &of("RUSTUP_HOME", ".rustup"));
    project.set("gate", "baseline_timeout = 600");
    project.set("git", "commit = \"on-success\"");
    project.git(&["config", "user.name", "t"]);
    project.git(&["config", "user.email", "t@localhost"]);
    project.add(&["Fix it", "--key", "a", "--verify", "cargo test --offline"]);
    project.ok(&["run"]);
    let verification = verification(&project, "a");
    assert_eq!(brief(&verification), ("gate", "red", false));
    assert_eq!(verification["gates"][0]["tests"]["passed"], json!(1));
    assert_eq!(verification["gates"][0]["baseline"]["tests"], json!(null));
    // What the gate made before the work is not the task's.
    let attempt = &project.history()[0];
    assert_eq!(attempt["files_changed"], json!(["src/lib.rs"]));
    assert_eq!(project.git(&["show", "--format=", "--name-only", "HEAD"]), "src/lib.rs\n");
    let shown = project.ok(&["task", "show", "a"]).stdout;
    assert!(shown.contains("commit ") && shown.contains("1 test, 1 passed; before: failed"), "{shown}");
}

#[test]
fn node_a_test_that_fails_once_is_flaky_and_costs_no_failure() {
    let test = "const fs = require('fs');\nconst test = require('node:test');\n\
                test('steady', () => {});\n\
                test('shaky', () => { if (!fs.existsSync('seen.count')) { fs.writeFileSync('seen.count', ''); throw new Error('shaky'); } });\n";
    let project =
        repository(&[("a.test.js", test)], &format!("rm -f seen.count; echo x >> work.txt; {DONE}"));
    project.add(&["A", "--key", "a", "--verify", "node --test"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("! a flaky gate: it failed, then passed"), "{}", run.stdout);
    let task = project.task("a");
    assert_eq!((&task["consecutive_failures"], &task["attempts"]), (&json!(0), &json!(1)));
    let verification = verification(&project, "a");
    assert_eq!(verification["flaky"], json!(true));
    assert_eq!(verification["gates"][0]["tests"]["collected"], json!(2));
    assert!(verification["gates"][0]["flaky_tests"].to_string().contains("shaky"), "{verification}");
    assert_eq!(project.history()[0]["gate_flaky"], json!(true));
    let stats = project.json(&["stats", "--json"]);
    let gate = json!({ "name": "node --test", "gate": "node --test", "flaky": 1, "runs": 1, "rate": 1.0 });
    assert_eq!(stats["flaky_gates"], json!([gate]));
    assert!(stats["flaky_tests"][0]["name"].as_str().unwrap().contains("shaky"), "{stats}");
    let shown = project.ok(&["stats"]).stdout;
    assert!(shown.contains("Flaky gates") && shown.contains("Flaky tests"), "{shown}");
    assert!(project.ok(&["task", "show", "a"]).stdout.contains("flaky: it failed first"));
    assert!(project.ok(&["task", "list"]).stdout.contains("done, flaky gate"));
}

#[test]
fn a_slow_gate_is_not_rerun_and_one_too_slow_before_shows_nothing() {
    let project = project(&format!("touch $RALPH_TASK_KEY.txt; {DONE}"));
    project.set("gate", "rerun_below = \"1s\"\nbaseline_timeout = \"1s\"");
    project.add(&[
        "Slow",
        "--key",
        "slow",
        "--verify",
        "sleep 2; echo x >> slow.runs; test $(wc -l < slow.runs) -ge 2",
    ]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.read("slow.runs").lines().count(), 1, "once after the agent, and it ended before");
    project.ok(&["run"]);
    assert_eq!(brief(&verification(&project, "slow")), ("gate", "unknown", false));
}

/// Without a word on why nothing was changed.
const SAYS_DONE: &str = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

#[test]
fn done_without_a_gate_and_a_change_needs_a_reason() {
    let project = repository(&[], SAYS_DONE);
    project.add(&["Idle", "--key", "a"]);
    let run = project.ralph(&["run", "--once"]).expect_code(4);
    assert!(run.stdout.contains("<no-change-needed>reason</no-change-needed>"), "{}", run.stdout);
    let first = &project.history()[0];
    assert_eq!((&first["outcome"], &first["counted"]), (&json!("no_sigil"), &json!(true)));
    let prompt = project.read(".ralph/last-prompt");
    assert!(prompt.contains("`<no-change-needed>...</no-change-needed>`"), "{prompt}");
    // Unchanged from the rules, or quoted, it says nothing.
    let dots = "<no-change-needed>...</no-change-needed>";
    for said in [dots, "One may say <no-change-needed>a</no-change-needed> then."] {
        project.write("agent.sh", &format!("cat > /dev/null; printf '{said}\\n'; {SAYS_DONE}\n"));
        project.git(&["commit", "-qam", "agent"]);
        project.ralph(&["run", "--once"]).expect_code(4);
    }
    let reason = "<no-change-needed>the header is there already</no-change-needed>";
    project.write("agent.sh", &format!("cat > /dev/null; echo '{reason}'; {SAYS_DONE}\n"));
    project.git(&["commit", "-qam", "agent"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("nothing had to be changed: the header is there already"), "{}", run.stdout);
    assert_eq!(verification(&project, "a")["no_change_needed"], json!("the header is there already"));
    assert!(project.ok(&["task", "show", "a"]).stdout.contains("nothing had to be changed: the header"));
    // Not where gates are off, nor where there is a gate, nor where git cannot tell.
    project.write("agent.sh", &format!("cat > /dev/null; {SAYS_DONE}\n"));
    project.git(&["commit", "-qam", "agent"]);
    project.add(&["Off", "--key", "b"]);
    project.ok(&["run", "--no-gate"]);
    project.add(&["Gated", "--key", "c", "--verify", "true"]);
    project.ok(&["run"]);
    let elsewhere = self::project(SAYS_DONE);
    elsewhere.add(&["No git", "--key", "d"]);
    elsewhere.ok(&["run"]);
    // The project's gate passes all the same: that does not verify a task on which nothing was done.
    let project = repository(&[], SAYS_DONE);
    project.set("gate", "always = \"true\"");
    project.git(&["commit", "-qam", "gate"]);
    project.add(&["Idle", "--key", "e"]);
    let run = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    let told = run.stdout.split("Needs you").nth(1).unwrap();
    assert_eq!(told.matches("the agent reported done").count(), 1, "{told}");
    for part in ["the task has no gate of its own", "next: ralph task edit e --verify CMD && ralph run e"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_gate_runs_once_on_the_same_commit() {
    let agent = format!("echo x > $RALPH_TASK_KEY.txt; {DONE}");
    let project = repository(&[], &agent);
    project.set("git", "commit = \"on-success\"");
    project.git(&["config", "user.name", "t"]);
    project.git(&["config", "user.email", "t@localhost"]);
    project.git(&["commit", "-qam", "settings"]);
    project.set("gate", "always = \"echo x >> runs.count\"");
    project.git(&["commit", "-qam", "settings"]);
    for key in ["a", "b", "c"] {
        project.add(&[key, "--key", key, "--verify", &format!("test -f {key}.txt")]);
    }
    project.ok(&["run"]);
    // Before the first task, and after each; what it said after a commit is what it says before the next task.
    assert_eq!(project.read("runs.count").lines().count(), 4);
    let gates = verification(&project, "c")["gates"].clone();
    assert_eq!((&gates[1]["of"], &gates[1]["baseline"]["result"]), (&json!("always"), &json!("green")));
}

#[test]
fn what_a_gate_leaves_before_the_work_is_nobodys() {
    let project = repository(&[("notes.txt", "start\n")], &format!("echo x > work.txt; {DONE}"));
    project.set("git", "commit = \"on-success\"");
    project.git(&["config", "user.name", "t"]);
    project.git(&["config", "user.email", "t@localhost"]);
    project.git(&["commit", "-qam", "settings"]);
    // It leaves a new file and changes a tracked one, once.
    let gate = "test -f made.log || { echo made > made.log; echo more >> notes.txt; }; test -f work.txt";
    project.add(&["A", "--key", "a", "--verify", gate]);
    project.ok(&["run"]);
    assert_eq!(project.history()[0]["files_changed"], json!(["work.txt"]));
    assert_eq!(project.git(&["show", "--format=", "--name-only", "HEAD"]), "work.txt\n");
    assert_eq!(project.read("notes.txt"), "start\nmore\n");
}

#[test]
fn a_gate_that_prints_100_mb_is_read_to_its_end() {
    let project = project(DONE);
    project.set("gate", "baseline = \"off\"");
    let gate = "head -c 100000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo '7 passed in 0.10s'";
    project.add(&["A", "--key", "a", "--verify", gate]);
    project.ok(&["run"]);
    assert_eq!(verification(&project, "a")["gates"][0]["tests"]["passed"], json!(7));
}

#[test]
fn two_runs_at_once_share_what_they_know_of_a_commit() {
    let project = repository(&[], &format!("touch $RALPH_TASK_KEY.count; sleep 1; {DONE}"));
    project.set("gate", "default = \"true\"");
    project.git(&["commit", "-qam", "settings"]);
    for key in ["a", "b", "c", "d"] {
        project.add(&[key, "--key", key]);
    }
    let mut runs: Vec<_> = (0..2).map(|_| project.start(&["run"])).collect();
    for run in &mut runs {
        assert!(run.wait().unwrap().success());
    }
    for key in ["a", "b", "c", "d"] {
        assert_eq!(brief(&verification(&project, key)), ("project", "green", true), "{key}");
    }
    let known: u32 =
        project.database().query_row("SELECT count(*) FROM gate_baselines", [], |row| row.get(0)).unwrap();
    assert_eq!(known, 1);
}

#[test]
fn a_kill_between_a_gate_and_its_rerun_costs_no_failure() {
    let project = project(DONE);
    project.set("gate", "baseline = \"off\"");
    let gate = "test -f free && exit 0; test -f first && { touch second; sleep 600; }; touch first; exit 1";
    project.add(&["A", "--key", "a", "--verify", gate]);
    let mut run = project.start(&["run"]);
    eventually("the gate is run again", || project.path("second").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    project.write("free", "");
    project.ok(&["run"]);
    let history = project.history();
    assert_eq!((&history[0]["error_type"], &history[0]["counted"]), (&json!("lost"), &json!(false)));
    assert_eq!((history.len(), &history[1]["outcome"]), (2, &json!("done")));
    assert_eq!(verification(&project, "a")["flaky"], json!(false));
}

#[test]
fn old_names_of_settings_are_accepted_and_written_anew() {
    let project = project(DONE);
    project.configure("[gate]\nverify = \"false\" # mine\nprecheck = true");
    assert_eq!(project.ok(&["config", "get", "gate.verify"]).text(), "false");
    assert_eq!(project.ok(&["config", "get", "gate.baseline"]).text(), "first");
    project.ok(&["config", "set", "gate.verify", "true"]);
    project.ok(&["config", "set", "gate.precheck", "false"]);
    let file = project.read(".ralph.toml");
    assert!(file.contains("default = \"true\"") && file.contains("baseline = \"off\""), "{file}");
    assert!(!file.contains("verify") && !file.contains("precheck"), "{file}");
    project.ok(&["config", "unset", "gate.verify"]);
    assert!(!project.read(".ralph.toml").contains("default ="));
}
