//! A storm over a team: clones that share a plan on a server, while their runs are killed, their connections are cut, the
//! server is restarted, clocks are wrong, and one run sleeps past its lease.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Project, eventually};

/// A server of one test's own, which it may restart.
struct OwnServer {
    dir: PathBuf,
    port: u16,
    url: String,
}

impl OwnServer {
    fn start() -> Self {
        let port = free_port();
        let dir = std::env::temp_dir().join(format!("ralph-storm-postgres-{}-{port}", std::process::id()));
        let mut server = Self { dir, port, url: String::new() };
        server.url = server.script(&[]);
        server
    }

    fn script(&self, args: &[&str]) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");
        let mut command = Command::new(script);
        command.args(args).env("RALPH_TEST_POSTGRES_DIR", &self.dir);
        let output = command.env("RALPH_TEST_POSTGRES_PORT", self.port.to_string()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn sql(&self, sql: &str) -> String {
        // So that its watch lets it live.
        let _ = fs::write(self.dir.join("used"), "");
        let output = Command::new("psql").args([&self.url, "-qAtc", sql]).output().unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Whatever a test that fails left behind must end, too.
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");
        let mut stop = Command::new(script);
        stop.arg("stop").env("RALPH_TEST_POSTGRES_DIR", &self.dir);
        let _ = stop.env("RALPH_TEST_POSTGRES_PORT", self.port.to_string()).status();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn behind_proxy() -> (OwnServer, Proxy) {
    let server = OwnServer::start();
    server.sql("CREATE ROLE storm LOGIN PASSWORD 'storm'; GRANT CREATE ON DATABASE postgres TO storm");
    let proxy = Proxy::start(server.port);
    (server, proxy)
}

/// Where the proxy cuts a connection next.
#[derive(Clone, Copy)]
struct Trap {
    /// What the client is about to say.
    said: &'static str,
    /// Whether the server still hears it.
    is_heard: bool,
    /// Whether nobody reaches the server from then on.
    stays_cut: bool,
}

/// What lies between the clones and the server, and breaks.
#[derive(Clone)]
struct Proxy {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
    trap: Arc<Mutex<Option<Trap>>>,
    is_cut: Arc<AtomicBool>,
}

impl Proxy {
    fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Self { port, open: Arc::default(), trap: Arc::default(), is_cut: Arc::default() };
        let own = proxy.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if own.is_cut.load(Ordering::Relaxed) {
                    continue;
                }
                // A server that is down refuses.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let ends = [&client, &server, &client, &server].map(|end| end.try_clone().unwrap());
                let [from_client, to_server, to_client, from_server] = ends;
                own.open.lock().unwrap().extend([client, server]);
                let proxy = own.clone();
                thread::spawn(move || carry(from_client, to_server, Some(&proxy)));
                thread::spawn(move || carry(from_server, to_client, None));
            }
        });
        proxy
    }

    fn url(&self) -> String {
        format!("postgres://storm:storm@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    fn set_trap(&self, said: &'static str, is_heard: bool, stays_cut: bool) {
        *self.trap.lock().unwrap() = Some(Trap { said, is_heard, stays_cut });
    }

    /// The trap, if this is what it waits for.
    fn spring(&self, chunk: &[u8]) -> Option<Trap> {
        let mut trap = self.trap.lock().unwrap();
        let said = trap.as_ref()?.said.as_bytes();
        if !chunk.windows(said.len()).any(|words| words == said) {
            return None;
        }
        let sprung = trap.take();
        if sprung.is_some_and(|trap| trap.stays_cut) {
            self.is_cut.store(true, Ordering::Relaxed);
            self.cut_all();
        }
        sprung
    }

    fn cut_all(&self) {
        for end in self.open.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, traps: Option<&Proxy>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let chunk = &buffer[..length];
        let sprung = traps.and_then(|proxy| proxy.spring(chunk));
        if sprung.is_none_or(|trap| trap.is_heard) && to.write_all(chunk).is_err() || sprung.is_some() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// A library that makes the clock of a process wrong by so many seconds.
fn wrong_clock(dir: &Path, seconds: i64) -> PathBuf {
    let source = dir.join("clock.c");
    let text = "#define _GNU_SOURCE\n#include <time.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n\
        int clock_gettime(clockid_t id, struct timespec *at) {\n\
            int result = syscall(SYS_clock_gettime, id, at);\n\
            if (result == 0 && id == CLOCK_REALTIME) at->tv_sec += SECONDS;\n\
            return result;\n\
        }\n";
    fs::write(&source, text).unwrap();
    let library = dir.join(format!("clock{seconds}.so"));
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", &format!("-DSECONDS={seconds}"), "-o"]).arg(&library).arg(&source);
    assert!(command.status().unwrap().success());
    library
}

/// An agent that costs a quarter of a dollar and fails now and then.
const AGENT: &str = r#"roll=$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')
sleep 0.0$((roll % 10))
said="<task-done>$RALPH_TASK_ID</task-done>"
[ $((roll % 9)) != 0 ] || said="<task-failed>$RALPH_TASK_ID</task-failed>"
printf '{"type":"result","subtype":"success","is_error":false,"result":"<no-change-needed>a storm</no-change-needed>\\n%s","total_cost_usd":0.25,"session_id":"s"}\n' "$said""#;

fn clone_of_team(url: &str) -> Project {
    let mut project = Project::new();
    project.agent(AGENT);
    project.configure("output = \"claude\"");
    project.set("run", "max_attempts = 1000\nmax_total_attempts = 1000");
    project.set("recovery", "enabled = false");
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "1000000");
    project.set("store", &format!("url = \"{url}\"\nschema = \"storm\""));
    let _ = fs::remove_file(project.path(".ralph/progress.db"));
    project
}

struct Clone {
    project: Project,
    runs: Vec<Option<Child>>,
    /// What runs said that ended though nobody killed them.
    faults: Vec<String>,
}

impl Clone {
    fn start(&mut self, place: usize) {
        let mut command = self.project.command(&["run", "--quiet"]);
        self.runs[place] = Some(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    }

    /// Starts again what was killed. A lost connection is no reason to end.
    fn keep_up(&mut self) {
        for place in 0..self.runs.len() {
            let ended = match &mut self.runs[place] {
                Some(run) => run.try_wait().unwrap().is_some(),
                None => true,
            };
            if ended {
                self.end(place);
                self.start(place);
            }
        }
    }

    fn end(&mut self, place: usize) {
        let Some(run) = self.runs[place].take() else { return };
        let output = run.wait_with_output().unwrap();
        if !output.status.success() {
            self.faults.push(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
        }
    }

    fn kill(&mut self, place: usize) {
        if let Some(mut run) = self.runs[place].take() {
            run.kill().unwrap();
            run.wait().unwrap();
        }
    }
}

#[test]
fn storm_on_a_server_every_task_is_done_once_and_everything_adds_up() {
    let full = std::env::var("RALPH_STORM").as_deref() == Ok("full");
    let (clones, runs, tasks, mut kills, mut restarts) =
        if full { (8, 4, 500, 200, 5) } else { (3, 1, 40, 6, 2) };
    let (server, proxy) = behind_proxy();
    let url = proxy.url();
    let mut team: Vec<Clone> = (0..clones)
        .map(|_| Clone {
            project: clone_of_team(&url),
            runs: (0..runs).map(|_| None).collect(),
            faults: Vec::new(),
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    for (clone, seconds) in team.iter_mut().skip(1).zip([3600, -3600].into_iter().cycle()) {
        let library = wrong_clock(dir.path(), seconds);
        clone.project.set_env("LD_PRELOAD", library.to_str().unwrap());
    }
    team[0].project.ok(&["store", "init"]);
    let mut plan = String::from("{\"type\":\"ralph\",\"version\":1}\n");
    for n in 0..tasks {
        plan.push_str(&format!("{{\"type\":\"task\",\"key\":\"K{n}\",\"title\":\"storm task {n}\"}}\n"));
    }
    team[0].project.write("plan.jsonl", &plan);
    team[0].project.ok(&["import", "plan.jsonl"]);
    team[0].project.ok(&["learnings", "add", "A storm task needs patience", "--category", "pattern"]);
    let began = server.sql("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI')");
    let done =
        || -> usize { server.sql("SELECT count(*) FROM storm.tasks WHERE status = 'done'").parse().unwrap() };

    // One run that sleeps past its lease, on what looks like another machine.
    let sleeper_project = clone_of_team(&url);
    let mut sleeper = Sleeper::start(&sleeper_project);
    let mut random = fastrand::Rng::with_seed(7);
    let started = Instant::now();
    while done() < tasks {
        assert!(
            started.elapsed() < Duration::from_secs(if full { 3600 } else { 400 }),
            "in vain: {}",
            done()
        );
        team.iter_mut().for_each(Clone::keep_up);
        sleeper.sleep_past_its_lease(&server);
        thread::sleep(Duration::from_millis(random.u64(50..400)));
        let (clone, place) = (random.usize(0..clones), random.usize(0..runs));
        match random.u8(0..10) {
            0..3 if kills > 0 => {
                kills -= 1;
                team[clone].kill(place);
            }
            3..5 => proxy.cut_all(),
            5 => proxy.set_trap("COMMIT\0", false, false),
            6..8 => proxy.set_trap("COMMIT\0", true, false),
            8 if restarts > 0 => {
                restarts -= 1;
                server.script(&["restart", if restarts % 2 == 0 { "immediate" } else { "fast" }]);
            }
            _ => {}
        }
    }
    sleeper.wake();
    // What is still under way comes to its end.
    for clone in &mut team {
        (0..runs).for_each(|place| clone.end(place));
        assert!(clone.faults.is_empty(), "{:#?}", clone.faults);
    }
    sleeper.end();
    // What killed runs left is recorded by whoever comes next.
    team[0].project.ralph(&["run", "--quiet"]);

    let facts: BTreeMap<&str, &str> = BTreeMap::from([
        (
            "tasks done other than once",
            "SELECT count(*) FROM (SELECT task_id FROM storm.iteration_outcomes
             WHERE outcome = 'done' GROUP BY task_id HAVING count(*) <> 1) x",
        ),
        (
            "tasks without a done attempt",
            "SELECT count(*) FROM storm.tasks t WHERE NOT EXISTS (
             SELECT 1 FROM storm.iteration_outcomes o WHERE o.task_id = t.id AND o.outcome = 'done')",
        ),
        (
            "gaps in the numbers of attempts",
            "SELECT count(*) FROM (SELECT max(attempt_number) AS newest, count(*) AS n
             FROM storm.iteration_outcomes GROUP BY task_id) x WHERE newest <> n",
        ),
        (
            "counted attempts that are numbered twice",
            "SELECT count(*) FROM (SELECT task_id, ordinal
             FROM storm.iteration_outcomes WHERE counted = 1 GROUP BY 1, 2 HAVING count(*) > 1) x",
        ),
        ("claims that are left", "SELECT count(*) FROM storm.claims"),
        (
            "costs that runs do not have",
            "SELECT (SELECT sum(cost_usd) FROM storm.iteration_outcomes)
             - (SELECT sum(cost_usd) FROM storm.runs)",
        ),
        (
            "costs that days do not have",
            "SELECT (SELECT sum(cost_usd) FROM storm.iteration_outcomes)
             - (SELECT sum(cost_usd) FROM storm.spending)",
        ),
        (
            "costs that the totals do not have",
            "SELECT (SELECT sum(cost_usd) FROM storm.iteration_outcomes)
             - (SELECT cost_usd FROM storm.totals)",
        ),
        (
            "counted attempts that runs do not have",
            "SELECT (SELECT count(*) FROM storm.iteration_outcomes WHERE counted = 1)
             - (SELECT sum(attempts) FROM storm.runs)",
        ),
        (
            "learnings judged other than once per task",
            "SELECT (SELECT sum(helpful + harmful) FROM storm.learnings)
             - (SELECT count(*) FROM storm.learning_verdicts)",
        ),
        (
            "learnings shown and not noted",
            "SELECT (SELECT sum(shown) FROM storm.learnings)
             - (SELECT count(*) FROM storm.learning_uses)",
        ),
        (
            "events with the number of another",
            "SELECT count(*) FROM (SELECT run_id, seq FROM storm.run_events
             GROUP BY 1, 2 HAVING count(*) > 1) x",
        ),
    ]);
    for (what, sql) in facts {
        let found: f64 = server.sql(sql).parse().unwrap();
        assert!(found.abs() < 1e-6, "{what}: {found}");
    }
    // Time is the server's, whatever the clocks of the machines show.
    let wrong = format!(
        "SELECT count(*) FROM storm.iteration_outcomes WHERE started_at < '{began}'
             OR started_at > to_char(now() AT TIME ZONE 'UTC' + interval '1 minute', 'YYYY-MM-DD\"T\"HH24:MI')"
    );
    assert_eq!(server.sql(&wrong), "0");
    assert_eq!(server.sql("SELECT count(*) > 0 FROM storm.learning_verdicts"), "t");
}

