//! Issues whose texts do not say what to do.

use super::{Hit, Hits, Scene, Why};
use crate::domain::Status;

pub(super) fn placeholder_titles<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter(|(_, _, facts)| facts.is_placeholder);
    Box::new(hits.map(|(at, ..)| Hit::new(at, 0, Why::Placeholder)))
}

pub(super) fn thin_descriptions<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter(|(_, summary, facts)| {
        summary.status == Status::Created && !facts.is_described() && !scene.has_parts(summary.id)
    });
    Box::new(hits.map(|(at, _, facts)| Hit::new(at, 0, Why::Thin(facts.description_chars))))
}
