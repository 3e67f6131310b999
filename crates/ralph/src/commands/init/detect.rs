//! What kind of project a directory holds, and how its tests are run. Pure: names of files in, a guess out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// What is in a directory: the names of its entries, and the text of those files that [`READ`] names.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Files and directories, without their path.
    pub names: BTreeSet<String>,
    /// By name.
    pub texts: BTreeMap<String, String>,
}

/// The files whose text matters.
pub const READ: [&str; 13] = [
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "setup.cfg",
    "tox.ini",
    "composer.json",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    ".justfile",
];

/// What a directory seems to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Detected {
    /// `Rust`, `Node`, …
    pub language: Option<&'static str>,
    /// The file that says so.
    pub from: Option<String>,
    /// `npm`, `uv`, … where there is a choice.
    pub package_manager: Option<&'static str>,
    /// The command that runs the tests; none where there seem to be no tests.
    pub test_command: Option<String>,
}

/// Guesses. The first language that is found is the project's, and the first test command in that order its tests; `make` and
/// `just` are asked where no language knows one.
pub fn detect(listing: &Listing) -> Detected {
    let languages = [rust, go, node, python, java, elixir, ruby, php, dotnet];
    let mut found = languages.iter().filter_map(|language| language(listing));
    let mut first = found.next().unwrap_or_default();
    if first.test_command.is_none() {
        let other = found.find_map(|language| language.test_command);
        first.test_command = other.or_else(|| make(listing)).or_else(|| just(listing));
    }
    first
}

impl Listing {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The first of these that is there.
    fn first(&self, names: &[&str]) -> Option<String> {
        let there = names.iter().find(|name| self.has(name));
        there.map(|name| (*name).to_owned())
    }

    fn with_ending(&self, endings: &[&str]) -> Option<String> {
        let mut names = self.names.iter();
        let fits = |name: &&String| endings.iter().any(|ending| name.ends_with(ending));
        names.find(fits).cloned()
    }

    fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    /// A script of a JSON file that has `scripts`.
    fn script(&self, file: &str, name: &str) -> Option<String> {
        let json: serde_json::Value = serde_json::from_str(self.text(file)).ok()?;
        let script = json.get("scripts")?.get(name)?;
        match script {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Array(_) => Some(script.to_string()),
            _ => None,
        }
    }
}

fn language(name: &'static str, from: String, test_command: Option<String>) -> Detected {
    Detected {
        language: Some(name),
        from: Some(from),
        package_manager: None,
        test_command,
    }
}

fn rust(listing: &Listing) -> Option<Detected> {
    let from = listing.first(&["Cargo.toml"])?;
    Some(language("Rust", from, Some("cargo test".into())))
}

fn go(listing: &Listing) -> Option<Detected> {
    let from = listing.first(&["go.mod", "go.work"])?;
    Some(language("Go", from, Some("go test ./...".into())))
}

fn node(listing: &Listing) -> Option<Detected> {
    let from = listing.first(&["package.json"])?;
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
    ];
    let locked = locks.iter().find(|(file, _)| listing.has(file));
    let manager = locked.map(|(_, manager)| *manager).or_else(|| {
        let json: serde_json::Value = serde_json::from_str(listing.text(&from)).ok()?;
        let wanted = json.get("packageManager")?.as_str()?.to_owned();
        let known = ["pnpm", "yarn", "bun"];
        known
            .into_iter()
            .find(|name| wanted.starts_with(&format!("{name}@")))
    });
    let manager = manager.unwrap_or("npm");
    let script = listing.script(&from, "test").filter(|script| {
        // What `npm init` writes.
        !script.trim().is_empty() && !script.contains("no test specified")
    });
    let command = match manager {
        // `bun test` is a test runner of its own.
        "bun" => "bun run test".to_owned(),
        manager => format!("{manager} test"),
    };
    Some(Detected {
        package_manager: Some(manager),
        ..language("Node", from, script.map(|_| command))
    })
}

