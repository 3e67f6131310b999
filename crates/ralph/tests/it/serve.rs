//! The dashboard: who is answered and with what, over raw sockets; and, in `page`, what a real browser shows of it.

mod browser;
mod page;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Project};

/// A dashboard that runs, and its secrets.
pub struct Serve {
    child: Child,
    pub link: String,
    pub host: String,
    pub token: String,
}

/// What came back for a request.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// What a page has after it exchanged its token.
pub struct Login {
    cookie: String,
    key: String,
}

impl Serve {
    #[track_caller]
    pub fn start(project: &Project, args: &[&str]) -> Self {
        let mut child = project
            .patient_command(&[&["serve"], args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let link = line.trim_end().to_owned();
        let rest = link.strip_prefix("http://").unwrap_or_else(|| panic!("{line:?} {:?}", child.wait()));
        let (host, token) = rest.split_once("/#token=").unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        Self { child, link, host, token }
    }

    pub fn port(&self) -> u16 {
        self.host.rsplit(':').next().unwrap().parse().unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    #[track_caller]
    fn raw(&self, request: &str) -> Reply {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    #[track_caller]
    fn get(&self, path: &str, headers: &str) -> Reply {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.host))
    }

    #[track_caller]
    fn post(&self, path: &str, headers: &str, body: &str) -> Reply {
        let length = body.len();
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {length}\r\n{headers}\r\n{body}",
            self.host
        ))
    }

    #[track_caller]
    fn login(&self) -> Login {
        let origin = format!("Origin: http://{}\r\n", self.host);
        let reply = self.post("/api/session", &origin, &json!({ "token": self.token }).to_string());
        assert_eq!(reply.status, 200, "{reply:?}");
        let cookie = reply.head.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Login { cookie, key: reply.json()["key"].as_str().unwrap().to_owned() }
    }

    /// The JSON of a view.
    #[track_caller]
    fn view(&self, login: &Login, path: &str) -> Value {
        let reply = self.get(path, &format!("Cookie: {}\r\n", login.cookie));
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    /// What an action of the page comes to.
    fn act(&self, login: &Login, body: &Value) -> Reply {
        let Login { cookie, key } = login;
        let host = &self.host;
        let headers = format!("Cookie: {cookie}\r\nX-Ralph-Key: {key}\r\nOrigin: http://{host}\r\n");
        self.post("/api/action", &headers, &body.to_string())
    }

    /// Ends it with a signal: what it wrote to standard output after its first line, to standard error, and its exit code.
    fn end(mut self, signal: &str) -> (String, String, i32) {
        // Its parent is `timeout`, which passes signals on.
        Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (out, err, self.child.wait().unwrap().code().unwrap_or(-1))
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
            let _ = self.child.wait();
        }
    }
}

fn project() -> Project {
    let project = Project::new();
    project.add(&["Keep the list", "--key", "1.1", "--phase", "1", "--verify", "true"]);
    project.add(&["Show the list", "--key", "1.2", "--phase", "1", "--after", "1.1"]);
    project
}

#[test]
fn the_link_is_all_that_stands_on_standard_output() {
    let project = project();
    for signal in ["-INT", "-TERM"] {
        let serve = Serve::start(&project, &[]);
        assert!(serve.link.starts_with("http://127.0.0.1:") && serve.token.len() >= 43, "{}", serve.link);
        let (out, err, code) = serve.end(signal);
        assert_eq!((out.as_str(), code), ("", 0), "{signal}: {err}");
        assert!(err.contains("Ctrl-C") && !err.contains("warning"), "{err}");
    }
}

#[test]
fn a_dashboard_makes_no_database() {
    let without_plan = Project::new();
    std::fs::remove_file(without_plan.path(".ralph/progress.db")).unwrap();
    for project in [Project::empty(), without_plan] {
        let output = project.ralph(&["serve"]).expect_code(2);
        assert_eq!(output.stdout, "");
        assert!(!project.path(".ralph/progress.db").exists());
    }
}

