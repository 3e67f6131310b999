//! The file a store keeps its data in, which anybody may delete while a run goes on.

use std::path::PathBuf;

use super::Result;
use crate::model::Timestamp;

/// Where a store keeps its data. A store on a server has no file and is always in place.
pub trait FileStore {
    /// Whether the files that were opened are still the ones at their paths.
    fn is_in_place(&self) -> bool;
    /// Saves everything into a new file beside the old place, also when the old file is gone.
    fn rescue(&self, now: Timestamp) -> Result<Rescued>;
}

/// A copy of a database that was deleted or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// The copy.
    pub path: PathBuf,
    /// A shell command that puts it back in its place.
    pub restore: String,
}
