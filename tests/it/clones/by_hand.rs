//! Merges of two clones, one by one.
