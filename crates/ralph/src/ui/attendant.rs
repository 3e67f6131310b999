//! The pause: a person at the terminal is shown what fails and asked what to do.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::time::{Duration, Instant};

use ralph_core::agent::Interrupt;
use ralph_core::engine::{Answer, Attendant, PauseReason, Question};
use ralph_core::text::in_a_row;

use super::keys::{self, Echo, Input, TerminalMode, read_some};
use super::style::{BOLD, YELLOW, paint};
use super::{table, width};
use crate::interrupts;

/// How long input is waited for without looking for signals.
const NAP: Duration = Duration::from_millis(100);
/// Ctrl-D.
const END_OF_INPUT: u8 = 4;

/// The person at the terminal that Ralph was started from.
pub struct AtTerminal {
    interrupt: Interrupt,
}

impl AtTerminal {
    /// Somebody, where both standard input and output are terminals.
    pub fn find(interrupt: &Interrupt) -> Option<Self> {
        (stdin().is_terminal() && stdout().is_terminal()).then(|| Self { interrupt: interrupt.clone() })
    }
}

impl Attendant for AtTerminal {
    /// In the background nobody is: touching the terminal there would stop the run for ever.
    fn is_there(&self) -> bool {
        keys::is_foreground()
    }

    fn ask(&mut self, question: &Question<'_>) -> Answer {
        ask(&mut OwnTerminal, &self.interrupt, question)
    }
}

/// The terminal that a question is asked in, as a trait so that tests can type at a given moment.
trait Terminal {
    type Mode;
    /// From here on every key arrives as it is pressed; what was typed before is forgotten.
    fn single_keys(&mut self) -> Self::Mode;
    fn print(&mut self, text: &str);
    fn read_some(&mut self, nap: Duration) -> Input;
}

struct OwnTerminal;

impl Terminal for OwnTerminal {
    type Mode = TerminalMode;

    fn single_keys(&mut self) -> TerminalMode {
        TerminalMode::single_keys(Echo::On)
    }

    fn print(&mut self, text: &str) {
        let mut out = anstream::stdout().lock();
        let lines: Vec<String> = text.split('\n').map(|line| table::wrap(line, width())).collect();
        let _ = write!(out, "{}", lines.join("\n"));
        let _ = out.flush();
    }

    fn read_some(&mut self, nap: Duration) -> Input {
        read_some(nap)
    }
}

fn ask(terminal: &mut impl Terminal, interrupt: &Interrupt, question: &Question<'_>) -> Answer {
    // First the mode, then the question: keys pressed once the question is on the screen are answers.
    let single = terminal.single_keys();
    terminal.print(&opening(question));
    let answer = listen(terminal, interrupt, question.timeout);
    drop(single);
    let said = match answer {
        Answer::Abort if interrupt.first().is_some() => "",
        Answer::Resume => "resume",
        Answer::Skip => "skip",
        Answer::Abort => "abort",
        Answer::Nobody => "no answer; continuing without input",
    };
    terminal.print(&format!(" {said}\n"));
    answer
}

fn opening(question: &Question<'_>) -> String {
    let (title, meaning) = match &question.reason {
        PauseReason::Breaker { failures } => (
            format!("CIRCUIT BREAKER: {failures} consecutive failures"),
            "Multiple tasks are failing - systemic issue suspected",
        ),
        PauseReason::Stuck { task, failures } => (
            format!("STUCK: {task} has failed {}", in_a_row(*failures)),
            "Another attempt may fail the same way",
        ),
        PauseReason::Failure { task } => (
            format!("FAILURE: an attempt on {task} failed"),
            "Ralph asks after every failure because pause_on = \"failure\"",
        ),
    };
    let analysis: String = question.analysis.lines().iter().map(|line| format!("{line}\n")).collect();
    format!(
        "\n{}\n{}\n\n{analysis}\nResume the run, skip the current task and continue, or abort the run?\n{} ",
        paint(YELLOW.bold(), title),
        paint(YELLOW, meaning),
        paint(BOLD, "[r]esume / [s]kip / [a]bort:")
    )
}

