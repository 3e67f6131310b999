//! What a file and the learnings mean for each other: who added what, what was deleted, what is to be written.

use std::collections::{HashMap, HashSet};

use super::{Bullet, Found, Place, Section, bullet_text};
use crate::model::{LearningId, Phase, Timestamp};
use crate::text::neutral::inert_prose;

/// A learning, as far as the file is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub id: LearningId,
    /// Its text as it reads back from the file.
    pub text: String,
    /// The same [collapsed]: what it is recognised by.
    pub key: String,
    pub place: Place,
    pub active: bool,
    /// When it was archived, where that is known.
    pub archived_at: Option<Timestamp>,
}

impl Known {
    pub fn new(id: LearningId, category: &str, tags: &[String], content: &str, active: bool) -> Self {
        let text = bullet_text(content);
        Self { id, key: collapsed(&text), text, place: place(category, tags), active, archived_at: None }
    }
}

/// A text without regard to where its lines are broken, for formatters wrap them, and to whether it was
/// neutralized before it was written.
pub fn collapsed(text: &str) -> String {
    Vec::from_iter(inert_prose(text).split_whitespace()).join(" ")
}

/// Pitfalls and ways to find errors are error fixes, what is given for a phase is phase-specific, the rest are patterns.
pub fn place(category: &str, tags: &[String]) -> Place {
    // As people and headings write it.
    let category = category.trim().to_lowercase().replace(['-', ' '], "_");
    let category = category.as_str();
    let plain = |section| Place { section, phase: None };
    if matches!(category, "pitfall" | "debugging_technique") {
        return plain(Section::ErrorFixes);
    }
    let phase = tags.iter().find_map(|tag| phase_tag(tag));
    if phase.is_some() || category == PHASE_SPECIFIC {
        return Place { section: Section::PhaseSpecific, phase };
    }
    plain(Section::CodebasePatterns)
}

/// The category of what a person writes under Phase-Specific.
const PHASE_SPECIFIC: &str = "phase_specific";

/// The phase that a tag names: `phase 2`, `phase-2.1`, `Phase:05`.
fn phase_tag(tag: &str) -> Option<String> {
    let tag = tag.trim().to_lowercase();
    let number = tag.strip_prefix("phase")?;
    let number = number.trim_start_matches([' ', '-', ':', '_']);
    Phase::parse(number).ok().map(|phase| phase.to_string())
}

pub fn category_and_tags(place: &Place) -> (String, Vec<String>) {
    let tags = place.phase.iter().map(|phase| format!("phase {phase}"));
    let category = match place.section {
        Section::ErrorFixes | Section::FailureContext => "pitfall",
        Section::CodebasePatterns => "code_structure",
        Section::PhaseSpecific => PHASE_SPECIFIC,
    };
    (category.to_owned(), tags.collect())
}

/// What the file held when Ralph last wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastWrite {
    pub branch: Option<String>,
    pub digest: String,
    /// The learnings that were in it, and in which section.
    pub bullets: Vec<(LearningId, Section)>,
}

/// All that a plan depends on.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// What the file holds; nothing where there is none.
    pub found: Option<&'a Found>,
    pub last: Option<&'a LastWrite>,
    pub branch: Option<&'a str>,
    /// Whether the file looks as it did after an earlier write: somebody rolled it back.
    pub rolled_back: bool,
    /// Whether an agent has just been at work: what changed is the agent's doing.
    pub after_attempt: bool,
    pub written_at: Option<Timestamp>,
    /// The learnings in use, oldest first, and others whose text may stand in the file.
    pub learnings: &'a [Known],
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// Bullets that are to become learnings.
    pub add: Vec<Bullet>,
    /// Learnings that a person deleted from the file.
    pub prune: Vec<LearningId>,
    /// Learnings that a person wrote into the file again.
    pub restore: Vec<LearningId>,
    /// Bullets of learnings that are no longer in use.
    pub remove: Vec<Bullet>,
    /// Learnings that are not in use but stand in the file of another branch; left there for now, so that they are not
    /// taken for wanted back the next time.
    pub old: Vec<(LearningId, Section)>,
}

