//! How an attempt ended, and whose fault that was.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

names! {
    /// The four ways an attempt can end.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// Signalled done, and the gate agreed.
        Done => "done",
        /// A failed signal, or a gate that did not pass.
        Failed => "failed",
        /// The agent ended normally and said neither.
        NoSigil => "no_sigil",
        /// Something broke: see the error type.
        #[default]
        Error => "error",
    }
}

/// The types that are Ralph's own, with their names, and those of agents.
macro_rules! error_types {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorType {
            $($(#[$doc])* $variant,)*
            /// What the agent's own report calls it.
            Reported(String),
        }

        const OWN: [(&str, ErrorType); [$($name),*].len()] = [$(($name, ErrorType::$variant)),*];
    };
}

error_types! {
    TestFailure => "test_failure",
    /// The attempt timed out after it may.
    Timeout => "timeout",
    /// The agent was silent for longer than it may be.
    IdleTimeout => "idle_timeout",
    Crash => "crash",
    RateLimit => "rate_limit",
    /// The service is overloaded or broken.
    Overloaded => "overloaded",
    /// The service could not be reached.
    Network => "network",
    /// Credentials are missing or refused.
    Auth => "auth",
    /// The agent or the gate's shell could not be started.
    Spawn => "spawn",
    /// The agent was denied tools it needed.
    Permission => "permission",
    /// The service does not know what was asked for.
    Config => "config",
    /// Git or one of its hooks refused the commit of done work, or the work is on another branch.
    CommitRefused => "commit_refused",
    /// Another agent reviewed the work and rejected it.
    ReviewRejected => "review_rejected",
    /// The work was done, but others had landed changes of the same lines meanwhile.
    Conflict => "conflict",
    /// The work was done, but the gate failed when it was combined with what others had landed meanwhile.
    IntegrationFailure => "integration_failure",
    /// The attempt changed protected files, and the gate failed without that.
    Tampered => "tampered",
    /// A hook of the remote refused done work.
    PushRefused => "push_refused",
    /// Git could not commit done work, and no further attempt would change that.
    Git => "git",
    /// The gate could not run: a program it needs could not be started.
    GateBroken => "gate_broken",
    /// The attempt failed, and the sandbox had refused something that it may have needed.
    SandboxDenied => "sandbox_denied",
    /// A signal to Ralph ended the attempt.
    Interrupted => "interrupted",
    /// Ralph crashed during the attempt.
    Lost => "lost",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// Counts against the task; the escalation ladder follows.
    AgentFault,
    /// Wait for the reset, then again.
    RateLimit,
    /// Back off, a bounded number of times.
    Service,
    /// Stop at once and say what to do.
    Setup,
    /// Block the task and say what to do; the run goes on with others.
    Gate,
    /// Not counted the first time; then it is recorded as what it was.
    Sandbox,
    Interruption,
    /// Found at the next start.
    Lost,
    /// The work does not go together with what others landed: counts only when it happens again and again.
    Landing,
}

impl ErrorType {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Reported(name) => name,
            own => OWN.iter().find(|(_, one)| one == own).map_or("", |(name, _)| name),
        }
    }

    /// Reads the stored name together with the outcome it stands beside: an agent's report may use any word,
    /// so only an `error` can be of Ralph's own classes.
    pub fn from_stored(outcome: Outcome, text: &str) -> Self {
        let own = OWN.into_iter().find(|(name, _)| *name == text).map(|(_, error)| error);
        let with_failed = |error: &Self| {
            matches!(error, Self::TestFailure | Self::CommitRefused | Self::ReviewRejected | Self::Tampered)
        };
        own.filter(|error| with_failed(error) || outcome == Outcome::Error)
            .unwrap_or_else(|| Self::Reported(text.to_owned()))
    }

    pub fn class(&self) -> FailureClass {
        match self {
            Self::TestFailure
            | Self::CommitRefused
            | Self::ReviewRejected
            | Self::Tampered
            | Self::Timeout
            | Self::IdleTimeout
            | Self::Crash
            | Self::Reported(_) => FailureClass::AgentFault,
            Self::RateLimit => FailureClass::RateLimit,
            Self::Overloaded | Self::Network => FailureClass::Service,
            Self::Auth | Self::Spawn | Self::Permission | Self::Config | Self::Git => FailureClass::Setup,
            Self::GateBroken | Self::PushRefused => FailureClass::Gate,
            Self::SandboxDenied => FailureClass::Sandbox,
            Self::Interrupted => FailureClass::Interruption,
            Self::Lost => FailureClass::Lost,
            Self::Conflict | Self::IntegrationFailure => FailureClass::Landing,
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorType {
    /// The name alone, for displays: what follows from it is read with its outcome, by [`Self::from_stored`].
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Ok(Self::from_stored(Outcome::Error, &text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reported_word_never_becomes_an_uncounted_class() {
        let reported = ErrorType::from_stored(Outcome::Failed, "rate_limit");
        assert_eq!(reported.class(), FailureClass::AgentFault);
        let own = ErrorType::from_stored(Outcome::Error, "rate_limit");
        assert_eq!(own.class(), FailureClass::RateLimit);
    }

    #[test]
    fn outcomes_read_back() {
        for outcome in [Outcome::Done, Outcome::Failed, Outcome::NoSigil, Outcome::Error] {
            assert_eq!(Outcome::parse(outcome.as_str()), Some(outcome));
        }
        assert_eq!(Outcome::parse("perhaps"), None);
    }
}
