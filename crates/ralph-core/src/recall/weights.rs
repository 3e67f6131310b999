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

/// The tuned weights of a score's parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Extra weight of a word that stands in the task's title, which says what the task is about.
    pub query_title: f64,
    /// Tokens into the description after which a word weighs half: the beginning states the matter.
    pub query_half: f64,
    /// Saturation of a word's repetitions within the query.
    pub query_k3: f64,
    /// Weight of a word that only the last failure has, relative to one of the description.
    pub query_failure: f64,
    /// How many terms, by weight and rarity, a learning's text is compared with.
    pub rank_terms: usize,
    /// BM25: saturation of repetitions in a learning.
    pub k1: f64,
    /// BM25: how much long learnings are held back. Low, because lessons are short anyway.
    pub b: f64,
    /// Imagined further learnings that contain none of the words, so that rarity means something
    /// in a project with three learnings.
    pub background: f64,
    /// The share of those that have each of the words that every plan is full of.
    pub everyday: f64,
    /// Field weights of BM25: the title-like first line, the content, the words of the tags.
    pub title: f64,
    /// See [`Weights::title`].
    pub content: f64,
    /// See [`Weights::title`].
    pub tag_words: f64,
    /// BM25 is divided by what this many of the query's best terms could give.
    pub scale_terms: usize,
    /// But by no less than this, or a single common word would be all that a task and a learning could share.
    pub least_scale: f64,
    /// Weight of the tags that match as a whole.
    pub tags: f64,
    /// Strength of a file tag of which the text names the file name alone.
    pub file_name: f64,
    /// Strength added for each further path segment the text names, beyond the second.
    pub segment: f64,
    /// Strength of a symbol or word tag that the text has.
    pub symbol: f64,
    /// Strength added for each further word of a phrase.
    pub phrase: f64,
    /// Strength added when the match stands in the task's title.
    pub in_title: f64,
    /// How many of a learning's matching tags count fully.
    pub full_tags: usize,
    /// The share that the tags after those count.
    pub further_tags: f64,
    /// Weight of what the best matches agree on: a tag they share speaks for whoever carries it.
    pub agreement: f64,
    /// How many of the best matches have a say in that.
    pub voters: usize,
    /// For a learning that names the last failure's error category.
    pub error_category: f64,
    /// The most a learning gains by being new; below the least a single matching tag gives.
    pub recency: f64,
    /// Days after which half of that is gone.
    pub recency_days: f64,
    /// The share of its score that a learning can gain or lose by its record.
    pub record: f64,
    /// Imagined undecided outcomes: a record counts for little until there is one.
    pub record_prior: f64,
    /// Tasks that must have judged a learning before it may be withheld.
    pub withhold_tasks: u64,
    /// The record, from -1 to 1, at or below which it then is.
    pub withhold_record: f64,
}

impl Weights {
    /// The weights in use.
    pub const TUNED: Self = Self {
        query_title: 1.5,
        query_half: 100.0,
        query_k3: 1.0,
        query_failure: 0.6,
        rank_terms: 64,
        k1: 1.6,
        b: 0.6,
        background: 30.0,
        everyday: 0.85,
        title: 2.0,
        content: 1.0,
        tag_words: 2.0,
        scale_terms: 10,
        least_scale: 25.0,
        tags: 0.025,
        file_name: 0.5,
        segment: 0.25,
        symbol: 0.4,
        phrase: 0.25,
        in_title: 0.25,
        full_tags: 3,
        further_tags: 0.25,
        agreement: 0.15,
        voters: 20,
        error_category: 0.08,
        recency: 0.008,
        recency_days: 90.0,
        record: 0.3,
        record_prior: 2.0,
        withhold_tasks: 5,
        withhold_record: -0.35,
    };
}

/// The relevance floor: one rare word in common is above it, a common one alone is not.
pub const FLOOR: f64 = 0.05;
/// How many learnings are shown by default.
pub const MAX_LEARNINGS: usize = 5;