pub fn reconcile(situation: &Situation<'_>) -> SyncPlan {
    let mut plan = SyncPlan::default();
    let (Some(found), last) = (situation.found, situation.last) else { return plan };
    let by_text = by_text(situation.learnings);
    let written: HashSet<&LearningId> =
        last.iter().flat_map(|last| last.bullets.iter().map(|(id, _)| id)).collect();
    let same_place = last.is_some_and(|last| last.branch.as_deref() == situation.branch);
    let deliberate = same_place && !situation.rolled_back && !situation.after_attempt;
    let mut seen: HashSet<String> = HashSet::new();
    for bullet in &found.bullets {
        let key = collapsed(&bullet.text);
        let known = by_text.get(key.as_str());
        if !seen.insert(key) {
            continue;
        }
        match known {
            None => plan.add.push(bullet.clone()),
            Some(known) if known.active => {}
            // It was archived since Ralph wrote it.
            Some(known) if written.contains(&known.id) => plan.remove.push(bullet.clone()),
            // It was archived since anybody wrote the file; Ralph was killed before it could note that it was there.
            Some(known) if known.archived_at.is_some_and(|at| situation.written_at < Some(at)) => {
                plan.remove.push(bullet.clone());
            }
            // It was not there: somebody wants it back. On another branch it may only be old.
            Some(known) if deliberate => plan.restore.push(known.id.clone()),
            Some(known) => plan.old.push((known.id.clone(), bullet.place.section)),
        }
    }
    if deliberate && let Some(last) = last {
        let active: HashMap<&LearningId, &Known> =
            situation.learnings.iter().filter(|known| known.active).map(|known| (&known.id, known)).collect();
        for (id, section) in &last.bullets {
            let Some(known) = active.get(id) else { continue };
            let there = seen.contains(&known.key);
            if !there && found.sections.contains(section) {
                plan.prune.push(id.clone());
            }
        }
    }
    plan
}

