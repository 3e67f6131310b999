//! What a setting can hold: each type reads its text, shows itself and says what it takes.

use std::collections::HashSet;
use std::ops::Deref;
use std::time::Duration;

use jiff::SpanRelativeTo;
use ralph_core::engine::{CommitWhen, OnDirty, OnOpen, PauseOn, ReviewWhen};
use ralph_core::git::RollbackMode;
use ralph_core::model::Strategy;
use ralph_core::sandbox::Mode;
use ralph_core::store::without_password;
use ralph_core::text::{MASK, mask_secrets, one_line};
use serde_json::Value;

use super::load::nearest;
use crate::notify::Occasion;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    File {
        line: usize,
    },
    /// The state file of an imported spec.
    Spec(String),
    Environment(String),
    Flag,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { .. } => f.write_str(".ralph.toml"),
            Self::Spec(path) | Self::Environment(path) => f.write_str(path),
            Self::Flag => f.write_str("command line"),
        }
    }
}

impl Source {
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::File { line } => Some(*line),
            _ => None,
        }
    }
}

/// A value and where it comes from. Reads like the value itself.
#[derive(Clone, Debug)]
pub struct Setting<T> {
    pub value: T,
    source: Source,
}

impl<T> Setting<T> {
    pub(super) fn new(value: T) -> Self {
        Self { value, source: Source::Default }
    }

    /// Puts a flag's value, if it is given, above everything.
    pub fn set_flag(&mut self, value: Option<T>) {
        if let Some(value) = value {
            self.value = value;
            self.source = Source::Flag;
        }
    }

    /// Puts what a spec's state file says above `.ralph.toml` and below the rest.
    pub fn set_spec(&mut self, value: Option<T>, path: &str) {
        if let Some(value) = value
            && !matches!(self.source, Source::Environment(_) | Source::Flag)
        {
            self.value = value;
            self.source = Source::Spec(path.to_owned());
        }
    }
}

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A setting of whatever type.
pub trait AnySetting {
    fn source(&self) -> &Source;
    /// The value for other eyes, without what is secret in it: a text, a list of texts, or null.
    fn shown(&self) -> Value;
    /// The same as text, with commas between the words of a list.
    fn shown_text(&self) -> Option<String> {
        match self.shown() {
            Value::Array(words) => {
                Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
            }
            text => text.as_str().map(str::to_owned),
        }
    }
    /// Takes a value from text; why not, if it is not one.
    fn read(&mut self, text: &str, source: Source) -> Result<(), String>;
}

impl<T: SettingType> AnySetting for Setting<T> {
    fn source(&self) -> &Source {
        &self.source
    }

    fn shown(&self) -> Value {
        let is_set = self.source != Source::Default;
        match self.value.show() {
            Value::Null if is_set => Value::from(""),
            Value::Array(words) if words.is_empty() && !is_set => Value::Null,
            Value::String(text) => Value::from(mask_secrets(&text)),
            shown => shown,
        }
    }

    fn read(&mut self, text: &str, source: Source) -> Result<(), String> {
        self.value = T::parse(text).ok_or_else(|| T::KIND.refusal(text))?;
        self.source = source;
        Ok(())
    }
}

