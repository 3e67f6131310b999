//! What the next run reads of the project's own files: its settings and templates. People may edit them during a run, so
//! nothing is put back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::PathBuf;

use super::run_context::RunContext;
use super::run_end::Result;
use crate::files::{Limit, Links, read};
use crate::model::Task;
use crate::project::Project;
use crate::text::{code_line, few};

const NAMED: usize = 5;

/// The files as they are: what they hold, or why that cannot be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SettingsFiles(BTreeMap<PathBuf, Result<Vec<u8>, ErrorKind>>);

impl SettingsFiles {
    pub(super) fn read(project: &Project) -> Self {
        let templates = std::fs::read_dir(project.templates()).into_iter().flatten().flatten();
        let paths = std::iter::once(project.config()).chain(templates.map(|file| file.path()));
        let held = |path: PathBuf| {
            let text = read(&path, Links::Follow, Limit::SETTINGS).map_err(|error| error.kind());
            (path, text)
        };
        Self(paths.map(held).collect())
    }

    /// After the attempt: names those that changed meanwhile.
    pub(super) fn warn_of_changes(&self, run: &mut RunContext<'_>, task: &Task) -> Result {
        let now = Self::read(run.project);
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(now.0.keys()).collect();
        let changed = paths.into_iter().filter(|path| self.0.get(*path) != now.0.get(*path));
        let root = run.project.root();
        let names = changed.map(|path| path.strip_prefix(root).unwrap_or(path));
        let names: Vec<String> = names.map(|path| code_line(&path.display().to_string(), 200)).collect();
        if names.is_empty() {
            return Ok(());
        }
        run.warn(format!(
            "{}: changed during this attempt: {}; check what changed before the next run, which reads it",
            task.name(),
            few(&names, NAMED)
        ))
    }
}
