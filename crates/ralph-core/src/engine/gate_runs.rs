//! The gates of a run: the task's own command, asked before and after the agent.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use super::fix_tasks::SAID;
use super::protection::FileProtection;
use super::readiness::told_gate_fix;
use super::run_context::{RunContext, shown_command};
use super::run_end::{Result, millis};
use super::settings::TaskGate;
use super::state_md_sync::StateMd;
use super::work_tree::WorkTree;
use crate::agent::{HOLDER, holder_mark};
use crate::decide::{baseline_of, claims_done, compared, gave_no_signal};
use crate::diagnose::comparable;
use crate::event::{EventKind, TaskRef};
use crate::evidence::{Evidence, GateResult, Session, Tampering};
use crate::gate::{self, Gate, GateProgress};
use crate::model::{Baseline, BaselineRun, GateOf, GateOutcome, GateRecord, Task};
use crate::sandbox::{ErrorLines, Subject};
use crate::store::{Claimed, Store, StoreError};
use crate::text::{code_line, few};

/// How many files a gate's end names.
const NAMED_FILES: usize = 5;

#[derive(Default)]
pub(super) struct Gates {
    /// Programs that broke a gate in this run.
    missing_programs: BTreeSet<String>,
    accept_green_told: bool,
    /// How long those of the attempt under way took.
    pub took: Duration,
}

impl Gates {
    /// Runs the gates where the agent says the task is done or says nothing: the task's, and the project's where nothing
    /// speaks against the work so far.
    pub(super) fn run_after_agent(
        &mut self,
        run: &mut RunContext<'_>,
        state_md: &mut StateMd,
        claimed: &Claimed,
        session: &Session,
        before: &Before<'_>,
    ) -> Result<(Option<GateResult>, Option<GateResult>)> {
        if !claims_done(session) && !gave_no_signal(session) {
            return Ok((None, None));
        }
        let began = run.clock.steady();
        let settings = &run.settings.gate;
        let (main, always) = (settings.main(&claimed.task), settings.always(&claimed.task));
        let main = match main {
            Some(gate) => Some(self.judge(run, state_md, claimed, &gate, before)?),
            None => None,
        };
        let is_open = main.as_ref().is_none_or(|main| {
            let good = |outcome| matches!(outcome, GateOutcome::Passed | GateOutcome::FailedDifferently);
            main.record().is_some_and(|record| good(record.outcome))
        });
        let always = match always.filter(|_| is_open) {
            Some(gate) => Some(self.judge(run, state_md, claimed, &gate, before)?),
            None => None,
        };
        self.took = run.clock.steady().saturating_sub(began);
        Ok((main, always))
    }

    fn judge(
        &self,
        run: &mut RunContext<'_>,
        state_md: &mut StateMd,
        claimed: &Claimed,
        gate: &TaskGate,
        before: &Before<'_>,
    ) -> Result<GateResult> {
        let purpose = Purpose::Verdict(run.settings.gate.timeout, Some(before.protection));
        let record = match run.run_gate(claimed, gate, purpose, state_md)? {
            GateResult::Ran(record) => record,
            not_run => return Ok(not_run),
        };
        // A gate whose script changed while it ran says nothing in anybody's favor.
        let is_void = run.gate_tampering.is_some();
        let record = match gate.of {
            GateOf::Task | GateOf::Default if !is_void => failed_differently_if_fixed(run, claimed, record)?,
            GateOf::Task | GateOf::Default | GateOf::Always => record,
        };
        let record = compared(record, before.baselines.of(gate.of));
        Ok(GateResult::Ran(GateRecord { excused: record.excused && !is_void, ..record }))
    }

    /// What the gates of a task say before its work. They are run before its first attempt, and a gate that was changed before
    /// the next one; what they said then counts for all later ones. Where a green gate can stand for a signal, the task's is
    /// run before every attempt. None where Ralph was told to stop meanwhile.
    pub(super) fn before_attempt(
        &self,
        run: &mut RunContext<'_>,
        state_md: &mut StateMd,
        tree: &mut WorkTree,
        claimed: &Claimed,
    ) -> Result<Option<Baselines>> {
        let mut baselines = Baselines::default();
        let accept_green = run.settings.gate.accept_green;
        for gate in run.settings.gate.gates(&claimed.task) {
            let is_main = gate.of != GateOf::Always;
            let known = known_baseline(run.store, &claimed.task, &gate)?;
            if known.is_none() && (run.settings.gate.baseline || accept_green && is_main) {
                let Some(found) = self.baseline(run, state_md, tree, claimed, &gate)? else {
                    return Ok(None);
                };
                if is_main {
                    baselines.green_before_attempt = found.result.is_green();
                }
                baselines.known.push((gate.of, note_baseline(run, &claimed.task, &gate, found)?));
                continue;
            }
            baselines.known.extend(known.map(|known| (gate.of, known)));
            if accept_green && is_main {
                let limit = run.settings.gate.timeout;
                match run.run_gate(claimed, &gate, Purpose::Baseline(limit), state_md)? {
                    GateResult::Ran(record) => baselines.green_before_attempt = Some(record.passed()),
                    // One that cannot be started stops the run after the attempt.
                    GateResult::NotStarted(_) => {}
                    GateResult::Interrupted => return Ok(None),
                }
            }
        }
        Ok(Some(baselines))
    }

