//! Findings as people read them: under headings, marks and names in columns, each fix right below its problem.

use super::finding::{Finding, Level};
use crate::ui::format::counted;
use crate::ui::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::ui::table::wrap;

/// No line of text is broken narrower than this.
const NARROWEST: usize = 30;

/// All findings, and what they come to, for a terminal of so many columns.
pub fn render(findings: &[Finding], columns: usize) -> String {
    let names = findings.iter().map(|finding| finding.check.as_str().len());
    // A space, the mark and a space before the name, two spaces after it.
    let indent = names.max().unwrap_or(0) + 6;
    let room = columns.saturating_sub(indent).max(NARROWEST);
    let mut text = String::new();
    let mut group = "";
    for finding in findings {
        if finding.check.group() != group {
            group = finding.check.group();
            text.push_str(&format!("{}\n", paint(BOLD, group)));
        }
        let mark = match finding.level {
            Level::Ok => paint(GREEN, "✓"),
            Level::Warning => paint(YELLOW, "!"),
            Level::Error => paint(RED, "✗"),
        };
        let name = finding.check.as_str();
        let gap = " ".repeat(indent - 4 - name.len());
        text.push_str(&format!("  {mark} {name}{gap}"));
        push(&mut text, &finding.message, indent, room, |line| {
            line.to_owned()
        });
        for line in &finding.detail {
            text.push_str(&" ".repeat(indent));
            push(&mut text, line, indent, room, |line| paint(DIM, line));
        }
        if let Some(fix) = &finding.fix {
            text.push_str(&" ".repeat(indent));
            push(&mut text, &format!("→ {fix}"), indent, room, |line| {
                paint(CYAN, line)
            });
        }
    }
    text.push('\n');
    text.push_str(&sum(findings));
    text.push('\n');
    text
}

/// Adds a text whose first line has its indent already.
fn push(text: &mut String, line: &str, indent: usize, room: usize, style: impl Fn(&str) -> String) {
    for (i, part) in wrap(line, room).lines().enumerate() {
        if i > 0 {
            text.push_str(&" ".repeat(indent));
        }
        text.push_str(&style(part));
        text.push('\n');
    }
}

/// What it comes to.
fn sum(findings: &[Finding]) -> String {
    let of = |level: Level| {
        let count = findings.iter().filter(|finding| finding.level == level);
        u64::try_from(count.count()).unwrap_or(u64::MAX)
    };
    let warnings = match of(Level::Warning) {
        0 => String::new(),
        n => format!("; {}", counted(n, "warning")),
    };
    match of(Level::Error) {
        0 => format!("{}{warnings}", paint(GREEN, "Ready to run")),
        n => {
            let problems = format!("{} would stop a run", counted(n, "problem"));
            format!("{}{warnings}", paint(RED, problems))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Check;
    use super::*;

    fn plain(findings: &[Finding], columns: usize) -> String {
        anstream::adapter::strip_str(&render(findings, columns)).to_string()
    }

    #[test]
    fn findings_stand_in_columns_under_headings() {
        let findings = [
            Finding::ok(Check::Git, "git version 2.39.5"),
            Finding::error(
                Check::Agent,
                "claude: program `claude` not found",
                "npm install -g @anthropic-ai/claude-code",
            ),
            Finding::warning(Check::Credentials, "claude: none found", "claude /login"),
            Finding::ok(Check::Launch, "script adds nothing").with(["sh agent.sh", "A=1"]),
            Finding::error(Check::Database, "it is damaged", "bring it back"),
        ];
        insta::assert_snapshot!(plain(&findings, 200), @r"
        Machine
          ✓ git          git version 2.39.5
        Agents
          ✗ agent        claude: program `claude` not found
                         → npm install -g @anthropic-ai/claude-code
          ! credentials  claude: none found
                         → claude /login
          ✓ launch       script adds nothing
                         sh agent.sh
                         A=1
        Project
          ✗ database     it is damaged
                         → bring it back

        2 problems would stop a run; 1 warning
        ");
    }

    #[test]
    fn long_lines_are_broken_within_their_column() {
        let message = "one two three four five six seven eight nine ten eleven";
        let findings = [Finding::warning(Check::Plan, message, message).with([message])];
        insta::assert_snapshot!(plain(&findings, 42), @r"
        Project
          ! plan  one two three four five six
                    seven eight nine ten eleven
                  one two three four five six
                    seven eight nine ten eleven
                  → one two three four five six
                    seven eight nine ten eleven

        Ready to run; 1 warning
        ");
    }

    #[test]
    fn all_is_well() {
        insta::assert_snapshot!(plain(&[Finding::ok(Check::Plan, "2 tasks, 2 ready")], 80), @r"
        Project
          ✓ plan  2 tasks, 2 ready

        Ready to run
        ");
        assert!(render(&[Finding::ok(Check::Plan, "x")], 80).contains('\u{1b}'));
    }

    #[test]
    fn what_programs_say_cannot_hide_anything() {
        let finding = Finding::ok(Check::Agent, "x\u{1b}[2J\ny API_KEY=hunter2hunter2");
        assert_eq!(finding.message, "x y API_KEY=[masked]");
    }
}
