//! Rows are added and put away, never rewritten: an edit, a merge and a join are each a new row in the old ones' place.

use rusqlite::{Connection, params};

use super::super::{Refusal, rows};
use super::find;
use crate::model::{
    Learning, LearningId, LearningState, NewLearning, Record, Source, TaskId, Timestamp, counted,
};
use crate::recall::upkeep::Merge;
use crate::store::{Imported, ImportedLearning, LearningEdit, Merged, Random, StoreError};

/// Where a new row comes from.
pub(super) struct Origin<'t> {
    pub task: Option<&'t TaskId>,
    pub source: Source,
    pub created_at: Timestamp,
}

/// A row with nothing shown and nothing judged yet.
pub(super) fn insert(
    tx: &Connection,
    new: &NewLearning,
    origin: &Origin<'_>,
    random: Random<'_>,
) -> rusqlite::Result<LearningId> {
    let id = free_id(tx, random)?;
    insert_as(tx, &id, new, origin)?;
    Ok(id)
}

fn free_id(tx: &Connection, random: Random<'_>) -> rusqlite::Result<LearningId> {
    let mut taken = tx.prepare_cached("SELECT 1 FROM learnings WHERE id = ?1")?;
    loop {
        let id = LearningId::from_random(random());
        if !taken.exists([id.as_str()])? {
            return Ok(id);
        }
    }
}

fn insert_as(
    tx: &Connection,
    id: &LearningId,
    new: &NewLearning,
    origin: &Origin<'_>,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO learnings (id, task_id, category, title, content, relevance_tags, created_at, source)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        id.as_str(),
        origin.task.map(TaskId::as_str),
        new.category,
        new.title,
        new.content,
        rows::to_json(&new.tags),
        origin.created_at.to_string(),
        origin.source.as_str(),
    ])?;
    Ok(())
}

/// The learning, if it is active.
pub(super) fn active(tx: &Connection, id: &LearningId) -> Result<Learning, Refusal> {
    let learning = known(tx, id)?;
    if learning.state != LearningState::Active {
        return Err(StoreError::LearningNotActive {
            id: id.clone(),
            state: learning.state,
            successor: learning.superseded_by,
        }
        .into());
    }
    Ok(learning)
}

pub(super) fn known(tx: &Connection, id: &LearningId) -> Result<Learning, Refusal> {
    Ok(find(tx, id.as_str())?.ok_or_else(|| StoreError::UnknownLearning(id.to_string()))?)
}

pub(super) fn put_away(tx: &Connection, id: &LearningId, now: Timestamp) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE learnings SET pruned_at = ?2 WHERE id = ?1")?
        .execute([id.as_str(), &now.to_string()])?;
    Ok(())
}

/// What several rows' histories give together.
#[derive(Default)]
struct History {
    record: Record,
    shown: u64,
    last_used_at: Option<Timestamp>,
    pinned: bool,
}

impl History {
    fn of<'l>(learnings: impl IntoIterator<Item = &'l Learning>) -> Self {
        learnings
            .into_iter()
            .fold(Self::default(), |sum, learning| Self {
                record: sum.record.plus(learning.record),
                shown: counted(sum.shown, learning.shown),
                last_used_at: sum.last_used_at.max(learning.last_used_at),
                pinned: sum.pinned || learning.pinned,
            })
    }
}

