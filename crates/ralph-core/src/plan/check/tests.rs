use super::*;
use proptest::prelude::*;

fn checked(text: &str) -> Result<String, &'static str> {
    check(text, &|word| ["npm", "pnpm", "grep", "curl", "cargo", "make"].contains(&word))
}

#[test]
fn gates_that_can_pass_and_fail() {
    for (text, command) in [
        ("`pnpm test`", "pnpm test"),
        ("`made up`.", "made up"),
        ("Run `npm test`", "npm test"),
        ("Type check: `tsc --noEmit` passes with no errors", "tsc --noEmit"),
        ("Run `npm test`, all tests pass.", "npm test"),
        ("`npm test` (all green)", "npm test"),
        ("`npm test` exits 0", "npm test"),
        ("`npm run build` returns 0", "npm run build"),
        ("`npm run lint` — 0 errors", "npm run lint"),
        ("`npm test` and then `npm run lint`.", "npm test && npm run lint"),
        ("Run `npm test` and confirm all tests pass", "npm test"),
        ("`$ npm test`", "npm test"),
        ("`git diff --exit-code`", "git diff --exit-code"),
        ("`npm start &` and then `npm test`", "{ npm start &\n} && npm test"),
        ("`npm test`, `npm run lint`", "npm test && npm run lint"),
        // Nothing, failure.
        ("`grep -r TODO src` returns nothing", "! grep -r TODO src"),
        ("`rg \"a|b\" src` → zero results", "! rg \"a|b\" src"),
        ("`grep -rn old src/` should return no matches", "! grep -rn old src/"),
        ("`grep x y` (should return nothing)", "! grep x y"),
        ("`git diff --name-only` is empty", "test -z \"$(git diff --name-only)\""),
        ("`grep a b | grep c` outputs nothing", "test -z \"$(grep a b | grep c)\""),
        ("`cargo build --bad` fails", "! cargo build --bad"),
        ("`curl -f x` exits with code 22", "! curl -f x"),
        ("`curl -f x` returns non-zero", "! curl -f x"),
        // Numbers.
        ("`grep -c x y` returns >= 1", "test \"$(grep -c x y)\" -ge 1"),
        ("`grep -c x y` returns 0", "test \"$(grep -c x y)\" -eq 0"),
        ("`grep -c x y` > 2", "test \"$(grep -c x y)\" -gt 2"),
        ("`grep -c x y` -> 2", "test \"$(grep -c x y)\" -eq 2"),
        ("`grep -c x y` => 2", "test \"$(grep -c x y)\" -eq 2"),
        ("`grep -c x y`: > 2", "test \"$(grep -c x y)\" -gt 2"),
        ("`ls | wc -l` is at least 3", "test \"$(ls | wc -l)\" -ge 3"),
        ("`grep x y` returns exactly 2 matches", "test \"$(grep x y | wc -l)\" -eq 2"),
        ("`grep x y` returns 5+ lines", "test \"$(grep x y | wc -l)\" -ge 5"),
        ("`curl -s -w '%{http_code}' u` returns 200", "test \"$(curl -s -w '%{http_code}' u)\" -eq 200"),
        // What is printed.
        ("`npm -v` prints `10`", "out=$(npm -v 2>&1) && printf '%s\\n' \"$out\" | grep -qF -- '10'"),
        (
            "`a --help` does not contain \"old\"",
            "out=$(a --help 2>&1) && ! printf '%s\\n' \"$out\" | grep -qF -- 'old'",
        ),
        // Either.
        ("`npm test` or `pnpm test`", "npm test || pnpm test"),
        ("`src/a.ts` exists", "test -e src/a.ts"),
        // Without code.
        ("grep -q \"and the end\" c.md", "grep -q \"and the end\" c.md"),
        ("npm run build succeeds", "npm run build"),
        ("cd web && npm test", "cd web && npm test"),
        // Reports that would hide a failure.
        ("`a b && echo PASS || echo FAIL`", "a b && echo PASS"),
        ("`a b; echo \"exit=$?\"`", "a b"),
        ("`set -e; a b; echo done`", "set -e; a b; echo done"),
        ("`if a; then exit 1; fi; echo PASS`", "if a; then exit 1; fi; echo PASS"),
        (
            "`wc -l a | awk '{if($1>5) print \"PASS\"; else print \"FAIL\"}'`",
            "wc -l a | awk '{if($1>5) print \"PASS\"; else print \"FAIL\"}' | grep -q PASS",
        ),
    ] {
        assert_eq!(checked(text).as_deref(), Ok(command), "{text}");
    }
}

#[test]
fn what_is_no_gate() {
    for text in [
        "",
        "Manual: open the page",
        "Manual: run `npm start` and look",
        "Look at it",
        "make sure it works",
        "curl localhost:3000 returns 200",
        "`/review:run` reports nothing",
        "`/ralph`",
        "`curl http://localhost:<port>`",
        "`grep … src`",
        "`curl x` returns a list of users",
        "`curl x` returns 404",
        "`npm test` shows the new tests",
        "`npm test` or `npm run lint` and `make`",
        "`grep -rc x src` returns 0",
        "`src/a.ts` exports `b`",
        "Start the server, then `curl x`",
        "`name` is required",
        "The `User` type has `id`",
        "Open the browser: `npm start`",
        "`! grep a b` returns nothing",
        "`npm test || true`",
        "`a | grep -q fail && echo RED_PASS || echo GREEN_PASS`",
        "`npm test; echo done`",
        "`echo \"Look at it\"`",
        "`git status`",
        "`git diff --stat`",
        "`npm start`",
        "`npm run dev`",
        "`docker compose up`",
        "`tail -f app.log`",
        "[ ] Modules compile",
        "`[ ] Modules compile`",
        "`cd /Users/somebody/project && npm test`",
        "Run `code-reviewer`",
    ] {
        assert!(checked(text).is_err(), "{text}: {:?}", checked(text));
    }
}

#[test]
fn comments_in_scripts_count() {
    assert_eq!(script_line("grep -r a src  # should return nothing"), "! grep -r a src");
    assert_eq!(script_line("grep -c a b # >= 2"), "test \"$(grep -c a b)\" -ge 2");
    for line in ["a # all pass", "a # the first one", "a '# 3'", "# 3", "a #b"] {
        assert_eq!(script_line(line), line);
    }
}

proptest! {
    #[test]
    fn never_panics(text in any::<String>(), near in "[`'\"\\\\ a-c0.(\n~>=#/<>-]{0,24}( returns| or | nothing)?[`a]{0,3}") {
        for text in [text, near] {
            let _ = (checked(&text), script_line(&text));
        }
    }
}
