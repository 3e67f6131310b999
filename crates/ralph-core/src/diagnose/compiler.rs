//! Compiler errors: the code, the file and the symbol of each.

use std::collections::BTreeSet;

use super::Tool;
use super::diagnostic::{Found, coded, is_file, maven, undefined_reference};
use super::normal::{Quotes, normal};
use super::shape;

/// More errors than this are as good as all of them.
const ERRORS: usize = 500;

/// The compiler errors of an output.
#[derive(Default)]
pub(super) struct Compiler {
    errors: BTreeSet<String>,
    messages: BTreeSet<String>,
    tool: Option<Tool>,
    /// rustc's header, until the line that says where.
    rustc: Option<(String, String)>,
    /// The file whose findings eslint lists.
    listed: String,
    /// javac's error, whose symbol follows on a line of its own.
    javac: Option<String>,
}

impl Compiler {
    pub(super) fn line(&mut self, line: &str) {
        // What pytest quotes belongs to a test's message.
        if line.len() < 6 || line.starts_with("E  ") {
            return;
        }
        if self.rust(line) || self.javac_symbol(line) {
            return;
        }
        let text = line.strip_prefix("[ERROR] ").unwrap_or(line);
        if self.eslint(text) {
            return;
        }
        if let Some(found) = undefined_reference(text) {
            self.add(&found);
        } else if let Some((path, numbers, rest)) = shape::place(text) {
            self.placed(path, numbers, rest);
        } else if let Some((path, message)) = maven(text) {
            self.plain(Tool::Javac, path, message);
        }
    }

    /// An error at a place: the C family, TypeScript, Java, Go.
    fn placed(&mut self, path: &str, numbers: usize, rest: &str) {
        let path = path.strip_prefix("vet: ").unwrap_or(path);
        if path.contains(": ") {
            return;
        }
        let rest = rest.trim_start().trim_start_matches("- ");
        if let Some((code, message)) = coded(rest) {
            let symbol = shape::quoted(message).unwrap_or_default();
            let ours = code.starts_with("TS");
            let tool = if ours {
                Tool::Typescript
            } else {
                Tool::Msbuild
            };
            let file = shape::base_name(path);
            self.add(&Found {
                tool,
                code,
                file,
                symbol,
                message,
            });
        } else if let Some(message) = rest
            .strip_prefix("error: ")
            .or_else(|| rest.strip_prefix("fatal error: "))
        {
            let tool = match path.rsplit_once('.') {
                Some((_, "java")) => Tool::Javac,
                Some((_, "py" | "pyi")) => Tool::Mypy,
                _ => Tool::Gcc,
            };
            self.plain(tool, path, message);
        } else if let Some((message, rule)) = rest.rsplit_once(" [Error/") {
            let symbol = shape::quoted(message).unwrap_or_default();
            let (tool, file) = (Tool::Eslint, shape::base_name(path));
            let code = rule.trim_end_matches(']');
            self.add(&Found {
                tool,
                code,
                file,
                symbol,
                message,
            });
        } else if numbers == 2 && is_file(path, "go") && !path.starts_with([' ', '\t']) {
            let (code, symbol) = match rest.split_once(": ") {
                Some((code, after)) => (code, shape::word(after)),
                None => (rest, shape::quoted(rest).unwrap_or_default()),
            };
            let (tool, file) = (Tool::Go, shape::base_name(path));
            self.add(&Found {
                tool,
                code,
                file,
                symbol,
                message: rest,
            });
        }
    }

    /// An error without a code: its flag, else its wording stands for one.
    fn plain(&mut self, tool: Tool, path: &str, message: &str) {
        let absent = message
            .strip_suffix(": No such file or directory")
            .map(shape::base_name);
        let symbol = shape::quoted(message).or(absent).unwrap_or_default();
        let flag = message
            .strip_suffix(']')
            .and_then(|m| m.rsplit_once(" ["))
            .map(|(_, flag)| flag)
            .filter(|flag| !flag.is_empty() && !flag.contains(' '));
        let wording = normal(message, Quotes::Drop);
        let file = shape::base_name(path.trim());
        let code = flag.unwrap_or(&wording);
        let found = Found {
            tool,
            code,
            file,
            symbol,
            message,
        };
        if tool == Tool::Javac && symbol.is_empty() {
            self.javac = Some(self.add(&found));
        } else {
            self.add(&found);
        }
    }

