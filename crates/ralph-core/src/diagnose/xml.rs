//! Test reports in JUnit's XML, which many runners write.

use std::borrow::Cow;

/// What opens the elements that count.
const ELEMENTS: [&str; 3] = ["<testcase", "<failure", "<error"];

/// A report that is being read line by line.
#[derive(Default)]
pub(super) struct Report {
    /// The class and the name of the test whose element is open.
    case: Option<(String, String)>,
}

/// What is reported of a failing test.
pub(super) struct Failure {
    pub(super) class: String,
    pub(super) test: String,
    /// The type of the exception, perhaps empty.
    pub(super) kind: String,
    pub(super) message: String,
}

impl Report {
    /// The failure that a line reports.
    pub(super) fn line(&mut self, line: &str) -> Option<Failure> {
        let text = line.trim_start();
        if let Some(tag) = Tag::read(text, "<testcase") {
            let of = |key: &str| tag.get(key).unwrap_or_default();
            self.case = (!tag.empty).then(|| (of("classname"), of("name")));
        }
        let (class, test) = self.case.as_ref()?;
        let tag = Tag::read(text, "<failure").or_else(|| Tag::read(text, "<error"));
        let failure = tag.map(|tag| {
            let message = tag.get("message").unwrap_or_else(|| tag.content());
            Failure {
                class: class.clone(),
                test: test.clone(),
                kind: tag.get("type").unwrap_or_default(),
                message: message
                    .trim_end()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            }
        });
        if text.contains("</testcase>") {
            self.case = None;
        }
        failure
    }

    /// Whether the lines that are read belong to a test.
    pub(super) const fn in_test(&self) -> bool {
        self.case.is_some()
    }
}

/// The tag that opens an element.
struct Tag<'a> {
    attributes: Vec<(&'a str, &'a str)>,
    /// Whether the element ends with it.
    empty: bool,
    rest: &'a str,
}

impl<'a> Tag<'a> {
    /// The tag that a text begins with, as far as it goes.
    fn read(text: &'a str, open: &str) -> Option<Self> {
        let mut rest = text.strip_prefix(open)?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t', '>', '/']) {
            return None;
        }
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start();
            let Some((key, after)) = rest
                .split_once('=')
                .filter(|(key, _)| !key.contains(['>', '/']))
            else {
                break;
            };
            let after = after.trim_start();
            let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                break;
            };
            let value = after.get(1..).unwrap_or_default();
            // A value may hold `>`; of a line that was cut, its beginning counts.
            let (value, next) = value.split_once(quote).unwrap_or((value, ""));
            attributes.push((key.trim_end(), value));
            rest = next;
        }
        let empty = rest.starts_with('/');
        let rest = rest.split_once('>').map_or("", |(_, rest)| rest);
        Some(Self {
            attributes,
            empty,
            rest,
        })
    }

    fn get(&self, key: &str) -> Option<String> {
        let (_, value) = self.attributes.iter().find(|(name, _)| *name == key)?;
        Some(unescaped(value).into_owned())
    }

    /// The text after it on the same line.
    fn content(&self) -> String {
        let text = self.rest.trim_start();
        match text.strip_prefix("<![CDATA[") {
            Some(data) => data.split("]]>").next().unwrap_or_default().to_owned(),
            None => unescaped(text.split('<').next().unwrap_or_default()).into_owned(),
        }
    }
}

/// A text without XML's escapes.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').unwrap_or(("", part));
        match character(name) {
            Some(c) => {
                out.push(c);
                out.push_str(after);
            }
            None => {
                out.push('&');
                out.push_str(part);
            }
        }
    }
    Cow::Owned(out)
}

fn character(name: &str) -> Option<char> {
    let code = match name {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => name.strip_prefix('#')?,
    };
    let number = match code.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => code.parse().ok()?,
    };
    char::from_u32(number)
}

/// A line of an output in parts: of a report without line ends, each element that counts is one.
pub(super) fn parts(line: &str) -> impl Iterator<Item = &str> {
    let is_report = line.contains("<testcase");
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(at) = next_element(text).filter(|_| is_report) else {
            return Some(text);
        };
        let (part, next) = text.split_at(at);
        rest = Some(next);
        Some(part)
    })
}

/// Where the next element that counts begins, right after another tag.
fn next_element(text: &str) -> Option<usize> {
    text.match_indices('<').map(|(at, _)| at).find(|&at| {
        let opens = |after: &str| ELEMENTS.iter().any(|open| after.starts_with(open));
        text.get(at..).is_some_and(opens)
            && text
                .get(..at)
                .is_some_and(|before| before.trim_end().ends_with('>'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut report = Report::default();
        let mut found = Vec::new();
        for line in text.lines().flat_map(parts) {
            if let Some(f) = report.line(line) {
                found.push(format!("{} {} {} {}", f.class, f.test, f.kind, f.message));
            }
        }
        found
    }

    #[test]
    fn failures_are_read_however_a_report_is_laid_out() {
        let element = "<testcase name='a \"b\"' classname=\"C\" time=\"1\">\n<failure message=\"x > &lt;1&gt;&#10;y\" type=\"E\">t</failure>\n</testcase>";
        let expected = ["C a \"b\" E x > <1>"];
        assert_eq!(read(element), expected);
        assert_eq!(read(&element.replace('\n', "")), expected);
        assert_eq!(read(&element.replace('\n', "  ")), expected);
        let whole = format!(
            "<?xml?><testsuite><testcase name=\"ok\"/>{element}<testcase name=\"p\"><skipped/></testcase></testsuite>"
        );
        assert_eq!(read(&whole.replace('\n', "")), expected);
    }

    #[test]
    fn what_is_no_failure_of_a_test_is_none() {
        for text in [
            "<error line=\"3\" message=\"style\"/>",
            "<testcase name=\"a\"/>\n<failure message=\"x\"/>",
            "<testcase name=\"a\"></testcase>\n<error message=\"x\"/>",
            "<testcase name=\"a\">\n<flakyFailure message=\"x\"/>\n<failures/>\n</testcase>",
        ] {
            assert!(read(text).is_empty(), "{text}");
        }
        assert_eq!(read("<testcase name=\"a\">\n<error/>"), [" a  "]);
        assert_eq!(
            read("<testcase name=\"a\">\n<error><![CDATA[E: <x>\n"),
            [" a  E: <x>"]
        );
        assert_eq!(
            read("<testcase name=\"a\">\n<error message=\"cut & of"),
            [" a  cut & of"]
        );
    }
}
