//! Text as words and as index tokens, for any script and any punctuation.
//!
//! A *word* is a lower-cased run of letters, digits and `_`; scripts that do not put spaces between words give one
//! word per character. A *token* is what the index holds: identifiers whole and in their parts, English endings
//! dropped, stop words left out, pairs of characters for scripts without spaces. The store indexes the tokens of
//! [`index_text`], so that a query and a learning are always cut up alike.

/// Longer words are cut here: nobody searches for them, and hostile text is full of them.
const MAX_WORD_CHARS: usize = 64;

/// Words that say nothing about what a text is about.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "also", "an", "and", "are", "as", "at", "be", "been", "before", "but", "by", "can",
    "could", "did", "do", "does", "else", "for", "from", "had", "has", "have", "he", "here", "how", "i", "if", "in",
    "into", "is", "it", "its", "just", "may", "might", "my", "no", "not", "of", "on", "or", "our", "out", "over",
    "she", "should", "so", "than", "that", "the", "then", "there", "these", "they", "this", "those", "to", "too",
    "up", "use", "used", "using", "very", "was", "we", "were", "what", "when", "which", "while", "who", "will",
    "with", "would", "you", "your",
];

/// Most words are longer, which spares the search.
const LONGEST_STOP_WORD: usize = 6;

/// Words that every plan is full of, as tokens: they say something, but little.
#[rustfmt::skip]
const EVERYDAY: &[&str] = &[
    "add", "again", "all", "allow", "also", "always", "another", "any", "back", "bad", "bug", "build", "call",
    "case", "chang", "check", "class", "clean", "clear", "close", "code", "command", "correct", "creat", "data",
    "delet", "each", "end", "error", "every", "exampl", "fail", "featur", "file", "find", "first", "fix",
    "function", "get", "go", "good", "handl", "implement", "improv", "input", "issu", "keep", "last", "line",
    "list", "look", "make", "mend", "method", "more", "must", "name", "need", "never", "new", "next", "number",
    "off", "old", "one", "only", "open", "option", "other", "output", "page", "part", "print", "project", "put",
    "read", "remov", "replac", "result", "return", "right", "run", "same", "set", "show", "simple", "some",
    "start", "step", "still", "stop", "support", "sure", "task", "test", "text", "thing", "time", "try", "two",
    "type", "updat", "user", "valu", "version", "want", "way", "work", "write", "wrong",
];

/// Whether a token is one of the words that every plan is full of.
pub fn is_everyday(token: &str) -> bool {
    EVERYDAY.binary_search(&token).is_ok()
}

/// Whether a script puts no spaces between words, so that single characters are its words.
fn is_unspaced(c: char) -> bool {
    !c.is_ascii()
        && matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF // Thai, Lao, Burmese, Khmer
        | 0x1100..=0x11FF | 0xAC00..=0xD7A3 // Hangul: its words carry endings
        | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9D // kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF) // Han
}

fn is_word_char(c: char) -> bool {
    // Most text is ASCII, and the tables for the rest cost.
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { c.is_alphanumeric() }
}

/// Calls `each` with every run of word characters as written, and what directly follows it.
fn runs<'t>(text: &'t str, mut each: impl FnMut(&'t str, &'t str)) {
    let mut rest = text;
    while let Some(start) = rest.find(is_word_char) {
        let tail = &rest[start..];
        let unspaced = tail.starts_with(is_unspaced);
        let end = tail.find(|c| !is_word_char(c) || is_unspaced(c) != unspaced).unwrap_or(tail.len());
        let (run, after) = tail.split_at(end);
        each(run, after);
        rest = after;
    }
}

/// `C++` and `C#` are words whose signs matter: they get a name that an index can hold.
fn signed_name(run: &str, after: &str) -> Option<String> {
    let name = match after.as_bytes() {
        [b'+', b'+', ..] => "plusplus",
        [b'#', ..] => "sharp",
        _ => return None,
    };
    let is_letter = run.len() == 1 && run.starts_with(|c: char| c.is_ascii_alphabetic());
    is_letter.then(|| format!("{}{name}", run.to_ascii_lowercase()))
}

fn lower_into(run: &str, buffer: &mut String) {
    buffer.clear();
    if run.is_ascii() {
        buffer.push_str(run.get(..MAX_WORD_CHARS).unwrap_or(run));
        buffer.make_ascii_lowercase();
    } else {
        buffer.extend(run.chars().take(MAX_WORD_CHARS).flat_map(char::to_lowercase));
    }
}

