//! Output that is nothing but text, in which signals are looked for.

use super::event_fields::SHOWN;
use super::session::{Failure, crash_message};
use super::{Activity, AgentReport, BoundedText, Ending, Exit, Fault, LogEntry, StreamParser};
use crate::diagnose::error_line;
use crate::text;

/// How much of the beginning and of the end of the output is looked at for signals.
const HEAD: usize = 512 * 1024;
const TAIL: usize = 2 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct TextParser {
    text: BoundedText,
    stderr_error: Option<String>,
}

impl Default for TextParser {
    fn default() -> Self {
        Self { text: BoundedText::new(HEAD, TAIL), stderr_error: None }
    }
}

impl TextParser {
    fn keep(&mut self, line: &[u8]) {
        self.text.push(line);
        self.text.push(b"\n");
    }
}

impl StreamParser for TextParser {
    fn line(&mut self, line: &[u8], _complete: bool) -> Option<Activity> {
        self.keep(line);
        let start = &line[..line.len().min(8 * SHOWN)];
        let shown = text::one_line(text::head(&String::from_utf8_lossy(start), 4 * SHOWN), SHOWN);
        // Signals are for Ralph, not for the screen.
        (!shown.is_empty() && !shown.starts_with('<')).then_some(Activity::Said { text: shown })
    }

    fn entries(&mut self, line: &[u8], complete: bool) -> Vec<LogEntry> {
        self.keep(line);
        let text = String::from_utf8_lossy(line).into_owned();
        vec![LogEntry::Line { text, complete }]
    }

    fn stderr_error(&mut self, line: &str) {
        self.stderr_error = Some(line.to_owned());
    }

    fn finish(self: Box<Self>, exit: Exit) -> AgentReport {
        let result_text = self.text.into_text();
        let ending = match exit {
            Exit::Code(0) => Ending::Completed,
            _ => {
                let said = || error_line(&text::without_signals(&result_text));
                let error = self.stderr_error.or_else(said);
                Failure::new(Fault::Crash, crash_message(exit, error.as_deref())).into()
            }
        };
        AgentReport { ending, result_text, ..AgentReport::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::agent::{Agent, AgentKind, LaunchRequest, Setup};
    use crate::model::{RunId, TaskId};

    fn agent() -> Agent {
        AgentKind::Command.build(Setup {
            name: "mine".into(),
            command: vec!["prog".into(), "--model={model}".into()],
            models: vec!["small".into()],
            env: vec![("A".into(), "1".into())],
            ..Setup::default()
        })
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
            is_confined: false,
            budget_usd: None,
        });
        assert_eq!(launch.args, ["--model=small"]);
        assert_eq!(launch.stdin, "## Rules\n\n## Assigned Task\n");
        assert_eq!(launch.cwd, Path::new("/w"));
        let env: Vec<String> = launch.env.iter().map(|(k, v)| format!("{k}={}", v.display())).collect();
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
        for (exit, completed) in
            [(Exit::Code(0), true), (Exit::Code(1), false), (Exit::Code(42), false), (Exit::Signal(9), false)]
        {
            let mut parser = agent().parser();
            parser.line(b"hello", true);
            let report = parser.finish(exit);
            assert_eq!(report.ending == Ending::Completed, completed, "{exit:?}");
            assert_eq!(report.result_text, "hello\n");
        }
    }

    #[test]
    fn what_an_agent_with_events_printed_besides_is_told_and_named_as_the_agent_is() {
        for output in [AgentKind::Claude, AgentKind::Codex, AgentKind::Gemini, AgentKind::Opencode] {
            let agent = AgentKind::Command.build(Setup { output, ..agent().setup().clone() });
            let mut parser = agent.parser();
            let line = "Error: no such \u{1b}[31mmodule";
            let stray = vec![LogEntry::NoEvent { text: line.into() }];
            assert_eq!(parser.entries(line.as_bytes(), true), stray, "{output:?}");
            assert_eq!(parser.entries(b"", true), []);
            assert_eq!(parser.entries(b"{\"type\":\"odd\"}", true), []);
            assert_eq!(parser.line(b"the end", true), None, "{output:?}");
            let Ending::Faulted { message, .. } = parser.finish(Exit::Code(1)).ending else {
                panic!("{output:?}");
            };
            assert!(message.starts_with("mine ended without "), "{message}");
            assert!(message.ends_with("(exit code 1): Error: no such module; the end"), "{message}");
        }
    }

    #[test]
    fn a_log_of_text_is_told_line_by_line_signals_and_all() {
        let mut parser = agent().parser();
        let told = |text: &str, complete| vec![LogEntry::Line { text: text.into(), complete }];
        assert_eq!(parser.entries(b"", true), told("", true));
        let long = "  x".repeat(1000);
        assert_eq!(parser.entries(long.as_bytes(), false), told(&long, false));
        let signal = "<task-done>t-1</task-done>";
        assert_eq!(parser.entries(signal.as_bytes(), true), told(signal, true));
        let report = parser.finish(Exit::Code(0));
        assert_eq!(report.result_text, format!("\n{long}\n{signal}\n"));
    }
}