/// What a setting takes. Choices are given by a function that lists their words.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    Count,
    CountOrZero,
    Number,
    Duration,
    Flag,
    FlagOrPath,
    Choice(fn() -> Vec<&'static str>),
    Words,
    /// Paths below the project's root, with `*` and `**`.
    Patterns,
    Choices(fn() -> Vec<&'static str>),
    /// One of these words, or a list of hosts.
    Network(&'static [&'static str]),
    /// A number of bytes.
    Size,
    /// The words of a command line.
    Arguments,
    /// A table of TOML, with an example.
    Table(&'static str),
}

impl Kind {
    /// The words it takes; none where it takes anything else.
    pub fn choices(self) -> Vec<&'static str> {
        match self {
            Self::Choice(words) | Self::Choices(words) => words(),
            Self::Flag | Self::FlagOrPath => vec!["true", "false"],
            Self::Network(words) => words.to_vec(),
            _ => Vec::new(),
        }
    }

    pub fn expected(self) -> String {
        match self {
            Self::Text => "a string".into(),
            Self::Count => "a whole number of at least 1".into(),
            Self::CountOrZero => "a whole number (0 or more)".into(),
            Self::Number => "a number above 0".into(),
            Self::Duration => "a duration such as 90, \"30m\" or \"1h30m\"".into(),
            Self::Flag => "true or false".into(),
            Self::FlagOrPath => "true, false or the path of a file outside .git and .ralph".into(),
            Self::Choice(words) => format!("one of: {}", words().join(", ")),
            Self::Words => "a list such as [\"a\", \"b\"]".into(),
            Self::Patterns => "a list of paths below the project's root, such as [\"tests/**\"]".into(),
            Self::Choices(words) => format!("a list of some of: {}", words().join(", ")),
            Self::Network(words) => {
                format!("one of {}, or a list of hosts such as [\"api.example.com\"]", words.join(", "))
            }
            Self::Size => "a size such as \"512M\" or \"4G\"".into(),
            Self::Arguments => "a list such as [\"prog\", \"arg\"]".into(),
            Self::Table(example) => format!("a table such as {example}"),
        }
    }

    fn refusal(self, text: &str) -> String {
        let (Self::Choice(words) | Self::Choices(words)) = self else {
            return format!("`{text}` is not {}", self.expected());
        };
        let words = words();
        let chosen = list(text);
        let wrong = chosen.iter().find(|word| !words.contains(&word.as_str())).map_or(text, String::as_str);
        let nearest = nearest(wrong, words.iter().copied());
        let hint = nearest.map(|word| format!("; did you mean `{word}`?"));
        format!("`{wrong}` is not one of: {}{}", words.join(", "), hint.unwrap_or_default())
    }
}

pub trait SettingType: Sized {
    const KIND: Kind;
    fn parse(text: &str) -> Option<Self>;
    /// A text, a list of texts, or null.
    fn show(&self) -> Value;
}

/// How types are read from text and shown.
macro_rules! setting_types {
    ($( $type:ty: $kind:expr, |$text:ident| $parse:expr, |$value:ident| $shown:expr; )+) => {
        $( impl SettingType for $type {
            const KIND: Kind = $kind;

            fn parse($text: &str) -> Option<Self> {
                $parse
            }

            fn show(&self) -> Value {
                let $value = self;
                $shown.into()
            }
        } )+
    };
}

pub(super) use setting_types;

setting_types! {
    String: Kind::Text, |text| Some(text.to_owned()), |it| it.as_str();
    bool: Kind::Flag, |text| text.parse().ok(), |it| it.to_string();
    u32: Kind::CountOrZero, |text| text.parse().ok(), |it| it.to_string();
    f64: Kind::Number, |text| text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0), |it| it.to_string();
    Count: Kind::Count, |text| u32::parse(text).filter(|n| *n > 0).map(Self), |it| it.0.to_string();
    Duration: Kind::Duration, |text| parse_duration(text), |it| show_duration(*it);
    Vec<String>: Kind::Words, |text| Some(list(text)), |it| it.as_slice();
    Patterns: Kind::Patterns, |text| Self::of(list(text)), |it| it.0.as_slice();
    AgentsMd: Kind::FlagOrPath, |text| Self::of(text), |it| it.word();
    Secret: Kind::Text, |text| Some(Self(text.to_owned())), |_it| MASK;
    WebhookUrl: Kind::Text, |text| Some(Self(text.to_owned())), |it| shown_url(&it.0);
    StoreUrl: Kind::Text, |text| Some(Self(text.to_owned())), |it| one_line(&without_password(&it.0), 200);
}

/// A setting that may be absent. Empty text means the same.
impl<T: SettingType> SettingType for Option<T> {
    const KIND: Kind = T::KIND;

