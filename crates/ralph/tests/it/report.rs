//! `ralph report`: the page and its Markdown, for runs that go on, ended, crashed, or are old.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::run::DONE;
use crate::support::{Background, Project, eventually};

/// A git project whose agent works on `a` until `go` is there, fails at `b` and finishes the rest.
fn project() -> Project {
    let mut project = Project::with_git();
    project.agent(&format!(
        "case $RALPH_TASK_KEY in
         a) touch began; until [ -f go ]; do sleep 0.05; done;;
         b) exit 3;;
         esac
         echo '<b>work</b>' >> \"$RALPH_TASK_KEY.txt\"; {DONE}"
    ));
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "1");
    project.set("agents.script", "price = { script = 0 }");
    project.add(&["A <script>alert(1)</script>", "--key", "a", "--verify", "true"]);
    project.add(&["B", "--key", "b"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project
}

fn page(project: &Project, args: &[&str]) -> String {
    project.ok(&[&["report", "-o", "-"], args].concat()).stdout
}

/// Fails unless every element of a page is closed in its order.
#[track_caller]
fn expect_well_formed(page: &str) {
    const VOID: [&str; 3] = ["meta", "br", "!doctype"];
    let mut open: Vec<&str> = Vec::new();
    for piece in page.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("no end: {piece}"));
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
        } else if let name = tag.split([' ', '\n']).next().unwrap()
            && !VOID.contains(&name)
            && !tag.ends_with('/')
        {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_report_is_of_the_run_that_goes_on_then_of_its_crash_then_of_its_end() {
    let project = project();
    let first = {
        project.ralph(&["run", "b", "--max-cost", "2"]).expect_code(5);
        project.json(&["runs", "--json"])[0]["run_id"].as_str().unwrap().to_owned()
    };
    let run = Background(project.start(&["run"]));
    eventually("the attempt", || project.path("began").exists());
    // Of the run whose first attempt is under way, not of the one before.
    let active = page(&project, &[]);
    assert!(active.contains(">running</span>") && active.contains("The run is active"), "{active}");
    assert!(!active.contains(&format!("Run {first}")));
    let killed = Command::new("kill").args(["-KILL", &run.0.id().to_string()]).status();
    assert!(killed.unwrap().success());
    drop(run);
    let crashed = page(&project, &[]);
    assert!(crashed.contains(">crashed</span>"), "{crashed}");

    project.write("go", "");
    project.ralph(&["run", "--model", "script"]);
    let page_of_last = page(&project, &[]);
    assert!(page_of_last.contains("Verified in this run: 1 task"), "{page_of_last}");
    assert!(page_of_last.contains("model script"), "{page_of_last}");
    assert!(!page_of_last.contains("<script") && page_of_last.contains("&lt;script&gt;"));
    // What nobody committed is in the working tree.
    assert!(page_of_last.contains("not committed") && page_of_last.contains("a.txt"), "{page_of_last}");
    let old = page(&project, &["--run", &first]);
    for text in ["Only b, with their subtasks.", "at most $2.00", "Plan now:", &format!("--run {first}")] {
        assert!(old.contains(text), "{text}: {old}");
    }
    for page in [&active, &crashed, &page_of_last, &old] {
        expect_well_formed(page);
    }
    let markdown = page(&project, &["--format", "md"]);
    for text in
        ["## What was asked", "## Changed files", "## Cost and decisions", "Plan now: ", "Run from 20"]
    {
        assert!(markdown.contains(text), "{text}: {markdown}");
    }
}

#[test]
fn a_report_of_a_thousand_failed_attempts_keeps_its_size() {
    let project = project();
    project.ralph(&["run", "b"]).expect_code(5);
    let text = "日本語のテキスト<&>\"'".repeat(400);
    let database = project.database();
    let columns = |table: &str| -> String {
        let sql = format!("SELECT group_concat(name) FROM pragma_table_info('{table}')");
        database.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let (outcomes, reports) = (columns("iteration_outcomes"), columns("failure_reports"));
    let numbered = |columns: &str| columns.replace("attempt_number", "n.i").replace("ordinal", "n.i");
    let text = text.replace('\'', "''");
    let with_text = numbered(&reports).replace("why_it_failed", &format!("'{text}'"));
    let with_text = with_text.replace("what_was_tried", &format!("'{text}'")).replace("auto", "0");
    let n =
        "(WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n) n";
    database
        .execute_batch(&format!(
            "INSERT INTO iteration_outcomes ({outcomes}) SELECT {} FROM iteration_outcomes o, {n} WHERE o.attempt_number = 1;
             INSERT INTO failure_reports ({reports}) SELECT {with_text} FROM failure_reports o, {n} WHERE o.attempt_number = 1;",
            numbered(&outcomes)
        ))
        .unwrap();
    let page = page(&project, &[]);
    assert!(page.contains("Failed attempts: 1000"), "{}", page.len());
    assert!(page.len() < 2_000_000, "{}", page.len());
    expect_well_formed(&page);
    let markdown = project.ok(&["report", "--format", "md"]).stdout;
    assert!(markdown.chars().count() < 65_536, "{}", markdown.chars().count());
}

#[test]
fn a_report_is_written_where_no_link_leads_and_refuses_names_that_say_no_format() {
    let project = project();
    project.set("report", "at_end = true");
    project.ralph(&["run", "b"]).expect_code(5);
    let reports: Vec<_> = fs::read_dir(project.path(".ralph/reports")).unwrap().flatten().collect();
    assert_eq!(reports.len(), 1);
    let mode = reports[0].metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    // A link in the place of the file goes; one in the place of the directory is refused.
    let (path, elsewhere) = (reports[0].path(), project.path("elsewhere"));
    fs::remove_file(&path).unwrap();
    fs::write(&elsewhere, "mine").unwrap();
    symlink(&elsewhere, &path).unwrap();
    project.ok(&["report"]);
    assert!(!path.is_symlink());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    fs::remove_dir_all(project.path(".ralph/reports")).unwrap();
    fs::create_dir(project.path("target")).unwrap();
    symlink(project.path("target"), project.path(".ralph/reports")).unwrap();
    project.ralph(&["report"]).expect_code(1);
    project.ralph(&["run", "b"]);
    assert_eq!(fs::read_dir(project.path("target")).unwrap().count(), 0);

    for (file, code, says) in [
        ("r.txt", 2, "--format"),
        ("nodir/r.html", 2, "there is no directory"),
        ("r.md", 0, ""),
        ("r.html", 0, ""),
    ] {
        let told = project.ralph(&["report", "-o", file]).expect_code(code);
        assert!(told.stderr.contains(says), "{file}: {}", told.stderr);
    }
    assert!(project.read("r.md").starts_with("# "));
    project.ok(&["task", "edit", "b", "--title", "key AKIAIOSFODNN7EXAMPLE"]);
    assert!(!project.ok(&["report", "--json"]).stdout.contains("AKIA"));
}
