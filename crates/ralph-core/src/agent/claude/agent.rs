//! Claude Code behind the trait that all agents share.

use super::super::{
    Access, Agent, Launch, LaunchRequest, Prices, StreamParser, child_environment, os_environment,
};
use super::{ClaudeOptions, ClaudeStream, arguments, environment};

/// Claude Code, started once per attempt.
#[derive(Clone, Debug)]
pub struct Claude {
    /// Its name in the settings.
    pub name: String,
    /// The program and the arguments that come before Ralph's own.
    pub command: Vec<String>,
    /// Its models, cheapest first.
    pub models: Vec<String>,
    /// What they cost.
    pub prices: Prices,
    /// Variables it gets.
    pub env: Vec<(String, String)>,
    /// How much it is trusted, and what else it is told.
    pub options: ClaudeOptions,
}

impl Agent for Claude {
    fn name(&self) -> &str {
        &self.name
    }

    fn ladder(&self) -> &[String] {
        &self.models
    }

    fn prices(&self) -> &Prices {
        &self.prices
    }

    fn prompt(&self, _rules: &str, task: &str) -> String {
        task.to_owned()
    }

    fn system_prompt(&self, rules: &str) -> Option<String> {
        Some(rules.to_owned())
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let mut words = self.command.iter().cloned();
        let program = words.next().unwrap_or_default();
        let mut args: Vec<String> = words.collect();
        args.extend(arguments(request.model, request.rules, &self.options));
        // Settings may state the variable themselves; theirs then stands.
        let stated = self
            .env
            .iter()
            .any(|(name, _)| name == super::launch::SANDBOX);
        let mut env = os_environment(&environment(&self.options, request.is_root, stated));
        env.extend(os_environment(&self.env));
        env.extend(child_environment(request));
        Launch {
            program,
            args,
            env,
            cwd: request.work_tree.to_owned(),
            stdin: self.prompt(request.rules, request.task_prompt),
            access: Access::default(),
        }
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(ClaudeStream::new())
    }
}
