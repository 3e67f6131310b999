//! Which files a gate executes: what stands where a command does, and the scripts that it gives to an interpreter. Files that a
//! command only reads are not among them: most tasks must edit what their gate looks at.

use super::script::unwrapped;
use super::tokens::{commands, unquoted, up_to_parenthesis};

/// Interpreters of scripts: their options that take a value, and those after which no script follows.
const INTERPRETERS: [(&str, &[&str], &[&str]); 12] = [
    ("sh", &["-o"], &["-c"]),
    ("bash", &["-o", "-O", "--rcfile", "--init-file"], &["-c"]),
    ("dash", &["-o"], &["-c"]),
    ("ksh", &["-o"], &["-c"]),
    ("zsh", &["-o"], &["-c"]),
    (".", &[], &[]),
    ("source", &[], &[]),
    ("python", &["-W", "-X"], &["-c", "-m"]),
    ("node", &["-r", "--require", "--import", "--loader", "-C"], &["-e", "--eval", "-p", "--print"]),
    ("perl", &["-I"], &["-e", "-E"]),
    ("ruby", &["-I", "-r"], &["-e"]),
    ("php", &["-c", "-d"], &["-r"]),
];
const KEYWORDS: [&str; 8] = ["if", "then", "else", "elif", "while", "until", "do", "!"];
/// How a gate names its project's directory; what follows is a path below it.
const PROJECT: [&str; 4] = ["$PWD/", "${PWD}/", "$RALPH_PROJECT/", "${RALPH_PROJECT}/"];
/// A gate that nests deeper is not read further.
const MOST_NESTED: u32 = 4;

