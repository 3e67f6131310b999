//! Secrets known by their value: what stands in variables and settings with secret-looking names.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use regex::{Regex, RegexBuilder};

use super::MASK;
use super::named::is_stand_in;
use crate::text::first_chars;

/// Shorter values are too likely to occur by chance.
const MIN_CHARS: usize = 8;
/// A longer value is recognized by its beginning.
const MAX_CHARS: usize = 256;
/// More values than this are a mistake, and the search for them has to stay small.
const MAX_VALUES: usize = 1000;
/// Bytes that the compiled search may take.
const MAX_COMPILED: usize = 64 << 20;

struct Known {
    forms: BTreeSet<String>,
    search: Option<Regex>,
}

/// Process-wide, because text is masked in about a hundred places from the parsers of agents' streams to
/// the terminal: a value handed through all of them would be an argument of every function on the way
/// and could only ever be this one. The program that uses this library fills it at its start.
static KNOWN: RwLock<Known> = RwLock::new(Known { forms: BTreeSet::new(), search: None });

/// Masks these values from now on, wherever they occur, also URL-encoded, in base64 or escaped for JSON.
/// Lines of a value count each by itself; those that are not [worth masking](is_worth_masking) do not.
pub fn remember_secrets(values: impl IntoIterator<Item = impl AsRef<str>>) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = known.forms.len();
    for value in values {
        for line in value.as_ref().lines().map(str::trim) {
            if known.forms.len() < MAX_VALUES && is_worth_masking(line) {
                known.forms.extend(forms(line));
            }
        }
    }
    if known.forms.len() > before {
        let mut forms: Vec<String> = known.forms.iter().map(|form| regex::escape(form)).collect();
        // The first alternative that fits is taken: the longest has to come first.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        known.search = RegexBuilder::new(&forms.join("|")).size_limit(MAX_COMPILED).build().ok();
    }
}

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(search) = &known.search {
        found.extend(search.find_iter(text).map(|hit| hit.range()));
    }
}

/// Whether masking every occurrence of a value hides a secret rather than a word: it has to be long
/// enough and no plain word or name, number, path or address.
pub fn is_worth_masking(value: &str) -> bool {
    value.chars().count() >= MIN_CHARS
        && !value.contains(MASK)
        && !value.contains("://")
        && !value.starts_with("-----")
        && !is_stand_in(value)
        && !is_number(value)
        && !is_path(value)
        && !is_email(value)
        && !is_wording(value)
}

fn is_email(value: &str) -> bool {
    let parts = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b));
    value.split_once('@').is_some_and(|(user, host)| parts(user) && parts(host) && host.contains('.'))
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_digit() || b" .,:;+-_/eETZ".contains(&b))
}

/// Base64 may begin with a slash, too; then it has neither dots nor dashes, but capitals and digits.
fn is_path(value: &str) -> bool {
    let rooted = value.starts_with(['/', '~', '.']) || value.get(1..3) == Some(":\\");
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    let base64 = has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
        && !value.contains(['.', '-', '_', ' ', '\\']);
    let words = value.contains('/')
        && value
            .split(['/', '.', '-', '_'])
            .all(|part| part.len() < 20 && part.bytes().all(|b| b.is_ascii_lowercase()));
    rooted && !base64 || words
}

/// Up to three words, as in `changeme`, `my-test-user` or `us-east-1`. Four are a passphrase.
fn is_wording(value: &str) -> bool {
    let mut parts = 0;
    let all_words = value.split(['-', '_', '.', ' ', ':', ',']).all(|part| {
        parts += 1;
        is_plain_word(part) || part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit())
    });
    all_words && parts <= 3
}

/// Letters only, not more of them than words have, and not more capitals inside than `camelCase` has.
fn is_plain_word(part: &str) -> bool {
    let capitals = part
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count();
    part.chars().count() < 20 && part.chars().all(char::is_alphabetic) && capitals <= 2
}

/// The ways in which a value may be written.
fn forms(value: &str) -> impl Iterator<Item = String> {
    let value = first_chars(value, MAX_CHARS).to_owned();
    let json = value.replace('\\', "\\\\").replace('"', "\\\"");
    let percent = |byte: u8| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    let address: String = value.bytes().map(percent).collect();
    // The last bytes share a digit with what follows them, so only whole groups of three are certain.
    let whole = value.as_bytes().chunks_exact(3);
    let base64: String = whole.flat_map(base64).map(char::from).collect();
    let forms = [address, json, base64, value].into_iter();
    forms.filter(|form| form.chars().count() >= MIN_CHARS)
}

fn base64(three: &[u8]) -> [u8; 4] {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
    [18, 12, 6, 0].map(|shift| DIGITS[bits >> shift & 63])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::mask_secrets;

    #[test]
    fn cap_10_known_values_are_masked_in_every_form() {
        remember_secrets(["zebra/Q9+known-value", "Zq\"quoted\\81x"]);
        for text in
            ["see zebra/Q9+known-value.", "a=zebra%2FQ9%2Bknown-value&b", "{\"v\": \"Zq\\\"quoted\\\\81x\"}"]
        {
            assert!(mask_secrets(text).contains(MASK), "{text}");
        }
        // The last two bytes of a value are no whole group of base64.
        assert!(mask_secrets("emVicmEvUTkra25vd24tdmFsdWU=").starts_with(MASK));
    }

    #[test]
    fn cap_10_lines_of_a_known_value_are_masked_each_by_itself() {
        remember_secrets(["-----BEGIN X-----\nQmFzZTY0TGluZTE5OTk\nQmFzZTY0TGluZTI5OTk\n-----END X-----"]);
        assert_eq!(mask_secrets("got QmFzZTY0TGluZTI5OTk!"), "got [masked]!");
        assert_eq!(mask_secrets("-----BEGIN X-----"), "-----BEGIN X-----");
    }

    #[test]
    fn cap_10_words_numbers_and_paths_are_not_masked_by_value() {
        for plain in [
            "test",
            "hunter2",
            "changeme",
            "production",
            "localhost",
            "postgres",
            "testPassword",
            "my-test-user",
            "us-east-1",
            "12345678",
            "2026-01-31",
            "192.168.100.200",
            "/home/user/.ssh/id_rsa",
            "~/keys/deploy.pem",
            "./secrets/db.txt",
            "secrets/db/password",
            "/tmp/ssh-XyZ123/agent.42",
            "https://example.org/a",
            "me@example.com",
            "undefined",
            "$OTHER_TOKEN",
            "<your key here>",
            "xxxxxxxxxxxx",
            "-----BEGIN PRIVATE KEY-----",
        ] {
            assert!(!is_worth_masking(plain), "{plain}");
        }
        for secret in [
            "hunter22",
            "p@ssword",
            "correct-horse-battery-staple",
            "dQwXzRtYuIoPlK",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
            "3f786850e387550fdab8",
            "/Ab0+cDe9/xYz1+QrS2",
            "correcthorsebatterystaple",
        ] {
            assert!(is_worth_masking(secret), "{secret}");
        }
    }
}
