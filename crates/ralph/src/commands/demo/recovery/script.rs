//! What the agent does for the tasks of a spec, and for the fix tasks that come of it. It is a script, but it fixes what its
//! prompt says is broken, and the test decides whether it fails.

use super::super::script::Step::{self, Check, Close, Commit, Prove, Read, Write};
use super::super::script::{EASY, PREVIOUS, say};

/// The heading under which the prompt of a fix task says what failed.
const TO_FIX: &str = "### Failure to Fix";
/// How the prompt's line about the cause begins.
const WHY: &str = "- **Why it failed:** ";
/// The test of what is built: the gate of 2.1 and so of all its fixes.
const BUILD: &str = "tests/build.sh";

/// The steps for a task; `None` for one that is not the demo's.
pub fn steps(key: &str, prompt: &str) -> Option<Vec<Step>> {
    if let Some(failure) = failure_to_fix(prompt) {
        return fix(failure, prompt);
    }
    Some(match key {
        "1.1" => vec![
            say("lib/words.sh looks up the greeting of a place in words/."),
            Write(
                "lib/words.sh",
                include_str!("../assets/greeter/lib/words.sh"),
            ),
            Check("tests/words.sh"),
            commit(prompt),
            Close(EASY),
        ],
        "1.2" => vec![
            say("lib/greet.sh greets a person by name, in English if no place is given."),
            Read("lib/words.sh"),
            Write(
                "lib/greet.sh",
                include_str!("../assets/greeter/lib/greet.sh"),
            ),
            Check("tests/greet.sh"),
            commit(prompt),
            Close(EASY),
        ],
        "2.1" if was_tried(prompt) => again("greeter is one script without other files.", prompt),
        "2.1" => vec![
            say("build.sh joins the parts in lib/ into greeter."),
            Write("build.sh", include_str!("../assets/greeter/build.first.sh")),
            commit(prompt),
            prove(
                prompt,
                "Built greeter from the parts in lib/, which read words/ at run time",
            ),
        ],
        "2.2" => vec![
            say("README.md shows how to build and use greeter."),
            Write("README.md", include_str!("../assets/greeter/README.md")),
            Check("tests/readme.sh"),
            commit(prompt),
            Close(EASY),
        ],
        _ => return None,
    })
}

/// A fix task: what to do follows from the failure in its prompt.
fn fix(failure: &str, prompt: &str) -> Option<Vec<Step>> {
    if was_tried(prompt) {
        return Some(again("greeter contains its greetings.", prompt));
    }
    let told = Step::Say(format!("My prompt says what to fix: {failure}"));
    if failure.contains("no such file") {
        return Some(vec![
            say("build.sh now copies the greetings into greeter, in single quotes."),
            told,
            Write(
                "build.sh",
                include_str!("../assets/greeter/build.quotes.sh"),
            ),
            commit(prompt),
            prove(
                prompt,
                "Copied every greeting into greeter, in single quotes",
            ),
        ]);
    }
    failure.contains("quote").then(|| {
        vec![
            say("build.sh now writes the greetings as here-documents: the quote in G'day ended its own string."),
            told,
            Write("build.sh", include_str!("../assets/greeter/build.sh")),
            commit(prompt),
            prove(prompt, "Wrote the greetings as here-documents"),
            Close(
                "<learning category=\"pitfall\" tags=\"shell, quotes, build.sh\">Text that is copied into a script \
                 may contain quotes (G'day): write it as a here-document.</learning>\n\
                 <difficulty-estimate>easy</difficulty-estimate>",
            ),
        ]
    })
}

/// A retry after a fix task removed the cause of the failure.
fn again(result: &str, prompt: &str) -> Vec<Step> {
    vec![
        say(result),
        say("A fix task removed the cause of my last failure."),
        Read("build.sh"),
        prove(prompt, "Reviewed the changes of the fix task"),
        Close(EASY),
    ]
}

fn was_tried(prompt: &str) -> bool {
    prompt.contains(PREVIOUS)
}

/// Why the task failed that this one fixes.
fn failure_to_fix(prompt: &str) -> Option<&str> {
    let (_, section) = prompt.split_once(TO_FIX)?;
    section.lines().find_map(|line| line.strip_prefix(WHY))
}

/// Commits with the message the plan asks for.
fn commit(prompt: &str) -> Step {
    let message = field(prompt, "**Commit message:** ");
    Commit(message.trim_matches('`').to_owned())
}

fn prove(prompt: &str, tried: &'static str) -> Step {
    Prove {
        test: BUILD,
        title: field(prompt, "**Title:** ").to_owned(),
        tried,
    }
}

/// A line of the prompt's own part about the task.
fn field<'p>(prompt: &'p str, label: &str) -> &'p str {
    let value = prompt.lines().find_map(|line| line.strip_prefix(label));
    value.unwrap_or("the task").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_fix(why: &str) -> String {
        format!("## Assigned Task\n\n**Title:** Fix it\n\n{TO_FIX}\nThis task fixes\n{WHY}{why}\n")
    }

    fn written(steps: &[Step]) -> Option<&'static str> {
        steps.iter().find_map(|step| match step {
            Write(_, text) => Some(*text),
            _ => None,
        })
    }

    #[test]
    fn a_fix_does_what_the_failure_in_its_prompt_asks_for() {
        let file = steps("2.1.1", &to_fix("words/en.txt: no such file")).unwrap();
        let quote = steps("2.1.1.1", &to_fix("unterminated quote")).unwrap();
        assert_ne!(written(&file), written(&quote));
        assert!(quote.contains(&say("My prompt says what to fix: unterminated quote")));
        assert_eq!(steps("2.1.1", &to_fix("something else")), None);
        assert_eq!(steps("2.1.1", "## Assigned Task\n"), None);
    }

    #[test]
    fn a_second_attempt_writes_nothing_and_proves_what_is_there() {
        let first = steps("2.1", "**Title:** Build one script\n").unwrap();
        let again = steps("2.1", &format!("**Title:** Build one script\n{PREVIOUS}\n")).unwrap();
        assert!(written(&first).is_some());
        assert_eq!(written(&again), None);
        let proves =
            |step: &Step| matches!(step, Prove { title, .. } if title == "Build one script");
        assert!(again.iter().any(proves), "{again:?}");
    }

    #[test]
    fn commits_bear_the_message_of_the_plan() {
        let steps = steps("1.1", "**Commit message:** `feat: look up`\n").unwrap();
        assert!(
            steps.contains(&Commit("feat: look up".to_owned())),
            "{steps:?}"
        );
    }
}
