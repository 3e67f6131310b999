//! Failure entries: their form, their order, how they leave.

use super::support::*;
use crate::memory::agents_md::{Entry, PhaseEntries, Section, Wanted, read, write};

/// A Failure Context with this below its intro.
fn context(rest: &str) -> String {
    format!("## Failure Context\n\n{INTRO}\n{rest}")
}

#[test]
fn agm_04_08_an_entry_with_everything() {
    let full = Entry {
        times: 3,
        error: "first\r\n\r\n  second\r# third \u{1b}[31m".to_owned(),
        attempted: " \n".to_owned(),
        files: vec![String::new(), " ".to_owned()],
        context: String::new(),
        last_good: Some("abc123".to_owned()),
        ..entry("t-00ff00", "")
    };
    assert_eq!(
        written("", &failures(&[phase("1", &[full])])),
        context(
            "\n### Phase 1:\n\n- [t-00ff00 | 2026-01-20 14:32:15] ×3 **Error:** first\n    second\n  \
             \\# third [31m\n  **Attempted:** not recorded\n  **Files:** none\n  **Context:**\n  \
             **Last good:** abc123\n"
        )
    );
}

#[test]
fn agm_12_special_characters_stay() {
    let odd = r#"a/b\c 'd' "e" & f | g `h` $i ${j} **k** <l> \n %s ]  ×2 [m](n) ~~~"#;
    let all = Entry {
        attempted: odd.to_owned(),
        files: vec![odd.to_owned(), "x".to_owned()],
        context: odd.to_owned(),
        last_good: Some(odd.to_owned()),
        ..entry("12-01", odd)
    };
    assert_eq!(
        written("", &failures(&[phase("12", &[all])])),
        context(&format!(
            "\n### Phase 12:\n\n- [12-01 | 2026-01-20 14:32:15] **Error:** {odd}\n  **Attempted:** \
             {odd}\n  **Files:** {odd}, x\n  **Context:** {odd}\n  **Last good:** {odd}\n"
        ))
    );
}

#[test]
fn agm_09_entries_stand_in_the_given_order() {
    let [a, b, c] = ["a", "b", "c"].map(|error| entry("1-1", error));
    let lines = |errors: &[&str]| {
        let entries = errors.iter().map(|error| format!("\n{}", lines_of("1-1", error)));
        context(&format!("\n### Phase 1:\n{}", entries.collect::<String>()))
    };
    let file = lines(&["a", "b"]);
    for (wanted, expected) in [
        (vec![a.clone(), b.clone(), c.clone()], lines(&["a", "b", "c"])),
        (vec![b.clone(), c.clone()], lines(&["b", "c"])),
        (vec![c.clone(), a.clone()], lines(&["c", "a"])),
        (vec![b.clone(), a.clone()], lines(&["b", "a"])),
        (vec![a.clone(), a.clone()], lines(&["a", "a"])),
        (vec![a.clone(), b.clone()], file.clone()),
    ] {
        assert_eq!(written(&file, &failures(&[phase("1", &wanted)])), expected);
    }
    let collapsed = Entry { times: 2, at: "2026-01-21 00:00:00".to_owned(), ..a };
    assert_eq!(
        written(&file, &failures(&[phase("1", &[b, collapsed])])),
        lines(&["b", "a"])
            .replace("15] **Error:** a", "15] ×2 **Error:** a")
            .replace("20 14:32:15] ×2", "21 00:00:00] ×2")
    );
}

#[test]
fn agm_09_10_one_phase_changes_and_the_others_stay() {
    let [one, two] = [lines_of("1-1", "a"), lines_of("2-1", "b")];
    let file = context(&format!("\n### Phase 01: Login\n{one}\n\n\n### Phase 2:\n\n{two}\n# End\n"));
    let first = phase("1", &[entry("1-1", "a")]);
    let second = phase("2", &[entry("2-1", "b")]);
    assert_eq!(write(Some(&file), &failures(&[second.clone(), first.clone()]), &|_| true), file);
    assert_eq!(
        written(&file, &failures(&[first])),
        context(&format!("\n### Phase 01: Login\n{one}\n\n\n# End\n"))
    );
    assert_eq!(
        written(&file, &failures(&[second])),
        context(&format!("\n\n\n### Phase 2:\n\n{two}\n# End\n"))
    );
    assert_eq!(written(&file, &Wanted::default()), context("\n\n\n# End\n"));
}

