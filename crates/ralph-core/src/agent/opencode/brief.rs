//! What a tool is used on, in a few words.

use super::super::brief::{SHOWN, first, short};
use super::super::json::Text;
use super::events::ToolInput;

/// What a tool is used on: the most telling of its inputs. The title of a file's use is its path below the repository.
pub(super) fn target(input: ToolInput, title: Option<&Text>) -> String {
    if let Some(path) = input.file_path {
        let below = title.map(|title| title.0.as_str()).filter(|title| {
            let above = path.0.strip_suffix(title);
            !title.is_empty() && above.is_some_and(|above| above.len() > 1 && above.ends_with('/'))
        });
        return short(below.unwrap_or(&path.0), SHOWN);
    }
    first([
        input.command,
        input.pattern,
        input.url,
        input.query,
        input.path,
        input.name,
        input.description,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, title: Option<&str>) -> String {
        let input = ToolInput {
            file_path: Some(Text(path.into())),
            ..ToolInput::default()
        };
        target(input, title.map(|title| Text(title.into())).as_ref())
    }

    #[test]
    fn a_path_is_told_from_the_repository_on() {
        assert_eq!(told("/p/src/a.rs", Some("src/a.rs")), "src/a.rs");
        // Outside a repository the title begins at the root of all.
        assert_eq!(told("/p/src/a.rs", Some("p/src/a.rs")), "/p/src/a.rs");
        assert_eq!(told("/p/src/a.rs", Some("rc/a.rs")), "/p/src/a.rs");
        assert_eq!(told("/p/src/a.rs", Some("")), "/p/src/a.rs");
        assert_eq!(told("/p/src/a.rs", None), "/p/src/a.rs");
    }
}
