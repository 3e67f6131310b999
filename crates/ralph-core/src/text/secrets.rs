//! Masking what looks like a key, a token or a password before text is stored.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memmem};

use super::assignment::{assigned_secret, is_stand_in};

/// What stands in the place of a secret.
pub const MASK: &str = "[masked]";

/// Masking can uncover at most a little more (a quote inside a key block); this many rounds are
/// plenty, and a bound keeps the whole linear.
const ROUNDS: usize = 4;

/// A PEM block longer than this is not a key but two unrelated lines.
const PEM_BYTES: usize = 16 * 1024;

/// How the first line of a private key ends, and within how many bytes after `BEGIN`.
const PEM_KEY: &[u8] = b"PRIVATE KEY-----";
const PEM_HEADER_BYTES: usize = 64;

/// No line of a key is longer than this; a bound keeps the search for line ends linear.
const PEM_LINE_BYTES: usize = 256;

/// What must follow a prefix for it to be a secret.
enum Tail {
    /// At least so many letters, digits, `-` and `_`, a digit among them.
    Word(usize),
    /// At least so many letters and digits in a row.
    Alnum(usize),
    /// At least so many upper-case letters and digits in a row.
    Upper(usize),
    /// Somewhere in the word so many letters and digits in a row, a digit among them. For prefixes
    /// short enough to begin an ordinary hyphenated name.
    Segment(usize),
}

/// Issuers' prefixes. The lengths are below the real ones, so that clipped keys are caught as well.
const SHAPES: [(&str, Tail); 24] = [
    ("sk-ant-", Tail::Word(8)),
    ("sk-", Tail::Segment(16)),
    ("sk_live_", Tail::Alnum(10)),
    ("sk_test_", Tail::Alnum(10)),
    ("rk_live_", Tail::Alnum(10)),
    ("ghp_", Tail::Alnum(16)),
    ("gho_", Tail::Alnum(16)),
    ("ghu_", Tail::Alnum(16)),
    ("ghs_", Tail::Alnum(16)),
    ("ghr_", Tail::Alnum(16)),
    ("github_pat_", Tail::Alnum(16)),
    ("glpat-", Tail::Word(16)),
    ("AKIA", Tail::Upper(16)),
    ("ASIA", Tail::Upper(16)),
    ("AIza", Tail::Word(30)),
    ("xoxa-", Tail::Word(10)),
    ("xoxb-", Tail::Word(10)),
    ("xoxp-", Tail::Word(10)),
    ("xoxr-", Tail::Word(10)),
    ("xoxs-", Tail::Word(10)),
    ("xapp-", Tail::Word(10)),
    ("npm_", Tail::Alnum(30)),
    ("hf_", Tail::Alnum(30)),
    ("pypi-", Tail::Word(50)),
];

/// `text` with every secret in a common shape replaced by [`MASK`]. Masked text stays as it is.
#[must_use]
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    let Some(mut masked) = mask_once(text) else {
        return Cow::Borrowed(text);
    };
    for _ in 1..ROUNDS {
        match mask_once(&masked) {
            Some(again) => masked = again,
            None => break,
        }
    }
    Cow::Owned(masked)
}

/// One pass over the words of `text`; `None` where it found nothing.
fn mask_once(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut pem_end = PemEnd::default();
    let mut out = String::new();
    let (mut at, mut kept) = (0, 0);
    while let Some(found) = bytes.get(at..)?.iter().position(|b| is_word(*b)) {
        let mut start = at + found;
        let end = word_end(bytes, start);
        // In JSON inside JSON a line break is the two characters `\n`: the `n` is not the word's.
        let escaped = start > 0 && bytes.get(start - 1) == Some(&b'\\');
        if escaped && matches!(bytes.get(start), Some(b'n' | b't' | b'r')) {
            start += 1;
        }
        at = end;
        let secret = shaped(text, start, end)
            .or_else(|| bearer(text, start, end))
            .or_else(|| url_password(text, end))
            .or_else(|| private_key(text, start, end, &mut pem_end))
            .or_else(|| assigned_secret(text, start, end));
        if let Some(secret) = secret {
            out.push_str(text.get(kept..secret.start)?);
            out.push_str(MASK);
            kept = secret.end;
            at = secret.end;
        }
    }
    if kept == 0 {
        return None;
    }
    out.push_str(text.get(kept..)?);
    Some(out)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn word_end(bytes: &[u8], start: usize) -> usize {
    start
        + bytes
            .iter()
            .skip(start)
            .take_while(|b| is_word(**b))
            .count()
}

/// A word with an issuer's prefix, or a JSON web token, which is three words.
fn shaped(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let word = text.get(start..end)?;
    if !matches!(
        word.as_bytes().first(),
        Some(b's' | b'r' | b'g' | b'A' | b'x' | b'n' | b'h' | b'p' | b'e')
    ) {
        return None;
    }
    let known = SHAPES.iter().any(|(prefix, tail)| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| tail_fits(rest.as_bytes(), tail))
    });
    if known {
        return Some(start..end);
    }
    if !word.starts_with("eyJ") || word.len() < 10 {
        return None;
    }
    let mut parts_end = end;
    for _ in 0..2 {
        let part = parts_end + 1;
        let separated = text.as_bytes().get(parts_end) == Some(&b'.');
        parts_end = word_end(text.as_bytes(), part);
        if !separated || parts_end < part + 8 {
            return None;
        }
    }
    Some(start..parts_end)
}

