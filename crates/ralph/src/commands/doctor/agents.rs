//! Agents: which are installed and in which version, whether those that runs use are among them and have credentials (by name,
//! never by value), and whether cost limits hold for them.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ralph_core::agent::{BoundedText, CredentialFile, Facts, Interrupt, Launch, ProcessLimits, Stop, Stream};
use ralph_core::store::{Scope, Store};
use ralph_core::text::one_line;
use ralph_core::which::{find, not_executable, search_path};

use super::{Finding, Level};
use crate::command_error::shell_path;
use crate::commands::run::{ChosenModels, unlimited};
use crate::settings::{AgentSettings, Settings, build_agent};

const CHOOSE_ANOTHER: &str = "choose another agent: ralph config set run.agent NAME";
const CHOOSE_ANOTHER_FALLBACK: &str = "choose another fallback agent: [run] fallback in .ralph.toml";

/// How long a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it then has between TERM and KILL.
const GRACE: Duration = Duration::from_millis(300);
const ANSWER_BYTES: usize = 4096;
const ANSWER_CHARS: usize = 100;

#[derive(Debug)]
pub struct AgentProgram<'s> {
    name: &'s str,
    settings: &'s AgentSettings,
    program: Program,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Program {
    /// The line with its version, or why there is none. The line of a program that was not asked is empty.
    Found(Result<String, String>),
    NotExecutable(PathBuf),
    #[default]
    NotFound,
}

impl AgentProgram<'_> {
    fn facts(&self) -> Option<&'static Facts> {
        self.settings.kind.facts()
    }

    fn is_found(&self) -> bool {
        matches!(self.program, Program::Found(_))
    }

    fn word(&self) -> &str {
        self.settings.setup.command.first().map_or(self.name, String::as_str)
    }

    /// Why its program cannot be started.
    fn problem(&self) -> String {
        let (name, word) = (self.name, self.word());
        match &self.program {
            Program::NotExecutable(path) => format!("{name}: `{word}` is not executable: {}", path.display()),
            Program::NotFound | Program::Found(_) => {
                format!("{name}: `{word}` is not installed or not on PATH")
            }
        }
    }

    /// The command that installs it, unless the settings name another program.
    fn install(&self) -> String {
        match self.facts() {
            Some(facts) if !facts.install.is_empty() && self.word() == facts.program => {
                facts.install.to_owned()
            }
            _ => format!("install it, or change `command` under [agents.{}] in .ralph.toml", self.name),
        }
    }

    /// Name, program, version, how that compares with the tested version, and what to do if it differs too much.
    fn described(&self, answer: &Result<String, String>) -> (String, Option<String>) {
        let (name, command) = (self.name, self.word());
        let line = match answer {
            Ok(line) if line.is_empty() => return (format!("{name}: {command}"), None),
            Ok(line) => line,
            Err(why) => {
                let fix = format!("{} --version", self.settings.setup.command.join(" "));
                return (format!("{name}: {command} --version: {why}"), Some(fix));
            }
        };
        let tested = self.facts().map_or("", |facts| facts.tested);
        let (note, fix) = match version(line).zip(version(tested)) {
            None => (String::new(), None),
            Some((found, wanted)) if found[0] != wanted[0] => {
                let fix = match found > wanted {
                    true => format!("update Ralph, or install version {tested}"),
                    false => self.install(),
                };
                (format!(", a different major version than the tested {tested}"), Some(fix))
            }
            Some((found, wanted)) => match found.cmp(&wanted) {
                Ordering::Equal => (", the tested version".to_owned(), None),
                Ordering::Greater => (format!(", newer than the tested {tested}"), None),
                Ordering::Less => (format!(", older than the tested {tested}"), None),
            },
        };
        (format!("{name}: {command}, {line}{note}"), fix)
    }
}

/// Looks for every agent's program, and asks all that are found for their version at once.
pub fn find_programs<'s>(
    settings: &'s Settings,
    root: &Path,
    interrupt: &Interrupt,
) -> Vec<AgentProgram<'s>> {
    thread::scope(|scope| {
        let ask = |(name, settings): (&'s String, &'s AgentSettings)| {
            let look = move || look_for(settings, root, interrupt);
            (name, settings, thread::Builder::new().spawn_scoped(scope, look))
        };
        let asked: Vec<_> = settings.agents.iter().map(ask).collect();
        let known = asked.into_iter().map(|(name, settings, thread)| {
            let program = thread.ok().and_then(|thread| thread.join().ok());
            AgentProgram { name, settings, program: program.unwrap_or_default() }
        });
        known.collect()
    })
}

