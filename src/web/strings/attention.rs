//! The texts of what needs attention, above the list.

use crate::span::humanize_duration as duration;

pub const HEADING: &str = "Needs attention";
pub const CALM: &str = "Nothing needs attention: no open questions, no agents that are gone, nothing that waits for long.";
pub const KINDS: &str = "What needs attention, by kind";
pub const NO_TITLE: &str = "The queue";
pub const COPY: &str = "Copy the command";
pub const COPIED: &str = "Command copied.";
pub const NOTHING_READY_NEXT: &str =
    "`ait list --blocked`, `ait list --parked`; then unblock, unpark or file something";

/// What a kind is called on a row, and when one and when several are counted.
pub type Words = [&'static str; 3];
pub const QUESTION: Words = ["Question", "question", "questions"];
pub const ORPHANED: Words =
    ["Agent gone", "claim of an agent that is gone", "claims of agents that are gone"];
pub const OLD_CLAIM: Words = ["Old claim", "old claim", "old claims"];
pub const RETURNED_OFTEN: Words = ["Returned often", "returned often", "returned often"];
pub const WAITS_FOR_REVIEW: Words = ["Waits for review", "waits for review", "wait for review"];
pub const PARKED: Words = ["Parked", "parked without an end", "parked without an end"];
/// Kinds that concern the whole queue, so they are not counted.
pub const NOTHING_READY: Words = ["Nothing ready", "nothing is ready", ""];
pub const FILING: Words = ["Filed too fast", "more filed than ended", ""];

/// How many there are of a kind.
pub fn counted([_, one, many]: Words, count: usize) -> String {
    match (many, count) {
        ("", _) => one.to_owned(),
        (_, 1) => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

pub fn asked(agent: &str, question: &str) -> String {
    format!("{agent} asks: {question}")
}

/// A command for the answer: with the number of an option, or with a text.
pub fn answer(short_id: &str, options: usize) -> String {
    match options {
        0 => format!("`ait answer {short_id} 'TEXT'`"),
        _ => format!("`ait answer {short_id} --option 1`, of {options}"),
    }
}

/// Whose client is gone, and in how many milliseconds the claim lapses, if it does.
pub fn gone(agent: &str, lapses_in_ms: Option<u64>) -> String {
    match lapses_in_ms {
        Some(ms) => format!("{agent} is gone; its claim lapses in {}", duration(ms)),
        None => format!("{agent} is gone, and its claim does not lapse by itself"),
    }
}

pub fn give_back(short_id: &str) -> String {
    format!("`ait return {short_id} --force`")
}

pub fn waiting(agents: &str, more: usize) -> String {
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("no issue is ready for the agents that wait for work: {agents}{more}")
}

pub fn parked(agent: &str, reason: &str) -> String {
    format!("parked by {agent}: {reason}")
}

pub fn unpark(short_id: &str) -> String {
    format!("`ait unpark {short_id}`")
}

/// How many are folded.
pub fn more(count: usize) -> String {
    format!("{count} more")
}

pub const NOTIFY: &str = "Notify me of what needs attention";
pub const NOTIFY_NO_MORE: &str = "Do not notify me any more";
/// What a notification of the desktop says.
pub const NOTE: &str = "{count} need attention";
