//! Issues of a tracker whose tasks are done: closed there, where the settings allow it.

use std::time::Duration;

use super::plan_sync::mark_of;
use super::run_context::RunContext;
use super::shared_file::FileError;
use crate::agent::{self, BoundedText, Launch, ProcessLimits, Stream};
use crate::store::{FiledTask, ShownFile, SourceFile};
use crate::text::{mask_secrets, one_line};

/// What begins the path of a plan that is a list of GitHub issues, and the names of its tasks.
pub const GITHUB: &str = "gh:";
const KEY: &str = "GH-";

/// How long the tracker may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
const ERROR_BYTES: usize = 4 * 1024;
const ERROR_CHARS: usize = 200;

/// Closes the issues of done tasks, each with a comment that names the commit. What fails stays due, and is tried again.
pub(super) fn close_done_issues(run: &mut RunContext<'_>, source: &SourceFile) -> Result<(), FileError> {
    let due = run.store.due_boxes(source.id).map_err(super::run_end::Halt::from)?;
    for task in due.iter().filter(|task| mark_of(task) == Some(true)) {
        let Some(number) = task.name.strip_prefix(KEY) else { continue };
        close(run, source, task, number)?;
        let shown = ShownFile {
            digest: "",
            ticked: &[(task.id.clone(), true)],
            filed: &[],
            settled: std::slice::from_ref(task),
        };
        run.store.note_filed(source.id, &shown).map_err(super::run_end::Halt::from)?;
    }
    Ok(())
}

fn close(run: &RunContext<'_>, source: &SourceFile, task: &FiledTask, number: &str) -> Result<(), FileError> {
    let commit = task.commit.as_deref().map(|commit| format!(" in {commit}")).unwrap_or_default();
    let mut args: Vec<String> =
        ["issue", "close", number, "--comment"].into_iter().map(str::to_owned).collect();
    args.push(format!("Done by Ralph{commit}."));
    let filters = source.path.strip_prefix(GITHUB).unwrap_or_default().split(',');
    args.extend(
        filters.filter_map(|filter| filter.trim().strip_prefix("repo=")).map(|repo| format!("--repo={repo}")),
    );
    let launch = Launch {
        program: "gh".to_owned(),
        args,
        env: Vec::new(),
        cwd: run.project.root().to_owned(),
        stdin: String::new(),
        ..Launch::default()
    };
    let limits = ProcessLimits { wall: PATIENCE, idle: None, grace: Duration::from_secs(2) };
    let mut said = BoundedText::new(ERROR_BYTES, 0);
    let mut watch = |stream, chunk: &[u8]| {
        if stream == Stream::Err {
            said.push(chunk);
        }
    };
    let ended = agent::run_exempt(&launch, &limits, &run.interrupt, &mut watch)
        .map_err(|error| FileError::file(format!("cannot close issue {number}: {error}")))?;
    match ended.failure() {
        None => Ok(()),
        Some(_) => {
            let said = one_line(&mask_secrets(&said.into_text()), ERROR_CHARS);
            Err(FileError::file(format!("`gh issue close {number}` failed: {said}")))
        }
    }
}
