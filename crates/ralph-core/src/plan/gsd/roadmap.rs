//! ROADMAP.md, ids of plans (`01-02`), and the ways in which people name plans and phases (`1-2`, `02.1`, `Phase 2`).

use std::collections::{HashMap, HashSet};

use super::super::key;
use super::super::text::{is_placeholder, phase_words};
use super::plan::{Plan, short};
use crate::markdown::{Lines, checkbox, list_item};
use crate::text::Pattern;

/// A roadmap, read. Phases and ids are in their normal form.
#[derive(Debug, Default)]
pub(super) struct Roadmap {
    /// Phases in the order in which they are named first.
    pub(super) phases: Vec<String>,
    pub(super) ticked_phases: HashSet<String>,
    pub(super) plans: HashMap<String, Entry>,
    /// Where phases are named first, counted from 1.
    pub(super) lines: HashMap<String, usize>,
    pub(super) boxes: Vec<RoadmapBox>,
    /// Where something begins that hides the rest of the file, and what is missing.
    pub(super) unclosed: Option<(usize, String)>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) is_ticked: bool,
    pub(super) title: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RoadmapBox {
    pub(super) what: Shown,
    /// Counted from 1.
    pub(super) line: usize,
    /// Where its mark stands, in bytes.
    pub(super) at: usize,
    pub(super) is_ticked: bool,
}

/// What a box of a roadmap stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Phase(String),
    Plan(String),
    Other,
}

impl Roadmap {
    /// Reads a roadmap; whatever is not known is passed over.
    pub(super) fn of(text: &str) -> Self {
        let mut roadmap = Self::default();
        let mut known = HashSet::new();
        let file = Lines::of(text);
        for (number, line) in (1..).zip(&file.lines).filter(|(_, line)| line.hidden.is_none()) {
            let found = checkbox(line.text);
            let ticked = found.and_then(|found| Some((found.is_ticked()?, found.words)));
            let item = || list_item(line.words()).map(|item| (false, item));
            let heading = || line.heading().map(|(_, words)| (false, words));
            let Some((is_ticked, words)) = ticked.or_else(item).or_else(heading) else {
                continue;
            };
            let mut what = Shown::Other;
            if let Some(phase) = phase_words(words).filter(|(_, is_called_phase)| *is_called_phase) {
                let phase = normal(phase.0);
                if is_ticked {
                    roadmap.ticked_phases.insert(phase.clone());
                }
                if known.insert(phase.clone()) {
                    roadmap.phases.push(phase.clone());
                    roadmap.lines.insert(phase.clone(), number);
                }
                what = Shown::Phase(phase);
            } else if let Some((id, title)) = plan_words(words) {
                let entry = roadmap.plans.entry(id.clone()).or_default();
                entry.is_ticked |= is_ticked;
                entry.title = entry.title.take().or(title);
                what = Shown::Plan(id);
            }
            if let Some(found) = found.filter(|found| matches!(found.mark, ' ' | 'x' | 'X' | '-' | '~')) {
                roadmap.boxes.push(RoadmapBox { what, line: number, at: line.start + found.at, is_ticked });
            }
        }
        let what = file.never_closed();
        roadmap.unclosed = what.map(|what| (file.lines.len() + 1, what));
        roadmap
    }

    /// Whether a plan is done by its own box, or by that of its phase where it has none.
    pub(super) fn has_ticked(&self, id: &str) -> bool {
        match self.plans.get(id) {
            Some(entry) => entry.is_ticked,
            None => self.ticked_phases.contains(phase_of(id)),
        }
    }

    /// The boxes that are to be ticked or opened once these plans are so: their own, and those of phases with no plan left.
    pub(super) fn marked(&self, marks: &HashMap<String, bool>) -> Vec<(&RoadmapBox, bool)> {
        let of_plan = |one: &RoadmapBox| match &one.what {
            Shown::Plan(id) => marks.get(id).copied(),
            _ => None,
        };
        let touched: HashSet<&str> =
            marks.iter().filter(|(_, done)| **done).map(|(id, _)| phase_of(id)).collect();
        let mut open: HashSet<&str> = HashSet::new();
        let mut listed: HashSet<&str> = HashSet::new();
        for one in &self.boxes {
            if let Shown::Plan(id) = &one.what {
                listed.insert(phase_of(id));
                if !of_plan(one).unwrap_or(one.is_ticked) {
                    open.insert(phase_of(id));
                }
            }
        }
        let is_over =
            |phase: &str| touched.contains(phase) && listed.contains(phase) && !open.contains(phase);
        let mark = |one: &'_ RoadmapBox| match &one.what {
            Shown::Phase(phase) => is_over(phase).then_some(true),
            _ => of_plan(one),
        };
        self.boxes.iter().filter_map(|one| Some((one, mark(one)?))).collect()
    }
}

