//! `ralph plan`: a plan from a goal, checked before anybody works on it; and the same checks for any plan.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use ralph_core::agent::{Activity, Interrupt};
use ralph_core::clock::SystemClock;
use ralph_core::engine::{PlanAnswer, Planner, RunSettings, SessionEnding, remedy};
use ralph_core::exit::RunExit;
use ralph_core::files::write_whole;
use ralph_core::gate::{self, Gate, GateResult};
use ralph_core::host::ThisHost;
use ralph_core::model::{GateOutcome, Outcome, RunId, Status};
use ralph_core::plan::import::{self, TASKS_MD};
use ralph_core::plan::review::{Finding, GateNow, Severity, check, plan_in};
use ralph_core::plan::{Draft, DraftTask, Format};
use ralph_core::store::Scope;
use ralph_core::text::{mask_secrets, one_line};
use serde_json::json;

use super::import::{Choice, import_plan};
use super::run::{self, Crew};
use crate::command_error::{CommandError, CommandResult};
use crate::settings::Settings;
use crate::ui::format::counted;
use crate::ui::progress::Progress;
use crate::workspace::{Workspace, random, start_dir};
use crate::{input, interrupts, output};

/// How often a plan goes back to the agent before Ralph gives up.
const ROUNDS: u32 = 3;
/// How long a gate may take to show that it fails now.
const GATE_TIME: Duration = Duration::from_secs(60);
/// Where a plan is kept that did not pass.
const REJECTED: &str = "rejected-plan.md";

/// Make a plan from a goal.
///
/// The agent's strongest model reads the repository and answers with a plan. Ralph checks it: an order in which it can be done, tasks small
/// enough for one session, files named, and a gate for each task that runs here and fails now. A plan that does not pass goes back to the
/// agent with the reasons, at most three rounds. Then you see it, edit it, ask for changes, and accept it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:\n  \
    ralph plan \"Add OAuth login\"           then accept, edit or change it\n  \
    ralph plan -f goal.md --yes -o specs/oauth/tasks.md\n  \
    ralph plan check                       check the current plan\n  \
    ralph plan check specs/oauth --fix     let the agent fix what the check finds")]
pub struct Args {
    #[command(subcommand)]
    command: Option<Below>,
    /// What to achieve; `-` reads it from standard input.
    #[arg(required_unless_present = "file")]
    goal: Option<String>,
    /// Read the goal from this file.
    #[arg(short, long, value_name = "FILE", conflicts_with = "goal")]
    file: Option<PathBuf>,
    /// Where to save the plan; by default specs/NAME/tasks.md.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Let the agent ask you a few questions about the goal first; ignored without a terminal.
    #[arg(long)]
    interview: bool,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Debug, clap::Args)]
