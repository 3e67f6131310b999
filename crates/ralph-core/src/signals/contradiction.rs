//! Noticing a done signal under a closing paragraph that says otherwise.

use crate::text::last_paragraph;

/// What an agent writes when it gave up, as whole words in lower case. Kept short: every entry is a
/// statement about the work itself, not something code or tests may be described with.
const GIVEN_UP: [&str; 26] = [
    "could not complete",
    "couldn't complete",
    "cannot complete",
    "can't complete",
    "unable to complete",
    "not able to complete",
    "did not complete",
    "didn't complete",
    "not fully complete",
    "not yet complete",
    "could not finish",
    "couldn't finish",
    "unable to finish",
    "could not be completed",
    "couldn't be completed",
    "could not be fully completed",
    "is incomplete",
    "are incomplete",
    "remains incomplete",
    "remain incomplete",
    "still incomplete",
    "status incomplete",
    "needs manual",
    "need manual",
    "requires manual",
    "manual intervention",
];

/// Words before a phrase that turn it round: "no manual intervention was needed".
const NEGATIONS: [&str; 7] = ["no", "not", "never", "nothing", "without", "zero", "longer"];

/// Whether the last paragraph of the prose says that the work is not done.
pub(super) fn contradicts(text: &str) -> bool {
    let paragraph = last_paragraph(text).to_lowercase().replace('’', "'");
    let words: Vec<&str> = paragraph
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    GIVEN_UP.iter().any(|phrase| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).enumerate().any(|(at, window)| {
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            window == phrase && !before.is_some_and(|word| NEGATIONS.contains(word))
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::signals::tests::signals;

    fn contradicted(prose: &str) -> bool {
        signals(&format!("{prose}\n\n<task-done>1.3</task-done>\n")).contradicted
    }

    #[test]
    fn sig_11_a_closing_paragraph_that_gives_up() {
        for prose in [
            "I could not complete the task.",
            "Fine.\n\nI Couldn’t\ncomplete all of it, sorry.",
            "It **needs manual** work.",
            "Status: Blocked, needs manual intervention",
            "The work is incomplete because of X.",
            "- We were not able to complete step 3",
        ] {
            assert!(contradicted(prose), "{prose}");
        }
        assert!(signals("TASK_COMPLETE\n\nBut I was unable to complete it.").contradicted);
    }

    #[test]
    fn sig_11_other_paragraphs_and_words_do_not_matter() {
        for prose in [
            "At first I could not complete it.\n\nThen I found the cause and all tests pass.",
            "The parser now rejects incomplete input; it needs manually written tests.",
            "All done, no manual intervention needed.",
            "<retry-suggestion>\nI could not complete it.\n</retry-suggestion>",
            "",
        ] {
            assert!(!contradicted(prose), "{prose}");
        }
        assert!(
            !signals("I could not complete it.\n\n<task-failed>1.3</task-failed>").contradicted
        );
    }
}
