//! Around every page, in English.

use crate::web::words::frame::{Frame, Live};

pub(super) const FRAME: Frame = Frame {
    language: "en",
    skip: "Skip to the content",
    pages: "Pages",
    board: "Board",
    agents: "Agents",
    activity: "Activity",
    statistics: "Statistics",
    read_only: "These pages only read. Agents change issues through MCP, people with the command line.",
    as_json: "This as JSON",
    tab: |open, name| match open {
        Some(open) => format!("({open}) {name} · Issue tracker"),
        None => format!("{name} · Issue tracker"),
    },
    live: Live {
        reloads: |seconds| format!("reloads every {seconds} s"),
        connecting: "connecting",
        connected: "live",
        disconnected: "disconnected, trying again",
        changed: "This page has been updated.",
    },
};
