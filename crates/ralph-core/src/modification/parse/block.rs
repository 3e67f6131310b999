//! Tasks written as Markdown: a checkbox line and `- **Label**: value` lines below it.

use memchr::memmem;

use super::code::{code, names};
use super::headline::{after_checkbox, headline};
use super::placeholder::given;
use crate::modification::request::{Proposed, fold};

/// Where the lines of a block go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Description,
    Files,
    DoneWhen,
    Verify,
    Commit,
    Depends,
    /// What the format does not know (`_Requirements: …_`); shown below the description.
    Remark,
}

const SLOTS: usize = 7;

impl Slot {
    fn named(label: &str) -> Option<Self> {
        match fold(label).as_str() {
            "do" | "steps" | "description" => Some(Self::Description),
            "files" | "file" => Some(Self::Files),
            "donewhen" | "done" => Some(Self::DoneWhen),
            "verify" | "verification" => Some(Self::Verify),
            "commit" => Some(Self::Commit),
            "dependson" | "depends" | "dependencies" | "after" => Some(Self::Depends),
            _ => None,
        }
    }
}

/// The tasks of a text: one for each checkbox at the margin, or one for the whole text.
pub(super) fn read(text: &str) -> Vec<Proposed> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in text.trim().lines() {
        match blocks.last_mut() {
            Some(block) if after_checkbox(line).is_none() => block.push(line),
            _ => blocks.push(vec![line]),
        }
    }
    blocks.iter().map(|lines| task(lines)).collect()
}

/// Reads one block, its checkbox line first.
fn task(lines: &[&str]) -> Proposed {
    let mut values: [Vec<&str>; SLOTS] = [const { Vec::new() }; SLOTS];
    let mut slot = Slot::Description;
    let mut in_fence = false;
    let mut pieces = lines.iter().flat_map(|line| pieces(line));
    let head = headline(pieces.next().unwrap_or_default());
    for piece in pieces {
        let start = piece.trim_start();
        let fence = start.starts_with("```") || start.starts_with("~~~");
        let value = match labelled(piece).filter(|_| !in_fence) {
            Some((label, value)) => {
                slot = label;
                value
            }
            None if !in_fence && is_remark(start) => {
                slot = Slot::Remark;
                start
            }
            None => piece,
        };
        in_fence ^= fence;
        if let Some(lines) = values.get_mut(slot as usize) {
            lines.push(value);
        }
    }
    let depends_given = values
        .get(Slot::Depends as usize)
        .is_some_and(|lines| !lines.is_empty());
    let [
        description,
        files,
        done_when,
        verify,
        commit,
        depends,
        remarks,
    ] = values.map(|v| dedented(&v));
    let some = |text: &str| given(text).map(str::to_owned);
    Proposed {
        key: head.key.and_then(some),
        title: head.title,
        description: format!("{}\n{remarks}", given(&description).unwrap_or_default())
            .trim()
            .to_owned(),
        files: names([files.as_str()]),
        done_when: some(&done_when),
        verify: some(&code(&verify)),
        commit: some(&code(&commit)),
        depends: depends_given.then(|| names([depends.as_str()])),
    }
}

/// A line in pieces: a label may also stand in the middle of one, behind ` - **`.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for at in memmem::find_iter(line.as_bytes(), " - **") {
        let Some(rest) = line.get(at + 1..) else {
            continue;
        };
        // Spaces before the first label are its indentation.
        let first = line
            .get(from..at)
            .is_none_or(|before| before.trim().is_empty());
        if !first && labelled(rest).is_some() {
            pieces.extend(line.get(from..at));
            from = at + 1;
        }
    }
    pieces.extend(line.get(from..));
    pieces
}

/// The slot a line names, and its value: `- **Do**: …`, `**Do:** …`, or near the margin `- Do: …`.
fn labelled(line: &str) -> Option<(Slot, &str)> {
    let start = line.trim_start();
    let indent = line.len() - start.len();
    let item = start
        .strip_prefix("- ")
        .or_else(|| start.strip_prefix("* "))
        .unwrap_or(start);
    let item = item.trim_start();
    let bold = item.starts_with("**");
    // Labels are short; looking for the colon only there keeps long lines cheap.
    let head: String = item.chars().take(24).collect();
    let colon = head.find(':')?;
    let slot = Slot::named(item.get(..colon)?)?;
    let value = item.get(colon + 1..)?.trim_start_matches('*').trim_start();
    (bold || indent <= 3).then_some((slot, value))
}

