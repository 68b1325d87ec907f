//! `ait config`: what is set, and where.

use anstyle::Style;
use anyhow::Result;
use clap::Args;

use super::options::Format;
use super::output::{FAINT, STRONG};
use super::table::{Cell, Column, rows};
use super::{Ending, Output, plain};
use crate::setting::SettingRow;

/// The arguments of `ait config`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A setting is given on the command line, or else in the environment, or else in \
    ait.toml beside the store, which is a file such as\n\n  \
    port = 3005\n  \
    allow-host = [\"tracker.example\"]\n\n\
    Examples:\n  \
    ait config\n  \
    ait config --json | jq -r '.[] | select(.name == \"port\").value'"
)]
pub struct Arguments {
    #[command(flatten)]
    format: Format,
}

/// Shows settings.
///
/// # Errors
///
/// stdout takes no more.
pub fn run(arguments: &Arguments, settings: &[SettingRow], output: &mut Output) -> Result<Ending> {
    if arguments.format.json {
        output.json(&settings)?;
    } else {
        let column = |name, at_most| Column { name, from_width: 0, at_most };
        let columns = [column("SETTING", 16), column("VALUE", 60), column("FROM", usize::MAX)];
        let cells = settings.iter().map(|SettingRow { name, value, source }| {
            let value = value.as_deref().unwrap_or("-");
            [
                Cell::new(*name, STRONG),
                Cell::new(plain::line(value), Style::new()),
                Cell::new(plain::line(source), FAINT),
            ]
        });
        for line in rows(output, columns, &cells.collect::<Vec<_>>()) {
            output.line(line)?;
        }
    }
    output.flush()?;
    Ok(Ending::Done)
}
