//! `issues.json` beside a store: a rendering that people may edit.

pub(super) mod plan;
