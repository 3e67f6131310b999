//! A labelled set: kinds of secrets in the places where they are met, and lines that only look like them.

use super::mask_secrets;

/// A made-up secret after a prefix, so that nothing in this file is a key by anybody's reading.
fn fake(prefix: &str, length: usize) -> String {
    let body = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zC0fGkLrUyZ".chars().cycle();
    format!("{prefix}{}", body.take(length).collect::<String>())
}

fn hex(length: usize) -> String {
    "3f786850e387550fdab836ed7e6dc881de23001b"
        .chars()
        .cycle()
        .take(length)
        .collect()
}

/// Kind, a line that holds a secret, and the secret.
fn secrets() -> Vec<(&'static str, String, String)> {
    let mut rows: Vec<(&'static str, String, String)> = Vec::new();
    let mut row = |kind: &'static str, template: &str, secret: String| {
        rows.push((kind, template.replace("{}", &secret), secret));
    };
    // By shape.
    row("anthropic", "using {} for this", fake("sk-ant-api03-", 60));
    row(
        "openai",
        "Error: Incorrect API key provided: {}.",
        fake("sk-", 48),
    );
    row("openai project", "key={}", fake("sk-proj-", 48));
    row("openrouter", "{}", fake("sk-or-v1-", 40));
    row("groq", "GET with {} failed", fake("gsk_", 52));
    row("xai", "\"{}\"", fake("xai-", 60));
    row("replicate", "got {}", fake("r8_", 37));
    row("hugging face", "login {}", fake("hf_", 34));
    row("perplexity", "{}", fake("pplx-", 48));
    row("nvidia", "{}", fake("nvapi-", 64));
    row("langsmith", "{}", fake("lsv2_pt_", 32));
    row(
        "google api key",
        "https://maps.example/x?key={}&v=2",
        fake("AIza", 35),
    );
    row("google oauth", "access {} expires", fake("ya29.", 60));
    row("google refresh", "{}", fake("1//0", 50));
    row("google client secret", "{}", fake("GOCSPX-", 28));
    row("github classic", "remote: {}", fake("ghp_", 36));
    row("github oauth", "{}", fake("gho_", 36));
    row("github app", "{}", fake("ghs_", 36));
    row(
        "github fine-grained",
        "{}",
        fake("github_pat_", 22) + &fake("_", 59),
    );
    row("gitlab", "PRIVATE {}", fake("glpat-", 20));
    row("gitlab runner", "{}", fake("glrt-", 20));
    row("npm", "npm ERR! {}", fake("npm_", 36));
    row("pypi", "{}", fake("pypi-AgEIcHlwaS5vcmc", 60));
    row("rubygems", "{}", format!("rubygems_{}", hex(48)));
    row("docker hub", "{}", fake("dckr_pat_", 27));
    row("circleci", "{}", fake("CCIPAT_", 40));
    row("atlassian", "{}", fake("ATATT3", 60));
    row(
        "aws access key",
        "as {} in us-east-1",
        concat!("AKIA", "IOSFODNN7EXAMPLE").to_owned(),
    );
    row(
        "aws temporary",
        "{}",
        concat!("ASIA", "IOSFODNN7EXAMPLE").to_owned(),
    );
    row("digitalocean", "{}", format!("dop_v1_{}", hex(64)));
    row("databricks", "{}", format!("dapi{}", hex(32)));
    row("vault", "X-Vault: {}", fake("hvs.", 90));
    row("terraform", "{}", fake("", 14) + &fake(".atlasv1.", 60));
    row("supabase", "{}", format!("sbp_{}", hex(40)));
    row("planetscale", "{}", fake("pscale_tkn_", 40));
    row("pulumi", "{}", format!("pul-{}", hex(40)));
    row("tailscale", "{}", fake("tskey-auth-", 30));
    row("doppler", "{}", fake("dp.st.prod.", 40));
    row(
        "age",
        "{}",
        format!("AGE-SECRET-KEY-1{}", hex(58).to_uppercase()),
    );
    row("netlify", "{}", fake("nfp_", 40));
    row("stripe", "{}", fake(concat!("sk_", "live_"), 24));
    row("stripe restricted", "{}", fake(concat!("rk_", "live_"), 24));
    row("stripe webhook", "{}", fake("whsec_", 32));
    row("square", "{}", fake("sq0csp-", 43));
    row("shopify", "{}", format!("shpat_{}", hex(32)));
    row("slack bot", "{}", fake("xoxb-123456789012-", 24));
    row("slack app", "{}", fake("xapp-1-A0B1-", 40));
    row(
        "slack webhook",
        "POST https://{} 404",
        fake("hooks.slack.com/services/T00000000/B00000000/", 24),
    );
    row(
        "discord webhook",
        "https://{}",
        fake("discord.com/api/webhooks/123456789012345678/", 68),
    );
    row("sendgrid", "{}", fake("SG.", 22) + &fake(".", 43));
    row("mailgun", "{}", format!("key-{}", hex(32)));
    row("brevo", "{}", format!("xkeysib-{}", hex(64)));
    row("resend", "{}", fake("re_", 8) + &fake("_", 24));
    row("twilio", "{}", format!("SK{}", hex(32)));
    row(
        "telegram",
        "https://api.example/bot{}/x",
        format!("1234567890{}", fake(":AA", 33)),
    );
    row("linear", "{}", fake("lin_api_", 40));
    row("notion", "{}", fake("ntn_", 46));
    row("figma", "{}", fake("figd_", 40));
    row("postman", "{}", format!("PMAK-{}", hex(58)));
    row(
        "new relic",
        "{}",
        format!("NRAK-{}", hex(27).to_uppercase()),
    );
    row("sentry", "{}", fake("sntrys_", 60));
    row("grafana", "{}", fake("glsa_", 40));
    row(
        "json web token",
        "cookie {}",
        format!("{}.{}.{}", fake("eyJ", 33), fake("eyJ", 60), fake("", 43)),
    );
    // By the name or the place.
    row(
        "azure sas",
        "https://a.example/c/b?sv=2024&sig={}&se=2026",
        format!("{}%2B{}%3D", fake("", 20), fake("", 18)),
    );
    row(
        "azure account key",
        "AccountName=a;AccountKey={};Suffix=x",
        fake("", 86) + "==",
    );
    row(
        "aws secret",
        "aws_secret_access_key = {}",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYZZZZ".to_owned(),
    );
    row(
        "aws signed url",
        "?X-Amz-Credential=a&X-Amz-Signature={}",
        hex(64),
    );
    row(
        "environment line",
        "export MAIL_PASSWORD={}",
        "tr0ub4dor".to_owned(),
    );
    row("master key", "RAILS_MASTER_KEY={}", hex(32));
    row(
        "json field",
        "{\"client_secret\": \"{}\"}",
        "shh-quiet-please".to_owned(),
    );
    row("escaped json", "{\\\"apiKey\\\":\\\"{}\\\"}", fake("", 24));
    row("yaml field", "  password: {}", "s3cr3t!pass".to_owned());
    row(
        "name and value",
        "{\"name\": \"DB_PASSWORD\", \"value\": \"{}\"}",
        "tr0ub4dor3".to_owned(),
    );
    row(
        "name and value in yaml",
        "- name: API_TOKEN\n  value: {}",
        fake("", 20),
    );
    row(
        "xml element",
        "<password>{}</password>",
        "hunter2-hunter2".to_owned(),
    );
    row(
        "docker config",
        "\"auth\": \"{}\"",
        "dXNlcjE6cGFzc3dvcmQx".to_owned(),
    );
    row(
        "npmrc",
        "//packages.example.org/:_authToken={}",
        fake("", 30),
    );
    row(
        "curl user",
        "curl -sS -u admin:{} https://x.example",
        "hunter2!".to_owned(),
    );
    row(
        "curl long user",
        "curl --user 'admin:{}' https://x.example",
        "hunter2!".to_owned(),
    );
    row("flag", "deploy --password {} --force", "hunter2".to_owned());
    row(
        "flag with equals",
        "deploy --api-key={}",
        "hunter2x".to_owned(),
    );
    row(
        "java flag",
        "keytool -storepass {} -alias a",
        "changeit1".to_owned(),
    );
    row("mysql", "mysql -h db -u root -p{} app", "S3cret".to_owned());
    row("sshpass", "sshpass -p {} ssh host", "S3cret".to_owned());
    row(
        "docker login",
        "docker login -u me -p {} hub",
        "S3cret-pass".to_owned(),
    );
    row(
        "redis",
        "redis-cli -h db -p 6379 -a {} ping",
        "S3cretX".to_owned(),
    );
    row(
        "openssl",
        "openssl rsa -passin pass:{} -in k",
        "S3cretX".to_owned(),
    );
    row("bearer", "Authorization: Bearer {}", fake("", 24));
    row(
        "basic",
        "Authorization: Basic {}",
        "dXNlcjpwYXNzd29yZA==".to_owned(),
    );
    row("raw authorization", "authorization: {}", fake("", 32));
    row(
        "other scheme",
        "\"Authorization\": \"ApiKey {}\"",
        fake("", 32),
    );
    row("api key header", "-H 'X-Api-Key: {}'", hex(16));
    row("gitlab header", "PRIVATE-TOKEN: {}", fake("", 20));
    row(
        "cookie header",
        "Cookie: session={}",
        fake("", 32) + "; theme=dark",
    );
    row(
        "set-cookie header",
        "< Set-Cookie: sid={}",
        fake("", 32) + "; Path=/; HttpOnly",
    );
    row(
        "url password",
        "postgres://app:{}@db:5432/x",
        "s3cr3t".to_owned(),
    );
    row("url token", "https://{}@o1.example/42", hex(32));
    row("query token", "GET /cb?access_token={}&x=1", fake("", 20));
    row(
        "netrc line",
        "machine a.example login me password {}",
        "s3cr3tpw".to_owned(),
    );
    row(
        "netrc file",
        "machine a.example\n  login me\n  password {}\n",
        "s3cr3tpw".to_owned(),
    );
    row("pgpass", "db.example:5432:app:me:{}", "s3cr3tpw".to_owned());
    row(
        "sql",
        "CREATE USER a IDENTIFIED BY '{}';",
        "s3cr3t pw".to_owned(),
    );
    row(
        "pem",
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        fake("MIIE", 60) + "\n" + &fake("", 64),
    );
    row(
        "pem without end",
        "-----BEGIN PRIVATE KEY-----\n{}\n",
        fake("MIIE", 60),
    );
    row(
        "pem without beginning",
        "{}\n-----END PRIVATE KEY-----",
        fake("", 64) + "\n" + &fake("", 30),
    );
    row(
        "pgp",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
        fake("lQOY", 60),
    );
    rows
}

