//! A prompt that Gemini CLI passes on as it is.
//!
//! In what it takes for a person's typing, `@word` names a file: the program looks for one whose name holds `word`
//! anywhere in the project, puts its content into the prompt and its path in place of `@word`. A test's name, an
//! address or a decorator in an error would so bring in files that nobody asked for. It leaves `\@` alone.

/// Said once, ahead of a text in which signs had to be escaped.
const NOTE: &str = "Note: in this prompt every `\\@` means a plain at sign.\n\n";

/// The text with no `@` that the program would act on.
pub(super) fn literal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut changed = false;
    let mut before = None;
    for sign in text.chars() {
        if sign == '@' && before != Some('\\') {
            escaped.push('\\');
            changed = true;
        }
        escaped.push(sign);
        before = Some(sign);
    }
    if changed {
        escaped.insert_str(0, NOTE);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_signs_are_escaped_and_explained() {
        let text = "Add @Test for a@b.c, @@ twice, \\@ once.\n@";
        let expected = "Add \\@Test for a\\@b.c, \\@\\@ twice, \\@ once.\n\\@";
        assert_eq!(literal(text), format!("{NOTE}{expected}"));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["", "## Rules\n\n## Assigned Task\n", "\\@ alone"] {
            assert_eq!(literal(text), text);
        }
    }
}
