//! The rules of the prompt, one test each, named by the rule.

mod attempts;
mod budget;
mod examples;
mod properties;
mod sections;
mod signals;
mod support;
mod task;

use super::shorten;

#[test]
fn a_text_that_fits_is_left_alone() {
    assert_eq!(shorten("naïve", 5), "naïve");
    assert_eq!(shorten("", 0), "");
}

#[test]
fn a_cut_falls_between_words_where_one_ends_nearby() {
    assert_eq!(shorten("one two three", 9), "one two…");
    assert_eq!(shorten("one two three", 8), "one two…");
    assert_eq!(shorten("a bbbbbbbbbbbbbb", 8), "a bbbbb…");
    assert_eq!(shorten("日本語日本語", 3), "日本…");
}

#[test]
fn no_room_is_no_text() {
    assert_eq!(shorten("abc", 0), "");
    assert_eq!(shorten("abc", 1), "…");
}
