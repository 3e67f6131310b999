//! The plan as a drawing (SVG): each task a box, its dependencies left of it. Of a large plan one box is a group of tasks, and a group
//! is drawn in windows, so that no drawing has more than a few hundred shapes.

use std::collections::{HashMap, HashSet};

use ralph_core::model::{Task, TaskId};
use serde::Serialize;

use super::groups::{Group, Mark, Tally, groups, shown};
use crate::facts::{PhaseNames, PlanFacts};
use crate::plots::escape;
use crate::ui::format::counted;
use crate::ui::style::Standing;
use crate::ui::table::{self, cut};

const BOXES: usize = 150;
/// Boxes above each other, before another column begins.
const ROWS: usize = 14;
const WIDTH: i64 = 196;
const HEIGHT: i64 = 48;
const GAP_X: i64 = 52;
const GAP_Y: i64 = 12;
const MARGIN: i64 = 12;
/// Columns of text that fit into a box.
const COLUMNS: usize = 27;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawing {
    /// What is drawn, as a heading.
    pub title: String,
    /// The group that is drawn; none where it is the whole plan.
    pub group: Option<String>,
    pub svg: String,
    /// Where the window begins, how much it shows, and of how much.
    pub from: usize,
    pub shown: usize,
    pub of: usize,
    pub window: usize,
}

struct Box {
    /// Where a click leads, below the page.
    href: String,
    mark: Mark,
    name: String,
    title: String,
    /// The last line.
    note: String,
    /// On hover.
    says: String,
    tally: Option<Tally>,
}

/// The whole plan where it is small, else its groups; or a window of one group.
pub fn draw(plan: &PlanFacts, phases: &PhaseNames, group: Option<&str>, from: usize) -> Drawing {
    let mut groups = groups(plan, phases);
    let all = plan.tasks.len();
    let wanted = match (group, groups.len()) {
        (Some(id), _) => groups.iter().position(|group| group.id == id),
        (None, 1) => Some(0),
        (None, _) if all <= BOXES => None,
        (None, _) => return draw_groups(plan, &groups, from),
    };
    let chosen = wanted.map(|place| groups.swap_remove(place));
    let places: Vec<usize> = match &chosen {
        Some(group) => group.members.clone(),
        None => (0..all).collect(),
    };
    let from = if from < places.len() { from } else { 0 };
    let tasks: Vec<&Task> =
        places.iter().skip(from).take(BOXES).filter_map(|place| plan.tasks.get(*place)).collect();
    let title = match &chosen {
        Some(group) => group.title.clone(),
        None => "The whole plan".to_owned(),
    };
    let (shown, of) = (tasks.len(), places.len());
    let is_part = group.is_some();
    Drawing {
        svg: draw_tasks(plan, &tasks, &title),
        group: chosen.filter(|_| is_part).map(|group| group.id),
        title,
        from,
        shown,
        of,
        window: BOXES,
    }
}

fn draw_tasks(plan: &PlanFacts, tasks: &[&Task], title: &str) -> String {
    let place: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
    let names: HashMap<&TaskId, &str> = plan.tasks.iter().map(|task| (&task.id, task.name())).collect();
    let mut edges = Vec::new();
    let mut boxes = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        let (inside, outside): (Vec<&TaskId>, Vec<&TaskId>) =
            task.depends_on.iter().partition(|id| place.contains_key(id));
        edges.extend(inside.iter().filter_map(|id| Some((*place.get(id)?, at))));
        let mark = Mark::from(Standing::from(*task));
        let mut notes = vec![mark.word.clone()];
        notes.extend((task.attempts > 0).then(|| counted(u64::from(task.attempts), "attempt")));
        notes.extend((!outside.is_empty()).then(|| format!("+{} outside", outside.len())));
        let depends: Vec<&str> =
            task.depends_on.iter().filter_map(|id| names.get(id).copied()).take(12).collect();
        let depends = match depends.is_empty() {
            true => String::new(),
            false => format!("; depends on {}", depends.join(", ")),
        };
        let full = shown(&task.title, 300);
        boxes.push(Box {
            href: format!("#/task/{}", task.id),
            name: task.name().to_owned(),
            says: format!("{} {full}: {}{depends}", task.name(), mark.word),
            title: full,
            note: notes.join(" · "),
            mark,
            tally: None,
        });
    }
    svg(&boxes, &edges, &format!("{title}: {} with their dependencies", counted(tasks.len() as u64, "task")))
}

