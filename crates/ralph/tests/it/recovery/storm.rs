//! A long spec run to its end while agents fail, Ralph is killed again and again, and a person writes in the file.

use std::fs::File;
use std::io::Write;
use std::process::Child;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};

use crate::storms::Storm;
use crate::support::{Project, eventually};

mod agreement;
mod plan;
mod tree;

use plan::Person;

/// Agents fail one time in five, by what key and attempt come to: with a FAILED block, without a word, or at the gate. They
/// succeed at the third attempt and deep down, but for the tasks that cannot be done.
const AGENT: &str = r##"
key=$RALPH_TASK_KEY
echo "$RALPH_RUN_ID $key" >> starts.txt
mark() { k=$key; while :; do "$@" "ok/$k"; case $k in *.*) k=${k%.*} ;; *) break ;; esac; done; }
works() { mark touch; echo "$RALPH_RUN_ID $key" >> ok/worked; echo "$RALPH_RUN_ID $RALPH_ATTEMPT" > "work/$key.txt"; echo "Did it."; echo TASK_COMPLETE; exit; }
fails() {
    echo junk > "work/$key-failed.txt"
    echo "Task $key: part FAILED"
    printf "%s\n" "- Error: File not found: \"src\\$key.rs\" & \`more\` | $1"
    [ "$1" = 1 ] || echo "- Attempted fix: Looked elsewhere"
    exit
}
case $key in
4.25 | 4.26 | 4.27 | 4.27.*) fails all ;;
4.26.?) [ "$(grep -c "\] $key\.[1-3] " specs/storm/tasks.md)" -eq 3 ] || fails "$RALPH_ATTEMPT" ;;
4.26.*) works ;;
2.5) [ "$RALPH_ATTEMPT" -gt 1 ] || fails 1 ;;
esac
depth=$(echo "$key" | tr -cd . | wc -c)
[ "$RALPH_ATTEMPT" -lt 3 ] && [ "$depth" -lt 3 ] || works
chance=$(($(echo "$SEED $key $RALPH_ATTEMPT" | cksum | cut -d ' ' -f 1) % 100))
if [ $chance -lt 7 ]; then fails "$RALPH_ATTEMPT"
elif [ $chance -lt 14 ]; then echo "I looked around."
elif [ $chance -lt 20 ]; then mark rm -f; echo TASK_COMPLETE
else works; fi
"##;

const GATE: &str = "[ -f \"ok/$1\" ] || { echo \"error: $1 is not in order\"; exit 1; }\n";

const KILLS: u32 = 30;

fn storm(name: &'static str, seed: u64, line_end: &'static str) {
    let mut storm = Storm::of(name, KILLS);
    storm_in(&mut storm, Project::new(), seed, line_end);
    storm.end();
}

/// Runs the plan in a project to its end; Ralph is killed `KILLS` times on the way.
fn storm_in(storm: &mut Storm, mut project: Project, seed: u64, line_end: &'static str) -> Project {
    project.agent(&AGENT.replace("$SEED", &seed.to_string()));
    project.write("gate.sh", GATE);
    project.write("ok/1.1", "");
    project.write("work/about.md", "What the tasks make.\n");
    for name in
        ["RALPH_SET_RUN_MAX_ATTEMPTS", "RALPH_SET_RUN_MAX_TOTAL_ATTEMPTS", "RALPH_SET_BREAKER_THRESHOLD"]
    {
        project.set_env(name, "1000");
    }
    project.write("specs/storm/.progress.md", plan::LOG);
    project.write("specs/storm/.ralph-state.json", plan::STATE);
    let mut person = Person::new(project.path("specs/storm/tasks.md"), line_end);
    project.ok(&["import", "specs/storm"]);
    let mut random = fastrand::Rng::with_seed(seed);
    let run = ["run", "--recovery", "--quiet"];
    for _ in 0..KILLS {
        // The last plan of a storm takes all its kills too.
        storm.goes_on();
        let mut child = project.start(&run);
        std::thread::sleep(Duration::from_millis(random.u64(10..200)));
        if random.u8(..4) == 0 {
            person.append();
        }
        std::thread::sleep(Duration::from_millis(random.u64(10..200)));
        kill(&project, &mut child);
        storm.killed();
        if random.u8(..6) == 0 {
            person.rename(&format!("{}.{}", random.u8(1..=4), random.u8(1..=27)));
        }
    }
    project.ralph(&run).expect_code(5);
    storm.add(&project);
    agreement::check(&project, &person.text);
    project
}

/// Kills a run, but not while its task would crash for the third time in a row: that counts as a failure, and this storm
/// wants to see every task done. The run is stopped meanwhile, so that it cannot go on to such a task.
fn kill(project: &Project, run: &mut Child) {
    let pid = Pid::from_child(run);
    eventually("an attempt ends", || {
        kill_process(pid, Signal::STOP).unwrap();
        let may_be_killed = run.try_wait().unwrap().is_some() || !third_crash_is_near(project);
        if !may_be_killed {
            kill_process(pid, Signal::CONT).unwrap();
        }
        may_be_killed
    });
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Whether the task under way crashed twice. Opened for reading alone: whoever closes a database last tidies it up.
fn third_crash_is_near(project: &Project) -> bool {
    let path = project.path(".ralph/progress.db");
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let near = "SELECT EXISTS (SELECT 1 FROM claims JOIN strategy_metrics USING (task_id) WHERE lost_in_a_row % 3 = 2)";
    match database.query_row(near, [], |row| row.get(0)) {
        // The run was stopped while it recovered the database's log, which no one else can read until it goes on.
        Err(rusqlite::Error::SqliteFailure(error, _))
            if matches!(error.code, ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed) =>
        {
            true
        }
        near => near.unwrap(),
    }
}

#[test]
fn plan_07_imp_08_a_storm_leaves_file_state_log_and_database_agreed() {
    storm("over a plan", 7, "\n");
}

#[test]
fn plan_07_imp_08_a_storm_over_dos_line_ends_leaves_them_agreed_too() {
    storm("over dos line ends", 11, "\r\n");
}

#[test]
fn imp_08_rci_03_blocks_stay_where_a_person_never_stops_writing() {
    let project = Project::new();
    project.agent("case $RALPH_TASK_KEY-$RALPH_ATTEMPT in ?.?-1) ;; *) echo TASK_COMPLETE ;; esac");
    let spec: String = (1..=6).map(|n| format!("- [ ] 1.{n} T\n\n")).collect();
    project.write("specs/storm/tasks.md", &format!("# Tasks\n\n{spec}# Notes\n\n"));
    project.ok(&["import", "specs/storm"]);
    let mut run = project.start(&["run", "--recovery", "--quiet"]);
    while run.try_wait().unwrap().is_none() {
        let mut file = File::options().append(true).open(project.path("specs/storm/tasks.md"));
        file.as_mut().unwrap().write_all(b"A note.\n").unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(run.wait().unwrap().success());
    project.ok(&["run", "--recovery", "--quiet"]);
    let tasks = agreement::same_tasks_in(&project);
    assert_eq!(tasks, 12);
}
