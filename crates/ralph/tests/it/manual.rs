//! The manual: a page per command.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use crate::support::Project;

/// The commands that help lists below these words.
fn commands(project: &Project, words: &[&str]) -> Vec<String> {
    let mut args = words.to_vec();
    args.push("--help");
    let help = project.ok(&args).stdout;
    let Some((_, rest)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    rest.lines()
        .take_while(|line| line.starts_with("  ") || line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_that_help_lists_has_a_page() {
    let project = Project::empty();
    let said = project.ok(&["man", "--dir", "made/man1"]).stdout;
    let pages: BTreeSet<String> = fs::read_dir(project.path("made/man1"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(said.contains(&format!("wrote {} pages", pages.len())), "{said}");
    let mut expected = BTreeSet::from(["ralph.1".to_owned()]);
    for command in commands(&project, &[]) {
        expected.insert(format!("ralph-{command}.1"));
        for below in commands(&project, &[&command]) {
            expected.insert(format!("ralph-{command}-{below}.1"));
        }
    }
    assert!(expected.len() > 40 && expected.contains("ralph-man.1"), "{expected:?}");
    assert!(pages.is_superset(&expected), "{:?}", expected.difference(&pages));
    assert!(pages.iter().all(|page| !page.contains("guard") && !page.contains("complete.")));
    // A second time they are replaced.
    project.ok(&["man", "--dir", "made/man1"]);
}

#[test]
fn the_main_page_says_what_no_help_says() {
    let project = Project::empty();
    let page = project.ok(&["man"]).stdout;
    let title = page.lines().find(|line| line.starts_with(".TH ralph 1 "));
    let date = title.and_then(|title| title.split(' ').nth(3)).unwrap();
    let digits = date.split('-').map(str::len).collect::<Vec<_>>();
    assert_eq!(digits, [4, 2, 2], "{title:?}");
    for section in [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OPTIONS",
        "SUBCOMMANDS",
        "\"EXIT STATUS\"",
        "FILES",
        "ENVIRONMENT",
        "EXAMPLES",
    ] {
        let heading = format!("\n.SH {section}\n");
        assert_eq!(page.matches(&heading).count(), 1, "{section}");
    }
    for flag in ["-C", "--dir"] {
        let other = project.ok(&[flag, ".", "man"]).stdout;
        assert_eq!(page, other, "{flag} before the command is not where to write");
    }
    assert_eq!(project.root().read_dir().unwrap().count(), 0);
    project.ok(&["man", "--dir", "pages"]);
    let run = project.read("pages/ralph-run.1");
    assert!(run.contains("\n.SH \"EXIT STATUS\"\n") && run.contains("\n\\fB143\\fR\n"), "{run}");
    let output = project.ralph(&["man", "--dir", "/proc/nowhere"]).expect_code(1);
    assert!(output.stderr.contains("hint"), "{}", output.stderr);
}

#[test]
fn pages_are_laid_out_without_complaint() {
    let project = Project::empty();
    project.ok(&["man", "--dir", "pages"]);
    let mut groff = Command::new("groff");
    groff
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .args(fs::read_dir(project.path("pages")).unwrap().flatten().map(|entry| entry.path()))
        .stdin(Stdio::null());
    match groff.output() {
        Err(error) => eprintln!("NOT TESTED: the layout of manual pages: groff: {error}"),
        Ok(output) => {
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && complaints.is_empty(), "{complaints}");
        }
    }
}
