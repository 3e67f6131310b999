//! File names in running text: `src/lib.rs:12:5` is the file `src/lib.rs`.

/// Endings by which a name without a directory is known as a file.
const ENDINGS: [&str; 46] = [
    "bash", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "dart", "env", "ex", "exs", "go",
    "gradle", "h", "hpp", "html", "ini", "java", "js", "json", "jsx", "kt", "lock", "lua", "md",
    "mjs", "php", "proto", "py", "rb", "rs", "scala", "scss", "sh", "sql", "swift", "toml", "ts",
    "tsx", "txt", "vue", "xml", "yaml", "yml",
];

/// Files without an ending.
const NAMES: [&str; 4] = ["Dockerfile", "Gemfile", "Justfile", "Makefile"];

/// Programs and libraries that are called like files.
const NOT_FILES: [&str; 5] = ["node.js", "next.js", "vue.js", "express.js", "three.js"];

/// Longer ones are not paths.
const MAX_CHARS: usize = 120;

/// The files a line names.
pub(super) fn files_in(line: &str) -> impl Iterator<Item = &str> {
    let around = |c: char| c.is_whitespace() || "()[]{}\"'`‘’“”,;<>|=".contains(c);
    line.split(around).filter_map(file)
}

/// The words of a line that end in a position: the file, and how many numbers follow it.
pub(super) fn positions_in(line: &str) -> impl Iterator<Item = (&str, usize)> {
    line.split_whitespace().filter_map(|word| {
        let (path, numbers) = without_position(word.trim_end_matches(':'));
        (numbers > 0).then_some((file(path)?, numbers))
    })
}

/// Whether a word is the name of a file.
pub(super) fn is_file(word: &str) -> bool {
    file(word).is_some()
}

fn file(word: &str) -> Option<&str> {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let (path, _) = without_position(word);
    if path.contains("://") || path.chars().count() > MAX_CHARS {
        return None;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    if NAMES.contains(&name) {
        return Some(path);
    }
    let (stem, ending) = name.rsplit_once('.')?;
    let known = ENDINGS.iter().any(|own| own.eq_ignore_ascii_case(ending));
    // With a directory before it a name of any type is a file.
    let pathlike = path.contains('/')
        && ending.len() <= 8
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
        && ending.chars().any(|c| c.is_ascii_alphabetic());
    let other = NOT_FILES.iter().any(|own| own.eq_ignore_ascii_case(name));
    (!stem.is_empty() && !other && (known || pathlike)).then_some(path)
}

/// A path without the line and column after it, and how many of the two there were.
fn without_position(word: &str) -> (&str, usize) {
    let mut path = word;
    let mut numbers = 0;
    while numbers < 2
        && let Some((before, number)) = path.rsplit_once(':')
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        path = before;
        numbers += 1;
    }
    (path, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ana_02_files_of_any_type_are_found_in_text() {
        let found = |line: &'static str| files_in(line).collect::<Vec<_>>();
        assert_eq!(found(" --> src/lib.rs:3:5"), ["src/lib.rs"]);
        assert_eq!(found("File \"app/x.py\", line 3"), ["app/x.py"]);
        assert_eq!(found("cannot parse conf/app.yaml: bad"), ["conf/app.yaml"]);
        assert_eq!(found("in main.c:7: and Makefile."), ["main.c", "Makefile"]);
        assert_eq!(found("assets/a.glsl"), ["assets/a.glsl"]);
    }

    #[test]
    fn what_looks_like_a_file_and_is_none_is_passed_over() {
        for line in [
            "Node.js v18.2 needs self.assertEqual",
            "see https://x.org/a.rs, e.g. 1.5/2.0",
            "and/or .rs",
        ] {
            assert_eq!(files_in(line).next(), None, "{line}");
        }
    }

    #[test]
    fn positions_are_counted() {
        let found = |line: &'static str| positions_in(line).collect::<Vec<_>>();
        assert_eq!(found("./a.go:3:5: undefined: y"), [("./a.go", 2)]);
        assert_eq!(found("A.java:3: error: x"), [("A.java", 1)]);
        assert_eq!(found("a.go failed at 3:5"), []);
    }
}
