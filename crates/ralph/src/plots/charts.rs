//! The two kinds of plots: a line over time, and rows with a bar or a share and its interval each.

use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::series::LineSeries;
use plotters::style::text_anchor::Pos;
use plotters::style::{IntoFont, RGBColor, ShapeStyle, TRANSPARENT, TextStyle};
use plotters_backend::text_anchor::{HPos, VPos};

use super::canvas::{Anchor, Backend, Canvas, FONT_PX, Ink, UNITS};

const WIDTH: i32 = 460;
const LINE_HEIGHT: i32 = 190;
const ROW_PX: i32 = 24;
/// More where a name stands above the row.
const NAME_PX: i32 = 16;
/// Of the scale below rows.
const SCALE_PX: i32 = 20;
/// What a wide character takes: a label may be all capitals.
const CHAR_PX: f64 = 6.8;
/// Room for the labels left of rows, at most.
const LABELS_PX: i32 = 150;
/// Points beyond which a line shows only its last one.
const DOTS: usize = 40;

pub struct Point {
    /// Where it stands on the time scale, in seconds.
    pub at: f64,
    pub value: f64,
    pub says: String,
}

/// Values in order, with the labels of a few places below.
pub struct Line<'f> {
    pub points: Vec<Point>,
    /// Places among the points, and what stands below them.
    pub below: Vec<(usize, String)>,
    pub amount: &'f dyn Fn(f64) -> String,
}

pub enum Mark {
    /// Pieces that follow each other.
    Bar(Vec<(f64, Ink)>),
    /// A value and its interval.
    Share { rate: f64, low: f64, high: f64, ink: Ink },
}

pub struct Row {
    /// Stands above the row.
    pub name: Option<String>,
    pub label: String,
    pub mark: Mark,
    /// Stands right of the mark.
    pub value: String,
    pub says: String,
}

fn units(pixels: i32) -> i32 {
    pixels * UNITS
}

fn text_px(text: &str) -> i32 {
    (text.chars().count() as f64 * CHAR_PX).ceil() as i32
}

fn cut(text: &str, px: i32) -> String {
    let most = (f64::from(px) / CHAR_PX) as usize;
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn label_style(color: &RGBColor) -> TextStyle<'_> {
    TextStyle::from(("sans-serif", units(FONT_PX)).into_font()).color(color)
}

/// None if nothing can be drawn of it.
pub fn line(line: &Line<'_>, says: &str) -> Option<String> {
    let last = line.points.last()?;
    let top = line.points.iter().map(|point| point.value).fold(0.0, f64::max);
    if !top.is_finite() || top <= 0.0 {
        return None;
    }
    let mut canvas = Canvas::new(WIDTH, LINE_HEIGHT);
    let start = line.points.first()?.at;
    let span = if last.at > start { last.at - start } else { 1.0 };
    let mut places = Vec::new();
    {
        let area = Backend(&mut canvas).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin_top(units(14))
            .margin_right(units(14))
            .y_label_area_size(units(50))
            .x_label_area_size(units(SCALE_PX))
            .build_cartesian_2d(0.0..span, 0.0..top * 1.08)
            .ok()?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .axis_style(TRANSPARENT)
            .y_labels(4)
            .y_max_light_lines(0)
            .x_labels(0)
            .bold_line_style(ShapeStyle::from(&Ink::Rule.color()))
            .y_label_style(label_style(&Ink::Soft.color()).pos(Pos::new(HPos::Right, VPos::Center)))
            .y_label_formatter(&|value| (line.amount)(*value))
            .set_all_tick_mark_size(units(4))
            .draw()
            .ok()?;
        let at = |point: &Point| (point.at - start, point.value);
        let series = LineSeries::new(line.points.iter().map(at), &Ink::Accent.color());
        chart.draw_series(series).ok()?;
        places.extend(line.points.iter().map(|one| chart.backend_coord(&at(one))));
    }
    let bottom = units(LINE_HEIGHT - SCALE_PX);
    let zero = places.first()?.0;
    for (place, text) in &line.below {
        let Some((x, _)) = places.get(*place) else { continue };
        let anchor = match place {
            0 => Anchor::Start,
            // At the same moment as the first one.
            _ if *x == zero => continue,
            place if place + 1 == places.len() => Anchor::End,
            // One near an end would cover that one's.
            _ if *x < units(WIDTH / 3) || *x > units(WIDTH * 2 / 3) => continue,
            _ => Anchor::Middle,
        };
        canvas.text(text, (*x, bottom + units(15)), anchor, Ink::Soft);
    }
    for (place, (point, at)) in line.points.iter().zip(&places).enumerate() {
        // Each is pointed at up to halfway to its neighbors.
        let halfway = |other: Option<&(i32, i32)>| other.map_or(units(8), |other| (other.0 - at.0).abs() / 2);
        let before = halfway(place.checked_sub(1).and_then(|before| places.get(before)));
        let after = halfway(places.get(place + 1));
        canvas.hover(&point.says, |canvas| {
            canvas.target((at.0 - before, units(4)), (at.0 + after, bottom));
            if places.len() <= DOTS || place + 1 == places.len() {
                canvas.circle(*at, 28, Ink::Accent);
            }
        });
    }
    let end = places.last()?;
    let anchor = if places.len() > 1 { Anchor::End } else { Anchor::Start };
    canvas.text(&(line.amount)(last.value), (end.0, end.1 - units(8)), anchor, Ink::Text);
    Some(canvas.finish(says))
}

