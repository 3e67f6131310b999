//! A hermetic environment: every test runs the real binary in its own directory with a cleared environment.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use expectrl::process::Process;
use expectrl::process::unix::UnixProcess;
use expectrl::session::OsSession;
use serde_json::Value;

/// How long a test waits for something that will happen, and how soon something ends that must not wait for what takes
/// ten minutes. Long, because a loaded machine is slow and no test may depend on speed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The memory that a process has taken for its data, in KiB. Without the pages of the program itself, which is large and
/// grows as long as tests run it without optimization.
pub fn data_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// A project in a directory of its own.
pub struct Project {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Fails the test unless the exit code is this one.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Standard output without the last line end.
    pub fn text(&self) -> &str {
        self.stdout.trim_end_matches('\n')
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{}", self.stdout))
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Project {
    /// An empty directory.
    pub fn empty() -> Self {
        let dir = tempfile::Builder::new().prefix("ralph-test-").tempdir().unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        fs::create_dir_all(dir.path().join("work")).unwrap();
        Self { dir, env: Vec::new() }
    }

    /// A project after `ralph init`, without git.
    pub fn new() -> Self {
        let project = Self::empty();
        project.ok(&["init"]);
        project
    }

    /// A project in a git repository, with default settings: in that order `ralph init` does not see the repository.
    pub fn with_git() -> Self {
        let project = Self::new();
        project.git(&["init", "-q", "-b", "main"]);
        project
    }

    /// Its root.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// A path in it.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    /// Sets a variable for every command that follows.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Adds to `.ralph.toml`.
    pub fn configure(&self, toml: &str) {
        let path = self.path(".ralph.toml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{before}\n{toml}\n")).unwrap();
    }

    /// Adds lines to a section of `.ralph.toml`.
    pub fn set(&self, section: &str, lines: &str) {
        let path = self.path(".ralph.toml");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let head = format!("[{section}]\n");
        let (before, after) = match text.strip_prefix(&head) {
            Some(after) => ("", after),
            None => match text.split_once(&format!("\n{head}")) {
                Some(found) => found,
                None => return self.configure(&format!("{head}{lines}")),
            },
        };
        fs::write(path, format!("{before}\n{head}{lines}\n{after}")).unwrap();
    }

    /// Makes a shell script the default agent. It gets the prompt on standard input, which is drained first.
    pub fn agent(&self, script: &str) {
        self.write("agent.sh", &format!("cat > \"$RALPH_PROJECT/.ralph/last-prompt\"\n{script}\n"));
        self.set("run", "agent = \"script\"");
        // Last, so that a test can add lines to it.
        self.configure("[agents.script]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]");
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// A command on the real binary, not yet run.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
        command.args(args).current_dir(self.root()).stdin(Stdio::null());
        self.clean(&mut command);
        command
    }

    /// The same for one that goes on until something happens; should that not happen, it ends after a while.
    pub fn patient_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .args([&PATIENCE.as_secs().to_string(), env!("CARGO_BIN_EXE_ralph")])
            .args(args)
            .current_dir(self.root())
            .stdin(Stdio::null());
        self.clean(&mut command);
        command
    }