#[test]
fn only_the_page_itself_is_answered_without_a_cookie_and_nothing_to_a_foreign_name() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let login = serve.login();
    let cookie = format!("Cookie: {}\r\n", login.cookie);
    for path in ["/", "/app.js", "/app.css", "/icon.svg"] {
        let reply = serve.get(path, "");
        assert_eq!(reply.status, 200, "{path}");
        assert!(!reply.body.contains("Keep the list") && !reply.body.contains(&serve.token), "{path}");
    }
    let views = [
        "/api/now",
        "/api/plan",
        "/api/task?task=1.1",
        "/api/prompt?task=1.1",
        "/api/prompt?task=1.1&number=1",
        "/api/log?task=1.1",
        "/api/diff?task=1.1",
        "/api/decisions",
        "/api/memory",
        "/api/runs",
        "/report?run=r-1",
    ];
    for path in views {
        assert_eq!(serve.get(path, &cookie).status, 200, "{path}");
    }
    let beside =
        ["/api/events", "/api/none", "/none", "/../../etc/passwd", "/api/../../.ralph.toml", "/%2e%2e/x"];
    for path in views.iter().chain(&beside) {
        for headers in
            ["", "Cookie: ralph=1\r\n", "Cookie: ralph_0=; ralph_1=x\r\n", "Authorization: Bearer x\r\n"]
        {
            let reply = serve.get(path, headers);
            assert_eq!(reply.status, 401, "{path} {headers}");
            assert!(!reply.body.contains("Keep the list"), "{path}");
        }
    }
    for path in ["/../../etc/passwd", "/api/../../.ralph.toml", "/%2e%2e/x", "/none", "/api/none"] {
        let reply = serve.get(path, &cookie);
        assert!(reply.status == 404 || reply.body.contains("no such page"), "{path}: {reply:?}");
        assert!(!reply.body.contains("root:") && !reply.body.contains("[run]"), "{path}");
    }
    // A name that was made to lead here: refused before anything else, whatever else is right.
    for host in
        ["evil.example", "localhost.evil.example", "127.0.0.1", "127.0.0.1.evil.example", "10.0.0.1", ""]
    {
        let host = if host.is_empty() { String::new() } else { format!("{host}:{}", serve.port()) };
        let host = if host.starts_with("127.0.0.1:") { "127.0.0.1:1".to_owned() } else { host };
        for path in ["/", "/app.js", "/api/now", "/none"] {
            let reply = serve.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n"));
            assert_eq!(reply.status, 403, "{host} {path}");
        }
        let body = json!({ "token": serve.token }).to_string();
        let length = body.len();
        let reply = serve.raw(&format!(
            "POST /api/session HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        assert_eq!(reply.status, 403, "{host}");
        assert!(!reply.head.contains("Set-Cookie"));
    }
    assert_eq!(serve.raw("GET / HTTP/1.1\r\n\r\n").status, 400);
    assert_eq!(serve.raw("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").status, 400);
}

#[test]
fn every_answer_has_strict_headers() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let login = serve.login();
    let cookie = format!("Cookie: {}\r\n", login.cookie);
    for path in ["/", "/app.js", "/api/now", "/none"] {
        for headers in ["", &cookie] {
            let reply = serve.get(path, headers);
            for header in [
                "X-Content-Type-Options: nosniff",
                "Referrer-Policy: no-referrer",
                "X-Frame-Options: DENY",
                "Cache-Control: no-store",
                "default-src 'none'; script-src 'self'; style-src 'self';",
                "frame-ancestors 'none'",
                "require-trusted-types-for 'script'",
            ] {
                assert!(reply.head.contains(header), "{path}: no {header} in {}", reply.head);
            }
            assert!(
                !reply.head.contains("unsafe") && !reply.head.contains("Access-Control"),
                "{}",
                reply.head
            );
        }
    }
    // The report brings its own style sheet, which is allowed by its hash and nothing else is.
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"; echo x >> file");
    project.ralph(&["run"]);
    let run = project.json(&["runs", "--json"])[0]["run_id"].as_str().unwrap().to_owned();
    let report = serve.get(&format!("/report?run={run}"), &cookie);
    assert!(report.body.contains("<style>") && report.body.contains("Keep the list"), "{report:?}");
    assert!(
        report.head.contains("style-src 'sha256-") && report.head.contains("; sandbox"),
        "{}",
        report.head
    );
}

