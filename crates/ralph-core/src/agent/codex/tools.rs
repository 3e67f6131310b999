//! What Codex's items do, in a few words: `Bash cargo test`, `Edit src/a.rs`.

use super::super::brief::{NAME, SHOWN, short, text};
use super::events::{Change, Item};

/// The use of a tool: its name and what it is used on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub name: String,
    pub target: String,
}

/// The tools an item uses; a change of several files is several. Empty for what is said, thought or planned.
pub(super) fn uses(item: &Item, cwd: Option<&str>) -> Vec<Use> {
    let of = |field: &Option<_>| text(field.as_ref()).unwrap_or_default().to_owned();
    let one = |name: &str, target: &str| {
        vec![Use {
            name: short(name, NAME),
            target: short(target, SHOWN),
        }]
    };
    match text(item.kind.as_ref()).unwrap_or_default() {
        "command_execution" => one("Bash", &command(&of(&item.command))),
        "file_change" => {
            let changes = item.changes.iter().take(super::stream::ACTIONS);
            changes.map(|change| changed(change, cwd)).collect()
        }
        "mcp_tool_call" => one(&format!("{}.{}", of(&item.server), of(&item.tool)), ""),
        "collab_tool_call" => one(&of(&item.tool), &of(&item.prompt)),
        // What is looked for may be known only when it was found.
        "web_search" => match of(&item.query).as_str() {
            "" => Vec::new(),
            query => one("WebSearch", query),
        },
        _ => Vec::new(),
    }
}

fn changed(change: &Change, cwd: Option<&str>) -> Use {
    let path = text(change.path.as_ref()).unwrap_or_default();
    let below = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    let name = match text(change.kind.as_ref()).unwrap_or_default() {
        "add" => "Write",
        "delete" => "Delete",
        _ => "Edit",
    };
    Use {
        name: name.to_owned(),
        target: short(below.unwrap_or(path), SHOWN),
    }
}

/// A command without the shell it is run by: `/bin/bash -lc 'cargo test'` is `cargo test`.
fn command(words: &str) -> String {
    // Only the start is shown; of a longer text the closing quote may be cut off with the rest.
    let start = words.floor_char_boundary(words.len().min(16 * SHOWN));
    let words = words.get(..start).unwrap_or_default();
    let script = words
        .split_once(" -lc ")
        .or_else(|| words.split_once(" -c "));
    let Some((shell, script)) = script else {
        return words.to_owned();
    };
    if shell.contains(char::is_whitespace) || !shell.ends_with("sh") {
        return words.to_owned();
    }
    match script.chars().next() {
        Some(quote @ ('\'' | '"')) => unquoted(script, quote),
        _ => script.to_owned(),
    }
}

/// A quoted word without its quotes; what follows a quote inside, pieced together by a shell, is left as it stands.
fn unquoted(word: &str, quote: char) -> String {
    let inside = word.strip_prefix(quote).unwrap_or(word);
    let inside = inside.strip_suffix(quote).unwrap_or(inside);
    if quote == '\'' {
        return inside.to_owned();
    }
    let mut plain = String::with_capacity(inside.len());
    let mut letters = inside.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.peek() {
            Some('"' | '\\' | '$' | '`') if letter == '\\' => plain.extend(letters.next()),
            _ => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_its_shell() {
        for (words, expected) in [
            ("/bin/bash -lc 'cargo test'", "cargo test"),
            ("bash -lc ls", "ls"),
            (
                "/usr/bin/zsh -c \"echo \\\"a\\\" 'b' \\$C\"",
                "echo \"a\" 'b' $C",
            ),
            ("cargo run -c 'x'", "cargo run -c 'x'"),
            ("git -c a=b commit", "git -c a=b commit"),
            ("make", "make"),
            ("", ""),
            ("sh -c '", ""),
            ("sh -c \"\\", "\\"),
        ] {
            assert_eq!(command(words), expected, "{words}");
        }
    }
}
