//! Counting and cutting text in Unicode characters.

/// The mark at the end of a text that was cut.
pub(super) const ELLIPSIS: char = '…';

/// How many characters a text has.
pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// The first `max` characters of a text.
pub(super) fn prefix(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((end, _)) => text.split_at(end).0,
        None => text,
    }
}

/// A text of at most `max` characters: the whole one, or its beginning with [`ELLIPSIS`] behind,
/// cut between words where that costs no more than a third of the room.
pub(super) fn shorten(text: &str, max: usize) -> String {
    let Some(room) = max.checked_sub(1) else {
        return String::new();
    };
    if text.char_indices().nth(max).is_none() {
        return text.to_owned();
    }
    let head = prefix(text, room);
    let on_boundary = text.split_at(head.len()).1.starts_with(char::is_whitespace);
    let kept = match head.rfind(char::is_whitespace) {
        Some(space) if !on_boundary && chars(head.split_at(space).0) >= room * 2 / 3 => {
            head.split_at(space).0
        }
        _ => head,
    };
    let mut short = kept.trim_end().to_owned();
    short.push(ELLIPSIS);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_left_alone() {
        assert_eq!(shorten("naïve", 5), "naïve");
        assert_eq!(shorten("", 0), "");
    }

    #[test]
    fn a_cut_falls_between_words_where_one_ends_nearby() {
        assert_eq!(shorten("one two three", 9), "one two…");
        assert_eq!(shorten("one two three", 8), "one two…");
        assert_eq!(shorten("a bbbbbbbbbbbbbb", 8), "a bbbbb…");
        assert_eq!(shorten("日本語日本語", 3), "日本…");
    }

    #[test]
    fn no_room_is_no_text() {
        assert_eq!(shorten("abc", 0), "");
        assert_eq!(shorten("abc", 1), "…");
    }
}
