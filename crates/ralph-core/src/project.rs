//! Where a project keeps what is Ralph's.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::files::private;

pub const CONFIG_FILE: &str = ".ralph.toml";
pub const RALPH_DIR: &str = ".ralph";

/// Everything in `.ralph/` is the machine's own, except what people write for agents.
const GITIGNORE: &str = "# Ralph's own files: the plan's database and the raw logs of attempts.\n\
    *\n!.gitignore\n!specs/\n!specs/**\n!templates/\n!templates/**\n";
pub const LOGS: &str = "logs";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The nearest directory, from here upwards, that holds settings or Ralph's directory.
    pub fn find(from: &Path) -> Option<Self> {
        // Below the working tree of a worker, that of its project: the tree may have settings, but has no plan.
        if let Some(root) = crate::git::project_of_tree(from).filter(|root| root.join(RALPH_DIR).is_dir()) {
            return Some(Self::at(root));
        }
        from.ancestors()
            .find(|dir| dir.join(CONFIG_FILE).is_file() || dir.join(RALPH_DIR).is_dir())
            .map(Self::at)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn config(&self) -> PathBuf {
        self.root.join(CONFIG_FILE)
    }

    pub fn ralph_dir(&self) -> PathBuf {
        self.root.join(RALPH_DIR)
    }

    /// Makes Ralph's directory where it is missing: private, and ignored by git.
    pub fn make_dir(&self) -> io::Result<()> {
        private::make_dir(&self.ralph_dir())?;
        self.keep_out_of_git();
        Ok(())
    }

    /// Logs are raw and private: they must not get into git, even if somebody else made the directory. `true` if the file was written.
    pub fn keep_out_of_git(&self) -> bool {
        let ignore = self.ralph_dir().join(".gitignore");
        // A link that leads nowhere is there too: nothing is written through it.
        let Ok(mut file) = std::fs::File::create_new(&ignore) else { return false };
        let written = file.write_all(GITIGNORE.as_bytes()).is_ok();
        if !written {
            // Half of one would stay as it is.
            let _ = std::fs::remove_file(&ignore);
        }
        written
    }

    pub fn database(&self) -> PathBuf {
        self.ralph_dir().join("progress.db")
    }

    pub fn logs(&self) -> PathBuf {
        self.ralph_dir().join(LOGS)
    }

    /// Prompt templates the project gives in place of the built-in ones.
    pub fn templates(&self) -> PathBuf {
        self.ralph_dir().join("templates")
    }

    /// Specifications that agents are to read, if there are any.
    pub fn specs(&self) -> Option<String> {
        let dir = self.ralph_dir().join("specs");
        let has_some = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
        has_some.then(|| format!("{RALPH_DIR}/specs"))
    }
}
