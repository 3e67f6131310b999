//! The arguments Codex is started with; the prompt goes on its standard input.

use super::super::Setup;

/// Settings of Codex's own that an unattended session needs; all else is the user's.
///
/// Nobody is there to be told of an update, and each such question costs a name look-up. Without the last one a
/// session without a network never ends: Codex then asks again every minute, whatever its limits on retries, until
/// the attempt's time is over. How long a service is waited for is Ralph's to decide.
const OWN: [&str; 3] = [
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    "features.unbounded_connection_retries=false",
];
/// Commands may then write below the work tree and in temporary directories. By itself Codex lets a session that
/// nobody watches write nothing at all. As a setting and not as a flag, because a flag may be given only once.
const SANDBOX: &str = "sandbox_mode=workspace-write";

/// The arguments for one session that reads its prompt from standard input and streams events.
///
/// Without a model its flag is left out, so that the program's own default stands.
pub fn arguments(model: &str, setup: &Setup) -> Vec<String> {
    let mut words = vec!["exec", "--json", "--skip-git-repo-check"];
    words.extend(OWN.iter().flat_map(|setting| ["-c", setting]));
    if setup.skip_permissions {
        words.push("--dangerously-bypass-approvals-and-sandbox");
    } else {
        words.extend(["-c", SANDBOX]);
    }
    if let Some(model) = setup.named(model) {
        words.extend(["-m", model]);
    }
    let words = words.into_iter().map(String::from);
    words.chain(setup.args.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(skip_permissions: bool) -> Setup {
        Setup {
            name: "codex".into(),
            models: vec!["small".into()],
            skip_permissions,
            args: vec!["--add-dir".into(), "/d".into()],
            ..Setup::default()
        }
    }

    const START: [&str; 9] = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "-c",
        "check_for_update_on_startup=false",
        "-c",
        "analytics.enabled=false",
        "-c",
        "features.unbounded_connection_retries=false",
    ];

    #[test]
    fn trusted_with_extras() {
        let arguments = arguments("small", &setup(true));
        assert_eq!(arguments[..9], START);
        assert_eq!(
            arguments[9..],
            [
                "--dangerously-bypass-approvals-and-sandbox",
                "-m",
                "small",
                "--add-dir",
                "/d"
            ]
        );
    }

    #[test]
    fn not_trusted_is_sandboxed_and_the_settings_arguments_come_last() {
        let arguments = arguments("small", &setup(false));
        assert_eq!(arguments[..9], START);
        assert_eq!(
            arguments[9..],
            [
                "-c",
                "sandbox_mode=workspace-write",
                "-m",
                "small",
                "--add-dir",
                "/d"
            ]
        );
    }

    #[test]
    fn without_a_model_the_programs_own_stands() {
        let own = |models: &[&str], model: &str| {
            let setup = Setup {
                models: models.iter().copied().map(String::from).collect(),
                ..setup(true)
            };
            arguments(model, &setup).contains(&"-m".to_owned())
        };
        assert!(!own(&[], "codex"));
        assert!(!own(&["small"], ""));
        assert!(own(&[], "small"));
        assert!(own(&["codex"], "codex"));
    }
}
