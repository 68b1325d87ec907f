//! From what a tool found to the text that the agent reads: the form, the selected fields, the budget.
//!
//! Every tool returns a [`Reply`]; [`ReplyOptions::write`] is the only place that turns it into text. A reply within
//! the budget is the same as without one.

pub(crate) mod budget;
mod compact;
mod issue_pages;
mod neighbours;
mod trim;

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

pub(super) use self::compact::{on_one_line, title_in_row};
use self::issue_pages::IssuePages;
pub use self::neighbours::Neighbours;
pub(super) use self::neighbours::issue_line;
use super::options::{McpOptions, ReplyBudget, ReplyFormat, Toolset};
use super::tool_names::ToolNames;
use ait_domain::json_compat;
use ait_domain::text::shortened;
use ait_domain::{Classification, Issue, IssueId, Page, Status, Timestamp};
use ait_query::field_selection::FieldSelection;
use ait_sync::link;
use ait_tracker::{EventNumbers, GoneClaims};

/// What a list needs besides its rows, in tokens: the count, how much is left out, and how to get it.
const LIST_FRAME: usize = 80;

/// What a tool has to say.
pub enum Reply {
    /// A sentence.
    Text(String),
    /// A change was made.
    Confirmation {
        /// What happened to the issue.
        what: Cow<'static, str>,
        /// The issue after the change.
        issue: Arc<Issue>,
        /// The number of the change, for clients that can undo it.
        change: Option<EventNumbers>,
    },
    /// Issues were filed.
    Filed {
        /// The issues, in their order.
        issues: Vec<Arc<Issue>>,
        /// The numbers of the change, for clients that can undo it.
        change: Option<EventNumbers>,
    },
    /// One whole issue.
    Issue(WholeIssue),
    /// A page of a list.
    List(List),
    Report(Value),
}

/// One whole issue.
pub struct WholeIssue {
    pub issue: Arc<Issue>,
    /// Where to begin, as an earlier reply says in `more`; 0 for the beginning.
    pub skip: usize,
    /// Whether its agent is about to work on it.
    pub is_claim: bool,
    /// The number of the change that claimed it, for clients that can undo it.
    pub change: Option<EventNumbers>,
    /// The fields to write; `None` for all.
    pub fields: Option<FieldSelection>,
    /// The issues around it.
    pub neighbours: Neighbours,
    /// That the client of its claim is gone.
    pub gone: Option<GoneClient>,
    /// Which claims its agent has lost.
    pub lost_claims: Vec<String>,
    /// What was learned in closed issues near it, a line each.
    pub known: Vec<String>,
    /// Where other agents change what it touches, a line each.
    pub overlaps: Vec<String>,
    /// What its reviewer looks at, as measured.
    pub work: Option<String>,
}

impl WholeIssue {
    /// Returns an issue that its agent is about to work on.
    pub fn claimed(issue: Arc<Issue>, fields: Option<FieldSelection>) -> Self {
        Self { is_claim: true, fields, ..Self::plain(issue) }
    }

    /// Returns an issue alone.
    pub fn plain(issue: Arc<Issue>) -> Self {
        Self {
            issue,
            skip: 0,
            is_claim: false,
            change: None,
            fields: None,
            neighbours: Neighbours::default(),
            gone: None,
            lost_claims: Vec::new(),
            known: Vec::new(),
            overlaps: Vec::new(),
            work: None,
        }
    }
}

/// A page of a list.
pub struct List {
    /// How many issues match.
    pub total: usize,
    /// Whether even more match.
    pub is_at_least: bool,
    /// Why none matches.
    pub nothing: Option<String>,
    /// How many matches come before this page; `None` if the tool shows no other page.
    pub skip: Option<usize>,
    /// The page.
    pub issues: Vec<ListedIssue>,
    /// The number of the newest event, for a later `since`.
    pub cursor: Option<u64>,
    /// The fields of a row; `None` for the usual ones.
    pub fields: Option<FieldSelection>,
    /// The time of the reply.
    pub now: Timestamp,
}

