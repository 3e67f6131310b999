//! The log: examples, odd files, and what holds for any.

mod examples;
mod odd_files;
mod properties;
mod support;
