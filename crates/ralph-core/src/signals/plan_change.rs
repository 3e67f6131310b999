//! Checking requests against the plan: which tasks each one adds, or why it is refused. Pure: nothing is
//! changed here.

use std::collections::{HashMap, HashSet};

use super::plan_request::quoted;
use super::{ChangeKind, PlanRequest, ProposedTask, UnreadableRequest};
use crate::gate::every_line_counts;
use crate::model::{Key, NewTask, Task};
use crate::plan::graph::cycles;
use crate::store::{Needed, NewTasks, PlanChange, Side};
use crate::text::neutral::inert_prose;
use crate::text::{clean, cut_words, mask_secrets, one_line};

const CHANGES_PER_TASK: u32 = 3;
/// Depth of the tasks made, where the author's own have 0.
const DEPTH: u32 = 2;
const PROPOSED_TASKS: usize = 10;
/// A title; longer ones are cut. All lengths are in characters.
const TITLE_CHARS: usize = 200;
/// A description, a reasoning or another text in words; longer ones are cut.
const TEXT_CHARS: usize = 10_000;
/// A verify command; longer ones are refused, since half a command is another command.
const VERIFY_CHARS: usize = 2_000;
const FILES: usize = 50;
const PATH_CHARS: usize = 500;
const DEPENDENCIES: usize = 50;
/// Numbers tried for a made key: more than any task has parts.
const KEY_NUMBERS: u32 = 10_000;
/// Names of a cycle that are shown: enough to see where to cut it.
const CYCLE_SHOWN: usize = 8;

/// The task whose attempt asks, and its place in the plan.
#[derive(Clone, Copy)]
pub struct RequestingTask<'a> {
    pub task: &'a Task,
    pub is_done: bool,
    pub is_fix: bool,
    /// Changes that this task asked for and that were accepted before.
    pub changes: u32,
    /// How many changes lie between its author and it: 0 for a task of the author, 1 for one made by a
    /// change, and so on. A fix task is as deep as the task it fixes, else depth could be had for nothing.
    pub depth: u32,
    pub has_open_children: bool,
    /// The task of the plan that has this id or key.
    pub plan: &'a dyn Fn(&str) -> Option<PlanTask>,
    /// Whether a verify command can be run here as far as one can tell; prose cannot.
    pub can_run: &'a dyn Fn(&str) -> bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanTask {
    /// The one name it goes by here, whichever of its names was asked for.
    pub name: String,
    /// Names of all it waits for: dependencies, children, and the fixes that block it.
    pub waits_for: Vec<String>,
    /// Whether it is of another spec, whose keys are its own.
    pub of_other_spec: bool,
}

