//! Where a report is written.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use ralph_core::agent::Interrupt;
use ralph_core::logs::LogDir;
use ralph_core::model::RunId;
use ralph_core::project::Project;

use super::{ReportFacts, markdown, page};
use crate::command_error::CommandError;
use crate::settings::Settings;
use crate::workspace::Workspace;

/// Below Ralph's own directory, which is out of git.
const DIR: &str = "reports";
/// Runs whose reports are kept there.
const KEPT: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Html,
    Md,
}

impl Format {
    pub fn of(self, facts: &ReportFacts) -> String {
        match self {
            Self::Html => page(facts),
            Self::Md => markdown(facts),
        }
    }

    /// The format that a file's name asks for.
    pub fn of_file(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Md),
            _ => None,
        }
    }
}

/// Where the report of a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    pub path: PathBuf,
}

impl ReportFile {
    /// Where it stands if nobody says where: in `[report] dir`, else in Ralph's own directory.
    pub fn of(settings: &Settings, project: &Project, run: &RunId) -> Self {
        let dir = match settings.report.dir.as_deref().filter(|dir| !dir.is_empty()) {
            Some(dir) => project.root().join(dir),
            None => project.ralph_dir().join(DIR),
        };
        Self { path: dir.join(format!("{run}.html")) }
    }

    /// The file as a browser opens it.
    pub fn url(&self) -> String {
        let mut url = "file://".to_owned();
        for byte in self.path.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                    url.push(char::from(*byte))
                }
                byte => {
                    let _ = write!(url, "%{byte:02X}");
                }
            }
        }
        url
    }
}

/// Writes a report that only its owner may read, whole or not at all. Agents can reach the place: a link in it leads nowhere.
pub fn write(file: &ReportFile, text: &str) -> io::Result<()> {
    let (Some(dir), Some(name)) = (file.path.parent(), file.path.file_name().and_then(|name| name.to_str()))
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    LogDir::make(dir)?.write_whole(name, text.as_bytes())
}

/// Deletes the reports of all but the newest runs from Ralph's own directory.
fn prune(workspace: &Workspace) {
    let (Ok(mut runs), Ok(dir)) =
        (workspace.store.runs(), LogDir::open(&workspace.project.ralph_dir().join(DIR)))
    else {
        return;
    };
    runs.truncate(runs.len().saturating_sub(KEPT));
    for run in runs {
        // Most are gone already.
        let _ = dir.remove(&format!("{}.html", run.id));
    }
}

/// Writes the report of a run that has ended; the run's own connection to the database may still be in use.
pub fn write_at_end(project: &Project, settings: &Settings, run: &RunId) -> Result<ReportFile, String> {
    let file = ReportFile::of(settings, project, run);
    let told = |error: CommandError| error.message().to_owned();
    let workspace = Workspace::open_to_read(Some(project.root())).map_err(told)?;
    let row = workspace.run(run.as_str()).map_err(told)?;
    // What ended the run does not end the report.
    let facts = ReportFacts::read(&workspace, settings, &row, &Interrupt::default()).map_err(told)?;
    match write(&file, &page(&facts)) {
        Ok(()) => {
            prune(&workspace);
            Ok(file)
        }
        Err(error) => Err(format!("{}: {error}", file.path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_an_address_that_a_browser_opens() {
        let file = ReportFile { path: PathBuf::from("/a b/ü#?%.html") };
        assert_eq!(file.url(), "file:///a%20b/%C3%BC%23%3F%25.html");
    }
}