/// Lines that hold no secret.
fn harmless() -> Vec<String> {
    let mut lines: Vec<String> = HARMLESS.iter().map(|line| (*line).to_owned()).collect();
    lines.push(format!("commit {}", hex(40)));
    lines.push(format!("sha256:{}", hex(64)));
    lines.push(format!("checksum = \"{}\"", hex(64)));
    lines.push(format!("index {}..{} 100644", hex(10), hex(12)));
    lines.push(format!("FROM rust@sha256:{}", hex(64)));
    lines.push(format!("\"integrity\": \"sha512-{}==\",", fake("", 86)));
    lines.push(format!("data:image/png;base64,{}", fake("iVBORw0KGgo", 80)));
    lines.push(format!("https://cdn.example/assets/app-{}.js", hex(20)));
    lines.push(format!("etag: \"{}\"", hex(32)));
    lines.push(format!("ssh-rsa {} me@host", fake("AAAAB3NzaC1yc2E", 200)));
    lines.push(format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----",
        fake("MIID", 60)
    ));
    lines.push(format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----",
        fake("MIID", 60)
    ));
    lines
}

const HARMLESS: &[&str] = &[
    "let token = parse(input)?;",
    "let token = lexer.next_token();",
    "fn login(password: &str, token: Option<Token2Type>) -> Result<()>",
    "password: String,",
    "pub secret: Option<SecretString>,",
    "tokens: 1234",
    "max_tokens = 128000",
    "\"usage\": {\"input_tokens\": 1234, \"output_tokens\": 99}",
    "per_token: 0.000003",
    "token == Token::Eof && secret != other",
    "const KEY: &str = \"run.max_attempts\";",
    "key: value",
    "for (key, value) in map.iter() {",
    "cache-key: linux-node-modules-v1",
    "CACHE_KEY=node-modules-v1-linux",
    "PRIMARY KEY (id), FOREIGN KEY (task_id) REFERENCES tasks(id)",
    "Press any key to continue",
    "keyboard-shortcuts: ctrl+k",
    "password = os.environ[\"DB_PASSWORD\"]",
    "password=password, token=self.token",
    "api_key=settings.api_key",
    "PASSWORD=$DB_PASSWORD",
    "api_key: ${{ secrets.API_KEY }}",
    "token: <your token>",
    "secret=***",
    "SECRET=/run/secrets/db",
    "Password: required. The token: it expired.",
    "\"password\": \"must be at least 8 characters\"",
    "error: missing field `token` at line 3 column 7",
    "the test handles_secret_token passed; is_secret: true",
    "test secrets::tests::masks_password_assignments ... ok",
    "test auth::bearer_token_is_required ... FAILED",
    "assertion `left == right` failed: token mismatch",
    "thread 'main' panicked at src/auth/token.rs:120:9:",
    "   at parseToken (/app/src/lexer.js:120:15)",
    "  File \"/app/auth.py\", line 42, in check_password",
    "error[E0308]: mismatched types: expected `Token`, found `&Token`",
    "warning: unused variable: `password`",
    "src/password.rs:12:5: error: expected expression",
    "Use a Bearer token; bearer authentication is basic.",
    "The Authorization header is missing.",
    "Authorization: required",
    "WWW-Authenticate: Basic realm=\"Restricted area\"",
    "Cookie: none",
    "Set-Cookie: theme=dark; Path=/",
    "The cookie policy: all cookies expire",
    "https://example.org:8080/@scope/pkg",
    "https://example.org/docs?page=2&sort=key",
    "ssh://git@host.example:22/x",
    "git@github.com:owner/repo.git",
    "http://u:${PW}@h",
    "npm_config_registry=https://packages.example.org",
    "sk-learn-style-pipelines and sk-2024-roadmap-notes",
    "the hf_transfer and npm_package_version variables",
    "risk-assessment-2024-final disk-0123456789abcdef0123",
    "task-done task-failed ask-before-commit",
    "r8_int fw_version re_compile glc_open",
    "SG. was the short form; key-value pairs",
    "3f786850-e387-550f-dab8-36ed7e6dc881",
    "session_id: 3f786850-e387-550f-dab8-36ed7e6dc881",
    "request id req_011CSHoEeqs5C35K2UUqR7Fy",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "toolu_01A09q90qw90lq917835lq9",
    "v1.2.3-beta.4+build.567",
    "serde = { version = \"1.0.219\", features = [\"derive\"] }",
    ".token { color: #a1b2c3; } .key-cap { margin: 0 }",
    "<input type=\"password\" name=\"password\">",
    "<token>",
    "docker run -u 1000:1000 -p 8080:80 image",
    "docker run -u node:node image",
    "mysql -u root -p app",
    "redis-cli -p 6379 ping",
    "git push -u origin main",
    "sudo -u postgres psql",
    "ps -u root; ls -p /tmp",
    "curl -u \"$USER:$TOKEN\" https://x.example",
    "login page: enter your password below",
    "account settings password field",
    "PWD=/home/user/project OLDPWD=/tmp/x1",
    "export const signature = computeSignature(body)",
    "signature: fn(&str) -> Result<u32, Error>",
    "name: build-and-test\n  value: nightly",
    "{\"name\": \"LOG_LEVEL\", \"value\": \"debug-and-more-0123456789\"}",
    "Option<Token>, Vec<Secret>",
    "8 passed; 0 failed; 3 ignored; finished in 0.02s",
    "AKIA is how such ids begin",
    "eyJ is how such tokens begin",
    "diff --git a/src/token.rs b/src/token.rs",
    "@@ -120,7 +120,9 @@ fn mask_password(text: &str)",
    "assert_eq!(key.len(), 32);",
    "SELECT token, password_hash FROM users WHERE id = 1",
    "if password.is_empty() { return Err(Error::NoPassword) }",
    "TOKEN_LIMIT=200000",
    "auth: { type: oauth2, flow: implicit }",
    "keys = [\"alpha\", \"beta\"]",
    "sort_key=lambda item: item.created_at",
    "RALPH_TASK_KEY=1.3",
];

