//! Secrets that their own shape gives away: an issuer's prefix, a webhook's address, a JSON web token.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr;
use regex::bytes::Regex;

use super::{pattern, run};

/// What secrets begin with. The lengths are below the real ones, so that clipped keys are caught as well.
///
/// No pattern is open-ended: what follows belongs to the secret as far as its characters go, and is
/// added once a match counts. So a rejected match costs little, wherever it stands.
const SHAPES: &[&str] = &[
    // Models and their platforms.
    "sk-ant-[A-Za-z0-9_-]{8}",
    "sk-(?:proj|svcacct|admin|or-v1|lf|None)-[A-Za-z0-9_-]{16}",
    "sk-[A-Za-z0-9]{16}",
    "AIza[A-Za-z0-9_-]{30}",
    "gsk_[A-Za-z0-9]{20}",
    "xai-[A-Za-z0-9]{20}",
    "r8_[A-Za-z0-9]{20}",
    "(?:hf|api_org)_[A-Za-z0-9]{30}",
    "pplx-[A-Za-z0-9]{20}",
    "nvapi-[A-Za-z0-9_-]{20}",
    "tvly-[A-Za-z0-9_-]{16}",
    "fw_[A-Za-z0-9]{20}",
    "lsv2_(?:pt|sk)_[A-Za-z0-9]{16}",
    "esecret_[A-Za-z0-9]{16}",
    "ABSK[A-Za-z0-9+/]{40}",
    r"AQ\.Ab[A-Za-z0-9_-]{20}",
    "tgp_v1_[A-Za-z0-9_-]{20}",
    "csk-[A-Za-z0-9]{30}",
    "jina_[0-9a-f]{32}",
    "pcsk_[A-Za-z0-9]{20}",
    "sk_[0-9a-f]{40}",
    "fc-[0-9a-f]{32}",
    "e2b_[0-9a-f]{32}",
    "wandb_v1_[A-Za-z0-9_]{20}",
    // Forges, registries, continuous integration.
    "gh[pousr]_[A-Za-z0-9]{16}",
    "github_pat_[A-Za-z0-9]{16}",
    "gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|ffct|oas)-[A-Za-z0-9_-]{16}",
    "GR1348941[A-Za-z0-9_-]{16}",
    "npm_[A-Za-z0-9]{30}",
    "pypi-[A-Za-z0-9_-]{50}",
    "rubygems_[0-9a-f]{32}",
    "dckr_(?:pat|oat)_[A-Za-z0-9_-]{16}",
    "cio[A-Za-z0-9]{32}",
    "CCIP(?:AT|RJ)_[A-Za-z0-9_]{16}",
    "CFPAT-[A-Za-z0-9_-]{20}",
    "bk[ua]a_[A-Za-z0-9]{20}",
    "AKCp[A-Za-z0-9]{40}",
    "ATATT3[A-Za-z0-9_=-]{20}",
    "ATCTT3[A-Za-z0-9_=-]{20}",
    "ATBB[A-Za-z0-9]{24}",
    "sgp_[A-Za-z0-9_]{20}",
    "sq[apu]_[0-9a-f]{32}",
    "CLOJARS_[0-9a-f]{32}",
    "packagist_[a-z]{3}_[0-9a-f]{32}",
    // Clouds and hosting.
    "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}",
    r"ya29\.[A-Za-z0-9_-]{16}",
    "1//0[A-Za-z0-9_-]{30}",
    "GOCSPX-[A-Za-z0-9_-]{16}",
    "do[opr]_v1_[0-9a-f]{20}",
    "dapi[0-9a-f]{32}",
    r"hv[sbr]\.[A-Za-z0-9_-]{16}",
    r"\.atlasv1\.[A-Za-z0-9_-]{20}",
    "HRKU-[A-Za-z0-9_-]{20}",
    "nfp_[A-Za-z0-9]{20}",
    "rnd_[A-Za-z0-9]{20}",
    "fo1_[A-Za-z0-9_-]{20}",
    "fm[12][ra]?_[A-Za-z0-9+/]{20}",
    "sbp_[0-9a-f]{20}",
    "sb_secret_[A-Za-z0-9_-]{16}",
    "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{16}",
    "pul-[0-9a-f]{32}",
    "tskey-[a-z]+-[A-Za-z0-9]{8}",
    r"dp\.(?:st|pt|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{16}",
    "ops_eyJ[A-Za-z0-9_-]{20}",
    "vc[aciprk]_[A-Za-z0-9]{20}",
    "vercel_blob_rw_[A-Za-z0-9]{12}",
    "napi_[A-Za-z0-9]{40}",
    r"st\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-",
    "sha256~[A-Za-z0-9_-]{30}",
    r"v1\.0-[0-9a-f]{24}-[0-9a-f]{20}",
    "LTAI[A-Za-z0-9]{16}",
    "AQVN[A-Za-z0-9_-]{30}",
    "AGE-SECRET-KEY-1[0-9A-Z]{16}",
    // Payment.
    "[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10}",
    "whsec_[A-Za-z0-9+/]{16}",
    "sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20}",
    // Square and Facebook.
    "EAA[A-Za-z0-9]{57}",
    r"access_token\$(?:production|sandbox)\$[A-Za-z0-9]{12,20}\$[0-9a-f]{20}",
    "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{20}",
    "EZ[AT]K[A-Za-z0-9]{40}",
    "FLWSECK(?:_TEST)?-[A-Za-z0-9]{12}",
    "shippo_(?:live|test)_[0-9a-f]{20}",
    "duffel_(?:live|test)_[A-Za-z0-9_-]{20}",
    "access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-",
    // Messages and mail.
    "xox[abdeoprs]-[A-Za-z0-9%-]{10}",
    r"xoxe\.xox[bp]-[A-Za-z0-9-]{10}",
    "xapp-[A-Za-z0-9-]{10}",
    r"SG\.[A-Za-z0-9_-]{16}",
    "key-[0-9a-f]{32}",
    "xkeysib-[0-9a-f]{20}",
    "xsmtpsib-[0-9a-f]{20}",
    "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16}",
    "SK[0-9a-f]{32}",
    ":AA[A-Za-z0-9_-]{33}",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/]{20}",
    r"discord(?:app)?\.com/api/webhooks/[0-9]{15,20}/[A-Za-z0-9_-]{20}",
    r"webhook\.office\.com/webhookb2/[0-9a-f-]{8,40}@[0-9a-f-]{8,40}/[A-Za-z]{8}",
    // A bot of Discord: the first part is a number in base64.
    r"(?:[MNO][DTjz][AEIMQUYcgk][0-5w-z]){5}[A-Za-z0-9]{2,7}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20}",
    r"hooks\.zapier\.com/hooks/catch/[0-9]{4,12}/[A-Za-z0-9]{5}",
    // Tools of teams, watching and measuring.
    "lin_(?:api|oauth|wh)_[A-Za-z0-9]{20}",
    "ntn_[A-Za-z0-9]{20}",
    "secret_[A-Za-z0-9]{40}",
    "figd_[A-Za-z0-9_-]{20}",
    "[12]/[0-9]{14,19}:[0-9a-f]{32}",
    r"sl\.(?:u\.)?[A-Za-z0-9_-]{60}",
    r"sk\.eyJ[A-Za-z0-9_-]{20}",
    "sdk-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-",
    "hc[abx]ik_[A-Za-z0-9]{20}",
    "PMAK-[0-9a-f]{20}",
    "NRAK-[A-Z0-9]{20}",
    "NRII-[A-Za-z0-9_-]{20}",
    r"dt0[cs][0-9]{2}\.[A-Z0-9]{20}",
    "sntry[su]_[A-Za-z0-9+/=_]{20}",
    "glsa_[A-Za-z0-9]{20}",
    "glc_[A-Za-z0-9+/=]{20}",
    "phx_[A-Za-z0-9]{20}",
    "tfp_[A-Za-z0-9_-]{20}",
    "aio_[A-Za-z0-9]{20}",
    "fio-u-[A-Za-z0-9_-]{20}",
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{32}",
    // Grafana's old ones: a JSON object in base64.
    "eyJrIjoi[A-Za-z0-9_-]{30}",
    // Anybody's: a JSON web token.
    "eyJ[A-Za-z0-9_-]{7}",
];

