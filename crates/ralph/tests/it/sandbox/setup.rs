//! A sandbox that works in general and cannot be set up for one launch.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{agent, confined};
use crate::run::DONE;

#[test]
fn a_sandbox_that_cannot_be_set_up_is_no_failure_of_the_agent_or_the_gate() {
    for (of, fails_for) in [("agent", "agent.sh"), ("gate", "GATE-MARK")] {
        let mut project = confined("bubblewrap");
        agent(&project, DONE);
        project.add(&["A", "--verify", "true GATE-MARK"]);
        let bwrap = format!(
            "#!/bin/sh\ncase \"$*\" in *{fails_for}*) echo \"bwrap: Can't mount proc\" >&2; exit 1;; esac\n\
             exec $(PATH=${{PATH#*:}} command -v bwrap) \"$@\"\n"
        );
        project.write("../home/bin/bwrap", &bwrap);
        let path = project.path("../home/bin/bwrap").canonicalize().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let search = std::env::var("PATH").unwrap();
        project.set_env("PATH", &format!("{}:{search}", path.parent().unwrap().display()));
        let shown = project.ralph(&["run"]).expect_code(1);
        let attempt = &project.history()[0];
        assert_eq!(
            (attempt["error_type"].as_str(), attempt["counted"].as_bool()),
            (Some("spawn"), Some(false)),
            "{of}: {attempt}"
        );
        assert_eq!(project.history().len(), 1, "{of}");
        let text = format!("{}{}", shown.stdout, shown.stderr);
        for part in ["the sandbox could not be set up: bwrap: Can't mount proc", "--sandbox off"] {
            assert!(text.contains(part), "{of}: {text}");
        }
    }
}

#[test]
fn a_program_that_the_sandbox_hides_is_no_failure_of_the_agent() {
    for backend in super::BACKENDS {
        let project = confined(backend);
        agent(&project, DONE);
        project.write("../home/tools/run", "#!/bin/sh\necho done\n");
        let program = project.path("../home/tools/run").canonicalize().unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let text = project.read(".ralph.toml").replace("\"sh\", \"agent.sh\"", &format!("{program:?}"));
        project.write(".ralph.toml", &text);
        project.set("sandbox", "deny_read = [\"~/tools\"]");
        super::commit(&project);
        project.add(&["A"]);
        let shown = project.ralph(&["run"]).expect_code(1);
        let attempt = &project.history()[0];
        assert_eq!(attempt["error_type"], "spawn", "{backend}: {attempt} {shown:?}");
        assert_eq!(attempt["counted"], false, "{backend}");
    }
}
