//! `ralph init`: what it finds, asks and writes.

use std::fs;
use std::path::{Path, PathBuf};

use expectrl::Expect;
use serde_json::json;

use crate::support::Project;

/// A program that does nothing, found before all others.
fn program(project: &mut Project, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    project.write(&format!("../bin/{name}"), "#!/bin/sh\n");
    let path = project.path(format!("../bin/{name}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A directory in which only the programs are found that a test puts there, and the system's own.
fn bare() -> Project {
    let mut project = Project::empty();
    let bin = project.path("../bin").display().to_string();
    project.set_env("PATH", &format!("{bin}:/usr/bin:/bin"));
    project
}

#[test]
fn init_is_safe_to_repeat() {
    let project = Project::empty();
    let first = project.ok(&["init"]).stdout;
    assert!(first.starts_with("Created .ralph.toml, "), "{first}");
    project.write(".ralph.toml", "# mine\n[run]\nlimit = 3\n");
    project.add(&["A"]);
    let second = project.ok(&["init"]).stdout;
    for words in ["nothing was changed", "run.limit", "1 task"] {
        assert!(second.contains(words), "{second}");
    }
    assert!(project.read(".ralph.toml").starts_with("# mine\n"));
    let list = project.json(&["task", "list", "--json"]);
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert!(project.read(".ralph/.gitignore").contains('*'));
}

#[test]
fn init_writes_what_it_finds_and_says_so() {
    let mut project = bare();
    program(&mut project, "cargo");
    program(&mut project, "codex");
    project.set_env("CODEX_API_KEY", "x");
    project.git(&["init", "-q"]);
    project.write("Cargo.toml", "");
    project.write("AGENTS.md", "# Mine\n");
    let said = project.ok(&["init", "--yes"]).stdout;
    for words in [
        "Rust (Cargo.toml)",
        "`cargo test` is the gate of tasks without their own",
        "commits the work of each finished task",
        "codex, logged in",
        "Ralph maintains four sections",
        "memory.agents_md false",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let toml = project.read(".ralph.toml");
    let settings: Vec<&str> = toml.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        settings,
        [
            "",
            "[run]",
            "agent = \"codex\"",
            "",
            "[gate]",
            "default = \"cargo test\"   # the gate of every task that has none of its own",
            "",
            "[git]",
            "commit = \"on-success\"   # commit the work of each finished task",
        ]
    );
    assert_eq!(project.read("AGENTS.md"), "# Mine\n");
}

#[test]
fn init_names_what_is_missing_and_writes_no_gate_that_cannot_run() {
    let project = bare();
    project.write("mix.exs", "");
    project.write("test/x", "");
    let said = project.ok(&["init"]).stdout;
    for words in [
        "Elixir (mix.exs)",
        "none: `mix` is not installed, so `mix test` cannot run",
        "no repository",
        "claude, not installed: npm install",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!project.read(".ralph.toml").contains('['));

    let other = bare();
    other.write("mix.exs", "");
    other.write("test/x", "");
    other.git(&["init", "-q"]);
    let found = other.json(&["init", "--json"]);
    assert_eq!(found["detected"]["language"], "Elixir");
    assert_eq!(found["detected"]["test_command"], "mix test");
    assert_eq!(found["detected"]["missing_program"], "mix");
    assert_eq!(found["detected"]["git"], true);
    assert_eq!(found["detected"]["agents"][0]["name"], "claude");
    assert_eq!(found["detected"]["agents"][0]["installed"], false);
    assert_eq!(found["settings"], json!({ "git.commit": "on-success" }));
    assert_eq!(bare().ok(&["init", "--quiet"]).stdout, "");
}

#[test]
fn init_below_a_project_says_so_and_makes_another_only_on_request() {
    let project = Project::new();
    project.write("deep/down/x", "");
    let root = project.root().canonicalize().unwrap();
    for args in [&["-C", "deep/down", "init"][..], &["-C", "deep/down", "init", "--yes"]] {
        let no = project.ralph(args).expect_code(2);
        let above = format!("is inside the Ralph project at {}", root.display());
        assert!(no.stderr.contains(&above), "{}", no.stderr);
        assert!(no.stderr.contains("ralph init --here"), "{}", no.stderr);
        assert!(!project.path("deep/down/.ralph.toml").exists());
    }
    project.ok(&["-C", "deep/down", "init", "--here"]);
    assert!(project.path("deep/down/.ralph.toml").exists());
    // It is one itself now.
    project.ok(&["-C", "deep/down", "init"]);
}

#[test]
fn init_below_the_root_of_a_repository_says_so() {
    let project = bare();
    project.git(&["init", "-q"]);
    project.write("package.json", "{}");
    project.write("web/a/x", "");
    let root = project.root().canonicalize().unwrap();
    let made = project.ok(&["-C", "web/a", "init", "--yes"]);
    let told = format!(
        "inside the git repository at {}; to set up Ralph for all of it: cd {}",
        root.display(),
        root.display()
    );
    assert!(made.stderr.contains(&told), "{}", made.stderr);
    let mut terminal = project.in_terminal(&["-C", "web", "init"], 120);
    terminal.expect("Set up Ralph in this subdirectory only? [y/N]").unwrap();
    terminal.send("\r").unwrap();
    terminal.expect("Nothing was created.").unwrap();
    assert!(!project.path("web/.ralph.toml").exists());
}

#[test]
fn init_asks_in_a_terminal_and_takes_enter_for_yes() {
    let mut project = bare();
    program(&mut project, "make");
    program(&mut project, "gemini");
    project.git(&["init", "-q"]);
    project.write("Makefile", "test:\n\ttrue\n");
    project.write("AGENTS.md", "# Mine\n");
    let mut terminal = project.in_terminal(&["init"], 120);
    terminal.expect("Which agent should Ralph run").unwrap();
    terminal.send("cloude\r").unwrap();
    terminal.expect("Unknown agent `cloude`").unwrap();
    terminal.expect("[gemini]").unwrap();
    terminal.send("\r").unwrap();
    terminal.expect("[make test]").unwrap();
    terminal.send("\r").unwrap();
    terminal.expect("Commit the work of each finished task? [Y/n]").unwrap();
    terminal.send("n\r").unwrap();
    terminal.expect("AGENTS.md exists").unwrap();
    terminal.expect("[Y/n]").unwrap();
    terminal.send("no\r").unwrap();
    terminal.expect("ralph run").unwrap();
    let toml = project.read(".ralph.toml");
    for line in ["agent = \"gemini\"", "default = \"make test\"", "agents_md = false"] {
        assert!(toml.contains(line), "{line}: {toml}");
    }
    assert!(!toml.contains("commit ="), "{toml}");
}

#[test]
fn init_that_is_given_up_leaves_nothing() {
    let project = bare();
    let mut terminal = project.in_terminal(&["init"], 120);
    terminal.expect("Which agent should Ralph run").unwrap();
    terminal.send("\u{4}").unwrap();
    terminal.expect("canceled; nothing was created").unwrap();
    assert!(!project.path(".ralph.toml").exists());
    assert!(!project.path(".ralph").exists());
}

/// Blocks of a document that are TOML: indented ones, and fenced ones.
fn snippets(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut is_fenced = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        match line.strip_prefix("    ") {
            _ if is_fence => blocks.push(String::new()),
            _ if is_fenced => blocks.last_mut().unwrap().push_str(&format!("{line}\n")),
            Some(code) => blocks.last_mut().unwrap().push_str(&format!("{code}\n")),
            None if line.is_empty() => blocks.last_mut().unwrap().push('\n'),
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| block.trim_start().starts_with('['));
    blocks
}

#[test]
fn every_snippet_of_the_docs_can_be_pasted_at_the_end_of_what_init_writes() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = fs::read_dir(docs.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.push(docs.join("README.md"));
    let mut tried = 0;
    let plain = bare();
    plain.ok(&["init"]);
    let mut rust = bare();
    program(&mut rust, "cargo");
    rust.git(&["init", "-q"]);
    rust.write("Cargo.toml", "");
    rust.ok(&["init"]);
    for file in files {
        for snippet in snippets(&fs::read_to_string(&file).unwrap()) {
            tried += 1;
            for project in [&plain, &rust] {
                let written = project.read(".ralph.toml");
                project.configure(&snippet);
                let shown = project.ralph(&["config", "show"]);
                project.write(".ralph.toml", &written);
                let place = file.display();
                // TOML allows a table once; then the error says where both are.
                let is_twice = written
                    .lines()
                    .any(|line| line.starts_with('[') && snippet.lines().any(|other| other == line));
                if is_twice {
                    assert!(shown.stderr.contains(" twice, on lines "), "{place}: {}", shown.stderr);
                } else {
                    assert_eq!(shown.code, 0, "{place}: {snippet}\n{}", shown.stderr);
                }
            }
        }
    }
    assert!(tried >= 4, "{tried}");
}
