//! Who gets how much room.

use super::support::*;
use crate::memory::prompt::{LoopStatus, Memory, PastAttempt};
use crate::model::ReportRow;

fn learnings(count: usize, length: usize) -> Vec<crate::memory::recall::Candidate> {
    (0..count).map(|n| learning(&format!("l-{n}"), "pitfall", &words("learnt", length))).collect()
}

fn with_suggestion(mut attempts: Vec<PastAttempt>, text: &str) -> Vec<PastAttempt> {
    let newest = attempts.last_mut().unwrap();
    newest.report =
        newest.report.take().map(|report| ReportRow { retry_suggestion: Some(text.to_owned()), ..report });
    attempts
}

fn stuck() -> LoopStatus {
    LoopStatus { stuck: true, ..status(4, 3) }
}

#[test]
fn bud_01_characters_are_counted_not_bytes() {
    let learnings = (0..5).map(|_| learning("l", "pitfall", &"語".repeat(900))).collect();
    let rendered = render(&Memory { learnings, status: status(1, 0), ..Memory::default() });
    assert_eq!(rendered.shown_learnings.len(), 5);
    assert!(rendered.text.len() > 10_000);
    assert_eq!(rendered.explanation.used_chars, rendered.text.chars().count());
}

#[test]
fn bud_02_with_unlimited_room_everything_is_complete() {
    let memory = Memory {
        attempts: with_suggestion(long_attempts(30, 2000), &words("next", 5000)),
        learnings: learnings(5, 3000),
        status: stuck(),
        phase_failures: (0..100).map(|n| failure(&n.to_string(), "t", "e")).collect(),
        agents_md: None,
    };
    let rendered = render_in(&memory, usize::MAX);
    assert!(rendered.explanation.sections.iter().all(|section| section.left_out.is_empty()));
    assert_eq!(rendered.explanation.sections.len(), 4);
    assert!(!rendered.text.contains(NOTE) && !rendered.text.contains(TRUNCATED));
}

#[test]
fn bud_02_below_the_minimums_priority_decides() {
    let memory = Memory {
        attempts: long_attempts(4, 900),
        learnings: learnings(5, 100),
        status: status(5, 4),
        phase_failures: vec![failure("k", "t", "e")],
        agents_md: None,
    };
    let titles = |budget: usize| -> Vec<String> {
        let text = render_in(&memory, budget).text;
        let titles = text.lines().filter_map(|line| line.strip_prefix("### "));
        titles.map(str::to_owned).collect()
    };
    let all = ["Previous Attempts", "Learnings from Previous Iterations", "Loop Status", "Failure Context"];
    assert_eq!(titles(50), [""; 0]);
    assert_eq!(titles(500), all[..1]);
    assert_eq!(titles(720), all[..2]);
    assert_eq!(titles(1050), all[..3]);
    assert_eq!(titles(1300), all);
}

#[test]
fn bud_03_shares_come_first_then_leftovers_by_priority() {
    let memory = Memory {
        attempts: long_attempts(40, 200),
        learnings: learnings(5, 800),
        status: status(41, 40),
        ..Memory::default()
    };
    let text = render(&memory).text;
    let attempts = section_size(&text, "Previous Attempts");
    let learnings = section_size(&text, "Learnings from Previous Iterations");
    assert!(attempts > 3000, "what the others leave goes to the attempts: {attempts}");
    assert!(learnings > 800 && learnings <= 1500, "{learnings}");
    assert!(text.chars().count() <= 5000 && text.chars().count() > 4600);

    let few = Memory { attempts: long_attempts(1, 50), ..memory };
    let text = render(&few).text;
    assert!(section_size(&text, "Learnings from Previous Iterations") > 4000);
}

#[test]
fn bud_03_no_section_takes_anothers_minimum() {
    let memory = Memory {
        attempts: long_attempts(9, 3000),
        learnings: learnings(5, 120),
        status: status(10, 9),
        phase_failures: vec![failure("k", "t", &words("error", 90))],
        agents_md: None,
    };
    let rendered = render_in(&memory, 1250);
    assert_eq!(rendered.explanation.sections.iter().filter(|s| s.used_chars == 0).count(), 0);
    let text = &rendered.text;
    assert!(section_size(text, "Learnings from Previous Iterations") > 150, "{text}");
    assert!(section_size(text, "Previous Attempts") > 450, "{text}");
}

#[test]
fn bud_03_hints_after_the_warning_take_nobodys_minimum() {
    let memory = Memory {
        attempts: long_attempts(4, 900),
        learnings: learnings(5, 120),
        status: LoopStatus {
            further_lines: vec![words("hint", 250), words("hint", 200)],
            may_change_plan: true,
            ..stuck()
        },
        ..Memory::default()
    };
    for budget in (1300..5000).step_by(50) {
        let text = render_in(&memory, budget).text;
        let learnings = section_size(&text, "Learnings from Previous Iterations");
        assert!(learnings > 150, "{budget}: {text}");
        assert!(section_size(&text, "Previous Attempts") > 480, "{budget}: {text}");
        assert!(text.contains("**Stuck loop detected.**"), "{budget}: {text}");
    }
    let roomy = render_in(&memory, 2500).text;
    assert!(roomy.contains("> hint hint"), "{roomy}");
}

