//! The arguments and variables Claude Code is started with; the prompt goes on its standard input.

/// The variable by which Claude Code is told that it may run unasked as root.
pub(super) const SANDBOX: &str = "IS_SANDBOX";

/// What a project may choose about Claude Code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaudeOptions {
    /// Whether tools are used without asking. Nobody is there to be asked, so tools are else denied.
    pub skip_permissions: bool,
    /// Arguments added after Ralph's own.
    pub extra_args: Vec<String>,
}

/// The arguments for one session that reads its prompt from standard input and streams events.
///
/// An empty model or system prompt leaves its flag out, so that the program's own default stands.
pub fn arguments(model: &str, system_prompt: &str, options: &ClaudeOptions) -> Vec<String> {
    let mut words = vec!["-p", "--output-format", "stream-json", "--verbose"];
    if !model.is_empty() {
        words.extend(["--model", model]);
    }
    if options.skip_permissions {
        words.push("--dangerously-skip-permissions");
    }
    if !system_prompt.is_empty() {
        words.extend(["--append-system-prompt", system_prompt]);
    }
    words.extend(options.extra_args.iter().map(String::as_str));
    words.into_iter().map(String::from).collect()
}

/// The variables Claude Code needs beside the ones every child gets.
///
/// As root it refuses to skip permissions unless it is told that it runs in a sandbox.
pub fn environment(
    options: &ClaudeOptions,
    is_root: bool,
    already_sandboxed: bool,
) -> Vec<(String, String)> {
    if options.skip_permissions && is_root && !already_sandboxed {
        vec![(SANDBOX.to_owned(), "1".to_owned())]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(skip_permissions: bool, extra: &[&str]) -> ClaudeOptions {
        let extra_args = extra.iter().copied().map(String::from).collect();
        ClaudeOptions {
            skip_permissions,
            extra_args,
        }
    }

    #[test]
    fn trusted_with_extras() {
        let options = options(true, &["--max-budget-usd", "2"]);
        assert_eq!(
            arguments("sonnet", "rules\nof signals", &options),
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
                "2",
            ]
        );
    }

    #[test]
    fn empty_values_leave_their_flag_out() {
        let arguments = arguments("", "", &options(false, &[]));
        assert_eq!(
            arguments,
            ["-p", "--output-format", "stream-json", "--verbose"]
        );
    }

    #[test]
    fn the_sandbox_is_declared_only_for_a_trusted_root() {
        let declared = [("IS_SANDBOX".to_owned(), "1".to_owned())];
        assert_eq!(environment(&options(true, &[]), true, false), declared);
        assert_eq!(environment(&options(true, &[]), true, true), []);
        assert_eq!(environment(&options(true, &[]), false, false), []);
        assert_eq!(environment(&options(false, &[]), true, false), []);
    }
}
