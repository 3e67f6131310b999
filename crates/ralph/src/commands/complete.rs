//! `ralph completions SHELL` prints a small script that asks `ralph complete SHELL -- WORD…` what fits at the last word, so
//! that it never grows stale.
//!
//! Completion must never disturb: nothing is written, migrated or reported, and where nothing fits, nothing is printed.
//! `clap_complete` finds what the last word is; a [`Project`] knows the names; the rest speaks each shell's form.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use ralph_core::model::{Source, Status, Strategy};
use ralph_core::project;
use ralph_core::store::{Named, Result, Store};
use ralph_core::text::one_line;

use super::Cli;
use crate::command_error::CommandResult;
use crate::output;
use crate::secrets::shown_words;
use crate::settings::edit::Name;
use crate::settings::{AGENT_FIELDS, KEYS, Key, Settings};
use crate::store_place;
use crate::workspace::find;

/// Candidates that stand for paths, which the shell itself completes. No argument can contain a NUL.
const FILES: &str = "\0files";
const DIRS: &str = "\0dirs";
/// Names asked for at once; more would help nobody.
const MOST_NAMES: usize = 200;
/// A server that takes longer to answer is not asked: somebody waits at a prompt.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);
const COMMAND_CHARS: usize = 40;
const ABOUT_CHARS: usize = 80;

/// Print the shell completion script.
///
/// Completes commands, flags, tasks, learnings, models and settings (elvish and powershell: commands and flags). To install
/// it for bash: ralph completions bash > ~/.local/share/bash-completion/completions/ralph. For zsh, write a file _ralph on
/// your fpath; for fish, ~/.config/fish/completions/ralph.fish.
#[derive(Debug, clap::Args)]
pub struct ScriptArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub fn script(args: &ScriptArgs) -> CommandResult {
    match args.shell {
        Shell::Bash => output::text(include_str!("complete/ralph.bash")),
        Shell::Zsh => output::text(include_str!("complete/ralph.zsh")),
        Shell::Fish => output::text(include_str!("complete/ralph.fish")),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "ralph", &mut script);
            output::bytes(&script);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Complete the last word of a command line.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose words these are.
    #[arg(value_enum)]
    shell: Shell,
    /// The command line up to the cursor, `ralph` included.
    #[arg(last = true)]
    words: Vec<OsString>,
}

pub fn run(args: &Args) -> CommandResult {
    let words = args.words.iter().map(|word| word.to_string_lossy().into_owned());
    let typed = Typed::read(args.shell, words.collect());
    let answer = answer(&typed.words, Project::of(&typed.words));
    output::text(typed.write(args.shell, &answer));
    Ok(ExitCode::SUCCESS)
}

/// What fits at the last word: words, or a path, which the shell itself completes.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Words(Vec<CompletionCandidate>),
    Files,
    Dirs,
}

fn answer(words: &[String], project: Project) -> Answer {
    let Some((last, before)) = words.split_last().filter(|(_, before)| !before.is_empty()) else {
        return Answer::Words(Vec::new());
    };
    let mut command = with_completers(Cli::command(), &[], &Arc::new(project));
    let arguments = words.iter().map(OsString::from).collect();
    let mut found = complete(&mut command, arguments, before.len(), None).unwrap_or_default();
    let has = |mark: &str| found.iter().any(|candidate| word(candidate).ends_with(mark));
    if has(FILES) {
        return Answer::Files;
    }
    if has(DIRS) {
        return Answer::Dirs;
    }
    found.retain(|candidate| {
        let word = word(candidate);
        !candidate.is_hide_set() && is_one_word(&word) && !is_given(&word, before, last)
    });
    // Subcommands; where there are none, values; and where nothing else fits, flags.
    let rank = |candidate: &CompletionCandidate| match candidate.get_id() {
        Some(id) if id.starts_with("command::") => 0,
        Some(_) => 2,
        None => 1,
    };
    let first = found.iter().map(rank).min();
    found.retain(|candidate| Some(rank(candidate)) == first);
    Answer::Words(found)
}

fn word(candidate: &CompletionCandidate) -> Cow<'_, str> {
    candidate.get_value().to_string_lossy()
}

