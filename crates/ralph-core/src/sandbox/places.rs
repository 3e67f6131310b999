//! What programs keep below the home directory, and what on a machine is nobody's business in an attempt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A file or directory below the home directory, which a variable may have moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The variable that names another directory than `usual`.
    pub moved_by: &'static str,
    /// The directory below the home directory, if the variable names none; empty for the home directory itself.
    pub usual: &'static str,
    /// What is in that directory; empty for all of it.
    pub path: &'static str,
}

impl Place {
    pub const fn new(moved_by: &'static str, usual: &'static str, path: &'static str) -> Self {
        Self { moved_by, usual, path }
    }

    /// Where it is for a person with this home directory and this environment.
    pub(super) fn at(&self, home: &Path, environment: &[(String, OsString)]) -> PathBuf {
        let moved = environment.iter().find(|(name, _)| name == self.moved_by);
        let moved = moved.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
        let dir = moved.unwrap_or_else(|| join(home, self.usual));
        join(&dir, self.path)
    }
}

/// Without a slash at the end.
pub(super) fn join(dir: &Path, rest: &str) -> PathBuf {
    if rest.is_empty() { dir.to_owned() } else { dir.join(rest) }
}

/// What a package manager or build tool keeps between builds.
pub(super) struct Cache {
    /// The program that keeps it. Where it is installed, its missing directories are made.
    pub tool: &'static str,
    pub places: &'static [Place],
}

const fn home(path: &'static str) -> Place {
    Place::new("", "", path)
}

const fn cache(path: &'static str) -> Place {
    Place::new("XDG_CACHE_HOME", ".cache", path)
}

pub(super) const CACHES: &[Cache] = &[
    Cache {
        tool: "cargo",
        places: &[Place::new("CARGO_HOME", ".cargo", "registry"), Place::new("CARGO_HOME", ".cargo", "git")],
    },
    Cache { tool: "npm", places: &[Place::new("npm_config_cache", ".npm", "")] },
    Cache { tool: "node-gyp", places: &[cache("node-gyp")] },
    Cache {
        tool: "yarn",
        places: &[Place::new("YARN_CACHE_FOLDER", ".cache/yarn", ""), home(".yarn/berry")],
    },
    Cache {
        tool: "pnpm",
        places: &[
            Place::new("XDG_DATA_HOME", ".local/share", "pnpm/store"),
            cache("pnpm"),
            Place::new("XDG_STATE_HOME", ".local/state", "pnpm"),
        ],
    },
    Cache { tool: "bun", places: &[Place::new("BUN_INSTALL_CACHE_DIR", ".bun/install/cache", "")] },
    Cache { tool: "deno", places: &[Place::new("DENO_DIR", ".cache/deno", "")] },
    Cache { tool: "pip", places: &[Place::new("PIP_CACHE_DIR", ".cache/pip", "")] },
    Cache { tool: "uv", places: &[Place::new("UV_CACHE_DIR", ".cache/uv", "")] },
    Cache { tool: "poetry", places: &[Place::new("POETRY_CACHE_DIR", ".cache/pypoetry", "")] },
    Cache {
        tool: "go",
        places: &[
            Place::new("GOPATH", "go", "pkg"),
            Place::new("GOMODCACHE", "go/pkg/mod", ""),
            Place::new("GOCACHE", ".cache/go-build", ""),
        ],
    },
    Cache { tool: "golangci-lint", places: &[cache("golangci-lint")] },
    Cache { tool: "mvn", places: &[home(".m2/repository")] },
    Cache {
        tool: "gradle",
        places: &[
            Place::new("GRADLE_USER_HOME", ".gradle", "caches"),
            Place::new("GRADLE_USER_HOME", ".gradle", "daemon"),
            Place::new("GRADLE_USER_HOME", ".gradle", "native"),
            Place::new("GRADLE_USER_HOME", ".gradle", "wrapper"),
            Place::new("GRADLE_USER_HOME", ".gradle", ".tmp"),
        ],
    },
    Cache { tool: "sbt", places: &[home(".ivy2/cache"), home(".sbt/boot"), cache("coursier")] },
    Cache {
        tool: "dotnet",
        places: &[
            Place::new("NUGET_PACKAGES", ".nuget/packages", ""),
            Place::new("XDG_DATA_HOME", ".local/share", "NuGet"),
        ],
    },
    Cache { tool: "bundle", places: &[home(".bundle/cache")] },
    Cache { tool: "composer", places: &[cache("composer")] },
    Cache { tool: "dart", places: &[Place::new("PUB_CACHE", ".pub-cache", "")] },
    Cache { tool: "mix", places: &[home(".hex"), cache("elixir_make")] },
    Cache { tool: "cabal", places: &[home(".cabal/packages"), home(".cabal/store"), cache("cabal")] },
    Cache { tool: "zig", places: &[cache("zig")] },
    Cache { tool: "bazel", places: &[cache("bazel")] },
    Cache { tool: "ccache", places: &[Place::new("CCACHE_DIR", ".cache/ccache", ""), home(".ccache")] },
    Cache { tool: "sccache", places: &[Place::new("SCCACHE_DIR", ".cache/sccache", "")] },
];

