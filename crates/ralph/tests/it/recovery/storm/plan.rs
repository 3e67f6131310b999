//! A long plan as people write them, and the hand of a person in it.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

/// Tasks that cannot be done, and the limit that each of them meets: fixes help nothing, fixes fail too often, fixes of
/// fixes fail.
pub const HOPELESS: [(&str, &str); 3] =
    [("4.25", "FAIL (max limit)"), ("4.26", "FAIL (max below root)"), ("4.27", "FAIL (max depth)")];
/// Tasks of the author's own below a task, which take the first keys that its fixes would have.
pub const PARTS: [&str; 2] = ["2.5.1", "2.5.2"];
/// What the log of the spec holds before the first run.
pub const LOG: &str =
    "# Progress\n\nBy hand.\n\n## Completed Tasks\n- [x] 1.1 Old title - abc1234\n\n## Learnings\n- Mine\n";
/// What its state file holds.
pub const STATE: &str = "{\n  \"phase\": \"execution\",\n  \"taskIndex\": 0,\n  \"mine\": [1.50, null]\n}\n";

/// 122 tasks in 4 phases.
pub fn text() -> String {
    let mut text = String::from(
        "---\nspec: storm\n---\n# Tasks: storm\n\nHow a task is written:\n\n```markdown\n- [ ] 9.9 No task\n  - **Verify**: `false`\n```\n\n",
    );
    let mut check = 0;
    for phase in 1..=4 {
        text += &format!("## Phase {phase}: Part {phase} of \"it\"\n\nAbout part {phase}.\n\n");
        for n in 1..=27 {
            text += &task(phase, n);
            if (phase, n) == (2, 5) {
                text += &PARTS.map(|key| format!("- [ ] {key} A part of it\n  - **Do**: Some\n")).concat();
            }
            if n % 8 == 0 {
                check += 1;
                text += &format!(
                    "- [ ] V{check} [VERIFY] Checkpoint: `sh gate.sh V{check}`\n  - **Do**: Check\n  - **Done when**: All is well\n\n"
                );
            }
            match n % 9 {
                2 => text += "---\n\n",
                4 => text += "Some prose – between tasks.\n\n- no box, no task\n\n\n",
                6 => text += "### Details\n\n~~~\n- [x] 9.8 No task either\n~~~\n\n",
                _ => {}
            }
        }
    }
    text
}

fn task(phase: u32, n: u32) -> String {
    let mark = match (phase, n) {
        (1, 1) => "x",
        (1, 2) => "X",
        _ => " ",
    };
    let is_group = n % 7 > 4 || (phase == 4 && n > 24);
    let group = if is_group { "[P] " } else { "" };
    let mut text = format!("- [{mark}] {phase}.{n} {group}Make `part` {n} – for \"{phase}\"\n");
    text += "  - **Do**:\n    1. Write it\n    2. Look at it\n";
    if !n.is_multiple_of(4) {
        text += &format!("  - **Files**: src/{phase}/{n}.rs, `src/lib.rs`\n");
    }
    text += "  - **Done when**: It is there\n";
    match n % 5 {
        0 => {}
        1 => text += &format!("  - **Verify**: sh gate.sh {phase}.{n}\n"),
        _ => text += &format!("  - **Verify**: `sh gate.sh {phase}.{n}`\n"),
    }
    text += &format!("  - **Commit**: `feat: part {n}`\n");
    if n.is_multiple_of(3) { text } else { text + "\n" }
}

/// A person who now and then writes in the file, and knows what it must hold by their hand alone.
pub struct Person {
    path: PathBuf,
    line_end: &'static str,
    /// The file without what Ralph changes in it.
    pub text: String,
    edits: u32,
}

impl Person {
    /// Writes the plan.
    pub fn new(path: PathBuf, line_end: &'static str) -> Self {
        let text = text().replace('\n', line_end);
        fs::write(&path, &text).unwrap();
        Self { path, line_end, text, edits: 0 }
    }

    /// Adds a line at the end, whatever else goes on.
    pub fn append(&mut self) {
        self.edits += 1;
        let line = format!("Note {} by hand.{}", self.edits, self.line_end);
        let mut file = File::options().append(true).open(&self.path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        self.text += &line;
    }

    /// Gives a task another title, while nobody else writes.
    pub fn rename(&mut self, key: &str) {
        self.edits += 1;
        let start = format!("] {key} ");
        let renamed = |text: &str| {
            let at = text.find(&start).unwrap() + start.len();
            let end = at + text[at..].find(self.line_end).unwrap();
            format!("{} (said {}){}", &text[..end], self.edits, &text[end..])
        };
        let file = fs::read_to_string(&self.path).unwrap();
        fs::write(&self.path, renamed(&file)).unwrap();
        self.text = renamed(&self.text);
    }
}
