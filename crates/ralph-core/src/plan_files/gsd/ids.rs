//! Ids of plans (`01-02`), and numbers as people vary them (`1-2`, `02.1`, `02B`).

use crate::plan_files::key;

/// A plan's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanId {
    /// As in the file's name: `01-02`.
    pub(super) name: String,
    /// As written; a plan outside of any phase has none.
    pub(super) phase: Option<String>,
    /// The number within its phase.
    pub(super) plan: String,
}

impl PlanId {
    /// The id of a plan by the path of its file; where the name of the file tells too little, by
    /// its directory and by the phase and plan that its frontmatter names.
    pub(super) fn of(path: &str, phase: Option<&str>, plan: Option<&str>) -> Option<Self> {
        let mut parts = path.rsplit(['/', '\\']);
        let stem = without_kind(parts.next().unwrap_or_default());
        let above = parts
            .next()
            .and_then(leading_number)
            .or_else(|| phase.and_then(leading_number));
        let mut words = stem.split('-');
        let words = (words.next().unwrap_or_default(), words.next());
        let (phase, plan) = match words {
            (phase, Some(plan)) if is_number(phase) && is_plan(plan) => (Some(phase), plan),
            (plan, None) if is_number(plan) => (above, plan),
            ("", None) => (above, plan.filter(|plan| is_plan(plan))?),
            _ => {
                let name = stem.to_owned();
                let phase = above.map(str::to_owned);
                // Its parts are keys as well.
                let is_usable = key::is_usable(stem) && key::is_usable(&format!("{stem}/999"));
                return is_usable.then(|| Self {
                    plan: name.clone(),
                    name,
                    phase,
                });
            }
        };
        let name = phase.map_or_else(|| plan.to_owned(), |phase| format!("{phase}-{plan}"));
        Some(Self {
            name,
            phase: phase.map(str::to_owned),
            plan: plan.to_owned(),
        })
    }
}

/// A file's name without `-PLAN.md` and the like.
pub(super) fn without_kind(name: &str) -> &str {
    let kinds = ["-plan.md", "-summary.md", "plan.md", "summary.md", ".md"];
    let cut = |kind: &&str| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(kind.len())?)?;
        end.eq_ignore_ascii_case(kind).then_some(stem)
    };
    kinds.iter().find_map(cut).unwrap_or(name)
}

/// The number that a directory (`02.1-slug`) or another name begins with.
pub(super) fn leading_number(name: &str) -> Option<&str> {
    name.split(['-', '_', ' '])
        .next()
        .filter(|word| is_number(word))
}

/// A digit, and little more of digits, letters and points: `01`, `02.1`, `02B`.
pub(super) fn is_number(word: &str) -> bool {
    word.len() <= 8
        && word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
}

/// Plans are also told apart by letters: `01-D`.
fn is_plan(word: &str) -> bool {
    is_number(word) || (word.len() == 1 && word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The same for all spellings of an id or number: `01-02` and `1-2`, `02.1` and `2.1`.
pub(super) fn normal(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    let mut is_start = true;
    for (at, c) in id.char_indices() {
        let next = id.as_bytes().get(at + 1);
        let is_padding = is_start && c == '0' && next.is_some_and(u8::is_ascii_alphanumeric);
        if !is_padding {
            out.extend(c.to_lowercase());
            is_start = matches!(c, '-' | '.');
        }
    }
    out
}

/// What numbers are ordered by: `2`, `2.1`, `2B`, `3`, `10`, and words last.
pub(super) fn order(number: &str) -> Vec<(u64, String)> {
    let parts = normal(number);
    let part = |part: &str| {
        let end = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        let (digits, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        (digits.parse().unwrap_or(u64::MAX), rest.to_owned())
    };
    parts.split('.').map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::{PlanId, normal, order, without_kind};
    use proptest::prelude::*;

    fn id(path: &str) -> Option<(String, Option<String>)> {
        PlanId::of(path, Some("04-front"), Some("05")).map(|id| (id.name, id.phase))
    }

    #[test]
    fn ids_come_from_file_names() {
        for (path, name, phase) in [
            (
                ".planning/phases/01-base/01-02-PLAN.md",
                "01-02",
                Some("01"),
            ),
            ("02.1-slug\\02.1-01-PLAN.md", "02.1-01", Some("02.1")),
            ("02B-04-PLAN.md", "02B-04", Some("02B")),
            ("x/02-03a-plan.md", "02-03a", Some("02")),
            ("x/01-D-PLAN.md", "01-D", Some("01")),
            ("x/12-01-slug-PLAN.md", "12-01", Some("12")),
            ("03-auth/01-PLAN.md", "03-01", Some("03")),
            ("PLAN.md", "04-05", Some("04")),
            ("07-a/PLAN.md", "07-05", Some("07")),
            ("260629-gzd-PLAN.md", "260629-gzd", Some("04")),
            ("09-x/api-PLAN.md", "api", Some("09")),
        ] {
            assert_eq!(
                id(path),
                Some((name.to_owned(), phase.map(str::to_owned))),
                "{path}"
            );
        }
        assert_eq!(id("a b-PLAN.md"), None);
        assert_eq!(PlanId::of("PLAN.md", None, None), None);
        assert_eq!(
            PlanId::of("03-PLAN.md", None, None)
                .map(|id| id.name)
                .as_deref(),
            Some("03")
        );
    }

    #[test]
    fn spellings_are_the_same() {
        assert_eq!(normal("01-02"), normal("1-2"));
        assert_eq!(normal("02.01-003B"), "2.1-3b");
        assert_eq!(normal("00"), "0");
        assert_eq!(normal("10-20"), "10-20");
        assert_eq!(without_kind("01-02-SUMMARY.md"), "01-02");
        assert_eq!(without_kind("é"), "é");
    }

    #[test]
    fn numbers_have_an_order() {
        let numbers = ["0", "1", "2", "02.1", "2.10", "2B", "3", "10", "front"];
        assert!(numbers.is_sorted_by_key(|number| order(number)));
    }

    proptest! {
        #[test]
        fn never_panics(path in any::<String>(), near in "[0-9a-zPLANé./-]{0,20}") {
            for path in [path, near] {
                let _ = PlanId::of(&path, Some(&path), Some(&path));
                let _ = order(&path);
                prop_assert_eq!(normal(&normal(&path)), normal(&path));
            }
        }
    }
}
