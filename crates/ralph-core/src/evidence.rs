//! What is known of an attempt, and what was made of it: the plain data that gate, capture and decide share.

use serde::{Deserialize, Serialize};

use crate::agent::{AgentReport, Stop};
use crate::gate::Tampered;
use crate::model::{ErrorType, FailureClass, GateRecord, GitRecord, Outcome, Review, ReviewVerdict};
use crate::sandbox::Denial;
use crate::signals::Signals;
use crate::store::ConflictKind;
use crate::text::few;

const NAMED: usize = 5;

/// An agent's session: how it was ended, what the agent reported, and what its final text signals.
#[derive(Clone, Debug)]
pub struct Session {
    pub stop: Stop,
    pub report: AgentReport,
    pub signals: Signals,
}

/// What is known of an attempt when its session is over: all that its verdict depends on.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub session: Session,
    /// The task's gate. None where there is no gate, it is switched off, or the attempt gave no reason to run it.
    pub gate: Option<GateResult>,
    /// The project's gate, which runs where the task's passed or there is none.
    pub project_gate: Option<GateResult>,
    /// Whether gates were meant to run, had there been one.
    pub gates_on: bool,
    /// Whether earlier attempts left work of the task in the tree, or may have.
    pub has_earlier_work: bool,
    pub git: GitRecord,
    /// Whether a gate that passes stands for a signal that was forgotten: the settings say so, and it did not pass before
    /// the attempt.
    pub accept_green: bool,
    /// What the sandbox refused.
    pub denied: Vec<Denial>,
    /// Whether an earlier attempt on the task failed because of that and was not counted.
    pub denied_before: bool,
    /// What else speaks for or against the work.
    pub integrity: Integrity,
    /// Why work that is done is not on its branch or not committed.
    pub commit_failure: Option<CommitFailure>,
    /// Why work that is done and committed is not on the branch of the run.
    pub landing_failure: Option<LandingFailure>,
}

/// Whether the judges of an attempt were left alone, and what a review said.
#[derive(Clone, Debug, Default)]
pub struct Integrity {
    /// Protected files that the attempt changed; the gate was judged without that.
    pub tampering: Option<Tampering>,
    /// What it changed, where git can tell.
    pub patch: Option<String>,
    /// Signs that tests check less than before.
    pub weakened: Vec<String>,
    pub review: Option<ReviewResult>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tampering {
    pub files: Vec<Tampered>,
    /// Where the attempt's versions are.
    pub aside: String,
}

impl Tampering {
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(ToString::to_string).collect()
    }

    /// With further files, each once.
    pub fn add(known: &mut Option<Self>, more: Self) {
        let known = known.get_or_insert(Self { files: Vec::new(), aside: more.aside });
        for file in more.files {
            if known.files.iter().all(|one| one.path != file.path) {
                known.files.push(file);
            }
        }
    }

    /// How a person allows it.
    pub fn permission(&self, task: &str) -> String {
        let plain = |path: &&str| path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        let paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).filter(plain).collect();
        let paths = match paths.as_slice() {
            [] | [_, _, _, _, ..] => "PATTERN".to_owned(),
            paths => paths.join(","),
        };
        format!(
            "{task}: only if the task is to change protected files, allow that: ralph task edit {task} --may-change {paths}"
        )
    }
}

/// What came of asking a reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewResult {
    Given(Review),
    /// Ralph was told to stop meanwhile.
    Interrupted,
    /// The reviewer failed for reasons of its own: a review without a verdict, with the reason as its finding.
    NotGiven(Review),
}

impl Integrity {
    pub fn review(&self) -> Option<&Review> {
        match &self.review {
            Some(ReviewResult::Given(review) | ReviewResult::NotGiven(review)) => Some(review),
            Some(ReviewResult::Interrupted) | None => None,
        }
    }

    pub fn rejection(&self) -> Option<&Review> {
        self.review().filter(|review| review.verdict == ReviewVerdict::Rejected)
    }

