//! Which tags a task's text names: words as words, phrases as phrases, paths by their suffix.

use std::collections::HashSet;

use super::query::RecallQuery;
use super::tokens::{each_word, words};
use super::weights::{self, MAX_TEXT_BYTES};
use crate::text::first_bytes;

/// The longest run of path segments that is told apart.
const MAX_SEGMENTS: usize = 5;
/// A text that names more paths than this is a listing.
const MAX_PATHS: usize = 2_000;
/// File names that stand for their directory, so that alone they say nothing.
const PACKAGE_FILES: [&str; 3] = ["__init__", "index", "mod"];
/// No word contains it, so no phrase reaches from one part of the query into the next.
const BREAK: &str = "\n ";

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TagMatch {
    /// How exact the match is; about one for a path of two segments.
    pub strength: f64,
    /// Whether the tag is a path or a dotted name.
    pub path: bool,
}

/// Everything the query names, ready to be asked about tags.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    words: HashSet<String>,
    title: HashSet<String>,
    /// All words in order, between spaces.
    sequence: String,
    /// Every run of up to [`MAX_SEGMENTS`] segments of every path, joined by `/`.
    paths: HashSet<String>,
}

impl Mentions {
    pub(super) fn new(query: &RecallQuery) -> Self {
        let mut mentions = Self { sequence: " ".to_owned(), ..Self::default() };
        let title = first_bytes(&query.title, MAX_TEXT_BYTES);
        each_word(title, |word| {
            mentions.title.insert(word.to_owned());
        });
        mentions.read(title);
        mentions.read(first_bytes(&query.text, MAX_TEXT_BYTES));
        query.shown_files().for_each(|file| mentions.read(file));
        mentions.read(query.shown_failure());
        mentions
    }

    fn read(&mut self, text: &str) {
        each_word(text, |word| {
            self.sequence.push_str(word);
            self.sequence.push(' ');
            if !self.words.contains(word) {
                self.words.insert(word.to_owned());
            }
        });
        self.sequence.push_str(BREAK);
        let is_path_char = |c: char| c.is_alphanumeric() || "_-./\\:".contains(c);
        for mention in text.split(|c| !is_path_char(c)) {
            if self.paths.len() > MAX_PATHS * MAX_SEGMENTS {
                return;
            }
            if !mention.contains(['/', '\\', '.', ':']) {
                continue;
            }
            let mention = mention.to_lowercase();
            let segments = segments(&mention);
            if segments.len() < 2 {
                continue;
            }
            for start in 0..segments.len().min(MAX_PATHS) {
                let mut run = String::new();
                for segment in segments.iter().skip(start).take(MAX_SEGMENTS) {
                    if !run.is_empty() {
                        run.push('/');
                    }
                    run.push_str(segment);
                    if !self.paths.contains(&run) {
                        self.paths.insert(run.clone());
                    }
                }
            }
        }
    }

    /// Whether the text has these words, next to each other and in this order.
    fn has_phrase(&self, phrase: &[String]) -> bool {
        match phrase {
            [] => false,
            [word] => self.words.contains(word),
            several => {
                several.iter().all(|word| self.words.contains(word))
                    && self.sequence.contains(&format!(" {} ", several.join(" ")))
            }
        }
    }

    /// Whether and how exactly the query names this tag, regardless of case.
    pub(super) fn find(&self, tag: &str) -> Option<TagMatch> {
        let tag = tag.trim();
        let lower = tag.to_lowercase();
        if is_path(&lower) {
            let strength = self.path_strength(&lower)?;
            return Some(TagMatch { strength, path: true });
        }
        let phrase = words(tag);
        if !self.has_phrase(&phrase) {
            return None;
        }
        let further = phrase.len().saturating_sub(1).min(MAX_SEGMENTS - 1);
        let mut strength = weights::SYMBOL + weights::PHRASE * small(further);
        if phrase.iter().all(|word| self.title.contains(word)) {
            strength += weights::IN_TITLE;
        }
        Some(TagMatch { strength, path: false })
    }

