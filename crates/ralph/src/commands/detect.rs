//! What `ralph init` finds in and around a directory: language, test command, git, agents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ralph_core::files::{Limit, Links, read_text};
use ralph_core::gate::programs;
use ralph_core::git::{Git, Wants, Weight};
use ralph_core::which::{find, search_path};
use serde::Serialize;
use serde_json::Value;

use super::doctor::agents::{credentials_of, is_installed};
use crate::settings::Settings;

/// Entries of a directory that are looked at; a directory with more is not listed to its end.
const MOST_ENTRIES: usize = 10_000;

#[derive(Debug, Serialize)]
pub struct Survey {
    #[serde(flatten)]
    pub project: Detected,
    /// The program of the test command, where it is not installed.
    pub missing_program: Option<String>,
    pub git: bool,
    /// The root of that repository, where it is above the directory.
    pub repository: Option<PathBuf>,
    /// What would keep Ralph from committing there, and what to do about it.
    pub git_problem: Option<String>,
    pub agents: Vec<AgentHere>,
    pub agents_md: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct AgentHere {
    pub name: String,
    pub installed: bool,
    /// Whether credentials are seen; an agent may have others, in a keychain for instance.
    pub logged_in: bool,
    #[serde(skip)]
    pub install: &'static str,
    /// The command or step that logs in.
    #[serde(skip)]
    pub login: &'static str,
}

impl Survey {
    pub fn of(root: &Path) -> Self {
        let project = detect(&Listing::of(root));
        let command = project.test_command.as_deref();
        let missing_program = command.and_then(|command| missing_program(command, root));
        let git = Git::discover(root);
        let top = root.ancestors().find(|dir| dir.join(".git").exists());
        let agents = Settings::default().agents;
        let here = agents.iter().map(|(name, agent)| {
            let facts = agent.kind.facts();
            AgentHere {
                name: name.clone(),
                installed: is_installed(agent, root),
                logged_in: credentials_of(agent).is_some_and(|seen| !seen.is_empty()),
                install: facts.map_or("", |facts| facts.install),
                login: facts.map_or("", |facts| facts.login),
            }
        });
        Self {
            missing_program,
            git_problem: git.as_ref().and_then(commit_problem),
            git: git.is_some(),
            repository: top.filter(|top| *top != root && git.is_some()).map(Path::to_owned),
            agents: here.collect(),
            agents_md: root.join("AGENTS.md").exists(),
            project,
        }
    }

    /// The test command, if it can be started here.
    pub fn test_command(&self) -> Option<&str> {
        let command = self.project.test_command.as_deref();
        command.filter(|_| self.missing_program.is_none())
    }

    /// The agent to suggest: the first that is installed and logged in, else the first that is installed.
    pub fn agent(&self) -> Option<&AgentHere> {
        let mut installed = self.agents.iter().filter(|agent| agent.installed);
        let logged_in = installed.clone().find(|agent| agent.logged_in);
        logged_in.or_else(|| installed.next())
    }
}

/// Why a run that commits could not start.
fn commit_problem(git: &Git) -> Option<String> {
    let wants = Wants { commits: true, ..Wants::default() };
    let obstacles = git.obstacles(wants).ok()?;
    let mut obstacles = obstacles.iter();
    let obstacle = obstacles.find(|obstacle| obstacle.weight() == Weight::Stops)?;
    Some(format!("{obstacle}; to fix it: {}", obstacle.fix()))
}

/// The first program of a command that is not installed.
pub fn missing_program(command: &str, root: &Path) -> Option<String> {
    let search = search_path();
    let is_missing = |program: &&str| find(program, root, search.as_ref()).is_none();
    programs(command).into_iter().find(is_missing).map(str::to_owned)
}

/// The names in a directory; files are read when they are asked for.
#[derive(Clone, Debug)]
struct Listing<'r> {
    root: &'r Path,
    names: BTreeSet<String>,
}

