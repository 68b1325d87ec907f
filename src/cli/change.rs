//! What the commands that change one issue answer.

use anyhow::Result;

use super::issue_view::words;
use super::output::{STRONG, of_status};
use super::{Ending, Output, plain};
use crate::domain::Issue;

/// Writes one line about an issue that has just changed, or the issue as JSON.
pub(super) fn answer(issue: &Issue, json: bool, output: &mut Output) -> Result<Ending> {
    if json {
        output.json(issue)?;
    } else {
        let id = output.styled(STRONG, issue.id.short());
        let status = output.styled(of_status(issue.status), words(issue.status));
        let title = plain::line(&issue.title);
        output.line(format_args!("{id} {status}: {title}"))?;
    }
    Ok(Ending::Done)
}
