//! Commands in what people write about checking a task.

mod prose;

pub(crate) use prose::command_in;

/// One command that runs all of these, and fails where one of them does.
pub(crate) fn all_of(commands: &[&str]) -> Option<String> {
    match commands {
        [] => None,
        [one] => Some((*one).to_owned()),
        many => Some(
            many.iter()
                .map(|command| grouped(command))
                .collect::<Vec<_>>()
                .join(" && "),
        ),
    }
}

/// The command such that ` && ` may stand on either side of it.
fn grouped(command: &str) -> String {
    let is_plain =
        !command.contains([';', '|', '&', '#', '\n', '(', '<']) && !command.contains("cd ");
    match is_plain {
        true => command.to_owned(),
        // A comment or a here-document at the end must not swallow the bracket.
        false => format!("(\n{command}\n)"),
    }
}

#[cfg(test)]
mod tests {
    use super::all_of;

    #[test]
    fn all_must_pass() {
        assert_eq!(all_of(&[]), None);
        assert_eq!(all_of(&["a | b"]).as_deref(), Some("a | b"));
        assert_eq!(all_of(&["a", "b -c"]).as_deref(), Some("a && b -c"));
        assert_eq!(
            all_of(&["a || b", "c # d"]).as_deref(),
            Some("(\na || b\n) && (\nc # d\n)")
        );
        assert_eq!(
            all_of(&["cd x && a", "b"]).as_deref(),
            Some("(\ncd x && a\n) && b")
        );
    }
}
