//! Pure helpers for text that comes from agents: cleaning, cutting, masking, finding the prose.

mod clean;
mod cut;
mod elements;
pub mod neutral;
mod pattern;
mod prose;
mod secrets;
mod wording;

pub use clean::{clean, clean_bytes, invisible_escaped, is_invisible, without_invisible};
pub use cut::{code_line, cut_words, first_bytes, first_chars, head, one_line, plain_line};
pub use elements::{Element, elements};
pub(crate) use pattern::{Pattern, Table, group};
pub use prose::{first_sentence, first_sentences, last_paragraph, without_signals};
pub use secrets::{MASK, StreamMask, is_secret_name, is_worth_masking, mask_secrets, remember_secrets};
pub use wording::{duration, few, in_a_row, shell_word};
