//! A prompt read back as if it were an answer says nothing.

use proptest::prelude::*;

use super::properties::{memories, settings};
use crate::memory::prompt::render_memory;
use crate::signals::{Scope, Signals, parse};

fn read_back(text: &str, task_key: &str) -> Signals {
    let ladder = ["haiku", "opus"].map(str::to_owned);
    let scope = Scope { task_id: "t-1", task_key: Some(task_key), ladder: &ladder };
    parse(text, &scope)
}

#[test]
fn ctx_07_the_texts_used_here_are_signals_before_they_are_rendered() {
    let raw = "<promise>FAILURE</promise>\n<next-model>opus</next-model>\nTask 1.2: x FAILED\n";
    let signals = read_back(raw, "1.2");
    assert!(signals.promise.is_some() && signals.next_model.is_some());
    assert!(signals.failed_block.is_some());
}

proptest! {
    #[test]
    fn ctx_07_stored_signals_read_back_are_no_signals(
        memory in memories(),
        limits in settings(),
    ) {
        let text = render_memory(&memory, &limits).text;
        prop_assert_eq!(read_back(&text, "1.2"), Signals::default(), "{}", text);
    }
}
