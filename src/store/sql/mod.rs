//! What the stores in SQL databases share: which columns an issue has there, and conditions as SQL.

pub(super) mod condition;
pub(super) mod rows;
