//! `ait demo`: an example queue to look at.

use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::{ExitStatus, Output, sanitize};

/// The arguments of `ait demo`.
#[derive(Clone, Copy, Debug, Args)]
#[command(
    after_help = "The issues come as if a team were at work on them now. A queue that has issues stays as it is.\n\n\
    Examples:\n  \
    ait demo\n  \
    ait --file demo.json demo         in a file of its own; then ait --file demo.json"
)]
pub struct Arguments {
    /// Instead the 384 issues of seven agents over twelve days, such as to try the pages
    #[arg(long)]
    pub large: bool,
}

/// Says where the example is, and how to look at it.
pub fn tell(path: &Path, output: &Output) -> Result<ExitStatus> {
    let path = sanitize::line(&path.display().to_string());
    output.line(format_args!("the example is in {path}"))?;
    output.line("look at it with `ait list`, `ait board` and `ait`, which serves the web page")?;
    output.flush()?;
    Ok(ExitStatus::Done)
}
