//! Output of any length in bounded memory: cut into lines, or kept to its beginning and its end.

use std::collections::VecDeque;

use memchr::memchr;

/// Splits chunks into lines. A line longer than the limit is passed on once, cut, and marked as not complete.
#[derive(Debug)]
pub struct LineSplitter {
    /// The beginning of a line whose end has not arrived; never longer than `limit`.
    partial: Vec<u8>,
    cut: bool,
    limit: usize,
}

impl LineSplitter {
    pub fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), cut: false, limit }
    }

    /// Takes a chunk; calls `each` with every line that ends in it, without its line end.
    pub fn push(&mut self, mut chunk: &[u8], mut each: impl FnMut(&[u8], bool)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = (&chunk[..end], &chunk[end + 1..]);
            if self.partial.is_empty() && !self.cut && line.len() <= self.limit {
                each(without_cr(line), true);
            } else {
                self.keep(line);
                self.emit(&mut each);
            }
            chunk = rest;
        }
        self.keep(chunk);
    }

    /// The stream is over: what is left is a line too.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8], bool)) {
        if !self.partial.is_empty() || self.cut {
            self.emit(&mut each);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.limit - self.partial.len();
        let kept = bytes.len().min(room);
        self.partial.extend_from_slice(&bytes[..kept]);
        self.cut |= kept < bytes.len();
    }

    fn emit(&mut self, each: &mut impl FnMut(&[u8], bool)) {
        each(without_cr(&self.partial), !self.cut);
        self.partial.clear();
        // One huge line must not hold its memory for the rest of the session.
        self.partial.shrink_to(64 * 1024);
        self.cut = false;
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Keeps the first and the last bytes of what is pushed; the middle is dropped and counted.
#[derive(Debug)]
pub struct BoundedText {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    dropped: u64,
}

impl BoundedText {
    pub fn new(head_limit: usize, tail_limit: usize) -> Self {
        Self { head: Vec::new(), head_limit, tail: VecDeque::new(), tail_limit, dropped: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(first);
        let skipped = rest.len().saturating_sub(self.tail_limit);
        let rest = &rest[skipped..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.tail.extend(rest);
        self.dropped += (over + skipped) as u64;
    }

    /// The text; a line says how much was left out of the middle. Bytes that are no UTF-8 are replaced.
    pub fn into_text(mut self) -> String {
        if self.dropped > 0 {
            // A word that was cut in two may be half a secret, which nothing would recognize.
            let head = whole_words(&self.head);
            self.dropped += (self.head.len() - head) as u64;
            self.head.truncate(head);
            let tail = self.tail.make_contiguous();
            let cut = partial_line(tail);
            self.tail.drain(..cut);
            self.dropped += cut as u64;
            let note = format!("\n[… {} bytes omitted …]\n", self.dropped);
            self.head.extend_from_slice(note.as_bytes());
        }
        self.head.extend(self.tail);
        crate::text::clean_bytes(&self.head)
    }
}

/// Adds to a list that forgets its oldest.
pub(crate) fn push_last<T>(list: &mut Vec<T>, most: usize, item: impl Into<T>) {
    if list.len() == most {
        list.remove(0);
    }
    list.push(item.into());
}

/// Words are looked for in this many bytes around a cut; there is none in longer runs, such as a picture's.
const WORD_LIMIT: usize = 4096;

/// Up to where the words of a beginning are whole.
fn whole_words(head: &[u8]) -> usize {
    let near = head.len().saturating_sub(WORD_LIMIT);
    let words = head[near..].iter().rposition(u8::is_ascii_whitespace);
    let parts = || head[near..].iter().rposition(ends_a_part);
    words.or_else(parts).map_or(near, |end| near + end + 1)
}

/// How much of an end belongs to a line, else to a word, that began before it.
pub fn partial_line(tail: &[u8]) -> usize {
    let near = tail.get(..WORD_LIMIT).unwrap_or(tail);
    let line = near.iter().position(|byte| *byte == b'\n');
    let word = || near.iter().position(u8::is_ascii_whitespace);
    let part = || near.iter().position(ends_a_part);
    let cut = line.or_else(word).or_else(part);
    cut.map_or(near.len(), |end| end + 1)
}

/// Whether a byte separates words in text without spaces, such as JSON.
fn ends_a_part(byte: &u8) -> bool {
    b"\"'`,;<>(){}[]&|".contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[Vec<u8>], limit: usize) -> Vec<(Vec<u8>, bool)> {
        let mut splitter = LineSplitter::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, |line, complete| lines.push((line.to_vec(), complete)));
            assert!(splitter.partial.len() <= limit);
        }
        splitter.finish(|line, complete| lines.push((line.to_vec(), complete)));
        lines
    }

    /// What a reader without limits on memory would say.
    fn naive(all: &[u8], limit: usize) -> Vec<(Vec<u8>, bool)> {
        let mut lines: Vec<&[u8]> = all.split(|b| *b == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        lines
            .into_iter()
            .map(|line| {
                let cut = &line[..line.len().min(limit)];
                (cut.strip_suffix(b"\r").unwrap_or(cut).to_vec(), line.len() <= limit)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_lines_of_the_whole(
            chunks in proptest::collection::vec(
                proptest::collection::vec(
                    prop_oneof![4 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r'), 1 => Just(0)],
                    0..40,
                ),
                0..20,
            ),
            limit in 1_usize..50,
        ) {
            let whole: Vec<u8> = chunks.concat();
            prop_assert_eq!(split(&chunks, limit), naive(&whole, limit));
        }
    }

    #[test]
    fn an_endless_line_is_kept_only_up_to_the_limit() {
        let mut splitter = LineSplitter::new(1000);
        for _ in 0..10_000 {
            splitter.push(&[b'x'; 4096], |_, _| panic!("no line has ended"));
        }
        let mut seen = Vec::new();
        splitter.push(b"y\nnext\n", |line, complete| seen.push((line.len(), complete)));
        assert_eq!(seen, [(1000, false), (4, true)]);
    }

    #[test]
    fn short_text_is_whole() {
        let mut text = BoundedText::new(4, 4);
        text.push(b"abc");
        text.push(b"defgh");
        assert_eq!(text.into_text(), "abcdefgh");
    }

    #[test]
    fn the_middle_goes() {
        let mut text = BoundedText::new(3, 3);
        text.push(b"ab defgh\nj");
        assert_eq!(text.into_text(), "ab \n[… 6 bytes omitted …]\nj");
    }

    #[test]
    fn cap_10_no_half_of_a_secret_is_left_beside_the_cut() {
        let mut text = BoundedText::new(8, 24);
        text.push(b"one ghp_abcdefghij0123456789klmnop and\nlast words\n");
        assert_eq!(text.into_text(), "one \n[… 35 bytes omitted …]\nlast words\n");
        let mut text = BoundedText::new(8, 24);
        text.push(b"one ghp_abcdefghij0123456789klmnopqrstuvwxyz");
        assert_eq!(text.into_text(), "one \n[… 40 bytes omitted …]\n");
    }

    proptest! {
        #[test]
        fn both_ends_stay_and_nothing_grows(
            pieces in proptest::collection::vec(proptest::collection::vec(b'a'..=b'z', 0..50), 0..30),
            head in 0_usize..20,
            tail in 0_usize..20,
        ) {
            let whole = pieces.concat();
            let mut text = BoundedText::new(head, tail);
            for piece in &pieces {
                text.push(piece);
                prop_assert!(text.head.len() <= head && text.tail.len() <= tail);
            }
            let kept = text.head.len() + text.tail.len();
            prop_assert_eq!(kept as u64 + text.dropped, whole.len() as u64);
            let head_kept = text.head.len();
            prop_assert_eq!(&text.head[..], &whole[..head_kept]);
            let end: Vec<u8> = text.tail.iter().copied().collect();
            prop_assert_eq!(&end[..], &whole[whole.len() - end.len()..]);
        }
    }
}
