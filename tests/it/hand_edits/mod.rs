//! External edits of `issues.json` by people and by git, and changes to the directory beside it.

mod at_once;
mod by_git;
mod directory;
mod matrix;
mod others;
