//! What tests show.

use ralph_core::model::{NewTask, Task, Timestamp};
use ralph_core::store::Store;

pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A task as the store gives it.
pub fn task(key: &str, title: &str) -> Task {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(&dir.path().join("progress.db")).unwrap();
    let new = NewTask {
        title: title.to_owned(),
        key: Some(ralph_core::model::Key::from_stored(key)),
        ..NewTask::default()
    };
    let id = store.add_task(&new, NOW, &mut || 7).unwrap();
    store.task(id.as_str()).unwrap()
}
