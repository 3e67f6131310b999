//! The arguments OpenCode is started with; the prompt goes on its standard input.
//!
//! No variable is needed: it updates itself only in its terminal interface, and its list of models is fetched beside
//! the work.

use super::super::Setup;

/// The arguments for one session that reads its prompt from standard input and streams events.
///
/// An agent without models is its own model name, which is none that the program knows: its own default stands then.
pub fn arguments(model: &str, title: &str, setup: &Setup) -> Vec<String> {
    let mut words = vec!["run", "--format", "json"];
    if let Some(model) = setup.named(model) {
        words.extend(["--model", model]);
    }
    if setup.skip_permissions {
        // What the user's own settings deny stays denied. Without this the program turns every question down.
        words.push("--auto");
    }
    // A session without a title asks the model for one, which costs a request that no event counts.
    if !setup.args.iter().any(|arg| is_title(arg)) {
        words.extend(["--title", title]);
    }
    let own = words.into_iter().map(String::from);
    own.chain(setup.args.iter().cloned()).collect()
}

/// Whether an argument of the settings says already what sessions are called.
fn is_title(arg: &str) -> bool {
    arg.strip_prefix("--title")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(models: &[&str], args: &[&str]) -> Setup {
        let owned = |words: &[&str]| words.iter().copied().map(String::from).collect();
        Setup {
            name: "opencode".into(),
            models: owned(models),
            args: owned(args),
            ..Setup::default()
        }
    }

    #[test]
    fn trusted_with_extras() {
        let trusted = Setup {
            skip_permissions: true,
            ..setup(&["a/small", "b/large"], &["--variant", "high"])
        };
        assert_eq!(
            arguments("b/large", "1.3", &trusted),
            [
                "run",
                "--format",
                "json",
                "--model",
                "b/large",
                "--auto",
                "--title",
                "1.3",
                "--variant",
                "high"
            ]
        );
    }

    #[test]
    fn the_agents_own_name_is_no_model_unless_the_settings_say_so() {
        let model = |model: &str, setup: &Setup| {
            let arguments = arguments(model, "1.3", setup);
            let flag = arguments.iter().position(|word| word == "--model")?;
            arguments.get(flag + 1).cloned()
        };
        let plain = setup(&[], &[]);
        assert_eq!(model("opencode", &plain), None);
        assert_eq!(model("", &plain), None);
        assert_eq!(model("a/small", &plain).as_deref(), Some("a/small"));
        let named = setup(&["opencode"], &[]);
        assert_eq!(model("opencode", &named).as_deref(), Some("opencode"));
    }

    #[test]
    fn a_title_of_the_settings_stands() {
        for own in [&["--title", "mine"][..], &["--title=mine"]] {
            let arguments = arguments("", "1.3", &setup(&[], own));
            assert_eq!(arguments[3..], *own);
        }
        let other = arguments("", "1.3", &setup(&[], &["--titles"]));
        assert_eq!(other[3..], ["--title", "1.3", "--titles"]);
    }
}
