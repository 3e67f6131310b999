//! A project with one task, the real agent, and a scripted model behind it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::model_server::{ModelServer, Reply, Request};
use crate::support::{Output, Project, eventually, processes_with};

/// A real agent program: how tests find it and lead it to the scripted model.
pub struct Player {
    /// The kind of agent, which is also its name in the settings.
    pub agent: &'static str,
    /// The variable that says where the program is, and where `scripts/test` puts it.
    pub program: (&'static str, &'static str),
    /// Variables of the agent's that lead it to the model at this URL.
    pub env: fn(&str) -> Vec<(&'static str, String)>,
    /// Further lines of its settings for the model at this URL.
    pub settings: fn(&str) -> String,
}

/// Claude Code.
pub const CLAUDE: Player = Player {
    agent: "claude",
    program: ("RALPH_TEST_CLAUDE", "claude"),
    env: |url| {
        vec![
            ("ANTHROPIC_API_KEY", "test".to_owned()),
            ("ANTHROPIC_BASE_URL", url.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
        ]
    },
    settings: |_| String::new(),
};

/// Everything one test needs.
pub struct Stage {
    pub project: Project,
    pub model: ModelServer,
    /// The id of its one task.
    pub task: String,
    /// In the environment of the agent and of all it starts, and nowhere else.
    mark: String,
    player: &'static Player,
    run: String,
    agent: String,
    env: BTreeMap<String, String>,
}

impl Stage {
    /// Claude Code in a project without git.
    pub fn new(script: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::of(Project::new(), script)
    }

    /// Claude Code in this project.
    pub fn of(project: Project, script: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::with(&CLAUDE, project, script)
    }

    /// Any program in any project.
    pub fn with(
        player: &'static Player,
        project: Project,
        script: impl FnMut(&Request) -> Reply + Send + 'static,
    ) -> Self {
        static STAGES: AtomicU32 = AtomicU32::new(0);
        let number = STAGES.fetch_add(1, Ordering::SeqCst);
        let mark = format!("ralph-mark-{}-{number}-end", std::process::id());
        let model = ModelServer::start(script);
        let url = model.url();
        let env = (player.env)(&url).into_iter();
        let env = env.chain([("RALPH_TEST_MARK", mark.clone())]);
        let env = env.map(|(name, value)| (name.to_owned(), value)).collect();
        let task = project.add(&["Write the parser", "--description", "It parses."]);
        let stage = Self {
            project,
            model,
            task,
            mark,
            player,
            run: format!("agent = {:?}\nbackoff = \"100ms\"\nservice_retries = 1", player.agent),
            agent: (player.settings)(&url),
            env,
        };
        stage.configure()
    }

    /// With a further line under `[run]`.
    pub fn run_setting(mut self, line: &str) -> Self {
        self.run = format!("{}\n{line}", self.run);
        self.configure()
    }

    /// With a further line under the agent's own table.
    pub fn agent_setting(mut self, line: &str) -> Self {
        self.agent = format!("{}\n{line}", self.agent);
        self.configure()
    }

    /// With a variable of the agent's set.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self.configure()
    }

    /// With a variable of the agent's taken away.
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.remove(name);
        self.configure()
    }