/// The connection breaks while a result is recorded and stays away: the result is kept, and recorded as it is by the run
/// itself when the server is back, or by the next one where the run is killed meanwhile.
#[test]
fn a_result_that_cannot_be_recorded_is_kept_and_recorded_later() {
    let (server, proxy) = behind_proxy();
    let mut project = clone_of_team(&proxy.url());
    project.ok(&["store", "init"]);
    project.write(
        "agent.sh",
        "cat > /dev/null; echo x >> worked; touch done.txt\nprintf '%s\\n' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"<learning category=\\\"pattern\\\" tags=\\\"storm\\\">Kept results are whole</learning>\\n<task-done>'\"$RALPH_TASK_ID\"'</task-done>\",\"total_cost_usd\":0.25,\"session_id\":\"s\"}'",
    );
    let kept = |project: &Project| {
        let logs = fs::read_dir(project.path(".ralph/logs")).into_iter().flatten().flatten();
        logs.filter(|log| log.file_name().to_string_lossy().ends_with(".result.json")).count()
    };
    for (n, is_killed) in [(1, false), (2, true)] {
        project.add(&["A task", "--key", &format!("k{n}"), "--verify", "test -f done.txt"]);
        proxy.set_trap("attempt_finished", false, true);
        let mut run = project.start(&["run"]);
        eventually("the result is kept", || kept(&project) == 1);
        assert_eq!(server.sql("SELECT count(*) FROM storm.iteration_outcomes"), (n - 1).to_string());
        if is_killed {
            run.kill().unwrap();
        }
        proxy.is_cut.store(false, Ordering::Relaxed);
        let output = run.wait_with_output().unwrap();
        if is_killed {
            project.ok(&["run"]);
        } else {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(kept(&project), 0);
        let history = project.history();
        let last = history.last().unwrap();
        assert_eq!(
            (
                &last["outcome"],
                &last["cost_usd"],
                &last["gate"],
                &last["verified"],
                last["counted"].as_bool()
            ),
            (&"done".into(), &0.25.into(), &"passed".into(), &true.into(), Some(true)),
            "{last}"
        );
        assert_eq!(history.len(), n);
        assert_eq!(project.read("worked"), "x\n".repeat(n));
    }
    let learnings = server.sql("SELECT count(*) FROM storm.learnings WHERE content LIKE 'Kept results%'");
    assert_eq!(learnings, "2");
    // One whose claim has moved meanwhile is not recorded by it.
    project.add(&["A task", "--key", "k3", "--verify", "test -f done.txt"]);
    proxy.set_trap("attempt_finished", false, true);
    let mut run = project.start(&["run"]);
    eventually("the result is kept", || kept(&project) == 1);
    run.kill().unwrap();
    run.wait().unwrap();
    server.sql("UPDATE storm.claims SET token = 'moved'");
    proxy.is_cut.store(false, Ordering::Relaxed);
    project.set_env("RALPH_SET_RUN_LIMIT", "1");
    project.ralph(&["run"]);
    let lost = server.sql("SELECT error_type FROM storm.iteration_outcomes ORDER BY rowid OFFSET 2 LIMIT 1");
    assert_eq!(lost, "lost");
}

/// Where the server's disk is full, and on a standby, nothing can be written: each says so, and what to do.
#[test]
fn a_standby_and_a_full_disk_are_told_with_the_next_step() {
    let server = OwnServer::start();
    let mut project = clone_of_team(&server.url);
    project.ok(&["store", "init"]);
    project.add(&["First", "--key", "k1"]);
    server.sql(
        "CREATE FUNCTION storm.full() RETURNS TRIGGER LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON storm.tasks FOR EACH ROW EXECUTE FUNCTION storm.full()",
    );
    let full = project.ralph(&["task", "add", "Second"]).expect_code(1).stderr;
    assert!(full.contains("No space left") && full.contains("free some disk space on the server"), "{full}");
    server.sql("DROP TRIGGER full_disk ON storm.tasks");
    server.script(&["standby"]);
    let standby = server.url.replace(&format!(":{}/", server.port), &format!(":{}/", server.port + 1));
    project.set_env("RALPH_STORE", &standby);
    eventually("the standby has it", || project.ok(&["task", "list"]).stdout.contains("First"));
    let refused = project.ralph(&["task", "add", "Second"]).expect_code(1).stderr;
    assert!(refused.contains("during recovery") && refused.contains("name the primary server"), "{refused}");
}

/// Another machine sees what an attempt said last, and where the rest is; a limit is that of an account, wherever it was met;
/// what is spent anywhere counts for the day.
#[test]
fn machines_share_outputs_limits_and_budgets() {
    let (server, proxy) = behind_proxy();
    let here = clone_of_team(&proxy.url());
    here.ok(&["store", "init"]);
    here.add(&["A task", "--key", "k1"]);
    here.write(
        "agent.sh",
        "cat > /dev/null; printf '%s\\n' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"What the agent said last, with the key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ\\n<no-change-needed>x</no-change-needed>\\n<task-done>'\"$RALPH_TASK_ID\"'</task-done>\",\"total_cost_usd\":0.25,\"session_id\":\"s\"}'",
    );
    here.ok(&["run"]);
    let there = clone_of_team(&proxy.url());
    server.sql("UPDATE storm.attempt_outputs SET host = 'far-away'");
    let shown = there.ok(&["logs", "k1"]);
    assert!(shown.stdout.contains("What the agent said last"), "{}", shown.stdout);
    assert!(shown.stderr.contains("on far-away in .ralph/logs/"), "{}", shown.stderr);
    let stored = server.sql("SELECT final_text || tail FROM storm.attempt_outputs");
    assert!(stored.contains("said last") && !stored.contains("sk-ant-api03"), "{stored}");

    // Two agents of one account, and one of another.
    for (project, account) in [(&here, "team-a"), (&there, "team-a")] {
        project.set("agents.script", &format!("account = \"{account}\""));
    }
    let mut other = clone_of_team(&proxy.url());
    other.set("agents.script", "account = \"team-b\"");
    here.add(&["Another", "--key", "k2"]);
    here.write(
        "agent.sh",
        "cat > /dev/null; printf '%s\\n' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":429,\"result\":\"rate limited\",\"session_id\":\"s\"}'",
    );
    here.ralph(&["run", "--no-wait"]).expect_code(4);
    let limited = there.ralph(&["run", "--no-wait"]).expect_code(4);
    let told = limited.stdout + &limited.stderr;
    assert!(told.contains("hit its usage limit"), "{told}");
    // What was spent on another machine today counts.
    other.set_env("RALPH_SET_RUN_MAX_COST_USD_PER_DAY", "0.2");
    let spent = other.ralph(&["run"]).expect_code(4);
    let told = spent.stdout + &spent.stderr;
    assert!(told.contains("0.25"), "{told}");
    other.set_env("RALPH_SET_RUN_MAX_COST_USD_PER_DAY", "100");
    other.ok(&["run"]);
    assert_eq!(other.status_of("k2"), "done");
}

/// A run in a pid namespace of its own, which looks like another machine, that is stopped with its claim.
struct Sleeper<'p> {
    project: &'p Project,
    run: Option<Child>,
    /// The process of the run, once it sleeps.
    asleep: Option<rustix::process::Pid>,
    slept: bool,
}

