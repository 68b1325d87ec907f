//! What can be told about all issues together.
//!
//! Pure: issues and a time go in, values come out. It knows the domain and nothing of pages.

pub mod life;
pub mod stats;
