//! What people call the phases of a plan.

use std::collections::HashMap;

use ralph_core::plan::import;

use crate::workspace::Workspace;

/// The names that plan files give phases, by the labels that people see: `2`, or `auth 2` where there are several files.
#[derive(Clone, Debug, Default)]
pub struct PhaseNames(HashMap<String, String>);

impl PhaseNames {
    /// Without those of a file that cannot be read.
    pub fn read(workspace: &Workspace) -> Self {
        let sources = workspace.store.sources().unwrap_or_default();
        let mut names = HashMap::new();
        for source in &sources {
            let root = workspace.project.root();
            for (phase, name) in import::phase_names(root, &source.path, &source.format) {
                if sources.len() == 1 {
                    names.insert(phase.to_string(), name.clone());
                }
                names.insert(format!("{} {phase}", source.spec), name);
            }
        }
        Self(names)
    }

    /// `Phase 2: Commands`, `auth · Phase 2: Commands`, or without a name.
    pub fn title(&self, label: &str) -> String {
        let name = self.0.get(label).map(|name| format!(": {name}")).unwrap_or_default();
        match label.rsplit_once(' ') {
            Some((spec, phase)) => format!("{spec} · Phase {phase}{name}"),
            None => format!("Phase {label}{name}"),
        }
    }
}
