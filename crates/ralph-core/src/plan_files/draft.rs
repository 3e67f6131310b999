//! A plan as a file tells it, before it becomes tasks.

/// What a reader made of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// In the file's order.
    pub tasks: Vec<DraftTask>,
    /// What a person should know although the import went on.
    pub notes: Vec<Note>,
}

/// One task as the file has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftTask {
    /// What the file calls it; unique in the file and the same at the next reading, however lines move.
    pub name: String,
    /// Whether the name is a key people use (`1.3`), or was made up by the reader (a checklist's item).
    pub named_by_author: bool,
    /// One line.
    pub title: String,
    /// What to do; Markdown.
    pub description: String,
    /// The number of its phase, as written.
    pub phase: Option<String>,
    /// Name of the task it is a part of.
    pub parent: Option<String>,
    /// Names of the tasks that must be done before it.
    pub after: Vec<String>,
    /// The command that proves it.
    pub verify: Option<String>,
    /// Files it is about.
    pub files: Vec<String>,
    /// When its author calls it done.
    pub done_when: Option<String>,
    /// The commit message its author wishes.
    pub commit: Option<String>,
    /// Markers such as `P`, `VERIFY`, `FIX 1.3`.
    pub markers: Vec<String>,
    /// Lower numbers first.
    pub priority: i64,
    /// The model it asks for.
    pub model: Option<String>,
    /// Whether the file calls it done.
    pub done: bool,
    /// Whether it calls it left out.
    pub skipped: bool,
    /// The task this one is to mend.
    pub fix_of: Option<String>,
    /// Where it begins, counted from 1.
    pub line: usize,
}

/// Something worth telling at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Counted from 1; 0 for the file as a whole.
    pub line: usize,
    /// One sentence.
    pub text: String,
}

/// Why a file is no plan: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {expected}")]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// What was found and what should stand there.
    pub expected: String,
}
