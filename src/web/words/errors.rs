//! On pages that say what went wrong, and in their JSON.

/// The texts of these pages.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// Above a path that leads nowhere.
    pub nothing_here: &'static str,
    /// What is wrong with it.
    pub no_page: &'static str,
    /// Above an issue that is not there.
    pub no_issue: &'static str,
    /// What is wrong with what was asked for.
    pub unknown_issue: fn(&str) -> String,
    /// The same for what cannot be an id.
    pub not_an_id: fn(&str) -> String,
    /// Above a beginning that several ids have.
    pub several_issues: &'static str,
    /// What is wrong with it, and how many there are.
    pub ambiguous: fn(&str, usize) -> String,
    /// Above an address that asks for something there is not.
    pub bad_address: &'static str,
    /// What is wrong with a parameter, of its name, what was given, and what was expected.
    pub bad_parameter: fn(&str, &str, &str) -> String,
    /// Above issues that cannot be read.
    pub unreadable: &'static str,
    /// What to do about it.
    pub unreadable_advice: &'static str,
    /// Above the issues that are near to what was asked for.
    pub nearest: &'static str,
    /// Above the issues that it could mean.
    pub candidates: &'static str,
    /// The link to the list.
    pub all_issues: &'static str,
    /// The link to ask once more.
    pub again: &'static str,
}
