//! `ralph demo --recovery`: a plan in a file, a task that fails, its fix, and the fix of that.

pub mod script;
pub mod tour;

use crate::command_error::CommandError;
use crate::commands::import;
use crate::workspace::Workspace;

/// The folder of the spec.
pub const SPEC: &str = "specs/greeter";

/// What is there before any task is done. The tests are the gates: no task changes them.
pub const FILES: [(&str, &str); 11] = [
    (".gitignore", include_str!("../assets/greeter/gitignore")),
    (
        "README.md",
        include_str!("../assets/greeter/README.first.md"),
    ),
    (
        "specs/greeter/tasks.md",
        include_str!("../assets/greeter/tasks.md"),
    ),
    (
        "words/en.txt",
        include_str!("../assets/greeter/words/en.txt"),
    ),
    (
        "words/de.txt",
        include_str!("../assets/greeter/words/de.txt"),
    ),
    (
        "words/au.txt",
        include_str!("../assets/greeter/words/au.txt"),
    ),
    (
        "tests/lib.sh",
        include_str!("../assets/greeter/tests/lib.sh"),
    ),
    (
        "tests/words.sh",
        include_str!("../assets/greeter/tests/words.sh"),
    ),
    (
        "tests/greet.sh",
        include_str!("../assets/greeter/tests/greet.sh"),
    ),
    (
        "tests/build.sh",
        include_str!("../assets/greeter/tests/build.sh"),
    ),
    (
        "tests/readme.sh",
        include_str!("../assets/greeter/tests/readme.sh"),
    ),
];

/// Takes the spec in, as `ralph import` does.
pub fn import_spec(workspace: &mut Workspace) -> Result<(), CommandError> {
    let spec = workspace.project.root().join(SPEC);
    import::take_in(workspace, &spec, None, false).map(|_| ())
}
