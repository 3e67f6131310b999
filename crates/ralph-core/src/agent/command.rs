//! Any command as an agent: prompt on standard input, result text on standard output.

use super::brief::MESSAGE;
use super::claude::ClaudeStream;
use super::{
    Activity, Agent, AgentReport, BoundedText, Ending, Exit, Fault, Launch, LaunchRequest, Price,
    Setup, StreamParser, Told, Usage,
};
use crate::diagnose::error_line;
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
    /// Codex's.
    Codex,
    /// Gemini CLI's.
    Gemini,
    /// OpenCode's.
    Opencode,
}

/// A command from the settings.
#[derive(Clone, Debug)]
pub struct CommandAgent {
    setup: Setup,
}

impl CommandAgent {
    /// As the settings want it; its arguments follow its command.
    #[must_use]
    pub fn new(mut setup: Setup) -> Self {
        setup.command.append(&mut setup.args);
        Self { setup }
    }
}

impl Agent for CommandAgent {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let stdin = self.prompt(request.rules, request.task_prompt);
        let launch = self.setup.launch(Vec::new(), &[], stdin, request);
        let fill = |word: String| word.replace("{model}", request.model);
        Launch {
            program: fill(launch.program),
            args: launch.args.into_iter().map(fill).collect(),
            ..launch
        }
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        let name = self.name();
        let events: Box<dyn StreamParser> = match self.setup.output {
            OutputFormat::Text => return Box::new(TextStream::default()),
            OutputFormat::Claude => Box::new(ClaudeStream::of(name)),
            OutputFormat::Codex => Box::new(super::codex::CodexStream::of(name)),
            OutputFormat::Gemini => Box::new(super::gemini::GeminiStream::of(name)),
            OutputFormat::Opencode => Box::new(super::opencode::OpencodeStream::of(name)),
        };
        Box::new(EventStream {
            events,
            complaint: None,
        })
    }
}

/// Codes above are what shells make of signals: Ralph ends what lingers after its last word.
const OWN_CODES: std::ops::Range<i32> = 1..128;

/// Events of a program that is only known by them: where they say that all went well, its exit code has a word too.
struct EventStream {
    events: Box<dyn StreamParser>,
    complaint: Option<String>,
}

impl StreamParser for EventStream {
    fn line(&mut self, line: &[u8], complete: bool) -> Option<Activity> {
        self.events.line(line, complete)
    }

    fn tell(&mut self, line: &[u8], complete: bool) -> Vec<Told> {
        self.events.tell(line, complete)
    }

    fn rest(&mut self) -> Vec<Told> {
        self.events.rest()
    }

    fn conclusion(&self) -> Option<&str> {
        self.events.conclusion()
    }

    fn cost_so_far(&self, price: Option<&Price>) -> Option<f64> {
        self.events.cost_so_far(price)
    }

    fn complaint(&mut self, line: &str) {
        self.events.complaint(line);
        self.complaint = Some(line.to_owned());
    }

    fn finish(self: Box<Self>, exit: Exit) -> AgentReport {
        let mut report = self.events.finish(exit);
        if let Exit::Code(code) = exit
            && OWN_CODES.contains(&code)
            && report.ending == Ending::Completed
        {
            report.ending = crashed(exit, self.complaint.as_deref());
        }
        report
    }
}

/// Output that is nothing but text.
#[derive(Debug)]
struct TextStream {
    text: BoundedText,
    complaint: Option<String>,
}

impl Default for TextStream {
    fn default() -> Self {
        Self {
            text: BoundedText::new(HEAD, TAIL),
            complaint: None,
        }
    }
}

impl TextStream {
    fn keep(&mut self, line: &[u8]) {
        self.text.push(line);
        self.text.push(b"\n");
    }
}

impl StreamParser for TextStream {
    fn line(&mut self, line: &[u8], _complete: bool) -> Option<Activity> {
        self.keep(line);
        let start = &line[..line.len().min(8 * SHOWN)];
        let shown = text::one_line(
            text::head(&String::from_utf8_lossy(start), 4 * SHOWN),
            SHOWN,
        );
        // Signals are for Ralph, not for the screen.
        (!shown.is_empty() && !shown.starts_with('<')).then_some(Activity::Said { text: shown })
    }

    fn tell(&mut self, line: &[u8], complete: bool) -> Vec<Told> {
        self.keep(line);
        let text = String::from_utf8_lossy(line).into_owned();
        vec![Told::Line { text, complete }]
    }

    fn complaint(&mut self, line: &str) {
        self.complaint = Some(line.to_owned());
    }

    fn finish(self: Box<Self>, exit: Exit) -> AgentReport {
        let result_text = self.text.into_text();
        let ending = match exit {
            Exit::Code(0) => Ending::Completed,
            _ => {
                let said = || error_line(&text::without_signals(&result_text));
                crashed(exit, self.complaint.or_else(said).as_deref())
            }
        };
        AgentReport {
            ending,
            result_text,
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

/// The error that the program printed, and how it ended.
fn crashed(exit: Exit, said: Option<&str>) -> Ending {
    let how = match exit {
        Exit::Code(code) => format!("the agent exited with code {code}"),
        Exit::Signal(signal) => format!("the agent was killed by signal {signal}"),
    };
    let message = match said {
        Some(said) => format!("{} ({how})", text::one_line(said, MESSAGE)),
        None => how,
    };
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
        CommandAgent::new(Setup {
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
            budget_usd: None,
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

    #[test]
    fn what_an_agent_with_events_printed_besides_is_told_and_named_as_the_agent_is() {
        for output in [
            OutputFormat::Claude,
            OutputFormat::Codex,
            OutputFormat::Gemini,
            OutputFormat::Opencode,
        ] {
            let agent = CommandAgent::new(Setup {
                output,
                ..agent().setup
            });
            let mut parser = agent.parser();
            let line = "Error: no such \u{1b}[31mmodule";
            let stray = vec![Told::Stray { text: line.into() }];
            assert_eq!(parser.tell(line.as_bytes(), true), stray, "{output:?}");
            assert_eq!(parser.tell(b"", true), []);
            assert_eq!(parser.tell(b"{\"type\":\"odd\"}", true), []);
            assert_eq!(parser.line(b"the end", true), None, "{output:?}");
            let Ending::Faulted { message, .. } = parser.finish(Exit::Code(1)).ending else {
                panic!("{output:?}");
            };
            assert!(message.starts_with("mine ended without "), "{message}");
            assert!(
                message.ends_with("(exit code 1): Error: no such module; the end"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_log_of_text_is_told_line_by_line_signals_and_all() {
        let mut parser = agent().parser();
        let told = |text: &str, complete| {
            vec![Told::Line {
                text: text.into(),
                complete,
            }]
        };
        assert_eq!(parser.tell(b"", true), told("", true));
        let long = "  x".repeat(1000);
        assert_eq!(parser.tell(long.as_bytes(), false), told(&long, false));
        let signal = "<task-done>t-1</task-done>";
        assert_eq!(parser.tell(signal.as_bytes(), true), told(signal, true));
        let report = parser.finish(Exit::Code(0));
        assert_eq!(report.result_text, format!("\n{long}\n{signal}\n"));
    }
}
