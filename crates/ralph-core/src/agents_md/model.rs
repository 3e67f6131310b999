//! What the module takes and gives.

/// A section of AGENTS.md that Ralph owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// Pitfalls and how to get past them.
    ErrorFixes,
    /// How this codebase does things.
    CodebasePatterns,
    /// Learnings given for a phase.
    PhaseSpecific,
    /// What failed in phases that are not over.
    FailureContext,
}

impl Section {
    /// All sections in the order in which they are added to a file.
    pub const ALL: [Self; 4] = [
        Self::ErrorFixes,
        Self::CodebasePatterns,
        Self::PhaseSpecific,
        Self::FailureContext,
    ];

    /// The whole heading line.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::ErrorFixes => "## Error Fixes",
            Self::CodebasePatterns => "## Codebase Patterns",
            Self::PhaseSpecific => "## Phase-Specific",
            Self::FailureContext => "## Failure Context",
        }
    }

    /// The heading's words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::ErrorFixes => "Error Fixes",
            Self::CodebasePatterns => "Codebase Patterns",
            Self::PhaseSpecific => "Phase-Specific",
            Self::FailureContext => "Failure Context",
        }
    }
}

/// Where a bullet stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The section.
    pub section: Section,
    /// The phase (`12`, `2.1`) whose subsection of `PhaseSpecific` it is; elsewhere it is ignored.
    pub phase: Option<String>,
}

/// A list item that is not a failure entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bullet {
    /// Where it stands.
    pub place: Place,
    /// What it says, without marker and indent; see [`super::bullet_text`].
    pub text: String,
}

/// One failure of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The task's key, or its id where it has none.
    pub name: String,
    /// When it failed: `YYYY-MM-DD HH:MM:SS`.
    pub at: String,
    /// How many equal failures the entry stands for.
    pub times: u32,
    /// The error.
    pub error: String,
    /// What was tried.
    pub attempted: String,
    /// The files it was about.
    pub files: Vec<String>,
    /// The fuller reason.
    pub context: String,
    /// The last good commit, where known.
    pub last_good: Option<String>,
}

/// The failures of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseEntries {
    /// The phase; without one they stand under `### No phase:`.
    pub phase: Option<String>,
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The owned sections that are there, in file order.
    pub sections: Vec<Section>,
    /// Their bullets in file order, without failure entries and empty ones.
    pub bullets: Vec<Bullet>,
    /// The distinct names of failure entries, in file order.
    pub entry_names: Vec<String>,
}

/// What a file is to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Bullets that must be there.
    pub bullets: Vec<Bullet>,
    /// Bullets that must go; one without a phase goes from every phase. A bullet that is also
    /// wanted at the same place stays.
    pub remove: Vec<Bullet>,
    /// All of Ralph's failure entries.
    pub failures: Vec<PhaseEntries>,
}
