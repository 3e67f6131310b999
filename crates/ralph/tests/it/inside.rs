//! Inside an attempt the commands of Ralph can only read, however they are started; hooks act for the person who wrote them.

use serde_json::json;

use crate::support::{Project, eventually};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");
const DONE: &str = "echo '<no-change-needed>Nothing was asked for.</no-change-needed>'; echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

/// A project with a task `a` to attempt and a task `b` that waits for it.
fn project(script: &str) -> Project {
    let project = Project::new();
    project.agent(script);
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    project
}

#[test]
fn commands_that_change_something_are_refused_inside_an_attempt() {
    let commands = [
        "task add X",
        "task edit a --verify true",
        "task done b",
        "task fail b --reason x",
        "task skip b",
        "task reset b",
        "task delete b",
        "task deps add a b",
        "task deps rm b a",
        "import plan.md",
        "plan X",
        "plan check",
        "init",
        "run",
        "demo",
        "stop",
        "pause",
        "resume",
        "breaker reset",
        "limits clear",
        "learnings add x --category pitfall",
        "learnings prune",
        "learnings merge",
        "learnings import x.jsonl",
        "logs --prune",
        "notify test",
        "serve",
        "config set run.limit 3",
        "config unset run.agent",
    ];
    let calls: String = commands
        .iter()
        .map(|command| {
            format!("{RALPH} {command} </dev/null >out 2>err; echo \"$? $(grep -c '<task-done>ID</task-done>' err) {command}\" >> codes\n")
        })
        .collect();
    let project = project(&format!("{calls}{DONE}"));
    project.ralph(&["run", "--once"]).expect_code(4);
    let expected: String = commands.iter().map(|command| format!("2 1 {command}\n")).collect();
    assert_eq!(project.read("codes"), expected);
    assert_eq!(project.status_of("b"), "pending");
    assert_eq!(project.task("a")["verify"], json!(null));
}

#[test]
fn another_store_in_the_environment_does_not_lead_out_of_the_attempt() {
    let stores = ["x://y", "postgres://u@127.0.0.1:1/d", "none.db", "own.db"];
    let calls: String = stores
        .iter()
        .map(|store| {
            format!("RALPH_STORE={store} {RALPH} config set run.limit 3 2>err; echo \"$? $(grep -c 'inside an attempt' err)\" >> codes\n")
        })
        .collect();
    let project = project(&format!("{calls}{DONE}"));
    // A plan in which nobody works.
    assert!(project.command(&["task", "add", "X"]).env("RALPH_STORE", "own.db").status().unwrap().success());
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.read("codes"), "2 1\n".repeat(stores.len()));
}

#[test]
fn no_way_of_starting_a_command_leads_out_of_the_attempt() {
    // Without environment, in a session of its own, orphaned twice over.
    let script = format!(
        "(env -i setsid sh -c 'sh call.sh &' </dev/null >/dev/null 2>&1 &)
         while [ ! -e code ]; do sleep 0.02; done
         {DONE}"
    );
    let project = project(&script);
    project.write(
        "call.sh",
        &format!("{RALPH} task done b >refused 2>&1; echo $? > code.new; mv code.new code"),
    );
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.read("code"), "2\n", "{}", project.read("refused"));
    assert!(project.read("refused").contains("inside an attempt"));
    assert_eq!(project.status_of("b"), "pending");
}

#[test]
fn an_attempt_that_hides_proc_is_still_inside_and_still_alive() {
    let apart = ["--map-root-user", "--mount", "sh", "-c"];
    let hide = "mount -t tmpfs none /proc";
    let probe = std::process::Command::new("unshare").args(apart).arg(hide).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!("skipped: mount namespaces are not permitted here");
        return;
    }
    let call = format!("{hide}; {RALPH} task done b 2> said; {RALPH} status > status");
    let project = project(&format!("unshare {} '{call}'; {DONE}", apart.join(" ")));
    project.ralph(&["run", "--once"]).expect_code(4);
    assert!(project.read("said").contains("inside an attempt"), "{}", project.read("said"));
    assert!(project.read("status").contains("1 running"), "{}", project.read("status"));
    assert_eq!(project.status_of("b"), "pending");
    let outcomes: Vec<_> = project.history().iter().map(|one| one["outcome"].clone()).collect();
    assert_eq!(outcomes, ["done"]);
}

