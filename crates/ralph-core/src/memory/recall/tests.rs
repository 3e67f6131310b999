//! The rules of ranking, by their names, and what must hold for any input.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const NOW: i64 = 1_800_000_000_000;
const DAY: i64 = 86_400_000;

fn query(title: &str, text: &str) -> RecallQuery {
    RecallQuery { title: title.to_owned(), text: text.to_owned(), ..RecallQuery::default() }
}

fn learning(id: &str, content: &str, tags: &[&str]) -> Candidate {
    Candidate {
        id: id.to_owned(),
        category: "pattern".to_owned(),
        content: content.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        created_at_ms: NOW - DAY,
        ..Candidate::default()
    }
}

fn corpus(documents: u64) -> Corpus {
    Corpus { documents, ..Corpus::default() }
}

fn ranked(query: &RecallQuery, candidates: &[Candidate]) -> Vec<Scored> {
    rank(query, candidates, &corpus(50), NOW, &RecallPolicy::default())
}

fn ids(scored: &[Scored]) -> Vec<&str> {
    scored.iter().map(|scored| scored.id.as_str()).collect()
}

#[test]
fn lrn_02_of_equal_scores_the_newer_comes_first_and_five_at_most() {
    let mut all: Vec<Candidate> = (0..8)
        .map(|n| {
            let word = ["red", "blue", "green", "pink", "grey", "black", "white", "brown"][n];
            learning(word, &format!("parser {word}"), &[])
        })
        .collect();
    // So old that recency gives them all the same.
    for (n, candidate) in all.iter_mut().enumerate() {
        candidate.created_at_ms = i64::try_from(n).unwrap();
    }
    let shown = ranked(&query("fix the parser", ""), &all);
    assert_eq!(ids(&shown), ["brown", "white", "black", "grey", "pink"]);
}

#[test]
fn lrn_03_what_has_nothing_to_do_with_the_task_is_below_the_floor() {
    let all = [
        learning("on", "the tokenizer drops trailing commas", &["tokenizer"]),
        learning("off", "colours of the login page", &["css"]),
    ];
    assert_eq!(ids(&ranked(&query("Tokenizer loses commas", ""), &all)), ["on"]);
    assert!(ranked(&query("Completely different", "matter"), &all).is_empty());
}

#[test]
fn lrn_03_one_common_word_in_a_long_task_is_below_the_floor() {
    let task = query(
        "Add retry with backoff to the uploader",
        "The uploader gives up after one network timeout. Retry three times with exponential backoff and log each try.",
    );
    let mut known = corpus(1000);
    known.df = HashMap::from([("add".to_owned(), 600), ("log".to_owned(), 300)]);
    let all = [learning("off", "add a column to the report of invoices", &[])];
    assert!(rank(&task, &all, &known, NOW, &RecallPolicy::default()).is_empty());
}

#[test]
fn lrn_04_a_rare_tag_weighs_more_than_a_common_one() {
    let all = [learning("common", "same text", &["build"]), learning("rare", "text same x", &["codec"])];
    let mut known = corpus(1000);
    known.tag_df = HashMap::from([("build".to_owned(), 700), ("codec".to_owned(), 2)]);
    let shown = rank(&query("the build of the codec", ""), &all, &known, NOW, &RecallPolicy::default());
    assert_eq!(ids(&shown), ["rare", "common"]);
    assert!(shown[0].parts.tags > shown[1].parts.tags);
}

#[test]
fn lrn_04_tags_match_as_phrases_and_paths_by_suffix() {
    let all = [
        learning("phrase", "one", &["Error Handling"]),
        learning("path", "two", &["crates/core/src/store/sqlite.rs"]),
        learning("no", "three", &["handling error"]),
    ];
    let shown = ranked(&query("error handling in store/sqlite.rs", ""), &all);
    assert!(shown.iter().any(|s| s.id == "phrase" && s.parts.tags > 0.0));
    assert!(shown.iter().any(|s| s.id == "path" && s.parts.paths > 0.0));
    assert!(shown.iter().all(|s| s.id != "no" || s.parts.tags == 0.0));
}

