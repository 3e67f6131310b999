//! Protected files: what an attempt does to them, what the gate judges, and what is left after a kill.

use std::fs;

use serde_json::{Value, json};

use crate::run::{DONE, outcomes};
use crate::support::{Project, eventually};

const CHECK: &str = "test \"$(cat answer.txt 2> /dev/null)\" = 42\n";

/// A project whose gate is a script, in a commit or without git, and an agent that does this and says it is done.
fn project(agent: &str, git: bool) -> Project {
    let project = if git { Project::with_git() } else { Project::new() };
    project.agent(&format!("{agent}\n{DONE}"));
    project.write("tests/check.sh", CHECK);
    project.write("tests/more.txt", "more\n");
    if git {
        project.git(&["add", "."]);
        project.git(&["commit", "-qm", "start"]);
    }
    project
}

fn add(project: &Project, more: &[&str]) {
    project.add(&[&["A", "--key", "a", "--verify", "sh tests/check.sh"], more].concat());
}

fn verification(project: &Project) -> Value {
    project.history().last().unwrap()["verification"].clone()
}

#[test]
fn whatever_an_attempt_does_to_its_gate_the_gate_judges_as_before() {
    let attacks = [
        ("echo exit 0 > tests/check.sh", "(changed)"),
        ("rm tests/check.sh", "(deleted or renamed)"),
        ("mv tests/check.sh tests/old.sh", "(deleted or renamed)"),
        ("rm -r tests; mkdir tests; echo true > tests/check.sh", "(changed)"),
        ("echo true > ok.sh; ln -sf ../ok.sh tests/check.sh", "(replaced by a link to ../ok.sh)"),
        ("mv tests away; ln -s away tests; echo true > away/check.sh", "(deleted or renamed)"),
    ];
    for git in [true, false] {
        for (attack, told) in attacks {
            let project = project(attack, git);
            add(&project, &[]);
            let run = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
            assert_eq!(outcomes(&project), [("failed".to_owned(), json!("tampered"))], "{attack}");
            assert_eq!(verification(&project)["protected"], json!(["tests/check.sh"]), "{attack}");
            assert!(run.stdout.contains(told), "{attack}: {}", run.stdout);
            let why = project.json(&["failures", "list", "--json"])[0]["why_it_failed"].clone();
            let why = why.as_str().unwrap();
            assert!(why.contains("exited with code 1 and printed nothing; the attempt changed"), "{why}");
            assert_eq!(project.read("tests/check.sh"), CHECK, "{attack}");
        }
    }
}

#[test]
fn the_next_attempt_is_told_which_lines_were_put_back() {
    let project = project(
        "test -e again && echo 42 > answer.txt; touch again; echo 'exit 0 # password=hunter2secret' > tests/check.sh",
        true,
    );
    add(&project, &[]);
    let run = project.ok(&["run"]);
    let prompt = project.read(".ralph/last-prompt");
    assert!(prompt.contains("Leave protected files as they are"), "{prompt}");
    assert!(prompt.contains("+exit 0 # password="), "{prompt}");
    assert!(!prompt.contains("hunter2secret"), "{prompt}");
    assert!(prompt.contains("Leave these files as they are: `tests/check.sh`"), "{prompt}");
    // Done on the protected versions counts, and the record says what was put back.
    assert_eq!(verification(&project)["level"], json!("gate"));
    assert_eq!(verification(&project)["protected"], json!(["tests/check.sh"]));
    assert!(run.stdout.contains("changed protected files, which were put back"), "{}", run.stdout);
    assert_eq!(project.history()[1]["gate_files_changed"], json!(["tests/check.sh"]));
    let status = project.ok(&["status"]).stdout;
    assert!(status.contains("! a: protected files restored: tests/check.sh"), "{status}");
    // What the agent made of it is kept.
    let aside = fs::read_dir(project.path(".ralph/tampered")).unwrap().next().unwrap().unwrap();
    let aside = fs::read_to_string(aside.path().join("tests/check.sh")).unwrap();
    assert!(aside.contains("exit 0"), "{aside}");
}

#[test]
fn the_commit_of_done_work_has_the_protected_versions() {
    let own = "git -c user.name=a -c user.email=a@localhost commit -qam mine";
    for commit in ["true", own] {
        let project = project(
            &format!("echo 42 > answer.txt; git add .; echo exit 0 > tests/check.sh; {commit}"),
            true,
        );
        project.git(&["config", "user.name", "t"]);
        project.git(&["config", "user.email", "t@localhost"]);
        project.set("git", "commit = \"on-success\"");
        add(&project, &[]);
        project.ok(&["run"]);
        assert_eq!(project.git(&["show", "HEAD:tests/check.sh"]), CHECK, "{commit}");
        assert_eq!(project.git(&["show", "HEAD:answer.txt"]), "42\n", "{commit}");
    }
}

#[test]
fn a_task_may_change_what_it_names_and_what_it_made_itself() {
    let edit = "echo true > tests/check.sh";
    for more in [&["--may-change", "tests/*.sh"][..], &["--files", "tests/check.sh"]] {
        let project = project(edit, true);
        add(&project, more);
        project.ok(&["run"]);
        assert_eq!(verification(&project)["protected"], json!([]));
        assert_eq!(project.read("tests/check.sh"), "true\n");
    }
    // Its first attempt writes the gate, the second corrects it.
    for git in [true, false] {
        let project = project("test -e ci.sh && echo true > ci.sh; test -e ci.sh || echo false > ci.sh", git);
        project.add(&["Write ci.sh", "--key", "a", "--verify", "sh ci.sh"]);
        project.ok(&["run"]);
        assert_eq!(verification(&project)["protected"], json!([]));
    }
}