#[test]
fn bud_04_failure_context_goes_before_the_warning_does() {
    let memory = |attempts: usize| Memory {
        attempts: long_attempts(3, attempts),
        learnings: learnings(2, 60),
        status: stuck(),
        phase_failures: vec![failure("k", "t", &words("error", 90))],
        agents_md: None,
    };
    for memory in [memory(40), memory(900)] {
        let mut both = 0;
        for budget in 0..2500 {
            let text = render_in(&memory, budget).text;
            let context = text.contains("### Failure Context");
            let warned = text.contains("**Stuck loop detected.**");
            assert!(warned || !context, "{budget}: {text}");
            both += u32::from(context && warned);
        }
        assert!(both > 500, "{both}");
    }
}

#[test]
fn bud_04_warning_and_suggestion_are_never_pushed_out() {
    let idea = words("idea", 200);
    let memory = Memory {
        attempts: with_suggestion(long_attempts(9, 3000), &idea),
        learnings: learnings(5, 120),
        status: stuck(),
        phase_failures: vec![failure("k", "t", "e")],
        agents_md: None,
    };
    for budget in [1000, 1200, 2000, 5000, 9000] {
        let text = render_in(&memory, budget).text;
        assert!(text.contains(&format!("{SUGGESTED}{idea}\n")), "{budget}: {text}");
        assert!(text.contains("**Stuck loop detected.**"), "{budget}: {text}");
        assert!(text.contains("#### Attempt 9 "), "{budget}: {text}");
    }
    // A long suggestion comes before the others' minimums too.
    let long_idea = words("idea", 840);
    let long = Memory { attempts: with_suggestion(memory.attempts.clone(), &long_idea), ..memory.clone() };
    let text = render_in(&long, 1700).text;
    assert!(text.contains(&format!("{SUGGESTED}{long_idea}\n")), "{text}");
    assert!(text.contains("**Stuck loop detected.**"), "{text}");
    // With the attempts' minimum alone, the newest attempt and its suggestion come first.
    let text = render_in(&memory, 500).text;
    assert!(text.contains("#### Attempt 9 ") && text.contains(&format!("{SUGGESTED}{idea}\n")));
}

#[test]
fn bud_04_an_enormous_suggestion_is_cut_and_leaves_the_rest_standing() {
    let memory = Memory {
        attempts: with_suggestion(long_attempts(3, 300), &words("idea", 20_000)),
        learnings: learnings(2, 100),
        status: stuck(),
        ..Memory::default()
    };
    for budget in [500, 1200, 5000] {
        let text = render_in(&memory, budget).text;
        assert!(text.contains(&format!("{SUGGESTED}idea idea")), "{budget}: {text}");
        assert!(text.contains("idea…\n"), "{budget}: {text}");
        assert!(text.contains("#### Attempt 3 "), "{budget}: {text}");
    }
    let text = render(&memory).text;
    assert!(text.contains("### Loop Status") && text.contains("- **[pitfall]** learnt"), "{text}");
    assert!(!text.contains(TRUNCATED), "the attempt itself fits: {text}");
}

#[test]
fn bud_05_no_title_without_content() {
    let memory = Memory {
        attempts: long_attempts(3, 300),
        learnings: learnings(5, 60),
        status: status(4, 3),
        phase_failures: vec![failure("k", "t", &words("error", 90))],
        agents_md: None,
    };
    for budget in 0..2500 {
        let text = render_in(&memory, budget).text;
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        for pair in lines.windows(2) {
            assert!(!(pair[0].starts_with("### ") && pair[1].starts_with("### ")), "{text}");
        }
        assert!(!lines.last().is_some_and(|line| line.starts_with("### ")), "{text}");
        assert!(text.is_empty() || text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
        assert!(!text.contains("\n\n\n"), "{text}");
    }
}

#[test]
fn the_explanation_says_who_got_what() {
    let memory = Memory {
        attempts: long_attempts(4, 900),
        learnings: learnings(1, 60),
        status: status(5, 4),
        ..Memory::default()
    };
    insta::assert_snapshot!(render_in(&memory, 1500).explanation, @"
    Memory: 1496 of 1500 characters
      Previous Attempts: 1161 of 1165 characters
        not shown: attempt 1 (needs 1014 characters, 0 left)
        not shown: attempt 2 (needs 1014 characters, 0 left)
        not shown: attempt 3 (needs 1014 characters, 0 left)
        not shown: part of attempt 4 (needs 1014 characters, 1004 left)
      Learnings from Previous Iterations: 120 of 124 characters
      Loop Status: 215 of 219 characters
    ");
    let json = serde_json::to_value(render(&memory).explanation).unwrap();
    assert_eq!(json["sections"][0]["title"], "Previous Attempts");
    assert_eq!(json["budget_chars"], 5000);
}
