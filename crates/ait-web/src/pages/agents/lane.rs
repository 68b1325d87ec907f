//! The lane of an agent: its claims over time as bars, those for work above those for review.

use maud::{Markup, html};

use super::Period;
use crate::chart::TimeAxis;
use crate::pages::components::{all_utc, undirected};
use crate::strings::{self, agents as text};
use ait_domain::Timestamp;
use ait_tracker::read_model::{ClaimSpan, ReadView};

/// The width of a drawing in units of its own, which stretch with the page.
const WIDTH: u64 = 1_000;
/// The smallest width of a bar.
const MIN_BAR: u64 = 3;
/// The height of a bar, and below it of the space between the two rows.
const BAR: u64 = 10;
const SPACE: u64 = 2;
/// How many bars a lane has: the latest ones.
pub(super) const MAX_BARS: usize = 300;
/// The time that the end of a lane is rounded up to, so that an unchanged page stays the same for a while.
const STEP_MS: u64 = 60_000;

/// A span of time that lanes show.
pub(super) struct ClaimTimeline {
    begin_ms: i64,
    length_ms: u64,
    now: Timestamp,
}

impl ClaimTimeline {
    /// Creates the lanes of a period that ends now.
    pub fn new(period: Period, now: Timestamp) -> Self {
        let step_ms = STEP_MS.cast_signed();
        let length_ms = period.length_ms();
        let end_ms =
            now.unix_millis().div_euclid(step_ms).saturating_add(1).saturating_mul(step_ms);
        Self { begin_ms: end_ms.saturating_sub(length_ms.cast_signed()), length_ms, now }
    }

    /// Returns the time at which the lanes begin.
    pub fn begin(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.begin_ms)
    }

    /// Draws the claims of an agent, the latest first. The first `named` say what they are on hover; the others are
    /// drawn together, so that a page of many agents stays small.
    pub fn draw(&self, own: &[ClaimSpan], named: usize, view: &ReadView) -> Markup {
        // The latest claim need not be the last to end.
        let in_time: Vec<_> = own
            .iter()
            .filter(|span| span.until.is_none_or(|until| until >= self.begin()))
            .collect();
        let own = &in_time[..in_time.len().min(MAX_BARS)];
        let reviews = own.iter().filter(|span| span.is_review).count();
        let has_both = reviews > 0 && reviews < own.len();
        let height = top(true, has_both) + BAR;
        let (named, others) = own.split_at(named.min(own.len()));
        html! {
            svg.lane-drawing viewBox={ "0 0 " (WIDTH) " " (height) } preserveAspectRatio="none" role="img"
                aria-label=(text::lane(own.len() - reviews, reviews))
            {
                @for is_review in [false, true] {
                    @let bars = self.joined(others.iter().copied().filter(|span| span.is_review == is_review), has_both);
                    @if !bars.is_empty() { path class=(class(is_review)) d=(bars) {} }
                }
                @for span in named { (self.bar(span, has_both, view)) }
            }
        }
    }

    fn bar(&self, span: &ClaimSpan, has_both: bool, view: &ReadView) -> Markup {
        let (x, end) = self.ends(span);
        let summary = &view.summaries()[span.position];
        html! {
            rect class=(class(span.is_review)) x=(x) y=(top(span.is_review, has_both)) width=(end - x) height=(BAR) rx="1" {
                title {
                    (summary.id.short()) " " (undirected(&summary.title)) ", " (strings::held_for(span.length_ms(self.now)))
                }
            }
        }
    }

    /// Returns the outline of bars, the latest first. Those that touch each other are one.
    fn joined<'a>(&self, spans: impl Iterator<Item = &'a ClaimSpan>, has_both: bool) -> String {
        let mut bars: Vec<(u64, u64, bool)> = Vec::new();
        for span in spans {
            let (x, end) = self.ends(span);
            match bars.last_mut().filter(|(later, ..)| end + MIN_BAR >= *later) {
                Some(bar) => (bar.0, bar.1) = (bar.0.min(x), bar.1.max(end)),
                None => bars.push((x, end, span.is_review)),
            }
        }
        let outline = |(x, end, is_review): &(u64, u64, bool)| {
            format!("M{x} {}H{end}v{BAR}H{x}z", top(*is_review, has_both))
        };
        bars.iter().map(outline).collect()
    }

    /// Returns where the bar of a claim begins and ends.
    fn ends(&self, span: &ClaimSpan) -> (u64, u64) {
        let x = self.position(span.from).min(WIDTH - MIN_BAR);
        let end = self.position(span.until.unwrap_or(self.now));
        (x, end.max(x + MIN_BAR))
    }

    /// Returns where a time is in a drawing.
    fn position(&self, time: Timestamp) -> u64 {
        let since_ms = u64::try_from(time.unix_millis().saturating_sub(self.begin_ms)).unwrap_or(0);
        since_ms.min(self.length_ms) * WIDTH / self.length_ms
    }

    /// Renders the times of the lanes. The ticks leave room for the word at the end.
    pub fn axis(&self) -> Markup {
        let end = Timestamp::from_unix_millis(self.begin_ms + self.length_ms.cast_signed());
        html! {
            svg.chart.lane-axis aria-hidden="true" height="24" {
                (TimeAxis::between(self.begin(), end).draw(0, 0.8))
                text x="100%" y="20" text-anchor="end" { "now" }
            }
        }
    }
}

fn class(is_review: bool) -> &'static str {
    if is_review { "status-in_review" } else { "status-in_progress" }
}

/// Returns the top of a bar. Work and reviews have rows of their own if an agent does both.
fn top(is_review: bool, has_both: bool) -> u64 {
    if is_review && has_both { BAR + SPACE } else { 0 }
}

/// Renders what the colours of the bars mean.
pub(super) fn legend() -> Markup {
    html! {
        p.lane-legend {
            span.status-in_progress { (text::WORK) }
            span.status-in_review { (text::REVIEW) }
            (all_utc())
        }
    }
}
