//! What a person wants of the sandbox.

use serde::{Deserialize, Serialize};

use crate::model::names;

names! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Mode {
        /// The strongest backend that works here, and a warning where that is weak or none.
        #[default]
        Auto => "auto",
        /// No attempt is made without a backend that enforces all of the policy.
        Required => "required",
        Off => "off",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// The host's own network.
    #[default]
    Open,
    /// A network of its own, in which nothing but its own loopback is reached.
    Loopback,
    /// No network at all.
    None,
    /// Only these hosts, through a proxy.
    Hosts(Vec<String>),
}

impl Network {
    /// As it is written in the settings.
    pub fn shown(&self) -> String {
        match self {
            Self::Open => "open".to_owned(),
            Self::Loopback => "loopback".to_owned(),
            Self::None => "none".to_owned(),
            Self::Hosts(hosts) => hosts.join(", "),
        }
    }

    /// Whether a list has the machine itself.
    pub fn names_this_machine(&self) -> bool {
        let is_it = |host: &String| host.starts_with("localhost") || host.starts_with("127.");
        matches!(self, Self::Hosts(hosts) if hosts.iter().any(is_it))
    }

    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

/// Limits of what one launch may use; none for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub processes: Option<u32>,
    /// In bytes, of all its processes together where that can be enforced, else of each.
    pub memory: Option<u64>,
    /// The largest file it may write, in bytes.
    pub file: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    pub mode: Mode,
    /// Further directories that may be written.
    pub cache: Vec<String>,
    /// Further paths that may not be read.
    pub deny_read: Vec<String>,
    /// Paths that may be read although they are credentials.
    pub allow_read: Vec<String>,
    /// Further variables that are passed on.
    pub env: Vec<String>,
    pub network: Network,
    pub gate_network: Network,
    pub limits: Limits,
}
