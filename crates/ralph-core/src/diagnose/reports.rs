//! Structured reports: JUnit's XML, which many runners write, the output of its console launcher, and the events of
//! `go test -json`. Tests of JUnit are named as surefire names them: `com.foo.BarTest.testX`,
//! `com.foo.BarTest.testY(int)[2]`.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{self, BytesStart};

use serde::Deserialize;

use crate::text::{Pattern, group};

/// What a report says of a failing test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: String,
    pub(super) test: String,
    /// The type of the exception, perhaps empty.
    pub(super) kind: String,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn name(&self) -> String {
        qualified(&self.class, &self.test)
    }
}

/// A report that is read line by line, as it comes.
#[derive(Default)]
pub(super) struct Report {
    /// The class and the name of the test whose element is open.
    case: Option<(String, String)>,
    /// Whether the text of the element that is open is its message.
    wants_message: bool,
}

impl Report {
    /// Whether the lines that are read belong to a test.
    pub(super) const fn in_test(&self) -> bool {
        self.case.is_some()
    }

    /// The failures on a raw line, which may hold the whole report.
    pub(super) fn line(&mut self, line: &str) -> Vec<Failure> {
        let text = line.trim_start();
        let starts = text.starts_with('<') && text.contains("<testcase");
        if !(starts || self.in_test() && text.contains('<')) {
            return Vec::new();
        }
        let mut found = Vec::new();
        if let Some(cut) = self.elements(text, &mut found) {
            // Of a tag or a text that was cut, its beginning counts.
            let end = if cut.starts_with("<![CDATA[") { "]]>" } else { "\">" };
            self.elements(&format!("{cut}{end}"), &mut found);
        }
        for failure in &mut found {
            let message = failure.message.trim().lines().next();
            failure.message = message.unwrap_or_default().to_owned();
        }
        found
    }

    /// Reads the elements of a text; what is left where one of them does not end.
    fn elements<'t>(&mut self, text: &'t str, found: &mut Vec<Failure>) -> Option<&'t str> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        config.expand_empty_elements = true;
        loop {
            let said = match reader.read_event() {
                Ok(events::Event::Eof) => return None,
                Err(_) => {
                    let at = usize::try_from(reader.error_position()).ok()?;
                    return text.get(at..);
                }
                Ok(events::Event::Start(tag)) => {
                    self.open(&tag, found);
                    continue;
                }
                Ok(events::Event::End(tag)) => {
                    self.wants_message = false;
                    if tag.name().as_ref() == "testcase" {
                        self.case = None;
                    }
                    continue;
                }
                Ok(events::Event::Text(said)) => said.to_string(),
                Ok(events::Event::CData(said)) => said.to_string(),
                Ok(events::Event::GeneralRef(name)) => unescaped(&format!("&{};", &*name)),
                Ok(_) => continue,
            };
            if let (true, Some(last)) = (self.wants_message, found.last_mut()) {
                last.message.push_str(&said);
            }
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>, found: &mut Vec<Failure>) {
        self.wants_message = false;
        match (tag.name().as_ref(), &self.case) {
            ("testcase", _) => {
                self.case = Some((attribute(tag, "classname"), attribute(tag, "name")));
            }
            ("failure" | "error", Some((class, test))) => {
                let message = attribute(tag, "message");
                // Without that attribute, its text is the message.
                self.wants_message = message.is_empty();
                found.push(Failure {
                    class: class.clone(),
                    test: test.replacen("()", "", 1),
                    kind: attribute(tag, "type"),
                    message,
                });
            }
            _ => {}
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let mut attributes = tag.attributes();
    let mut attributes = attributes.with_checks(false).flatten();
    let found = attributes.find(|it| it.key.as_ref() == name);
    found.map(|it| unescaped(&it.value)).unwrap_or_default()
}

fn unescaped(text: &str) -> String {
    unescape(text).map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}

/// A class and a test in it; either may be missing.
fn qualified(class: &str, test: &str) -> String {
    if class.is_empty() || test.is_empty() { format!("{class}{test}") } else { format!("{class}.{test}") }
}

static HEADING: Pattern = Pattern::new(r"^Failures \([0-9]+\):$");
static HEADER: Pattern = Pattern::new(r"^  (?<name>[^ ].*:.*)$");
static SOURCE: Pattern = Pattern::new(concat!(
    r"^ *(?:Method|Class)Source \[.*?className = '(?<class>[^']*)'",
    r"(?:.*?methodName = '(?<method>[^']*)')?(?:.*?methodParameterTypes = '(?<types>[^']*)')?"
));
/// Which invocation of its method a title is about: `[2] a, b`, `repetition 2 of 3`.
static INVOCATION: Pattern = Pattern::new(r"^(?:\[(?<name>[0-9]+)\]|repetition (?<again>[0-9]+) of )");

/// What the console launcher prints.
#[derive(Default)]
pub(super) struct Console {
    in_failures: bool,
    /// `  JUnit Jupiter:BarTest:testX()`, until the line below says more.
    header: Option<String>,
}

impl Console {
    /// The failing test that a line, and perhaps the one before, names.
    pub(super) fn line(&mut self, line: &str) -> Option<String> {
        let header = self.header.take();
        if line.contains("Source [")
            && let Some(source) = SOURCE.captures(line)
        {
            let (class, method) = (group(&source, "class"), group(&source, "method"));
            let header = header.unwrap_or_default();
            return Some(match method {
                "" => class.to_owned(),
                _ => qualified(class, &method_of(method, group(&source, "types"), &header)),
            });
        }
        if line.starts_with("Failures (") && HEADING.is_match(line) {
            self.in_failures = true;
        } else if self.in_failures && line.starts_with("Test run finished") {
            self.in_failures = false;
        } else if let Some(header) = header.filter(|_| line.trim_start().starts_with("=> ")) {
            return Some(titled(&header));
        } else if self.in_failures {
            self.header = HEADER.name(line).map(str::to_owned);
        }
        None
    }
}

/// `testY(int)[2]`; which of its invocations it was stands in the header only.
fn method_of(method: &str, types: &str, header: &str) -> String {
    let types = types.split(", ").filter_map(|path| path.rsplit(['.', '$']).next());
    let types: Vec<&str> = types.filter(|name| !name.is_empty()).collect();
    let types = match types.as_slice() {
        [] => String::new(),
        types => format!("({})", types.join(", ")),
    };
    let below = header.split_once(&format!(":{method}("));
    let below = below.and_then(|(_, rest)| Some(rest.split_once("):")?.1));
    let last = header.rsplit(':').next().filter(|part| INVOCATION.is_match(part));
    let invocation = below.or(last).map(invocation).unwrap_or_default();
    format!("{method}{types}{invocation}")
}

/// `JUnit Jupiter:BarTest:testX()`, where it stands alone.
fn titled(header: &str) -> String {
    header.split(':').skip(1).fold(String::new(), |name, part| {
        if INVOCATION.is_match(part) {
            name + &invocation(part)
        } else {
            qualified(&name, &part.replacen("()", "", 1))
        }
    })
}

/// `[2]`, else the whole title.
fn invocation(title: &str) -> String {
    let Some(found) = INVOCATION.captures(title) else {
        return format!(" {title}");
    };
    format!("[{}{}]", group(&found, "name"), group(&found, "again"))
}

/// An event of `go test -json`, one on each line.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Event {
    action: String,
    package: Option<String>,
    /// Of what is being built.
    import_path: Option<String>,
    pub(super) test: Option<String>,
    #[serde(default)]
    pub(super) output: String,
}

