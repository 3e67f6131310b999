//! Where everything stands, for any size of the terminal. In a small one there is one pane at a time.

use ratatui_core::layout::{Margin, Position, Rect, Size};

use super::view::Tab;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
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
    panes: Vec<Place>,
    pub message: Rect,
    pub footer: Rect,
}

/// A pane with its border. Where another one stands below, that one's upper border is its lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub pane: Pane,
    pub area: Rect,
    pub is_below_another: bool,
    pub is_above_another: bool,
}

impl Place {
    /// What the pane shows stands here.
    pub fn inner(&self) -> Rect {
        let inner = inside(self.area);
        Rect { height: inner.height + u16::from(self.is_above_another && inner.height > 0), ..inner }
    }
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
            true => column(body, &[(focus, body.height)]),
            false => split(body, lower, attempts),
        };
        Self {
            header: Rect::new(0, 0, width, header.min(height)),
            panes,
            message: Rect::new(0, below, width, message),
            footer: Rect::new(0, below + message, width, footer),
        }
    }

    pub fn panes(&self) -> &[Place] {
        &self.panes
    }

    /// Whether there is one pane at a time.
    pub fn is_single(&self) -> bool {
        self.panes.len() == 1
    }

    fn place(&self, pane: Pane) -> Option<&Place> {
        self.panes.iter().find(|place| place.pane == pane)
    }

    /// The pane with its border; empty where it is not in view.
    pub fn area(&self, pane: Pane) -> Rect {
        self.place(pane).map(|place| place.area).unwrap_or_default()
    }

    /// What a pane shows stands here.
    pub fn inner(&self, pane: Pane) -> Rect {
        self.place(pane).map(Place::inner).unwrap_or_default()
    }

    pub fn plan_rows(&self) -> usize {
        let height = self.inner(Pane::Plan).height;
        usize::from(height - relations(height)).max(1)
    }

    pub fn pane_at(&self, at: Position) -> Option<Pane> {
        self.panes.iter().find(|place| place.area.contains(at)).map(|place| place.pane)
    }
}

pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

/// How many lines of a pane of this height say what the selection depends on.
pub fn relations(height: u16) -> u16 {
    if height >= 9 { RELATIONS } else { 0 }
}

fn split(body: Rect, lower: Pane, attempts: usize) -> Vec<Place> {
    let left_width = (body.width.min(400) * 41 / 100).clamp(34, 72);
    let left = Rect { width: left_width, ..body };
    let right = Rect { x: left_width, width: body.width - left_width, ..body };
    let has_all = body.height >= ALL_PANES;
    let attempts = u16::try_from(attempts).unwrap_or(u16::MAX).saturating_add(1).min(body.height / 4).max(3);
    let low = (body.height / 5).clamp(4, 9);
    let details = right.height.saturating_sub(attempts + low);
    let workers = if has_all { 10 } else { 0 };
    let mut panes = column(left, &[(Pane::Plan, left.height - workers), (Pane::Workers, workers)]);
    let lower = if has_all { Pane::Memory } else { lower };
    panes.extend(column(right, &[(Pane::Attempts, attempts), (Pane::Details, details), (lower, low)]));
    panes
}

/// Panes below each other, of these heights; one without height is left out.
fn column(area: Rect, heights: &[(Pane, u16)]) -> Vec<Place> {
    let panes: Vec<_> = heights.iter().filter(|(_, height)| *height > 0).collect();
    let mut y = area.y;
    let place = |(at, (pane, height)): (usize, &&(Pane, u16))| {
        let area = Rect { y, height: *height, ..area };
        y += height;
        Place { pane: *pane, area, is_below_another: at > 0, is_above_another: at + 1 < panes.len() }
    };
    panes.iter().enumerate().map(place).collect()
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
            let all: Vec<Rect> = areas.panes().iter().map(|place| place.area)
                .chain([areas.header, areas.message, areas.footer]).collect();
            for (at, one) in all.iter().enumerate() {
                prop_assert_eq!(one.intersection(screen).area(), one.area(), "{:?}", areas);
                for other in &all[at + 1..] {
                    prop_assert_eq!(one.intersection(*other).area(), 0, "{:?}", areas);
                }
            }
            prop_assert!(areas.plan_rows() > 0);
            for place in areas.panes() {
                let inner = place.inner();
                prop_assert_eq!(inner.intersection(place.area).area(), inner.area(), "{:?}", place);
            }
        }
    }

    #[test]
    fn one_pane_at_a_time_where_there_is_little_room() {
        let panes = |width, height, zoomed| {
            let areas = Areas::of(Size::new(width, height), Pane::Details, Pane::Workers, zoomed, 3, 0);
            areas.panes().iter().map(|place| place.pane).collect::<Vec<_>>()
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