/// Whether a line begins something that is no field: `_Design: …_`, `- **Note**: …`.
fn is_remark(start: &str) -> bool {
    let item = start.strip_prefix("- ").unwrap_or(start);
    (item.starts_with("**") || (item.starts_with('_') && item.trim_end().ends_with('_')))
        && item.contains(':')
}

/// The lines without the indentation that all but the first share, and without blank ones around.
fn dedented(lines: &[&str]) -> String {
    let margin = |line: &&&str| line.len() - line.trim_start().len();
    let below = lines.iter().skip(1).filter(|line| !line.trim().is_empty());
    let common = below.map(|line| margin(&line)).min().unwrap_or(0);
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let cut = if index == 0 {
            margin(&line)
        } else {
            common.min(margin(&line))
        };
        text.push_str(line.get(cut..).unwrap_or(line).trim_end());
        text.push('\n');
    }
    text.trim_matches('\n').trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::modification::Proposed;

    #[test]
    fn mod_01_a_block_as_spec_executors_write_it() {
        let text = "- [ ] 1.3.1 Add the parser\n  - **Do**:\n    1. Write it\n       - with care\n    2. Test: all of it\n  \
                    - **Files**: `src/a.ts`, src/b.ts (new)\n  - **Done when**: It parses\n  \
                    - **Verify**: `pnpm test && echo PASS`\n  - **Commit**: `feat(a): add parser`\n  \
                    - _Requirements: FR-1_\n";
        let expected = Proposed {
            key: Some("1.3.1".into()),
            title: "Add the parser".into(),
            description: "1. Write it\n   - with care\n2. Test: all of it\n- _Requirements: FR-1_"
                .into(),
            files: vec!["src/a.ts".into(), "src/b.ts".into()],
            done_when: Some("It parses".into()),
            verify: Some("pnpm test && echo PASS".into()),
            commit: Some("feat(a): add parser".into()),
            depends: None,
        };
        assert_eq!(read(text), [expected]);
    }

    #[test]
    fn mod_01_labels_in_other_spellings_and_on_one_line() {
        let text = "- [ ] Title - **Do**: a - b\n  - **Files:** x.rs - **Verify:** `make`\n- Depends on: `1.2`, V4";
        let found = &read(text)[0];
        assert_eq!(
            (found.title.as_str(), found.description.as_str()),
            ("Title", "a - b")
        );
        assert_eq!(
            (found.files.as_slice(), found.verify.as_deref()),
            (&["x.rs".into()][..], Some("make"))
        );
        assert_eq!(found.depends, Some(vec!["1.2".into(), "V4".into()]));
        let found = &read("- [ ] T\n- Depends on: none\n- Commit: None\n- Verify: ...")[0];
        assert_eq!(found.depends, Some(vec![]));
        assert_eq!((&found.commit, &found.verify), (&None, &None));
    }

    #[test]
    fn mod_01_a_step_or_a_fence_that_looks_like_a_label_is_none() {
        let text = "- [ ] T\n  - **Do**:\n    - Verify: by eye\n    ```\n- **Files**: no\n    ```\n  - **Verify**:\n    ```sh\n    make a\n    make b\n    ```";
        let found = &read(text)[0];
        assert!(found.description.contains("Verify: by eye") && found.description.contains("no"));
        assert!(found.files.is_empty());
        assert_eq!(found.verify.as_deref(), Some("make a\nmake b"));
    }

    #[test]
    fn mod_01_every_checkbox_at_the_margin_is_a_task() {
        let found = read("- [ ] 1.3.1 A\n  - [ ] a step\n\n- [ ] 1.3.2 B\n");
        let keys: Vec<_> = found.iter().map(|task| task.key.as_deref()).collect();
        assert_eq!(keys, [Some("1.3.1"), Some("1.3.2")]);
        assert_eq!(found[0].description, "- [ ] a step");
        assert_eq!(read("Just a title")[0].title, "Just a title");
        assert_eq!(read(" "), []);
    }
}
