//! How often, how deep, how many, how long; and what may not be missing.

use super::{planned, refused, request, split, standing, task};
use crate::modification::plan::{Limits, Refusal, Standing, plan_change};
use crate::modification::{Kind, Proposed, Request};

#[test]
fn mod_02_a_fourth_modification_is_refused() {
    for modifications in 0..5 {
        let standing = Standing {
            modifications,
            ..standing()
        };
        let planned = plan_change(&split(), &standing, &Limits::default());
        assert_eq!(planned.is_ok(), modifications < 3, "{modifications}");
        if let Err(refusal) = planned {
            assert_eq!(refusal, Refusal::TooManyChanges { limit: 3 });
        }
    }
}

#[test]
fn mod_02_depth_three_is_refused() {
    for kind in Kind::ALL {
        for depth in 0..5 {
            let standing = Standing {
                depth,
                ..standing()
            };
            let planned = plan_change(&Request { kind, ..split() }, &standing, &Limits::default());
            match planned {
                Ok(change) => assert!(depth < 2 && change.depth == depth + 1),
                Err(refusal) => assert!(depth >= 2 && refusal == Refusal::TooDeep { limit: 2 }),
            }
        }
    }
}

#[test]
fn mod_03_what_is_missing_is_refused() {
    assert_eq!(
        refused(&Request {
            reasoning: " \n".into(),
            ..split()
        }),
        Refusal::NoReasoning
    );
    for kind in Kind::ALL {
        assert_eq!(refused(&request(kind, [])), Refusal::NoTasks);
        let tasks = [task("A"), task(" \u{7}")];
        assert_eq!(
            refused(&request(kind, tasks)),
            Refusal::NoTitle { position: 2 }
        );
    }
    let one = refused(&request(Kind::SplitTask, [task("A")]));
    assert_eq!(
        one,
        Refusal::OnePart {
            attempted: "1.3".into()
        }
    );
    assert!(planned(&request(Kind::AddFollowup, [task("A")])).is_ok());
    let many = refused(&request(Kind::AddFollowup, vec![task("A"); 11]));
    assert_eq!(
        many,
        Refusal::TooManyTasks {
            given: 11,
            limit: 10
        }
    );
}

#[test]
fn mod_03_a_task_with_open_parts_is_not_split_again() {
    let standing = Standing {
        has_open_children: true,
        ..standing()
    };
    let limits = Limits::default();
    assert_eq!(
        plan_change(&split(), &standing, &limits),
        Err(Refusal::OpenParts)
    );
    assert!(plan_change(&request(Kind::AddFollowup, [task("A")]), &standing, &limits).is_ok());
}

#[test]
fn sig_05_texts_are_cleaned_and_cut_and_commands_refused() {
    let limits = Limits::default();
    let long = Proposed {
        title: "a\nb\u{7} ".repeat(100),
        description: "word ".repeat(9000),
        ..task("")
    };
    let change = planned(&request(Kind::AddFollowup, [long])).unwrap();
    let title = &change.tasks[0].title;
    assert!(title.starts_with("a b a b") && title.chars().count() <= limits.title_chars);
    assert!(change.tasks[0].description.chars().count() <= limits.text_chars);
    for (task, what) in [
        (
            Proposed {
                verify: Some("x".repeat(2001)),
                ..task("A")
            },
            "a verify command",
        ),
        (
            Proposed {
                files: vec!["a".into(); 51],
                ..task("A")
            },
            "a number of files",
        ),
        (
            Proposed {
                files: vec!["a".repeat(501)],
                ..task("A")
            },
            "a file's path",
        ),
    ] {
        let refusal = refused(&request(Kind::AddFollowup, [task]));
        assert!(
            matches!(refusal, Refusal::TooLong { what: w, .. } if w == what),
            "{refusal}"
        );
    }
}