/// Makes `new` stand for `old`: it takes over their counters and verdicts, and they point to it.
pub(super) fn supersede(
    tx: &Connection,
    new: &LearningId,
    old: &[&Learning],
) -> rusqlite::Result<()> {
    let history = History::of(old.iter().copied());
    tx.prepare_cached(
        "UPDATE learnings SET helpful = helpful + ?2, harmful = harmful + ?3, judged = judged + ?4,
                expected = expected + ?5, shown = shown + ?6, last_used_at = ?7, pinned = max(pinned, ?8)
         WHERE id = ?1",
    )?
    .execute(params![
        new.as_str(),
        history.record.helpful,
        history.record.harmful,
        history.record.judged,
        history.record.expected,
        history.shown,
        history.last_used_at.map(|time| time.to_string()),
        history.pinned,
    ])?;
    for learning in old {
        tx.prepare_cached("UPDATE learnings SET superseded_by = ?2 WHERE id = ?1")?
            .execute([learning.id.as_str(), new.as_str()])?;
        // So that a task that has judged one of them does not judge the new one a second time.
        tx.prepare_cached(
            "INSERT OR IGNORE INTO learning_verdicts (learning_id, task_id, helpful, expected)
             SELECT ?2, task_id, helpful, expected FROM learning_verdicts WHERE learning_id = ?1",
        )?
        .execute([learning.id.as_str(), new.as_str()])?;
    }
    Ok(())
}

pub(super) fn edit(
    tx: &Connection,
    id: &LearningId,
    edit: &LearningEdit,
    now: Timestamp,
    random: Random<'_>,
) -> Result<LearningId, Refusal> {
    let old = active(tx, id)?;
    let new = NewLearning {
        category: edit
            .category
            .clone()
            .unwrap_or_else(|| old.category.clone()),
        title: edit.title.clone().unwrap_or_else(|| old.title.clone()),
        content: edit.content.clone().unwrap_or_else(|| old.content.clone()),
        tags: edit.tags.clone().unwrap_or_else(|| old.tags.clone()),
    };
    let origin = Origin {
        task: old.task_id.as_ref(),
        source: Source::Human,
        // A line of edits runs forward in time, whatever a file said of the first.
        created_at: now.max(old.created_at),
    };
    let new = insert(tx, &new, &origin, random)?;
    supersede(tx, &new, &[&old])?;
    Ok(new)
}

/// `None` where fewer than two of the members are still active: another process was quicker.
pub(super) fn merge(
    tx: &Connection,
    merge: &Merge,
    random: Random<'_>,
) -> Result<Option<Merged>, Refusal> {
    let mut members = Vec::new();
    for member in &merge.members {
        if let Some(learning) = find(tx, member.id.as_str())?
            && learning.state == LearningState::Active
        {
            members.push(learning);
        }
    }
    let Some(best) = members.first().filter(|_| members.len() > 1) else {
        return Ok(None);
    };
    let newest = members.iter().map(|member| member.created_at).max();
    let new = NewLearning {
        category: best.category.clone(),
        title: best.title.clone(),
        content: best.content.clone(),
        tags: merge.tags.clone(),
    };
    let origin = Origin {
        task: best.task_id.as_ref(),
        // What a person wrote stays a person's.
        source: if best.source.is_person() {
            best.source
        } else {
            Source::Merge
        },
        created_at: newest.unwrap_or(best.created_at),
    };
    let into = insert(tx, &new, &origin, random)?;
    supersede(tx, &into, &members.iter().collect::<Vec<_>>())?;
    Ok(Some(Merged {
        into,
        from: members.into_iter().map(|member| member.id).collect(),
    }))
}

pub(super) fn import(
    tx: &Connection,
    learnings: &[ImportedLearning],
    now: Timestamp,
    random: Random<'_>,
) -> Result<Imported, Refusal> {
    let mut done = Imported::default();
    for imported in learnings {
        let origin = Origin {
            task: None,
            source: Source::Import,
            created_at: imported.created_at.unwrap_or(now),
        };
        let Some(id) = &imported.id else {
            done.added
                .push(insert(tx, &imported.learning, &origin, random)?);
            continue;
        };
        match find(tx, id.as_str())? {
            None => {
                insert_as(tx, id, &imported.learning, &origin)?;
                done.added.push(id.clone());
            }
            Some(there) if says_the_same(&there, &imported.learning) => done.known.push(id.clone()),
            Some(_) => return Err(StoreError::LearningIdTaken(id.clone()).into()),
        }
    }
    Ok(done)
}

fn says_the_same(there: &Learning, new: &NewLearning) -> bool {
    there.category == new.category && there.content == new.content
}
