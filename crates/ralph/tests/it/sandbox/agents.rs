//! The real agents in the sandbox: each edits a file, runs a command and commits, in a working tree of Ralph's own.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{BACKENDS, commit, confined, made, raw_logs};
use crate::model_server::{Reply, Request};
use crate::stage::{CLAUDE, Player, Stage, done};
use crate::support::Project;
use crate::{codex, gemini, opencode};

struct Part {
    player: &'static Player,
    furnish: fn(&Project),
    edit: fn(&Path) -> Reply,
    shell: fn(&str) -> Reply,
    done: fn(&Request) -> Reply,
}

const TEXT: &str = "it parses\n";
const COMMAND: &str = "grep -q parses parser.txt && git add parser.txt && git commit -q -m parser && \
                       git log --format=%s | head -1 > committed.txt";

static CODEX: Player = codex::CODEX;
static GEMINI: Player = gemini::GEMINI;
static OPENCODE: Player = opencode::OPENCODE;
static CLAUDE_CODE: Player = CLAUDE;

fn parts() -> [Part; 4] {
    [
        Part {
            player: &CLAUDE_CODE,
            furnish: |_| (),
            edit: |file| Reply::tool("Write", json!({"file_path": file, "content": TEXT})),
            shell: |command| Reply::tool("Bash", json!({"command": command, "description": "Work"})),
            done,
        },
        Part {
            player: &CODEX,
            furnish: |_| (),
            edit: |_| codex::patch(&["*** Add File: parser.txt", "+it parses"]),
            shell: codex::shell,
            done,
        },
        Part {
            player: &GEMINI,
            furnish: |project| project.write("../home/.gemini/settings.json", gemini::OWN_SETTINGS),
            edit: |file| Reply::tool("write_file", json!({"file_path": file, "content": TEXT})),
            shell: gemini::shell,
            done: gemini::done,
        },
        Part {
            player: &OPENCODE,
            furnish: opencode::furnish,
            edit: |file| Reply::tool("write", json!({"filePath": file, "content": TEXT})),
            shell: opencode::bash,
            done,
        },
    ]
}

/// The one working tree of a worker.
fn tree(home: &Path) -> PathBuf {
    let project = fs::read_dir(home.join(".local/state/ralph/worktrees")).unwrap().flatten().next().unwrap();
    project.path().join("w1")
}

#[test]
fn every_agent_edits_runs_a_command_and_commits_in_a_working_tree() {
    for backend in BACKENDS {
        for part in parts() {
            let Part { player, furnish, edit, shell, done } = part;
            let mut project = confined(backend);
            for (name, value) in [("RUN_ISOLATE", "true"), ("GIT_COMMIT", "on-success")] {
                project.set_env(&format!("RALPH_SET_{name}"), value);
            }
            // The agents may be installed where the box has a directory of its own, such as below /tmp.
            if let Some(tools) = std::env::var_os("RALPH_TEST_CLAUDE")
                && let Some(tools) = Path::new(&tools).ancestors().nth(3)
            {
                project.set_env("RALPH_SET_SANDBOX_CACHE", &tools.display().to_string());
            }
            furnish(&project);
            let home = project.path("../home").canonicalize().unwrap();
            let mut turn = 0;
            let stage = Stage::with(player, project, move |request| {
                turn += 1;
                match turn {
                    1 => edit(&tree(&home).join("parser.txt")),
                    2 => shell(COMMAND),
                    _ => done(request),
                }
            })
            .verify("grep -q parses parser.txt && grep -q parser committed.txt");
            commit(&stage.project);
            let shown = stage.project.ralph(&["run", "--once"]);
            let tries = stage.tries();
            let logs = raw_logs(&stage.project);
            assert_eq!(tries, ["done counted #1"], "{backend} {}: {shown:?}\n{logs}", player.agent);
            assert_eq!(made(&stage.project, "parser.txt"), TEXT);
            assert_eq!(stage.project.history()[0]["sandbox"]["backend"], backend);
        }
    }
}
