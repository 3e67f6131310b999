//! Gates that are none.

/// Commands that pass whatever was done.
const IDLE: [&str; 6] = ["true", ":", "/bin/true", "/usr/bin/true", "exit 0", "exit"];

/// Signs by which a command does more than print its words.
const MORE: [char; 7] = ['&', '|', ';', '$', '`', '\n', '<'];

/// Whether a verify command plainly always passes. This catches what agents write where they have
/// nothing to check; it is no proof that other commands can fail.
pub(super) fn proves_nothing(command: &str) -> bool {
    let command = command.trim().trim_end_matches(';').trim_end();
    let prints = matches!(command.split_whitespace().next(), Some("echo" | "printf"));
    command.is_empty()
        || IDLE.contains(&command)
        || command.starts_with('#') && !command.contains('\n')
        || prints && !command.contains(MORE)
}

#[cfg(test)]
mod tests {
    use super::proves_nothing;

    #[test]
    fn mod_03_commands_that_always_pass_are_no_gates() {
        for command in [
            "",
            " ",
            "true",
            " true ; ",
            ":",
            "exit 0",
            "echo 'Verify manually'",
            "# none",
        ] {
            assert!(proves_nothing(command), "{command}");
        }
        for command in [
            "cargo test",
            "echo ok && make",
            "trueness",
            "test -f a",
            "# a\nmake",
            "echo $(x)",
        ] {
            assert!(!proves_nothing(command), "{command}");
        }
    }
}
