//! The pages in a real browser: the scenarios of `tests/clients/browser/`, in headless Chromium.

use std::path::PathBuf;

use crate::support::scripts::{node, run};

/// Node, where there is a Chromium for it to drive.
fn node_with_browser() -> Result<PathBuf, &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_browser = std::env::split_paths(&path).any(|folder| folder.join("chromium").is_file());
    if has_browser { node() } else { Err("there is no chromium") }
}

/// One test for each scenario.
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
    the_watch_notices_what_is_wrong: "watch_test.mjs";
    browsing_the_list: "browsing.mjs";
    live_changes: "live.mjs";
    a_server_that_goes_away: "outage.mjs";
    the_keyboard_alone: "keyboard.mjs";
    no_scripts: "without_scripts.mjs";
    accessibility: "accessibility.mjs";
    every_width: "widths.mjs";
    hostile_texts: "hostile.mjs";
}