/// Why a request is refused as a whole, in one sentence that says what to do instead. Names in it are
/// harmless wherever it is shown. Positions count the proposed tasks from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the task is done: request ADD_FOLLOWUP instead")]
    Done,
    #[error("a fix task cannot be split: fix its one failure, or report the task as failed")]
    SplitFix,
    #[error("another request in the same answer splits the task: make the prerequisite the first part")]
    AlsoSplit,
    #[error("another request in the same answer adds a prerequisite: request the split in the next attempt")]
    AlsoPrerequisite,
    #[error("the request has no originalTaskId: use `{attempted}`")]
    NoOriginal { attempted: String },
    #[error("originalTaskId is `{named}`, but an attempt can only change its own task: use `{attempted}`")]
    OtherTask { named: String, attempted: String },
    #[error(
        "this task was already changed {CHANGES_PER_TASK} times, which is the limit: do the task as it is, \
         or report why it fails"
    )]
    TooManyChanges,
    #[error(
        "this task comes from earlier plan changes, and the limit is {DEPTH} levels: do the task as it is, \
         or report why it fails"
    )]
    TooDeep,
    #[error("this task already has unfinished subtasks: those must be done first")]
    OpenParts,
    #[error("the request has no reasoning: say in a sentence or two why the plan must change")]
    NoReasoning,
    #[error("the request proposes no tasks: list them in proposedTasks")]
    NoTasks,
    #[error(
        "a SPLIT_TASK needs at least two proposed tasks: propose more subtasks, or do `{attempted}` as it is"
    )]
    OnePart { attempted: String },
    #[error(
        "the request proposes {given} tasks and {PROPOSED_TASKS} are allowed: propose fewer, larger ones"
    )]
    TooManyTasks { given: usize },
    #[error("proposed task {position} has no title: give it one line that says what it is")]
    NoTitle { position: usize },
    #[error(
        "proposed task {position} has no verify command, and the original has one: give it a command \
         that exits 0 only when the task is done"
    )]
    NoGate { position: usize },
    #[error(
        "the verify command of proposed task {position} always passes: give it one that fails while \
         the task is not done"
    )]
    IdleGate { position: usize },
    #[error(
        "the verify command of proposed task {position} is not a runnable command: give it a shell command, \
         and put prose into doneWhen"
    )]
    UnrunnableGate { position: usize },
    #[error("proposed task {position} has {what} over the limit of {limit}: shorten it")]
    TooLong { position: usize, what: &'static str, limit: usize },
    #[error(
        "`{key}` cannot be the id of a task: use up to 64 letters, digits and . _ - : / # +, or leave \
         the id out"
    )]
    BadKey { key: String },
    #[error("two proposed tasks have the id `{key}`: give each its own, or leave the ids out")]
    RepeatedKey { key: String },
    #[error("the id `{key}` belongs to another task in the plan: choose another, or leave the id out")]
    TakenKey { key: String },
    #[error("cannot derive ids from `{base}`: give every proposed task a new id")]
    NoFreeKey { base: String },
    #[error(
        "proposed task {position} depends on `{name}`, which is neither proposed nor in the plan: \
         name an existing id, or leave it out"
    )]
    UnknownDependency { position: usize, name: String },
    #[error(
        "the change would create a dependency cycle ({}): remove one of these dependencies",
        .path.join(" → ")
    )]
    Cycle {
        /// The tasks around the cycle, the first one again at the end.
        path: Vec<String>,
    },
}

/// Checks the requests of one answer in order; later ones as if the accepted ones were made.
pub fn plan_changes(
    requests: Vec<Result<PlanRequest, UnreadableRequest>>,
    from: &RequestingTask<'_>,
) -> Vec<PlanChange> {
    let mut accepted: Vec<Accepted> = Vec::new();
    let changes = requests.into_iter().map(|request| match request {
        Err(unreadable) => {
            PlanChange { kind: None, reasoning: String::new(), outcome: Err(unreadable.to_string()) }
        }
        Ok(request) => {
            let outcome = plan_change(&request, from, &accepted);
            accepted.extend(outcome.iter().map(|new| (request.kind, new.clone())));
            PlanChange {
                kind: Some(request.kind.as_str().to_owned()),
                reasoning: mask_secrets(&request.reasoning).into_owned(),
                outcome: outcome.map_err(|refusal| refusal.to_string()),
            }
        }
    });
    changes.collect()
}

/// A change that an earlier request of the same answer made.
type Accepted = (ChangeKind, NewTasks);

/// The tasks that `request` adds, or the first thing that speaks against it.
fn plan_change(
    request: &PlanRequest,
    from: &RequestingTask<'_>,
    accepted: &[Accepted],
) -> Result<NewTasks, Refusal> {
    refuse_as_a_whole(request, from, accepted)?;
    let plan = Plan { from, accepted };
    let keys = keys(&request.proposed, &plan)?;
    let mut tasks = Vec::with_capacity(keys.len());
    for (at, (proposed, key)) in request.proposed.iter().zip(&keys).enumerate() {
        let task = new_task(at + 1, proposed, key.clone(), request.kind, from)?;
        tasks.push((task, needs(at + 1, proposed, &keys, request.kind, &plan)?));
    }
    let is_before = request.kind == ChangeKind::AddPrerequisite;
    let mut new = NewTasks {
        tasks,
        original_needs: Vec::new(),
        side: if is_before { Side::Before } else { Side::After },
        depth: from.depth.saturating_add(1),
    };
    let changed: Vec<Accepted> = accepted.iter().cloned().chain([(request.kind, new.clone())]).collect();
    refuse_cycle(&keys, &Plan { from, accepted: &changed })?;

    let order = order(&new.tasks, &keys);
    if request.kind == ChangeKind::SplitTask {
        // A part of which nothing is told waits for the one before it. This closes no cycle: the parts
        // then wait only for earlier ones, and what waits for one of them in the plan waits for all.
        for (before, here) in order.iter().zip(order.iter().skip(1)) {
            let is_told = request.proposed.get(*here).is_none_or(|task| task.depends.is_some());
            let part = new.tasks.get_mut(*here).filter(|_| !is_told);
            if let (Some(key), Some((_, needs))) = (keys.get(*before), part) {
                needs.push(Needed::New(key.clone()));
            }
        }
    }
    if is_before {
        let in_order = order.iter().filter_map(|at| keys.get(*at).cloned());
        new.original_needs = in_order.map(Needed::New).collect();
    }
    new.tasks = order.iter().filter_map(|at| new.tasks.get(*at).cloned()).collect();
    Ok(new)
}

