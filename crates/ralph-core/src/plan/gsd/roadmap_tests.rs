use super::*;
use proptest::prelude::*;

#[test]
fn phases_in_the_order_they_are_named() {
    let roadmap = Roadmap::of(
        "# Roadmap\n- Integer phases (1, 2): planned\n- [x] **Phase 1: Base** - a\n- [ ] Phase 3: c\n\
         <!-- - [ ] Phase 9 -->\n### Phase 02.1: b (INSERTED)\n### Phase 1: Base\n- Phases 4-6\n```\n## Phase 8\n```\n",
    );
    assert_eq!(roadmap.phases, ["1", "3", "2.1"]);
    assert!(roadmap.ticked_phases.contains("1") && roadmap.ticked_phases.len() == 1);
}

#[test]
fn plans_in_all_their_shapes() {
    let of = |words| plan_words(words).map(|(id, title)| (id, title.unwrap_or_default()));
    for words in [
        "01-02-PLAN.md — Do it",
        "01-02: Do it",
        "**01-02-PLAN.md** -- Do it.",
        "**01-02: Do it**",
        "[01-02-PLAN.md](phases/01-a/01-02-PLAN.md) - Do it",
        "`01-02-PLAN.md` Do it",
        "Plan 01-02: Do it",
    ] {
        assert_eq!(of(words), Some(("1-2".to_owned(), "Do it".to_owned())), "{words}");
    }
    assert_eq!(plan_words("02.1-01-PLAN.md"), Some(("2.1-1".to_owned(), None)));
    for words in ["TBD", "v1-2", "3 things", "", "[x](y)"] {
        assert_eq!(of(words), None, "{words}");
    }
}

#[test]
fn ticks_and_titles() {
    let roadmap = Roadmap::of("Plans:\n- [ ] 01-01: a\n- [x] 01-01-PLAN.md\n  - [ ] 01-02-PLAN.md — b\n");
    assert_eq!(roadmap.plans["1-1"], Entry { is_ticked: true, title: Some("a".to_owned()) });
    assert_eq!(roadmap.plans["1-2"], Entry { is_ticked: false, title: Some("b".to_owned()) });
}

#[test]
fn what_hides_the_rest_is_told() {
    assert_eq!(Roadmap::of("a\n```\n- [x] 01-01: b\n").unclosed.unwrap().0, 2);
}

proptest! {
    #[test]
    fn roadmaps_never_panic(text in any::<String>(), near in "[-# \\[\\]x*01Phase:—(\n.]{0,40}") {
        let _ = (Roadmap::of(&text), Roadmap::of(&near));
    }
}

fn id(path: &str) -> Option<(String, Option<String>)> {
    PlanId::of(path, Some("04-front"), Some("05")).map(|id| (id.name, id.phase))
}

#[test]
fn ids_come_from_file_names() {
    for (path, name, phase) in [
        (".planning/phases/01-base/01-02-PLAN.md", "01-02", Some("01")),
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
        assert_eq!(id(path), Some((name.to_owned(), phase.map(str::to_owned))), "{path}");
    }
    assert_eq!(id("a b-PLAN.md"), None);
    assert_eq!(PlanId::of("PLAN.md", None, None), None);
    assert_eq!(PlanId::of("03-PLAN.md", None, None).map(|id| id.name).as_deref(), Some("03"));
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
    fn ids_never_panic(path in any::<String>(), near in "[0-9a-zPLANé./-]{0,20}") {
        for path in [path, near] {
            let _ = PlanId::of(&path, Some(&path), Some(&path));
            let _ = order(&path);
            prop_assert_eq!(normal(&normal(&path)), normal(&path));
        }
    }
}
