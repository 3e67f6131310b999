//! Checkboxes that look like tasks of a spec and are none.

use super::key::key_length;

/// The key in a line such as `- [ ] **1.3** Title` or `* [ ] 1.3 Title`, which a person may take
/// for a task line.
pub(super) fn nearly_a_task(line: &str) -> Option<&str> {
    let after = line
        .strip_prefix(['-', '*', '+'])?
        .trim_start()
        .strip_prefix('[')?;
    let (state, text) = after.split_once(']')?;
    let text = text
        .trim_start()
        .trim_start_matches(['*', '_', '`', '#', '(', '[']);
    let text = match text.split_at_checked("task ".len()) {
        Some((word, rest)) if word.eq_ignore_ascii_case("task ") => rest,
        _ => text,
    };
    let (key, rest) = text.split_at_checked(key_length(text)?)?;
    let is_checkbox = state.chars().count() <= 1;
    (is_checkbox && !rest.starts_with(char::is_alphanumeric)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imp_02_what_a_person_may_take_for_a_task() {
        for line in [
            "- [ ] **1.3** a",
            "- [x] **1.3 a**",
            "* [ ] 1.3 a",
            "- [] 1.3 a",
            "- [-] 1.3 a",
            "- [ ]1.3 a",
            "- [ ] Task 1.3: a",
            "- [ ] `1.3` a",
            "-  [ ] 1.3 a",
            "- [ ] 1.3) a",
        ] {
            assert_eq!(nearly_a_task(line), Some("1.3"), "{line}");
        }
        for line in [
            "- [ ] a",
            "- [link] 1.3",
            "1.3 a",
            "- 1.3 a",
            "- [ ] 3. a",
            "- [ ] 1.3x",
            "- [ ]",
            "",
        ] {
            assert_eq!(nearly_a_task(line), None, "{line}");
        }
    }
}
