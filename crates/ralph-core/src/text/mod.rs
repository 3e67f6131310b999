//! Pure helpers for text that comes from agents: cleaning, cutting, masking, finding the prose.

mod assignment;
mod clean;
mod cut;
mod elements;
mod few;
mod in_a_row;
mod prose;
mod secrets;
mod shell;

pub use clean::{clean, clean_bytes};
pub use cut::{cut_words, one_line};
pub use elements::{Element, elements};
pub use few::few;
pub use in_a_row::in_a_row;
pub use prose::{first_sentence, first_sentences, last_paragraph, without_signals};
pub use secrets::{MASK, mask_secrets};
pub use shell::shell_word;
