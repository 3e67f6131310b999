//! What the reader takes, and its problems.

/// The files of a `.planning` directory, read by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GsdFiles {
    /// Path and text of every `NN-MM-PLAN.md`, in any order.
    pub plans: Vec<(String, String)>,
    /// Path and text of `ROADMAP.md`.
    pub roadmap: Option<(String, String)>,
    /// Ids such as `01-02` of the plans that have a SUMMARY file.
    pub finished: Vec<String>,
}

/// Why files are no plan: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{path}, line {line}: {expected}")]
pub struct FileProblem {
    /// The file's path, as it was given.
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    /// What was found and what should stand there.
    pub expected: String,
}
