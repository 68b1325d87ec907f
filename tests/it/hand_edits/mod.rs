//! Edits of `issues.json` by people and by git, and what people do to the directory beside it.

mod at_once;
mod by_git;
mod directory;
mod matrix;
mod others;