#[test]
fn cap_10_every_labelled_kind_of_secret_is_masked() {
    let secrets = secrets();
    let kinds: std::collections::BTreeSet<&str> = secrets.iter().map(|(kind, ..)| *kind).collect();
    let leaked: Vec<(&str, String)> = secrets
        .iter()
        .filter_map(|(kind, line, secret)| {
            let shown = mask_secrets(line);
            // No stretch of it that would help anybody may be left.
            let pieces: Vec<&str> = secret.split(['\n', ';']).collect();
            let leaks = pieces.iter().any(|piece| {
                let half = piece.get(piece.len() / 2..).unwrap_or(piece).trim();
                half.len() >= 3 && !half.contains("theme=") && shown.contains(half)
            });
            (leaks || !shown.contains("[masked]")).then(|| (*kind, shown.into_owned()))
        })
        .collect();
    println!(
        "masked {} of {} kinds",
        kinds.len() - leaked.len(),
        kinds.len()
    );
    assert!(kinds.len() >= 75 && leaked.is_empty(), "{leaked:#?}");
}

#[test]
fn cap_10_no_labelled_harmless_line_is_changed() {
    let lines = harmless();
    let changed: Vec<String> = lines
        .iter()
        .map(|line| (line, mask_secrets(line)))
        .filter(|(line, shown)| shown != *line)
        .map(|(_, shown)| shown.into_owned())
        .collect();
    println!(
        "changed {} of {} harmless lines",
        changed.len(),
        lines.len()
    );
    assert!(lines.len() >= 75 && changed.is_empty(), "{changed:#?}");
}
