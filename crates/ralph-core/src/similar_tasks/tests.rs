use proptest::prelude::*;

use super::*;

/// A profile of a task with this title, description and files.
fn profile(title: &str, description: &str, files: &[&str]) -> Profile {
    let mut profile = Profile::default();
    each_token(title, |token| {
        profile.title.insert(token.to_owned());
        profile.add_word(token);
    });
    let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    profile.add_files(&files);
    profile.add_text(description);
    profile
}

/// As a store returns it.
fn tried(name: &str, profile: &Profile) -> Tried {
    let joined = |words: &BTreeSet<String>| words.iter().cloned().collect::<Vec<_>>().join(" ");
    Tried {
        neighbour: Neighbour { name: name.into(), ..Neighbour::default() },
        title: joined(&profile.title),
        words: joined(&profile.words),
        files: profile.files.iter().cloned().collect(),
    }
}

/// What the index would say of these tasks.
fn frequencies(tasks: &[&Profile]) -> Frequencies {
    let mut all = Frequencies::default();
    for task in tasks {
        all.tasks += 1;
        for term in task.index_terms() {
            *all.with.entry(term).or_default() += 1;
        }
    }
    all
}

fn like(a: &Profile, b: &Profile) -> f64 {
    Measure::new(a, &frequencies(&[b])).likeness(&tried("b", b))
}

#[test]
fn str_07_tasks_are_alike_in_words_or_in_files() {
    let dates = profile("Add a parser for dates", "", &["src/dates.rs"]);
    assert!(like(&profile("Add a parser for times", "", &[]), &dates) >= ALIKE);
    assert!(like(&profile("Mend the leap years", "", &["./src/dates.rs"]), &dates) >= ALIKE);
    assert!(like(&profile("Draw the menu", "", &["src/menu.rs"]), &dates) < ALIKE);
    assert!(like(&profile("Add a test", "", &[]), &dates) < ALIKE);
}

#[test]
fn numbered_titles_are_not_alike_for_their_everyday_words() {
    assert!(like(&profile("Task 2", "", &[]), &profile("Task 1", "", &[])) < ALIKE);
    assert!(like(&profile("Fix test 2", "", &[]), &profile("Fix test 1", "", &[])) < ALIKE);
}

#[test]
fn str_08_each_of_many_alike_tasks_is_as_like_the_others_as_the_first_two_are() {
    let titles = ["Fix the typo in chapter {}", "Write note {}", "Add a parser for {}"];
    for title in titles {
        for name in [|n: usize| n.to_string(), |n: usize| format!("name{n}")] {
            let profiles: Vec<Profile> =
                (0..100).map(|n| profile(&title.replace("{}", &name(n)), "", &[])).collect();
            let tasks: Vec<Tried> = profiles.iter().map(|one| tried("other", one)).collect();
            for seen in 1..100 {
                let all = frequencies(&profiles[..seen].iter().collect::<Vec<_>>());
                let near = neighbours(&profiles[seen], tasks[..seen].to_vec(), &all);
                assert_eq!(near.len(), seen.min(MOST_NEIGHBOURS), "{title} after {seen}");
            }
        }
    }
}

#[test]
fn a_word_that_a_whole_plan_repeats_does_not_make_its_tasks_alike() {
    let words = ["login", "menu", "clock", "search"];
    let profiles: Vec<Profile> = words
        .iter()
        .flat_map(|word| {
            [
                profile(&format!("backend: {word} screen"), "", &[]),
                profile(&format!("backend: rework {word}"), "", &[]),
            ]
        })
        .collect();
    let all = frequencies(&profiles.iter().collect::<Vec<_>>());
    let other = tried("other", &profiles[3]);
    assert!(Measure::new(&profiles[0], &all).likeness(&other) < ALIKE);
}

#[test]
fn rare_terms_that_somebody_has_are_searched_for() {
    let tried = profile("Parse leap seconds", "the parser", &["src/leap.rs"]);
    let common = profile("Parse the menu", "", &[]);
    let all = frequencies(&[&tried, &common]);
    let asked = profile("Parse leap years", "", &["src/leap.rs"]);
    let terms: Vec<String> = lookup(&asked, &all).into_iter().map(|(term, _)| term).collect();
    assert_eq!(terms, ["leap", "pars", "f_src_leap_rs"]);
}

#[test]
fn the_words_of_a_title_are_searched_for_however_common_they_are() {
    let described = |n: usize| {
        let words: Vec<String> = (0..9).map(|word| format!("rare{}", n * 8 + word)).collect();
        profile("Fix the typo in chapter", &words.join(" "), &[])
    };
    let profiles: Vec<Profile> = (0..40).map(described).collect();
    let all = frequencies(&profiles.iter().collect::<Vec<_>>());
    let terms = lookup(&described(40), &all);
    let worth = |word: &str| terms.iter().find(|(term, _)| term == word).map(|(_, worth)| *worth);
    assert!(worth("typo") > worth("rare320"), "{terms:?}");
    assert!(worth("chapter").is_some() && worth("rare320").is_some(), "{terms:?}");
}

#[test]
fn the_nearest_come_first_and_strangers_not_at_all() {
    let profiles = ["Draw the menu", "Parse leap seconds of clocks", "Parse leap seconds"]
        .map(|title| profile(title, "", &[]));
    let all = frequencies(&profiles.each_ref());
    let tasks: Vec<Tried> = profiles
        .iter()
        .zip(["1", "2", "3"])
        .map(|(profile, name)| {
            let mut tried = tried(name, profile);
            tried.neighbour.failed = vec!["haiku".into()];
            tried
        })
        .collect();
    let near = neighbours(&profile("Parse leap seconds", "", &[]), tasks, &all);
    let names: Vec<&str> = near.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["3", "2"]);
    assert_eq!(near[0].failed, ["haiku"]);
}

proptest! {
    #[test]
    fn likeness_is_between_0_and_1_and_1_for_the_same(
        a in "[a-e ]{0,20}", b in "[a-e ]{0,20}", text in ".{0,60}", files in prop::collection::vec("[ab/.]{0,6}", 0..4),
    ) {
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        let (a, b) = (profile(&a, &text, &names), profile(&b, "", &names));
        let all = frequencies(&[&a, &b]);
        let measure = Measure::new(&a, &all);
        prop_assert!((0.0..=1.0).contains(&measure.likeness(&tried("b", &b))));
        if !a.words.is_empty() {
            prop_assert!(measure.likeness(&tried("a", &a)) > 0.999);
        }
    }
}
