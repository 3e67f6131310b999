//! Where a project keeps what is Ralph's.

use std::path::{Path, PathBuf};

/// The settings' file.
pub const CONFIG_FILE: &str = ".ralph.toml";
/// Ralph's own directory.
pub const RALPH_DIR: &str = ".ralph";

/// A project's directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// The project at a directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The nearest directory, from here upwards, that holds settings or Ralph's directory.
    pub fn find(from: &Path) -> Option<Self> {
        from.ancestors()
            .find(|dir| dir.join(CONFIG_FILE).is_file() || dir.join(RALPH_DIR).is_dir())
            .map(Self::at)
    }

    /// Its root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its settings.
    pub fn config(&self) -> PathBuf {
        self.root.join(CONFIG_FILE)
    }

    /// Ralph's directory.
    pub fn ralph_dir(&self) -> PathBuf {
        self.root.join(RALPH_DIR)
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.ralph_dir().join("progress.db")
    }

    /// Raw event streams.
    pub fn logs(&self) -> PathBuf {
        self.ralph_dir().join("logs")
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
