//! Where quoted text begins and ends in a message, apostrophes aside.

/// Whether a quotation can begin with it.
pub(super) const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '‘' | '“' | '«')
}

/// Whether the quote at `at` stands inside a word, as in `can't`.
pub(super) fn is_apostrophe(chars: &[char], at: usize) -> bool {
    let letter = |i: Option<usize>| {
        i.and_then(|i| chars.get(i))
            .is_some_and(|c| c.is_alphanumeric())
    };
    chars.get(at) == Some(&'\'')
        && letter(at.checked_sub(1))
        && letter(Some(at + 1))
        && !is_prefixed(chars, at)
}

/// Whether the quote follows a lone letter that belongs to the literal: `b'…'`, `f"…"`.
fn is_prefixed(chars: &[char], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|i| chars.get(i)).copied();
    matches!(
        before(1),
        Some('b' | 'f' | 'r' | 'u' | 'B' | 'F' | 'R' | 'U')
    ) && !before(2).is_some_and(char::is_alphanumeric)
}

/// Where the quotation that opens at `at` ends, if one does.
pub(super) fn closing_quote(chars: &[char], at: usize) -> Option<usize> {
    let open = *chars.get(at)?;
    let mut escaped = false;
    for (i, &c) in chars.iter().enumerate().skip(at + 1) {
        let closes = match open {
            '‘' => c == '’',
            '“' => c == '”',
            '«' => c == '»',
            // The linker's way: `f'.
            '`' => c == '`' || (c == '\'' && !is_apostrophe(chars, i)),
            _ => c == open && !(c == '\'' && is_apostrophe(chars, i)),
        };
        if closes && !escaped {
            return Some(i);
        }
        escaped = c == '\\' && !escaped;
    }
    None
}
