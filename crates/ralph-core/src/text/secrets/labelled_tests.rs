//! A labelled set: kinds of secrets in the places where they are met, and lines that only look like them.

use super::{StreamMask, mask_secrets};

/// One kind a line, its secrets between « and ». See [`spelled_out`] for the rest of the notation.
const SECRETS: &str = include_str!("labelled_secrets.txt");
/// One harmless text a line.
const HARMLESS: &str = include_str!("labelled_harmless.txt");

/// A line of the set as text: `⏎` is a line end, `{20}` so many letters and digits, `{hex 20}` and `{HEX 20}` so
/// many hexadecimal digits. So nothing in the set is a key by anybody's reading.
fn spelled_out(line: &str) -> String {
    let made_up = |digits: &str, length: &str| -> Option<String> {
        let length = length.parse().ok()?;
        Some(digits.chars().cycle().take(length).collect())
    };
    let hex = "3f786850e387550fdab836ed7e6dc881de23001b";
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, from)) = rest.split_once('{') {
        out.push_str(before);
        let (blank, after) = from.split_once('}').unwrap_or((from, ""));
        let filled = match blank.split_once(' ') {
            Some(("hex", length)) => made_up(hex, length),
            Some(("HEX", length)) => made_up(&hex.to_uppercase(), length),
            _ => made_up("aB3dE5gH7jK9mN1pQ2sT4vW6xY8zC0fGkLrUyZ", blank),
        };
        rest = if filled.is_some() { after } else { from };
        out.push_str(filled.as_deref().unwrap_or("{"));
    }
    out.push_str(rest);
    out.replace('⏎', "\n")
}

/// The kind, the text, and the secrets in it.
fn secrets() -> impl Iterator<Item = (&'static str, String, Vec<String>)> {
    SECRETS.lines().map(|line| {
        let (kind, line) = line.split_once(" | ").unwrap();
        let line = spelled_out(line);
        let marked = line.split('«').skip(1);
        let secrets = marked.map(|secret| secret.split('»').next().unwrap().to_owned());
        (kind, line.replace(['«', '»'], ""), secrets.collect())
    })
}

/// Whether half of a line of a secret can still be read.
fn leaks(shown: &str, secret: &str) -> bool {
    secret.lines().flat_map(|line| line.split("\\n")).any(|line| {
        let (first, second) = line.split_at(line.len() / 2);
        let seen = |half: &str| half.len() >= 3 && shown.contains(half);
        seen(first) || seen(second)
    })
}

#[test]
fn cap_10_every_labelled_kind_of_secret_is_masked() {
    let mut kinds = 0;
    let mut leaked = Vec::new();
    for (kind, line, secrets) in secrets() {
        kinds += 1;
        let whole = mask_secrets(&line).into_owned();
        let mut mask = StreamMask::default();
        let by_line: Vec<String> = line.lines().map(|line| mask.mask(line)).collect();
        for (way, shown) in [("whole", whole), ("line by line", by_line.join("\n"))] {
            let leaks = secrets.iter().any(|secret| leaks(&shown, secret));
            if leaks || !shown.contains("[masked]") {
                leaked.push((kind, way, shown));
            }
        }
    }
    println!("masked {} of {kinds} kinds", kinds - leaked.len());
    assert!(kinds >= 300 && leaked.is_empty(), "{leaked:#?}");
}

#[test]
fn cap_10_no_labelled_harmless_line_is_changed() {
    let lines: Vec<String> = HARMLESS.lines().map(spelled_out).collect();
    let mut mask = StreamMask::default();
    let mut changed = Vec::new();
    for line in &lines {
        changed.extend(Some(mask_secrets(line).into_owned()).filter(|shown| shown != line));
        changed.extend(Some(mask.mask(line)).filter(|shown| shown != line));
    }
    let all = lines.join("\n");
    println!("changed {} of {} harmless lines", changed.len(), lines.len());
    assert!(lines.len() >= 400 && changed.is_empty(), "{changed:#?}");
    assert_eq!(mask_secrets(&all), all, "nor where they stand together");
}
