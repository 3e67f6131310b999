//! Agents: which are there, in which version, whether those that runs use are among them, whether they have credentials (by
//! name and never by value), and whether cost limits hold for them.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ralph_core::agent::{
    Access, CredentialFile, Exit, Facts, Interrupt, Launch, ProcessLimits, Stop, Stream, Watch,
};
use ralph_core::store::{Scope, Store};
use ralph_core::text::one_line;
use ralph_core::which::{find, not_executable, search_path};

use super::permissions::make_executable;
use super::{Finding, Level};
use crate::commands::run::{ChosenModels, unlimited};
use crate::settings::{AgentSettings, Settings, build_agent};

const CHOOSE_ANOTHER: &str = "choose another agent: ralph config set run.agent NAME";
const CHOOSE_ANOTHER_FALLBACK: &str = "choose another fallback agent: [run] fallback in .ralph.toml";

/// How long a program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it then has between TERM and KILL.
const GRACE: Duration = Duration::from_millis(300);
/// Bytes of an answer that are looked at.
const ANSWER_BYTES: usize = 4096;
/// Characters of the line that is shown.
const ANSWER_CHARS: usize = 100;

/// An agent and what its program says of itself.
#[derive(Debug)]
pub struct AgentProgram<'s> {
    name: &'s str,
    settings: &'s AgentSettings,
    program: ProgramState,
}

/// What came of looking for an agent's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum ProgramState {
    Answered(Answer),
    /// A file is there that may not be executed.
    NotExecutable(PathBuf),
    #[default]
    NotThere,
}

/// What came of asking a program for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The first line it printed; empty of a program that was not asked.
    Said(String),
    /// It printed nothing of use, and this is why.
    Nothing(String),
}

impl AgentProgram<'_> {
    fn facts(&self) -> Option<&'static Facts> {
        self.settings.kind.facts()
    }

    fn is_there(&self) -> bool {
        matches!(self.program, ProgramState::Answered(_))
    }

    fn word(&self) -> &str {
        let command = &self.settings.setup.command;
        command.first().map_or(self.name, String::as_str)
    }
}

/// Looks for every agent's program, and asks all that are there at once.
pub fn find_programs<'s>(
    settings: &'s Settings,
    root: &Path,
    interrupt: &Interrupt,
) -> Vec<AgentProgram<'s>> {
    thread::scope(|scope| {
        let ask = |(name, settings)| {
            let ask = move || look_for(settings, root, interrupt);
            (name, settings, thread::Builder::new().spawn_scoped(scope, ask))
        };
        let asked: Vec<(&String, &AgentSettings, _)> = settings.agents.iter().map(ask).collect();
        let known = asked.into_iter().map(|(name, settings, program)| AgentProgram {
            name,
            settings,
            program: match program {
                Ok(asked) => asked.join().unwrap_or_default(),
                // No thread to be had: one after the other.
                Err(_) => look_for(settings, root, interrupt),
            },
        });
        known.collect()
    })
}

/// What an agent's program answers. A plain command is not asked: it might begin to work.
fn look_for(agent: &AgentSettings, root: &Path, interrupt: &Interrupt) -> ProgramState {
    let setup = &agent.setup;
    if let Some(absent) = absent(agent, root) {
        return absent;
    }
    ProgramState::Answered(match agent.kind.facts() {
        None => Answer::Said(String::new()),
        Some(_) => ask_version(&setup.command, &setup.env, root, interrupt),
    })
}

/// Why an agent's program cannot be started; `None` where it can. Nothing is started to find out.
fn absent(agent: &AgentSettings, root: &Path) -> Option<ProgramState> {
    let setup = &agent.setup;
    let own_path = setup.env.iter().find(|(name, _)| name == "PATH");
    let own_path = own_path.map(|(_, value)| OsString::from(value));
    let search = own_path.or_else(search_path);
    let Some(word) = setup.command.first() else {
        return Some(ProgramState::NotThere);
    };
    if find(word, root, search.as_ref()).is_some() {
        return None;
    }
    let file = not_executable(word, root, search.as_ref());
    Some(file.map_or(ProgramState::NotThere, ProgramState::NotExecutable))
}

pub fn is_installed(agent: &AgentSettings, root: &Path) -> bool {
    absent(agent, root).is_none()
}

