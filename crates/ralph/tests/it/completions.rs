//! Completion in real shells, with what a project knows.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use expectrl::Expect;

use crate::support::{Output, PATIENCE, Project};

/// A project with tasks, a learning and an agent, and `ralph` on the search path.
fn project() -> Project {
    let mut project = Project::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    project.set_env("PATH", &format!("{}:{path}", bin.display()));
    project.agent("true");
    project.configure("models = [\"small\", \"large\"]");
    for (key, title) in [("1.1", "First: of all"), ("1.10", "Second"), ("ns:x", "Third")] {
        project.add(&[title, "--key", key]);
    }
    project.ok(&["learnings", "add", "Dates are local"]);
    project
}

/// What a shell prints that runs a script in the project.
fn shell(project: &Project, argv: &[&str], script: &str) -> Output {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).arg(script).current_dir(project.root()).stdin(Stdio::null());
    let output = project.clean(&mut command).output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn is_there(program: &str) -> bool {
    let probe = Command::new(program).arg("--version").output();
    probe.is_ok_and(|output| output.status.success())
}

/// What fits at the last word, as fish is told: words only.
fn fits(project: &Project, words: &[&str]) -> Vec<String> {
    let mut args = vec!["complete", "fish", "--", "ralph"];
    args.extend(words);
    let output = project.ok(&args);
    assert_eq!(output.stderr, "");
    let mut lines = output.stdout.lines();
    assert_eq!(lines.next(), Some("words"), "{words:?}");
    lines.map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn bash_completes_what_the_project_knows() {
    let project = project();
    let learning = fits(&project, &["learnings", "show", ""]).remove(0);
    let script = "source <(ralph completions bash)
        try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _ralph; echo \"${COMPREPLY[*]}\"; }
        try ralph ta
        try ralph run 1.
        try ralph run 1.1 ''
        try ralph task deps add 1.1 n
        try ralph run ns : ''
        try ralph run ns :
        try ralph run --model = s
        try ralph run --agent script --model ''
        try ralph learnings show ''
        try ralph config get memory.b
        try ralph -C .. init --he
        try ralph import .ralph.t
        complete -p ralph";
    let output = shell(&project, &["bash", "--norc", "-c"], script);
    assert_eq!(output.stderr, "");
    let lines: Vec<&str> = output.stdout.lines().collect();
    let expected = [
        "task",
        "1.1 1.10",
        "1.10 ns:x",
        "ns:x",
        "1.1 1.10 ns:x",
        "x",
        "small",
        "small large",
        learning.as_str(),
        "memory.budget_chars",
        "--here --help",
        ".ralph.toml",
    ];
    assert_eq!(lines[..expected.len()], expected);
    assert!(lines[expected.len()].ends_with("-F _ralph ralph"), "{lines:?}");
}

/// Types into a shell in a terminal; waits for what should then be seen.
#[track_caller]
fn type_into(project: &Project, argv: &[&str], steps: &[(&str, &str)]) {
    // A shell does not show what is typed in a terminal that does not.
    let prepare = "stty echo; export TERM=dumb PS1='> '";
    let mut session = project.any_in_terminal(argv, 100, prepare);
    let mut screen = String::new();
    for (typed, seen) in steps {
        session.send(typed).unwrap();
        let started = Instant::now();
        while !screen.contains(seen) {
            assert!(started.elapsed() < PATIENCE, "{typed:?}: no {seen:?} in {screen:?}");
            let mut buffer = [0; 4096];
            match session.try_read(&mut buffer) {
                Ok(n) => screen.push_str(&String::from_utf8_lossy(&buffer[..n])),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
            // A blank is drawn, taken back and drawn again.
            screen = screen.replace("\u{8} ", "");
        }
        screen = screen.split_off(screen.find(seen).unwrap() + seen.len());
    }
}

#[test]
fn bash_completes_as_one_types() {
    let project = project();
    let steps = [
        ("source <(ralph completions bash); echo re''ady\r", "ready"),
        ("", "> "),
        ("ralph task sho\t1.10\t", "ralph task show 1.10 "),
        ("\u{15}ralph run ns\t", "ralph run ns:x "),
        ("\u{15}ralph run ns:\t", "ralph run ns:x "),
        ("\u{15}ralph run --model=s\t", "--model=small "),
        ("\u{15}ralph run '1.10\t", "ralph run '1.10' "),
        ("\u{15}ralph run 1.1\t\t", "1.1   1.10"),
    ];
    type_into(&project, &["bash", "--norc", "-i"], &steps);
}

#[test]
fn zsh_completes_as_one_types() {
    if !is_there("zsh") {
        eprintln!("NOT TESTED: zsh is not installed, so its completion was not tried");
        return;
    }
    let project = project();
    let steps = [
        ("autoload -U compinit; compinit -D; source <(ralph completions zsh); echo re''ady\r", "ready"),
        ("", "> "),
        ("ralph task sho\t1.10\t", "ralph task show 1.10"),
        ("\u{15}ralph run ns\t", "ralph run ns:x"),
        ("\u{15}ralph run --model=s\t", "--model=small"),
        ("\u{15}ralph run 1.\t\t", "1.1   -- First: of all"),
        ("\u{15}ralph import .ralph.t\t", ".ralph.toml"),
    ];
    type_into(&project, &["zsh", "-f", "-i"], &steps);
}

#[test]
fn fish_completes_with_descriptions() {
    if !is_there("fish") {
        eprintln!("NOT TESTED: fish is not installed, so its completion was not tried");
        return;
    }
    let project = project();
    let script = "ralph completions fish | source
        for line in 'ralph ta' 'ralph run 1.' 'ralph run ns:' 'ralph run --model=s' 'ralph --dir=.ra' 'ralph import .ralph.t'
            complete -C \"$line\"
        end";
    let output = shell(&project, &["fish", "--no-config", "-c"], script);
    assert_eq!(output.stderr, "");
    assert_eq!(
        output.stdout.lines().collect::<Vec<_>>(),
        [
            "task\tShow and change the tasks of the plan",
            "1.1\tFirst: of all",
            "1.10\tSecond",
            "ns:x\tThird",
            "--model=small\tscript",
            "--dir=.ralph/\tDirectory",
            ".ralph.toml",
        ]
    );
}

#[test]
fn completing_makes_nothing_and_never_complains() {
    // Outside a project there are commands and flags.
    let outside = Project::empty();
    assert!(fits(&outside, &["run", ""]).contains(&"--once".to_owned()));
    assert_eq!(fits(&outside, &["task", "show", "1"]), [""; 0]);
    assert_eq!(outside.root().read_dir().unwrap().count(), 0);
    // Settings alone, or broken ones, or a file that is no database.
    outside.write(".ralph.toml", "[run\n");
    assert!(fits(&outside, &["run", "--agent", "cl"]).contains(&"claude".to_owned()));
    assert_eq!(fits(&outside, &["logs", "x"]), [""; 0]);
    assert!(!outside.path(".ralph").exists());
    outside.write(".ralph/progress.db", "no database");
    assert_eq!(fits(&outside, &["logs", "x"]), [""; 0]);
    // A file of an older Ralph stays as it is, and one of a newer.
    for version in [1, 999] {
        let other = Project::empty();
        fs::create_dir(other.path(".ralph")).unwrap();
        let database = other.database();
        database
            .execute_batch(&format!("CREATE TABLE tasks (id TEXT); PRAGMA user_version = {version};"))
            .unwrap();
        drop(database);
        let before = fs::read(other.path(".ralph/progress.db")).unwrap();
        assert_eq!(fits(&other, &["logs", "x"]), [""; 0]);
        assert_eq!(fs::read(other.path(".ralph/progress.db")).unwrap(), before);
        assert_eq!(other.path(".ralph").read_dir().unwrap().count(), 1);
    }
    // Nonsense.
    for words in [&[][..], &["--"], &["-"], &["--=x"], &["nonsense", "\u{1b}[2J"], &["-C"]] {
        let mut args = vec!["complete", "bash", "--"];
        args.extend(words);
        assert_eq!(outside.ok(&args).stderr, "");
    }
}

#[test]
fn completing_is_quick_with_many_tasks_and_works_during_a_run() {
    let project = Project::new();
    let mut database = project.database();
    let all = database.transaction().unwrap();
    all.execute_batch(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO tasks (id, position, key, title, created_at, updated_at)
         SELECT printf('t-%06x', i), i, iif(i % 3, (i / 1000) || '.' || (i % 1000), NULL), 'Task ' || i,
                '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM n;",
    )
    .unwrap();
    all.commit().unwrap();
    // The connection stays open, as a run's would: what is new stands in the log.
    for prefix in ["", "4", "t-", "99.99"] {
        let quickest = (0..5)
            .map(|_| {
                let started = Instant::now();
                let found = fits(&project, &["run", prefix]);
                assert!((1..=210).contains(&found.len()), "{prefix}: {}", found.len());
                started.elapsed()
            })
            .min();
        // An unoptimised program on a busy machine; a scan of all tasks takes longer still.
        assert!(quickest < Some(Duration::from_millis(150)), "{prefix}: {quickest:?}");
    }
    drop(database);
}
