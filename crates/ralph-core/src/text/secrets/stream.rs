//! Masking text that comes piece by piece, as in a log: secrets may be spread over several lines.

use super::{find, mask_secrets, pem, replaced};

/// Lines before a piece that may say what it is: those of a netrc entry, a name above its value.
const LINES: usize = 4;
/// How long those lines may be together.
const LINES_BYTES: usize = 2048;

/// Masks one piece after another, each in the light of those before it. Memory is bounded: it keeps a few
/// lines, and within a private key what there is of it.
#[derive(Debug, Default)]
pub struct StreamMask {
    before: String,
}

impl StreamMask {
    /// The next piece (whole lines, the last without its end) without its secrets.
    #[must_use]
    pub fn mask(&mut self, piece: &str) -> String {
        let start = self.before.len();
        self.before.push_str(piece);
        let inside = find(&self.before)
            .into_iter()
            .filter(|range| range.end > start)
            .map(|range| range.start.saturating_sub(start)..range.end - start);
        let masked = replaced(piece, inside.collect());
        self.forget();
        mask_secrets(&masked).into_owned()
    }

    /// Drops what the next piece has nothing to do with.
    fn forget(&mut self) {
        self.before.push('\n');
        let near = self.before.len().saturating_sub(LINES_BYTES);
        let near = self.before.ceil_char_boundary(near);
        let mut ends = self.before.rmatch_indices('\n');
        let lines = ends.nth(LINES).map_or(0, |(end, _)| end + 1).max(near);
        let keep = pem::open_at(&self.before).map_or(lines, |key| key.min(lines));
        self.before.drain(..keep);
    }
}
