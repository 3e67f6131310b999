//! Defaults that changed between releases, and what the first run after an upgrade says about them.

use ralph_core::model::Strategy;

use super::{AnySetting, Settings, Source};

#[derive(Clone, Copy, Debug)]
pub struct ChangedDefault {
    /// The revision of the defaults that brought it; runs record theirs.
    pub revision: u32,
    pub section: &'static str,
    pub name: &'static str,
    /// The default before, as written in `.ralph.toml`.
    pub old: &'static str,
    pub new: &'static str,
    pub why: &'static str,
    /// The value of `[run] strategy` without which nobody notices the change.
    only_with_strategy: Option<Strategy>,
}

/// All of them, oldest first. CHANGELOG.md lists each; a test checks it.
pub const CHANGED_DEFAULTS: &[ChangedDefault] = &[
    ChangedDefault {
        revision: 1,
        section: "run",
        name: "strategy",
        old: "\"cost-optimized\"",
        new: "\"adaptive\"",
        why: "half the cost per task at nearly the same success",
        only_with_strategy: None,
    },
    ChangedDefault {
        revision: 1,
        section: "run",
        name: "value_usd",
        old: "5",
        new: "15",
        why: "fewer tasks are left for you in the morning",
        only_with_strategy: Some(Strategy::Adaptive),
    },
    ChangedDefault {
        revision: 2,
        section: "gate",
        name: "rerun",
        old: "0",
        new: "1",
        why: "a flaky gate costs the agent no failure",
        only_with_strategy: None,
    },
    ChangedDefault {
        revision: 2,
        section: "gate",
        name: "baseline",
        old: "\"off\"",
        new: "\"first\"",
        why: "a gate that passes before any work cannot show that work was done",
        only_with_strategy: None,
    },
];

pub fn defaults_revision() -> u32 {
    let revisions = CHANGED_DEFAULTS.iter().map(|change| change.revision);
    revisions.max().unwrap_or(0)
}

/// A line for each default that changed for this project since its last run; nothing for a project without runs.
pub fn notices(settings: &Settings, last_run: Option<u32>) -> Vec<String> {
    let Some(last_run) = last_run else { return Vec::new() };
    CHANGED_DEFAULTS
        .iter()
        .filter(|change| change.revision > last_run && change.concerns(settings))
        .map(ChangedDefault::notice)
        .collect()
}

impl ChangedDefault {
    fn concerns(&self, settings: &Settings) -> bool {
        let is_default = |setting: &dyn AnySetting| *setting.source() == Source::Default;
        let strategy = &settings.run.strategy;
        settings.find(self.section, self.name).is_some_and(is_default)
            && self.only_with_strategy.is_none_or(|needed| !is_default(strategy) && **strategy == needed)
    }

    fn notice(&self) -> String {
        let Self { section, name, old, new, why, .. } = self;
        format!(
            "Default changed: {name} is now {new} ({why}). To keep {old}: ralph config set {section}.{name} {}",
            old.trim_matches('"')
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_default_is_the_one_in_force_and_stands_in_the_change_log() {
        let log = include_str!("../../../../CHANGELOG.md");
        for change in CHANGED_DEFAULTS {
            let ChangedDefault { section, name, old, new, .. } = change;
            let newest = CHANGED_DEFAULTS
                .iter()
                .rfind(|other| (other.section, other.name) == (*section, *name))
                .unwrap();
            let default = Settings::default().find(section, name).unwrap().shown_text();
            assert_eq!(default.as_deref(), Some(newest.new.trim_matches('"')));
            let line = format!("`[{section}] {name}`: {new}, was {old}");
            assert!(log.contains(&line), "CHANGELOG.md lacks: {line}");
        }
    }
}
