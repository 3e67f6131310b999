//! The events of `go test -json`, one on each line.

use serde::Deserialize;

/// One event.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Event {
    action: String,
    package: Option<String>,
    /// Of what is being built.
    import_path: Option<String>,
    test: Option<String>,
    output: Option<String>,
}

impl Event {
    /// The event that a line holds.
    pub(super) fn read(line: &str) -> Option<Self> {
        if !line.starts_with('{') || !line.contains("\"Action\":\"") {
            return None;
        }
        // The output stands last: of a line that was cut, its beginning counts.
        let event: Self = serde_json::from_str(line).ok().or_else(|| {
            let (whole, _) = line.rsplit_once(' ')?;
            serde_json::from_str(&format!("{whole}\"}}")).ok()
        })?;
        (event.package.is_some() || event.import_path.is_some()).then_some(event)
    }

    /// The package and the test that failed.
    pub(super) fn failed(&self) -> Option<(&str, &str)> {
        let test = self.test.as_deref().filter(|_| self.action == "fail")?;
        Some((self.package.as_deref().unwrap_or_default(), test))
    }

    /// The test that it is about.
    pub(super) fn test(&self) -> Option<&str> {
        self.test.as_deref()
    }

    /// What was printed.
    pub(super) fn output(&self) -> &str {
        self.output.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_from_other_json() {
        let fail = r#"{"Time":"x","Action":"fail","Package":"p","Test":"TestA/b","Elapsed":0.1}"#;
        assert_eq!(Event::read(fail).unwrap().failed(), Some(("p", "TestA/b")));
        let whole = r#"{"Action":"fail","Package":"p","Elapsed":0.1}"#;
        assert_eq!(Event::read(whole).unwrap().failed(), None);
        let build = r#"{"ImportPath":"p","Action":"build-output","Output":"a.go:1:2: x\n"}"#;
        assert_eq!(Event::read(build).unwrap().output(), "a.go:1:2: x\n");
        let cut = r#"{"Action":"output","Package":"p","Output":"got 3, want \u00"#;
        assert_eq!(Event::read(cut).unwrap().output(), "got 3, want");
        for other in [
            "{",
            "{}",
            r#"{"Action":"fail"}"#,
            r#"{"Action":3,"Package":"p"}"#,
            r#"{"Action":"fail","Package""#,
            "x {\"Action\":\"fail\",\"Package\":\"p\"}",
        ] {
            assert!(Event::read(other).is_none(), "{other}");
        }
    }
}