#[test]
fn a_change_needs_the_cookie_the_pages_origin_and_its_key() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let Login { cookie, key } = serve.login();
    let own = format!("http://{}", serve.host);
    let body = json!({ "action": "skip", "task": "1.1" }).to_string();
    let other_port = format!("http://127.0.0.1:{}", serve.port().wrapping_add(1));
    for (cookie, origin, key, status) in [
        ("", own.as_str(), key.as_str(), 401),
        (&cookie, "", &key, 403),
        (&cookie, "http://evil.example", &key, 403),
        (&cookie, "null", &key, 403),
        (&cookie, &other_port, &key, 403),
        (&cookie, &own, "", 403),
        (&cookie, &own, "1", 403),
        (&cookie, &own, &serve.token, 403),
    ] {
        let line = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!("{name}: {value}\r\n"),
        };
        let headers = line("Cookie", cookie) + &line("Origin", origin) + &line("X-Ralph-Key", key);
        assert_eq!(serve.post("/api/action", &headers, &body).status, status, "{headers}");
        assert_eq!(project.status_of("1.1"), "pending", "{headers}");
    }
    // No reading address changes anything.
    let get = format!("Cookie: {cookie}\r\nOrigin: {own}\r\nX-Ralph-Key: {key}\r\n");
    assert_eq!(serve.get("/api/action?action=skip&task=1.1", &get).status, 404);
    assert_eq!(project.status_of("1.1"), "pending");
    let login = Login { cookie, key };
    let reply = serve.act(&login, &json!({ "action": "skip", "task": "1.1" }));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.json()["lines"][0].as_str().unwrap().contains("skipped"), "{reply:?}");
    assert_eq!(project.status_of("1.1"), "skipped");
    for body in [
        json!({}),
        json!({ "action": "rm" }),
        json!({ "action": "skip", "task": "none" }),
        json!([1]),
        json!({ "action": "note", "task": "1.2", "text": " " }),
    ] {
        let reply = serve.act(&login, &body);
        assert!([400, 409].contains(&reply.status) && !reply.json()["error"].is_null(), "{body}: {reply:?}");
    }
}

#[test]
fn what_was_stolen_is_worthless_after_a_restart() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let (port, token, login) = (serve.port().to_string(), serve.token.clone(), serve.login());
    serve.end("-TERM");
    let serve = Serve::start(&project, &["--port", &port]);
    assert_eq!(serve.port().to_string(), port);
    let cookie = format!("Cookie: {}\r\n", login.cookie);
    assert_eq!(serve.get("/api/now", &cookie).status, 401);
    assert_eq!(serve.act(&login, &json!({ "action": "skip", "task": "1.1" })).status, 401);
    let origin = format!("Origin: http://{}\r\n", serve.host);
    let reply = serve.post("/api/session", &origin, &json!({ "token": token }).to_string());
    assert_eq!(reply.status, 401);
    assert!(!reply.head.contains("Set-Cookie"));
    // The new cookie with the old key changes nothing either.
    let mixed = Login { cookie: serve.login().cookie, key: login.key };
    assert_eq!(serve.act(&mixed, &json!({ "action": "skip", "task": "1.1" })).status, 403);
}

#[test]
fn slow_connections_take_nobodys_place() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let login = serve.login();
    // Far more than there is room for: silent ones, and ones that never end their request.
    let mut slow: Vec<TcpStream> = Vec::new();
    for n in 0..500 {
        let mut stream = serve.connect();
        if n % 2 == 0 {
            // Those that made way are closed already.
            let _ = stream.write_all(b"POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12");
        }
        slow.push(stream);
        if n % 100 == 0 {
            assert_eq!(serve.view(&login, "/api/now")["counts"]["total"], 2);
        }
    }
    assert_eq!(serve.view(&login, "/api/now")["counts"]["total"], 2);
    // Each of them is ended, none is waited for without end.
    for mut stream in slow {
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        assert!(ended.is_ok() || ended.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    }
    assert_eq!(serve.view(&login, "/api/now")["counts"]["total"], 2);
}

#[test]
fn a_request_without_end_is_refused_before_it_fills_the_memory() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let mut stream = serve.connect();
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
    let chunk = [b'x'; 4096];
    let sent = (0..64).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    let mut reply = String::new();
    // The answer, or that the connection is gone.
    let _ = stream.read_to_string(&mut reply);
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{sent} {reply}");
    let reply = serve.raw("POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
    assert_eq!(reply.status, 413);
}