    fn path_strength(&self, lower: &str) -> Option<f64> {
        let whole = segments(lower);
        let mut stem = whole.as_slice();
        if has_extension(lower)
            && let [before @ .., _] = stem
        {
            stem = before;
        }
        let mut least_exact = 2;
        if let [before @ .., last] = stem
            && !before.is_empty()
            && PACKAGE_FILES.contains(last)
        {
            stem = before;
            least_exact = 3;
        }
        let exact = self.longest_suffix(&whole, least_exact).max(self.longest_suffix(stem, 1));
        let last = stem.last()?;
        let mut strength = if exact >= 2 {
            1.0 + weights::SEGMENT * small(exact - 2)
        } else if exact == 1 || self.words.contains(*last) {
            weights::FILE_NAME
        } else {
            return None;
        };
        if self.title.contains(*last) {
            strength += weights::IN_TITLE;
        }
        Some(strength)
    }

    /// How many of the last segments the text names in a row; 0 when fewer than `least`.
    fn longest_suffix(&self, segments: &[&str], least: usize) -> usize {
        // Single segments are in the set too: where the last is not, no suffix is.
        if !segments.last().is_some_and(|last| self.paths.contains(*last)) {
            return 0;
        }
        (least..=segments.len().min(MAX_SEGMENTS))
            .rev()
            .find(|length| self.paths.contains(&segments[segments.len() - length..].join("/")))
            .unwrap_or(0)
    }
}

fn small(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn segments(path: &str) -> Vec<&str> {
    path.split(['/', '\\', '.', ':']).filter(|segment| !segment.is_empty()).collect()
}

/// `a/b`, `a::b` and `a.b` are paths, `some words.` and `3.` are not.
fn is_path(lower: &str) -> bool {
    !lower.contains(char::is_whitespace) && segments(lower).len() > 1
}

fn has_extension(lower: &str) -> bool {
    lower.rsplit(['/', '\\']).next().is_some_and(|file| file.trim_start_matches('.').contains('.'))
        && lower.contains(['/', '\\'])
        || lower.matches('.').count() == 1 && !lower.contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(text: &str, tag: &str) -> f64 {
        let query = RecallQuery { text: text.to_owned(), ..RecallQuery::default() };
        Mentions::new(&query).find(tag).map_or(0.0, |found| found.strength)
    }

    #[test]
    fn lrn_04_tags_match_regardless_of_case() {
        assert!(strength("the PARSER fails", "Parser") > 0.0);
        assert!(strength("the ÜBERSICHT fails", "übersicht") > 0.0);
        assert!(strength("see SRC/Main.RS", "src/main.rs") > 0.0);
    }

    #[test]
    fn lrn_04_several_words_match_as_a_phrase() {
        assert!(strength("the error handling is off", "error handling") > 0.0);
        assert!(strength("Error-Handling", "error handling") > 0.0);
        assert_eq!(strength("handling of an error", "error handling"), 0.0);
        assert_eq!(strength("terror handling", "error handling"), 0.0);
        assert!(strength("日本語の検索", "日本語") > 0.0);
        assert_eq!(strength("日語本", "日本語"), 0.0);
        assert!(strength("한국어를 고치다", "한국어") > 0.0);
    }

    #[test]
    fn lrn_04_paths_match_by_suffix() {
        let tag = "django/db/models/fields/__init__.py";
        let dotted = strength("see django.db.models.fields for it", tag);
        let suffix = strength("see models/fields/__init__.py", tag);
        let name = strength("the fields are wrong", tag);
        assert!(dotted >= suffix && suffix > name && name > 0.0, "{dotted} {suffix} {name}");
        assert_eq!(strength("some other/__init__.py", tag), 0.0);
        assert!(strength("main.rs breaks", "src/main.rs") > strength("main breaks", "src/main.rs"));
        assert!(strength("panic in store::sqlite", "src/store/sqlite.rs") >= 1.0);
        assert!(strength(r"at src\store\sqlite.rs:12", "src/store/sqlite.rs") >= 1.0);
        assert_eq!(strength("domain.rs", "src/main.rs"), 0.0);
    }

    #[test]
    fn lrn_10_punctuation_does_not_hide_a_tag() {
        for (text, tag) in
            [("a \"foo\" b", "foo"), ("a-b", "a-b"), ("in C++!", "C++"), ("(src/main.rs)", "main.rs")]
        {
            assert!(strength(text, tag) > 0.0, "{text} {tag}");
        }
        assert_eq!(strength("in C", "C++"), 0.0);
    }

    #[test]
    fn phrases_do_not_reach_across_the_parts_of_a_query() {
        let query = RecallQuery {
            title: "fix error".to_owned(),
            text: "handling".to_owned(),
            ..RecallQuery::default()
        };
        assert_eq!(Mentions::new(&query).find("error handling"), None);
    }
}
