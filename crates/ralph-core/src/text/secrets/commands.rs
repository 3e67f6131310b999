//! Secrets that the command, the address or the file around them gives away.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::named::is_stand_in;
use super::{MASK, is_random, pattern};

/// A pattern whose first group is the secret.
struct Command {
    /// Without one of these there is no match: most text is looked at no further.
    needles: &'static [&'static str],
    source: &'static str,
    pattern: OnceLock<Option<Regex>>,
}

const fn command(needles: &'static [&'static str], source: &'static str) -> Command {
    Command {
        needles,
        source,
        pattern: OnceLock::new(),
    }
}

/// Each begins with literal text and stays on its line (but for netrc, which may be spread over a few), so
/// that a search is one pass.
static COMMANDS: [Command; 8] = [
    // curl -u user:password
    command(
        &["-u ", "-u=", "-user"],
        r#"(?:^|[ \t\r\n"'=(,])(?:-u|--user|--proxy-user)[ =]["']?[A-Za-z0-9_.@%+-]{1,64}:([!-~&&[^"'`]]{3,})"#,
    ),
    // mysql -ppassword
    command(
        &[" -p"],
        r#"\b(?:mysql|mariadb)[a-z-]{0,16} (?:[^\n|;&]*? )?-p["']?([!-~&&[^"'`]]{3,})"#,
    ),
    // sshpass -p password, docker login -p password
    command(
        &[" -p"],
        r#"(?:sshpass|(?:docker|podman|nerdctl|oras) login|helm registry login|mongosh?|az login) (?:[^\n|;&]*? )?-p ?["']?([!-~&&[^"'`-]][!-~&&[^"'`]]{2,})"#,
    ),
    // redis-cli -a password
    command(
        &["redis-cli "],
        r#"redis-cli (?:[^\n|;&]*? )?-a ["']?([!-~&&[^"'`-]][!-~&&[^"'`]]{2,})"#,
    ),
    // openssl -passin pass:password
    command(&[" pass:"], r#"-pass(?:in|out)? pass:([!-~&&[^"'`]]{3,})"#),
    // netrc
    command(
        &["machine ", "default "],
        r#"\b(?:machine[ \t]+[!-~]{1,200}|default)[ \t\r\n]+(?:login|account)[ \t\r\n]+[!-~]{1,200}[ \t\r\n]+password[ \t\r\n]+([!-~&&[^"'`]]{3,})"#,
    ),
    // pgpass
    command(
        &[":5432:", ":5433:", ":6432:", ":*:"],
        r#"(?m)^[A-Za-z0-9_.*-]{1,200}:(?:5432|5433|6432|\*):[A-Za-z0-9_*-]{1,64}:[A-Za-z0-9_*-]{1,64}:([!-~]{3,})$"#,
    ),
    // SQL
    command(
        &["by '", "BY '", "password '", "PASSWORD '"],
        r#"(?i:identified by|with password|set password|encrypted password|user password) +'([^'\n]{3,200})'"#,
    ),
];

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    for command in &COMMANDS {
        let has = |needle: &&str| memmem::find(text.as_bytes(), needle.as_bytes()).is_some();
        if !command.needles.iter().any(has) {
            continue;
        }
        let Some(pattern) = command.pattern.get_or_init(|| pattern(command.source)) else {
            continue;
        };
        for groups in pattern.captures_iter(text.as_bytes()) {
            let Some(value) = groups.get(1) else { continue };
            let secret = text.get(value.range()).unwrap_or_default();
            let secret = secret.trim_end_matches([',', ';', ')', '.']);
            let number = secret.bytes().all(|b| b.is_ascii_digit());
            // `docker run -u node:node` names a user and a group.
            let repeated = groups
                .get(0)
                .and_then(|all| text.get(all.range()))
                .is_some_and(|all| all.contains(&format!("{secret}:{secret}")));
            if !number && !repeated && !is_stand_in(secret) && !secret.contains(MASK) {
                found.push(value.start()..value.start() + secret.len());
            }
        }
    }
    for at in memmem::find_iter(text.as_bytes(), b"://") {
        found.extend(url_password(text, at + 3));
    }
}

/// The password in `scheme://user:password@host`, or a token in the user's place.
fn url_password(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let stops = |c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c);
    let authority = rest.split(stops).next()?;
    let (user_info, _) = authority.rsplit_once('@')?;
    let (start, secret) = match user_info.split_once(':') {
        Some((user, password)) => (from + user.len() + 1, password),
        None => (from, Some(user_info).filter(|user| is_random(user))?),
    };
    let is_secret = !secret.is_empty() && !is_stand_in(secret) && !secret.contains(MASK);
    is_secret.then(|| start..start + secret.len())
}
