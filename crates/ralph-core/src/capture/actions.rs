//! What was tried, in two or three sentences made from the agent's last actions.

use crate::text::one_line;

const LOOKED_AT: usize = 36;
const NAMED: usize = 3;
const SHOWN: usize = 100;

/// What an action does, as far as its tool's name tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Edit,
    Run,
    Read,
    Other,
}

/// One action: `Write src/a.rs`, `Bash cargo test`.
struct Action {
    kind: Kind,
    tool: String,
    target: String,
}

impl Action {
    fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let (tool, target) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let tool = one_line(tool, SHOWN);
        let target = one_line(target, SHOWN).replace('`', "'");
        (!tool.is_empty()).then(|| Self { kind: kind(&tool, &target), tool, target })
    }

    /// The action as what an agent did: "to read src/a.rs".
    fn told(&self) -> String {
        match self.kind {
            Kind::Edit => format!("to edit {}", self.target),
            Kind::Run => format!("to run `{}`", self.target),
            Kind::Read => format!("to read {}", self.target),
            Kind::Other if self.target.is_empty() => format!("to use {}", self.tool),
            Kind::Other => format!("to use {} on {}", self.tool, self.target),
        }
    }
}

/// What the tools of the known agents do. One that is not known, or has no target, is only named.
fn kind(tool: &str, target: &str) -> Kind {
    let tool = tool.to_ascii_lowercase();
    match tool.as_str() {
        _ if target.is_empty() => Kind::Other,
        "write" | "edit" | "multiedit" | "notebookedit" | "write_file" | "replace" | "patch"
        | "apply_patch" | "file_change" => Kind::Edit,
        "bash" | "shell" | "run_shell_command" | "command_execution" | "exec" => Kind::Run,
        "read" | "read_file" | "notebookread" | "view" => Kind::Read,
        _ => Kind::Other,
    }
}

/// Two or three sentences on what was done last, oldest action first in `actions`: files edited,
/// commands run, and the very last action where those do not show it. Files that were only read are
/// named where nothing was edited or run. Empty where there are no actions.
pub fn last_actions(actions: &[String]) -> String {
    let skip = actions.len().saturating_sub(LOOKED_AT);
    let actions: Vec<Action> = actions.iter().skip(skip).filter_map(|a| Action::new(a)).collect();
    let Some(last) = actions.last() else { return String::new() };
    let edited = sentence("Edited", &targets(&actions, Kind::Edit), "other file", "");
    let ran = sentence("Ran", &targets(&actions, Kind::Run), "other command", "`");
    let mut sentences: Vec<String> = [edited, ran].into_iter().flatten().collect();
    if sentences.is_empty() {
        sentences.extend(sentence("Read", &targets(&actions, Kind::Read), "other file", ""));
    }
    let only = actions.len() == 1;
    if only && !sentences.is_empty() {
        sentences.push("That was its only action.".to_owned());
    } else if sentences.len() < 2 || last.kind != Kind::Run {
        let which = if only { "only" } else { "last" };
        sentences.push(format!("Its {which} action was {}.", last.told()));
    }
    sentences.join(" ")
}

/// The targets of a kind, each once where it was used last, newest last.
fn targets(actions: &[Action], wanted: Kind) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for action in actions.iter().filter(|action| action.kind == wanted) {
        found.retain(|target| *target != action.target);
        found.push(&action.target);
    }
    found
}

/// "Edited a, b and c." with the newest few, and how many others there were.
fn sentence(verb: &str, targets: &[&str], others: &str, quote: &str) -> Option<String> {
    let hidden = targets.len().saturating_sub(NAMED);
    let mut parts: Vec<String> =
        targets.iter().skip(hidden).map(|target| format!("{quote}{target}{quote}")).collect();
    if hidden > 0 {
        let plural = if hidden == 1 { "" } else { "s" };
        parts.insert(0, format!("{hidden} {others}{plural}"));
    }
    let last = parts.pop()?;
    Some(if parts.is_empty() {
        format!("{verb} {last}.")
    } else {
        format!("{verb} {} and {last}.", parts.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::last_actions;
    use proptest::prelude::*;

    #[track_caller]
    fn told(actions: &[&str], expected: &str) {
        let actions: Vec<String> = actions.iter().map(ToString::to_string).collect();
        assert_eq!(last_actions(&actions), expected);
    }

    #[test]
    fn ext_05_edits_and_commands_are_told_apart() {
        told(
            &["Read x", "Edit src/a.rs", "Write src/b.rs", "Bash cargo test"],
            "Edited src/a.rs and src/b.rs. Ran `cargo test`.",
        );
        told(
            &["Bash cargo test", "Edit src/a.rs"],
            "Edited src/a.rs. Ran `cargo test`. Its last action was to edit src/a.rs.",
        );
        told(
            &["Edit a.rs", "Bash make", "Read c.rs"],
            "Edited a.rs. Ran `make`. Its last action was to read c.rs.",
        );
        told(
            &["Read a.rs", "Read b.rs", "Grep error"],
            "Read a.rs and b.rs. Its last action was to use Grep on error.",
        );
        told(
            &["Bash make", "Bash make test"],
            "Ran `make` and `make test`. Its last action was to run `make test`.",
        );
    }

    #[test]
    fn ext_05_single_and_unknown_actions() {
        told(&[], "");
        told(&["", " \n"], "");
        told(&["Edit a.rs"], "Edited a.rs. That was its only action.");
        told(&["Write"], "Its only action was to use Write.");
        told(&["WebFetch x", "TodoWrite"], "Its last action was to use TodoWrite.");
    }

    #[test]
    fn ext_05_only_the_newest_are_named_and_each_once() {
        told(
            &["Edit a", "Edit b", "Edit a", "Edit c", "Edit d", "Edit e", "Bash x"],
            "Edited 2 other files, c, d and e. Ran `x`.",
        );
        let many: Vec<String> = (0..99).map(|n| format!("Edit f{n}")).collect();
        let said = last_actions(&many);
        assert!(said.starts_with("Edited 33 other files, f96, f97 and f98."), "{said}");
    }

    #[test]
    fn hostile_text_stays_on_one_bounded_line() {
        let long = format!("Bash echo `x`\n## Heading\u{1b}[31m {}", "word ".repeat(500));
        let said = last_actions(&[long]);
        assert!(said.starts_with("Ran `echo 'x' ## Heading word"), "{said}");
        assert!(said.len() < 200 && !said.contains('\n'), "{said}");
    }

    proptest! {
        #[test]
        fn any_actions_make_at_most_three_bounded_sentences(
            actions in proptest::collection::vec(".{0,200}|(Edit|Bash|Read) [a-z]{1,5}", 0..60)
        ) {
            let said = last_actions(&actions);
            prop_assert!(said.chars().count() <= 1000);
            let one_line = !said.contains(char::is_control);
            prop_assert!(one_line);
            let ended = said.is_empty() || said.ends_with('.');
            prop_assert!(ended);
        }
    }
}
