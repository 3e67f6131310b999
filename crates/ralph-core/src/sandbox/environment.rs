//! Which variables of Ralph's own environment a confined process gets.

use std::ffi::{OsStr, OsString};

use crate::agent::is_own_setting;
use crate::text::is_secret_name;

/// Names that are passed on; `*` at the end stands for any rest.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "CI",
    "GITHUB_ACTIONS",
    "RALPH_*",
    "HOSTNAME",
    // Proxies and certificates.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "ftp_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    // Where programs keep their files.
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
    // Toolchains and libraries.
    "CARGO_*",
    "RUSTUP_*",
    "RUST_*",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC*",
    "GO*",
    "CGO_*",
    "JAVA_*",
    "JDK_*",
    "MAVEN_*",
    "M2_HOME",
    "GRADLE_*",
    "SBT_*",
    "KOTLIN_HOME",
    "NVM_*",
    "FNM_*",
    "VOLTA_*",
    "N_PREFIX",
    "NODE_*",
    "npm_config_*",
    "PNPM_HOME",
    "YARN_CACHE_FOLDER",
    "BUN_INSTALL*",
    "DENO_DIR",
    "DENO_INSTALL*",
    "COREPACK_*",
    "PYENV_*",
    "PYTHON*",
    "VIRTUAL_ENV*",
    "CONDA_*",
    "PIPX_*",
    "PIP_CACHE_DIR",
    "PIP_INDEX_URL",
    "UV_*",
    "POETRY_CACHE_DIR",
    "RBENV_*",
    "RUBY*",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "BUNDLE_GEMFILE",
    "ASDF_*",
    "MISE_*",
    "DOTNET_*",
    "NUGET_PACKAGES",
    "ANDROID_*",
    "FLUTTER_*",
    "PUB_CACHE",
    "SWIFT_*",
    "ZIG_*",
    "OPAM*",
    "GHCUP_*",
    "STACK_ROOT",
    "CABAL_DIR",
    "ERL_*",
    "ELIXIR_*",
    "MIX_*",
    "HEX_*",
    "PERL5LIB",
    "PERL_*",
    "PHP_*",
    "COMPOSER_HOME",
    "CCACHE_*",
    "SCCACHE_DIR",
    "NIX_*",
    "PLAYWRIGHT_BROWSERS_PATH",
    "CHROME_*",
    "PUPPETEER_*",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "PKG_CONFIG*",
    "CMAKE_*",
    "CC",
    "CXX",
    "AR",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "SDKROOT",
    "CUDA_*",
    "HF_HOME",
    "OMP_*",
    "MALLOC_*",
    "LLVM_*",
    "LIBCLANG_PATH",
    "PROTOC",
    "MANPATH",
    "INFOPATH",
    "LOCALE_ARCHIVE",
    "PAGER",
    "EDITOR",
    // What git says of a person.
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_TERMINAL_PROMPT",
    "EMAIL",
];

/// Whether a variable is passed on; `more` are names and patterns beside the usual ones.
pub(super) fn is_allowed<'p>(name: &str, more: impl IntoIterator<Item = &'p str>) -> bool {
    if is_own_setting(name) {
        return false;
    }
    // Whoever names a variable, or a family of them, wants it.
    more.into_iter().any(|pattern| matches(pattern, name))
        || ALLOWED.iter().any(|pattern| *pattern == name || matches(pattern, name) && !is_secret_name(name))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

/// The variables that are passed on, in their order.
pub(super) fn allowed<'p>(
    own: impl IntoIterator<Item = &'p (String, OsString)>,
    more: &[&str],
) -> Vec<(String, OsString)> {
    let own = own.into_iter().filter(|(name, _)| is_allowed(name, more.iter().copied()));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The file behind what a variable says of a socket: a path, `unix:///path` or `unix:path=/path,…`.
pub(super) fn socket_path(value: &OsStr) -> Option<std::path::PathBuf> {
    let text = value.to_str()?;
    let text = text.strip_prefix("unix:path=").or_else(|| text.strip_prefix("unix://")).unwrap_or(text);
    let text = text.split(',').next()?;
    text.starts_with('/').then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_programs_need_is_passed_on() {
        for (name, expected) in [
            ("PATH", true),
            ("LC_ALL", true),
            ("LANG", true),
            ("RALPH_PROJECT", true),
            ("RALPH_SET_NOTIFY_WEBHOOK_SECRET", false),
            ("RALPH_STORE", false),
            ("CARGO_HOME", true),
            ("CARGO_REGISTRY_TOKEN", false),
            ("npm_config_cache", true),
            ("npm_config__authToken", false),
            ("npm_config_//registry.example.com/:_authToken", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("GITHUB_TOKEN", false),
            ("SSH_AUTH_SOCK", false),
            ("DATABASE_URL", false),
            ("ANTHROPIC_API_KEY", false),
            ("DISPLAY", false),
            ("LD_PRELOAD", false),
            ("BASH_ENV", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", false),
            ("HEX_API_KEY", false),
            ("MAVEN_GPG_PASSPHRASE", false),
            ("ANDROID_KEY_PASS", false),
            ("NODE_SESSION_COOKIE", false),
            ("GO_PAT", false),
            ("GIT_AUTHOR_NAME", true),
            ("RALPH_TASK_KEY", true),
        ] {
            assert_eq!(is_allowed(name, []), expected, "{name}");
        }
        assert!(is_allowed("ANTHROPIC_API_KEY", ["ANTHROPIC_*"]));
        assert!(is_allowed("DATABASE_URL", ["DATABASE_URL"]));
        assert!(!is_allowed("DATABASE_URLS", ["DATABASE_URL"]));
        assert!(!is_allowed("RALPH_SET_X", ["RALPH_*"]));
    }

    #[test]
    fn the_file_of_a_socket_is_found() {
        for (value, path) in [
            ("/run/user/1/keyring/ssh", Some("/run/user/1/keyring/ssh")),
            ("unix:///var/run/docker.sock", Some("/var/run/docker.sock")),
            ("unix:path=/run/user/1/bus,guid=1", Some("/run/user/1/bus")),
            ("tcp://127.0.0.1:2375", None),
            ("unix:abstract=/tmp/dbus", None),
        ] {
            assert_eq!(socket_path(value.as_ref()), path.map(Into::into), "{value}");
        }
    }
}
