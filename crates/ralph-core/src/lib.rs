//! Ralph's core: the path of one attempt, stage by stage.
//!
//! ```text
//! plan ─► claim ─► context ─► agent ─► signals ─► gate ─► capture ─► decide ─┐
//!   ▲                                                                        │
//!   └────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! | stage | where |
//! |---|---|
//! | plan, claim | [`store`]: tasks, dependencies, claims; [`decide::outlook`] says who waits for whom |
//! | context | [`memory`]: the prompt, within its budget, and what is remembered |
//! | agent | [`agent`]: one file per agent; the process and its stream |
//! | signals | [`signals`]: what the agent's final text tells Ralph |
//! | gate | [`gate`]: the task's own verify command |
//! | capture | [`capture`]: what an attempt leaves behind, in one transaction |
//! | decide | [`decide`]: verdict, counters, model |
//!
//! [`engine`] wires them; stages do not call each other. Nothing here prints, reads flags or looks at `$HOME`:
//! what happens comes out as [`event::RunEvent`]s.

// Tests read what they wrote themselves.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod adaptive;
pub mod agent;
pub mod analysis;
pub mod breaker;
pub mod capture;
pub mod clock;
pub mod decide;
pub mod diagnose;
pub mod engine;
pub mod event;
pub mod evidence;
pub mod exit;
pub mod files;
pub mod gate;
pub mod git;
pub mod hooks;
#[cfg_attr(
    not(test),
    expect(clippy::disallowed_methods, reason = "/proc is the kernel's, out of agents' reach")
)]
pub mod host;
pub mod logs;
mod markdown;
pub mod memory;
pub mod model;
pub mod ownership;
pub mod plan;
pub mod project;
pub mod recovery;
pub mod replay;
pub mod sandbox;
pub mod signals;
pub mod similar_tasks;
pub mod store;
#[cfg(test)]
mod testing;
pub mod text;
pub mod which;
