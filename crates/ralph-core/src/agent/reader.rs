//! Reading a log that may still grow: what the agent said and did, chunk by chunk, in bounded memory.

use serde::Deserialize;

use super::json::{each_by_itself, read};
use super::{AgentReport, Exit, LINE_LIMIT, LineSplitter, StreamParser, Told};
use crate::logs::LogStream;
use crate::model::Timestamp;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;
/// Digits of a time in milliseconds; fewer are seconds.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// Takes what a log tells, with the time of it where the stream has one.
pub type OnTold<'a> = &'a mut dyn FnMut(Option<Timestamp>, Told);

/// A log being read.
pub struct LogReader {
    log: LogStream,
    buffer: Vec<u8>,
    lines: LineSplitter,
    parser: Box<dyn StreamParser>,
}

impl LogReader {
    /// For a log that was opened; nothing is read yet.
    pub fn new(log: LogStream, parser: Box<dyn StreamParser>) -> Self {
        Self {
            log,
            buffer: vec![0; CHUNK],
            lines: LineSplitter::new(LINE_LIMIT),
            parser,
        }
    }

    /// Reads the next chunk. `false` if nothing more is there at present.
    pub fn read(&mut self, told: OnTold<'_>) -> std::io::Result<bool> {
        let n = self.log.read(&mut self.buffer)?;
        let parser = self.parser.as_mut();
        let chunk = self.buffer.get(..n).unwrap_or_default();
        self.lines
            .push(chunk, |line, complete| tell(parser, line, complete, told));
        Ok(n > 0)
    }

    /// Nothing more will come: an unfinished last line is a line too. What the whole says of the session, but for how
    /// its process ended, which no log tells.
    pub fn finish(mut self, told: OnTold<'_>) -> AgentReport {
        let parser = self.parser.as_mut();
        self.lines
            .finish(|line, complete| tell(parser, line, complete, told));
        for rest in self.parser.rest() {
            told(None, rest);
        }
        self.parser.finish(Exit::Code(-1))
    }
}

fn tell(parser: &mut dyn StreamParser, line: &[u8], complete: bool, told: OnTold<'_>) {
    for one in parser.tell(line, complete) {
        let at = match one {
            Told::Line { .. } | Told::Stray { .. } => None,
            Told::Said { .. } | Told::Did(_) => time(line),
        };
        told(at, one);
    }
}

each_by_itself! {
    /// An event's own time, where it has one.
    struct Timed {
        timestamp: Option<When>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum When {
    Number(i64),
    Text(String),
}

/// When a line says that it happened: `timestamp`, RFC 3339 or a number.
fn time(line: &[u8]) -> Option<Timestamp> {
    let timed: Timed = read(std::str::from_utf8(line).ok()?)?;
    match timed.timestamp? {
        When::Text(text) => Timestamp::parse(&text),
        When::Number(n) if n < MILLISECONDS_FROM => Some(Timestamp::from_secs(n)),
        When::Number(n) => Some(Timestamp::from_millis(n)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::rc::Rc;

    use super::*;
    use crate::agent::claude::ClaudeStream;
    use crate::logs::LogDir;

    #[test]
    fn a_log_is_read_as_it_grows_with_the_times_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let logs = Rc::new(LogDir::open(dir.path()).unwrap());
        let mut file = logs.create("log").unwrap();
        let stream = LogStream::open(logs, "log").unwrap();
        let mut reader = LogReader::new(stream, Box::new(ClaudeStream::new()));
        let mut seen = Vec::new();
        let mut on = |at: Option<Timestamp>, told| {
            let Told::Said { text } = told else { return };
            seen.push((at.map(Timestamp::as_millis), text));
        };
        assert!(!reader.read(&mut on).unwrap());
        let said = |text: &str, more: &str| {
            format!(
                r#"{{"type":"assistant"{more},"message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        };
        let first = said("one", "") + "\n";
        let (half, rest) = first.split_at(30);
        for part in [half, rest] {
            file.write_all(part.as_bytes()).unwrap();
            assert!(reader.read(&mut on).unwrap());
        }
        for (text, more) in [
            ("two", r#","timestamp":"1970-01-01T00:00:01Z""#),
            ("three", r#","timestamp":1700000000123"#),
            ("four", r#","timestamp":{"odd":1}"#),
        ] {
            writeln!(file, "{}", said(text, more)).unwrap();
        }
        // Without a line end, as a killed agent leaves it.
        write!(file, "{}", said("five", r#","timestamp":5"#)).unwrap();
        while reader.read(&mut on).unwrap() {}
        let report = reader.finish(&mut on);
        assert_eq!(report.result_text, "one\ntwo\nthree\nfour\nfive");
        let times: Vec<_> = seen.iter().map(|(at, _)| *at).collect();
        assert_eq!(
            times,
            [None, Some(1000), Some(1_700_000_000_123), None, Some(5000)]
        );
    }
}
