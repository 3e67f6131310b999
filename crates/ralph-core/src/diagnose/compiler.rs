//! Compiler errors: the code, the file and the symbol of each.

use std::collections::BTreeSet;

use super::Tool;
use super::lines::{Quotes, normal};
use super::shapes::{base_name, insert_bounded, place, quoted};
use crate::text::{Pattern, group};

/// More errors than this are as good as all of them.
const ERRORS: usize = 500;

/// One error that a compiler or linter reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompilerError {
    /// The compiler's code for it, such as `E0433`; where it has none, its message without what is quoted in it.
    pub code: String,
    /// The name of the file, without its directories.
    pub file: String,
    pub symbol: String,
    /// Without what changes from run to run.
    pub message: String,
    path: String,
    tool: Tool,
}

impl CompilerError {
    fn new(tool: &'static str, code: &str, path: &str, message: &str) -> Self {
        let absent = message.strip_suffix(": No such file or directory");
        let symbol = quoted(message).or(absent).unwrap_or_default();
        let file = Some(base_name(path.trim())).filter(|file| !file.ends_with(".o"));
        Self {
            tool: Tool(tool),
            code: match code {
                "" => normal(message, Quotes::Drop),
                code => code.to_owned(),
            },
            file: file.unwrap_or_default().to_owned(),
            // A symbol that is a whole path may lie in another directory next time.
            symbol: match symbol.starts_with('/') || absent.is_some() {
                true => base_name(symbol).to_owned(),
                false => symbol.to_owned(),
            },
            message: normal(message, Quotes::Keep),
            path: path.trim().to_owned(),
        }
    }

    /// The file as it was printed, if it names one.
    pub(crate) fn path(&self) -> Option<&str> {
        let path = self.path.trim_start_matches("./");
        (!path.is_empty()).then_some(path)
    }

    /// The compiler's code, where it is one: `E0433`, `TS2304`, but not `no-undef`.
    pub(crate) fn plain_code(&self) -> Option<&str> {
        static CODE: Pattern = Pattern::new("^[A-Z]+[0-9]{3,}$");
        (self.code.len() <= 10 && CODE.is_match(&self.code)).then_some(&self.code)
    }
}

#[derive(Default)]
pub(super) struct Compiler {
    errors: BTreeSet<CompilerError>,
    tool: Option<Tool>,
    /// rustc's error, until the line that says where.
    unplaced: Option<(String, String)>,
    /// javac's error, whose symbol follows on a line of its own.
    javac: Option<CompilerError>,
    /// The file whose findings eslint lists.
    listed: String,
}

/// Lines that only some compilers write; each has its own way to the path, the code and the message.
static RUSTC: Pattern = Pattern::new(r"^(?: *error\[(?<code>[^\]]+)\]: |error: )(?<message>.*)$");
static RUSTC_PLACE: Pattern = Pattern::new(r"^ *--> (?<name>[^ ].*?)(?::[0-9:]+)?$");
static JAVAC_SYMBOL: Pattern = Pattern::new(r"^(?:\[ERROR\])? *symbol: *(?<name>.*)$");
static LINKER: Pattern = Pattern::new(
    r"(?:^|[ /])(?<file>[^ /:(]+\.[^ /:(]+)(?::[0-9]+)?(?::?\([^)]*\))?: *undefined reference to (?<symbol>.*)$|undefined reference to (?<alone>.*)$",
);
static ESLINT: Pattern = Pattern::new(r"^ +[0-9]+:[0-9]+ +error +(?<message>.*?)(?:  +(?<rule>[^ ]+))?$");
/// The file above eslint's findings.
static LISTED: Pattern = Pattern::new(r"^(?:/.{1,498}\.[^ ]*|[^ \t:]{0,498}\.[^ \t:]*)$");
/// What follows a place: `error TS2322: …`, `error: … [-Wflag]`, `… [Error/rule]`, and Go's `undefined: x`.
static CODED: Pattern = Pattern::new(r"^error (?<code>[A-Z]+[0-9]+): (?<message>.*)$");
static PLAIN: Pattern = Pattern::new(r"^(?:fatal )?error: (?<message>.*?(?: \[(?<flag>[^ \]]+)\])?)$");
static RULE: Pattern = Pattern::new(r"^(?<message>.*) \[Error/(?<code>.*?)\]?$");
static GO: Pattern = Pattern::new(r"^(?<code>.*?): (?<symbol>[^ \t]*)");
/// Maven's way with javac: `/p/A.java:[3,5] cannot find symbol`.
static MAVEN: Pattern =
    Pattern::new(r"^(?<path>.*\.(?:java|kt|scala|groovy)):\[[0-9,]+\] (?:error: )?(?<message>.*)$");