/// Calls `each` with every word of the text, in order, and the word as written where it may have several forms.
fn each_word_as_written(text: &str, mut each: impl FnMut(&str, Option<&str>)) {
    let mut buffer = String::new();
    runs(text, |run, after| {
        if let Some(name) = signed_name(run, after) {
            each(&name, None);
        } else if run.starts_with(is_unspaced) {
            for (start, c) in run.char_indices() {
                each(&run[start..start + c.len_utf8()], None);
            }
        } else {
            lower_into(run, &mut buffer);
            each(&buffer, Some(run));
        }
    });
}

pub fn each_word(text: &str, mut each: impl FnMut(&str)) {
    each_word_as_written(text, |word, _| each(word));
}

pub fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_word(text, |word| all.push(word.to_owned()));
    all
}

/// Calls `each` with every index token of the text, in order.
pub fn each_token(text: &str, mut each: impl FnMut(&str)) {
    let mut buffer = String::new();
    runs(text, |run, after| {
        if run.starts_with(is_unspaced) {
            unspaced_tokens(run, &mut each);
            return;
        }
        if let Some(name) = signed_name(run, after) {
            each(&name);
        }
        word_tokens(run, &mut buffer, &mut each);
    });
}

/// Calls `each` with every word and the index token that every text with this word has, whatever its case; none for
/// words the index does not know.
pub fn each_word_and_token(text: &str, mut each: impl FnMut(&str, Option<&str>)) {
    let mut token = String::new();
    each_word_as_written(text, |word, run| {
        let Some(run) = run else { return each(word, Some(word)) };
        lower_into(run.trim_matches('_'), &mut token);
        // A word that was cut may stand for several.
        let whole = run.chars().nth(MAX_WORD_CHARS).is_none();
        let known = whole && !token.is_empty() && !is_stop_word(&token);
        stem(&mut token);
        each(word, known.then_some(token.as_str()));
    });
}

/// Single characters, so that any one of them is found, and pairs, which tell more.
fn unspaced_tokens(run: &str, each: &mut impl FnMut(&str)) {
    let mut previous = None;
    for (start, c) in run.char_indices() {
        let end = start + c.len_utf8();
        each(&run[start..end]);
        if let Some(previous) = previous {
            each(&run[previous..end]);
        }
        previous = Some(start);
    }
}

/// An identifier as a whole and in its parts; a plain word without its ending.
fn word_tokens(run: &str, buffer: &mut String, each: &mut impl FnMut(&str)) {
    let run = run.trim_matches('_');
    if run.is_empty() {
        return;
    }
    let plain = run.bytes().all(|b| b.is_ascii_lowercase());
    if plain || (Parts { rest: run }).next().is_none_or(|part| part.len() == run.len()) {
        lower_into(run, buffer);
        stemmed(buffer, each);
        return;
    }
    // Without its ending, as the same word in lower case would be.
    lower_into(run, buffer);
    stem(buffer);
    each(buffer);
    // A hostile word has a part per character; an identifier has a few.
    for part in (Parts { rest: run }).take(MAX_WORD_CHARS / 2) {
        if part.len() > 1 {
            lower_into(part, buffer);
            stemmed(buffer, each);
        }
    }
}

fn stemmed(word: &mut String, each: &mut impl FnMut(&str)) {
    if !is_stop_word(word) {
        stem(word);
        each(word);
    }
}

fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST_STOP_WORD && STOP_WORDS.binary_search(&word).is_ok()
}

/// The parts of an identifier: `HTTPServer_v2` has `HTTP`, `Server`, `v` and `2`.
struct Parts<'w> {
    rest: &'w str,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Upper,
    Lower,
    Digit,
}

impl<'w> Iterator for Parts<'w> {
    type Item = &'w str;

