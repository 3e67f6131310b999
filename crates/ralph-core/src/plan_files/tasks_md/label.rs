//! The names of a block's fields, and how they are written before their value.

/// A field of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Do,
    Files,
    DoneWhen,
    Verify,
    Commit,
    Requirements,
    Design,
}

impl Field {
    const ALL: [Self; 7] = [
        Self::Do,
        Self::Files,
        Self::DoneWhen,
        Self::Verify,
        Self::Commit,
        Self::Requirements,
        Self::Design,
    ];

    /// As it is written.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Do => "Do",
            Self::Files => "Files",
            Self::DoneWhen => "Done when",
            Self::Verify => "Verify",
            Self::Commit => "Commit",
            Self::Requirements => "Requirements",
            Self::Design => "Design",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

/// A name before a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label<'a> {
    /// None for a name in bold that is none of the fields.
    pub(super) field: Option<Field>,
    pub(super) value: &'a str,
}

impl<'a> Label<'a> {
    /// Reads the text of a list item.
    pub(super) fn of_item(text: &'a str) -> Option<Self> {
        Self::emphasised(text).or_else(|| {
            let (name, value) = text.split_once(':')?;
            let field = Field::named(name)?;
            Some(Self {
                field: Some(field),
                value: value.trim(),
            })
        })
    }

    /// Reads `**Name**: value`, `**Name:** value` and `_Requirements: value_`.
    pub(super) fn emphasised(text: &'a str) -> Option<Self> {
        match text.strip_prefix("**") {
            Some(text) => Self::bold(text),
            None => Self::italic(text),
        }
    }

    fn bold(text: &'a str) -> Option<Self> {
        let (name, after) = text.split_once("**")?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => (name, after),
            None => (name, after.strip_prefix(':')?),
        };
        Some(Self {
            field: Field::named(name.trim()),
            value: value.trim(),
        })
    }

    fn italic(text: &'a str) -> Option<Self> {
        let mark = text
            .chars()
            .next()
            .filter(|mark| matches!(mark, '_' | '*'))?;
        let (name, value) = text.strip_prefix(mark)?.split_once(':')?;
        // Also `_Name_: value` and `_Name:_ value`.
        let name = name.strip_suffix(mark).unwrap_or(name);
        let value = value.strip_prefix(mark).unwrap_or(value).trim();
        let value = value.strip_suffix(mark).unwrap_or(value);
        let field = Field::named(name)?;
        Some(Self {
            field: Some(field),
            value: value.trim(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imp_03_forms_of_a_label() {
        for (text, field, value) in [
            ("**Verify**: a", Field::Verify, "a"),
            ("**Verify:** a:b", Field::Verify, "a:b"),
            ("Verify: a ", Field::Verify, "a"),
            ("**done WHEN**:", Field::DoneWhen, ""),
            ("DO:a", Field::Do, "a"),
            (
                "_Requirements: FR-1, AC-1.2_",
                Field::Requirements,
                "FR-1, AC-1.2",
            ),
            ("*Design: a_b*", Field::Design, "a_b"),
            ("_Design_: a", Field::Design, "a"),
            ("**Requirements**: FR-1", Field::Requirements, "FR-1"),
        ] {
            assert_eq!(
                Label::of_item(text),
                Some(Label {
                    field: Some(field),
                    value
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn other_names_count_only_in_bold() {
        assert_eq!(
            Label::of_item("**Skills**: e2e"),
            Some(Label {
                field: None,
                value: "e2e"
            })
        );
        for text in [
            "Skills: e2e",
            "_Skills: e2e_",
            "**Verify** a",
            "Verify a",
            "Verify it: a",
            "",
            "**",
        ] {
            assert_eq!(Label::of_item(text), None, "{text}");
        }
        assert_eq!(Label::emphasised("Verify: a"), None);
    }
}