/// Files and directories that belong to a tool's cache but are there only if the tool made them.
pub(super) const EXISTING_CACHES: &[Place] = &[
    Place::new("CARGO_HOME", ".cargo", ".package-cache"),
    Place::new("CARGO_HOME", ".cargo", ".package-cache-mutate"),
    Place::new("CARGO_HOME", ".cargo", ".global-cache"),
    Place::new("PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright", ""),
    cache("Cypress"),
    cache("electron"),
    cache("fontconfig"),
    cache("huggingface"),
    cache("matplotlib"),
    cache("mypy"),
    cache("nix"),
    cache("puppeteer"),
    cache("ruff"),
    cache("torch"),
    cache("turbo"),
];

/// Credentials, and what they could be read from, below the home directory.
pub(super) const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".pypirc",
    ".pgpass",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/stripe",
    ".databricks.cfg",
    ".boto",
    ".s3cfg",
    ".fly",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".Xauthority",
    ".ICEauthority",
    // Browser and mail profiles.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    // People type secrets into shells.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
];

/// Where services listen that do for a process what it may not do itself, and secrets of the machine.
pub(super) const MACHINE: &[&str] = &[
    "/run/docker.sock",
    "/run/docker",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/user",
    "/run/dbus",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/systemd/userdb",
    "/run/snapd.socket",
    "/run/snapd-snap.socket",
    "/run/libvirt",
    "/run/lxd.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/run/pcscd",
    "/run/secrets",
    "/var/run/secrets",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/kubernetes",
    "/etc/rancher",
];

/// Variables that name a socket or a file through which a process gets at what it may not.
pub(super) const SECRET_VARIABLES: &[&str] = &[
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "DBUS_SESSION_BUS_ADDRESS",
    "XAUTHORITY",
    "GNUPGHOME",
    "KUBECONFIG",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_CONFIG",
    "NETRC",
    "PGPASSFILE",
];

/// Files below a work tree that make other programs run commands: Ralph's own settings, those of agents.
pub(super) const PROJECT_SETTINGS: &[&str] = &[
    ".ralph",
    ".ralph.toml",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".gemini/.env",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/plugin",
    ".opencode/plugins",
];

/// What a login or a shell executes, where the home directory itself is writable.
pub(super) const START_UP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".tcshrc",
    ".cshrc",
    ".login",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".local/bin",
    ".local/share/applications",
    "bin",
    ".cargo/bin",
    ".cargo/config.toml",
    ".gitconfig",
    ".config/git",
    ".pam_environment",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".vimrc",
    ".config/nvim",
    ".tmux.conf",
    ".inputrc",
    ".npmrc",
    ".pythonrc",
];

/// In git's directory, as seen from the directory that all working trees share.
pub(super) const GIT_EXECUTES: &[&str] = &["hooks", "config"];
/// Files there that would lead git to another directory; git's own directory of a main working tree has none.
pub(super) const GIT_LEADS: &[&str] = &["commondir", "config.worktree"];

/// What belongs to an agent program: what it writes while it works, and what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Belongings {
    /// Directories it writes: sessions, logins that it renews, logs.
    pub state: &'static [Place],
    /// Files it writes that make it run commands later: it gets a copy, and what it writes there is dropped.
    pub copied: &'static [Place],
    /// What is in its state and makes it run commands: a person's to change.
    pub commands: &'static [Place],
    /// Variables it reads; `*` at the end stands for any rest.
    pub variables: &'static [&'static str],
    /// What it needs below the home directory where a variable is set.
    pub needs: &'static [(&'static str, &'static str)],
}

impl Belongings {
    pub const NONE: Self = Self { state: &[], copied: &[], commands: &[], variables: &[], needs: &[] };
}
