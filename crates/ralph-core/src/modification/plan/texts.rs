//! The texts of a request: cleaned, and cut or refused where they are too long.

use super::gate::proves_nothing;
use super::{Limits, PlannedTask, Refusal, Standing};
use crate::modification::request::Proposed;
use crate::text::{clean, cut_words, mask_secrets, one_line};

/// The reason given, if there is one.
pub(super) fn reasoning(text: &str, limits: &Limits) -> Result<String, Refusal> {
    words(text, limits).ok_or(Refusal::NoReasoning)
}

/// The proposed task at `position` as it will be added, without its dependencies.
pub(super) fn task(
    position: usize,
    proposed: &Proposed,
    key: String,
    standing: &Standing<'_>,
    limits: &Limits,
) -> Result<PlannedTask, Refusal> {
    let title = one_line(&proposed.title, limits.title_chars);
    if title.is_empty() {
        return Err(Refusal::NoTitle { position });
    }
    let verify = proposed
        .verify
        .as_deref()
        .map(|text| clean(text).trim().to_owned());
    let verify = verify.filter(|command| !command.is_empty());
    match &verify {
        None if standing.has_gate => return Err(Refusal::NoGate { position }),
        Some(command) if standing.has_gate && proves_nothing(command) => {
            return Err(Refusal::IdleGate { position });
        }
        Some(command) if !(standing.can_run)(command) => {
            return Err(Refusal::UnrunnableGate { position });
        }
        _ => {}
    }
    let too_long = |what, limit| Refusal::TooLong {
        position,
        what,
        limit,
    };
    if verify
        .as_ref()
        .is_some_and(|command| command.chars().count() > limits.verify_chars)
    {
        return Err(too_long("a verify command", limits.verify_chars));
    }
    let files: Vec<String> = proposed
        .files
        .iter()
        .map(|path| clean(path).split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|path| !path.is_empty())
        .collect();
    if files.len() > limits.files {
        return Err(too_long("a number of files", limits.files));
    }
    if files
        .iter()
        .any(|path| path.chars().count() > limits.path_chars)
    {
        return Err(too_long("a file's path", limits.path_chars));
    }
    let optional = |text: &Option<String>| text.as_deref().and_then(|text| words(text, limits));
    Ok(PlannedTask {
        key,
        title,
        description: words(&proposed.description, limits).unwrap_or_default(),
        files,
        verify,
        done_when: optional(&proposed.done_when),
        commit: optional(&proposed.commit),
        depends: Vec::new(),
    })
}

/// A clean text of bounded length, if it says something.
fn words(text: &str, limits: &Limits) -> Option<String> {
    let text = clean(text);
    let text = mask_secrets(text.trim());
    let text = cut_words(&text, limits.text_chars);
    (!text.is_empty()).then(|| text.into_owned())
}
