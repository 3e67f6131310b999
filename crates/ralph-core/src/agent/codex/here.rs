//! What Codex's stream leaves unsaid because people know it: where they are and what time it is there.

use jiff::Zoned;

/// The surroundings of a session.
#[derive(Clone, Debug)]
pub(super) struct Here {
    /// Where the agent works; paths below it are shown without it.
    pub dir: Option<String>,
    /// The time on the wall.
    pub now: fn() -> Zoned,
}

impl Default for Here {
    /// Those of this process.
    fn default() -> Self {
        let dir = std::env::current_dir().ok();
        Self {
            dir: dir.map(|dir| dir.display().to_string()),
            now: Zoned::now,
        }
    }
}
