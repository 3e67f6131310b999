//! Choosing models from what was recorded: tasks alike, recent attempts, the adaptive strategy, prices.

use serde_json::{Value, json};

use crate::support::Project;

/// An agent with a ladder of three that reports what it cost. What it does with a task follows from the task's key and the
/// model, by lines `KEY.MODEL WORD…` in `script`: `done`, `fail`, and signals such as `hard` for its estimate.
fn project(script: &str) -> Project {
    let project = Project::new();
    project.agent(
        "line=$(grep \"^$RALPH_TASK_KEY\\.$RALPH_MODEL \" script || grep \"^$RALPH_TASK_KEY\\. \" script || echo x done)\n\
         text=\n\
         for word in $line; do case $word in\n\
         trivial|easy|moderate|hard|blocked) text=\"$text<difficulty-estimate>$word</difficulty-estimate>\\n\";;\n\
         done) text=\"$text<task-done>$RALPH_TASK_ID</task-done>\";;\n\
         fail) text=\"$text<task-failed>$RALPH_TASK_ID</task-failed>\";;\n\
         esac; done\n\
         case $RALPH_MODEL in haiku) cost=0.10;; sonnet) cost=0.40;; *) cost=1.50;; esac\n\
         echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}'\n\
         printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"%s\",\"total_cost_usd\":%s}\\n' \"$text\" \"$cost\"",
    );
    let toml = project.read(".ralph.toml").replace(
        "command = [\"sh\", \"agent.sh\"]",
        "command = [\"sh\", \"agent.sh\"]\nmodels = [\"haiku\", \"sonnet\", \"opus\"]\noutput = \"claude\"",
    );
    project.write(".ralph.toml", &toml);
    project.write("script", script);
    project.set("run", "strategy = \"cost-optimized\"");
    project
}

/// Key, model and rationale of every attempt.
fn choices(project: &Project) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    project.history().iter().map(|a| (text(&a["key"]), text(&a["model"]), text(&a["rationale"]))).collect()
}

fn models(project: &Project, key: &str) -> Vec<String> {
    let all = choices(project).into_iter();
    all.filter(|(of, ..)| of == key).map(|(_, model, _)| model).collect()
}

#[test]
fn str_07_after_a_hard_task_failed_one_like_it_starts_higher() {
    let mut project = project("a.haiku hard fail\na.sonnet hard done\n");
    project.set_env("RALPH_SET_RUN_MODEL", "haiku");
    project.add(&["Parse leap seconds", "--key", "a", "--files", "src/leap.rs"]);
    project.ok(&["run"]);
    assert_eq!(models(&project, "a"), ["haiku", "haiku", "sonnet"]);
    project.add(&["Parse leap years", "--key", "b", "--files", "src/leap.rs"]);
    project.add(&["Draw the menu", "--key", "c", "--files", "src/menu.rs"]);
    project.ok(&["run"]);
    let choices = choices(&project);
    let rationale = "haiku failed on a, a similar task";
    assert_eq!(choices[3], ("b".into(), "sonnet".into(), rationale.into()));
    assert_eq!(models(&project, "c"), ["haiku"]);
}

#[test]
fn str_07_what_did_a_hard_task_suffices_for_one_like_it() {
    let project = project("a. hard done\n");
    project.add(&["Parse leap seconds", "--key", "a"]);
    project.ok(&["run", "--model", "haiku"]);
    project.add(&["Parse leap years", "--key", "b"]);
    project.ok(&["run"]);
    let rationale = "it finished a, a similar hard task";
    assert_eq!(choices(&project)[1], ("b".into(), "haiku".into(), rationale.into()));
}

