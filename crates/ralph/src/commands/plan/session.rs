//! The rounds with an agent that makes a plan: asked, checked, and asked again with what the check found.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use ralph_core::agent::{Activity, Interrupt};
use ralph_core::clock::SystemClock;
use ralph_core::engine::{PlanAnswer, Planner, RunSettings, SessionEnding, remedy};
use ralph_core::files::write_whole;
use ralph_core::gate::{self, Gate, GateResult};
use ralph_core::host::ThisHost;
use ralph_core::model::{GateOutcome, Outcome, RunId};
use ralph_core::plan::import;
use ralph_core::plan::review::{Finding, GateNow, PlanContext, Severity, check, plan_in};
use ralph_core::plan::{Draft, DraftTask, Format};
use ralph_core::store::Scope;
use ralph_core::text::{mask_secrets, one_line};

use super::AgentArgs;
use super::show::line_of;
use crate::command_error::CommandError;
use crate::commands::run::{self, Crew, GateBox};
use crate::settings::Settings;
use crate::ui::format::counted;
use crate::ui::progress::Progress;
use crate::workspace::{Workspace, random};
use crate::{input, interrupts, output};

/// How often a plan goes back to the agent before Ralph gives up.
const ROUNDS: u32 = 3;
/// Where a plan is kept that did not pass.
const REJECTED: &str = "rejected-plan.md";

/// A plan as it was checked.
pub(super) struct Made {
    pub(super) text: String,
    pub(super) draft: Draft,
    pub(super) findings: Vec<Finding>,
    /// Why it cannot be read as a plan.
    unreadable: Vec<String>,
}

impl Made {
    /// Why it cannot be used; empty if it passed the check.
    pub(super) fn problems(&self) -> Vec<String> {
        let errors = self.findings.iter().filter(|finding| finding.severity == Severity::Error);
        self.unreadable.iter().cloned().chain(errors.map(line_of)).collect()
    }

    pub(super) fn problem_list(&self) -> String {
        format!("- {}", self.problems().join("\n- "))
    }
}

pub(super) fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// The rounds with one agent.
pub(super) struct Session {
    pub(super) goal: String,
    pub(super) crew: Crew,
    pub(super) model: String,
    pub(super) run_settings: RunSettings,
    run_id: RunId,
    pub(super) interrupt: Interrupt,
    pub(super) run_gates: bool,
    budget_usd: Option<f64>,
    pub(super) spent_usd: f64,
    pub(super) estimated: bool,
    /// Whether a session did not tell what it cost.
    pub(super) cost_unknown: bool,
    pub(super) round: u32,
    quiet: bool,
}

impl Session {
    pub(super) fn new(workspace: &Workspace, args: &AgentArgs, goal: &str) -> Result<Self, CommandError> {
        let mut settings = workspace.settings()?;
        let flags = run::Args::of_agent(args.agent.clone());
        run::apply_flags(&mut settings, &flags);
        let crew = Crew::of(&settings)?;
        let strongest = crew.agent().ladder().last().cloned();
        let (own_model, own_limit) = limits(&settings);
        let model = args.model.clone().or(own_model).or(strongest);
        let model = model.unwrap_or_else(|| crew.agent().name().to_owned());
        run::unlisted_model(crew.agent(), &model).into_iter().for_each(output::note);
        let run_settings = run::run_settings(&settings, Scope::default(), &flags);
        let own = args.max_cost.or(own_limit);
        let day = run::rest_of_day(&workspace.store, &run_settings.budgets)?;
        let budget_usd = [own, day].into_iter().flatten().reduce(f64::min);
        if budget_usd.is_some() && !crew.agent().can_tell_cost(&model) {
            let name = crew.agent().name();
            output::note(format_args!(
                "warning: {name} reports no cost for {model}, so the cost limit cannot be enforced"
            ));
        }
        Ok(Self {
            goal: goal.to_owned(),
            model,
            run_id: RunId::from_random(random() as u32),
            interrupt: interrupts::listen()?,
            run_gates: !args.no_gate,
            budget_usd,
            spent_usd: 0.0,
            estimated: false,
            cost_unknown: false,
            round: 0,
            quiet: args.json,
            crew,
            run_settings,
        })
    }

    pub(super) fn first_request(&self) -> String {
        format!("## Goal\n\n{}\n", self.goal)
    }

    /// The goal, a plan that was made for it, and what is to become of that.
    pub(super) fn again(&self, plan: &str, wish: &str) -> String {
        format!(
            "## Goal\n\n{}\n\n## Your plan so far\n\n{}\n\n## What to change\n\n{wish}\n\nAnswer with the whole plan.\n",
            self.goal,
            fenced(plan)
        )
    }

