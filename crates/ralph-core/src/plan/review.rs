//! Whether a plan can be worked on unattended: what `ralph plan` demands of an agent's plan, and `ralph plan check` of any.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use super::graph::CYCLE;
use super::text::one_line;
use super::{Draft, DraftTask};
use crate::gate::Protection;
use crate::markdown::Fence;
use crate::text::{Pattern, shell_word};

/// More files, characters or list items than this are too much for one session.
const MOST_FILES: usize = 12;
const MOST_CHARS: usize = 6_000;
const MOST_ITEMS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The plan is sent back.
    Error,
    /// Worth knowing.
    Warning,
}

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The task's key; none where it is about the plan.
    pub task: Option<String>,
    /// Counted from 1; 0 for the plan as a whole.
    pub line: usize,
    pub severity: Severity,
    /// A word for programs: `no_gate`, `gate_passes_already`, `gate_broken`, `gate_protected`, `no_files`, `too_large`,
    /// `changes_ci`, `cycle`, `duplicate_key`, …
    pub check: &'static str,
    pub text: String,
}

/// What running a gate on the present tree showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateNow {
    Fails,
    Passes,
    /// It cannot run, for this reason.
    Broken(String),
    /// It ran too long to tell.
    TimedOut,
}

/// What is known beside the plan itself.
#[derive(Debug)]
pub struct PlanContext<'c> {
    /// By command what running it showed.
    pub gates: HashMap<String, GateNow>,
    /// The gate of tasks that have none.
    pub default_gate: Option<&'c str>,
    /// What was asked for.
    pub goal: Option<&'c str>,
    pub root: &'c Path,
}

