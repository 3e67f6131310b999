//! Plots of what was decided and remembered: each a sentence, a drawing (SVG) and a table of the exact values.
//!
//! The drawings have classes instead of colors; [`STYLE`] colors them, from the page's variables where it has any. They need no
//! script, and the same facts give the same text.

mod canvas;
mod charts;
mod decisions;
mod memory;
mod runs;
#[cfg(test)]
mod tests;

use serde::Serialize;

use charts::Row;
pub use decisions::decisions;
pub use memory::memory;
pub use runs::runs;

/// What colors the plots of a page, light and dark.
pub const STYLE: &str = include_str!("style.css");

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    pub id: &'static str,
    /// A sentence that says what is to be seen.
    pub title: String,
    /// How to read it, where that needs saying.
    pub note: Option<String>,
    /// None where there is nothing to draw; the title says why.
    pub svg: Option<String>,
    pub table: Values,
}

/// The exact values behind a plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Values {
    pub headings: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Plot {
    fn of_rows(
        id: &'static str,
        title: String,
        note: Option<String>,
        rows: &[Row],
        headings: Vec<&'static str>,
        cells: impl Iterator<Item = Vec<String>>,
    ) -> Self {
        let table = Values { headings, rows: cells.collect() };
        Self { id, svg: charts::rows(rows, &title), title, note, table }
    }

    /// The plot as part of a page.
    pub fn figure(&self) -> String {
        let id = self.id;
        let mut html = format!(
            "<figure class=\"plot-box\" id=\"plot-{id}\"><figcaption>{}</figcaption>",
            escape(&self.title)
        );
        if let Some(svg) = &self.svg {
            html.push_str(svg);
        }
        if let Some(note) = &self.note {
            html.push_str(&format!("<p class=\"plot-note\">{}</p>", escape(note)));
        }
        if !self.table.rows.is_empty() {
            html.push_str(&format!("<details><summary>Values</summary>{}</details>", self.table.html()));
        }
        html + "</figure>\n"
    }
}

/// How much of a page a table may take.
const TABLE_BYTES: usize = 48 * 1024;

impl Values {
    pub fn html(&self) -> String {
        let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
            cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
        };
        let heading = cells("th", &mut self.headings.iter().copied());
        let mut rows = String::new();
        for (place, row) in self.rows.iter().enumerate() {
            let row = cells("td", &mut row.iter().map(String::as_str));
            if rows.len() + row.len() > TABLE_BYTES {
                rows.push_str(&format!("<tr><td>… and {} more</td></tr>", self.rows.len() - place));
                break;
            }
            rows.push_str(&format!("<tr>{row}</tr>"));
        }
        format!("<table><thead><tr>{heading}</tr></thead><tbody>{rows}</tbody></table>")
    }
}

/// A text as part of HTML or SVG, inside or outside of an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
