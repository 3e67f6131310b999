//! The texts of the tabs: live output, prompt, report, diff and log, as the commands of the same names show them.

use std::time::{Duration, Instant};

use ralph_core::model::{Outcome, RunId, Status, Task};
use ralph_core::store::StoredEvent;

use super::view::{Append, Reply, Tab, TextKey, Which};
use crate::command_error::CommandError;
use crate::commands::context::{Preview, explained};
use crate::commands::diff;
use crate::commands::failures::parts;
use crate::commands::logs::{AttemptReader, LoggedAttempt, State, Story};
use crate::facts::{AttemptFacts, TaskFacts, masked};
use crate::secrets::mask_json;
use crate::settings::Settings;
use crate::ui::format;
use crate::ui::style::{BOLD, CYAN, DIM, YELLOW, paint};
use crate::workspace::{Workspace, now};

/// Lines of one text that are kept: the last ones of a log, the first ones of everything else.
pub const MOST_LINES: usize = 3000;
/// How long a log is read before something else has its turn.
const SLICE: Duration = Duration::from_millis(50);
/// The last events of a run that are shown.
const EVENTS: u64 = 1000;
const PORTION: u32 = 200;
/// Lines are as long as they are: the screen breaks them.
const UNBROKEN: usize = usize::MAX / 4;

type Tell<'t> = dyn FnMut(Reply) + 't;

#[derive(Default)]
pub struct Texts {
    key: Option<TextKey>,
    source: Source,
}

/// Where more of a text comes from.
#[derive(Default)]
enum Source {
    /// It is whole; what it was.
    #[default]
    None,
    Whole(String),
    Log(Box<Growing>),
    /// A log of which everything was told.
    Ended,
    Events {
        run: RunId,
        last: u64,
        story: Box<Story>,
    },
}

/// The log of an attempt that may grow.
struct Growing {
    task: Task,
    number: u32,
    reader: AttemptReader,
    /// Whether everything that was there at first has been read.
    caught_up: bool,
    /// The attempt, once it has ended.
    over: Option<LoggedAttempt>,
}

