//! Scores of learnings as people read them.

use ralph_core::engine::Recalled;
use ralph_core::memory::recall::{Fate, Ranked, ScoreParts};
use ralph_core::model::LearningId;
use ralph_core::text::one_line;

use super::format;

/// More are not worth reading.
const MOST: usize = 20;

pub fn parts(parts: &ScoreParts) -> String {
    let named = [
        ("text", parts.text),
        ("tags", parts.tags),
        ("paths", parts.paths),
        ("failure", parts.failure),
        ("agreement", parts.agreement),
        ("recency", parts.recency),
        ("record", parts.record),
    ];
    let shown = named.iter().filter(|(_, value)| value.abs() >= 0.0005);
    shown.map(|(name, value)| format!("{name} {value:.3}")).collect::<Vec<_>>().join(", ")
}

/// Every learning that was considered for a prompt, with its score and what became of it.
pub fn considered(recalled: &Recalled, shown: &[LearningId]) -> String {
    let all = &recalled.ranking;
    if all.is_empty() {
        return "Learnings: none is relevant to the task\n".to_owned();
    }
    let count = format::counted(all.len() as u64, "learning");
    let mut lines = format!("Learnings: {count} considered, {} shown\n", shown.len());
    for ranked in all.iter().take(MOST) {
        let scored = &ranked.scored;
        let learning = recalled.candidate(&scored.id);
        let what = learning.map(|learning| one_line(&learning.content, 60)).unwrap_or_default();
        let (id, fate, parts) = (one_line(&scored.id, 100), fate(ranked, shown), parts(&scored.parts));
        lines.push_str(&format!("  {:.3} {id} {fate}: {what}\n        {parts}\n", scored.score));
    }
    if all.len() > MOST {
        lines.push_str(&format!("  and {} with lower scores\n", all.len() - MOST));
    }
    lines
}

pub fn fate(ranked: &Ranked, shown: &[LearningId]) -> &'static str {
    let is_shown = shown.iter().any(|id| id.as_str() == ranked.scored.id);
    match ranked.fate {
        Fate::Chosen if is_shown => "shown",
        Fate::Chosen => "no room",
        Fate::BelowFloor => "not relevant enough",
        Fate::Withheld => "withheld: did not help before",
        Fate::Repeats => "duplicate of another",
        Fate::BeyondLimit => "over the limit",
    }
}
