//! Gemini CLI behind the trait that all agents share.

use super::super::{Agent, Launch, LaunchRequest, Setup, StreamParser};
use super::{GeminiStream, arguments, environment, prompt};

/// Gemini CLI, started once per attempt.
#[derive(Clone, Debug)]
pub struct Gemini {
    setup: Setup,
}

impl Gemini {
    /// As the settings want it.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup }
    }
}

impl Agent for Gemini {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn prompt(&self, rules: &str, task: &str) -> String {
        prompt::literal(&format!("{}\n\n{task}", rules.trim_end()))
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let args = arguments(request.model, &self.setup);
        let stdin = self.prompt(request.rules, request.task_prompt);
        self.setup.launch(args, &environment(), stdin, request)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(GeminiStream::new())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::{RunId, TaskId};

    #[test]
    fn cli_04_the_launch_carries_prompt_model_and_environment() {
        let agent = Gemini::new(Setup {
            name: "gemini".into(),
            command: vec!["gemini".into()],
            env: vec![("GEMINI_API_KEY".into(), "k".into())],
            skip_permissions: true,
            ..Setup::default()
        });
        let launch = agent.launch(&LaunchRequest {
            task_id: &TaskId::from_stored("t-000001"),
            task_key: None,
            attempt: 1,
            model: "flash",
            run_id: &RunId::from_stored("r-1"),
            project_root: Path::new("/p"),
            work_tree: Path::new("/w"),
            rules: "## Rules\n",
            task_prompt: "## Assigned Task\n",
            is_root: false,
            budget_usd: None,
        });
        assert_eq!(launch.program, "gemini");
        assert_eq!(launch.args.last().map(String::as_str), Some("flash"));
        assert_eq!(launch.stdin, "## Rules\n\n## Assigned Task\n");
        let names: Vec<&str> = launch.env.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names.get(..3),
            Some(["GEMINI_CLI_NO_RELAUNCH", "GEMINI_API_KEY", "RALPH_TASK_ID"].as_slice())
        );
    }
}
