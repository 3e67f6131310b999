//! Short ways to say news.

use crate::recovery::{FailReason, FinalState, FixHistory};
use crate::spec::progress_md::{Completed, News};

pub(super) const MAX_LIMIT: FinalState = FinalState::Fail(FailReason::MaxLimit);

pub(super) fn completed(key: &str, title: &str, commit: &str) -> Completed {
    let commit = (!commit.is_empty()).then(|| commit.to_owned());
    Completed {
        key: key.into(),
        title: title.into(),
        commit,
    }
}

pub(super) fn done(key: &str, title: &str, commit: &str) -> News {
    News {
        completed: vec![completed(key, title, commit)],
        ..News::default()
    }
}

pub(super) fn current(line: &str) -> News {
    News {
        current: Some(line.into()),
        ..News::default()
    }
}

pub(super) fn history(key: &str, count: usize, end: FinalState) -> FixHistory {
    let fixes = (1..=count).map(|n| format!("{key}.{n}")).collect();
    FixHistory {
        key: key.into(),
        fixes,
        end,
    }
}

pub(super) fn fixes(key: &str, count: usize, end: FinalState) -> News {
    News {
        fix_history: vec![history(key, count, end)],
        ..News::default()
    }
}

pub(super) fn learnt(learnings: &[&str]) -> News {
    let learnings = learnings.iter().map(|text| (*text).to_owned()).collect();
    News {
        learnings,
        ..News::default()
    }
}
