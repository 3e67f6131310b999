//! The numbers of the ranking, in one place: what each one does and why it has that value.
//!
//! They were tuned on the public retrieval data (`cargo bench -p ralph --bench recall`) and rounded: where projects
//! disagreed, a value in between was taken, so that they carry over to others.

/// How much of a task's description is read, in bytes. What matters comes first; the rest is logs.
pub const MAX_TEXT_BYTES: usize = 32 * 1024;
/// How much of the last failure is read, in bytes, from its end: errors stand at the end of a log.
pub const MAX_FAILURE_BYTES: usize = 8 * 1024;
/// How much of one learning's content is read, in bytes.
pub const MAX_CONTENT_BYTES: usize = 8 * 1024;
/// How many tags of one learning count.
pub const MAX_TAGS: usize = 64;
/// How many distinct terms a query has at most, before the store has said how rare they are.
pub const MAX_TERMS: usize = 256;
/// How many terms the store should look up candidates with: a plain OR of all words is too slow.
pub const LOOKUP_TERMS: usize = 24;
/// How many candidates are ranked. More cost time and bring nothing: 50 do as well as 200 on the public data.
pub const CANDIDATES: usize = 100;
/// Lookup terms stop once they would touch this many index entries, whatever their number; 500 do as well as 20,000 on
/// the public data.
pub const LOOKUP_BUDGET: u64 = 4_000;

/// Extra weight of a word that stands in the task's title, which says what the task is about.
pub const QUERY_TITLE: f64 = 1.5;
/// Tokens into the description after which a word weighs half: the beginning states the matter.
pub const QUERY_HALF: f64 = 100.0;
/// Saturation of a word's repetitions within the query.
pub const QUERY_K3: f64 = 1.0;
/// Weight of a word that only the last failure has, relative to one of the description.
pub const QUERY_FAILURE: f64 = 0.6;
/// How many terms, by weight and rarity, a learning's text is compared with.
pub const RANK_TERMS: usize = 64;
/// BM25: saturation of repetitions in a learning.
pub const K1: f64 = 1.6;
/// BM25: how much long learnings are held back. Low, because lessons are short anyway.
pub const B: f64 = 0.6;
/// Imagined further learnings that contain none of the words, so that rarity means something
/// in a project with three learnings.
pub const BACKGROUND: f64 = 30.0;
/// The share of those that have each of the words that every plan is full of.
pub const EVERYDAY: f64 = 0.85;
/// Field weights of BM25: the title-like first line, the content, the words of the tags.
pub const TITLE: f64 = 2.0;
pub const CONTENT: f64 = 1.0;
pub const TAG_WORDS: f64 = 2.0;
/// BM25 is divided by what this many of the query's best terms could give.
pub const SCALE_TERMS: usize = 10;
/// But by no less than this, or a single common word would be all that a task and a learning could share.
pub const LEAST_SCALE: f64 = 25.0;
/// Weight of the tags that match as a whole.
pub const TAGS: f64 = 0.025;
/// Strength of a file tag of which the text names the file name alone.
pub const FILE_NAME: f64 = 0.5;
/// Strength added for each further path segment the text names, beyond the second.
pub const SEGMENT: f64 = 0.25;
/// Strength of a symbol or word tag that the text has.
pub const SYMBOL: f64 = 0.4;
/// Strength added for each further word of a phrase.
pub const PHRASE: f64 = 0.25;
/// Strength added when the match stands in the task's title.
pub const IN_TITLE: f64 = 0.25;
/// How many of a learning's matching tags count fully.
pub const FULL_TAGS: usize = 3;
/// The share that the tags after those count.
pub const FURTHER_TAGS: f64 = 0.25;
/// Weight of what the best matches agree on: a tag they share speaks for every learning that has it.
pub const AGREEMENT: f64 = 0.15;
/// How many of the best matches have a say in that.
pub const VOTERS: usize = 20;
/// For a learning that names the last failure's error category.
pub const ERROR_CATEGORY: f64 = 0.08;
/// The most a learning gains by being new; below the least a single matching tag gives.
pub const RECENCY: f64 = 0.008;
/// Days after which half of that is gone.
pub const RECENCY_DAYS: f64 = 90.0;
/// The share of its score that a learning can gain or lose by its record.
pub const RECORD: f64 = 0.3;
/// Imagined undecided outcomes: a record counts for little until there is one.
pub const RECORD_PRIOR: f64 = 2.0;
/// Tasks that must have judged a learning before it may be withheld.
pub const WITHHOLD_TASKS: u64 = 5;
/// The record, from -1 to 1, at or below which it then is.
pub const WITHHOLD_RECORD: f64 = -0.35;

/// The relevance floor: one rare word in common is above it, a common one alone is not.
pub const FLOOR: f64 = 0.05;
/// How many learnings are shown by default.
pub const MAX_LEARNINGS: usize = 5;
