//! Credentials: whether there are any, by name and never by value.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_core::agent::{CredentialFile, Facts};

use super::agents::{Known, Role};
use super::finding::{Check, Finding};
use crate::settings::AgentSettings;

/// What is seen of each agent that is there. Those that runs use need some.
pub fn findings(known: &[Known<'_>], team: &[&str]) -> Vec<Finding> {
    known
        .iter()
        .filter(|agent| agent.is_there())
        .filter_map(|agent| {
            let facts = agent.facts().filter(|facts| has_places(facts))?;
            let role = Role::of(agent.name, team);
            Some(in_places(agent.settings, |places| {
                judge(agent.name, facts, places, role)
            }))
        })
        .collect()
}

/// The names of the credentials that are seen of an agent; `None` where there is nothing to look for.
pub fn seen(agent: &AgentSettings) -> Option<Vec<String>> {
    let facts = agent.kind.facts().filter(|facts| has_places(facts))?;
    Some(in_places(agent, |places| places.seen(facts)))
}

fn in_places<T>(agent: &AgentSettings, look: impl FnOnce(&Places<'_>) -> T) -> T {
    let own = &agent.setup.env;
    look(&Places {
        variable: &|name| variable(name, own),
        home: std::env::home_dir(),
    })
}

/// Whether there is anything to look for.
fn has_places(facts: &Facts) -> bool {
    !facts.credential_variables.is_empty() || !facts.credential_files.is_empty()
}

/// The value of a variable that the agent gets, unless it is empty. The settings have the last word.
fn variable(name: &str, settings: &[(String, String)]) -> Option<OsString> {
    let value = match settings.iter().rfind(|(known, _)| known == name) {
        Some((_, value)) => OsString::from(value),
        None => std::env::var_os(name)?,
    };
    Some(value).filter(|value| !value.is_empty())
}

/// Where an agent looks for its credentials.
struct Places<'v> {
    variable: &'v dyn Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
}

impl Places<'_> {
    /// The names of what is there.
    fn seen(&self, facts: &Facts) -> Vec<String> {
        let variables = facts.credential_variables.iter();
        let set = variables.filter(|name| (self.variable)(name).is_some());
        let files = facts.credential_files.iter();
        let there = files.filter(|file| self.path(file).is_some_and(|path| path.is_file()));
        set.map(|name| (*name).to_owned())
            .chain(there.map(|file| self.name(file)))
            .collect()
    }

    /// The names of all that may be there.
    fn looked_for(&self, facts: &Facts) -> Vec<String> {
        let variables = facts.credential_variables.iter();
        let files = facts.credential_files.iter();
        variables
            .map(|name| (*name).to_owned())
            .chain(files.map(|file| self.name(file)))
            .collect()
    }

    fn path(&self, file: &CredentialFile) -> Option<PathBuf> {
        let dir = match (self.variable)(file.moved_by) {
            Some(moved) => PathBuf::from(moved),
            None => {
                let home = (self.variable)("HOME").map(PathBuf::from);
                home.or_else(|| self.home.clone())?.join(file.usual)
            }
        };
        Some(dir.join(file.file))
    }

    fn name(&self, file: &CredentialFile) -> String {
        let dir = match (self.variable)(file.moved_by) {
            Some(_) => format!("${}", file.moved_by),
            None => Path::new("~").join(file.usual).display().to_string(),
        };
        let dir = dir.trim_end_matches('/');
        format!("{dir}/{}", file.file)
    }
}

fn judge(name: &str, facts: &Facts, places: &Places<'_>, role: Role) -> Finding {
    let seen = places.seen(facts);
    if !seen.is_empty() {
        return Finding::ok(Check::Credentials, format!("{name}: {}", seen.join(", ")));
    }
    if role == Role::Other {
        return Finding::ok(Check::Credentials, format!("{name}: none found"));
    }
    let message = format!("{name}: none found; it may use others, for example in a keychain");
    let login = match facts.login {
        "" => format!("log in to {name}"),
        login => login.to_owned(),
    };
    Finding::warning(Check::Credentials, message, login).with([format!(
        "looked for {}",
        places.looked_for(facts).join(", ")
    )])
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
        credential_files: &[CredentialFile {
            moved_by: "X_HOME",
            usual: ".x",
            file: "auth.json",
        }],
    };

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    #[test]
    fn variables_and_files_count_and_only_their_names_are_said() {
        let home = tempfile::tempdir().unwrap();
        let mut places = Places {
            variable: &nothing,
            home: Some(home.path().to_owned()),
        };
        let finding = judge("x", &FACTS, &places, Role::Chosen);
        assert_eq!(finding.level, Level::Warning);
        assert_eq!(finding.fix.as_deref(), Some("x login"));
        assert_eq!(
            finding.detail,
            ["looked for X_API_KEY, X_TOKEN, ~/.x/auth.json"]
        );
        let level = |role| judge("x", &FACTS, &places, role).level;
        assert_eq!(level(Role::Fallback), Level::Warning);
        assert_eq!(level(Role::Other), Level::Ok);

        std::fs::create_dir(home.path().join(".x")).unwrap();
        std::fs::write(home.path().join(".x/auth.json"), "hunter2").unwrap();
        places.variable = &|name| (name == "X_TOKEN").then(|| "hunter3".into());
        let finding = judge("x", &FACTS, &places, Role::Chosen);
        assert_eq!(finding.message, "x: X_TOKEN, ~/.x/auth.json");
        assert_eq!(finding.level, Level::Ok);
        places.variable = &nothing;
        places.home = None;
        assert!(places.seen(&FACTS).is_empty());
    }

    #[test]
    fn a_variable_may_say_that_the_files_are_elsewhere() {
        let moved = tempfile::tempdir().unwrap();
        std::fs::write(moved.path().join("auth.json"), "hunter2").unwrap();
        let variable = |name: &str| (name == "X_HOME").then(|| moved.path().as_os_str().to_owned());
        let places = Places {
            variable: &variable,
            home: None,
        };
        assert_eq!(places.seen(&FACTS), ["$X_HOME/auth.json"]);
        // The home of the agent's own settings counts, not that of whoever asks.
        std::fs::create_dir(moved.path().join(".x")).unwrap();
        std::fs::write(moved.path().join(".x/auth.json"), "hunter2").unwrap();
        let variable = |name: &str| (name == "HOME").then(|| moved.path().as_os_str().to_owned());
        let places = Places {
            variable: &variable,
            home: None,
        };
        assert_eq!(places.seen(&FACTS), ["~/.x/auth.json"]);
    }

    #[test]
    fn an_empty_variable_of_the_settings_takes_one_away() {
        assert!(variable("PATH", &[]).is_some());
        assert!(variable("PATH", &[("PATH".into(), String::new())]).is_none());
        assert!(variable("NO_SUCH", &[("NO_SUCH".into(), "x".into())]).is_some());
    }
}