#[test]
fn agm_10_11_clearing_leaves_phase_specific_and_the_rest_as_they_were() {
    let entries = lines_of("12-01", "a") + "\n" + &lines_of("12-02", "b");
    let file = format!(
        "# P\n\n## Phase-Specific\n\n### Phase 12:\n\n- [12-01 | 2026-01-20 14:32:15] **Error:** x\n\n{}",
        context(&format!("\n### Phase 12:\n\n{entries}\n### Phase 13:\n\n{}", lines_of("13-1", "c")))
    );
    let kept = failures(&[phase("13", &[entry("13-1", "c")])]);
    let expected = file.replace(&format!("### Phase 12:\n\n{entries}\n### Phase 13"), "### Phase 13");
    assert_ne!(expected, file);
    assert_eq!(written(&file, &kept), expected);
}

#[test]
fn agm_10_a_heading_with_other_text_under_it_stays() {
    let own = lines_of("1-1", "a");
    for (inside, left) in [
        (format!("A person's note.\n\n{own}"), "A person's note.\n".to_owned()),
        (format!("{own}\n- a person's bullet\n"), "- a person's bullet\n".to_owned()),
        (format!("{own}\n<!-- note -->\n"), "<!-- note -->\n".to_owned()),
        (format!("{own}\n#### Deeper\n"), "#### Deeper\n".to_owned()),
        (format!("{own}\n{}", lines_of("other-1", "theirs")), lines_of("other-1", "theirs")),
    ] {
        let file = context(&format!("\n### Phase 1:\n\n{inside}"));
        let cleared = written_by(Some(&file), &Wanted::default(), &|name| name == "1-1");
        assert_eq!(cleared, context(&format!("\n### Phase 1:\n\n{left}")));
    }
}

#[test]
fn agm_10_a_heading_that_was_already_empty_stays() {
    let file = context("\n### Phase 1:\n\n### Phase 2:\n\n- [2-1 | 2026-01-20 14:32:15] **Error:** x\n");
    assert_eq!(written(&file, &Wanted::default()), context("\n### Phase 1:\n"));
}

#[test]
fn agm_16_entries_of_other_plans_stay_where_they_are() {
    let theirs = lines_of("other-1", "theirs");
    let file =
        context(&format!("\n### Phase 1:\n\n{}\n{theirs}\n{}", lines_of("1-1", "a"), lines_of("1-1", "b")));
    let is_ours = |name: &str| name == "1-1";
    let wanted = |errors: &[&str]| {
        let entries: Vec<_> = errors.iter().map(|error| entry("1-1", error)).collect();
        failures(&[phase("1", &entries)])
    };
    assert_eq!(written_by(Some(&file), &wanted(&["a", "b"]), &is_ours), file);
    assert_eq!(written_by(Some(&file), &wanted(&["b", "c"]), &is_ours), {
        let [b, c] = ["b", "c"].map(|error| lines_of("1-1", error));
        context(&format!("\n### Phase 1:\n\n{theirs}\n{b}\n{c}"))
    });
    assert_eq!(written_by(Some(&file), &wanted(&[]), &is_ours), {
        context(&format!("\n### Phase 1:\n\n{theirs}"))
    });
    assert_eq!(read(&file).entry_names, ["1-1", "other-1"]);
}

#[test]
fn agm_03_entries_elsewhere_in_the_section_come_under_their_phase() {
    let a = lines_of("1-1", "a");
    let expected = context(&format!("\n### Phase 1:\n\n{a}"));
    let wanted = failures(&[phase("1", &[entry("1-1", "a")])]);
    for rest in [
        format!("\n{a}"),
        format!("\n{a}\n### Phase 1:\n"),
        format!("\n### Phase 2:\n\n{a}"),
        format!("\n### Phase 1:\n\n{a}\n### Phase 01:\n\n{a}"),
        format!("\n### Phase 1:\n\n{a}\n## Failure Context\n{a}")
            .replace(&format!("## Failure Context\n{a}"), &format!("### No phase:\n{a}")),
    ] {
        assert_eq!(written(&context(&rest), &wanted), expected, "{rest}");
    }
    let twice = format!("{expected}\n## Failure Context\n\n### Phase 1:\n\n{a}");
    assert_eq!(written(&twice, &wanted), format!("{expected}\n## Failure Context\n"));
}

