//! `ait config`: shows the settings and their sources.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::styling::Style;

use super::options::{Format, WrongUsage};
use super::output::{FAINT, STRONG};
use super::table::{Cell, Column, rows};
use super::{ExitStatus, Output, sanitize};
use ait_setup::setting::EffectiveSetting;

/// The arguments of `ait config`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A setting comes from the command line, or else from the environment, or else from ait.toml \
    beside the store. An example of ait.toml:\n\n  \
    port = 3005\n  \
    allow-host = [\"tracker.example\"]\n\n\
    Examples:\n  \
    ait config\n  \
    ait config claim-grace\n  \
    ait config port --json | jq -r '.[0].value'"
)]
pub struct Arguments {
    /// The setting to show [default: all]
    setting: Option<String>,
    #[command(flatten)]
    format: Format,
}

/// Shows settings.
///
/// # Errors
///
/// There is no setting of this name, or stdout cannot be written.
pub fn run(
    arguments: &Arguments,
    settings: &[EffectiveSetting],
    output: &Output,
) -> Result<ExitStatus> {
    let is_asked = |setting: &&EffectiveSetting| {
        arguments.setting.as_ref().is_none_or(|name| setting.name == name)
    };
    let settings: Vec<_> = settings.iter().filter(is_asked).collect();
    if settings.is_empty() {
        bail!(WrongUsage(
            "there is no such setting: `ait config` shows them all, and ait.toml beside the store sets them"
        ));
    }
    if arguments.format.json {
        output.json(&settings)?;
    } else {
        let column = |name, at_most| Column { name, from_width: 0, at_most };
        let columns = [column("SETTING", 16), column("VALUE", 60), column("FROM", usize::MAX)];
        let cells = settings.iter().map(|EffectiveSetting { name, value, source }| {
            let value = value.as_deref().unwrap_or("-");
            [
                Cell::new(*name, STRONG),
                Cell::new(sanitize::line(value), Style::new()),
                Cell::new(sanitize::line(source), FAINT),
            ]
        });
        for line in rows(output, columns, &cells.collect::<Vec<_>>()) {
            output.line(line)?;
        }
    }
    output.flush()?;
    Ok(ExitStatus::Done)
}
