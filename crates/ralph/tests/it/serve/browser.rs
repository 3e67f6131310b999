//! A real Chromium, driven through ChromeDriver's HTTP interface.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::PATIENCE;

pub struct Browser {
    driver: Child,
    http: ureq::Agent,
    session: String,
    // Removed with everything that Chromium kept in it.
    _profile: tempfile::TempDir,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

impl Browser {
    /// A window of so many pixels.
    #[track_caller]
    pub fn open(width: u32, height: u32, scheme: Scheme) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let rest = line.split("successfully on port ").nth(1)?;
            rest.trim_end_matches('.').parse::<u16>().ok()
        });
        let config =
            ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build();
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self {
            driver,
            http: config.into(),
            session: format!("http://127.0.0.1:{}/session", port.unwrap()),
            _profile: profile,
        };
        let profile = format!("--user-data-dir={}", browser._profile.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            &profile,
        ];
        let made = browser.call(
            "POST",
            "",
            &json!({ "capabilities": { "alwaysMatch": {
                "goog:chromeOptions": { "args": arguments },
                "goog:loggingPrefs": { "browser": "ALL" },
            }}}),
        );
        browser.session = format!("{}/{}", browser.session, made["sessionId"].as_str().unwrap());
        let mobile = width < 600;
        browser.devtools(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile }),
        );
        let scheme = if scheme == Scheme::Dark { "dark" } else { "light" };
        browser.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
        browser
    }

    #[track_caller]
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let response = match method {
            "POST" => self.http.post(&url).header("Content-Type", "application/json").send(body.to_string()),
            "DELETE" => self.http.delete(&url).call(),
            _ => self.http.get(&url).call(),
        };
        let mut response = response.unwrap();
        let text = response.body_mut().with_config().limit(64 * 1024 * 1024).read_to_string().unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(response.status().is_success(), "{path}: {}", answer["value"]["message"]);
        answer["value"].clone()
    }

    #[track_caller]
    fn devtools(&self, command: &str, params: &Value) -> Value {
        self.call("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": params }))
    }

    #[track_caller]
    pub fn go(&self, url: &str) {
        self.call("POST", "/url", &json!({ "url": url }));
    }

    /// What a script gives back.
    #[track_caller]
    pub fn script(&self, script: &str) -> Value {
        self.call("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression is true in the page.
    #[track_caller]
    pub fn wait(&self, expression: &str) {
        let started = Instant::now();
        while self.script(&format!("return Boolean({expression})")) != true {
            let page = || self.script("return document.body.innerText");
            assert!(started.elapsed() < PATIENCE, "in vain: {expression}\n{}\n{:?}", page(), self.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for a text anywhere on the page.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.wait(&format!("document.body.innerText.includes({})", json!(text)));
    }

    /// Clicks what a selector finds, with the mouse, as a person does.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.wait(&format!("document.querySelector({})", json!(selector)));
        // A part of the page may be built anew in between.
        let started = Instant::now();
        loop {
            let found =
                self.call("POST", "/elements", &json!({ "using": "css selector", "value": selector }));
            let element = found[0].as_object().and_then(|of| of.values().next()).and_then(Value::as_str);
            let url = element.map(|id| format!("{}/element/{id}/click", self.session));
            let clicked =
                url.map(|url| self.http.post(&url).header("Content-Type", "application/json").send("{}"));
            match clicked {
                Some(Ok(answer)) if answer.status().is_success() => return,
                _ => assert!(started.elapsed() < PATIENCE, "cannot click {selector}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks a button by what stands on it, in what a selector finds.
    #[track_caller]
    pub fn click_button(&self, inside: &str, text: &str) {
        let find = format!(
            "[...document.querySelectorAll({})].find((button) => button.textContent === {})",
            json!(format!("{inside} button")),
            json!(text)
        );
        self.wait(&find);
        self.script(&format!("const button = {find}; button.setAttribute('data-test', 'wanted');"));
        self.click("[data-test=wanted]");
        self.script(
            "document.querySelectorAll('[data-test]').forEach((one) => one.removeAttribute('data-test'))",
        );
    }

    /// Runs a script before those of every page that is opened from now on.
    pub fn on_new_pages(&self, script: &str) {
        self.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": script }));
    }

    pub fn forget_cookies(&self) {
        self.devtools("Network.clearBrowserCookies", &json!({}));
    }

    #[track_caller]
    pub fn type_into(&self, selector: &str, text: &str) {
        self.click(selector);
        self.devtools("Input.insertText", &json!({ "text": text }));
    }

    /// Everything that the console holds: errors, and what the policy refused.
    #[track_caller]
    pub fn errors(&self) -> Vec<String> {
        let log = self.call("POST", "/se/log", &json!({ "type": "browser" }));
        log.as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    #[track_caller]
    pub fn screenshot(&self, path: &Path) {
        let shot = self.devtools("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends Chromium; a test that failed may have left it in any state.
        let _ = self.http.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
