//! The plan in groups (phases, or tasks with their subtasks), and what of a large one is shown at once.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use ralph_core::model::{Status, Task, TaskId};
use ralph_core::store::{PlanNode, Store, StoreError};
use ralph_core::text::{clean, mask_secrets, one_line};
use serde::Serialize;

use crate::facts::{OpenTask, PhaseNames, PlanFacts};
use crate::ui::format;
use crate::ui::style::Standing;

/// Tasks listed at once; of a larger plan those that run, need somebody, or come next.
const LISTED: usize = 150;
const TITLE_CHARS: usize = 160;
const WHY_CHARS: usize = 240;

/// The state of a task, as the page shows it: a glyph, a color and a word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    pub class: &'static str,
    pub glyph: &'static str,
    pub word: String,
}

impl From<Standing> for Mark {
    fn from(of: Standing) -> Self {
        let class = match of.status {
            Status::Done if of.verified => "ok",
            Status::Done => "weak",
            Status::InProgress => "run",
            Status::Blocked | Status::Failed => "bad",
            Status::Pending | Status::Skipped => "idle",
        };
        let word = match of.status {
            Status::Pending => "waiting".to_owned(),
            _ => of.plain(),
        };
        Self { class, glyph: of.glyph(), word }
    }
}

/// Text that was written by others, in one line that is fit to be shown.
pub fn shown(text: &str, most: usize) -> String {
    one_line(&mask_secrets(&clean(text)), most)
}

/// The same with its lines.
pub fn shown_lines(text: &str, most_bytes: usize) -> String {
    let text = mask_secrets(&clean(text)).into_owned();
    let start = ralph_core::text::first_bytes(&text, most_bytes);
    if start.len() < text.len() { format!("{start}\n[…]") } else { text }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    #[serde(flatten)]
    pub mark: Mark,
    /// What it took so far, or what it waits for.
    pub took: String,
    pub why: Option<String>,
}

/// How many tasks of a group are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub total: u64,
    pub verified: u64,
    pub unverified: u64,
    pub running: u64,
    pub blocked: u64,
    pub skipped: u64,
}

impl Tally {
    pub fn add(&mut self, task: &Task) {
        self.total += 1;
        match task.status {
            Status::Done if task.verified => self.verified += 1,
            Status::Done => self.unverified += 1,
            Status::InProgress => self.running += 1,
            Status::Blocked | Status::Failed => self.blocked += 1,
            Status::Skipped => self.skipped += 1,
            Status::Pending => {}
        }
    }

    pub fn done(&self) -> u64 {
        self.verified + self.unverified
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    pub id: String,
    pub title: String,
    pub tally: Tally,
    /// Places of its tasks in the plan.
    #[serde(skip)]
    pub members: Vec<usize>,
}

/// Every task is in one group. Subtasks are in that of the task above all of them.
pub fn groups(plan: &PlanFacts, phases: &PhaseNames) -> Vec<Group> {
    let parents = plan.parents();
    let by_id: HashMap<&TaskId, &Task> = plan.tasks.iter().map(|task| (&task.id, task)).collect();
    let with_children: HashSet<&TaskId> = parents.values().copied().collect();
    let specs: HashSet<Option<&str>> = plan.tasks.iter().map(|task| task.spec.as_deref()).collect();
    let has_specs = specs.len() > 1;
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (place, task) in plan.tasks.iter().enumerate() {
        let root = root(task, &parents, &by_id);
        let is_above = with_children.contains(&root.id);
        let spec = task.spec.as_deref().filter(|_| has_specs);
        let id = match task.phase {
            _ if is_above => root.id.to_string(),
            Some(phase) => format!("phase {phase}"),
            None => "other".to_owned(),
        };
        let id = spec.map_or_else(|| id.clone(), |spec| format!("{spec} {id}"));
        let at = *places.entry(id.clone()).or_insert_with(|| {
            let of_spec = |title: String| match spec {
                Some(spec) => format!("{spec} · {title}"),
                None => title,
            };
            let title = match task.phase {
                _ if is_above => of_spec(format!("{} {}", root.name(), root.title)),
                Some(phase) => {
                    phases.title(&spec.map_or(phase.to_string(), |spec| format!("{spec} {phase}")))
                }
                None => of_spec("Tasks".to_owned()),
            };
            let title = shown(&title, TITLE_CHARS);
            groups.push(Group { id, title, tally: Tally::default(), members: Vec::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.members.push(place);
            group.tally.add(task);
        }
    }
    groups
}

fn root<'p>(
    task: &'p Task,
    parents: &HashMap<&'p TaskId, &'p TaskId>,
    by_id: &HashMap<&'p TaskId, &'p Task>,
) -> &'p Task {
    let mut at = task;
    // Parents form no cycle in a plan that Ralph made; one in a damaged file ends here, too.
    for _ in 0..100 {
        match parents.get(&at.id).and_then(|parent| by_id.get(parent)) {
            Some(parent) => at = parent,
            None => break,
        }
    }
    at
}

/// A group as the page lists it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    #[serde(flatten)]
    pub group: Group,
    pub rows: Vec<Row>,
    pub left_out: usize,
}

/// The plan as a list: all of it, or what matters now.
pub struct PlanList {
    /// Each group, and the places of its tasks that are listed.
    groups: Vec<(Group, Vec<usize>)>,
    /// Groups of which nothing is listed.
    pub left_out: usize,
}

impl PlanList {
    pub fn of(plan: &PlanFacts, phases: &PhaseNames) -> Self {
        let chosen = chosen(&plan.tasks, plan.nodes());
        let all = groups(plan, phases).into_iter().map(|group| {
            let is_listed = |place: &&usize| chosen.as_ref().is_none_or(|chosen| chosen.contains(*place));
            let listed: Vec<usize> = group.members.iter().filter(is_listed).copied().collect();
            (group, listed)
        });
        let (groups, rest): (Vec<_>, Vec<_>) = all.partition(|(_, listed)| !listed.is_empty());
        Self { groups, left_out: rest.len() }
    }

