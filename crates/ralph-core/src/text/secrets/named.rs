//! Secrets given away by a name before them: `password=…`, `api_key: …`, `"client_secret": "…"`, headers.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{MASK, after_escape, is_random, is_word, pattern, run};

/// Parts of the names that are looked at.
static STEM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern("(?i)pass|pwd|secret|token|key|credential|auth|cookie|bearer|sig|psk|(?-i:_PAT)")
});

/// Name endings (lower case, without `_` and `-`) that promise a secret.
const STRONG: &str = "\
    password passwd passphrase passcode storepass keypass pwd psk secret apikey secretkey \
    secretkeybase accesskey authkey clientkeydata applicationkey accountkey privatekey \
    signingkey masterkey subscriptionkey encryptionkey accesstoken apitoken authtoken \
    refreshtoken sessiontoken secrettoken githubtoken bearertoken";

/// Values that are types, states or examples rather than secrets.
const WORDS: &str = "\
    string str text char number integer int bool boolean true false null none nil undefined \
    any unknown object bytes option optional required missing invalid expired empty hidden \
    redacted masked yes no env sha256 base64 password secret token api_key apikey passphrase";

/// How sure a name makes us.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    /// A secret by any reading, as long as the value is not plainly something else.
    Strong,
    /// `token`, which is also a lexer's and a model's word: the value must look random.
    Weak,
    /// `CACHE_KEY`, `signature`: the value must be long and random.
    Vague,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Quoted,
    /// `name=value`, as in an environment file or a query.
    Tight,
    /// With spaces or a colon: configuration, code or a sentence.
    Loose,
}

/// How much of an unquoted value is looked at to tell whether it is a secret.
const JUDGED_BYTES: usize = 256;

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(stem) = STEM.as_ref() else { return };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(hit) = stem.find_at(text.as_bytes(), at) {
        let before = bytes.get(at..hit.start()).unwrap_or_default();
        let start = hit.start() - before.iter().rev().take_while(|b| is_word(**b)).count();
        let start = after_escape(text, start);
        let end = hit.end() + run(text, hit.end(), is_word);
        at = end;
        let secret = header(text, start, end)
            .or_else(|| named_beside_value(text, start, end))
            .or_else(|| assigned_secret(text, start, end));
        if let Some(secret) = secret {
            at = at.max(secret.end);
            found.push(secret);
        }
    }
}

/// The credentials of an `Authorization` or `Cookie` header, or after `Bearer` anywhere.
fn header(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let word = text.get(start..end)?;
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let rest = text.get(end..)?;
    if is("bearer") {
        return credentials(text, rest.trim_start_matches([' ', '\t']), rest.len());
    }
    let value = rest.trim_start_matches(['\\', '"', '\'', '`', ' ']);
    let value = value.strip_prefix([':', '=', ','])?;
    let value = value.trim_start_matches(['\\', '"', '\'', '`', ' ']);
    if is("authorization") || is("proxy-authorization") {
        let scheme = value.bytes().take_while(|b| is_word(*b)).count();
        let after = value.get(scheme..)?;
        let spaced = after.trim_start_matches([' ', '\t']);
        return match spaced.len() < after.len() && scheme > 0 {
            true => credentials(text, spaced, after.len()),
            false => credentials(text, value, usize::MAX),
        };
    }
    if is("cookie") || is("set-cookie") {
        return cookies(text, value);
    }
    None
}

/// All of a cookie header's pairs, if one of the first has a value that may be a session's.
fn cookies(text: &str, value: &str) -> Option<Range<usize>> {
    let stops = ['\n', '\r', '"', '\'', '`', '\\'];
    // The beginning decides, so that many short headers on one line cost little.
    let window = value.get(..value.floor_char_boundary(1024))?;
    let window = window.split(stops).next()?;
    let first = window.split(';').next()?.trim();
    let is_session =
        |pair: &str| pair.split_once('=').is_some_and(|(_, value)| value.len() >= 8 && !is_stand_in(value));
    let from = text.len() - value.len();
    // A pair holds no space: what follows one is other text.
    if let Some((pair, _)) = first.split_once(' ') {
        let start = from + (value.len() - value.trim_start().len());
        return is_session(pair).then(|| start..start + pair.len());
    }
    if !first.contains('=') || !window.split(';').any(is_session) {
        return None;
    }
    let pairs = value.split(stops).next()?.trim_end();
    Some(from..from + pairs.len())
}

/// What stands at the start of `value` if it looks like credentials; `room` is what was left before the
/// spaces in front of it, of which there must be one.
fn credentials(text: &str, value: &str, room: usize) -> Option<Range<usize>> {
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"._~+/=-".contains(b);
    let length = value.bytes().take_while(is_token).count();
    let token = value.get(..length)?.trim_end_matches('.');
    let digit = token.bytes().any(|b| b.is_ascii_digit());
    let secret = value.len() < room && (token.len() >= 16 || digit && token.len() >= 8);
    let from = text.len() - value.len();
    secret.then(|| from..from + token.len())
}