struct AgentArgs {
    /// Accept the plan without asking.
    #[arg(short, long)]
    yes: bool,
    /// Agent to use.
    #[arg(long)]
    agent: Option<String>,
    /// Model to use; by default the strongest of the agent's list.
    #[arg(long)]
    model: Option<String>,
    /// Maximum cost of all rounds in dollars.
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Do not run the gates to see whether they fail now.
    #[arg(long)]
    no_gate: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Below {
    /// Check a plan: order, size, files, and gates that run here and fail now.
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// A plan file or spec directory; the current plan if omitted.
    path: Option<PathBuf>,
    /// Let the agent fix what the check finds, and save the file.
    #[arg(long, requires = "path")]
    fix: bool,
    #[command(flatten)]
    agent: AgentArgs,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    match &args.command {
        Some(Below::Check(args)) => check_plan(dir, args),
        None => {
            run::refuse_inside_an_attempt("ralph plan")?;
            plan(dir, args)
        }
    }
}

fn plan(dir: Option<&Path>, args: &Args) -> CommandResult {
    let goal = goal(dir, args)?;
    let mut workspace = Workspace::open_or_create(dir)?;
    let mut session = Session::new(&workspace, &args.agent, &goal)?;
    let attended = !args.agent.yes
        && !args.agent.json
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal();
    if args.interview && attended {
        session.interview(&mut workspace)?;
    }
    let path = match &args.output {
        Some(file) => start_dir(dir)?.join(file),
        None => free_path(workspace.project.root(), &goal),
    };
    // Before the agent costs anything.
    refuse_existing(&path)?;
    let first = session.first_request();
    let mut made = session.rounds(&mut workspace, &first)?;
    if !attended {
        return session.finish(&mut workspace, &made, &path, args.agent.yes, args.agent.json);
    }
    output::text(shown(&made, &estimate(&workspace, made.draft.tasks.len())?));
    loop {
        let question = "[a]ccept  [e]dit  [c]hange in words  [s]ave only  [q]uit? ";
        let request = match input::ask(question).map(|answer| answer.trim().to_lowercase()).as_deref() {
            Some("a" | "accept" | "y" | "yes") => {
                return session.finish(&mut workspace, &made, &path, true, false);
            }
            Some("s" | "save") => return session.finish(&mut workspace, &made, &path, false, false),
            Some("e" | "edit") => {
                let text = edited(&workspace, &made.text)?;
                let (edited, problems) = session.check(&workspace, text)?;
                if problems.is_empty() {
                    return session.finish(&mut workspace, &edited, &path, true, false);
                }
                let list = format!("- {}", problems.join("\n- "));
                output::note(format_args!("the check of the edited plan found:\n{list}"));
                let wish = "This plan was edited by hand. Change it only where the check demands it. The check found:";
                session.again(&edited.text, &format!("{wish}\n\n{list}"))
            }
            Some("c" | "change") => {
                match input::ask("What should be different? ").as_deref().map(str::trim) {
                    None | Some("") => continue,
                    Some(wish) => session.again(&made.text, &format!("Change the plan: {wish}")),
                }
            }
            Some("q" | "quit") | None => {
                output::note("nothing was saved");
                return Ok(ExitCode::from(RunExit::Aborted.code()));
            }
            Some(_) => continue,
        };
        made = session.rounds(&mut workspace, &request)?;
        output::text(shown(&made, &estimate(&workspace, made.draft.tasks.len())?));
    }
}

fn goal(dir: Option<&Path>, args: &Args) -> Result<String, CommandError> {
    let text = match (&args.file, &args.goal) {
        (Some(file), _) => String::from_utf8_lossy(&input::file(dir, file)?).into_owned(),
        (None, Some(goal)) => input::argument(goal.clone(), "the goal")?,
        (None, None) => String::new(),
    };
    match text.trim() {
        "" => Err(CommandError::usage("the goal is empty")
            .hint("say what to achieve: ralph plan \"Add OAuth login\"")),
        text => Ok(text.to_owned()),
    }
}

/// A plan as it was checked.
struct Made {
    text: String,
    draft: Draft,
    /// Warnings only, if the plan passed.
    findings: Vec<Finding>,
}

/// The rounds with one agent.
struct Session {
    goal: String,
    crew: Crew,
    model: String,
    run_settings: RunSettings,
    run_id: RunId,
    interrupt: Interrupt,
    run_gates: bool,
    budget_usd: Option<f64>,
    spent_usd: f64,
    estimated: bool,
    round: u32,
    quiet: bool,
}

impl Session {
    fn new(workspace: &Workspace, args: &AgentArgs, goal: &str) -> Result<Self, CommandError> {
        let mut settings = workspace.settings()?;
        let flags = run::Args::of_agent(args.agent.clone());
        run::apply_flags(&mut settings, &flags);
        let crew = Crew::of(&settings)?;
        let strongest = crew.agent().ladder().last().cloned();
        let (own_model, own_limit) = limits(&settings);
        let model = args.model.clone().or(own_model).or(strongest);
        let model = model.unwrap_or_else(|| crew.agent().name().to_owned());
        run::note_stranger(crew.agent(), &model);
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
            round: 0,
            quiet: args.json,
            crew,
            run_settings,
        })
    }

    fn first_request(&self) -> String {
        format!("## Goal\n\n{}\n", self.goal)
    }

    /// The goal, a plan that was made for it, and what is to become of that.
    fn again(&self, plan: &str, wish: &str) -> String {
        format!(
            "## Goal\n\n{}\n\n## Your plan so far\n\n{}\n\n## What to change\n\n{wish}\n\nAnswer with the whole plan.\n",
            self.goal,
            fenced(plan)
        )
    }

    /// Asks until a plan passes the check, at most [`ROUNDS`] times.
    fn rounds(&mut self, workspace: &mut Workspace, request: &str) -> Result<Made, CommandError> {
        let mut request = request.to_owned();
        let mut last = None;
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
                last = last.or(Some((None, vec![why.to_owned()])));
                continue;
            };
            let (made, problems) = self.check(workspace, text)?;
            if problems.is_empty() {
                self.judge(workspace, &answer, None)?;
                return Ok(made);
            }
            let list = format!("- {}", problems.join("\n- "));
            self.judge(workspace, &answer, Some(&one_line(&problems.join("; "), 500)))?;
            self.told_round(
                &format!("the check found {}:\n{list}", counted(problems.len() as u64, "problem")),
                left,
            );
            request = self.again(&made.text, &format!("The check of the plan found:\n\n{list}"));
            last = Some((Some(made.text), problems));
        }
        let (text, problems) = last.unwrap_or_default();
        let mut error = CommandError::environment(format_args!(
            "no usable plan after {ROUNDS} rounds: {}",
            one_line(&problems.join("; "), 300)
        ));
        if let Some(text) = text {
            let path = workspace.project.ralph_dir().join(REJECTED);
            if write_whole(&path, text.as_bytes()).is_ok() {
                error = error.hint(format_args!(
                    "the last plan is in .ralph/{REJECTED}: edit it and run `ralph plan check .ralph/{REJECTED}`"
                ));
            }
        }
        Err(error.hint("or describe the goal in more detail: ralph plan -f goal.md"))
    }

    fn told_round(&self, what: &str, left: u32) {
        let next = if left > 0 { "asking again" } else { "giving up" };
        output::note(format_args!("round {} of {ROUNDS}: {what}\n{next}", self.round.min(ROUNDS)));
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
        if let Some(cost) = answer.cost {
            self.spent_usd += cost.usd;
            self.estimated |= cost.estimated;
        }
        if let Some(undone) = &answer.undone {
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

    /// Reads and checks a plan, its gates included, and tells why it cannot be used.
    fn check(&self, workspace: &Workspace, text: String) -> Result<(Made, Vec<String>), CommandError> {
        let root = workspace.project.root();
        let draft = match import::read_plan(root, "the plan", Format::TasksMd, &text) {
            Ok(draft) => draft,
            Err(error) => {
                let problems = error.to_string().lines().map(str::to_owned).collect();
                return Ok((Made { text, draft: Draft::default(), findings: Vec::new() }, problems));
            }
        };
        let gates = match self.run_gates {
            true => run_gates(&draft.tasks, root, &self.run_settings, &self.interrupt)?,
            false => HashMap::new(),
        };
        let findings = check(&draft, &gates, Some(&self.goal));
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        let problems = errors.map(line_of).collect();
        Ok((Made { text, draft, findings }, problems))
    }

    /// Saves the plan, and imports it where it was accepted.
    fn finish(
        &self,
        workspace: &mut Workspace,
        made: &Made,
        path: &Path,
        accepted: bool,
        as_json: bool,
    ) -> CommandResult {
        // It may have appeared while the agent planned.
        refuse_existing(path)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| CommandError::cannot_write(folder, &error))?;
        }
        let text = format!("{}\n", made.text.trim_end());
        write_whole(path, text.as_bytes()).map_err(|error| CommandError::cannot_write(path, &error))?;
        let shown_path = path.strip_prefix(workspace.project.root()).unwrap_or(path).display().to_string();
        let added = match accepted {
            true => {
                import_plan(workspace, path, &Choice { format: Some(Format::TasksMd), ..Choice::default() })?
                    .1
                    .added
                    .len()
            }
            false => 0,
        };
        let tasks: Vec<_> = made.draft.tasks.iter().map(task_json).collect();
        let document = json!({
            "goal": self.goal, "rounds": self.round, "agent": self.crew.agent().name(), "model": self.model,
            "cost_usd": self.spent_usd, "cost_estimated": self.estimated, "path": shown_path, "accepted": accepted,
            "added": added, "tasks": tasks, "findings": made.findings,
        });
        let estimate = estimate(workspace, made.draft.tasks.len())?;
        output::print(as_json, &document, || {
            if !accepted {
                output::text(shown(made, &estimate));
            }
            let tilde = if self.estimated { "~" } else { "" };
            let count = counted(made.draft.tasks.len() as u64, "task");
            output::line(format_args!(
                "saved {count} in {shown_path} (planning cost {tilde}${:.2})",
                self.spent_usd
            ));
            match accepted {
                true => output::line("next: ralph run"),
                false => output::line(format_args!("next: ralph import {shown_path}")),
            }
        })
    }

    /// Lets the agent ask about the goal, and adds the answers to it.
    fn interview(&mut self, workspace: &mut Workspace) -> Result<(), CommandError> {
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
    tasks: &[DraftTask],
    root: &Path,
    settings: &RunSettings,
    interrupt: &Interrupt,
) -> Result<HashMap<String, GateNow>, CommandError> {
    let mut seen = HashMap::new();
    let gates: Vec<(&str, &DraftTask)> = tasks
        .iter()
        .filter(|task| !task.done && !task.skipped)
        .filter_map(|task| Some((task.verify.as_deref()?, task)))
        .collect();
    let mut progress = Progress::new(gates.len());
    for (at, (command, task)) in gates.iter().enumerate() {
        progress.at(at);
        if seen.contains_key(*command) {
            continue;
        }
        let gate = Gate {
            command,
            dir: root,
            env: Vec::new(),
            timeout: GATE_TIME.min(settings.gate.timeout),
            grace: settings.grace,
            rerun: 0,
            rerun_below: Duration::ZERO,
            // What the task is to write is missing now.
            task_texts: vec![task.title.clone(), task.description.clone(), task.files.join("\n")],
        };
        let ran = gate::run(&gate, None, interrupt, &mut |_| {}).map_err(CommandError::environment)?;
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

fn check_plan(dir: Option<&Path>, args: &CheckArgs) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let root = workspace.project.root().to_owned();
    let (shown, draft, file) = match &args.path {
        Some(path) => {
            let path = start_dir(dir)?.join(path);
            let found = import::open(&root, &path, None).map_err(CommandError::usage)?;
            let file = if path.is_dir() { path.join(TASKS_MD) } else { path };
            (found.path, found.draft, Some((file, found.format)))
        }
        None => ("the plan".to_owned(), draft_of(&workspace)?, None),
    };
    let mut session = Session::new(&workspace, &args.agent, "Fix the plan below")?;
    let gates = match session.run_gates {
        true => run_gates(&draft.tasks, &root, &session.run_settings, &session.interrupt)?,
        false => HashMap::new(),
    };
    let mut findings = check(&draft, &gates, None);
    let has_errors =
        |findings: &[Finding]| findings.iter().any(|finding| finding.severity == Severity::Error);
    let mut fixed = false;
    if args.fix && has_errors(&findings) {
        let Some((file, Format::TasksMd)) = &file else {
            return Err(CommandError::usage("--fix works on a tasks.md only")
                .hint("export the plan first: ralph export --format tasks.md"));
        };
        drop(workspace);
        let mut workspace = Workspace::open(dir)?;
        let text = input::file(None, file)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let list: Vec<String> = findings.iter().map(line_of).collect();
        let request =
            session.again(&text, &format!("The check of the plan found:\n\n- {}", list.join("\n- ")));
        let made = session.rounds(&mut workspace, &request)?;
        let text = format!("{}\n", made.text.trim_end());
        write_whole(file, text.as_bytes()).map_err(|error| CommandError::cannot_write(file, &error))?;
        findings = made.findings;
        fixed = true;
    }
    let ok = !has_errors(&findings);
    let document = json!({ "path": shown, "ok": ok, "fixed": fixed, "tasks": draft.tasks.len(), "findings": findings, "cost_usd": session.spent_usd });
    output::print(args.agent.json, &document, || {
        output::text(told(&findings));
        let count = counted(draft.tasks.len() as u64, "task");
        let result = match (ok, fixed) {
            (true, true) => "fixed",
            (true, false) => "ok",
            (false, _) => "not ready to run unattended",
        };
        output::line(format_args!("{shown}: {count}, {result}"));
    })?;
    Ok(ExitCode::from(u8::from(!ok)))
}

/// The open plan as a file would tell it.
fn draft_of(workspace: &Workspace) -> Result<Draft, CommandError> {
    let tasks = workspace.tasks(None)?;
    let names: HashMap<_, _> = tasks.iter().map(|task| (task.id.clone(), task.name().to_owned())).collect();
    let drafts = tasks.iter().map(|task| DraftTask {
        name: task.name().to_owned(),
        named_by_author: true,
        title: task.title.clone(),
        description: task.description.clone(),
        parent: task.parent_id.as_ref().and_then(|id| names.get(id).cloned()),
        verify: task.verify.clone(),
        files: task.files.clone(),
        done: matches!(task.status, Status::Done | Status::Skipped),
        ..DraftTask::default()
    });
    Ok(Draft { tasks: drafts.collect(), notes: Vec::new() })
}

/// Opens the plan in the person's editor.
fn edited(workspace: &Workspace, text: &str) -> Result<String, CommandError> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let path = workspace.project.ralph_dir().join("plan-being-edited.md");
    write_whole(&path, text.as_bytes()).map_err(|error| CommandError::cannot_write(&path, &error))?;
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&path).status();
    let read = input::file(None, &path);
    let _ = std::fs::remove_file(&path);
    match status {
        Ok(status) if status.success() => Ok(String::from_utf8_lossy(&read?).into_owned()),
        Ok(_) => Err(CommandError::environment(format_args!("{editor} failed"))),
        Err(error) => Err(CommandError::environment(format_args!("cannot start {editor}: {error}"))
            .hint("set EDITOR to your editor")),
    }
}

