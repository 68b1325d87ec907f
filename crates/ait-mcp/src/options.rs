//! The settings of the MCP server: which tools it offers, under which names, and the form of its replies.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::texts::Texts;
use ait_domain::string_enum;
use ait_query::SavedQueries;
use ait_sync::SyncSettings;
use ait_tracker::query_handles::HandleLifetime;

/// The settings of the MCP server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct McpOptions {
    /// The directory of the project, in whose repository the branches of issues are, if that is known.
    pub root: Option<PathBuf>,
    /// The name of the role of the client over stdio.
    pub role: Option<String>,
    /// The name of the role of clients over HTTP whose URL names none.
    pub http_role: Option<String>,
    /// The toolsets of every client.
    pub toolsets: Toolsets,
    /// What the name of every tool begins with.
    pub tool_prefix: ToolPrefix,
    /// The form of replies.
    pub format: ReplyFormat,
    pub max_reply_tokens: ReplyBudget,
    /// The queries that have names.
    pub queries: Arc<SavedQueries>,
    /// For how long query handles are kept.
    pub handle_lifetime: HandleLifetime,
    /// The syncs with remote trackers.
    pub syncs: Vec<SyncSettings>,
    /// The texts that the project replaces.
    pub texts: Arc<Texts>,
}

string_enum! {
    /// A group of tools and parameters that a client can have besides the lifecycle tools.
    pub enum Toolset {
        /// The tools of the lifecycle. Always there.
        Lifecycle = "lifecycle",
        /// For an agent that plans: choosing the fields of replies.
        Planning = "planning",
        /// Changes to many issues, and taking changes back.
        Bulk = "bulk",
        /// For an agent that looks at the whole queue: what is wrong in it, and what matters.
        Analysis = "analysis",
        /// What agents keep for later ones: decisions, traps, facts.
        Memory = "memory",
        /// The issues of remote trackers. Empty without a sync.
        Sync = "sync",
        /// Setting up and checking the project.
        Admin = "admin",
    }
}

/// A set of toolsets. It always contains [`Toolset::Lifecycle`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Toolsets(u8);

impl Default for Toolsets {
    fn default() -> Self {
        Self(1 << Toolset::Lifecycle as u8)
    }
}

impl Toolsets {
    /// All toolsets.
    pub const ALL: Self = Self((1 << Toolset::ALL.len()) - 1);

    /// Returns true if the set contains a toolset.
    pub fn contains(self, toolset: Toolset) -> bool {
        self.0 & (1 << toolset as u8) != 0
    }

    /// The number of different sets.
    pub(super) const COUNT: usize = 1 << Toolset::ALL.len();

    /// Returns a number of its own for each set, below [`COUNT`](Self::COUNT).
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the toolsets of both sets.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the toolsets that are in both sets.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the set without a toolset, but always with the lifecycle.
    pub fn without(self, toolset: Toolset) -> Self {
        Self(self.0 & !(1 << toolset as u8)).union(Self::default())
    }

    /// Returns the toolsets in display order.
    pub fn iter(self) -> impl Iterator<Item = Toolset> {
        Toolset::ALL.iter().copied().filter(move |toolset| self.contains(*toolset))
    }
}

impl FromIterator<Self> for Toolsets {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        sets.into_iter().fold(Self::default(), Self::union)
    }
}

impl From<Toolset> for Toolsets {
    fn from(toolset: Toolset) -> Self {
        Self(1 << toolset as u8).union(Self::default())
    }
}

/// Parses the name of one toolset, `all`, or several names separated by commas.
impl FromStr for Toolsets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(Self::named).collect()
    }
}

impl Toolsets {
    fn named(name: &str) -> Result<Self, String> {
        if name == "all" {
            return Ok(Self::ALL);
        }
        let known = Toolset::from_word(name);
        known.map(Self::from).ok_or_else(|| {
            let names = Toolset::words().collect::<Vec<_>>().join(", ");
            let name = super::shown(name);
            format!("there is no toolset {name:?}: the toolsets are {names} and all")
        })
    }
}

