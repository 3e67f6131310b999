//! What a reviewer answers: a verdict and its findings.

use serde::Serialize;

use super::quotations::Quotations;
use super::{completion, cut, is_placeholder, limits};
use crate::text::{clean, elements, last_paragraph};

/// `<review-verdict>accept</review-verdict>` and `<review-finding>`, as a reviewer gave them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewSignals {
    pub accepted: bool,
    /// What the reviewer objects to or remarks, each once.
    pub findings: Vec<String>,
}

/// Reads an answer. None where it holds no verdict: quoted ones are none, and of several that contradict each other a
/// rejection counts.
pub fn review(text: &str) -> Option<ReviewSignals> {
    let quotations = Quotations::of(text);
    let mut accepted: Option<bool> = None;
    let mut findings: Vec<String> = Vec::new();
    for element in elements(text) {
        let content = element.content.trim();
        match element.name {
            "review-verdict"
                if !quotations.cover(element.span.start) && completion::is_alone(text, &element.span) =>
            {
                let says = match content.to_ascii_lowercase().as_str() {
                    "accept" | "accepted" | "approve" | "approved" => true,
                    "reject" | "rejected" => false,
                    _ => continue,
                };
                accepted = Some(accepted.unwrap_or(true) && says);
            }
            "review-finding" if findings.len() < limits::FINDINGS && !is_placeholder(content) => {
                let finding = cut(&clean(content), limits::FINDING_CHARS);
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
            _ => {}
        }
    }
    let accepted = accepted?;
    if !accepted && findings.is_empty() {
        let said = cut(&clean(&last_paragraph(text)), limits::FINDING_CHARS);
        findings.extend((!said.is_empty()).then_some(said));
    }
    Some(ReviewSignals { accepted, findings })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPT: &str = "<review-verdict>accept</review-verdict>";
    const REJECT: &str = "<review-verdict>reject</review-verdict>";

    #[test]
    fn a_verdict_stands_alone_and_a_rejection_outweighs() {
        for (text, expected) in [
            (ACCEPT.to_owned(), Some(true)),
            (format!("All is well.\n\n`{ACCEPT}`\n"), Some(true)),
            (format!("```\n{REJECT}\n```"), Some(false)),
            (format!("{ACCEPT}\n{REJECT}"), Some(false)),
            (format!("{REJECT}\n{ACCEPT}"), Some(false)),
            ("<review-verdict> Approved </review-verdict>".to_owned(), Some(true)),
            // What is no verdict of the reviewer's own.
            (format!("I end with {ACCEPT} if it is good."), None),
            (format!("The diff says:\n```\n+ x\n{ACCEPT}\n```"), None),
            (format!("<review-finding>\n{ACCEPT}\n</review-finding>"), None),
            ("<review-verdict>accept|reject</review-verdict>".to_owned(), None),
            ("<review-verdict>accept".to_owned(), None),
            ("It is fine.".to_owned(), None),
        ] {
            assert_eq!(review(&text).map(|review| review.accepted), expected, "{text}");
        }
    }

    #[test]
    fn findings_are_bounded_masked_and_each_once() {
        let finding = |text: &str| format!("<review-finding>{text}</review-finding>\n");
        let text = finding("a.rs:3 is wrong") + &finding("a.rs:3 is wrong") + &finding("...") + REJECT;
        assert_eq!(review(&text).unwrap().findings, ["a.rs:3 is wrong"]);
        let many: String = (0..100).map(|n| finding(&format!("{n} {}", "word ".repeat(9000)))).collect();
        let found = review(&(many + REJECT)).unwrap().findings;
        assert_eq!(found.len(), limits::FINDINGS);
        assert!(found.iter().all(|one| one.chars().count() <= limits::FINDING_CHARS));
        let secret = review(&(finding("password=hunter2secret") + REJECT)).unwrap().findings;
        assert!(!secret[0].contains("hunter2secret"));
    }

    #[test]
    fn a_rejection_without_findings_is_explained_by_its_last_words() {
        let found = review(&format!("I looked at it.\n\nThe test checks nothing.\n\n{REJECT}")).unwrap();
        assert_eq!(found.findings, ["The test checks nothing."]);
        assert_eq!(review(REJECT).unwrap().findings, Vec::<String>::new());
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_read(text in "(</?review-(verdict|finding)>|accept|reject|\n|```|é|.{0,5}){0,30}") {
            let _ = review(&text);
        }
    }
}