/// A plain command is not asked for its version: it might begin to work.
fn look_for(agent: &AgentSettings, root: &Path, interrupt: &Interrupt) -> Program {
    let setup = &agent.setup;
    match absent(agent, root) {
        Some(absent) => absent,
        None if agent.kind.facts().is_none() => Program::Found(Ok(String::new())),
        None => Program::Found(ask_version(&setup.command, &setup.env, root, interrupt)),
    }
}

/// Why an agent's program cannot be started; `None` where it can. Nothing is started to find out.
fn absent(agent: &AgentSettings, root: &Path) -> Option<Program> {
    let setup = &agent.setup;
    let own_path = setup.env.iter().find(|(name, _)| name == "PATH");
    let search = own_path.map(|(_, value)| OsString::from(value)).or_else(search_path);
    let word = setup.command.first().map(String::as_str).unwrap_or_default();
    if find(word, root, search.as_ref()).is_some() {
        return None;
    }
    let file = not_executable(word, root, search.as_ref());
    Some(file.map_or(Program::NotFound, Program::NotExecutable))
}

pub fn is_installed(agent: &AgentSettings, root: &Path) -> bool {
    absent(agent, root).is_none()
}

/// What would stop a run for lack of a program, found without starting any. `team` are the agents that runs use, in order.
pub fn missing(settings: &Settings, team: &[&str], root: &Path) -> Option<Finding> {
    let used = settings.agents.iter().filter(|(name, _)| team.contains(&name.as_str()));
    let known = used.map(|(name, settings)| AgentProgram {
        name,
        settings,
        program: absent(settings, root).unwrap_or(Program::Found(Ok(String::new()))),
    });
    let findings = findings(&known.collect::<Vec<_>>(), settings, team);
    findings.into_iter().find(|finding| finding.level == Level::Error)
}

