//! Draws the screen: header, panes, the line that says what was done, and the keys.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::borders::Borders;
use ratatui_widgets::clear::Clear;

use super::ansi;
use super::app::App;
use super::dialog::Dialog;
use super::keys::{self, BINDINGS};
use super::layout::{Areas, Pane, Place, inside, relations, tabs};
use super::rows::{self, plan_line};
use super::view::Tab;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const ACCENT: Style = Style::new().fg(Color::Cyan);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
const ERROR: Style = Style::new().fg(Color::Red);
/// Smaller terminals show nothing that could be read.
const LEAST: (u16, u16) = (20, 4);

pub fn draw(frame: &mut Frame<'_>, app: &App) {
    let screen = frame.area();
    let buffer = frame.buffer_mut();
    if screen.width < LEAST.0 || screen.height < LEAST.1 {
        buffer.set_stringn(0, 0, "too small", screen.width.into(), Style::new());
        return;
    }
    // The terminal may have a new size that the app has not heard of.
    let areas = app.areas_in(screen.as_size());
    header(app, areas.header, buffer);
    for place in areas.panes() {
        border(app, place, areas.is_single(), buffer);
    }
    for place in areas.panes() {
        let (pane, inner) = (place.pane, place.inner());
        match pane {
            Pane::Plan => plan(app, inner, buffer),
            Pane::Attempts => attempts(app, inner, buffer),
            Pane::Details => details(app, inner, buffer),
            Pane::Memory => scrolled(app, pane, &rows::memory(app), inner, buffer),
            Pane::Workers => scrolled(app, pane, &rows::workers(app), inner, buffer),
        }
    }
    message(app, areas.message, buffer);
    footer(areas.footer, buffer);
    let mut cursor = None;
    if app.help {
        help(app, screen, buffer);
    } else if let Some(dialog) = &app.dialog {
        cursor = ask(dialog, &areas, screen, buffer);
    }
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

/// Writes a line that begins in a row of an area; what does not fit is cut.
fn put(line: &Line<'_>, row: usize, area: Rect, buffer: &mut Buffer) {
    let Ok(row) = u16::try_from(row) else { return };
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// The same with something at its right end, which has its room first.
fn put_both(left: &Line<'_>, right: &Line<'_>, row: usize, area: Rect, buffer: &mut Buffer) {
    let width = u16::try_from(right.width()).unwrap_or(u16::MAX);
    let room = area.width.saturating_sub(if width == 0 { 0 } else { width.saturating_add(1) });
    put(&shortened(left, room.into()), row, Rect { width: room, ..area }, buffer);
    if width > 0 && width <= area.width {
        let area = Rect { x: area.right() - width, width, ..area };
        put(right, row, area, buffer);
    }
}

/// A line that ends in `…` where it does not fit.
fn shortened(line: &Line<'_>, columns: usize) -> Line<'static> {
    let whole =
        Line::from_iter(line.spans.iter().map(|span| Span::styled(span.content.to_string(), span.style)));
    if whole.width() <= columns || columns < 2 {
        return whole.style(line.style);
    }
    let mut first = ansi::cut(&whole, columns - 1);
    first.push_span("…");
    first.style(line.style)
}

fn header(app: &App, area: Rect, buffer: &mut Buffer) {
    let (left, right) = rows::progress(app, area.width.into());
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    put_both(&left, &right, 0, area, buffer);
    if area.height > 1 {
        put(&shortened(&rows::waits(app), area.width.into()), 1, area, buffer);
    }
}

fn border(app: &App, place: &Place, is_single: bool, buffer: &mut Buffer) {
    let Place { pane, area, is_below_another, is_above_another } = *place;
    let has_focus = app.focus == pane;
    let style = if has_focus { ACCENT } else { DIM };
    let borders = if is_above_another { Borders::ALL.difference(Borders::BOTTOM) } else { Borders::ALL };
    Block::new().borders(borders).border_style(style).render(area, buffer);
    if is_below_another && area.width > 1 {
        for (x, corner) in [(area.x, "├"), (area.right() - 1, "┤")] {
            buffer.set_string(x, area.y, corner, style);
        }
    }
    let room = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let hint = match (is_single, app.zoomed) {
        (true, true) => " Esc: all panes ",
        (true, false) => " Tab: next pane ",
        _ => "",
    };
    let hint = Line::from(Span::styled(hint, DIM));
    put_both(&title(app, pane, has_focus), &hint, 0, room, buffer);
}

fn title(app: &App, pane: Pane, has_focus: bool) -> Line<'static> {
    let style = if has_focus { ACCENT.patch(BOLD) } else { Style::new() };
    let selected = app.selected().and_then(|id| app.plan.get(id));
    let title = match pane {
        Pane::Plan if app.problems => "1 Problems".to_owned(),
        Pane::Plan => {
            let mut line = Line::from(Span::styled(" 1 Plan ", style));
            line.push_span(Span::styled(if app.follows() { " following the run " } else { "" }, DIM));
            return line;
        }
        Pane::Attempts => match selected {
            Some(row) => format!("2 Attempts of {} {}", row.name, row.title),
            None => "2 Attempts".to_owned(),
        },
        Pane::Details => {
            let mut line = Line::from(Span::styled(" 3 ", style));
            for (tab, ..) in tabs() {
                let is_open = tab == app.tab;
                let name = if is_open { format!("[{}]", tab.name()) } else { format!(" {} ", tab.name()) };
                line.push_span(Span::styled(name, if is_open { style.patch(BOLD) } else { DIM }));
            }
            line.push_span(Span::styled(if app.text.follows { "  following " } else { " " }, DIM));
            return line;
        }
        Pane::Memory if app.memory.of_prompt => "4 Memory in this prompt".to_owned(),
        Pane::Memory => "4 Memory, most shown".to_owned(),
        Pane::Workers => "5 Workers and limits".to_owned(),
    };
    Line::from(Span::styled(format!(" {} ", ansi::plain(&title)), style))
}

fn plan(app: &App, area: Rect, buffer: &mut Buffer) {
    let low = relations(area.height);
    let rows = Rect { height: area.height - low, ..area };
    if app.rows.is_empty() {
        let text = match (app.ready, app.problems) {
            (false, _) => "reading…",
            (true, true) => "no problems; P shows the whole plan",
            (true, false) => "no tasks yet; a adds one",
        };
        put(&Line::from(Span::styled(text, DIM)), 0, rows, buffer);
    }
    for (line, (at, row)) in app.rows.iter().enumerate().skip(app.top).take(rows.height.into()).enumerate() {
        let is_selected = at == app.cursor;
        let (left, right) = plan_line(app, *row, is_selected, rows.width.into());
        put_both(&left, &right, line, rows, buffer);
        if is_selected {
            let row = Rect { y: rows.y + line as u16, height: 1, ..rows };
            buffer.set_style(row, if app.focus == Pane::Plan { CHOSEN } else { BOLD });
        }
    }
    if low > 0 {
        let area = Rect { y: area.y + rows.height, height: low, ..area };
        for (row, line) in rows::relations(app).iter().enumerate() {
            put(&shortened(line, area.width.into()), row, area, buffer);
        }
    }
}

fn attempts(app: &App, area: Rect, buffer: &mut Buffer) {
    let all = app.attempts();
    if all.is_empty() {
        put(&Line::from(Span::styled(rows::no_attempts(app), DIM)), 0, area, buffer);
        return;
    }
    let first = app.first_attempt(area.height.into());
    for (row, (at, attempt)) in all.iter().enumerate().skip(first).take(area.height.into()).enumerate() {
        put(&shortened(&ansi::line(&attempt.line(app.now)), area.width.into()), row, area, buffer);
        if app.attempt() == Some(at) {
            let row = Rect { y: area.y + row as u16, height: 1, ..area };
            buffer.set_style(row, if app.focus == Pane::Attempts { CHOSEN } else { BOLD });
        }
    }
}

fn details(app: &App, area: Rect, buffer: &mut Buffer) {
    if !app.text.is_of(app.wanted_text()) {
        put(&Line::from(Span::styled("reading…", DIM)), 0, area, buffer);
        return;
    }
    if app.text.broken.is_empty() {
        let text = if app.tab == Tab::Live { "nothing yet" } else { "nothing" };
        put(&Line::from(Span::styled(text, DIM)), 0, area, buffer);
    }
    let height = usize::from(area.height);
    for (row, line) in app.text.broken.iter().skip(app.text.top).take(height).enumerate() {
        put(line, row, area, buffer);
    }
    more_below(app.text.broken.len().saturating_sub(app.text.top + height), area, buffer);
}

fn scrolled(
    app: &App,
    pane: Pane,
    lines: &[(Line<'static>, Line<'static>)],
    area: Rect,
    buffer: &mut Buffer,
) {
    let height = usize::from(area.height);
    let top = if app.focus == pane { app.scrolled.min(lines.len().saturating_sub(height)) } else { 0 };
    for (row, (left, right)) in lines.iter().skip(top).take(height).enumerate() {
        put_both(left, right, row, area, buffer);
    }
    more_below(lines.len().saturating_sub(top + height), area, buffer);
}

/// How many lines come after what is in view, in the lower border.
fn more_below(lines: usize, area: Rect, buffer: &mut Buffer) {
    if lines == 0 {
        return;
    }
    let text = format!(" ↓ {lines} ");
    let width = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
    if width < area.width {
        buffer.set_stringn(area.right() - width, area.bottom(), text, width.into(), DIM);
    }
}

fn message(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(message) = app.message.as_ref().filter(|_| area.height > 0) else { return };
    let style = if message.is_error { ERROR } else { ACCENT };
    let mark = if message.is_error { "error: " } else { "" };
    let line = Line::from(Span::styled(format!("{mark}{}", message.text), style));
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    for (row, line) in ansi::wrap(&line, area.width.into()).iter().enumerate() {
        put(line, row, area, buffer);
    }
}

/// The keys, as many as fit; the last ones always do.
fn footer(area: Rect, buffer: &mut Buffer) {
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let (keys, _) = keys::footer();
    let (most, last) = keys.split_at(keys.len().saturating_sub(2));
    let last_columns: usize = last.iter().map(|key| keys::columns(*key)).sum();
    let mut most = most.iter().peekable();
    for row in 0..usize::from(area.height) {
        let is_last = row + 1 == usize::from(area.height);
        let mut room = usize::from(area.width).saturating_sub(if is_last { last_columns } else { 0 });
        let mut line = Line::default();
        let mut add = |(key, what): (&'static str, &'static str)| {
            line.push_span(Span::styled(key, BOLD));
            line.push_span(Span::styled(format!(" {what}  "), DIM));
        };
        while let Some(key) = most.next_if(|key| keys::columns(**key) <= room) {
            room -= keys::columns(*key);
            add(*key);
        }
        if is_last {
            last.iter().for_each(|key| add(*key));
        }
        put(&line, row, area, buffer);
    }
}

/// A box in the middle of the screen, cleared.
fn window(width: u16, height: u16, screen: Rect, title: &str, buffer: &mut Buffer) -> Rect {
    let (width, height) = (width.min(screen.width), height.min(screen.height));
    let area = Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
    Clear.render(area, buffer);
    Block::bordered().border_style(ACCENT).render(area, buffer);
    let room = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let title = Line::from(Span::styled(format!(" {} ", ansi::plain(title)), ACCENT.patch(BOLD)));
    put(&shortened(&title, room.width.into()), 0, room, buffer);
    Rect { x: area.x + 2, width: area.width.saturating_sub(4), ..inside(area) }
}

fn help(app: &App, screen: Rect, buffer: &mut Buffer) {
    let lines = BINDINGS.iter().map(|binding| {
        Line::from(vec![Span::styled(format!("{:<10}", binding.name), BOLD), Span::raw(binding.help)])
    });
    let lines: Vec<Line<'_>> = lines.chain(rows::legend()).collect();
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let inner = window(74, height, screen, "Keys", buffer);
    let height = usize::from(inner.height);
    let top = app.scrolled.min(lines.len().saturating_sub(height));
    for (row, line) in lines.iter().skip(top).take(height).enumerate() {
        put(line, row, inner, buffer);
    }
    more_below(lines.len().saturating_sub(top + height), inner, buffer);
}

/// Draws a question; where the cursor stands in what is typed.
fn ask(dialog: &Dialog, areas: &Areas, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let question = &dialog.question;
    if question.is_search() {
        let row = if areas.footer.height > 0 {
            areas.footer
        } else {
            Rect { y: screen.bottom() - 1, height: 1, ..screen }
        };
        Clear.render(row, buffer);
        buffer.set_stringn(row.x, row.y, " /", row.width.into(), ACCENT);
        let field = Rect { x: row.x + 2, width: row.width.saturating_sub(3), ..row };
        return typed(dialog, field, buffer);
    }
    let width = screen.width.clamp(20, 76);
    let mut lines = ansi::wrap(&ansi::line(&question.help), usize::from(width) - 4);
    lines.iter_mut().for_each(|line| line.style = Style::new());
    let fields = if dialog.input.is_some() { 2 } else { 0 };
    let height = u16::try_from(lines.len() + fields + 4).unwrap_or(u16::MAX);
    let inner = window(width, height, screen, &question.title, buffer);
    for (row, line) in lines.iter().enumerate() {
        put(line, row, inner, buffer);
    }
    let yes = if dialog.input.is_some() { "Enter" } else { "Enter y" };
    let no = if dialog.input.is_some() { "Esc" } else { "Esc n" };
    let keys = Line::from(vec![
        Span::styled(yes, BOLD),
        Span::styled(format!(" {}   ", question.yes), DIM),
        Span::styled(no, BOLD),
        Span::styled(" cancel", DIM),
    ]);
    put(&keys, lines.len() + fields + 1, inner, buffer);
    let field = Rect { y: inner.y + lines.len() as u16 + 1, height: 1, ..inner };
    (fields > 0 && field.bottom() <= inner.bottom()).then(|| typed(dialog, field, buffer)).flatten()
}

/// What was typed, scrolled so that the cursor is in view.
fn typed(dialog: &Dialog, field: Rect, buffer: &mut Buffer) -> Option<Position> {
    let input = dialog.input.as_ref()?;
    let room = usize::from(field.width.max(2) - 1);
    let shown = |text: &str| ansi::plain(&text.replace('\n', "⏎"));
    let (before, after) = input.text.split_at_checked(input.cursor)?;
    let (mut before, after) = (shown(before), shown(after));
    while Span::raw(before.as_str()).width() > room {
        before.remove(0);
    }
    let at = Span::raw(before.as_str()).width();
    buffer.set_stringn(field.x, field.y, format!("{before}{after}"), field.width.into(), Style::new());
    Some(Position::new(field.x + u16::try_from(at).unwrap_or(0), field.y))
}
