//! Where the last word of a command line stands: what the words before it leave to be said.

use clap::{Arg, ArgAction, Command};

/// Where the last word stands.
#[derive(Debug)]
pub struct Place<'c> {
    /// The command it belongs to.
    pub command: &'c Command,
    /// That command's names from the top.
    pub path: Vec<&'c str>,
    /// What may stand there.
    pub expects: Expects<'c>,
    /// The part of the word that is settled: `--model=`.
    pub lead: String,
    /// The part that is to be completed.
    pub prefix: String,
    /// Values given before it, by the argument's id.
    pub given: Vec<(&'c str, String)>,
}

/// What may stand at a place.
#[derive(Debug)]
pub enum Expects<'c> {
    /// A value of this argument.
    Value(&'c Arg),
    /// A flag.
    Flag,
    /// A subcommand, else a value of the next argument without a flag, if there is one.
    Word(Option<&'c Arg>),
}

/// What the words up to some point come to.
struct Walk<'c> {
    command: &'c Command,
    path: Vec<&'c str>,
    /// Arguments without a flag that are settled.
    positionals: usize,
    /// An option whose value is the next word.
    pending: Option<&'c Arg>,
    /// After `--` nothing is a flag.
    escaped: bool,
    given: Vec<(&'c str, String)>,
}

impl<'c> Place<'c> {
    /// Walks along the words; the first is the program's own name.
    pub fn find(command: &'c Command, words: &[String]) -> Self {
        let mut walk = Walk {
            command,
            path: Vec::new(),
            positionals: 0,
            pending: None,
            escaped: false,
            given: Vec::new(),
        };
        let (last, before) = match words.split_last() {
            Some((last, before)) => (last.as_str(), before),
            None => ("", &[][..]),
        };
        for word in before.iter().skip(1) {
            walk.pass(word);
        }
        walk.arrive(last)
    }
}

impl<'c> Walk<'c> {
    /// Takes a word as said.
    fn pass(&mut self, word: &str) {
        if let Some(option) = self.pending.take() {
            self.give(option, word);
        } else if self.escaped {
            self.pass_positional(word);
        } else if word == "--" {
            self.escaped = true;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = split(long);
            if let Some(option) = self.long(name) {
                match value {
                    Some(value) => self.give(option, value),
                    None if takes_value(option) => self.pending = Some(option),
                    None => self.give(option, ""),
                }
            }
        } else if word.len() > 1 && word.starts_with('-') {
            self.pass_shorts(word);
        } else if let Some(next) = self.subcommand(word) {
            self.command = next;
            self.path.push(next.get_name());
            self.positionals = 0;
        } else {
            self.pass_positional(word);
        }
    }

    /// `-q`, `-qC DIR`, `-CDIR`.
    fn pass_shorts(&mut self, word: &str) {
        for (at, letter) in word.char_indices().skip(1) {
            let Some(option) = self.short(letter) else {
                return;
            };
            if !takes_value(option) {
                self.give(option, "");
                continue;
            }
            let rest = word.get(at + letter.len_utf8()..).unwrap_or_default();
            match rest.strip_prefix('=').unwrap_or(rest) {
                "" => self.pending = Some(option),
                value => self.give(option, value),
            }
            return;
        }
    }

    fn pass_positional(&mut self, word: &str) {
        if let Some(argument) = self.positional() {
            self.give(argument, word);
            if !takes_many(argument) {
                self.positionals += 1;
            }
        }
    }

    fn give(&mut self, argument: &'c Arg, value: &str) {
        self.given
            .push((argument.get_id().as_str(), value.to_owned()));
    }

    /// The place of the last word.
    fn arrive(self, word: &str) -> Place<'c> {
        let (expects, lead) = self.expected(word);
        let prefix = word.get(lead.len()..).unwrap_or_default().to_owned();
        Place {
            command: self.command,
            path: self.path,
            expects,
            lead,
            prefix,
            given: self.given,
        }
    }

    fn expected(&self, word: &str) -> (Expects<'c>, String) {
        if let Some(option) = self.pending {
            return (Expects::Value(option), list_lead(option, "", word));
        }
        if self.escaped || !word.starts_with('-') {
            let argument = self.positional();
            let lead = argument.map_or_else(String::new, |argument| list_lead(argument, "", word));
            return (Expects::Word(argument), lead);
        }
        let long = word.strip_prefix("--").map(split);
        if let Some((name, Some(value))) = long {
            let lead = format!("--{name}=");
            return match self.long(name).filter(|option| takes_value(option)) {
                Some(option) => (Expects::Value(option), list_lead(option, &lead, value)),
                None => (Expects::Flag, String::new()),
            };
        }
        (Expects::Flag, String::new())
    }

    fn long(&self, name: &str) -> Option<&'c Arg> {
        self.command.get_arguments().find(|argument| {
            argument.get_long() == Some(name)
                || argument
                    .get_all_aliases()
                    .is_some_and(|aliases| aliases.contains(&name))
        })
    }

    fn short(&self, letter: char) -> Option<&'c Arg> {
        let mut arguments = self.command.get_arguments();
        arguments.find(|argument| argument.get_short() == Some(letter))
    }

    fn subcommand(&self, word: &str) -> Option<&'c Command> {
        if self.positionals > 0 {
            return None;
        }
        self.command.find_subcommand(word)
    }

    fn positional(&self) -> Option<&'c Arg> {
        self.command.get_positionals().nth(self.positionals)
    }
}

fn split(long: &str) -> (&str, Option<&str>) {
    match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    }
}

/// What is settled of a value that is a list: all but the last item.
fn list_lead(argument: &Arg, lead: &str, value: &str) -> String {
    let delimiter = argument.get_value_delimiter();
    let settled =
        delimiter.and_then(|delimiter| Some(value.rfind(delimiter)? + delimiter.len_utf8()));
    let settled = settled.and_then(|end| value.get(..end)).unwrap_or_default();
    format!("{lead}{settled}")
}

fn takes_value(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
}

/// Whether an argument may be given again.
pub fn takes_many(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Append | ArgAction::Count)
}
