//! Opening a plan that lives in files: which format it has, what stands in it, and where it stood.

use std::cell::{LazyCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::state_json::{self, SpecState};
use super::tasks_md::Spec;
use super::{Draft, FileProblem, Format, Note, Problem, checklist, gsd, json_plan, jsonl, text};
use crate::files::{self, Limit, Links, quick_digest};
use crate::gate::every_line_counts;
use crate::model::{Key, Phase, TITLE_CHARS};
use crate::recovery::NO_VERIFY;
use crate::store::KeptFixes;
use crate::text::plain_line;

pub const TASKS_MD: &str = "tasks.md";
/// The file in which a spec folder keeps where it stands.
pub const STATE_JSON: &str = ".ralph-state.json";
pub const PROGRESS_MD: &str = ".progress.md";
/// The list of phases and plans beside the plans of GSD.
const ROADMAP_MD: &str = "ROADMAP.md";

#[derive(Clone, Debug)]
pub struct FoundPlan {
    /// Where, relative to the project where it is in it.
    pub path: String,
    pub format: Format,
    pub draft: Draft,
    pub digest: String,
    /// Fix tasks that tasks had before, by the spec's own account.
    pub fixes: Vec<KeptFixes>,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{path}: {why}")]
    File {
        path: String,
        /// The system's reason, or Ralph's.
        why: String,
    },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Content(Vec<FileProblem>),
}

/// Opens the plan at a path: a file, a spec folder, or a folder with a `.planning` in it.
pub fn open(root: &Path, path: &Path, format: Option<Format>) -> Result<FoundPlan, ImportError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.is_dir() {
        return open_folder(root, &path, format);
    }
    let text = read_text(root, &path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let spec = LazyCell::new(|| Spec::of(&text));
    let format = format.unwrap_or_else(|| Format::of(&name, &text, || spec.is_spec()));
    if format == Format::Gsd {
        let plans = vec![path.clone()];
        return open_gsd(root, &path, &plans, None, &[]);
    }
    let shown = shown(root, &path);
    let mut draft = read_plan(root, &shown, format, &text)?;
    let mut fixes = Vec::new();
    if format == Format::TasksMd {
        let beside = path.with_file_name(STATE_JSON);
        let state = state(&path).map_err(|problem| at(&self::shown(root, &beside), vec![problem]))?;
        let state = state.unwrap_or_default();
        fixes = state.fix_task_map.into_iter().map(|(name, entry)| kept(name, entry)).collect();
        let notes = state.notes.iter().map(|note| Note::new(0, format!("{STATE_JSON}: {note}")));
        draft.notes.extend(notes);
    }
    Ok(FoundPlan { path: shown, format, draft, digest: quick_digest(&text), fixes })
}

/// What a text says that is, or was a moment ago, in the file that the project calls so. Plans of several files have no such text.
pub fn read_plan(root: &Path, path: &str, format: Format, text: &str) -> Result<Draft, ImportError> {
    let draft = match format {
        Format::TasksMd => spec_draft(root, &Spec::of(text)),
        Format::Checklist => checklist::read(text, &programs(root)),
        Format::Prd | Format::TaskMaster | Format::Beads | Format::Github => {
            json_plan::read(format, text, &programs(root))
        }
        Format::Lines | Format::Gsd => jsonl::read(text),
    };
    draft.and_then(checked).map_err(|problems| at(path, problems))
}

/// The tasks of a tasks.md. What a fix task without a gate has in the place of one is none: it would pass always.
fn spec_draft(root: &Path, spec: &Spec<'_>) -> Result<Draft, Vec<Problem>> {
    let mut draft = spec.read(&programs(root))?;
    for task in &mut draft.tasks {
        let is_none = |verify: &mut String| task.fix_of.is_some() && verify == NO_VERIFY;
        task.verify.take_if(is_none);
        task.verify = task.verify.take().map(every_line_counts);
    }
    Ok(draft)
}

fn kept(name: String, entry: state_json::FixEntry) -> KeptFixes {
    let mut keys = entry.fix_task_ids;
    let missing = entry.attempts.min(1000).saturating_sub(keys.len());
    let made_up = (1..).map(|number| format!("{name}.{number}")).filter(|key| !keys.contains(key));
    let made_up: Vec<String> = made_up.take(missing).collect();
    keys.extend(made_up);
    KeptFixes { name, keys, last_error: entry.last_error }
}

/// The names that a plan's file gives its phases; none where it cannot be read.
pub fn phase_names(root: &Path, path: &str, format: &str) -> Vec<(Phase, String)> {
    let path = root.join(path);
    let file = match Format::parse(format) {
        Some(Format::TasksMd | Format::Checklist) => path,
        Some(Format::Gsd) => path.join(ROADMAP_MD),
        _ => return Vec::new(),
    };
    let names = read_text(root, &file).map(|text| text::phase_names(&text)).unwrap_or_default();
    names.into_iter().filter_map(|(number, name)| Some((Phase::parse(&number).ok()?, name))).collect()
}

/// What the state file beside a tasks.md says; none where there is none.
pub fn state(tasks_md: &Path) -> Result<Option<SpecState>, Problem> {
    let path = tasks_md.with_file_name(STATE_JSON);
    match files::read_text(&path, Links::Follow, Limit::SETTINGS) {
        Ok(text) => state_json::read(&text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Problem::new(1, format!("cannot read the file: {error}"))),
    }
}

fn open_folder(root: &Path, folder: &Path, format: Option<Format>) -> Result<FoundPlan, ImportError> {
    let tasks = folder.join(TASKS_MD);
    if format != Some(Format::Gsd) && tasks.is_file() {
        return open(root, &tasks, format);
    }
    let is_planning = |dir: &PathBuf| dir.join("phases").is_dir();
    let is_begun = |dir: &PathBuf| dir.ends_with(".planning") && dir.join(ROADMAP_MD).is_file();
    let places = [folder.join(".planning"), folder.to_owned()];
    let planning = places.iter().find(|dir| is_planning(dir)).or(places.iter().find(|dir| is_begun(dir)));
    let Some(planning) = planning else {
        return Err(ImportError::File {
            path: shown(root, folder),
            why: format!(
                "no plan found in this directory: expected {TASKS_MD}, or .planning/phases with NN-MM-PLAN.md files"
            ),
        });
    };
    let mut plans = Vec::new();
    let mut finished = Vec::new();
    let phases = planning.join("phases");
    let phases = if phases.is_dir() { sorted(root, &phases)? } else { Vec::new() };
    for phase in phases.iter().filter(|phase| phase.is_dir()) {
        for file in sorted(root, phase)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with("PLAN.md") {
                plans.push(file.clone());
            } else if let Some(id) = shown(root, &file).strip_suffix("-SUMMARY.md") {
                finished.push(id.to_owned());
            }
        }
    }
    let roadmap = planning.join(ROADMAP_MD);
    let roadmap = Some(roadmap).filter(|path| path.is_file());
    open_gsd(root, planning, &plans, roadmap.as_deref(), &finished)
}

