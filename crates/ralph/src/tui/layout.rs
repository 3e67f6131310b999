//! Where everything stands, for any size of the terminal. In a small one there is one pane at a time.

use ratatui_core::layout::{Margin, Position, Rect, Size};

use super::view::Tab;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Plan,
    Attempts,
    Details,
    Memory,
    Workers,
}

impl Pane {
    pub const ALL: [Self; 5] = [Self::Plan, Self::Attempts, Self::Details, Self::Memory, Self::Workers];
}

/// Below this there is one pane at a time.
const MANY_PANES: Size = Size::new(80, 20);
/// From this height on the keys may have two lines.
const HIGH: u16 = 24;
/// From this height on workers have a place of their own.
const ALL_PANES: u16 = 40;
/// Lines of the plan's pane that say what the selected task depends on.
pub const RELATIONS: u16 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    panes: Vec<(Pane, Rect)>,
    pub message: Rect,
    pub footer: Rect,
}

impl Areas {
    /// `attempts` is how many the task has, `message` the number of characters of the message.
    pub fn of(size: Size, focus: Pane, lower: Pane, zoomed: bool, attempts: usize, message: usize) -> Self {
        let Size { width, height } = size;
        let is_small = width < MANY_PANES.width || height < MANY_PANES.height;
        let header = if height < 8 { 1 } else { 2 };
        let lines = message.div_ceil(usize::from(width.saturating_sub(2).max(1)));
        let message = u16::try_from(lines).unwrap_or(1).min(4).min(height / 4);
        let footer = match height {
            ..8 => 0,
            HIGH.. if super::keys::footer().1 > usize::from(width) => 2,
            _ => 1,
        };
        let body = Rect::new(0, header, width, height.saturating_sub(header + message + footer));
        let below = body.bottom();
        let panes = match is_small || zoomed {
            true => vec![(focus, body)],
            false => split(body, lower, attempts),
        };
        Self {
            header: Rect::new(0, 0, width, header.min(height)),
            panes,
            message: Rect::new(0, below, width, message),
            footer: Rect::new(0, below + message, width, footer),
        }
    }

    pub fn panes(&self) -> impl Iterator<Item = (Pane, Rect)> {
        self.panes.iter().copied()
    }

    /// The pane with its border; empty where it is not in view.
    pub fn area(&self, pane: Pane) -> Rect {
        let found = self.panes.iter().find(|(one, _)| *one == pane);
        found.map(|(_, area)| *area).unwrap_or_default()
    }

    /// What a pane shows stands here.
    pub fn inner(&self, pane: Pane) -> Rect {
        inside(self.area(pane))
    }

    /// How many rows of the plan are in view.
    pub fn plan_rows(&self) -> usize {
        let height = self.inner(Pane::Plan).height;
        usize::from(height - relations(height)).max(1)
    }

    pub fn pane_at(&self, at: Position) -> Option<Pane> {
        self.panes.iter().find(|(_, area)| area.contains(at)).map(|(pane, _)| *pane)
    }
}

pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

/// How many lines of a pane of this height say what the selection depends on.
pub fn relations(height: u16) -> u16 {
    if height >= 9 { RELATIONS } else { 0 }
}

fn split(body: Rect, lower: Pane, attempts: usize) -> Vec<(Pane, Rect)> {
    let left_width = (body.width.min(400) * 41 / 100).clamp(34, 72);
    let left = Rect { width: left_width, ..body };
    let right = Rect { x: left_width, width: body.width - left_width, ..body };
    let has_all = body.height >= ALL_PANES;
    let attempts = u16::try_from(attempts).unwrap_or(u16::MAX).saturating_add(2).min(body.height / 4).max(4);
    let low = (body.height / 5).clamp(4, 9);
    let details = right.height.saturating_sub(attempts + low);
    let rows = |area: Rect, y: u16, height: u16| Rect { y: area.y + y, height, ..area };
    let mut panes = vec![
        (Pane::Attempts, rows(right, 0, attempts)),
        (Pane::Details, rows(right, attempts, details)),
        (if has_all { Pane::Memory } else { lower }, rows(right, attempts + details, low)),
    ];
    match has_all {
        true => {
            let low = 10;
            panes.insert(0, (Pane::Plan, rows(left, 0, left.height - low)));
            panes.push((Pane::Workers, rows(left, left.height - low, low)));
        }
        false => panes.insert(0, (Pane::Plan, left)),
    }
    panes
}

/// The tabs in the upper border of a pane: how far from its corner each begins, and its width.
pub fn tabs() -> impl Iterator<Item = (Tab, u16, u16)> {
    let mut at = 4;
    Tab::ALL.into_iter().map(move |tab| {
        let width = tab.name().len() as u16 + 2;
        let begin = at;
        at += width;
        (tab, begin, width)
    })
}

pub fn tab_at(area: Rect, x: u16) -> Option<Tab> {
    let from = x.checked_sub(area.x)?;
    tabs().find(|(_, at, width)| (*at..at + width).contains(&from)).map(|(tab, ..)| tab)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn panes_never_overlap_and_never_leave_the_screen(
            width in 1_u16..300, height in 1_u16..120, focus in 0_usize..5, zoomed: bool, attempts in 0_usize..50,
            message in 0_usize..500,
        ) {
            let focus = Pane::ALL[focus];
            let areas = Areas::of(Size::new(width, height), focus, Pane::Memory, zoomed, attempts, message);
            let screen = Rect::new(0, 0, width, height);
            let all: Vec<Rect> = areas.panes().map(|(_, area)| area)
                .chain([areas.header, areas.message, areas.footer]).collect();
            for (at, one) in all.iter().enumerate() {
                prop_assert_eq!(one.intersection(screen).area(), one.area(), "{:?}", areas);
                for other in &all[at + 1..] {
                    prop_assert_eq!(one.intersection(*other).area(), 0, "{:?}", areas);
                }
            }
            prop_assert!(areas.plan_rows() > 0);
        }
    }

    #[test]
    fn one_pane_at_a_time_where_there_is_little_room() {
        let panes = |width, height, zoomed| {
            let areas = Areas::of(Size::new(width, height), Pane::Details, Pane::Workers, zoomed, 3, 0);
            areas.panes().map(|(pane, _)| pane).collect::<Vec<_>>()
        };
        assert_eq!(panes(60, 15, false), [Pane::Details]);
        assert_eq!(panes(200, 50, true), [Pane::Details]);
        assert_eq!(panes(100, 30, false), [Pane::Plan, Pane::Attempts, Pane::Details, Pane::Workers]);
        assert_eq!(panes(200, 50, false).len(), 5);
    }

    #[test]
    fn a_click_on_a_tab_finds_it() {
        let area = Rect::new(40, 5, 60, 10);
        assert_eq!(tab_at(area, 45), Some(Tab::Live));
        assert_eq!(tab_at(area, 51), Some(Tab::Prompt));
        assert_eq!(tab_at(area, 41), None);
        assert_eq!(tab_at(area, 99), None);
    }
}
