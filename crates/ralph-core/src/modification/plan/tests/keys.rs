//! Keys given and keys made.

use super::{keyed, keys, planned, refused, request, split, standing, task};
use crate::modification::plan::{Known, Limits, Refusal, Standing, plan_change};
use crate::modification::{Kind, Request};

#[test]
fn plan_01_the_original_is_named_by_id_or_key() {
    for name in ["1.3", "t-000003", " 1.3 "] {
        assert!(
            planned(&Request {
                original: name.into(),
                ..split()
            })
            .is_ok(),
            "{name}"
        );
    }
    for name in ["1.4", "t-000004", "1.3.2", "1", "1.30", "no`pe"] {
        let refusal = refused(&Request {
            original: name.into(),
            ..split()
        });
        assert!(matches!(refusal, Refusal::OtherTask { .. }), "{name}");
        assert!(refusal.to_string().ends_with("use `1.3`"));
    }
    let refusal = refused(&Request {
        original: " ".into(),
        ..split()
    });
    assert_eq!(
        refusal,
        Refusal::NoOriginal {
            attempted: "1.3".into()
        }
    );
}

#[test]
fn plan_02_keys_are_free_and_different() {
    let of = |keys: &[&str]| {
        request(
            Kind::SplitTask,
            keys.iter().map(|k| keyed(k)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        refused(&of(&["a", "a"])),
        Refusal::RepeatedKey { key: "a".into() }
    );
    for taken in ["1.4", "t-000001", "1.3", "1.3.2"] {
        let refusal = refused(&of(&["a", taken]));
        let bad = Refusal::BadKey { key: taken.into() };
        assert!(refusal == bad || refusal == Refusal::TakenKey { key: taken.into() });
    }
    let empty = Standing {
        plan: &|_| None,
        ..standing()
    };
    let refusal = plan_change(&of(&["a", "1.3"]), &empty, &Limits::default());
    assert_eq!(
        refusal,
        Err(Refusal::TakenKey { key: "1.3".into() }),
        "the original's own"
    );
    for bad in ["a b", "-a", "t-abcdef", "a`b", &"x".repeat(65)] {
        assert!(
            matches!(refused(&of(&["a", bad])), Refusal::BadKey { .. }),
            "{bad}"
        );
    }
    let mixed = request(Kind::SplitTask, [task("A"), keyed("1.3.1"), task("C")]);
    assert_eq!(keys(&planned(&mixed).unwrap()), ["1.3.3", "1.3.1", "1.3.4"]);
    let nameless = Standing {
        key: None,
        ..standing()
    };
    let request = Request {
        original: "t-000003".into(),
        ..split()
    };
    let change = plan_change(&request, &nameless, &Limits::default()).unwrap();
    assert_eq!(keys(&change), ["t-000003.1", "t-000003.2"]);
}

#[test]
fn plan_02_where_no_key_is_free_the_request_is_refused() {
    let known = |name: &str| {
        Some(Known {
            name: name.to_owned(),
            waits_for: Vec::new(),
        })
    };
    let full = Standing {
        plan: &known,
        ..standing()
    };
    let refusal = plan_change(&split(), &full, &Limits::default()).unwrap_err();
    assert_eq!(refusal, Refusal::NoFreeKey { base: "1.3".into() });
    let long = "x".repeat(63);
    let long_named = Standing {
        key: Some(&long),
        ..standing()
    };
    let request = Request {
        original: long.clone(),
        ..split()
    };
    let refusal = plan_change(&request, &long_named, &Limits::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::NoFreeKey { .. }));
}