    /// Asks until a plan passes the check, at most [`ROUNDS`] times.
    pub(super) fn rounds(&mut self, workspace: &mut Workspace, request: &str) -> Result<Made, CommandError> {
        let mut request = request.to_owned();
        let mut rejected = None;
        for left in (0..ROUNDS).rev() {
            self.round += 1;
            let answer = self.ask(workspace, &request, None)?;
            let Some(text) = plan_in(&answer.text).map(|text| mask_secrets(text).into_owned()) else {
                let why = "the answer contains no plan: no line such as `- [ ] 1.1 Title`";
                self.judge(workspace, &answer, Some(why))?;
                self.told_round(why, left);
                let said = one_line(&answer.text, 500);
                request = self.again(
                    &said,
                    &format!("{why}. Answer with the plan itself, in the form described above."),
                );
                continue;
            };
            let made = self.check(workspace, text)?;
            let problems = made.problems();
            if problems.is_empty() {
                self.judge(workspace, &answer, None)?;
                return Ok(made);
            }
            self.judge(workspace, &answer, Some(&one_line(&problems.join("; "), 500)))?;
            let (count, list) = (counted(problems.len() as u64, "problem"), made.problem_list());
            self.told_round(&format!("the check found {count}:\n{list}"), left);
            request = self.again(&made.text, &format!("The check of the plan found:\n\n{list}"));
            rejected = Some(made.text);
        }
        let mut error = CommandError::environment(format_args!("no usable plan after {ROUNDS} rounds"));
        if let Some(text) = rejected {
            let path = workspace.project.ralph_dir().join(REJECTED);
            if write_whole(&path, text.as_bytes()).is_ok() {
                error = error.hint(format_args!(
                    "the last plan is in .ralph/{REJECTED}: edit it and run `ralph plan check .ralph/{REJECTED}`"
                ));
            }
        }
        Err(error.hint("describe the goal in more detail: ralph plan -f goal.md"))
    }

    fn told_round(&self, what: &str, left: u32) {
        let next = if left > 0 { "asking again" } else { "giving up" };
        output::note(format_args!("round {} of {ROUNDS}: {what}\n{next}", ROUNDS - left));
    }

    fn judge(
        &self,
        workspace: &mut Workspace,
        answer: &PlanAnswer,
        fault: Option<&str>,
    ) -> Result<(), CommandError> {
        let outcome = if fault.is_none() { Outcome::Done } else { Outcome::Failed };
        Ok(workspace.store.judge_side_session(answer.session, outcome, fault)?)
    }

    /// One session with the agent.
    fn ask(
        &mut self,
        workspace: &mut Workspace,
        request: &str,
        rules: Option<&str>,
    ) -> Result<PlanAnswer, CommandError> {
        let rest = self.budget_usd.map(|budget| budget - self.spent_usd);
        if rest.is_some_and(|rest| rest <= 0.0) {
            return Err(CommandError::limit("the cost limit for planning is reached")
                .hint("allow more with --max-cost, or set [plan] max_cost_usd"));
        }
        let project = workspace.project.clone();
        let sandbox = run::sandbox(&self.run_settings.sandbox, project.root());
        run::refuse_unconfined(&sandbox, false)?;
        let mut planner = Planner {
            project: &project,
            store: &mut workspace.store,
            agent: self.crew.agent(),
            model: &self.model,
            settings: &self.run_settings,
            clock: &SystemClock,
            random: &mut random,
            host: &ThisHost::new(),
            interrupt: self.interrupt.clone(),
            sandbox: &sandbox,
            guard_command: run::guard_command(self.run_settings.grace),
            run_id: self.run_id.clone(),
            goal: &self.goal,
        };
        let own = planner.rules().map_err(CommandError::usage)?;
        let rules = rules.unwrap_or(&own);
        let name = self.crew.agent().name();
        if !self.quiet {
            output::note(format_args!("planning with {name} ({}), round {}", self.model, self.round.max(1)));
        }
        let mut last = String::new();
        let mut on_activity = |activity: &Activity| {
            if let Activity::Tool { name, target } = activity {
                let line = one_line(&format!("  {name} {target}"), 100);
                if line != last {
                    output::note(&line);
                    last = line;
                }
            }
        };
        let mut silent = |_: &Activity| {};
        let shown: &mut dyn FnMut(&Activity) = if self.quiet { &mut silent } else { &mut on_activity };
        let answer = planner.ask(rules, request, self.round, rest, shown)?;
        match answer.cost {
            Some(cost) => {
                self.spent_usd += cost.usd;
                self.estimated |= cost.estimated;
            }
            None => self.cost_unknown = true,
        }
        for undone in &answer.undone {
            output::note(format_args!("warning: {undone}"));
        }
        match &answer.ending {
            SessionEnding::Answered => Ok(answer),
            SessionEnding::Interrupted => Err(CommandError::interrupted()),
            SessionEnding::OverBudget => Err(CommandError::limit("the cost limit for planning is reached")
                .hint("allow more with --max-cost, or set [plan] max_cost_usd")),
            SessionEnding::TimedOut => {
                Err(CommandError::environment(format_args!("{name} timed out while planning"))
                    .hint("allow more time with [run] attempt_timeout and idle_timeout"))
            }
            SessionEnding::Faulted(error, why) => {
                Err(CommandError::environment(format_args!("{name} failed: {why}"))
                    .hint(remedy(self.crew.agent(), error, why).replace("`ralph run`", "`ralph plan`"))
                    .hint(format_args!("its output is in {}", answer.log_path)))
            }
        }
    }

