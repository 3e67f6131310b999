//! Rows are added and archived, never rewritten: an edit, a merge and a join are each a new row that replaces the old
//! ones, and restoring brings those back.

use serde::{Deserialize, Serialize};

use super::{LearningFilter, active, find, index, known};
use crate::memory::agents_md::collapsed;
use crate::memory::recall::upkeep::{Merge, UpkeepPolicy, is_stale};
use crate::model::{
    Learning, LearningId, LearningState, NewLearning, Record, Source, TaskId, Timestamp, counted,
};
use crate::store::sql::{Changes, Connection, Statements, bind, record};
use crate::store::{Durability, Random, Result, Store, StoreError};

/// No line of edits and merges is longer; the bound is for files that say otherwise.
const LONGEST_LINE: u32 = 10_000;

#[derive(Clone, Debug)]
pub struct ImportedLearning {
    pub id: Option<LearningId>,
    pub created_at: Option<Timestamp>,
    pub learning: NewLearning,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    pub added: Vec<LearningId>,
    /// Ids that were there already, with the same text.
    pub known: Vec<LearningId>,
}

/// A change to a learning; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearningEdit {
    pub category: Option<String>,
    /// Another title; `Some(None)` takes it away.
    pub title: Option<Option<String>>,
    pub content: Option<String>,
    pub tags: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    pub into: LearningId,
    pub from: Vec<LearningId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    pub restored: Vec<LearningId>,
    /// These had replaced them and were archived.
    pub retired: Vec<LearningId>,
}

