//! What an agent is told about asking for a change to the plan.

/// How to write a request, in Markdown without a heading; for a prompt whose task is stuck or failed
/// before. Its own example is no request.
#[must_use]
pub const fn instructions() -> &'static str {
    include_str!("instructions.md")
}

#[cfg(test)]
mod tests {
    use super::instructions;
    use crate::modification::{Kind, Limits, parse};

    #[test]
    fn mod_01_the_instructions_name_every_kind_and_field() {
        let text = instructions();
        for kind in Kind::ALL {
            assert!(text.contains(kind.as_str()), "{kind}");
        }
        for field in [
            "originalTaskId",
            "reasoning",
            "proposedTasks",
            "dependsOn",
            "verify",
        ] {
            assert!(text.contains(field), "{field}");
        }
        assert!(text.chars().count() < 2000, "short");
        let limits = Limits::default();
        assert_eq!(
            (limits.per_task, limits.depth, limits.proposed),
            (3, 2, 10),
            "as told"
        );
    }

    #[test]
    fn sig_08_the_instructions_are_no_request() {
        assert_eq!(parse(instructions()), []);
        let quoted: String = instructions()
            .lines()
            .map(|l| format!("    {l}\n"))
            .collect();
        assert_eq!(parse(&quoted), []);
        assert_eq!(parse(&instructions().repeat(3)), []);
    }
}
