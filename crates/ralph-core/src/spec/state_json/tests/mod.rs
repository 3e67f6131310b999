//! The state file: examples, styles, and what holds for any.

mod examples;
mod properties;
mod reading;
mod styles;
mod support;