/// The phase of a plan, both in their normal form.
fn phase_of(id: &str) -> &str {
    id.split_once('-').map_or("", |(phase, _)| phase)
}

/// The id and title in `01-02-PLAN.md — Title`, `**01-02: Title**`, `[01-02-PLAN.md](path): Title`.
fn plan_words(words: &str) -> Option<(String, Option<String>)> {
    static PLAN: Pattern = Pattern::new(
        r"^[*_`\[~]*(?:Plan )?([0-9][A-Za-z0-9._-]*)(?:[*_`]*\]\([^)]*(?:\)|$))?[ \t:–—*_`-]*(.*?)[*_~]*$",
    );
    let found = PLAN.captures(words)?;
    let group = |number| found.get(number).map_or("", |group| group.as_str());
    let id = without_kind(group(1).trim_end_matches(['.', '-', '_']));
    id.contains('-').then(|| (normal(id), short(group(2))))
}

/// What a name in `depends_on` stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// These plans, by their place.
    Plans(&'a [usize]),
    /// Something that is done and no longer among the files.
    Done,
    /// `none` and the like.
    Nothing,
    Unknown,
}

/// Finds plans by what people call them.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// Plans by their ids in normal form.
    plans: HashMap<String, [usize; 1]>,
    phases: HashMap<String, Vec<usize>>,
    finished: HashSet<String>,
    roadmap: &'a Roadmap,
}

impl<'a> Names<'a> {
    pub(super) fn of(plans: &[Plan], finished: &[String], roadmap: &'a Roadmap) -> Self {
        let mut phases: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, plan) in plans.iter().enumerate() {
            if let Some(phase) = &plan.id.phase {
                phases.entry(normal(phase)).or_default().push(at);
            }
        }
        let ids = plans.iter().enumerate();
        // Of several plans with one number, a summary belongs to the one beside it.
        let by_path: HashMap<&str, &Plan> =
            plans.iter().map(|plan| (without_kind(&plan.path), plan)).collect();
        let finished = finished.iter().map(|path| match by_path.get(path.as_str()) {
            Some(plan) => normal(&plan.id.name),
            None => finished_id(path),
        });
        Self {
            plans: ids.map(|(at, plan)| (normal(&plan.id.name), [at])).collect(),
            phases,
            finished: finished.collect(),
            roadmap,
        }
    }

    /// Whether a plan is done, by its summary or by the roadmap.
    pub(super) fn is_done(&self, id: &str) -> bool {
        let id = normal(id);
        self.finished.contains(&id) || self.roadmap.has_ticked(&id)
    }

    /// What a name stands for in a plan of this phase.
    pub(super) fn find(&self, name: &str, phase: Option<&str>) -> Named<'_> {
        let name = bare(name);
        if is_placeholder(name) {
            return Named::Nothing;
        }
        if let Some(phase) = called_phase(name) {
            return self.phase(phase);
        }
        let mut words = name.split('-');
        let first = words.next().unwrap_or_default();
        let second = words.next();
        // The whole id, one with the plan's words behind it, or the number in the same phase.
        let short = second.map(|second| format!("{first}-{second}"));
        let of_same_phase = match (second, phase) {
            (None, Some(phase)) => Some(format!("{phase}-{first}")),
            _ => None,
        };
        let ids = [Some(name.to_owned()), short, of_same_phase];
        for id in ids.iter().flatten() {
            if let Some(plan) = self.plans.get(&normal(id)) {
                return Named::Plans(plan);
            }
        }
        if ids.iter().flatten().any(|id| self.is_done(id)) {
            return Named::Done;
        }
        // `01-foundation`, the directory of a phase.
        match second {
            Some(second) if is_number(second) => Named::Unknown,
            _ => self.phase(first),
        }
    }

    fn phase(&self, phase: &str) -> Named<'_> {
        let phase = normal(phase);
        match self.phases.get(&phase) {
            Some(plans) => Named::Plans(plans),
            None if self.roadmap.ticked_phases.contains(&phase) => Named::Done,
            None => Named::Unknown,
        }
    }
}

