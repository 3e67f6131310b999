//! Changing a file that people write too.

use std::path::Path;

use crate::engine::exchange::{Missed, Picture, exchange};
use crate::engine::run::EngineError;
use crate::files::{Cleared, Limit, Links, Swap, read};

/// A text to be put into a file.
pub(super) struct Text(pub(super) String);

impl Picture for Text {
    fn text(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Changes a file that others may write too, at a path without links; one that is not there is made where there is
/// something to say.
pub(super) fn change_file(
    path: &Path,
    mut change: impl FnMut(&str) -> Result<String, FileFault>,
) -> Result<Cleared, FileFault> {
    let first = match read(path, Links::Refuse, Limit::TEXT) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let mut swap = Swap::new(path);
    let put = exchange(
        first,
        |text| {
            let text = std::str::from_utf8(text.unwrap_or_default())
                .map_err(|_| FileFault::File(format!("{} is not UTF-8", path.display())))?;
            Ok(Text(change(text)?))
        },
        |expected, text| Ok::<_, FileFault>(swap.put(expected, text)?),
    );
    match put {
        Ok(_) | Err(Missed::Busy) => Ok(swap.done()?),
        Err(Missed::Failed(error)) => Err(error),
    }
}

/// Why a file was not brought up to date.
pub(super) enum FileFault {
    Engine(EngineError),
    File(String),
}

impl FileFault {
    /// Says which of the files beside a plan it is about.
    pub(super) fn of(self, name: &str) -> Self {
        match self {
            Self::File(why) => Self::File(format!("{name}: {why}")),
            engine @ Self::Engine(_) => engine,
        }
    }
}

impl From<EngineError> for FileFault {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<std::io::Error> for FileFault {
    fn from(error: std::io::Error) -> Self {
        Self::File(error.to_string())
    }
}
