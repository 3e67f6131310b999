//! Secrets that the command, the address, the file or the sentence around them gives away.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::{memchr, memmem, memrchr};
use regex::bytes::{Captures, Regex};

use super::named::is_stand_in;
use super::{MASK, is_random, pattern};

struct Place {
    /// Without one of these there is no match: most text is looked at no further.
    needles: &'static [&'static str],
    source: Source,
    pattern: OnceLock<Option<Regex>>,
}

enum Source {
    /// Programs, and the flag before their secret, which is a word (whatever quotes it may have).
    Flag(&'static str, &'static str),
    /// A pattern whose first group is the secret.
    Around(&'static str),
    /// The same for `-u user:password`, which may also be the ids of a user and a group.
    User(&'static str),
    /// The same, but many a word stands there, so that the secret has to look like one.
    Prose(&'static str),
}

const fn flag(needles: &'static [&'static str], programs: &'static str, flag: &'static str) -> Place {
    place(needles, Source::Flag(programs, flag))
}

const fn around(needles: &'static [&'static str], source: &'static str) -> Place {
    place(needles, Source::Around(source))
}

const fn place(needles: &'static [&'static str], source: Source) -> Place {
    Place { needles, source, pattern: OnceLock::new() }
}

/// Each begins with literal text and stays on its line (but for netrc, which may be spread over a few), so
/// that a search is one pass.
static PLACES: [Place; 25] = [
    flag(&["curl "], "curl", r#"-[A-Za-z]{0,6}u ?["']?[A-Za-z0-9_.@%+-]{1,64}:"#),
    flag(&["curl "], "curl", r#"(?:-b|--cookie)[ =]["']?[A-Za-z0-9_.-]{1,64}="#),
    flag(&["http ", "https "], "https?", r#"-a ?["']?[A-Za-z0-9_.@%+-]{1,64}:"#),
    flag(&[" -p"], "(?:mysql|mariadb)[a-z-]{0,16}|7z[a-z]{0,2}", "-p"),
    flag(
        &[" -p"],
        "sshpass|(?:docker|podman|nerdctl|oras) login|helm registry login|mongosh?|az login",
        "-p ?",
    ),
    flag(&[" -P"], "sqlcmd|bcp|isql|zip|unzip", "-P ?"),
    flag(&["redis-cli "], "redis-cli", "-a "),
    flag(&["ldap"], "ldap[a-z]{2,12}", "-w "),
    flag(&["lftp "], "lftp", "-u [A-Za-z0-9_.@-]{1,64},"),
    flag(&["smbclient "], "smbclient", r#"-U ["']?[A-Za-z0-9_.@\\/-]{1,64}%"#),
    flag(&["htpasswd "], "htpasswd", "-[A-Za-z]{0,4}b[A-Za-z]{0,4} [^ \\n]{1,200} [^ \\n]{1,200} "),
    flag(&["openssl "], "openssl enc", "-k "),
    flag(&["configure set "], "aws", "set [a-z0-9.-]{0,40}aws_(?:secret_access_key|session_token) "),
    flag(&["authtoken "], "ngrok", "(?:add-)?authtoken "),
    place(
        &["-u ", "-u=", "-user", "--auth"],
        Source::User(
            r#"(?:^|[ \t\r\n"'=(,])(?:-u|--user|--proxy-user|--auth)[ =]["']?[A-Za-z0-9_.@%+-]{1,64}:([!-~&&[^"'`]]{3,})"#,
        ),
    ),
    around(
        &["| docker login", "| podman login", "| helm registry"],
        r#"\becho ["']?([!-~&&[^"'`|-]][!-~&&[^"'`|]]{2,})["']? \| (?:docker|podman|helm)"#,
    ),
    around(&[" pass:"], r#"-pass(?:in|out)? pass:([!-~&&[^"'`]]{3,})"#),
    around(&["requirepass ", "masterauth "], r#"\b(?:requirepass|masterauth) ["']?([!-~&&[^"'`]]{3,})"#),
    // A netrc file, on one line or on several.
    around(
        &["password ", "password\t", "password\n"],
        r#"\b(?:(?:machine[ \t]+[!-~]{1,200}|default)[ \t\r\n]+(?:login|account)[ \t\r\n]+[!-~&&[^;,]]{1,200}|machine[ \t]+[A-Za-z0-9-]{1,64}\.[A-Za-z0-9.-]{1,200})[ \t\r\n]+password[ \t\r\n]+([!-~&&[^"'`]]{3,})"#,
    ),
    // A pgpass file.
    around(
        &[":5432:", ":5433:", ":6432:", ":*:"],
        r#"(?m)^[A-Za-z0-9_.*-]{1,200}:(?:5432|5433|6432|\*):[A-Za-z0-9_*-]{1,64}:[A-Za-z0-9_*-]{1,64}:([!-~]{3,})$"#,
    ),
    // SQL
    around(
        &["by '", "BY '", "password '", "PASSWORD '"],
        r#"(?i:identified by|with password|set password|encrypted password|user password) +'([^'\n]{3,200})'"#,
    ),
    // PHP
    around(
        &["define("],
        r#"\bdefine\( ?["'][A-Z0-9_]{0,40}(?:PASSWORD|PASS|SECRET|TOKEN|KEY|SALT)["'], ?["']([^"'\n]{8,200})["']"#,
    ),
    // A key of Mailchimp, a client's secret of Azure, the key of a function.
    around(&["-us"], r"\b([0-9a-f]{32}-us[0-9]{1,2})\b"),
    around(&["7Q~", "8Q~"], r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{30,40})"),
    place(
        &["assword ", "assphrase ", "assword: ", "?code=", "&code=", "ailgun", "AILGUN"],
        Source::Prose(
            r#"(?:(?i:password|passphrase)(?: is)?:? ["'`]?|[?&]code=|(?i:mailgun)[!-~ ]{1,40}?\b)([!-~&&[^"'`]]{8,})"#,
        ),
    ),
];

/// All needles at once: most text has none of them.
static NEEDLES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let needles = PLACES.iter().flat_map(|place| place.needles);
    let escaped: Vec<String> = needles.map(|needle| regex::escape(needle)).collect();
    pattern(&escaped.join("|"))
});

impl Place {
    fn pattern(&self) -> Option<&Regex> {
        let compile = || match self.source {
            Source::Flag(programs, flag) => pattern(&format!(
                r#"\b(?:{programs}) (?:[^\n|;&]*? )?{flag}["']?([!-~&&[^"'`-]][!-~&&[^"'`]]{{2,}})"#
            )),
            Source::Around(source) | Source::User(source) | Source::Prose(source) => pattern(source),
        };
        self.pattern.get_or_init(compile).as_ref()
    }

    fn find(&self, text: &str, window: Range<usize>, found: &mut Vec<Range<usize>>) {
        let (from, lines) = (window.start, text.get(window).unwrap_or_default());
        let Some(pattern) = self.pattern() else { return };
        for groups in pattern.captures_iter(lines.as_bytes()) {
            let Some(value) = groups.get(1) else { continue };
            let secret = lines.get(value.range()).unwrap_or_default();
            let secret = secret.trim_end_matches([',', ';', ')', '.']);
            if self.is_secret(secret, &groups) {
                let start = from + value.start();
                found.push(start..start + secret.len());
            }
        }
    }

    fn is_secret(&self, secret: &str, groups: &Captures<'_>) -> bool {
        let may_be = match self.source {
            Source::Flag(..) | Source::Around(_) => true,
            // `docker run -u node:node` names a user and a group.
            Source::User(_) => {
                let number = secret.bytes().all(|b| b.is_ascii_digit());
                let twice = format!("{secret}:{secret}");
                !number && !groups.get(0).is_some_and(|all| all.as_bytes().ends_with(twice.as_bytes()))
            }
            Source::Prose(_) => is_no_wording(secret),
        };
        may_be && !is_stand_in(secret) && !secret.contains(MASK)
    }
}

/// Whether nobody would write this in a sentence or in code.
fn is_no_wording(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    is_random(value)
        || has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
            && has(|b| b"!@#$%^&*+~?".contains(b))
            && !value.contains(['(', '{', '['])
}

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut searched = [0; PLACES.len()];
    let mut at = 0;
    while let Some(hit) = NEEDLES.as_ref().and_then(|any| any.find_at(bytes, at)) {
        at = hit.start() + 1;
        let rest = bytes.get(hit.start()..).unwrap_or_default();
        for (place, searched) in PLACES.iter().zip(&mut searched) {
            let is_near = |needle: &&str| rest.starts_with(needle.as_bytes());
            if *searched <= hit.start() && place.needles.iter().any(is_near) {
                let (window, line_end) = lines_around(text, hit.start());
                *searched = line_end;
                place.find(text, window, found);
            }
        }
    }
    for at in memmem::find_iter(bytes, b"://") {
        found.extend(url_password(text, at + 3));
    }
}

/// The line at `at` with a few lines before it and the next, as far as those are short; and where it ends.
fn lines_around(text: &str, at: usize) -> (Range<usize>, usize) {
    const LINES_BEFORE: usize = 3;
    const NEAR: usize = 512;
    let bytes = text.as_bytes();
    let mut start = memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
    let line_end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length + 1);
    for _ in 0..LINES_BEFORE {
        let near = start.saturating_sub(NEAR);
        let before = &bytes[near..start.saturating_sub(1).max(near)];
        match memrchr(b'\n', before) {
            Some(end) => start = near + end + 1,
            None if near == 0 => start = 0,
            None => break,
        }
    }
    let next = &bytes[line_end..bytes.len().min(line_end + NEAR)];
    let end = memchr(b'\n', next).map_or(line_end + next.len(), |length| line_end + length + 1);
    (start..text.floor_char_boundary(end), line_end)
}

/// The password in `scheme://user:password@host`, or a token in the user's place.
fn url_password(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let stops = |c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c);
    let authority = rest.split(stops).next()?;
    let (user_info, _) = authority.rsplit_once('@')?;
    let (start, secret) = match user_info.split_once(':') {
        _ if user_info.split(':').next().is_some_and(is_random) => (from, user_info),
        Some((user, password)) => (from + user.len() + 1, password),
        None => return None,
    };
    let is_secret = !secret.is_empty() && !is_stand_in(secret) && !secret.contains(MASK);
    is_secret.then(|| start..start + secret.len())
}
