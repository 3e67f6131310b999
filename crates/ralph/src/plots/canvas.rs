//! Where plots are drawn: SVG text whose shapes carry classes instead of colors, so that a page's style sheet (light, dark,
//! print) colors them, and may say something on hover.
//!
//! plotters draws scales and lines through [`Canvas`] as its backend. Its own SVG backend knows neither classes nor hover
//! texts.

use std::convert::Infallible;
use std::fmt::Write;

use plotters::style::RGBColor;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::escape;

/// Backends count in whole units, so a pixel has ten.
pub const UNITS: i32 = 10;
/// Of all text, in pixels.
pub const FONT_PX: i32 = 11;

/// What a shape is, in place of its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Rules behind the data.
    Rule,
    /// Labels of scales.
    Soft,
    /// Values and names.
    Text,
    Accent,
    Good,
    Weak,
    Bad,
    Idle,
}

impl Ink {
    /// Each with its class in the style sheet, in the order of the enum.
    const ALL: [(Self, &str); 8] = [
        (Self::Rule, "rule"),
        (Self::Soft, "soft"),
        (Self::Text, "text"),
        (Self::Accent, "accent"),
        (Self::Good, "good"),
        (Self::Weak, "weak"),
        (Self::Bad, "bad"),
        (Self::Idle, "idle"),
    ];

    fn class(self) -> &'static str {
        Self::ALL.get(self as usize).map_or("", |(_, class)| class)
    }

    /// The color that stands for it in plotters.
    pub fn color(self) -> RGBColor {
        RGBColor(self as u8, 0, 0)
    }

    fn of(color: BackendColor) -> Self {
        Self::ALL.get(usize::from(color.rgb.0)).map_or(Self::Text, |(ink, _)| *ink)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing of so many pixels.
pub struct Canvas {
    width: i32,
    height: i32,
    body: String,
}

/// A number of units in pixels, no longer than it must be.
fn px(units: i32) -> String {
    let (whole, tenth) = (units / UNITS, units % UNITS);
    match (tenth, units < 0) {
        (0, _) => whole.to_string(),
        (_, false) => format!("{whole}.{tenth}"),
        (_, true) => format!("-{}.{}", whole.abs(), tenth.abs()),
    }
}

impl Canvas {
    pub fn new(width: i32, height: i32) -> Self {
        Self { width, height, body: String::new() }
    }

    fn add(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(shape);
    }

    /// The shapes that `draw` adds say this on hover.
    pub fn hover(&mut self, says: &str, draw: impl FnOnce(&mut Self)) {
        self.add(format_args!("<g class=\"hover\"><title>{}</title>", escape(says)));
        draw(self);
        self.body.push_str("</g>");
    }

    pub fn line(&mut self, from: BackendCoord, to: BackendCoord, ink: Ink, class: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
        let ink = ink.class();
        self.add(format_args!(
            "<line class=\"s-{ink}{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    pub fn circle(&mut self, center: BackendCoord, radius: i32, ink: Ink) {
        let [x, y, r] = [center.0, center.1, radius].map(px);
        self.add(format_args!("<circle class=\"f-{}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>", ink.class()));
    }

    pub fn bar(&mut self, from: BackendCoord, to: BackendCoord, ink: Ink) {
        let (left, top) = (from.0.min(to.0), from.1.min(to.1));
        let [x, y, w, h] = [left, top, (to.0 - from.0).abs(), (to.1 - from.1).abs()].map(px);
        let ink = ink.class();
        self.add(format_args!(
            "<rect class=\"f-{ink}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"2\"/>"
        ));
    }

    /// Nothing to see, but a place to point at.
    pub fn target(&mut self, from: BackendCoord, to: BackendCoord) {
        let [x, y, w, h] = [from.0, from.1, to.0 - from.0, to.1 - from.1].map(px);
        self.add(format_args!("<rect class=\"target\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>"));
    }

    pub fn text(&mut self, text: &str, at: BackendCoord, anchor: Anchor, ink: Ink) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let [x, y] = [at.0, at.1].map(px);
        let ink = ink.class();
        self.add(format_args!("<text class=\"f-{ink}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", escape(text)));
    }

    /// The whole drawing; `says` is what stands for it where it cannot be seen.
    pub fn finish(self, says: &str) -> String {
        format!(
            "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            self.width,
            self.height,
            escape(says),
            self.body
        )
    }
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// What plotters draws on a canvas.
pub struct Backend<'c>(pub &'c mut Canvas);

impl DrawingBackend for Backend<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        ((self.0.width * UNITS).unsigned_abs(), (self.0.height * UNITS).unsigned_abs())
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, _: BackendCoord, _: BackendColor) -> Drawn {
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        if style.color().alpha > 0.0 {
            self.0.line(from, to, Ink::of(style.color()), "");
        }
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        _fill: bool,
    ) -> Drawn {
        self.0.bar(from, to, Ink::of(style.color()));
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        if style.color().alpha == 0.0 {
            return Ok(());
        }
        let points: Vec<String> = path.into_iter().map(|(x, y)| format!("{},{}", px(x), px(y))).collect();
        let ink = Ink::of(style.color()).class();
        self.0.add(format_args!("<polyline class=\"s-{ink} path\" points=\"{}\"/>", points.join(" ")));
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        _fill: bool,
    ) -> Drawn {
        self.0.circle(center, i32::try_from(radius).unwrap_or_default(), Ink::of(style.color()));
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        let pos = style.anchor();
        let anchor = match pos.h_pos {
            HPos::Left => Anchor::Start,
            HPos::Center => Anchor::Middle,
            HPos::Right => Anchor::End,
        };
        let down = match pos.v_pos {
            VPos::Top => FONT_PX * 8,
            VPos::Center => FONT_PX * 7 / 2,
            VPos::Bottom => 0,
        };
        self.0.text(text, (at.0, at.1 + down), anchor, Ink::of(style.color()));
        Ok(())
    }
}
