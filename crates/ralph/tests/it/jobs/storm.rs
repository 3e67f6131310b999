//! A storm over a run of many workers: supervisors, workers and agents are killed at random moments, while agents do what
//! agents do and a person commits to the branch and edits the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::{DONE, children, project};
use crate::storms::Storm;
use crate::support::{PATIENCE, Project, eventually, processes_with};

/// Changes a file of its own and, often, one that others change too; sometimes fails, hangs, commits by itself, leaves a merge
/// unfinished or deletes its tree. It leaves no commit that it could not put on a branch: its git may be killed, too.
fn agent() -> String {
    format!(
        "roll=$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')\n\
         own=\"own/$RALPH_TASK_KEY.txt\"; mkdir -p own; echo \"$RALPH_TASK_KEY\" > \"$own\"\n\
         shared=\"shared/$((roll % 7)).txt\"; mkdir -p shared; echo \"$RALPH_TASK_KEY\" >> \"$shared\"\n\
         case $((roll % 13)) in\n\
         0) echo 'FAILURE_REASON: no luck'; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"; exit 0;;\n\
         1) sleep 1000;;\n\
         2) git add -A; git commit -qm \"by the agent of $RALPH_TASK_KEY\";;\n\
         3) left=\"left-$RALPH_TASK_KEY-$roll-$$\"; git checkout -qb $left && git add -A && git commit -qm left &&\n\
            git checkout -q --detach HEAD~1 || exit 4\n\
            echo other > \"$own\"; git add -A; git commit -qm mine; git merge -q $left || true;;\n\
         4) rm -rf \"$PWD\";;\n\
         5) echo unfinished > left-over.txt; exit 3;;\n\
         esac\n\
         {DONE}"
    )
}

const TASKS: usize = 200;

/// A run under way with all the processes that belong to it.
struct Victims<'p> {
    project: &'p Project,
    run: Child,
}

impl<'p> Victims<'p> {
    fn start(project: &'p Project, workers: &str) -> Self {
        Self { project, run: project.start(&["run", "-j", workers, "--quiet"]) }
    }

    /// Kills the supervisor, a worker or an agent. Whether the run goes on.
    fn kill_one(&mut self, random: &mut fastrand::Rng) -> bool {
        if self.run.try_wait().unwrap().is_some() {
            return false;
        }
        let root = self.project.root().display().to_string();
        let candidates = match random.u8(0..10) {
            0..3 => {
                self.run.kill().unwrap();
                self.run.wait().unwrap();
                return false;
            }
            3..7 => children(self.run.id()),
            _ => processes_with(&format!("RALPH_PROJECT={root}")).into_iter().map(|pid| pid as u32).collect(),
        };
        if let Some(pid) = random.choice(&candidates) {
            let pid = rustix::process::Pid::from_raw(*pid as i32).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        true
    }
}

/// What a person does meanwhile. Each commit and each edit is remembered.
#[derive(Default)]
struct Person {
    /// Works in the checkout of the branch that the run lands on.
    is_there: bool,
    commits: Vec<String>,
    edits: BTreeMap<String, String>,
    /// What git refused while a run held the index: a person ends it when the run has ended.
    refused: Vec<String>,
}

impl Person {
    /// In the checkout itself: commits, and merges what could not land there. Git may refuse while a run is at work in it.
    fn act_in_checkout(&mut self, project: &Project, random: &mut fastrand::Rng) {
        let n = self.commits.len();
        let commit = format!("git commit -qm 'person {n}' -- persons/{n}.txt && git rev-parse HEAD");
        let (script, rest) = match random.u8(0..3) {
            0 => (
                format!("mkdir -p persons; echo p{n} > persons/{n}.txt; git add persons/{n}.txt && {commit}"),
                Some(format!("git diff --cached --quiet -- persons/{n}.txt || {{ {commit}; }}")),
            ),
            // One that begins to edit and thinks better of it.
            1 => ("echo edit >> base.txt; sleep 0.2; git checkout -q base.txt".to_owned(), None),
            _ => (
                "branch=$(git for-each-ref --sort=-creatordate --format='%(refname)' refs/heads/ralph | head -1)\n\
                 [ -z \"$branch\" ] || git merge -q --no-edit $branch || git merge --abort"
                    .to_owned(),
                Some("[ ! -e .git/MERGE_HEAD ] || git merge --abort".to_owned()),
            ),
        };
        if !self.type_in(project, &script) {
            self.refused.extend(rest);
        }
    }

