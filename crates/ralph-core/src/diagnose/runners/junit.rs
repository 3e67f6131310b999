//! `JUnit`'s console launcher, and reports in its XML.

use super::super::Tool;
use super::super::names::Names;
use super::super::xml::Report;

/// What was named, as surefire writes it: `com.foo.BarTest.testX`, `com.foo.BarTest.testY(int)[2]`.
#[derive(Default)]
pub(super) struct Junit {
    names: Names,
    report: Report,
    in_failures: bool,
    /// `  JUnit Jupiter:BarTest:testX()`, until the line below says more.
    header: Option<String>,
}

impl Junit {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(failure) = self.report.line(line) {
            let test = without_parentheses(&failure.test);
            self.names.add(&qualified(&failure.class, &test));
            return;
        }
        let header = self.header.take();
        let text = line.trim_start();
        if let Some(source) = text.strip_prefix("MethodSource [") {
            let header = header.unwrap_or_default();
            self.names.add(&method(source, &header));
        } else if let Some(source) = text.strip_prefix("ClassSource [") {
            self.names.add(field(source, "className"));
        } else if is_heading(line) {
            self.in_failures = true;
        } else if !self.in_failures {
        } else if text.starts_with("Test run finished") {
            self.in_failures = false;
        } else if let Some(header) = header.filter(|_| text.starts_with("=> ")) {
            self.names.add(&titled(&header));
        } else if text.contains(':') && line.starts_with("  ") && !line.starts_with("   ") {
            self.header = Some(text.to_owned());
        }
    }

    pub(super) fn finish(self) -> (Tool, Names) {
        (Tool::Junit, self.names)
    }
}

/// A class and a test in it; either may be missing.
fn qualified(class: &str, test: &str) -> String {
    if class.is_empty() || test.is_empty() {
        format!("{class}{test}")
    } else {
        format!("{class}.{test}")
    }
}

/// `testX()` and `testX()[1]` as surefire writes them.
pub(super) fn without_parentheses(test: &str) -> String {
    test.replacen("()", "", 1)
}

/// `Failures (2):`
fn is_heading(line: &str) -> bool {
    line.strip_prefix("Failures (")
        .and_then(|rest| rest.strip_suffix("):"))
        .is_some_and(|count| count.parse::<u32>().is_ok())
}

/// The value of `key = 'value'`.
fn field<'a>(source: &'a str, key: &str) -> &'a str {
    source
        .split_once(key)
        .and_then(|(_, rest)| rest.strip_prefix(" = '")?.split_once('\''))
        .map_or("", |(value, _)| value)
}

/// `className = 'com.foo.BarTest', methodName = 'testX', methodParameterTypes = 'int'`; which of its
/// invocations it was stands in the header only.
pub(in super::super) fn method(source: &str, header: &str) -> String {
    let name = field(source, "methodName");
    let types: Vec<&str> = field(source, "methodParameterTypes")
        .split(", ")
        .filter_map(|path| path.rsplit(['.', '$']).next())
        .filter(|name| !name.is_empty())
        .collect();
    let types = if types.is_empty() {
        String::new()
    } else {
        format!("({})", types.join(", "))
    };
    let below = header
        .split_once(&format!(":{name}("))
        .and_then(|(_, rest)| rest.split_once("):"))
        .map(|(_, invocation)| invocation);
    let last = header
        .rsplit(':')
        .next()
        .filter(|part| index(part).is_some());
    let invocation = below.or(last).map(invocation).unwrap_or_default();
    qualified(
        field(source, "className"),
        &format!("{name}{types}{invocation}"),
    )
}

/// `JUnit Jupiter:BarTest:testX()`, where it stands alone.
fn titled(header: &str) -> String {
    let mut name = String::new();
    for part in header.split(':').skip(1) {
        if index(part).is_some() {
            name.push_str(&invocation(part));
        } else {
            name = qualified(&name, &without_parentheses(part));
        }
    }
    name
}

/// `[2]` for `[2] a, b` and `repetition 2 of 3`, else the whole title.
fn invocation(title: &str) -> String {
    index(title).map_or_else(|| format!(" {title}"), |index| format!("[{index}]"))
}

/// Which invocation of its method a title is about.
fn index(title: &str) -> Option<&str> {
    let bracketed = title.strip_prefix('[').and_then(|t| t.split_once(']'));
    let repeated = title
        .strip_prefix("repetition ")
        .and_then(|t| t.split_once(" of "));
    bracketed
        .or(repeated)
        .map(|(number, _)| number)
        .filter(|number| number.parse::<u32>().is_ok())
}
