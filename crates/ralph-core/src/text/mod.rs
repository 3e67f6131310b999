//! Pure helpers for text that comes from agents: cleaning, cutting, masking, finding the prose.

mod clean;
mod cut;
mod duration;
mod elements;
mod few;
mod in_a_row;
pub mod neutral;
mod prose;
mod quotation;
mod secrets;
mod shell;

pub use clean::{clean, clean_bytes, invisible_escaped, is_invisible, without_invisible};
pub use cut::{code_line, cut_words, head, one_line, plain_line};
pub use duration::duration;
pub use elements::{Element, elements};
pub use few::few;
pub use in_a_row::in_a_row;
pub use prose::{first_sentence, first_sentences, last_paragraph, without_signals};
pub use quotation::Quotations;
pub use secrets::{MASK, StreamMask, is_worth_masking, mask_secrets, remember_secrets};
pub use shell::shell_word;