/// Whether this task may be changed by this request at all, whatever tasks it proposes.
fn refuse_as_a_whole(
    request: &PlanRequest,
    from: &RequestingTask<'_>,
    accepted: &[Accepted],
) -> Result<(), Refusal> {
    let attempted = || quoted(from.task.name());
    let has = |kind: ChangeKind| accepted.iter().any(|(other, _)| *other == kind);
    let is_split = request.kind == ChangeKind::SplitTask;
    let named = request.original.trim();
    let given = request.proposed.len();
    let made = from.changes.saturating_add(u32::try_from(accepted.len()).unwrap_or(u32::MAX));
    let refusal = if from.is_done && request.kind.leaves_original_open() {
        Refusal::Done
    } else if from.is_fix && is_split {
        Refusal::SplitFix
    } else if request.kind == ChangeKind::AddPrerequisite && has(ChangeKind::SplitTask) {
        Refusal::AlsoSplit
    } else if is_split && has(ChangeKind::AddPrerequisite) {
        Refusal::AlsoPrerequisite
    } else if named.is_empty() {
        Refusal::NoOriginal { attempted: attempted() }
    } else if !from.is_named(named) {
        Refusal::OtherTask { named: quoted(named), attempted: attempted() }
    } else if made >= CHANGES_PER_TASK {
        Refusal::TooManyChanges
    } else if from.depth >= DEPTH {
        Refusal::TooDeep
    } else if is_split && (from.has_open_children || has(ChangeKind::SplitTask)) {
        Refusal::OpenParts
    } else if words(&request.reasoning).is_none() {
        Refusal::NoReasoning
    } else if given == 0 {
        Refusal::NoTasks
    } else if given > PROPOSED_TASKS {
        Refusal::TooManyTasks { given }
    } else if is_split && given == 1 {
        Refusal::OnePart { attempted: attempted() }
    } else {
        return Ok(());
    };
    Err(refusal)
}

impl RequestingTask<'_> {
    fn is_named(&self, name: &str) -> bool {
        [self.task.id.as_str(), self.task.key_or_id(), self.task.name()].contains(&name)
    }
}

struct Plan<'a> {
    from: &'a RequestingTask<'a>,
    accepted: &'a [Accepted],
}

impl Plan<'_> {
    fn find(&self, name: &str) -> Option<PlanTask> {
        let mut new = self.accepted.iter().flat_map(|(_, new)| &new.tasks);
        let is_named = |task: &NewTask| task.key.as_ref().is_some_and(|key| key.as_str() == name);
        if let Some((_, needs)) = new.find(|(task, _)| is_named(task)) {
            return Some(PlanTask {
                name: name.to_owned(),
                waits_for: needs.iter().map(|need| needed(need).to_owned()).collect(),
                of_other_spec: false,
            });
        }
        let original = self.original();
        let unknown = || PlanTask { name: name.to_owned(), ..PlanTask::default() };
        let mut task = (self.from.plan)(name).or_else(|| (name == original).then(unknown))?;
        if task.name == original {
            let open = self.accepted.iter().filter(|(kind, _)| kind.leaves_original_open());
            let keys = open.flat_map(|(_, new)| new.tasks.iter().filter_map(|(task, _)| task.key.as_ref()));
            task.waits_for.extend(keys.map(ToString::to_string));
        }
        Some(task)
    }

    /// The name of the requesting task that the plan knows.
    fn original(&self) -> String {
        let id = self.from.task.id.as_str();
        (self.from.plan)(id).map_or_else(|| id.to_owned(), |task| task.name)
    }
}