/// Everything that is wrong with a plan.
pub fn check(draft: &Draft, context: &PlanContext<'_>) -> Vec<Finding> {
    let parents: HashSet<&str> = draft.tasks.iter().filter_map(|task| task.parent.as_deref()).collect();
    let open = draft.tasks.iter().filter(|task| !task.done && !task.skipped);
    let leaves: Vec<&DraftTask> = open.filter(|task| !parents.contains(task.name.as_str())).collect();
    if leaves.is_empty() {
        return vec![Finding {
            task: None,
            line: 0,
            severity: Severity::Error,
            check: "no_tasks",
            text: "the plan has no open task".to_owned(),
        }];
    }
    let mut findings: Vec<Finding> =
        leaves.iter().flat_map(|task| check_task(task, draft, context)).collect();
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn check_task(task: &DraftTask, draft: &Draft, context: &PlanContext<'_>) -> Vec<Finding> {
    let PlanContext { gates, goal, .. } = context;
    let is_default = task.verify.is_none();
    let gate = task.verify.as_deref().or(context.default_gate);
    let mut findings = Vec::new();
    let mut find = |severity, check, text: String| {
        let name = task.named_by_author.then(|| task.name.clone());
        findings.push(Finding { task: name, line: task.line, severity, check, text });
    };
    match gate.map(|gate| (gate, gates.get(gate))) {
        None => {
            // A Verify line that is no command was noted by the reader.
            let end = draft.tasks.iter().map(|other| other.line).filter(|line| *line > task.line).min();
            let mut notes = draft.notes.iter().filter(|note| note.line >= task.line);
            let why = notes.find(|note| end.is_none_or(|end| note.line < end));
            let why = why.map(|note| format!(" ({})", one_line(&note.text))).unwrap_or_default();
            find(
                Severity::Error,
                "no_gate",
                format!(
                    "no gate{why}: add a Verify line with a command that fails now and passes when the task is done"
                ),
            );
        }
        Some((_, None | Some(GateNow::Fails))) => {}
        Some((gate, Some(GateNow::Passes))) if is_default => find(
            Severity::Warning,
            "gate_passes_already",
            format!(
                "has no gate of its own, and the default gate `{}` passes already: it shows that the task is done only if the \
                 task adds tests",
                one_line(gate)
            ),
        ),
        Some((gate, Some(GateNow::Passes))) => find(
            Severity::Error,
            "gate_passes_already",
            format!("the gate `{}` passes already, so it cannot show that the task is done", one_line(gate)),
        ),
        Some((gate, Some(GateNow::Broken(why)))) => find(
            Severity::Error,
            "gate_broken",
            format!("the gate `{}` cannot run here: {}", one_line(gate), one_line(why)),
        ),
        Some((gate, Some(GateNow::TimedOut))) => find(
            Severity::Warning,
            "gate_slow",
            format!("the gate `{}` ran too long to tell whether it passes already", one_line(gate)),
        ),
    }
    for script in protected_scripts(task, context.root) {
        find(
            Severity::Warning,
            "gate_protected",
            format!(
                "its gate executes {script}, so no attempt may change that: if changing it is the task, say so with `May \
                 change` in the plan or `ralph task edit {} --may-change {}`",
                task.name,
                shell_word(&script)
            ),
        );
    }
    // Reading a plan settles these; a plan that is still being made is better without them.
    let noted: Vec<&str> =
        draft.notes.iter().filter(|note| note.line == task.line).map(|note| note.text.as_str()).collect();
    if noted.contains(&CYCLE) {
        find(
            Severity::Error,
            "cycle",
            "this task and another one depend on each other: remove one of the dependencies".into(),
        );
    }
    if let Some((key, number)) = task.name.rsplit_once('#')
        && !noted.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        find(Severity::Error, "duplicate_key", format!("a task above has the key {key}: give each its own"));
    }
    /// A word with an extension, or a file that is known without one.
    static FILE: Pattern = Pattern::new(
        r"(?:/[\w-]+|[\w-]{2,})\.[A-Za-z][A-Za-z0-9]{0,7}\b|\b(?:Makefile|Dockerfile|Justfile)\b",
    );
    if task.files.is_empty() && !FILE.is_match(&task.description) {
        find(
            Severity::Error,
            "no_files",
            "names no files: add a Files line with the files to create or change".into(),
        );
    }
    let items = task.description.lines().filter(|line| line.trim_start().starts_with("- ")).count();
    let chars = task.description.chars().count();
    let too_large = if task.files.len() > MOST_FILES {
        Some(format!("{} files", task.files.len()))
    } else if chars > MOST_CHARS {
        Some(format!("a description of {chars} characters"))
    } else if items > MOST_ITEMS {
        Some(format!("{items} steps"))
    } else {
        None
    };
    if let Some(why) = too_large {
        find(
            Severity::Error,
            "too_large",
            format!("too large for one session ({why}): split it into several tasks"),
        );
    }
    /// Files that decide what the user's CI does.
    static CI: Pattern = Pattern::new(
        r"(?i)^(?:\./)?(?:\.github/workflows/|\.gitlab-ci|\.circleci/|\.travis\.yml|azure-pipelines|\.buildkite/|Jenkinsfile|bitbucket-pipelines|\.woodpecker|\.drone\.yml)",
    );
    static ABOUT_CI: Pattern =
        Pattern::new(r"(?i)\b(?:ci|ci/cd|continuous integration|pipelines?|workflows?|github actions)\b");
    let wanted = goal.as_ref().is_none_or(|goal| ABOUT_CI.is_match(goal));
    if let Some(path) = task.files.iter().find(|path| !wanted && CI.is_match(path)) {
        find(
            Severity::Error,
            "changes_ci",
            format!("changes `{}`, but the goal says nothing about CI: leave it as it is", one_line(path)),
        );
    }
    findings
}

/// Scripts that the task's text names, its gate executes and no attempt on it may change.
fn protected_scripts(task: &DraftTask, root: &Path) -> Vec<String> {
    let gates: Vec<&str> = task.verify.iter().map(String::as_str).collect();
    let rules = Protection::new(&[], &task.may_change, &task.files, &gates, root);
    let is_named = |path: &&String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        [&task.title, &task.description].iter().any(|text| text.contains(name))
    };
    rules.executed().filter(is_named).filter(|path| root.join(path).is_file()).cloned().collect()
}