fn refuse_existing(path: &Path) -> Result<(), CommandError> {
    match path.exists() {
        false => Ok(()),
        true => Err(CommandError::usage(format_args!("{} exists already", path.display()))
            .hint("save the plan elsewhere with -o FILE")),
    }
}

/// A file below specs/ that does not exist yet, called after the goal.
fn free_path(root: &Path, goal: &str) -> PathBuf {
    let words = goal.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.take(5).map(str::to_lowercase).collect();
    let name = if words.is_empty() { "plan".to_owned() } else { words.join("-") };
    let paths = (1..).map(|number| match number {
        1 => root.join("specs").join(&name).join(TASKS_MD),
        _ => root.join("specs").join(format!("{name}-{number}")).join(TASKS_MD),
    });
    paths.into_iter().find(|path| !path.exists()).unwrap_or_else(|| root.join(TASKS_MD))
}

fn line_of(finding: &Finding) -> String {
    match &finding.task {
        Some(task) => format!("{task}: {}", finding.text),
        None if finding.line > 0 => format!("line {}: {}", finding.line, finding.text),
        None => finding.text.clone(),
    }
}

fn told(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        let mark = match finding.severity {
            Severity::Error => '✗',
            Severity::Warning => '!',
        };
        format!("{mark} {}\n", line_of(finding))
    });
    lines.collect()
}

