//! A whole issue that is longer than a reply may be, in pages.
//!
//! Its texts have one reading order: what a worker needs first comes first, each character once. A page is a range of
//! that order. The order depends on the issue alone, so a page can begin anywhere, whatever the budget was before.

use std::fmt::Write;
use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::budget;
use ait_domain::text::shortened;
use ait_domain::{
    AgentName, Attributes, Comment, HistoryEntry, Issue, Timestamp, Title, UnknownKeys,
};

/// How much of the description comes before the newest comments, in characters.
const DESCRIPTION_HEAD: usize = 2_000;
/// How many of the newest comments and history entries come before the rest of the description.
const NEWEST: usize = 10;
/// How much of each of the newest texts comes before the rest of the description, in characters.
const TEXT_HEAD: usize = 500;

/// The pages of an issue.
pub(super) struct IssuePages<'a> {
    issue: &'a Issue,
    /// The attributes and the unknown keys as JSON.
    other: String,
    /// The texts in reading order.
    chunks: Vec<Chunk>,
    max_tokens: usize,
    /// The name of the tool that continues after a page.
    list_tool: &'a str,
}

/// One text of an issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum IssueText {
    Description,
    /// The text of the comment at this position.
    Comment(usize),
    /// The action of the history entry at this position.
    Action(usize),
    Other,
}

/// Consecutive characters of one text.
#[derive(Clone, Debug)]
struct Chunk {
    part: IssueText,
    bytes: Range<usize>,
    /// The number of characters of the text before this chunk.
    from: usize,
    chars: usize,
    /// Where it begins in the reading order.
    position: usize,
}

impl<'a> IssuePages<'a> {
    /// Divides an issue into pages of at most `max_tokens`.
    pub fn new(issue: &'a Issue, max_tokens: usize, list_tool: &'a str) -> Self {
        let other = other_fields(issue);
        let mut pages = Self { issue, other, chunks: Vec::new(), max_tokens, list_tool };
        pages.chunks = pages.reading_order();
        let mut position = 0;
        for chunk in &mut pages.chunks {
            chunk.position = position;
            position = chunk.end();
        }
        pages
    }

    fn text(&self, part: IssueText) -> &str {
        match part {
            IssueText::Description => &self.issue.description,
            IssueText::Comment(at) => &self.issue.comments[at].text,
            IssueText::Action(at) => &self.issue.history[at].action,
            IssueText::Other => &self.other,
        }
    }

    /// Returns the texts in reading order: the heads of the description, of the newest comments and of the newest
    /// history entries; then the rests of these; then all other texts, the newest first.
    fn reading_order(&self) -> Vec<Chunk> {
        let newest_first = |count: usize| (0..count).rev();
        let comments = newest_first(self.issue.comments.len()).map(IssueText::Comment);
        let actions = newest_first(self.issue.history.len()).map(IssueText::Action);
        let heads = std::iter::once((IssueText::Description, DESCRIPTION_HEAD))
            .chain(comments.clone().take(NEWEST).map(|part| (part, TEXT_HEAD)))
            .chain(actions.clone().take(NEWEST).map(|part| (part, TEXT_HEAD)));
        let mut order = Vec::new();
        let mut rests = Vec::new();
        for (part, chars) in heads {
            let (head, rest) = self.whole(part).split(self.text(part), chars);
            order.push(head);
            rests.extend(rest);
        }
        order.append(&mut rests);
        let other = (!self.other.is_empty()).then_some(IssueText::Other);
        let others = comments.skip(NEWEST).chain(actions.skip(NEWEST)).chain(other);
        order.extend(others.map(|part| self.whole(part)));
        order
    }

    fn whole(&self, part: IssueText) -> Chunk {
        let text = self.text(part);
        Chunk { part, bytes: 0..text.len(), from: 0, chars: text.chars().count(), position: 0 }
    }

