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
use super::sections::{LEARNINGS, List, PHASE_FAILURES, STATUS, Status};
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedMemory {
    /// The text, empty or else beginning with the blank line that sets it off from the task's part
    /// and ending with one line end. All of it counts against the budget.
    pub text: String,
    pub shown_learnings: Vec<String>,
    pub explanation: Explanation,
}

/// Renders what is remembered within the limits. The same input gives the same text.
pub fn render_memory(memory: &Memory, limits: &Limits) -> RenderedMemory {
    let parts = Parts {
        attempts: Attempts::new(&memory.attempts),
        learnings: List::of_learnings(&memory.learnings, limits.max_learnings),
        status: Status::new(&memory.status),
        phase: List::of_failures(&memory.phase_failures, memory.agents_md.as_deref()),
        budget: limits.budget_chars,
    };
    let composed = parts.compose(true);
    if composed.has_other_than_status() {
        return parts.finish(composed);
    }
    // A status that kept out everything else has nothing to stand beside.
    parts.finish(parts.compose(false))
}

/// The sections, each able to fit itself to a room.
struct Parts {
    attempts: Option<Attempts>,
    learnings: List,
    status: Status,
    phase: List,
    budget: usize,
}

/// The room set aside for each section before any of them is laid out.
struct Rooms<'a> {
    learnings: usize,
    status: Option<&'a str>,
    phase: usize,
}

/// The characters that no section has been given yet.
struct Unspent(usize);

impl Unspent {
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

impl Parts {
    /// Steps 1 to 4 of the module's rule. The attempts' room is what the others leave, and at
    /// least what they are given here.
    fn rooms(&self, with_status: bool) -> Rooms<'_> {
        let mut unspent = Unspent(self.budget);
        let (kernel, reserve, demand) = self.attempts.as_ref().map_or((0, 0, 0), |attempts| {
            (attempts.kernel(), attempts.reserve(self.budget / 2), attempts.demand())
        });
        let wanted = self.learnings.demand();

        let mut status = None;
        if self.status.is_stuck && with_status {
            // Beside the whole suggestion if possible, beside a piece of it if need be, but never
            // at the price of the newest attempt.
            let beside = |room: usize| self.status.bare_within(self.budget.saturating_sub(room));
            status = beside(reserve).or_else(|| beside(kernel));
        }
        unspent.take(status.map_or(0, chars));
        let mut attempts = unspent.take(reserve);

        unspent.raise(&mut attempts, demand.min(ATTEMPTS_MINIMUM));
        let minimum = LEARNINGS_MINIMUM.min(unspent.0);
        let mut learnings = unspent.take(self.learnings.render(minimum).size());
        if status.is_none() && with_status {
            status = self.status.bare_within(unspent.0);
            unspent.take(status.map_or(0, chars));
        }
        let for_phase = if self.lacks_warning(status) { 0 } else { self.phase.demand() };
        let mut phase = unspent.take(for_phase.min(PHASE_MINIMUM));

        if let Some(bare) = status.map(chars) {
            status = self.status.within(bare + unspent.0);
            unspent.take(status.map_or(0, chars) - bare);
        }
        unspent.raise(&mut attempts, demand.min(percent(ATTEMPTS_PERCENT, self.budget)));
        unspent.raise(&mut learnings, wanted.min(percent(LEARNINGS_PERCENT, self.budget)));

        unspent.raise(&mut attempts, demand);
        unspent.raise(&mut learnings, wanted);
        unspent.raise(&mut phase, for_phase);
        Rooms { learnings, status, phase }
    }

    /// Whether a stuck task's status found no room: then no less important section takes any.
    fn lacks_warning(&self, status: Option<&str>) -> bool {
        self.status.is_stuck && status.is_none()
    }

    /// Lays the sections out. Each is offered what the others do not really use, in order of
    /// priority, so that no room is lost to pieces that did not fit.
    fn compose(&self, with_status: bool) -> Composed {
        let rooms = self.rooms(with_status);
        let learnings = self.learnings.render(rooms.learnings).size();
        let phase = self.phase.render(rooms.phase).size();
        let reserved = rooms.status.map_or(0, chars);

        let for_attempts = self.budget - learnings - phase - reserved;
        let attempts = self.attempts.as_ref().map(|a| a.render(for_attempts)).unwrap_or_default();
        let for_learnings = self.budget - attempts.size() - phase - reserved;
        let learnings = self.learnings.render(for_learnings);
        let for_status = self.budget - attempts.size() - learnings.size() - phase;
        let status = self.status.within(for_status).filter(|_| with_status);
        let for_phase = match self.lacks_warning(status) {
            true => 0,
            false => self.budget - attempts.size() - learnings.size() - status.map_or(0, chars),
        };
        Composed {
            attempts: Section { given: for_attempts, ..attempts },
            learnings: Section { given: for_learnings, ..learnings },
            status: Section {
                text: status.unwrap_or_default().to_owned(),
                given: for_status,
                ..Section::default()
            },
            phase: Section { given: for_phase, ..self.phase.render(for_phase) },
        }
    }

    fn finish(&self, mut composed: Composed) -> RenderedMemory {
        let status = &mut composed.status;
        status.left_out.extend(self.status.left_out(&status.text, status.given));
        if !composed.has_other_than_status() {
            composed.status.left_out = vec![LeftOut::new("the section", "no other section is shown")];
        }
        let has_attempts = self.attempts.is_some();
        let (has_learnings, has_phase) = (!self.learnings.is_empty(), !self.phase.is_empty());
        let shown_learnings = std::mem::take(&mut composed.learnings.shown);
        let mut text = String::new();
        let mut sections = Vec::new();
        for (title, section, has_something_to_say) in [
            (PREVIOUS_ATTEMPTS, composed.attempts, has_attempts),
            (LEARNINGS, composed.learnings, has_learnings),
            (STATUS, composed.status, has_attempts || has_phase || has_learnings),
            (PHASE_FAILURES, composed.phase, has_phase),
        ] {
            text.push_str(&section.text);
            if has_something_to_say {
                let (given_chars, used_chars) = (section.given, section.size());
                sections.push(SectionUse { title, given_chars, used_chars, left_out: section.left_out });
            }
        }
        let explanation = Explanation { budget_chars: self.budget, used_chars: chars(&text), sections };
        RenderedMemory { text, shown_learnings, explanation }
    }
}

struct Composed {
    attempts: Section,
    learnings: Section,
    status: Section,
    phase: Section,
}

impl Composed {
    fn has_other_than_status(&self) -> bool {
        [&self.attempts, &self.learnings, &self.phase].iter().any(|section| !section.text.is_empty())
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
