//! Which of the tasks tried before are like this one: pure, the same for every store.
//!
//! ```text
//! Profile of a task ─► terms ─► store: how often each occurs ─► lookup ─► store: who has them ─► neighbours
//! ```
//!
//! Two tasks are alike in their titles, in all their words or in their files, whichever says more. Among all words rare
//! ones count more, so that text which a whole plan repeats says little. Titles are compared without regard to the other
//! tasks: what a dozen equal tasks have in common would look ever more common, and the twelfth like none of the others.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::memory::recall::tokens::{each_token, is_everyday};
use crate::model::{Neighbour, Task};

pub const ALIKE: f64 = 0.5;
pub const MOST_NEIGHBOURS: usize = 8;
/// Tasks that are compared at most.
pub const MOST_CANDIDATES: usize = 12;
/// Words and files of a task that are looked up at most; of long descriptions, those that come first.
const MOST_TERMS: usize = 40;
/// Of these, the words of the title that are searched for, and as many of the others, the rarest.
const LOOKUP_TERMS: usize = 6;
/// How much of a description is read.
const MOST_BYTES: usize = 4_000;
/// Files of a task that are remembered.
const MOST_FILES: usize = 30;
/// Words of a task that are remembered.
const MOST_WORDS: usize = 200;
/// Imagined tasks that keep a handful of real ones from making every word look common.
const BACKGROUND: f64 = 20.0;
/// What words that every plan is full of count for.
const EVERYDAY: f64 = 0.3;
/// What a number in a title counts for: it tells tasks of one kind apart, but says little of what they are about.
const NUMBER: f64 = 0.6;

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Profile {
    pub title: BTreeSet<String>,
    /// All its words, those of tags that agents gave it included.
    pub words: BTreeSet<String>,
    pub files: BTreeSet<String>,
    /// Words and files in the order in which they come: the first are looked up.
    terms: Vec<String>,
}

impl Profile {
    pub fn of(task: &Task) -> Self {
        let mut profile = Self::default();
        each_token(head(&task.title), |token| {
            profile.title.insert(token.to_owned());
            profile.add_word(token);
        });
        profile.add_files(&task.files);
        profile.add_text(&task.description);
        profile
    }

    pub fn from_stored(title: &str, words: &str, files: Vec<String>) -> Self {
        let set = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Self { title: set(title), words: set(words), files: files.into_iter().collect(), terms: Vec::new() }
    }

    pub fn add_text(&mut self, text: &str) {
        each_token(head(text), |token| self.add_word(token));
    }

    pub fn add_files(&mut self, files: &[String]) {
        for file in files {
            let file = file.trim_start_matches("./");
            if self.files.len() < MOST_FILES && !file.is_empty() && self.files.insert(file.into()) {
                self.terms.push(file_term(file));
            }
        }
    }

    fn add_word(&mut self, word: &str) {
        if self.words.len() < MOST_WORDS && !self.words.contains(word) {
            self.words.insert(word.to_owned());
            self.terms.push(word.to_owned());
        }
    }

    /// This and what was known before.
    pub fn with(&self, known: &Self) -> Self {
        let mut whole = self.clone();
        for word in &known.words {
            whole.add_word(word);
        }
        let files: Vec<String> = known.files.iter().cloned().collect();
        whole.add_files(&files);
        whole
    }

    /// Whether a store need not be told of it again.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        self.title == other.title && self.words == other.words && self.files == other.files
    }

    /// Everything an index needs to know: words, and files as words of their own.
    pub fn index_terms(&self) -> BTreeSet<String> {
        let files = self.files.iter().map(|file| file_term(file));
        self.words.iter().cloned().chain(files).collect()
    }

    pub fn terms(&self) -> &[String] {
        self.terms.get(..MOST_TERMS).unwrap_or(&self.terms)
    }
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

