//! `ralph doctor`: whether a run would work.

mod agents;
mod files;
mod git;
mod left_overs;
mod project;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::support::Project;

/// The findings of a check.
fn findings(report: &Value, check: &str) -> Vec<Value> {
    let all = report["findings"].as_array().unwrap();
    let of_check = all.iter().filter(|one| one["check"] == check);
    of_check.cloned().collect()
}

/// The first finding of a check.
#[track_caller]
fn finding(report: &Value, check: &str) -> Value {
    let mut all = findings(report, check);
    assert!(!all.is_empty(), "nothing was found of {check}: {report}");
    all.remove(0)
}

/// What doctor says, whether or not a run would work.
fn report(project: &Project) -> Value {
    project.ralph(&["doctor", "--json"]).json()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A project whose programs are git, a shell and what a test puts there.
fn bare() -> Project {
    let mut project = Project::with_git();
    let bin = project.path("../bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for program in ["env", "git", "sh", "sleep", "stty"] {
        let mut places = std::env::split_paths(&path).map(|dir| dir.join(program));
        let place = places.find(|place| place.exists()).unwrap();
        std::os::unix::fs::symlink(place, bin.join(program)).unwrap();
    }
    let bin = bin.canonicalize().unwrap();
    project.set_env("PATH", bin.to_str().unwrap());
    project
}

/// Puts a script on the search path of a bare project.
fn program(project: &Project, name: &str, script: &str) {
    let path = project.path(format!("../bin/{name}"));
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Every file below a directory with what is in it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}