#[test]
fn commands_that_read_work_inside_an_attempt() {
    let commands = [
        "status",
        "history",
        "task list",
        "task show a",
        "task tree",
        "task deps list a",
        "context a",
        "logs",
        "learnings list",
        "learnings search x",
        "learnings export",
        "failures list",
        "analyze",
        "stats",
        "config show",
        "config show --all",
        "config get run.agent",
        "config path",
        "limits show",
        "breaker show",
        "export",
        "completions bash",
        "man",
    ];
    let calls: String = commands
        .iter()
        .map(|command| {
            format!("{RALPH} {command} </dev/null >out 2>err; echo \"$? {command} $(cat err)\" >> codes\n")
        })
        .collect();
    let project = project(&format!("{calls}{DONE}"));
    project.ralph(&["run", "--once"]).expect_code(4);
    let codes = project.read("codes");
    for line in codes.lines() {
        assert!(line.starts_with("0 "), "{codes}");
    }
    assert_eq!(codes.lines().filter(|l| l.starts_with("0 ")).count(), commands.len());
}

#[test]
fn reading_inside_an_attempt_makes_no_files() {
    // Outside, a command that opens the project makes this file again.
    let project = project(&format!(
        "rm .ralph/.gitignore; {RALPH} status > out; test -e .ralph/.gitignore; echo $? > made; {DONE}"
    ));
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.read("made"), "1\n");
}

#[test]
fn a_gate_is_inside_too() {
    let project = Project::new();
    project.agent(DONE);
    project.set("gate", "precheck = false");
    let gate = format!("{RALPH} task done b 2> refused");
    project.add(&["A", "--key", "a", "--verify", &gate]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert!(project.read("refused").contains("inside an attempt"));
    assert_eq!(project.history()[0]["outcome"], json!("failed"));
}

#[test]
fn a_hook_acts_for_the_person_who_wrote_it() {
    // It does not read its input, and the task is claimed while it runs.
    let project = project(DONE);
    let hook = format!("before_attempt = \"'{RALPH}' task skip b --reason hook\"");
    project.set("hooks", &hook);
    project.ok(&["run"]);
    assert_eq!(project.status_of("b"), "skipped");
    let hooks: i64 =
        project.database().query_row("SELECT count(*) FROM hook_processes", [], |row| row.get(0)).unwrap();
    assert_eq!(hooks, 0);
}

#[test]
fn a_hook_of_a_killed_run_is_forgotten_at_the_next_start() {
    let project = project(DONE);
    let hook = "[ -e ../killed ] || { touch ../killed; kill -9 $PPID; }";
    project.set("hooks", &format!("before_attempt = \"{hook}\""));
    let hooks = || -> i64 {
        let count = "SELECT count(*) FROM hook_processes";
        let database = project.database();
        database.query_row(count, [], |row| row.get(0)).unwrap()
    };
    project.start(&["run"]).wait().unwrap();
    assert_eq!(hooks(), 1, "the hook killed nobody");
    project.ok(&["run"]);
    assert_eq!(hooks(), 0);
}

#[test]
fn a_hook_still_reads_the_event_and_nothing_else() {
    let project = project(DONE);
    project.set("hooks", "before_attempt = \"cat > event\"");
    project.ralph(&["run", "--once"]).expect_code(4);
    let event: serde_json::Value = serde_json::from_str(&project.read("event")).unwrap();
    assert_eq!(event["hook"], json!("before_attempt"));
}

#[test]
fn a_notify_command_acts_for_the_person_who_wrote_it() {
    // The first task is blocked at once; its notice runs until the second one is being attempted.
    let project = Project::new();
    project.agent(&format!(
        "if [ \"$RALPH_TASK_KEY\" = a ]; then echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"; exit; fi
         touch second; while [ ! -e told ]; do sleep 0.02; done; {DONE}"
    ));
    project.set("run", "max_attempts = 1");
    let command = format!(
        "if [ -e told ]; then exit; fi; while [ ! -e second ]; do sleep 0.02; done; '{RALPH}' task skip c --reason notice 2> said; touch told"
    );
    project.set("notify", &format!("command = \"{command}\"\non = [\"blocked\"]"));
    for key in ["a", "b", "c"] {
        project.add(&[key, "--key", key]);
    }
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(project.status_of("c"), "skipped", "{}", project.read("said"));
}

#[test]
fn another_project_is_not_inside() {
    let other = Project::new();
    other.add(&["X", "--key", "x"]);
    let root = other.root().display().to_string();
    let project = project(&format!("{RALPH} -C '{root}' task done x; {DONE}"));
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(other.status_of("x"), "done");
}

#[test]
fn outside_an_attempt_a_running_run_changes_nothing() {
    // A person at another terminal, even one whose shell has an agent's environment.
    let mut project =
        project("touch begun; while [ ! -e go ]; do sleep 0.02; done; echo '<task-failed>a</task-failed>'");
    let mut run = project.start(&["run", "--once"]);
    eventually("the attempt begins", || project.path("begun").exists());
    project.set_env("RALPH_RUN_ID", "r-00000000");
    project.ok(&["task", "skip", "b"]);
    project.write("go", "");
    run.wait().unwrap();
    assert_eq!(project.status_of("b"), "skipped");
}
