//! The webhook.

use std::net::TcpListener;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use super::receiver::{Answer, Receiver};
use super::{occasions, project, with_webhook};
use crate::support::{PATIENCE, Project, eventually};

#[test]
fn a_finished_run_is_posted_as_json() {
    let receiver = Receiver::new();
    let project = with_webhook(&["a", "b"], &receiver, "");
    project.ok(&["run"]);
    let posts = receiver.posts();
    assert_eq!(posts.len(), 1, "{posts:?}");
    let post = &posts[0];
    assert_eq!(post.request, "POST /private/path?token=querytoken HTTP/1.1");
    assert_eq!(post.header("content-type"), "application/json");
    let agent = format!("ralph/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(post.header("user-agent"), agent);
    assert_eq!(post.header("x-ralph-event"), "done");
    assert_eq!(post.header("x-ralph-delivery").len(), 32);
    assert_eq!(post.find("x-ralph-signature"), None);
    let notice = post.notice();
    assert_eq!(notice["v"], 1);
    assert_eq!(notice["occasion"], "done");
    assert_eq!(notice["exit_code"], 0);
    assert_eq!(notice["tasks"]["done"], 2);
    assert_eq!(notice["project"]["name"], "work");
    let root = project.root().canonicalize().unwrap();
    assert_eq!(notice["project"]["root"], json!(root));
    assert_eq!(notice["event"]["type"], "run_finished");
    let run = &project.json(&["status", "--json"])["run"];
    assert_eq!(notice["run_id"], run["id"]);
}

#[test]
fn a_task_that_waits_for_a_person_is_told_of_once_and_so_is_the_end() {
    let receiver = Receiver::new();
    let project = with_webhook(&["bad"], &receiver, "");
    project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    let notices = receiver.notices();
    assert_eq!(occasions(&notices), ["blocked", "blocked"]);
    let task = &notices[0];
    assert_eq!(task["task"]["key"], "bad");
    assert_eq!(task["next"], "ralph run bad");
    assert_eq!(task["title"], "work: bad Thing bad is blocked and needs you");
    assert!(!task["message"].as_str().unwrap().is_empty(), "{task}");
    let end = &notices[1];
    assert_eq!((&end["exit_code"], &end["task"]), (&json!(5), &json!(null)));
    let ids: Vec<String> =
        receiver.posts().iter().map(|post| post.header("x-ralph-delivery").to_owned()).collect();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn only_what_is_wanted_is_told() {
    let receiver = Receiver::new();
    let project = with_webhook(&["bad", "good"], &receiver, "on = [\"done\", \"error\"]");
    project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    assert_eq!(receiver.posts().len(), 0);
    project.ok(&["task", "skip", "bad"]);
    project.ok(&["run"]);
    assert_eq!(occasions(&receiver.notices()), ["done"]);
}

#[test]
fn limits_budgets_breaker_and_errors_have_their_occasions() {
    let receiver = Receiver::new();
    let project = with_webhook(&["bad-1", "bad-2", "bad-3"], &receiver, "");
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(occasions(&receiver.notices()), ["limit"]);
    project.ralph(&["run", "--max-minutes", "0.000001"]).expect_code(4);
    assert_eq!(receiver.notices()[1]["occasion"], "budget");
    project.set("breaker", "threshold = 3");
    project.ralph(&["run"]).expect_code(6);
    let notices = receiver.notices();
    let of_the_breaker: Vec<_> = notices.iter().filter(|notice| notice["occasion"] == "breaker").collect();
    assert_eq!(of_the_breaker.len(), 1, "{notices:?}");
    let message = of_the_breaker[0]["message"].as_str().unwrap();
    assert!(message.contains("Failure Analysis:"), "{message}");
    project.configure("[agents.gone]\nkind = \"command\"\ncommand = [\"/does/not/exist\"]");
    project.ok(&["breaker", "reset"]);
    project.ralph(&["run", "--agent", "gone"]).expect_code(1);
    let last = receiver.notices().pop().unwrap();
    assert_eq!(last["occasion"], "error");
    assert!(last["message"].as_str().unwrap().contains("/does/not/exist"), "{last}");
}

/// Where not even the end of the run can be recorded, a person is told all the same: here on a full disk.
#[test]
fn a_run_that_breaks_off_is_told_of() {
    let receiver = Receiver::new();
    let project = Project::empty();
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let url = receiver.url();
    let story = format!(
        r#"mount -t tmpfs -o size=3m tmpfs . && cd "$PWD" || exit 99
        {ralph} init > /dev/null && {ralph} task add A --key a > /dev/null
        cat > .ralph.toml <<'END'
        [run]
        agent = "s"
        [agents.s]
        kind = "command"
        command = ["sh", "-c", "cat > /dev/null; head -c 9000000 /dev/zero > filler"]
        [notify]
        webhook = "{url}"
END
        exec {ralph} run --quiet"#
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &story]).current_dir(project.root());
    let output = project.clean(&mut command).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let notices = receiver.notices();
    assert_eq!(occasions(&notices), ["error"], "{told}");
    assert_eq!(notices[0]["exit_code"], 1);
    let message = notices[0]["message"].as_str().unwrap();
    assert!(message.contains("disk is full"), "{message}");
}

#[test]
fn the_signature_proves_the_body_and_its_time() {
    let receiver = Receiver::new();
    let secret = "not for everybody";
    let project = with_webhook(&["a"], &receiver, &format!("webhook_secret = \"{secret}\""));
    project.ok(&["run", "--json"]);
    let post = &receiver.posts()[0];
    let timestamp = post.header("x-ralph-timestamp");
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{timestamp}.{}", post.body).as_bytes());
    let bytes = mac.finalize().into_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(post.header("x-ralph-signature"), format!("sha256={hex}"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let age = now.as_secs().abs_diff(timestamp.parse().unwrap());
    assert!(age < 60, "{age}");
    // Neither the record of the run nor what is shown of the settings holds the secret.
    let recorded: String = project
        .database()
        .query_row("SELECT group_concat(settings) FROM runs", [], |row| row.get(0))
        .unwrap();
    let shown = project.ok(&["config", "show"]).stdout;
    for text in [recorded, shown] {
        assert!(text.contains("http://127.0.0.1"), "{text}");
        assert!(!text.contains(secret) && !text.contains("private"), "{text}");
    }
}

#[test]
fn a_server_in_trouble_is_asked_again_for_the_same_delivery() {
    let receiver = Receiver::answering(&[Answer::Status(500), Answer::Status(200)]);
    let project = with_webhook(&["a"], &receiver, "");
    let output = project.ok(&["run"]);
    assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    let posts = receiver.posts();
    assert_eq!(posts.len(), 2, "{posts:?}");
    assert_eq!(posts[0].body, posts[1].body);
    let delivery = |nth: usize| posts[nth].header("x-ralph-delivery").to_owned();
    assert_eq!(delivery(0), delivery(1));
    assert!(posts[1].at - posts[0].at >= Duration::from_millis(240));
}

#[test]
fn a_server_may_ask_for_more_time() {
    let receiver = Receiver::answering(&[Answer::With(429, "Retry-After: 2"), Answer::Status(200)]);
    let project = with_webhook(&["a"], &receiver, "");
    project.ok(&["notify", "test"]);
    let posts = receiver.posts();
    assert!(posts[1].at - posts[0].at >= Duration::from_secs(2));
}

#[test]
fn what_a_server_refuses_is_not_sent_again() {
    for answer in [Answer::Status(400), Answer::Status(404), Answer::With(302, "Location: /elsewhere")] {
        let receiver = Receiver::answering(std::slice::from_ref(&answer));
        let project = with_webhook(&["a"], &receiver, "");
        let output = project.ok(&["run"]);
        assert_eq!(receiver.posts().len(), 1, "{answer:?}");
        let warnings = output.stderr.matches("cannot send the notification").count();
        assert_eq!(warnings, 1, "{}", output.stderr);
        let code = match answer {
            Answer::Status(code) | Answer::With(code, _) => code,
            Answer::Late(_) | Answer::Hang => 0,
        };
        let told = format!("HTTP {code}");
        assert!(output.stderr.contains(&told), "{}", output.stderr);
    }
}

#[test]
fn a_server_that_is_not_there_changes_nothing_but_is_told_once() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let project = project(
        &["a"],
        &format!(
            "webhook = \"http://user:password@127.0.0.1:{port}/private?token=querytoken\"\n\
             webhook_secret = \"hush-hush\"\nwebhook_retries = 2"
        ),
    );
    let output = project.ok(&["run"]);
    let told = &output.stderr;
    assert_eq!(told.matches("cannot send the notification").count(), 1, "{told}");
    assert!(told.contains(&format!("webhook http://127.0.0.1:{port}/…")), "{told}");
    assert!(told.contains("(after 3 attempts)"), "{told}");
    for secret in ["password", "private", "querytoken", "hush"] {
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn one_post_has_a_time_limit_and_the_end_of_a_run_has_one_too() {
    let receiver = Receiver::answering(&[Answer::Hang]);
    let more = "webhook_timeout = 1\nwebhook_retries = 1";
    let project = with_webhook(&["a"], &receiver, more);
    let started = Instant::now();
    let output = project.ralph(&["notify", "test"]).expect_code(1);
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert!(output.stdout.contains("no response in 1s (after 2 attempts)"), "{}", output.stdout);
    assert_eq!(receiver.posts().len(), 2);
    let output = project.ok(&["run"]);
    assert!(output.stderr.contains("sending notifications (webhook)"), "{}", output.stderr);
    assert!(output.stderr.contains("no response in 1s"), "{}", output.stderr);
    assert!(output.stdout.contains("1 of 1 done"), "{}", output.stdout);
}

#[test]
fn the_loop_does_not_wait_for_a_webhook_that_hangs() {
    let receiver = Receiver::answering(&[Answer::Hang]);
    let project = with_webhook(&["bad-1", "bad-2", "good-1", "good-2"], &receiver, "webhook_timeout = 600");
    project.set("breaker", "threshold = 50");
    let mut run = project.start(&["run", "--max-attempts", "1"]);
    eventually("the run is over", || project.json(&["status", "--json"])["run"]["ended_at"].is_string());
    assert_eq!(project.history().len(), 4, "every attempt was made");
    eventually("the first post arrives", || !receiver.posts().is_empty());
    assert_eq!(receiver.posts().len(), 1, "the first post hangs still");
    assert!(run.try_wait().unwrap().is_none(), "notices are waited for");
    receiver.release();
    assert_eq!(run.wait().unwrap().code(), Some(5));
    assert_eq!(occasions(&receiver.notices()), ["blocked", "blocked", "blocked"]);
}

/// Each of them alone is within its limits, and so are all of them.
#[test]
fn notices_that_wait_for_a_slow_webhook_are_all_sent_the_end_of_the_run_too() {
    let receiver = Receiver::answering(&[Answer::Late(Duration::from_secs(1))]);
    let project = with_webhook(
        &["bad-1", "bad-2", "bad-3", "bad-4"],
        &receiver,
        "webhook_timeout = \"4s\"\nwebhook_retries = 0",
    );
    let output = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    let notices = receiver.notices();
    assert_eq!(notices.len(), 5, "{notices:?}");
    assert_eq!(notices[4]["exit_code"], 5);
}

#[test]
fn ctrl_c_at_the_end_does_without_what_is_left() {
    use rustix::process::{Pid, Signal, kill_process};
    let receiver = Receiver::answering(&[Answer::Hang]);
    let project = with_webhook(&["a"], &receiver, "webhook_timeout = 600");
    let mut run = project.start(&["run"]);
    eventually("the post arrives", || !receiver.posts().is_empty());
    let asked = Instant::now();
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0), "the run had ended before");
    assert!(asked.elapsed() < PATIENCE);
}
