//! The project's own commands around runs and attempts.

use std::time::Instant;

use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
use crate::agent::{DelayedInterrupt, HOLDER, Interrupt, holder_mark};
use crate::event::{EventKind, RunEvent};
use crate::exit::RunExit;
use crate::hooks::{self, HookCall, HookPoint, HookProgress};
use crate::host::process_owner;

impl RunContext<'_> {
    /// Runs the hook before something; a failing one may end the run.
    pub(super) fn hook_before(&mut self, point: HookPoint, event: &RunEvent) -> Result {
        let told = self.interrupt.clone();
        let Err(why) = self.hook(point, event, &told, |_| {})? else { return Ok(()) };
        let interrupted = self.interrupt.first().is_some();
        if interrupted || !self.settings.hooks.veto {
            return self.tell(EventKind::HookFailed { hook: point, message: why });
        }
        // The end of the run says it.
        let reason = format!("the {point} hook vetoed the run: {why}");
        let hint = format!("fix [hooks] {point} in .ralph.toml, or set veto = false there");
        Err(StopRun::new(RunExit::Aborted, reason).with_hint(hint).into())
    }

    /// Runs the hook after something, also when Ralph was told to stop: then it has the grace period, and none when
    /// Ralph was told twice.
    pub(super) fn hook_after(&mut self, point: HookPoint, event: &RunEvent) -> Result {
        let mut delayed = DelayedInterrupt::new(self.interrupt.clone(), self.settings.grace);
        let told = delayed.interrupt().clone();
        match self.hook(point, event, &told, |now| delayed.update(now))? {
            Ok(()) => Ok(()),
            Err(why) => self.tell(EventKind::HookFailed { hook: point, message: why }),
        }
    }

    /// Runs a hook, if there is one. `while_running` is called while it runs.
    fn hook(
        &mut self,
        point: HookPoint,
        event: &RunEvent,
        interrupt: &Interrupt,
        mut while_running: impl FnMut(Instant),
    ) -> Result<Result<(), String>> {
        let settings = self.settings;
        let Some(command) = settings.hooks.at(point) else { return Ok(Ok(())) };
        let call = HookCall {
            point,
            command,
            event,
            dir: self.work_tree,
            env: vec![
                ("RALPH_RUN_ID".into(), self.id.as_str().into()),
                ("RALPH_PROJECT".into(), self.project.root().into()),
                (HOLDER.into(), holder_mark(&self.owner).into()),
            ],
            timeout: settings.hooks.timeout,
            grace: settings.grace,
        };
        let is_hurried = self.interrupt.at_once();
        // What a hook writes belongs to no attempt.
        self.files_may_have_changed();
        let mut process = None;
        let mut on_progress = |progress| match progress {
            // One that cannot be recorded runs all the same, but its commands of Ralph may then be taken for an agent's.
            HookProgress::Started(pid) => {
                process = process_owner(self.owner.host.clone(), pid)
                    .filter(|process| self.store.note_hook(process).is_ok());
            }
            HookProgress::Tick => {
                self.beat();
                while_running(Instant::now());
            }
        };
        let result = if is_hurried {
            Err("was not run: Ralph was interrupted twice".to_owned())
        } else {
            hooks::run(&call, interrupt, &mut on_progress)
        };
        if let Some(process) = process {
            self.store.forget_hook(&process)?;
        }
        Ok(result)
    }
}
