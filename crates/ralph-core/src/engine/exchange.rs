//! Changing a file that others write too: what they wrote in between is never lost.

use crate::files::merge;

/// Something that was drawn from a text.
pub(super) trait Picture {
    /// What the file should hold.
    fn text(&self) -> &[u8];
}

/// How often a file that others keep writing is tried again.
const MOST_TRIES: u32 = 20;

/// Why a change was not made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missed<E> {
    /// Drawing or swapping failed; the file holds what others wrote last.
    Failed(E),
    Busy,
}

/// Draws the new text from the one that is there and puts it in place. `swap` is told what is expected in the file, replaces it
/// and gives what was in it at that very moment: where that is something else, somebody wrote it meanwhile, and theirs is
/// drawn from next.
pub(super) fn exchange<P: Picture, E>(
    first: Option<Vec<u8>>,
    mut draw: impl FnMut(Option<&[u8]>) -> Result<P, E>,
    mut swap: impl FnMut(Option<&[u8]>, &[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<P, Missed<E>> {
    let mut expected = first;
    // What others wrote instead of what was expected, from the first time that happens.
    let mut theirs: Option<Option<Vec<u8>>> = None;
    for round in 0..MOST_TRIES {
        let picture = match draw(theirs.as_ref().unwrap_or(&expected).as_deref()) {
            Ok(picture) => picture,
            Err(error) => {
                // What was swapped out is nowhere else.
                if let Some(text) = theirs.flatten() {
                    let _ = swap(expected.as_deref(), &text);
                }
                return Err(Missed::Failed(error));
            }
        };
        let nothing_new =
            expected.as_deref() == Some(picture.text()) || (expected.is_none() && picture.text().is_empty());
        if nothing_new {
            return Ok(picture);
        }
        let was = swap(expected.as_deref(), picture.text()).map_err(Missed::Failed)?;
        if was == expected {
            return Ok(picture);
        }
        let ours = picture.text().to_vec();
        theirs = Some(match (was, &expected) {
            // Somebody went on with what an earlier round put there, while this one brought in what it had missed.
            (Some(was), Some(expected)) if round > 0 => Some(merge(expected, &ours, &was)),
            (was, _) => was,
        });
        expected = Some(ours);
    }
    // Theirs goes back, with whatever they write while it does.
    let mut theirs = theirs.flatten();
    for _ in 0..MOST_TRIES {
        let Some(text) = theirs else { break };
        let was = swap(expected.as_deref(), &text).map_err(Missed::Failed)?;
        if was == expected {
            break;
        }
        theirs = match (was, &expected) {
            (Some(was), Some(expected)) => Some(merge(expected, &text, &was)),
            (was, _) => was,
        };
        expected = Some(text);
    }
    Err(Missed::Busy)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Ralph's line, added at the end of whatever is there.
    struct Drawn(Vec<u8>);

    impl Picture for Drawn {
        fn text(&self) -> &[u8] {
            &self.0
        }
    }

    fn add_own(text: Option<&[u8]>) -> Result<Drawn, &'static str> {
        let text = String::from_utf8(text.unwrap_or_default().to_vec()).map_err(|_| "not UTF-8")?;
        let own = if text.contains("ours\n") { "" } else { "ours\n" };
        Ok(Drawn(format!("{text}{own}").into_bytes()))
    }

    /// A file that somebody else writes just before the swaps with these numbers: what each adds.
    fn play(before: &[(usize, &[u8])]) -> (Vec<u8>, Result<(), Missed<&'static str>>) {
        let disk = RefCell::new(b"first\n".to_vec());
        let mut number = 0;
        let ended = exchange(Some(b"first\n".to_vec()), add_own, |_, text| {
            if let Some((_, more)) = before.iter().find(|(at, _)| *at == number) {
                disk.borrow_mut().extend_from_slice(more);
            }
            number += 1;
            Ok(Some(disk.replace(text.to_vec())))
        });
        (disk.into_inner(), ended.map(|_| ()))
    }

    #[test]
    fn agm_16_what_others_write_between_two_looks_stays() {
        for (before, whole) in [
            (vec![], "first\nours\n"),
            (vec![(0, &b"a\n"[..])], "first\na\nours\n"),
            (vec![(1, &b"late\n"[..])], "first\nours\n"),
        ] {
            let (disk, ended) = play(&before);
            assert_eq!(String::from_utf8(disk).unwrap(), whole);
            assert_eq!(ended, Ok(()));
        }
        let (disk, ended) = play(&[(0, b"a\n"), (1, b"b\n"), (2, b"c\n")]);
        let text = String::from_utf8(disk).unwrap();
        for line in ["first\n", "a\n", "b\n", "c\n", "ours\n"] {
            assert_eq!(text.matches(line).count(), 1, "{text}");
        }
        assert_eq!(ended, Ok(()));
    }

    #[test]
    fn agm_16_a_text_that_cannot_be_drawn_from_is_put_back() {
        let (disk, ended) = play(&[(0, b"\xff")]);
        assert_eq!(disk, b"first\n\xff");
        assert_eq!(ended, Err(Missed::Failed("not UTF-8")));
    }

    #[test]
    fn agm_16_a_file_that_is_never_still_keeps_what_others_wrote() {
        let lines: Vec<String> = (0..30).map(|n| format!("line {n}\n")).collect();
        let all: Vec<(usize, &[u8])> =
            lines.iter().enumerate().map(|(n, line)| (n, line.as_bytes())).collect();
        let (disk, ended) = play(&all);
        assert_eq!(ended, Err(Missed::Busy));
        let disk = String::from_utf8(disk).unwrap();
        for line in &lines {
            assert_eq!(disk.matches(line.as_str()).count(), 1, "{line} in {disk}");
        }
    }
}
