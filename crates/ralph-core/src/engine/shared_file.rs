//! Changing a file that others write too: what they wrote in between is never lost.

use std::io;
use std::path::Path;

use super::run_end::Halt;
use crate::files::{InPlace, Swap, merge, tick_in_place};
use crate::store::StoreError;

/// How often a file that others keep writing is tried again.
const MOST_TRIES: u32 = 20;

#[derive(Debug)]
pub(super) enum FileError {
    /// It has nothing to do with the file, and ends the run.
    Halt(Halt),
    File(io::Error),
}

impl FileError {
    pub(super) fn file(why: impl Into<String>) -> Self {
        Self::File(io::Error::other(why.into()))
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Halt> for FileError {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

impl From<StoreError> for FileError {
    fn from(error: StoreError) -> Self {
        Self::Halt(error.into())
    }
}

pub(super) struct Edited<'p, T> {
    pub text: String,
    /// What the caller wants to remember of the text.
    pub note: T,
    /// What was swapped out on the way; it is to be cleared.
    pub swap: Swap<'p>,
}

/// Puts the text into a file that `render` makes of what is in it. Where somebody writes it meanwhile, theirs is rendered
/// again. The path has no links in it.
pub(super) fn edit<T>(
    path: &Path,
    first: Option<Vec<u8>>,
    mut render: impl FnMut(Option<&str>) -> Result<(String, T), FileError>,
) -> Result<Edited<'_, T>, FileError> {
    let mut swap = Swap::new(path);
    let edited = exchange(
        first,
        |bytes| {
            let text = bytes.map(std::str::from_utf8).transpose();
            render(text.map_err(|_| FileError::file("it is not UTF-8"))?)
        },
        |expected, text| {
            // Ticks need no exchange, to which what somebody writes at the same time could be lost.
            if let Some(expected) = expected
                && tick_in_place(path, expected, text)? == InPlace::Written
            {
                return Ok(Some(expected.to_vec()));
            }
            Ok(swap.put(expected, text)?)
        },
    )?;
    match edited {
        Some((text, note)) => Ok(Edited { text, note, swap }),
        None => {
            // The file holds what they wrote.
            swap.done()?;
            Err(FileError::file("another process keeps changing it"))
        }
    }
}

/// Renders the new text from the one that is there and puts it in place. `swap` is told what is expected in the file,
/// replaces it and gives what was in it at that very moment: where that is something else, somebody wrote it meanwhile,
/// and theirs is rendered next. None where the file is never still: it holds what others wrote last.
fn exchange<T, E>(
    first: Option<Vec<u8>>,
    mut render: impl FnMut(Option<&[u8]>) -> Result<(String, T), E>,
    mut swap: impl FnMut(Option<&[u8]>, &[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<Option<(String, T)>, E> {
    let mut expected = first;
    // What others wrote instead of what was expected, from the first time that happens.
    let mut theirs: Option<Option<Vec<u8>>> = None;
    for round in 0..MOST_TRIES {
        let (text, note) = match render(theirs.as_ref().unwrap_or(&expected).as_deref()) {
            Ok(rendered) => rendered,
            Err(error) => {
                // What was swapped out is nowhere else.
                if let Some(text) = theirs.flatten() {
                    let _ = swap(expected.as_deref(), &text);
                }
                return Err(error);
            }
        };
        let nothing_new =
            expected.as_deref() == Some(text.as_bytes()) || (expected.is_none() && text.is_empty());
        if nothing_new {
            return Ok(Some((text, note)));
        }
        let was = swap(expected.as_deref(), text.as_bytes())?;
        if was == expected {
            return Ok(Some((text, note)));
        }
        theirs = Some(match (was, &expected) {
            // Somebody went on with what an earlier round put there, while this one brought in what it had missed.
            (Some(was), Some(expected)) if round > 0 => Some(merge(expected, text.as_bytes(), &was)),
            (was, _) => was,
        });
        expected = Some(text.into_bytes());
    }
    // Theirs goes back, with whatever they write while it does.
    let mut theirs = theirs.flatten();
    for _ in 0..MOST_TRIES {
        let Some(text) = theirs else { break };
        let was = swap(expected.as_deref(), &text)?;
        if was == expected {
            break;
        }
        theirs = match (was, &expected) {
            (Some(was), Some(expected)) => Some(merge(expected, &text, &was)),
            (was, _) => was,
        };
        expected = Some(text);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Ralph's line, added at the end of whatever is there.
    fn add_own(text: Option<&[u8]>) -> Result<(String, ()), &'static str> {
        let text = String::from_utf8(text.unwrap_or_default().to_vec()).map_err(|_| "not UTF-8")?;
        let own = if text.contains("ours\n") { "" } else { "ours\n" };
        Ok((format!("{text}{own}"), ()))
    }

    /// A file that somebody else writes just before the swaps with these numbers: what each adds.
    fn play(before: &[(usize, &[u8])]) -> (Vec<u8>, Result<bool, &'static str>) {
        let disk = RefCell::new(b"first\n".to_vec());
        let mut number = 0;
        let ended = exchange(Some(b"first\n".to_vec()), add_own, |_, text| {
            if let Some((_, more)) = before.iter().find(|(at, _)| *at == number) {
                disk.borrow_mut().extend_from_slice(more);
            }
            number += 1;
            Ok(Some(disk.replace(text.to_vec())))
        });
        (disk.into_inner(), ended.map(|edited| edited.is_some()))
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
            assert_eq!(ended, Ok(true));
        }
        let (disk, ended) = play(&[(0, b"a\n"), (1, b"b\n"), (2, b"c\n")]);
        let text = String::from_utf8(disk).unwrap();
        for line in ["first\n", "a\n", "b\n", "c\n", "ours\n"] {
            assert_eq!(text.matches(line).count(), 1, "{text}");
        }
        assert_eq!(ended, Ok(true));
    }

    #[test]
    fn agm_16_a_text_that_cannot_be_drawn_from_is_put_back() {
        let (disk, ended) = play(&[(0, b"\xff")]);
        assert_eq!(disk, b"first\n\xff");
        assert_eq!(ended, Err("not UTF-8"));
    }

    #[test]
    fn agm_16_a_file_that_is_never_still_keeps_what_others_wrote() {
        let lines: Vec<String> = (0..30).map(|n| format!("line {n}\n")).collect();
        let all: Vec<(usize, &[u8])> =
            lines.iter().enumerate().map(|(n, line)| (n, line.as_bytes())).collect();
        let (disk, ended) = play(&all);
        assert_eq!(ended, Ok(false));
        let disk = String::from_utf8(disk).unwrap();
        for line in &lines {
            assert_eq!(disk.matches(line.as_str()).count(), 1, "{line} in {disk}");
        }
    }
}