    /// What Ralph noticed, for people and reviewers.
    pub fn remarks(&self) -> Vec<String> {
        let names = self.tampering.iter().map(|tampering| few(&tampering.names(), NAMED));
        let put_back =
            names.map(|names| format!("the attempt changed protected files, which were put back: {names}"));
        put_back.chain(self.weakened.iter().cloned()).collect()
    }
}

impl Evidence {
    /// The gate that decides: the task's, unless the project's speaks against the attempt or is the only one. A gate
    /// that fails as it did before the task decides nothing.
    pub fn deciding_gate(&self) -> Option<&GateResult> {
        let decides = |result: &&GateResult| !matches!(result, GateResult::Ran(record) if record.excused);
        let project = self.project_gate.as_ref().filter(decides);
        let agrees = |result: &GateResult| matches!(result, GateResult::Ran(record) if record.passed());
        match &self.gate {
            Some(gate) => project.filter(|project| !agrees(project)).or(Some(gate)),
            None => project,
        }
    }

    pub fn gate_record(&self) -> Option<&GateRecord> {
        self.deciding_gate().and_then(GateResult::record)
    }

    pub fn gate_passed(&self) -> bool {
        self.gate_record().is_some_and(GateRecord::passed)
    }

    /// Every gate that ran, in that order.
    pub fn gates(&self) -> impl Iterator<Item = &GateRecord> {
        [&self.gate, &self.project_gate].into_iter().flatten().filter_map(GateResult::record)
    }

    /// Whether no file was changed for the task, as far as git can tell.
    pub fn changed_nothing(&self) -> bool {
        !self.has_earlier_work && self.git.files_changed.as_ref().is_some_and(Vec::is_empty)
    }

    /// The check that decided: a refused commit, else the gate.
    pub fn check(&self) -> Option<&GateRecord> {
        match &self.commit_failure {
            Some(CommitFailure::Refused { check, .. }) => Some(check),
            Some(_) => None,
            None => self.gate_record(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one per attempt")]
pub enum GateResult {
    Ran(GateRecord),
    /// Ralph was told to stop while it ran.
    Interrupted,
    /// Its shell could not be started, for this reason.
    NotStarted(String),
}

impl GateResult {
    pub fn record(&self) -> Option<&GateRecord> {
        match self {
            Self::Ran(record) => Some(record),
            Self::Interrupted | Self::NotStarted(_) => None,
        }
    }
}

/// Why the work of a done task is not where it belongs: on its branch, in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one per attempt")]
pub enum CommitFailure {
    Interrupted,
    /// Neither the agent nor a hook is to blame, and no further attempt would do better.
    GitFault {
        why: String,
        remedy: String,
    },
    /// Git or one of its hooks refused the commit, or the work is on another branch: the next attempt can fix that. The
    /// check says what git printed, in the form of a gate's record.
    Refused {
        check: GateRecord,
        /// What a person can do about a program that appeared during the run.
        fix: Option<String>,
    },
}

/// Good work does not go together with what others landed meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandingFailure {
    pub kind: ConflictKind,
    pub why: String,
    pub files: Vec<String>,
    /// The names of the tasks whose work it is.
    pub others: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    pub error_type: Option<ErrorType>,
    pub message: Option<String>,
    /// The agent asked for the whole run to stop.
    pub abort: bool,
}

impl Verdict {
    pub fn done() -> Self {
        Self { outcome: Outcome::Done, error_type: None, message: None, abort: false }
    }

    /// Whether it counts for or against the task: what is nobody's fault but the surroundings' does not. Of attempts whose
    /// process died only every few count, which [`crate::decide::settle`] decides.
    pub fn counts(&self) -> bool {
        let fault = |error: &ErrorType| error.class() == FailureClass::AgentFault;
        self.outcome != Outcome::Error || self.error_type.as_ref().is_none_or(fault)
    }

    pub fn is_failure(&self) -> bool {
        self.counts() && self.outcome != Outcome::Done
    }
}
