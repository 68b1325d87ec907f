//! In the dialogs of the keyboard: the palette, and the list of shortcuts.

pub const SHORTCUTS: &str = "Keyboard shortcuts";
pub const SINGLE_KEYS: &str = "Use shortcuts of a single key";
pub const CLOSE: &str = "Close";
/// The keys, and what they do.
pub const KEYS: [(&[&str], &str); 11] = [
    (&["Ctrl K", "⌘ K"], "find issues, pages, agents and saved queries"),
    (&["/"], "search the list"),
    (&["j", "k"], "to the next and the previous issue"),
    (&["Enter"], "open the issue"),
    (&["g l"], "to the list"),
    (&["g b"], "to the board"),
    (&["g a"], "to the agents"),
    (&["g v"], "to the activity"),
    (&["g s"], "to the statistics"),
    (&["g t"], "to the triage"),
    (&["?"], "show these shortcuts"),
];

pub const PALETTE: &str = "Go to";
pub const HINT: &str = "Words, an id, an agent or a page";
pub const FOUND: &str = "Found";
pub const PAGE: &str = "page";
pub const AGENT: &str = "agent";
pub const SAVED: &str = "saved query";
pub const SEARCH: &str = "search for";
/// Read out when the palette has found something.
pub const COUNT: &str = "{count} found";
