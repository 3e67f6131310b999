//! The real Codex under the real Ralph: only the model behind it is scripted.
//!
//! `RALPH_TEST_CODEX` names the `codex` program, else the one `scripts/test` installs in `.tools/` is used. A machine
//! without it fails these tests instead of passing over them.

mod answers;
mod ends;
mod errors;
mod limits;

use serde_json::json;

use crate::model_server::{Reply, Request};
use crate::stage::{Player, Stage};
use crate::support::Project;

/// Codex, which does not try again by itself.
pub const CODEX: Player = player(|url| provider(url, 0));
/// Codex, which tries again once.
const PATIENT: Player = player(|url| provider(url, 1));
/// Codex, whose model nobody serves.
const ALONE: Player = player(|_| provider("http://127.0.0.1:1", 0));

const fn player(settings: fn(&str) -> String) -> Player {
    Player {
        agent: "codex",
        program: ("RALPH_TEST_CODEX", "codex"),
        env: |_| vec![("RALPH_TEST_KEY", "test".to_owned())],
        settings,
    }
}

/// Settings that lead Codex to the model at this URL, which it asks again so often.
fn provider(url: &str, retries: u32) -> String {
    let provider = format!(
        "model_providers.scripted={{name=\"scripted\",base_url=\"{url}/v1\",wire_api=\"responses\",\
         env_key=\"RALPH_TEST_KEY\",request_max_retries=0,stream_max_retries={retries}}}"
    );
    format!("args = ['-c', 'model_provider=scripted', '-c', '{provider}']")
}

/// Codex in a project without git.
fn stage(script: impl FnMut(&Request) -> Reply + Send + 'static) -> Stage {
    Stage::with(&CODEX, Project::new(), script)
}

/// The model uses the shell, as today's models do: by a program that calls tools.
pub fn shell(command: &str) -> Reply {
    let command = json!(command);
    Reply::tool(
        "exec",
        json!(format!("const run = await tools.exec_command({{cmd: {command}}}); text(run.output);")),
    )
}

/// The model changes files.
pub fn patch(lines: &[&str]) -> Reply {
    let lines = json!(format!("*** Begin Patch\n{}\n*** End Patch\n", lines.join("\n")));
    Reply::tool("exec", json!(format!("await tools.apply_patch({lines}); text(\"ok\");")))
}
