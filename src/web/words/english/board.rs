//! On the board, in English.

use crate::web::words::board::Board;

pub(super) const BOARD: Board = Board {
    heading: "Board",
    nothing: "nothing here",
    waits: |span| format!("waits {span}"),
    ended: |span| format!("{span} ago"),
    old_claim: "old claim",
    more: |count| format!("{count} more"),
};
