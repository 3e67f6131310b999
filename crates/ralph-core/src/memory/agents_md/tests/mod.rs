//! The rules of AGENTS.md, one test each, named by the rule.

mod bullets;
mod examples;
mod failures;
mod outside;
mod properties;
mod speed;
mod support;
