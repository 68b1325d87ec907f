//! `remember`: keep something for later agents.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::memory::checked;
use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::Reply;
use crate::result::{Failure, Success};
use ait_domain::{AgentName, Classification, IssueRef};
use ait_tracker::memory::{KeptEntry, NewEntry, Until};
use ait_tracker::{Lesson, StoreError};

pub(super) struct Remember;

/// The longest text of a similar entry, in characters.
const MAX_SIMILAR_CHARS: usize = 160;

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Decision,
    Trap,
    Fact,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    text: String,
    kind: Kind,
    /// Files, labels, issues: claims of these show it
    #[serde(default)]
    about: Vec<String>,
    /// Your name
    agent: AgentName,
    /// Entry that is no longer true
    replaces: Option<IssueRef>,
    /// 30d, 2026-12-31 or an issue
    until: Option<String>,
}

impl Tool for Remember {
    const NAME: &'static str = "remember";
    const DESCRIPTION: &'static str = "Keep for later agents what neither code nor issue says: a decision with its \
        reason, a trap, a way that failed. One thing, up to 600 characters. Answers with similar entries: replace what \
        you correct.";
    const TOOLSET: Toolset = Toolset::Memory;
    const LOOSE: &[&str] = &["replaces"];
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { text, kind, about, agent, replaces, until } = args;
        let kind = match kind {
            Kind::Decision => Classification::Decision,
            Kind::Trap => Classification::Trap,
            Kind::Fact => Classification::Fact,
        };
        let until = until.filter(|until| !until.trim().is_empty());
        let until = until.map(|until| Until::parse(&until, &chrono::Utc)).transpose();
        let until = until.map_err(StoreError::Refused)?;
        let text = checked(text)?;
        let entry = NewEntry { about, replaces, until, ..NewEntry::new(kind, text) };
        let KeptEntry { entry, similar } = context.tracker.remember(entry, agent).await?;
        let mut report = json!({ "kept": entry.issue.id.short() });
        if !similar.is_empty() {
            let similar: Vec<_> =
                similar.iter().map(|one| Lesson::of_entry(one, MAX_SIMILAR_CHARS)).collect();
            report["similar"] = json!(context.lines(similar).await);
        }
        Ok(Success { events: entry.events, ..Success::done(Reply::Report(report)) })
    }
}
