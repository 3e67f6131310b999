//! What must work in the sandbox.

use std::fs;

use super::{BACKENDS, commit, confined, is_installed, raw_logs};

/// Each must end well in an agent's session and in a gate; the program that it needs.
const WORKS: &[(&str, &str, &str)] = &[
    (
        "a commit",
        "git",
        "echo $$ > made.txt && git add made.txt && git commit -qm made && git log --oneline | grep -q made && \
         git reset -q --hard HEAD~1",
    ),
    ("a branch and back", "git", "git branch try-$$ && git branch -q -D try-$$"),
    (
        "a stash",
        "git",
        "echo y >> README.md && git stash -q && git stash pop -q && git checkout -q README.md",
    ),
    ("temporary files", "sh", "f=$(mktemp) && echo x > $f && rm $f && test -d \"$TMPDIR\""),
    (
        "devices",
        "sh",
        "echo x > /dev/null && head -c 8 /dev/urandom | wc -c | grep -q 8 && echo x > /dev/stderr",
    ),
    ("processes", "sh", "(sleep 60 & p=$!; kill $p; wait $p; test $? -gt 0) && ps >/dev/null"),
    ("a pipe of names", "sh", "mkfifo f && (echo hi > f &) && grep -q hi f; r=$?; rm f; exit $r"),
    ("a shell's function", "bash", "bash -c 'diff <(echo a) <(echo a)'"),
    (
        "a server on loopback",
        "python3",
        "python3 -c 'import socket,threading; s=socket.create_server((\"127.0.0.1\",0)); \
threading.Thread(target=lambda: s.accept()[0].sendall(b\"ok\")).start(); \
c=socket.create_connection(s.getsockname()); assert c.recv(2)==b\"ok\"'",
    ),
    (
        "a socket in the tree",
        "python3",
        "rm -f s; python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind(\"s\"); s.listen(); \
c=socket.socket(socket.AF_UNIX); c.connect(\"s\")'; r=$?; rm -f s; exit $r",
    ),
    (
        "several processes",
        "python3",
        "python3 -c 'import multiprocessing as m; p=m.Pool(2); assert p.map(abs,[-1,2])==[1,2]'",
    ),
    (
        "a virtual environment",
        "python3",
        "python3 -m venv --without-pip v && v/bin/python -c 'import sys; sys.exit(0)' && rm -r v",
    ),
    (
        "a build of cargo",
        "cargo",
        "mkdir -p c/src && printf '[package]\\nname = \"c\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' > c/Cargo.toml && \
echo 'fn main() {}' > c/src/main.rs && cd c && cargo build -q --offline && cd .. && rm -r c",
    ),
    (
        "a package of npm",
        "npm",
        "mkdir -p d/dep e && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > d/dep/package.json && cd e && \
echo '{\"name\":\"e\",\"version\":\"1.0.0\"}' > package.json && npm install --offline --no-audit --no-fund ../d/dep >/dev/null && \
cd .. && rm -r d e",
    ),
    (
        "a build of go",
        "go",
        "mkdir -p g && cd g && printf 'module g\\n' > go.mod && printf 'package main\\nfunc main() {}\\n' > main.go && \
go build -o out . && cd .. && rm -r g",
    ),
];

#[expect(clippy::print_stderr, reason = "what is left out is said")]
fn script(backend: &str) -> String {
    let mut script = "bad=0\n".to_owned();
    for (number, (name, program, snippet)) in WORKS.iter().enumerate() {
        // Landlock cannot let a file be made beside those that git executes.
        let is_possible = backend == "bubblewrap" || *name != "a branch and back";
        if !is_installed(program) {
            eprintln!("skipped, because {program} is not installed: {name}");
        } else if is_possible {
            script.push_str(&format!(
                "cat > $TMPDIR/w{number}.sh <<'EOS'\n{snippet}\nEOS\n\
                 said=$(timeout 120 sh $TMPDIR/w{number}.sh 2>&1) || {{ echo \"FAILED: {name}: $said\"; bad=1; }}\n"
            ));
        }
    }
    script.push_str("git status --short; exit $bad\n");
    script
}

#[test]
fn what_builds_and_tests_need_works_in_the_sandbox() {
    for backend in BACKENDS {
        let mut project = confined(backend);
        // The toolchains of whoever runs the tests.
        let home = std::env::home_dir().unwrap_or_default();
        let of_user = |name: &str, usual: &str| {
            std::env::var(name).unwrap_or_else(|_| home.join(usual).display().to_string())
        };
        project.set_env("RUSTUP_HOME", &of_user("RUSTUP_HOME", ".rustup"));
        project.set_env("PYENV_ROOT", &of_user("PYENV_ROOT", ".pyenv"));
        project.write("works.sh", &script(backend));
        project.agent(
            "if sh works.sh > $TMPDIR/said 2>&1; then echo \"<task-done>$RALPH_TASK_ID</task-done>\"; \
                       else cat $TMPDIR/said; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"; fi",
        );
        let text = project.read("agent.sh").replacen(
            "cat > \"$RALPH_PROJECT/.ralph/last-prompt\"",
            "cat > /dev/null",
            1,
        );
        project.write("agent.sh", &text);
        project.write(".gitignore", "");
        commit(&project);
        project.add(&["Work", "--verify", "sh works.sh"]);
        let shown = project.ralph(&["run", "--once"]);
        let log = raw_logs(&project);
        let attempt = &project.history()[0];
        let gate = attempt["gate_output"].as_str().unwrap_or_default();
        assert_eq!(attempt["outcome"], "done", "{backend}: {shown:?}\n{log}\n{gate}");
        assert!(fs::exists(project.path(".git/hooks")).unwrap());
    }
}