impl Event {
    pub(super) fn read(line: &str) -> Option<Self> {
        if !line.starts_with('{') || !line.contains("\"Action\":\"") {
            return None;
        }
        // The output stands last: of a line that was cut, its beginning counts.
        let event: Self = serde_json::from_str(line).ok().or_else(|| {
            let (whole, _) = line.rsplit_once(' ')?;
            serde_json::from_str(&format!("{whole}\"}}")).ok()
        })?;
        (event.package.is_some() || event.import_path.is_some()).then_some(event)
    }

    pub(super) fn failed(&self) -> Option<(&str, &str)> {
        let test = self.test.as_deref().filter(|_| self.action == "fail")?;
        Some((self.package.as_deref().unwrap_or_default(), test))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut report = Report::default();
        let told = |f: Failure| format!("{} {} {} {}", f.class, f.test, f.kind, f.message);
        let mut found = Vec::new();
        for line in text.lines() {
            found.extend(report.line(line).into_iter().map(told));
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
        assert_eq!(read("<testcase name=\"a\">\n<error><![CDATA[E: <x>\n"), [" a  E: <x>"]);
        assert_eq!(read("<testcase name=\"a\">\n<error message=\"cut & of"), [" a  cut & of"]);
    }

    #[test]
    fn events_are_told_from_other_json() {
        let fail = r#"{"Time":"x","Action":"fail","Package":"p","Test":"TestA/b","Elapsed":0.1}"#;
        assert_eq!(Event::read(fail).unwrap().failed(), Some(("p", "TestA/b")));
        let whole = r#"{"Action":"fail","Package":"p","Elapsed":0.1}"#;
        assert_eq!(Event::read(whole).unwrap().failed(), None);
        let build = r#"{"ImportPath":"p","Action":"build-output","Output":"a.go:1:2: x\n"}"#;
        assert_eq!(Event::read(build).unwrap().output, "a.go:1:2: x\n");
        let cut = r#"{"Action":"output","Package":"p","Output":"got 3, want \u00"#;
        assert_eq!(Event::read(cut).unwrap().output, "got 3, want");
        for other in [
            "{",
            "{}",
            r#"{"Action":"fail"}"#,
            r#"{"Action":3,"Package":"p"}"#,
            r#"{"Action":"fail","Package""#,
            "x {\"Action\":\"fail\",\"Package\":\"p\"}",
        ] {
            assert!(Event::read(other).is_none(), "{other}");
        }
    }
}