    fn parse(text: &str) -> Option<Self> {
        match (T::KIND, text) {
            (Kind::Text, "") => Some(None),
            _ => T::parse(text).map(Some),
        }
    }

    fn show(&self) -> Value {
        self.as_ref().map_or(Value::Null, SettingType::show)
    }
}

/// A whole number that people give as at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u32);

/// Patterns of files below the project's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(pub Vec<String>);

impl Patterns {
    fn of(patterns: Vec<String>) -> Option<Self> {
        let is_refused = |pattern: &String| ralph_core::gate::Patterns::refusal(pattern).is_some();
        (!patterns.iter().any(is_refused)).then_some(Self(patterns))
    }
}

/// The words of a list, each once.
pub(super) fn list(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty() && seen.insert(*word));
    words.map(str::to_owned).collect()
}

/// One of a few values, each with its word.
pub trait Choice: Copy + PartialEq + 'static {
    fn all() -> Vec<(&'static str, Self)>;

    fn word(self) -> &'static str {
        let mut all = Self::all().into_iter();
        all.find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }

    fn of_word(text: &str) -> Option<Self> {
        let mut all = Self::all().into_iter();
        all.find(|(word, _)| *word == text).map(|(_, value)| value)
    }
}

fn words_of<C: Choice>() -> Vec<&'static str> {
    C::all().into_iter().map(|(word, _)| word).collect()
}

macro_rules! named_choices {
    ($($type:ty)+) => {
        $( impl Choice for $type {
            fn all() -> Vec<(&'static str, Self)> {
                Self::ALL.map(|one| (one.as_str(), one)).into()
            }
        } )+
    };
}

named_choices! { Strategy Occasion Mode }

macro_rules! choices {
    ($( $type:ty { $( $word:literal => $value:expr, )+ } )+) => {
        $( impl Choice for $type {
            fn all() -> Vec<(&'static str, Self)> {
                vec![$( ($word, $value), )+]
            }
        } )+
    };
}

choices! {
    OnOpen { "exit" => Self::Exit, "wait" => Self::Wait, }
    CommitWhen { "off" => Self::Never, "on-success" => Self::OnSuccess, }
    BaselineWhen { "first" => Self::First, "off" => Self::Off, }
    OnDirty { "continue" => Self::Continue, "refuse" => Self::Refuse, }
    PauseOn {
        "never" => Self::Never, "breaker" => Self::Breaker, "stuck" => Self::Stuck, "failure" => Self::Failure,
    }
    ReviewWhen {
        "never" => Self::Never,
        "ungated" => Self::Ungated,
        "always" => Self::Always,
    }
    Rollback {
        "off" => Self::Off,
        "stash" => Self::Mode(RollbackMode::Stash),
        "reset" => Self::Mode(RollbackMode::Reset),
    }
}

/// When gates are run without a task's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineWhen {
    First,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollback {
    Off,
    Mode(RollbackMode),
}

impl<C: Choice> SettingType for C {
    const KIND: Kind = Kind::Choice(words_of::<C>);

    fn parse(text: &str) -> Option<Self> {
        C::of_word(text)
    }

    fn show(&self) -> Value {
        self.word().into()
    }
}

impl<C: Choice> SettingType for Vec<C> {
    const KIND: Kind = Kind::Choices(words_of::<C>);

    fn parse(text: &str) -> Option<Self> {
        list(text).iter().map(|word| C::of_word(word)).collect()
    }

