//! Text with colors, as the rest of Ralph makes it, as lines of a screen. Nothing but colors and letters gets through: what
//! could move a cursor or turn the direction of a line is dropped.

use ralph_core::text::is_invisible;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

const TAB: &str = "    ";
/// Characters of one line that are kept.
const MOST: usize = 2000;

/// Each line of a text. What a line is longer than a screen could ever show is cut.
pub fn lines(text: &str) -> Vec<Line<'static>> {
    let mut style = Style::new();
    text.lines().map(|line| one(line, &mut style)).collect()
}

/// A text as one line.
pub fn line(text: &str) -> Line<'static> {
    one(text, &mut Style::new())
}

/// A text without colors and without what a screen must not get.
pub fn plain(text: &str) -> String {
    line(text).spans.into_iter().map(|span| span.content.into_owned()).collect()
}

fn one(text: &str, style: &mut Style) -> Line<'static> {
    let (mut spans, mut run) = (Vec::new(), String::new());
    let mut chars = text.chars();
    let mut kept = 0;
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                let rest = chars.as_str();
                let Some(codes) = rest.strip_prefix('[') else { continue };
                let end = codes.find(|c: char| ('@'..='~').contains(&c)).unwrap_or(codes.len());
                let (codes, rest) = codes.split_at(end);
                if rest.starts_with('m') {
                    if !run.is_empty() {
                        spans.push(Span::styled(std::mem::take(&mut run), *style));
                    }
                    *style = colored(*style, codes);
                }
                chars = rest.get(1..).unwrap_or_default().chars();
            }
            '\t' => run.push_str(TAB),
            c if c.is_control() || is_invisible(c) => {}
            _ if kept == MOST => {
                run.push('…');
                break;
            }
            c => {
                run.push(c);
                kept += 1;
            }
        }
    }
    if !run.is_empty() {
        spans.push(Span::styled(run, *style));
    }
    Line::from(spans)
}

/// A style after the codes of one escape sequence.
fn colored(style: Style, codes: &str) -> Style {
    const COLORS: [Color; 8] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
    ];
    codes.split(';').fold(style, |style, code| match code.parse::<usize>().unwrap_or(0) {
        0 => Style::new(),
        1 => style.add_modifier(Modifier::BOLD),
        2 => style.add_modifier(Modifier::DIM),
        3 => style.add_modifier(Modifier::ITALIC),
        4 => style.add_modifier(Modifier::UNDERLINED),
        code @ 30..=37 => COLORS.get(code - 30).map_or(style, |color| style.fg(*color)),
        39 => Style { fg: None, ..style },
        _ => style,
    })
}