impl<'r> Listing<'r> {
    fn of(root: &'r Path) -> Self {
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten().take(MOST_ENTRIES);
        Self { root, names: entries.filter_map(|entry| entry.file_name().into_string().ok()).collect() }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The first of these names that is there, else the first entry that ends like one with a `*`.
    fn first(&self, names: &[&str]) -> Option<String> {
        let plain = names.iter().find(|name| self.has(name));
        let ends = |entry: &&String| {
            let mut endings = names.iter().filter_map(|name| name.strip_prefix('*'));
            endings.any(|ending| entry.ends_with(ending))
        };
        plain.map(|name| (*name).to_owned()).or_else(|| self.names.iter().find(ends).cloned())
    }

    fn text(&self, name: &str) -> String {
        read_text(&self.root.join(name), Links::Follow, Limit::SETTINGS).unwrap_or_default()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap_or_default()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Detected {
    pub language: Option<&'static str>,
    pub from: Option<String>,
    /// `npm`, `uv`, … where there is a choice.
    pub package_manager: Option<&'static str>,
    /// The command that runs the tests; none where there seem to be no tests.
    pub test_command: Option<String>,
}

/// A package manager, where there is a choice, and the test command.
type Tools = (Option<&'static str>, Option<String>);

/// A language, the files by which it is known, and its tools.
type Language = (&'static str, &'static [&'static str], fn(&Listing<'_>) -> Tools);

const LANGUAGES: [Language; 10] = [
    ("Rust", &["Cargo.toml"], |_| (None, Some("cargo test".into()))),
    ("Go", &["go.mod", "go.work"], |_| (None, Some("go test ./...".into()))),
    ("Node", &["package.json"], node),
    (
        "Python",
        &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini"],
        python,
    ),
    ("Java", &["pom.xml"], |listing| {
        let program = if listing.has("mvnw") { "./mvnw" } else { "mvn" };
        (Some("Maven"), Some(format!("{program} test")))
    }),
    ("Java", &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"], |listing| {
        let program = if listing.has("gradlew") { "./gradlew" } else { "gradle" };
        (Some("Gradle"), Some(format!("{program} test")))
    }),
    ("Elixir", &["mix.exs"], |listing| (None, listing.has("test").then(|| "mix test".into()))),
    ("Ruby", &["Gemfile", "Rakefile", "*.gemspec"], ruby),
    ("PHP", &["composer.json"], php),
    (".NET", &["*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj"], |_| {
        (None, Some("dotnet test".into()))
    }),
];

/// Runners of any language's tests, and their files in the order in which they look for them.
const RUNNERS: [(&str, [&str; 3]); 2] = [
    ("make test", ["GNUmakefile", "makefile", "Makefile"]),
    ("just test", ["justfile", "Justfile", ".justfile"]),
];

/// Guesses. The first language that is found is the project's, and the first test command in that order its tests; `make` and
/// `just` are asked where no language knows one.
fn detect(listing: &Listing<'_>) -> Detected {
    let mut found = LANGUAGES.iter().filter_map(|(language, files, tools)| {
        let from = listing.first(files)?;
        let (package_manager, test_command) = tools(listing);
        Some(Detected { language: Some(language), from: Some(from), package_manager, test_command })
    });
    let mut first = found.next().unwrap_or_default();
    if first.test_command.is_none() {
        let other = found.find_map(|language| language.test_command);
        let runner = || {
            let has_test = |files| listing.first(files).is_some_and(|file| has_target(&listing.text(&file)));
            let runner = RUNNERS.iter().find(|(_, files)| has_test(files));
            runner.map(|(command, _)| (*command).to_owned())
        };
        first.test_command = other.or_else(runner);
    }
    first
}

fn node(listing: &Listing<'_>) -> Tools {
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
    ];
    let package = listing.json("package.json");
    let wanted = package["packageManager"].as_str().unwrap_or_default();
    let wanted = wanted.split('@').next();
    let locked = locks.iter().find(|(file, _)| listing.has(file));
    let named = locks.iter().find(|(_, manager)| Some(*manager) == wanted);
    let manager = locked.or(named).map_or("npm", |(_, manager)| *manager);
    // What `npm init` writes is no test.
    let is_script = |script: &str| !script.trim().is_empty() && !script.contains("no test specified");
    let command = match manager {
        // `bun test` is a test runner of its own.
        "bun" => "bun run test".to_owned(),
        manager => format!("{manager} test"),
    };
    let has_script = package["scripts"]["test"].as_str().is_some_and(is_script);
    (Some(manager), has_script.then_some(command))
}

fn python(listing: &Listing<'_>) -> Tools {
    let project = listing.text("pyproject.toml");
    let manager = match () {
        () if listing.has("uv.lock") || project.contains("[tool.uv") => Some("uv"),
        () if listing.has("poetry.lock") || project.contains("[tool.poetry") => Some("poetry"),
        () => None,
    };
    let folder = listing.first(&["tests", "test"]);
    let is_test =
        |name: &String| name.ends_with("_test.py") || name.starts_with("test_") && name.ends_with(".py");
    // Every runner fails where there is nothing to run.
    if folder.is_none() && !listing.names.iter().any(is_test) {
        return (manager, None);
    }
    let texts = ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg", "tox.ini"];
    let uses_pytest = listing.first(&["pytest.ini", "conftest.py"]).is_some()
        || texts.iter().any(|name| listing.text(name).contains("pytest"));
    let python = if manager.is_some() { "python" } else { "python3" };
    let command = match folder {
        _ if uses_pytest => "pytest".to_owned(),
        _ if listing.has("tox.ini") || project.contains("[tool.tox") => "tox".to_owned(),
        Some(folder) => format!("{python} -m unittest discover -s {folder}"),
        None => format!("{python} -m unittest"),
    };
    let command = match manager {
        Some(manager) => format!("{manager} run {command}"),
        // Nobody activates an environment for a gate.
        None if listing.has(".venv") => format!(".venv/bin/{command}"),
        None => command,
    };
    (manager, Some(command))
}

fn ruby(listing: &Listing<'_>) -> Tools {
    let command = match () {
        () if listing.has("spec") || listing.has(".rspec") => "rspec",
        () if listing.has("test") && listing.has("Rakefile") => "rake test",
        () => return (None, None),
    };
    let prefix = if listing.has("Gemfile") { "bundle exec " } else { "" };
    (None, Some(format!("{prefix}{command}")))
}

fn php(listing: &Listing<'_>) -> Tools {
    let script = &listing.json("composer.json")["scripts"]["test"];
    let unit = listing.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]);
    let command = match script {
        Value::String(_) | Value::Array(_) => Some("composer test".to_owned()),
        _ => unit.map(|_| "vendor/bin/phpunit".to_owned()),
    };
    (None, command)
}