    fn next(&mut self) -> Option<&'w str> {
        let rest = self.rest.trim_start_matches('_');
        let mut end = rest.len();
        let mut previous: Option<(usize, Shape)> = None;
        for (length, (at, c)) in rest.char_indices().enumerate() {
            let shape = if c.is_numeric() {
                Shape::Digit
            } else if c.is_uppercase() {
                Shape::Upper
            } else {
                Shape::Lower
            };
            if c == '_' {
                end = at;
                break;
            }
            match previous {
                // `HTTPServer`: the last capital begins the next part.
                Some((last, Shape::Upper)) if shape == Shape::Lower && length > 1 => {
                    end = last;
                    break;
                }
                // `Server`: one capital belongs to what follows it.
                Some((_, Shape::Upper)) if shape == Shape::Lower => {}
                Some((_, before)) if before != shape => {
                    end = at;
                    break;
                }
                _ => {}
            }
            previous = Some((at, shape));
        }
        let (part, after) = rest.split_at(end);
        self.rest = after;
        (!part.is_empty()).then_some(part)
    }
}

/// Drops the commonest English endings, so that `migrations`, `migrating` and `migrate` meet.
fn stem(word: &mut String) {
    if word.len() <= 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return;
    }
    let ends =
        |word: &str, ending: &str, longer_than: usize| word.ends_with(ending) && word.len() > longer_than;
    if ends(word, "ies", 4) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ends(word, "sses", 4) {
        word.truncate(word.len() - 2);
    } else if ends(word, "ing", 5) {
        word.truncate(word.len() - 3);
        drop_doubled(word);
    } else if ends(word, "ed", 4) {
        word.truncate(word.len() - 2);
        drop_doubled(word);
    } else {
        if word.ends_with('s') && !["ss", "us", "is"].iter().any(|kept| word.ends_with(kept)) {
            word.pop();
        }
        if ends(word, "e", 4) {
            word.pop();
        }
    }
}

/// `stopp` is `stop`, but `call` stays `call`; an `e` goes, as it does for the plain word.
fn drop_doubled(word: &mut String) {
    let bytes = word.as_bytes();
    if let [.., before, last] = bytes
        && before == last
        && bytes.len() > 2
        && !matches!(last, b'l' | b's' | b'z')
    {
        word.pop();
    } else if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
}

/// What the store indexes for one learning: its tokens, separated by spaces.
pub fn index_text(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    each_token(text, |token| {
        if !all.is_empty() {
            all.push(' ');
        }
        all.push_str(token);
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        each_token(text, |token| all.push(token.to_owned()));
        all
    }

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(EVERYDAY.is_sorted());
        for word in ["files", "Change", "created", "fixing", "values"] {
            assert!(is_everyday(&tokens(word)[0]), "{word}");
        }
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        for other in ["", "zebra", "aa", "thea", "é", "x", "Use", "yours", "zz"] {
            assert!(!is_stop_word(other), "{other}");
        }
        assert!(STOP_WORDS.iter().all(|word| word.len() <= LONGEST_STOP_WORD));
    }

    #[test]
    fn lrn_10_identifiers_are_found_whole_and_in_parts() {
        assert_eq!(tokens("HTTPServer_v2"), ["httpserver_v2", "http", "server"]);
        assert!(tokens("SQLite").contains(&tokens("sqlite")[0]));
        assert!(tokens("DataFrames").contains(&tokens("dataframe")[0]));
        assert_eq!(tokens("getUserName"), ["getusernam", "get", "user", "name"]);
        assert_eq!(tokens("src/main.rs"), ["src", "main", "rs"]);
        assert_eq!(tokens("__init__"), ["init"]);
        assert_eq!(tokens("\"foo\" a-b"), ["foo", "b"]);
    }

    #[test]
    fn lrn_10_signs_and_scripts_give_tokens() {
        assert_eq!(tokens("C++"), ["cplusplus", "c"]);
        assert_eq!(words("C# or C++"), ["csharp", "or", "cplusplus"]);
        assert_eq!(tokens("日本語"), ["日", "本", "日本", "語", "本語"]);
        assert_eq!(words("日本語abc"), ["日", "本", "語", "abc"]);
        assert_eq!(tokens("Größe ÜBER Привет"), ["größe", "über", "привет"]);
        assert_eq!(words("_ ___ !?"), ["_", "___"]);
        assert!(tokens("_ ___ !?").is_empty());
    }

    #[test]
    fn endings_meet() {
        for (one, other) in [
            ("migrations", "migration"),
            ("queries", "query"),
            ("stopped", "stopping"),
            ("files", "file"),
            ("classes", "class"),
            ("created", "creates"),
            ("calling", "calls"),
        ] {
            assert_eq!(tokens(one), tokens(other), "{one} {other}");
        }
    }
}
