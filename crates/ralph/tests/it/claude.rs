//! The real Claude Code under the real Ralph: only the model behind it is scripted.
//!
//! `RALPH_TEST_CLAUDE` names the `claude` program, else the one `scripts/test` installs in `.tools/` is used. A
//! machine without it fails these tests instead of passing over them.

mod answers;
mod ends;
mod errors;
mod limits;
mod memory;
