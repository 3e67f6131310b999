//! What is selected and in view, moved by keys and the mouse.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ralph_core::model::TaskId;
use ratatui_core::layout::Position;

use super::App;
use crate::tui::layout::{self, Areas, Pane};
use crate::tui::outline::Row;
use crate::tui::view::Tab;

impl App {
    pub(super) fn page(&self) -> isize {
        isize::try_from(self.areas().inner(self.focus).height.max(2) - 1).unwrap_or(1)
    }

    /// Moves the selection, or what is in view.
    pub(super) fn step(&mut self, by: isize) {
        match self.focus {
            Pane::Plan => {
                let last = self.rows.len().saturating_sub(1);
                self.follows_run = false;
                self.cursor = self.cursor.saturating_add_signed(by).min(last);
                // A heading is not selected.
                if matches!(self.rows.get(self.cursor), Some(Row::Phase(_))) {
                    self.cursor = match by < 0 && self.cursor > 0 {
                        true => self.cursor - 1,
                        false => (self.cursor + 1).min(last),
                    };
                }
                self.chosen = None;
            }
            Pane::Attempts => {
                let all = self.attempts();
                let last = all.len().saturating_sub(1);
                let at = self.attempt().unwrap_or(0).saturating_add_signed(by).min(last);
                self.chosen = all.get(at).map(|one| one.number());
                self.follows_run = false;
                self.settle_choice();
            }
            Pane::Details => {
                self.follows_run &= by > 0;
                self.text.scroll(by, self.areas().inner(Pane::Details).height.into());
            }
            Pane::Memory | Pane::Workers => self.scrolled = self.scrolled.saturating_add_signed(by).min(500),
        }
    }

    pub(super) fn sideways(&mut self, right: bool) {
        match self.focus {
            Pane::Plan => self.fold(!right),
            Pane::Memory | Pane::Workers | Pane::Attempts | Pane::Details => {
                let at = Tab::ALL.iter().position(|tab| *tab == self.tab).unwrap_or(0);
                let next = if right { at + 1 } else { at + Tab::ALL.len() - 1 } % Tab::ALL.len();
                if let Some(tab) = Tab::ALL.get(next) {
                    self.open_tab(*tab);
                }
            }
        }
    }

    /// What is being read stays when the run moves on.
    fn open_tab(&mut self, tab: Tab) {
        self.tab = tab;
        if tab.is_read() {
            self.follows_run = false;
            self.chosen = self.attempt().and_then(|at| self.attempts().get(at).map(|one| one.number()));
        }
        self.settle_choice();
    }

    /// Where output is watched, the newest attempt is followed: a new one takes its place.
    fn settle_choice(&mut self) {
        let newest = self.attempts().last().map(|one| one.number());
        self.chosen = self.chosen.filter(|chosen| self.tab.is_read() || Some(*chosen) != newest);
    }

    fn fold(&mut self, fold: bool) {
        self.follows_run = false;
        let Some(Row::Task(at)) = self.rows.get(self.cursor) else { return };
        let Some(node) = self.outline.nodes.get(*at) else { return };
        let (id, depth) = (node.id.clone(), node.depth);
        let changed = match fold {
            true => node.below > 0 && self.folded.insert(id.clone()),
            false => self.folded.remove(&id),
        };
        if changed {
            self.set_rows(Some(&id));
        } else if fold && depth > 0 {
            // Nothing to fold: to the parent.
            let above = self.outline.nodes.get(..*at).unwrap_or_default();
            let parent = above.iter().rev().find(|node| node.depth < depth).map(|node| node.id.clone());
            self.select(parent.as_ref());
        }
    }

    /// Selects a task, unfolding what hides it.
    pub(super) fn select(&mut self, id: Option<&TaskId>) {
        let Some((id, at)) = id.and_then(|id| Some((id, self.outline.place_of(id)?))) else { return };
        let above = self.outline.nodes.get(..at).unwrap_or_default();
        let mut depth = self.outline.nodes.get(at).map_or(0, |node| node.depth);
        for node in above.iter().rev() {
            if node.depth < depth {
                depth = node.depth;
                self.folded.remove(&node.id);
            }
        }
        self.follows_run = false;
        self.set_rows(Some(id));
        self.chosen = None;
    }

    pub(super) fn turn(&mut self, by: usize) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus).unwrap_or(0);
        if let Some(pane) = Pane::ALL.get((at + by) % Pane::ALL.len()) {
            self.look_at(*pane);
        }
    }

    pub(super) fn look_at(&mut self, pane: Pane) {
        (self.focus, self.scrolled) = (pane, 0);
    }

    pub(super) fn show(&mut self, tab: Tab) {
        self.open_tab(tab);
        self.look_at(Pane::Details);
    }

    pub(super) fn open(&mut self) {
        match self.focus {
            Pane::Plan => {
                let Some(Row::Task(at)) = self.rows.get(self.cursor) else { return };
                let Some(node) = self.outline.nodes.get(*at) else { return };
                match node.below > 0 && !self.problems {
                    true => self.fold(!self.folded.contains(&node.id)),
                    false => self.look_at(Pane::Details),
                }
            }
            Pane::Attempts => self.look_at(Pane::Details),
            Pane::Details | Pane::Memory | Pane::Workers => self.zoomed = !self.zoomed,
        }
    }

    pub(super) fn back(&mut self) {
        match self.zoomed {
            true => self.zoomed = false,
            false if self.focus != Pane::Plan => self.look_at(Pane::Plan),
            // Back to what is being worked on.
            false => {
                let selected = self.selected().cloned();
                (self.follows_run, self.chosen) = (true, None);
                self.set_rows(selected.as_ref());
            }
        }
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        if self.dialog.is_some() || self.help {
            return;
        }
        let at = Position::new(mouse.column, mouse.row);
        let areas = self.areas();
        let Some(pane) = areas.pane_at(at) else { return };
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                if self.focus != pane {
                    self.look_at(pane);
                }
                self.click(pane, at, &areas);
            }
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
                let by = if mouse.kind == MouseEventKind::ScrollUp { -3 } else { 3 };
                let focus = std::mem::replace(&mut self.focus, pane);
                self.step(by);
                self.focus = focus;
            }
            _ => {}
        }
    }

    fn click(&mut self, pane: Pane, at: Position, areas: &Areas) {
        let inner = areas.inner(pane);
        let line = at.y.checked_sub(inner.y).map(usize::from).filter(|_| inner.contains(at));
        match (pane, line) {
            (Pane::Plan, Some(line)) => {
                let row = self.top + line;
                if line < areas.plan_rows() && matches!(self.rows.get(row), Some(Row::Task(_))) {
                    (self.chosen, self.follows_run) = (None, false);
                    self.cursor = row;
                }
            }
            (Pane::Attempts, Some(line)) => {
                let all = self.attempts();
                let first = self.first_attempt(inner.height.into());
                if let Some(one) = all.get(first + line) {
                    (self.chosen, self.follows_run) = (Some(one.number()), false);
                    self.settle_choice();
                }
            }
            (Pane::Details, None) if at.y == areas.area(pane).y => {
                if let Some(tab) = layout::tab_at(areas.area(pane), at.x) {
                    self.open_tab(tab);
                }
            }
            _ => {}
        }
    }
}