#[test]
fn elsewhere_the_dashboard_says_so_loudly_and_changes_nothing() {
    let project = project();
    let skip = json!({ "action": "skip", "task": "1.1" });
    let serve = Serve::start(&project, &["--host", "0.0.0.0"]);
    let login = serve.login();
    assert_eq!(serve.view(&login, "/api/now")["actions"], false);
    let reply = serve.act(&login, &skip);
    assert_eq!(reply.status, 403);
    assert!(reply.body.contains("--allow-actions"), "{reply:?}");
    assert_eq!(project.status_of("1.1"), "pending");
    // A number is its own name; another name is refused here, too.
    let named = serve.raw(&format!("GET / HTTP/1.1\r\nHost: evil.example:{}\r\n\r\n", serve.port()));
    assert_eq!(named.status, 403);
    let (_, err, _) = serve.end("-INT");
    assert!(
        err.contains("warning: the dashboard listens on 0.0.0.0") && err.contains("not only on this machine"),
        "{err}"
    );
    assert!(err.contains("nothing is encrypted"), "{err}");
    let serve = Serve::start(&project, &["--host", "0.0.0.0", "--allow-actions"]);
    assert_eq!(serve.act(&serve.login(), &skip).status, 200);
    let serve = Serve::start(&project, &["--allow-actions=false"]);
    assert_eq!(serve.act(&serve.login(), &skip).status, 403);
    project.ralph(&["serve", "--host", "no such host"]).expect_code(2);
}

#[test]
fn what_others_wrote_arrives_as_clean_text() {
    let project = Project::new();
    let hostile =
        "<script>alert(1)</script>\u{1b}[31mred\u{202e}reversed\u{200b} \"><img src=x onerror=alert(2)>";
    let id = project.add(&["x", "--key", "1.1", "--verify", "false", "--description", "y"]);
    // As an older version or another program may have left it.
    project.database().execute("UPDATE tasks SET title = ?1, description = ?1", [hostile]).unwrap();
    project.agent(&format!(
        "printf '%s\\n' '{hostile}' >&2; printf '%s\\n' '{hostile}'; echo \"<task-failed>{id}</task-failed>\""
    ));
    project.ralph(&["run", "--limit", "1"]);
    let serve = Serve::start(&project, &[]);
    let login = serve.login();
    let cookie = format!("Cookie: {}\r\n", login.cookie);
    for path in [
        "/api/now",
        "/api/plan",
        "/api/task?task=1.1",
        "/api/prompt?task=1.1",
        "/api/prompt?task=1.1&number=1",
        "/api/log?task=1.1",
        "/api/decisions",
        "/api/memory",
    ] {
        let reply = serve.get(path, &cookie);
        assert!(!reply.body.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{path}");
        assert!(!reply.body.contains("\\u001b"), "{path}: {}", reply.body);
        assert!(reply.head.contains("Content-Type: application/json"), "{path}");
    }
    let drawing = serve.view(&login, "/api/plan")["svg"].as_str().unwrap().to_owned();
    assert!(
        drawing.contains("&lt;script&gt;") && !drawing.contains("<script") && !drawing.contains("<img"),
        "{drawing}"
    );
}

/// The events of the stream, as `(name, data)`.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(serve: &Serve, login: &Login) -> Self {
        let mut stream = serve.connect();
        let request =
            format!("GET /api/events HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", serve.host, login.cookie);
        stream.write_all(request.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    /// The next event of this name that has something.
    #[track_caller]
    fn wait_for(&mut self, name: &str, has: impl Fn(&Value) -> bool) -> Value {
        let mut kind = String::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended before {name}");
            if let Some(is) = line.strip_prefix("event: ") {
                kind = is.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| kind == name) {
                let data: Value = serde_json::from_str(data).unwrap();
                if has(&data) {
                    return data;
                }
            }
        }
    }
}