pub fn findings(known: &[AgentProgram<'_>], settings: &Settings, team: &[&str]) -> Vec<Finding> {
    let is_used = |agent: &&AgentProgram<'_>| team.contains(&agent.name);
    let any_works = known.iter().filter(is_used).any(AgentProgram::is_found);
    let mut findings = Vec::new();
    for (place, name) in team.iter().enumerate() {
        let is_fallback = place > 0;
        let agent = known.iter().find(|agent| agent.name == *name);
        findings.extend(agent.map(|agent| of_used(agent, is_fallback, any_works)));
        // A run refuses to start with an agent that nobody defined.
        findings.extend(build_agent(name, &settings.agents).err().map(|error| {
            let fix = if is_fallback { CHOOSE_ANOTHER_FALLBACK } else { CHOOSE_ANOTHER };
            Finding::error("agent", error.message(), fix)
        }));
    }
    let mut missing = Vec::new();
    for agent in known.iter().filter(|agent| !is_used(agent)) {
        match &agent.program {
            Program::Found(answer) => {
                let finding = if answer.is_ok() { Finding::ok } else { Finding::neutral };
                findings.push(finding("agents", agent.described(answer).0));
            }
            Program::NotFound if !settings.is_configured(agent.name) => missing.push(agent.name),
            Program::NotFound | Program::NotExecutable(_) => {
                findings.push(Finding::neutral("agents", agent.problem()));
            }
        }
    }
    if !missing.is_empty() {
        let message = format!("not installed: {}", missing.join(", "));
        findings.push(Finding::neutral("agents", message));
    }
    findings
}

/// One that runs use. They start without a fallback agent, and without the main one where a fallback agent works.
fn of_used(agent: &AgentProgram<'_>, is_fallback: bool, any_works: bool) -> Finding {
    let note = match is_fallback {
        true => " (fallback)",
        false if any_works && !agent.is_found() => " (a fallback agent is used instead)",
        false => "",
    };
    let fix = match &agent.program {
        Program::Found(answer) => {
            let (message, fix) = agent.described(answer);
            let message = format!("{message}{note}");
            return match fix {
                Some(fix) => Finding::warning("agent", message, fix),
                None => Finding::ok("agent", message),
            };
        }
        Program::NotExecutable(path) => format!("chmod +x {}", shell_path(path)),
        Program::NotFound => agent.install(),
    };
    let message = format!("{}{note}", agent.problem());
    match note {
        "" => Finding::error("agent", message, fix),
        _ => Finding::warning("agent", message, fix),
    }
}

/// The first version in a line: `claude 2.1.325 (Claude Code)`, `v1.2`.
fn version(line: &str) -> Option<[u64; 3]> {
    let parse = |word: &str| {
        let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
        let mut parts = word.split('.').map(|part| part.parse::<u64>().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        Some([major, minor, parts.next().flatten().unwrap_or(0)])
    };
    line.split(|c: char| c != '.' && !c.is_ascii_alphanumeric()).find_map(parse)
}

/// The first line that a program prints when it is asked for its version, or why there is none. It may hang or print without
/// end: then it is stopped with its children.
pub fn ask_version(
    command: &[String],
    env: &[(String, String)],
    dir: &Path,
    interrupt: &Interrupt,
) -> Result<String, String> {
    let mut words = command.iter().cloned().chain(["--version".to_owned()]);
    let launch = Launch {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        env: env.iter().map(|(name, value)| (name.clone(), value.into())).collect(),
        cwd: dir.to_owned(),
        stdin: String::new(),
        ..Launch::default()
    };
    ask(&launch, PATIENCE, interrupt)
}

fn ask(launch: &Launch, patience: Duration, interrupt: &Interrupt) -> Result<String, String> {
    let limits = ProcessLimits { wall: patience, idle: None, grace: GRACE };
    let (mut out, mut err) = (BoundedText::new(ANSWER_BYTES, 0), BoundedText::new(ANSWER_BYTES, 0));
    let mut watch = |stream, chunk: &[u8]| match stream {
        Stream::Out => out.push(chunk),
        Stream::Err => err.push(chunk),
    };
    let ended = ralph_core::agent::run(launch, &limits, interrupt, &mut watch)
        .map_err(|error| format!("cannot start: {}", error.source))?;
    match ended.failure() {
        Some(_) if ended.stop == Stop::WallTimeout(patience) => {
            Err(format!("no answer within {} s", patience.as_secs_f32()))
        }
        Some(why) => Err(why),
        None => {
            let text = [out, err].map(BoundedText::into_text).join("\n");
            let mut lines = text.lines().map(|line| one_line(line, ANSWER_CHARS));
            lines.find(|line| !line.is_empty()).ok_or_else(|| "printed nothing".into())
        }
    }
}

/// The credentials of each agent that is installed. Those that runs use need some.
pub fn credentials(known: &[AgentProgram<'_>], team: &[&str]) -> Vec<Finding> {
    let installed = known.iter().filter(|agent| agent.is_found());
    let findings = installed.filter_map(|agent| {
        let places = CredentialPlaces::of(agent.settings)?;
        Some(credentials_finding(agent.name, &places, team.contains(&agent.name)))
    });
    findings.collect()
}

/// The names of an agent's credentials; `None` for an agent that needs none.
pub fn credentials_of(agent: &AgentSettings) -> Option<Vec<String>> {
    Some(CredentialPlaces::of(agent)?.seen())
}

/// Where an agent looks for its credentials.
struct CredentialPlaces<'s> {
    facts: &'s Facts,
    /// The environment of the agent's settings, which wins over the inherited one.
    env: &'s [(String, String)],
    inherited: fn(&str) -> Option<OsString>,
}

impl<'s> CredentialPlaces<'s> {
    fn of(agent: &'s AgentSettings) -> Option<Self> {
        let facts = agent.kind.facts()?;
        let is_needed = !facts.credential_variables.is_empty() || !facts.credential_files.is_empty();
        is_needed.then(|| Self { facts, env: &agent.setup.env, inherited: |name| std::env::var_os(name) })
    }

    /// The value of a variable that the agent gets, unless it is empty.
    fn variable(&self, name: &str) -> Option<OsString> {
        let value = match self.env.iter().rfind(|(known, _)| known == name) {
            Some((_, value)) => OsString::from(value),
            None => (self.inherited)(name)?,
        };
        Some(value).filter(|value| !value.is_empty())
    }

    fn seen(&self) -> Vec<String> {
        self.names(|name| self.variable(name).is_some(), Path::is_file)
    }

    /// The names of variables and files that pass these tests.
    fn names(&self, variable: impl Fn(&str) -> bool, file: impl Fn(&Path) -> bool) -> Vec<String> {
        let variables = self.facts.credential_variables.iter().filter(|name| variable(name));
        let files = self.facts.credential_files.iter().filter_map(|known: &CredentialFile| {
            let (dir, shown) = match self.variable(known.moved_by) {
                Some(moved) => (PathBuf::from(moved), format!("${}", known.moved_by)),
                None => {
                    let home = PathBuf::from(self.variable("HOME").unwrap_or_default());
                    (home.join(known.usual), Path::new("~").join(known.usual).display().to_string())
                }
            };
            let shown = format!("{}/{}", shown.trim_end_matches('/'), known.file);
            file(&dir.join(known.file)).then_some(shown)
        });
        variables.map(|name| (*name).to_owned()).chain(files).collect()
    }
}

fn credentials_finding(name: &str, places: &CredentialPlaces<'_>, is_used: bool) -> Finding {
    let seen = places.seen();
    if !seen.is_empty() {
        return Finding::ok("credentials", format!("{name}: {}", seen.join(", ")));
    }
    if !is_used {
        return Finding::neutral("credentials", format!("{name}: no credentials found"));
    }
    let message = format!("{name}: no credentials found (Ralph cannot see a keychain)");
    let login = match places.facts.login {
        "" => format!("log in to {name}"),
        login => login.to_owned(),
    };
    let all = places.names(|_| true, |_| true);
    Finding::warning("credentials", message, login).with([format!("looked for {}", all.join(", "))])
}

/// Agents for which the cost limits of the settings do not hold.
pub fn costs(settings: &Settings, team: &[&str], store: Option<&Store>) -> Vec<Finding> {
    let agents: Vec<_> = team.iter().filter_map(|name| build_agent(name, &settings.agents).ok()).collect();
    let of_tasks = store.and_then(|store| store.task_models(&Scope::All).ok()).unwrap_or_default();
    let chosen = ChosenModels { of_tasks: &of_tasks, ..ChosenModels::default() };
    let unlimited = unlimited(settings, agents.iter(), chosen);
    let findings = unlimited.into_iter().map(|one| match one.stops {
        true => Finding::error("agent", one.message, one.fixes.join("; ")),
        false => Finding::warning("agent", one.message, one.fixes.join("; ")),
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use ralph_core::sandbox::Belongings;

    use super::*;

    fn settings(toml: &str) -> Settings {
        Settings::parse(Path::new(".ralph.toml"), toml, std::iter::empty()).unwrap()
    }

    /// What is said of claude, where it is the chosen one.
    fn of_claude(program: Program) -> Finding {
        let settings = settings("");
        let known = AgentProgram { name: "claude", settings: &settings.agents["claude"], program };
        findings(&[known], &settings, &["claude"]).remove(0)
    }

    #[test]
    fn a_version_is_compared_with_the_tested_one() {
        let tested = ralph_core::agent::AgentKind::Claude.facts().unwrap().tested;
        for (line, level, words) in [
            (format!("{tested} (Claude Code)"), Level::Ok, "the tested version"),
            ("2.999.0".into(), Level::Ok, "newer than the tested"),
            ("2.0.0".into(), Level::Ok, "older than the tested"),
            ("99.0.0".into(), Level::Warning, "a different major version"),
            ("1.0.0".into(), Level::Warning, "a different major version"),
            ("a strange program".into(), Level::Ok, "a strange program"),
        ] {
            let finding = of_claude(Program::Found(Ok(line.clone())));
            assert_eq!(finding.level, level, "{line}");
            assert!(finding.message.contains(words), "{}", finding.message);
        }
        let silent = of_claude(Program::Found(Err("exited with code 1".into())));
        assert_eq!(silent.level, Level::Warning);
        let missing = of_claude(Program::NotFound);
        assert_eq!(missing.level, Level::Error);
        assert!(missing.fix.unwrap().starts_with("npm install"));
        let plain = of_claude(Program::NotExecutable("/opt/my tools/claude".into()));
        assert_eq!(plain.level, Level::Error);
        assert!(plain.message.contains("is not executable"), "{}", plain.message);
        let fix = plain.fix.unwrap();
        assert!(fix.ends_with("chmod +x '/opt/my tools/claude'"), "{fix}");
    }

    #[test]
    fn others_are_no_trouble() {
        let settings = settings("[agents.mine]\nkind = 'command'\ncommand = ['nope']");
        let known = |name: &'static str, program: Program| AgentProgram {
            name,
            settings: &settings.agents[name],
            program,
        };
        let all = [
            known("claude", Program::Found(Ok("99.0.0".into()))),
            known("codex", Program::NotFound),
            known("gemini", Program::NotFound),
            known("mine", Program::NotFound),
        ];
        let findings = findings(&all, &settings, &[]);
        assert!(findings.iter().all(|finding| finding.level == Level::Ok));
        let messages: Vec<&str> = findings.iter().map(|f| f.message.as_str()).collect();
        assert!(messages[0].starts_with("claude: claude, 99.0.0"));
        assert_eq!(
            messages[1..],
            ["mine: `nope` is not installed or not on PATH", "not installed: codex, gemini"]
        );
    }

    #[test]
    fn an_agent_nobody_defined_is_an_error() {
        let settings = settings("");
        let findings = findings(&[], &settings, &["cloude"]);
        assert_eq!(findings[0].level, Level::Error);
        assert!(findings[0].message.contains("cloude"));
    }

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (line, expected) in [
            ("2.1.325 (Claude Code)", Some([2, 1, 325])),
            ("codex-cli 0.42.0", Some([0, 42, 0])),
            ("v1.2", Some([1, 2, 0])),
            ("tool/3.4.5-beta.1", Some([3, 4, 5])),
            ("built 2026 with love", None),
            ("", None),
            ("...", None),
            ("99999999999999999999.1", None),
        ] {
            assert_eq!(version(line), expected, "{line}");
        }
    }

    fn asked(script: &str, patience: Duration) -> Result<String, String> {
        let launch = Launch {
            program: "sh".into(),
            args: ["-c", script].map(str::to_owned).to_vec(),
            env: vec![("A".into(), "1".into())],
            cwd: "/".into(),
            stdin: String::new(),
            ..Launch::default()
        };
        ask(&launch, patience, &Interrupt::default())
    }

    #[test]
    fn an_answer_is_a_line() {
        let said = |text: &str| Ok(text.into());
        assert_eq!(asked("echo; echo \"v $A\"; echo x", PATIENCE), said("v 1"));
        assert_eq!(asked("echo v 2 >&2", PATIENCE), said("v 2"));
        let nothing = |why: &str| Err(why.into());
        assert_eq!(asked("exit 3", PATIENCE), nothing("exited with code 3"));
        assert_eq!(asked(":", PATIENCE), nothing("printed nothing"));
    }

    #[test]
    fn a_program_that_hangs_or_prints_without_end_is_ended_with_its_children() {
        let short = Duration::from_millis(200);
        for script in [
            "trap '' TERM; sleep 677.31 & sleep 677.31",
            "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done",
        ] {
            let started = Instant::now();
            let answer = asked(script, short);
            assert_eq!(answer, Err("no answer within 0.2 s".into()));
            assert!(started.elapsed() < Duration::from_secs(120), "{script}");
        }
    }

    const FACTS: Facts = Facts {
        program: "x",
        models: &[],
        tested: "",
        install: "",
        login: "x login",
        credential_variables: &["X_API_KEY", "X_TOKEN"],
        credential_files: &[CredentialFile { moved_by: "X_HOME", usual: ".x", file: "auth.json" }],
        belongings: Belongings::NONE,
    };

    fn places(env: &[(String, String)]) -> CredentialPlaces<'_> {
        CredentialPlaces { facts: &FACTS, env, inherited: |_| None }
    }

    #[test]
    fn variables_and_files_count_and_only_their_names_are_said() {
        let home = tempfile::tempdir().unwrap();
        let mut env = vec![("HOME".to_owned(), home.path().to_string_lossy().into_owned())];
        let finding = credentials_finding("x", &places(&env), true);
        assert_eq!(finding.level, Level::Warning);
        assert_eq!(finding.fix.as_deref(), Some("x login"));
        assert_eq!(finding.detail, ["looked for X_API_KEY, X_TOKEN, ~/.x/auth.json"]);
        assert_eq!(credentials_finding("x", &places(&env), false).level, Level::Ok);

        std::fs::create_dir(home.path().join(".x")).unwrap();
        std::fs::write(home.path().join(".x/auth.json"), "hunter2").unwrap();
        let inherited = |name: &str| (name == "X_TOKEN").then(|| OsString::from("hunter3"));
        let finding = credentials_finding("x", &CredentialPlaces { inherited, ..places(&env) }, true);
        assert_eq!(finding.message, "x: X_TOKEN, ~/.x/auth.json");
        assert_eq!(finding.level, Level::Ok);
        // An empty variable of the settings takes one away.
        env.push(("X_TOKEN".to_owned(), String::new()));
        assert_eq!(CredentialPlaces { inherited, ..places(&env) }.seen(), ["~/.x/auth.json"]);
    }

    #[test]
    fn a_variable_may_say_that_the_files_are_elsewhere() {
        let moved = tempfile::tempdir().unwrap();
        std::fs::write(moved.path().join("auth.json"), "hunter2").unwrap();
        let env = [("X_HOME".to_owned(), moved.path().to_string_lossy().into_owned())];
        assert_eq!(places(&env).seen(), ["$X_HOME/auth.json"]);
    }
}