    /// Clears a command's environment but for what every command has.
    pub fn clean<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let home = self.dir.path().join("home");
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("TMPDIR", std::env::temp_dir())
            .env("LANG", "C.UTF-8")
            .env("GIT_CONFIG_GLOBAL", home.join(".gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // Scripted agents keep notes beside the work tree. Tests of the sandbox turn it on.
            .env("RALPH_SANDBOX_BACKEND", "off")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
    }

    /// Runs the binary.
    pub fn ralph(&self, args: &[&str]) -> Output {
        self.ralph_with_input(args, "")
    }

    /// Runs the binary with standard input.
    pub fn ralph_with_input(&self, args: &[&str], input: &str) -> Output {
        use std::io::Write;
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input closes the pipe.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs the binary; it must succeed.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Output {
        let output = self.ralph(args);
        assert_eq!(output.code, 0, "ralph {args:?}\n{}\n{}", output.stdout, output.stderr);
        output
    }

    /// Adds a task; returns its id.
    #[track_caller]
    pub fn add(&self, args: &[&str]) -> String {
        let mut all = vec!["task", "add"];
        all.extend(args);
        self.ok(&all).text().to_owned()
    }

    /// A command's JSON.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.ok(args).json()
    }

    /// One task as JSON.
    #[track_caller]
    pub fn task(&self, name: &str) -> Value {
        self.json(&["task", "show", name, "--json"])
    }

    /// A task's status.
    #[track_caller]
    pub fn status_of(&self, name: &str) -> String {
        self.task(name)["status"].as_str().unwrap().to_owned()
    }

    /// Attempts as JSON, of all tasks.
    #[track_caller]
    pub fn history(&self) -> Vec<Value> {
        self.json(&["history", "--json"]).as_array().unwrap().clone()
    }

    /// Starts the binary in a terminal of so many columns.
    pub fn in_terminal(&self, args: &[&str], columns: u16) -> OsSession {
        let program = [env!("CARGO_BIN_EXE_ralph")];
        self.any_in_terminal(&[&program, args].concat(), columns, "")
    }

    /// Starts any program in a terminal of so many columns, after a command that prepares it.
    pub fn any_in_terminal(&self, words: &[&str], columns: u16, prepare: &str) -> OsSession {
        // The program starts when the terminal has its size, which is set from outside. A hang-up has its default effect, also
        // where the tests run under nohup.
        let script = format!(
            "until [ \"$(stty size)\" = \"30 {columns}\" ]; do sleep 0.02; done; {prepare}\nexec env --default-signal=HUP \"$0\" \"$@\""
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).args(words).current_dir(self.root());
        self.clean(&mut command);
        let mut process = UnixProcess::spawn_command(command).unwrap();
        process.set_window_size(columns, 30).unwrap();
        let stream = process.open_stream().unwrap();
        let mut session = OsSession::new(process, stream).unwrap();
        session.set_expect_timeout(Some(PATIENCE));
        session
    }

    /// Starts the binary and lets it run.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs git in the project.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        self.clean(&mut command);
        let output = command
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(self.root())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The project's database.
    pub fn database(&self) -> rusqlite::Connection {
        let database = rusqlite::Connection::open(self.path(".ralph/progress.db")).unwrap();
        // A loaded machine may keep a run's transaction open for long.
        database.busy_timeout(Duration::from_secs(60)).unwrap();
        database
    }
}

/// A command whose output is read while it runs.
pub struct Following {
    pub child: Child,
    pub lines: BufReader<ChildStdout>,
}

impl Following {
    pub fn start(project: &Project, args: &[&str]) -> Self {
        let mut child =
            project.patient_command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Reads up to a line that holds a text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        let mut all = String::new();
        loop {
            let before = all.len();
            if self.lines.read_line(&mut all).unwrap() == 0 {
                panic!("no {text:?} in\n{all}");
            }
            if all[before..].contains(text) {
                return all;
            }
        }
    }

    /// Reads to its end; everything that was left, what it wrote to standard error, and the exit code.
    #[track_caller]
    pub fn end(mut self) -> (String, String, i32) {
        let mut rest = Vec::new();
        self.lines.read_to_end(&mut rest).unwrap();
        let mut errors = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (String::from_utf8_lossy(&rest).into_owned(), errors, code)
    }

    pub fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.unwrap().success());
    }
}

/// A program that is ended with the test, however that ends.
pub struct Background(pub Child);

impl Background {
    /// Waits for its end.
    #[track_caller]
    pub fn expect_success(mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for something that will happen; a test that waits in vain fails.
#[track_caller]
pub fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let started = Instant::now();
    while !happened() {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ids of living processes whose command line or environment holds a text.
pub fn processes_with(mark: &str) -> Vec<i32> {
    let holds = |path: PathBuf| fs::read(path).is_ok_and(|all| String::from_utf8_lossy(&all).contains(mark));
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != std::process::id() as i32)
        .filter(|pid| {
            let proc = PathBuf::from(format!("/proc/{pid}"));
            let zombie = fs::read_to_string(proc.join("stat"))
                .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z')));
            !zombie && (holds(proc.join("environ")) || holds(proc.join("cmdline")))
        })
        .collect()
}
