//! Around the texts of agents.

/// What is added to a text.
#[derive(Clone, Copy, Debug)]
pub struct Markdown {
    /// Above a text that is shown as it is written because it is long.
    pub too_long: &'static str,
    /// Above a text that is shown as it is written because of what it would become.
    pub too_intricate: &'static str,
    /// The name of the sign for a task that is done.
    pub done: &'static str,
    /// The name of the sign for a task that is not done.
    pub to_do: &'static str,
    /// The name of a table.
    pub table: &'static str,
}
