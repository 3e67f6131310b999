//! Recorded outcomes, read from a table.

use std::collections::HashMap;

use crate::model::Difficulty;
use crate::text::one_line;

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub task: String,
    pub model: String,
    pub success: bool,
    pub cost_usd: Option<f64>,
    pub difficulty: Option<Difficulty>,
    /// The attempt's number; 1 is the first.
    pub attempt: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("the file is empty")]
    Empty,
    #[error("there is no column `{0}`")]
    NoColumn(&'static str),
    /// A field cannot be read: its line, column and text.
    #[error("line {0}: `{text}` is not a valid {1}", text = one_line(.2, 60))]
    BadField(u64, &'static str, String),
}

/// Reads `task, model, success, cost_usd` and, where there are any, `difficulty` and `attempt`, in any order.
///
/// # Errors
/// A column is missing or a field is not what its column says.
pub fn read(text: &str) -> Result<Vec<Row>, RowError> {
    let mut table =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let heading = table.headers().cloned().unwrap_or_default();
    if heading.is_empty() {
        return Err(RowError::Empty);
    }
    let find = |name: &str| {
        let mut names = heading.iter();
        names.position(|heading| heading.eq_ignore_ascii_case(name))
    };
    let need = |name: &'static str| find(name).ok_or(RowError::NoColumn(name));
    let (task, model) = (need("task")?, need("model")?);
    let (success, cost) = (need("success")?, need("cost_usd")?);
    let (difficulty, attempt) = (find("difficulty"), find("attempt"));
    let mut rows = Vec::new();
    let mut tried: HashMap<(String, String), u32> = HashMap::new();
    // The text is in memory and UTF-8, so that reading it cannot fail.
    for fields in table.into_records().map_while(Result::ok) {
        let line = fields.position().map_or(0, |at| line_of(text, at));
        let field = |place: usize| fields.get(place).unwrap_or_default();
        let bad = |name, place| RowError::BadField(line, name, field(place).to_owned());
        for (name, place) in [("task", task), ("model", model)] {
            if field(place).is_empty() {
                return Err(bad(name, place));
            }
        }
        let (task, model) = (field(task).to_owned(), field(model).to_owned());
        // Without a number, rows of one model on one task are its attempts in order.
        let next = tried.entry((task.clone(), model.clone())).or_default();
        *next += 1;
        rows.push(Row {
            task,
            model,
            success: truth(field(success)).ok_or_else(|| bad("success", success))?,
            cost_usd: match field(cost) {
                "" => None,
                text => Some(amount(text).ok_or_else(|| bad("cost_usd", cost))?),
            },
            difficulty: difficulty.and_then(|place| estimate(field(place))),
            attempt: match attempt.map(|place| (place, field(place))) {
                None | Some((_, "")) => *next,
                Some((place, text)) => {
                    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| bad("attempt", place))?
                }
            },
        });
    }
    Ok(rows)
}

/// The line a record stands on; its position is before the empty lines that were skipped.
fn line_of(text: &str, at: &csv::Position) -> u64 {
    let start = usize::try_from(at.byte()).unwrap_or(usize::MAX);
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let skipped = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
    (at.line()..).zip(skipped.filter(|byte| **byte == b'\n')).last().map_or(at.line(), |(line, _)| line + 1)
}

/// A name, or a human estimate of the time the task takes as public benchmarks have them; anything else says nothing.
fn estimate(text: &str) -> Option<Difficulty> {
    match text {
        "<15 min fix" => Some(Difficulty::Easy),
        "15 min - 1 hour" => Some(Difficulty::Moderate),
        "1-4 hours" => Some(Difficulty::Hard),
        ">4 hours" => Some(Difficulty::Blocked),
        name => Difficulty::parse(&name.trim().to_ascii_lowercase()),
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "1.0" | "true" => Some(true),
        "0" | "0.0" | "false" => Some(false),
        _ => None,
    }
}

fn amount(text: &str) -> Option<f64> {
    text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_in_any_order_and_others_are_ignored() {
        let text = "cost_usd,extra,\"success\",model,task,difficulty,attempt\n\
                    0.5,x,true,\"a, b\",\"say \"\"hi\"\"\",hard,2\n,,0,m,t,,\n";
        let rows = read(text).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].task.as_str(), rows[0].model.as_str()), ("say \"hi\"", "a, b"));
        assert_eq!((rows[0].success, rows[0].cost_usd, rows[0].attempt), (true, Some(0.5), 2));
        assert_eq!(rows[0].difficulty, Some(Difficulty::Hard));
        assert_eq!((rows[1].success, rows[1].cost_usd, rows[1].attempt), (false, None, 1));
        assert_eq!(rows[1].difficulty, None);
    }

    #[test]
    fn difficulties_are_names_or_times_and_nothing_else() {
        for (text, difficulty) in [
            ("Hard", Some(Difficulty::Hard)),
            ("trivial", Some(Difficulty::Trivial)),
            ("1-4 hours", Some(Difficulty::Hard)),
            ("", None),
            ("very", None),
        ] {
            assert_eq!(estimate(text), difficulty);
        }
    }

    #[test]
    fn rows_without_a_number_are_attempts_in_order() {
        let rows = read("task,model,success,cost_usd\nt,m,0,1\nt,m,1.0,2\nt,n,0,1\n").unwrap();
        let numbers: Vec<u32> = rows.iter().map(|row| row.attempt).collect();
        assert_eq!(numbers, [1, 2, 1]);
        assert!(rows[1].success);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(error(""), "the file is empty");
        assert_eq!(error("task,model,success\n"), "there is no column `cost_usd`");
        let heading = "task,model,success,cost_usd,attempt\n";
        assert_eq!(error(&format!("{heading}t,m,yes,1,1\n")), "line 2: `yes` is not a valid success");
        assert_eq!(error(&format!("{heading}\nt,m,1,-1,1\n")), "line 3: `-1` is not a valid cost_usd");
        assert_eq!(error(&format!("{heading}t,m,1,1,x\n")), "line 2: `x` is not a valid attempt");
        assert_eq!(error(&format!("{heading},m,1,1,1\n")), "line 2: `` is not a valid task");
        assert_eq!(error(&format!("{heading}t,m,1,1,0\n")), "line 2: `0` is not a valid attempt");
    }
}
