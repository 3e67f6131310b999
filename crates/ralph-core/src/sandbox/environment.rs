//! Which variables of Ralph's own environment a confined process gets.

use std::ffi::{OsStr, OsString};

use crate::agent::{OWN_SETTINGS, OWN_STORE};

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

/// Words of names that are not passed on because a pattern allows them: the value is likely a secret.
const SECRET_WORDS: [&str; 8] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "APIKEY", "API_KEY"];

/// Whether a variable is passed on; `more` are names and patterns beside the usual ones.
pub(super) fn is_allowed<'p>(name: &str, more: impl IntoIterator<Item = &'p str>) -> bool {
    if name.starts_with(OWN_SETTINGS) || name == OWN_STORE {
        return false;
    }
    // Whoever names a variable, or a family of them, wants it.
    more.into_iter().any(|pattern| matches(pattern, name))
        || ALLOWED.iter().any(|pattern| *pattern == name || matches(pattern, name) && !looks_secret(name))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| upper.contains(word))
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
