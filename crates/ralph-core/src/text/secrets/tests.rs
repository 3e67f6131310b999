//! What is masked, what is not, and that masking is stable.

use super::mask_secrets;
use proptest::prelude::*;
use std::borrow::Cow;

#[track_caller]
fn masks(text: &str, expected: &str) {
    assert_eq!(mask_secrets(text), expected);
    assert_eq!(mask_secrets(expected), expected, "not stable");
}

#[track_caller]
fn keeps(text: &str) {
    assert!(matches!(mask_secrets(text), Cow::Borrowed(_)), "{:?}", mask_secrets(text));
}

#[test]
fn cap_10_issuers_prefixes() {
    for secret in [
        "sk-ant-api03-AbCdEf0123456789",
        "sk-proj-abcdefghij0123456789ABCD",
        "sk-0123456789abcdef0123456789abcdef",
        "sk_live_abcdefghij0123",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "gho_abcdefghijklmnopqrstuvwxyz0123456789",
        "ghs_abcdefghijklmnopqrstuvwxyz0123456789",
        "ghr_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0123456789_abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefGHIJ",
        "AIzaSyA-1234567890abcdefghijklmnopqrstu",
        "glpat-abcdefGHIJ0123456789",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    ] {
        masks(&format!("found {secret}, see"), "found [masked], see");
        masks(&format!("\"{secret}\""), "\"[masked]\"");
        masks(&format!("{{\"log\":\"a\\n{secret}\\n\"}}"), "{\"log\":\"a\\n[masked]\\n\"}");
    }
}

#[test]
fn cap_10_authorization() {
    masks("Authorization: Bearer abc123def456", "Authorization: Bearer [masked]");
    masks("-H 'authorization: bearer abcdefghijklmnopqrst'", "-H 'authorization: bearer [masked]'");
    masks("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [masked]");
    masks("\"Authorization\": \"token abcdef123456\"", "\"Authorization\": \"token [masked]\"");
    keeps("Use a Bearer token; bearer authentication is basic knowledge about 12345678.");
}

#[test]
fn cap_10_private_keys() {
    masks(
        "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc+/=\n-----END RSA PRIVATE KEY-----\nb",
        "a\n-----BEGIN RSA PRIVATE KEY-----\n[masked]\n-----END RSA PRIVATE KEY-----\nb",
    );
    masks(
        "\"-----BEGIN PRIVATE KEY-----\\nMIIE\\nabc\\n-----END PRIVATE KEY-----\\n\"",
        "\"-----BEGIN PRIVATE KEY-----\\n[masked]\\n-----END PRIVATE KEY-----\\n\"",
    );
    masks(
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\nnext words here",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n[masked]\nnext words here",
    );
    keeps("-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA\n-----END CERTIFICATE-----");
}

#[test]
fn cap_10_urls() {
    masks("postgres://app:s3cr3t@db:5432/x", "postgres://app:[masked]@db:5432/x");
    masks("https://u:p%40ss@host.example/a?b=c", "https://u:[masked]@host.example/a?b=c");
    keeps("https://example.org:8080/@scope/pkg ssh://git@host:22/x http://u:${PW}@h");
}

