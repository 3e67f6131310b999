//! The arguments and variables Claude Code is started with; the prompt goes on its standard input.

use super::super::Setup;

/// The arguments for one session that reads its prompt from standard input and streams events.
///
/// An empty model or system prompt leaves its flag out, so that the program's own default stands.
pub fn arguments(
    model: &str,
    system_prompt: &str,
    budget_usd: Option<f64>,
    setup: &Setup,
) -> Vec<String> {
    let mut words = vec!["-p", "--output-format", "stream-json", "--verbose"];
    if let Some(model) = setup.named(model) {
        words.extend(["--model", model]);
    }
    if setup.skip_permissions {
        words.push("--dangerously-skip-permissions");
    }
    if !system_prompt.is_empty() {
        words.extend(["--append-system-prompt", system_prompt]);
    }
    let mut words: Vec<String> = words.into_iter().map(String::from).collect();
    if let Some(budget) = budget_usd.filter(|_| !setup.args.iter().any(|arg| is_budget(arg))) {
        words.extend([BUDGET.to_owned(), allowed(budget)]);
    }
    words.extend(setup.args.iter().cloned());
    words
}

/// An amount as the program reads it; the smallest rest is still more than nothing, which would be no cap.
fn allowed(budget: f64) -> String {
    format!("{:.4}", budget.max(0.0001))
}

const BUDGET: &str = "--max-budget-usd";

/// Whether an argument of the settings says already what a session may cost.
fn is_budget(arg: &str) -> bool {
    arg.strip_prefix(BUDGET)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The variables Claude Code needs beside the ones every child gets.
///
/// As root it refuses to skip permissions unless it is told that it runs in a sandbox.
pub fn environment(skip_permissions: bool, is_root: bool) -> Vec<(String, String)> {
    if skip_permissions && is_root {
        vec![("IS_SANDBOX".to_owned(), "1".to_owned())]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(skip_permissions: bool, args: &[&str]) -> Setup {
        Setup {
            skip_permissions,
            args: args.iter().copied().map(String::from).collect(),
            ..Setup::default()
        }
    }

    #[test]
    fn trusted_with_extras() {
        let setup = setup(true, &["--max-turns", "9"]);
        assert_eq!(
            arguments("sonnet", "rules\nof signals", Some(1.25), &setup),
            [
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--model",
                "sonnet",
                "--dangerously-skip-permissions",
                "--append-system-prompt",
                "rules\nof signals",
                "--max-budget-usd",
                "1.2500",
                "--max-turns",
                "9",
            ]
        );
    }

    #[test]
    fn a_budget_of_the_settings_stands() {
        let own = setup(false, &["--max-budget-usd", "2"]);
        let arguments = arguments("", "", Some(1.25), &own);
        assert_eq!(arguments[4..], ["--max-budget-usd", "2"]);
    }

    #[test]
    fn empty_values_leave_their_flag_out() {
        let own = Setup {
            name: "claude".into(),
            ..setup(false, &[])
        };
        // An agent without models has its own name for one.
        for model in ["", "claude"] {
            assert_eq!(
                arguments(model, "", None, &own),
                ["-p", "--output-format", "stream-json", "--verbose"]
            );
        }
    }

    #[test]
    fn the_sandbox_is_declared_only_for_a_trusted_root() {
        let declared = [("IS_SANDBOX".to_owned(), "1".to_owned())];
        assert_eq!(environment(true, true), declared);
        assert_eq!(environment(true, false), []);
        assert_eq!(environment(false, true), []);
    }
}
