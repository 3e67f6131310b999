//! AGENTS.md: whether it can be kept, and whether Claude Code gets to read it.

use std::io::ErrorKind;
use std::path::Path;

use ralph_core::files::{Limit, Links, read, read_text};
use ralph_core::text::shell_word;

use super::finding::{Check, Finding};
use super::mend::word;
use crate::commands::run::agents_md;
use crate::settings::Settings;

/// Claude Code reads CLAUDE.md; where there is one that does not lead to AGENTS.md, what stands there is not read.
pub fn finding(root: &Path, settings: &Settings) -> Finding {
    let check = Check::AgentsMd;
    let Some(file) = agents_md(settings) else {
        return Finding::ok(check, "turned off");
    };
    let path = root.join(&file);
    match read(&path, Links::Follow, Limit::TEXT) {
        Err(error) if path.is_symlink() || error.kind() != ErrorKind::NotFound => {
            let message = format!("cannot update {file}: {error}");
            return Finding::warning(check, message, "make it a readable file");
        }
        Ok(bytes) if std::str::from_utf8(&bytes).is_err() => {
            let message = format!("cannot update {file}: it is not UTF-8");
            return Finding::warning(check, message, "save it as UTF-8");
        }
        _ => {}
    }
    let name = file.rsplit('/').next().unwrap_or(&file).to_owned();
    let claude_md = root.join("CLAUDE.md");
    let same = match (claude_md.canonicalize(), path.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => file == "CLAUDE.md",
    };
    match read_text(&claude_md, Links::Follow, Limit::TEXT) {
        Ok(text) if !same && !text.contains(&name) => Finding::warning(
            check,
            format!("CLAUDE.md does not mention {name}, so Claude Code does not read it"),
            format!(
                "echo {} >> {}",
                shell_word(&format!("@{file}")),
                word(&claude_md)
            ),
        ),
        _ => Finding::ok(check, format!("agents can read {file}")),
    }
}
