//! What the stores in SQL databases share: which columns an issue has there, and conditions and orders as SQL.

pub(super) mod condition;
pub(super) mod numbers;
pub(super) mod order;
pub(super) mod rows;