    /// Returns the page that begins at a position in the reading order, as JSON: the longest one that fits into the
    /// budget.
    pub fn page(&self, skip: usize) -> String {
        let total = self.chunks.last().map_or(0, Chunk::end);
        let left = total.saturating_sub(skip);
        let head = self.head(skip == 0);
        let mut page = None;
        let mut fits = 0;
        let mut exceeds = left + 1;
        let mut count = self.max_tokens.min(left);
        while fits + 1 < exceeds {
            let json = self.render(&head, skip, count);
            if budget::fits(&json, self.max_tokens) {
                (fits, page) = (count, Some(json));
            } else {
                exceeds = count;
            }
            // Double until the first page that is too long.
            count = if exceeds > left { (2 * fits).min(left) } else { fits.midpoint(exceeds) };
        }
        // The budget has room for the head and one character.
        page.unwrap_or_else(|| self.render(&head, skip, left.min(1)))
    }

    /// Returns what every page begins with, on the first page with all that is not in the reading order.
    fn head(&self, is_first: bool) -> Map<String, Value> {
        let Issue { id, title, classification, created_at, modified_at, status, .. } = self.issue;
        let mut head = Map::new();
        let mut set = |key: &str, value: Value| head.insert(key.to_owned(), value);
        set("id", json!(id));
        if is_first {
            set("title", json!(cut(title, Title::MAX_CHARS, self.max_tokens / 2)));
            set("classification", json!(classification));
            set("createdAt", json!(created_at));
            set("modifiedAt", json!(modified_at));
            set("status", json!(status));
            if let Some(holder) = self.issue.holder() {
                let number = self.issue.claim_number();
                let agent = self.agent(holder.agent);
                set("claim", json!({ "agent": agent, "number": number, "since": holder.since }));
            }
            set("returns", json!(self.issue.returns()));
            // Lists that agents expect, even if their entries are on later pages.
            set("history", json!([]));
            set("comments", json!([]));
        }
        head
    }

    fn agent(&self, name: &str) -> String {
        cut(name, AgentName::MAX_CHARS, self.max_tokens / 10)
    }

    /// Writes a page of `count` positions from `skip` on.
    fn render(&self, head: &Map<String, Value>, skip: usize, count: usize) -> String {
        let mut page = head.clone();
        let mut history = Vec::new();
        let mut comments = Vec::new();
        for chunk in self.shown(skip, count) {
            let text = &self.text(chunk.part)[chunk.bytes.clone()];
            let entry = |at: Timestamp, agent: &str, key: &str| {
                let agent = self.agent(agent);
                let mut entry = json!({ "timestamp": at, "agent": agent, key: text });
                if let Some(part) = self.extent(&chunk) {
                    entry["part"] = json!(part);
                }
                entry
            };
            let key = match chunk.part {
                IssueText::Description => "description",
                IssueText::Other => "otherFields",
                IssueText::Comment(at) => {
                    let Comment { timestamp, agent, .. } = &self.issue.comments[at];
                    comments.push(entry(*timestamp, agent, "text"));
                    continue;
                }
                IssueText::Action(at) => {
                    let HistoryEntry { timestamp, agent, .. } = &self.issue.history[at];
                    history.push(entry(*timestamp, agent, "action"));
                    continue;
                }
            };
            page.insert(key.to_owned(), json!(text));
            if let Some(part) = self.extent(&chunk) {
                page.insert(format!("{key}Part"), json!(part));
            }
        }
        for (key, entries) in [("history", history), ("comments", comments)] {
            if !entries.is_empty() {
                page.insert(key.to_owned(), Value::Array(entries));
            }
        }
        let end = skip.saturating_add(count);
        if let Some(left_out) = self.left_out(end) {
            let more = format!("call {} with this issue_id and skip: {end}", self.list_tool);
            page.insert("left_out".to_owned(), json!(left_out));
            page.insert("more".to_owned(), json!(more));
        }
        Value::Object(page).to_string()
    }

    /// Returns the chunks of a range, in the order of the issue. Those of one text are joined.
    fn shown(&self, skip: usize, count: usize) -> Vec<Chunk> {
        let end = skip.saturating_add(count);
        let first = self.chunks.partition_point(|chunk| chunk.end() <= skip);
        let chunks = self.chunks[first..].iter().take_while(|chunk| chunk.position < end);
        let mut shown: Vec<Chunk> = Vec::new();
        for chunk in chunks {
            let text = self.text(chunk.part);
            let (all, rest) = chunk.clone().split(text, skip.saturating_sub(chunk.position));
            let chunk = rest.unwrap_or(all);
            let chars = end - chunk.position;
            shown.push(chunk.split(text, chars).0);
        }
        shown.sort_by_key(|chunk| (chunk.part, chunk.from));
        shown.dedup_by(|next, chunk| {
            let is_same = next.part == chunk.part;
            if is_same {
                chunk.bytes.end = next.bytes.end;
                chunk.chars += next.chars;
            }
            is_same
        });
        shown
    }

