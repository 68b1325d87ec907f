//! Around every page.

/// The texts of the frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The language, as BCP 47 names it.
    pub language: &'static str,
    /// The link past the navigation.
    pub skip: &'static str,
    /// The name of the navigation.
    pub pages: &'static str,
    /// The board.
    pub board: &'static str,
    /// The agents.
    pub agents: &'static str,
    /// What happened.
    pub activity: &'static str,
    /// The statistics.
    pub statistics: &'static str,
    /// Below every page.
    pub read_only: &'static str,
    /// The name of the data as JSON.
    pub as_json: &'static str,
    /// The title of a page in the browser's tab, of the count of open issues and its name.
    pub tab: fn(Option<usize>, &str) -> String,
    /// Where the script tells whether changes arrive.
    pub live: Live,
}

/// How changes reach the page.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Without the script, of the seconds between two loads.
    pub reloads: fn(u32) -> String,
    /// Not yet known.
    pub connecting: &'static str,
    /// They arrive.
    pub connected: &'static str,
    /// They do not.
    pub disconnected: &'static str,
    /// What the script says when something on the page has changed.
    pub changed: &'static str,
}
