//! Cutting a byte stream into lines with bounded memory, whatever arrives.

use memchr::{memchr, memrchr};

/// Splits chunks into lines. A line longer than the limit is passed on once, cut, and marked as not complete.
#[derive(Debug)]
pub struct LineSplitter {
    /// The beginning of a line whose end has not arrived; never longer than `limit`.
    partial: Vec<u8>,
    /// Bytes of the present line were dropped.
    cut: bool,
    limit: usize,
}

impl LineSplitter {
    /// A splitter for lines of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            partial: Vec::new(),
            cut: false,
            limit,
        }
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
        debug_assert!(memrchr(b'\n', chunk).is_none());
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[Vec<u8>], limit: usize) -> Vec<(Vec<u8>, bool)> {
        let mut splitter = LineSplitter::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, |line, complete| {
                lines.push((line.to_vec(), complete))
            });
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
                (
                    cut.strip_suffix(b"\r").unwrap_or(cut).to_vec(),
                    line.len() <= limit,
                )
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
        splitter.push(b"y\nnext\n", |line, complete| {
            seen.push((line.len(), complete))
        });
        assert_eq!(seen, [(1000, false), (4, true)]);
    }
}