fn open_gsd(
    root: &Path,
    path: &Path,
    plans: &[PathBuf],
    roadmap: Option<&Path>,
    finished: &[String],
) -> Result<FoundPlan, ImportError> {
    let mut texts = String::new();
    let mut read = |path: &PathBuf| {
        let text = read_text(root, path)?;
        texts.push_str(&text);
        Ok((shown(root, path), text))
    };
    let files = gsd::GsdFiles {
        plans: plans.iter().map(&mut read).collect::<Result<_, ImportError>>()?,
        roadmap: roadmap.map(|path| read(&path.to_owned())).transpose()?,
        finished: finished.to_vec(),
    };
    let draft = gsd::read(&files, &programs(root)).map_err(ImportError::Content)?;
    let shown = shown(root, path);
    let draft = checked(draft).map_err(|problems| at(&shown, problems))?;
    Ok(FoundPlan { path: shown, format: Format::Gsd, draft, digest: quick_digest(&texts), fixes: Vec::new() })
}

fn sorted(root: &Path, dir: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let fault = |error: std::io::Error| ImportError::File { path: shown(root, dir), why: error.to_string() };
    let entries = std::fs::read_dir(dir).map_err(fault)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<std::io::Result<Vec<_>>>().map_err(fault)?;
    paths.sort();
    Ok(paths)
}