static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(&SHAPES.join("|")));

/// Characters that go on with a secret.
const fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'~' | b'%')
}

/// Where the secret ends that goes on at `from`. A dot belongs to it only before another part that is no word.
fn end_of(text: &str, from: usize) -> usize {
    let mut end = from + run(text, from, goes_on);
    while text.as_bytes().get(end) == Some(&b'.') {
        let part = run(text, end + 1, goes_on);
        let part = text.get(end + 1..end + 1 + part).unwrap_or_default();
        let is_word = part.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        if part.len() < 6 || is_word {
            break;
        }
        end += 1 + part.len();
    }
    end
}

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(shape) = SHAPE.as_ref() else { return };
    let (mut at, mut run_end) = (0, 0);
    while let Some(hit) = shape.find_at(text.as_bytes(), at) {
        // Shapes are ASCII, so the next byte is a character's beginning.
        at = hit.start() + 1;
        let Some(start) = beginning(text, hit.start()) else {
            continue;
        };
        if hit.end() > run_end {
            run_end = end_of(text, hit.end());
        }
        let word = text.get(start..run_end).unwrap_or_default();
        let may_be_web_token = word.starts_with("eyJ") && !word.starts_with("eyJrIjoi");
        if is_mixed(word) && (!may_be_web_token || is_web_token(word)) {
            found.push(start..start + word.len());
            at = start + word.len();
        }
    }
}

/// A header and a body of the lengths that JSON web tokens have, and a signature.
fn is_web_token(word: &str) -> bool {
    let part = |from: usize, most: usize| {
        let rest = word.as_bytes().get(from..)?;
        memchr(b'.', rest.get(..most).unwrap_or(rest)).filter(|length| *length >= 8)
    };
    let Some(header) = part(0, 2048) else {
        return false;
    };
    part(header + 1, 8192).is_some_and(|body| word.len() >= header + body + 10)
}

/// Where the secret begins that a shape was found in; `None` where the shape stands inside a word.
fn beginning(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let part_of_word = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if !part_of_word(start) {
        // A shape from the middle of a secret: its first letters and digits stand before it.
        let before = bytes.get(..start)?;
        let letters = before.iter().rev().take(64);
        let length = letters.take_while(|b| b.is_ascii_alphanumeric()).count();
        return (length >= 6).then_some(start - length);
    }
    let inside = start > 0 && part_of_word(start - 1);
    let escaped = start > 1
        && matches!(bytes.get(start - 1), Some(b'n' | b't' | b'r'))
        && bytes.get(start - 2) == Some(&b'\\');
    (!inside || escaped).then_some(start)
}

/// Random characters have a digit or both cases among them; hyphenated words have neither.
fn is_mixed(word: &str) -> bool {
    // A bound, because one long run of characters may hold many shapes.
    let rest = word.as_bytes().get(4..word.len().min(256)).unwrap_or_default();
    let has = |kind: fn(&u8) -> bool| rest.iter().any(kind);
    has(u8::is_ascii_digit) || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}