/// The value in `{"name": "API_KEY", "value": "…"}`, also in YAML.
fn named_beside_value(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let gap = |c: char| c.is_ascii_whitespace() || matches!(c, '\\' | '"' | '\'' | ',');
    let rest = text.get(end..)?.trim_start_matches(gap);
    let label = rest.get(..5).filter(|word| word.eq_ignore_ascii_case("value"))?;
    let name = name_kind(text.get(start..end)?)?;
    let rest = rest.get(label.len()..)?.trim_start_matches(['\\', '"', '\'', ' ']);
    let value = rest.strip_prefix([':', '='])?;
    let value = value.trim_start_matches(['\\', '"', '\'', ' ']);
    let judged = bare(value.get(..value.floor_char_boundary(JUDGED_BYTES))?);
    let from = text.len() - value.len();
    is_secret("", name, judged, Style::Quoted, "").then(|| from..from + bare(value).len())
}

/// The value in `<password>…</password>`.
fn element(text: &str, start: usize, end: usize) -> Option<(usize, &str)> {
    let word = text.get(start..end)?;
    text.get(..start)?.strip_suffix('<')?;
    let rest = text.get(end..)?.strip_prefix('>')?;
    // No value is longer; a bound keeps unclosed elements cheap.
    let window = rest.get(..rest.floor_char_boundary(512))?;
    let (value, closing) = window.split_once("</")?;
    closing.starts_with(word).then_some((end + 1, value))
}

/// The value to be masked where the word at `start..end` is a secret's name and a value follows.
fn assigned_secret(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let word = text.get(start..end)?;
    let rest = text.get(end..)?;
    if let Some((from, value)) = element(text, start, end) {
        let name = name_kind(word)?;
        let range = from..from + value.len();
        return is_secret(word, name, value, Style::Quoted, "").then_some(range);
    }
    let closed = rest.strip_prefix('\\').unwrap_or(rest);
    let closed = closed.strip_prefix(['"', '\'', '`']).unwrap_or(closed);
    let closed = closed.strip_prefix(']').unwrap_or(closed);
    let before = closed.trim_start_matches([' ', '\t', '*']);
    let is_flag = word.starts_with('-') && rest.starts_with(' ') && !before.starts_with('-');
    // Each sign of an assignment, what it counts as, and what makes another sign of it.
    let signs =
        [(":=", ':', &[] as &[char]), ("=>", ':', &[]), ("=", '=', &['=', '~']), (":", ':', &[':', '?'])];
    let assigned = signs.iter().find_map(|(sign, kind, others)| {
        let after = before.strip_prefix(sign)?;
        (!after.starts_with(*others)).then_some((after, *kind))
    });
    let (after, separator) = assigned.or_else(|| is_flag.then_some((before, ' ')))?;
    let name = name_kind(word).or_else(|| query_kind(text, start, word))?;
    let value = after.trim_start_matches([' ', '\t', '*']);
    let tight = separator == '=' && before.len() == closed.len() && value.len() == after.len();
    let value_start = text.len() - value.len();
    if let Some((skipped, value)) = quoted(value) {
        let range = value_start + skipped..value_start + skipped + value.len();
        return is_secret(word, name, value, Style::Quoted, "").then_some(range);
    }
    let opened = value.trim_start_matches(['\\', '"', '\'', '`']);
    let from = text.len() - opened.len();
    // After a flag stands a value and no sentence, so that a number is one, too.
    let is_number = value.starts_with(|c: char| c.is_ascii_digit()) && separator == ' ';
    let style = if tight || is_number { Style::Tight } else { Style::Loose };
    // Its beginning decides, so that one long run of names and separators costs little.
    let value = bare(opened.get(..opened.floor_char_boundary(JUDGED_BYTES))?);
    let after = opened.get(value.len()..)?;
    is_secret(word, name, value, style, after).then(|| from..from + bare(opened).len())
}

/// Whether the word ends like a secret's name.
fn name_kind(word: &str) -> Option<Name> {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_' || c == '-');
    let ends_with = |suffix: &str| {
        let mut letters = word.bytes().rev().filter(|b| *b != b'_' && *b != b'-');
        suffix.bytes().rev().all(|b| letters.next().is_some_and(|l| l.to_ascii_lowercase() == b))
    };
    // The working directory has the name of a password.
    if ["pwd", "oldpwd"].iter().any(|shell| word.eq_ignore_ascii_case(shell)) {
        return None;
    }
    if STRONG.split(' ').any(ends_with) {
        return Some(Name::Strong);
    }
    // In capitals they are variables of the environment, not a lexer's tokens or passing tests.
    if word.ends_with("_TOKEN") || word.ends_with("_PASS") {
        return Some(Name::Strong);
    }
    if ends_with("token") || word.ends_with("_pass") || word.ends_with("_PAT") {
        return Some(Name::Weak);
    }
    let vague = word.ends_with("_KEY")
        || word.ends_with("-KEY")
        || word.trim_matches('_').eq_ignore_ascii_case("auth")
        || ends_with("signature")
        || ends_with("credentials");
    vague.then_some(Name::Vague)
}