/// Whether a name or flag was given before, also in the list that is being typed.
fn is_given(word: &str, before: &[String], last: &str) -> bool {
    let typed = last.rsplit_once(',').map_or("", |(settled, _)| settled);
    let typed = typed.rsplit('=').next().unwrap_or(typed);
    let value = word.rsplit([',', '=']).next().unwrap_or(word);
    before.iter().skip(1).any(|given| given == word)
        || word.contains(',') && typed.split(',').any(|item| item == value)
}

/// Names in other programs' files may be anything; what cannot be typed is not offered.
fn is_one_word(word: &str) -> bool {
    !word.is_empty() && !word.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// The command line with what its arguments can be, as far as the project knows.
fn with_completers(command: Command, path: &[String], project: &Arc<Project>) -> Command {
    let completed = command.mut_args(|argument| with_completer(argument, path, project));
    completed.mut_subcommands(|below| {
        let path = [path, &[below.get_name().to_owned()]].concat();
        with_completers(below, &path, project)
    })
}

fn with_completer(argument: Arg, path: &[String], project: &Arc<Project>) -> Arg {
    if let Some(names) = names_of(path, argument.get_id().as_str()) {
        let project = Arc::clone(project);
        let complete = move |prefix: &OsStr| {
            let prefix = prefix.to_string_lossy();
            let mut candidates = project.names(names, &prefix);
            candidates.retain(|candidate| word(candidate).starts_with(prefix.as_ref()));
            candidates
        };
        return argument.add(ArgValueCompleter::new(complete));
    }
    let mark = match argument.get_value_hint() {
        ValueHint::AnyPath if argument.get_id() == "dir" => DIRS,
        ValueHint::DirPath => DIRS,
        ValueHint::AnyPath | ValueHint::FilePath => FILES,
        _ => return argument,
    };
    let path = move |_: &OsStr| vec![CompletionCandidate::new(mark)];
    argument.add(ArgValueCompleter::new(path))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Tasks,
    Learnings,
    Runs,
    Agents,
    Models,
    Settings,
    /// Values of the setting that was named before.
    SettingValues,
    Strategies,
    Statuses,
    Sources,
}

/// What the values of the argument with this id name, below this command.
fn names_of(path: &[String], id: &str) -> Option<Names> {
    Some(match (path.first().map(String::as_str), id) {
        (_, "task" | "tasks" | "dependency" | "parent" | "after") => Names::Tasks,
        (Some("learnings"), "id" | "ids") => Names::Learnings,
        (Some("learnings"), "source") => Names::Sources,
        (_, "run") => Names::Runs,
        (_, "agent" | "fallback") => Names::Agents,
        (_, "model" | "ladder") => Names::Models,
        (_, "setting") => Names::Settings,
        (Some("config"), "value") => Names::SettingValues,
        (_, "strategy") => Names::Strategies,
        (_, "status") => Names::Statuses,
        _ => return None,
    })
}

struct Project {
    /// None where the command line is not in a project.
    root: Option<project::Project>,
    agent: Option<String>,
    /// The word before the last one: in `config set`, the setting's name.
    before_last: String,
    /// The settings; where they cannot be read, the defaults.
    settings: Settings,
}

impl Project {
    fn of(words: &[String]) -> Self {
        let dir = option(words, &["--dir", "-C"]).map(|dir| below_home(&dir));
        let root = find(dir.as_deref()).ok();
        let file = root.as_ref().map(project::Project::config).unwrap_or_default();
        Self {
            root,
            agent: option(words, &["--agent"]),
            before_last: words.iter().rev().nth(1).cloned().unwrap_or_default(),
            settings: Settings::load(&file, std::env::vars_os()).unwrap_or_default(),
        }
    }

    fn names(&self, names: Names, prefix: &str) -> Vec<CompletionCandidate> {
        match names {
            Names::Tasks => self.stored(|store| store.task_names(prefix, MOST_NAMES)),
            Names::Learnings => self.stored(|store| store.learning_names(prefix, MOST_NAMES)),
            Names::Runs => self.stored(|store| store.run_names(prefix, MOST_NAMES)),
            Names::Agents => self.agents(),
            Names::Models => self.models(),
            Names::Settings => self.setting_names(),
            Names::SettingValues => match self.before_last.as_str() {
                "run.agent" | "run.fallback" => self.agents(),
                "run.model" => self.models(),
                name => {
                    let key = Name::parse(name).and_then(|name| Key::named(&name));
                    plain(&key.map(|key| key.kind.choices()).unwrap_or_default())
                }
            },
            Names::Strategies => plain(&Strategy::ALL.map(Strategy::as_str)),
            Names::Statuses => plain(&Status::ALL.map(Status::as_str)),
            Names::Sources => plain(&Source::ALL.map(Source::as_str)),
        }
    }

    /// Names of agents, with their program.
    fn agents(&self) -> Vec<CompletionCandidate> {
        let agents = self.settings.agents.iter().map(|(name, agent)| {
            let command = agent.setup.command.iter().map(String::as_str);
            candidate(name, shown_words(command, COMMAND_CHARS).join(" "))
        });
        agents.collect()
    }

    /// Models of the agent that is named, else of the one that runs use.
    fn models(&self) -> Vec<CompletionCandidate> {
        let settings = &self.settings;
        let agent = self.agent.as_deref().unwrap_or(settings.agent());
        let models = settings.agents.get(agent).map(|agent| agent.setup.models.iter());
        models.into_iter().flatten().map(|model| candidate(model, agent.to_owned())).collect()
    }

    fn setting_names(&self) -> Vec<CompletionCandidate> {
        let name =
            |section: &str, key: &str, doc: &str| candidate(format!("{section}.{key}"), doc.to_owned());
        let plain = KEYS.iter().map(|key| name(key.section, key.name, key.doc));
        let agents = self.settings.agents.keys().flat_map(|agent| {
            let section = format!("agents.{agent}");
            AGENT_FIELDS.iter().map(move |field| name(&section, field.name, field.doc))
        });
        plain.chain(agents).collect()
    }

    fn stored(&self, ask: impl FnOnce(&Store) -> Result<Vec<Named>>) -> Vec<CompletionCandidate> {
        let place = self.root.as_ref().and_then(|root| store_place::of(root).ok());
        let store = place.and_then(|place| place.open_read_only_within(ANSWER_WITHIN).ok());
        let named = store.and_then(|store| ask(&store).ok()).unwrap_or_default();
        named.into_iter().map(|named| candidate(named.name, named.about)).collect()
    }
}

/// A directory as the shell will pass it on.
fn below_home(dir: &str) -> PathBuf {
    match (dir.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(dir),
    }
}

/// The last value that a command line gives to an option.
fn option(words: &[String], names: &[&str]) -> Option<String> {
    let (_, before) = words.split_last()?;
    let value = |(at, word): (usize, &String)| {
        names.iter().find_map(|name| match word.strip_prefix(name)? {
            "" => before.get(at + 1).cloned(),
            joined if !name.starts_with("--") => Some(joined.to_owned()),
            joined => joined.strip_prefix('=').map(str::to_owned),
        })
    };
    before.iter().enumerate().rev().find_map(value)
}

fn candidate(word: impl Into<OsString>, about: String) -> CompletionCandidate {
    CompletionCandidate::new(word).help(Some(about.into()))
}

fn plain(words: &[&str]) -> Vec<CompletionCandidate> {
    words.iter().map(CompletionCandidate::new).collect()
}

/// A command line as it was typed.
#[derive(Debug, PartialEq, Eq)]
struct Typed {
    /// Its words, without quotes, up to the cursor.
    words: Vec<String>,
    /// Bytes at the beginning of the last word that the shell does not replace.
    kept: usize,
    /// Whether the last word has an open quote, within which nothing needs a backslash.
    is_quoted: bool,
}

impl Typed {
    /// What a shell means by its words.
    fn read(shell: Shell, mut words: Vec<String>) -> Self {
        if shell == Shell::Bash {
            return Self::of_bash(&words);
        }
        if let Some(last) = words.last_mut().filter(|_| shell == Shell::Fish) {
            *last = unquoted(last);
        }
        Self { words, kept: 0, is_quoted: false }
    }

    /// Bash takes a word with `:` or `=` in it for several, and replaces the last of them only. An empty word is none of a
    /// broken one: there was a blank before it.
    fn of_bash(pieces: &[String]) -> Self {
        let mut words: Vec<String> = Vec::new();
        let (mut joins, mut kept) = (false, 0);
        for piece in pieces {
            let is_break = piece == ":" || piece == "=";
            let joined = (joins || is_break) && !piece.is_empty();
            match words.last_mut().filter(|_| joined) {
                Some(word) => {
                    kept = word.len() + if is_break { piece.len() } else { 0 };
                    word.push_str(&unquoted(piece));
                }
                None => {
                    kept = 0;
                    words.push(unquoted(piece));
                }
            }
            joins = is_break;
        }
        let is_quoted = pieces.last().is_some_and(|piece| piece.starts_with(['"', '\'']));
        Self { words, kept, is_quoted }
    }

    /// The answer: who completes, then what fits, a line each.
    fn write(&self, shell: Shell, answer: &Answer) -> String {
        let words = match answer {
            Answer::Files => return "files\n".into(),
            Answer::Dirs => return "dirs\n".into(),
            Answer::Words(words) => words,
        };
        let lines = words.iter().map(|candidate| self.line(shell, candidate) + "\n");
        format!("words\n{}", lines.collect::<String>())
    }

    fn line(&self, shell: Shell, candidate: &CompletionCandidate) -> String {
        let word = word(candidate);
        let about = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let about = one_line(about.lines().next().unwrap_or_default(), ABOUT_CHARS);
        match shell {
            Shell::Bash => {
                let rest = word.get(self.kept..).unwrap_or_default();
                if self.is_quoted { rest.to_owned() } else { escaped(rest) }
            }
            Shell::Zsh => {
                let word = word.replace(':', "\\:");
                if about.is_empty() { word } else { format!("{word}:{about}") }
            }
            _ => format!("{word}\t{about}"),
        }
    }
}

/// A word as the shell would pass it on; a quote may still be open.
fn unquoted(word: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => plain.extend(letters.next()),
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, _) => plain.push(letter),
        }
    }
    plain
}