fn python(listing: &Listing) -> Option<Detected> {
    let from = listing.first(&[
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "Pipfile",
        "tox.ini",
    ])?;
    let project = listing.text("pyproject.toml");
    let manager = match () {
        () if listing.has("uv.lock") || project.contains("[tool.uv") => Some("uv"),
        () if listing.has("poetry.lock") || project.contains("[tool.poetry") => Some("poetry"),
        () => None,
    };
    // Both fail where there is nothing to run.
    let folder = listing.first(&["tests", "test"]);
    let is_test = |name: &String| {
        name.ends_with("_test.py") || name.starts_with("test_") && name.ends_with(".py")
    };
    let has_tests = folder.is_some() || listing.names.iter().any(is_test);
    let mentions = |word: &str| {
        let texts = [
            "pyproject.toml",
            "requirements.txt",
            "requirements-dev.txt",
            "setup.cfg",
            "tox.ini",
        ];
        texts.iter().any(|name| listing.text(name).contains(word))
    };
    let uses_pytest = listing.first(&["pytest.ini", "conftest.py"]).is_some() || mentions("pytest");
    let uses_tox = listing.has("tox.ini") || project.contains("[tool.tox");
    let python = match manager {
        Some(_) => "python",
        None => "python3",
    };
    let command = match () {
        () if !has_tests => None,
        () if uses_pytest => Some("pytest".to_owned()),
        () if uses_tox => Some("tox".to_owned()),
        () => Some(match &folder {
            Some(folder) => format!("{python} -m unittest discover -s {folder}"),
            None => format!("{python} -m unittest"),
        }),
    };
    let command = command.map(|command| match manager {
        Some(manager) => format!("{manager} run {command}"),
        // Nobody activates an environment for a gate.
        None if listing.has(".venv") => format!(".venv/bin/{command}"),
        None => command,
    });
    Some(Detected {
        package_manager: manager,
        ..language("Python", from, command)
    })
}

fn java(listing: &Listing) -> Option<Detected> {
    if let Some(from) = listing.first(&["pom.xml"]) {
        let program = if listing.has("mvnw") { "./mvnw" } else { "mvn" };
        return Some(Detected {
            package_manager: Some("Maven"),
            ..language("Java", from, Some(format!("{program} test")))
        });
    }
    let from = listing.first(&[
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ])?;
    let program = if listing.has("gradlew") {
        "./gradlew"
    } else {
        "gradle"
    };
    Some(Detected {
        package_manager: Some("Gradle"),
        ..language("Java", from, Some(format!("{program} test")))
    })
}

fn elixir(listing: &Listing) -> Option<Detected> {
    let from = listing.first(&["mix.exs"])?;
    let command = listing.has("test").then(|| "mix test".to_owned());
    Some(language("Elixir", from, command))
}

fn ruby(listing: &Listing) -> Option<Detected> {
    let from = listing.first(&["Gemfile", "Rakefile"]);
    let from = from.or_else(|| listing.with_ending(&[".gemspec"]))?;
    let command = match () {
        () if listing.has("spec") || listing.has(".rspec") => Some("rspec"),
        () if listing.has("test") && listing.has("Rakefile") => Some("rake test"),
        () => None,
    };
    let command = command.map(|command| match listing.has("Gemfile") {
        true => format!("bundle exec {command}"),
        false => command.to_owned(),
    });
    Some(language("Ruby", from, command))
}

fn php(listing: &Listing) -> Option<Detected> {
    let from = listing.first(&["composer.json"])?;
    let unit = listing.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]);
    let command = match listing.script(&from, "test") {
        Some(_) => Some("composer test".to_owned()),
        None => unit.map(|_| "vendor/bin/phpunit".to_owned()),
    };
    Some(language("PHP", from, command))
}

fn dotnet(listing: &Listing) -> Option<Detected> {
    let from = listing.with_ending(&[".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"])?;
    Some(language(".NET", from, Some("dotnet test".into())))
}

fn make(listing: &Listing) -> Option<String> {
    // In the order in which make looks for them.
    let file = listing.first(&["GNUmakefile", "makefile", "Makefile"])?;
    has_target(listing.text(&file)).then(|| "make test".into())
}

