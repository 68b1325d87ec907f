//! `ask_human`: ask people a question about an issue, and be free.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::domain::{AgentName, IssueRef, Question};
use crate::mcp::options::Toolset;
use crate::mcp::result::{Failure, Success, confirmation};
use crate::tracker::StoreError;

pub(super) struct AskHuman;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    issue_id: IssueRef,
    agent: AgentName,
    question: String,
    options: Option<Vec<String>>,
}

impl Tool for AskHuman {
    const NAME: &'static str = "ask_human";
    const DESCRIPTION: &'static str = "Ask people what you cannot decide. Ends the claim; the issue is back in the \
        queue once they answer.";
    const TOOLSET: Toolset = Toolset::Planning;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let options = args.options.unwrap_or_default();
        let question = Question::new(&args.question, &options).map_err(StoreError::Refused)?;
        let proof = context.proof(None);
        let changed = context.tracker.ask_human(args.issue_id, question, args.agent, proof).await?;
        Ok(confirmation("asked", changed))
    }
}
