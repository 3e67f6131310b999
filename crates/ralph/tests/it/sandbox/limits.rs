//! Limits of what one launch may use.

use super::{BACKENDS, commit, confined, made};
use crate::support::Project;

fn run(backend: &str, settings: &str, script: &str) -> (Project, String) {
    let project = confined(backend);
    project.agent(&format!("({script}) > said.txt 2>&1; echo \"<task-done>$RALPH_TASK_ID</task-done>\""));
    let text = project.read("agent.sh").replacen(
        "cat > \"$RALPH_PROJECT/.ralph/last-prompt\"",
        "cat > /dev/null",
        1,
    );
    project.write("agent.sh", &text);
    project.write(".gitignore", "");
    project.set("sandbox", settings);
    commit(&project);
    project.add(&["A", "--verify", "test -f said.txt"]);
    let shown = project.ralph(&["run", "--once"]).stdout;
    let said = match shown.contains("done") {
        true => made(&project, "said.txt"),
        false => String::new(),
    };
    (project, format!("{shown}\n{said}"))
}

#[test]
fn files_and_memory_end_where_the_limits_say() {
    for backend in BACKENDS {
        let (_, said) =
            run(backend, "max_file = \"1M\"", "head -c 5000000 /dev/zero > big; wc -c < big; rm big");
        assert!(said.contains("1048576") && !said.contains("5000000"), "{backend}: {said}");
        let bomb = "python3 -c 'b = bytearray(900 * 1024 * 1024); print(\"HAD\", len(b))'";
        let (project, said) = run(backend, "max_memory = \"400M\"", bomb);
        assert!(!said.contains("HAD"), "{backend}: {said}");
        let (_, said) = run(backend, "max_memory = \"400M\"", &bomb.replace("900", "50"));
        assert!(said.contains("HAD"), "{backend}: {said}");
        assert_eq!(project.history()[0]["sandbox"]["limits"]["memory"], 400 * 1024 * 1024);
    }
}

#[test]
fn a_bomb_of_processes_ends_where_the_limit_says() {
    for backend in BACKENDS {
        // A hundred at once, which is harmless where nothing stops it.
        let bomb = "for i in $(seq 100); do sleep 20 & done; sleep 3; echo SURVIVED";
        let (project, said) = run(backend, "max_processes = 40", bomb);
        assert!(!said.contains("SURVIVED"), "{backend}: {said}");
        let few = "for i in $(seq 10); do sleep 0.5 & done; wait; echo SURVIVED";
        let (_, said) = run(backend, "max_processes = 40", few);
        assert!(said.contains("SURVIVED"), "{backend}: {said}");
        assert_eq!(project.history()[0]["sandbox"]["limits"]["processes"], 40);
    }
}
