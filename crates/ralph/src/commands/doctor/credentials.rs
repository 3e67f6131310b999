//! Credentials: whether there are any, by name and never by value.

use std::path::{Path, PathBuf};

use ralph_core::agent::Facts;

use super::agents::Known;
use super::finding::{Check, Finding};

/// Whether runs use an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Chosen,
    Other,
}

/// What is seen of each agent that is there. The chosen one needs some.
pub fn findings(known: &[Known<'_>], chosen: Option<&str>) -> Vec<Finding> {
    known
        .iter()
        .filter(|agent| agent.program.is_some())
        .filter_map(|agent| {
            let facts = agent.facts().filter(|facts| has_ways(facts))?;
            let seen = seen(
                facts,
                |name| is_set(name, &agent.settings.setup.env),
                std::env::home_dir().as_deref(),
            );
            let role = if Some(agent.name) == chosen {
                Role::Chosen
            } else {
                Role::Other
            };
            Some(judge(agent.name, facts, &seen, role))
        })
        .collect()
}

/// Whether there is anything to look for.
fn has_ways(facts: &Facts) -> bool {
    !facts.credential_variables.is_empty() || !facts.credential_files.is_empty()
}

/// Whether the agent gets a variable that is not empty. The settings have the last word.
fn is_set(name: &str, settings: &[(String, String)]) -> bool {
    match settings.iter().rfind(|(known, _)| known == name) {
        Some((_, value)) => !value.is_empty(),
        None => std::env::var_os(name).is_some_and(|value| !value.is_empty()),
    }
}

/// The names of what is there.
fn seen(facts: &Facts, is_set: impl Fn(&str) -> bool, home: Option<&Path>) -> Vec<String> {
    let variables = facts
        .credential_variables
        .iter()
        .filter(|name| is_set(name))
        .map(|name| (*name).to_owned());
    let below_home = |file: &&&str| -> Option<PathBuf> { Some(home?.join(file)) };
    let files = facts
        .credential_files
        .iter()
        .filter(|file| below_home(file).is_some_and(|path| path.is_file()))
        .map(|file| format!("~/{file}"));
    variables.chain(files).collect()
}

fn judge(name: &str, facts: &Facts, seen: &[String], role: Role) -> Finding {
    if !seen.is_empty() {
        return Finding::ok(Check::Credentials, format!("{name}: {}", seen.join(", ")));
    }
    if role == Role::Other {
        return Finding::ok(Check::Credentials, format!("{name}: none seen"));
    }
    let files = facts
        .credential_files
        .iter()
        .map(|file| format!("~/{file}"));
    let looked: Vec<String> = facts
        .credential_variables
        .iter()
        .map(|name| (*name).to_owned())
        .chain(files)
        .collect();
    let message = format!("{name}: none seen; it may have its own, in a keychain for instance");
    let login = match facts.login {
        "" => format!("log in to {name}"),
        login => login.to_owned(),
    };
    Finding::warning(Check::Credentials, message, login)
        .with([format!("looked for {}", looked.join(", "))])
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    const FACTS: Facts = Facts {
        program: "x",
        models: &[],
        tested: "",
        install: "",
        login: "x login",
        credential_variables: &["X_API_KEY", "X_TOKEN"],
        credential_files: &[".x/auth.json"],
    };

    #[test]
    fn variables_and_files_count_and_only_their_names_are_said() {
        let home = tempfile::tempdir().unwrap();
        let none = seen(&FACTS, |_| false, Some(home.path()));
        assert!(none.is_empty());
        let finding = judge("x", &FACTS, &none, Role::Chosen);
        assert_eq!(finding.level, Level::Warning);
        assert_eq!(finding.fix.as_deref(), Some("x login"));
        assert_eq!(
            finding.detail,
            ["looked for X_API_KEY, X_TOKEN, ~/.x/auth.json"]
        );
        assert_eq!(judge("x", &FACTS, &none, Role::Other).level, Level::Ok);

        std::fs::create_dir(home.path().join(".x")).unwrap();
        std::fs::write(home.path().join(".x/auth.json"), "hunter2").unwrap();
        let both = seen(&FACTS, |name| name == "X_TOKEN", Some(home.path()));
        let finding = judge("x", &FACTS, &both, Role::Chosen);
        assert_eq!(finding.message, "x: X_TOKEN, ~/.x/auth.json");
        assert_eq!(finding.level, Level::Ok);
        assert!(seen(&FACTS, |_| false, None).is_empty());
    }

    #[test]
    fn an_empty_variable_of_the_settings_takes_one_away() {
        assert!(is_set("PATH", &[]));
        assert!(!is_set("PATH", &[("PATH".into(), String::new())]));
        assert!(is_set("NO_SUCH", &[("NO_SUCH".into(), "x".into())]));
    }
}