#[test]
fn patterns_protect_what_no_gate_executes() {
    for (settings, more, put_back) in [
        ("protect = [\"tests/**\"]", &[][..], true),
        ("", &["--protect", "tests/more.txt"], true),
        ("protect = [\"tests/**\"]", &["--may-change", "tests/more.txt"], false),
        // The files of a task are what it reads, too.
        ("protect = [\"tests/**\"]", &["--files", "tests/more.txt"], true),
        ("", &[], false),
    ] {
        let project =
            project("echo 42 > answer.txt; echo less > tests/more.txt; echo new > tests/new.txt", true);
        project.set("gate", settings);
        add(&project, more);
        project.ok(&["run"]);
        let expected = if put_back { json!(["tests/more.txt"]) } else { json!([]) };
        assert_eq!(verification(&project)["protected"], expected, "{settings} {more:?}");
        assert_eq!(project.read("tests/new.txt"), "new\n", "new files are no changed ones");
    }
    let project = project("", true);
    let refused = project.ralph(&["task", "add", "A", "--protect", "../x"]).expect_code(2);
    assert!(refused.stderr.contains("outside the project"), "{}", refused.stderr);
    project.set("gate", "protect = [\"/etc/**\"]");
    project.ralph(&["run"]).expect_code(2);
}

#[test]
fn plan_files_say_what_is_protected_and_no_agent_rewrites_that() {
    let project = project(
        "sed -i 's/tests\\/more.txt/nothing.txt/' plan/tasks.md; echo less > tests/more.txt; test -e answer.txt || { touch answer.txt; exit 1; }; echo 42 > answer.txt",
        true,
    );
    project.write(
        "plan/tasks.md",
        "# P\n\n- [ ] 1.1 Do it\n  - **Do**: it\n  - **Protect**: tests/more.txt, `ci/**`\n  - **May change**: tests/x\n  \
         - **Verify**: `sh tests/check.sh`\n",
    );
    project.ok(&["import", "plan/tasks.md"]);
    let task = project.task("1.1");
    assert_eq!(
        (&task["protect"], &task["may_change"]),
        (&json!(["tests/more.txt", "ci/**"]), &json!(["tests/x"]))
    );
    let exported = project.ok(&["export"]).stdout;
    assert!(
        exported.contains("\"protect\":[\"tests/more.txt\",\"ci/**\"],\"may_change\":[\"tests/x\"]"),
        "{exported}"
    );
    project.ralph(&["run"]);
    assert_eq!(project.read("tests/more.txt"), "more\n");
}

#[test]
fn a_kill_in_the_middle_of_an_attempt_leaves_no_changed_gate_behind() {
    let project = project("echo exit 0 > tests/check.sh; touch changed; sleep 600", false);
    add(&project, &[]);
    let mut child = project.start(&["run", "--quiet"]);
    eventually("the gate is changed", || project.path("changed").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(project.read("tests/check.sh"), "exit 0\n");
    project.write("agent.sh", DONE);
    let run = project.ralph(&["run", "--max-attempts", "1"]);
    assert!(run.stdout.contains("killed had changed protected files"), "{}", run.stdout);
    assert_eq!(project.read("tests/check.sh"), CHECK);
    let last = project.history().pop().unwrap();
    assert_eq!(last["outcome"], json!("failed"), "{last}");
}

#[test]
fn tests_that_check_less_are_pointed_out() {
    let project = project(
        "echo 42 > answer.txt; printf 'import unittest\\n@unittest.skip(\"later\")\\ndef test_a():\\n    pass\\n' > test_a.py; rm test_b.py",
        true,
    );
    project.write("test_a.py", "import unittest\ndef test_a():\n    assert 1\n");
    project.write("test_b.py", "def test_b():\n    assert 1\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "tests"]);
    add(&project, &[]);
    let run = project.ok(&["run"]);
    for told in ["test_a.py: 1 assertion was removed", "test_a.py: skips a test", "test_b.py was deleted"] {
        assert!(run.stdout.contains(told), "{told}: {}", run.stdout);
    }
    let weakened = verification(&project)["weakened"].clone();
    assert_eq!(weakened.as_array().map(Vec::len), Some(3), "{weakened}");
    assert_eq!(project.status_of("a"), "done", "nothing follows from it");
    let evidence = run.stdout.split("Evidence").nth(1).unwrap();
    let status = project.ok(&["status"]).stdout;
    let shown = project.ok(&["task", "show", "a"]).stdout;
    for text in [evidence, &status, &shown] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.matches("test_b.py was deleted").count(), 1, "{text}");
    }
}

#[test]
fn an_attempt_that_changes_settings_or_templates_is_named() {
    let project = project(
        "echo 42 > answer.txt; echo '# more' >> .ralph.toml; mkdir -p .ralph/templates; echo x > .ralph/templates/rules.md",
        true,
    );
    add(&project, &[]);
    let run = project.ok(&["run"]);
    let told = "a: changed during this attempt: .ralph/templates/rules.md, .ralph.toml";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    assert!(project.read(".ralph.toml").ends_with("# more\n"), "nothing is put back");
    let project = self::project("echo 42 > answer.txt", true);
    add(&project, &[]);
    let run = project.ok(&["run"]);
    assert!(!run.stdout.contains("changed during this attempt"), "{}", run.stdout);
}

#[test]
fn a_test_file_that_was_renamed_is_not_deleted() {
    let project = project("echo 42 > answer.txt; rm test_gone.py; mv test_ren.py test_new.py", true);
    for name in ["gone", "ren"] {
        let test = format!("def test_{name}():\n    assert {name}() == 1\n");
        project.write(&format!("test_{name}.py"), &test);
    }
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "tests"]);
    add(&project, &[]);
    project.ok(&["run"]);
    assert_eq!(verification(&project)["weakened"], json!(["test_gone.py was deleted"]));
}
