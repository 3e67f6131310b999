//! git: what attempts change is seen through it.

use std::path::Path;

use ralph_core::agent::Interrupt;
use ralph_core::git::Git;
use ralph_core::which::{find, search_path};

use super::finding::{Check, Finding};
use super::mend::word;
use super::program::{Answer, PATIENCE, Question, ask};

/// Whether git is there, and whether the project is in a repository.
pub fn finding(dir: &Path, project: Option<&Path>, interrupt: &Interrupt) -> Finding {
    let search = search_path();
    if find("git", dir, search.as_ref()).is_none() {
        let message = "git is not installed: Ralph cannot see what attempts change";
        return Finding::warning(Check::Git, message, "install git");
    }
    let question = Question {
        words: &["git".to_owned(), "--version".to_owned()],
        env: &[],
        dir,
        patience: PATIENCE,
    };
    let version = match ask(&question, interrupt) {
        Answer::Said(line) => line,
        Answer::Nothing(why) => {
            let message = format!("git --version: {why}");
            return Finding::warning(Check::Git, message, "git --version");
        }
    };
    match project {
        Some(root) if Git::discover(root).is_none() => Finding::warning(
            Check::Git,
            format!("{version}; not a repository: Ralph cannot see what attempts change"),
            format!("git init {}", word(root)),
        ),
        _ => Finding::ok(Check::Git, version),
    }
}