/// The plan as a tree with its gates.
fn shown(made: &Made, estimate: &str) -> String {
    let mut text = String::new();
    let mut phase = None;
    for task in &made.draft.tasks {
        if task.phase != phase {
            phase.clone_from(&task.phase);
            if let Some(phase) = &phase {
                text.push_str(&format!("Phase {phase}\n"));
            }
        }
        let indent = if task.parent.is_some() { "    " } else { "  " };
        text.push_str(&format!("{indent}{} {}\n", task.name, one_line(&task.title, 100)));
        if let Some(gate) = &task.verify {
            text.push_str(&format!("{indent}    gate: {}\n", one_line(gate, 100)));
        }
        if !task.files.is_empty() {
            text.push_str(&format!("{indent}    files: {}\n", one_line(&task.files.join(", "), 100)));
        }
    }
    text.push_str(&told(&made.findings));
    text.push_str(&format!("{}, {estimate}\n", counted(made.draft.tasks.len() as u64, "task")));
    text
}

/// What working through so many tasks may take, by what the project's history says.
fn estimate(workspace: &Workspace, tasks: usize) -> Result<String, CommandError> {
    let totals = workspace.store.totals()?;
    let done = workspace.store.counts()?.done;
    if totals.attempts == 0 || done == 0 {
        return Ok("no estimate yet (no attempts so far)".to_owned());
    }
    let per_task = totals.attempts as f64 / done as f64;
    let attempts = (per_task * tasks as f64).ceil();
    let cost = totals.cost.known_usd() / totals.attempts as f64 * attempts;
    Ok(format!(
        "about {attempts} attempts and ${cost:.2} (as {} on {} so far)",
        counted(totals.attempts, "attempt"),
        counted(done, "done task")
    ))
}

fn task_json(task: &DraftTask) -> serde_json::Value {
    json!({
        "key": task.name, "title": task.title, "phase": task.phase, "depends_on": task.after, "verify": task.verify,
        "files": task.files,
    })
}

fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}markdown\n{}\n{fence}", text.trim_end())
}
