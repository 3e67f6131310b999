//! Agents: which are there, in which version, and whether the one that runs use is among them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;

use ralph_core::agent::{Facts, Interrupt};
use ralph_core::which::{find, not_executable, search_path};

use super::finding::{Check, Finding, Level};
use super::mend::make_executable;
use super::program::{Answer, PATIENCE, Question, ask};
use super::version::{Distance, Version};
use crate::settings::{AgentSettings, Settings, build_agent};

const CHOOSE_ANOTHER: &str = "choose another agent: ralph config set run.agent NAME";
const CHOOSE_ANOTHER_FALLBACK: &str =
    "choose another fallback agent: [run] fallback in .ralph.toml";

/// An agent and what its program says of itself.
#[derive(Debug)]
pub struct Known<'s> {
    /// Its name in the settings.
    pub name: &'s str,
    /// The rest of its settings.
    pub settings: &'s AgentSettings,
    /// Its program.
    pub program: Program,
}

/// What came of looking for an agent's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Program {
    /// It is there, and this is what it answered.
    Answered(Answer),
    /// A file is there that may not be executed.
    NotExecutable(PathBuf),
    /// There is nothing.
    #[default]
    NotThere,
}

impl Known<'_> {
    /// What is known of its kind.
    pub fn facts(&self) -> Option<&'static Facts> {
        self.settings.kind.facts()
    }

    /// Whether it could be started.
    pub fn is_there(&self) -> bool {
        matches!(self.program, Program::Answered(_))
    }

    /// Whether its program is there.
    fn answers(&self) -> bool {
        matches!(self.program, Program::Answered(_))
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
    /// It is used when the chosen one cannot work.
    Fallback,
    /// It is the chosen one but cannot work; a fallback agent is used.
    Replaced,
    /// It is only known.
    Other,
}

impl Role {
    /// What an agent is, where `team` are those that runs use, in order.
    pub fn of(agent: &str, team: &[&str]) -> Self {
        match team.iter().position(|name| *name == agent) {
            Some(0) => Self::Chosen,
            Some(_) => Self::Fallback,
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
            .map(|(name, agent)| {
                let ask = || program(agent, root, interrupt);
                (name, agent, thread::Builder::new().spawn_scoped(scope, ask))
            })
            .collect();
        asked
            .into_iter()
            .map(|(name, settings, program)| Known {
                name,
                settings,
                program: match program {
                    Ok(asked) => asked.join().unwrap_or_default(),
                    // No thread to be had: one after the other.
                    Err(_) => self::program(settings, root, interrupt),
                },
            })
            .collect()
    })
}

/// Why an agent's program cannot be started; `None` where it can. Nothing is started to find out.
fn absent(agent: &AgentSettings, root: &Path) -> Option<Program> {
    let setup = &agent.setup;
    let own_path = setup.env.iter().find(|(name, _)| name == "PATH");
    let search = own_path
        .map(|(_, value)| OsString::from(value))
        .or_else(search_path);
    let Some(word) = setup.command.first() else {
        return Some(Program::NotThere);
    };
    if find(word, root, search.as_ref()).is_some() {
        return None;
    }
    let file = not_executable(word, root, search.as_ref());
    Some(file.map_or(Program::NotThere, Program::NotExecutable))
}

/// Whether an agent's program is there.
pub fn is_installed(agent: &AgentSettings, root: &Path) -> bool {
    absent(agent, root).is_none()
}

/// What would stop a run for lack of a program, told without starting any. `team` are the agents that runs use, in order.
pub fn missing(settings: &Settings, team: &[&str], root: &Path) -> Option<Finding> {
    let known: Vec<Known<'_>> = settings
        .agents
        .iter()
        .filter(|(name, _)| team.contains(&name.as_str()))
        .map(|(name, settings)| Known {
            name,
            settings,
            program: absent(settings, root)
                .unwrap_or_else(|| Program::Answered(Answer::Said(String::new()))),
        })
        .collect();
    let mut findings = findings(&known, settings, team).into_iter();
    findings.find(|finding| finding.level == Level::Error)
}

/// What an agent's program answers. A plain command is not asked: it might begin to work.
fn program(agent: &AgentSettings, root: &Path, interrupt: &Interrupt) -> Program {
    let setup = &agent.setup;
    if let Some(absent) = absent(agent, root) {
        return absent;
    }
    if agent.kind.facts().is_none() {
        return Program::Answered(Answer::Said(String::new()));
    }
    let mut words = setup.command.clone();
    words.push("--version".into());
    let question = Question {
        words: &words,
        env: &setup.env,
        dir: root,
        patience: PATIENCE,
    };
    Program::Answered(ask(&question, interrupt))
}

