//! `issues.json` edited by hand, or replaced by git: what was answered is never undone by it, what cannot be
//! read is left alone, and everything else that the person changed is taken over and told.

mod at_once;
mod by_git;
mod matrix;
mod others;
