//! Names of items that stay the same however lines move and whoever ticks the boxes.

use std::collections::HashMap;

use super::items::Item;
use super::key_word::key_word;
use crate::plan_files::draft::Note;
use crate::plan_files::markdown::without_emphasis;
use crate::plan_files::text::one_line;

/// An item's name and title.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) is_by_author: bool,
    pub(super) title: String,
}

/// Names all items. A key that several items begin with names none of them.
pub(super) fn names(items: &[Item<'_>], notes: &mut Vec<Note>) -> Vec<Named> {
    let keys: Vec<Option<(&str, &str)>> = items.iter().map(|item| key_word(item.words)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (key, _) in keys.iter().flatten() {
        *uses.entry(key).or_default() += 1;
    }
    let mut made_up: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<Named> = Vec::with_capacity(items.len());
    for (item, key) in items.iter().zip(keys) {
        let named = match key {
            Some((key, title)) if uses.get(key) == Some(&1) => Named {
                name: key.to_owned(),
                is_by_author: true,
                title: title_of(if title.is_empty() { key } else { title }),
            },
            key => {
                if let Some((key, _)) = key {
                    let text =
                        format!("Several items start with `{key}`, so it identifies none of them.");
                    notes.push(Note {
                        line: item.line,
                        text,
                    });
                }
                let parent = item.parent.and_then(|at| all.get(at));
                let title = title_of(item.words);
                let name = made_up_name(parent.map_or("", |parent| &parent.name), &title);
                let times = made_up.entry(name.clone()).or_default();
                *times += 1;
                let name = if *times > 1 {
                    format!("{name}#{times}")
                } else {
                    name
                };
                Named {
                    name,
                    is_by_author: false,
                    title,
                }
            }
        };
        all.push(named);
    }
    all
}

/// The words on one line, without comments and without emphasis around the whole.
fn title_of(words: &str) -> String {
    let mut title = String::with_capacity(words.len());
    let mut rest = words;
    while let Some((before, comment)) = rest.split_once("<!--") {
        // What is not closed is no comment, and neither is what stands in code.
        let is_code = before.ends_with('`');
        let Some((_, after)) = comment.split_once("-->").filter(|_| !is_code) else {
            break;
        };
        title.push_str(before);
        rest = after;
    }
    title.push_str(rest);
    let title = one_line(&title);
    let bare = without_emphasis(&title);
    if bare.is_empty() {
        one_line(words)
    } else {
        bare.to_owned()
    }
}

/// The beginning of the title for people, and a number that stands for the whole path of titles.
/// It is longer than any key an author writes, so it never is one.
fn made_up_name(parent: &str, title: &str) -> String {
    let plain = plain(title);
    let path = fnv(
        fnv(fnv(FNV_START, parent.as_bytes()), &[0]),
        plain.as_bytes(),
    );
    let mut slug = String::new();
    for c in plain.chars().take(24) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let slug = match slug.trim_end_matches('-') {
        "" => "item",
        slug => slug,
    };
    format!("{slug}-{path:016x}")
}

/// The title without what may change and leave it the same: emphasis, capitals, a full stop.
fn plain(title: &str) -> String {
    let mut plain = String::with_capacity(title.len());
    for c in title.trim_end_matches('.').chars() {
        if !matches!(c, '*' | '_' | '`') {
            plain.extend(c.to_lowercase());
        }
    }
    plain
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: small, and the same on every machine and in every version, as names must be.
fn fnv(mut hash: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::{made_up_name, title_of};

    #[test]
    fn titles_lose_marks_around_the_whole() {
        assert_eq!(title_of("**Set  up**"), "Set up");
        assert_eq!(title_of("Set up <!-- id: 3 --> now"), "Set up now");
        assert_eq!(title_of("Strip `<!-- x -->`"), "Strip `<!-- x -->`");
        assert_eq!(title_of("Strip <!-- x"), "Strip <!-- x");
        assert_eq!(title_of("<!-- x -->"), "<!-- x -->");
    }

    #[test]
    fn names_never_change() {
        // Names are kept in databases: these must stay what they are.
        assert_eq!(made_up_name("", "Set up"), "set-up-5c6799dd1389bdaa");
        assert_eq!(
            made_up_name("T1", "Write the very first test of all"),
            "write-the-very-first-tes-4bbd68218fd71676"
        );
        assert_eq!(made_up_name("", "日本語"), "item-9e4ddcf33f63a809");
    }

    #[test]
    fn emphasis_and_capitals_do_not_matter() {
        assert_eq!(
            made_up_name("", "Set *up* `it`."),
            made_up_name("", "set UP it")
        );
        assert_ne!(made_up_name("", "Set up"), made_up_name("a", "Set up"));
        assert_ne!(made_up_name("", "Speak C"), made_up_name("", "Speak C++"));
    }
}
