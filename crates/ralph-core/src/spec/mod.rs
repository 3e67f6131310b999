//! The two files of a spec folder that tell where it stands. Text in, text out; everything that is not Ralph's stays byte for
//! byte.

pub mod progress_md;
pub mod state_json;
