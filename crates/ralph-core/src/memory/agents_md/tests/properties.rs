//! What holds for any file and anything wanted.

use crate::text::neutral::{inert, inert_prose};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::support::*;
use crate::memory::agents_md::{
    Bullet, Entry, PhaseEntries, Place, Section, Wanted, bullet_text, read, write,
};

/// Lines that mean something, alone or together.
const LINES: [&str; 62] = [
    "",
    "",
    "",
    "",
    " ",
    "\t",
    "text",
    "a",
    " a",
    "  a",
    "    a",
    "\ta",
    "b",
    "- a",
    "- b",
    "* a",
    "+ c",
    "- a ",
    "-  a",
    "-",
    "- ",
    "*",
    " - a",
    "  - a",
    "- - -",
    "***",
    "---",
    "--",
    "===",
    "  ---",
    "1. a",
    "2) a",
    "> a",
    "# H",
    "## H",
    " ## H",
    "  ## H",
    "   # H",
    "### H",
    "#### H",
    "# Error Fixes",
    "## Error Fixes",
    "## Codebase Patterns ##",
    "## Phase-Specific",
    "## Failure Context",
    "  ## Error Fixes",
    "### Phase 1:",
    "### Phase 02:",
    "### Phase 2: x",
    "### No phase:",
    "- [o | 2026-01-20 14:32:15] **Error:** x",
    "- [t | 2026-01-20 14:32:15] **Error:** x",
    "  **Context:** y",
    "```",
    "  ```",
    "~~~~ x",
    "``` a`b",
    "<!--",
    "<!-- x -->",
    "-->",
    // Behind text: a closing tag alone begins a block of HTML that ends at the next blank line.
    "x</pre>",
    "\u{feff}",
];

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        30 => select(&LINES[..]).prop_map(str::to_owned),
        1 => Just("<pre>".to_owned()),
        1 => Just(INTRO.to_owned()),
        1 => "[ \t`~#*+=<>!|-]{0,6}",
        1 => r"\PC{0,8}",
    ]
}

fn line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just("\n"), 3 => Just("\r\n"), 1 => Just("\r\r\n"), 1 => Just("\r")]
}

/// A file put together from such lines, with or without an end of its last line.
fn file() -> impl Strategy<Value = String> {
    let lines = vec((line(), line_end()), 0..24);
    (option::weighted(0.1, Just("\u{feff}")), lines, line()).prop_map(|(mark, lines, last)| {
        let lines = lines.iter().map(|(line, end)| format!("{line}{end}"));
        mark.unwrap_or_default().to_owned() + &lines.collect::<String>() + &last
    })
}

/// Text of one or several lines.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(vec!["a", "b", "c", "a\n\nb", "- a"]).prop_map(str::to_owned),
        1 => vec((line(), line_end()), 1..6)
            .prop_map(|lines| lines.iter().map(|(line, end)| format!("{line}{end}")).collect()),
        1 => r#"[a-c'"\\|&`$×\[\]{}*_<>#/ \n\r\t\x00-\x1f-]{0,30}"#,
        1 => any::<String>(),
    ]
}

fn label() -> impl Strategy<Value = Option<String>> {
    let labels = select(vec!["1", "2", "02", "2.5", "10", "alpha", "", "1 x", "a:b #"]);
    option::weighted(
        0.8,
        prop_oneof![
            9 => labels.prop_map(str::to_owned),
            1 => r"(\PC|[\n #:]){0,6}",
        ],
    )
}

prop_compose! {
    fn any_bullet()(section in select(&Section::ALL[..]), phase in label(), text in text()) -> Bullet {
        Bullet { place: Place { section, phase }, text }
    }
}

prop_compose! {
    fn any_entry()(
        name in prop_oneof![8 => select(vec!["o", "t", "12-01"]).prop_map(str::to_owned), 1 => text()],
        at in prop_oneof![8 => Just("2026-01-20 14:32:15".to_owned()), 1 => text()],
        times in 0u32..4,
        [error, attempted, context] in [text(), text(), text()],
        files in vec(text(), 0..3),
        last_good in option::of(text()),
    ) -> Entry {
        Entry { name, at, times, error, attempted, files, context, last_good }
    }
}

prop_compose! {
    fn any_wanted()(
        bullets in vec(any_bullet(), 0..5),
        remove in vec(any_bullet(), 0..4),
        failures in vec((label(), vec(any_entry(), 0..4)), 0..4),
    ) -> Wanted {
        let failures = failures
            .into_iter()
            .map(|(phase, entries)| PhaseEntries { phase, entries })
            .collect();
        Wanted { bullets, remove, failures }
    }
}

/// Whether `part` can be had from `whole` by leaving lines out.
fn is_subsequence<'a>(part: impl Iterator<Item = &'a str>, whole: &'a str) -> bool {
    let mut whole = whole.split_inclusive('\n');
    let mut part = part;
    part.all(|line| whole.any(|other| other == line))
}