    /// Reads and checks a plan, its gates included.
    pub(super) fn check(&self, workspace: &Workspace, text: String) -> Result<Made, CommandError> {
        let root = workspace.project.root();
        let draft = match import::read_plan(root, "the plan", Format::TasksMd, &text) {
            Ok(draft) => draft,
            Err(error) => {
                let unreadable = error.to_string().lines().map(str::to_owned).collect();
                return Ok(Made { text, draft: Draft::default(), findings: Vec::new(), unreadable });
            }
        };
        // A plan that is made now gives each task a gate of its own.
        let findings = self.findings(&draft, root, None, Some(&self.goal))?;
        Ok(Made { text, draft, findings, unreadable: Vec::new() })
    }

    /// What is wrong with a plan, after its gates ran where they are wanted.
    pub(super) fn findings(
        &self,
        draft: &Draft,
        root: &Path,
        default_gate: Option<&str>,
        goal: Option<&str>,
    ) -> Result<Vec<Finding>, CommandError> {
        let gates = match self.run_gates {
            true => run_gates(draft, root, default_gate, &self.run_settings, &self.interrupt)?,
            false => HashMap::new(),
        };
        Ok(check(draft, &PlanContext { gates, default_gate, goal, root }))
    }

    /// Lets the agent ask about the goal, and adds the answers to it.
    pub(super) fn interview(&mut self, workspace: &mut Workspace) -> Result<(), CommandError> {
        let rules = "## How to answer\n\nYou prepare a plan for the goal below. Read the repository. Answer with at most five questions whose answers \
            would change the plan, one per line, each beginning with `? `, and nothing else. If nothing is unclear, answer `none`. Change no files.\n";
        let answer = self.ask(workspace, &self.first_request(), Some(rules))?;
        self.judge(workspace, &answer, None)?;
        let questions = answer.text.lines().filter_map(|line| line.trim().strip_prefix("? "));
        let mut answers = String::new();
        for question in questions.take(5) {
            let question = one_line(question, 300);
            let Some(reply) = input::ask(&format!("{question}\n> ")) else {
                break;
            };
            answers.push_str(&format!("\n- {question} {}", reply.trim()));
        }
        if !answers.is_empty() {
            self.goal.push_str(&format!("\n\nAnswers to questions about it:\n{answers}"));
        }
        Ok(())
    }
}

/// The model and the cost limit that the settings give planning.
pub fn limits(settings: &Settings) -> (Option<String>, Option<f64>) {
    ((*settings.plan.model).clone(), *settings.plan.max_cost_usd)
}

/// Runs each gate once on the tree as it is.
fn run_gates(
    draft: &Draft,
    root: &Path,
    default_gate: Option<&str>,
    settings: &RunSettings,
    interrupt: &Interrupt,
) -> Result<HashMap<String, GateNow>, CommandError> {
    let mut seen = HashMap::new();
    let parents: HashSet<&str> = draft.tasks.iter().filter_map(|task| task.parent.as_deref()).collect();
    let gates: Vec<(&str, &DraftTask)> = draft
        .tasks
        .iter()
        .filter(|task| !task.done && !task.skipped && !parents.contains(task.name.as_str()))
        .filter_map(|task| Some((task.verify.as_deref().or(default_gate)?, task)))
        .collect();
    let gate_box = GateBox::of(&settings.sandbox, root)?;
    let mut progress = Progress::new(gates.len());
    for (at, (command, task)) in gates.iter().enumerate() {
        progress.at(at);
        if seen.contains_key(*command) {
            continue;
        }
        let gate = Gate {
            command,
            dir: root,
            env: vec![
                ("RALPH_TASK_KEY".into(), task.name.clone().into()),
                ("RALPH_PROJECT".into(), root.into()),
            ],
            timeout: settings.gate.baseline_timeout.min(settings.gate.timeout),
            grace: settings.grace,
            rerun: 0,
            rerun_below: Duration::ZERO,
            // What the task is to write is missing now.
            task_texts: vec![task.title.clone(), task.description.clone(), task.files.join("\n")],
            confinement: gate_box.confinement(),
        };
        let ran = gate::run(&gate, None, interrupt, &mut |_| false).map_err(CommandError::environment)?;
        let now = match ran {
            GateResult::Interrupted => return Err(CommandError::interrupted()),
            GateResult::NotStarted(why) => GateNow::Broken(why),
            GateResult::Ran(record) => match record.outcome {
                GateOutcome::Passed => GateNow::Passes,
                GateOutcome::TimedOut => GateNow::TimedOut,
                GateOutcome::Broken => GateNow::Broken(record.ended),
                _ => GateNow::Fails,
            },
        };
        seen.insert((*command).to_owned(), now);
    }
    Ok(seen)
}

fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}markdown\n{}\n{fence}", text.trim_end())
}
