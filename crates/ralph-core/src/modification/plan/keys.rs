//! Keys for the new tasks: those given, if they can be had, and made ones for the rest.

use std::collections::HashSet;

use super::{Refusal, Standing};
use crate::modification::quoted::quoted;
use crate::modification::request::Proposed;

/// The longest key, in characters.
const MOST_CHARS: usize = 64;

/// Numbers tried for a made key: more than any task has parts.
const MOST_TRIES: u32 = 10_000;

/// A key for each proposed task, in their order; all different, and none of them in the plan.
pub(super) fn keys(proposed: &[Proposed], standing: &Standing<'_>) -> Result<Vec<String>, Refusal> {
    let taken = |key: &str| standing.is_named(key) || (standing.plan)(key).is_some();
    let given = |task: &Proposed| match task.key.as_deref().map(str::trim) {
        Some(key) if !key.is_empty() => Some(key.to_owned()),
        _ => None,
    };
    let mut used = HashSet::new();
    for key in proposed.iter().filter_map(given) {
        if !is_key(&key) {
            return Err(Refusal::BadKey { key: quoted(&key) });
        }
        if taken(&key) {
            return Err(Refusal::TakenKey { key: quoted(&key) });
        }
        if !used.insert(key.clone()) {
            return Err(Refusal::RepeatedKey { key: quoted(&key) });
        }
    }
    let base = standing.name();
    let mut numbers = 1..=MOST_TRIES;
    let mut made = || {
        let mut keys = numbers.by_ref().map(|number| format!("{base}.{number}"));
        keys.find(|key| !used.contains(key) && !taken(key))
            .filter(|key| is_key(key))
            .ok_or_else(|| Refusal::NoFreeKey { base: quoted(base) })
    };
    proposed
        .iter()
        .map(|task| given(task).map_or_else(&mut made, Ok))
        .collect()
}

/// Whether a text can be a key; the same rule as `model::Key::parse` has.
fn is_key(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "._-:/#+".contains(c);
    let fits = (1..=MOST_CHARS).contains(&text.chars().count());
    fits && text.chars().all(allowed) && !text.starts_with('-') && !has_form_of_id(text)
}

/// Whether a text has the form of a task id, which no key may have.
fn has_form_of_id(text: &str) -> bool {
    text.strip_prefix("t-").is_some_and(|hex| {
        hex.len() == 6 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}