/// Names that promise a secret only as a parameter of an address or a connection: `?sig=…&key=…`, `;Pwd=…`.
fn query_kind(text: &str, start: usize, word: &str) -> Option<Name> {
    let parameter = text.get(..start)?.ends_with(['?', '&', ';']);
    // The working directory has the name of a password, but in no connection string.
    match word {
        "sig" | "key" | "auth" if parameter => Some(Name::Vague),
        _ if parameter && word.eq_ignore_ascii_case("pwd") => Some(Name::Strong),
        _ => None,
    }
}

/// What stands between quotes on one line, escaped ones included, and where it begins.
fn quoted(text: &str) -> Option<(usize, &str)> {
    let escaped = text.starts_with('\\');
    let opened = text.strip_prefix('\\').unwrap_or(text);
    let quote = opened.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inner = opened.get(1..)?;
    let skipped = text.len() - inner.len();
    let mut backslash = false;
    for (at, c) in inner.char_indices() {
        if c == '\n' {
            return None;
        }
        if c == quote && escaped {
            return Some((skipped, inner.get(..at)?.strip_suffix('\\')?));
        }
        if c == quote && !backslash {
            return Some((skipped, inner.get(..at)?));
        }
        backslash = c == '\\' && !backslash;
    }
    None
}

/// An unquoted value, without the full stop or the bold mark of the sentence around it.
fn bare(text: &str) -> &str {
    let stops = |c: char| c.is_ascii_whitespace() || ",;()[]{}<>\"'`&\\".contains(c);
    text.split(stops).next().unwrap_or_default().trim_end_matches(['.', '*'])
}

/// Whether a value stands for a secret without being one: a variable, a blank, a path, the mask.
pub(super) fn is_stand_in(value: &str) -> bool {
    let blank = value.chars().all(|c| matches!(c, '*' | '.' | '…' | 'x' | 'X' | '-' | '_' | '?'));
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    // Base64 may begin with a slash, too; then it mixes capitals and digits.
    let path = value.starts_with(['/', '~']) && !(has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit));
    let variable = value.starts_with(['$', '<', '{', '[']) || value.starts_with('%') && value.ends_with('%');
    let example =
        value.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("your")) && !has(u8::is_ascii_digit);
    blank || path || variable || example || WORDS.split(' ').any(|word| value.eq_ignore_ascii_case(word))
}

fn is_secret(word: &str, name: Name, value: &str, style: Style, after: &str) -> bool {
    if is_stand_in(value) || value.contains(MASK) {
        return false;
    }
    let length = value.chars().count();
    let digit = value.bytes().any(|b| b.is_ascii_digit());
    let symbol = value.bytes().any(|b| b.is_ascii_punctuation() && !b"._-:/".contains(&b));
    let number = value.bytes().all(|b| b.is_ascii_digit() || b"._-".contains(&b));
    let solid = length >= 20 && value.bytes().all(|b| b.is_ascii_alphanumeric());
    if style == Style::Quoted {
        let spaced = value.contains(char::is_whitespace);
        let word = word.to_ascii_lowercase();
        let may_be_spaced = word.ends_with("passphrase") || word.ends_with("psk");
        return match name {
            _ if spaced => may_be_spaced,
            Name::Strong => length >= 3,
            Name::Weak => solid || digit && length >= 8 && !number,
            Name::Vague => is_random(value),
        };
    }
    if is_code(value, after) {
        return false;
    }
    match (name, style) {
        (Name::Strong, Style::Tight) => length >= 3,
        (Name::Strong, _) => solid || length >= 6 && (digit || symbol),
        (Name::Weak, Style::Tight) => solid || digit && length >= 6 && !number,
        (Name::Weak, _) => solid || digit && length >= 8 && !number,
        (Name::Vague, Style::Tight) => is_random(value) || value.contains('%') && digit && length >= 24,
        (Name::Vague, _) => is_random(value),
    }
}

/// Whether an unquoted value is an expression: a call, a path, a type, another variable.
fn is_code(value: &str, after: &str) -> bool {
    let plain = value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'.');
    let parts = value.contains(['.', '_'])
        || value
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let variable = parts && value.split('.').next_back().and_then(name_kind).is_some();
    plain && (variable || value.contains('.'))
        || value.contains("::")
        || after.starts_with(['(', '<', '[', '{'])
}
