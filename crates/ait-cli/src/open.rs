//! `ait open`: opens the web UI in the browser.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::options::{Format, issue_ref};
use super::{ExitStatus, Output, browser};
use ait_domain::{IssueId, IssueRef};
use ait_http::port_probe;

/// How long the server may take to respond; it has to check its disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// The arguments of `ait open`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Uses the browser in $BROWSER, or else the default browser.\n\
    Exits with 1 if no ait serves the web UI on that port.\n\n\
    Examples:\n  \
    ait open\n  \
    ait open 3f2a9c1e\n  \
    ait open --port 8080\n  \
    ait open --print                  only print the URL")]
pub struct Arguments {
    /// The issue to open [default: the list of issues]
    #[arg(value_name = "ID", value_parser = issue_ref)]
    pub id: Option<IssueRef>,

    /// The port of the web UI [default: PORT, else 3000]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,

    /// Print the URL and start no browser
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    format: Format,
}

/// Opens the web UI, or the page of an issue, at `served`, if known; otherwise on a port, where it is expected to show
/// the store named `store`.
pub async fn run(
    arguments: &Arguments,
    issue: Option<IssueId>,
    served: Option<String>,
    port: u16,
    store: &str,
    output: &Output,
) -> Result<ExitStatus> {
    let mut url = match served {
        Some(url) => url,
        None => url_on(port, store).await?,
    };
    if let Some(issue) = issue {
        url = format!("{}/issues/{issue}", url.trim_end_matches('/'));
    }
    if !arguments.format.json {
        output.line(&url)?;
        // The browser may print to the terminal, too.
        output.flush()?;
    }
    let opened = !arguments.print && {
        let opened = browser::open(&url);
        if let Err(error) = &opened {
            tracing::warn!("cannot start a browser ({error}); open {url} yourself");
        }
        opened.is_ok()
    };
    if arguments.format.json {
        output.json(&json!({ "url": url, "opened": opened }))?;
    }
    Ok(ExitStatus::Done)
}

/// Returns the URL of the web UI on a port, if a tracker responds there.
async fn url_on(port: u16, store: &str) -> Result<String> {
    let answer = port_probe::answer(port, PATIENCE).await;
    let Some(tracker) = answer.as_ref().filter(|answer| answer.is_tracker()) else {
        match port_probe::describe_listener(port, answer.as_ref()).await {
            Some(stranger) => bail!(
                "no ait serves the web UI on port {port}, which is taken by {stranger}; start one on another \
                 port with `ait serve --port PORT`"
            ),
            None => {
                bail!("no process serves the web UI on port {port}; start one with `ait serve`")
            }
        }
    };
    if let Some(served) = tracker.store.as_deref().filter(|served| *served != store) {
        tracing::warn!("the web UI on port {port} shows {served}, not {store}");
    }
    Ok(format!("http://localhost:{port}"))
}