    /// `error[E0425]: …`, then `  --> src/lib.rs:1:39`. Whether the line was one of these.
    fn rust(&mut self, line: &str) -> bool {
        let text = line.trim_start();
        if let Some(place) = text.strip_prefix("--> ") {
            let Some((code, message)) = self.rustc.take() else {
                return true;
            };
            let path = shape::place(place).map_or(place, |(path, ..)| path);
            let symbol = shape::quoted(&message).unwrap_or_default();
            let (tool, file) = (Tool::Rustc, shape::base_name(path));
            self.add(&Found {
                tool,
                code: &code,
                file,
                symbol,
                message: &message,
            });
            return true;
        }
        if let Some((code, message)) = text
            .strip_prefix("error[")
            .and_then(|t| t.split_once("]: "))
        {
            self.rustc = Some((code.to_owned(), message.to_owned()));
            return true;
        }
        if let Some(message) = line.strip_prefix("error: ") {
            self.rustc = Some((normal(message, Quotes::Drop), message.to_owned()));
            return true;
        }
        if line.starts_with("warning") {
            self.rustc = None;
        }
        false
    }

    /// `  1:33  error  'b' is not defined  no-undef`, below the file's name.
    fn eslint(&mut self, line: &str) -> bool {
        if !line.starts_with(' ') {
            let path = line.trim_end();
            let one_word = !path.contains([' ', '\t', ':']) || path.starts_with('/');
            if one_word && path.contains('.') && path.len() < 500 {
                path.clone_into(&mut self.listed);
            }
            return false;
        }
        let text = line.trim();
        let (place, rest) = text.split_at(shape::word(text).len());
        let mut parts = place.split(':');
        let mut number = || parts.next().is_some_and(|p| p.parse::<u32>().is_ok());
        let Some(message) = rest.trim_start().strip_prefix("error ") else {
            return false;
        };
        if !(number() && number()) || self.listed.is_empty() {
            return false;
        }
        let message = message.trim();
        let (message, rule) = message.rsplit_once("  ").unwrap_or((message, ""));
        let listed = self.listed.clone();
        if rule.is_empty() {
            self.plain(Tool::Eslint, &listed, message);
            return true;
        }
        let symbol = shape::quoted(message).unwrap_or_default();
        let (tool, file) = (Tool::Eslint, shape::base_name(&listed));
        self.add(&Found {
            tool,
            code: rule.trim(),
            file,
            symbol,
            message,
        });
        true
    }

    /// `  symbol:   method foo()` after javac's `cannot find symbol`.
    fn javac_symbol(&mut self, line: &str) -> bool {
        let text = line.strip_prefix("[ERROR]").unwrap_or(line).trim_start();
        let Some(symbol) = text.strip_prefix("symbol:") else {
            return false;
        };
        if let Some(error) = self.javac.take() {
            self.errors.remove(&error);
            keep(&mut self.errors, format!("{error}{}", symbol.trim()));
        }
        true
    }

    fn add(&mut self, found: &Found<'_>) -> String {
        self.tool.get_or_insert(found.tool);
        let file = if found.file.ends_with(".o") {
            ""
        } else {
            found.file
        };
        // A symbol that is a whole path may lie in another directory next time.
        let absolute = found.symbol.starts_with('/');
        let symbol = if absolute {
            shape::base_name(found.symbol)
        } else {
            found.symbol
        };
        let error = format!("{} {file} {symbol}", found.code);
        keep(&mut self.errors, error.clone());
        keep(
            &mut self.messages,
            format!("{file}: {}", normal(found.message, Quotes::Keep)),
        );
        error
    }

    /// The errors, their messages, both sorted, and who reported the first.
    pub(super) fn finish(self) -> (Vec<String>, Vec<String>, Option<Tool>) {
        let list = |set: BTreeSet<String>| set.into_iter().collect();
        (list(self.errors), list(self.messages), self.tool)
    }
}

/// Keeps the first in order, so that the order in which they came does not matter.
fn keep(set: &mut BTreeSet<String>, entry: String) {
    set.insert(entry);
    if set.len() > ERRORS {
        set.pop_last();
    }
}
