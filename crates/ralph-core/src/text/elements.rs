//! Finding Ralph's own tags in any text, in one pass: closed elements, innermost opening first.

use std::ops::Range;

use memchr::memchr;

/// The tags Ralph reads; every other one is just text.
pub(super) const TAGS: [&str; 11] = [
    "task-done",
    "task-failed",
    "promise",
    "next-model",
    "failure-report",
    "learning",
    "difficulty-estimate",
    "retry-suggestion",
    "review-verdict",
    "review-finding",
    "no-change-needed",
];

/// A closed element with one of Ralph's tag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    pub name: &'static str,
    /// Attributes of the opening tag, names and values, in order.
    pub attributes: Vec<(&'a str, &'a str)>,
    /// What stands between the tags, untrimmed.
    pub content: &'a str,
    /// Where the element stands in the text, its tags included.
    pub span: Range<usize>,
}

/// An opening tag that waits for its closing one.
struct Opening<'a> {
    attributes: Vec<(&'a str, &'a str)>,
    start: usize,
    content: usize,
}

/// All closed elements of `text`, in the order of their closing tags.
///
/// An opening tag replaces an earlier one of its name, so an unclosed element never swallows a good
/// one; a malformed opening tag counts as unclosed. Names are independent of each other. Each `<` is
/// looked at once, and no opening tag is read past the next one of its name: the pass is linear.
pub fn elements(text: &str) -> impl Iterator<Item = Element<'_>> {
    let mut open: [Option<Opening<'_>>; TAGS.len()] = [const { None }; TAGS.len()];
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = text.as_bytes().get(at..).and_then(|rest| memchr(b'<', rest)) {
            let start = at + found;
            at = start + 1;
            let rest = text.get(at..).unwrap_or_default();
            if let Some(closing) = rest.strip_prefix('/') {
                let Some((tag, after)) = tag_name(closing) else { continue };
                let Some(end) = after.trim_ascii_start().strip_prefix('>') else { continue };
                at = text.len() - end.len();
                if let Some(opening) = open.get_mut(tag).and_then(Option::take) {
                    return Some(Element {
                        name: TAGS.get(tag).copied().unwrap_or_default(),
                        attributes: opening.attributes,
                        content: text.get(opening.content..start).unwrap_or_default(),
                        span: opening.start..at,
                    });
                }
            } else if let Some((tag, after)) = tag_name(rest) {
                let name = TAGS.get(tag).copied().unwrap_or_default();
                let opening = attributes(after, name).map(|(attributes, content)| {
                    at = text.len() - content.len();
                    Opening { attributes, start, content: at }
                });
                if let Some(slot) = open.get_mut(tag) {
                    *slot = opening;
                }
            }
        }
        None
    })
}

/// Which of our names `text` begins with, as a whole name, and what follows it.
fn tag_name(text: &str) -> Option<(usize, &str)> {
    // Most `<` begin nothing of ours: one look at the next byte settles it.
    if !matches!(text.as_bytes().first(), Some(b't' | b'p' | b'n' | b'f' | b'l' | b'd' | b'r')) {
        return None;
    }
    TAGS.iter().enumerate().find_map(|(tag, name)| {
        let after = text.strip_prefix(name)?;
        let longer = after.starts_with(|c: char| c.is_alphanumeric() || "-_:.".contains(c));
        (!longer).then_some((tag, after))
    })
}

/// Reads `name="value"` pairs up to the `>`; `None` where anything else stands there.
fn attributes<'a>(text: &'a str, tag: &str) -> Option<(Vec<(&'a str, &'a str)>, &'a str)> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let next = rest.trim_ascii_start();
        if let Some(content) = next.strip_prefix('>') {
            return Some((found, content));
        }
        if next.len() == rest.len() {
            return None;
        }
        let length = next.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-_".contains(b)).count();
        let (name, after) = next.split_at_checked(length).filter(|_| length > 0)?;
        let value = after.trim_ascii_start().strip_prefix('=')?.trim_ascii_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = quoted(value.get(1..)?, quote, tag)?;
        found.push((name, value));
        rest = after;
    }
}

/// The text up to `quote`; it may hold `<` and `>`, but not another tag of the same name, which can
/// only mean that a quote is missing.
fn quoted<'a>(text: &'a str, quote: char, tag: &str) -> Option<(&'a str, &'a str)> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let stop = rest.find([quote, '<'])?;
        let (value, after) = text.split_at_checked(at + stop)?;
        if let Some(after) = after.strip_prefix(quote) {
            return Some((value, after));
        }
        let inner = after.get(1..)?;
        if inner.strip_prefix('/').unwrap_or(inner).starts_with(tag) {
            return None;
        }
        at += stop + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::elements;

    fn contents(text: &str) -> Vec<&str> {
        elements(text).map(|element| element.content).collect()
    }

    #[test]
    fn sig_05_the_innermost_opening_counts() {
        let text = "<failure-report>a<failure-report>b</failure-report>c</failure-report>";
        assert_eq!(contents(text), ["b"]);
        assert_eq!(contents("<promise>a <task-done>b</task-done>"), ["b"]);
        assert_eq!(contents("</promise><promise>"), Vec::<&str>::new());
    }

    #[test]
    fn sig_05_names_do_not_disturb_each_other() {
        assert_eq!(
            contents("<promise>1<next-model>2</promise>3</next-model>"),
            ["1<next-model>2", "2</promise>3"]
        );
    }

    #[test]
    fn sig_06_other_names_are_text() {
        for text in
            ["<b>x</b>", "<learnings>x</learnings>", "<promise-x>y</promise-x>", "<Promise>x</Promise>"]
        {
            assert_eq!(contents(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn lsg_04_a_longer_name_is_no_opening() {
        let text = "<learning tags='t'>of <learnings> and <learning-x></learning>";
        assert_eq!(contents(text), ["of <learnings> and <learning-x>"]);
    }

    #[test]
    fn sig_05_an_unclosed_element_does_not_end_with_a_malformed_one() {
        let text = "<learning tags='t'>unclosed <learning tags=t>x</learning>";
        assert_eq!(contents(text), Vec::<&str>::new());
    }

    #[test]
    fn lsg_04_attributes_in_either_quotes_over_lines() {
        let text = "<learning\n  tags = 'a > b'\tcategory=\"Vec<T>\"\n>x</learning >";
        let found: Vec<_> = elements(text).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].attributes, [("tags", "a > b"), ("category", "Vec<T>")]);
        assert_eq!(found[0].span, 0..text.len());
    }

    #[test]
    fn lsg_03_malformed_opening_tags_swallow_nothing() {
        let good = "<learning tags=\"t\">good</learning>";
        for bad in [
            "<learning tags=\"t>x</learning>",
            "<learning tags=t>x</learning>",
            "<learning tags>x</learning>",
            "<learning tags=\"a\"b=\"c\">x</learning>",
            "<learning tags=\"a\" / >x</learning>",
            "<learning =\"a\">x</learning>",
            "<learning tags='t>",
            "<learning tags=",
            "<learning tags=\"a\">x",
            "<learning/>",
        ] {
            assert_eq!(contents(&format!("{bad}{good}")), ["good"], "{bad}");
        }
    }
}