    /// With a subscription in place of an API key: only then does Claude Code tell of usage limits.
    pub fn with_subscription(self) -> Self {
        self.without_env("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "test")
    }

    /// With a gate for its task.
    pub fn verify(self, command: &str) -> Self {
        self.project.ok(&["task", "edit", &self.task, "--verify", command]);
        self
    }

    fn configure(self) -> Self {
        let env: Vec<String> = self.env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        // The middle of the ladder, whatever was learned: requests to the model are compared.
        let toml = format!(
            "[run]\nstrategy = \"cost-optimized\"\n{}\n\n[agents.{}]\ncommand = [{:?}]\nenv = {{ {} }}\n{}\n",
            self.run,
            self.player.agent,
            program(self.player.program),
            env.join(", "),
            self.agent
        );
        self.project.write(".ralph.toml", &toml);
        self
    }

    /// Runs to the end; the exit code must be this one.
    #[track_caller]
    pub fn run(&self, code: i32) -> Output {
        self.project.ralph(&["run"]).expect_code(code)
    }

    /// Makes one counted attempt, which does not finish the task.
    #[track_caller]
    pub fn run_once_in_vain(&self) -> Output {
        self.project.ralph(&["run", "--once"]).expect_code(4)
    }

    /// Starts a run and waits until it has come so far.
    #[track_caller]
    pub fn start_until(&self, what: &str, happened: impl FnMut() -> bool) -> Child {
        let child = self.project.start(&["run"]);
        eventually(what, happened);
        child
    }

    /// Every try in a line such as `error auth uncounted #1`, the number being the one people see.
    #[track_caller]
    pub fn tries(&self) -> Vec<String> {
        let history = self.project.history();
        for (i, attempt) in history.iter().enumerate() {
            assert_eq!(attempt["attempt_number"], i + 1, "{attempt}");
            assert_eq!(attempt["agent"], self.player.agent, "{attempt}");
        }
        history.iter().map(line).collect()
    }

    /// The plan's counts as `status` gives them, and the attempts it counts.
    #[track_caller]
    pub fn expect_status(&self, done: u64, pending: u64, attempts: u64) {
        let status = self.project.json(&["status", "--json"]);
        let tasks = &status["tasks"];
        assert_eq!(
            (&tasks["done"], &tasks["pending"], &status["attempts"]),
            (&done.into(), &pending.into(), &attempts.into()),
            "{status}"
        );
        assert_eq!(tasks["in_progress"], 0, "{status}");
    }

    /// No claim is held, nothing counts against the task, and it can be tried again.
    #[track_caller]
    pub fn expect_untouched_task(&self) {
        assert_eq!(self.number("SELECT count(*) FROM claims"), 0);
        self.expect_status(0, 1, 0);
        let status = self.project.json(&["status", "--json"]);
        assert_eq!(status["breaker"]["failures"], 0, "{status}");
        let reports = "SELECT count(*) FROM failure_reports";
        assert_eq!(self.number(reports), 0);
    }

    /// A number out of the database.
    #[track_caller]
    pub fn number(&self, sql: &str) -> i64 {
        let database = self.project.database();
        database.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// A text out of the database.
    pub fn maybe_text(&self, sql: &str) -> Option<String> {
        let database = self.project.database();
        database.query_row(sql, [], |row| row.get(0)).ok()
    }

    /// Nothing of the agent is left, nor of what it started.
    #[track_caller]
    pub fn expect_no_process(&self) {
        let left: Vec<i32> = self.processes();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Processes of the agent and of its tools.
    pub fn processes(&self) -> Vec<i32> {
        processes_with(&self.mark)
    }
}

/// A try in a line.
fn line(attempt: &Value) -> String {
    let word = |field: &str| attempt[field].as_str();
    let counted = match attempt["counted"].as_bool() {
        Some(true) => "counted",
        _ => "uncounted",
    };
    let number = format!("#{}", attempt["attempt"]);
    [word("outcome"), word("error_type"), Some(counted), Some(&number)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The program under test.
fn program((variable, name): (&str, &str)) -> PathBuf {
    let installed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/node_modules/.bin");
    let installed = Path::new(installed).join(name);
    let path = std::env::var_os(variable).map_or(installed, PathBuf::from);
    let path = std::path::absolute(path).unwrap();
    assert!(
        path.is_file(),
        "{} is not there: run scripts/test, which installs it, or set {variable}",
        path.display()
    );
    path
}

/// Sends a signal.
pub fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Sends a signal and waits for the end; the exit code.
pub fn end_by(mut child: Child, signal: Signal) -> Option<i32> {
    send(&child, signal);
    child.wait().unwrap().code()
}

/// The text of a content: a string, or a list of blocks.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().map(|block| text_of(&block["text"])).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// What a request's user messages say.
pub fn user_text(body: &Value) -> String {
    // Under the name that each API has for them.
    let mut fields = ["messages", "input"].iter();
    let messages = fields.find_map(|field| body[field].as_array()).unwrap();
    messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| text_of(&message["content"]))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The task a prompt assigns, as a model would read it there.
pub fn assigned(request: &Request) -> String {
    let text = user_text(&request.body);
    let (_, rest) = text.split_once("## Assigned Task\n\n**ID:** ").unwrap();
    rest.lines().next().unwrap().to_owned()
}

/// The model says that the assigned task is done.
pub fn done(request: &Request) -> Reply {
    let id = assigned(request);
    Reply::text(format!("The parser works.\n\n<task-done>{id}</task-done>"))
}

/// The model uses the shell.
pub fn bash(command: &str) -> Reply {
    let input = serde_json::json!({"command": command, "description": "Work"});
    Reply::tool("Bash", input)
}
