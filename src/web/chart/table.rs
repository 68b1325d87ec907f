//! The numbers of a chart, folded: for those who do not see it, and those who want to know exactly.

use maud::{Markup, html};

/// A row: what it is about, and its values.
pub(in crate::web) type Row = (String, Vec<String>);

/// A table below a summary that unfolds it.
pub(in crate::web) fn table(
    id: &str,
    summary: &str,
    caption: &str,
    head: &[&str],
    rows: &[Row],
) -> Markup {
    html! {
        details.numbers id={ (id) "-numbers" } {
            summary { (summary) }
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody {
                        @for (name, values) in rows {
                            tr {
                                th scope="row" { (name) }
                                @for value in values { td { (value) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
