//! What the two claims, `ait next` and `ait review`, have in common.

use std::sync::Arc;

use anyhow::Result;

use super::issue_view::write_whole;
use super::{Ending, Output};
use crate::domain::{Issue, Timestamp};

/// Writes what was claimed; when that is nothing, says so where it is not taken for an issue.
pub(super) fn answer(
    claimed: Option<Arc<Issue>>,
    json: bool,
    now: Timestamp,
    nothing: &str,
    output: &mut Output,
) -> Result<Ending> {
    if json {
        output.json(&claimed.as_deref())?;
    } else if let Some(issue) = &claimed {
        write_whole(issue, now, output)?;
    } else {
        tracing::info!("{nothing}");
    }
    Ok(if claimed.is_some() { Ending::Done } else { Ending::Nothing })
}