impl Texts {
    /// Tells what there is of the text now, or what has come to it.
    pub fn read(
        &mut self,
        workspace: &Workspace,
        settings: &Settings,
        run: Option<&RunId>,
        key: &TextKey,
        changed: bool,
        tell: &mut Tell<'_>,
    ) -> Result<(), CommandError> {
        let is_new = self.key.as_ref() != Some(key);
        if is_new {
            self.key = Some(key.clone());
            self.source = Source::None;
        }
        let may_open = matches!(self.source, Source::None | Source::Whole(_));
        if key.tab == Tab::Live && may_open && (is_new || changed) {
            self.open_log(workspace, key, tell)?;
        }
        match key.tab {
            Tab::Live if matches!(self.source, Source::Log(_) | Source::Ended) => {
                self.follow(workspace, key, changed, tell)
            }
            Tab::Log => self.events(workspace, run, key, is_new || changed, tell),
            // What git shows of an attempt stays as it is.
            Tab::Diff if !is_new => Ok(()),
            _ if is_new || changed => {
                // Why there is no text is the text.
                let text = whole(workspace, settings, key).unwrap_or_else(|error| {
                    let hints = error.hints().iter().map(|hint| format!("\n{}", paint(DIM, hint)));
                    format!("{}{}", error.message(), hints.collect::<String>())
                });
                let same = matches!(&self.source, Source::Whole(before) if *before == text);
                if !same {
                    tell(text_of(key, &text, Append::Anew));
                    self.source = Source::Whole(text);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn open_log(
        &mut self,
        workspace: &Workspace,
        key: &TextKey,
        tell: &mut Tell<'_>,
    ) -> Result<(), CommandError> {
        let (Some(task), Some(attempt)) = (&key.task, key.attempt) else { return Ok(()) };
        let task = workspace.task(task.as_str())?;
        let Some(logged) = find(workspace, &task, attempt)? else { return Ok(()) };
        let number = logged.attempt.attempt_number;
        match AttemptReader::open(workspace, &task, &logged, UNBROKEN) {
            Ok(reader) => {
                tell(text_of(key, "", Append::Anew));
                self.source =
                    Source::Log(Box::new(Growing { task, number, reader, caught_up: false, over: None }));
            }
            Err(error) => {
                tell(text_of(key, error.message(), Append::Anew));
                self.source = Source::Ended;
            }
        }
        Ok(())
    }

    /// Reads what the agent did since the last time.
    fn follow(
        &mut self,
        workspace: &Workspace,
        key: &TextKey,
        changed: bool,
        tell: &mut Tell<'_>,
    ) -> Result<(), CommandError> {
        let Source::Log(log) = &mut self.source else { return Ok(()) };
        // Before the rest is read: the log of an attempt that is over is then whole.
        if log.over.is_none() && (changed || !log.caught_up) {
            let own = find(workspace, &log.task, Which::Recorded(log.number))?;
            log.over = own.filter(|logged| logged.state != State::Running);
        }
        let (started, mut lines) = (Instant::now(), String::new());
        let arrived = log.caught_up.then(now);
        let failed = |e| CommandError::environment(format_args!("cannot read the log: {e}"));
        let caught_up = loop {
            let (text, more) = log.reader.next(arrived).map_err(failed)?;
            lines.push_str(&text);
            if !more || started.elapsed() >= SLICE {
                break !more;
            }
        };
        log.caught_up |= caught_up;
        if caught_up && log.over.is_some() {
            let Source::Log(log) = std::mem::replace(&mut self.source, Source::Ended) else { return Ok(()) };
            let Growing { reader, over, .. } = *log;
            lines.extend(over.map(|logged| reader.end(&logged)));
        }
        if !lines.is_empty() {
            tell(text_of(key, &lines, Append::After));
        }
        Ok(())
    }

    fn events(
        &mut self,
        workspace: &Workspace,
        run: Option<&RunId>,
        key: &TextKey,
        changed: bool,
        tell: &mut Tell<'_>,
    ) -> Result<(), CommandError> {
        if !changed {
            return Ok(());
        }
        let store = &workspace.store;
        let present = match run {
            Some(run) => Some(run.clone()),
            None => workspace.present_run()?.map(|run| run.id),
        };
        let Some(present) = present else {
            tell(text_of(key, "no runs yet; start one: ralph run", Append::Anew));
            return Ok(());
        };
        if !matches!(&self.source, Source::Events { run, .. } if *run == present) {
            let newest = store.last_event(&present, None)?.map_or(0, |event| event.seq);
            let story = Box::new(Story::new(UNBROKEN));
            self.source = Source::Events { run: present, last: newest.saturating_sub(EVENTS), story };
            tell(text_of(key, "", Append::Anew));
        }
        let Source::Events { run, last, story } = &mut self.source else { return Ok(()) };
        let mut text = String::new();
        loop {
            let events: Vec<StoredEvent> = store.some_events(run, *last, PORTION)?;
            let Some(newest) = events.last() else { break };
            *last = newest.seq;
            for mut event in events {
                mask_json(&mut event.json);
                text.push_str(&story.line(&event));
            }
        }
        if !text.is_empty() {
            tell(text_of(key, &text, Append::After));
        }
        Ok(())
    }
}

fn text_of(key: &TextKey, text: &str, how: Append) -> Reply {
    let more = text.lines().count().saturating_sub(MOST_LINES);
    let skipped = if how == Append::After { more } else { 0 };
    let mut lines: Vec<String> = text.lines().skip(skipped).take(MOST_LINES).map(str::to_owned).collect();
    if more > skipped {
        lines.pop();
        lines.push(paint(DIM, format_args!("… {} more", format::counted(more as u64 + 1, "line"))));
    }
    Reply::Text { key: key.clone(), lines, how }
}

fn find(workspace: &Workspace, task: &Task, which: Which) -> Result<Option<LoggedAttempt>, CommandError> {
    let is_wanted = |logged: &LoggedAttempt| match which {
        Which::Recorded(number) => logged.attempt.attempt_number == number,
        Which::UnderWay => logged.state != State::Ended,
    };
    Ok(LoggedAttempt::all(&workspace.store, task)?.into_iter().rfind(is_wanted))
}

/// A text that does not grow.
fn whole(workspace: &Workspace, settings: &Settings, key: &TextKey) -> Result<String, CommandError> {
    let Some(id) = &key.task else {
        return Ok("no task is selected".to_owned());
    };
    match key.tab {
        Tab::Live => Ok(described(&TaskFacts::read(workspace, settings, id.as_str())?)),
        Tab::Prompt => prompt(workspace, settings, &workspace.task(id.as_str())?, key),
        Tab::Report => {
            let facts = TaskFacts::read(workspace, settings, id.as_str())?;
            Ok(match key.attempt {
                Some(Which::Recorded(number)) => {
                    let attempt = facts.history.iter().find(|one| one.record.attempt_number == number);
                    attempt.map(|attempt| report(attempt, &facts)).unwrap_or_default()
                }
                Some(Which::UnderWay) => "under way: the report comes when the attempt has ended".to_owned(),
                None => described(&facts),
            })
        }
        Tab::Diff => {
            let task = workspace.task(id.as_str())?;
            let history = workspace.store.history(Some(id))?;
            let attempt = match key.attempt {
                Some(Which::Recorded(number)) => history.iter().find(|one| one.attempt_number == number),
                Some(Which::UnderWay) => {
                    return Ok("under way: the diff comes when the attempt has ended".to_owned());
                }
                None => history.last(),
            };
            match attempt {
                Some(attempt) => {
                    let text = diff::of_attempt(workspace, &task, attempt)?;
                    let undone = attempt.undone_ref.as_ref();
                    let undone = undone.map(|_| paint(YELLOW, "rolled back; Ralph saved the changes\n\n"));
                    Ok(undone.unwrap_or_default() + &text)
                }
                None => Ok("no attempts yet".to_owned()),
            }
        }
        Tab::Log => Ok(String::new()),
    }
}

/// The prompt that the attempt had; where there is no attempt, or where that is asked for, that of the next one and how it is
/// made.
fn prompt(
    workspace: &Workspace,
    settings: &Settings,
    task: &Task,
    key: &TextKey,
) -> Result<String, CommandError> {
    let line = |style, text: &str| format!("{}\n", paint(style, text));
    let mut text = String::new();
    let logged = key.attempt.filter(|_| !key.explain).map(|which| find(workspace, task, which));
    if let Some(logged) = logged.transpose()?.flatten() {
        match logged.prompt(workspace, task) {
            Ok(prompt) => {
                let (number, model) = (logged.attempt.attempt, &logged.attempt.model);
                let which = format!("attempt {number}, {model} · x: prompt of the next attempt");
                return Ok(line(DIM, &which) + "\n" + &prompt);
            }
            Err(error) => text += &line(YELLOW, error.message()),
        }
    }
    let Preview { agent, prompt, .. } = Preview::of(workspace, settings, task)?;
    let other = match (key.explain, key.attempt) {
        (false, _) => "x: how it is made",
        (true, None) => "x: the prompt alone",
        (true, Some(_)) => "x: prompt of the attempt",
    };
    text += &line(DIM, &format!("next attempt, {} · {other}", prompt.choice.model));
    if let Some(reason) = &prompt.ask_human {
        text += &line(YELLOW, &format!("! no attempt would start now: {reason}"));
    }
    text += "\n";
    if key.explain {
        text += &format!("{}\n", explained(&prompt));
    }
    Ok(text + &agent.prompt(&prompt.rules, &prompt.task))
}

fn described(facts: &TaskFacts) -> String {
    let task = masked(facts.task.clone());
    let mut text = format!("{} {}\n", paint(BOLD, task.name()), task.title);
    let word = match task.status {
        Status::Pending => "waiting".to_owned(),
        _ => facts.standing.word(),
    };
    let reason = task.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    text += &format!("{word}{reason}\n");
    let gate =
        task.verify.as_deref().map_or("none: Ralph cannot verify it".to_owned(), |gate| format!("`{gate}`"));
    let all = [
        ("gate", Some(gate)),
        ("model", task.model.clone()),
        ("next model", facts.next_model.clone()),
        ("done when", task.done_when.clone()),
        ("next", facts.next_command.clone()),
    ];
    text += &labeled(&all);
    for note in &facts.notes {
        text += &format!("{} {} ({})\n", paint(DIM, "note      "), note.text, format::note_state(note));
    }
    if !task.description.is_empty() {
        text += &format!("\n{}\n", task.description);
    }
    let none = if facts.history.is_empty() && facts.under_way.is_none() { "no attempts yet" } else { "" };
    format!("{text}\n{}\n", paint(DIM, none))
}

fn labeled(values: &[(&str, Option<String>)]) -> String {
    let given = values.iter().filter_map(|(label, value)| Some((label, value.as_ref()?)));
    given.map(|(label, value)| format!("{} {value}\n", paint(DIM, format_args!("{label:<10}")))).collect()
}

fn report(attempt: &AttemptFacts, facts: &TaskFacts) -> String {
    let record = &attempt.record;
    let name = format::attempt_name(record.counted, record.attempt, record.attempt_number);
    let mut text = format!("{} · {}\n", paint(BOLD, name), format::outcome_line(record));
    let mut spent = vec![format::duration(Duration::from_millis(record.duration_ms))];
    spent.extend(format::attempt_cost(record));
    if let (Some(input), Some(output)) = (record.tokens_input, record.tokens_output) {
        spent.push(format!("{input} tokens in, {output} out"));
    }
    let who = format::agent_and_model(record.agent.as_deref(), Some(&record.model));
    let who = who.map(|who| match &record.rationale {
        Some(why) => format!("{who} ({why})"),
        None => who,
    });
    let files = record.files_changed.as_ref().filter(|files| !files.is_empty());
    let trend = attempt.trend.as_ref().map(|trend| trend.words.clone());
    text += &labeled(&[
        ("started", Some(record.started_at.local())),
        ("agent", who),
        ("spent", Some(spent.join(", "))),
        ("trend", trend),
        ("files", files.map(|files| files.join(", "))),
        ("next", facts.next_command.clone()),
    ]);
    let is_done = record.outcome == Outcome::Done;
    for line in format::evidence(&record.verification, record.commit()).iter().filter(|_| is_done) {
        text += &format!("{} {line}\n", paint(CYAN, "·"));
    }
    for note in facts.notes.iter().filter(|note| attempt.notes.contains(&note.id)) {
        text += &format!("{} {}\n", paint(DIM, "your note "), note.text);
    }
    if let Some(report) = &attempt.report {
        text += &parts(report);
    }
    if let Some(output) = record.gate_output.as_deref().filter(|output| !output.trim().is_empty()) {
        text += &format!("\n{}\n", paint(DIM, "end of the gate's output"));
        let output = ralph_core::text::clean(output);
        let lines: Vec<&str> = output.trim_end().lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(40)) {
            text += &format!("  {line}\n");
        }
    }
    text
}
