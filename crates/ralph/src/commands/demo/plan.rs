//! The demo's plan: five tasks, their order, and the gate of each.

use std::collections::HashMap;

use ralph_core::model::{Key, NewTask, Phase, TaskId};
use ralph_core::store::PlanStore;

use super::story::Story;
use crate::command_error::CommandError;
use crate::workspace::{Workspace, now, random};

struct Planned {
    key: &'static str,
    phase: &'static str,
    title: &'static str,
    description: &'static str,
    after: &'static [&'static str],
    verify: &'static str,
    files: &'static [&'static str],
}

const TASKS: [Planned; 5] = [
    Planned {
        key: "1.1",
        phase: "1",
        title: "Store the list in a file",
        description: "Write lib/store.sh. `todo_add TEXT` appends an item to the file $TODO_FILE \
            (todo.txt by default), `todo_items` prints all items. An item is one line: \
            `- text` while it is open, `x text` once it is done.",
        after: &[],
        verify: "sh tests/store.sh",
        files: &["lib/store.sh"],
    },
    Planned {
        key: "1.2",
        phase: "1",
        title: "Show the list with numbers",
        description: "Write lib/list.sh. `todo_list` prints every item with its number, starting at 1.",
        after: &["1.1"],
        verify: "sh tests/list.sh",
        files: &["lib/list.sh"],
    },
    Planned {
        key: "2.1",
        phase: "2",
        title: "Count open items",
        description: "Write lib/count.sh. `todo_count` prints the number of open items.",
        after: &["1.1"],
        verify: "sh tests/count.sh",
        files: &["lib/count.sh"],
    },
    Planned {
        key: "2.2",
        phase: "2",
        title: "Mark items as done",
        description: "Write lib/done.sh. `todo_done N` marks item N as done. A number that does \
            not exist is an error and changes nothing.",
        after: &["1.2"],
        verify: "sh tests/done.sh",
        files: &["lib/done.sh"],
    },
    Planned {
        key: "3.1",
        phase: "3",
        title: "Add the todo command",
        description: "Write todo.sh from the parts in lib/: `add TEXT`, `done N`, and without \
            arguments it prints the list and the number of open items. Document it in README.md.",
        after: &["2.1", "2.2"],
        verify: "sh tests/command.sh",
        files: &["todo.sh", "README.md"],
    },
];

/// Adds the plan to a project. In the broken demo no task depends on another, so that several tasks fail.
pub fn add(workspace: &mut Workspace, story: Story) -> Result<(), CommandError> {
    let mut ids: HashMap<&str, TaskId> = HashMap::new();
    for task in &TASKS {
        let new = NewTask {
            title: task.title.to_owned(),
            description: task.description.to_owned(),
            key: Some(Key::parse(task.key)?),
            phase: Some(Phase::parse(task.phase)?),
            after: task
                .after
                .iter()
                .filter(|_| story != Story::Broken)
                .filter_map(|key| ids.get(key).cloned())
                .collect(),
            verify: Some(task.verify.to_owned()),
            files: task.files.iter().map(|file| (*file).to_owned()).collect(),
            ..NewTask::default()
        };
        let id = workspace.store.add_task(&new, now(), &mut random)?;
        ids.insert(task.key, id);
    }
    Ok(())
}