/// The plan in an agent's answer: the text itself, or what stands in its fence. None where there is no checkbox.
pub fn plan_in(answer: &str) -> Option<&str> {
    static BOX: Pattern = Pattern::new(r"(?m)^[ \t]{0,3}[-*+] \[[ xX]\] ");
    let mut start = None;
    let mut end = None;
    let mut at = 0;
    for line in answer.split_inclusive('\n') {
        if Fence::opened_by(line.trim_end()).is_some() || is_closing(line) {
            start = start.or(Some(at + line.len()));
            end = Some(at);
        }
        at += line.len();
    }
    let fenced = start.zip(end).and_then(|(start, end)| answer.get(start..end));
    let before = start.map_or(answer, |start| answer.get(..start).unwrap_or_default());
    let plan = match fenced {
        // A plan may have fences of its own; the fence around a plan stands before its first box.
        Some(fenced) if !BOX.is_match(before) && BOX.is_match(fenced) => fenced,
        _ => answer,
    };
    let first = BOX.regex()?.find(plan)?.start();
    // Words before the plan are not part of it; its title and headings are.
    let mut offset = 0;
    let mut heading = None;
    for line in plan.get(..first)?.split_inclusive('\n') {
        if line.starts_with('#') && heading.is_none() {
            heading = Some(offset);
        }
        offset += line.len();
    }
    plan.get(heading.unwrap_or(first)..)
}

