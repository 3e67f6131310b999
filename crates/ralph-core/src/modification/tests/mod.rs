//! Properties that hold for every text and every request, and the whole way through.

mod any_text;
mod linear;
mod plans;

use super::{Change, Found, Kind, Known, Limits, Refusal, Request, Standing, parse, plan_change};

const GOOD: &str = "TASK_MODIFICATION_REQUEST\n{\"type\": \"ADD_FOLLOWUP\", \"originalTaskId\": \"k3\", \
                    \"reasoning\": \"found me\", \"proposedTasks\": [{\"title\": \"T\", \"verify\": \"make\"}]}\n";

/// Pieces of requests, whole and broken.
const FRAGMENTS: [&str; 34] = [
    "TASK_MODIFICATION_REQUEST",
    "TASK_MODIFICATION_REQUEST\n",
    "\n",
    " ",
    "`",
    "```json\n",
    "```",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "#",
    "**",
    "...",
    "<a>",
    "ä…",
    "\r\n",
    "\u{202e}",
    "SPLIT_TASK",
    "\"type\": \"SPLIT_TASK\",",
    "\"originalTaskId\": \"k3\",",
    "\"reasoning\": \"r\",",
    "\"proposedTasks\": [",
    "{\"title\": \"t\"}",
    "\"- [ ] 1.3.1 T\\n  - **Do**: x\"",
    "- [ ] ",
    " - **Verify**: ",
    "none",
    "1.5",
    "null",
];

fn request_of(block: &str, kind: Kind) -> String {
    let json = serde_json::json!({
        "type": kind, "originalTaskId": "k3", "reasoning": "r", "proposedTasks": [block, block],
    });
    format!("TASK_MODIFICATION_REQUEST\n{json}\n")
}

/// A plan of `k0`, `k1`, … in which tasks wait only for earlier ones.
type Plan = Vec<Vec<usize>>;

fn look_up(plan: &Plan, name: &str) -> Option<Known> {
    let waits = plan.get(name.strip_prefix('k')?.parse::<usize>().ok()?)?;
    let waits_for = waits.iter().map(|at| format!("k{at}")).collect();
    Some(Known {
        name: name.to_owned(),
        waits_for,
    })
}

/// Plans the change for `k3`, which has no gate.
fn judged(request: &Request, plan: &Plan, parent: Option<&str>) -> Result<Change, Refusal> {
    let standing = Standing {
        id: "k3",
        key: None,
        parent,
        has_gate: false,
        phase: None,
        modifications: 0,
        depth: 0,
        has_open_children: false,
        plan: &|name| look_up(plan, name),
        can_run: &|_| true,
    };
    plan_change(request, &standing, &Limits::default())
}

#[test]
fn mod_03_from_the_answer_to_the_change() {
    let [Found::Request(request)] = &parse(GOOD)[..] else {
        panic!()
    };
    let change = judged(request, &vec![Vec::new(); 5], None).unwrap();
    let json = serde_json::to_value(&change).unwrap();
    assert_eq!(json["kind"], "ADD_FOLLOWUP");
    assert_eq!(
        json["tasks"][0]["depends"],
        serde_json::json!([{"existing": "k3"}])
    );
}
