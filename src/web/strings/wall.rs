//! On the wallboard, and for the choice of the appearance.

pub const TITLE: &str = "Wallboard";
pub const BOARD: &str = "Board";
pub const AGENTS: &str = "Agents at work";
pub const NO_AGENTS: &str = "No agent holds an issue.";
pub const ATTENTION: &str = "Needs attention";
/// Behind how many things need attention.
pub const NEED_ATTENTION: &str = "for people";
pub const CALM: &str = "Nothing needs attention";
pub const COUNTS: &str = "Issues by status";

pub const APPEARANCE: &str = "Appearance";
pub const THEME: &str = "Theme";
/// Values of the choice, and their names. The empty one follows the system.
pub const THEMES: [(&str, &str); 3] = [("", "as the system"), ("light", "light"), ("dark", "dark")];
pub const DENSITY: &str = "Rows";
pub const DENSITIES: [(&str, &str); 2] = [("", "comfortable"), ("compact", "compact")];

pub fn more(count: usize) -> String {
    format!("and {count} more")
}
