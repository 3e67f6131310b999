//! What fits at a place: subcommands, flags, and values, which may be live.

use clap::{Arg, ValueHint};
use ralph_core::model::{Source, Status, Strategy};

use super::grammar::{Expects, Place, takes_many};
use super::live::Project;
use crate::settings::keys;

/// Something that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The whole word.
    pub word: String,
    /// What it is, in one line; may be empty.
    pub about: String,
}

/// What fits.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// One of these.
    Words(Vec<Candidate>),
    /// A file, which the shell knows best.
    Files,
    /// A directory.
    Dirs,
}

/// What values of an argument are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// Keys and ids of tasks.
    Tasks,
    /// Ids of learnings.
    Learnings,
    /// Ids of runs.
    Runs,
    /// Names of agents.
    Agents,
    /// Models of an agent.
    Models,
    /// Names of settings.
    Settings,
    /// Values of the setting that was named before.
    SettingValues,
    /// Strategies.
    Strategies,
    /// What a task can be.
    Statuses,
    /// Where learnings come from.
    Sources,
}

/// What values of the argument with this id are, below this command.
pub fn live(path: &[&str], id: &str) -> Option<Live> {
    let of_learnings = path.first() == Some(&"learnings");
    match id {
        "task" | "tasks" | "dependency" | "parent" | "after" => Some(Live::Tasks),
        "id" | "ids" if of_learnings => Some(Live::Learnings),
        "source" if of_learnings => Some(Live::Sources),
        "run" => Some(Live::Runs),
        "agent" | "fallback" => Some(Live::Agents),
        "model" | "ladder" => Some(Live::Models),
        "setting" => Some(Live::Settings),
        "value" if path.first() == Some(&"config") => Some(Live::SettingValues),
        "strategy" => Some(Live::Strategies),
        "status" => Some(Live::Statuses),
        _ => None,
    }
}

/// What fits at a place of a project.
pub fn answer(place: &Place<'_>, project: &Project) -> Answer {
    match place.expects {
        Expects::Value(argument) => values(place, argument, project),
        Expects::Flag => Answer::Words(flags(place)),
        Expects::Word(argument) => {
            let commands = subcommands(place);
            if !commands.is_empty() {
                return Answer::Words(commands);
            }
            match argument.map(|argument| values(place, argument, project)) {
                // Where nothing else fits, flags do.
                Some(Answer::Words(words)) if words.is_empty() && place.prefix.is_empty() => {
                    Answer::Words(flags(place))
                }
                Some(answer) => answer,
                None if place.prefix.is_empty() => Answer::Words(flags(place)),
                None => Answer::Words(Vec::new()),
            }
        }
    }
}

fn subcommands(place: &Place<'_>) -> Vec<Candidate> {
    let commands = place.command.get_subcommands();
    commands
        .filter(|command| !command.is_hide_set())
        .filter(|command| command.get_name().starts_with(&place.prefix))
        .map(|command| Candidate {
            word: command.get_name().to_owned(),
            about: first_line(command.get_about()),
        })
        .collect()
}

fn flags(place: &Place<'_>) -> Vec<Candidate> {
    let mut longs = Vec::new();
    let mut shorts = Vec::new();
    for argument in place.command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_given = place.given.iter().any(|(given, _)| *given == id);
        if argument.is_hide_set() || is_given && !takes_many(argument) {
            continue;
        }
        let about = first_line(argument.get_help());
        if let Some(long) = argument.get_long() {
            let word = format!("--{long}");
            longs.push(Candidate { word, about });
        } else if let Some(short) = argument.get_short() {
            let word = format!("-{short}");
            shorts.push(Candidate { word, about });
        }
    }
    longs.append(&mut shorts);
    longs.retain(|flag| flag.word.starts_with(&place.prefix));
    longs
}

fn first_line(help: Option<&clap::builder::StyledStr>) -> String {
    let text = help.map(ToString::to_string).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn values(place: &Place<'_>, argument: &Arg, project: &Project) -> Answer {
    let possible = argument.get_possible_values();
    let words: Vec<Candidate> = match live(&place.path, argument.get_id().as_str()) {
        Some(live) => live_values(live, place, project),
        None if possible.is_empty() => match path_kind(argument) {
            Some(answer) => return answer,
            None => Vec::new(),
        },
        None => possible
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| Candidate {
                word: value.get_name().to_owned(),
                about: first_line(value.get_help()),
            })
            .collect(),
    };
    // A name given already is not wanted again.
    let id = argument.get_id().as_str();
    let listed = place.lead.rsplit('=').next().unwrap_or_default();
    let listed: Vec<&str> = listed.split(',').collect();
    let given = |word: &str| {
        place
            .given
            .iter()
            .any(|(by, value)| *by == id && value == word)
            || listed.contains(&word)
    };
    let fitting = words
        .into_iter()
        .filter(|value| value.word.starts_with(&place.prefix) && !given(&value.word))
        .filter(|value| is_one_word(&value.word))
        .map(|value| Candidate {
            word: format!("{}{}", place.lead, value.word),
            about: value.about,
        });
    Answer::Words(fitting.collect())
}

