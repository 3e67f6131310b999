//! The failure object: what is known of a failure, with a sentence in place of what is not.

use serde::{Deserialize, Serialize};

const NO_ERROR_IN_BLOCK: &str = "Task execution failed";
const NO_EVIDENCE: &str = "Task did not complete";
const NO_FIX: &str = "No fix attempted";
const NO_STATUS: &str = "Unknown status";

/// What is known of a failure: the values of a `Task KEY: NAME FAILED` block, or what other evidence says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureFacts {
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
    /// By the agent's FAILED block: where there is one, it alone is believed.
    pub fn of_block(key: &str, block: FailureFacts, raw_output: String) -> Self {
        Self::new(key, block, NO_ERROR_IN_BLOCK, raw_output)
    }

    /// By the best other evidence: report, structured error, gate, error line.
    pub fn without_block(key: &str, facts: FailureFacts, raw_output: String) -> Self {
        Self::new(key, facts, NO_EVIDENCE, raw_output)
    }

    fn new(key: &str, facts: FailureFacts, no_error: &str, raw_output: String) -> Self {
        Self {
            task_id: key.to_owned(),
            failed: true,
            error: or_else(facts.error, no_error),
            attempted_fix: or_else(facts.attempted_fix, NO_FIX),
            status: or_else(facts.status, NO_STATUS),
            raw_output,
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

    fn seed_block() -> FailureFacts {
        FailureFacts {
            error: Some("File not found: src/parser.ts".into()),
            attempted_fix: Some("Checked alternate paths".into()),
            status: Some("Blocked, needs manual intervention".into()),
        }
    }

    #[test]
    fn rcp_01_the_failure_object_of_the_example() {
        for key in ["1.3", "1.3.1.1", "V4"] {
            let raw = format!("Task {key}: Add failure parser FAILED\n- Error: …\n");
            let failure = Failure::of_block(key, seed_block(), raw.clone());
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
        let text =
            serde_json::to_string(&Failure::of_block("1.3", FailureFacts::default(), String::new())).unwrap();
        let text = text.replace('"', "");
        let keys = text.trim_matches(['{', '}']).split(',');
        let keys: Vec<_> = keys.filter_map(|member| member.split(':').next()).collect();
        assert_eq!(keys, ["taskId", "failed", "error", "attemptedFix", "status", "rawOutput"]);
    }

    #[test]
    fn rcp_02_what_a_block_lacks_is_said() {
        let of = |block| Failure::of_block("1.3", block, String::new());
        let nothing = of(FailureFacts::default());
        assert_eq!(nothing.error, "Task execution failed");
        assert_eq!(nothing.attempted_fix, "No fix attempted");
        assert_eq!(nothing.status, "Unknown status");
        let blank = Some(" \n".to_owned());
        let block = FailureFacts { error: blank.clone(), attempted_fix: blank.clone(), status: blank };
        assert_eq!(of(block), nothing);
        let only_error = FailureFacts { error: Some(" x \n".into()), ..FailureFacts::default() };
        assert_eq!(of(only_error).error, "x");
    }

    #[test]
    fn rcp_03_without_a_block_other_evidence_speaks() {
        let of = |error: Option<&str>, attempt: Option<&str>| {
            let (error, attempted_fix) = (error.map(str::to_owned), attempt.map(str::to_owned));
            Failure::without_block("1.3", FailureFacts { error, attempted_fix, status: None }, String::new())
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
            let facts = FailureFacts { error, attempted_fix: fix, status: None };
            let of = if is_block { Failure::of_block } else { Failure::without_block };
            let failure = of("1.3", facts, raw_output.clone());
            prop_assert!(!failure.error.trim().is_empty());
            prop_assert!(!failure.attempted_fix.trim().is_empty());
            prop_assert_eq!(failure.raw_output, raw_output);
        }
    }
}
