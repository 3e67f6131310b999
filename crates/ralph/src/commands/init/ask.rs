//! Questions at the terminal, each with a default for Enter.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::Path;

use super::choices::Choices;
use super::survey::{Survey, missing_program};
use crate::command_error::CommandError;
use crate::output;

/// Whether somebody can be asked.
pub fn is_somebody_there() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Asks about everything that was found.
pub fn choices(survey: &Survey, root: &Path) -> Result<Choices, CommandError> {
    let mut choices = Choices::of(survey);
    choices.agent = Some(agent(survey, choices.agent.as_deref())?);
    choices.verify = gate(survey, root)?;
    if survey.git {
        choices.commit = yes("Commit the work of each finished task?", true)?;
    }
    if survey.agents_md {
        output::line(
            "AGENTS.md exists. Ralph maintains four sections in it (Failure Context, Error Fixes, Codebase Patterns, \
             Phase-Specific)\nand does not change the rest of the file.",
        );
        choices.agents_md = yes("Let Ralph maintain these sections?", true)?;
    }
    Ok(choices)
}

fn agent(survey: &Survey, suggested: Option<&str>) -> Result<String, CommandError> {
    let names: Vec<&str> = survey
        .agents
        .iter()
        .map(|agent| agent.name.as_str())
        .collect();
    let suggested = suggested.unwrap_or("claude");
    let question = format!("Which agent should Ralph run ({})?", names.join(", "));
    loop {
        let answer = text(&question, suggested)?;
        if names.contains(&answer.as_str()) {
            return Ok(answer);
        }
        output::line(format_args!("Unknown agent `{answer}`."));
    }
}

fn gate(survey: &Survey, root: &Path) -> Result<Option<String>, CommandError> {
    let question = "Default gate: the command that must pass (- for none)?";
    let suggested = survey.test_command().unwrap_or("-");
    let answer = match text(question, suggested)?.as_str() {
        "y" | "yes" => suggested.to_owned(),
        answer => answer.to_owned(),
    };
    if matches!(answer.as_str(), "-" | "n" | "no" | "none") {
        return Ok(None);
    }
    if let Some(program) = missing_program(&answer, root) {
        output::line(format_args!("`{program}` is not installed here yet."));
    }
    Ok(Some(answer))
}

/// A question that is answered with yes or no.
pub fn yes(question: &str, default: bool) -> Result<bool, CommandError> {
    let choice = if default { "Y/n" } else { "y/N" };
    loop {
        match read(&format!("{question} [{choice}] "))?
            .to_lowercase()
            .as_str()
        {
            "" => return Ok(default),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => output::line("Enter y or n."),
        }
    }
}

fn text(question: &str, default: &str) -> Result<String, CommandError> {
    let answer = read(&format!("{question} [{default}] "))?;
    Ok(if answer.is_empty() {
        default.to_owned()
    } else {
        answer
    })
}

/// A line, without the space around it. Nothing was written before the last answer, so that giving up is safe at any time.
fn read(prompt: &str) -> Result<String, CommandError> {
    output::text(prompt);
    let _ = stdout().flush();
    let mut line = String::new();
    match stdin().read_line(&mut line) {
        Ok(length) if length > 0 => Ok(line.trim().to_owned()),
        _ => {
            output::line("");
            Err(CommandError::environment("canceled; nothing was created")
                .hint("accept the suggested answers: ralph init --yes"))
        }
    }
}