#[test]
fn lrn_03_an_everyday_word_is_not_enough_in_a_small_project() {
    let all = [
        learning("open", "Open the socket with a timeout", &[]),
        learning("rare", "the tokenizer drops commas", &[]),
    ];
    let task = query("Open a new page", "It has the colours of the login.");
    let shown = rank(&task, &all, &corpus(2), NOW, &RecallPolicy::default());
    assert!(ids(&shown).is_empty(), "{shown:?}");
    let task = query("Tokenizer", "It needs work.");
    let shown = rank(&task, &all, &corpus(2), NOW, &RecallPolicy::default());
    assert_eq!(ids(&shown), ["rare"]);
}

#[test]
fn lrn_05_three_matching_tags_beat_one_however_new() {
    for documents in [2, 50, 100_000] {
        for df in [1, 2, documents / 2 + 1, documents] {
            let mut three = learning("three", "some advice", &["lexer", "cache", "socket"]);
            let mut one = learning("one", "some advice", &["lexer", "panel", "widget"]);
            three.created_at_ms = 0;
            one.created_at_ms = NOW;
            one.category = "gotcha".to_owned();
            let mut known = corpus(documents);
            for tag in ["lexer", "cache", "socket", "panel", "widget"] {
                known.tag_df.insert(tag.to_owned(), df);
                known.df.insert(tag.to_owned(), df);
            }
            let task = query("Some advice", "the cache of the lexer behind the socket");
            let all = [one, three];
            let policy = RecallPolicy { floor: Some(0.0), ..RecallPolicy::default() };
            let shown = rank(&task, &all, &known, NOW, &policy);
            assert_eq!(ids(&shown), ["three", "one"], "{documents} {df}");
        }
    }
}

#[test]
fn lrn_06_the_last_failures_category_raises() {
    let all = [
        learning("other", "check the imports", &["style"]),
        learning("match", "imports the check", &["test-failure"]),
    ];
    let mut task = query("check imports", "");
    let policy = RecallPolicy::default();
    let plain = rank(&task, &all, &corpus(50), NOW, &policy);
    task.error_category = Some("test_failure".to_owned());
    let retry = rank(&task, &all, &corpus(50), NOW, &policy);
    assert_eq!(retry[0].id, "match");
    assert!(retry[0].score > plain.iter().find(|s| s.id == "match").unwrap().score);
    assert!(retry[0].parts.failure > 0.0);
}

#[test]
fn lrn_06_the_last_failures_fingerprint_and_words_raise() {
    let all = [
        learning("other", "check the imports", &["aa11bb22"]),
        learning("match", "imports the check", &["e3f1c0de"]),
        learning("words", "ConnectionResetError means the proxy is down", &[]),
    ];
    let mut task = query("check imports", "");
    task.failure_text = Some("fingerprint e3f1c0de\nConnectionResetError: peer".to_owned());
    let shown = ranked(&task, &all);
    assert_eq!(shown[0].id, "match");
    assert!(shown.iter().any(|s| s.id == "words" && s.parts.failure > 0.0 && s.parts.text == 0.0));
}

#[test]
fn lrn_07_near_duplicates_take_one_place_and_the_newest_is_shown() {
    let mut old = learning("old", "run the parser tests with the feature flag on today", &["parser"]);
    let new = learning("new", "run the parser tests with the feature flag on today please", &[]);
    old.created_at_ms = NOW - 9 * DAY;
    let other = Candidate { category: "gotcha".to_owned(), id: "other".to_owned(), ..new.clone() };
    let shown = ranked(&query("parser feature flag", ""), &[old, new, other]);
    let mut names = ids(&shown);
    names.sort_unstable();
    assert_eq!(names, ["new", "other"]);
}

