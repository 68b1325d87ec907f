//! What is written, against what is published of the clients' configurations.

use crate::support::scripts::{node, run};

#[test]
fn each_client_reads_what_is_written_as_far_as_that_is_published() {
    run(node(), "schemas.mjs", &[]);
}
