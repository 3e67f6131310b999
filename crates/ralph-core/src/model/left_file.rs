//! Work that was left in the tree.

/// A file that an attempt changed and nobody committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftFile {
    /// Its path in the project.
    pub path: Vec<u8>,
    /// How it was left, in words of git's only caller.
    pub state: String,
}
