//! Whatever an agent writes, there is an answer.

use std::hint::black_box;

use proptest::prelude::*;
use proptest::sample::select;

use super::{FRAGMENTS, GOOD, judged, request_of};
use crate::modification::{Found, Kind, Proposed, Request, parse};

fn soup(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(select(&FRAGMENTS[..]), 0..most).prop_map(|parts| parts.concat())
}

/// A Markdown task made of pieces that mean something there.
fn block() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "- [ ] ",
        "- [x]",
        "[P] ",
        "1.3.1 ",
        "V4 ",
        "\n",
        "\n  ",
        "- **Do**: ",
        "- **Files**: ",
        " - **Verify:** ",
        "- Depends on: ",
        "`",
        "``",
        "```\n",
        "a",
        ", ",
        "ä",
        "\t",
        "**",
        "[",
        "]",
        ": ",
        "_x: y_",
        "\u{2003}",
    ]);
    proptest::collection::vec(piece, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn sig_05_any_text_is_survived(text in any::<String>()) {
        black_box(parse(&text));
        black_box(parse(&format!("TASK_MODIFICATION_REQUEST\n{text}")));
    }

    #[test]
    fn sig_05_good_requests_are_found_after_any_soup(soup in soup(60)) {
        let found = parse(&format!("{soup}\n{GOOD}"));
        let is_good = |found: &Found| matches!(found, Found::Request(r) if r.reasoning == "found me");
        prop_assert!(found.iter().any(is_good), "{found:?}");
        for one in found {
            if let Found::Broken { reason } = one {
                prop_assert!(!reason.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn sig_05_any_block_is_survived(block in block(), kind in select(Kind::ALL.to_vec())) {
        let text = request_of(&block, kind);
        for found in parse(&text) {
            let Found::Request(request) = found else { panic!("{text}") };
            black_box(judged(&request, &vec![Vec::new(); 5], None).ok());
        }
    }

    #[test]
    fn sig_05_refusals_are_harmless(name in any::<String>(), kind in select(Kind::ALL.to_vec())) {
        let odd = Proposed { title: "T".into(), depends: Some(vec![name.clone()]), ..Proposed::default() };
        let keyed = Proposed { key: Some(name.clone()), ..odd.clone() };
        for (original, task) in [(name.as_str(), &odd), ("k3", &odd), ("k3", &keyed)] {
            let proposed = vec![task.clone(), task.clone()];
            let request = Request { kind, original: original.into(), reasoning: "r".into(), proposed };
            if let Err(refusal) = judged(&request, &vec![Vec::new(); 5], None) {
                let sentence = refusal.to_string();
                let harmful = sentence.contains(['\n', '<', '\u{202e}']);
                prop_assert!(!harmful && sentence.len() < 1000, "{}", sentence);
                prop_assert_eq!(sentence.matches('`').count() % 2, 0);
            }
        }
    }
}
