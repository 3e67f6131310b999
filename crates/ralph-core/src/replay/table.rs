//! Comma-separated values: quotes, doubled quotes, line breaks within quotes.

/// The records, each with the number of the line it starts on; empty lines are left out.
pub fn records(text: &str) -> Vec<(usize, Vec<String>)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut records = Vec::new();
    let mut fields: Vec<String> = Vec::new();
    let mut field = String::new();
    let (mut line, mut start) = (1, 1);
    let (mut quoted, mut was_quoted) = (false, false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\n' {
            line += 1;
        }
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            _ if quoted => field.push(character),
            '"' if field.trim().is_empty() => {
                field.clear();
                (quoted, was_quoted) = (true, true);
            }
            ',' => fields.push(std::mem::take(&mut field)),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => {
                if !(fields.is_empty() && field.trim().is_empty() && !was_quoted) {
                    fields.push(std::mem::take(&mut field));
                    records.push((start, std::mem::take(&mut fields)));
                }
                field.clear();
                was_quoted = false;
                start = line;
            }
            _ => field.push(character),
        }
    }
    if !(fields.is_empty() && field.trim().is_empty()) {
        fields.push(field);
        records.push((start, fields));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::records;

    #[test]
    fn quotes_breaks_and_windows_lines() {
        let text = "\u{feff}a,b\r\n\r\n\"x,\"\"y\"\"\nz\",2\r\nlast,";
        let found = records(text);
        assert_eq!(found[0], (1, vec!["a".into(), "b".into()]));
        assert_eq!(found[1], (3, vec!["x,\"y\"\nz".into(), "2".into()]));
        assert_eq!(found[2], (5, vec!["last".into(), String::new()]));
        assert_eq!(found.len(), 3);
    }
}
