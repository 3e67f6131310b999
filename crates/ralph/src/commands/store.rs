//! `ralph store …`: sets up, migrates, checks and copies the store of a project.

use std::path::Path;

use ralph_core::project::Project;
use ralph_core::store::{Absent, Patience, Store, StorePlace};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output::{self, Json};
use crate::settings::Settings;
use crate::store_place;
use crate::workspace::find;

/// Set up and move the store: where the plan, its history and its learnings are kept.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Set up this project on the server that `[store] url` or RALPH_STORE names.
    Init(Json),
    /// Bring the store to the schema of this version of Ralph.
    Migrate(Json),
    /// Check that the store can be used, and show where it is.
    Check(Json),
    /// Copy the whole project from one store to another, which must be empty.
    ///
    /// A store is a file, such as .ralph/progress.db, or a URL, such as postgres://ralph@db.example/team.
    Copy {
        /// The store to read.
        from: String,
        /// The store to fill.
        to: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    let project = find(dir)?;
    match command {
        Command::Init(args) => set_up(&project, args.json),
        Command::Migrate(args) => migrate(&project, args.json),
        Command::Check(args) => check(&project, args.json),
        Command::Copy { from, to, json } => copy(&project, from, to, *json),
    }
}

fn set_up(project: &Project, json: bool) -> CommandResult {
    let place = store_place::of(project)?;
    if place.file().is_some() {
        return Err(CommandError::usage("this project keeps its plan in a file, which needs no setup")
            .hint("name a server first: ralph config set store.url postgres://USER@HOST/DATABASE"));
    }
    make_dir(project)?;
    let before = bring_up_to_date(&place)?;
    report(&place, before, json)
}

fn migrate(project: &Project, json: bool) -> CommandResult {
    let place = store_place::of(project)?;
    // Only a project that is there is migrated.
    if let Err(error) = place.open(Absent::Refuse, Patience::default())
        && !is_older(&error)
    {
        return Err(error.into());
    }
    let before = bring_up_to_date(&place)?;
    report(&place, before, json)
}

fn report(place: &StorePlace, before: Option<u32>, json: bool) -> CommandResult {
    // A newer Ralph may have brought it further.
    let now = before.unwrap_or(0).max(Store::VERSION);
    output::print(json, &json!({ "store": place.to_string(), "before": before, "version": now }), || {
        match before {
            None => output::line(format_args!("set up {place}: schema version {now}")),
            Some(before) if before == now => {
                output::line(format_args!("{place} is up to date: schema version {now}"));
            }
            Some(before) => {
                output::line(format_args!("migrated {place} from schema version {before} to {now}"));
            }
        }
    })
}

fn check(project: &Project, json: bool) -> CommandResult {
    let place = store_place::of(project)?;
    let store = place.open_read_only()?;
    let (version, report) = (store.version()?, store.integrity()?);
    if report != "ok" {
        return Err(CommandError::environment(format_args!("{place} is damaged: {report}")));
    }
    let (tasks, attempts) = (store.counts()?.total, store.totals()?.attempts);
    let shown =
        json!({ "store": place.to_string(), "version": version, "tasks": tasks, "attempts": attempts });
    output::print(json, &shown, || {
        output::line(format_args!(
            "{place}: OK, schema version {version}, {tasks} tasks, {attempts} attempts"
        ));
    })
}

fn copy(project: &Project, from: &str, to: &str, json: bool) -> CommandResult {
    let settings = Settings::load(&project.config(), std::env::vars_os())?;
    let named = |name: &str| store_place::named(project, &settings, name);
    let (from, to) = (named(from)?, named(to)?);
    let source = from.open(Absent::Refuse, Patience::default())?;
    if source.open_runs()?.iter().any(crate::workspace::is_active) {
        return Err(
            CommandError::usage("a run is active in the store that is to be copied").hint("ralph stop")
        );
    }
    if to.file().is_none() {
        bring_up_to_date(&to)?;
    }
    let mut target = to.open(Absent::Create, Patience::default())?;
    let rows = target.copy_from(&source)?;
    output::print(json, &json!({ "from": from.to_string(), "to": to.to_string(), "rows": rows }), || {
        output::line(format_args!("copied {rows} rows from {from} to {to}"));
    })
}

fn make_dir(project: &Project) -> Result<(), CommandError> {
    project.make_dir().map_err(|error| CommandError::cannot_write(&project.ralph_dir(), &error))
}

/// Returns the version that the schema had; none where there was no project.
fn bring_up_to_date(place: &StorePlace) -> Result<Option<u32>, CommandError> {
    match place {
        // A file is migrated when it is opened.
        StorePlace::File(_) => Ok(Some(place.open(Absent::Refuse, Patience::default())?.version()?)),
        #[cfg(feature = "postgres")]
        StorePlace::Server(address) => Ok(Store::migrate_server(address)?),
    }
}

#[cfg(feature = "postgres")]
fn is_older(error: &ralph_core::store::StoreError) -> bool {
    use ralph_core::store::{ServerFault, StoreError};
    matches!(error, StoreError::Server { fault: ServerFault::OlderSchema, .. })
}

#[cfg(not(feature = "postgres"))]
fn is_older(_: &ralph_core::store::StoreError) -> bool {
    false
}
