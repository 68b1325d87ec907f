//! The pages in a real browser: the scenarios of `tests/clients/browser/`, in headless Chromium.

use std::path::PathBuf;

use crate::support::scripts::{node, run};

/// Returns the path of Node if Chromium is installed, too.
fn node_with_browser() -> Result<PathBuf, &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_browser = std::env::split_paths(&path).any(|folder| folder.join("chromium").is_file());
    if has_browser { node() } else { Err("chromium is not installed") }
}

/// Defines one test for each scenario.
macro_rules! scenarios {
    ($($test:ident: $script:literal;)*) => {
        $(
            #[test]
            fn $test() {
                run(node_with_browser(), concat!("browser/", $script), &[]);
            }
        )*
    };
}

scenarios! {
    checks_detect_violations: "watch_test.mjs";
    browsing_the_list: "browsing.mjs";
    live_changes: "live.mjs";
    many_windows: "windows.mjs";
    a_server_outage: "outage.mjs";
    keyboard_only: "keyboard.mjs";
    shortcuts_and_palette: "shortcuts.mjs";
    without_scripts: "without_scripts.mjs";
    the_header_stays_in_its_place: "steady.mjs";
    accessibility: "accessibility.mjs";
    attention_and_appearance: "attention.mjs";
    a_backlog: "board.mjs";
    what_lies_around: "graph.mjs";
    every_width: "widths.mjs";
    other_languages: "language.mjs";
    local_times: "times.mjs";
    hostile_texts: "hostile.mjs";
    acting: "acting.mjs";
}