impl List {
    /// Returns a page that is written as JSON, and that no other page follows.
    pub fn plain(page: Page, now: Timestamp) -> Self {
        let listed = |issue| ListedIssue {
            issue,
            is_short_id_unique: false,
            is_blocked: false,
            waits_for_parts: false,
            gone: None,
            claim: None,
        };
        Self {
            total: page.total,
            is_at_least: !page.is_exact,
            nothing: None,
            skip: None,
            issues: page.issues.into_iter().map(listed).collect(),
            cursor: None,
            fields: None,
            now,
        }
    }
}

/// An issue of a list.
pub struct ListedIssue {
    pub issue: Arc<Issue>,
    /// Whether the first 8 digits of its id name no other issue.
    pub is_short_id_unique: bool,
    /// Whether it waits for an open issue.
    pub is_blocked: bool,
    /// Whether it waits for its parts.
    pub waits_for_parts: bool,
    /// That the client of its claim is gone.
    pub gone: Option<GoneClient>,
    /// The number of its claim, for the agent that holds it.
    pub claim: Option<usize>,
}

/// The client of a claim is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GoneClient {
    /// When the claim lapses, in seconds from now, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    lapses_in_seconds: Option<u64>,
}

impl GoneClient {
    /// Returns what is known of an issue.
    pub fn of(issue: &Issue, gone: &GoneClaims) -> Option<Self> {
        let lapses_in = gone.get(&issue.id)?;
        Some(Self { lapses_in_seconds: lapses_in.map(|time| time.as_secs()) })
    }
}

impl Display for GoneClient {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.lapses_in_seconds {
            Some(seconds) => write!(f, "gone, lapses in {seconds}s"),
            None => f.write_str("gone"),
        }
    }
}

/// How replies are written.
#[derive(Clone, Debug, Default)]
pub struct ReplyOptions {
    pub(super) format: ReplyFormat,
    pub(super) max_tokens: ReplyBudget,
    pub(super) names: ToolNames,
    /// Whether the client has the toolset `planning`: replies then have the version of the issue and what is around it.
    pub(super) is_planning: bool,
    /// Whether the client has the toolset `bulk`: answers to changes then have their numbers, for `undo_change`.
    pub(super) is_bulk: bool,
}

impl ReplyOptions {
    /// Returns the options of a server whose tools have these names.
    pub fn new(options: &McpOptions, names: ToolNames) -> Self {
        Self {
            format: options.format,
            max_tokens: options.max_reply_tokens,
            names,
            is_planning: options.toolsets.contains(Toolset::Planning),
            is_bulk: options.toolsets.contains(Toolset::Bulk),
        }
    }

    /// Writes a reply.
    pub fn write(&self, reply: &Reply) -> serde_json::Result<String> {
        match reply {
            Reply::Text(text) => Ok(text.clone()),
            Reply::Confirmation { what, issue, change } => {
                let mut rest = String::new();
                if self.is_planning {
                    rest += &format!(", version {}", issue.version());
                }
                rest += &numbered(change.as_ref());
                Ok(match self.format {
                    ReplyFormat::Json => {
                        let Issue { id, status, modified_at, .. } = &**issue;
                        format!("Issue {id} {what}: status {status}, {modified_at}{rest}")
                    }
                    ReplyFormat::Compact => compact::confirmation(what, issue, &rest),
                })
            }
            Reply::Filed { issues, change } => {
                let short: Vec<_> = issues.iter().map(|issue| issue.id.short()).collect();
                let numbered = numbered(change.as_ref());
                Ok(format!("{} filed: {}{numbered}", short.len(), short.join(" ")))
            }
            Reply::Issue(whole) => self.issue(whole),
            Reply::List(list) => self.list(list),
            Reply::Report(report) => Ok(trim::fit(report.clone(), self.max_tokens.tokens())),
        }
    }

    /// Writes a report within the budget, and within another one.
    pub(super) fn report_within(&self, report: Value, max_tokens: usize) -> String {
        trim::fit(report, self.max_tokens.tokens().min(max_tokens))
    }

