//! Why the memory part looks as it does: who got how much room and what did not fit.

use std::fmt;

use serde::Serialize;

/// The account of one rendering of the memory part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The characters the memory part was allowed.
    pub budget_chars: usize,
    /// The characters it took.
    pub used_chars: usize,
    /// The sections that had something to say, in the order of the prompt.
    pub sections: Vec<SectionUse>,
}

/// What became of one section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionUse {
    /// The section's title.
    pub title: &'static str,
    /// The characters it could have taken.
    pub given_chars: usize,
    /// The characters it took; 0 where it is left out.
    pub used_chars: usize,
    /// What it does not show, or not whole.
    pub left_out: Vec<LeftOut>,
}

/// One thing that is missing from a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The thing, as in `attempt 2` or `learning l-12ab34`.
    pub what: String,
    /// The reason.
    pub why: String,
}

impl LeftOut {
    pub(super) fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
        }
    }

    pub(super) fn no_room(what: impl Into<String>, needed: usize, left: usize) -> Self {
        Self::new(what, format!("needs {needed} characters, {left} left"))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Memory: {} of {} characters",
            self.used_chars, self.budget_chars
        )?;
        for section in &self.sections {
            let SectionUse {
                title,
                given_chars,
                used_chars,
                left_out,
            } = section;
            writeln!(f, "  {title}: {used_chars} of {given_chars} characters")?;
            for LeftOut { what, why } in left_out {
                writeln!(f, "    not shown: {what} ({why})")?;
            }
        }
        Ok(())
    }
}
