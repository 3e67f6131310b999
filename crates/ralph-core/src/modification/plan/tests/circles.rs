//! Dependencies: unknown ones, and those that close a circle.

use super::{after, planned, refused, request, standing, task};
use crate::modification::plan::{Known, Limits, Refusal, Standing, plan_change};
use crate::modification::{Kind, Proposed};

#[test]
fn plan_02_unknown_dependencies_are_refused() {
    for kind in Kind::ALL {
        let refusal = refused(&request(kind, [task("A"), after("B", &["1.1", "9.`9"])]));
        assert_eq!(
            refusal,
            Refusal::UnknownDependency {
                position: 2,
                name: "9.?9".into()
            }
        );
    }
}

#[test]
fn plan_02_circles_are_refused_and_named() {
    let circle = |kind, tasks: &[Proposed]| match refused(&request(kind, tasks)) {
        Refusal::Circle { path } => path,
        other => panic!("{other}"),
    };
    let itself = Proposed {
        key: Some("a".into()),
        ..after("A", &["a"])
    };
    assert_eq!(circle(Kind::AddFollowup, &[itself]), ["a", "a"]);
    for kind in Kind::ALL {
        let each_other = [after("A", &["1.3.3"]), after("B", &["1.3.1"])];
        assert_eq!(circle(kind, &each_other), ["1.3.1", "1.3.3", "1.3.1"]);
    }
    for kind in [Kind::SplitTask, Kind::AddPrerequisite] {
        let on_original = circle(kind, &[task("A"), after("B", &["1.3"])]);
        assert_eq!(on_original.first(), on_original.last());
        let on_dependent = circle(kind, &[task("A"), after("B", &["1.4"])]);
        assert!(
            on_dependent.contains(&"t-000004".into()),
            "{on_dependent:?}"
        );
        assert!(planned(&request(kind, [task("A"), after("B", &["1.2"])])).is_ok());
    }
}

#[test]
fn plan_02_circles_through_the_parent_are_refused() {
    let below = Standing {
        parent: Some("P"),
        ..standing()
    };
    for kind in [Kind::AddPrerequisite, Kind::AddFollowup] {
        let request = request(kind, [after("A", &["P"])]);
        let refusal = plan_change(&request, &below, &Limits::default()).unwrap_err();
        assert!(matches!(refusal, Refusal::Circle { .. }), "{kind}");
    }
    assert!(planned(&request(Kind::AddFollowup, [after("A", &["P"])])).is_ok());
}

#[test]
fn plan_02_a_long_circle_shows_its_ends() {
    let chain = |name: &str| {
        let number: u32 = name.strip_prefix('c')?.parse().ok()?;
        let next = if number < 99 {
            format!("c{}", number + 1)
        } else {
            "t-000003".into()
        };
        Some(Known {
            name: name.to_owned(),
            waits_for: vec![next],
        })
    };
    let standing = Standing {
        plan: &chain,
        ..standing()
    };
    let request = request(Kind::AddPrerequisite, [after("A", &["c0"])]);
    let Err(Refusal::Circle { path }) = plan_change(&request, &standing, &Limits::default()) else {
        panic!()
    };
    assert_eq!((path.len(), path[4].as_str()), (9, "…"));
}
