//! What an agent asks for, as it wrote it.

use std::fmt;

use serde::Serialize;

/// The ways a plan may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Kind {
    /// The task becomes the parent of smaller ones.
    SplitTask,
    /// Something must be done before the task.
    AddPrerequisite,
    /// Something is left to do after the task.
    AddFollowup,
}

impl Kind {
    /// All of them, in the order they are named to agents.
    pub const ALL: [Self; 3] = [Self::SplitTask, Self::AddPrerequisite, Self::AddFollowup];

    /// The name in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SplitTask => "SPLIT_TASK",
            Self::AddPrerequisite => "ADD_PREREQUISITE",
            Self::AddFollowup => "ADD_FOLLOWUP",
        }
    }

    /// Reads a name; case, blanks and the marks between words do not matter, nor does a left-out
    /// `ADD` or `TASK`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match fold(name).as_str() {
            "splittask" | "split" => Some(Self::SplitTask),
            "addprerequisite" | "addprerequisites" | "prerequisite" => Some(Self::AddPrerequisite),
            "addfollowup" | "addfollowups" | "followup" => Some(Self::AddFollowup),
            _ => None,
        }
    }

    /// Whether the original still has to be done once the change is made, whatever the agent said
    /// about it in the same answer.
    #[must_use]
    pub const fn leaves_original_open(self) -> bool {
        matches!(self, Self::SplitTask | Self::AddPrerequisite)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One request. Nothing is checked yet but its kind; texts may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// What is to be done to the plan.
    pub kind: Kind,
    /// The task it is about, by id or key, as written.
    pub original: String,
    /// Why.
    pub reasoning: String,
    /// The new tasks, in the order given.
    pub proposed: Vec<Proposed>,
}

/// A task the agent proposes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Proposed {
    /// The name it is to have, where one was given.
    pub key: Option<String>,
    /// One line.
    pub title: String,
    /// What to do; Markdown.
    pub description: String,
    /// Files it is about.
    pub files: Vec<String>,
    /// When it counts as done, in words.
    pub done_when: Option<String>,
    /// The command that proves it.
    pub verify: Option<String>,
    /// The commit message wished for.
    pub commit: Option<String>,
    /// Names of the tasks that must be done before; an empty list says that there are none, no list
    /// says nothing.
    pub depends: Option<Vec<String>>,
}

/// A name without case, blanks and the marks between its words.
pub(super) fn fold(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn mod_01_the_three_kinds_and_their_spellings() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
            let json = format!("\"{kind}\"");
            assert_eq!(serde_json::to_string(&kind).unwrap(), json);
        }
        assert_eq!(Kind::parse(" split-task "), Some(Kind::SplitTask));
        assert_eq!(Kind::parse("addFollowUp"), Some(Kind::AddFollowup));
        assert_eq!(Kind::parse("Prerequisite"), Some(Kind::AddPrerequisite));
        for other in ["", "SPEC_ADJUSTMENT", "SPLIT_TASK | ADD_FOLLOWUP", "splits"] {
            assert_eq!(Kind::parse(other), None, "{other}");
        }
    }
}