    pub fn tasks<'p>(&self, plan: &'p PlanFacts) -> impl Iterator<Item = &'p TaskId> {
        let places = self.groups.iter().flat_map(|(_, listed)| listed);
        places.filter_map(|place| plan.tasks.get(*place)).map(|task| &task.id)
    }

    /// What the page shows; `open` has those of the listed tasks that are not done.
    pub fn rows(
        self,
        store: &Store,
        plan: &PlanFacts,
        open: &HashMap<&TaskId, &OpenTask>,
    ) -> Result<Vec<Listed>, StoreError> {
        let row = |place: &usize| {
            let task = plan.tasks.get(*place)?;
            Some(row(store, plan, task, open.get(&task.id).copied()))
        };
        let rows = |(group, listed): (Group, Vec<usize>)| {
            let rows: Vec<Row> = listed.iter().filter_map(row).collect::<Result<_, _>>()?;
            Ok(Listed { left_out: group.members.len() - rows.len(), group, rows })
        };
        self.groups.into_iter().map(rows).collect()
    }
}

/// Places of the tasks to list; none where all are.
fn chosen(tasks: &[Task], nodes: &[PlanNode]) -> Option<HashSet<usize>> {
    if tasks.len() <= LISTED {
        return None;
    }
    let of = |wanted: fn(&Task) -> bool| {
        tasks.iter().enumerate().filter(move |(_, task)| wanted(task)).map(|(place, _)| place)
    };
    let is_urgent =
        |task: &Task| matches!(task.status, Status::InProgress | Status::Blocked | Status::Failed);
    let satisfied: HashSet<&TaskId> =
        nodes.iter().filter(|node| node.status.satisfies()).map(|node| &node.id).collect();
    let is_next = |place: &usize| {
        let depends = tasks.get(*place).map(|task| task.depends_on.as_slice()).unwrap_or_default();
        depends.iter().all(|id| satisfied.contains(id))
    };
    let next = of(|task| task.status == Status::Pending).filter(is_next);
    Some(of(is_urgent).take(LISTED * 2 / 3).chain(next).take(LISTED).collect())
}

fn row(store: &Store, plan: &PlanFacts, task: &Task, open: Option<&OpenTask>) -> Result<Row, StoreError> {
    let waits: Vec<&str> = open.iter().flat_map(|open| &open.waits_for).map(|by| by.name.as_str()).collect();
    let took = match (task.attempts, waits.as_slice()) {
        (0, []) => String::new(),
        (0, [one]) => format!("waits for {one}"),
        (0, [one, rest @ ..]) => format!("waits for {one} and {} more", rest.len()),
        (attempts, _) => {
            let spent = store.spent_on_task(&task.id)?;
            let mut parts = vec![format::counted(u64::from(attempts), "attempt")];
            parts.extend(
                (!spent.time.is_zero()).then(|| format::elapsed(spent.time.max(Duration::from_secs(1)))),
            );
            parts.extend((spent.usd > 0.0).then(|| format::cost(Some(spent.usd), spent.estimated)));
            parts.join(" · ")
        }
    };
    let why = match task.status {
        Status::Done if !task.verified && task.reason.is_none() && !plan.has_gate(task) => {
            Some(format!("{}: no gate", Standing::from(task).plain()))
        }
        Status::Done | Status::Skipped => task.reason.clone(),
        Status::Blocked | Status::Failed | Status::InProgress => open.and_then(|open| open.why.clone()),
        Status::Pending => None,
    };
    Ok(Row {
        id: task.id.clone(),
        name: task.name().to_owned(),
        title: shown(&task.title, TITLE_CHARS),
        mark: Standing::from(task).into(),
        took,
        why: why.map(|why| shown(&why, WHY_CHARS)),
    })
}
