//! What a tool is used on, in a few words.

use super::super::brief::{SHOWN, first, short};
use super::events::ToolInput;

/// What a tool is used on: the most telling of its inputs.
pub(super) fn target(input: ToolInput, cwd: Option<&str>) -> String {
    if let Some(path) = input.file_path.or(input.notebook_path) {
        let below = cwd.and_then(|cwd| path.0.strip_prefix(cwd)?.strip_prefix('/'));
        return short(below.unwrap_or(&path.0), SHOWN);
    }
    first([
        input.command,
        input.pattern,
        input.url,
        input.query,
        input.path,
        input.skill,
        input.description,
    ])
}
