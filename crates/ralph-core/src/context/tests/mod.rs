//! The rules of the prompt, one test each, named by the rule.

mod attempts;
mod budget;
mod examples;
mod properties;
mod sections;
mod signals;
mod support;
mod task;
