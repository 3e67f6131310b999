//! How well learnings are recalled, on public data: `RALPH_DATA=DIR cargo bench -p ralph --bench recall`.
//!
//! Prints hit@5 and nDCG@5 of the ranking beside a plain tag count and plain BM25, over all earlier learnings and
//! over the 100 candidates that FTS5 finds with 24 words, which is how the product works. Nothing here fails a build.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::memory::recall::tokens::{index_text, words};
use ralph_core::memory::recall::weights::CANDIDATES;
use ralph_core::memory::recall::{
    Candidate, Corpus, RecallPolicy, RecallQuery, Term, lookup, rank, shortlist, terms,
};
use rusqlite::{Connection, params};

const SHOWN: usize = 5;
const CONTENT_CHARS: usize = 600;

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let Some(data) = std::env::var_os("RALPH_DATA").map(PathBuf::from) else {
        println!("recall: SKIPPED, nothing measured: RALPH_DATA does not name the data directory");
        return;
    };
    let policy = RecallPolicy::default();
    let projects = retrieval(&data);
    println!("retrieval                          queries  hit@5  nDCG@5");
    row("newest first", &evaluate(&projects, |_, query| (0..query.before).rev().collect()));
    row("tag count, then recency", &evaluate(&projects, tag_count));
    row("plain BM25", &evaluate(&projects, plain_bm25));
    row("ralph, all learnings", &evaluate(&projects, |p, q| p.ranked(q, &policy, Cut::None)));
    let cut = |p: &Project, q: &Query| p.ranked(q, &policy, Cut::Store);
    row("ralph, 100 candidates", &evaluate(&projects, cut));
    for project in &projects {
        let one = std::slice::from_ref(project);
        row(&format!("  of these {}", project.name), &evaluate(one, cut));
    }
    let duplicates = [duplicates(&data)];
    println!("duplicates");
    row("plain BM25", &evaluate(&duplicates, plain_bm25));
    row("ralph, all learnings", &evaluate(&duplicates, |p, q| p.ranked(q, &policy, Cut::None)));
    row("ralph, 100 candidates", &evaluate(&duplicates, cut));
    timing(&projects, &policy);
}

fn row(name: &str, figures: &Figures) {
    let Figures { queries, hit, ndcg } = figures;
    println!("{name:<35}{queries:>7}  {hit:>5.3}  {ndcg:>6.3}");
}

