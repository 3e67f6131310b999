//! Documents that are generated, and the promises: checked for drift.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::exit::RunExit;

use crate::settings::{AGENT_FIELDS, Kind, Settings};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Compares a document with what it should be, or writes it.
pub fn check(name: &str, expected: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("RALPH_UPDATE_DOCS").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let actual = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "docs/{name} is out of date; run RALPH_UPDATE_DOCS=1 cargo test -p ralph docs"
    );
}

#[test]
fn docs_exit_codes_are_up_to_date() {
    let mut text = String::from(
        "# Exit codes\n\nThe exit codes of `ralph run`. If several apply, the first in this table wins. Other commands use \
         0, 1 and 2.\n\n| exit | reason |\n|---|---|\n",
    );
    for exit in RunExit::ALL {
        writeln!(text, "| {} | {} |", exit.code(), exit.meaning()).unwrap();
    }
    check("exit-codes.md", &text);
}

#[test]
fn docs_settings_are_up_to_date() {
    let mut text = String::from(
        "# Settings\n\nRalph reads `.ralph.toml` from the working directory or the nearest directory above it. Where a setting \
         comes from several places, the first of these wins:\n\n\
         1. a command-line flag\n\
         2. the environment variable `RALPH_SET_<SECTION>_<KEY>`\n\
         3. the state file of an imported spec (`.ralph-state.json`, see [plans.md](plans.md))\n\
         4. `.ralph.toml`\n\
         5. the default\n\n\
         `ralph config show` shows what is set and where each value comes from; add `--all` to see every setting. `ralph \
         config set KEY VALUE` changes a setting, `ralph config unset KEY` restores its default. Each table may appear \
         only once in the file. A duration is a number of seconds, or has a unit: `90`, `\"30m\"`, `\"1h30m\"`.\n",
    );
    let mut section = "";
    for (key, setting) in Settings::default().all() {
        if key.section != section {
            section = key.section;
            write!(text, "\n## [{section}]\n\n| key | takes | default | what it does |\n|---|---|---|---|\n")
                .unwrap();
        }
        let (takes, default) = (takes(key.kind), setting.shown_text().unwrap_or_default());
        writeln!(text, "| `{}` | {takes} | {default} | {} |", key.name, key.doc).unwrap();
    }
    text.push_str("\n## [agents.NAME]\n\n| key | takes | what it does |\n|---|---|---|\n");
    for field in AGENT_FIELDS {
        writeln!(text, "| `{}` | {} | {} |", field.name, takes(field.kind), field.doc).unwrap();
    }
    text.push_str(
        "\nThe agents `claude`, `codex`, `gemini` and `opencode` are built in; a table with one of these names changes its \
         settings. Any other name needs `kind`, and `kind = \"command\"` needs `command`. `ralph config show --all` shows \
         every setting, with secrets masked.\n",
    );
    check("config.md", &text);
}

fn takes(kind: Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Count => "integer ≥ 1".to_owned(),
        Kind::CountOrZero => "integer ≥ 0".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::Duration => "duration".to_owned(),
        Kind::Flag => "true, false".to_owned(),
        Kind::FlagOrPath => "true, false, path".to_owned(),
        Kind::Choice(words) => words().join(", "),
        Kind::Words => "list of names".to_owned(),
        Kind::Patterns => "list of paths".to_owned(),
        Kind::Choices(words) => format!("list of: {}", words().join(", ")),
        Kind::Network(words) => format!("{}, list of hosts", words.join(", ")),
        Kind::Size => "size such as 4G".to_owned(),
        Kind::Arguments => "list of words".to_owned(),
        Kind::Table(example) => format!("table: `{example}`"),
    }
}

/// Every test named in docs/promises.md exists.
#[test]
fn docs_promises_name_tests_that_exist() {
    let promises = fs::read_to_string(root().join("docs/promises.md")).unwrap();
    let mut source = String::new();
    collect(&root().join("crates"), &mut source);
    let mut named = 0;
    for line in promises.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let Some(tests) = line.split('|').nth(3) else { continue };
        for name in tests.split('`').skip(1).step_by(2) {
            named += 1;
            assert!(source.contains(&format!("fn {name}(")), "no test is named {name}: {line}");
        }
    }
    assert!(named > 50, "only {named} tests are named");
    // And every test that bears a rule's id is listed.
    for name in source.split("fn ").skip(1).filter_map(|rest| rest.split('(').next()) {
        let mut words = name.split('_');
        let group = words.next().unwrap_or_default();
        let number = words.next().unwrap_or_default();
        let is_rule = RULES.contains(&group) && number.len() == 2 && number.parse::<u32>().is_ok();
        if is_rule {
            assert!(promises.contains(&format!("`{name}`")), "docs/promises.md does not list {name}");
        }
    }
}

const RULES: [&str; 37] = [
    "plan", "out", "sig", "rep", "lsg", "dif", "sug", "dia", "cap", "sch", "ctx", "att", "lrn", "loop",
    "phf", "bud", "life", "str", "fp", "ext", "exit", "cli", "file", "rcp", "brk", "pau", "ana", "agm",
    "imp", "rcl", "rcd", "rcg", "rci", "rcs", "rcx", "rch", "mod",
];

fn collect(dir: &Path, source: &mut String) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, source);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            source.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
