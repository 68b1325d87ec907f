//! The written files match the published schemas of the clients.

use crate::support::scripts::{node, run};

#[test]
fn written_files_match_the_published_client_schemas() {
    run(node(), "schemas.mjs", &[]);
}
