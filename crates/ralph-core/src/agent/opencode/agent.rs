//! OpenCode behind the trait that all agents share.

use super::super::{Agent, Launch, LaunchRequest, Setup, StreamParser};
use super::{OpencodeStream, arguments};

/// OpenCode, started once per attempt.
#[derive(Clone, Debug)]
pub struct Opencode {
    setup: Setup,
}

impl Opencode {
    /// As the settings want it.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup }
    }

    /// What the session is called in the program's own list.
    fn title(request: &LaunchRequest<'_>) -> String {
        let task = request.task_key.unwrap_or(request.task_id.as_str());
        format!("Ralph: task {task}, attempt {}", request.attempt)
    }
}

impl Agent for Opencode {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let args = arguments(request.model, &Self::title(request), &self.setup);
        let stdin = self.prompt(request.rules, request.task_prompt);
        let mut launch = self.setup.launch(args, &[], stdin, request);
        // The program works where this says, not where it was started.
        launch
            .env
            .push(("PWD".to_owned(), request.work_tree.into()));
        launch
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(OpencodeStream::new())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::{RunId, TaskId};

    #[test]
    fn the_prompt_goes_in_by_standard_input_and_the_work_tree_by_its_variable() {
        let agent = Opencode::new(Setup {
            name: "opencode".into(),
            command: vec!["opencode".into()],
            skip_permissions: true,
            env: vec![("PWD".into(), "/elsewhere".into())],
            ..Setup::default()
        });
        let launch = agent.launch(&LaunchRequest {
            task_id: &TaskId::from_stored("t-000001"),
            task_key: Some("1.3"),
            attempt: 2,
            model: "opencode",
            run_id: &RunId::from_stored("r-1"),
            project_root: Path::new("/p"),
            work_tree: Path::new("/w"),
            rules: "## Rules\n",
            task_prompt: "## Assigned Task\n",
            is_root: true,
            budget_usd: Some(1.0),
        });
        assert_eq!(launch.stdin, "## Rules\n\n## Assigned Task\n");
        assert_eq!(launch.cwd, Path::new("/w"));
        let named = |name: &str| launch.env.iter().rfind(|(key, _)| key == name);
        assert_eq!(
            named("PWD").map(|(_, value)| value.as_os_str()),
            Some("/w".as_ref())
        );
        assert!(named("RALPH_RUN_ID").is_some());
        assert_eq!(
            launch.args,
            [
                "run",
                "--format",
                "json",
                "--auto",
                "--title",
                "Ralph: task 1.3, attempt 2"
            ]
        );
    }
}
