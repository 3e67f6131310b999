//! What can enforce a policy on this machine.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::policy::Policy;
use super::{bubblewrap, landlock};
use crate::agent::Launch;
use crate::model::names;

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BackendKind {
        /// Namespaces and mounts, by the program `bwrap`.
        Bubblewrap => "bubblewrap",
        /// Rules of the kernel that a process puts on itself.
        Landlock => "landlock",
    }
}

/// Why a backend cannot be used, and what a person can do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub backend: BackendKind,
    pub why: String,
    pub fix: String,
}

/// Where things are that a confined launch needs.
#[derive(Clone, Copy, Debug)]
pub struct Means<'m> {
    /// Ralph's own program, which is started in the box to do the rest.
    pub program: &'m Path,
    /// The directory that the process gets for its temporary files.
    pub temporary: &'m Path,
    /// Where copies of files are, each under the number that it has in the policy.
    pub copies: &'m Path,
    /// The socket of the proxy, where there is one.
    pub proxy: Option<&'m Path>,
}

pub trait Backend: std::fmt::Debug + Send + Sync {
    fn kind(&self) -> BackendKind;
    /// The same launch, confined by the policy. Its program is an absolute path.
    fn confine(&self, policy: &Policy, launch: Launch, means: &Means<'_>) -> io::Result<Launch>;
    /// What of a policy it cannot enforce, each as a sentence. Attempts may work in a tree apart from Ralph's own files.
    fn gaps(&self, policy: &Policy, is_isolated: bool) -> Vec<String>;
    /// Whether what is in a writable directory can be protected.
    fn protects_inside(&self) -> bool;
}

/// The strongest of these backends that works here, and why stronger ones do not.
pub fn find(wanted: &[BackendKind], project_root: &Path) -> (Option<Arc<dyn Backend>>, Vec<Problem>) {
    let mut problems = Vec::new();
    let is_wanted = |kind| wanted.contains(&kind);
    if is_wanted(BackendKind::Bubblewrap) {
        match bubblewrap::Bubblewrap::probe(project_root) {
            Ok(backend) => return (Some(Arc::new(backend)), problems),
            Err(problem) => problems.push(problem),
        }
    }
    if is_wanted(BackendKind::Landlock) {
        match landlock::Landlock::probe() {
            Ok(backend) => return (Some(Arc::new(backend)), problems),
            Err(problem) => problems.push(problem),
        }
    }
    (None, problems)
}
