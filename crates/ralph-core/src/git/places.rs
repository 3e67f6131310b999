//! Where a repository keeps what a confined attempt may use, and what git would execute by itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Git;
use super::paths::on_disk;
use crate::sandbox::GitPlaces;

/// Settings whose value is a program, by their last word.
const PROGRAM_KEYS: [&[u8]; 10] = [
    b".clean",
    b".smudge",
    b".process",
    b".fsmonitor",
    b".program",
    b".sshcommand",
    b".textconv",
    b".driver",
    b".editor",
    b".pager",
];

impl Git {
    /// As they were when the programs were last looked at.
    pub fn places(&self) -> GitPlaces {
        let repository = &self.repository;
        let configs = repository.module_configs();
        let modules = configs.iter().filter_map(|config| config.parent()).map(Path::to_owned).collect();
        GitPlaces {
            top: repository.top.clone(),
            git_dir: repository.git_dir.clone(),
            shared_dir: repository.shared_dir.clone(),
            modules,
            programs: self.program_files().into_iter().collect(),
        }
    }

    /// Whether a commit runs hooks, and no program that needs a person's keys.
    pub fn runs_hooks(&self) -> bool {
        let is_yes = |values: &Vec<(PathBuf, Vec<u8>)>| {
            values
                .last()
                .is_some_and(|(_, value)| matches!(value.as_slice(), b"" | b"true" | b"yes" | b"on" | b"1"))
        };
        let repository = &self.repository;
        repository.has_hooks()
            && !repository.programs().settings().get(&b"commit.gpgsign"[..]).is_some_and(is_yes)
    }

    /// Files and directories of the working tree that git takes commands from.
    fn program_files(&self) -> BTreeSet<PathBuf> {
        let top = &self.repository.top;
        let programs = self.repository.programs();
        let mut files = programs.config_files();
        for (key, values) in programs.settings() {
            for (_, value) in values {
                if key == b"core.hookspath" {
                    files.insert(on_disk(top, value));
                } else if PROGRAM_KEYS.iter().any(|ending| key.ends_with(ending)) {
                    let words = value.split(|byte| byte.is_ascii_whitespace() || b"'\";&|".contains(byte));
                    let words = words.filter(|word| !word.is_empty());
                    files.extend(words.map(|word| top.join(OsStr::from_bytes(word))));
                }
            }
        }
        files.retain(|path| path != top && path.starts_with(top) && path.symlink_metadata().is_ok());
        files
    }
}