fn is_closing(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && (line.bytes().all(|byte| byte == b'`') || line.bytes().all(|byte| byte == b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Note;

    fn task(name: &str) -> DraftTask {
        DraftTask {
            name: name.into(),
            named_by_author: true,
            title: "Do it".into(),
            verify: Some("make test".into()),
            files: vec!["src/a.rs".into()],
            line: 3,
            ..DraftTask::default()
        }
    }

    fn checks(task: DraftTask, gate: Option<GateNow>, goal: Option<&str>) -> Vec<&'static str> {
        let gates = gate.into_iter().map(|gate| ("make test".to_owned(), gate)).collect();
        let draft = Draft { tasks: vec![task], notes: Vec::new() };
        let context = PlanContext { gates, default_gate: None, goal, root: Path::new("/nowhere") };
        check(&draft, &context).iter().map(|finding| finding.check).collect()
    }

    #[test]
    fn each_demand_can_fail() {
        let good = || task("1.1");
        let none: [&str; 0] = [];
        assert_eq!(checks(good(), Some(GateNow::Fails), None), none);
        assert_eq!(checks(good(), Some(GateNow::Passes), None), ["gate_passes_already"]);
        assert_eq!(checks(good(), Some(GateNow::Broken("no make".into())), None), ["gate_broken"]);
        assert_eq!(checks(good(), Some(GateNow::TimedOut), None), ["gate_slow"]);
        assert_eq!(checks(DraftTask { verify: None, ..good() }, None, None), ["no_gate"]);
        assert_eq!(checks(DraftTask { files: Vec::new(), ..good() }, None, None), ["no_files"]);
        let vague =
            DraftTask { files: Vec::new(), description: "Change the form, e.g. its end.".into(), ..good() };
        assert_eq!(checks(vague, None, None), ["no_files"]);
        let described = DraftTask { files: Vec::new(), description: "Change `src/b.rs`.".into(), ..good() };
        assert_eq!(checks(described, None, None), none);
        for large in [
            DraftTask { files: (0..13).map(|n| format!("{n}.rs")).collect(), ..good() },
            DraftTask { description: "x".repeat(6_001), ..good() },
            DraftTask { description: "- step\n".repeat(21), ..good() },
        ] {
            assert_eq!(checks(large, None, None), ["too_large"]);
        }
        let ci = || DraftTask { files: vec![".github/workflows/ci.yml".into()], ..good() };
        assert_eq!(checks(ci(), None, Some("Add OAuth login")), ["changes_ci"]);
        assert_eq!(checks(ci(), None, Some("Make the CI faster")), none);
        assert_eq!(checks(DraftTask { done: true, ..good() }, None, None), ["no_tasks"]);
    }

    fn nothing_known() -> PlanContext<'static> {
        PlanContext { gates: HashMap::new(), default_gate: None, goal: None, root: Path::new("/nowhere") }
    }

    #[test]
    fn the_default_gate_stands_for_one_of_its_own() {
        let draft = Draft { tasks: vec![DraftTask { verify: None, ..task("1.1") }], notes: Vec::new() };
        for (now, expected) in [
            (GateNow::Fails, None),
            (GateNow::Passes, Some(("gate_passes_already", Severity::Warning))),
            (GateNow::Broken("no make".into()), Some(("gate_broken", Severity::Error))),
            (GateNow::TimedOut, Some(("gate_slow", Severity::Warning))),
        ] {
            let gates = HashMap::from([("make test".to_owned(), now.clone())]);
            let context = PlanContext { gates, default_gate: Some("make test"), ..nothing_known() };
            let found = check(&draft, &context);
            let found = found.first().map(|finding| (finding.check, finding.severity));
            assert_eq!(found, expected, "{now:?}");
        }
    }

    #[test]
    fn a_script_that_is_the_gate_and_the_task_is_pointed_out() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("check.sh"), "exit 1\n").unwrap();
        let fixes =
            || DraftTask { title: "Fix check.sh".into(), verify: Some("sh check.sh".into()), ..task("1.1") };
        for (task, expected) in [
            (fixes(), 1),
            (DraftTask { title: "Do it".into(), ..fixes() }, 0),
            (DraftTask { files: vec!["check.sh".into()], ..fixes() }, 0),
            (DraftTask { may_change: vec!["*.sh".into()], ..fixes() }, 0),
            (DraftTask { title: "Write new.sh".into(), verify: Some("sh new.sh".into()), ..fixes() }, 0),
        ] {
            let draft = Draft { tasks: vec![task], notes: Vec::new() };
            let found = check(&draft, &PlanContext { root: dir.path(), ..nothing_known() });
            assert_eq!(
                found.iter().filter(|one| one.check == "gate_protected").count(),
                expected,
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_gate_that_was_left_out_says_why() {
        let tasks = vec![DraftTask { verify: None, ..task("1.1") }, DraftTask { line: 9, ..task("1.2") }];
        let notes = vec![Note::new(5, "not a command: look at it"), Note::new(10, "other")];
        let found = check(&Draft { tasks, notes }, &nothing_known());
        assert_eq!((found.len(), found[0].task.as_deref()), (1, Some("1.1")));
        assert!(found[0].text.starts_with("no gate (not a command: look at it):"), "{}", found[0].text);
    }

    #[test]
    fn plans_are_found_bare_and_in_a_fence() {
        let plan = "# Plan\n\n- [ ] 1.1 A\n  - **Verify**: `true`\n";
        for answer in [
            plan.to_owned(),
            format!("Here it is.\n\n{plan}"),
            format!("Here it is:\n```markdown\n{plan}```\nGood luck."),
            format!("~~~\n{plan}~~~"),
        ] {
            assert_eq!(plan_in(&answer).map(str::trim), Some(plan.trim()), "{answer}");
        }
        let with_fence = "- [ ] 1.1 A\n\n  ```sh\n  - [ ] not a task\n  ```\n- [ ] 1.2 B\n";
        assert_eq!(plan_in(with_fence), Some(with_fence));
        let inside = format!("````md\n{with_fence}````\n");
        assert_eq!(plan_in(&inside), Some(with_fence));
        assert_eq!(plan_in("I would start with the tests."), None);
        assert_eq!(plan_in(""), None);
    }

    proptest::proptest! {
        #[test]
        fn no_answer_is_too_odd(answer in "[-#`~ \\[\\]x\na]{0,80}") {
            plan_in(&answer);
        }
    }
}