/// What would stop a run for lack of a program, told without starting any. `team` are the agents that runs use, in order.
pub fn missing(settings: &Settings, team: &[&str], root: &Path) -> Option<Finding> {
    let used = settings.agents.iter().filter(|(name, _)| team.contains(&name.as_str()));
    let known = used.map(|(name, settings)| AgentProgram {
        name,
        settings,
        program: absent(settings, root).unwrap_or(ProgramState::Answered(Answer::Said(String::new()))),
    });
    let findings = findings(&known.collect::<Vec<_>>(), settings, team);
    findings.into_iter().find(|finding| finding.level == Level::Error)
}

/// What there is to say of all of them. `team` are those that runs use, in order.
pub fn findings(known: &[AgentProgram<'_>], settings: &Settings, team: &[&str]) -> Vec<Finding> {
    let is_used = |agent: &&AgentProgram<'_>| team.contains(&agent.name);
    let somebody_works = known.iter().filter(is_used).any(AgentProgram::is_there);
    let mut findings = Vec::new();
    for (place, name) in team.iter().enumerate() {
        let is_fallback = place > 0;
        findings.push(match known.iter().find(|agent| agent.name == *name) {
            Some(agent) => of_used(agent, is_fallback, somebody_works),
            // A run refuses to start with it.
            None => {
                let message = match build_agent(name, &settings.agents) {
                    Err(error) => error.message().to_owned(),
                    Ok(_) => format!("unknown agent `{name}`"),
                };
                let fix = if is_fallback { CHOOSE_ANOTHER_FALLBACK } else { CHOOSE_ANOTHER };
                Finding::error("agent", message, fix)
            }
        });
    }
    let mut missing = Vec::new();
    for agent in known.iter().filter(|agent| !is_used(agent)) {
        match &agent.program {
            ProgramState::Answered(answer @ Answer::Nothing(_)) => {
                findings.push(Finding::neutral("agents", described(agent, answer)));
            }
            ProgramState::Answered(answer) => {
                findings.push(Finding::ok("agents", described(agent, answer)));
            }
            ProgramState::NotThere if !settings.is_configured(agent.name) => missing.push(agent.name),
            ProgramState::NotThere | ProgramState::NotExecutable(_) => {
                findings.push(Finding::neutral("agents", missing_program(agent)));
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
fn of_used(agent: &AgentProgram<'_>, is_fallback: bool, somebody_works: bool) -> Finding {
    let note = match is_fallback {
        true => " (fallback)",
        false if somebody_works && !agent.is_there() => " (a fallback agent is used instead)",
        false => "",
    };
    let cannot = |fix: String| {
        let message = format!("{}{note}", missing_program(agent));
        match note {
            "" => Finding::error("agent", message, fix),
            _ => Finding::warning("agent", message, fix),
        }
    };
    let answer = match &agent.program {
        ProgramState::Answered(answer) => answer,
        ProgramState::NotExecutable(path) => return cannot(make_executable(path)),
        ProgramState::NotThere => return cannot(install(agent)),
    };
    let message = format!("{}{note}", described(agent, answer));
    let fix = match (answer, compared(agent, answer)) {
        (Answer::Nothing(_), _) => format!("{} --version", agent.settings.setup.command.join(" ")),
        (_, Some((Ordering::Greater, _))) => {
            let tested = agent.facts().map_or("", |facts| facts.tested);
            format!("update Ralph, or install version {tested}")
        }
        (_, Some((Ordering::Less, _))) => install(agent),
        _ => return Finding::ok("agent", message),
    };
    Finding::warning("agent", message, fix)
}

/// Why its program cannot be started.
fn missing_program(agent: &AgentProgram<'_>) -> String {
    let (name, word) = (agent.name, agent.word());
    match &agent.program {
        ProgramState::NotExecutable(path) => {
            format!("{name}: `{word}` is not executable: {}", path.display())
        }
        ProgramState::NotThere | ProgramState::Answered(_) => {
            format!("{name}: `{word}` is not installed or not on PATH")
        }
    }
}

/// The command that installs it; where the settings name a program of their own, nobody knows that.
fn install(agent: &AgentProgram<'_>) -> String {
    match agent.facts() {
        Some(facts) if !facts.install.is_empty() && agent.word() == facts.program => facts.install.to_owned(),
        _ => format!("install it, or change `command` under [agents.{}] in .ralph.toml", agent.name),
    }
}

/// Name, program, version, and how that stands to the tested one.
fn described(agent: &AgentProgram<'_>, answer: &Answer) -> String {
    let (name, command) = (agent.name, agent.word());
    let line = match answer {
        Answer::Said(line) if line.is_empty() => return format!("{name}: {command}"),
        Answer::Said(line) => line,
        Answer::Nothing(why) => return format!("{name}: {command} --version: {why}"),
    };
    let tested = agent.facts().map_or("", |facts| facts.tested);
    let note = match compared(agent, answer) {
        None => String::new(),
        Some((Ordering::Equal, Ordering::Equal)) => ", the tested version".into(),
        Some((Ordering::Equal, Ordering::Greater)) => format!(", newer than the tested {tested}"),
        Some((Ordering::Equal, Ordering::Less)) => format!(", older than the tested {tested}"),
        Some(_) => format!(", a different major version than the tested {tested}"),
    };
    format!("{name}: {command}, {line}{note}")
}

/// How the major version and the whole version of an agent stand to the tested ones.
fn compared(agent: &AgentProgram<'_>, answer: &Answer) -> Option<(Ordering, Ordering)> {
    let Answer::Said(line) = answer else {
        return None;
    };
    let tested = version(agent.facts()?.tested)?;
    let version = version(line)?;
    Some((version[0].cmp(&tested[0]), version.cmp(&tested)))
}

/// The first version in a line: `claude 2.1.325 (Claude Code)`, `v1.2`.
fn version(line: &str) -> Option<[u64; 3]> {
    let parse = |word: &str| {
        let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
        let mut parts = word.split('.').map(|part| part.parse::<u64>().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        Some([major, minor, parts.next().flatten().unwrap_or(0)])
    };
    let mut words = line.split(|c: char| c != '.' && !c.is_ascii_alphanumeric());
    words.find_map(parse)
}

/// Asks a program for its version. It may hang, or print without end: it is ended with its children then.
pub fn ask_version(
    command: &[String],
    env: &[(String, String)],
    dir: &Path,
    interrupt: &Interrupt,
) -> Answer {
    let mut words = command.iter().cloned().chain(["--version".to_owned()]);
    let launch = Launch {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        env: env.iter().map(|(name, value)| (name.clone(), value.into())).collect(),
        cwd: dir.to_owned(),
        stdin: String::new(),
        access: Access::default(),
    };
    ask(&launch, PATIENCE, interrupt)
}

fn ask(launch: &Launch, patience: Duration, interrupt: &Interrupt) -> Answer {
    let limits = ProcessLimits { wall: patience, idle: None, grace: GRACE };
    let mut captured = CapturedOutput::default();
    let ended = match ralph_core::agent::run(launch, &limits, interrupt, &mut captured) {
        Ok(ended) => ended,
        Err(error) => return Answer::Nothing(format!("cannot start: {}", error.source)),
    };
    Answer::Nothing(match (ended.stop, ended.exit) {
        (Stop::Exited, Exit::Code(0)) => return captured.answer(),
        (Stop::Exited, Exit::Code(code)) => format!("exited with code {code}"),
        (Stop::Exited, Exit::Signal(signal)) => format!("killed by signal {signal}"),
        (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => {
            format!("no answer within {} s", patience.as_secs_f32())
        }
        (Stop::Interrupted | Stop::Budget | Stop::GuardLost, _) => "canceled".into(),
    })
}

/// The beginning of both streams.
#[derive(Default)]
struct CapturedOutput {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Watch for CapturedOutput {
    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        let kept = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        let room = ANSWER_BYTES.saturating_sub(kept.len());
        kept.extend(chunk.iter().take(room));
    }
}

impl CapturedOutput {
    fn answer(&self) -> Answer {
        let texts = [&self.out, &self.err].map(|bytes| String::from_utf8_lossy(bytes));
        let lines = texts.iter().flat_map(|text| text.lines());
        let mut lines = lines.map(|line| one_line(line, ANSWER_CHARS));
        match lines.find(|line| !line.is_empty()) {
            Some(line) => Answer::Said(line),
            None => Answer::Nothing("printed nothing".into()),
        }
    }
}

/// What is seen of the credentials of each agent that is there. Those that runs use need some.
pub fn credentials(known: &[AgentProgram<'_>], team: &[&str]) -> Vec<Finding> {
    let there = known.iter().filter(|agent| agent.is_there());
    let findings = there.filter_map(|agent| {
        let facts = agent.facts().filter(|facts| has_credentials(facts))?;
        let is_used = team.contains(&agent.name);
        let places = CredentialPlaces::of(agent.settings);
        Some(judge_credentials(agent.name, facts, &places, is_used))
    });
    findings.collect()
}

/// The names of the credentials that are seen of an agent; `None` where there is nothing to look for.
pub fn credentials_of(agent: &AgentSettings) -> Option<Vec<String>> {
    let facts = agent.kind.facts().filter(|facts| has_credentials(facts))?;
    Some(CredentialPlaces::of(agent).seen(facts))
}

fn has_credentials(facts: &Facts) -> bool {
    !facts.credential_variables.is_empty() || !facts.credential_files.is_empty()
}

/// Where an agent looks for its credentials.
struct CredentialPlaces<'s> {
    /// The environment of the agent's settings, which has the last word.
    env: &'s [(String, String)],
    /// The environment of this process.
    inherited: fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
}

impl<'s> CredentialPlaces<'s> {
    fn of(agent: &'s AgentSettings) -> Self {
        Self { env: &agent.setup.env, inherited: |name| std::env::var_os(name), home: std::env::home_dir() }
    }

    /// The value of a variable that the agent gets, unless it is empty.
    fn variable(&self, name: &str) -> Option<OsString> {
        let value = match self.env.iter().rfind(|(known, _)| known == name) {
            Some((_, value)) => OsString::from(value),
            None => (self.inherited)(name)?,
        };
        Some(value).filter(|value| !value.is_empty())
    }

    fn seen(&self, facts: &Facts) -> Vec<String> {
        let is_set = |name: &&&str| self.variable(name).is_some();
        let is_there = |file: &&CredentialFile| self.path(file).is_some_and(|path| path.is_file());
        let variables = facts.credential_variables.iter().filter(is_set);
        let files = facts.credential_files.iter().filter(is_there);
        self.names(variables, files)
    }

    fn names<'f>(
        &self,
        variables: impl Iterator<Item = &'f &'f str>,
        files: impl Iterator<Item = &'f CredentialFile>,
    ) -> Vec<String> {
        let files = files.map(|file| {
            let dir = match self.variable(file.moved_by) {
                Some(_) => format!("${}", file.moved_by),
                None => Path::new("~").join(file.usual).display().to_string(),
            };
            format!("{}/{}", dir.trim_end_matches('/'), file.file)
        });
        variables.map(|name| (*name).to_owned()).chain(files).collect()
    }

    fn path(&self, file: &CredentialFile) -> Option<PathBuf> {
        let home = || self.variable("HOME").map(PathBuf::from).or_else(|| self.home.clone());
        let dir = match self.variable(file.moved_by) {
            Some(moved) => PathBuf::from(moved),
            None => home()?.join(file.usual),
        };
        Some(dir.join(file.file))
    }
}

fn judge_credentials(name: &str, facts: &Facts, places: &CredentialPlaces<'_>, is_used: bool) -> Finding {
    let seen = places.seen(facts);
    if !seen.is_empty() {
        return Finding::ok("credentials", format!("{name}: {}", seen.join(", ")));
    }
    if !is_used {
        return Finding::neutral("credentials", format!("{name}: no credentials found"));
    }
    let message = format!("{name}: no credentials found (Ralph cannot see a keychain)");
    let login = match facts.login {
        "" => format!("log in to {name}"),
        login => login.to_owned(),
    };
    let all = places.names(facts.credential_variables.iter(), facts.credential_files.iter());
    let looked_for = format!("looked for {}", all.join(", "));
    Finding::warning("credentials", message, login).with([looked_for])
}

/// Agents for which the cost limits of the settings do not hold.
pub fn costs(settings: &Settings, team: &[&str], store: Option<&Store>) -> Vec<Finding> {
    let agents = team.iter().filter_map(|name| build_agent(name, &settings.agents).ok());
    let agents: Vec<_> = agents.collect();
    let of_tasks = store.and_then(|store| store.task_models(&Scope::All).ok());
    let chosen =
        ChosenModels { of_tasks: of_tasks.as_deref().unwrap_or_default(), ..ChosenModels::default() };
    let unlimited = unlimited(settings, agents.iter().map(AsRef::as_ref), chosen);
    let findings = unlimited.into_iter().map(|one| match one.stops {
        true => Finding::error("agent", one.message, one.fixes.join("; ")),
        false => Finding::warning("agent", one.message, one.fixes.join("; ")),
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn settings(toml: &str) -> Settings {
        Settings::parse(Path::new(".ralph.toml"), toml, std::iter::empty()).unwrap()
    }

    /// What is said of claude, where it is the chosen one.
    fn of_claude(program: ProgramState) -> Finding {
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
            let finding = of_claude(ProgramState::Answered(Answer::Said(line.clone())));
            assert_eq!(finding.level, level, "{line}");
            assert!(finding.message.contains(words), "{}", finding.message);
        }
        let silent = of_claude(ProgramState::Answered(Answer::Nothing("exited with code 1".into())));
        assert_eq!(silent.level, Level::Warning);
        let missing = of_claude(ProgramState::NotThere);
        assert_eq!(missing.level, Level::Error);
        assert!(missing.fix.unwrap().starts_with("npm install"));
        let plain = of_claude(ProgramState::NotExecutable("/opt/my tools/claude".into()));
        assert_eq!(plain.level, Level::Error);
        assert!(plain.message.contains("is not executable"), "{}", plain.message);
        let fix = plain.fix.unwrap();
        assert!(fix.ends_with("chmod +x '/opt/my tools/claude'"), "{fix}");
    }

    #[test]
    fn others_are_no_trouble() {
        let settings = settings("[agents.mine]\nkind = 'command'\ncommand = ['nope']");
        let known = |name: &'static str, program: ProgramState| AgentProgram {
            name,
            settings: &settings.agents[name],
            program,
        };
        let all = [
            known("claude", ProgramState::Answered(Answer::Said("99.0.0".into()))),
            known("codex", ProgramState::NotThere),
            known("gemini", ProgramState::NotThere),
            known("mine", ProgramState::NotThere),
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

    fn asked(script: &str, patience: Duration) -> Answer {
        let launch = Launch {
            program: "sh".into(),
            args: ["-c", script].map(str::to_owned).to_vec(),
            env: vec![("A".into(), "1".into())],
            cwd: "/".into(),
            stdin: String::new(),
            access: Access::default(),
        };
        ask(&launch, patience, &Interrupt::default())
    }

    #[test]
    fn an_answer_is_a_line() {
        let said = |text: &str| Answer::Said(text.into());
        assert_eq!(asked("echo; echo \"v $A\"; echo x", PATIENCE), said("v 1"));
        assert_eq!(asked("echo v 2 >&2", PATIENCE), said("v 2"));
        let nothing = |why: &str| Answer::Nothing(why.into());
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
            assert_eq!(answer, Answer::Nothing("no answer within 0.2 s".into()));
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
    };

    #[test]
    fn variables_and_files_count_and_only_their_names_are_said() {
        let home = tempfile::tempdir().unwrap();
        let mut places =
            CredentialPlaces { env: &[], inherited: |_| None, home: Some(home.path().to_owned()) };
        let finding = judge_credentials("x", &FACTS, &places, true);
        assert_eq!(finding.level, Level::Warning);
        assert_eq!(finding.fix.as_deref(), Some("x login"));
        assert_eq!(finding.detail, ["looked for X_API_KEY, X_TOKEN, ~/.x/auth.json"]);
        assert_eq!(judge_credentials("x", &FACTS, &places, false).level, Level::Ok);

        std::fs::create_dir(home.path().join(".x")).unwrap();
        std::fs::write(home.path().join(".x/auth.json"), "hunter2").unwrap();
        places.inherited = |name| (name == "X_TOKEN").then(|| "hunter3".into());
        let finding = judge_credentials("x", &FACTS, &places, true);
        assert_eq!(finding.message, "x: X_TOKEN, ~/.x/auth.json");
        assert_eq!(finding.level, Level::Ok);
        // An empty variable of the settings takes one away.
        let empty = [("X_TOKEN".to_owned(), String::new())];
        places.env = &empty;
        places.home = None;
        assert!(places.seen(&FACTS).is_empty());
    }

    #[test]
    fn a_variable_may_say_that_the_files_are_elsewhere() {
        let moved = tempfile::tempdir().unwrap();
        let path = moved.path().to_string_lossy().into_owned();
        std::fs::write(moved.path().join("auth.json"), "hunter2").unwrap();
        // The home of the agent's own settings counts, not that of whoever asks.
        std::fs::create_dir(moved.path().join(".x")).unwrap();
        std::fs::write(moved.path().join(".x/auth.json"), "hunter2").unwrap();
        for (variable, expected) in [("X_HOME", "$X_HOME/auth.json"), ("HOME", "~/.x/auth.json")] {
            let env = [(variable.to_owned(), path.clone())];
            let places = CredentialPlaces { env: &env, inherited: |_| None, home: None };
            assert_eq!(places.seen(&FACTS), [expected]);
        }
    }
}