/// Reads until an answer, the end of input, a signal or the end of the time.
fn listen(terminal: &mut impl Terminal, interrupt: &Interrupt, timeout: Duration) -> Answer {
    let until = Instant::now().checked_add(timeout);
    let mut line_open = false;
    loop {
        if interrupt.first().is_some() {
            // A closed terminal and Ctrl-C arrive here; the run itself says which it was.
            return Answer::Abort;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Answer::Nobody;
        }
        match terminal.read_some(NAP) {
            Input::Nothing => {}
            // Under nohup the run outlives its terminal; nobody is left to answer.
            Input::Ended if interrupts::hangup_is_ignored() => return Answer::Nobody,
            Input::Ended => return Answer::Abort,
            // Several lines may arrive at once.
            Input::Bytes(bytes) => {
                for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                    match understand(line, &mut line_open) {
                        Understood::Answer(answer) => return answer,
                        Understood::Silence => {}
                        Understood::Wrong => terminal
                            .print("\nInvalid choice. Enter r, s, or a.\n[r]esume / [s]kip / [a]bort: "),
                    }
                }
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Understood {
    Answer(Answer),
    /// The end of a line whose letter was heard already.
    Silence,
    Wrong,
}

/// A letter alone, with or without a line end, in either case. `line_open` says that the last letter
/// was heard before its line ended.
fn understand(bytes: &[u8], line_open: &mut bool) -> Understood {
    if bytes.contains(&END_OF_INPUT) {
        return Understood::Answer(Answer::Abort);
    }
    let text = String::from_utf8_lossy(bytes);
    let ended = text.ends_with(['\n', '\r']);
    let was_open = std::mem::replace(line_open, !ended);
    match text.trim().to_lowercase().as_str() {
        "" if was_open => Understood::Silence,
        "r" => Understood::Answer(Answer::Resume),
        "s" => Understood::Answer(Answer::Skip),
        "a" => Understood::Answer(Answer::Abort),
        _ => Understood::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::analysis::Analysis;

    use super::*;

    /// A person who presses `s` the moment the question appears, after a key that was meant for nobody.
    struct QuickPerson {
        typed: Vec<u8>,
    }

    impl Terminal for QuickPerson {
        type Mode = ();

        fn single_keys(&mut self) {
            self.typed.clear();
        }

        fn print(&mut self, text: &str) {
            if text.contains("[a]bort:") {
                self.typed.push(b's');
            }
        }

        fn read_some(&mut self, _: Duration) -> Input {
            match std::mem::take(&mut self.typed) {
                none if none.is_empty() => Input::Ended,
                typed => Input::Bytes(typed),
            }
        }
    }

    #[test]
    fn pau_02_no_key_is_lost_that_is_typed_once_the_question_is_shown() {
        let analysis = Analysis {
            failures: 2,
            pattern: None,
            affected: None,
            shared: None,
            models: None,
            suggestion: "Check recent changes or environment".into(),
        };
        let question = Question {
            reason: PauseReason::Breaker { failures: 2 },
            analysis: &analysis,
            timeout: Duration::MAX,
        };
        let mut person = QuickPerson { typed: b"r".to_vec() };
        assert_eq!(ask(&mut person, &Interrupt::default(), &question), Answer::Skip);
    }

    #[test]
    fn pau_02_letters_in_either_case_and_nothing_else() {
        for (input, answer) in [
            ("r", Answer::Resume),
            ("R\n", Answer::Resume),
            ("s\r\n", Answer::Skip),
            ("S", Answer::Skip),
            ("a", Answer::Abort),
            ("A\n", Answer::Abort),
            ("\u{4}", Answer::Abort),
        ] {
            let understood = understand(input.as_bytes(), &mut false);
            assert_eq!(understood, Understood::Answer(answer), "{input:?}");
        }
        for wrong in ["x", "rs\n", "resume\n", "\n", "yes\n", "\u{1b}[A", "é"] {
            assert_eq!(understand(wrong.as_bytes(), &mut false), Understood::Wrong);
        }
    }

    #[test]
    fn the_end_of_a_line_that_was_heard_is_no_second_answer() {
        let mut open = false;
        assert_eq!(understand(b"x", &mut open), Understood::Wrong);
        assert_eq!(understand(b"\n", &mut open), Understood::Silence);
        assert_eq!(understand(b"\n", &mut open), Understood::Wrong);
    }
}