/// A line in pieces of so many columns, broken after spaces where there are any. Further pieces begin below the text of the
/// first, behind its indent, its time or its label.
pub fn wrap(line: &Line<'static>, columns: usize) -> Vec<Line<'static>> {
    let columns = columns.max(2);
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let letters: Vec<(char, Style)> =
        line.spans.iter().flat_map(|span| span.content.chars().map(|c| (c, span.style))).collect();
    let indent = match hang(&letters) {
        hang if hang <= columns / 2 && columns > 8 => vec![(' ', Style::new()); hang],
        _ => Vec::new(),
    };
    let (mut pieces, mut piece, mut used) = (Vec::new(), Vec::new(), 0);
    for (c, style) in letters {
        let width = c.width().unwrap_or(0);
        if used + width > columns && c == ' ' {
            // A space at the edge is where the line ends.
            pieces.push(joined(&piece));
            piece = indent.clone();
            used = indent.len();
            continue;
        }
        if used + width > columns {
            // Not a line of a single word: that is broken where it ends.
            let begin = if pieces.is_empty() { 0 } else { indent.len() };
            let space = piece.iter().skip(begin).rposition(|(c, _): &(char, Style)| *c == ' ');
            let rest = piece.split_off(space.map_or(piece.len(), |at| begin + at + 1));
            pieces.push(joined(&piece));
            piece = indent.clone();
            piece.extend(rest);
            used = piece.iter().map(|(c, _)| c.width().unwrap_or(0)).sum();
            // A letter of two columns may not fit behind what went on to this line.
            if used + width > columns {
                pieces.push(joined(&piece));
                piece = indent.clone();
                used = indent.len();
            }
        }
        piece.push((c, style));
        used += width;
    }
    pieces.push(joined(&piece));
    pieces
}

/// Columns before the text of a line: spaces, or a word or two with a gap of two spaces behind.
fn hang(letters: &[(char, Style)]) -> usize {
    const FARTHEST: usize = 12;
    let is_space = |at: usize| letters.get(at).is_some_and(|(c, _)| *c == ' ');
    let gap = (0..FARTHEST).find(|at| is_space(*at) && (*at == 0 || is_space(*at + 1)));
    let Some(gap) = gap else { return 0 };
    letters.iter().skip(gap).position(|(c, _)| *c != ' ').map_or(0, |spaces| gap + spaces)
}

/// As much of a line as fits into so many columns.
pub fn cut(line: &Line<'static>, columns: usize) -> Line<'static> {
    let (mut letters, mut used) = (Vec::new(), 0);
    for (c, style) in line.spans.iter().flat_map(|span| span.content.chars().map(|c| (c, span.style))) {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        letters.push((c, style));
    }
    joined(&letters)
}

fn joined(letters: &[(char, Style)]) -> Line<'static> {
    let runs = letters.chunk_by(|a, b| a.1 == b.1);
    Line::from_iter(runs.map(|run| {
        let text: String = run.iter().map(|(c, _)| c).collect();
        Span::styled(text, run.first().map_or(Style::new(), |(_, style)| *style))
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colors_get_through_and_nothing_else_does() {
        let shown = line("a \u{1b}[1;31mred\u{1b}[0m b\u{1b}[2J\u{1b}]0;title\u{7}\u{202e}c\td\u{9b}31m");
        let text: String = shown.spans.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(text, "a red b]0;titlec    d31m");
        assert_eq!(shown.spans[1].style, Style::new().fg(Color::Red).add_modifier(Modifier::BOLD));
        assert_eq!(shown.spans[2].style, Style::new());
    }

    #[test]
    fn a_style_holds_over_lines() {
        let shown = lines("\u{1b}[2mone\ntwo\u{1b}[0m\nthree");
        let dim = Style::new().add_modifier(Modifier::DIM);
        assert_eq!((shown[1].spans[0].style, shown[2].spans[0].style), (dim, Style::new()));
    }

    #[test]
    fn lines_are_broken_after_spaces_and_keep_their_style() {
        let pieces = wrap(&line("\u{1b}[32mone two three\u{1b}[0m four"), 8);
        let texts: Vec<String> = pieces.iter().map(|piece| piece.to_string()).collect();
        assert_eq!(texts, ["one two ", "three ", "four"]);
        assert_eq!(pieces[1].spans[0].style.fg, Some(Color::Green));
        assert_eq!(pieces[2].spans[0].style.fg, None);
    }

    #[test]
    fn what_is_broken_goes_on_below_its_text() {
        let broken = |text: &str| {
            let pieces = wrap(&line(text), 14);
            pieces.iter().map(|piece| piece.to_string().trim_end().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(broken("  one two three four"), ["  one two", "  three four"]);
        assert_eq!(broken("16:44  one two three"), ["16:44  one two", "       three"]);
        assert_eq!(broken("label    one two"), ["label    one", "two"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_everything_fits(text in r"[a-z 日é]{0,60}", columns in 2_usize..20) {
            let pieces = wrap(&line(&text), columns);
            let letters = |text: &str| text.replace(' ', "");
            let all: String = pieces.iter().map(|piece| letters(&piece.to_string())).collect();
            prop_assert_eq!(all, letters(&text));
            for piece in &pieces {
                prop_assert!(piece.to_string().trim_end().chars().map(|c| c.width().unwrap_or(0)).sum::<usize>() <= columns);
            }
        }
    }
}
