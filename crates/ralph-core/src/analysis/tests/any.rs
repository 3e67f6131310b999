use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::analysis::{Fact, Surroundings, analyze};

/// Text as it may come: words that mean something, and anything at all.
fn text() -> impl Strategy<Value = String> {
    let meaningful = prop::sample::select(vec![
        "error[E0433]: failed to resolve\n --> src/lib.rs:1:2",
        "error TS2304: x\n",
        "a.c:3:5: error: x",
        "bash: x: command not found",
        "spawn a ENOENT",
        "connect ECONNREFUSED 127.0.0.1:80",
        "could not resolve host",
        "Cannot find module 'x'",
        "Permission denied: /a/b",
        "1.2.3",
        "1-2",
        "none",
        "haiku",
        "AGENTS.md",
        ".ralph/x",
        "`",
        "\r\n\u{2028}\u{85}\u{1b}[31m\u{7}",
    ]);
    prop_oneof![
        meaningful.prop_map(str::to_owned),
        any::<String>(),
        "\\PC{0,30}",
        Just("word ".repeat(100)),
        Just("x".repeat(600)),
        Just(String::new()),
    ]
}

fn error_type() -> impl Strategy<Value = Option<String>> {
    let own = prop::sample::select(vec!["timeout", "idle_timeout", "crash", "spawn", "build_error"]);
    option::of(prop_oneof![own.prop_map(str::to_owned), text()])
}

fn outcome() -> impl Strategy<Value = String> {
    let own = prop::sample::select(vec!["failed", "no_sigil", "error"]);
    prop_oneof![own.prop_map(str::to_owned), text()]
}

prop_compose! {
    fn fact()(
        (task, key, phase, model) in (text(), option::of(text()), option::of(text()), text()),
        (error_type, outcome, coarse) in (error_type(), outcome(), option::of("[ab]")),
        (message, gate) in (text(), option::of(text())),
        (files, failing) in (vec(text(), 0..4), vec(text(), 0..4)),
    ) -> Fact {
        Fact { task, key, phase, model, error_type, outcome, coarse, message, files, gate, failing }
    }
}

prop_compose! {
    fn around()(
        kinds in vec((prop::sample::select(vec!["auth", "network", "spawn", "x"]), any::<u32>()), 0..4),
        ladder in vec(text(), 0..4),
        attempt_timeout_minutes in any::<u64>(),
        recovery in any::<bool>(),
    ) -> Surroundings {
        let recent_uncounted = kinds.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect();
        Surroundings { recent_uncounted, ladder, attempt_timeout_minutes, recovery }
    }
}

proptest! {
    #[test]
    fn ana_01_three_to_five_bounded_lines_under_the_heading(
        facts in vec(fact(), 0..6),
        around in around(),
    ) {
        let analysis = analyze(&facts, &around);
        let lines = analysis.lines();
        prop_assert_eq!(&lines[0], "Failure Analysis:");
        prop_assert!((4..=6).contains(&lines.len()), "{:?}", lines);
        let labels = ["Pattern", "Affected", "Shared", "Models", "Suggestion"];
        let mut order = Vec::new();
        for line in &lines[1..] {
            let (label, value) = line.strip_prefix("  ").unwrap().split_once(": ").unwrap();
            order.push(labels.iter().position(|own| *own == label).unwrap());
            prop_assert!(!value.trim().is_empty(), "{:?}", lines);
            prop_assert!(line.chars().count() <= 260, "{}", line);
            prop_assert!(!line.contains(char::is_control), "{:?}", line);
            prop_assert!(!line.contains(['\u{2028}', '\u{2029}', '\u{202e}']), "{:?}", line);
        }
        prop_assert!(order.is_sorted() && order.last() == Some(&4), "{:?}", lines);
        prop_assert!(order.contains(&0) && order.contains(&3), "{:?}", lines);
        prop_assert_eq!(analysis.to_string().lines().count(), lines.len());
    }

    #[test]
    fn ana_02_the_same_failures_give_the_same_analysis(
        facts in vec(fact(), 0..6),
        around in around(),
    ) {
        prop_assert_eq!(analyze(&facts, &around), analyze(&facts, &around));
    }

    #[test]
    fn ana_03_mostly_timeouts_always_say_so(
        mut facts in vec(fact(), 1..6),
        around in around(),
    ) {
        let late = facts.len() / 2 + 1;
        for fact in facts.iter_mut().take(late) {
            fact.error_type = Some("timeout".into());
        }
        let suggestion = analyze(&facts, &around).suggestion;
        prop_assert!(suggestion.contains("raise `attempt_timeout`"), "{}", suggestion);
    }

    #[test]
    fn ana_03_commands_to_copy_are_plain_words(facts in vec(fact(), 1..4), around in around()) {
        let suggestion = analyze(&facts, &around).suggestion;
        for start in ["`ralph history ", "`ralph logs "] {
            // Other names may say the same, but not in Ralph's own backticks.
            if let Some((_, rest)) = suggestion.split_once(start) {
                let word = rest.split('`').next().unwrap();
                let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
                prop_assert!(word.chars().all(plain), "{}", suggestion);
            }
        }
    }
}