    /// What a gate says of the tree as it is, from the same commit where it is known.
    fn baseline(
        &self,
        run: &mut RunContext<'_>,
        state_md: &mut StateMd,
        tree: &mut WorkTree,
        claimed: &Claimed,
        gate: &TaskGate,
    ) -> Result<Option<BaselineRun>> {
        // What the task is called may decide what its gate looks at.
        let is_shared = !gate.command.contains("RALPH_");
        let at = if is_shared { tree.clean_commit(run)? } else { None };
        let reused = match &at {
            Some(at) => run.store.commit_baseline(at, &gate.command, run.clock.now())?,
            None => None,
        };
        if reused.is_some() {
            return Ok(reused);
        }
        let settings = &run.settings.gate;
        let is_asked = settings.accept_green && gate.of != GateOf::Always;
        let limit = if is_asked { settings.timeout } else { settings.baseline_timeout.min(settings.timeout) };
        let found = match run.run_gate(claimed, gate, Purpose::Baseline(limit), state_md)? {
            GateResult::Ran(record) => baseline_of(&record),
            GateResult::NotStarted(_) => BaselineRun::default(),
            GateResult::Interrupted => return Ok(None),
        };
        if let Some(at) = at.filter(|_| found.result != Baseline::Unknown) {
            run.store.set_commit_baseline(&at, &gate.command, &found, run.clock.now())?;
        }
        Ok(Some(found))
    }

    /// After done work was committed: what its gates said is what they say of that commit, so that the next task needs
    /// not run them for its baseline.
    pub(super) fn note_commit(
        &self,
        run: &mut RunContext<'_>,
        tree: &mut WorkTree,
        task: &Task,
        evidence: &Evidence,
    ) -> Result {
        let passed: Vec<&GateRecord> = evidence.gates().filter(|gate| gate.passed()).collect();
        if passed.is_empty() || evidence.git.commit_after.is_none() {
            return Ok(());
        }
        let Some(at) = tree.clean_commit(run)? else {
            return Ok(());
        };
        for gate in run.settings.gate.gates(task) {
            let Some(record) = passed.iter().find(|record| record.of == gate.of) else {
                continue;
            };
            if !gate.command.contains("RALPH_") {
                run.store.set_commit_baseline(&at, &gate.command, &baseline_of(record), run.clock.now())?;
            }
        }
        Ok(())
    }

    pub(super) fn note_broken(&mut self, run: &RunContext<'_>, claimed: &Claimed) {
        let command = gate_of(run, claimed).unwrap_or_default();
        let problem = gate::sure_to_break(&command, run.work_tree, &[]);
        self.missing_programs.extend(problem.and_then(|problem| problem.program));
    }

    /// Why no attempt is made on a task: it was added during the run without the gate that the settings require, or its gate
    /// needs a program that broke another gate of this run, is still missing, and is not what the task is about.
    pub(super) fn cannot_run(&self, run: &RunContext<'_>, claimed: &Claimed) -> Result<Option<String>> {
        let Some(command) = gate_of(run, claimed) else {
            let name = claimed.task.name();
            let reason = format!(
                "gates are required, but this task has none; add one (`ralph task edit {name} --verify CMD`), then \
                 `ralph run {name}`"
            );
            return Ok(Some(reason).filter(|_| run.settings.gate.require));
        };
        let texts = run.task_texts(&claimed.task)?;
        let problem = gate::sure_to_break(&command, run.work_tree, &texts);
        let is_known = |program: &String| self.missing_programs.contains(program);
        let problem = problem.filter(|problem| problem.program.as_ref().is_some_and(is_known));
        Ok(problem.map(|gate::Broken { why, fix, .. }| {
            let (command, fix) = (shown_command(&command), told_gate_fix(&claimed.task, &fix));
            format!("the gate `{command}` cannot run: {why}; {fix}")
        }))
    }

