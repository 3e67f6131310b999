//! The project's own commands around runs and attempts.

use std::time::Instant;

use rustix::process::Pid;

use super::run::{EngineError, Run, StopRun};
use crate::agent::{Interrupt, Respite};
use crate::event::{EventKind, RunEvent};
use crate::exit::RunExit;
use crate::hooks::{self, HookCall, HookPoint, HookProgress, OnHookFailure};
use crate::host::process_owner;
use crate::store::Owner;

impl Run<'_, '_> {
    /// Runs the hook before something; a failing one may end the run.
    pub(super) fn hook_before(
        &mut self,
        point: HookPoint,
        event: &RunEvent,
    ) -> Result<Option<StopRun>, EngineError> {
        let told = self.engine.interrupt.clone();
        let Err(why) = self.hook(point, event, &told, |_| {})? else {
            return Ok(None);
        };
        let interrupted = self.engine.interrupt.first().is_some();
        if interrupted || self.engine.settings.hooks.on_failure == OnHookFailure::Report {
            return Ok(None);
        }
        let name = point.name();
        let mut stop = StopRun::new(
            RunExit::Aborted,
            format!("the {name} hook vetoed the run: {why}"),
        );
        stop.hint = Some(format!(
            "fix [hooks] {name} in .ralph.toml, or set veto = false there"
        ));
        Ok(Some(stop))
    }

    /// Runs the hook after something, also when Ralph was told to stop: then it has the grace period, and none when
    /// Ralph was told twice.
    pub(super) fn hook_after(
        &mut self,
        point: HookPoint,
        event: &RunEvent,
    ) -> Result<(), EngineError> {
        let told = self.engine.interrupt.clone();
        let mut respite = Respite::new(told, self.engine.settings.grace);
        let told = respite.interrupt().clone();
        self.hook(point, event, &told, |now| respite.look(now))?
            .ok();
        Ok(())
    }

    /// Records the process of a hook. One that could not be recorded runs all the same, but its commands of Ralph may then be
    /// taken for an agent's.
    fn note_hook(&mut self, pid: Pid) -> Option<Owner> {
        let process = process_owner(self.owner.host.clone(), pid)?;
        self.engine.store.note_hook(&process).ok()?;
        Some(process)
    }

    /// Runs a hook, if there is one, and reports its failure. `look` is called while it runs.
    fn hook(
        &mut self,
        point: HookPoint,
        event: &RunEvent,
        interrupt: &Interrupt,
        mut look: impl FnMut(Instant),
    ) -> Result<Result<(), String>, EngineError> {
        let settings = self.engine.settings;
        let Some(command) = settings.hooks.at(point) else {
            return Ok(Ok(()));
        };
        let call = HookCall {
            point,
            command,
            event,
            dir: self.engine.work_tree,
            env: vec![
                ("RALPH_RUN_ID".into(), self.id.as_str().into()),
                ("RALPH_PROJECT".into(), self.engine.project.root().into()),
            ],
            timeout: settings.hooks.timeout,
            grace: settings.grace,
        };
        let is_hurried = self.engine.interrupt.at_once();
        // What a hook writes belongs to no attempt.
        self.tree = None;
        let mut process = None;
        let mut look_on = |progress| match progress {
            HookProgress::Started(pid) => process = self.note_hook(pid),
            HookProgress::Tick => {
                self.beat();
                look(Instant::now());
            }
        };
        let result = match is_hurried {
            true => Err("was not run: Ralph was interrupted twice".to_owned()),
            false => hooks::run(&call, interrupt, &mut look_on),
        };
        if let Some(process) = process {
            self.engine.store.forget_hook(&process)?;
        }
        if let Err(why) = &result {
            let message = why.clone();
            self.tell(EventKind::HookFailed {
                hook: point,
                message,
            })?;
        }
        Ok(result)
    }
}
