//! Every text that a person or an agent can read, in one file, so that all of them can be read in one go.
//!
//! The help comes from the command line itself. The rest are the string literals of the sources that look like prose;
//! literals that recognize the output of other programs, and SQL, are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::CommandFactory;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::docs_tests::{check, root};

/// Modules whose literals are patterns of other programs' output, not texts of Ralph's.
const RECOGNIZERS: [&str; 5] = [
    "ralph-core/src/capture/error_line",
    "ralph-core/src/diagnose",
    "ralph-core/src/fingerprint",
    "ralph-core/src/store/sqlite/",
    "ralph-core/src/text/secrets",
];

/// Words that stand in SQL and not in prose.
const SQL: [&str; 9] = [
    "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WHERE ", " FROM ", "CREATE ", "PRAGMA ", "BEGIN ",
];

#[test]
fn docs_texts_are_up_to_date() {
    let mut text = String::from(
        "Every text of Ralph's that a person or an agent can read. Generated: RALPH_UPDATE_DOCS=1 cargo test -p ralph docs\n",
    );
    let mut command = crate::cli::Cli::command();
    command.build();
    help(&command, "", &mut text);
    for name in ["rules.md", "task.md"] {
        let path = root().join("crates/ralph-core/templates").join(name);
        let template = fs::read_to_string(path).unwrap();
        write!(text, "\n== templates/{name}\n\n{template}").unwrap();
    }
    let mut files = BTreeMap::new();
    for name in ["ralph-core", "ralph"] {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    for (file, literals) in files {
        write!(text, "\n== {file}\n\n").unwrap();
        for literal in literals {
            writeln!(text, "- {}", literal.replace("\\n", "⏎").replace('\n', "⏎")).unwrap();
        }
    }
    check("texts.txt", &text);
}

fn help(command: &clap::Command, above: &str, text: &mut String) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = format!("{above}{}", command.get_name());
    let page = command.clone().term_width(100).render_long_help();
    write!(text, "\n== {name} --help\n\n{page}").unwrap();
    for below in command.get_subcommands() {
        help(below, &format!("{name} "), text);
    }
}

/// The prose in each source file below a directory that has any.
fn sources(dir: &Path, found: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = path.strip_prefix(root().join("crates")).unwrap();
        let file = file.to_string_lossy().into_owned();
        let is_test = name == "tests" || name.ends_with("tests.rs") || name == "samples";
        if is_test || RECOGNIZERS.iter().any(|prefix| file.starts_with(prefix)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            let tokens: TokenStream = fs::read_to_string(&path).unwrap().parse().unwrap();
            let mut literals = Vec::new();
            walk(tokens, &mut literals);
            if !literals.is_empty() {
                found.insert(file, literals);
            }
        }
    }
}

/// Collects the prose in tokens, without doc comments and what is compiled for tests only.
fn walk(tokens: TokenStream, found: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let Some(TokenTree::Group(attribute)) = tokens.peek() else {
                    continue;
                };
                match kind_of(attribute) {
                    Attribute::Doc => drop(tokens.next()),
                    Attribute::Test => {
                        // Up to the end of the item that it stands before.
                        let is_end = |token: &TokenTree| match token {
                            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                            TokenTree::Punct(punct) => punct.as_char() == ';',
                            _ => false,
                        };
                        tokens.next();
                        tokens.find(is_end);
                    }
                    Attribute::Other => {}
                }
            }
            TokenTree::Group(group) => walk(group.stream(), found),
            TokenTree::Literal(literal) => {
                found.extend(text_of(&literal.to_string()).filter(|text| is_prose(text)));
            }
            _ => {}
        }
    }
}

enum Attribute {
    Doc,
    Test,
    Other,
}

fn kind_of(attribute: &Group) -> Attribute {
    let text = attribute.stream().to_string();
    if text.starts_with("doc") {
        Attribute::Doc
    } else if text == "test" || (text.starts_with("cfg") && text.contains("test")) {
        Attribute::Test
    } else {
        Attribute::Other
    }
}

/// The text of a string literal; none of another one. Escapes stay as they are written, but for those of quotes and line ends.
fn text_of(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        return Some(raw.trim_matches(['#', '"']).to_owned());
    }
    let text = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut lines = text.split("\\\n");
    let first = lines.next()?.to_owned();
    let text = lines.fold(first, |text, line| text + line.trim_start());
    Some(text.replace("\\\"", "\""))
}

/// At least two words of letters, and neither SQL nor a pattern.
fn is_prose(text: &str) -> bool {
    let words = text
        .split_whitespace()
        .filter(|word| word.chars().filter(|c| c.is_ascii_lowercase()).count() >= 2)
        .count();
    let is_pattern = ["(?", "\\b", "\\d", "\\s", "[^"]
        .iter()
        .any(|mark| text.contains(mark));
    words >= 2 && !is_pattern && !SQL.iter().any(|word| text.contains(word))
}
