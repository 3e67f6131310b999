//! Who gets how much room, and the memory part that comes of it.
//!
//! 1. The stuck warning and the newest failure's suggestion get their room.
//! 2. Every section with something to say gets its minimum, by priority: attempts, learnings, loop
//!    status, phase failures. Below the sum of the minimums the later ones go short, and a stuck
//!    task whose warning does not fit is told nothing of other tasks' failures.
//! 3. The hints after the warning get their room, then attempts and learnings their shares.
//! 4. What is left goes by priority. So does what a section was given and could not use, because
//!    learnings and most attempts are shown whole or not at all.

use super::attempts::{Attempts, PREVIOUS_ATTEMPTS};
use super::sections::{LEARNINGS, Learnings, PHASE_FAILURES, PhaseFailures, STATUS, Status};
use super::{Explanation, LeftOut, Limits, Memory, Section, SectionUse, chars};

/// What each section gets first, as shares of the budget in percent; the rest is for Loop Status, which leaves
/// what it does not need.
const ATTEMPTS_PERCENT: usize = 60;
const LEARNINGS_PERCENT: usize = 30;

/// What no other section may take while the section has something to say, in characters. Loop Status has no
/// entry because its minimum is its real size.
const ATTEMPTS_MINIMUM: usize = 500;
const LEARNINGS_MINIMUM: usize = 300;
const PHASE_MINIMUM: usize = 200;

fn percent(percent: usize, of: usize) -> usize {
    of / 100 * percent + of % 100 * percent / 100
}

/// The memory part of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedMemory {
    /// The text, empty or else beginning with the blank line that sets it off from the task's part
    /// and ending with one line end. All of it counts against the budget.
    pub text: String,
    /// The ids of the learnings shown, best first.
    pub shown_learnings: Vec<String>,
    /// Who got how much room, and what was left out.
    pub explanation: Explanation,
}

/// Renders what is remembered within the limits. The same input gives the same text.
pub fn render_memory(memory: &Memory, limits: &Limits) -> RenderedMemory {
    let parts = Parts {
        attempts: Attempts::new(&memory.attempts),
        learnings: Learnings::new(&memory.learnings, limits.max_learnings),
        status: Status::new(&memory.status),
        phase: PhaseFailures::new(&memory.phase_failures, memory.agents_md.as_deref()),
        limits,
    };
    let composed = parts.compose(true);
    if composed.has_other_than_status() {
        return composed.finish(&parts);
    }
    // A status that kept out everything else has nothing to stand beside.
    parts.compose(false).finish(&parts)
}

/// The sections, each able to fit itself to a room.
struct Parts<'a> {
    attempts: Option<Attempts>,
    learnings: Learnings,
    status: Status,
    phase: PhaseFailures,
    limits: &'a Limits,
}

/// The room set aside for each section before any of them is laid out.
struct Rooms<'a> {
    learnings: usize,
    status: Option<&'a str>,
    phase: usize,
}

/// What is still to be had.
struct Purse(usize);

impl Purse {
    fn take(&mut self, wanted: usize) -> usize {
        let taken = wanted.min(self.0);
        self.0 -= taken;
        taken
    }

    /// Raises a room towards a size.
    fn raise(&mut self, room: &mut usize, to: usize) {
        *room += self.take(to.saturating_sub(*room));
    }
}

