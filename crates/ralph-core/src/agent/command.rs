//! Any command as an agent: prompt on standard input, result text on standard output.

use super::claude::ClaudeStream;
use super::{
    Access, Activity, Agent, AgentReport, BoundedText, Ending, Exit, Fault, Launch, LaunchRequest,
    Prices, StreamParser, Usage, child_environment, os_environment,
};
use crate::text;

/// How much of the beginning and of the end of the output is looked at for signals.
const HEAD: usize = 512 * 1024;
const TAIL: usize = 2 * 1024 * 1024;
const SHOWN: usize = 120;

/// What a command's standard output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// The result text itself.
    #[default]
    Text,
    /// Claude Code's event stream.
    Claude,
}

/// A command from the settings.
#[derive(Clone, Debug)]
pub struct CommandAgent {
    /// Its name in the settings.
    pub name: String,
    /// Program and arguments; `{model}` in them is replaced.
    pub command: Vec<String>,
    /// Its models, cheapest first.
    pub models: Vec<String>,
    /// What they cost.
    pub prices: Prices,
    /// Variables it gets.
    pub env: Vec<(String, String)>,
    /// What its standard output is.
    pub output: OutputFormat,
}

impl Agent for CommandAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn ladder(&self) -> &[String] {
        &self.models
    }

    fn prices(&self) -> &Prices {
        &self.prices
    }

    fn prompt(&self, rules: &str, task: &str) -> String {
        format!("{}\n\n{task}", rules.trim_end())
    }

    fn system_prompt(&self, _rules: &str) -> Option<String> {
        None
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let mut words = self
            .command
            .iter()
            .map(|word| word.replace("{model}", request.model));
        let mut env = os_environment(&self.env);
        env.extend(child_environment(request));
        Launch {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env,
            cwd: request.work_tree.to_owned(),
            stdin: self.prompt(request.rules, request.task_prompt),
            access: Access::default(),
        }
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        match self.output {
            OutputFormat::Text => Box::new(TextStream::default()),
            OutputFormat::Claude => Box::new(ClaudeStream::new()),
        }
    }
}

/// Output that is nothing but text.
#[derive(Debug)]
struct TextStream {
    text: BoundedText,
}

impl Default for TextStream {
    fn default() -> Self {
        Self {
            text: BoundedText::new(HEAD, TAIL),
        }
    }
}

impl StreamParser for TextStream {
    fn line(&mut self, line: &[u8], _complete: bool) -> Option<Activity> {
        self.text.push(line);
        self.text.push(b"\n");
        let start = &line[..line.len().min(4 * SHOWN)];
        let shown = text::one_line(&String::from_utf8_lossy(start), SHOWN);
        // Signals are for Ralph, not for the screen.
        (!shown.is_empty() && !shown.starts_with('<')).then_some(Activity::Said { text: shown })
    }

    fn finish(self: Box<Self>, exit: Exit) -> AgentReport {
        let ending = match exit {
            Exit::Code(0) => Ending::Completed,
            Exit::Code(code) => crashed(format!("the agent exited with code {code}")),
            Exit::Signal(signal) => crashed(format!("the agent was ended by signal {signal}")),
        };
        AgentReport {
            ending,
            result_text: self.text.into_text(),
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

fn crashed(message: String) -> Ending {
    Ending::Faulted {
        fault: Fault::Crash,
        message,
        resets_at: None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::{RunId, TaskId};

    fn agent() -> CommandAgent {
        CommandAgent {
            name: "mine".into(),
            command: vec!["prog".into(), "--model={model}".into()],
            prices: Prices::new(),
            models: vec!["small".into()],
            env: vec![("A".into(), "1".into())],
            output: OutputFormat::Text,
        }
    }

    #[test]
    fn cli_04_the_launch_carries_prompt_model_and_environment() {
        let launch = agent().launch(&LaunchRequest {
            task_id: &TaskId::from_stored("t-000001"),
            task_key: Some("1.3"),
            attempt: 2,
            model: "small",
            run_id: &RunId::from_stored("r-1"),
            project_root: Path::new("/p"),
            work_tree: Path::new("/w"),
            rules: "## Rules\n",
            task_prompt: "## Assigned Task\n",
            is_root: false,
        });
        assert_eq!(launch.args, ["--model=small"]);
        assert_eq!(launch.stdin, "## Rules\n\n## Assigned Task\n");
        assert_eq!(launch.cwd, Path::new("/w"));
        let env: Vec<String> = launch
            .env
            .iter()
            .map(|(k, v)| format!("{k}={}", v.display()))
            .collect();
        assert_eq!(
            env,
            [
                "A=1",
                "RALPH_TASK_ID=t-000001",
                "RALPH_TASK_KEY=1.3",
                "RALPH_ATTEMPT=2",
                "RALPH_MODEL=small",
                "RALPH_RUN_ID=r-1",
                "RALPH_PROJECT=/p"
            ]
        );
    }

    #[test]
    fn out_10_any_other_exit_is_a_crash() {
        for (exit, completed) in [
            (Exit::Code(0), true),
            (Exit::Code(1), false),
            (Exit::Code(42), false),
            (Exit::Signal(9), false),
        ] {
            let mut parser = agent().parser();
            parser.line(b"hello", true);
            let report = parser.finish(exit);
            assert_eq!(report.ending == Ending::Completed, completed, "{exit:?}");
            assert_eq!(report.result_text, "hello\n");
        }
    }
}
