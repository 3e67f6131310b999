//! The failure object: what is known of a failure, with a sentence in place of what is not.

use serde::{Deserialize, Serialize};

const NO_ERROR_IN_BLOCK: &str = "Task execution failed";
const NO_EVIDENCE: &str = "Task did not complete";
const NO_FIX: &str = "No fix attempted";
const NO_STATUS: &str = "Unknown status";

/// What an attempt left behind to tell why it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub key: String,
    /// The agent's FAILED block. Where there is one, it alone is believed.
    pub failed_block: Option<FailureBlock>,
    /// The error by the best other evidence: report, structured error, gate, error line.
    pub best_error: Option<String>,
    pub best_attempt: Option<String>,
    pub raw_output: String,
}

/// The values of a `Task KEY: NAME FAILED` block, as far as they were there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureBlock {
    pub error: Option<String>,
    pub attempted_fix: Option<String>,
    pub status: Option<String>,
}

/// A failure, every field filled. It serialises to the failure object of the spec's format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub task_id: String,
    failed: bool,
    pub error: String,
    pub attempted_fix: String,
    pub status: String,
    pub raw_output: String,
}

impl Failure {
    pub fn of(evidence: Evidence) -> Self {
        let (block, no_error) = match evidence.failed_block {
            Some(block) => (block, NO_ERROR_IN_BLOCK),
            None => {
                let other = FailureBlock {
                    error: evidence.best_error,
                    attempted_fix: evidence.best_attempt,
                    status: None,
                };
                (other, NO_EVIDENCE)
            }
        };
        Self {
            task_id: evidence.key,
            failed: true,
            error: or_else(block.error, no_error),
            attempted_fix: or_else(block.attempted_fix, NO_FIX),
            status: or_else(block.status, NO_STATUS),
            raw_output: evidence.raw_output,
        }
    }

    /// The error, unless it only says that none is known.
    pub fn known_error(&self) -> Option<&str> {
        known(&self.error, &[NO_ERROR_IN_BLOCK, NO_EVIDENCE])
    }

    /// What was tried, unless it only says that nothing was.
    pub fn known_attempt(&self) -> Option<&str> {
        known(&self.attempted_fix, &[NO_FIX])
    }
}

fn or_else(value: Option<String>, otherwise: &str) -> String {
    let value = value.as_deref().map(str::trim);
    let value = value.filter(|value| !value.is_empty());
    value.unwrap_or(otherwise).to_owned()
}

fn known<'a>(value: &'a str, unknown: &[&str]) -> Option<&'a str> {
    let value = value.trim();
    (!value.is_empty() && !unknown.contains(&value)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::option;
    use proptest::prelude::*;
    use serde_json::json;

    fn seed_block() -> FailureBlock {
        FailureBlock {
            error: Some("File not found: src/parser.ts".into()),
            attempted_fix: Some("Checked alternate paths".into()),
            status: Some("Blocked, needs manual intervention".into()),
        }
    }

    #[test]
    fn rcp_01_the_failure_object_of_the_example() {
        for key in ["1.3", "1.3.1.1", "V4"] {
            let raw = format!("Task {key}: Add failure parser FAILED\n- Error: …\n");
            let failure = Failure::of(Evidence {
                key: key.into(),
                failed_block: Some(seed_block()),
                raw_output: raw.clone(),
                ..Evidence::default()
            });
            let object = json!({
                "taskId": key,
                "failed": true,
                "error": "File not found: src/parser.ts",
                "attemptedFix": "Checked alternate paths",
                "status": "Blocked, needs manual intervention",
                "rawOutput": raw,
            });
            assert_eq!(serde_json::to_value(&failure).unwrap(), object);
        }
    }

    #[test]
    fn rcp_01_the_fields_stand_in_the_formats_order() {
        let text = serde_json::to_string(&Failure::of(Evidence::default())).unwrap();
        let text = text.replace('"', "");
        let keys = text.trim_matches(['{', '}']).split(',');
        let keys: Vec<_> = keys.filter_map(|member| member.split(':').next()).collect();
        assert_eq!(keys, ["taskId", "failed", "error", "attemptedFix", "status", "rawOutput"]);
    }

    #[test]
    fn rcp_02_what_a_block_lacks_is_said() {
        let of = |failed_block| {
            let best_error = Some("not asked".to_owned());
            let best_attempt = best_error.clone();
            Failure::of(Evidence { failed_block, best_error, best_attempt, ..Evidence::default() })
        };
        let nothing = of(Some(FailureBlock::default()));
        assert_eq!(nothing.error, "Task execution failed");
        assert_eq!(nothing.attempted_fix, "No fix attempted");
        assert_eq!(nothing.status, "Unknown status");
        let blank = Some(" \n".to_owned());
        let block = FailureBlock { error: blank.clone(), attempted_fix: blank.clone(), status: blank };
        assert_eq!(of(Some(block)), nothing);
        let only_error = FailureBlock { error: Some(" x \n".into()), ..FailureBlock::default() };
        assert_eq!(of(Some(only_error)).error, "x");
    }

    #[test]
    fn rcp_03_without_a_block_other_evidence_speaks() {
        let of = |error: Option<&str>, attempt: Option<&str>| {
            Failure::of(Evidence {
                best_error: error.map(str::to_owned),
                best_attempt: attempt.map(str::to_owned),
                ..Evidence::default()
            })
        };
        let gate = of(Some("2 tests failed"), Some("Rewrote it"));
        assert_eq!((gate.error.as_str(), gate.attempted_fix.as_str()), ("2 tests failed", "Rewrote it"));
        assert_eq!(gate.status, "Unknown status");
        for nothing in [None, Some(""), Some("\t")] {
            let failure = of(nothing, nothing);
            assert_eq!(failure.error, "Task did not complete");
            assert_eq!(failure.attempted_fix, "No fix attempted");
            assert_eq!((failure.known_error(), failure.known_attempt()), (None, None));
        }
        assert_eq!(gate.known_error(), Some("2 tests failed"));
    }

    proptest! {
        #[test]
        fn rcp_01_no_field_is_empty_and_the_output_is_whole(
            error in option::of(any::<String>()),
            fix in option::of("[ a\n]{0,4}"),
            is_block in any::<bool>(),
            raw_output in any::<String>(),
        ) {
            let block = FailureBlock { error, attempted_fix: fix, status: None };
            let mut evidence = Evidence { raw_output: raw_output.clone(), ..Evidence::default() };
            if is_block { evidence.failed_block = Some(block) } else { evidence.best_error = block.error }
            let failure = Failure::of(evidence);
            prop_assert!(!failure.error.trim().is_empty());
            prop_assert!(!failure.attempted_fix.trim().is_empty());
            prop_assert_eq!(failure.raw_output, raw_output);
        }
    }
}