impl Parts<'_> {
    /// Steps 1 to 4 of the module's rule. The attempts' room is what the others leave, and at
    /// least what they are given here.
    fn rooms(&self, with_status: bool) -> Rooms<'_> {
        let budget_chars = self.limits.budget_chars;
        let mut purse = Purse(budget_chars);
        let (kernel, reserve, demand) = self.attempts.as_ref().map_or((0, 0, 0), |attempts| {
            let reserve = attempts.reserve(budget_chars / 2);
            (attempts.kernel(), reserve, attempts.demand())
        });
        let wanted = self.learnings.demand();

        let mut status = None;
        if self.status.is_stuck() && with_status {
            // Beside the whole suggestion if possible, beside a piece of it if need be, but never
            // at the price of the newest attempt.
            let beside = |room: usize| budget_chars.saturating_sub(room);
            let without_hints = |room: usize| self.status.smallest_within(beside(room));
            status = without_hints(reserve).or_else(|| without_hints(kernel));
        }
        purse.take(status.map_or(0, chars));
        let mut attempts = purse.take(reserve);

        purse.raise(&mut attempts, demand.min(ATTEMPTS_MINIMUM));
        let minimum = LEARNINGS_MINIMUM.min(purse.0);
        let mut learnings = purse.take(self.learnings.render(minimum).0.size());
        if status.is_none() && with_status {
            status = self.status.smallest_within(purse.0);
            purse.take(status.map_or(0, chars));
        }
        let for_phase = match self.warning_is_missing(status) {
            true => 0,
            false => self.phase.demand(),
        };
        let mut phase = purse.take(for_phase.min(PHASE_MINIMUM));

        if let Some(bare) = status.map(chars) {
            status = self.status.within(bare + purse.0);
            purse.take(status.map_or(0, chars) - bare);
        }
        purse.raise(&mut attempts, demand.min(percent(ATTEMPTS_PERCENT, budget_chars)));
        purse.raise(&mut learnings, wanted.min(percent(LEARNINGS_PERCENT, budget_chars)));

        purse.raise(&mut attempts, demand);
        purse.raise(&mut learnings, wanted);
        purse.raise(&mut phase, for_phase);
        Rooms { learnings, status, phase }
    }

    /// Whether a stuck task's status found no room: then no less important section takes any.
    fn warning_is_missing(&self, status: Option<&str>) -> bool {
        self.status.is_stuck() && status.is_none()
    }

    /// Lays the sections out. Each is offered what the others do not really use, in order of
    /// priority, so that no room is lost to pieces that did not fit.
    fn compose(&self, with_status: bool) -> Composed {
        let budget = self.limits.budget_chars;
        let rooms = self.rooms(with_status);
        let learnings = self.learnings.render(rooms.learnings).0.size();
        let phase = self.phase.render(rooms.phase).size();
        let reserved = rooms.status.map_or(0, chars);

        let for_attempts = budget - learnings - phase - reserved;
        let attempts = self.attempts.as_ref().map(|a| a.render(for_attempts)).unwrap_or_default();
        let for_learnings = budget - attempts.size() - phase - reserved;
        let (learnings, shown) = self.learnings.render(for_learnings);
        let for_status = budget - attempts.size() - learnings.size() - phase;
        let status = self.status.within(for_status).filter(|_| with_status);
        let status = status.unwrap_or_default().to_owned();
        let shown_status = Some(status.as_str()).filter(|text| !text.is_empty());
        let for_phase = match self.warning_is_missing(shown_status) {
            true => 0,
            false => budget - attempts.size() - learnings.size() - chars(&status),
        };
        let phase = self.phase.render(for_phase);
        Composed {
            attempts: (attempts, for_attempts),
            learnings: (learnings, for_learnings),
            shown,
            status: (status, for_status),
            phase: (phase, for_phase),
        }
    }
}

/// The sections laid out, each with the room it was offered.
struct Composed {
    attempts: (Section, usize),
    learnings: (Section, usize),
    shown: Vec<String>,
    status: (String, usize),
    phase: (Section, usize),
}

impl Composed {
    fn has_other_than_status(&self) -> bool {
        [&self.attempts.0, &self.learnings.0, &self.phase.0].iter().any(|s| !s.text.is_empty())
    }

    fn finish(self, parts: &Parts<'_>) -> RenderedMemory {
        let beside_others = self.has_other_than_status();
        let status = Section {
            left_out: status_left_out(&parts.status, &self.status, beside_others),
            text: self.status.0,
        };
        let has_attempts = parts.attempts.is_some();
        let has_phase = parts.phase.demand() > 0;
        let has_learnings = !parts.learnings.is_empty();
        let sections = [
            (PREVIOUS_ATTEMPTS, self.attempts, has_attempts),
            (LEARNINGS, self.learnings, has_learnings),
            (STATUS, (status, self.status.1), has_attempts || has_phase || has_learnings),
            (PHASE_FAILURES, self.phase, has_phase),
        ];
        let mut text = String::new();
        let mut uses = Vec::new();
        for (title, (section, given_chars), has_something_to_say) in sections {
            text.push_str(&section.text);
            if has_something_to_say {
                let used_chars = section.size();
                uses.push(SectionUse { title, given_chars, used_chars, left_out: section.left_out });
            }
        }
        let explanation =
            Explanation { budget_chars: parts.limits.budget_chars, used_chars: chars(&text), sections: uses };
        RenderedMemory { text, shown_learnings: self.shown, explanation }
    }
}

fn status_left_out(status: &Status, given: &(String, usize), beside_others: bool) -> Vec<LeftOut> {
    let (shown, room) = given;
    if !beside_others {
        vec![LeftOut::new("the section", "no other section is shown")]
    } else if shown.is_empty() {
        vec![LeftOut::no_room("the section", status.smallest(), *room)]
    } else if status.lacks_hints(shown) {
        vec![LeftOut::new("the hints after the warning", "no room")]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bud_03_shares_are_exact_at_the_default_and_scale_with_the_budget() {
        let shares = |budget| {
            let learnings = percent(LEARNINGS_PERCENT, budget);
            (percent(ATTEMPTS_PERCENT, budget), learnings)
        };
        assert_eq!(shares(5000), (3000, 1500));
        assert_eq!(shares(2500), (1500, 750));
        assert_eq!(percent(50, usize::MAX), usize::MAX / 2);
    }
}
