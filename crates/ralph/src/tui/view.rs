//! What the screen asks of the reader, and what the reader tells the screen: plain data.

use std::collections::HashMap;

use ralph_core::model::{Cost, TaskEdit, TaskId, Timestamp};
use ralph_core::store::{NoteTime, PlanCounts, PlanRow};

use super::outline::Outline;
use crate::facts::{ActiveRun, BreakerFacts, CurrentWait, LearningFacts, TaskFacts};

/// The tabs of the details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    #[default]
    Live,
    Prompt,
    Report,
    Diff,
    Log,
}

impl Tab {
    pub fn is_read(self) -> bool {
        matches!(self, Self::Prompt | Self::Report | Self::Diff)
    }

    pub const ALL: [Self; 5] = [Self::Live, Self::Prompt, Self::Report, Self::Diff, Self::Log];

    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "Live",
            Self::Prompt => "Prompt",
            Self::Report => "Report",
            Self::Diff => "Diff",
            Self::Log => "Log",
        }
    }
}

/// Which attempt of a task is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// By its number in the database.
    Recorded(u32),
    UnderWay,
}

/// The text of a tab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextKey {
    pub task: Option<TaskId>,
    pub attempt: Option<Which>,
    pub tab: Tab,
    /// How the prompt was made, instead of the prompt.
    pub explain: bool,
}

/// What is in view; nothing else is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The tasks whose rows are in view.
    pub rows: Vec<TaskId>,
    pub task: Option<TaskId>,
    pub text: TextKey,
}

/// Something a person does, without the words that are typed until it is done. All but [`Action::Pause`] change the plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Note(TaskId, String, NoteTime),
    /// Or resume, where it is paused.
    Pause,
    GoAhead(TaskId),
    /// With a reason.
    Skip(TaskId, Option<String>),
    /// None: Ralph chooses.
    Model(TaskId, Option<String>),
    Edit(TaskId, Box<TaskEdit>),
    Add(String),
    Undo(i64),
}

/// What the screen asks of the reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Show(Box<Wanted>),
    Do(Action),
    /// What `z` would take back.
    LastAction,
    Find(String),
    /// The whole task, to be edited.
    Whole(TaskId),
}

/// What the reader tells the screen.
#[derive(Debug)]
pub enum Reply {
    Outline(Outline),
    Rows(HashMap<TaskId, PlanRow>),
    Head(Box<Head>),
    /// None where it was deleted.
    Task(Option<Box<TaskFacts>>),
    Memory(Memory),
    Text {
        key: TextKey,
        lines: Vec<String>,
        how: Append,
    },
    Found(Vec<TaskId>),
    LastAction(Option<(i64, String)>),
    Whole(Box<ralph_core::model::Task>),
    /// What was done.
    Receipt(String),
    /// Why something was not done, or cannot be read.
    Failed(String),
}

/// Where lines of a text go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// In place of what was there.
    Anew,
    After,
}

/// The learnings in view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Whether they are those of the attempt's prompt; else the ones shown most often.
    pub of_prompt: bool,
    pub learnings: Vec<LearningFacts>,
}

/// What stands above everything, and who works.
#[derive(Debug, Default)]
pub struct Head {
    pub project: String,
    pub run: Option<RunHead>,
    pub tasks: PlanCounts,
    /// The names of the first tasks that need a person.
    pub needs_you: Vec<String>,
    /// Every run at work, this one included.
    pub active: Vec<ActiveRun>,
    pub limits: Vec<String>,
    pub breaker: Option<BreakerFacts>,
    /// Which models the next attempt can be given.
    pub models: Vec<String>,
    pub spent_today: Cost,
}

#[derive(Debug)]
pub struct RunHead {
    pub id: String,
    pub started_at: Timestamp,
    /// When it ended or was last known to run; none while it is under way.
    pub ended_at: Option<Timestamp>,
    pub state: RunState,
    pub cost: Cost,
    /// What it may cost, and all runs of the day.
    pub budget: Option<f64>,
    pub day_budget: Option<f64>,
    pub waiting: Option<CurrentWait>,
    /// Whether it is not the one under way or the last one.
    pub is_older: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunState {
    Running,
    /// Asked to pause, but still at work.
    Pausing,
    Paused,
    /// Asked to stop after its attempt.
    Stopping,
    /// Its process is suspended, as by Ctrl-Z.
    Suspended,
    /// How, in a word.
    Ended(String),
    Crashed,
}

impl RunState {
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::Crashed)
    }

    pub fn word(&self) -> &str {
        match self {
            Self::Running => "running",
            Self::Pausing => "pausing",
            Self::Paused => "paused",
            Self::Stopping => "stopping",
            Self::Suspended => "suspended",
            Self::Ended(how) => how,
            Self::Crashed => "crashed",
        }
    }
}
