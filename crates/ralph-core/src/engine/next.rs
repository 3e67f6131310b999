//! Decide: what a verdict means for the run.

use super::run::{EngineError, Run, StopRun};
use super::team::OutOfOrder;
use crate::decide::Out;
use crate::evidence::Verdict;
use crate::exit::RunExit;
use crate::model::{ErrorType, FailureClass, Outcome};

/// What a fault of the set-up is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Culprit {
    /// The agent's program, login or model.
    Agent,
    /// The task's gate.
    Gate,
    /// Git or what it needs; what to do about it.
    Git(String),
}

/// What follows from an attempt.
pub(super) enum Step {
    /// On with the loop.
    Continue,
    /// The run is over.
    Stop(StopRun),
}

impl Run<'_, '_> {
    /// Decide: what the verdict means for the run.
    pub(super) fn next_step(
        &mut self,
        verdict: &Verdict,
        culprit: Culprit,
        resets_at: Option<i64>,
    ) -> Result<Step, EngineError> {
        let message = verdict.message.clone().unwrap_or_default();
        let class = match (verdict.outcome, &verdict.error_type) {
            (Outcome::Error, Some(error)) => error.class(),
            _ => FailureClass::AgentFault,
        };
        match class {
            FailureClass::RateLimit => return self.after_limit(resets_at),
            FailureClass::Service => return self.after_service_fault(&message),
            FailureClass::Setup => {
                let fix = match culprit {
                    Culprit::Agent => None,
                    Culprit::Gate => Some("shorten or fix the task's verify command".to_owned()),
                    Culprit::Git(remedy) => Some(format!("{remedy}; then `ralph run` again")),
                };
                if let Some(fix) = fix {
                    let mut stop = StopRun::new(RunExit::Error, message);
                    stop.hint = Some(fix);
                    return Ok(Step::Stop(stop));
                }
                let error = verdict.error_type.as_ref();
                let hint = error.map(|error| self.remedy(error, &message));
                return self.out_of_order(OutOfOrder {
                    how: Out::ForGood,
                    why: message,
                    hint,
                });
            }
            // The loop sees the signal itself.
            FailureClass::Interruption
            | FailureClass::Lost
            | FailureClass::AgentFault
            | FailureClass::Gate => {}
        }
        let member = self.team.current_mut();
        member.service_faults = 0;
        member.limits_met = 0;
        member.unavailable_since = None;
        if verdict.abort {
            let reason = "the agent aborted the run (<promise>FAILURE</promise>)";
            return Ok(Step::Stop(StopRun::new(RunExit::Aborted, reason)));
        }
        Ok(Step::Continue)
    }

    /// What fixes a fault of the set-up. The class comes from the program itself; its message chooses among the remedies of
    /// one class.
    fn remedy(&self, error: &ErrorType, message: &str) -> String {
        let agent = self.agent().name();
        let facts = self.agent().facts();
        let message = message.to_lowercase();
        let skips = self.agent().setup().skip_permissions;
        let speaks_of = |words: &[&str]| words.iter().any(|word| message.contains(word));
        match error {
            ErrorType::Auth if speaks_of(&["credit", "billing", "balance", "payment"]) => {
                format!(
                    "check {agent}'s billing or use another agent (--agent), then `ralph run` again"
                )
            }
            ErrorType::Auth => match facts {
                Some(facts) => {
                    format!("log in to {agent}: {}; then `ralph run` again", facts.login)
                }
                None => format!("log in to {agent} or set its API key, then `ralph run` again"),
            },
            // The message names the limit and how to raise it.
            ErrorType::Spawn if speaks_of(&["limit is reached", "out of memory"]) => {
                "fix that, then `ralph run` again".into()
            }
            ErrorType::Spawn => {
                let install = match facts {
                    Some(facts) => format!("`{}`", facts.install),
                    None => format!("install the program for agent `{agent}`"),
                };
                format!("{install}, or set another program under [agents.{agent}] in .ralph.toml")
            }
            ErrorType::Permission if facts.is_some() && !skips => format!(
                "allow those tools in {agent}'s own settings, or set skip_permissions = true under \
                 [agents.{agent}] in .ralph.toml"
            ),
            ErrorType::Permission => {
                format!("allow those tools in {agent}'s own settings; Ralph itself blocks no tools")
            }
            ErrorType::Config if speaks_of(&["model"]) => format!(
                "check the model's name: --model, the task's model, [run] model, or models under \
                 [agents.{agent}] in .ralph.toml"
            ),
            ErrorType::Config => format!(
                "fix what {agent} reports: check its own settings, or args and env under [agents.{agent}] \
                 in .ralph.toml; `ralph logs` shows its full output"
            ),
            _ => "run `ralph history` to see what happened".into(),
        }
    }
}
