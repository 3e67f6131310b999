//! Claude Code behind the trait that all agents share.

use super::super::{Agent, EndSignal, Launch, LaunchRequest, Setup, StreamParser};
use super::{ClaudeStream, arguments, environment};

/// Claude Code, started once per attempt.
#[derive(Clone, Debug)]
pub struct Claude {
    setup: Setup,
}

impl Claude {
    /// As the settings want it.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup }
    }
}

impl Agent for Claude {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn prompt(&self, _rules: &str, task: &str) -> String {
        task.to_owned()
    }

    fn system_prompt(&self, rules: &str) -> Option<String> {
        Some(rules.to_owned())
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let args = arguments(
            request.model,
            request.rules,
            request.budget_usd,
            &self.setup,
        );
        let env = environment(self.setup.skip_permissions, request.is_root);
        let stdin = self.prompt(request.rules, request.task_prompt);
        self.setup.launch(args, &env, stdin, request)
    }

    /// After TERM it ends without a word; after INT it still tells what it cost.
    fn first_signal(&self) -> EndSignal {
        EndSignal::Interrupt
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(ClaudeStream::new())
    }
}
