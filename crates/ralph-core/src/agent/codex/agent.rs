//! Codex behind the trait that all agents share.

use super::super::{Agent, Launch, LaunchRequest, Setup, StreamParser};
use super::{CodexStream, arguments};

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
        let args = arguments(request.model, &self.setup);
        let stdin = self.prompt(request.rules, request.task_prompt);
        self.setup.launch(args, &[], stdin, request)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(CodexStream::new())
    }
}
