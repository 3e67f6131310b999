//! Whether a task is about thinking or about doing.

/// First words of titles that ask for a plan, not for code.
const VERBS: [&str; 14] = [
    "analyse",
    "analyze",
    "architect",
    "brainstorm",
    "decide",
    "design",
    "evaluate",
    "investigate",
    "outline",
    "plan",
    "propose",
    "research",
    "specify",
    "spec",
];

/// Judged by how its title begins: `Design the cache`, `[PLAN] Phase 2`.
#[must_use]
pub fn is_planning(title: &str) -> bool {
    let first = title
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty());
    first.is_some_and(|word| VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb)))
}

#[cfg(test)]
mod tests {
    use super::is_planning;

    #[test]
    fn the_first_word_of_the_title_decides() {
        for title in [
            "Design the cache",
            "[PLAN] Phase 2",
            "research: which parser",
            "Plan",
        ] {
            assert!(is_planning(title), "{title}");
        }
        for title in [
            "",
            "Add the plan command",
            "Planet table",
            "Redesign nothing",
            "…",
        ] {
            assert!(!is_planning(title), "{title}");
        }
    }
}