#[test]
fn str_07_deleting_a_task_takes_its_example_along() {
    let project = project("a. hard done\n");
    project.add(&["Parse leap seconds", "--key", "a"]);
    project.ok(&["run", "--model", "haiku"]);
    project.ok(&["task", "delete", "a", "--yes"]);
    let tables = ["task_docs", "task_postings", "strategy_metrics"];
    for table in tables {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows: u32 = project.database().query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
    project.add(&["Parse leap years", "--key", "b"]);
    project.ok(&["run"]);
    assert_eq!(models(&project, "b"), ["sonnet"]);
}

#[test]
fn str_08_while_all_goes_well_an_easy_looking_task_gets_the_cheapest() {
    let easy = "a. easy done\nb. easy done\nc. easy done\nx. fail\n";
    let well = project(easy);
    for key in ["a", "b", "c"] {
        well.add(&["Mend a typing error in the manual", "--key", key]);
    }
    well.ok(&["run"]);
    assert_eq!(models(&well, "c"), ["sonnet"], "two attempts say nothing yet");
    well.add(&["Mend typing errors in the manual", "--key", "d"]);
    well.add(&["Rewrite the scheduler", "--key", "e"]);
    well.ok(&["run"]);
    let rationale = "looks easy, and 3 of the last 3 attempts succeeded";
    assert_eq!(choices(&well)[3], ("d".into(), "haiku".into(), rationale.into()));
    assert_eq!(models(&well, "e"), ["sonnet"]);
    // The same with a bad record.
    let badly = project(easy);
    badly.add(&["Something else", "--key", "x"]);
    badly.ralph(&["run", "--limit", "2"]).expect_code(4);
    badly.ok(&["task", "skip", "x"]);
    for key in ["a", "b", "c"] {
        badly.add(&["Mend a typing error in the manual", "--key", key]);
    }
    badly.ok(&["run"]);
    badly.add(&["Mend typing errors in the manual", "--key", "d"]);
    badly.ok(&["run"]);
    assert_eq!(models(&badly, "d"), ["sonnet"]);
}

#[test]
fn str_01_words_in_reports_do_not_change_the_choice() {
    let run = |words: &str| {
        let project = Project::new();
        project.agent(&format!(
            "echo '<failure-report>'\necho 'what_tried: {words}'\necho 'why_failed: {words}'\necho '</failure-report>'\n\
             echo '{words}' > progress.md\necho '{words}'\necho \"<task-failed>$RALPH_TASK_ID</task-failed>\""
        ));
        let toml = project.read(".ralph.toml").replace(
            "command = [\"sh\", \"agent.sh\"]",
            "command = [\"sh\", \"agent.sh\"]\nmodels = [\"haiku\", \"sonnet\", \"opus\"]",
        );
        project.write(".ralph.toml", &toml);
        project.add(&["A", "--key", "a"]);
        project.ralph(&["run"]).expect_code(5);
        choices(&project)
    };
    let calm = run("went on");
    assert_eq!(calm, run("error stuck failed opus haiku escalate blocked hard"));
    assert_eq!(calm.len(), 5);
}

#[test]
fn str_05_a_done_attempt_clears_the_escalation() {
    let project = project("a.sonnet fail\na.opus done\n");
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    assert_eq!(models(&project, "a"), ["sonnet", "sonnet", "opus"]);
    let counters: (u32, bool) = project
        .database()
        .query_row("SELECT consecutive_failures, stuck_flag FROM strategy_metrics", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(counters, (0, false));
    project.ok(&["task", "reset", "a"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let again = choices(&project).pop().unwrap();
    assert_eq!(again.1, "sonnet");
    assert_eq!(again.2, "default, cost-optimized strategy");
}

#[test]
fn str_09_the_adaptive_strategy_learns_and_says_why() {
    let project = project("");
    for key in ["a", "b", "c", "d"] {
        project.add(&[&format!("Thing {key}"), "--key", key]);
    }
    project.ok(&["run", "--strategy", "adaptive"]);
    let all = choices(&project);
    let first = &all[0];
    assert_eq!(first.1, "haiku");
    assert!(first.2.starts_with("adaptive: haiku (60% chance), then "), "{}", first.2);
    let last = &all[3];
    assert_eq!(last.1, "haiku");
    assert!(last.2.contains("chance, ~$0.1"), "the cost was learned: {}", last.2);
    let tried = all.iter().filter(|(_, model, _)| model == "haiku").count();
    let believed: (usize, usize) = project
        .database()
        .query_row(
            "SELECT belief ->> 'tries', belief ->> 'cost_count'
             FROM (SELECT beliefs -> '$.agents.script.haiku' AS belief FROM totals)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(believed, (tried, tried));
    let expected = &project.json(&["stats", "--json"])["expected"];
    assert_eq!(expected[0]["model"], "haiku");
    assert!(expected[0]["chance"].as_f64().unwrap() > 0.6, "{expected}");
    assert!(expected[0]["costs_seen"].as_u64().unwrap() > 0, "{expected}");
    assert_eq!(expected[2]["costs_seen"], 0, "{expected}");
    let human = project.ok(&["stats"]).stdout;
    assert!(human.contains("~$"), "a guess is shown as one: {human}");
}

#[test]
fn str_09_every_strategy_teaches_the_adaptive_one() {
    let project = project("a.sonnet fail\na.opus done\n");
    project.add(&["Thing a", "--key", "a"]);
    project.ok(&["run"]);
    let database = project.database();
    let tries: Vec<(String, u32)> = database
        .prepare(
            "SELECT key, value ->> 'tries' FROM totals, json_each(beliefs, '$.agents.script') ORDER BY key",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(tries, [("opus".to_owned(), 1), ("sonnet".to_owned(), 1)]);
    let retries = "SELECT beliefs ->> '$.retries[1]' FROM totals";
    let retries: f64 = database.query_row(retries, [], |row| row.get(0)).unwrap();
    assert!((retries - 41.0).abs() < 1e-9, "{retries}");
}

#[test]
fn str_09_the_adaptive_strategy_asks_a_human_when_nothing_is_worth_trying() {
    let project = project("a. fail\n");
    project.add(&["Thing a", "--key", "a"]);
    project.add(&["Thing b", "--key", "b"]);
    let run = ["run", "--strategy", "adaptive", "--value-usd", "0.6"];
    let output = project.ralph(&run).expect_code(5);
    let task = project.task("a");
    assert_eq!((&task["status"], &task["needs_human"]), (&json!("blocked"), &json!(true)));
    let reason = task["reason"].as_str().unwrap();
    assert!(reason.starts_with("no attempt is worth its cost: even "), "{reason}");
    assert!(reason.ends_with(" for a task worth $0.60 (value_usd)"), "{reason}");
    assert!(
        output.stdout.contains("a blocked (needs you): no attempt is worth its cost: even "),
        "{}",
        output.stdout
    );
    assert_eq!(project.status_of("b"), "done", "the loop goes on");
    let tried = models(&project, "a").len();
    assert!((1..5).contains(&tried), "{tried}");
}

#[test]
fn what_a_human_was_asked_about_is_tried_again_when_somebody_says_so() {
    let project = project("a. fail\n");
    project.add(&["Thing a", "--key", "a"]);
    let run = ["run", "--strategy", "adaptive", "--value-usd", "0.001"];
    project.ralph(&run).expect_code(5);
    let first = choices(&project);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].2, "adaptive: low expected value, but every task gets one attempt");
    let told = project.ralph(&["status"]);
    assert!(told.stdout.contains("no attempt is worth its cost: even "), "{}", told.stdout);
    let dry = project.ok(&["run", "a", "--dry-run"]);
    assert!(dry.stdout.contains("a Thing a  attempt 2"), "{}", dry.stdout);
    let named = ["run", "a", "--strategy", "adaptive", "--value-usd", "0.001"];
    project.ralph(&named).expect_code(5);
    assert_eq!(choices(&project).len(), 2);
    project.ok(&["task", "reset", "a"]);
    project.ralph(&run).expect_code(5);
    assert_eq!(choices(&project).len(), 3);
}

#[test]
fn a_dry_run_and_the_context_say_that_a_human_would_be_asked() {
    let mut project = project("a. fail\n");
    project.set_env("RALPH_SET_RUN_STRATEGY", "adaptive");
    project.set_env("RALPH_SET_RUN_VALUE_USD", "0.001");
    project.add(&["Thing a", "--key", "a"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let dry = project.ok(&["run", "--dry-run"]);
    assert!(dry.stdout.contains("no attempt is worth its cost: even "), "{}", dry.stdout);
    let dry = project.json(&["run", "--dry-run", "--json"]);
    assert!(dry[0]["ask_human"].as_str().unwrap().starts_with("no attempt is worth its cost: "));
    let context = project.ok(&["context", "a"]);
    assert!(context.stderr.contains("no attempt is worth its cost: even "), "{}", context.stderr);
    let context = project.json(&["context", "a", "--json"]);
    assert!(context["ask_human"].is_string());
    for document in [&dry[0], &context] {
        assert_eq!(document["block_reason"], document["ask_human"]);
    }
}

#[test]
fn titles_of_any_letters_are_looked_up() {
    let project = project("");
    for (key, title) in [("a", "Draw aⓐb 🅱 ﷺ x٣ \"q\" widget"), ("b", "Draw aⓐb 🅱 ﷺ x٣ \"q\" gadget")]
    {
        project.add(&[title, "--key", key, "--files", "src/ⓐ.rs"]);
    }
    project.ok(&["run"]);
    assert_eq!(project.status_of("b"), "done");
}

#[test]
fn dif_02_an_estimate_in_a_try_that_does_not_count_is_not_kept() {
    let project = Project::new();
    project.agent(
        "echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}'\n\
         echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":401,\"result\":\"<difficulty-estimate>blocked</difficulty-estimate>\"}'\n\
         exit 1",
    );
    let toml = project
        .read(".ralph.toml")
        .replace("command = [\"sh\", \"agent.sh\"]", "command = [\"sh\", \"agent.sh\"]\noutput = \"claude\"");
    project.write(".ralph.toml", &toml);
    project.add(&["A", "--key", "a"]);
    project.ralph(&["run"]).expect_code(1);
    let rows: u32 = project
        .database()
        .query_row("SELECT count(*) FROM strategy_metrics WHERE difficulty_estimate IS NOT NULL", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(rows, 0);
    assert_eq!(project.status_of("a"), "pending");
}

#[test]
fn dif_03_a_blocked_task_keeps_the_agents_own_words() {
    for (said, reason) in
        [("I need the API key.\\n", "I need the API key."), ("", "the agent reported failure")]
    {
        let project = Project::new();
        project.agent(&format!(
            "printf '{said}'\necho '<difficulty-estimate>blocked</difficulty-estimate>'\n\
             echo \"<task-failed>$RALPH_TASK_ID</task-failed>\""
        ));
        project.add(&["A", "--key", "a"]);
        project.ralph(&["run"]).expect_code(5);
        let task = project.task("a");
        let known = task["reason"].as_str().unwrap();
        assert!(known.starts_with("the agent says it is blocked: "), "{known}");
        assert!(said.is_empty() || known.ends_with(reason), "{known}");
    }
}

#[test]
fn fp_05_a_long_gate_output_is_recognised_by_its_failing_tests() {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.write(
        "gate.sh",
        "echo 'FAILED tests/test_a.py::test_one - assert 1 == 0'\n\
         for n in $(seq 2000); do echo \"ok line $n of much other output\"; done\nexit 1",
    );
    project.add(&["A", "--key", "a", "--verify", "sh gate.sh"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let attempt = &project.history()[0];
    assert_eq!(attempt["failing_tests"], json!(["tests/test_a.py::test_one"]));
    assert!(attempt["gate_output"].as_str().unwrap().len() <= 8 * 1024);
}

#[test]
fn a_model_that_is_no_rung_is_used_with_a_warning() {
    let project = project("");
    project.add(&["A", "--key", "a"]);
    let output = project.ok(&["run", "--model", "sonet"]);
    assert!(output.stderr.contains("`sonet` is not in the model list of script"), "{}", output.stderr);
    let output = project.ralph(&["run", "--strategy", "costoptimized"]).expect_code(2);
    assert!(output.stderr.contains("did you mean `cost-optimized`?"), "{}", output.stderr);
}

#[test]
fn prices_give_a_cost_where_the_agent_reports_tokens_only() {
    let project = Project::new();
    project.agent(
        "echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}'\n\
         printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"<task-done>%s</task-done>\",\"usage\":{\"input_tokens\":100000,\"output_tokens\":20000}}\\n' \"$RALPH_TASK_ID\"",
    );
    let toml = project.read(".ralph.toml").replace(
        "command = [\"sh\", \"agent.sh\"]",
        "command = [\"sh\", \"agent.sh\"]\nmodels = [\"small\", \"large\"]\noutput = \"claude\"\n\
         price = { small = { input = 3, output = 15.0 }, large = 20 }",
    );
    project.write(".ralph.toml", &toml);
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project.ok(&["run", "a", "--model", "small"]);
    project.ok(&["run", "b", "--model", "large"]);
    let costs: Vec<f64> = project.history().iter().map(|a| a["cost_usd"].as_f64().unwrap()).collect();
    assert!((costs[0] - 0.6).abs() < 1e-9 && (costs[1] - 2.4).abs() < 1e-9, "{costs:?}");
}

#[test]
fn wrong_prices_are_told_with_their_place() {
    let project = Project::new();
    for (price, wrong) in [
        ("price = 3", "[agents.x] price: expected a table of models"),
        ("price = { a = -1 }", "[agents.x] price.a: expected a price in dollars per million tokens"),
        ("price = { a = { input = 1 } }", "[agents.x] price.a has no `output`"),
        ("price = { a = { inptu = 1 } }", "did you mean `input`?"),
    ] {
        project.write(
            ".ralph.toml",
            &format!("[agents.x]\nkind = \"command\"\ncommand = [\"true\"]\n{price}\n"),
        );
        let output = project.ralph(&["config", "show"]).expect_code(2);
        assert!(output.stderr.contains(wrong), "{price}: {}", output.stderr);
    }
}

#[test]
fn str_08_of_many_alike_easy_tasks_all_from_the_fourth_on_get_the_cheapest() {
    let keys: Vec<String> = (1..=12).map(|n| format!("k{n}")).collect();
    let script: String = keys.iter().map(|key| format!("{key}. easy done\n")).collect();
    for strategy in ["cost-optimized", "adaptive"] {
        for names in [
            "1 2 3 4 5 6 7 8 9 10 11 12",
            "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu",
        ] {
            let project = project(&script);
            for (key, name) in keys.iter().zip(names.split(' ')) {
                project.add(&[&format!("Fix the typo in chapter {name}"), "--key", key]);
            }
            project.ok(&["run", "--strategy", strategy]);
            let chosen: Vec<String> = choices(&project).into_iter().map(|(_, model, _)| model).collect();
            assert_eq!(chosen.len(), 12);
            assert_eq!(chosen[3..], ["haiku"; 9], "{strategy}: {:?}", choices(&project));
        }
    }
}
