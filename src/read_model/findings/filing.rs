//! A queue that grows: more is filed than ends.

use std::iter;

use super::{Hit, Hits, Scene, Why};
use crate::domain::thresholds::{FILED_PER_ENDED, FILING_WINDOW_MS, MANY_FILED};

pub(super) fn faster_than_closing<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
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
        return Box::new(iter::empty());
    }
    let why = Why::Filed { filed, ended };
    Box::new(iter::once(Hit { weight: 0, issue: None, others: Vec::new(), why }))
}