/// A draft whose keys and phases are such. Titles that are too long are cut, and their text is kept in the description.
fn checked(mut draft: Draft) -> Result<Draft, Vec<Problem>> {
    let mut problems = Vec::new();
    for task in &mut draft.tasks {
        if task.title.chars().count() > TITLE_CHARS {
            let whole = std::mem::take(&mut task.title);
            task.title = plain_line(&whole, TITLE_CHARS);
            task.description = [whole.trim(), task.description.trim()].join("\n\n").trim_end().to_owned();
            let text = format!(
                "the title is longer than {TITLE_CHARS} characters and was shortened; the description \
                 has the full title"
            );
            draft.notes.push(Note::new(task.line, text));
        }
        let key = task.named_by_author.then(|| Key::parse(&task.name).err()).flatten();
        problems.extend(key.map(|error| Problem::new(task.line, error.to_string())));
        // Of `3A` and `1.2.3` the number that a phase can have.
        while let Some(phase) = task.phase.take_if(|phase| Phase::parse(phase).is_err()) {
            let shorter =
                phase.rsplit_once(|c: char| !c.is_ascii_digit()).map(|(number, _)| number.to_owned());
            task.phase = shorter.filter(|number| !number.is_empty());
        }
    }
    if problems.is_empty() { Ok(draft) } else { Err(problems) }
}

fn at(path: &str, problems: Vec<Problem>) -> ImportError {
    let problems = problems.into_iter().map(|problem| problem.in_file(path));
    ImportError::Content(problems.collect())
}

fn read_text(root: &Path, path: &Path) -> Result<String, ImportError> {
    let fault = |why: String| ImportError::File { path: shown(root, path), why };
    let bytes = files::read(path, Links::Follow, Limit::TEXT).map_err(|error| fault(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let line = before.map_or(1, |text| text.iter().filter(|byte| **byte == b'\n').count() + 1);
        fault(format!("line {line}: expected UTF-8 text"))
    })
}

fn shown(root: &Path, path: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    // A link to a file is shown where it stands: what belongs to it is beside it.
    let path = match (path.is_dir(), path.parent(), path.file_name()) {
        (false, Some(folder), Some(name)) => real(folder).join(name),
        _ => real(path),
    };
    let inside = path.strip_prefix(&root).unwrap_or(&path);
    if inside.as_os_str().is_empty() {
        return ".".to_owned();
    }
    inside.display().to_string()
}

/// Tells whether a word names a program; asks for each only once.
fn programs(root: &Path) -> impl Fn(&str) -> bool {
    let known: RefCell<HashMap<String, bool>> = RefCell::default();
    move |word| *known.borrow_mut().entry(word.to_owned()).or_insert_with(|| can_run(root, word))
}

/// Whether a word names a program: on PATH, or a file below the project. An absolute path may also be that of a directory.
pub fn can_run(root: &Path, word: &str) -> bool {
    if let Some(below) = word.strip_prefix("~/") {
        return std::env::home_dir().is_some_and(|home| home.join(below).exists());
    }
    if word.contains('/') {
        let path = root.join(word);
        return path.is_file() || (word.starts_with('/') && path.exists());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    !word.is_empty() && std::env::split_paths(&path).any(|dir| dir.join(word).is_file())
}
