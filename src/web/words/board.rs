//! On the board.

/// The texts of the board.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// The heading.
    pub heading: &'static str,
    /// In a column without issues.
    pub nothing: &'static str,
    /// How long an issue stands in its column.
    pub waits: fn(&str) -> String,
    /// The same for one that has ended.
    pub ended: fn(&str) -> String,
    /// Beside a claim that is old.
    pub old_claim: &'static str,
    /// The link to the others of a column, of their number.
    pub more: fn(usize) -> String,
}