#[test]
fn agm_03_the_intro_is_added_where_it_is_missing() {
    let wanted = failures(&[phase("1", &[entry("1-1", "a")])]);
    let a = lines_of("1-1", "a");
    for (file, expected) in [
        ("## Failure Context".to_owned(), context(&format!("\n### Phase 1:\n\n{a}"))),
        ("## Failure Context\n\nx\n".to_owned(), context(&format!("\nx\n\n### Phase 1:\n\n{a}"))),
        (context(""), context(&format!("\n### Phase 1:\n\n{a}"))),
        (
            "## Failure Context\n- x\n# End\n".to_owned(),
            context(&format!("\n- x\n\n### Phase 1:\n\n{a}\n# End\n")),
        ),
    ] {
        assert_eq!(written(&file, &wanted), expected);
    }
    // It is not put back while there is nothing else to write.
    let without = context(&format!("\n### Phase 1:\n\n{a}")).replace(INTRO, "");
    assert_eq!(written(&without, &wanted), without);
}

#[test]
fn agm_03_no_phase_comes_last_and_phases_in_order() {
    let none = PhaseEntries { phase: None, entries: vec![entry("t-1", "n")] };
    let all = [none, phase("10", &[entry("10", "t")]), phase("09.10", &[entry("9", "e")])];
    let [n, t, e] = [("t-1", "n"), ("10", "t"), ("9", "e")].map(|(n, e)| lines_of(n, e));
    let expected = context(&format!("\n### Phase 9.1:\n\n{e}\n### Phase 10:\n\n{t}\n### No phase:\n\n{n}"));
    assert_eq!(written("", &failures(&all)), expected);
    let one_by_one = [0, 1, 2].iter().fold(String::new(), |file, at| {
        let so_far: Vec<_> = all.iter().take(at + 1).cloned().collect();
        written(&file, &failures(&so_far))
    });
    assert_eq!(one_by_one, expected);
}

#[test]
fn agm_04_names_and_times_that_could_break_the_form_are_replaced_whole() {
    for name in ["", " a ", "a|b", "a | 2026-01-20 14:32:15] **Error:** b", "a\nb", "a |", "]", "×2"] {
        for at in ["2026-01-20 14:32:15", "", "] **Error:** \n# x", "tomorrow | "] {
            let odd = Entry { at: at.to_owned(), ..entry(name, "x") };
            let out = written_by(None, &failures(&[phase("1", &[odd])]), &|_| false);
            assert_eq!(read(&out).entry_names.len(), 1, "{out}");
            assert_eq!(read(&out).bullets, [], "{out}");
        }
    }
}

#[test]
fn agm_15_a_bullet_in_the_form_of_an_entry_is_not_written() {
    let text = "[1-1 | 2026-01-20 14:32:15] **Error:** x";
    let wanted = bullets(&[bullet(Section::FailureContext, text)]);
    assert_eq!(write(None, &wanted, &|_| false), "");
    let file = context(&format!("\n- {text}\n"));
    let remove = removed(&[bullet(Section::FailureContext, text)]);
    assert_eq!(write(Some(&file), &remove, &|_| false), file);
}

#[test]
fn agm_13_entries_take_the_line_ends_of_the_file() {
    let wanted = failures(&[phase("1", &[entry("1-1", "a\nb")])]);
    let out = written("# A\r\nx\r\ny\n", &wanted);
    let (before, after) = out.split_at("# A\r\nx\r\ny\n".len());
    assert_eq!(before, "# A\r\nx\r\ny\n");
    let lines = context(&format!("\n### Phase 1:\n\n{}", lines_of("1-1", "a\n  b")));
    assert_eq!(after, format!("\n{lines}").replace('\n', "\r\n"));
}

#[test]
fn agm_09_a_persons_heading_of_the_phase_stays_while_entries_are_wanted() {
    let file = |error| context(&format!("\n### Phase 01: Login\n\n{}", lines_of("1-1", error)));
    let wanted = failures(&[phase("1", &[entry("1-1", "b")])]);
    assert_eq!(written(&file("a"), &wanted), file("b"));
}
