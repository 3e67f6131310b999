//! Where values stand, and what is wrong with a file.

use super::*;

fn members(text: &str) -> Vec<(String, String)> {
    let document = Document::of(text).unwrap().unwrap();
    let members = document.root.members.iter();
    let pair = |member: &Member| (document.part(&member.name), document.part(&member.value));
    members
        .map(pair)
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

#[test]
fn rcs_03_values_are_found_where_they_stand() {
    let text = "\u{feff} {\"a\\\"}\" : [1, {\"b\": \"]\"}] , \"c\":-1.5e3,\n\"d\":{},\"e\":null}\n";
    let expected = [
        (r#""a\"}""#, r#"[1, {"b": "]"}]"#),
        (r#""c""#, "-1.5e3"),
        (r#""d""#, "{}"),
        (r#""e""#, "null"),
    ];
    let expected = expected.map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(members(text), expected);
    assert_eq!(members("{ }"), []);
}

#[test]
fn rcs_03_items_of_a_list_have_no_name() {
    let text = r#"[ "a", [1,2] ]"#;
    let (inside, items) = list(text, 0..text.len()).unwrap();
    assert_eq!(&text[inside], r#" "a", [1,2] "#);
    let values: Vec<_> = items.iter().map(|item| &text[item.value.clone()]).collect();
    assert_eq!(values, [r#""a""#, "[1,2]"]);
    assert!(items.iter().all(|item| item.name.is_empty()));
    assert_eq!(items[1].start(), items[1].value.start);
    assert!(list("{}", 0..2).is_none());
}

#[test]
fn rcs_03_of_two_members_with_one_key_the_last_counts() {
    let document = Document::of(r#"{"a": 1, "b": 2, "\u0061": 3}"#)
        .unwrap()
        .unwrap();
    let value = |member: &Member| document.part(&member.value);
    assert_eq!(document.root.get("a").map(value), Some("3"));
    let named = document.root.named();
    let named: Vec<_> = named
        .into_iter()
        .map(|(key, member)| (key, value(member)))
        .collect();
    assert_eq!(named, [("b", "2"), ("a", "3")]);
}

#[test]
fn imp_07_a_problem_names_line_and_expectation() {
    let problem = Document::of("{\n  \"a\": 1,\n  b\n}").unwrap_err();
    assert_eq!(
        problem.to_string(),
        "line 3: expected valid JSON: key must be a string (column 3)"
    );
    let problem = Document::of("\n\n[1]").unwrap_err();
    assert_eq!(problem.to_string(), "line 3: expected a JSON object `{…}`");
    for other in ["{} {}", "{\"a\": 01}", "{\"a\"", "nul", "{\"a\": \"\n\"}"] {
        assert!(Document::of(other).is_err(), "{other}");
    }
    for blank in ["", " \n", "\u{feff}\n"] {
        assert!(Document::of(blank).unwrap().is_none());
    }
}