    fn show(&self) -> Value {
        self.iter().map(|choice| choice.word()).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentsMd {
    Standard,
    Off,
    At(String),
}

impl AgentsMd {
    fn of(text: &str) -> Option<Self> {
        match text {
            "true" => Some(Self::Standard),
            "false" => Some(Self::Off),
            path => (!is_no_file(path)).then(|| Self::At(path.to_owned())),
        }
    }

    fn word(&self) -> &str {
        match self {
            Self::Standard => "true",
            Self::Off => "false",
            Self::At(path) => path,
        }
    }
}

/// Whether a path cannot be that of a file for people and agents.
fn is_no_file(path: &str) -> bool {
    let path = path.trim().trim_start_matches("./");
    let parts: Vec<&str> = path.split('/').collect();
    let own = |part: &&str| [".git", ".ralph", ".ralph.toml"].contains(part);
    path.starts_with('~')
        || path.parse::<f64>().is_ok()
        || parts.iter().any(own)
        || matches!(parts.last(), Some(&"" | &"." | &"..")) && !path.is_empty()
}

#[derive(Clone, Debug)]
pub struct Secret(pub String);

/// A URL that is shown by its host alone.
#[derive(Clone, Debug)]
pub struct WebhookUrl(pub String);

/// The URL of a server, shown without its password.
#[derive(Clone, Debug)]
pub struct StoreUrl(pub String);

/// A URL without login, path and query: for many services they are all that is needed to post.
pub fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return MASK.to_owned() };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let more = if path.len() > 1 { "/…" } else { "" };
    one_line(&format!("{scheme}://{host}{more}"), 100)
}

/// Reads a duration as people write it (`90`, `90s`, `30m`, `1h30m`, `90d`); a number without a unit is seconds.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let span: jiff::Span = text.trim().parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

/// Writes a duration the way [`parse_duration`] reads it.
fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if !millis.is_multiple_of(1000) {
        return format!("{millis}ms");
    }
    let seconds = duration.as_secs();
    let parts = [(seconds / 3600, "h"), (seconds % 3600 / 60, "m"), (seconds % 60, "s")];
    let text: String = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0".into() } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn agm_01_only_a_file_can_be_kept_for_people_and_agents() {
        for path in ["AGENTS.md", "docs/AGENTS.md", "/srv/a.md", "../shared/A.md", "./x", ".x/a"] {
            assert!(!is_no_file(path), "{path}");
        }
        for path in ["3", "~/x.md", "docs/", "..", ".git/config", ".ralph.toml", ".ralph/x.md"] {
            assert!(is_no_file(path), "{path}");
        }
    }

    #[test]
    fn a_url_is_shown_by_its_host() {
        for (url, expected) in [
            ("https://hooks.example/services/T0/B0/key", "https://hooks.example/…"),
            ("http://me:pass@localhost:8080/x", "http://localhost:8080/…"),
            ("http://me:p@ss@localhost?key=1", "http://localhost/…"),
            ("https://hooks.example", "https://hooks.example"),
            ("https://hooks.example/", "https://hooks.example"),
            ("token-without-scheme", MASK),
        ] {
            assert_eq!(shown_url(url), expected, "{url}");
        }
    }

    #[test]
    fn what_is_secret_is_not_shown() {
        for (shown, expected) in [
            (Secret("hush".into()).show(), MASK),
            (WebhookUrl("https://h/secret".into()).show(), "https://h/…"),
            ("claude".to_owned().show(), "claude"),
        ] {
            assert_eq!(shown, expected);
        }
        assert_eq!(Setting::new(None::<Secret>).shown(), Value::Null);
    }

    #[test]
    fn people_write_them_in_many_ways() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("30m", 1800.0),
            ("1h30m", 5400.0),
            ("1h 5s", 3605.0),
            ("90d", 7_776_000.0),
            ("1d12h", 129_600.0),
            ("0.5", 0.5),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        assert_eq!(parse_duration("0"), Some(Duration::ZERO));
        assert_eq!(parse_duration("0s"), Some(Duration::ZERO));
        assert_eq!(parse_duration(""), None);
        for bad in ["", "x", "5x", "-3", "m", "1h30", "inf", "nan", "1e400"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(millis in 1_u64..10_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&show_duration(duration)), Some(duration));
        }

        #[test]
        fn any_text_is_harmless(text in ".{0,40}") {
            let _ = parse_duration(&text);
        }
    }
}
