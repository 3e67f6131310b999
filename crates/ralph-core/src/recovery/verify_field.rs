//! The Verify field of a task's block: a command on its line, a script in a fence below it.

const FIELD: &str = "  - **Verify**:";
const BELOW: &str = "    ";
const SHORTEST_FENCE: usize = 3;

/// The field's lines. What is read back from them is what was given, white space around it aside.
pub(super) fn verify_lines(verify: &str) -> Vec<String> {
    let verify = verify.trim_end();
    let script: Vec<&str> = verify
        .lines()
        .skip_while(|line| line.trim().is_empty())
        .collect();
    if let [] | [_] = script.as_slice() {
        return vec![format!("{FIELD} {}", verify.trim())];
    }
    let mut lines = vec![FIELD.to_owned()];
    let below = |line: &&str| match line.is_empty() {
        true => String::new(),
        false => format!("{BELOW}{line}"),
    };
    if is_fenced(&script) {
        lines.extend(script.iter().map(below));
    } else {
        // Longer than any in the script, so that none of those ends it.
        let fence = "`".repeat(SHORTEST_FENCE.max(longest_run(verify) + 1));
        lines.push(format!("{BELOW}{fence}"));
        lines.extend(script.iter().map(below));
        lines.push(format!("{BELOW}{fence}"));
    }
    lines
}

/// Whether the lines are one fenced block already: opened by the first, closed by the last.
fn is_fenced(lines: &[&str]) -> bool {
    let [first, between @ .., last] = lines else {
        return false;
    };
    let Some(mark @ ('`' | '~')) = first.chars().next() else {
        return false;
    };
    let length = first.chars().take_while(|c| *c == mark).count();
    let info = first.get(length..).unwrap_or_default();
    let closes = |line: &&str| {
        let line = line.trim();
        line.len() >= length && line.chars().all(|c| c == mark)
    };
    let opens = length >= SHORTEST_FENCE && !(mark == '`' && info.contains('`'));
    opens && closes(last) && !between.iter().any(closes)
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads the field as Markdown has it: the rest of the line, else the fence below.
    fn read(lines: &[String]) -> String {
        let inline = lines[0].strip_prefix(FIELD).unwrap();
        if !inline.is_empty() {
            assert_eq!(lines.len(), 1);
            return inline.trim().to_owned();
        }
        let fence = lines[1].trim();
        assert_eq!(fence.trim_matches('`'), "");
        let mut script = Vec::new();
        for (at, line) in lines.iter().enumerate().skip(2) {
            if line.trim() == fence {
                assert_eq!(at, lines.len() - 1);
                break;
            }
            script.push(line.strip_prefix(BELOW).unwrap_or(line));
        }
        script.join("\n")
    }

    #[test]
    fn rcg_04_a_command_stays_on_its_line() {
        for verify in [
            "cargo test",
            "`npm test` && echo \"```\"",
            "grep -q 'a  b' c.md",
        ] {
            assert_eq!(verify_lines(verify), [format!("  - **Verify**: {verify}")]);
        }
        assert_eq!(
            verify_lines("\n  cargo test \r\n\n"),
            ["  - **Verify**: cargo test"]
        );
    }

    #[test]
    fn rcg_04_a_script_stands_in_a_fence() {
        assert_eq!(
            verify_lines("set -e\r\n\r\nif a; then\r\n  b\r\nfi\r\n"),
            [
                "  - **Verify**:",
                "    ```",
                "    set -e",
                "",
                "    if a; then",
                "      b",
                "    fi",
                "    ```"
            ]
        );
        let lines = verify_lines("cat <<X\n````\nX");
        assert_eq!(lines[1], "    `````");
    }

    #[test]
    fn rcg_04_a_fence_is_kept_as_it_was() {
        assert_eq!(
            verify_lines("```bash\ncargo test\n```"),
            [
                "  - **Verify**:",
                "    ```bash",
                "    cargo test",
                "    ```"
            ]
        );
        assert_eq!(verify_lines("```\na\n```\nb\n```")[1], "    ````");
    }

    proptest! {
        #[test]
        fn rcg_04_any_script_reads_back(text in "[a`~# \t\n-]{0,40}|(\\PC|\n){0,30}") {
            let whole = text.trim_end();
            let from = whole.lines().take_while(|line| line.trim().is_empty()).count();
            let script: Vec<&str> = whole.lines().skip(from).collect();
            if script.is_empty() || is_fenced(&script) {
                return Ok(());
            }
            let read = read(&verify_lines(&text));
            match script.len() {
                1 => prop_assert_eq!(read, script[0].trim()),
                _ => prop_assert_eq!(read, script.join("\n")),
            }
        }
    }
}
