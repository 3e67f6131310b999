//! What stands in fences.

use super::dedent::dedented;
use super::lines::{Kind, Line, Part};

/// A fence and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fenced<'a> {
    /// The first word after the fence's marks.
    pub(super) language: &'a str,
    pub(super) text: String,
}

/// The fences among some lines.
pub(super) fn fences<'a>(lines: &[Line<'a>]) -> Vec<Fenced<'a>> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.kind == Kind::Fence(Part::Begin) {
            let after = lines.get(at + 1..).unwrap_or_default();
            let length = after
                .iter()
                .take_while(|line| line.kind == Kind::Fence(Part::Inside));
            let text = dedented(after.get(..length.count()).unwrap_or_default());
            found.push(Fenced {
                language: language(line.text),
                text,
            });
        }
    }
    found
}

fn language(opening: &str) -> &str {
    let info = opening.rsplit(['`', '~']).next().unwrap_or_default();
    info.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_files::tasks_md::lines::Lines;

    #[test]
    fn fences_with_their_languages() {
        let file = "a\n  ```sh x\n    b\n\n      c\n  ```\n  - **Do**: ~~~ py\n  - ~~~ py\n    d\n";
        let lines: Vec<_> = Lines::of(file).collect();
        let found = fences(&lines);
        let pairs: Vec<_> = found
            .iter()
            .map(|one| (one.language, one.text.as_str()))
            .collect();
        assert_eq!(pairs, [("sh", "b\n\n  c"), ("py", "d")]);
    }
}
