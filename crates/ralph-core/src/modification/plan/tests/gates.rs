//! Verify commands.

use super::{refused, request, standing, task};
use crate::modification::plan::{Limits, Refusal, Standing, plan_change};
use crate::modification::{Kind, Proposed};

#[test]
fn mod_03_a_gate_is_required_where_the_original_has_one() {
    let with = |verify: Option<&str>| Proposed {
        verify: verify.map(str::to_owned),
        ..task("B")
    };
    for kind in Kind::ALL {
        for (verify, expected) in [
            (None, Refusal::NoGate { position: 2 }),
            (Some("  "), Refusal::NoGate { position: 2 }),
            (Some("true"), Refusal::IdleGate { position: 2 }),
            (Some("Look at it"), Refusal::UnrunnableGate { position: 2 }),
        ] {
            assert_eq!(refused(&request(kind, [task("A"), with(verify)])), expected);
        }
        let free = Standing {
            has_gate: false,
            ..standing()
        };
        let change = plan_change(
            &request(kind, [task("A"), with(None)]),
            &free,
            &Limits::default(),
        );
        assert_eq!(change.unwrap().tasks[1].verify, None);
    }
}
