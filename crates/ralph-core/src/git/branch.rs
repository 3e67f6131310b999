//! The branch a run works on.

use super::call::Call;
use super::look::branch;
use super::save::exists;
use super::{Git, GitError};

/// No more files than this are named.
const MOST_NAMED: usize = 20;

/// How the branch came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    /// It was the branch already.
    Already,
    /// It existed, and the work tree is on it now.
    Switched,
    /// It was made from HEAD.
    Made,
}

impl Git {
    /// Works on a branch: made from HEAD if there is none of that name. Uncommitted changes come along where git can take
    /// them; where it cannot, nothing happens. Ignored files are not overwritten either.
    pub fn work_on(&self, name: &str) -> Result<BranchOutcome, GitError> {
        let places = self.places()?;
        let checked = Call::new(&self.dir, &["check-ref-format", "--branch", name]).line();
        // Git spells names such as `@{-1}` out.
        if !checked.is_ok_and(|spelt| spelt == name) {
            return Err(GitError::BranchName(name.to_owned()));
        }
        let full = format!("refs/heads/{name}");
        if branch(&places)?.as_ref() == Some(&full) {
            return Ok(BranchOutcome::Already);
        }
        self.settled_places()?;
        places.wait_for_index()?;
        let (outcome, how): (_, &[&str]) = match exists(&places, &full)? {
            true => (BranchOutcome::Switched, &["--no-guess", name, "--"]),
            false => (BranchOutcome::Made, &["--no-track", "-b", name]),
        };
        let call = places.call(&[
            "checkout",
            "--quiet",
            "--no-overwrite-ignore",
            "--no-recurse-submodules",
        ]);
        let output = call.args(how).output()?;
        // A hook's failure after the switch does not undo it.
        if output.status.success() || branch(&places)?.as_ref() == Some(&full) {
            return Ok(outcome);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let files = named_files(&said);
        if files.is_empty() {
            return Err(GitError::Refused {
                command: format!("checkout {name}"),
                message: crate::text::one_line(&said, 200),
            });
        }
        Err(GitError::BranchInTheWay {
            branch: name.to_owned(),
            files,
        })
    }
}

/// The files git lists, each on a line of its own after a tab.
fn named_files(said: &str) -> Vec<String> {
    let mut files: Vec<String> = said
        .lines()
        .filter_map(|line| line.strip_prefix('\t'))
        .map(|file| crate::text::one_line(file, 200))
        .collect();
    let over = files.len().saturating_sub(MOST_NAMED);
    files.truncate(MOST_NAMED);
    if over > 0 {
        files.push(format!("and {over} more"));
    }
    files
}
