//! The logs in `.ralph/logs/`: which names are Ralph's own, and which go when there are too many or they are too old.

mod names;
mod prune;
mod retention;

pub use names::LogName;
pub use prune::{Protected, Pruned, plan, prune};
pub use retention::{Limits, LogFile, to_delete};
