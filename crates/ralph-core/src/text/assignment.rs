//! Secrets known by their name: `password=…`, `api_key: …`, `"client_secret": "…"`.

use std::ops::Range;

/// Name endings (lower case, without `_` and `-`) that promise a secret.
const STRONG: [&str; 21] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "apikey",
    "secretkey",
    "secretkeybase",
    "accesskey",
    "accountkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accesstoken",
    "apitoken",
    "authtoken",
    "refreshtoken",
    "sessiontoken",
    "secrettoken",
    "githubtoken",
    "bearertoken",
];

/// Values that are types, states or examples rather than secrets.
const WORDS: [&str; 40] = [
    "string",
    "str",
    "text",
    "char",
    "number",
    "integer",
    "int",
    "bool",
    "boolean",
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "any",
    "unknown",
    "object",
    "bytes",
    "option",
    "optional",
    "required",
    "missing",
    "invalid",
    "expired",
    "empty",
    "hidden",
    "redacted",
    "masked",
    "yes",
    "no",
    "env",
    "sha256",
    "base64",
    "password",
    "secret",
    "token",
    "api_key",
    "apikey",
    "passphrase",
];

/// How sure a name makes us.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    /// A secret by any reading, as long as the value is not plainly something else.
    Strong,
    /// `token`, which is also a lexer's and a model's word: the value must look random.
    Weak,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Between quotes.
    Quoted,
    /// `name=value`, as in an environment file or a query.
    Tight,
    /// With spaces or a colon: configuration, code or a sentence.
    Loose,
}

/// The value to be masked where the word at `start..end` is a secret's name and a value follows.
pub(super) fn assigned_secret(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let word = text.get(start..end)?;
    let rest = text.get(end..)?;
    let closed = rest.strip_prefix('\\').unwrap_or(rest);
    let closed = closed.strip_prefix(['"', '\'', '`']).unwrap_or(closed);
    let closed = closed.strip_prefix(']').unwrap_or(closed);
    let before = closed.trim_start_matches([' ', '\t', '*']);
    let is_flag = word.starts_with("--") && rest.starts_with(' ');
    let (after, separator) = if let Some(after) = before.strip_prefix(":=") {
        (after, ':')
    } else if let Some(after) = before.strip_prefix("=>") {
        (after, ':')
    } else if let Some(after) = before
        .strip_prefix('=')
        .filter(|t| !t.starts_with(['=', '~']))
    {
        (after, '=')
    } else if let Some(after) = before.strip_prefix(':').filter(|t| !t.starts_with(':')) {
        (after, ':')
    } else if is_flag {
        (before, ' ')
    } else {
        return None;
    };
    let name = name_kind(word)?;
    let value = after.trim_start_matches([' ', '\t', '*']);
    let tight = separator == '=' && before.len() == closed.len() && value.len() == after.len();
    let value_start = text.len() - value.len();
    let (skipped, value, style) = match quoted(value) {
        Some((skipped, value)) => (skipped, value, Style::Quoted),
        None => {
            let opened = value.trim_start_matches(['\\', '"', '\'', '`']);
            (
                value.len() - opened.len(),
                bare(opened),
                if tight { Style::Tight } else { Style::Loose },
            )
        }
    };
    let range = value_start + skipped..value_start + skipped + value.len();
    is_secret(word, name, value, style, text.get(range.end..)?).then_some(range)
}

/// Whether the word ends like a secret's name.
fn name_kind(word: &str) -> Option<Name> {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_' || c == '-');
    let ends_with = |suffix: &str| {
        let mut letters = word.bytes().rev().filter(|b| *b != b'_' && *b != b'-');
        suffix
            .bytes()
            .rev()
            .all(|b| letters.next().is_some_and(|l| l.to_ascii_lowercase() == b))
    };
    // The working directory has the name of a password.
    if ["pwd", "oldpwd"]
        .iter()
        .any(|shell| word.eq_ignore_ascii_case(shell))
    {
        return None;
    }
    if STRONG.iter().any(|suffix| ends_with(suffix)) {
        return Some(Name::Strong);
    }
    // In capitals they are variables of the environment, not a lexer's tokens or passing tests.
    if word.ends_with("_TOKEN") || word.ends_with("_PASS") {
        return Some(Name::Strong);
    }
    ends_with("token").then_some(Name::Weak)
}

/// What stands between quotes on one line, escaped ones included, and where it begins.
fn quoted(text: &str) -> Option<(usize, &str)> {
    let escaped = text.starts_with('\\');
    let opened = text.strip_prefix('\\').unwrap_or(text);
    let quote = opened
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))?;
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
    text.split(stops)
        .next()
        .unwrap_or_default()
        .trim_end_matches(['.', '*'])
}

/// Whether a value stands for a secret without being one: a variable, a blank, a path, the mask.
pub(super) fn is_stand_in(value: &str) -> bool {
    let blank = value
        .chars()
        .all(|c| matches!(c, '*' | '.' | '…' | 'x' | 'X' | '-' | '_' | '?'));
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    // Base64 may begin with a slash, too; then it mixes capitals and digits.
    let path =
        value.starts_with(['/', '~']) && !(has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit));
    let variable =
        value.starts_with(['$', '<', '{', '[']) || value.starts_with('%') && value.ends_with('%');
    blank || path || variable || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn is_secret(word: &str, name: Name, value: &str, style: Style, after: &str) -> bool {
    if is_stand_in(value) || value.contains(super::MASK) {
        return false;
    }
    let length = value.chars().count();
    let digit = value.bytes().any(|b| b.is_ascii_digit());
    let symbol = value
        .bytes()
        .any(|b| b.is_ascii_punctuation() && !b"._-:/".contains(&b));
    let number = value
        .bytes()
        .all(|b| b.is_ascii_digit() || b"._-".contains(&b));
    let solid = length >= 20 && value.bytes().all(|b| b.is_ascii_alphanumeric());
    if style == Style::Quoted {
        let spaced = value.contains(char::is_whitespace);
        let may_be_spaced = word.to_ascii_lowercase().ends_with("passphrase");
        return match name {
            _ if spaced => may_be_spaced,
            Name::Strong => length >= 3,
            Name::Weak => solid || digit && length >= 8 && !number,
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
    }
}

/// Whether an unquoted value is an expression: a call, a path, a type, another variable.
fn is_code(value: &str, after: &str) -> bool {
    let plain = value
        .bytes()
        .all(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'.');
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
