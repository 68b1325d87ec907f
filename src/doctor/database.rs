//! Checks of a store in a database.

use super::{Check, CheckContext, Finding};
use crate::hints;
use crate::store::Probe;

/// Asks the database for what the next read and the next change would answer.
pub(super) async fn examine(context: &CheckContext, url: &str) -> Vec<Finding> {
    let check = Check::Database;
    let health = context.store.health(Probe::Trial).await;
    let finding = match (health.trouble, health.warning) {
        (Some(trouble), _) => {
            let reason = hints::for_store(&trouble, &hints::COMMANDS);
            Finding::problem(check, reason).fix(format!("`psql {url}` tries the connection"))
        }
        (None, Some(warning)) => {
            Finding::warning(check, warning).fix("docs/postgres.md says how to set the server up")
        }
        (None, None) => Finding::ok(check, format!("{url} can be read and changed")),
    };
    vec![finding]
}
