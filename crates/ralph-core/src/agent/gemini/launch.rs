//! The arguments and variables Gemini CLI is started with; the prompt goes on its standard input.

use super::super::Setup;

/// The arguments for one session that reads its prompt from standard input and streams events.
///
/// An empty model leaves its flag out, so that the program's own default stands. A session that may use every tool must
/// also trust the directory; else both are left to the program's own settings.
pub fn arguments(model: &str, setup: &Setup) -> Vec<String> {
    let mut words = vec!["--output-format", "stream-json"];
    if setup.skip_permissions {
        words.extend(["--yolo", "--skip-trust"]);
    }
    if let Some(model) = setup.named(model) {
        words.extend(["-m", model]);
    }
    let words = words.into_iter().map(String::from);
    words.chain(setup.args.iter().cloned()).collect()
}

/// The variables Gemini CLI needs beside the ones every child gets.
///
/// It would start itself a second time, for a larger heap, and the first process then ignores signals.
pub fn environment() -> [(String, String); 1] {
    [("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned())]
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
        let setup = setup(true, &["--include-directories", "../lib"]);
        assert_eq!(
            arguments("pro", &setup),
            [
                "--output-format",
                "stream-json",
                "--yolo",
                "--skip-trust",
                "-m",
                "pro",
                "--include-directories",
                "../lib",
            ]
        );
    }

    #[test]
    fn without_trust_or_a_model_the_program_decides() {
        let setup = setup(false, &["--approval-mode", "auto_edit"]);
        assert_eq!(
            arguments("", &setup),
            [
                "--output-format",
                "stream-json",
                "--approval-mode",
                "auto_edit"
            ]
        );
    }
}