/// Of learnings that say the same, one that is in use.
fn by_text(learnings: &[Known]) -> HashMap<&str, &Known> {
    let mut all: HashMap<&str, &Known> = HashMap::new();
    for known in learnings {
        let place = all.entry(known.key.as_str()).or_insert(known);
        if !place.active && known.active {
            *place = known;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: u64, text: &str, active: bool) -> Known {
        Known::new(LearningId::from_random(id), "pitfall", &[], text, active)
    }

    fn found(texts: &[&str]) -> Found {
        let place = Place { section: Section::ErrorFixes, phase: None };
        Found {
            sections: vec![Section::ErrorFixes],
            bullets: texts.iter().map(|text| Bullet { place: place.clone(), text: (*text).into() }).collect(),
            entry_names: Vec::new(),
        }
    }

    fn last(known: &[&Known]) -> LastWrite {
        LastWrite {
            branch: Some("main".into()),
            digest: String::new(),
            bullets: known.iter().map(|known| (known.id.clone(), Section::ErrorFixes)).collect(),
        }
    }

    fn situation<'a>(found: &'a Found, last: &'a LastWrite, learnings: &'a [Known]) -> Situation<'a> {
        Situation {
            found: Some(found),
            last: Some(last),
            branch: Some("main"),
            rolled_back: false,
            after_attempt: false,
            written_at: None,
            learnings,
        }
    }

    #[test]
    fn agm_15_what_a_person_writes_becomes_a_learning_and_what_is_deleted_is_pruned() {
        let (a, b) = (known(1, "a", true), known(2, "b", true));
        let all = [a.clone(), b.clone()];
        let plan = reconcile(&situation(&found(&["a", "new"]), &last(&[&a, &b]), &all));
        assert_eq!(plan.prune, [b.id]);
        assert_eq!(plan.add.len(), 1);
        assert_eq!(plan.add[0].text, "new");
    }

    #[test]
    fn agm_15_a_branch_a_rollback_a_missing_section_and_an_agent_delete_nothing() {
        let a = known(1, "a", true);
        let all = [a.clone()];
        let (empty, wrote) = (found(&[]), last(&[&a]));
        let base = situation(&empty, &wrote, &all);
        assert_eq!(reconcile(&base).prune.len(), 1);
        let elsewhere = Situation { branch: Some("other"), ..base.clone() };
        let rolled_back = Situation { rolled_back: true, ..base.clone() };
        let agent = Situation { after_attempt: true, ..base.clone() };
        let gone = Situation { found: None, ..base.clone() };
        let bare = Found::default();
        let no_section = Situation { found: Some(&bare), ..base.clone() };
        let unknown = Situation { last: None, ..base };
        for safe in [elsewhere, rolled_back, agent, gone, no_section, unknown] {
            assert_eq!(reconcile(&safe).prune, []);
        }
    }

    #[test]
    fn what_was_archived_leaves_the_file_and_comes_back_when_somebody_writes_it_again() {
        let a = known(1, "a", false);
        let all = [a.clone()];
        let there = found(&["a"]);
        assert_eq!(reconcile(&situation(&there, &last(&[&a]), &all)).remove.len(), 1);
        let again = reconcile(&situation(&there, &last(&[]), &all));
        assert_eq!((again.restore, again.remove.len()), (vec![a.id], 0));
    }

    #[test]
    fn what_was_archived_after_the_file_was_written_is_not_wanted_back() {
        let mut a = known(1, "a", false);
        a.archived_at = Some(Timestamp::from_secs(20));
        let all = [a.clone()];
        let (there, wrote) = (found(&["a"]), last(&[]));
        let at = |secs| Situation {
            written_at: Some(Timestamp::from_secs(secs)),
            ..situation(&there, &wrote, &all)
        };
        assert_eq!(reconcile(&at(10)).remove.len(), 1);
        assert_eq!(reconcile(&at(30)).restore, [a.id.clone()]);
    }

    #[test]
    fn agm_15_what_was_deleted_does_not_come_back_from_another_branch() {
        let a = known(1, "a", false);
        let all = [a.clone()];
        let there = found(&["a"]);
        let wrote = last(&[]);
        let other = Situation { branch: Some("other"), ..situation(&there, &wrote, &all) };
        let first = reconcile(&other);
        assert_eq!(first.old, [(a.id.clone(), Section::ErrorFixes)]);
        assert_eq!((first.restore.len(), first.remove.len()), (0, 0));
        let remembered =
            LastWrite { branch: Some("other".into()), bullets: first.old, ..LastWrite::default() };
        let second = reconcile(&Situation { last: Some(&remembered), ..other });
        assert_eq!((second.restore.len(), second.remove.len()), (0, 1));
    }

    #[test]
    fn agm_15_wrapped_lines_are_the_same_bullet() {
        let a = known(1, "never link twice, it breaks", true);
        let all = [a.clone()];
        let wrapped = found(&["never link twice,\nit  breaks"]);
        let plan = reconcile(&situation(&wrapped, &last(&[&a]), &all));
        assert_eq!(plan, SyncPlan::default());
    }

    #[test]
    fn agm_14_a_place_follows_from_the_category() {
        let section = |category: &str, tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).into()).collect();
            let place = place(category, &tags);
            (place.section, place.phase)
        };
        assert_eq!(section("pitfall", &["phase 2"]), (Section::ErrorFixes, None));
        assert_eq!(section("debugging_technique", &[]), (Section::ErrorFixes, None));
        let two = Some("2".to_owned());
        assert_eq!(section("other", &["Phase-02"]), (Section::PhaseSpecific, two));
        assert_eq!(section("Phase-Specific", &[]), (Section::PhaseSpecific, None));
        assert_eq!(section("tool_usage", &["phase"]), (Section::CodebasePatterns, None));
    }
}