#[test]
fn pages_hear_of_a_run_of_another_process_of_its_output_and_of_its_crash() {
    let project = project();
    project.agent("echo working hard; until [ -e go ]; do sleep 0.02; done; echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    let serve = Serve::start(&project, &[]);
    let login = serve.login();
    let mut events: Vec<Events> = (0..3).map(|_| Events::open(&serve, &login)).collect();
    for page in &mut events {
        let now = page.wait_for("now", |_| true);
        assert_eq!((&now["run"], &now["counts"]["total"]), (&Value::Null, &json!(2)));
    }
    let mut run = project.command(&["run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    for page in &mut events {
        let now = page.wait_for("now", |now| now["workers"][0]["name"] == "1.1");
        assert_eq!((&now["run"]["word"], &now["counts"]["in_progress"]), (&json!("running"), &json!(1)));
        page.wait_for("output", |output| output["text"].as_str().unwrap().contains("working hard"));
    }
    // A page that opens later is told at once, without anything new.
    let mut late = Events::open(&serve, &login);
    late.wait_for("now", |now| now["workers"][0]["name"] == "1.1");
    // kill -9: nobody writes that down.
    run.kill().unwrap();
    run.wait().unwrap();
    let now = late.wait_for("now", |now| now["run"]["word"] == "crashed");
    assert_eq!(now["counts"]["in_progress"], 0);
    project.write("go", "");
    assert_eq!(project.ralph(&["run"]).code, 0);
    let now = late.wait_for("now", |now| now["counts"]["done"] == 2 && now["run"]["active"] == false);
    assert_eq!(now["run"]["word"], "finished");
    // A database that somebody puts away is told of, and so is its return.
    std::fs::rename(project.path(".ralph/progress.db"), project.path("away.db")).unwrap();
    late.wait_for("trouble", |trouble| !trouble["error"].is_null());
    assert!(!project.path(".ralph/progress.db").exists());
    std::fs::rename(project.path("away.db"), project.path(".ralph/progress.db")).unwrap();
    late.wait_for("trouble", |trouble| trouble.is_null());
}

#[test]
fn a_large_plan_is_sent_in_parts() {
    let project = Project::new();
    project.add(&["first", "--phase", "1"]);
    let database = project.database();
    database
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO tasks (id, position, title, phase, created_at, updated_at)
             SELECT printf('t-%06x', i), i, 'Task ' || i, 1 + i % 40, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z' FROM n;",
        )
        .unwrap();
    drop(database);
    let serve = Serve::start(&project, &[]);
    let login = serve.login();
    let now = serve.view(&login, "/api/now");
    let rows: usize =
        now["groups"].as_array().unwrap().iter().map(|group| group["rows"].as_array().unwrap().len()).sum();
    assert!((1..=150).contains(&rows) && now["counts"]["total"] == 2000, "{rows}");
    let plan = serve.view(&login, "/api/plan");
    let boxes = |plan: &Value| plan["svg"].as_str().unwrap().matches("<a class=\"node").count();
    assert_eq!((boxes(&plan), plan["of"].as_u64()), (40, Some(40)), "{plan}");
    let group = serve.view(&login, "/api/plan?group=phase%202");
    assert_eq!((boxes(&group), &group["title"]), (49, &json!("Phase 2")));
    let cookie = format!("Cookie: {}\r\n", login.cookie);
    let sizes = ["/api/now", "/api/plan"].map(|path| serve.get(path, &cookie).body.len());
    assert!(sizes.iter().all(|size| *size < 200_000), "{sizes:?}");
}

#[test]
fn phases_have_the_names_of_the_plan_file_and_budgets_are_those_of_the_run() {
    let project = Project::new();
    project.agent("echo TASK_COMPLETE");
    project.write(
        "tasks.md",
        "# Tasks\n\n## Phase 1: Make it work\n\n- [ ] 1.1 Keep the list\n  - **Verify**: `true`\n\n\
         ## Phase 2\n\n- [ ] 2.1 Show the list\n  - **Verify**: `true`\n",
    );
    project.ok(&["import", "tasks.md"]);
    project.ok(&["run", "--max-minutes", "30"]);
    let serve = Serve::start(&project, &[]);
    let now = serve.view(&serve.login(), "/api/now");
    let texts = |list: &str, name: &str| -> Vec<String> {
        let all = now[list].as_array().unwrap().iter();
        all.map(|one| one[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts("groups", "title"), ["Phase 1: Make it work", "Phase 2"]);
    assert_eq!(texts("budgets", "label"), ["Time of the run"]);
    assert!(texts("budgets", "text")[0].ends_with(" of 30 min"), "{:?}", now["budgets"]);
}

#[test]
fn serving_ends_while_pages_are_open() {
    let project = project();
    let serve = Serve::start(&project, &[]);
    let login = serve.login();
    let mut events = Events::open(&serve, &login);
    events.wait_for("now", |_| true);
    let half = serve.connect();
    let (_, _, code) = serve.end("-INT");
    assert_eq!(code, 0);
    let mut rest = Vec::new();
    let _ = events.0.read_to_end(&mut rest);
    half.shutdown(Shutdown::Both).ok();
    assert_eq!(project.status_of("1.1"), "pending");
}
