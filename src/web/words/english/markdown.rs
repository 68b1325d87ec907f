//! Around the texts of agents, in English.

use crate::web::words::markdown::Markdown;

pub(super) const MARKDOWN: Markdown = Markdown {
    too_long: "Shown as it is written, because it is long.",
    too_intricate: "Shown as it is written, because it is too intricate to be laid out.",
    done: "done",
    to_do: "to do",
    table: "Table",
};
