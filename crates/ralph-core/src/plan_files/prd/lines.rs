//! Where the stories and their keys stand in the text, which parsed JSON no longer tells.
//!
//! The text is known to be JSON by then, so only strings, brackets and line ends are looked at.

use std::collections::HashMap;

use super::STORIES;

/// The lines of a file's stories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Where the array of stories begins, or the file's value where there is none.
    pub(super) line: usize,
    pub(super) stories: Vec<StoryLines>,
}

/// The lines of one story.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StoryLines {
    /// Where it begins.
    pub(super) line: usize,
    /// Where its keys stand.
    pub(super) keys: HashMap<String, usize>,
}

impl StoryLines {
    /// The line of a key, or that of the story.
    pub(super) fn of(&self, key: &str) -> usize {
        self.keys.get(key).copied().unwrap_or(self.line).max(1)
    }
}

/// Finds the stories of a file that is valid JSON.
pub(super) fn find(text: &str) -> Found {
    let mut scanner = Scanner::default();
    let mut bytes = text.bytes().enumerate();
    let mut line = 1;
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => line += 1,
            b'"' => {
                let mut end = at;
                while let Some((at, byte)) = bytes.next() {
                    match byte {
                        b'\\' => {
                            bytes.next();
                        }
                        b'"' => {
                            end = at;
                            break;
                        }
                        _ => {}
                    }
                }
                scanner.string(text.get(at..=end).unwrap_or_default(), line);
            }
            b'{' | b'[' => scanner.open(byte, line),
            b'}' | b']' => scanner.close(),
            b',' => scanner.comma(),
            b':' => scanner.colon(),
            byte if byte.is_ascii_whitespace() => {}
            _ => scanner.value(line),
        }
    }
    scanner.found
}

/// What an open bracket holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// The keys of the file's object.
    File,
    /// The stories.
    Stories,
    /// The keys of a story.
    Story,
    Other,
}

#[derive(Default)]
struct Scanner {
    found: Found,
    open: Vec<Holds>,
    /// The last string, and whether a colon after it made it a key.
    last: Option<(String, usize)>,
    key: Option<String>,
    /// Whether a value was begun since the last bracket or comma.
    is_begun: bool,
}

impl Scanner {
    fn string(&mut self, quoted: &str, line: usize) {
        self.value(line);
        // Only keys of files and stories are ever asked for.
        if matches!(self.open.last(), Some(Holds::File | Holds::Story)) && self.key.is_none() {
            self.last = serde_json::from_str(quoted).ok().map(|key| (key, line));
        }
    }

    fn colon(&mut self) {
        let Some((key, line)) = self.last.take() else {
            return;
        };
        if self.open.last() == Some(&Holds::Story)
            && let Some(story) = self.found.stories.last_mut()
        {
            story.keys.insert(key.clone(), line);
        }
        self.key = Some(key);
    }

    fn open(&mut self, bracket: u8, line: usize) {
        self.value(line);
        let holds = match (self.open.last(), bracket) {
            (None, b'{') => Holds::File,
            (None, _) => Holds::Stories,
            (Some(Holds::File), b'[') if self.key.as_deref() == Some(STORIES) => Holds::Stories,
            (Some(Holds::Stories), b'{') => Holds::Story,
            _ => Holds::Other,
        };
        if holds == Holds::Stories {
            // Of keys that stand twice the last one counts, as everywhere in JSON.
            self.found = Found {
                line,
                stories: Vec::new(),
            };
        }
        self.open.push(holds);
        self.comma();
    }

    /// The beginning of any value.
    fn value(&mut self, line: usize) {
        if self.is_begun {
            return;
        }
        self.is_begun = true;
        match self.open.last() {
            None => self.found.line = line,
            Some(Holds::Stories) => {
                self.found.stories.push(StoryLines {
                    line,
                    keys: HashMap::new(),
                });
            }
            Some(_) => {}
        }
    }

    fn comma(&mut self) {
        self.is_begun = false;
        self.key = None;
        self.last = None;
    }

    fn close(&mut self) {
        self.open.pop();
        self.comma();
        // What was closed is a value itself.
        self.is_begun = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{StoryLines, find};
    use proptest::prelude::*;

    fn lines(text: &str) -> Vec<usize> {
        find(text).stories.iter().map(|story| story.line).collect()
    }

    #[test]
    fn stories_begin_where_their_bracket_stands() {
        assert_eq!(
            lines("[\n{},\n\n{\"a\": [\n{}]}\n, 1, \"x\",\n[{}]]"),
            [2, 4, 6, 6, 7]
        );
        let file = "{\"a\": [{}],\n\"b\": \"userStories\",\n\"userStories\"\n:\n[\n{}]}";
        assert_eq!(lines(file), [6]);
        assert_eq!(find(file).line, 5);
        assert_eq!(find("\n\n{}").line, 3);
        assert_eq!(lines("{\"x\": {\"userStories\": [{}]}}"), [0; 0]);
    }

    #[test]
    fn strings_are_strings() {
        assert_eq!(lines("[\"[{\\\"},\",\n\"\\\\\",\n{}]"), [1, 2, 3]);
        assert_eq!(lines("{\"user\\u0053tories\": [\n{}]}"), [2]);
    }

    #[test]
    fn keys_have_lines() {
        let story = "[{\n\"id\": \"id\",\n\"a\": {\n\"b\": 1},\n\"c\": [\"d\"]}]";
        let found = find(story);
        let mut keys: Vec<_> = found.stories[0]
            .keys
            .iter()
            .map(|(key, line)| (key.as_str(), *line))
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, [("a", 3), ("c", 5), ("id", 2)]);
        assert_eq!(found.stories[0].of("none"), 1);
        assert_eq!(StoryLines::default().of("none"), 1);
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), near in "[\\[\\]{}\",:\\\\a1\n]{0,40}") {
            let _ = (find(&text), find(&near));
        }

        #[test]
        fn as_many_as_there_are(near in "\\[([{}\",:\\[\\]a1\n ]{0,12})\\]") {
            if let Ok(serde_json::Value::Array(values)) = serde_json::from_str(&near) {
                prop_assert_eq!(find(&near).stories.len(), values.len());
            }
        }
    }
}
