//! Statements as PostgreSQL takes them. Queries are written for both engines; what is left to translate is how values are
//! marked, and the joins whose order SQLite is told.

/// A statement, and which value each of `$1`, `$2`… stands for: a name with its colon, or nothing and a place.
#[derive(Debug, PartialEq, Eq)]
pub struct Translated {
    pub sql: String,
    pub values: Vec<Mark>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    Name(String),
    /// From 0.
    Place(usize),
}

pub fn translate(sql: &str) -> Translated {
    let mut translated = String::with_capacity(sql.len() + 16);
    let mut values: Vec<Mark> = Vec::new();
    let mut next_place = 0;
    let mut rest = sql;
    while let Some(at) = rest.find(['\'', '"', '-', ':', '?', 'C']) {
        let (before, from) = rest.split_at(at);
        translated.push_str(before);
        let is_word_start = !translated.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let taken = match from.as_bytes() {
            [quote @ (b'\'' | b'"'), ..] => quoted(from, char::from(*quote)),
            [b'-', b'-', ..] => from.find('\n').unwrap_or(from.len()),
            [b':', b':', ..] => 2,
            [b':', ..] => {
                let name = &from[..1 + word(&from[1..])];
                push(&mut translated, &mut values, Mark::Name(name.to_owned()));
                rest = &from[name.len()..];
                continue;
            }
            [b'?', ..] => {
                let digits = from[1..].bytes().take_while(u8::is_ascii_digit).count();
                let place = from[1..=digits].parse::<usize>().map_or(next_place, |number| number.max(1) - 1);
                next_place = place + 1;
                push(&mut translated, &mut values, Mark::Place(place));
                rest = &from[1 + digits..];
                continue;
            }
            // PostgreSQL chooses the order itself, and its cross joins have no condition.
            _ if is_word_start && from.starts_with("CROSS JOIN ") => {
                rest = &from["CROSS ".len()..];
                continue;
            }
            _ => 1,
        };
        let (taken, after) = from.split_at(taken);
        translated.push_str(taken);
        rest = after;
    }
    translated.push_str(rest);
    Translated { sql: translated, values }
}

/// Writes `$n`; the same value has the same number.
fn push(sql: &mut String, values: &mut Vec<Mark>, mark: Mark) {
    let known = values.iter().position(|one| *one == mark);
    let place = known.unwrap_or_else(|| {
        values.push(mark);
        values.len() - 1
    });
    sql.push_str(&format!("${}", place + 1));
}

/// How many bytes a quoted text or name takes, its quotes included. One that is doubled begins another such text.
fn quoted(from: &str, quote: char) -> usize {
    from[1..].find(quote).map_or(from.len(), |end| end + 2)
}

fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_by_their_first_use() {
        let name = |name: &str| Mark::Name(name.to_owned());
        for (sql, expected, values) in [
            ("SELECT ?1, ?1", "SELECT $1, $1", vec![Mark::Place(0)]),
            ("VALUES (?, ?)", "VALUES ($1, $2)", vec![Mark::Place(0), Mark::Place(1)]),
            ("a = :b AND c = :a OR :b", "a = $1 AND c = $2 OR $1", vec![name(":b"), name(":a")]),
            ("':x' \"?\" a::text -- :y\n:z", "':x' \"?\" a::text -- :y\n$1", vec![name(":z")]),
            ("it''s ':' ||'?' CROSS JOIN t ON 1", "it''s ':' ||'?' JOIN t ON 1", vec![]),
            ("v ->> '$.a' - 1 = COUNT", "v ->> '$.a' - 1 = COUNT", vec![]),
        ] {
            assert_eq!(translate(sql), Translated { sql: expected.to_owned(), values }, "{sql}");
        }
    }
}
