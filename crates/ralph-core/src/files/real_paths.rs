//! Where Ralph's files led when a run began: links that a person made stay links, links that appear later are refused.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::open::{Refused, resolve};

/// Where paths led, each with every link in it resolved; nothing for a link that led nowhere.
#[derive(Debug, Default)]
pub struct RealPaths {
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl RealPaths {
    /// Remembers where these lead now.
    pub fn remember(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            let real = resolve(&path).ok();
            self.known.insert(path, real);
        }
    }

    /// Where a path leads, if it still leads where it did. A directory above it that became a link is seen too. One that
    /// was not remembered is followed.
    pub fn real(&self, path: &Path) -> io::Result<PathBuf> {
        let now = resolve(path)?;
        match self.known.get(path) {
            None => Ok(now),
            Some(Some(before)) if *before == now => Ok(now),
            Some(None) => Err(Refused::Dangling.into()),
            Some(Some(before)) => Err(Refused::LinkAppeared {
                before: before.display().to_string(),
                now: now.display().to_string(),
            }
            .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_followed_only_where_it_led_before() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for name in ["specs", "elsewhere"] {
            fs::create_dir(top.join(name)).unwrap();
            fs::write(top.join(name).join("tasks.md"), name).unwrap();
        }
        symlink("specs/tasks.md", top.join("link")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        let all = ["link", "specs/tasks.md", "new", "dangling"].map(|name| top.join(name));
        let mut paths = RealPaths::default();
        paths.remember(all.clone());
        let [link, tasks, new, dangling] = all;
        assert_eq!(paths.real(&link).unwrap(), tasks);
        assert_eq!(paths.real(&tasks).unwrap(), tasks);
        assert_eq!(paths.real(&new).unwrap(), new);
        assert!(paths.real(&dangling).is_err());

        // A file, a new target, a directory: each is a link to elsewhere now.
        fs::remove_file(&link).unwrap();
        symlink("elsewhere/tasks.md", &link).unwrap();
        symlink("elsewhere/tasks.md", &new).unwrap();
        fs::write(top.join("nowhere"), "").unwrap();
        fs::rename(top.join("specs"), top.join("moved")).unwrap();
        symlink("elsewhere", top.join("specs")).unwrap();
        for path in [link, tasks, new, dangling] {
            assert!(paths.real(&path).is_err(), "{}", path.display());
        }
        let other = top.join("specs/tasks.md").with_file_name("other");
        assert_eq!(paths.real(&other).unwrap(), top.join("elsewhere/other"));
    }
}
