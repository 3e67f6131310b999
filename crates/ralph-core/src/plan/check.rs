//! What people write about checking a task, as a command that can pass and fail.
//!
//! A sentence taken for a command is a gate that can never pass (`npm run build succeeds`), and a command whose result is told beside it
//! would pass where it must fail (`` `grep -r TODO src` returns nothing ``). So what is said around a command becomes a part of it, and where
//! it is not understood there is no command.

use super::command::{CanRun, Directory, SHELL_WORDS, all_of, bare_command, first_word, has_word};
use crate::markdown::{Fence, checkbox, code_only, list_item, spans};
use crate::text::{Pattern, Table};

/// What may stand around a command in backticks without saying more than that it must succeed.
const SAYS_NO_MORE: &str = "run running runs execute executing passes pass passing succeeds succeed works exits exit 0 code status zero with \
    without no errors error warnings warning failures issues cleanly clean green compiles compile compilation builds build and all tests test the \
    is are command must should be successfully successful returns ok typescript type types lint linting suite unit still any new existing then \
    via using that check verify ensure confirm when it that's there also again both in out completes finishes";

/// The longest text that is looked at, in bytes.
const LONGEST: usize = 4000;

/// The command that a text asks for, or why it asks for none that can be run.
pub(crate) fn check(text: &str, can_run: CanRun<'_>) -> Result<String, &'static str> {
    // What such a command prints may be expected of it; alone it proves nothing.
    static ONLY_SHOWS: Pattern = Pattern::new(r"^git (?:status|diff|log)(?: -[^ ]+)*$");
    static COMPARES: Pattern = Pattern::new(r" (?:--exit-code|--quiet|--check|-q)\b");
    let command = asked_for(text, can_run)?;
    match ONLY_SHOWS.is_match(&command) && !COMPARES.is_match(&command) {
        true => Err(ALWAYS_PASSES),
        false => Ok(command),
    }
}

fn asked_for(text: &str, can_run: CanRun<'_>) -> Result<String, &'static str> {
    let text = text.trim();
    if text.len() > LONGEST {
        return Err("it is too long");
    }
    if let Some(code) = code_only(text.trim_end_matches('.')) {
        return runnable(code, can_run);
    }
    let parts = parts(text, can_run);
    let Some(first) = parts.iter().position(|part| part.is_command) else {
        return if parts.is_empty() { bare(text, can_run) } else { file_that_exists(text).ok_or(NO_COMMAND) };
    };
    let before = text.get(..parts[first].start).unwrap_or_default();
    if !is_introduction(before) {
        return Err(NOT_UNDERSTOOD);
    }
    let mut commands = Vec::new();
    let mut is_either = None;
    let mut rest = &parts[first..];
    while let Some((command, after)) = rest.split_first() {
        let literals = after.iter().take_while(|part| !part.is_command).count();
        let (literals, next) = after.split_at(literals);
        let end = next.first().map_or(text.len(), |next| next.start);
        let words = text.get(command.end..end).unwrap_or_default();
        let (words, is_or) = without_connector(words, !next.is_empty());
        // `a` and `b` or `c` may mean either.
        if !next.is_empty() && is_either.replace(is_or).is_some_and(|before| before != is_or) {
            return Err(NOT_UNDERSTOOD);
        }
        let values: Vec<&str> = literals.iter().map(|part| part.code).collect();
        let expected = expectation(words, &values).ok_or(NOT_UNDERSTOOD)?;
        commands.push(expected.applied(&runnable(command.code, can_run)?).ok_or(NOT_UNDERSTOOD)?);
        rest = next;
    }
    match is_either {
        Some(true) => Ok(commands.join(" || ")),
        _ => all_of(&commands, Directory::Shared).ok_or(NO_COMMAND),
    }
}

/// The commands of a text of one line or of list items, and what of it is none.
pub(crate) fn checks(text: &str, can_run: CanRun<'_>) -> (Vec<String>, Vec<String>) {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (mut commands, mut others) = (Vec::new(), Vec::new());
    let lines = match lines.as_slice() {
        [opening, line, closing]
            if Fence::opened_by(opening).is_some_and(|fence| fence.is_closed_by(closing)) =>
        {
            vec![*line]
        }
        [_] => lines,
        items if items.iter().all(|line| list_item(line).is_some()) => lines,
        _ => Vec::new(),
    };
    for line in lines {
        let words = checkbox(line).map(|found| found.words).or_else(|| list_item(line));
        match check(words.unwrap_or(line), can_run) {
            Ok(command) => commands.push(command),
            Err(_) => others.push(line.to_owned()),
        }
    }
    (commands, others)
}

pub(crate) const NO_COMMAND: &str = "it has no command";
const NOT_UNDERSTOOD: &str = "what it asks for is not clear enough to be run";
const ALWAYS_PASSES: &str = "it passes whatever happens";

/// A line of a script with what its comment says about it: `grep -r TODO src  # returns nothing`.
pub(crate) fn script_line(line: &str) -> String {
    let applied = line.rsplit_once(" # ").and_then(|(command, comment)| {
        let expected = expectation(comment, &[])?;
        (expected != Expected::Success).then(|| expected.applied(command.trim()))?
    });
    applied.unwrap_or_else(|| line.to_owned())
}

/// A code as a command, unless only an agent or a reader could make something of it, or it needs the machine of somebody else.
pub(crate) fn runnable(code: &str, can_run: CanRun<'_>) -> Result<String, &'static str> {
    static OF_AGENT: Pattern = Pattern::new(r"^/[A-Za-z][A-Za-z0-9_-]*(?::[A-Za-z0-9_:-]+)?(?:[ \t]|$)");
    static PLACEHOLDER: Pattern =
        Pattern::new(r"<[A-Za-z][A-Za-z0-9 _-]*>|…|(?:^|[ \t])\.\.\.(?:[ \t]|$)|\{\{");
    static BOX: Pattern = Pattern::new(r"^\[[ xX]?\] ");
    static OF_A_PERSON: Pattern = Pattern::new(
        r#"(?:^|[ \t\n"'=(;])(?<name>(?:~|/(?:Users|home|Volumes|mnt|c/Users))/[^/ \t\n"';)]+|[A-Z]:[/\\][^ \t\n"';)]*)"#,
    );
    static SERVES: Pattern = Pattern::new(
        r"^(?:(?:npm|pnpm|yarn|bun)(?: run)? (?:start|dev|serve|watch)|docker(?: |-)compose up(?: --?[bcf-z][a-z-]*)*|tail -[a-zA-Z0-9]*f [^ ]+|python3? -m http\.server(?: [0-9]+)?|python3? manage\.py runserver|flask run|uvicorn [^ ]+|(?:npx )?(?:vite|next dev))$",
    );
    let code = code.trim();
    // A prompt, as a terminal shows it.
    let code = code.strip_prefix("$ ").unwrap_or(code);
    let mut paths = OF_A_PERSON.captures_iter(code).filter_map(|found| found.name("name"));
    match code {
        code if OF_AGENT.is_match(code) => Err("a slash command is for an agent, not for a shell"),
        code if PLACEHOLDER.is_match(code) => Err("it has placeholders"),
        code if BOX.is_match(code) => Err(NO_COMMAND),
        code if SERVES.is_match(code) => Err("it starts a program that does not end"),
        _ if paths.any(|path| !can_run(path.as_str())) => {
            Err("it needs a directory that is not on this machine")
        }
        code => that_can_fail(code),
    }
}

/// The command without what makes it pass whatever happens, where that only reports: `a && echo PASS || echo FAIL`.
fn that_can_fail(command: &str) -> Result<String, &'static str> {
    static OTHERWISE: Pattern = Pattern::new(
        r#"^(?s:(.*\S))\s*\|\|\s*(?:echo|printf|true|:)((?:[ \t](?:[^|&;()\n'"]|'[^']*'|"[^"]*")*)?)$"#,
    );
    static THEN: Pattern = Pattern::new(
        r#"^(?s:(.*\S))\s*;\s*(?:echo|printf|true|:)((?:[ \t](?:[^|&;()\n'"]|'[^']*'|"[^"]*")*)?)$"#,
    );
    static VERDICT: Pattern = Pattern::new(r#"\|\s*awk '(?<name>[^']*)'$"#);
    static SAYS: Pattern = Pattern::new(r"^(?:echo|printf) [^|&;>\n$`]*$");
    static ENDS: Pattern = Pattern::new(r"\b(?:exit|set -[a-z]*e)\b");
    static FAILURE: Pattern = Pattern::new(r"(?i)\b(?:fail|error|missing|broken|invalid)|\$\?");
    static SUCCESS: Pattern = Pattern::new(r"(?i)pass|ok\b|success");
    for ending in [&OTHERWISE, &THEN] {
        if let Some(found) = ending.captures(command) {
            let group = |number| found.get(number).map_or("", |group| group.as_str());
            let (before, words) = (group(1), group(2));
            if FAILURE.is_match(words) && !SUCCESS.is_match(words) {
                return that_can_fail(before);
            }
            // What stands before it may end the script.
            if !command.contains('\n') && !ENDS.is_match(before) {
                return Err(ALWAYS_PASSES);
            }
        }
    }
    if let Some(program) = VERDICT.name(command)
        && program.contains("\"PASS")
        && program.contains("\"FAIL")
        && !program.contains("exit")
    {
        return Ok(format!("{command} | grep -q PASS"));
    }
    if SAYS.is_match(command) { Err(ALWAYS_PASSES) } else { Ok(command.to_owned()) }
}

/// A text without code.
fn bare(text: &str, can_run: CanRun<'_>) -> Result<String, &'static str> {
    let line = list_item(text).unwrap_or(text);
    let command = bare_command(line).ok_or(NO_COMMAND)?;
    let first = first_word(command).ok_or(NO_COMMAND)?;
    if SHELL_WORDS.contains(&first) || can_run(first) { runnable(command, can_run) } else { Err(NO_COMMAND) }
}

/// `` `src/a.ts` exists ``.
fn file_that_exists(text: &str) -> Option<String> {
    static EXISTS: Pattern = Pattern::new(
        r"^(?i-u:file |the file )?`(?<name>[A-Za-z0-9._/-]+)` (?i-u:exists|is created|was created)\.?$",
    );
    let path = EXISTS.name(text).filter(|path| path.contains(['/', '.']))?;
    Some(format!("test -e {path}"))
}

/// A code of a text.
struct Part<'a> {
    code: &'a str,
    start: usize,
    end: usize,
    is_command: bool,
}

fn parts<'a>(text: &'a str, can_run: CanRun<'_>) -> Vec<Part<'a>> {
    static VALUE: Pattern = Pattern::new(
        r"(?i-u:prints?|outputs?|shows?|contains?|includes?|says?|returns?|displays?|mentions?|equals?|not|exactly|is|the|=|:)[ \t]*$",
    );
    let mut parts: Vec<Part<'a>> = Vec::new();
    for span in spans(text) {
        let between = text.get(parts.last().map_or(0, |last| last.end)..span.whole.start).unwrap_or_default();
        let is_value = parts.iter().any(|part| part.is_command) && VALUE.is_match(between);
        parts.push(Part {
            code: span.content,
            start: span.whole.start,
            end: span.whole.end,
            is_command: !is_value && looks_like_a_command(span.content, can_run),
        });
    }
    parts
}

/// Whether a code among words is a command, be its program there or not, and no name, path or value.
fn looks_like_a_command(code: &str, can_run: CanRun<'_>) -> bool {
    static PROGRAM: Pattern = Pattern::new(r"^[a-z][a-z0-9_+-]*$");
    let code = code.trim();
    let Some(first) = first_word(code) else {
        return false;
    };
    let has_arguments = code.len() > first.len();
    let is_path = first.contains('/') && !first.ends_with('/');
    let is_script = first.starts_with("./") || first.ends_with(".sh");
    SHELL_WORDS.contains(&first)
        || can_run(first)
        // `code-reviewer` is the name of something.
        || (PROGRAM.is_match(first) && (has_arguments || !first.contains('-')))
        || (is_path && (has_arguments || is_script) || first.starts_with('/'))
}

/// Whether words before a command only lead to it: `Run`, `Type check:`.
fn is_introduction(words: &str) -> bool {
    static FOR_PEOPLE: Pattern = Pattern::new(r"(?i-u:manual|visual|human|person|browser|by hand|ask )");
    let words = words.trim();
    !FOR_PEOPLE.is_match(words) && (words.ends_with(':') || says_no_more(words))
}

fn says_no_more(words: &str) -> bool {
    words.split_whitespace().all(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.is_empty() || has_word(SAYS_NO_MORE, word)
    })
}

/// The words between two commands without those that join them, and whether they are `or`.
fn without_connector(words: &str, is_followed: bool) -> (&str, bool) {
    static CONNECTOR: Pattern = Pattern::new(
        r"(?i-u)[ \t,;.]*\b(?P<name>(?:and|or|then|also|followed by|run|running|&&|,|;|[ \t])+)[ \t]*$",
    );
    if !is_followed {
        return (words, false);
    }
    let Some(found) = CONNECTOR.regex().and_then(|regex| regex.find(words)) else {
        return (words.trim_end_matches([' ', '\t', ',', ';', '&', '+']), false);
    };
    let is_or = found.as_str().split_whitespace().any(|word| word.eq_ignore_ascii_case("or"));
    (&words[..found.start()], is_or)
}

/// What a command is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    Success,
    Failure,
    Nothing,
    /// It prints a number, or as many lines, that compares so.
    Number {
        operator: &'static str,
        number: u64,
        of_lines: bool,
    },
    /// It prints this, or must not.
    Text {
        text: String,
        is_there: bool,
    },
}

#[derive(Clone, Copy)]
enum Form {
    Nothing,
    Failure,
    Code,
    Number,
    Contains,
}

/// `\u{1}` stands for a code or a quotation.
static FORMS: Table<Form> = Table::new(&[
    (
        Form::Nothing,
        r"^(?:(?:return|output|print|give|yield|find|show|produce|report|ha|i)(?:s|es)? |be )?(?:nothing|empty(?: output)?|no (?:\w+ )?(?:matches|match|output|results?|lines?|hits?|occurrences|references)|(?:0|zero) (?:\w+ )?(?:matches|match|results?|lines?|hits?|occurrences|references))(?: (?:found|remaining|left))?$",
    ),
    (
        Form::Failure,
        r"^(?:expected to )?(?:fail|fails|errors|(?:exits?|returns?)(?: with)? (?:an error|(?:a )?non-?zero(?: (?:exit )?(?:code|status))?))$",
    ),
    (Form::Code, r"^(?:exits?|returns?)?(?: with)? ?(?:exit )?(?:code|status)? ?(?<number>[0-9]{1,3})$"),
    (
        Form::Number,
        r"^(?:(?:return|output|print|give|show|equal|find|report|count|i|ha)s? ?|be )?(?:is |of )?(?:exactly )?(?<operator>>=|≥|>|<=|≤|<|==?|at least|at most|more than|less than|fewer than)? ?(?<number>[0-9]{1,9})(?<more>\+| or more| or greater)?(?: (?<unit>lines?|matches|match|results?|hits?|occurrences?|times|files?|entries|references?|errors?|warnings?|failures?))?$",
    ),
    (
        Form::Contains,
        r"^(?:the )?(?:output )?(?<not>does not |doesn't |no longer |not )?(?:contain|include|print|output|show|say|return|mention|display|give|report)s? (?:the )?\x01$",
    ),
]);

/// What words behind a command say about its result; none where they say something else.
fn expectation(words: &str, values: &[&str]) -> Option<Expected> {
    static CODE: Pattern = Pattern::new(r#"`+[^`]*`+|"(?<name>[^"]*)""#);
    static NOTE: Pattern = Pattern::new(r"[ \t]*\((?<name>[^()]*)\)[.]?$");
    static ARROW: Pattern = Pattern::new(r"^[\s:—–-]*(?:[=-]>|→)\s*");
    let words = ARROW.replace_all(words, "");
    let words = words.trim_matches(|c: char| c.is_whitespace() || "→:—–-.,;✓✅".contains(c));
    // Before a number it compares; before words it begins a quotation.
    let words =
        words.strip_prefix("> ").filter(|rest| !rest.starts_with(char::is_numeric)).unwrap_or(words).trim();
    if let Some(note) = NOTE.captures(words) {
        let (whole, note) = (note.get(0)?, note.name("name")?.as_str());
        let before = expectation(&words[..whole.start()], values)?;
        return Some(match expectation(note, &[]) {
            Some(said) if before == Expected::Success => said,
            _ => before,
        });
    }
    let quoted = CODE.captures(words).and_then(|found| Some(found.name("name")?.as_str()));
    let words = CODE.replace_all(words, "\u{1}").to_lowercase();
    let words = words.trim();
    let words = ["should ", "must ", "which ", "it ", "expect ", "expected: ", "expects "]
        .iter()
        .fold(words, |words, start| words.strip_prefix(start).unwrap_or(words));
    let matches = FORMS.matches(words);
    let Some((form, found)) = matches.first() else {
        return says_no_more(words).then_some(Expected::Success);
    };
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    let number: u64 = group("number").and_then(|number| number.parse().ok()).unwrap_or_default();
    Some(match form {
        Form::Nothing => Expected::Nothing,
        Form::Failure => Expected::Failure,
        // Bare, it may as well be what is printed.
        Form::Code if words.contains("code") || words.contains("status") || words.contains("exit") => {
            match number {
                0 => Expected::Success,
                _ => Expected::Failure,
            }
        }
        Form::Code => Expected::Number { operator: "-eq", number, of_lines: false },
        Form::Number => {
            let unit = group("unit").unwrap_or_default();
            let operator = match (group("operator"), group("more")) {
                (_, Some(_)) | (Some(">=" | "≥" | "at least"), _) => "-ge",
                (Some(">" | "more than"), _) => "-gt",
                (Some("<=" | "≤" | "at most"), _) => "-le",
                (Some("<" | "less than" | "fewer than"), _) => "-lt",
                _ => "-eq",
            };
            match unit.starts_with("error") || unit.starts_with("warning") || unit.starts_with("failure") {
                true if number == 0 && operator == "-eq" => Expected::Success,
                true => return None,
                false => Expected::Number { operator, number, of_lines: !unit.is_empty() },
            }
        }
        Form::Contains => {
            let text = values.first().copied().or(quoted)?;
            let is_there = group("not").is_none();
            (values.len() <= 1).then(|| Expected::Text { text: text.to_owned(), is_there })?
        }
    })
}

impl Expected {
    /// The command that passes where the given one does what is expected.
    fn applied(&self, command: &str) -> Option<String> {
        static COUNTS: Pattern = Pattern::new(
            r"\bwc -[lwc]|\bgrep (?:-[A-Za-z]+ )*-[A-Za-z]*c|--count\b|\blength\b|http_code|\bcount\b",
        );
        static SEARCH: Pattern = Pattern::new(r"^(?:git )?(?:grep|rg|ag|ack)\b[^;&\n]*$");
        static RECURSIVE: Pattern = Pattern::new(r"\bgrep (?:-[A-Za-z]+ )*-[A-Za-z]*[rR]");
        let is_one =
            !command.contains(['\n', ';', '#']) && !command.contains("&&") && !command.contains("||");
        match self {
            Self::Success => Some(command.to_owned()),
            // What is negated already would be taken for its opposite.
            _ if command.starts_with('!') => None,
            Self::Failure if is_one => Some(format!("! {command}")),
            Self::Failure => Some(format!("! {{ {command}\n}}")),
            Self::Nothing if SEARCH.is_match(command) && !command.contains("| ") => {
                Some(format!("! {command}"))
            }
            Self::Nothing => Some(format!("test -z \"$({command})\"")),
            Self::Number { operator, number, of_lines } => {
                // Of several files the counts stand behind their names.
                let counts = COUNTS.is_match(command);
                match (counts, *of_lines) {
                    (true, _) if RECURSIVE.is_match(command) && !command.contains('|') => None,
                    (true, _) => Some(format!("test \"$({command})\" {operator} {number}")),
                    (false, true) if is_one => {
                        Some(format!("test \"$({command} | wc -l)\" {operator} {number}"))
                    }
                    (false, false) if *number == 0 && *operator == "-eq" => Some(command.to_owned()),
                    _ => None,
                }
            }
            Self::Text { text, is_there } => {
                let not = if *is_there { "" } else { "! " };
                let is_plain = !text.is_empty() && !text.contains(['\'', '\n']);
                is_plain.then(|| {
                    format!("out=$({command} 2>&1) && {not}printf '%s\\n' \"$out\" | grep -qF -- '{text}'")
                })
            }
        }
    }
}

#[cfg(test)]
mod tests;
