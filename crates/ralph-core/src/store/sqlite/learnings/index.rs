//! The index of active learnings. Triggers note which learnings changed; [`sync`] brings the index up to date inside
//! the same transaction, or when the file is next opened by a Ralph.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, params};

use super::super::rows;
use crate::recall::tokens::{each_token, index_text};

/// A learning's text as the index holds it.
struct Doc {
    title: String,
    content: String,
    tags: String,
    /// The distinct tokens of all three.
    terms: BTreeSet<String>,
    /// The distinct tags in lower case.
    tag_names: BTreeSet<String>,
}

impl Doc {
    fn new(title: &str, content: &str, tags: &[String]) -> Self {
        let joined = tags.join("\n");
        let mut terms = BTreeSet::new();
        for text in [title, content, &joined] {
            each_token(text, |token| {
                terms.insert(token.to_owned());
            });
        }
        Self {
            title: index_text(title),
            content: index_text(content),
            tags: index_text(&joined),
            terms,
            tag_names: tags.iter().map(|tag| tag.trim().to_lowercase()).collect(),
        }
    }
}

/// By how much counts change.
#[derive(Default)]
struct Deltas {
    terms: HashMap<String, i64>,
    tags: HashMap<String, i64>,
    documents: i64,
}

impl Deltas {
    fn count<'t>(
        &mut self,
        terms: impl Iterator<Item = &'t str>,
        tags: impl Iterator<Item = &'t str>,
        by: i64,
    ) {
        for term in terms {
            *self.terms.entry(term.to_owned()).or_default() += by;
        }
        for tag in tags {
            *self.tags.entry(tag.to_owned()).or_default() += by;
        }
        self.documents += by;
    }
}

/// Whether anything changed since the index was last brought up to date.
pub(in super::super) fn is_behind(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM learning_changes)")?
        .query_row([], |row| row.get(0))
}

/// Indexes what changed.
pub(in super::super) fn sync(tx: &Connection) -> rusqlite::Result<()> {
    if !is_behind(tx)? {
        return Ok(());
    }
    let changed: Vec<String> = tx
        .prepare_cached("SELECT learning_id FROM learning_changes ORDER BY learning_id")?
        .query_map([], |row| rows::text(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut deltas = Deltas::default();
    for id in &changed {
        remove(tx, id, &mut deltas)?;
        add(tx, id, &mut deltas)?;
    }
    write_counts(tx, &deltas)?;
    tx.prepare_cached("DELETE FROM learning_changes")?
        .execute([])?;
    Ok(())
}

fn remove(tx: &Connection, id: &str, deltas: &mut Deltas) -> rusqlite::Result<()> {
    let known: Option<(i64, String, String)> = tx
        .prepare_cached("SELECT doc, terms, tags FROM learning_docs WHERE learning_id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((doc, terms, tags)) = known else {
        return Ok(());
    };
    tx.prepare_cached("DELETE FROM learning_index WHERE rowid = ?1")?
        .execute([doc])?;
    tx.prepare_cached("DELETE FROM learning_docs WHERE doc = ?1")?
        .execute([doc])?;
    let tags = rows::json_list(&tags);
    deltas.count(
        terms.split_whitespace(),
        tags.iter().map(String::as_str),
        -1,
    );
    Ok(())
}

fn add(tx: &Connection, id: &str, deltas: &mut Deltas) -> rusqlite::Result<()> {
    let active: Option<Doc> = tx
        .prepare_cached(
            "SELECT coalesce(title, ''), content, relevance_tags FROM learnings
             WHERE id = ?1 AND pruned_at IS NULL AND superseded_by IS NULL",
        )?
        .query_row([id], |row| {
            let tags = rows::json_list(&rows::text(row, 2)?);
            Ok(Doc::new(&rows::text(row, 0)?, &rows::text(row, 1)?, &tags))
        })
        .optional()?;
    let Some(doc) = active else { return Ok(()) };
    let terms: Vec<&str> = doc.terms.iter().map(String::as_str).collect();
    tx.prepare_cached("INSERT INTO learning_docs (learning_id, terms, tags) VALUES (?1, ?2, ?3)")?
        .execute(params![id, terms.join(" "), rows::to_json(&doc.tag_names)])?;
    tx.prepare_cached(
        "INSERT INTO learning_index (rowid, title, content, tags) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![
        tx.last_insert_rowid(),
        doc.title,
        doc.content,
        doc.tags
    ])?;
    let tags = doc.tag_names.iter().map(String::as_str);
    deltas.count(terms.into_iter(), tags, 1);
    Ok(())
}

fn write_counts(tx: &Connection, deltas: &Deltas) -> rusqlite::Result<()> {
    for (table, column, counts) in [
        ("learning_terms", "term", &deltas.terms),
        ("learning_tags", "tag", &deltas.tags),
    ] {
        // In order: neighbours share pages, and a file is the same however the map was.
        let mut counts: Vec<(&String, &i64)> = counts.iter().filter(|(_, by)| **by != 0).collect();
        counts.sort_unstable();
        let mut change = tx.prepare_cached(&format!(
            "INSERT INTO {table} ({column}, documents) VALUES (?1, ?2)
             ON CONFLICT ({column}) DO UPDATE SET documents = documents + excluded.documents"
        ))?;
        let mut drop_unused = tx.prepare_cached(&format!(
            "DELETE FROM {table} WHERE {column} = ?1 AND documents <= 0"
        ))?;
        for (word, by) in counts {
            change.execute(params![word, by])?;
            if *by < 0 {
                drop_unused.execute([word])?;
            }
        }
    }
    tx.prepare_cached("UPDATE learning_corpus SET documents = documents + ?1")?
        .execute([deltas.documents])?;
    Ok(())
}

/// How many learnings are active; kept, so that it costs nothing.
pub(super) fn documents(conn: &Connection) -> rusqlite::Result<u64> {
    conn.prepare_cached("SELECT documents FROM learning_corpus")?
        .query_row([], |row| rows::count(row, 0))
}

/// How many active learnings have a token.
pub(super) fn term_count(conn: &Connection, term: &str) -> rusqlite::Result<u64> {
    count(
        conn,
        "SELECT documents FROM learning_terms WHERE term = ?1",
        term,
    )
}

/// How many active learnings have a tag, given in lower case.
pub(super) fn tag_count(conn: &Connection, tag: &str) -> rusqlite::Result<u64> {
    count(
        conn,
        "SELECT documents FROM learning_tags WHERE tag = ?1",
        tag,
    )
}

fn count(conn: &Connection, sql: &str, word: &str) -> rusqlite::Result<u64> {
    conn.prepare_cached(sql)?
        .query_row([word], |row| rows::count(row, 0))
        .optional()
        .map(Option::unwrap_or_default)
}

/// Documents with a token, those indexed last first.
pub(super) fn postings(conn: &Connection, token: &str, most: u64) -> rusqlite::Result<Vec<i64>> {
    // Tokens have no quotes: they are letters, digits, marks and `_`.
    conn.prepare_cached(
        "SELECT rowid FROM learning_index WHERE learning_index MATCH ?1 ORDER BY rowid DESC LIMIT ?2",
    )?
    .query_map(params![format!("\"{token}\""), most], |row| row.get(0))?
    .collect()
}