/// A value as it stands in a file: what the rules let change in it is changed.
fn as_written(value: &str) -> String {
    let ends = value.replace("\r\n", "\n").replace('\r', "\n");
    let plain: String = ends.chars().filter(|c| !c.is_control() || "\n\t".contains(*c)).collect();
    let value = plain.trim_end().trim_start_matches('\n');
    // Neutralized as in prompts; the first line stands behind a label.
    let value = match value.split_once('\n') {
        Some((first, rest)) => format!("{}\n{}", inert(first), inert_prose(rest)),
        None => inert(value),
    };
    let mut lines = value.trim_end().split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |out, line| out + "\n" + if line.is_empty() { "" } else { "  " } + line)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn agm_12_13_no_text_breaks_anything(file in any::<String>(), wanted in any_wanted()) {
        let _ = read(&file);
        let once = write(Some(&file), &wanted, &|name| name.len() % 2 == 0);
        prop_assert_eq!(write(Some(&once), &wanted, &|name| name.len() % 2 == 0), once);
    }

    #[test]
    fn agm_14_writing_again_changes_nothing(file in option::weighted(0.9, file()), wanted in any_wanted()) {
        let is_ours = |name: &str| name == "o";
        let once = write(file.as_deref(), &wanted, &is_ours);
        prop_assert_eq!(write(Some(&once), &wanted, &is_ours), once);
    }

    #[test]
    fn agm_13_without_a_change_the_file_is_identical(file in file()) {
        let found = read(&file);
        let wanted = Wanted { bullets: found.bullets, ..Wanted::default() };
        prop_assert_eq!(write(Some(&file), &wanted, &|_| false), file);
    }

    #[test]
    fn agm_13_16_adding_leaves_every_line_as_it_was(file in file(), mut wanted in any_wanted()) {
        wanted.remove.clear();
        // Names that no file of these has, so that nothing is to be taken out.
        for entry in wanted.failures.iter_mut().flat_map(|phase| &mut phase.entries) {
            entry.name = "new".to_owned();
        }
        let out = write(Some(&file), &wanted, &|_| false);
        let (file, out) = match file.strip_prefix('\u{feff}') {
            Some(rest) => (rest, out.strip_prefix('\u{feff}').unwrap_or("lost its mark")),
            None => (file.as_str(), out.as_str()),
        };
        let (lines, last) = file.split_at(file.rfind('\n').map_or(0, |at| at + 1));
        let last = [last.to_owned(), format!("{last}\n"), format!("{last}\r\n")];
        prop_assert!(
            last.iter().any(|last| is_subsequence(lines.split_inclusive('\n').chain(
                Some(last.as_str()).filter(|last| !last.is_empty())
            ), out)),
            "{}", out
        );
        let (before, after) = (read(file), read(out));
        let mut known = after.bullets.iter();
        prop_assert!(before.bullets.iter().all(|one| known.any(|other| one == other)));
    }

    #[test]
    fn agm_14_15_wanted_bullets_are_there_once_and_removed_ones_are_not(
        file in file(), wanted in any_wanted()
    ) {
        let before = read(&file).bullets;
        let written = write(Some(&file), &wanted, &|name| name == "o");
        let found = read(&written).bullets;
        let count = |all: &[Bullet], one: &Bullet, text: &str| {
            let is_it = |other: &&Bullet| other.place.section == one.place.section && other.text == text;
            all.iter().filter(is_it).count()
        };
        for one in &wanted.bullets {
            let text = bullet_text(&one.text);
            let is_entry = one.place.section == Section::FailureContext && text.contains("**Error:**");
            if !text.is_empty() && !is_entry {
                let now = count(&found, one, &text);
                prop_assert!(now > 0, "{:?} is missing", one);
                prop_assert!(now <= count(&before, one, &text).max(1), "{:?} is double", one);
            }
        }
        for one in &wanted.remove {
            let text = bullet_text(&one.text);
            let is_wanted = wanted.bullets.iter().any(|other| {
                other.place.section == one.place.section && bullet_text(&other.text) == text
            });
            if !is_wanted && one.place.phase.is_none() {
                prop_assert_eq!(count(&found, one, &text), 0);
            }
        }
        // All others stay, in their order. Where a removed item leaves the beginning of a fence or of HTML behind, as
        // text that only looked like its continuation, later bullets may now be inside of that; their lines are still there.
        let mut known = found.iter();
        for one in &before {
            let same = |other: &Bullet| other.place.section == one.place.section
                && bullet_text(&other.text) == one.text;
            if !wanted.remove.iter().any(same) {
                let is_shown = found.contains(one) && known.any(|other| other == one);
                let first_line = one.text.lines().next().unwrap_or_default();
                prop_assert!(is_shown || written.contains(first_line), "{:?} is lost", one);
            }
        }
    }

    #[test]
    fn agm_04_12_values_stand_in_the_file_as_they_are(file in file(), entry in any_entry()) {
        let wanted = failures(&[phase("5", std::slice::from_ref(&entry))]);
        let out = write(Some(&file), &wanted, &|name| name == "o").replace("\r\n", "\n");
        for (label, value) in [
            ("**Error:**", &entry.error),
            ("**Attempted:**", &entry.attempted),
            ("**Context:**", &entry.context),
        ] {
            let value = as_written(value);
            if !value.is_empty() {
                prop_assert!(out.contains(&format!("{label} {value}\n")), "{}\n{}", value, out);
            }
        }
    }

    #[test]
    fn agm_10_16_clearing_takes_our_entries_and_nothing_else(
        file in file(), entries in vec(any_entry(), 1..4)
    ) {
        let is_ours = |name: &str| name == "o";
        let entries: Vec<Entry> =
            entries.into_iter().map(|entry| Entry { name: "o".to_owned(), ..entry }).collect();
        let full = write(Some(&file), &failures(&[phase("5", &entries)]), &is_ours);
        let before = read(&full);
        let after = read(&write(Some(&full), &Wanted::default(), &is_ours));
        prop_assert!(before.entry_names.contains(&"o".to_owned()));
        prop_assert!(!after.entry_names.contains(&"o".to_owned()));
        prop_assert_eq!(before.bullets, after.bullets);
        prop_assert_eq!(before.sections, after.sections);
        let others = |names: &[String]| names.iter().filter(|name| *name != "o").count();
        prop_assert_eq!(others(&before.entry_names), others(&after.entry_names));
    }
}

