//! What a command says first if the store is damaged.

use std::sync::OnceLock;

use ait_tracker::hints::{self, COMMANDS};
use ait_tracker::{StoreError, Tracker};

/// What this process has said of its store, on stderr, of which there is only one.
static SAID: OnceLock<String> = OnceLock::new();

/// Says on stderr what is damaged, or why nothing can be read. Then each JSON object on stdout says it, too, and the
/// process exits with 1.
pub async fn say_damage(tracker: &Tracker) -> Option<StoreError> {
    let damage = tracker.damage().await?;
    let said = SAID.get_or_init(|| hints::for_store(&damage, &COMMANDS));
    tracing::error!("{said}");
    Some(damage)
}

/// Says what only the reads of a large store have found, if [`say_damage`] found nothing before. A read that fails for
/// another reason makes no failure of what was done.
pub async fn say_found_damage(tracker: &Tracker) {
    if said_damage().is_none() && tracker.damage().await.is_some_and(|found| found.is_damage()) {
        say_damage(tracker).await;
    }
}

/// Returns what [`say_damage`] has said.
pub fn said_damage() -> Option<&'static str> {
    SAID.get().map(String::as_str)
}