impl fmt::Display for Toolsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Toolset::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

/// What the name of every tool begins with, so that tools of several servers differ.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToolPrefix(String);

impl ToolPrefix {
    const MAX_CHARS: usize = 20;

    /// Returns the prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolPrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        if (1..=Self::MAX_CHARS).contains(&text.len()) && text.bytes().all(is_allowed) {
            return Ok(Self(text.to_owned()));
        }
        let text = super::shown(text);
        let max = Self::MAX_CHARS;
        Err(format!(
            "{text:?} is not a prefix for tools: use 1 to {max} characters of a-z, 0-9 and _"
        ))
    }
}

impl fmt::Display for ToolPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

string_enum! {
    /// The form of replies.
    #[derive(Default)]
    pub enum ReplyFormat {
        /// JSON with all fields, as the original tracker replies.
        #[default]
        Json = "json",
        /// As few tokens as possible: lists are lines, and claims leave out what a worker seldom needs.
        Compact = "compact",
    }
}

/// The maximum length of a reply, in estimated tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReplyBudget(usize);

impl ReplyBudget {
    /// The least budget, which holds the head of every issue.
    pub const MIN: usize = 1_000;
    /// The largest budget.
    pub const MAX: usize = 1_000_000;

    /// Returns the number of tokens.
    pub fn tokens(self) -> usize {
        self.0
    }

    /// Returns what is left of the budget after some tokens, and at least [`MIN`](Self::MIN).
    pub fn after(self, tokens: usize) -> Self {
        Self(self.0.saturating_sub(tokens).max(Self::MIN))
    }
}

impl Default for ReplyBudget {
    fn default() -> Self {
        Self(10_000)
    }
}

impl FromStr for ReplyBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let tokens = text.parse().ok().filter(|tokens| (Self::MIN..=Self::MAX).contains(tokens));
        tokens.map(Self).ok_or_else(|| {
            let text = super::shown(text);
            format!("{text:?} is not a number of tokens from {} to {}", Self::MIN, Self::MAX)
        })
    }
}

impl fmt::Display for ReplyBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolsets_are_parsed_from_names_and_always_have_the_lifecycle() {
        let set = |text: &str| text.parse::<Toolsets>();
        assert_eq!(set("").unwrap().to_string(), "lifecycle");
        assert_eq!(set("lifecycle").unwrap().iter().count(), 1);
        assert_eq!(set("admin, planning").unwrap().to_string(), "lifecycle, planning, admin");
        assert_eq!(set("all").unwrap(), Toolsets::ALL);
        let error = set("planning,admn").unwrap_err();
        assert!(error.contains("admn") && error.contains("memory, sync, admin and all"), "{error}");
        let all = Toolsets::ALL.without(Toolset::Admin);
        assert!(!all.contains(Toolset::Admin) && all.contains(Toolset::Planning));
        // Equal sets have equal numbers.
        assert_eq!(set("lifecycle").unwrap(), Toolsets::default());
        assert_eq!(Toolsets::ALL.without(Toolset::Lifecycle), Toolsets::ALL);
    }

    #[test]
    fn prefixes_budgets_and_formats_have_limits() {
        for (text, is_valid) in
            [("a", true), ("team_2_", true), ("", false), ("A", false), ("a-", false)]
        {
            assert_eq!(text.parse::<ToolPrefix>().is_ok(), is_valid, "{text}");
        }
        assert!("a".repeat(21).parse::<ToolPrefix>().is_err());
        for (text, is_valid) in [("1000", true), ("1000000", true), ("999", false), ("1e4", false)]
        {
            assert_eq!(text.parse::<ReplyBudget>().is_ok(), is_valid, "{text}");
        }
        assert!("xml".parse::<ReplyFormat>().unwrap_err().contains("json"));
    }
}
