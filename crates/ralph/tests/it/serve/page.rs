//! The page in a real Chromium: live, in every view, with every action, light and dark, wide and narrow.
//!
//! `RALPH_TEST_SHOTS=DIR` keeps a screenshot of each view, to be looked at.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use super::Serve;
use super::browser::{Browser, Scheme};
use crate::support::{Background, Project};

/// What the agent does is in a file per task; `hold` waits until a file `go-KEY` is there.
const AGENT: &str = r##"key=$RALPH_TASK_KEY
echo "working on $key"
n=$(cat ".ralph/n-$key" 2>/dev/null || echo 0); echo $((n+1)) > ".ralph/n-$key"
case $(cat "does-$key" 2>/dev/null) in
hold) until [ -e "go-$key" ]; do sleep 0.02; done;;
fail) echo "<failure-report>
what_tried: Split the line at commas
why_failed: quote_in_field of $key
</failure-report>"; echo "<task-failed>$RALPH_TASK_ID</task-failed>"; exit 0;;
esac
echo "line of $key" >> "file-$key"
echo "<task-done>$RALPH_TASK_ID</task-done>""##;

/// A night's project: something done, something blocked, something that holds, and names that mean harm.
fn project() -> Project {
    let project = Project::with_git();
    project.agent(AGENT);
    project.set("run", "max_attempts = 1");
    project.set("git", "commit = \"on-success\"");
    project.add(&["Keep the list", "--key", "1.1", "--phase", "1", "--verify", "test -e file-1.1"]);
    project.add(&["Describe the format", "--key", "1.2", "--phase", "1", "--after", "1.1"]);
    project.add(&["Import from CSV", "--key", "2.1", "--phase", "2", "--verify", "true", "--after", "1.1"]);
    project.add(&["Tick items off", "--key", "2.2", "--phase", "2", "--verify", "true", "--after", "1.2"]);
    let title = "<img src=x onerror=window.harmed=1><script>window.harmed=1</script> & more";
    project.add(&[
        title,
        "--key",
        "3.1",
        "--phase",
        "3",
        "--description",
        "<b onclick=harm()>y</b>",
        "--after",
        "2.1",
    ]);
    project.write("does-2.1", "fail");
    project.write("does-2.2", "hold");
    project.git(&["config", "user.name", "t"]);
    project.git(&["config", "user.email", "t@localhost"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project
}

fn run(project: &Project) -> Background {
    Background(project.command(&["run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// A page that keeps what its content security policy refused.
fn open(width: u32, height: u32, scheme: Scheme) -> Browser {
    let browser = Browser::open(width, height, scheme);
    browser.on_new_pages(
        "window.violations = []; \
         addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective))",
    );
    browser
}

fn shots() -> Option<PathBuf> {
    std::env::var_os("RALPH_TEST_SHOTS").map(PathBuf::from)
}

/// Goes through every view; none is wider than the window, and none says anything to the console.
fn look_at_every_view(browser: &Browser, name: &str) {
    let task = browser.script("return document.querySelector('.need').dataset.task");
    let task = task.as_str().unwrap();
    let views = [
        ("now", "#/now".to_owned(), "Needs you"),
        ("plan", "#/plan".to_owned(), "The whole plan"),
        ("task", format!("#/task/{task}"), "quote_in_field"),
        ("prompt", format!("#/task/{task}/prompt"), "The prompt of its next attempt"),
        ("diff", format!("#/task/{task}/diff"), "Diff"),
        ("log", format!("#/task/{task}/log"), "working on 2.1"),
        ("decisions", "#/decisions".to_owned(), "compare strategies"),
        ("memory", "#/memory".to_owned(), "No learnings yet"),
        ("runs", "#/runs".to_owned(), "1 run"),
    ];
    for (view, address, text) in views {
        browser.script(&format!("location.hash = {}", json!(address)));
        browser.wait_for_text(text);
        let widths = browser.script("return [document.documentElement.scrollWidth, innerWidth]");
        assert!(widths[0].as_u64() <= widths[1].as_u64(), "{view} is too wide: {widths}");
        if let Some(dir) = shots() {
            browser.screenshot(&dir.join(format!("{name}-{view}.png")));
        }
    }
    assert_eq!(browser.script("return [window.harmed ?? null, window.violations]"), json!([null, []]));
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn a_page_follows_a_run_and_shows_every_view() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let browser = open(1280, 900, Scheme::Light);
    browser.go(&serve.link);
    browser.wait_for_text("0 of 5 done");
    // The token is gone from the address, and the page outlives a reload without it.
    assert_eq!(browser.script("return location.hash"), "#/now");
    browser.go(&format!("http://{}/#/now", serve.host));
    browser.wait_for_text("No runs yet");
    let _run = run(&project);
    // Without anybody's doing: the run, what its agent prints, what needs somebody.
    browser.wait_for_text("2.2 Tick items off");
    browser.wait("document.querySelector('.output')?.textContent.includes('working on 2.2')");
    browser.wait_for_text("2 of 5 done (1 verified, 1 unverified)");
    browser.wait("document.querySelector('#run-state').textContent === 'running'");
    browser.wait_for_text("quote_in_field of 2.1");
    look_at_every_view(&browser, "light");
    // Click through: a box of the drawing leads to its task, the task to its diff.
    browser.click("#nav a[href='#/plan']");
    browser.wait("document.querySelectorAll('#dag a.node').length === 5");
    browser.click("#dag a.node.ok");
    browser.wait_for_text("Keep the list");
    browser.click(".timeline .links a[href*=prompt]");
    browser.wait_for_text("The prompt of attempt 1");
    browser.wait_for_text("## Assigned Task");
    browser.click(".links a[href*='number=next']");
    browser.wait_for_text("The prompt of its next attempt");
    browser.click(".tabs a[href$='/attempts']");
    browser.click(".timeline .links a[href*=diff]");
    browser.wait_for_text("+line of 1.1");
    browser.click("#nav a[href='#/runs']");
    browser.wait_for_text("1 run");
    // A view other than the first one is live, too.
    browser.click("#nav a[href='#/plan']");
    browser.wait("document.querySelector('#dag a.node.run')");
    project.write("go-2.2", "");
    browser.wait("!document.querySelector('#dag a.node.run')");
    browser.click("#nav a[href='#/now']");
    browser.wait("document.querySelector('#run-state').textContent !== 'running'");
    browser.wait_for_text("The last run");
    browser.wait("document.querySelector('#plots svg')");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn every_action_is_done_from_the_page_and_leaves_a_receipt() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let browser = open(1280, 900, Scheme::Light);
    browser.go(&serve.link);
    let mut run = run(&project);
    browser.wait("document.querySelector('.worker .output')?.textContent.includes('working on 2.2')");
    let receipt = |text: &str| {
        browser.wait(&format!("document.querySelector('#receipts').innerText.includes({})", json!(text)));
    };
    browser.click("#pause");
    receipt("pauses after its current attempt");
    browser.click("#resume");
    receipt("resumed");
    // A note that ends the attempt under way.
    browser.click_button(".worker", "Note");
    browser.type_into("#note-text", "Mind the <b>quotes</b>");
    browser.click_button("dialog", "Note now");
    receipt("retries with the note");
    browser.wait_for_text("attempt 1");
    browser.wait("document.querySelector('.worker .output')?.textContent.includes('working on 2.2')");
    let notes = project.json(&["note", "2.2", "--json"]);
    assert_eq!(notes[0]["text"], "Mind the <b>quotes</b>");
    // A note to what is blocked, and another attempt of it.
    browser.click_button(".need", "Write a note and retry");
    browser.type_into("#note-text", "Read it character by character");
    browser.click_button("dialog", "Leave note and retry");
    receipt("may be attempted again");
    browser.wait("!document.querySelector('.need')");
    browser.click("#undo");
    browser.click_button("dialog", "Undo");
    receipt("Undone: you gave");
    browser.wait("document.querySelector('.need')");
    browser.click_button(".need", "Go ahead");
    receipt("may be attempted again");
    browser.wait("!document.querySelector('.need')");
    // A plain note, from the task's own view.
    let id = project.task("3.1")["id"].as_str().unwrap().to_owned();
    browser.script(&format!("location.hash = '#/task/{id}'"));
    browser.click("#task-note");
    browser.type_into("#note-text", "Keep it short");
    browser.click_button("dialog", "Leave note");
    receipt("note for the next attempt");
    browser.wait_for_text("Keep it short");
    browser.click("#task-skip");
    browser.click_button("dialog", "Skip");
    receipt("skipped");
    browser.wait("document.querySelector('#task-reset')");
    assert_eq!(project.status_of("3.1"), "skipped");
    browser.click("#task-reset");
    browser.click_button("dialog", "Reset");
    browser.wait("document.querySelector('#task-skip')");
    // What cannot be done says why, and what was typed stays.
    browser.click("#task-note");
    browser.type_into("#note-text", "  ");
    browser.script("document.querySelector('#note-text').value = 'x'.repeat(2001)");
    browser.click_button("dialog", "Leave note");
    receipt("at most 2000");
    browser.click_button("dialog", "Cancel");
    browser.click("#stop");
    browser.click_button("dialog", "Stop now");
    receipt("is stopping");
    browser.wait("document.querySelector('#run-state').textContent !== 'running'");
    run.0.wait().unwrap();
    // The one refusal above is all that the console holds.
    let errors = browser.errors();
    assert!(errors.iter().all(|error| error.contains("/api/action") && error.contains("409")), "{errors:?}");
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn the_page_is_whole_in_the_dark_and_on_a_phone_and_says_when_its_link_is_old() {
    let project = project();
    project.write("does-2.2", "");
    project.ralph(&["run"]);
    let serve = Serve::start(&project, &[]);
    for (name, width, height, scheme) in
        [("dark", 1280, 900, Scheme::Dark), ("phone", 390, 844, Scheme::Light)]
    {
        let browser = open(width, height, scheme);
        browser.go(&serve.link);
        browser.wait_for_text("Needs you");
        let background = browser.script("return getComputedStyle(document.body).backgroundColor");
        let is_dark = background == "rgb(19, 21, 22)";
        assert_eq!(is_dark, scheme == Scheme::Dark, "{background}");
        // What needs somebody stands first where there is one column.
        let tops = browser.script(
            "return ['#needs', '#plan-list'].map((part) => document.querySelector(part).getBoundingClientRect().top)",
        );
        assert!(tops[0].as_f64() <= tops[1].as_f64(), "{tops}");
        look_at_every_view(&browser, name);
        if name == "phone" {
            browser.go("about:blank");
            browser.forget_cookies();
            browser.go(&format!("http://{}/#token=old", serve.host));
            browser.wait_for_text("Open the link that `ralph serve` printed");
        }
    }
}