#[test]
fn lrn_09_the_better_record_ranks_higher() {
    let mut good = learning("good", "parser advice one", &[]);
    let mut bad = learning("bad", "parser advice two", &[]);
    good.record.helpful = 2;
    bad.record.harmful = 1;
    bad.created_at_ms = NOW;
    let none = learning("none", "parser advice six", &[]);
    let shown = ranked(&query("parser", ""), &[bad, none, good]);
    assert_eq!(ids(&shown), ["good", "none", "bad"]);
    assert!(shown[0].parts.record > 0.0 && shown[2].parts.record < 0.0);
}

#[test]
fn lrn_09_a_bad_record_is_withheld_after_five_tasks_and_never_when_pinned() {
    let mut bad = learning("bad", "parser advice", &[]);
    bad.record.harmful = 4;
    let task = query("parser", "");
    assert_eq!(ranked(&task, std::slice::from_ref(&bad)).len(), 1, "four tasks are too few");
    bad.record.harmful = 5;
    assert!(ranked(&task, std::slice::from_ref(&bad)).is_empty());
    bad.pinned = true;
    assert_eq!(ranked(&task, &[bad]).len(), 1);
}

#[test]
fn a_search_keeps_nothing_back_and_an_explanation_says_what_became_of_each() {
    let task = query("Tokenizer loses commas", "");
    let mut hurt = learning("hurt", "tokenizer commas: delete the file", &[]);
    hurt.record.harmful = 9;
    let mut old = learning("old", "the tokenizer drops trailing commas", &["tokenizer"]);
    old.created_at_ms = NOW - 9 * DAY;
    let all = [
        learning("new", "the tokenizer drops trailing commas", &["tokenizer"]),
        old,
        hurt,
        learning("off", "colours of the login page", &["css"]),
        learning("more", "tokenizer tests live in tests/tokens", &[]),
    ];
    let policy = RecallPolicy { max: 1, ..RecallPolicy::default() };
    let ranked = ranking(&task, &all, &corpus(50), NOW, &policy);
    let mut fates: Vec<(&str, &Fate)> = ranked.iter().map(|r| (r.scored.id.as_str(), &r.fate)).collect();
    fates.sort_by_key(|(id, _)| *id);
    assert_eq!(
        fates,
        [
            ("hurt", &Fate::Withheld),
            ("more", &Fate::BeyondLimit),
            ("new", &Fate::Chosen),
            ("off", &Fate::BelowFloor),
            ("old", &Fate::Repeats),
        ]
    );
    let found = rank(&task, &all, &corpus(50), NOW, &RecallPolicy::search(9));
    let order: Vec<&str> = ranked.iter().map(|r| r.scored.id.as_str()).collect();
    assert_eq!(ids(&found), order, "the same order, all of it");
}

#[test]
fn lrn_10_punctuation_and_any_script_find_their_learning() {
    for text in [
        "src/main.rs",
        "한국어를",
        "\"foo\"",
        "a-b",
        "C++",
        "日本語",
        "語",
        "OR NOT (",
        "naïve",
        "NEAR/3",
        "*",
    ] {
        let noted = learning("it", &format!("beware of {text} here"), &[text]);
        let found = !ranked(&query(&format!("work on {text}"), ""), &[noted]).is_empty();
        assert!(found || text == "*", "{text}");
        for term in terms(&query(text, text)) {
            assert!(term.text.chars().all(|c| c.is_alphanumeric() || c == '_'), "{}", term.text);
        }
    }
}

#[test]
fn lookup_terms_are_few_rare_and_within_the_budget() {
    let text: String = (0..500).map(|n| format!("word{n}x ")).collect();
    let all = terms(&query("title", &text));
    assert_eq!(all.len(), weights::MAX_TERMS);
    let mut known = corpus(100_000);
    known.df = all.iter().map(|term| (term.text.clone(), 1_800)).collect();
    assert_eq!(lookup(&all, &known).len(), 2, "the index's budget");
    known.df.values_mut().for_each(|df| *df = 5);
    assert_eq!(lookup(&all, &known).len(), weights::LOOKUP_TERMS);
    known.df.values_mut().for_each(|df| *df = 90_000);
    assert_eq!(lookup(&all, &known).len(), 1, "common words alone still find something");
    assert!(lookup(&all, &corpus(5)).is_empty(), "no learning has any of them");
}