/// Paths as the gate writes them, relative ones below each directory that it may be in by then.
pub fn executed(gate: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(gate, MOST_NESTED, vec![String::new()], &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect(gate: &str, depth: u32, mut dirs: Vec<String>, found: &mut Vec<String>) {
    for mut words in commands(gate) {
        if depth > 0 {
            for inner in words.iter().flat_map(|word| substituted(word)) {
                collect(inner, depth - 1, dirs.clone(), found);
            }
        }
        while words.first().is_some_and(|word| KEYWORDS.contains(word)) {
            words.remove(0);
        }
        let Some((program, arguments)) = unwrapped(&words) else {
            continue;
        };
        let mut add = |path: &str| {
            let absolute = path.starts_with('/');
            let dirs = dirs.iter().filter(|dir| !absolute || dir.is_empty());
            found.extend(dirs.map(|dir| format!("{dir}{path}")));
        };
        match plain(program) {
            Some(name) if matches!(name.as_str(), "cd" | "pushd") => {
                let dir = arguments.first().and_then(|word| plain(word));
                if let Some(dir) = dir.filter(|dir| !dir.starts_with('/')) {
                    dirs.push(format!("{}/", dir.trim_end_matches('/')));
                }
            }
            Some(path) if program.contains('/') => {
                add(&path);
                // An interpreter that is named by its path.
                let name = path.rsplit('/').next().unwrap_or_default();
                scripts(name, arguments).iter().for_each(|script| add(script));
            }
            Some(name) => scripts(&name, arguments).iter().for_each(|script| add(script)),
            None => {}
        }
        let inner = arguments.iter().position(|word| matches!(*word, "-c" | "-ec" | "-lc"));
        let inner = inner.and_then(|at| unquoted(arguments.get(at + 1)?));
        if let Some(inner) = inner.filter(|_| depth > 0) {
            collect(inner, depth - 1, dirs.clone(), found);
        }
    }
}

fn scripts(name: &str, arguments: &[&str]) -> Vec<String> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let bare = if bare.is_empty() { name } else { bare };
    let Some((_, with_value, no_script)) = INTERPRETERS.iter().find(|(known, ..)| *known == bare) else {
        return Vec::new();
    };
    let mut rest = arguments.iter();
    let mut found = Vec::new();
    // `node --test a.js b.js`
    let mut takes_several = false;
    while let Some(word) = rest.next() {
        match *word {
            word if no_script.contains(&word) => break,
            word if with_value.contains(&word) => _ = rest.next(),
            "--test" => takes_several = true,
            word if word.starts_with('-') => {}
            word => {
                found.extend(plain(word));
                if !takes_several {
                    break;
                }
            }
        }
    }
    found
}

/// What a word is to the shell, where nothing in it needs a shell to find out.
fn plain(word: &str) -> Option<String> {
    let word = match unquoted(word) {
        Some(inside) => inside.to_owned(),
        // Double quotes only keep a word together, whatever part of it they enclose.
        None => word.replace('"', ""),
    };
    let below = PROJECT.iter().find_map(|start| word.strip_prefix(start));
    let word = below.unwrap_or(&word);
    let is_plain = !word.contains(['$', '`', '*', '?', '\\', '\'', '"', '\n']);
    (is_plain && !word.is_empty()).then(|| word.to_owned())
}

/// The commands whose output becomes part of a word: what its `$( )`, backticks, `<( )` and `>( )` contain.
fn substituted(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_quotes = false;
    let mut at = 0;
    while let Some(rest) = word.get(at..).filter(|rest| !rest.is_empty()) {
        let mut chars = rest.chars();
        let (first, next) = (chars.next(), chars.next());
        let mut length = first.map_or(1, char::len_utf8);
        match (first, next) {
            (Some('\\'), Some(next)) => length += next.len_utf8(),
            (Some('"'), _) => in_quotes = !in_quotes,
            (Some('\''), _) if !in_quotes => length += rest[1..].find('\'').map_or(0, |end| end + 1),
            (Some(start), Some('(')) if start == '$' || (!in_quotes && matches!(start, '<' | '>')) => {
                let inner = up_to_parenthesis(&rest[2..]);
                found.push(inner);
                length = inner.len() + 2;
            }
            (Some('`'), _) => {
                let inner = &rest[1..];
                let inner = &inner[..inner.find('`').unwrap_or(inner.len())];
                found.push(inner);
                length = inner.len() + 2;
            }
            _ => {}
        }
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gate_executes_is_found_and_what_it_reads_is_not() {
        for (gate, expected) in [
            ("./check.sh", &["./check.sh"][..]),
            ("sh check.sh && ci/run", &["check.sh", "ci/run"]),
            ("bash -eu -o pipefail tests/all.sh --fast", &["tests/all.sh"]),
            ("python3 -X dev tests/run.py data.json", &["tests/run.py"]),
            ("python3.12 a.py | tail", &["a.py"]),
            ("python -m pytest tests/test_a.py", &[]),
            ("node check.js", &["check.js"]),
            ("node --test a.test.js b.test.js", &["a.test.js", "b.test.js"]),
            ("node -e 'x' y.js", &[]),
            ("cd web && ./check.sh", &["./check.sh", "web/./check.sh"]),
            ("(cd web; sh a.sh) && sh b.sh", &["a.sh", "b.sh", "web/a.sh", "web/b.sh"]),
            ("bash -c 'sh inner.sh && ./x/y'", &["./x/y", "inner.sh"]),
            ("if ./a/b; then sh c.sh; fi", &["./a/b", "c.sh"]),
            ("timeout 60 env A=1 ./check.sh", &["./check.sh"]),
            ("! sh 'my check.sh'", &["my check.sh"]),
            (". ./lib.sh; source env.sh", &["./lib.sh", "env.sh"]),
            ("/usr/bin/env python3 a.py", &["/usr/bin/env"]),
            ("\"$PWD/check.sh\"", &["check.sh"]),
            ("sh \"$PWD/c.sh\" && sh ${PWD}/d.sh", &["c.sh", "d.sh"]),
            ("sh \"$RALPH_PROJECT/c.sh\"; \"${RALPH_PROJECT}\"/ci/run", &["c.sh", "ci/run"]),
            ("test \"$(sh c.sh)\" = ok", &["c.sh"]),
            ("[ \"$(./c.sh | tail -1)\" = 'ok' ]", &["./c.sh"]),
            ("out=$(sh \"c.sh\" 2>&1) && echo \"$out\"", &["c.sh"]),
            (
                "cd web && test \"a $(echo $(sh c.sh))`./d.sh`\"",
                &["./d.sh", "c.sh", "web/./d.sh", "web/c.sh"],
            ),
            ("diff <(sh c.sh) expected.txt", &["c.sh"]),
            ("echo '$(sh c.sh)' \\$(sh", &[]),
            ("cargo test", &[]),
            ("test -f new.txt && grep -q x src/a.rs", &[]),
            ("sh \"$SCRIPT\"; ./run-*.sh", &[]),
        ] {
            assert_eq!(executed(gate), expected, "{gate}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_gate_can_be_read(gate in "[a-c./|&;()<>'\"`$\\\\{}#! \n\té-]{0,60}") {
            executed(&gate);
        }
    }
}
