//! `ait open`: the page in the browser.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::options::Format;
use super::{Ending, Output};
use crate::neighbour;

/// How long the tracker may take to answer, which has to look at its disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// The arguments of `ait open`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "The browser is $BROWSER, or else the one that the desktop knows.\n\
    Ends with 1 when no ait serves the page on that port.\n\n\
    Examples:\n  \
    ait open\n  \
    ait open --port 8080\n  \
    ait open --print                  only say where the page is")]
pub struct Arguments {
    /// The port that the page is served on [default: PORT, else 3000]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,

    /// Print the address and start no browser
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Opened<'a> {
    url: &'a str,
    /// Whether a browser was started.
    opened: bool,
}

/// Opens the page at an address where it is known to be served; without one, that of the tracker on a port,
/// which is expected to show the store of this name.
///
/// # Errors
///
/// No tracker answers there.
pub async fn run(
    arguments: &Arguments,
    served: Option<String>,
    port: u16,
    store: &str,
    output: &mut Output,
) -> Result<Ending> {
    let url = match served {
        Some(url) => url,
        None => url_on(port, store).await?,
    };
    if !arguments.format.json {
        output.line(&url)?;
        // A browser may write to the terminal, too.
        output.flush()?;
    }
    let opened = !arguments.print && {
        let opened = webbrowser::open(&url);
        if let Err(error) = &opened {
            tracing::warn!("no browser could be started ({error}); open {url} yourself");
        }
        opened.is_ok()
    };
    if arguments.format.json {
        output.json(&Opened { url: &url, opened })?;
    }
    Ok(Ending::Done)
}

/// The address of the page on a port, if a tracker answers there.
async fn url_on(port: u16, store: &str) -> Result<String> {
    let answer = neighbour::answer(port, PATIENCE).await;
    let Some(tracker) = answer.as_ref().filter(|answer| answer.is_tracker()) else {
        match neighbour::stranger(port, answer.as_ref()).await {
            Some(stranger) => bail!(
                "no ait serves the page on port {port}, which {stranger} has; start one on another \
                 port with `ait serve --port PORT`"
            ),
            None => bail!("nobody serves the page on port {port}; start one with `ait serve`"),
        }
    };
    if let Some(served) = tracker.store.as_deref().filter(|served| *served != store) {
        tracing::warn!("the page on port {port} shows {served}, and not {store}");
    }
    Ok(format!("http://localhost:{port}"))
}