#[test]
fn cap_10_assignments() {
    masks("password=hunter2", "password=[masked]");
    masks("PGPASSWORD=correcthorse psql", "PGPASSWORD=[masked] psql");
    masks("api_key: abc123def456", "api_key: [masked]");
    masks("SECRET_TOKEN=abc-def", "SECRET_TOKEN=[masked]");
    masks("\"client_secret\": \"shh-quiet\",", "\"client_secret\": \"[masked]\",");
    masks("{\\\"client_secret\\\": \\\"shh\\\"}", "{\\\"client_secret\\\": \\\"[masked]\\\"}");
    masks("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "AWS_SECRET_ACCESS_KEY=[masked]");
    masks("x-api-key: 0123456789abcdef", "x-api-key: [masked]");
    masks("os.environ['API_KEY'] = 'abcdef'", "os.environ['API_KEY'] = '[masked]'");
    masks("login --password hunter2 --verbose", "login --password [masked] --verbose");
    masks("GET /?token=abc123def&page=2", "GET /?token=[masked]&page=2");
    masks("**Password:** p@ssword1.", "**Password:** [masked].");
    masks("passphrase: \"four words of it\"", "passphrase: \"[masked]\"");
    masks("DB_PASS=topsecret", "DB_PASS=[masked]");
    masks("AccountKey=/Ab0+c==;", "AccountKey=[masked];");
    masks("password=\"cut0ff", "password=\"[masked]");
    masks("//packages.example.org/:_authToken=abcdef012345", "//packages.example.org/:_authToken=[masked]");
}

#[test]
fn cap_10_ordinary_text_stays() {
    for text in [
        "token: string",
        "password: String,",
        "tokens=123 tokens_input: 4567 max_tokens = 128000",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "key: value",
        "let token = lexer.next_token()?;",
        "fn login(password: &str, token: Option<Token2Type>)",
        "client = connect(password=password, token=self.token)",
        "login(password=db_password, secret=userSecret, api_key=settings.api_key)",
        "SECRET=/run/secrets/db api_key: %API_KEY%",
        "password = os.environ[\"DB_PASSWORD\"]",
        "token == Token::Eof && secret != other",
        "Password: required. The token: it expired.",
        "\"password\": \"must be at least 8 characters\"",
        "PWD=/home/user/project OLDPWD=/tmp/x1",
        "sk-learn-style-pipelines and sk-2024-roadmap-notes",
        "npm_config_registry=https://packages.example.org",
        "PASSWORD=$DB_PASSWORD api_key=<your key> secret=${S3} token=***",
        "the test handles_secret_token passed; is_secret: true",
        "per_token: 0.000003, token: 12345678",
    ] {
        keeps(text);
    }
}

#[test]
fn cap_10_large_inputs_are_linear() {
    for unit in [
        "password=\"",
        "password='x",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "a://b:c",
        "eyJaaaaaaa.",
        "Bearer ",
        "sk-",
        "-",
        "token: ",
        "secret:\\\"",
        "a",
        "=",
        "api_key `",
        "sk-aaaaaaaaaaaaaaaa-",
        "eyJaaaaaaa-",
        "xAIzaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "a.atlasv1.",
        "Cookie: a=b; ",
        "Cookie: =",
        "authorization: ",
        "authorization=",
        "<password>",
        "key,\n",
        "name: token value ",
        "?sig=",
        "token=",
        "password,",
        "mysql ",
        "mysql -p ",
        "redis-cli -a ",
        "curl -u a:b ",
        "machine a login ",
        "-----END PRIVATE KEY-----",
        "A\n-----END PRIVATE KEY-----\n",
        "AAAA\n",
        "curl ",
        "curl -u a:b\n",
        "http -a ",
        "password ",
        "machine a.b password ",
        "-us",
        "7Q~",
        "htpasswd -b a b ",
        "EAA",
        "MTA4",
    ] {
        let text = unit.repeat(200_000 / unit.len());
        assert!(!mask_secrets(&text).is_empty());
    }
}

fn fragment() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "password",
        "token",
        "api_key",
        "=",
        ": ",
        "\"",
        "'",
        "\\",
        "\n",
        " ",
        "[masked]",
        "[",
        "]",
        "hunter2",
        "Bearer ",
        "abc123def456",
        "https://",
        "u:",
        "p1ss",
        "@",
        "host",
        "sk-ant-api03-12345678",
        "--",
        "*",
        "&",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "AKIAIOSFODNN7EXAMPLE",
        ".",
        "`",
        "ä",
        "$",
        "Authorization",
        "eyJhbGciOiJI.eyJzdWIiOiIx.dozjgNryP4J3",
        "SECRET_TOKEN",
        ">",
        "(",
        "xyz",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn cap_10_masking_is_idempotent(parts in proptest::collection::vec(fragment(), 0..24)) {
        let once = mask_secrets(&parts.concat()).into_owned();
        let twice = mask_secrets(&once).into_owned();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn cap_10_any_text_is_survived(text in any::<String>()) {
        let once = mask_secrets(&text).into_owned();
        let twice = mask_secrets(&once).into_owned();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn cap_10_a_key_is_found_in_any_prose(before in "[a-z .,\n\"(]{0,40}[ \n\"(]", after in "[ ,.\n\")][a-z .,\n]{0,40}") {
        let text = format!("{before}ghp_abcdefghijklmnopqrstuvwxyz0123456789{after}");
        prop_assert_eq!(mask_secrets(&text), format!("{before}[masked]{after}"));
    }
}
