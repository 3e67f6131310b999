//! Wanted values put into the text of a document.

use std::ops::Range;

use super::scan::{Document, Member, Object};
use super::style::{Place, Style, place_of};
use super::value::Wanted;

/// The text of the document with the wanted members in its object.
pub(super) fn merged(document: &Document<'_>, wanted: &[(String, Wanted)]) -> String {
    let style = Style::of(document);
    let mut merge = Merge {
        document,
        style,
        splices: Vec::new(),
    };
    merge.object(&document.root, &Place::OwnLine(String::new()), wanted);
    merge.splices.sort_by_key(|splice| splice.range.start);
    spliced(document.text, &merge.splices)
}

/// A text in place of a part of the document.
struct Splice {
    range: Range<usize>,
    text: String,
}

struct Merge<'d, 'a> {
    document: &'d Document<'a>,
    style: Style,
    splices: Vec<Splice>,
}

impl Merge<'_, '_> {
    /// Sets members of an object; `place` is that of the member that holds it.
    fn object(&mut self, object: &Object, place: &Place, wanted: &[(String, Wanted)]) {
        let mut new = Vec::new();
        for (key, value) in wanted {
            match object.get(key) {
                Some(member) => self.value(member, value),
                None => new.push((key, value)),
            }
        }
        if !new.is_empty() {
            self.append(object, place, &new);
        }
    }

    fn value(&mut self, member: &Member, wanted: &Wanted) {
        let (document, range) = (self.document, member.value.clone());
        if wanted.is(document.part(&range)) {
            return;
        }
        let place = place_of(document, member);
        let text = match wanted {
            Wanted::Object(members) => {
                if let Some(object) = Object::of(document.text, range.clone()) {
                    return self.object(&object, &place, members);
                }
                None
            }
            Wanted::List(items) => self.style.list_like(document, range.clone(), items),
            Wanted::Text(_) | Wanted::Count(_) => None,
        };
        let text = text.unwrap_or_else(|| self.style.value(wanted, &place));
        self.splices.push(Splice { range, text });
    }

    /// Adds members at the end of an object, set out like the last one that is there.
    fn append(&mut self, object: &Object, place: &Place, new: &[(&String, &Wanted)]) {
        let Some(last) = object.members.last() else {
            let text = self.style.inside(new, place);
            return self.splices.push(Splice {
                range: object.inside.clone(),
                text,
            });
        };
        let place = place_of(self.document, last);
        let divider = self.divider(object, last, &place);
        let members = self.style.members(new, &divider, &place);
        let end = last.value.end;
        self.splices.push(Splice {
            range: end..end,
            text: divider + &members,
        });
    }

    /// What divides the last two members, or would.
    fn divider(&self, object: &Object, last: &Member, place: &Place) -> String {
        let before_last = object.members.iter().rev().nth(1);
        let used = before_last.map(|member| self.document.part(&(member.value.end..last.start())));
        // A blank line between the last two sets off the last one only.
        match (used.filter(|used| used.matches('\n').count() < 2), place) {
            (Some(used), _) => used.to_owned(),
            (None, Place::OwnLine(indent)) => format!(",{}{indent}", self.style.line_end),
            (None, Place::Inline) => self.style.comma.to_owned(),
        }
    }
}

/// The text with the splices made, which are in order and do not overlap.
fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut out = String::with_capacity(text.len() + splices.len() * 32);
    let mut kept = 0;
    for splice in splices {
        out.push_str(text.get(kept..splice.range.start).unwrap_or_default());
        out.push_str(&splice.text);
        kept = splice.range.end;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out
}
