//! What the demo's agent does for each task. A script, but it reads its prompt: two tasks have the
//! same pitfall, and only what Ralph remembers (a failed attempt, a learning) keeps it out of that.

/// One thing the agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Says something.
    Say(String),
    /// Reads a file.
    Read(&'static str),
    /// Writes a file.
    Write(&'static str, &'static str),
    /// Runs a test, as the rules advise.
    Check(&'static str),
    /// Runs a test; where that fails, so does the session, and says so in a FAILED block.
    Prove {
        /// The test.
        test: &'static str,
        /// The task's title.
        title: String,
        /// What was done about the error.
        tried: &'static str,
    },
    /// Commits what it wrote.
    Commit(String),
    /// Ends its message with this, before the signal.
    Close(&'static str),
}

use Step::{Check, Close, Read, Write};

/// The heading under which the prompt lists earlier attempts.
pub const PREVIOUS: &str = "### Previous Attempts";

/// The heading under which the prompt lists learnings.
const LEARNINGS: &str = "### Learnings from Previous Iterations";

/// The pitfall: an empty text, printed, is still one line. The words by which a learning about it is known.
const PITFALL: &str = "wc -l";

/// The estimate for a task without problems.
pub const EASY: &str = "<difficulty-estimate>easy</difficulty-estimate>";

/// The steps for a task; `None` for one that is not the demo's. The first sentence said becomes the
/// task's summary, which the prompts of later tasks quote.
pub fn steps(key: &str, prompt: &str) -> Option<Vec<Step>> {
    Some(match key {
        "1.1" => vec![
            say("lib/store.sh stores the list in a text file, one item per line."),
            Read("tests/store.sh"),
            Write("lib/store.sh", include_str!("assets/lib/store.sh")),
            Check("tests/store.sh"),
            commit("Store the list in a file"),
            Close(EASY),
        ],
        "1.2" => vec![
            say("todo_list in lib/list.sh prints every item with its number."),
            Read("lib/store.sh"),
            Write("lib/list.sh", include_str!("assets/lib/list.sh")),
            Check("tests/list.sh"),
            commit("Show the list with numbers"),
            Close(EASY),
        ],
        "2.1" => count(prompt),
        "2.2" => mark_done(prompt),
        "3.1" => vec![
            say("todo.sh combines the parts, and README.md documents it."),
            Write("todo.sh", include_str!("assets/todo.sh")),
            Write("README.md", include_str!("assets/README.md")),
            Check("tests/command.sh"),
            commit("Add the todo command"),
            Close(EASY),
        ],
        _ => return None,
    })
}

fn count(prompt: &str) -> Vec<Step> {
    let Some(told) = told(prompt) else {
        return vec![
            say("todo_count in lib/count.sh counts the lines of open items."),
            Read("lib/store.sh"),
            Write("lib/count.sh", include_str!("assets/lib/count.first.sh")),
            say("That was simple, so I did not run the test."),
            commit("Count open items"),
            Close("<difficulty-estimate>trivial</difficulty-estimate>"),
        ];
    };
    vec![
        say("todo_count in lib/count.sh now counts item by item, so an empty list gives 0."),
        Step::Say(told),
        Write("lib/count.sh", include_str!("assets/lib/count.sh")),
        Check("tests/count.sh"),
        commit("Fix the count of an empty list"),
        Close(
            "<learning category=\"pitfall\" tags=\"shell, wc, empty list, lib/count.sh\">\
             `printf '%s\\n' \"$x\" | wc -l` prints 1 for an empty list: count in a loop.\
             </learning>\n<difficulty-estimate>easy</difficulty-estimate>",
        ),
    ]
}

fn mark_done(prompt: &str) -> Vec<Step> {
    let Some(told) = told(prompt) else {
        return vec![
            say("todo_done in lib/done.sh marks an item as done if the list has that many lines."),
            Read("lib/store.sh"),
            Write("lib/done.sh", include_str!("assets/lib/done.first.sh")),
            say("That was simple, so I did not run the test."),
            commit("Mark items as done"),
            Close("<difficulty-estimate>trivial</difficulty-estimate>"),
        ];
    };
    vec![
        say(
            "todo_done in lib/done.sh marks an item as done and rejects numbers that do not exist.",
        ),
        Step::Say(told),
        Write("lib/done.sh", include_str!("assets/lib/done.sh")),
        Check("tests/done.sh"),
        commit("Mark items as done"),
        Close("<difficulty-estimate>moderate</difficulty-estimate>"),
    ]
}

/// What the prompt says about the pitfall, as the agent repeats it.
fn told(prompt: &str) -> Option<String> {
    let complaint =
        complaint(prompt).map(|c| format!("My prompt says why the last attempt failed: {c}"));
    complaint.or_else(|| {
        Some(format!(
            "A learning in my prompt says: {}",
            learned(prompt)?
        ))
    })
}

/// What the prompt tells of an earlier attempt: the gate's complaint, if it is there.
fn complaint(prompt: &str) -> Option<&str> {
    let told = prompt.split_once(PREVIOUS)?.1;
    let line = told
        .lines()
        .find_map(|line| Some(&line[line.find("FAIL:")?..]));
    Some(line.unwrap_or("it failed").trim_end())
}

/// What another task found out about the pitfall.
fn learned(prompt: &str) -> Option<&str> {
    let (_, section) = prompt.split_once(LEARNINGS)?;
    let (section, _) = section.split_once("\n### ").unwrap_or((section, ""));
    let line = section.lines().find(|line| line.contains(PITFALL))?;
    let (_category, content) = line.split_once("]** ")?;
    Some(content.trim_end())
}

/// Says this.
pub fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn commit(message: &str) -> Step {
    Step::Commit(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(steps: &[Step]) -> Option<&'static str> {
        steps.iter().find_map(|step| match step {
            Write(_, text) => Some(*text),
            _ => None,
        })
    }

    #[test]
    fn only_a_prompt_that_tells_of_the_failure_changes_the_work() {
        let first = steps("2.1", "## Assigned Task\nCount open items\n").unwrap();
        let prompt = format!(
            "{PREVIOUS}\n\n- **Why it failed:** FAIL: count of an empty list: expected '0'\n"
        );
        let retry = steps("2.1", &prompt).unwrap();
        assert_ne!(written(&first), written(&retry));
        assert!(retry.contains(&say(
            "My prompt says why the last attempt failed: FAIL: count of an empty list: expected '0'"
        )));
        assert_eq!(steps("1.1", &prompt), steps("1.1", ""));
        assert_eq!(steps("9.9", ""), None);
    }

    #[test]
    fn only_a_learning_about_the_pitfall_changes_the_work() {
        let of = |learning: &str| {
            let end = "\n\n### Loop Status\n\n- about wc -l\n";
            steps("2.2", &format!("{LEARNINGS}\n\n{learning}{end}")).unwrap()
        };
        let unaware = steps("2.2", "").unwrap();
        let warned = of("- **[other]** x\n- **[pitfall]** `wc -l` prints 1");
        assert_ne!(written(&unaware), written(&warned));
        assert!(warned.contains(&say("A learning in my prompt says: `wc -l` prints 1")));
        assert_eq!(of("- **[pitfall]** Something else"), unaware);
    }
}
