//! Black-box tests: the real binary, real git, a real database, real agents.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod memory;
mod model_server;
mod support;

mod agents_md;
mod background;
mod breaker;
mod budgets;
mod claude;
mod cli;
mod codex;
mod completions;
mod config;
mod course;
mod crash;
mod demo;
mod display;
mod doctor;
mod failures;
mod gates;
mod gemini;
mod git;
mod hooks;
mod import;
mod learnings;
mod limits;
mod logs;
mod manual;
mod night;
mod notify;
mod opencode;
mod pause;
mod plan;
mod plan_changes;
mod processes;
mod read_only;
mod recovery;
mod replay;
mod run;
mod stage;
mod stats;
mod status;
mod strategy;
mod streams;
mod team;