#[test]
fn hostile_text_takes_bounded_time() {
    let long = "a/B_c.".repeat(2_000_000);
    let mut hostile = query(&long, &long);
    hostile.failure_text = Some(long.clone());
    hostile.files = vec![long.clone()];
    let shown = ranked(&hostile, &[learning("it", &long, &[&long])]);
    assert!(shown.len() <= 1);
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-c ./_:-]{0,40}",
        "(parser|cache|src/main.rs|日本語|C\\+\\+|_|\\.\\.){0,6}",
        "((parser|cache|lexer|error handling|src/lib.rs) ){0,8}",
    ]
}

fn any_count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0_u64..9, any::<u64>()]
}

prop_compose! {
    fn any_record()(
        helpful in any_count(), harmful in any_count(), judged in any_count(),
        expected in prop_oneof![Just(0.0), 0.0..9.0, any::<f64>()],
    ) -> Record {
        Record { helpful, harmful, judged, expected }
    }
}

prop_compose! {
    fn any_candidate()(
        id in "[a-z0-9]{4}", category in "[ab]", title in any_text(), content in any_text(),
        tags in proptest::collection::vec(any_text(), 0..4),
        created_at_ms in prop_oneof![any::<i64>(), NOW - 9 * DAY..NOW],
        record in any_record(), pinned in any::<bool>(),
    ) -> Candidate {
        Candidate {
            id, category, title, content, tags, created_at_ms, record, pinned,
        }
    }
}

prop_compose! {
    fn any_query()(
        title in any_text(), text in any_text(), files in proptest::collection::vec(any_text(), 0..3),
        error_category in proptest::option::of(any_text()), failure_text in proptest::option::of(any_text()),
    ) -> RecallQuery {
        RecallQuery { title, text, files, error_category, failure_text }
    }
}

proptest! {
    #[test]
    fn any_input_gives_finite_ordered_scores_that_are_the_sum_of_their_parts(
        query in any_query(),
        candidates in proptest::collection::vec(any_candidate(), 0..12),
        documents in any::<u64>(), count in any::<u64>(), now in any::<i64>(), max in 0_usize..8,
    ) {
        let mut known = corpus(documents);
        known.df = terms(&query).into_iter().map(|term| (term.text, count)).collect();
        known.tag_df = HashMap::from([("parser".to_owned(), count)]);
        prop_assert!(lookup(&terms(&query), &known).len() <= weights::LOOKUP_TERMS);
        let policy = RecallPolicy { max, ..RecallPolicy::default() };
        let shown = rank(&query, &candidates, &known, now, &policy);
        prop_assert!(shown.len() <= max);
        prop_assert!(shown.iter().all(|s| s.score.is_finite() && s.score == s.parts.total()));
        prop_assert!(shown.iter().all(|s| s.parts.relevance() > weights::FLOOR));
        prop_assert!(shown.is_sorted_by(|a, b| a.score >= b.score));
        prop_assert_eq!(&shown, &rank(&query, &candidates, &known, now, &policy));
    }

    #[test]
    fn the_order_of_the_candidates_does_not_matter(
        query in any_query(),
        candidates in proptest::collection::vec(any_candidate(), 0..10),
    ) {
        let mut unique = candidates;
        unique.sort_by(|a, b| a.id.cmp(&b.id));
        unique.dedup_by(|a, b| a.id == b.id);
        let forwards = ranked(&query, &unique);
        unique.reverse();
        let backwards = ranked(&query, &unique);
        prop_assert_eq!(ids(&forwards), ids(&backwards));
    }
}
