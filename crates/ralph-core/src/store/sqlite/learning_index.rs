//! The full-text index of active learnings (FTS5). Triggers note which learnings changed; [`sync`] brings the index up to
//! date inside the same transaction, or when the file is next opened by a Ralph.

use std::collections::{BTreeSet, HashMap};

use crate::memory::recall::tokens::{each_token, index_text};
use crate::model::LearningId;
use crate::store::Result;
use crate::store::connection::Dialect;
use crate::store::sql::{Changes, Connection, Json, Statements, bind};

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
pub(in crate::store) fn is_behind(conn: &Connection) -> Result<bool> {
    conn.has("SELECT 1 FROM learning_changes", [])
}

pub(in crate::store) fn sync(tx: &Connection) -> Result<()> {
    let sql = "SELECT learning_id FROM learning_changes ORDER BY learning_id";
    let changed: Vec<LearningId> = tx.all(sql, [])?;
    if changed.is_empty() {
        return Ok(());
    }
    let mut deltas = Deltas::default();
    for id in &changed {
        remove(tx, id, &mut deltas)?;
        add(tx, id, &mut deltas)?;
    }
    write_counts(tx, &deltas)?;
    tx.change("DELETE FROM learning_changes", [])
}

fn remove(tx: &Connection, id: &LearningId, deltas: &mut Deltas) -> Result<()> {
    let sql = "SELECT doc, terms, tags FROM learning_docs WHERE learning_id = ?1";
    let Some((doc, terms, tags)) = tx.first::<(i64, String, Vec<String>)>(sql, [id])? else { return Ok(()) };
    if tx.dialect() == Dialect::Sqlite {
        tx.change("DELETE FROM learning_index WHERE rowid = ?1", [doc])?;
    }
    tx.change("DELETE FROM learning_docs WHERE doc = ?1", [doc])?;
    let tags = tags.iter().map(String::as_str);
    deltas.count(terms.split_whitespace(), tags, -1);
    Ok(())
}

fn add(tx: &Connection, id: &LearningId, deltas: &mut Deltas) -> Result<()> {
    let sql = "SELECT title, content, relevance_tags FROM learnings
         WHERE id = ?1 AND pruned_at IS NULL AND superseded_by IS NULL";
    let Some((title, content, tags)) = tx.first::<(String, String, Vec<String>)>(sql, [id])? else {
        return Ok(());
    };
    let doc = Doc::new(&title, &content, &tags);
    let terms: Vec<&str> = doc.terms.iter().map(String::as_str).collect();
    let (words, tags) = (terms.join(" "), Json(&doc.tag_names));
    let values = bind! { learning_id: id, terms: words, tags };
    let number = tx.insert_numbered("learning_docs", "doc", values)?;
    index(tx, number, &doc)?;
    let tags = doc.tag_names.iter().map(String::as_str);
    deltas.count(terms.into_iter(), tags, 1);
    Ok(())
}

/// Puts the words of a learning into the index.
fn index(tx: &Connection, number: i64, doc: &Doc) -> Result<()> {
    match tx.dialect() {
        Dialect::Sqlite => tx.insert(
            "learning_index",
            bind! { rowid: number, title: doc.title, content: doc.content, tags: doc.tags },
        ),
        Dialect::Postgres => {
            let sql =
                "INSERT INTO learning_postings (term, doc) SELECT value, :number FROM json_each(:terms)";
            tx.change(sql, bind! { number, terms: Json(&doc.terms) })
        }
    }
}

/// Indexes a learning again that was copied with its number.
pub(in crate::store) fn fill(tx: &Connection, number: i64, id: &str) -> Result<()> {
    let sql = "SELECT title, content, relevance_tags FROM learnings WHERE id = ?1";
    let Some((title, content, tags)) = tx.first::<(String, String, Vec<String>)>(sql, [id])? else {
        return Ok(());
    };
    index(tx, number, &Doc::new(&title, &content, &tags))
}

fn write_counts(tx: &Connection, deltas: &Deltas) -> Result<()> {
    for (table, column, counts) in
        [("learning_terms", "term", &deltas.terms), ("learning_tags", "tag", &deltas.tags)]
    {
        // In order: neighbors share pages, and a file is the same however the map was.
        let mut counts: Vec<(&String, &i64)> = counts.iter().filter(|(_, by)| **by != 0).collect();
        counts.sort_unstable();
        let change = format!(
            "INSERT INTO {table} ({column}, documents) VALUES (:word, :by)
             ON CONFLICT ({column}) DO UPDATE SET documents = {table}.documents + excluded.documents"
        );
        let drop_unused = format!("DELETE FROM {table} WHERE {column} = ?1 AND documents <= 0");
        for (word, by) in counts {
            tx.change(&change, bind! { word, by })?;
            if *by < 0 {
                tx.change(&drop_unused, [word])?;
            }
        }
    }
    tx.change("UPDATE learning_corpus SET documents = documents + ?1", [deltas.documents])
}

pub(in crate::store) fn documents(conn: &Connection) -> Result<u64> {
    conn.one("SELECT documents FROM learning_corpus", [])
}

pub(in crate::store) fn term_count(conn: &Connection, term: &str) -> Result<u64> {
    Ok(conn.first("SELECT documents FROM learning_terms WHERE term = ?1", [term])?.unwrap_or(0))
}

/// How many active learnings have a tag, given in lower case.
pub(in crate::store) fn tag_count(conn: &Connection, tag: &str) -> Result<u64> {
    Ok(conn.first("SELECT documents FROM learning_tags WHERE tag = ?1", [tag])?.unwrap_or(0))
}

/// Documents with a token, those indexed last first.
pub(in crate::store) fn postings(conn: &Connection, token: &str, most: u64) -> Result<Vec<i64>> {
    match conn.dialect() {
        Dialect::Sqlite => {
            // Tokens have no quotes: they are letters, digits, marks and `_`.
            let token = format!("\"{token}\"");
            let sql = "SELECT rowid FROM learning_index WHERE learning_index MATCH :token
                 ORDER BY rowid DESC LIMIT :most";
            conn.all(sql, bind! { token, most })
        }
        Dialect::Postgres => {
            let sql = "SELECT doc FROM learning_postings WHERE term = :token ORDER BY doc DESC LIMIT :most";
            conn.all(sql, bind! { token, most })
        }
    }
}
