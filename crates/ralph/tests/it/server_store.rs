//! The plan on a PostgreSQL server: runs, clones, copies, and what Ralph says when the server is not as it should be.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::jobs::{add_tasks, files_on, writes_own_file};
use crate::support::Project;

/// The server of the tests.
pub fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");
        let output = Command::new(script).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

pub fn own_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("it_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Runs SQL as the owner of the server.
pub fn sql(sql: &str) -> String {
    let output = Command::new("psql").args([url(), "-qAtc", sql]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A project in a repository with a first commit, whose plan is in a schema of its own.
fn project(agent: &str) -> Project {
    let project = crate::jobs::project(agent);
    project.set("store", &format!("url = \"{}?application_name={}\"", url(), own_name()));
    project.set("store", &format!("schema = \"{}\"", own_name()));
    fs::remove_file(project.path(".ralph/progress.db")).unwrap();
    project.ok(&["store", "init"]);
    project
}

#[test]
fn one_worker_and_several_work_on_a_plan_on_a_server() {
    for jobs in ["1", "3"] {
        let project = project(&writes_own_file());
        add_tasks(&project, 6);
        project.ok(&["run", "--jobs", jobs]);
        let history = project.history();
        let done: BTreeSet<&str> =
            history.iter().map(|attempt| attempt["task_id"].as_str().unwrap()).collect();
        assert_eq!((history.len(), done.len()), (6, 6));
        assert!(history.iter().all(|attempt| attempt["outcome"] == "done"), "{history:?}");
        if jobs != "1" {
            let branches = project.git(&["for-each-ref", "--format=%(refname)", "refs/heads/ralph/"]);
            assert!(files_on(&project, branches.trim()).contains("k6.txt"), "{branches}");
        }
        assert!(!project.path(".ralph/progress.db").exists());
    }
}

#[test]
fn a_clone_finds_the_plan_of_its_project_and_two_runs_share_it() {
    let mut first = crate::jobs::project(&format!("sleep 0.2; {}", writes_own_file()));
    first.set("store", &format!("url = \"{}\"", url()));
    first.ok(&["store", "init"]);
    let schema = format!("ralph_{}", &first.git(&["rev-list", "--max-parents=0", "HEAD"])[..12]);
    assert_eq!(sql(&format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'")), "1");
    add_tasks(&first, 8);
    let mut second = Project::empty();
    fs::remove_dir(second.root()).unwrap();
    let status =
        Command::new("git").args(["clone", "-q"]).arg(first.root()).arg(second.root()).status().unwrap();
    assert!(status.success());
    fs::copy(first.path(".ralph.toml"), second.path(".ralph.toml")).unwrap();
    assert_eq!(second.json(&["status", "--json"])["tasks"], first.json(&["status", "--json"])["tasks"]);
    for project in [&mut first, &mut second] {
        // Each has its own files, so that no gate sees what the other did.
        project.set_env("RALPH_SET_GATE_BASELINE", "off");
    }
    let runs = [first.start(&["run"]), second.start(&["run"])];
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let history = first.history();
    let done: BTreeSet<&str> = history.iter().map(|attempt| attempt["task_id"].as_str().unwrap()).collect();
    let runs: BTreeSet<&str> = history.iter().map(|attempt| attempt["run_id"].as_str().unwrap()).collect();
    assert_eq!((history.len(), done.len(), runs.len()), (8, 8, 2), "{history:?}");
    sql(&format!("DROP SCHEMA \"{schema}\" CASCADE"));
}

#[test]
fn a_project_is_copied_to_a_server_and_back_without_loss() {
    let project = crate::jobs::project(&format!(
        "echo '<learning category=\"pattern\">Files are named by keys</learning>'; {}",
        writes_own_file()
    ));
    add_tasks(&project, 3);
    project.ok(&["run"]);
    project.ok(&["note", "k1", "a note"]);
    project.ok(&["task", "edit", "k1", "--title", "Another"]);
    let all = |project: &Project| {
        [
            &["history", "--json"][..],
            &["task", "list", "--json"],
            &["learnings", "list", "--json"],
            &["undo", "--list", "--json"],
        ]
        .map(|args| project.json(args))
    };
    let before = all(&project);
    let schema = own_name();
    project.set("store", &format!("schema = \"{schema}\""));
    project.ok(&["store", "copy", ".ralph/progress.db", url()]);
    project.set("store", &format!("url = \"{}\"", url()));
    assert_eq!(all(&project), before);
    let again = project.ralph(&["store", "copy", ".ralph/progress.db", url()]).expect_code(1);
    assert!(again.stderr.contains("is not empty"), "{}", again.stderr);
    // What is done there can be taken back there, and goes on where it was.
    project.ok(&["undo"]);
    project.add(&["New", "--key", "k4", "--verify", "test -f k4.txt"]);
    project.ok(&["run"]);
    let after = all(&project);
    project.ok(&["store", "copy", url(), ".ralph/back.db"]);
    fs::rename(project.path(".ralph/back.db"), project.path(".ralph/progress.db")).unwrap();
    let settings = project.read(".ralph.toml").replace("url = ", "# url = ");
    project.write(".ralph.toml", &settings);
    assert_eq!(all(&project), after);
    project.add(&["Newer", "--key", "k5"]);
    assert_eq!(project.status_of("k4"), "done");
}

#[test]
fn connections_that_break_while_an_agent_works_do_not_end_the_run() {
    for jobs in ["1", "2"] {
        let name = own_name();
        let kill = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
        );
        let script = format!("psql '{}' -qAtc \"{kill}\" > /dev/null; {}", url(), writes_own_file());
        let project = crate::jobs::project(&script);
        project.set("store", &format!("url = \"{}?application_name={name}\"\nschema = \"{name}\"", url()));
        project.ok(&["store", "init"]);
        add_tasks(&project, 3);
        project.ok(&["run", "--jobs", jobs]);
        assert_eq!(project.history().len(), 3);
    }
}

#[test]
fn each_obstacle_on_a_server_has_a_message_with_the_next_step_and_no_password() {
    let project = project("true");
    let role = own_name();
    sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'right-one'"));
    let schema =
        project.json(&["config", "get", "store.schema", "--json"])["value"].as_str().unwrap().to_owned();
    let by_tcp = "127.0.0.1:54329/postgres";
    let now: u32 = sql(&format!("SELECT version FROM \"{schema}\".schema_version")).parse().unwrap();
    for (url, version, expected, hint) in [
        (
            format!("postgres://{role}:wrong-one@{by_tcp}"),
            now,
            "password authentication failed",
            "PGPASSWORD",
        ),
        (format!("postgres://{role}:right-one@{by_tcp}"), now, "permission denied", "docs/team.md"),
        (
            format!("{}nowhere", url().trim_end_matches("postgres")),
            now,
            "\"nowhere\" does not exist",
            "createdb",
        ),
        (format!("postgres://{role}:wrong-one@127.0.0.1:1/postgres"), now, "refused", "server runs"),
        (url().to_owned(), 27, "schema version 27", "ralph store migrate"),
        (url().to_owned(), 999, "schema version 999", "newer version of Ralph"),
        ("mysql://u:wrong-one@h/d".to_owned(), now, "not the URL of a PostgreSQL server", "postgres://"),
    ] {
        sql(&format!("UPDATE \"{schema}\".schema_version SET version = {version}, works_from = {version}"));
        let mut command = project.command(&["status"]);
        let output = command.env("RALPH_STORE", &url).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && stderr.contains(expected) && stderr.contains(hint),
            "{url}: {stderr}"
        );
        assert!(!stderr.contains("-one"), "{stderr}");
    }
    // A newer schema that says so can be worked with, while the machines of a team are upgraded one after another.
    sql(&format!("UPDATE \"{schema}\".schema_version SET version = 999, works_from = {now}"));
    project.ok(&["status"]);
    assert!(project.ok(&["store", "migrate"]).stdout.contains("schema version 999"));
    sql(&format!("UPDATE \"{schema}\".schema_version SET version = {now}"));
    // The password may be where other clients look for it, too.
    let mut command = project.command(&["status"]);
    command.env("RALPH_STORE", format!("postgres://{role}@{by_tcp}")).env("PGPASSWORD", "right-one");
    let stderr = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(stderr.contains("permission denied"), "{stderr}");
    let settings =
        project.read(".ralph.toml").replace(url(), &format!("postgres://{role}:right-one@{by_tcp}"));
    project.write(".ralph.toml", &settings);
    let shown = project.ok(&["config", "show"]).stdout;
    assert!(shown.contains(&format!("{role}:***@")) && !shown.contains("right-one"), "{shown}");
}

#[test]
fn agents_do_not_see_the_address_of_the_store() {
    let mut project = project(&format!("env > seen; {}", writes_own_file()));
    let url = format!("{}?application_name=x&password=secret-one", url());
    project.set_env("RALPH_STORE", &url);
    add_tasks(&project, 1);
    project.ok(&["run"]);
    assert!(!project.read("seen").contains("secret-one"));
}

#[test]
fn a_connection_over_the_network_is_encrypted_and_the_certificate_is_checked() {
    let mut project = crate::jobs::project("true");
    let role = own_name();
    sql(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'right-one'; GRANT CREATE ON DATABASE postgres TO {role}"
    ));
    project.set_env("PGPASSWORD", "right-one");
    project.set("store", &format!("schema = \"{role}\""));
    let dir = url().split('@').nth(1).unwrap().split(':').next().unwrap().replace("%2F", "/");
    let url = |mode: &str| format!("postgres://{role}@127.0.0.1:54329/postgres?sslmode={mode}");
    let init = |mode: &str, certificate: &str| {
        let mut command = project.command(&["store", "init"]);
        let output =
            command.env("RALPH_STORE", url(mode)).env("SSL_CERT_FILE", certificate).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (trusted, empty) = (format!("{dir}/server.crt"), project.path("base.txt").display().to_string());
    let (ok, stderr) = init("require", &empty);
    assert!(!ok && stderr.contains("certificate") && stderr.contains("SSL_CERT_FILE"), "{stderr}");
    for (mode, certificate) in
        [("require", &trusted), ("prefer", &trusted), ("prefer", &empty), ("disable", &empty)]
    {
        let (ok, stderr) = init(mode, certificate);
        assert!(ok, "{mode} {certificate}: {stderr}");
    }
}

#[test]
fn people_see_who_works_where_and_stop_the_runs_of_a_host() {
    let waits = "touch \"$RALPH_PROJECT/begun\"; while [ ! -e \"$RALPH_PROJECT/go\" ]; do sleep 0.05; done";
    let project = project(&format!("{waits}; {}", writes_own_file()));
    add_tasks(&project, 2);
    assert_eq!(project.json(&["workers", "--json"]), serde_json::json!([]));
    let run = project.start(&["run"]);
    crate::support::eventually("the agent works", || project.path("begun").exists());
    let workers = project.json(&["workers", "--json"]);
    let worker = &workers.as_array().unwrap()[0];
    assert_eq!((&worker["task"], &worker["doing"]), (&"k1".into(), &"working".into()), "{workers}");
    // As another machine sees it.
    let schema =
        project.json(&["config", "get", "store.schema", "--json"])["value"].as_str().unwrap().to_owned();
    let there = worker["host"].as_str().unwrap();
    sql(&format!(
        "UPDATE \"{schema}\".runs SET host = 'far-away'; UPDATE \"{schema}\".claims SET host = 'far-away'"
    ));
    assert!(project.ok(&["workers"]).stdout.contains("far-away"));
    let refused = project.ralph(&["stop"]).expect_code(2).stderr;
    assert!(refused.contains("on other hosts") && refused.contains("ralph stop --host"), "{refused}");
    let stopped = project.ok(&["stop", "--host", "far-away"]).stdout;
    assert!(stopped.contains("stops after its current attempt"), "{stopped}");
    sql(&format!(
        "UPDATE \"{schema}\".runs SET host = '{there}'; UPDATE \"{schema}\".claims SET host = '{there}'"
    ));
    project.write("go", "");
    let output = run.wait_with_output().unwrap();
    assert!(output.status.code().is_some());
    assert_eq!(project.history().len(), 1);
}
