//! The logs in `.ralph/logs/`: which names are Ralph's own, and which go when there are too many or they are too old.

mod bounded;
mod cut;
mod dir;
mod names;
mod prune;
mod retention;
mod stream;

pub use bounded::BoundedLog;
pub use dir::LogDir;
pub use names::{LogName, attempt_name};
pub use prune::{Protected, Pruned, plan, prune};
pub use retention::{Limits, LogFile, to_delete};
pub use stream::LogStream;

/// How the name of a log ends that is to take another's place.
const PART: &str = ".part";
