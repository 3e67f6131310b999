//! `GoogleTest`, `CTest` and `RSpec`.

use super::super::Tool;
use super::super::names::{Names, untimed};

/// What these runners named.
#[derive(Default)]
pub(super) struct Other {
    google: Names,
    ctest: Names,
    rspec: Names,
    in_ctest: bool,
}

impl Other {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("[  FAILED  ] ") {
            // `2 tests, listed below:` has a blank; parameters follow a comma.
            let name = untimed(name).split(", where ").next().unwrap_or_default();
            if !name.contains(' ') {
                self.google.add(name);
            }
        } else if text == "The following tests FAILED:" {
            self.in_ctest = true;
        } else if self.in_ctest {
            // `3 - name (Failed)`
            match text
                .split_once(" - ")
                .filter(|(n, _)| n.parse::<u32>().is_ok())
            {
                Some((_, rest)) => {
                    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
                    self.ctest.add(name);
                }
                None => self.in_ctest = false,
            }
        } else if let Some((place, name)) = text
            .strip_prefix("rspec ")
            .and_then(|t| t.split_once(" # "))
            && place.contains("_spec.rb")
        {
            self.rspec.add(name);
        }
    }

    pub(super) fn finish(self) -> [(Tool, Names); 3] {
        [
            (Tool::GoogleTest, self.google),
            (Tool::Ctest, self.ctest),
            (Tool::Rspec, self.rspec),
        ]
    }
}