/// What may stand outside; each begins with a heading that ends a section, and closes what it opens.
const OUTSIDE: [&str; 14] = [
    "# A\n\ntext  \n",
    "## B\r\n- a\r\n\r\n",
    "C\n===\n- a",
    "two\nlines\n---\n\n\n",
    " ## Error Fixes\n- a\n",
    "# Failure Context\n\n### Phase 1:\n\n- [o | 2026-01-20 14:32:15] **Error:** x\n",
    "## Code\n```md\n## Error Fixes\n- a\n```\n",
    "## Code\n~~~~\n~~~\n## Failure Context\n- [o | 2026-01-20 14:32:15] **Error:** x\n~~~~",
    "## Code\r\n\r\n    ## Error Fixes\r\n",
    "## Hidden\n<!--\n## Codebase Patterns\n\n- a\n-->\n",
    "## List\n- a\n  ```\n  ## Error Fixes\n",
    "# Deep\n### Error Fixes\n- a\n#### Failure Context\n",
    "#\n\u{feff}\ta \n\n\n",
    "## Error Fixes and more\n1. a\n   ~~~\n",
];

/// What may stand in an owned section.
const INSIDE: [&str; 12] = [
    "",
    "\n",
    "- a\n",
    "* b\r\n  c\r\n\r\n",
    "text\n",
    "\ntext\n\n",
    "### Phase 1:\n",
    "### Phase 2:\n\n",
    "- [o | 2026-01-20 14:32:15] **Error:** x\n  **Context:** y\n\n",
    "- [t | 2026-01-20 14:32:15] **Error:** x\n",
    "```\n## Error Fixes\n```\n",
    "### Own\n\n- c\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn agm_13_every_byte_outside_the_owned_sections_stays(
        first in select(&OUTSIDE[..]),
        rest in vec((select(&Section::ALL[..]), vec(select(&INSIDE[..]), 0..5), select(&OUTSIDE[..])), 0..5),
        wanted in any_wanted(),
    ) {
        // A number in each makes it clear which one it is.
        let numbered = |at: usize, piece: &str| format!("# {at} {at}\n{piece}");
        let mut outside = vec![numbered(0, first)];
        let mut file = outside[0].clone();
        for (at, (section, inside, after)) in rest.iter().enumerate() {
            if !file.ends_with('\n') {
                file.push('\n');
                outside.last_mut().unwrap().push('\n');
            }
            outside.push(numbered(at + 1, after));
            file += &format!("{}\n{}{}", section.heading(), inside.concat(), outside[at + 1]);
        }
        let out = write(Some(&file), &wanted, &|name| name == "o");
        let mut left = out.as_str();
        for (at, piece) in outside.iter().enumerate() {
            let found = left.find(piece.as_str());
            prop_assert!(found.is_some(), "{piece:?} is not in {out}");
            let (before, after) = left.split_at(found.unwrap());
            prop_assert!(if at == 0 { before.is_empty() } else { before.starts_with("## ") }, "{out}");
            left = &after[piece.len()..];
        }
        // After the last one come new sections, or nothing.
        let added = left.trim_start();
        let is_section = Section::ALL.iter().any(|section| added.starts_with(&section.heading()));
        prop_assert!(left.is_empty() || is_section, "{out}");
    }
}