/// None if nothing can be drawn of them. Shares have a scale from 0% to 100%; bars have their values beside them.
pub fn rows(rows: &[Row], says: &str) -> Option<String> {
    let ends = rows.iter().map(|row| match &row.mark {
        Mark::Bar(pieces) => pieces.iter().map(|(value, _)| value).sum(),
        Mark::Share { .. } => 1.0,
    });
    let top: f64 = ends.fold(0.0, f64::max);
    if rows.is_empty() || !top.is_finite() || top <= 0.0 {
        return None;
    }
    let has_scale = rows.iter().any(|row| matches!(row.mark, Mark::Share { .. }));
    let height = |row: &Row| if row.name.is_some() { ROW_PX + NAME_PX } else { ROW_PX };
    let body: i32 = rows.iter().map(height).sum();
    let scale = if has_scale { SCALE_PX } else { 4 };
    let widest = |of: fn(&Row) -> &str| rows.iter().map(|row| text_px(of(row))).max().unwrap_or_default();
    let left = widest(|row| &row.label).min(LABELS_PX) + 10;
    let right = widest(|row| &row.value).min(WIDTH / 2 - 20) + 10;
    let mut canvas = Canvas::new(WIDTH, body + scale);
    let x_of: Vec<[i32; 3]>;
    let (zero, end);
    {
        let area = Backend(&mut canvas).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin_left(units(left))
            .margin_right(units(right))
            .x_label_area_size(units(scale))
            .build_cartesian_2d(0.0..top, 0.0..1.0)
            .ok()?;
        if has_scale {
            chart
                .configure_mesh()
                .disable_y_mesh()
                .disable_y_axis()
                .axis_style(TRANSPARENT)
                .x_labels(5)
                .x_max_light_lines(0)
                .y_labels(0)
                .bold_line_style(ShapeStyle::from(&Ink::Rule.color()))
                .x_label_style(label_style(&Ink::Soft.color()).pos(Pos::new(HPos::Center, VPos::Top)))
                .x_label_formatter(&|value| format!("{:.0}%", value * 100.0))
                .set_all_tick_mark_size(units(3))
                .draw()
                .ok()?;
        }
        let x = |value: f64| chart.backend_coord(&(value, 0.0)).0;
        (zero, end) = (x(0.0), x(top));
        x_of = rows
            .iter()
            .map(|row| match row.mark {
                Mark::Bar(_) => [zero; 3],
                Mark::Share { rate, low, high, .. } => [low, rate, high].map(x),
            })
            .collect();
    }
    let mut top_px = 0;
    for (row, [low, rate, high]) in rows.iter().zip(x_of) {
        if let Some(name) = &row.name {
            canvas.text(&cut(name, WIDTH), (0, units(top_px + NAME_PX - 4)), Anchor::Start, Ink::Text);
        }
        let bottom_px = top_px + height(row);
        let middle = units(bottom_px - ROW_PX / 2);
        let baseline = middle + units(4);
        let label = cut(&row.label, LABELS_PX);
        canvas.text(&label, (units(left - 8), baseline), Anchor::End, Ink::Soft);
        let value_at = match &row.mark {
            Mark::Bar(pieces) => {
                let sum: f64 = pieces.iter().map(|(value, _)| value).sum();
                zero + (f64::from(end - zero) * sum / top) as i32
            }
            Mark::Share { .. } => end,
        };
        canvas.hover(&row.says, |canvas| {
            canvas.target((0, units(top_px)), (units(WIDTH), units(bottom_px)));
            match &row.mark {
                Mark::Bar(pieces) => {
                    let mut sum = 0.0;
                    for (value, ink) in pieces.iter().filter(|(value, _)| *value > 0.0) {
                        let at = |value: f64| zero + (f64::from(end - zero) * value / top) as i32;
                        let [from, to] = [sum, sum + value].map(at);
                        canvas.bar(
                            (from, middle - units(6)),
                            (to.max(from + units(1)), middle + units(6)),
                            *ink,
                        );
                        sum += value;
                    }
                }
                Mark::Share { ink, .. } => {
                    canvas.line((low, middle), (high, middle), *ink, " interval");
                    canvas.circle((rate, middle), 42, *ink);
                }
            }
        });
        canvas.text(&cut(&row.value, right - 4), (value_at + units(8), baseline), Anchor::Start, Ink::Text);
        top_px = bottom_px;
    }
    Some(canvas.finish(says))
}
