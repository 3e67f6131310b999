//! Several clones work on one plan and land on one branch of a remote.

mod storm;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::jobs::{DONE, add_tasks, writes_own_file};
use crate::server_store::{own_name, sql, url};
use crate::support::{Background, Following, Project, eventually};

const SHARED: &str = "ralph/shared";

/// A bare repository and clones of it that share a plan.
pub struct Team {
    pub remote: PathBuf,
    pub clones: Vec<Project>,
    /// The server of the tests stays while it has a client.
    _client: Option<Background>,
}

impl Team {
    /// The plan of a single clone is in its own file, that of several on the server.
    pub fn new(agent: &str, clones: usize) -> Self {
        let first = crate::jobs::project(agent);
        let remote = first.root().join("../remote.git");
        first.git(&["init", "-q", "--bare", "-b", "main", "../remote.git"]);
        let remote = remote.canonicalize().unwrap();
        first.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        first.git(&["push", "-q", "origin", "main"]);
        first.set("git", "remote = \"origin\"");
        first.set("gate", "baseline = \"off\"");
        first.set("run", "backoff = \"100ms\"\ngrace = \"1s\"");
        let client = (clones > 1).then(|| {
            let mut psql = Command::new("psql");
            Background(psql.arg(url()).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
        });
        if clones > 1 {
            first.set("store", &format!("url = \"{}\"\nschema = \"{}\"", url(), own_name()));
            fs::remove_file(first.path(".ralph/progress.db")).unwrap();
            first.ok(&["store", "init"]);
        }
        let mut team = Self { remote, clones: vec![first], _client: client };
        while team.clones.len() < clones {
            let mut clone = Project::empty();
            clone.set_env("RALPH_SET_BREAKER_THRESHOLD", "1000");
            fs::remove_dir(clone.root()).unwrap();
            let cloned =
                Command::new("git").args(["clone", "-q"]).args([&team.remote, &clone.root()]).status();
            assert!(cloned.unwrap().success());
            for file in [".ralph.toml", "../home/.gitconfig"] {
                fs::copy(team.clones[0].path(file), clone.path(file)).unwrap();
            }
            team.clones.push(clone);
        }
        team
    }

    pub fn first(&self) -> &Project {
        &self.clones[0]
    }

    /// Runs git on the remote.
    #[track_caller]
    pub fn on_remote(&self, args: &[&str]) -> String {
        let dir = format!("--git-dir={}", self.remote.display());
        self.first().git(&[&[dir.as_str()][..], args].concat())
    }

    /// How many commits of each task the branch has.
    pub fn landed(&self, branch: &str) -> BTreeMap<String, usize> {
        let mut landed = BTreeMap::new();
        for subject in self.on_remote(&["log", "--format=%s", branch]).lines() {
            if let Some((key, _)) = subject.split_once(':') {
                *landed.entry(key.to_owned()).or_default() += 1;
            }
        }
        landed
    }

    /// Branches that hold work which did not land.
    pub fn kept(&self) -> Vec<String> {
        let listed = self.on_remote(&[
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads/ralph/attempt-*",
            "refs/heads/ralph/lost-*",
        ]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Makes a script a hook of the remote. `ONCE NAME` in it succeeds the first time only; `END_WORKER` and `END_PUSH` kill who pushes,
    /// and its git.
    pub fn hook(&self, name: &str, script: &str) {
        let path = self.remote.join("hooks").join(name);
        let script = script
            .replace("ONCE ", &format!("mkdir {}/", self.remote.display()))
            .replace("END_WORKER", &kill_above("--worker"))
            .replace("END_PUSH", &kill_above("push"));
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Makes the branch that work lands on.
    fn make_shared_branch(&self) {
        self.first().git(&["push", "-q", "origin", &format!("main:refs/heads/{SHARED}")]);
    }

    pub fn schema(&self) -> String {
        self.first().json(&["config", "get", "store.schema", "--json"])["value"].as_str().unwrap().to_owned()
    }
}

/// Kills the nearest process above the script whose command line has a word.
fn kill_above(word: &str) -> String {
    format!(
        "pid=$PPID; until tr '\\0' '\\n' < /proc/$pid/cmdline | grep -qx -- {word}; do \
         pid=$(awk '{{print $4}}' /proc/$pid/stat); [ $pid -gt 1 ] || exit 0; done; kill -9 $pid"
    )
}

/// Each of so many tasks once.
fn once(tasks: usize) -> BTreeMap<String, usize> {
    (1..=tasks).map(|n| (format!("k{n}"), 1)).collect()
}

fn doctor(project: &Project) -> String {
    project.ralph(&["doctor", "--json"]).stdout
}

#[test]
fn two_clones_work_on_one_plan_and_each_task_lands_once() {
    let team = Team::new(&format!("sleep 0.1; ls > \"$RALPH_TASK_KEY.txt\"; {DONE}"), 2);
    add_tasks(team.first(), 6);
    team.first().add(&["Last", "--key", "k7", "--after", "k1,k2,k3,k4,k5,k6", "--verify", "test -f k7.txt"]);
    let runs = [("1", &team.clones[0]), ("2", &team.clones[1])].map(|(jobs, clone)| {
        let mut command = clone.command(&["run", "-j", jobs]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{told}{}", String::from_utf8_lossy(&output.stderr));
        assert!(told.contains("git merge origin/ralph/shared"), "{told}");
    }
    assert_eq!(team.landed(SHARED), once(7));
    assert_eq!(team.kept(), Vec::<String>::new());
    let history = team.first().history();
    let done: Vec<_> = history.iter().filter(|attempt| attempt["outcome"] == "done").collect();
    assert_eq!(done.len(), 7);
    for attempt in done {
        team.on_remote(&["merge-base", "--is-ancestor", attempt["commit_after"].as_str().unwrap(), SHARED]);
    }
    // What it depends on was there before it began, whoever did it.
    let seen = team.on_remote(&["show", "ralph/shared:k7.txt"]);
    assert!((1..=6).all(|n| seen.contains(&format!("k{n}.txt"))), "{seen}");
    // Nobody's checkout was touched, and what people see is as it was.
    assert!(team.clones.iter().all(|clone| !clone.path("k1.txt").exists()));
    assert_eq!(team.on_remote(&["log", "--format=%s", "main"]), "first\n");
    // Once it is merged, the branch goes on from there.
    team.first().git(&["fetch", "-q"]);
    team.first().git(&["merge", "-q", "--no-ff", "-m", "merged", "origin/ralph/shared"]);
    team.first().git(&["push", "-q", "origin", "main"]);
    team.first().add(&["More", "--key", "k8", "--verify", "test -f k8.txt"]);
    team.clones[1].ok(&["run"]);
    team.on_remote(&["merge-base", "--is-ancestor", "main", SHARED]);
    assert_eq!(team.landed(SHARED)["k8"], 1);
}

#[test]
fn what_a_person_pushes_meanwhile_is_combined_and_tested_and_a_conflict_is_kept() {
    // The first attempt meets with a change of the same line, the second with one of another file.
    let agent = format!(
        "me=\"$RALPH_PROJECT/../person-$(date +%N)\"; git clone -q \"$RALPH_PROJECT/../remote.git\" \"$me\"\n\
         ( cd \"$me\"; if [ -e other.txt ]; then echo more >> other.txt; else echo theirs >> base.txt; echo x > other.txt; fi\n\
           git add -A; git commit -qm 'a person'; git push -q origin HEAD:main )\n\
         echo mine >> base.txt; {DONE}"
    );
    let team = Team::new(&agent, 1);
    let project = team.first();
    project.set("git", "branch = \"main\"");
    project.add(&["A", "--key", "k1", "--verify", "grep -q mine base.txt"]);
    let run = project.ok(&["run"]);
    let history = project.history();
    assert_eq!(history.len(), 2, "{history:?}");
    assert_eq!((&history[0]["error_type"], &history[0]["counted"]), (&json!("conflict"), &json!(false)));
    let kept = team.kept();
    let told = format!("the work of k1 did not land; it is kept as origin/{}", kept[0]);
    assert!(kept.len() == 1 && run.stdout.contains(&told), "{kept:?} {}", run.stdout);
    assert_eq!(team.on_remote(&["show", &format!("{}:base.txt", kept[0])]), "base\nmine\n");
    assert_eq!(team.on_remote(&["log", "--format=%s", "main"]), "k1: A\na person\na person\nfirst\n");
    assert_eq!(team.on_remote(&["show", "main:base.txt"]), "base\ntheirs\nmine\n");
    // The person's own checkout stays where it was.
    assert_eq!(project.git(&["log", "--format=%s"]), "first\n");
}

#[test]
fn a_remote_that_refuses_work_costs_no_attempt_and_loses_nothing() {
    let team = Team::new(&writes_own_file(), 1);
    let project = team.first();
    add_tasks(project, 3);
    // Something about the first task's work only.
    team.hook(
        "update",
        "git ls-tree --name-only $3 | grep -q k1.txt || exit 0; echo 'k1.txt is not wanted here'; exit 1",
    );
    let run = project.ralph(&["run"]).expect_code(5);
    let blocked = project.task("k1");
    let reason = blocked["reason"].as_str().unwrap();
    for part in ["a hook of the remote refused the work: k1.txt is not wanted here", "`ralph run k1`"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(blocked["status"], "blocked");
    let refused = &project.history()[0];
    assert_eq!((&refused["error_type"], &refused["counted"]), (&json!("push_refused"), &json!(false)));
    let kept = refused["undone_ref"].as_str().unwrap();
    assert_eq!(project.git(&["show", &format!("{kept}:k1.txt")]), "x\n");
    assert_eq!(team.landed(SHARED).keys().collect::<Vec<_>>(), ["k2", "k3"], "{}", run.stdout);
    fs::remove_file(team.remote.join("hooks/update")).unwrap();
    project.ok(&["run", "k1"]);
    assert_eq!(team.landed(SHARED), once(3));
    // One that refuses everything ends the run, and so does a branch that is protected.
    for (n, (hook, expected, hint)) in [
        ("echo 'no pushes today'; exit 1", "no pushes today", "what the remote's hook said"),
        (
            "[ $1 != refs/heads/ralph/shared ] || { echo 'error: GH006: Protected branch update failed'; exit 1; }",
            "does not let this account change ralph/shared",
            "set [git] branch to another branch",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let keys = [format!("a{n}"), format!("b{n}")];
        for key in &keys {
            project.add(&["T", "--key", key, "--verify", &format!("test -f {key}.txt")]);
        }
        team.hook("update", hook);
        let before = project.history().len();
        let run = project.ralph(&["run"]).expect_code(1);
        let told = format!("{}{}", run.stdout, run.stderr);
        assert!(told.contains(expected) && told.contains(hint), "{told}");
        assert_eq!(project.status_of(&keys[1]), "pending");
        let attempts = &project.history()[before..];
        assert_eq!(attempts.len(), 2 - n);
        assert!(attempts.iter().all(|attempt| attempt["counted"] == json!(false)), "{attempts:?}");
        fs::remove_file(team.remote.join("hooks/update")).unwrap();
        project.ok(&["run", &keys[0], &keys[1]]);
        assert!(keys.iter().all(|key| team.landed(SHARED)[key] == 1));
    }
}

#[test]
fn a_remote_that_does_not_answer_is_waited_for() {
    let agent = format!(
        "[ -e \"$RALPH_PROJECT/../back\" ] || mv \"$RALPH_PROJECT/../remote.git\" \"$RALPH_PROJECT/../gone.git\"; {}",
        writes_own_file()
    );
    let mut team = Team::new(&agent, 1);
    let gone = team.remote.with_file_name("gone.git");
    add_tasks(team.first(), 2);
    let mut run = Following::start(team.first(), &["run"]);
    run.wait_for("the remote does not answer");
    fs::write(team.remote.with_file_name("back"), "").unwrap();
    fs::rename(&gone, &team.remote).unwrap();
    let (told, errors, code) = run.end();
    assert_eq!(code, 0, "{told}{errors}");
    assert_eq!(team.landed(SHARED), once(2));
    // Not for ever. What was done is kept and costs no attempt, and the next run goes on.
    fs::remove_file(team.remote.with_file_name("back")).unwrap();
    team.clones[0].set_env("RALPH_SET_GIT_REMOTE_TIMEOUT", "1s");
    let project = team.first();
    project.add(&["Third", "--key", "k3", "--verify", "test -f k3.txt"]);
    let run = project.ralph(&["run"]).expect_code(1);
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains("the remote does not answer") && told.contains("git ls-remote"), "{told}");
    let failed = project.history().last().unwrap().clone();
    assert_eq!((&failed["error_type"], &failed["counted"]), (&json!("git"), &json!(false)));
    let kept = failed["undone_ref"].as_str().unwrap();
    assert_eq!(project.git(&["show", &format!("{kept}:k3.txt")]), "x\n");
    // At the start it is told in the same way.
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("the remote does not answer"), "{}", run.stderr);
    let found = doctor(project);
    assert!(found.contains("does not answer") && found.contains("git ls-remote"), "{found}");
    fs::write(team.remote.with_file_name("back"), "").unwrap();
    fs::rename(&gone, &team.remote).unwrap();
    project.ok(&["run"]);
    assert_eq!(team.landed(SHARED), once(3));
}

#[test]
fn work_whose_worker_is_killed_while_it_lands_is_on_the_branch_once() {
    let held = "ONCE killed || exit 0; END_WORKER; sleep 1.5";
    for (hook, script, attempts) in [
        // It has landed, and nobody recorded that.
        (
            "reference-transaction",
            format!("[ $1 = committed ] || exit 0; grep -q ' refs/heads/{SHARED}$' || exit 0; {held}"),
            3,
        ),
        // The server goes on with the push of the dead worker, and cannot be stopped any more.
        (
            "reference-transaction",
            format!("[ $1 = prepared ] || exit 0; grep -q ' refs/heads/{SHARED}$' || exit 0; {held}"),
            3,
        ),
        // It goes on, too, but others have dealt with the attempt by then.
        ("pre-receive", format!("grep -q ' refs/heads/{SHARED}$' || exit 0; {held}"), 4),
        // The work was offered and nothing more.
        ("post-receive", format!("grep -q ' refs/heads/ralph/attempt-' || exit 0; {held}"), 4),
    ] {
        let team = Team::new(&writes_own_file(), 1);
        let project = team.first();
        add_tasks(project, 3);
        team.make_shared_branch();
        team.hook(hook, &script);
        let run = project.ralph(&["run", "-j", "2"]);
        assert_eq!(run.code, 0, "{hook} {script}\n{}\n{}", run.stdout, run.stderr);
        assert!(team.remote.join("killed").exists(), "{hook}: nobody was killed");
        let history = project.history();
        let done = history.iter().filter(|attempt| attempt["outcome"] == "done").count();
        assert_eq!((history.len(), done), (attempts, 3), "{hook} {script}\n{history:?}");
        // Whatever a server was still at has ended.
        eventually("no hook runs", || {
            crate::support::processes_with(&team.remote.display().to_string()).is_empty()
        });
        assert_eq!(team.landed(SHARED), once(3), "{hook} {script}");
        // What did not land is kept, and named.
        let kept = team.kept();
        assert_eq!(kept.len(), attempts - 3, "{kept:?}");
        for kept in kept {
            let lost = history.iter().find(|attempt| attempt["error_type"] == "lost").unwrap();
            assert_eq!(lost["undone_ref"], json!(format!("origin/{kept}")));
            assert!(run.stdout.contains(&format!("it is kept as origin/{kept}")), "{}", run.stdout);
        }
    }
}

#[test]
fn whether_work_landed_is_asked_until_the_remote_says_so() {
    let committed = format!("[ $1 = committed ] && grep -q ' refs/heads/{SHARED}$' && ONCE killed || exit 0");
    // It has landed; then the remote is gone, and the worker with it, or the push that waits for an answer.
    for (name, kill) in [("worker", "END_WORKER"), ("push", "END_PUSH")] {
        let mut team = Team::new(&writes_own_file(), 1);
        add_tasks(team.first(), 2);
        team.make_shared_branch();
        let gone = team.remote.with_file_name("gone.git");
        team.hook(
            "reference-transaction",
            &format!("{committed}\nmv {} {}; {kill}", team.remote.display(), gone.display()),
        );
        if name == "worker" {
            let mut run = Following::start(team.first(), &["run"]);
            run.wait_for("cannot tell yet whether the work of k1 landed");
            fs::rename(&gone, &team.remote).unwrap();
            let (told, errors, code) = run.end();
            assert_eq!(code, 0, "{told}{errors}");
            assert!(told.contains("Ralph crashed after it committed the work"), "{told}");
        } else {
            team.clones[0].set_env("RALPH_SET_GIT_REMOTE_TIMEOUT", "1s");
            let run = team.first().ralph(&["run"]).expect_code(1);
            let told = format!("{}{}", run.stdout, run.stderr);
            assert!(told.contains("cannot tell whether the work of k1 landed"), "{told}");
            assert_eq!(team.first().history().len(), 0);
            fs::rename(&gone, &team.remote).unwrap();
            team.first().ok(&["run"]);
        }
        assert_eq!(team.landed(SHARED), once(2));
        assert_eq!((team.first().history().len(), team.kept().len()), (2, 0));
    }
}

#[test]
fn a_worker_that_was_believed_dead_lands_nothing() {
    // Who makes the second attempt waits until the first one's push has come through or failed.
    let agent = format!(
        "remote=$(git remote get-url origin)\n\
         if [ -e $remote/held ]; then touch $remote/again; until [ -e $remote/over ]; do sleep 0.05; done; fi\n{}",
        writes_own_file()
    );
    let team = Team::new(&agent, 2);
    add_tasks(team.first(), 1);
    team.make_shared_branch();
    // Its push is under way, and takes its time.
    let in_remote = |name: &str| team.remote.join(name);
    let go = in_remote("go").display().to_string();
    team.hook(
        "pre-receive",
        &format!("grep -q ' refs/heads/{SHARED}$' || exit 0; ONCE held || exit 0; until [ -e {go} ]; do sleep 0.05; done"),
    );
    let mut slow = team.first().start(&["run"]);
    eventually("the push is held", || in_remote("held").exists());
    // As another machine sees it: silent for longer than it may be.
    crate::stage::send(&slow, rustix::process::Signal::STOP);
    let schema = team.schema();
    for table in ["claims", "runs", "workers"] {
        sql(&format!(
            "UPDATE \"{schema}\".{table} SET host = 'far-away', expires_at = '2020-01-01T00:00:00.000Z'"
        ));
    }
    let mut second = team.clones[1].start(&["run"]);
    eventually("the second attempt begins", || in_remote("again").exists());
    fs::write(&go, "").unwrap();
    crate::stage::send(&slow, rustix::process::Signal::CONT);
    let remote = team.remote.display().to_string();
    eventually("the push has ended", || crate::support::processes_with(&remote).is_empty());
    assert_eq!(team.landed(SHARED), BTreeMap::new());
    fs::write(in_remote("over"), "").unwrap();
    assert_eq!((second.wait().unwrap().code(), slow.wait().unwrap().code()), (Some(0), Some(0)));
    assert_eq!(team.landed(SHARED), once(1));
    let history = team.first().history();
    let outcomes: Vec<_> = history.iter().map(|attempt| attempt["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["error", "done"], "{history:?}");
    let tip = team.on_remote(&["rev-parse", SHARED]);
    assert_eq!(history[1]["commit_after"], json!(tip.trim()));
}

#[test]
fn one_clone_keeps_a_plan_file_in_sync_and_the_others_leave_it_alone() {
    let team = Team::new(&writes_own_file(), 2);
    let [first, second] = &team.clones[..] else { panic!() };
    let plan = "# T\n\n- [ ] 1.1 One\n  - **Verify**: `test -f 1.1.txt`\n- [ ] 1.2 Two\n  - **Verify**: `test -f 1.2.txt`\n";
    for clone in [first, second] {
        clone.write("tasks.md", plan);
    }
    first.ok(&["import", "tasks.md"]);
    second.ok(&["run"]);
    assert_eq!((first.read("tasks.md"), second.read("tasks.md")), (plan.to_owned(), plan.to_owned()));
    // What others did is shown by its next run.
    first.ralph(&["run"]);
    let shown = first.read("tasks.md");
    assert_eq!(shown.matches("- [x]").count(), 2, "{shown}");
    assert_eq!(second.read("tasks.md"), plan);
    // An import takes it over.
    second.write("tasks.md", &format!("{shown}- [ ] 1.3 Three\n  - **Verify**: `test -f 1.3.txt`\n"));
    second.ok(&["import", "tasks.md"]);
    let before = first.read("tasks.md");
    first.ok(&["run"]);
    assert_eq!(first.read("tasks.md"), before);
    second.ralph(&["run"]);
    assert_eq!(second.read("tasks.md").matches("- [x]").count(), 3, "{}", second.read("tasks.md"));
}

#[test]
fn a_remote_that_cannot_be_used_stops_the_run_before_an_agent_starts() {
    let empty = |path: &Path| {
        fs::remove_dir_all(path).unwrap();
        Command::new("git").args(["init", "-q", "--bare", "-b", "main"]).arg(path).status().unwrap();
    };
    for (setting, break_it, expected, hint) in [
        ("remote = \"upstream\"", None, "no remote named \"upstream\"", "git remote add"),
        ("remote = \"origin\"\nbranch = \"ralph\"", None, "cannot be called ralph", "ralph/shared"),
        ("remote = \"origin\"", Some(&empty as &dyn Fn(&Path)), "has no commit", "git push origin HEAD"),
    ] {
        let team = Team::new(&writes_own_file(), 1);
        let project = team.first();
        let settings = project.read(".ralph.toml").replace("remote = \"origin\"", setting);
        project.write(".ralph.toml", &settings);
        add_tasks(project, 1);
        if let Some(break_it) = break_it {
            break_it(&team.remote);
        }
        let run = project.ralph(&["run"]).expect_code(1);
        assert!(run.stderr.contains(expected) && run.stderr.contains(hint), "{}", run.stderr);
        assert_eq!(project.history().len(), 0);
    }
    let team = Team::new(&writes_own_file(), 1);
    assert!(doctor(team.first()).contains("origin answers; work lands on its ralph/shared"));
}

#[test]
fn an_agent_that_changes_where_pushes_go_ends_the_run() {
    let team = Team::new(
        &format!("git config remote.origin.pushurl \"$RALPH_PROJECT/../theirs\"; {}", writes_own_file()),
        1,
    );
    let project = team.first();
    project.git(&["init", "-q", "--bare", "../theirs"]);
    add_tasks(project, 1);
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stdout.contains("remote.origin.pushurl"), "{}{}", run.stdout, run.stderr);
    assert_eq!(project.git(&["-C", "../theirs", "for-each-ref"]), "");
    assert_eq!(team.landed(SHARED), BTreeMap::new());
}