fn draw_groups(plan: &PlanFacts, groups: &[Group], from: usize) -> Drawing {
    let from = if from < groups.len() { from } else { 0 };
    let window: Vec<&Group> = groups.iter().skip(from).take(BOXES).collect();
    let mut group_of: HashMap<&TaskId, usize> = HashMap::new();
    for (at, group) in window.iter().enumerate() {
        let tasks = group.members.iter().filter_map(|place| plan.tasks.get(*place));
        group_of.extend(tasks.map(|task| (&task.id, at)));
    }
    let mut edges: HashSet<(usize, usize)> = HashSet::new();
    for (task, at) in plan.tasks.iter().filter_map(|task| Some((task, *group_of.get(&task.id)?))) {
        let from = task.depends_on.iter().filter_map(|id| group_of.get(id));
        edges.extend(from.filter(|from| **from != at).map(|from| (*from, at)));
    }
    let mut edges: Vec<(usize, usize)> = edges.into_iter().collect();
    edges.sort_unstable();
    let boxes: Vec<Box> = window
        .iter()
        .map(|group| {
            let tally = group.tally;
            let done = format!("{} of {} done", tally.done(), tally.total);
            let mut more = Vec::new();
            more.extend((tally.running > 0).then(|| format!("{} running", tally.running)));
            more.extend((tally.blocked > 0).then(|| format!("{} blocked", tally.blocked)));
            let more = more.join(" · ");
            let class = match tally {
                Tally { blocked: 1.., .. } => "bad",
                Tally { running: 1.., .. } => "run",
                _ if tally.verified == tally.total => "ok",
                _ if tally.done() + tally.skipped == tally.total => "weak",
                _ => "idle",
            };
            Box {
                href: format!("#/plan?group={}", encoded(&group.id)),
                mark: Mark { class, glyph: "", word: done.clone() },
                name: group.title.clone(),
                title: done.clone(),
                says: format!("{}: {done} {more}", group.title),
                note: more,
                tally: Some(tally),
            }
        })
        .collect();
    let title = counted(groups.len() as u64, "group");
    let says = format!("The plan in {title} and what each waits for");
    Drawing {
        svg: svg(&boxes, &edges, &says),
        title: format!("The plan in {title}: {}", counted(plan.tasks.len() as u64, "task")),
        group: None,
        from,
        shown: boxes.len(),
        of: groups.len(),
        window: BOXES,
    }
}

/// A text as part of an address.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// The columns of boxes, each right of everything it depends on.
fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut waiting = vec![0usize; count];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges {
        if let (Some(waits), Some(after)) = (waiting.get_mut(*to), next.get_mut(*from)) {
            *waits += 1;
            after.push(*to);
        }
    }
    let mut layer = vec![0; count];
    let mut queue: Vec<usize> = (0..count).filter(|at| waiting.get(*at) == Some(&0)).collect();
    // What is in a cycle, as groups can be, stays where it was put last.
    while let Some(at) = queue.pop() {
        let own = layer.get(at).copied().unwrap_or_default();
        for to in next.get(at).into_iter().flatten() {
            if let (Some(layer), Some(waits)) = (layer.get_mut(*to), waiting.get_mut(*to)) {
                *layer = (*layer).max(own + 1);
                *waits -= 1;
                if *waits == 0 {
                    queue.push(*to);
                }
            }
        }
    }
    layer
}

/// Where each box stands: its column and row.
fn places(count: usize, edges: &[(usize, usize)]) -> Vec<(i64, i64)> {
    let layer = layers(count, edges);
    let mut places = vec![(0, 0); count];
    let mut column = 0;
    for at in 0..=layer.iter().copied().max().unwrap_or_default() {
        let mut members: Vec<usize> = (0..count).filter(|place| layer.get(*place) == Some(&at)).collect();
        // Beside what they depend on, else in the order of the plan.
        let height = |place: &usize| {
            let above: Vec<i64> = edges
                .iter()
                .filter(|(_, to)| to == place)
                .filter_map(|(from, _)| places.get(*from).map(|(_, row)| *row))
                .collect();
            match above.len() {
                0 => 0,
                n => above.iter().sum::<i64>() * 100 / n as i64,
            }
        };
        members.sort_by_cached_key(|place| (height(place), *place));
        for (order, place) in members.iter().enumerate() {
            if let Some(found) = places.get_mut(*place) {
                *found = (column + (order / ROWS) as i64, (order % ROWS) as i64);
            }
        }
        column += members.len().div_ceil(ROWS) as i64;
    }
    places
}

