//! What the agent does for the tasks of a spec, and for the fix tasks that come of it. A script, but it mends what its
//! prompt says is to be mended, and whether it fails is for the test to say.

use super::super::script::Step::{self, Check, Close, Commit, Prove, Read, Write};
use super::super::script::{EASY, PREVIOUS, say};

/// The heading under which Ralph tells a fix task what failed.
const TO_MEND: &str = "### Failure To Mend";
/// How the prompt's line about the cause begins.
const WHY: &str = "- **Why it failed:** ";
/// The test of what is built: the gate of 2.1 and so of all its fixes.
const BUILD: &str = "tests/build.sh";

/// The steps for a task; `None` for one that is not the demo's.
pub fn steps(key: &str, prompt: &str) -> Option<Vec<Step>> {
    if let Some(failure) = failure_to_mend(prompt) {
        return mend(failure, prompt);
    }
    Some(match key {
        "1.1" => vec![
            say("lib/words.sh looks the greeting of a place up in words/."),
            Write(
                "lib/words.sh",
                include_str!("../assets/greeter/lib/words.sh"),
            ),
            Check("tests/words.sh"),
            commit(prompt),
            Close(EASY),
        ],
        "1.2" => vec![
            say("lib/greet.sh greets somebody by name, in English if no place is given."),
            Read("lib/words.sh"),
            Write(
                "lib/greet.sh",
                include_str!("../assets/greeter/lib/greet.sh"),
            ),
            Check("tests/greet.sh"),
            commit(prompt),
            Close(EASY),
        ],
        "2.1" if was_tried(prompt) => again(
            "greeter is one script that needs nothing beside it.",
            prompt,
        ),
        "2.1" => vec![
            say("build.sh puts the parts in lib/ one after the other into greeter."),
            Write("build.sh", include_str!("../assets/greeter/build.first.sh")),
            commit(prompt),
            prove(
                prompt,
                "Built greeter from the parts in lib/, which read words/ when they run",
            ),
        ],
        "2.2" => vec![
            say("README.md shows how to build greeter and how to use it."),
            Write("README.md", include_str!("../assets/greeter/README.md")),
            Check("tests/readme.sh"),
            commit(prompt),
            Close(EASY),
        ],
        _ => return None,
    })
}

/// A fix task: what to do follows from the failure it is told of.
fn mend(failure: &str, prompt: &str) -> Option<Vec<Step>> {
    if was_tried(prompt) {
        return Some(again("greeter has its greetings in itself.", prompt));
    }
    let told = Step::Say(format!("My prompt says what to mend: {failure}"));
    if failure.contains("no such file") {
        return Some(vec![
            say("build.sh now puts the greetings themselves into greeter, each in quotes."),
            told,
            Write(
                "build.sh",
                include_str!("../assets/greeter/build.quotes.sh"),
            ),
            commit(prompt),
            prove(prompt, "Put every greeting into greeter, in single quotes"),
        ]);
    }
    failure.contains("quote").then(|| {
        vec![
            say("build.sh now writes greetings where a quote is a letter like any other: G'day ended its own."),
            told,
            Write("build.sh", include_str!("../assets/greeter/build.sh")),
            commit(prompt),
            prove(prompt, "Wrote the greetings as here-documents"),
            Close(
                "<learning category=\"pitfall\" tags=\"shell, quotes, build.sh\">Text that goes into a script \
                 may hold quotes, as G'day does: put it into a here-document.</learning>\n\
                 <difficulty-estimate>easy</difficulty-estimate>",
            ),
        ]
    })
}

/// What stood in the way was mended meanwhile.
fn again(result: &str, prompt: &str) -> Vec<Step> {
    vec![
        say(result),
        say("What my last attempt ran into is mended: what it wrote holds now."),
        Read("build.sh"),
        prove(prompt, "Looked at what the fix task changed"),
        Close(EASY),
    ]
}

fn was_tried(prompt: &str) -> bool {
    prompt.contains(PREVIOUS)
}

/// Why the task failed that this one is to mend.
fn failure_to_mend(prompt: &str) -> Option<&str> {
    let (_, section) = prompt.split_once(TO_MEND)?;
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

    fn to_mend(why: &str) -> String {
        format!("## Assigned Task\n\n**Title:** Fix it\n\n{TO_MEND}\nThis task mends\n{WHY}{why}\n")
    }

    fn written(steps: &[Step]) -> Option<&'static str> {
        steps.iter().find_map(|step| match step {
            Write(_, text) => Some(*text),
            _ => None,
        })
    }

    #[test]
    fn a_fix_does_what_the_failure_in_its_prompt_asks_for() {
        let file = steps("2.1.1", &to_mend("words/en.txt: no such file")).unwrap();
        let quote = steps("2.1.1.1", &to_mend("a quote has no end")).unwrap();
        assert_ne!(written(&file), written(&quote));
        assert!(quote.contains(&say("My prompt says what to mend: a quote has no end")));
        assert_eq!(steps("2.1.1", &to_mend("something else")), None);
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
