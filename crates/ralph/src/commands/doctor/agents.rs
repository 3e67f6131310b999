//! Agents: which are there, in which version, and whether the one that runs use is among them.

use std::ffi::OsString;
use std::path::Path;
use std::thread;

use ralph_core::agent::{Facts, Interrupt};

use super::finding::{Check, Finding};
use super::program::{Answer, PATIENCE, Question, ask, find, search_path};
use super::version::{Distance, Version};
use crate::settings::{AgentSettings, Settings, build_agent};

const NAME_ANOTHER: &str = "name another agent: [run] agent in .ralph.toml";
const NAME_ANOTHER_STAND_IN: &str = "name another agent: fallback in .ralph.toml";

/// An agent and what its program says of itself.
#[derive(Debug)]
pub struct Known<'s> {
    /// Its name in the settings.
    pub name: &'s str,
    /// The rest of its settings.
    pub settings: &'s AgentSettings,
    /// What its program answered; nothing where it is not there.
    pub program: Option<Answer>,
}

impl Known<'_> {
    /// What is known of its kind.
    pub fn facts(&self) -> Option<&'static Facts> {
        self.settings.kind.facts()
    }

    fn word(&self) -> &str {
        let command = &self.settings.setup.command;
        command.first().map_or(self.name, String::as_str)
    }
}

/// What an agent is to the runs of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It works.
    Chosen,
    /// It stands in where the chosen one cannot work.
    StandIn,
    /// It is only known.
    Other,
}

impl Role {
    /// What an agent is, where `team` are those that runs use, in order.
    pub fn of(agent: &str, team: &[&str]) -> Self {
        match team.iter().position(|name| *name == agent) {
            Some(0) => Self::Chosen,
            Some(_) => Self::StandIn,
            None => Self::Other,
        }
    }
}

/// Looks for every agent's program, and asks all that are there at once.
pub fn look<'s>(settings: &'s Settings, root: &Path, interrupt: &Interrupt) -> Vec<Known<'s>> {
    thread::scope(|scope| {
        let asked: Vec<_> = settings
            .agents
            .iter()
            .map(|(name, agent)| (name, agent, scope.spawn(|| program(agent, root, interrupt))))
            .collect();
        asked
            .into_iter()
            .map(|(name, settings, program)| Known {
                name,
                settings,
                program: program.join().unwrap_or_default(),
            })
            .collect()
    })
}

/// What an agent's program answers; nothing where it is not there. A plain command is not asked: it might begin to work.
fn program(agent: &AgentSettings, root: &Path, interrupt: &Interrupt) -> Option<Answer> {
    let setup = &agent.setup;
    let own_path = setup.env.iter().find(|(name, _)| name == "PATH");
    let search = own_path
        .map(|(_, value)| OsString::from(value))
        .or_else(search_path);
    find(setup.command.first()?, root, search.as_ref())?;
    if agent.kind.facts().is_none() {
        return Some(Answer::Said(String::new()));
    }
    let mut words = setup.command.clone();
    words.push("--version".into());
    let question = Question {
        words: &words,
        env: &setup.env,
        dir: root,
        patience: PATIENCE,
    };
    Some(ask(&question, interrupt))
}

/// What there is to say of all of them. `team` are those that runs use, in order.
pub fn findings(known: &[Known<'_>], settings: &Settings, team: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in team {
        let role = Role::of(name, team);
        findings.push(match known.iter().find(|agent| agent.name == *name) {
            Some(agent) => of_used(agent, role),
            None => unknown(name, settings, role),
        });
    }
    let mut missing = Vec::new();
    for agent in known.iter().filter(|agent| !team.contains(&agent.name)) {
        match &agent.program {
            Some(answer) => {
                let message = described(agent, answer);
                findings.push(Finding::ok(Check::Agents, message));
            }
            None if settings.is_configured(agent.name) => {
                findings.push(Finding::ok(Check::Agents, not_there(agent)));
            }
            None => missing.push(agent.name),
        }
    }
    if !missing.is_empty() {
        let message = format!("not installed: {}", missing.join(", "));
        findings.push(Finding::ok(Check::Agents, message));
    }
    findings
}

/// A run refuses to start with it.
fn unknown(name: &str, settings: &Settings, role: Role) -> Finding {
    let message = match build_agent(name, &settings.agents) {
        Err(error) => error.message().to_owned(),
        Ok(_) => format!("there is no agent `{name}`"),
    };
    let fix = match role {
        Role::StandIn => NAME_ANOTHER_STAND_IN,
        Role::Chosen | Role::Other => NAME_ANOTHER,
    };
    Finding::error(Check::Agent, message, fix)
}