fn svg(boxes: &[Box], edges: &[(usize, usize)], says: &str) -> String {
    let places = places(boxes.len(), edges);
    let corner = |place: usize| {
        let (column, row) = places.get(place).copied().unwrap_or_default();
        (MARGIN + column * (WIDTH + GAP_X), MARGIN + row * (HEIGHT + GAP_Y))
    };
    let size = |most: fn(&(i64, i64)) -> i64| places.iter().map(most).max().unwrap_or_default() + 1;
    let width = 2 * MARGIN + size(|place| place.0) * (WIDTH + GAP_X) - GAP_X;
    let height = 2 * MARGIN + size(|place| place.1) * (HEIGHT + GAP_Y) - GAP_Y;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"dag\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"{}\">",
        escape(says)
    );
    for (from, to) in edges {
        let ((x1, y1), (x2, y2)) = (corner(*from), corner(*to));
        let (x1, y1, y2) = (x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2);
        let middle = (x1 + x2) / 2;
        let class = boxes.get(*from).map_or("", |from| from.mark.class);
        out.push_str(&format!(
            "<path class=\"edge {class}\" d=\"M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}\"/>"
        ));
    }
    for (at, one) in boxes.iter().enumerate() {
        let (x, y) = corner(at);
        let class = one.mark.class;
        out.push_str(&format!(
            "<a class=\"node {class}\" href=\"{}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\"/>",
            escape(&one.href),
            escape(&one.says)
        ));
        let (left, top) = (x + 10, y + 19);
        match one.tally {
            Some(tally) => {
                out.push_str(&text("name", left, top, &cut(&one.name, COLUMNS)));
                out.push_str(&bar(tally, left, y + 26, WIDTH - 20));
                let below = format!("{}  {}", one.title, one.note);
                out.push_str(&text("note", left, y + 43, &cut(&below, COLUMNS + 6)));
            }
            None => {
                out.push_str(&text("glyph", left, top, one.mark.glyph));
                // The glyph takes two columns, and titles have wide letters.
                let room = COLUMNS.saturating_sub(5);
                let name = cut(&one.name, 12);
                let rest = room.saturating_sub(table::shown(&name) + 1);
                out.push_str(&format!(
                    "<text class=\"head\" x=\"{}\" y=\"{top}\"><tspan class=\"name\">{}</tspan> <tspan class=\"title\">{}</tspan></text>",
                    left + 16,
                    escape(&name),
                    escape(&cut(&one.title, rest))
                ));
                out.push_str(&text("note", left + 16, y + 37, &cut(&one.note, COLUMNS + 1)));
            }
        }
        out.push_str("</a>");
    }
    out + "</svg>"
}

fn text(class: &str, x: i64, y: i64, text: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escape(text))
}

fn bar(tally: Tally, x: i64, y: i64, width: i64) -> String {
    let mut out = format!("<rect class=\"track\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"5\"/>");
    let mut before = 0;
    for (n, class) in [
        (tally.verified, "b-ok"),
        (tally.unverified, "b-weak"),
        (tally.running, "b-run"),
        (tally.blocked, "b-bad"),
    ] {
        let at = |n: u64| n as i64 * width / (tally.total.max(1) as i64);
        let (from, to) = (at(before), at(before + n));
        before += n;
        if to > from {
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"5\"/>",
                x + from,
                to - from
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_has_no_other_letters() {
        assert_eq!(encoded("phase 2/a%"), "phase%202%2Fa%25");
    }

    proptest! {
        #[test]
        fn properties_boxes_stand_right_of_what_they_depend_on_and_never_on_each_other(
            count in 1usize..60,
            pairs in proptest::collection::vec((0usize..60, 0usize..60), 0..120),
        ) {
            // From an earlier to a later one, so that there is no cycle.
            let edges: Vec<(usize, usize)> =
                pairs.into_iter().map(|(a, b)| (a.min(b), a.max(b))).filter(|(a, b)| a != b && *b < count).collect();
            let places = places(count, &edges);
            for (from, to) in &edges {
                prop_assert!(places[*from].0 < places[*to].0);
            }
            let distinct: HashSet<_> = places.iter().collect();
            prop_assert_eq!(distinct.len(), count);
        }

        #[test]
        fn properties_a_cycle_is_drawn_too(pairs in proptest::collection::vec((0usize..9, 0usize..9), 0..40)) {
            let distinct: HashSet<_> = places(9, &pairs).into_iter().collect();
            prop_assert_eq!(distinct.len(), 9);
        }
    }
}