    /// Estimates the number of tokens of a text.
    pub(super) fn tokens(&self, text: &str) -> usize {
        budget::tokens(text)
    }

    /// Returns true if replies are compact.
    pub(super) fn is_compact(&self) -> bool {
        self.format == ReplyFormat::Compact
    }

    /// Returns true if a text is within the budget.
    pub(super) fn fits(&self, text: &str) -> bool {
        budget::fits(text, self.max_tokens.tokens())
    }

    fn issue(&self, whole: &WholeIssue) -> serde_json::Result<String> {
        let WholeIssue {
            issue,
            skip,
            is_claim,
            change,
            fields,
            neighbours,
            gone,
            lost_claims,
            known,
            overlaps,
            work,
        } = whole;
        let list_tool = self.names.full("list_issues");
        if let Some(fields) = fields {
            let number = is_claim.then(|| issue.claim_number());
            let selected = with_claim_number(fields.select(issue, issue.modified_at), number);
            return Ok(trim::fit(selected, self.max_tokens.tokens()));
        }
        let untied = link::untied(issue);
        let text = match (self.format, is_claim, skip) {
            (_, _, 1..) => None,
            (ReplyFormat::Compact, true, 0) => {
                let links = Some(&*neighbours.links).filter(|links| !links.is_empty());
                Some(compact::claim(&untied, links, &list_tool)?)
            }
            _ => Some(json(&*untied)?),
        };
        // Behind `{`, so that agents read it first.
        let claim = match (self.format, is_claim) {
            (ReplyFormat::Compact, true) => String::new(),
            _ => claim_member(issue, *is_claim, *gone),
        };
        let text = text.map(|text| text.replacen('{', &format!("{{{claim}"), 1));
        let mut members = Map::new();
        if *skip == 0 {
            if self.is_planning {
                members.insert("version".to_owned(), issue.version().into());
            }
            let lines = [("lost_claims", lost_claims), ("known", known), ("overlaps", overlaps)];
            for (key, lines) in lines.into_iter().filter(|(_, lines)| !lines.is_empty()) {
                members.insert(key.to_owned(), lines.clone().into());
            }
            if let Some(work) = work {
                members.insert("work".to_owned(), work.as_str().into());
            }
            if let Some(change) = change {
                members.insert("change".to_owned(), change.to_string().into());
            }
            neighbours.write(&mut members, self.max_tokens.tokens() / 4);
        }
        let members =
            if members.is_empty() { String::new() } else { Value::Object(members).to_string() };
        let max_tokens = self.max_tokens.tokens();
        let text = match text {
            // No token is shorter than a byte.
            Some(text) if text.len() + members.len() <= max_tokens => text,
            text => {
                let max_tokens = max_tokens.saturating_sub(budget::tokens(&members));
                let text = text.filter(|text| budget::fits(text, max_tokens));
                text.unwrap_or_else(|| IssuePages::new(&untied, max_tokens, &list_tool).page(*skip))
            }
        };
        Ok(joined(text, &members))
    }