fn needed(need: &Needed) -> &str {
    match need {
        Needed::New(key) => key.as_str(),
        Needed::Known(name) => name,
    }
}

/// A key for each proposed task, in their order; all different, and none of them in the plan.
fn keys(proposed: &[ProposedTask], plan: &Plan<'_>) -> Result<Vec<Key>, Refusal> {
    let is_taken =
        |key: &str| plan.from.is_named(key) || plan.find(key).is_some_and(|task| !task.of_other_spec);
    let given = |task: &ProposedTask| {
        let key = task.key.as_deref().map(str::trim)?;
        (!key.is_empty()).then(|| key.to_owned())
    };
    let mut used = HashSet::new();
    for key in proposed.iter().filter_map(given) {
        let shown = quoted(&key);
        if Key::parse(&key).is_err() {
            return Err(Refusal::BadKey { key: shown });
        } else if is_taken(&key) {
            return Err(Refusal::TakenKey { key: shown });
        } else if !used.insert(key) {
            return Err(Refusal::RepeatedKey { key: shown });
        }
    }
    let base = plan.from.task.key_or_id();
    let mut numbers = 1..=KEY_NUMBERS;
    let mut free = || {
        let mut keys = numbers.by_ref().map(|number| format!("{base}.{number}"));
        keys.find(|key| !used.contains(key) && !is_taken(key))
    };
    let key = |task: &ProposedTask| {
        let key = given(task).or_else(&mut free);
        key.and_then(|key| Key::parse(&key).ok()).ok_or_else(|| Refusal::NoFreeKey { base: quoted(base) })
    };
    proposed.iter().map(key).collect()
}