/// A path as one word that an index does not cut up.
fn file_term(path: &str) -> String {
    let mut term = String::from("f_");
    let word = |c: char| if c.is_alphanumeric() { c } else { '_' };
    term.extend(path.chars().take(200).map(word));
    term.to_lowercase()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frequencies {
    pub tasks: u64,
    /// How many of them have a term; one that none has may be missing.
    pub with: HashMap<String, u64>,
}

impl Frequencies {
    fn rarity(&self, term: &str) -> f64 {
        let with = as_f64(self.with.get(term).copied().unwrap_or(0));
        let all = as_f64(self.tasks).max(with) + BACKGROUND;
        let rarity = (all / (with + 1.0)).ln();
        if is_everyday(term) { rarity * EVERYDAY } else { rarity }
    }
}

fn as_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The terms to search for that some task has, with what each is worth. Words of the title are worth as much as a word that
/// nobody else has: of many tasks of one kind all must be found, although their descriptions share rarer words with others.
pub fn lookup(profile: &Profile, frequencies: &Frequencies) -> Vec<(String, f64)> {
    let known = |term: &&String| frequencies.with.get(*term).is_some_and(|with| *with > 0);
    let rarest = (as_f64(frequencies.tasks) + BACKGROUND).ln();
    let (title, others): (Vec<&String>, Vec<&String>) =
        profile.terms().iter().filter(known).partition(|term| profile.title.contains(*term));
    let mut terms = best(title, |term| title_weight(term) * rarest);
    terms.extend(best(others, |term| frequencies.rarity(term)));
    terms
}

/// A few terms, those of most worth first.
fn best(terms: Vec<&String>, worth: impl Fn(&str) -> f64) -> Vec<(String, f64)> {
    let mut terms: Vec<(String, f64)> = terms.into_iter().map(|term| (term.clone(), worth(term))).collect();
    terms.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    terms.truncate(LOOKUP_TERMS);
    terms
}

/// A task that was attempted, as the store returns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// The words of its title, between spaces.
    pub title: String,
    pub words: String,
    pub files: Vec<String>,
    /// Its likeness is not known yet.
    pub neighbour: Neighbour,
}

/// The tasks that are like this one, most alike first.
pub fn neighbours(profile: &Profile, tried: Vec<Tried>, all: &Frequencies) -> Vec<Neighbour> {
    let measure = Measure::new(profile, all);
    let near = tried.into_iter();
    let near = near.map(|other| Neighbour { likeness: measure.likeness(&other), ..other.neighbour });
    let mut near: Vec<Neighbour> = near.filter(|neighbour| neighbour.likeness >= ALIKE).collect();
    // Of those equally alike the store's first come first: the newest.
    near.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
    near.truncate(MOST_NEIGHBOURS);
    near
}

/// The files that tasks like this one changed.
pub fn files_of_alike(profile: &Profile, tried: &[Tried], all: &Frequencies) -> BTreeSet<String> {
    let measure = Measure::new(profile, all);
    let alike = tried.iter().filter(|other| measure.likeness(other) >= ALIKE);
    alike.flat_map(|other| other.files.iter().cloned()).take(MOST_FILES).collect()
}

/// One task's words and files with their weights, to compare many others with.
struct Measure<'a> {
    title: Weighted<'a>,
    words: Weighted<'a>,
    files: Weighted<'a>,
}

impl<'a> Measure<'a> {
    fn new(profile: &'a Profile, all: &Frequencies) -> Self {
        Self {
            title: Weighted::new(&profile.title, title_weight),
            words: Weighted::new(&profile.words, |term| all.rarity(term)),
            files: Weighted::new(&profile.files, |_| 1.0),
        }
    }

    fn likeness(&self, other: &Tried) -> f64 {
        let title = other.title.split_whitespace();
        let title = self.title.cosine(title, |word| title_weight(word).powi(2));
        // How rare the other's words are is not known: as rare as this task's own.
        let usual = self.words.mean();
        let words = self.words.cosine(other.words.split_whitespace(), |_| usual);
        let files = other.files.iter().map(String::as_str);
        let files = self.files.cosine(files, |_| 1.0);
        title.max(words).max(files)
    }
}

/// What a word of a title counts for, whatever other tasks there are.
fn title_weight(word: &str) -> f64 {
    if is_everyday(word) {
        EVERYDAY
    } else if word.bytes().all(|byte| byte.is_ascii_digit()) {
        NUMBER
    } else {
        1.0
    }
}

/// A set of words, each with the square of its weight.
struct Weighted<'a> {
    squares: HashMap<&'a str, f64>,
    total: f64,
}

impl<'a> Weighted<'a> {
    fn new(words: &'a BTreeSet<String>, weight: impl Fn(&str) -> f64) -> Self {
        let squares: HashMap<&str, f64> =
            words.iter().map(|word| (word.as_str(), weight(word).powi(2))).collect();
        // In order, for sums of the same numbers in another order differ.
        let total = words.iter().filter_map(|word| squares.get(word.as_str())).sum();
        Self { squares, total }
    }

    fn mean(&self) -> f64 {
        self.total / as_f64(self.squares.len().max(1) as u64)
    }

    /// The cosine with a set of words; `strange` gives the squares of those that are not in this set.
    fn cosine<'w>(&self, others: impl Iterator<Item = &'w str>, strange: impl Fn(&str) -> f64) -> f64 {
        let (mut shared, mut apart) = (0.0, 0.0);
        for word in others {
            match self.squares.get(word) {
                Some(square) => shared += square,
                None => apart += strange(word),
            }
        }
        if shared <= 0.0 {
            return 0.0;
        }
        (shared / (self.total * (shared + apart)).sqrt()).clamp(0.0, 1.0)
    }
}