/// One that runs use. They start without one that stands in.
fn of_used(agent: &Known<'_>, role: Role) -> Finding {
    let stands_in = match role {
        Role::StandIn => " (stands in)",
        Role::Chosen | Role::Other => "",
    };
    let Some(answer) = &agent.program else {
        let message = format!("{}{stands_in}", not_there(agent));
        return match role {
            Role::StandIn => Finding::warning(Check::Agent, message, install(agent)),
            Role::Chosen | Role::Other => Finding::error(Check::Agent, message, install(agent)),
        };
    };
    let message = format!("{}{stands_in}", described(agent, answer));
    match (answer, distance(agent, answer), agent.facts()) {
        (Answer::Nothing(_), _, _) => {
            let command = agent.settings.setup.command.join(" ");
            Finding::warning(Check::Agent, message, format!("{command} --version"))
        }
        (_, Some(Distance::MajorNewer), Some(facts)) => {
            let fix = format!("update Ralph, or install version {}", facts.tested);
            Finding::warning(Check::Agent, message, fix)
        }
        (_, Some(Distance::MajorOlder), _) => {
            Finding::warning(Check::Agent, message, install(agent))
        }
        _ => Finding::ok(Check::Agent, message),
    }
}

fn not_there(agent: &Known<'_>) -> String {
    format!(
        "{}: the program `{}` is not there",
        agent.name,
        agent.word()
    )
}

/// The command that installs it; where the settings name a program of their own, nobody knows that.
fn install(agent: &Known<'_>) -> String {
    match agent.facts() {
        Some(facts) if !facts.install.is_empty() && agent.word() == facts.program => {
            facts.install.to_owned()
        }
        _ => format!(
            "install it, or change command under [agents.{}] in .ralph.toml",
            agent.name
        ),
    }
}

fn distance(agent: &Known<'_>, answer: &Answer) -> Option<Distance> {
    let Answer::Said(line) = answer else {
        return None;
    };
    let tested = Version::find(agent.facts()?.tested)?;
    Some(Version::find(line)?.distance_to(tested))
}

/// Name, program, version, and how that stands to the tested one.
fn described(agent: &Known<'_>, answer: &Answer) -> String {
    let command = agent.word();
    let name = agent.name;
    let line = match answer {
        Answer::Said(line) if line.is_empty() => return format!("{name}: {command}"),
        Answer::Said(line) => line,
        Answer::Nothing(why) => return format!("{name}: {command} --version: {why}"),
    };
    let tested = agent.facts().map_or("", |facts| facts.tested);
    let note = match distance(agent, answer) {
        None => String::new(),
        Some(Distance::Same) => ", as tested".into(),
        Some(Distance::Newer) => format!(", newer than the tested {tested}"),
        Some(Distance::Older) => format!(", older than the tested {tested}"),
        Some(Distance::MajorNewer | Distance::MajorOlder) => {
            format!(", another major version than the tested {tested}")
        }
    };
    format!("{name}: {command}, {line}{note}")
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn settings(toml: &str) -> Settings {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        std::fs::write(&file, toml).unwrap();
        Settings::load(&file, std::iter::empty()).unwrap()
    }

    /// What is said of claude, where it is the chosen one.
    fn of_claude(answer: Option<Answer>) -> Finding {
        let settings = settings("");
        let known = Known {
            name: "claude",
            settings: &settings.agents["claude"],
            program: answer,
        };
        findings(&[known], &settings, &["claude"]).remove(0)
    }

    #[test]
    fn a_version_is_compared_with_the_tested_one() {
        let tested = ralph_core::agent::AgentKind::Claude.facts().unwrap().tested;
        for (line, level, words) in [
            (format!("{tested} (Claude Code)"), Level::Ok, "as tested"),
            ("2.999.0".into(), Level::Ok, "newer than the tested"),
            ("2.0.0".into(), Level::Ok, "older than the tested"),
            ("99.0.0".into(), Level::Warning, "another major version"),
            ("1.0.0".into(), Level::Warning, "another major version"),
            ("a strange program".into(), Level::Ok, "a strange program"),
        ] {
            let finding = of_claude(Some(Answer::Said(line.clone())));
            assert_eq!(finding.level, level, "{line}");
            assert!(finding.message.contains(words), "{}", finding.message);
        }
        let silent = of_claude(Some(Answer::Nothing("it exited with 1".into())));
        assert_eq!(silent.level, Level::Warning);
        let missing = of_claude(None);
        assert_eq!(missing.level, Level::Error);
        assert!(missing.fix.unwrap().starts_with("npm install"));
    }

    #[test]
    fn others_are_no_trouble() {
        let settings = settings("[agents.mine]\nkind = 'command'\ncommand = ['nope']");
        let known = |name: &'static str, program: Option<Answer>| Known {
            name,
            settings: &settings.agents[name],
            program,
        };
        let all = [
            known("claude", Some(Answer::Said("99.0.0".into()))),
            known("codex", None),
            known("gemini", None),
            known("mine", None),
        ];
        let findings = findings(&all, &settings, &[]);
        assert!(findings.iter().all(|finding| finding.level == Level::Ok));
        let messages: Vec<&str> = findings.iter().map(|f| f.message.as_str()).collect();
        assert!(messages[0].starts_with("claude: claude, 99.0.0"));
        assert_eq!(
            messages[1..],
            [
                "mine: the program `nope` is not there",
                "not installed: codex, gemini"
            ]
        );
    }

    #[test]
    fn an_agent_nobody_defined_is_an_error() {
        let settings = settings("");
        let findings = findings(&[], &settings, &["cloude"]);
        assert_eq!(findings[0].level, Level::Error);
        assert!(findings[0].message.contains("cloude"));
    }
}