/// Whether a line such as `test: build` or `test *args:` begins a target; `test := x` is a variable.
fn has_target(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.strip_prefix('@').unwrap_or(line);
        let Some((head, rest)) = line.split_once(':') else { return false };
        let mut words = head.split_whitespace();
        !line.starts_with(char::is_whitespace)
            && words.next() == Some("test")
            && !rest.starts_with('=')
            && !rest.starts_with(":=")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is detected among these files, each with a text after `=` where it matters.
    fn detected(entries: &[&str]) -> Detected {
        let root = tempfile::tempdir().unwrap();
        for entry in entries {
            let (name, text) = entry.split_once('=').unwrap_or((entry, ""));
            std::fs::write(root.path().join(name), text).unwrap();
        }
        detect(&Listing::of(root.path()))
    }

    #[test]
    fn languages_and_their_tests_are_told_from_files() {
        const NPM: &str = r#"package.json={"scripts": {"test": "vitest"}}"#;
        for (files, language, manager, command) in [
            (&["Cargo.toml"][..], "Rust", "", "cargo test"),
            (&["go.mod"], "Go", "", "go test ./..."),
            (&[NPM], "Node", "npm", "npm test"),
            (&[NPM, "pnpm-lock.yaml"], "Node", "pnpm", "pnpm test"),
            (&[NPM, "yarn.lock"], "Node", "yarn", "yarn test"),
            (&[NPM, "bun.lockb"], "Node", "bun", "bun run test"),
            (
                &[r#"package.json={"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}"#],
                "Node",
                "pnpm",
                "pnpm test",
            ),
            (
                &[r#"package.json={"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#],
                "Node",
                "npm",
                "",
            ),
            (&["package.json={}"], "Node", "npm", ""),
            (&["package.json=not json"], "Node", "npm", ""),
            (&["pyproject.toml=[tool.pytest.ini_options]", "tests"], "Python", "", "pytest"),
            (
                &["pyproject.toml=[dependency-groups]\ndev = ['pytest']", "uv.lock", "tests"],
                "Python",
                "uv",
                "uv run pytest",
            ),
            (
                &["pyproject.toml=[tool.poetry]\n[tool.pytest]", "test_x.py"],
                "Python",
                "poetry",
                "poetry run pytest",
            ),
            (&["requirements.txt=pytest", "tests", ".venv"], "Python", "", ".venv/bin/pytest"),
            (&["pyproject.toml=pytest"], "Python", "", ""),
            (&["setup.py", "tox.ini=[tox]", "tests"], "Python", "", "tox"),
            (&["setup.py", "tests"], "Python", "", "python3 -m unittest discover -s tests"),
            (&["setup.py", "test_a.py"], "Python", "", "python3 -m unittest"),
            (&["pom.xml"], "Java", "Maven", "mvn test"),
            (&["pom.xml", "mvnw"], "Java", "Maven", "./mvnw test"),
            (&["build.gradle.kts", "gradlew"], "Java", "Gradle", "./gradlew test"),
            (&["build.gradle"], "Java", "Gradle", "gradle test"),
            (&["mix.exs", "test"], "Elixir", "", "mix test"),
            (&["Gemfile", ".rspec"], "Ruby", "", "bundle exec rspec"),
            (&["x.gemspec", "Rakefile", "test"], "Ruby", "", "rake test"),
            (&["composer.json={\"scripts\": {\"test\": [\"phpunit\"]}}"], "PHP", "", "composer test"),
            (&["composer.json={}", "phpunit.xml.dist"], "PHP", "", "vendor/bin/phpunit"),
            (&["App.sln"], ".NET", "", "dotnet test"),
            (&["Makefile=all:\n\ntest: all\n\tx"], "", "", "make test"),
            (&["Makefile=test := 1\ntests:\n\ttest: x"], "", "", ""),
            (&["justfile=@test *args: build\n  x"], "", "", "just test"),
            (&["justfile=test-all:\n"], "", "", ""),
            (&["package.json={}", "Makefile=test:\n"], "Node", "npm", "make test"),
            (&["Cargo.toml", "Makefile=test:\n", NPM], "Rust", "", "cargo test"),
            (&["README.md"], "", "", ""),
            (&[], "", "", ""),
        ] {
            let found = detected(files);
            assert_eq!(found.language.unwrap_or(""), language, "{files:?}");
            assert_eq!(found.package_manager.unwrap_or(""), manager, "{files:?}");
            assert_eq!(found.test_command.unwrap_or_default(), command, "{files:?}");
            assert_eq!(found.from.is_some(), !language.is_empty(), "{files:?}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let root = Path::new("/");
        for (command, missing) in [
            ("sh -c x", None),
            ("CI=1 sh", None),
            ("no-such-program test", Some("no-such-program")),
            ("CI=1 ./no-such-program", Some("./no-such-program")),
            ("test -f x", None),
            ("cd x && no-such-program", Some("no-such-program")),
            ("", None),
        ] {
            assert_eq!(missing_program(command, root).as_deref(), missing, "{command}");
        }
    }
}