    /// Tells people once how a gate that passes can stand for a forgotten signal.
    pub(super) fn tell_of_accept_green(&mut self, run: &mut RunContext<'_>) -> Result {
        if self.accept_green_told || run.settings.gate.accept_green {
            return Ok(());
        }
        self.accept_green_told = true;
        run.warn(
            "an attempt passed its gate but ended without reporting a result; to count such attempts as done: ralph \
             config set run.accept_green true",
        )
    }
}

/// The task's gate, else the default; none when gates are off.
fn gate_of(run: &RunContext<'_>, claimed: &Claimed) -> Option<String> {
    run.settings.gate.main(&claimed.task).map(|gate| gate.command)
}

/// Records what a gate said before the work on a task. Where earlier attempts left work in the tree, one that passes says
/// nothing of the tree without it.
fn note_baseline(
    run: &mut RunContext<'_>,
    task: &Task,
    gate: &TaskGate,
    found: BaselineRun,
) -> Result<BaselineRun> {
    let says_nothing = found.result == Baseline::Green && run.store.has_earlier_work(&task.id)?;
    let found = if says_nothing { BaselineRun::default() } else { found };
    run.store.set_task_baseline(&task.id, &gate.command, &found)?;
    if found.result == Baseline::Green && gate.of != GateOf::Always {
        let command = shown_command(&gate.command);
        run.tell(EventKind::GateGreenBefore { task: TaskRef::from(task), command })?;
    }
    Ok(found)
}

/// What is known of a gate without the work on a task. A fix task works on what its original left: its gate is the one that
/// just failed, and the project's gate is compared with what it said before the original.
pub(super) fn known_baseline(
    store: &Store,
    task: &Task,
    gate: &TaskGate,
) -> Result<Option<BaselineRun>, StoreError> {
    if let Some(known) = store.task_baseline(&task.id, &gate.command)? {
        return Ok(Some(known));
    }
    let Some(link) = store.fix_link(&task.id)? else {
        return Ok(None);
    };
    Ok(match (gate.of, link.original) {
        (GateOf::Always, Some(original)) => store.task_baseline(&original, &gate.command)?,
        (GateOf::Always, None) => None,
        (GateOf::Task | GateOf::Default, _) => Some(BaselineRun::red()),
    })
}

/// What the gates of a task said before its work.
#[derive(Clone, Debug, Default)]
pub(super) struct Baselines {
    known: Vec<(GateOf, BaselineRun)>,
    /// Whether the task's gate passed just before this attempt, where it was run.
    pub green_before_attempt: Option<bool>,
}

impl Baselines {
    fn of(&self, gate: GateOf) -> Option<&BaselineRun> {
        self.known.iter().find(|(of, _)| *of == gate).map(|(_, found)| found)
    }
}

/// What is known from before the attempt that gates judge.
pub(super) struct Before<'b> {
    pub baselines: &'b Baselines,
    pub protection: &'b FileProtection,
}

/// What a gate is run for, and for how long it may run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose<'p> {
    /// To see what it says without the work.
    Baseline(Duration),
    /// With the files that must stay as they are meanwhile: the gate runs what the attempt wrote.
    Verdict(Duration, Option<&'p FileProtection>),
}

/// A fix task has done its work when its original's gate fails in another way than before.
fn failed_differently_if_fixed(
    run: &RunContext<'_>,
    claimed: &Claimed,
    record: GateRecord,
) -> Result<GateRecord> {
    if record.outcome != GateOutcome::Failed {
        return Ok(record);
    }
    let Some(link) = run.store.fix_link(&claimed.task.id)? else {
        return Ok(record);
    };
    let now = record.diagnosis.fingerprint.as_ref().map(|it| &it.coarse);
    let before = link.coarse.as_ref();
    // A fingerprint of an older version cannot show that the failure is another one.
    let unknown = before.zip(now).is_some_and(|(a, b)| !a.starts_with(SAID) && !comparable(a, b));
    let headline = record.headline().unwrap_or_default();
    let error = link.error.as_deref().map(str::trim).filter(|error| !error.is_empty());
    let said = error.is_some_and(|error| record.output_tail.contains(error) || headline.contains(error));
    if unknown || before == now || said {
        return Ok(record);
    }
    Ok(GateRecord { outcome: GateOutcome::FailedDifferently, ..record })
}

