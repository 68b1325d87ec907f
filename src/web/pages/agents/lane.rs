//! The lane of an agent: its claims over time as bars, those for work above those for review.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::Period;
use crate::domain::Timestamp;
use crate::read_model::{ClaimSpan, Name, ReadView};
use crate::web::format;
use crate::web::pages::parts::undirected;
use crate::web::strings::{self, agents as text};

/// The width of a drawing in units of its own, which stretch with the page.
const WIDTH: u64 = 1_000;
/// The smallest width of a bar.
const MIN_BAR: u64 = 3;
/// The height of a bar, and below it of the space between the two rows.
const BAR: u64 = 10;
const SPACE: u64 = 2;
/// How many bars a lane has: the latest ones.
const MAX_BARS: usize = 300;
/// The time that the end of a lane is rounded up to, so that an unchanged page stays the same for a while.
const STEP_MS: u64 = 60_000;

/// A span of time that lanes show.
pub(super) struct Lane {
    begin_ms: i64,
    length_ms: u64,
    now: Timestamp,
}

impl Lane {
    /// Creates the lanes of a period that ends now.
    pub fn new(period: Period, now: Timestamp) -> Self {
        let (step_ms, length_ms) = (STEP_MS.cast_signed(), period.length_ms());
        let end_ms =
            now.unix_millis().div_euclid(step_ms).saturating_add(1).saturating_mul(step_ms);
        Self { begin_ms: end_ms.saturating_sub(length_ms.cast_signed()), length_ms, now }
    }

    /// Returns the time at which the lanes begin.
    pub fn begin(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.begin_ms)
    }

    /// Draws the claims of an agent.
    pub fn draw(&self, agent: Name, spans: &[ClaimSpan], view: &ReadView) -> Markup {
        let mut own: Vec<_> = spans.iter().filter(|span| span.agent == agent).collect();
        own.sort_unstable_by_key(|span| Reverse(span.from));
        own.truncate(MAX_BARS);
        let reviews = own.iter().filter(|span| span.is_review).count();
        let height = 2 * BAR + SPACE;
        html! {
            svg.lane-drawing viewBox={ "0 0 " (WIDTH) " " (height) } preserveAspectRatio="none" role="img"
                aria-label=(text::lane(own.len() - reviews, reviews))
            {
                @for quarter in 1..4 {
                    path.tick d={ "M" (WIDTH / 4 * quarter) " 0v" (height) } {}
                }
                @for span in own { (self.bar(span, view)) }
            }
        }
    }

    fn bar(&self, span: &ClaimSpan, view: &ReadView) -> Markup {
        let from = self.position(span.from);
        let width = self.position(span.until.unwrap_or(self.now)).saturating_sub(from).max(MIN_BAR);
        let summary = &view.summaries()[span.position];
        let class = if span.is_review { "status-in_review" } else { "status-in_progress" };
        let row = if span.is_review { BAR + SPACE } else { 0 };
        html! {
            rect class=(class) x=(from.min(WIDTH - MIN_BAR)) y=(row) width=(width) height=(BAR) rx="1" {
                title {
                    (text::bar(&summary.id.short(), &undirected(&summary.title), &strings::held_for(span.length_ms(self.now))))
                }
            }
        }
    }

    /// Returns where a time is in a drawing.
    fn position(&self, time: Timestamp) -> u64 {
        let since_ms = u64::try_from(time.unix_millis().saturating_sub(self.begin_ms)).unwrap_or(0);
        since_ms.min(self.length_ms) * WIDTH / self.length_ms
    }

    /// Renders the times at the quarters of the lanes.
    pub fn axis(&self, period: Period) -> Markup {
        let unit = if period == Period::Day { format::Unit::Minute } else { format::Unit::Day };
        let quarter_ms = (self.length_ms / 4).cast_signed();
        let tick = |quarter: i64| {
            format::tick(Timestamp::from_unix_millis(self.begin_ms + quarter * quarter_ms), unit)
        };
        html! {
            p.lane-axis aria-hidden="true" {
                @for quarter in 0..4 { span { (tick(quarter)) } }
                span { (text::NOW) }
            }
        }
    }
}

/// Renders what the colours of the bars mean.
pub(super) fn legend() -> Markup {
    html! {
        p.lane-legend {
            span.status-in_progress { (text::WORK) }
            span.status-in_review { (text::REVIEW) }
        }
    }
}
