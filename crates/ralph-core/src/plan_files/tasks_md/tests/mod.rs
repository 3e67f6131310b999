//! The rules of tasks.md, one test each, named by the rule.

mod examples;
mod properties;
mod reading;
mod rendering;
mod speed;
mod support;