/// The proposed task as it will be added: cleaned, and cut or refused where a text is too long.
fn new_task(
    position: usize,
    proposed: &ProposedTask,
    key: Key,
    kind: ChangeKind,
    from: &RequestingTask<'_>,
) -> Result<NewTask, Refusal> {
    let original = from.task;
    let title = one_line(&proposed.title, TITLE_CHARS);
    if title.is_empty() {
        return Err(Refusal::NoTitle { position });
    }
    let verify = proposed.verify.as_deref().map(|text| clean(text).trim().to_owned());
    let verify = verify.filter(|command| !command.is_empty());
    let has_gate = original.verify.is_some();
    match &verify {
        None if has_gate => return Err(Refusal::NoGate { position }),
        Some(command) if has_gate && always_passes(command) => {
            return Err(Refusal::IdleGate { position });
        }
        Some(command) if !(from.can_run)(command) => {
            return Err(Refusal::UnrunnableGate { position });
        }
        _ => {}
    }
    let paths = proposed.files.iter().map(|path| {
        let path = clean(path);
        path.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    let files: Vec<String> = paths.filter(|path| !path.is_empty()).collect();
    let longest = files.iter().map(|path| path.chars().count()).max();
    let verify_chars = verify.as_ref().map_or(0, |command| command.chars().count());
    for (what, size, limit) in [
        ("a verify command", verify_chars, VERIFY_CHARS),
        ("a number of files", files.len(), FILES),
        ("a file's path", longest.unwrap_or(0), PATH_CHARS),
    ] {
        if size > limit {
            return Err(Refusal::TooLong { position, what, limit });
        }
    }
    // They go back into prompts and files: an agent's words must not act as Ralph's there.
    let inert = |text: &str| words(text).map(|text| inert_prose(&text));
    Ok(NewTask {
        title: inert_prose(&mask_secrets(&title)),
        description: inert(&proposed.description).unwrap_or_default(),
        key: Some(key),
        phase: original.phase,
        parent: match kind {
            ChangeKind::SplitTask => Some(original.id.clone()),
            ChangeKind::AddPrerequisite | ChangeKind::AddFollowup => original.parent_id.clone(),
        },
        verify: verify.map(every_line_counts),
        files,
        priority: original.priority,
        done_when: proposed.done_when.as_deref().and_then(inert),
        commit: proposed.commit.as_deref().and_then(inert),
        ..NewTask::default()
    })
}

/// A clean text of bounded length, if it says something.
fn words(text: &str) -> Option<String> {
    let text = clean(text);
    let text = mask_secrets(text.trim());
    let text = cut_words(&text, TEXT_CHARS);
    (!text.is_empty()).then(|| text.into_owned())
}

/// Whether a verify command plainly always passes. This catches what agents write where they have
/// nothing to check; it is no proof that other commands can fail.
fn always_passes(command: &str) -> bool {
    const IDLE: [&str; 6] = ["true", ":", "/bin/true", "/usr/bin/true", "exit 0", "exit"];
    // Signs by which a command does more than print its words.
    const MORE: [char; 7] = ['&', '|', ';', '$', '`', '\n', '<'];
    let command = command.trim().trim_end_matches(';').trim_end();
    let prints = matches!(command.split_whitespace().next(), Some("echo" | "printf"));
    command.is_empty()
        || IDLE.contains(&command)
        || command.starts_with('#') && !command.contains('\n')
        || prints && !command.contains(MORE)
}

/// What a proposed task waits for. Keys of new tasks are in nobody's use, so there is no doubt which
/// task a name means.
fn needs(
    position: usize,
    proposed: &ProposedTask,
    keys: &[Key],
    kind: ChangeKind,
    plan: &Plan<'_>,
) -> Result<Vec<Needed>, Refusal> {
    let mut needs = Vec::new();
    if kind == ChangeKind::AddFollowup {
        needs.push(Needed::Known(plan.original()));
    }
    for name in proposed.depends.iter().flatten().map(|name| name.trim()) {
        let need = match keys.iter().find(|key| key.as_str() == name) {
            Some(key) => Some(Needed::New(key.clone())),
            None if plan.from.is_named(name) => Some(Needed::Known(plan.original())),
            None => plan.find(name).map(|task| Needed::Known(task.name)),
        };
        let Some(need) = need else {
            let name = quoted(name);
            return Err(Refusal::UnknownDependency { position, name });
        };
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    if needs.len() > DEPENDENCIES {
        let (what, limit) = ("a number of dependencies", DEPENDENCIES);
        return Err(Refusal::TooLong { position, what, limit });
    }
    Ok(needs)
}

/// Refuses a change that would close a cycle, among the new tasks or through the plan with the change made. Each task that can
/// be reached from the new ones is looked up once.
fn refuse_cycle(keys: &[Key], changed: &Plan<'_>) -> Result<(), Refusal> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut reached: Vec<PlanTask> = Vec::new();
    let mut place = |name: &str, reached: &mut Vec<PlanTask>| {
        let unknown = || PlanTask { name: name.to_owned(), ..PlanTask::default() };
        let task = changed.find(name).unwrap_or_else(unknown);
        *places.entry(task.name.clone()).or_insert_with(|| {
            reached.push(task);
            reached.len() - 1
        })
    };
    for key in keys {
        place(key.as_str(), &mut reached);
    }
    let mut edges: Vec<Vec<usize>> = Vec::new();
    while let Some(names) = reached.get(edges.len()).map(|task| task.waits_for.clone()) {
        edges.push(names.iter().map(|name| place(name, &mut reached)).collect());
    }
    let Some(cycle) = cycles(&edges).into_iter().next() else { return Ok(()) };
    let around = cycle.iter().chain(cycle.first()).filter_map(|at| reached.get(*at));
    let mut path: Vec<String> = around.map(|task| quoted(&task.name)).collect();
    if path.len() > CYCLE_SHOWN {
        let half = CYCLE_SHOWN / 2;
        path.splice(half..path.len() - half, ["…".to_owned()]);
    }
    Err(Refusal::Cycle { path })
}

/// An order in which each new task comes after those it depends on, and otherwise as the request has
/// them. There are few of them, so the plainest way will do.
fn order(tasks: &[(NewTask, Vec<Needed>)], keys: &[Key]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let is_ready = |needs: &[Needed], order: &[usize]| {
        needs.iter().all(|need| match need {
            Needed::New(key) => order.iter().any(|at| keys.get(*at) == Some(key)),
            Needed::Known(_) => true,
        })
    };
    let next = |order: &[usize]| {
        let mut tasks = tasks.iter().enumerate();
        tasks.find(|(at, (_, needs))| !order.contains(at) && is_ready(needs, order))
    };
    while let Some((at, _)) = next(&order) {
        order.push(at);
    }
    order
}

#[cfg(test)]
#[path = "plan_change_tests.rs"]
mod tests;
