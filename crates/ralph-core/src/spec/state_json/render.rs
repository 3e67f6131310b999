//! New values as text, in the style of the file.

use super::scan::{Document, list};
use super::style::{Place, Style};
use super::value::Wanted;

impl Style {
    /// A value; `place` is that of the member that holds it.
    pub(super) fn value(&self, wanted: &Wanted, place: &Place) -> String {
        match wanted {
            Wanted::Text(text) => quoted(text),
            Wanted::Count(number) => number.to_string(),
            Wanted::List(items) => format!("[{}]", joined(items, self.comma)),
            Wanted::Object(members) => {
                let members: Vec<_> = members.iter().map(|(key, value)| (key, value)).collect();
                format!("{{{}}}", self.inside(&members, place))
            }
        }
    }

    /// What stands between the braces of a new object; `place` is that of the member that holds it.
    pub(super) fn inside(&self, members: &[(&String, &Wanted)], place: &Place) -> String {
        let Place::OwnLine(indent) = place else {
            return self.members(members, self.comma, &Place::Inline);
        };
        let deeper = format!("{indent}{}", self.step);
        let line = format!("{}{deeper}", self.line_end);
        let members = self.members(members, &format!(",{line}"), &Place::OwnLine(deeper));
        format!("{line}{members}{}{indent}", self.line_end)
    }

    /// Members that each stand at `place`.
    pub(super) fn members(
        &self,
        members: &[(&String, &Wanted)],
        divider: &str,
        place: &Place,
    ) -> String {
        let members = members.iter().map(|(key, value)| {
            let (name, colon) = (quoted(key), &self.colon);
            format!("{name}{colon}{}", self.value(value, place))
        });
        members.collect::<Vec<_>>().join(divider)
    }

    /// A list that takes the place of another one, spaced alike.
    pub(super) fn list_like(
        &self,
        document: &Document<'_>,
        old: std::ops::Range<usize>,
        items: &[String],
    ) -> Option<String> {
        let (inside, old) = list(document.text, old)?;
        let (first, last) = (old.first()?, old.last()?);
        let before = document.part(&(inside.start..first.value.start));
        let after = document.part(&(last.value.end..inside.end));
        let divider = match old.get(1) {
            Some(second) => document
                .part(&(first.value.end..second.value.start))
                .to_owned(),
            None if before.contains('\n') => format!(",{before}"),
            None => self.comma.to_owned(),
        };
        (!items.is_empty()).then(|| format!("[{before}{}{after}]", joined(items, &divider)))
    }
}

fn joined(items: &[String], divider: &str) -> String {
    let items = items.iter().map(|item| quoted(item));
    items.collect::<Vec<_>>().join(divider)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