impl<'p> Sleeper<'p> {
    #[expect(clippy::print_stderr, reason = "a test that leaves something out says so")]
    fn start(project: &'p Project) -> Self {
        let probe = Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "true"]).output();
        let may = probe.is_ok_and(|probe| probe.status.success());
        if !may {
            eprintln!("no run sleeps past its lease: pid namespaces are not permitted here");
        }
        let run = may.then(|| {
            let mut command = Command::new("unshare");
            command
                .args([
                    "--pid",
                    "--fork",
                    "--kill-child",
                    "--mount-proc",
                    env!("CARGO_BIN_EXE_ralph"),
                    "run",
                    "--quiet",
                ])
                .current_dir(project.root())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            project.clean(&mut command).spawn().unwrap()
        });
        Self { project, slept: run.is_none(), run, asleep: None }
    }

    /// Once it has a claim, it is stopped, and its lease is over.
    fn sleep_past_its_lease(&mut self, server: &OwnServer) {
        let Some(run) = self.run.as_mut().filter(|_| !self.slept) else { return };
        if let Some(pid) = self.asleep {
            // Until somebody else has dealt with its claim.
            let left =
                server.sql(&format!("SELECT count(*) FROM storm.claims WHERE run_id = '{}'", self.run_id()));
            if left == "0" {
                rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
                self.slept = true;
            }
            return;
        }
        let children =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).unwrap_or_default();
        let Some(pid) = children.split_whitespace().next().and_then(|pid| pid.parse().ok()) else { return };
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let claimed = "SELECT run_id FROM storm.claims WHERE attempt_number > 0 AND pid = 1 LIMIT 1";
        let id = server.sql(claimed);
        if id.is_empty() {
            return;
        }
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        self.project.write("sleeper", &id);
        let long_ago = "'2000-01-01T00:00:00.000Z'";
        server.sql(&format!(
            "UPDATE storm.claims SET expires_at = {long_ago} WHERE run_id = '{id}';
             UPDATE storm.runs SET expires_at = {long_ago} WHERE id = '{id}'"
        ));
        self.asleep = Some(pid);
    }

    fn run_id(&self) -> String {
        self.project.read("sleeper")
    }

    fn wake(&mut self) {
        if let Some(pid) = self.asleep.filter(|_| !self.slept) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::CONT);
        }
    }

    fn end(mut self) {
        if let Some(mut run) = self.run.take() {
            eventually("the run that slept ends", || run.try_wait().unwrap().is_some());
        }
    }
}
