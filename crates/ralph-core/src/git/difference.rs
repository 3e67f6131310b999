//! The difference between two commits, as git prints it for people.

use super::{Git, GitError};

/// How much of a difference is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffForm {
    Patch,
    /// Each file with the number of its changed lines.
    Stat,
}

impl Git {
    /// What changed in the project's directory between two commits or references; without the first one, everything that
    /// the second one holds. No program that the repository defines has a say in it.
    pub fn diff(&self, from: Option<&str>, to: &str, form: DiffForm) -> Result<Vec<u8>, GitError> {
        let repository = self.repository()?;
        let empty = match from {
            Some(_) => String::new(),
            None => repository.query(&["hash-object", "-t", "tree", "--stdin"]).line()?,
        };
        let form = match form {
            DiffForm::Patch => "--patch",
            DiffForm::Stat => "--stat=100",
        };
        let words = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--submodule=short",
            "--no-color",
            "--find-renames",
            "--relative",
            form,
        ];
        let call = repository.query(&words).args(&[from.unwrap_or(&empty), to, "--"]);
        call.in_dir(&self.dir).run()
    }
}
