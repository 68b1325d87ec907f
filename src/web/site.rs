//! What the handlers share.

use std::sync::Arc;

use super::health::Health;
use super::live::Live;
use super::words::Words;
use crate::metrics::Metrics;
use crate::overview::Overview;
use crate::tracker::Tracker;

/// Everything that answers are made of.
#[derive(Clone)]
pub(super) struct Site {
    pub tracker: Tracker,
    pub overview: Overview,
    pub metrics: Metrics,
    pub health: Arc<Health>,
    pub live: Arc<Live>,
    pub words: &'static Words,
}