/// The id of the plan that a summary belongs to, given its path without `-SUMMARY.md`, in normal form.
pub(super) fn finished_id(path: &str) -> String {
    PlanId::of(path, None, None).map_or_else(|| normal(bare(path)), |id| normal(&id.name))
}

/// The name without directories, kind of file and the word `Plan`.
fn bare(name: &str) -> &str {
    let name = name.trim().trim_matches('`');
    // `n/a` is no path.
    let name = if is_placeholder(name) { name } else { name.rsplit(['/', '\\']).next().unwrap_or(name) };
    let name = without_kind(name);
    name.strip_prefix("Plan ").or_else(|| name.strip_prefix("plan-")).unwrap_or(name).trim()
}

/// The number in `Phase 2`, `phase-02-slug`.
fn called_phase(name: &str) -> Option<&str> {
    static PHASE: Pattern = Pattern::new("^(?i-u:phase)[- _]*([^- :]*)");
    PHASE.captures(name)?.get(1).map(|number| number.as_str()).filter(|number| is_number(number))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanId {
    /// As in the file's name: `01-02`.
    pub(super) name: String,
    /// As written; a plan outside of any phase has none.
    pub(super) phase: Option<String>,
    pub(super) plan: String,
}

impl PlanId {
    /// The id of a plan by the path of its file; where the name of the file tells too little, by
    /// its directory and by the phase and plan that its frontmatter names.
    pub(super) fn of(path: &str, phase: Option<&str>, plan: Option<&str>) -> Option<Self> {
        let mut parts = path.rsplit(['/', '\\']);
        let stem = without_kind(parts.next().unwrap_or_default());
        let above = parts.next().and_then(leading_number).or_else(|| phase.and_then(leading_number));
        let mut words = stem.split('-');
        let words = (words.next().unwrap_or_default(), words.next());
        let (phase, plan) = match words {
            (phase, Some(plan)) if is_number(phase) && is_plan(plan) => (Some(phase), plan),
            (plan, None) if is_number(plan) => (above, plan),
            ("", None) => (above, plan.filter(|plan| is_plan(plan))?),
            _ => {
                // Its parts are keys as well.
                let is_usable = key::is_usable(stem) && key::is_usable(&format!("{stem}/999"));
                return is_usable.then(|| Self {
                    name: stem.to_owned(),
                    phase: above.map(str::to_owned),
                    plan: stem.to_owned(),
                });
            }
        };
        Some(Self {
            name: phase.map_or_else(|| plan.to_owned(), |phase| format!("{phase}-{plan}")),
            phase: phase.map(str::to_owned),
            plan: plan.to_owned(),
        })
    }
}

/// A file's name without `-PLAN.md` and the like.
pub(super) fn without_kind(name: &str) -> &str {
    static KIND: Pattern = Pattern::new(r"^(.*?)(?i-u:(?:-?(?:plan|summary))?\.md)$");
    KIND.captures(name).and_then(|found| found.get(1)).map_or(name, |stem| stem.as_str())
}

/// The number that a directory (`02.1-slug`) or another name begins with.
fn leading_number(name: &str) -> Option<&str> {
    name.split(['-', '_', ' ']).next().filter(|word| is_number(word))
}

/// A digit, and little more of digits, letters and points: `01`, `02.1`, `02B`.
fn is_number(word: &str) -> bool {
    word.len() <= 8
        && word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
}

/// Plans are also told apart by letters: `01-D`.
fn is_plan(word: &str) -> bool {
    is_number(word) || (word.len() == 1 && word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The same for all spellings of an id or number: `01-02` and `1-2`, `02.1` and `2.1`.
pub(super) fn normal(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    let mut is_start = true;
    for (at, c) in id.char_indices() {
        let next = id.as_bytes().get(at + 1);
        let is_padding = is_start && c == '0' && next.is_some_and(u8::is_ascii_alphanumeric);
        if !is_padding {
            out.extend(c.to_lowercase());
            is_start = matches!(c, '-' | '.');
        }
    }
    out
}

/// What numbers are ordered by: `2`, `2.1`, `2B`, `3`, `10`, and words last.
pub(super) fn order(number: &str) -> Vec<(u64, String)> {
    let part = |part: &str| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = part.split_at_checked(digits).unwrap_or((part, ""));
        (digits.parse().unwrap_or(u64::MAX), rest.to_owned())
    };
    normal(number).split('.').map(part).collect()
}

#[cfg(test)]
#[path = "roadmap_tests.rs"]
mod tests;