impl Compiler {
    pub(super) fn line(&mut self, line: &str) {
        // What pytest quotes belongs to a test's message.
        if line.len() < 6 || line.starts_with("E  ") {
            return;
        }
        if line.contains("error")
            && let Some(found) = RUSTC.captures(line)
        {
            self.flush();
            let of = |name| group(&found, name).to_owned();
            self.unplaced = Some((of("code"), of("message")));
        } else if line.contains("--> ")
            && let Some(path) = RUSTC_PLACE.name(line)
        {
            if let Some((code, message)) = self.unplaced.take() {
                self.add(CompilerError::new("rustc", &code, path, &message));
            }
        } else if line.contains("symbol:")
            && let Some(symbol) = JAVAC_SYMBOL.name(line)
        {
            if let Some(error) = self.javac.take() {
                let symbol = symbol.to_owned();
                self.add(CompilerError { symbol, ..error });
            }
        } else {
            if line.starts_with("warning") {
                self.flush();
            }
            self.other(line.strip_prefix("[ERROR] ").unwrap_or(line));
        }
    }

    fn other(&mut self, text: &str) {
        if !text.starts_with(' ') && LISTED.is_match(text) {
            text.clone_into(&mut self.listed);
        }
        if !self.listed.is_empty()
            && text.contains(" error ")
            && let Some(found) = ESLINT.captures(text)
        {
            let (rule, message) = (group(&found, "rule"), group(&found, "message"));
            let error = CompilerError::new("eslint", rule, &self.listed, message);
            self.add(error);
        } else if text.contains("undefined reference to ")
            && let Some(found) = LINKER.captures(text)
        {
            let symbol = [group(&found, "symbol"), group(&found, "alone")].concat();
            let file = group(&found, "file");
            let error = CompilerError::new("ld", "undefined reference", file, "undefined reference");
            let symbol = quoted(&symbol).unwrap_or(symbol.trim()).to_owned();
            self.add(CompilerError { symbol, ..error });
        } else if let Some(at) = place(text) {
            let path = at.path.strip_prefix("vet: ").unwrap_or(at.path);
            if !path.contains(": ") && !path.starts_with("thread '") {
                self.placed(path, at.numbers, at.rest);
            }
        } else if text.contains(":[")
            && let Some(found) = MAVEN.captures(text)
        {
            self.plain("javac", "", group(&found, "path"), group(&found, "message"));
        }
    }

    /// An error at a place: the C family, TypeScript, Java, Go.
    fn placed(&mut self, path: &str, numbers: usize, rest: &str) {
        let rest = rest.trim_start().trim_start_matches("- ");
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        if let Some(found) = CODED.captures(rest) {
            let (code, message) = (group(&found, "code"), group(&found, "message"));
            let tool = if code.starts_with("TS") { "tsc" } else { "msbuild" };
            self.add(CompilerError::new(tool, code, path, message));
        } else if let Some(found) = PLAIN.captures(rest) {
            let tool = match ending {
                "java" => "javac",
                "py" | "pyi" => "mypy",
                _ => "gcc",
            };
            self.plain(tool, group(&found, "flag"), path, group(&found, "message"));
        } else if let Some(found) = RULE.captures(rest) {
            let (code, message) = (group(&found, "code"), group(&found, "message"));
            self.add(CompilerError::new("eslint", code, path, message));
        } else if numbers == 2 && ending == "go" && !path.starts_with([' ', '\t']) {
            let found = GO.captures(rest);
            let code = found.as_ref().map_or(rest, |found| group(found, "code"));
            let error = CompilerError::new("go", code, path, rest);
            let symbol = found.map(|found| group(&found, "symbol").to_owned());
            let symbol = symbol.unwrap_or_else(|| error.symbol.clone());
            self.add(CompilerError { symbol, ..error });
        }
    }

    /// An error without a code: its flag, else its wording stands for one.
    fn plain(&mut self, tool: &'static str, flag: &str, path: &str, message: &str) {
        let error = CompilerError::new(tool, flag, path, message);
        if tool == "javac" && error.symbol.is_empty() {
            self.flush();
            self.javac = Some(error);
        } else {
            self.add(error);
        }
    }

    /// Adds errors of which no more is to come. One of rustc's without a place counts by its code.
    fn flush(&mut self) {
        let unplaced = self.unplaced.take();
        let unplaced = unplaced.map(|(code, message)| CompilerError::new("rustc", &code, "", &message));
        let coded = unplaced.filter(|error| error.plain_code().is_some());
        for error in coded.into_iter().chain(self.javac.take()) {
            self.add(error);
        }
    }

    fn add(&mut self, error: CompilerError) {
        self.tool.get_or_insert(error.tool);
        insert_bounded(&mut self.errors, error, ERRORS);
    }

    /// The errors, sorted, and who reported the first.
    pub(super) fn finish(mut self) -> (Vec<CompilerError>, Option<Tool>) {
        self.flush();
        (self.errors.into_iter().collect(), self.tool)
    }
}

/// What a fingerprint is made of: code, file and symbol of each error, and the messages.
pub(super) fn evidence(errors: &[CompilerError]) -> (Vec<String>, Vec<String>) {
    let sorted = |part: &dyn Fn(&CompilerError) -> String| {
        let parts: BTreeSet<String> = errors.iter().map(part).collect();
        parts.into_iter().collect()
    };
    (
        sorted(&|error| format!("{} {} {}", error.code, error.file, error.symbol)),
        sorted(&|error| format!("{}: {}", error.file, error.message)),
    )
}
