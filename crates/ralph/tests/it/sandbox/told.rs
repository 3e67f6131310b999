//! What people are told of the sandbox: before a run, during it, and of each attempt.

use super::network::server;
use super::{BACKENDS, agent, confined, raw_logs};
use crate::run::DONE;
use crate::support::Project;

#[test]
fn what_confines_a_run_is_said_and_recorded() {
    for backend in BACKENDS {
        let project = confined(backend);
        agent(&project, DONE);
        project.add(&["A"]);
        let shown = project.ok(&["run"]).stdout;
        assert!(shown.lines().next().unwrap().contains(&format!(", sandbox {backend}")), "{shown}");
        let record = &project.history()[0]["sandbox"];
        assert_eq!((&record["backend"], &record["network"]), (&backend.into(), &"open".into()), "{record}");
        let status = project.json(&["status", "--json"]);
        assert_eq!(status["run"]["sandbox"]["backend"], backend, "{status}");
        let doctor = project.ralph(&["doctor", "--json"]).json();
        let findings = doctor["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["check"] == "sandbox").unwrap();
        assert!(finding["message"].as_str().unwrap().starts_with(backend), "{finding}");
    }
}

#[test]
fn a_run_without_a_sandbox_says_so_and_one_that_requires_it_does_not_start() {
    let mut project = confined("none");
    // No bubblewrap, and no Landlock either.
    project.set_env("RALPH_SANDBOX_BACKEND", "nothing");
    agent(&project, DONE);
    project.add(&["A"]);
    let refused = project.ralph(&["run", "--sandbox", "required"]).expect_code(2);
    assert!(refused.stderr.contains("[sandbox] mode is required"), "{}", refused.stderr);
    assert!(project.history().is_empty());
    let shown = project.ok(&["run"]).stdout;
    assert!(
        shown.contains(", no sandbox") && shown.contains("agents and gates may do all that you may"),
        "{shown}"
    );
    assert!(project.history()[0]["sandbox"]["backend"].is_null());
}

#[test]
fn a_sandbox_with_gaps_is_not_what_required_means() {
    let project = confined("landlock");
    agent(&project, DONE);
    project.add(&["A"]);
    let refused = project.ralph(&["run", "--sandbox", "required"]).expect_code(2);
    assert!(refused.stderr.contains("landlock does not enforce all of it"), "{}", refused.stderr);
    let project = confined("bubblewrap");
    agent(&project, DONE);
    project.add(&["A"]);
    project.ok(&["run", "--sandbox", "required"]);
}

/// Whose set-up, what an agent does that is refused, the word and the target of the denial, and what shows that it worked.
const REFUSED: &[(&str, &str, [&str; 2])] = &[
    ("", "echo x > $HOME/elsewhere/y", ["write", "~/elsewhere/y"]),
    ("network = [\"a.example.com\"]", "python3 proxied.py", ["connect", "localhost"]),
];

/// Asks for a page by the proxy that the sandbox names, if it names one, as curl and others do.
const PROXIED: &str = "import os, socket, sys, urllib.request\n\
    url = 'http://localhost:' + os.environ['RALPH_PORT'] + '/'\n\
    proxy = {'http': os.environ['HTTP_PROXY']} if 'HTTP_PROXY' in os.environ else {}\n\
    try:\n    urllib.request.build_opener(urllib.request.ProxyHandler(proxy)).open(url, timeout=5)\n\
    except OSError as error:\n    sys.exit(f'{error} {url}')\n";

#[test]
fn what_was_refused_is_not_counted_the_first_time_and_what_it_says_to_set_helps() {
    for backend in BACKENDS {
        for (settings, script, [what, target]) in REFUSED {
            if backend == "landlock" && *what == "connect" {
                // A list of hosts needs bubblewrap.
                continue;
            }
            let mut project = confined(backend);
            project.set_env("RALPH_PORT", &server().to_string());
            project.write("../home/elsewhere/x", "");
            project.write("../home/.netrc", "machine x");
            project.write("proxied.py", PROXIED);
            project.set("sandbox", settings);
            agent(
                &project,
                &format!(
                    "if {script} 2>$TMPDIR/e; then echo \"<task-done>$RALPH_TASK_ID</task-done>\"; else cat $TMPDIR/e >&2; \
                     echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"; fi"
                ),
            );
            let task = project.add(&["A", "--verify", "true"]);
            project.set("run", "max_attempts = 1");
            project.ralph(&["run"]).expect_code(5);
            let history = project.history();
            let outcomes: Vec<_> = history
                .iter()
                .map(|attempt| (attempt["error_type"].as_str(), attempt["counted"].as_bool()))
                .collect();
            let expected = [(Some("sandbox_denied"), Some(false)), (None, Some(true))];
            assert_eq!(outcomes, expected, "{backend} {target}: {}", raw_logs(&project));
            let denial = &history[0]["sandbox"]["denials"][0];
            assert_eq!(
                (&denial["what"], &denial["target"]),
                (&(*what).into(), &(*target).into()),
                "{denial}"
            );
            let fix = denial["fix"].as_str().unwrap().to_owned();
            let analysis = project.ok(&["analyze"]).stdout;
            assert!(
                analysis.split_whitespace().collect::<Vec<_>>().join(" ").contains(&fix),
                "{analysis}\n{fix}"
            );
            assert_eq!(project.json(&["analyze", "--json"])["sandbox_denials"][0]["fix"], fix);
            // What it says is what helps.
            let words: Vec<String> =
                fix.split(' ').skip(1).map(|word| word.trim_matches('\'').to_owned()).collect();
            project.ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
            project.git(&["commit", "-qam", "Allow it"]);
            project.ralph(&["run", &task]);
            let history = project.history();
            assert_eq!(history.last().unwrap()["outcome"], "done", "{backend} {fix}: {}", raw_logs(&project));
        }
    }
}

#[test]
fn what_is_hidden_on_purpose_is_not_offered_and_what_is_told_is_clean() {
    for backend in BACKENDS {
        let project = confined(backend);
        project.write("../home/.netrc", "machine x");
        // An agent may print what it likes.
        let said = "printf 'cat: %s/.netrc\\033]0;OWNED\\007: Permission denied\\n' $HOME; \
                    printf 'touch: %s/password=hunter2-secret/y: Permission denied\\n' $HOME";
        agent(&project, &format!("{said}; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\""));
        project.add(&["A"]);
        let shown = project.ralph(&["run", "--once"]).stdout;
        let denials = project.history()[0]["sandbox"]["denials"].clone();
        let hidden = denials.as_array().unwrap().iter().find(|denial| denial["what"] == "read").unwrap();
        assert_eq!(
            (&hidden["target"], hidden["fix"].is_null()),
            (&"~/.netrc".into(), true),
            "{backend}: {denials}"
        );
        let analysis = project.ok(&["analyze"]).stdout;
        for text in [shown, analysis, denials.to_string()] {
            for part in ["allow_read '", "hunter2", "OWNED", "\u{1b}"] {
                assert!(!text.contains(part), "{backend}: {text}");
            }
        }
    }
}

#[test]
fn what_landlock_cannot_hide_or_keep_is_said() {
    let project = confined("landlock");
    project.write("../home/.claude.json", "{}");
    project.set("sandbox", "deny_read = [\"secrets\"]");
    agent(&project, DONE);
    project.add(&["A"]);
    project.ok(&["run"]);
    let gaps = project.history()[0]["sandbox"]["gaps"].to_string();
    for part in ["what deny_read names can be read", "/.claude.json, which names programs"] {
        assert!(gaps.contains(part), "{gaps}");
    }
}

#[test]
fn where_there_are_no_commits_landlock_tells_the_gap_and_undoes_what_it_can() {
    for commits in ["off", "on-success"] {
        let mut project = confined("landlock");
        project.set_env("RALPH_SET_GIT_COMMIT", commits);
        project.write(".git/hooks/pre-push", "true\n");
        let plant =
            "h=$(git rev-parse --git-common-dir)/hooks; echo evil > $h/pre-commit; echo evil > $h/pre-push";
        agent(&project, &format!("{plant}; {DONE}"));
        project.add(&["A"]);
        let has_gap = |text: &str| text.contains(".ralph is in the writable work tree");
        let doctor = project.ralph(&["doctor"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = project.ralph(&["run", "--once"]).stdout;
        let status = project.json(&["status", "--json"])["run"]["sandbox"]["gaps"].to_string();
        let record = project.history()[0]["sandbox"]["gaps"].to_string();
        for (place, text) in [("doctor", doctor), ("run", shown), ("status", status), ("record", record)] {
            assert_eq!(has_gap(&text), commits == "off", "{commits} {place}: {text}");
        }
        assert!(!project.path(".git/hooks/pre-commit").exists(), "{commits}");
        assert_eq!(project.read(".git/hooks/pre-push"), "true\n", "{commits}");
    }
}

#[test]
fn what_an_attempt_may_not_make_is_moved_away_before_anything_reads_it() {
    let project = confined("bubblewrap");
    agent(&project, &format!("echo '{{}}' > .mcp.json; {DONE}"));
    project.add(&["A"]);
    let shown = project.ok(&["run"]).stdout;
    assert!(shown.contains(".mcp.json may not be made in an attempt"), "{shown}");
    assert!(!project.path(".mcp.json").exists() && project.path(".ralph/sandbox").exists());
}

#[test]
fn the_demo_runs_in_the_sandbox() {
    for backend in BACKENDS {
        let mut project = Project::empty();
        project.set_env("RALPH_SANDBOX_BACKEND", backend);
        let shown = project.ok(&["demo", "--fast", "--dir", "."]).stdout;
        assert!(shown.contains(&format!(", sandbox {backend}")), "{shown}");
        assert!(project.history().iter().all(|attempt| attempt["sandbox"]["backend"] == backend));
    }
}