impl Store {
    /// A write after which the index is up to date.
    pub(in super::super) fn write_indexed<T>(
        &mut self,
        mut change: impl FnMut(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.write(Durability::Power, |tx| {
            let value = change(tx)?;
            index::sync(tx)?;
            Ok(value)
        })
    }

    pub fn add_learning(
        &mut self,
        new: &NewLearning,
        source: Source,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<LearningId> {
        let origin = Origin { task: None, source, created_at: now };
        self.write_indexed(|tx| insert(tx, new, &origin, random))
    }

    /// Adds those of a file, all or none. Ids are kept and nothing is merged.
    pub fn import_learnings(
        &mut self,
        learnings: &[ImportedLearning],
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<Imported> {
        self.write_indexed(|tx| {
            let mut done = Imported::default();
            for imported in learnings {
                let new = &imported.learning;
                let created_at = imported.created_at.unwrap_or(now);
                let origin = Origin { task: None, source: Source::Import, created_at };
                let Some(id) = &imported.id else {
                    done.added.push(insert(tx, new, &origin, random)?);
                    continue;
                };
                match find(tx, id.as_str())? {
                    None => {
                        insert_as(tx, id, new, &origin)?;
                        done.added.push(id.clone());
                    }
                    Some(there) if there.category == new.category && there.content == new.content => {
                        done.known.push(id.clone());
                    }
                    Some(_) => return Err(StoreError::LearningIdTaken(id.clone())),
                }
            }
            Ok(done)
        })
    }

    /// Adds a changed copy that replaces an active one.
    pub fn edit_learning(
        &mut self,
        id: &LearningId,
        edit: &LearningEdit,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<LearningId> {
        self.write_indexed(|tx| {
            let (old, edit) = (active(tx, id)?, edit.clone());
            let new = NewLearning {
                category: edit.category.unwrap_or_else(|| old.category.clone()),
                title: edit.title.unwrap_or_else(|| old.title.clone()),
                content: edit.content.unwrap_or_else(|| old.content.clone()),
                tags: edit.tags.unwrap_or_else(|| old.tags.clone()),
            };
            // A line of edits runs forward in time, whatever a file said of the first.
            let created_at = now.max(old.created_at);
            let origin = Origin { task: old.task_id.as_ref(), source: Source::Human, created_at };
            let new = insert(tx, &new, &origin, random)?;
            supersede(tx, &new, &[old])?;
            Ok(new)
        })
    }

    /// Keeps a learning from being withheld and pruned, or ends that.
    pub fn pin_learning(&mut self, id: &LearningId, pinned: bool) -> Result<()> {
        self.write(Durability::Power, |tx| {
            if pinned {
                active(tx, id)?
            } else {
                known(tx, id)?
            };
            tx.change("UPDATE learnings SET pinned = :pinned WHERE id = :id", bind! { id, pinned })
        })
    }

    pub fn prune_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<()> {
        self.write_indexed(|tx| prune(tx, ids, now))
    }

    pub fn stale_learnings(&self, policy: &UpkeepPolicy, now: Timestamp) -> Result<Vec<Learning>> {
        let old = LearningFilter { before: Some(policy.old_before(now)), ..LearningFilter::active() };
        let mut stale = self.learnings(&old)?;
        stale.retain(|learning| is_stale(learning, now, policy));
        Ok(stale)
    }

    /// Archives what is old and long unused; returns what it was.
    pub fn prune_stale(&mut self, policy: &UpkeepPolicy, now: Timestamp) -> Result<Vec<LearningId>> {
        let stale = self.stale_learnings(policy, now)?;
        if stale.is_empty() {
            return Ok(Vec::new());
        }
        self.write_indexed(|tx| {
            let mut pruned = Vec::new();
            for suspect in &stale {
                // Asked again inside the lock: it may have been used or pinned meanwhile.
                if let Some(learning) = find(tx, suspect.id.as_str())?
                    && is_stale(&learning, now, policy)
                {
                    archive(tx, &learning.id, now)?;
                    pruned.push(learning.id);
                }
            }
            Ok(pruned)
        })
    }

    /// Joins learnings: a new row per merge with the best one's text, all tags and the sum of the counters.
    pub fn merge_learnings(&mut self, merges: &[Merge], random: Random<'_>) -> Result<Vec<Merged>> {
        self.write_indexed(|tx| {
            let mut merged = Vec::new();
            for one in merges {
                merged.extend(merge(tx, one, random)?);
            }
            Ok(merged)
        })
    }

    /// Undoes a pruning, a merge or an edit: what was archived can be shown again, and what had replaced it is archived,
    /// with all else it stood for brought back.
    pub fn restore_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<Restored> {
        self.write_indexed(|tx| {
            let mut done = Restored::default();
            for id in ids {
                let learning = known(tx, id)?;
                if done.restored.contains(id) {
                    continue;
                }
                if learning.superseded_by.is_some() {
                    undo_line(tx, learning, now, &mut done)?;
                } else if learning.state == LearningState::Pruned {
                    bring_back(tx, id, now, &mut done)?;
                } else if merged_from(tx, id)?.len() > 1 {
                    // A merge that is named itself is undone too.
                    retire(tx, &learning, None, now, &mut done)?;
                }
            }
            Ok(done)
        })
    }

    /// Notes what was merged and archived together, under a name by which all of it can be undone.
    pub fn note_batch(&mut self, learnings: &[LearningId], random: Random<'_>) -> Result<String> {
        self.write(Durability::Process, |tx| {
            let batch = format!("m-{:08x}", random() as u32);
            for id in learnings {
                let values = bind! { batch, learning_id: id };
                tx.insert_new("learning_batches", values)?;
            }
            Ok(batch)
        })
    }

    /// What was merged and archived together: by the batch's name, or by that of a learning in it. A merged learning of
    /// no batch is one by itself.
    pub fn batch(&self, name: &str) -> Result<Vec<LearningId>> {
        self.read_once(|conn| {
            let sql = "SELECT learning_id FROM learning_batches WHERE batch = ?1
                     OR batch = (SELECT max(batch) FROM learning_batches WHERE learning_id = ?1)
                 ORDER BY learning_id";
            let of_batch: Vec<LearningId> = conn.all(sql, [name])?;
            let itself = LearningId::from_stored(name);
            if of_batch.is_empty() && merged_from(conn, &itself)?.len() > 1 {
                return Ok(vec![itself]);
            }
            Ok(of_batch)
        })
    }
}

/// Where a new row comes from.
pub(super) struct Origin<'t> {
    pub task: Option<&'t TaskId>,
    pub source: Source,
    pub created_at: Timestamp,
}

record!(writes NewLearning { category, title, content, tags = "relevance_tags" });

/// Adds a row with nothing shown and nothing judged yet.
pub(super) fn insert(
    tx: &Connection,
    new: &NewLearning,
    origin: &Origin<'_>,
    random: Random<'_>,
) -> Result<LearningId> {
    let mut id = LearningId::from_random(random());
    while tx.has("SELECT 1 FROM learnings WHERE id = ?1", [&id])? {
        id = LearningId::from_random(random());
    }
    insert_as(tx, &id, new, origin)?;
    Ok(id)
}

fn insert_as(tx: &Connection, id: &LearningId, new: &NewLearning, origin: &Origin<'_>) -> Result<()> {
    let Origin { task, source, created_at } = origin;
    let more = bind! { id, task_id: task, source, created_at };
    tx.insert_record("learnings", new, more)
}

/// Adds learnings that come from no attempt.
pub(in super::super) fn add_all(
    tx: &Connection,
    learnings: &[NewLearning],
    source: Source,
    now: Timestamp,
    random: Random<'_>,
) -> Result<Vec<LearningId>> {
    let origin = Origin { task: None, source, created_at: now };
    let mut ids = Vec::new();
    for learning in learnings {
        ids.push(insert(tx, learning, &origin, random)?);
    }
    Ok(ids)
}

pub(in super::super) fn prune(tx: &Connection, ids: &[LearningId], now: Timestamp) -> Result<()> {
    for id in ids {
        active(tx, id)?;
        archive(tx, id, now)?;
    }
    Ok(())
}

pub(super) fn archive(tx: &Connection, id: &LearningId, now: Timestamp) -> Result<()> {
    tx.change("UPDATE learnings SET pruned_at = :now WHERE id = :id", bind! { id, now })
}

/// Makes `new` stand for `old`: it takes over their counters and verdicts, and they point to it.
pub(super) fn supersede(tx: &Connection, new: &LearningId, old: &[Learning]) -> Result<()> {
    let record = old.iter().map(|one| one.record).fold(Record::default(), Record::plus);
    let shown = old.iter().map(|one| one.shown).fold(0, counted);
    tx.change(
        "UPDATE learnings SET helpful = helpful + :helpful, harmful = harmful + :harmful,
             judged = judged + :judged, expected = expected + :expected, shown = shown + :shown,
             last_used_at = :last_used_at, pinned = max(pinned, :pinned)
         WHERE id = :id",
        bind! {
            id: new, helpful: record.helpful, harmful: record.harmful, judged: record.judged,
            expected: record.expected, shown,
            last_used_at: old.iter().filter_map(|one| one.last_used_at).max(),
            pinned: old.iter().any(|one| one.pinned),
        },
    )?;
    for learning in old {
        let pair = bind! { old: learning.id, new };
        tx.change("UPDATE learnings SET superseded_by = :new WHERE id = :old", pair)?;
        // So that a task that has judged one of them does not judge the new one a second time.
        tx.change(
            "INSERT INTO learning_verdicts (learning_id, task_id, helpful, expected)
             SELECT :new, task_id, helpful, expected FROM learning_verdicts
             WHERE learning_id = :old ON CONFLICT DO NOTHING",
            pair,
        )?;
    }
    Ok(())
}

/// `None` where fewer than two of the members are still active: another process was quicker.
fn merge(tx: &Connection, merge: &Merge, random: Random<'_>) -> Result<Option<Merged>> {
    let mut members = Vec::new();
    for member in &merge.members {
        members.extend(find(tx, member.id.as_str())?);
    }
    members.retain(|learning| learning.state == LearningState::Active);
    let Some(best) = members.first().filter(|_| members.len() > 1) else { return Ok(None) };
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
        source: if best.source.is_person() { best.source } else { Source::Merge },
        created_at: newest.unwrap_or(best.created_at),
    };
    let into = insert(tx, &new, &origin, random)?;
    supersede(tx, &into, &members)?;
    let from = members.into_iter().map(|member| member.id).collect();
    Ok(Some(Merged { into, from }))
}

/// Brings back a learning that another one replaced. What stands at the end of the line is archived, and whatever else
/// it stood for comes back as well: nothing that was known is lost with it.
fn undo_line(tx: &Connection, learning: Learning, now: Timestamp, done: &mut Restored) -> Result<()> {
    bring_back(tx, &learning.id, now, done)?;
    let heir = learning.id.clone();
    let mut below = learning;
    for _ in 0..LONGEST_LINE {
        // What it only repeated was there before it, and stays.
        let Some(next) = below.superseded_by.as_ref().filter(|_| !below.repeats) else { break };
        let successor = known(tx, next)?;
        retire(tx, &successor, Some((&below.id, &heir)), now, done)?;
        below = successor;
    }
    Ok(())
}

/// Archives what replaced others, and brings those back, but for the one it is reached by. What only repeated it now
/// repeats the one that was asked for.
fn retire(
    tx: &Connection,
    successor: &Learning,
    reached_by: Option<(&LearningId, &LearningId)>,
    now: Timestamp,
    done: &mut Restored,
) -> Result<()> {
    let members = merged_from(tx, &successor.id)?;
    for member in &members {
        if reached_by.is_none_or(|(below, _)| below != member) {
            bring_back(tx, member, now, done)?;
        }
    }
    if let Some(heir) = reached_by.map(|(_, heir)| heir).or(members.first()) {
        let sql = "UPDATE learnings SET superseded_by = :heir
             WHERE superseded_by = :successor AND repeats = 1";
        tx.change(sql, bind! { successor: successor.id, heir })?;
    }
    if successor.state == LearningState::Active {
        archive(tx, &successor.id, now)?;
        done.retired.push(successor.id.clone());
    }
    Ok(())
}

pub(super) fn merged_from(tx: &Connection, id: &LearningId) -> Result<Vec<LearningId>> {
    tx.all("SELECT id FROM learnings WHERE superseded_by = ?1 AND repeats = 0 ORDER BY id", [id])
}

fn bring_back(tx: &Connection, id: &LearningId, now: Timestamp, done: &mut Restored) -> Result<()> {
    tx.change(
        "UPDATE learnings SET pruned_at = NULL, superseded_by = NULL, repeats = 0,
             restored_at = :now WHERE id = :id",
        bind! { id, now },
    )?;
    let text = collapsed(&content(tx, id)?);
    tx.change("DELETE FROM agents_md_deleted WHERE content = ?1", [text])?;
    if !done.restored.contains(id) {
        done.restored.push(id.clone());
    }
    Ok(())
}

fn content(tx: &Connection, id: &LearningId) -> Result<String> {
    tx.one("SELECT content FROM learnings WHERE id = ?1", [id])
}

/// Notes that a person deleted these from AGENTS.md: no agent brings them back.
pub(in super::super) fn note_deleted(tx: &Connection, ids: &[LearningId]) -> Result<()> {
    for id in ids {
        let text = collapsed(&content(tx, id)?);
        tx.insert_new("agents_md_deleted", bind! { content: text })?;
    }
    Ok(())
}

pub(super) fn is_deleted(tx: &Connection, content: &str) -> Result<bool> {
    tx.has("SELECT 1 FROM agents_md_deleted WHERE content = ?1", [collapsed(content)])
}