impl RunContext<'_> {
    /// The variables of what Ralph runs for a task beside agents.
    pub(super) fn child_variables(&self, claimed: &Claimed) -> Vec<(String, OsString)> {
        let key = claimed.task.key.as_ref().map_or("", |key| key.as_str());
        vec![
            ("RALPH_TASK_ID".into(), claimed.task.id.as_str().into()),
            ("RALPH_TASK_KEY".into(), key.into()),
            ("RALPH_RUN_ID".into(), self.id.as_str().into()),
            ("RALPH_PROJECT".into(), self.project.root().into()),
            (HOLDER.into(), holder_mark(&self.owner).into()),
        ]
    }

    /// All that may name what a task is to write. A fix task is to write what its original is.
    fn task_texts(&self, task: &Task) -> Result<Vec<String>> {
        let mut texts = gate::task_texts(task);
        let link = self.store.fix_link(&task.id)?;
        if let Some(original) = link.and_then(|link| link.original) {
            texts.extend(gate::task_texts(&self.store.task(original.as_str())?));
        }
        Ok(texts)
    }

    /// Runs a gate. `state_md` shows the task meanwhile.
    pub(super) fn run_gate(
        &mut self,
        claimed: &Claimed,
        gate: &TaskGate,
        purpose: Purpose<'_>,
        state_md: &mut StateMd,
    ) -> Result<GateResult> {
        let TaskGate { of, command } = gate;
        let (timeout, rerun, baseline, protection) = match purpose {
            Purpose::Baseline(timeout) => (timeout, 0, true, None),
            Purpose::Verdict(timeout, protection) => (timeout, self.settings.gate.rerun, false, protection),
        };
        let mut changed: Option<Tampering> = None;
        let confinement = self.confinement(Subject::Gate)?;
        let gate = Gate {
            command,
            dir: self.work_tree,
            env: self.child_variables(claimed),
            timeout,
            grace: self.settings.grace,
            rerun,
            rerun_below: self.settings.gate.rerun_below,
            task_texts: self.task_texts(&claimed.task)?,
            confinement: confinement.as_ref(),
        };
        let task = TaskRef::from(&claimed.task);
        let interrupt = self.interrupt.clone();
        let started = self.clock.now();
        // What a gate writes belongs to no attempt.
        self.files_may_have_changed();
        self.gate_ran = true;
        state_md.gate_begins(self);
        let mut guard = self.take_guard()?;
        let mut on_progress = |progress| match progress {
            GateProgress::Tick => {
                self.beat();
                state_md.show_attempt(self);
                !baseline && self.is_ended_for_note(claimed)
            }
            GateProgress::Started { run } => {
                if let Some(protection) = protection.filter(|_| run > 1) {
                    protection.restore(self, &claimed.task.id, &mut changed);
                }
                self.show(EventKind::GateStarted {
                    task: task.clone(),
                    command: shown_command(command),
                    run,
                });
                false
            }
        };
        let result = gate::run(&gate, guard.as_mut(), &interrupt, &mut on_progress);
        self.return_guard(guard)?;
        self.tell_undone(confinement.as_ref())?;
        let mut result = result.unwrap_or_else(|error| GateResult::NotStarted(error.to_string()));
        if let Some(protection) = protection {
            protection.restore(self, &claimed.task.id, &mut changed);
        }
        if let (GateResult::Ran(record), Some(confinement), false) = (&result, &confinement, baseline)
            && !record.passed()
        {
            let mut errors = ErrorLines::default();
            errors.push(record.output_tail.as_bytes());
            for denial in confinement.denials(&errors.finish()) {
                if !self.denials.contains(&denial) {
                    self.denials.push(denial);
                }
            }
        }
        if let GateResult::Ran(record) = &mut result {
            record.of = *of;
            if let Some(changed) = changed {
                let names: Vec<String> =
                    changed.files.iter().map(|file| code_line(&file.path, 200)).collect();
                record.outcome = GateOutcome::Failed;
                record.ended = format!("does not count: {} changed while it ran", few(&names, NAMED_FILES));
                record.flaky = false;
                record.flaky_tests.clear();
                Tampering::add(&mut self.gate_tampering, changed);
            }
            // Stored at once: should this process die before the attempt is recorded, the gate's word is known.
            self.tell(EventKind::GateFinished {
                task,
                outcome: record.outcome,
                of: *of,
                baseline,
                flaky: record.flaky,
                duration_ms: millis(self.clock.now().since(started)),
            })?;
        }
        Ok(result)
    }
}