fn tail_fits(tail: &[u8], wanted: &Tail) -> bool {
    let run = |fits: fn(&u8) -> bool| tail.iter().take_while(|b| fits(b)).count();
    match wanted {
        Tail::Word(least) => tail.len() >= *least && tail.iter().any(u8::is_ascii_digit),
        Tail::Alnum(least) => run(u8::is_ascii_alphanumeric) >= *least,
        Tail::Upper(least) => run(|b| b.is_ascii_uppercase() || b.is_ascii_digit()) >= *least,
        Tail::Segment(least) => tail
            .split(|b| !b.is_ascii_alphanumeric())
            .any(|part| part.len() >= *least && part.iter().any(u8::is_ascii_digit)),
    }
}

/// The credentials after `Bearer`, or after `Basic` and `token` in an `Authorization` header.
fn bearer(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let word = text.get(start..end)?;
    let scheme = ["bearer", "basic", "token"]
        .iter()
        .position(|s| word.eq_ignore_ascii_case(s))?;
    if scheme > 0 {
        let before = text
            .get(..start)?
            .trim_end_matches([' ', '"', '\'', ':', '=']);
        let name = before.get(before.len().checked_sub("authorization".len())?..)?;
        if !name.eq_ignore_ascii_case("authorization") {
            return None;
        }
    }
    let rest = text.get(end..)?;
    let value = rest.trim_start_matches([' ', '\t']);
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"._~+/=-".contains(b);
    let length = value.bytes().take_while(is_token).count();
    let token = value.get(..length)?.trim_end_matches('.');
    let digit = token.bytes().any(|b| b.is_ascii_digit());
    let secret = value.len() < rest.len() && (token.len() >= 16 || digit && token.len() >= 8);
    let from = text.len() - value.len();
    secret.then(|| from..from + token.len())
}

/// The password in `scheme://user:password@host`, where the scheme ends at `end`.
fn url_password(text: &str, end: usize) -> Option<Range<usize>> {
    let rest = text.get(end..)?.strip_prefix("://")?;
    let from = text.len() - rest.len();
    let stops = |c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c);
    let authority = rest.split(stops).next()?;
    let (user_info, _) = authority.rsplit_once('@')?;
    let (user, password) = user_info.split_once(':')?;
    let start = from + user.len() + 1;
    let secret = !password.is_empty() && !is_stand_in(password);
    secret.then(|| start..start + password.len())
}

/// Remembers the next `-----END`, so that many openings share one search.
#[derive(Default)]
struct PemEnd {
    searched: Option<Option<usize>>,
}

impl PemEnd {
    fn after(&mut self, text: &str, from: usize) -> Option<usize> {
        match self.searched {
            Some(None) => None,
            Some(Some(end)) if end >= from => Some(end),
            _ => {
                let rest = text.as_bytes().get(from..)?;
                let end = memmem::find(rest, b"-----END").map(|found| from + found);
                self.searched = Some(end);
                end
            }
        }
    }
}

/// The body of a `-----BEGIN … PRIVATE KEY-----` block; of a cut-off block, its base64 lines.
fn private_key(text: &str, start: usize, end: usize, pem: &mut PemEnd) -> Option<Range<usize>> {
    if !text.get(start..end)?.ends_with("-----BEGIN") {
        return None;
    }
    let header = text.as_bytes().get(end..)?;
    let header = header.get(..PEM_HEADER_BYTES).unwrap_or(header);
    let body = end + memmem::find(header, PEM_KEY)? + PEM_KEY.len();
    if let Some(stop) = pem
        .after(text, body)
        .filter(|stop| stop - body <= PEM_BYTES)
    {
        return trimmed(text, body..stop);
    }
    let mut stop = body;
    while let Some(line) = short_line(text, stop).filter(|line| is_base64(line)) {
        stop += line.len();
    }
    trimmed(text, body..stop)
}

/// The line at `from` with its end, unless it is longer than any line of a key.
fn short_line(text: &str, from: usize) -> Option<&str> {
    let rest = text
        .as_bytes()
        .get(from..)
        .filter(|rest| !rest.is_empty())?;
    let window = rest.get(..PEM_LINE_BYTES).unwrap_or(rest);
    let end = memchr(b'\n', window).map_or(window.len(), |end| end + 1);
    let whole = window.get(end - 1) == Some(&b'\n') || end == rest.len();
    text.get(from..from + end).filter(|_| whole)
}

fn is_base64(line: &str) -> bool {
    line.trim()
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
}

/// The range without whitespace (also written `\n`) at its ends; `None` if that leaves nothing new.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let body = text.get(range.clone())?;
    let inner = body.trim_start().trim_start_matches("\\n");
    let start = range.end - inner.len();
    let inner = inner.trim_end().trim_end_matches("\\n");
    (!inner.is_empty() && inner != MASK).then(|| start..start + inner.len())
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