    /// Whether the script succeeded. The commit that it names is remembered.
    fn type_in(&mut self, project: &Project, script: &str) -> bool {
        let mut command = std::process::Command::new("sh");
        project.clean(&mut command);
        let done = command.args(["-c", script]).current_dir(project.root()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        self.commits.extend(Some(said).filter(|said| said.len() == 40 && done.status.success()));
        done.status.success()
    }

    /// No run is in the way any more.
    fn end(&mut self, project: &Project) {
        for rest in std::mem::take(&mut self.refused) {
            assert!(self.type_in(project, &rest), "{rest}");
        }
    }

    fn act(&mut self, project: &Project, random: &mut fastrand::Rng) {
        let n = self.commits.len() + self.edits.len();
        if random.bool() {
            let name = format!("person-{n}.txt");
            let text = format!("edit {n}\n");
            project.write(&name, &text);
            self.edits.insert(name, text);
            return;
        }
        if self.is_there {
            return self.act_in_checkout(project, random);
        }
        // On the branch itself, as from another clone: read, add a file, push. One that comes too late tries again later.
        let list =
            project.git(&["for-each-ref", "--sort=-creatordate", "--format=%(refname)", "refs/heads/ralph"]);
        let Some(branch) = list.lines().next() else { return };
        let script = format!(
            "tip=$(git rev-parse -q --verify {branch}) || exit 1\n\
             blob=$(echo p{n} | git hash-object -w --stdin)\n\
             export GIT_INDEX_FILE=$(mktemp -u); git read-tree $tip\n\
             git update-index --add --cacheinfo 100644,$blob,persons/{n}.txt\n\
             commit=$(git commit-tree $(git write-tree) -p $tip -m \"person {n}\"); rm -f $GIT_INDEX_FILE\n\
             git update-ref {branch} $commit $tip 2> /dev/null && echo $commit"
        );
        let mut command = std::process::Command::new("sh");
        project.clean(&mut command);
        let done = command.args(["-c", &script]).current_dir(project.root()).output().unwrap();
        if done.status.success() {
            self.commits.push(String::from_utf8_lossy(&done.stdout).trim().to_owned());
        }
    }
}

#[test]
fn a_storm_over_many_workers_strands_nothing() {
    storm("of workers", false);
}

#[test]
fn a_storm_over_a_checkout_that_follows_strands_nothing() {
    storm("over a checkout", true);
}

/// Adds so many tasks, every fourth of which depends on the one before.
fn add_batch(project: &Project, tasks: &mut usize, batch: usize) {
    for n in *tasks..*tasks + batch {
        let key = n.to_string();
        let gate = format!("test -f own/{n}.txt && ! test -e left-over.txt");
        match n % 4 {
            3 => project.add(&["T", "--key", &key, "--verify", &gate, "--after", &(n - 1).to_string()]),
            _ => project.add(&["T", "--key", &key, "--verify", &gate]),
        };
    }
    *tasks += batch;
}

fn storm(name: &'static str, follows: bool) {
    let mut project = project(&agent());
    if follows {
        project.set("git", "branch = \"main\"");
    }
    // On a slow machine a task may be killed more often than people would let it.
    for name in
        ["RALPH_SET_RUN_MAX_ATTEMPTS", "RALPH_SET_RUN_MAX_TOTAL_ATTEMPTS", "RALPH_SET_BREAKER_THRESHOLD"]
    {
        project.set_env(name, "100000");
    }
    project.set("run", "attempt_timeout = \"3s\"\ngrace = \"1s\"");
    let full = std::env::var("RALPH_STORM").as_deref() == Ok("full");
    let (batch, workers) = if full { (TASKS, "8") } else { (TASKS / 10, "4") };
    let mut tasks = 0;
    add_batch(&project, &mut tasks, batch);
    let mut storm = Storm::new(name, 300);
    let mut random = fastrand::Rng::with_seed(11);
    let mut person = Person { is_there: follows, ..Person::default() };
    let start = project.git(&["rev-parse", "main"]);
    'storm: while storm.goes_on() {
        let mut victims = Victims::start(&project, workers);
        loop {
            std::thread::sleep(Duration::from_millis(random.u64(20..1200)));
            person.act(&project, &mut random);
            if storm.rest() == 0 {
                let _ = victims.run.kill();
                let _ = victims.run.wait();
                break 'storm;
            }
            let goes_on = victims.kill_one(&mut random);
            storm.killed();
            if !goes_on {
                break;
            }
        }
        if project.json(&["status", "--json"])["tasks"]["done"] == serde_json::json!(tasks) {
            add_batch(&project, &mut tasks, batch / 2);
        }
    }
    // Whatever the storm left is finished in peace.
    let quiet = Instant::now();
    while project.json(&["status", "--json"])["tasks"]["done"] != serde_json::json!(tasks) {
        assert!(quiet.elapsed() < 5 * PATIENCE, "never ends: {}", project.ok(&["status"]).stdout);
        project.ralph(&["run", "-j", workers, "--quiet"]);
    }
    storm.add(&project);
    storm.end();
    person.end(&project);
    if follows {
        assert!(project.git(&["reflog", "HEAD"]).contains("ralph: land"), "it never followed");
        // Whatever a kill interrupted in the checkout is undone or finished, and nothing else is changed there.
        let changed = project.git(&["status", "--porcelain", "-uno", "--", ".", ":!.ralph.toml"]);
        assert!(["", " M base.txt\n"].contains(&changed.as_str()), "{changed}");
        for name in [".git/index.lock", ".git/HEAD.lock", ".git/ralph-follow", ".ralph/follow"] {
            assert!(!project.path(name).exists(), "{name}");
        }
    }
    check(&project, &person, tasks, start.trim());
}

/// Nothing is stranded.
fn check(project: &Project, person: &Person, tasks: usize, start: &str) {
    // The last run's branch holds everything, those of earlier runs included.
    let branch = super::branch(project);
    let files = super::files_on(project, &branch);
    let missing: Vec<usize> = (0..tasks).filter(|n| !files.contains(&format!("own/{n}.txt"))).collect();
    assert!(missing.is_empty(), "done and not on {branch}: {missing:?}");
    assert!(!files.contains("left-over.txt"));
    // Each done attempt's commit is in its history, and no task is done twice.
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for attempt in project.history().iter().filter(|attempt| attempt["outcome"] == "done") {
        *done.entry(attempt["key"].as_str().unwrap().to_owned()).or_default() += 1;
        let landed = attempt["commit_after"].as_str().unwrap();
        project.git(&["merge-base", "--is-ancestor", landed, &branch]);
    }
    assert!(done.values().all(|times| *times == 1), "{done:?}");
    assert_eq!(done.len(), tasks);
    // Every commit in a row passes the gates of the tasks that it holds.
    let commits = project.git(&["rev-list", "--first-parent", "--reverse", &format!("{start}..{branch}")]);
    let mut held = BTreeSet::new();
    for commit in commits.lines() {
        let subject = project.git(&["log", "-1", "--format=%s", commit]);
        let key = subject.split([':', ' ']).find_map(|word| word.parse::<usize>().ok());
        held.extend(key.filter(|key| *key < tasks && !subject.starts_with("person")));
        let files = super::files_on(project, commit);
        let broken: Vec<&usize> = held.iter().filter(|n| !files.contains(&format!("own/{n}.txt"))).collect();
        assert!(broken.is_empty(), "{commit} {subject} lost {broken:?}");
    }
    // Nothing of the person's is lost.
    for commit in &person.commits {
        assert_ne!(project.git(&["branch", "--contains", commit]), "", "{commit}");
    }
    for (name, text) in &person.edits {
        assert_eq!(&project.read(name), text);
    }
    // No commit of an agent is unreachable. One whose `git commit` was killed before HEAD moved was never made.
    let heads = fs::read_dir(project.path(".git/worktrees")).unwrap().flatten();
    let heads: String =
        heads.filter_map(|tree| fs::read_to_string(tree.path().join("logs/HEAD")).ok()).collect();
    let lost = project.git(&["fsck", "--unreachable", "--no-reflogs", "--connectivity-only"]);
    for line in lost.lines().filter(|line| line.starts_with("unreachable commit")) {
        let commit = line.rsplit(' ').next().unwrap();
        let subject = project.git(&["log", "-1", "--format=%s", commit]);
        let is_agents = ["by the agent", "mine", "left"].iter().any(|start| subject.starts_with(start));
        assert!(!is_agents || !heads.contains(commit), "{commit} {subject}");
    }
    project.git(&["fsck", "--connectivity-only"]);
    // No process, claim or lease is left.
    let mark = format!("RALPH_PROJECT={}", project.root().display());
    eventually("no process is left", || processes_with(&mark).is_empty());
    let left: i64 = project
        .database()
        .query_row("SELECT (SELECT count(*) FROM claims) + (SELECT count(*) FROM workers)", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(left, 0);
    // What a killed agent left in a tree that no worker needed again is kept there, and named.
    let trees = project.json(&["worktrees", "list", "--json"]);
    project.ralph(&["worktrees", "clean"]);
    for tree in trees.as_array().unwrap().iter().filter(|tree| tree["unsaved_commits"] != 0) {
        assert!(Path::new(tree["path"].as_str().unwrap()).is_dir(), "{tree}");
    }
    let removed = project.ok(&["worktrees", "clean", "--force"]);
    assert!(!removed.stdout.contains("kept"), "{}", removed.stdout);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}
