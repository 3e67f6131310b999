//! Iteration memory through the real binary: what one attempt found out is stored and told to the next.

use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use crate::support::Project;

/// A project whose agent answers with the file `answers/KEY.N`, N being the attempt's number.
fn project() -> Project {
    of(Project::new())
}

fn of(project: Project) -> Project {
    project.agent(
        "cp .ralph/last-prompt .ralph/prompt-$RALPH_TASK_KEY.$RALPH_ATTEMPT\n\
         sed \"s/ID/$RALPH_TASK_ID/\" answers/$RALPH_TASK_KEY.$RALPH_ATTEMPT",
    );
    project
}

const DONE: &str = "<task-done>ID</task-done>";
const FAILED: &str = "<task-failed>ID</task-failed>";

fn answer(project: &Project, name: &str, text: &str) {
    project.write(&format!("answers/{name}"), &format!("{text}\n"));
}

fn prompt(project: &Project, name: &str) -> String {
    project.read(&format!(".ralph/prompt-{name}"))
}

fn rows(project: &Project, sql: &str) -> Vec<Vec<Sql>> {
    let conn = project.database();
    let mut query = conn.prepare(sql).unwrap();
    let columns = query.column_count();
    query
        .query_map([], |row| (0..columns).map(|n| row.get(n)).collect())
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn text(text: &str) -> Sql {
    Sql::Text(text.into())
}

fn one(project: &Project, sql: &str) -> Sql {
    rows(project, sql).remove(0).remove(0)
}

#[test]
fn cap_02_03_06_07_attempts_are_numbered_and_metrics_kept_over_runs() {
    let project = project();
    project.add(&["A", "--key", "a"]);
    for n in [1, 2] {
        answer(&project, &format!("a.{n}"), FAILED);
    }
    answer(&project, "a.3", DONE);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    assert_eq!(
        rows(
            &project,
            "SELECT total_attempts, consecutive_failures, stuck_flag, last_success_at, suggested_model,
                    last_attempt_at IS NOT NULL FROM strategy_metrics"
        ),
        [[Sql::Integer(2), Sql::Integer(2), Sql::Integer(0), Sql::Null, Sql::Null, Sql::Integer(1)]]
    );
    project.ok(&["run"]);
    assert_eq!(
        rows(
            &project,
            "SELECT attempt_number, model, outcome, tokens_input, tokens_output FROM iteration_outcomes
             ORDER BY attempt_number"
        ),
        [(1, "failed"), (2, "failed"), (3, "done")].map(|(number, outcome)| vec![
            Sql::Integer(number),
            text("script"),
            text(outcome),
            Sql::Null,
            Sql::Null
        ])
    );
    assert_eq!(
        rows(
            &project,
            "SELECT total_attempts, consecutive_failures, stuck_flag, suggested_model,
                    last_success_at = last_attempt_at FROM strategy_metrics"
        ),
        [[Sql::Integer(3), Sql::Integer(0), Sql::Integer(0), text("script"), Sql::Integer(1)]]
    );
}

const REPORT: &str = "<failure-report>\n\
    what_tried: Put all four tables into one batch\n\
    why_failed: FOREIGN KEY constraint failed: learnings\n\
    error_category: build_error\n\
    relevant_files: src/db.rs, src/new.rs\n\
    stack_trace: FOREIGN KEY constraint failed (code 787)\n    at Connection::execute (src/db.rs:45)\n\
    </failure-report>\n\
    <retry-suggestion>Create the tables\nin the order of their keys.</retry-suggestion>";

#[test]
fn cap_04_09_sug_01_a_report_is_stored_with_its_suggestion_and_all_files() {
    let project = of(Project::with_git());
    project.write("src/db.rs", "old\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "start"]);
    project.add(&["A", "--key", "a"]);
    project.write(
        "agent.sh",
        &format!("{}\necho new >> src/db.rs; echo x > src/other.rs", project.read("agent.sh")),
    );
    answer(&project, "a.1", &format!("{REPORT}\n{FAILED}"));
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(
        rows(
            &project,
            "SELECT task_id = (SELECT id FROM tasks), attempt_number, what_was_tried, why_it_failed,
                    error_category, relevant_files, stack_trace_snippet, retry_suggestion, auto
             FROM failure_reports"
        ),
        [[
            Sql::Integer(1),
            Sql::Integer(1),
            text("Put all four tables into one batch"),
            text("FOREIGN KEY constraint failed: learnings"),
            text("build_error"),
            text(r#"["src/db.rs","src/new.rs","src/other.rs"]"#),
            text("FOREIGN KEY constraint failed (code 787)\n    at Connection::execute (src/db.rs:45)"),
            text("Create the tables\nin the order of their keys."),
            Sql::Integer(0),
        ]]
    );
}

#[test]
fn cap_04_05_sug_01_without_a_report_ralph_writes_one() {
    let project = project();
    project.add(&["A", "--key", "a"]);
    let words = "word ".repeat(60);
    let suggestion = "<retry-suggestion>Ask first.</retry-suggestion>";
    answer(&project, "a.1", &format!("{words}\n{suggestion}\n{FAILED}"));
    answer(&project, "a.2", "");
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    let reports = rows(
        &project,
        "SELECT attempt_number, why_it_failed, error_category, retry_suggestion, auto, excerpt
         FROM failure_reports ORDER BY attempt_number",
    );
    assert_eq!(reports.len(), 2, "one per counted failure");
    assert_eq!(
        reports[0][..5],
        [
            Sql::Integer(1),
            text("Task failed (no structured report)"),
            text("unknown"),
            text("Ask first."),
            Sql::Integer(1)
        ]
    );
    let Sql::Text(excerpt) = &reports[0][5] else {
        panic!("no excerpt");
    };
    assert!(words.starts_with(excerpt.trim_end_matches('…')), "{excerpt}");
    assert!((190..=200).contains(&excerpt.chars().count()), "{excerpt}");
    assert_eq!(
        reports[1][1..5],
        [text("Task failed (no structured report)"), text("unknown"), Sql::Null, Sql::Integer(1)]
    );
    // SUG-02: the first attempt's suggestion is not the newest one's.
    answer(&project, "a.3", DONE);
    project.ok(&["run"]);
    assert!(prompt(&project, "a.2").contains("**Suggested approach for this retry:**\nAsk first."));
    assert!(!prompt(&project, "a.3").contains("Suggested approach"));
}

#[test]
fn dif_02_the_last_valid_estimate_is_kept() {
    let project = project();
    project.add(&["A", "--key", "a"]);
    let estimate = |name: &str| format!("<difficulty-estimate>{name}</difficulty-estimate>\n{FAILED}");
    for (n, said) in
        [FAILED.to_owned(), estimate("easy"), estimate("super-hard"), estimate("hard")].iter().enumerate()
    {
        answer(&project, &format!("a.{}", n + 1), said);
    }
    for kept in [Sql::Null, text("easy"), text("easy"), text("hard")] {
        project.ralph(&["run", "--once"]).expect_code(4);
        assert_eq!(one(&project, "SELECT difficulty_estimate FROM strategy_metrics"), kept);
    }
}

fn learning(content: &str, tags: &str) -> String {
    format!("<learning category=\"pitfall\" tags=\"{tags}\">{content}</learning>\n")
}

#[test]
fn lsg_02_lrn_08_what_one_task_learned_reaches_another_in_a_later_run() {
    let project = project();
    let first = project.add(&["Read the settings file", "--key", "a"]);
    answer(
        &project,
        "a.1",
        &format!(
            "{}{}{FAILED}",
            learning("The tokenizer drops trailing commas: test them.", "tokenizer, commas"),
            learning("Colours of the login page come from theme.css.", "css, login")
        ),
    );
    answer(&project, "a.2", DONE);
    project.ok(&["run"]);
    assert_eq!(
        rows(&project, "SELECT category, relevance_tags, source FROM learnings ORDER BY content DESC"),
        [
            [text("pitfall"), text(r#"["tokenizer","commas"]"#), text("agent")],
            [text("pitfall"), text(r#"["css","login"]"#), text("agent")]
        ]
    );
    project.ok(&["task", "delete", &first, "--yes"]);
    project.add(&["Tokenizer loses commas", "--key", "b", "--description", "In lists."]);
    answer(&project, "b.1", DONE);
    // CTX-06: what `ralph context` prints is what the agent gets.
    let told = project.ok(&["context", "b"]).stdout;
    project.ok(&["run"]);
    let prompt = prompt(&project, "b.1");
    assert_eq!(prompt, told);
    let section = "\n### Learnings from Previous Iterations\n\n\
        - **[pitfall]** The tokenizer drops trailing commas: test them.\n\n\
        ### Loop Status\n\n- **Iteration:** 1 of unlimited\n\
        - **This task:** attempt #1, 0 consecutive failure(s)\n";
    assert!(prompt.contains(section), "{prompt}");
    assert!(!prompt.contains("theme.css"), "{prompt}");
    let shown = one(&project, "SELECT id FROM learnings WHERE shown = 1 AND helpful = 1 AND harmful = 0");
    let Sql::Text(shown) = shown else { panic!() };
    let attempts = project.history();
    assert_eq!(attempts.last().unwrap()["learnings_shown"], json!([shown]));
}

/// A learning as another program would write it.
fn insert(project: &Project, id: &str, content: &str, created_at: &str) {
    project
        .database()
        .execute(
            "INSERT INTO learnings (id, category, content, relevance_tags, created_at)
             VALUES (?1, 'pitfall', ?2, '[]', ?3)",
            [id, content, created_at],
        )
        .unwrap();
}

const NOW: &str = "2026-01-01T00:00:00Z";

fn shown(project: &Project, task: &str) -> Vec<String> {
    project.json(&["context", task, "--json"])["learnings_shown"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn lrn_09_what_hurt_is_withheld_and_explained_and_a_pinned_one_is_not() {
    let project = project();
    project.add(&["Mend the tokenizer", "--key", "a"]);
    insert(&project, "l-bad", "rewrite the tokenizer in one go", NOW);
    assert_eq!(shown(&project, "a"), ["l-bad"]);
    project.database().execute("UPDATE learnings SET shown = 9, harmful = 9", []).unwrap();
    assert!(shown(&project, "a").is_empty());
    let explained = project.ok(&["context", "a", "--explain"]).stdout;
    assert!(explained.contains("l-bad withheld: did not help before"), "{explained}");
    project.database().execute("UPDATE learnings SET pinned = 1", []).unwrap();
    assert_eq!(shown(&project, "a"), ["l-bad"]);
}

#[test]
fn life_01_good_advice_survives_a_hard_task() {
    let project = project();
    insert(&project, "l-good", "quote every tokenizer test", NOW);
    project.add(&["Tokenizer, the hard one", "--key", "a"]);
    for n in 1..=5 {
        answer(&project, &format!("a.{n}"), FAILED);
    }
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(
        rows(&project, "SELECT shown, helpful, harmful FROM learnings"),
        [[Sql::Integer(5), Sql::Integer(0), Sql::Integer(1)]],
        "one task, one voice"
    );
    project.add(&["Tokenizer again", "--key", "b"]);
    assert_eq!(shown(&project, "b"), ["l-good"]);
}

#[test]
fn lrn_02_max_learnings_is_a_setting() {
    let mut project = project();
    project.add(&["Mend the tokenizer", "--key", "a"]);
    for (n, what) in ["commas", "quotes", "numbers"].iter().enumerate() {
        insert(&project, &format!("l-{n}"), &format!("the tokenizer and its {what}"), NOW);
    }
    assert_eq!(shown(&project, "a").len(), 3);
    project.set_env("RALPH_SET_MEMORY_MAX_LEARNINGS", "1");
    assert_eq!(shown(&project, "a").len(), 1);
    let explained = project.ok(&["context", "a", "--explain"]).stdout;
    assert!(explained.contains("over the limit"), "{explained}");
}

#[test]
fn explain_says_what_each_section_got_and_what_each_learning_scored() {
    let project = project();
    project.add(&["Mend the tokenizer", "--key", "a"]);
    insert(&project, "l-0", "the tokenizer drops commas", "2020-01-01T00:00:00Z");
    insert(&project, "l-1", "the login page is blue", "2020-01-01T00:00:00Z");
    insta::assert_snapshot!(project.ok(&["context", "a", "--explain"]).stdout);
    let json = project.json(&["context", "a", "--json"]);
    let scored = &json["learnings"][0];
    assert_eq!((&scored["id"], &scored["shown"]), (&json!("l-0"), &json!(true)));
    let parts = scored["parts"].as_object().unwrap();
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    assert!((sum - scored["score"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn life_03_04_the_end_of_a_run_merges_and_prunes_and_says_so() {
    let project = project();
    let said = "clear the build cache before each of the slow tests runs again";
    for n in 0..199 {
        let unlike = format!("unlike{n} words{n} of{n} its{n} own{n}");
        insert(&project, &format!("l-{n}"), &unlike, NOW);
    }
    insert(&project, "l-first", said, NOW);
    insert(&project, "l-second", &format!("{said}!"), NOW);
    project
        .database()
        .execute("UPDATE learnings SET last_used_at = strftime('%Y-%m-%dT%H:%M:%fZ')", [])
        .unwrap();
    insert(&project, "l-old", "long forgotten", "2020-01-01T00:00:00Z");
    project.add(&["A", "--key", "a"]);
    answer(&project, "a.1", DONE);
    let output = project.ok(&["run"]).stdout;
    assert!(output.contains("learnings: 2 similar merged into 1, 1 unused archived"), "{output}");
    let undo = output.lines().find_map(|line| line.split_once("undo: ralph learnings restore --merge "));
    assert!(undo.is_some_and(|(_, id)| id.starts_with("m-")), "{output}");
    assert_eq!(
        one(&project, "SELECT count(DISTINCT superseded_by) FROM learnings WHERE superseded_by IS NOT NULL"),
        Sql::Integer(1)
    );
    assert_eq!(one(&project, "SELECT id FROM learnings WHERE pruned_at IS NOT NULL"), text("l-old"));
    assert_eq!(one(&project, "SELECT count(*) FROM learnings"), Sql::Integer(203), "one more, none less");
    let kinds = rows(&project, "SELECT type FROM run_events WHERE type = 'learnings_tidied'");
    assert_eq!(kinds.len(), 1);
}

#[test]
fn the_prompt_of_each_attempt_is_kept_with_its_log_and_without_secrets() {
    let project = project();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    project.add(&["A", "--key", "a", "-d", &format!("Use {secret} for it.")]);
    answer(&project, "a.1", FAILED);
    answer(&project, "a.2", FAILED);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    for number in ["1", "2"] {
        let had = prompt(&project, &format!("a.{number}"));
        assert!(had.contains(secret));
        let kept = project.ok(&["context", "a", "--attempt", number]).stdout;
        assert!(!kept.contains(secret));
        let others = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with("Use ")).map(str::to_owned).collect()
        };
        assert_eq!(others(&had), others(&kept), "{number}");
    }
    let json = project.json(&["context", "a", "--attempt", "2", "--json"]);
    assert_eq!(
        (&json["attempt"], &json["attempt_number"], &json["agent"]),
        (&json!(2), &json!(2), &json!("script"))
    );
    project.ralph(&["context", "a", "--attempt", "3"]).expect_code(2);
    let log = project.history()[0]["log_path"].as_str().unwrap().to_owned();
    std::fs::remove_file(project.path(log.replace(".jsonl", ".prompt.md"))).unwrap();
    let gone = project.ralph(&["context", "a", "--attempt", "1"]).expect_code(1);
    assert!(gone.stderr.contains("the prompt of attempt 1 of a was not kept"), "{}", gone.stderr);
}