fn just(listing: &Listing) -> Option<String> {
    let file = listing.first(&["justfile", "Justfile", ".justfile"])?;
    has_target(listing.text(&file)).then(|| "just test".into())
}

/// Whether a line such as `test: build` or `test *args:` begins a target; `test := x` is a variable.
fn has_target(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.strip_prefix('@').unwrap_or(line);
        let Some((head, rest)) = line.split_once(':') else {
            return false;
        };
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

    /// A listing of names, each with a text after `=` where it matters.
    fn listing(entries: &[&str]) -> Listing {
        let mut listing = Listing::default();
        for entry in entries {
            let (name, text) = entry.split_once('=').unwrap_or((entry, ""));
            listing.names.insert(name.to_owned());
            listing.texts.insert(name.to_owned(), text.to_owned());
        }
        listing
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
                &[
                    r#"package.json={"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
                ],
                "Node",
                "npm",
                "",
            ),
            (&["package.json={}"], "Node", "npm", ""),
            (&["package.json=not json"], "Node", "npm", ""),
            (
                &["pyproject.toml=[tool.pytest.ini_options]", "tests"],
                "Python",
                "",
                "pytest",
            ),
            (
                &[
                    "pyproject.toml=[dependency-groups]\ndev = ['pytest']",
                    "uv.lock",
                    "tests",
                ],
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
            (
                &["requirements.txt=pytest", "tests", ".venv"],
                "Python",
                "",
                ".venv/bin/pytest",
            ),
            (&["pyproject.toml=pytest"], "Python", "", ""),
            (&["setup.py", "tox.ini=[tox]", "tests"], "Python", "", "tox"),
            (
                &["setup.py", "tests"],
                "Python",
                "",
                "python3 -m unittest discover -s tests",
            ),
            (
                &["setup.py", "test_a.py"],
                "Python",
                "",
                "python3 -m unittest",
            ),
            (&["pom.xml"], "Java", "Maven", "mvn test"),
            (&["pom.xml", "mvnw"], "Java", "Maven", "./mvnw test"),
            (
                &["build.gradle.kts", "gradlew"],
                "Java",
                "Gradle",
                "./gradlew test",
            ),
            (&["build.gradle"], "Java", "Gradle", "gradle test"),
            (&["mix.exs", "test"], "Elixir", "", "mix test"),
            (&["Gemfile", ".rspec"], "Ruby", "", "bundle exec rspec"),
            (&["x.gemspec", "Rakefile", "test"], "Ruby", "", "rake test"),
            (
                &["composer.json={\"scripts\": {\"test\": [\"phpunit\"]}}"],
                "PHP",
                "",
                "composer test",
            ),
            (
                &["composer.json={}", "phpunit.xml.dist"],
                "PHP",
                "",
                "vendor/bin/phpunit",
            ),
            (&["App.sln"], ".NET", "", "dotnet test"),
            (&["Makefile=all:\n\ntest: all\n\tx"], "", "", "make test"),
            (&["Makefile=test := 1\ntests:\n\ttest: x"], "", "", ""),
            (&["justfile=@test *args: build\n  x"], "", "", "just test"),
            (&["justfile=test-all:\n"], "", "", ""),
            (
                &["package.json={}", "Makefile=test:\n"],
                "Node",
                "npm",
                "make test",
            ),
            (
                &["Cargo.toml", "Makefile=test:\n", NPM],
                "Rust",
                "",
                "cargo test",
            ),
            (&["README.md"], "", "", ""),
            (&[], "", "", ""),
        ] {
            let found = detect(&listing(files));
            assert_eq!(found.language.unwrap_or(""), language, "{files:?}");
            assert_eq!(found.package_manager.unwrap_or(""), manager, "{files:?}");
            assert_eq!(found.test_command.unwrap_or_default(), command, "{files:?}");
            assert_eq!(found.from.is_some(), !language.is_empty(), "{files:?}");
        }
    }

    #[test]
    fn every_file_whose_text_is_used_is_read() {
        for name in [
            "package.json",
            "Makefile",
            "justfile",
            "pyproject.toml",
            "composer.json",
        ] {
            assert!(READ.contains(&name), "{name}");
        }
    }
}
