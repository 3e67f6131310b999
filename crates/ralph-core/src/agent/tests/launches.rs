//! How each agent is started.

use std::path::Path;

use crate::agent::{Agent, AgentKind, Launch, LaunchRequest, Setup};
use crate::model::{RunId, TaskId};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().copied().map(String::from).collect()
}

fn agent(kind: AgentKind, models: &[&str], skip_permissions: bool, args: &[&str]) -> Agent {
    kind.build(Setup {
        name: kind.as_str().into(),
        command: words(&[kind.as_str()]),
        models: words(models),
        env: vec![("PWD".into(), "/elsewhere".into()), ("KEY".into(), "k".into())],
        skip_permissions,
        args: words(args),
        ..Setup::default()
    })
}

fn launch(agent: &Agent, model: &str, task: &str, budget_usd: Option<f64>) -> Launch {
    agent.launch(&LaunchRequest {
        task_id: &TaskId::from_stored("t-000001"),
        task_key: Some("1.3"),
        attempt: 2,
        model,
        run_id: &RunId::from_stored("r-1"),
        project_root: Path::new("/p"),
        work_tree: Path::new("/w"),
        rules: "## Rules\n",
        task_prompt: task,
        is_root: true,
        is_confined: false,
        budget_usd,
    })
}

const CODEX: &str = "exec --json --skip-git-repo-check -c check_for_update_on_startup=false \
    -c analytics.enabled=false -c features.unbounded_connection_retries=false";

#[test]
fn arguments_follow_trust_model_and_settings() {
    use AgentKind::{Claude, Codex, Gemini, Opencode};
    let codex_trusted = format!("{CODEX} --dangerously-bypass-approvals-and-sandbox -m m --add-dir /d");
    let codex_sandboxed = format!("{CODEX} -c sandbox_mode=workspace-write");
    let own_title = ["--title=mine"].as_slice();
    let claude = "-p --output-format stream-json --verbose";
    for (kind, models, trusted, args, model, expected) in [
        (
            Claude,
            &["m"][..],
            true,
            &["--max-turns", "9"][..],
            "m",
            format!(
                "{claude} --model m --dangerously-skip-permissions --append-system-prompt RULES --max-budget-usd 1.2500 --max-turns 9"
            ),
        ),
        (
            Claude,
            &[],
            false,
            &["--max-budget-usd", "2"],
            "claude",
            format!("{claude} --append-system-prompt RULES --max-budget-usd 2"),
        ),
        (Codex, &["m"], true, &["--add-dir", "/d"], "m", codex_trusted),
        // The agent's own name is no model, unless the settings say so.
        (Codex, &[], false, &[], "codex", codex_sandboxed.clone()),
        (Codex, &["codex"], false, &[], "codex", format!("{codex_sandboxed} -m codex")),
        (Codex, &[], false, &[], "m", format!("{codex_sandboxed} -m m")),
        (
            Gemini,
            &["m"],
            true,
            &["--include-directories", "../lib"],
            "m",
            "--output-format stream-json --yolo --skip-trust -m m --include-directories ../lib".into(),
        ),
        (
            Gemini,
            &["m"],
            false,
            &["--approval-mode", "auto_edit"],
            "",
            "--output-format stream-json --approval-mode auto_edit".into(),
        ),
        (
            Opencode,
            &["a/m"],
            true,
            own_title,
            "a/m",
            "run --format json --model a/m --auto --title=mine".into(),
        ),
        (Opencode, &[], false, &["--titles"], "opencode", "run --format json --title TITLE --titles".into()),
    ] {
        let launch = launch(&agent(kind, models, trusted, args), model, "task", Some(1.25));
        let shown = launch.args.join(" ");
        let shown = shown.replace("## Rules\n", "RULES").replace("Ralph: task 1.3, attempt 2", "TITLE");
        assert_eq!(shown, expected, "{kind:?}");
        assert_eq!((launch.program.as_str(), launch.cwd.as_path()), (kind.as_str(), Path::new("/w")));
    }
}

#[test]
fn variables_of_the_attempt_win_over_the_settings_and_those_over_the_agents_own() {
    for (kind, trusted, own) in [
        (AgentKind::Claude, true, Some("IS_SANDBOX")),
        (AgentKind::Claude, false, None),
        (AgentKind::Codex, true, None),
        (AgentKind::Gemini, false, Some("GEMINI_CLI_NO_RELAUNCH")),
        (AgentKind::Opencode, true, None),
    ] {
        let launch = launch(&agent(kind, &[], trusted, &[]), "", "task", None);
        let names: Vec<&str> = launch.env.iter().map(|(name, _)| name.as_str()).collect();
        let expected: Vec<&str> = own.into_iter().chain(["PWD", "KEY", "RALPH_TASK_ID"]).collect();
        assert_eq!(names[..expected.len()], expected, "{kind:?}");
        // OpenCode works where this variable says, not where it was started.
        let pwd = launch.env.iter().rfind(|(name, _)| name == "PWD").map(|(_, value)| value.as_os_str());
        let expected = if kind == AgentKind::Opencode { "/w" } else { "/elsewhere" };
        assert_eq!(pwd, Some(expected.as_ref()), "{kind:?}");
    }
}

#[test]
fn prompts_carry_the_rules_unless_they_are_the_system_prompt() {
    for kind in [AgentKind::Codex, AgentKind::Gemini, AgentKind::Opencode] {
        let launch = launch(&agent(kind, &[], false, &[]), "", "## Assigned Task\n", None);
        assert_eq!(launch.stdin, "## Rules\n\n## Assigned Task\n", "{kind:?}");
    }
    let claude = launch(&agent(AgentKind::Claude, &[], false, &[]), "", "task", None);
    assert_eq!(claude.stdin, "task");
}

#[test]
fn gemini_gets_at_signs_escaped_and_explained() {
    let gemini = agent(AgentKind::Gemini, &[], false, &[]);
    let text = "Add @Test for a@b.c, @@ twice, \\@ once.\n@";
    let expected = "Add \\@Test for a\\@b.c, \\@\\@ twice, \\@ once.\n\\@";
    let note = "Note: in this prompt every `\\@` means a plain at sign.\n\n";
    assert_eq!(gemini.prompt("R", text), format!("{note}R\n\n{expected}"));
    assert_eq!(gemini.prompt("R", "\\@ alone"), "R\n\n\\@ alone");
}