/// Names of other programs' files may be anything; what cannot be typed is not offered.
fn is_one_word(word: &str) -> bool {
    !word.is_empty() && !word.contains(|c: char| c.is_control() || c.is_whitespace())
}

fn path_kind(argument: &Arg) -> Option<Answer> {
    match argument.get_value_hint() {
        ValueHint::AnyPath if argument.get_id() == "dir" => Some(Answer::Dirs),
        ValueHint::DirPath => Some(Answer::Dirs),
        ValueHint::AnyPath | ValueHint::FilePath => Some(Answer::Files),
        _ => None,
    }
}

fn live_values(live: Live, place: &Place<'_>, project: &Project) -> Vec<Candidate> {
    let plain = |words: &[&str]| {
        let words = words.iter();
        let plain = words.map(|word| Candidate {
            word: (*word).to_owned(),
            about: String::new(),
        });
        plain.collect()
    };
    match live {
        Live::Tasks => project.tasks(&place.prefix),
        Live::Learnings => project.learnings(&place.prefix),
        Live::Runs => project.runs(&place.prefix),
        Live::Agents => project.agents(),
        Live::Models => project.models(),
        Live::Settings => project.settings(),
        Live::SettingValues => {
            let mut given = place.given.iter();
            let setting = given.find(|(id, _)| *id == "setting");
            match setting.map_or("", |(_, name)| name.as_str()) {
                "run.agent" | "run.fallback" => project.agents(),
                "run.model" => project.models(),
                name => plain(keys::choices(name)),
            }
        }
        Live::Strategies => plain(&Strategy::ALL.map(Strategy::as_str)),
        Live::Statuses => plain(&Status::ALL.map(Status::as_str)),
        Live::Sources => plain(&Source::ALL.map(Source::as_str)),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::cli::Cli;

    fn at(words: &str) -> Answer {
        let mut command = Cli::command();
        command.build();
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let place = Place::find(&command, &words);
        // No project is there: the root of the file system holds none.
        let project = Project::of(&Place::find(
            &command,
            &["ralph", "-C", "/", ""].map(str::to_owned),
        ));
        answer(&place, &project)
    }

    fn words(line: &str) -> Vec<String> {
        match at(line) {
            Answer::Words(words) => words.into_iter().map(|candidate| candidate.word).collect(),
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
            (
                "ralph run --fallback=claude,codex,g",
                &["--fallback=claude,codex,gemini"],
            ),
            ("ralph replay --ladder haiku,s", &["haiku,sonnet"]),
            ("ralph task list --status s", &["skipped"]),
            ("ralph learnings list --source m", &["merge"]),
            ("ralph learnings list --state p", &["pruned"]),
            ("ralph config get run.mod", &["run.model"]),
            (
                "ralph config get agents.claude.m",
                &["agents.claude.models"],
            ),
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

    fn every(command: &Command, path: &[&str], look: &mut dyn FnMut(&[&str], &Arg)) {
        for argument in command.get_arguments() {
            look(path, argument);
        }
        for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            every(below, &[path, &[below.get_name()]].concat(), look);
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
            let known = live(path, argument.get_id().as_str());
            let takes_value = argument.get_action().takes_values();
            if help.contains("id or key") || help.contains("ids or keys") {
                assert_eq!(known, Some(Live::Tasks), "{path:?} {argument:?}");
                tasks += 1;
            }
            let about_learnings = path.first() == Some(&"learnings");
            if about_learnings && (help.starts_with("its id") || help.starts_with("their ids")) {
                assert_eq!(known, Some(Live::Learnings), "{path:?} {argument:?}");
            }
            if takes_value && argument.get_long() == Some("model") {
                assert_eq!(known, Some(Live::Models), "{path:?}");
            }
        });
        assert!(tasks >= 12, "{tasks}");
    }
}
