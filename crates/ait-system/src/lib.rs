//! What `ait` asks of the machine: git, the shell commands of settings, and small files; and how it writes durations
//! and sizes. It knows nothing of issues.

pub mod git;
pub mod shell;
pub mod small_file;
pub mod span;
