//! What Markdown makes of the lines of a file.

mod lines;
mod syntax;

pub(crate) use lines::{Kind, Line, Lines};
pub(crate) use syntax::{atx_heading, bullet, indent, is_rule, numbered, run};