/// How long the pure part takes: terms, and rank over 100 candidates.
fn timing(projects: &[Project], policy: &RecallPolicy) {
    let mut times = Vec::new();
    for project in projects {
        for query in &project.queries {
            let (candidates, corpus) = project.candidates(query, Cut::Store);
            if candidates.len() < CANDIDATES {
                continue;
            }
            let start = Instant::now();
            let ranked = rank(&query.recall, &candidates, &corpus, query.now_ms, policy);
            times.push(start.elapsed());
            assert!(ranked.len() <= policy.max);
        }
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or(Duration::ZERO);
    println!("rank of 100 candidates: median {:?}, 99th of 100 {:?}", at(50), at(99));
}

/// One project: its learnings, oldest first, an index of them, and what is asked.
pub struct Project {
    name: String,
    learnings: Vec<Candidate>,
    queries: Vec<Query>,
    store: Connection,
    tag_df: HashMap<String, u64>,
    plain: Plain,
}

pub struct Query {
    recall: RecallQuery,
    now_ms: i64,
    /// Only the learnings before this place count.
    before: usize,
    /// Its own place, where it is a learning itself.
    own: Option<usize>,
    /// Grades by the learning's place.
    relevant: HashMap<usize, u32>,
}

#[derive(Clone, Copy)]
pub enum Cut {
    /// All earlier learnings are ranked.
    None,
    /// Those the index returns.
    Store,
}

impl Project {
    fn new(name: &str, learnings: Vec<Candidate>, queries: Vec<Query>) -> Self {
        let store = Connection::open_in_memory().unwrap();
        // The tokens are cut by Ralph; FTS5 must only not cut them again.
        store
            .execute_batch(
                "CREATE VIRTUAL TABLE found USING fts5(title, content, tags, content='',
                     tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc' tokenchars '_'\");
                 CREATE VIRTUAL TABLE vocabulary USING fts5vocab(found, row);",
            )
            .unwrap();
        let mut tag_df: HashMap<String, u64> = HashMap::new();
        for (place, learning) in learnings.iter().enumerate() {
            let tags = learning.tags.join("\n");
            store
                .execute(
                    "INSERT INTO found (rowid, title, content, tags) VALUES (?1, ?2, ?3, ?4)",
                    params![
                        i64::try_from(place).unwrap(),
                        index_text(&learning.title),
                        index_text(&learning.content),
                        index_text(&tags)
                    ],
                )
                .unwrap();
            let own: HashSet<String> = learning.tags.iter().map(|tag| tag.to_lowercase()).collect();
            for tag in own {
                *tag_df.entry(tag).or_default() += 1;
            }
        }
        let plain = Plain::new(&learnings);
        Self { name: name.to_owned(), learnings, queries, store, tag_df, plain }
    }

    fn corpus(&self, terms: &[Term]) -> Corpus {
        let mut count = self.store.prepare_cached("SELECT doc FROM vocabulary WHERE term = ?1").unwrap();
        let df = terms
            .iter()
            .filter_map(|term| {
                let df = count.query_row([&term.text], |row| row.get::<_, u64>(0)).ok()?;
                Some((term.text.clone(), df))
            })
            .collect();
        let documents = u64::try_from(self.learnings.len()).unwrap();
        Corpus { documents, df, tag_df: self.tag_df.clone() }
    }

    pub fn candidates(&self, query: &Query, cut: Cut) -> (Vec<Candidate>, Corpus) {
        let terms = terms(&query.recall);
        let corpus = self.corpus(&terms);
        let places: Vec<usize> = match cut {
            Cut::None => (0..query.before).collect(),
            Cut::Store => {
                let mut find =
                    self.store.prepare_cached("SELECT rowid FROM found WHERE found MATCH ?1").unwrap();
                let found: Vec<(f64, Vec<i64>)> = lookup(&terms, &corpus)
                    .into_iter()
                    .map(|term| {
                        let rows = find.query_map([format!("\"{}\"", term.text)], |row| row.get(0));
                        (term.worth, rows.unwrap().map(Result::unwrap).collect())
                    })
                    .collect();
                shortlist(&found)
                    .into_iter()
                    .map(|place| usize::try_from(place).unwrap())
                    .filter(|place| *place < query.before)
                    .take(CANDIDATES)
                    .collect()
            }
        };
        let candidates = places
            .into_iter()
            .filter(|place| Some(*place) != query.own)
            .map(|place| self.learnings[place].clone())
            .collect();
        (candidates, corpus)
    }

    pub fn ranked(&self, query: &Query, policy: &RecallPolicy, cut: Cut) -> Vec<usize> {
        let (candidates, corpus) = self.candidates(query, cut);
        // The learnings' ids are their places.
        rank(&query.recall, &candidates, &corpus, query.now_ms, policy)
            .iter()
            .map(|scored| scored.id.parse().unwrap())
            .collect()
    }
}

pub struct Figures {
    pub queries: usize,
    pub hit: f64,
    pub ndcg: f64,
}

pub fn evaluate(projects: &[Project], ranking: impl Fn(&Project, &Query) -> Vec<usize>) -> Figures {
    let (mut queries, mut hits, mut ndcg) = (0, 0.0, 0.0);
    for project in projects {
        for query in &project.queries {
            let mut places = ranking(project, query);
            places.retain(|place| Some(*place) != query.own);
            places.truncate(SHOWN);
            let gain = |grade: u32| f64::from(2_u32.pow(grade) - 1);
            let discount = |place: usize| (place as f64 + 2.0).log2();
            let grades = places.iter().map(|place| query.relevant.get(place).copied().unwrap_or(0));
            let got: f64 = grades.enumerate().map(|(place, grade)| gain(grade) / discount(place)).sum();
            let mut best: Vec<u32> = query.relevant.values().copied().collect();
            best.sort_unstable_by(|a, b| b.cmp(a));
            let ideal: f64 = best
                .iter()
                .take(SHOWN)
                .enumerate()
                .map(|(place, grade)| gain(*grade) / discount(place))
                .sum();
            queries += 1;
            hits += f64::from(u8::from(got > 0.0));
            ndcg += got / ideal;
        }
    }
    Figures { queries, hit: hits / queries as f64, ndcg: ndcg / queries as f64 }
}

/// How many of a learning's tags the text contains; of equal counts the newer first.
fn tag_count(project: &Project, query: &Query) -> Vec<usize> {
    let text = query.recall.text.to_lowercase();
    let mut found: HashMap<&str, bool> = HashMap::new();
    let mut ranked: Vec<(usize, usize)> = (0..query.before)
        .map(|place| {
            let tags = project.learnings[place].tags.iter();
            let count = tags
                .filter(|tag| *found.entry(tag).or_insert_with(|| text.contains(&tag.to_lowercase())))
                .count();
            (count, place)
        })
        .collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    ranked.into_iter().map(|(_, place)| place).collect()
}

/// Textbook BM25 over words, kept apart from the code under test.
struct Plain {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Plain {
    fn new(learnings: &[Candidate]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (place, learning) in learnings.iter().enumerate() {
            let mut text = learning.content.clone();
            if learning.tags.is_empty() {
                // The duplicates' baseline weighs the title three times.
                let title = &learning.title;
                write!(text, " {title} {title} {title}").unwrap();
            }
            write!(text, " {}", learning.tags.join(" ")).unwrap();
            let words = plain_words(&text);
            lengths.push(words.len() as f64);
            let mut counts: HashMap<String, f64> = HashMap::new();
            for word in words {
                *counts.entry(word).or_default() += 1.0;
            }
            for (word, count) in counts {
                postings.entry(word).or_default().push((place, count));
            }
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { postings, lengths, average }
    }
}

fn plain_words(text: &str) -> Vec<String> {
    words(&text.replace('_', " "))
}

fn plain_bm25(project: &Project, query: &Query) -> Vec<usize> {
    let (k1, b) = (1.2, 0.75);
    let plain = &project.plain;
    let all = plain.lengths.len() as f64;
    let mut scores = vec![0.0; plain.lengths.len()];
    let text = if query.own.is_some() {
        let RecallQuery { title, text, .. } = &query.recall;
        format!("{title} {title} {title} {}", first_chars(text))
    } else {
        query.recall.text.clone()
    };
    for word in plain_words(&text) {
        let Some(postings) = plain.postings.get(&word) else { continue };
        let df = postings.len() as f64;
        let idf = (1.0 + (all - df + 0.5) / (df + 0.5)).ln();
        for (place, tf) in postings {
            let norm = k1 * (1.0 - b + b * plain.lengths[*place] / plain.average);
            scores[*place] += idf * tf * (k1 + 1.0) / (tf + norm);
        }
    }
    let mut places: Vec<usize> = (0..query.before).collect();
    places.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(b.cmp(a)));
    places
}

fn first_chars(text: &str) -> String {
    text.chars().take(CONTENT_CHARS).collect()
}

/// The data's own set-up: every task is a learning, every judged task a query.
pub fn retrieval(data: &Path) -> Vec<Project> {
    let text = fs::read_to_string(data.join("retrieval_swebench_dev.jsonl")).unwrap();
    let mut tasks: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    tasks.retain(|task| task["split"] == "test");
    tasks.sort_by_key(|task| task["created_at"].as_str().unwrap().to_owned());
    let mut grades: HashMap<String, Vec<(String, u32)>> = HashMap::new();
    let qrels = fs::read_to_string(data.join("retrieval_swebench_dev_qrels.tsv")).unwrap();
    for line in qrels.lines().skip(1) {
        let mut cells = line.split('\t').map(str::to_owned);
        let query = cells.next().unwrap();
        let judged = (cells.next().unwrap(), cells.next().unwrap().parse().unwrap());
        grades.entry(query).or_default().push(judged);
    }
    let mut names: Vec<&str> = tasks.iter().map(|task| task["repo"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| project(name, &tasks, &grades)).collect()
}

fn project(name: &str, tasks: &[serde_json::Value], grades: &HashMap<String, Vec<(String, u32)>>) -> Project {
    let own: Vec<&serde_json::Value> = tasks.iter().filter(|task| task["repo"] == name).collect();
    let places: HashMap<&str, usize> =
        own.iter().enumerate().map(|(place, task)| (task["instance_id"].as_str().unwrap(), place)).collect();
    let mut learnings = Vec::new();
    let mut queries = Vec::new();
    for (place, task) in own.iter().enumerate() {
        let text = task["problem_statement"].as_str().unwrap();
        let title = text.lines().next().unwrap_or_default();
        let created = task["created_at"].as_str().unwrap();
        let mut tags = strings(&task["gold_files"]);
        tags.extend(strings(&task["gold_symbols"]));
        let mut errors: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| ["Error", "Exception", "Warning"].iter().any(|end| word.ends_with(end)))
            .map(str::to_owned)
            .collect();
        errors.sort_unstable();
        errors.dedup();
        tags.extend(errors);
        learnings.push(Candidate {
            id: place.to_string(),
            category: "pattern".to_owned(),
            title: title.to_owned(),
            content: first_chars(text),
            tags,
            created_at_ms: milliseconds(created),
            ..Candidate::default()
        });
        let Some(judged) = grades.get(task["instance_id"].as_str().unwrap()) else { continue };
        let earlier = own.iter().take_while(|other| other["created_at"].as_str() < Some(created));
        queries.push(Query {
            recall: RecallQuery { title: title.to_owned(), text: text.to_owned(), ..RecallQuery::default() },
            now_ms: milliseconds(created),
            before: earlier.count(),
            own: None,
            relevant: judged.iter().map(|(id, grade)| (places[id.as_str()], *grade)).collect(),
        });
    }
    Project::new(name, learnings, queries)
}

fn strings(list: &serde_json::Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// Good to a few days, which is all that recency looks at.
fn milliseconds(time: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| time[range].parse::<i64>().unwrap();
    let days = (part(0..4) - 1970) * 365 + (part(5..7) - 1) * 30 + part(8..10);
    days * 86_400_000
}

/// Bug reports that people marked as duplicates of each other: each finds the other among all.
pub fn duplicates(data: &Path) -> Project {
    let bugs = csv(&fs::read_to_string(data.join("gitbugs_hadoop_bugs.csv")).unwrap());
    let pairs = csv(&fs::read_to_string(data.join("gitbugs_hadoop_dups.csv")).unwrap());
    let column = |name: &str| bugs[0].iter().position(|cell| cell == name).unwrap();
    let (id, title, text) = (column("Issue id"), column("Summary"), column("Description"));
    let bugs = &bugs[1..];
    let learnings = bugs.iter().enumerate().map(|(place, bug)| Candidate {
        id: place.to_string(),
        category: "pattern".to_owned(),
        title: bug[title].clone(),
        content: first_chars(&bug[text]),
        ..Candidate::default()
    });
    let places: HashMap<&str, usize> =
        bugs.iter().enumerate().map(|(place, bug)| (bug[id].as_str(), place)).collect();
    let mut queries = Vec::new();
    for pair in &pairs[1..] {
        for (one, other) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let (Some(own), Some(other)) = (places.get(one.as_str()), places.get(other.as_str())) else {
                continue;
            };
            queries.push(Query {
                recall: RecallQuery {
                    title: bugs[*own][title].clone(),
                    text: bugs[*own][text].clone(),
                    ..RecallQuery::default()
                },
                now_ms: 0,
                before: bugs.len(),
                own: Some(*own),
                relevant: HashMap::from([(*other, 1)]),
            });
        }
    }
    Project::new("hadoop", learnings.collect(), queries)
}

/// Rows of cells, with quotes as usual.
fn csv(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let row = rows.last_mut().unwrap();
        let cell = row.last_mut().unwrap();
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            '\r' if !quoted => {}
            c => cell.push(c),
        }
    }
    rows.retain(|row| row.len() > 1);
    rows
}
