//! Two-way sync of a queue with the issues of a remote tracker.
//!
//! A [`Run`] brings the issues of a [`Remote`] into the queue and sends changes back. What both sides last agreed on,
//! the base of the three-way merge, is in the issue itself, under the unknown key [`link::KEY`], so that it is
//! written in the same commit as what was merged. The crate knows remotes and the use cases of the tracker; it knows
//! no store, command, page or tool.

#[cfg(feature = "http")]
mod azure;
#[cfg(feature = "http")]
mod azure_token;
#[cfg(feature = "http")]
mod backlog;
pub mod conflicts;
pub mod convert;
pub mod engine;
#[cfg(feature = "http")]
mod github;
#[cfg(feature = "http")]
mod html;
#[cfg(feature = "http")]
mod http;
pub mod link;
mod links;
mod marker;
pub mod plan;
pub mod remote;
pub mod report;
pub mod settings;
mod waiting;
pub mod watermark;

use std::path::Path;

pub use conflicts::{Side, resolve};
pub use engine::{Directions, Run};
pub use link::Link;
pub use remote::{Remote, RemoteError};
pub use report::{Report, SyncError};
pub use settings::{Kind, Push, SyncSettings};
pub use waiting::{Waiting, WaitingCache};
pub use watermark::LastRun;

/// Connects to the remote of some settings. Sends nothing yet. `directory` is that of `ait.toml`.
///
/// # Errors
///
/// The secret is missing, also from `az`, or readable by others, or this program was built without connections.
pub fn connect(
    settings: &SyncSettings,
    environment: &dyn Fn(&str) -> Option<String>,
    directory: &Path,
) -> Result<Box<dyn Remote>, String> {
    connect_with(settings, settings.secret(environment, directory), environment)
}

#[cfg(feature = "http")]
fn connect_with(
    settings: &SyncSettings,
    secret: Result<settings::Secret, String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Box<dyn Remote>, String> {
    match settings.kind {
        Kind::Azure => Ok(Box::new(azure::Azure::new(settings, secret, environment)?)),
        Kind::Backlog => Ok(Box::new(backlog::Backlog::new(settings, secret?)?)),
        Kind::GitHub => Ok(Box::new(github::GitHub::new(settings, secret?)?)),
    }
}

#[cfg(not(feature = "http"))]
fn connect_with(
    _: &SyncSettings,
    _: Result<settings::Secret, String>,
    _: &dyn Fn(&str) -> Option<String>,
) -> Result<Box<dyn Remote>, String> {
    let how = "build it with `cargo build --release --features sync`";
    Err(format!("this ait was built without connections to remote trackers: {how}"))
}

#[cfg(test)]
mod tests;