    /// Says which characters of its text a chunk has, unless it has all.
    fn extent(&self, chunk: &Chunk) -> Option<String> {
        let text = self.text(chunk.part);
        (chunk.bytes != (0..text.len())).then(|| {
            let from = chunk.from;
            let to = chunk.from + chunk.chars;
            format!("characters {from} to {to} of {}", text.chars().count())
        })
    }

    /// Says what comes after a position; `None` at the end.
    fn left_out(&self, end: usize) -> Option<String> {
        let first = self.chunks.partition_point(|chunk| chunk.end() <= end);
        let left = &self.chunks[first..];
        let mut characters = 0;
        let mut comments = 0;
        let mut entries = 0;
        for chunk in left {
            characters += chunk.chars - end.saturating_sub(chunk.position).min(chunk.chars);
            let is_whole = chunk.from == 0 && chunk.position >= end;
            match chunk.part {
                IssueText::Comment(_) if is_whole => comments += 1,
                IssueText::Action(_) if is_whole => entries += 1,
                _ => {}
            }
        }
        let mut text = format!("{characters} characters");
        for (count, what) in [(comments, "comments"), (entries, "history entries")] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        (!left.is_empty()).then_some(text)
    }
}

impl Chunk {
    /// Returns the position behind it. An empty text takes one, too, so that pages also limit the number of entries.
    fn end(&self) -> usize {
        self.position + self.chars.max(1)
    }

    /// Splits a chunk of a text behind a number of characters. The second part is `None` if it would be empty.
    fn split(self, text: &str, chars: usize) -> (Self, Option<Self>) {
        if chars >= self.chars {
            return (self, None);
        }
        let inner = &text[self.bytes.clone()];
        let cut = inner.char_indices().nth(chars).map_or(inner.len(), |(cut, _)| cut);
        let middle = self.bytes.start + cut;
        let head = Self { bytes: self.bytes.start..middle, chars, ..self.clone() };
        let from = self.from + chars;
        let position = self.position + chars;
        let rest = self.chars - chars;
        (head, Some(Self { bytes: middle..self.bytes.end, from, chars: rest, position, ..self }))
    }
}

/// Cuts a name to a number of characters, and further until it costs at most `max_tokens`. Names that are too long
/// come only from files that `ait` did not write.
fn cut(name: &str, max_chars: usize, max_tokens: usize) -> String {
    let mut chars = max_chars;
    loop {
        let name = shortened(name, chars);
        if chars == 0 || budget::fits(&json!(name).to_string(), max_tokens) {
            return name;
        }
        chars /= 2;
    }
}

/// Returns the attributes and all unknown keys of an issue as one JSON text; empty if there are none.
fn other_fields(issue: &Issue) -> String {
    #[derive(Serialize)]
    struct Other<'a> {
        #[serde(flatten)]
        attributes: &'a Attributes,
        #[serde(flatten)]
        issue: &'a UnknownKeys,
        /// The unknown keys of comments and history entries, with their positions.
        #[serde(rename = "ofComments", skip_serializing_if = "Vec::is_empty")]
        comments: Vec<(usize, &'a UnknownKeys)>,
        #[serde(rename = "ofHistory", skip_serializing_if = "Vec::is_empty")]
        history: Vec<(usize, &'a UnknownKeys)>,
    }
    if issue.attributes.is_empty() && !issue.has_unknown_keys() {
        return String::new();
    }
    let comments = issue.comments.iter().map(|comment| &comment.unknown_keys).enumerate();
    let history = issue.history.iter().map(|entry| &entry.unknown_keys).enumerate();
    let other = Other {
        attributes: &issue.attributes,
        issue: &issue.unknown_keys,
        comments: comments.filter(|(_, keys)| !keys.is_empty()).collect(),
        history: history.filter(|(_, keys)| !keys.is_empty()).collect(),
    };
    // Keys are strings, and values are JSON already.
    serde_json::to_string(&other).unwrap_or_default()
}