    fn list(&self, list: &List) -> serde_json::Result<String> {
        let is_compact = self.is_compact() && list.fields.is_none();
        let max = self.max_tokens.tokens().saturating_sub(LIST_FRAME);
        let mut rows: Vec<String> = Vec::new();
        let mut bytes = 0;
        let mut tokens = 0;
        let mut counted = 0;
        for listed in &list.issues {
            let mut row = match &list.fields {
                Some(fields) => {
                    with_claim_number(fields.select(&listed.issue, list.now), listed.claim)
                        .to_string()
                }
                None if is_compact => compact::row(listed, list.now),
                None => {
                    let ListedIssue { issue, gone, claim, .. } = listed;
                    let row = IssueRow { gone: *gone, claim: *claim, ..IssueRow::from(&**issue) };
                    serde_json::to_string(&row)?
                }
            };
            if rows.is_empty() && !budget::fits(&row, max - 1) {
                // A row that would never fit must not end the list.
                row = if is_compact {
                    // A character is hardly more than a token.
                    shortened(&row, max / 2)
                } else {
                    trim::fit(serde_json::from_str(&row)?, max - 1)
                };
            }
            bytes += row.len() + 1;
            rows.push(row);
            // No token is shorter than a byte.
            if bytes <= max {
                continue;
            }
            tokens += rows[counted..].iter().map(|row| budget::tokens(row) + 1).sum::<usize>();
            counted = rows.len();
            if tokens > max {
                rows.pop();
                break;
            }
        }
        let next = list.skip.unwrap_or(0).saturating_add(rows.len());
        let left = list.total.saturating_sub(next);
        let or_more = if list.is_at_least { " or more" } else { "" };
        let more = (left > 0 && !rows.is_empty()).then(|| match list.skip {
            Some(_) => format!("{left}{or_more} more: call again with skip: {next}"),
            None => format!(
                "{left} more: call {} with agent to see them",
                self.names.full("list_issues")
            ),
        });
        if is_compact {
            return Ok(compact::list(list, &rows, more));
        }
        let mut text = format!("{{\"count\":{},\"issues\":[{}]", list.total, rows.join(","));
        if list.is_at_least {
            text += ",\"countIsAtLeast\":true";
        }
        if let Some(nothing) = &list.nothing {
            text += &format!(",\"nothing\":{}", Value::from(shortened(nothing, MAX_NOTHING_CHARS)));
        }
        if let Some(cursor) = list.cursor {
            text += &format!(",\"cursor\":{cursor}");
        }
        if let Some(more) = more {
            text += &format!(",\"more\":{}", Value::from(more));
        }
        text.push('}');
        Ok(text)
    }
}

/// The most characters of the reason why nothing matches.
const MAX_NOTHING_CHARS: usize = 600;

/// Returns the member `claim` of a claimed issue, with a comma; for the agent that has just claimed it also what
/// earlier attempts left. Empty if an unknown key has its name.
fn claim_member(issue: &Issue, is_new: bool, gone: Option<GoneClient>) -> String {
    let Some(claim) = issue.claim().filter(|_| issue.unknown_keys.get("claim").is_none()) else {
        return String::new();
    };
    let mut claim = serde_json::json!(claim);
    if let Some(earlier) = issue.earlier_attempts().filter(|_| is_new) {
        claim["earlier"] = earlier.into();
    }
    if let Some(gone) = gone {
        claim["gone"] = serde_json::json!(gone);
    }
    format!("\"claim\":{claim},")
}

/// Adds the number of the claim to selected fields, for the agent that holds it: it needs the number in later calls.
fn with_claim_number(mut selected: Value, number: Option<usize>) -> Value {
    if let (Value::Object(selected), Some(number)) = (&mut selected, number) {
        match selected.entry("claim").or_insert_with(|| number.into()) {
            Value::Object(claim) => drop(claim.insert("number".to_owned(), number.into())),
            claim => *claim = number.into(),
        }
    }
    selected
}

/// Joins two JSON objects. The second one may be missing.
fn joined(mut object: String, members: &str) -> String {
    if let Some(members) = members.strip_prefix('{') {
        object.pop();
        object.push(',');
        object += members;
    }
    object
}

/// Says which number a change has.
fn numbered(change: Option<&EventNumbers>) -> String {
    change.map(|change| format!(", change {change}")).unwrap_or_default()
}

/// Returns a value as compact JSON.
pub(super) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    // Unknown keys of an issue keep the white space of their file. Parsing them could fail on large numbers.
    Ok(json_compat::without_white_space(&serde_json::to_string(value)?))
}

/// An issue as one row of a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IssueRow<'a> {
    id: IssueId,
    title: &'a str,
    classification: Classification,
    status: Status,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<GoneClient>,
    /// The number of its claim, for the agent that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<usize>,
}

impl<'a> From<&'a Issue> for IssueRow<'a> {
    fn from(issue: &'a Issue) -> Self {
        Self {
            id: issue.id,
            title: &issue.title,
            classification: issue.classification,
            status: issue.status,
            created_at: issue.created_at,
            gone: None,
            claim: None,
        }
    }
}

#[cfg(test)]
mod tests;
