//! Where a project's plan is: `RALPH_STORE`, else `[store] url`, else the file in `.ralph`.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use ralph_core::project::Project;
use ralph_core::store::{StorePlace, is_server, without_password};

use crate::command_error::CommandError;
use crate::settings::Settings;

/// Overrides `[store] url`.
pub const VARIABLE: &str = "RALPH_STORE";

/// The store of a project, as its settings name it.
pub fn of(project: &Project) -> Result<StorePlace, CommandError> {
    by(project, env::var(VARIABLE).ok())
}

/// The same, whatever `RALPH_STORE` says.
pub fn of_settings(project: &Project) -> Result<StorePlace, CommandError> {
    by(project, None)
}

fn by(project: &Project, url: Option<String>) -> Result<StorePlace, CommandError> {
    let url = url.filter(|url| !url.is_empty());
    let settings = match Settings::load(&project.config(), env::vars_os()) {
        Ok(settings) => settings,
        // A mistake elsewhere in the settings must not make another plan than the team's.
        Err(error) if url.is_some() || may_name_store(&project.config(), env::vars_os()) => {
            return Err(error);
        }
        Err(_) => return Ok(StorePlace::File(project.database())),
    };
    let url = url.or_else(|| settings.store.url.as_ref().map(|url| url.0.clone()));
    match url.filter(|url| !url.is_empty()) {
        None => Ok(StorePlace::File(project.database())),
        Some(url) => named(project, &settings, &url),
    }
}

/// Whether the settings name a store, or may do so: those that cannot be read.
fn may_name_store(config: &Path, mut environment: impl Iterator<Item = (OsString, OsString)>) -> bool {
    Settings::read(config).map_or(true, |text| text.contains("store"))
        || environment.any(|(name, _)| name.to_string_lossy().starts_with("RALPH_SET_STORE_"))
}

/// A store by its URL, or a file by its path.
pub fn named(project: &Project, settings: &Settings, name: &str) -> Result<StorePlace, CommandError> {
    if is_server(name) {
        return server(project, settings, name);
    }
    if name.contains("://") {
        let message = format!("`{}` is not the URL of a PostgreSQL server", without_password(name));
        return Err(CommandError::usage(message).hint("write it as postgres://USER@HOST/DATABASE"));
    }
    Ok(StorePlace::File(project.root().join(name)))
}

#[cfg(not(feature = "postgres"))]
fn server(_: &Project, _: &Settings, url: &str) -> Result<StorePlace, CommandError> {
    let message =
        format!("this Ralph was built without PostgreSQL: it cannot open {}", without_password(url));
    Err(CommandError::usage(message).hint("build it with the feature `postgres`"))
}

#[cfg(feature = "postgres")]
fn server(project: &Project, settings: &Settings, url: &str) -> Result<StorePlace, CommandError> {
    use ralph_core::host::{Host, ThisHost};
    use ralph_core::store::ServerAddress;

    let schema = match &*settings.store.schema {
        Some(schema) if !schema.is_empty() => schema.clone(),
        _ => schema_of(project)?,
    };
    let host = ThisHost::new().owner().host;
    let address = ServerAddress::parse(url, &schema)?.in_clone(&host, project.root());
    crate::secrets::remember_environment([(VARIABLE.into(), url.into())].into_iter());
    let address = match address.password() {
        Some(_) => address,
        None => match password(&address) {
            Some(password) => address.with_password(&password),
            None => address,
        },
    };
    // Also as the server gets it, without the percent signs of the URL.
    let password = address.password().map(|password| String::from_utf8_lossy(password).into_owned());
    ralph_core::text::remember_secrets(password);
    Ok(StorePlace::Server(Box::new(address)))
}

/// By the root commit, so that every clone finds the same.
#[cfg(feature = "postgres")]
fn schema_of(project: &Project) -> Result<String, CommandError> {
    let root = ralph_core::git::Git::discover(project.root()).and_then(|git| git.root_commit());
    let name = root.and_then(|commit| commit.get(..12).map(|short| format!("ralph_{short}")));
    name.ok_or_else(|| {
        CommandError::usage("the store needs a name for this project: the repository has no commit yet")
            .hint("make the first commit, or name it: ralph config set store.schema NAME")
    })
}

/// The password from `PGPASSWORD`, or from the password file, as every PostgreSQL client finds it.
#[cfg(feature = "postgres")]
fn password(address: &ralph_core::store::ServerAddress) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    use ralph_core::files::{Limit, Links, read_text};

    if let Ok(password) = env::var("PGPASSWORD") {
        return Some(password).filter(|password| !password.is_empty());
    }
    let file = env::var_os("PGPASSFILE").map(PathBuf::from);
    let file = file.or_else(|| Some(env::home_dir()?.join(".pgpass")))?;
    // As PostgreSQL's own programs do: what others can read is no secret.
    if file.metadata().ok()?.mode() & 0o077 != 0 {
        return None;
    }
    let text = read_text(&file, Links::Follow, Limit::SETTINGS).ok()?;
    text.lines().find_map(|line| entry(line, &address.identity()))
}

/// The password in a line of a password file, if it is for this host, port, database and user.
#[cfg(feature = "postgres")]
fn entry(line: &str, wanted: &[String; 4]) -> Option<String> {
    let mut fields: Vec<String> = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => fields.last_mut()?.extend(chars.next()),
            ':' if fields.len() <= wanted.len() => fields.push(String::new()),
            c => fields.last_mut()?.push(c),
        }
    }
    let password = fields.pop()?;
    let fits = |(field, wanted): (&String, &String)| field == "*" || field == wanted;
    (fields.len() == wanted.len() && fields.iter().zip(wanted).all(fits)).then_some(password)
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn settings_that_may_name_a_store_lead_to_no_other_one() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join(".ralph.toml");
        let set = |name: &str| [(OsString::from(name), OsString::from("x"))].into_iter();
        assert!(!may_name_store(&config, set("RALPH_SET_RUN_LIMIT")));
        assert!(may_name_store(&config, set("RALPH_SET_STORE_URL")));
        for (text, expected) in [("[run]\nlimit = []\n", false), ("[store]\nurl = []\n", true)] {
            std::fs::write(&config, text).unwrap();
            assert_eq!(may_name_store(&config, set("PATH")), expected, "{text}");
        }
        // What cannot be read.
        assert!(may_name_store(dir.path(), set("PATH")));
    }

    #[test]
    fn a_line_of_a_password_file_is_for_one_server() {
        let wanted = ["h", "5432", "d", "u"].map(str::to_owned);
        for (line, password) in [
            ("h:5432:d:u:secret", Some("secret")),
            ("*:*:*:u:se:cret", Some("se:cret")),
            (r"h:5432:d:u:se\:c\\ret", Some(r"se:c\ret")),
            ("h:5433:d:u:secret", None),
            ("# a comment", None),
        ] {
            assert_eq!(entry(line, &wanted).as_deref(), password, "{line}");
        }
    }
}
