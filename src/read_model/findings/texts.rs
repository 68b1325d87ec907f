//! Issues whose texts do not say what to do.

use super::{Hit, Scene, Why};
use crate::domain::Status;

pub(super) fn placeholder_titles(scene: Scene<'_>) -> Vec<Hit> {
    let hits = scene.open().filter(|(_, _, facts)| facts.is_placeholder);
    hits.map(|(at, ..)| Hit::new(at, 0, Why::Placeholder)).collect()
}

pub(super) fn thin_descriptions(scene: Scene<'_>) -> Vec<Hit> {
    let hits = scene.open().filter(|(_, summary, facts)| {
        summary.status == Status::Created
            && !facts.is_described()
            && scene.view.parts_of(summary.id).next().is_none()
    });
    hits.map(|(at, _, facts)| Hit::new(at, 0, Why::Thin(facts.description_chars))).collect()
}