/// A word with a backslash before what bash would not leave alone.
fn escaped(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    let escape = |c| (!is_plain(c)).then_some('\\').into_iter().chain([c]);
    word.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &str) -> Answer {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        // No project is there: the root of the file system holds none.
        let project = Project::of(&["ralph", "-C", "/", ""].map(str::to_owned));
        let before_last = words.iter().rev().nth(1).cloned().unwrap_or_default();
        answer(&words, Project { before_last, ..project })
    }

    fn words(line: &str) -> Vec<String> {
        match at(line) {
            Answer::Words(words) => words.iter().map(|candidate| word(candidate).into_owned()).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn commands_flags_and_choices_are_completed_where_they_fit() {
        for (line, expected) in [
            ("ralph sta", &["status", "stats"][..]),
            ("ralph task de", &["delete", "deps"]),
            ("ralph task deps ", &["add", "rm", "list", "help"]),
            ("ralph run --str", &["--strategy"]),
            ("ralph run --strategy e", &["escalate"]),
            ("ralph run --strategy=e", &["--strategy=escalate"]),
            ("ralph -C x run --strategy e", &["escalate"]),
            ("ralph run --model ", &["haiku", "sonnet", "opus"]),
            ("ralph run --agent c", &["claude", "codex"]),
            ("ralph run --fallback cl", &["claude"]),
            ("ralph run --fallback codex,c", &["codex,claude"]),
            ("ralph run --fallback=claude,codex,g", &["--fallback=claude,codex,gemini"]),
            ("ralph replay --ladder haiku,s", &["haiku,sonnet"]),
            ("ralph task list --status s", &["skipped"]),
            ("ralph learnings list --source m", &["merge"]),
            ("ralph learnings list --state p", &["pruned"]),
            ("ralph config get run.mod", &["run.model"]),
            ("ralph config get agents.claude.m", &["agents.claude.models"]),
            ("ralph config set breaker.on_open w", &["wait"]),
            ("ralph config set run.agent c", &["claude", "codex"]),
            ("ralph config set agents.claude.kind co", &["codex", "command"]),
            ("ralph config set agents.claude.skip_permissions ", &["true", "false"]),
            ("ralph completions z", &["zsh"]),
            ("ralph import ", &["Files"]),
            ("ralph -C ", &["Dirs"]),
            ("ralph --dir=", &["Dirs"]),
            ("ralph run x --onc", &["--once"]),
            ("ralph run --once --onc", &[]),
            ("ralph run -- --onc", &[]),
            ("ralph nonsense ", &["init"]),
            ("ralph guar", &[]),
            ("ralph", &[]),
        ] {
            let found = words(line);
            match expected {
                ["init"] => assert!(found.contains(&"init".to_owned()), "{line}: {found:?}"),
                _ => assert_eq!(found, expected, "{line}"),
            }
        }
        assert!(words("ralph run ").contains(&"--once".to_owned()));
        assert!(words("ralph status ").contains(&"--json".to_owned()));
    }

    fn every(command: &Command, path: &[String], look: &mut dyn FnMut(&[String], &Arg)) {
        for argument in command.get_arguments() {
            look(path, argument);
        }
        for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            every(below, &[path, &[below.get_name().to_owned()]].concat(), look);
        }
    }

    /// An argument that takes a task, a learning or a model says so in its help; none is forgotten.
    #[test]
    fn whatever_takes_a_name_completes_it() {
        let mut command = Cli::command();
        command.build();
        let mut tasks = 0;
        every(&command, &[], &mut |path, argument| {
            let help = argument.get_help().map(ToString::to_string);
            let help = help.unwrap_or_default().to_lowercase();
            let known = names_of(path, argument.get_id().as_str());
            let takes_value = argument.get_action().takes_values();
            if help.contains("id or key") || help.contains("ids or keys") {
                assert_eq!(known, Some(Names::Tasks), "{path:?} {argument:?}");
                tasks += 1;
            }
            let about_learnings = path.first().is_some_and(|name| name == "learnings");
            if about_learnings && (help.starts_with("its id") || help.starts_with("their ids")) {
                assert_eq!(known, Some(Names::Learnings), "{path:?} {argument:?}");
            }
            if takes_value && argument.get_long() == Some("model") {
                assert_eq!(known, Some(Names::Models), "{path:?}");
            }
        });
        assert!(tasks >= 12, "{tasks}");
    }

    #[test]
    fn bash_breaks_words_and_we_join_them() {
        for (pieces, words, kept) in [
            (&["ralph", "run", "a"][..], &["ralph", "run", "a"][..], 0),
            (&["ralph", "--model", "=", "op"], &["ralph", "--model=op"], 8),
            (&["ralph", "--model", "="], &["ralph", "--model="], 8),
            (&["ralph", "a", ":", "b"], &["ralph", "a:b"], 2),
            (&["ralph", "a", ":", "b", ":"], &["ralph", "a:b:"], 4),
            (&["ralph", "a", ":", ""], &["ralph", "a:", ""], 0),
            (&["ralph", "'a b'", "\"c"], &["ralph", "a b", "c"], 0),
        ] {
            let typed = Typed::read(Shell::Bash, pieces.iter().map(|&word| word.into()).collect());
            assert_eq!(typed.words, words);
            assert_eq!(typed.kept, kept, "{pieces:?}");
        }
    }

    #[test]
    fn every_shell_gets_its_own_form() {
        let answer = Answer::Words(vec![candidate("a:b#1", "The\ttitle".into())]);
        for (shell, words, expected) in [
            (Shell::Bash, &["ralph", "a"][..], "words\na:b\\#1\n"),
            (Shell::Bash, &["ralph", "a", ":"], "words\nb\\#1\n"),
            (Shell::Bash, &["ralph", "'a"], "words\na:b#1\n"),
            (Shell::Zsh, &["ralph", "a"], "words\na\\:b#1:The title\n"),
            (Shell::Fish, &["ralph", "a"], "words\na:b#1\tThe title\n"),
        ] {
            let typed = Typed::read(shell, words.iter().map(|&word| word.into()).collect());
            assert_eq!(typed.write(shell, &answer), expected);
        }
    }
}
