//! The texts of the page of all projects.

pub const TITLE: &str = "Projects";
pub const PROJECT: &str = "Project";
pub const WAITING: &str = "Waiting";
pub const IN_PROGRESS: &str = "In progress";
pub const REVIEW: &str = "For review";
pub const ENDED: &str = "Ended";
pub const QUESTIONS: &str = "Questions";
pub const FINDINGS: &str = "Findings";
pub const THIS: &str = "this server";
pub const GUARDED: &str = "needs a token: open its page to see more";
pub const SILENT: &str = "does not answer";
pub const ABOUT: &str = "Your projects that are served on this machine. Each has its own address.";
pub const ALL_PROJECTS: &str = "All projects";
