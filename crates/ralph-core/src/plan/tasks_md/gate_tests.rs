//! Forms of `Verify`, and what becomes of them.

use super::super::fields::entries;
use super::*;
use crate::markdown::Lines;

/// The gate of a block in which `pnpm`, `grep` and `curl` can be run.
fn gate(block: &str) -> Gate {
    let text = format!("- [ ] 1.1 a\n{block}");
    let file = Lines::of(&text);
    let mut gate = Gate::default();
    for entry in entries(&file.lines[1..]) {
        gate.add(&entry, &|word| ["pnpm", "grep", "curl"].contains(&word));
    }
    gate
}

fn texts(gate: Gate) -> Vec<String> {
    gate.left_out.into_iter().map(|(text, _)| text).collect()
}

fn command(block: &str) -> String {
    gate(block).command().unwrap_or_default()
}

#[test]
fn imp_03_inline_code() {
    assert_eq!(command("  - **Verify**: `pnpm test`"), "pnpm test");
    assert_eq!(command("  - **Verify**: Run `a b` and then `c`."), "a b && c");
    assert_eq!(command("  - Verify: `grep -c x y` returns >= 1"), "test \"$(grep -c x y)\" -ge 1");
    assert_eq!(command("  - **Verify**: ```pnpm test```"), "pnpm test");
    assert_eq!(command("  - **Verify**: `a`\n    - covers `PASS`"), "a");
    assert_eq!(command("  - **Verify**: `grep a b`\n    - Expected: no output"), "! grep a b");
    assert_eq!(command("  - **Verify**: Then\n    `a`\n    works"), "a");
    assert_eq!(command("  - **Verify**: `a` prints\n    ```\n    b\n    ```"), "");
}

#[test]
fn imp_03_a_bare_line_is_a_command_only_if_it_can_be_run() {
    assert_eq!(command("  - **Verify**: grep -q \"a b\" c.md"), "grep -q \"a b\" c.md");
    assert_eq!(command("  - **Verify**: (cd a && b)"), "(cd a && b)");
    assert_eq!(command("  - **Verify**: `(make)`"), "(make)");
    assert_eq!(command("  - **Verify**: A=1 ! curl x"), "A=1 ! curl x");
    assert_eq!(command("  - **Verify**: pnpm a \\\n    b\n    c"), "pnpm a \\\nb c");
    for prose in
        ["echo 'Verify manually'", "Manual: click it", "All tests pass", "Grep the code", "make test"]
    {
        let found = gate(&format!("  - **Verify**: {prose}\n"));
        assert_eq!((found.command(), texts(found)), (None, vec![prose.to_owned()]));
    }
    for nothing in ["", " None", " N/A (see V4)", " `None`", " -"] {
        assert_eq!(gate(&format!("  - **Verify**:{nothing}\n")), Gate::default(), "{nothing}");
    }
}

#[test]
fn imp_03_items_below() {
    let found = gate("  - **Verify**: Run these\n    - `a` works\n    1. pnpm b\n    - Look at it\n");
    assert_eq!(found.command().unwrap(), "a && pnpm b");
    assert_eq!(texts(found), ["Look at it"]);
    assert_eq!(command("  - **Verify**: test these:\n    - `a`"), "a");
    assert_eq!(command("  - **Verify**: pnpm test\n    - covers `x`"), "pnpm test");
    let found = gate("  - **Verify**: See\n    - one\n      of them\n    - two");
    assert_eq!((found.command(), texts(found)), (None, vec!["one of them".into(), "two".into()]));
}

#[test]
fn imp_03_lines_below() {
    assert_eq!(command("  - **Verify**:\n    pnpm a\n    pnpm b\n    -c"), "pnpm a && pnpm b -c");
    assert_eq!(command("  - **Verify**:\n    pnpm a &&\n    pnpm b"), "pnpm a && pnpm b");
    assert_eq!(command("  - **Verify**:\n\n    pnpm a\n\n    `b`"), "pnpm a && b");
    assert_eq!(command("  - **Verify**: pnpm a\n    pnpm"), "pnpm a pnpm");
}

#[test]
fn imp_03_fences() {
    let fence = "```bash\n      # check\n      cat <<E\n        a `b`\n      E\n\n      c || d\n      ```";
    let expected = "# check\ncat <<E\n  a `b`\nE\n\nc || d";
    for head in ["\n      ", " Run:\n\n      ", " All must pass\n      ", " "] {
        let block = format!("  - **Verify**:{head}{fence}\n    It prints `ok`.");
        assert_eq!(command(&block), expected, "{block}");
    }
    let with = |first: &str, second: &str| {
        command(&format!("  - **Verify**:\n    ~~~{first}\n    a\n    ~~~\n    ~~~{second}\n    b\n    ~~~"))
    };
    assert_eq!(with("sh", " Console"), "a\nb");
    assert_eq!(with("text", "sh"), "b");
    assert_eq!(with("text", "json"), "a\nb");
    assert_eq!(command("  - **Verify**:\n    ```\n    a\n  - **Commit**: pnpm\n"), "a && pnpm");
    let session =
        "  - **Verify**:\n    ```console\n    $ pnpm a\n    > 3 passing\n    $ pnpm b\n    done\n    ```";
    assert_eq!(command(session), "pnpm a\npnpm b");
}

#[test]
fn several_fields_all_count() {
    assert_eq!(command("  - **Verify**: `a || b`\n  - **Verify**: pnpm c"), "{ a || b\n} && pnpm c");
}

#[test]
fn imp_03_what_is_not_understood_is_left_out() {
    let found = gate("  - **Verify**: `pnpm a` or `./b` and `cd c` prints `PASS`");
    assert_eq!((found.command(), found.left_out.len()), (None, 1));
    assert!(found.notes()[0].ends_with(": the task has no gate"));
    assert_eq!(command("  - **Verify**: `pnpm a` or `./b`"), "pnpm a || ./b");
}
