//! A queue that grows: more is filed than ends.

use super::thresholds::{FILED_PER_ENDED, FILING_WINDOW_MS, MANY_FILED};
use super::{Hit, Scene, Why};

pub(super) fn faster_than_closing(scene: Scene<'_>) -> Vec<Hit> {
    let is_recent = |time| scene.age(time) <= FILING_WINDOW_MS;
    let summaries = scene.view.summaries();
    let filed = summaries.iter().filter(|summary| is_recent(summary.created_at)).count();
    let ended = summaries.iter().filter(|summary| {
        summary.status.is_terminal()
            && is_recent(summary.modified_at)
            && is_recent(summary.in_status_since())
    });
    let ended = ended.count();
    if filed < MANY_FILED || filed < FILED_PER_ENDED * ended {
        return Vec::new();
    }
    vec![Hit { weight: 0, issues: Vec::new(), why: Why::Filed { filed, ended } }]
}
