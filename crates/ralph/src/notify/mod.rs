//! Notifications: a person who is not looking on is told of what matters, in the ways the settings name.
//!
//! `notice.rs` decides which events are worth it and `told.rs` which were told already; the senders carry them, each
//! on a thread of its own, so that no run ever waits for a slow one.

mod aside;
mod bell;
mod command;
mod desktop;
mod notice;
mod occasion;
mod queue;
mod resolver;
mod retry;
mod sample;
mod sender;
mod signature;
mod tame;
mod told;
mod under_way;
mod watching;
mod webhook;

pub use aside::end_what_is_left;
pub use notice::{Place, notice};
pub use occasion::Occasion;
pub use sample::sample;
pub use sender::{Cutoff, Delivery, Parcel, senders};
pub use watching::{Notifications, Warnings};
pub use webhook::is_url;