/// What there is to say of all of them. `team` are those that runs use, in order.
pub fn findings(known: &[Known<'_>], settings: &Settings, team: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = known.iter().filter(|agent| team.contains(&agent.name));
    let somebody_works = used.any(Known::answers);
    for name in team {
        let role = Role::of(name, team);
        findings.push(match known.iter().find(|agent| agent.name == *name) {
            Some(agent) if role == Role::Chosen && somebody_works && !agent.answers() => {
                of_used(agent, Role::Replaced)
            }
            Some(agent) => of_used(agent, role),
            None => unknown(name, settings, role),
        });
    }
    let mut missing = Vec::new();
    for agent in known.iter().filter(|agent| !team.contains(&agent.name)) {
        match &agent.program {
            Program::Answered(answer) => {
                let message = described(agent, answer);
                findings.push(Finding::ok(Check::Agents, message));
            }
            Program::NotThere if !settings.is_configured(agent.name) => missing.push(agent.name),
            Program::NotThere | Program::NotExecutable(_) => {
                findings.push(Finding::ok(Check::Agents, missing_program(agent)));
            }
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
        Ok(_) => format!("unknown agent `{name}`"),
    };
    let fix = match role {
        Role::Fallback => CHOOSE_ANOTHER_FALLBACK,
        Role::Chosen | Role::Replaced | Role::Other => CHOOSE_ANOTHER,
    };
    Finding::error(Check::Agent, message, fix)
}

/// One that runs use. They start without one that stands in.
fn of_used(agent: &Known<'_>, role: Role) -> Finding {
    let note = match role {
        Role::Fallback => " (fallback)",
        Role::Replaced => " (a fallback agent is used instead)",
        Role::Chosen | Role::Other => "",
    };
    let cannot = |fix: String| {
        let message = format!("{}{note}", missing_program(agent));
        match role {
            Role::Fallback | Role::Replaced => Finding::warning(Check::Agent, message, fix),
            Role::Chosen | Role::Other => Finding::error(Check::Agent, message, fix),
        }
    };
    let answer = match &agent.program {
        Program::Answered(answer) => answer,
        Program::NotExecutable(path) => return cannot(make_executable(path)),
        Program::NotThere => return cannot(install(agent)),
    };
    let message = format!("{}{note}", described(agent, answer));
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

/// Why its program cannot be started.
fn missing_program(agent: &Known<'_>) -> String {
    let (name, word) = (agent.name, agent.word());
    match &agent.program {
        Program::NotExecutable(path) => {
            let path = path.display();
            format!("{name}: `{word}` is not executable: {path}")
        }
        Program::NotThere | Program::Answered(_) => {
            format!("{name}: program `{word}` not found")
        }
    }
}

/// The command that installs it; where the settings name a program of their own, nobody knows that.
fn install(agent: &Known<'_>) -> String {
    match agent.facts() {
        Some(facts) if !facts.install.is_empty() && agent.word() == facts.program => {
            facts.install.to_owned()
        }
        _ => format!(
            "install it, or change `command` under [agents.{}] in .ralph.toml",
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
        Some(Distance::Same) => ", the tested version".into(),
        Some(Distance::Newer) => format!(", newer than the tested {tested}"),
        Some(Distance::Older) => format!(", older than the tested {tested}"),
        Some(Distance::MajorNewer | Distance::MajorOlder) => {
            format!(", a different major version than the tested {tested}")
        }
    };
    format!("{name}: {command}, {line}{note}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(toml: &str) -> Settings {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        std::fs::write(&file, toml).unwrap();
        Settings::load(&file, std::iter::empty()).unwrap()
    }

    /// What is said of claude, where it is the chosen one.
    fn of_claude(program: Program) -> Finding {
        let settings = settings("");
        let known = Known {
            name: "claude",
            settings: &settings.agents["claude"],
            program,
        };
        findings(&[known], &settings, &["claude"]).remove(0)
    }

    #[test]
    fn a_version_is_compared_with_the_tested_one() {
        let tested = ralph_core::agent::AgentKind::Claude.facts().unwrap().tested;
        for (line, level, words) in [
            (
                format!("{tested} (Claude Code)"),
                Level::Ok,
                "the tested version",
            ),
            ("2.999.0".into(), Level::Ok, "newer than the tested"),
            ("2.0.0".into(), Level::Ok, "older than the tested"),
            ("99.0.0".into(), Level::Warning, "a different major version"),
            ("1.0.0".into(), Level::Warning, "a different major version"),
            ("a strange program".into(), Level::Ok, "a strange program"),
        ] {
            let finding = of_claude(Program::Answered(Answer::Said(line.clone())));
            assert_eq!(finding.level, level, "{line}");
            assert!(finding.message.contains(words), "{}", finding.message);
        }
        let silent = of_claude(Program::Answered(Answer::Nothing(
            "exited with code 1".into(),
        )));
        assert_eq!(silent.level, Level::Warning);
        let missing = of_claude(Program::NotThere);
        assert_eq!(missing.level, Level::Error);
        assert!(missing.fix.unwrap().starts_with("npm install"));
        let plain = of_claude(Program::NotExecutable("/opt/my tools/claude".into()));
        assert_eq!(plain.level, Level::Error);
        assert!(
            plain.message.contains("is not executable"),
            "{}",
            plain.message
        );
        let fix = plain.fix.unwrap();
        assert!(fix.ends_with("chmod +x '/opt/my tools/claude'"), "{fix}");
    }

    #[test]
    fn others_are_no_trouble() {
        let settings = settings("[agents.mine]\nkind = 'command'\ncommand = ['nope']");
        let known = |name: &'static str, program: Program| Known {
            name,
            settings: &settings.agents[name],
            program,
        };
        let all = [
            known("claude", Program::Answered(Answer::Said("99.0.0".into()))),
            known("codex", Program::NotThere),
            known("gemini", Program::NotThere),
            known("mine", Program::NotThere),
        ];
        let findings = findings(&all, &settings, &[]);
        assert!(findings.iter().all(|finding| finding.level == Level::Ok));
        let messages: Vec<&str> = findings.iter().map(|f| f.message.as_str()).collect();
        assert!(messages[0].starts_with("claude: claude, 99.0.0"));
        assert_eq!(
            messages[1..],
            [
                "mine: program `nope` not found",
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
