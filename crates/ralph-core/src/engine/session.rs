//! One agent session: the process, its stream into the log and the parser, its signs of life.

use std::time::{Duration, Instant};

use super::run::{EngineError, Run};
use crate::agent::{
    self, Activity, AgentReport, AttemptLog, BoundedText, EndSignal, Ending, Exit, Fault, Launch,
    LineSplitter, Price, ProcessLimits, Stop, Stream, StreamParser, Watch,
};
use crate::diagnose::error_line;
use crate::event::EventKind;
use crate::model::Task;
use crate::signals::{self, Completion};
use crate::text::mask_secrets;

/// A killed run is known to have lived until its last beat; a lost attempt took that long.
const BETWEEN_BEATS: Duration = Duration::from_secs(2);
/// How much of the beginning and of the end of standard error is searched for the error of a crash.
const ERRORS_HEAD: usize = 16 * 1024;
const ERRORS_TAIL: usize = 64 * 1024;
/// Displays get no more than this many activities.
const BETWEEN_ACTIVITIES: Duration = Duration::from_millis(80);

/// A session that is over.
pub(super) struct Session {
    pub stop: Stop,
    pub report: AgentReport,
}

impl Run<'_, '_> {
    /// Starts the agent and reads it to its end. A program that cannot be started is a session too: a short one.
    pub(super) fn session(
        &mut self,
        task: &Task,
        model: &str,
        launch: &Launch,
        budget_usd: Option<f64>,
        log: AttemptLog,
    ) -> Result<Session, EngineError> {
        let settings = self.engine.settings;
        let limits = ProcessLimits {
            wall: settings.attempt_timeout,
            idle: settings.idle_timeout,
            grace: settings.grace,
        };
        let interrupt = self.engine.interrupt.clone();
        let agent = self.agent();
        let parser = agent.parser();
        let price = agent.price(Some(model), None);
        let mut guard = self.take_guard()?;
        let mut live = Live {
            run: self,
            task,
            log,
            lines: LineSplitter::new(agent::LINE_LIMIT),
            parser,
            errors: BoundedText::new(ERRORS_HEAD, ERRORS_TAIL),
            shown: None,
            concluded: false,
            budget_usd,
            price,
        };
        let ended = agent::run_below(guard.as_mut(), launch, &limits, &interrupt, &mut live);
        let Live {
            log,
            mut lines,
            mut parser,
            errors,
            ..
        } = live;
        self.put_back(guard)?;
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let report = parser.finish(Exit::Code(-1));
                let ending = Ending::Faulted {
                    fault: Fault::Spawn,
                    message: error.to_string(),
                    resets_at: None,
                };
                return Ok(Session {
                    stop: Stop::Exited,
                    report: AgentReport { ending, ..report },
                });
            }
        };
        lines.finish(|line, complete| {
            parser.line(line, complete);
        });
        if let Some(line) = error_line(&mask_secrets(&errors.into_text())) {
            parser.complaint(&line);
        }
        let report = parser.finish(ended.exit);
        if let Some(error) = log.error() {
            let path = log.path().display();
            self.tell(EventKind::Warning {
                message: format!("the log {path} is incomplete: {error}"),
            })?;
        }
        if ended.left_overs > 0 {
            let message = format!(
                "killed {} process{} the agent left running",
                ended.left_overs,
                if ended.left_overs == 1 { "" } else { "es" }
            );
            self.tell(EventKind::Warning { message })?;
        }
        Ok(Session {
            stop: ended.stop,
            report,
        })
    }

    /// Called while a process runs: says once that an end was asked for, and extends the lease from time to time. A
    /// missed beat is no reason to stop an agent.
    pub(super) fn beat(&mut self) {
        if let Some(signal) = self
            .engine
            .interrupt
            .first()
            .filter(|_| !self.interrupt_told)
        {
            self.interrupt_told = true;
            self.show(EventKind::Interrupted {
                signal: signal.name().to_owned(),
            });
        }
        let now = self.engine.clock.now();
        let lease = self.engine.settings.lease;
        let between = match self.at_work {
            true => BETWEEN_BEATS.min(lease / 4),
            false => lease / 4,
        };
        if now.since(self.last_heartbeat) < between {
            return;
        }
        self.last_heartbeat = now;
        let _ = self.engine.store.heartbeat(&self.id, now, now.plus(lease));
    }
}

/// What looks on while the agent works.
struct Live<'r, 'e, 'a, 't> {
    run: &'r mut Run<'e, 'a>,
    task: &'t Task,
    log: AttemptLog,
    lines: LineSplitter,
    parser: Box<dyn StreamParser>,
    /// Standard error, which explains a crash.
    errors: BoundedText,
    shown: Option<Instant>,
    /// The agent has given its result, with a completion signal in it.
    concluded: bool,
    /// What the session may cost.
    budget_usd: Option<f64>,
    /// What the model costs, where that is known.
    price: Option<Price>,
}

impl Watch for Live<'_, '_, '_, '_> {
    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        self.log.write(stream, chunk);
        if stream == Stream::Err {
            self.errors.push(chunk);
            return;
        }
        let mut latest: Option<Activity> = None;
        let parser = &mut self.parser;
        self.lines.push(chunk, |line, complete| {
            if let Some(activity) = parser.line(line, complete) {
                latest = Some(activity);
            }
        });
        self.concluded = parser.conclusion().is_some_and(|text| {
            let scope = self.run.signal_scope(self.task);
            signals::parse(text, &scope).completion != Completion::Absent
        });
        let due = self
            .shown
            .is_none_or(|at| at.elapsed() >= BETWEEN_ACTIVITIES);
        let said = matches!(latest, Some(Activity::Said { .. }));
        if let Some(activity) = latest.filter(|_| due || !said) {
            self.shown = Some(Instant::now());
            self.run.show(EventKind::Activity {
                task_id: self.task.id.clone(),
                activity,
            });
        }
    }

    fn tick(&mut self) {
        self.run.beat();
        self.run.show_attempt_in_state();
    }

    fn concluded(&self) -> bool {
        self.concluded
    }

    fn first_signal(&self) -> EndSignal {
        self.run.agent().first_signal()
    }

    fn is_over_budget(&self) -> bool {
        match (
            self.parser.cost_so_far(self.price.as_ref()),
            self.budget_usd,
        ) {
            (Some(cost), Some(budget)) => cost > budget && !self.concluded,
            _ => false,
        }
    }
}
