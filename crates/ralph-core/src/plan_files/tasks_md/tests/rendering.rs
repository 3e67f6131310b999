//! Blocks of tasks that a plan change adds.

use super::support::*;
use crate::plan_files::DraftTask;
use crate::plan_files::tasks_md::{VerifyAs, insert_before, render};

fn task_with(change: impl FnOnce(&mut DraftTask)) -> DraftTask {
    let mut task = DraftTask {
        name: "1.1".into(),
        title: "a".into(),
        ..DraftTask::default()
    };
    change(&mut task);
    task
}

#[test]
fn empty_fields_are_left_out() {
    let task = task_with(|task| task.done = true);
    assert_eq!(render(&task, VerifyAs::Code), "- [x] 1.1 a");
    let odd = task_with(|task| {
        task.title = " \n".into();
        task.description = "\n \n".into();
        task.done_when = Some(String::new());
        task.verify = Some(" ".into());
        task.commit = Some(String::new());
    });
    assert_eq!(render(&odd, VerifyAs::Code), "- [ ] 1.1 Untitled");
}

#[test]
fn all_fields() {
    let task = task_with(|task| {
        task.title = "Create\nthe  module".into();
        task.markers = vec!["P".into(), "RED".into()];
        task.description = "1. First\n2. Second\n\n   more".into();
        task.files = vec!["src/a.ts".into(), "src/a, b.ts".into(), "c (d)".into()];
        task.done_when = Some("It compiles\n- and runs".into());
        task.verify = Some("pnpm test".into());
        task.commit = Some("feat(x): add `module`".into());
    });
    let block = "\
- [ ] 1.1 [P] [RED] Create the module
  - **Do**:
    1. First
    2. Second

       more
  - **Files**: src/a.ts, `src/a, b.ts`, `c (d)`
  - **Done when**: It compiles
    - and runs
  - **Verify**: `pnpm test`
  - **Commit**: `` feat(x): add `module` ``";
    assert_eq!(render(&task, VerifyAs::Code), block);
    let read = first(block);
    assert_eq!(
        (
            read.description,
            read.files,
            read.done_when,
            read.verify,
            read.commit,
            read.markers
        ),
        (
            task.description,
            task.files,
            task.done_when,
            task.verify,
            task.commit,
            task.markers
        )
    );
}

#[test]
fn commands_read_back_whatever_they_are() {
    for command in [
        "pnpm test",
        "echo `date`",
        "a | b",
        "- x",
        "[ -f a ]",
        "cat <<'E'\n```\n  a\nE\n\nb",
        "a `",
        "made up",
    ] {
        for verify_as in [VerifyAs::Code, VerifyAs::Bare] {
            let task = task_with(|task| task.verify = Some(command.to_owned()));
            let block = render(&task, verify_as);
            let read = crate::plan_files::tasks_md::read(&block, &|_| true).unwrap();
            assert_eq!(read.tasks[0].verify.as_deref(), Some(command), "{block}");
        }
    }
}

#[test]
fn an_open_fence_in_one_field_leaves_the_others_alone() {
    let task = task_with(|task| {
        task.description = "See:\n```sh\na".into();
        task.done_when = Some("b: ```".into());
        task.verify = Some("c\nd".into());
    });
    let read = first(&render(&task, VerifyAs::Code));
    assert_eq!(
        (read.description, read.verify),
        (task.description, task.verify)
    );
    assert_eq!(read.done_when, task.done_when);
}

#[test]
fn a_prerequisite_goes_before_its_task() {
    let prerequisite = task_with(|task| task.description = "b".into());
    let block = render(&prerequisite, VerifyAs::Code);
    let text = insert_before("# x\n\n- [ ] 1.2 c\n", "1.2", &block).unwrap();
    assert_eq!(text, "# x\n\n- [ ] 1.1 a\n  - **Do**: b\n\n- [ ] 1.2 c\n");
    assert_eq!(order(&text), ["1.1<", "1.2<1.1"]);
}
