//! Codex as an agent.

use super::{
    Activity, Agent, AgentReport, Ending, Exit, Facts, Launch, LaunchRequest, Setup, StreamParser,
    Usage,
};

/// What is known of Codex before it is started.
pub(super) const FACTS: Facts = Facts {
    program: "codex",
    models: &[],
    tested: "",
    install: "",
    login: "",
    credential_variables: &[],
    credential_files: &[],
};

/// Codex, started once per attempt.
#[derive(Clone, Debug)]
pub struct Codex {
    setup: Setup,
}

impl Codex {
    /// As the settings want it.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup }
    }
}

impl Agent for Codex {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let stdin = self.prompt(request.rules, request.task_prompt);
        self.setup
            .launch(self.setup.args.clone(), &[], stdin, request)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(CodexStream::default())
    }
}

/// The reader of one session's stream.
#[derive(Debug, Default)]
pub struct CodexStream {}

impl StreamParser for CodexStream {
    fn line(&mut self, _line: &[u8], _complete: bool) -> Option<Activity> {
        None
    }

    fn finish(self: Box<Self>, _exit: Exit) -> AgentReport {
        AgentReport {
            ending: Ending::Completed,
            result_text: String::new(),
            session_id: None,
            model: None,
            cost_usd: None,
            usage: Usage::default(),
            denials: Vec::new(),
            retries: 0,
            limit: None,
            actions: Vec::new(),
        }
    }
}
