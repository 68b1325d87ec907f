//! The example that an empty project offers: the pages of a filled store in a temporary directory, which go when the
//! server of the project ends.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::OpenStore;
use super::demo::large;
use crate::config::Config;
use crate::http::{self, AccessPolicy, Limits, Listeners, with_security_layers};
use crate::metrics::Metrics;
use crate::read_model::ReadModel;
use crate::store::files::StoreOptions;
use crate::web::{self, ExampleRequest, WebOptions};

/// An older example begins anew when it is asked for, because its last change would no longer be recent.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
const CONNECTIONS: usize = 64;

/// Returns true if the readers of the pages reach another port of the server: on this machine, without a proxy.
pub(super) fn can_be_shown(config: &Config, access: &AccessPolicy) -> bool {
    config.bind.value.0.is_loopback() && config.hosts.is_empty() && access.tokens().is_empty()
}

/// Shows an example to those who ask for it until the streams of the options end. There is none before.
pub(super) async fn serve(
    mut requests: mpsc::Receiver<ExampleRequest>,
    address: IpAddr,
    access: AccessPolicy,
    options: WebOptions,
) {
    let ending = options.streams.clone();
    let mut shown: Option<Example> = None;
    while let Some(Some(request)) = ending.run_until_cancelled(requests.recv()).await {
        if let Some(old) = shown.take_if(|shown| shown.begun.elapsed() > MAX_AGE) {
            old.end().await;
        }
        let port = match &shown {
            Some(shown) => Ok(shown.port),
            None => {
                let starts = Example::start(address, access.clone(), options.clone());
                match ending.run_until_cancelled(starts).await {
                    None => break,
                    Some(Ok(started)) => Ok(shown.insert(started).port),
                    Some(Err(error)) => Err(format!("{error:#}")),
                }
            }
        };
        let _unread = request.send(port);
    }
    if let Some(shown) = shown {
        shown.end().await;
    }
}

/// An example that is shown.
struct Example {
    port: u16,
    begun: Instant,
    ending: CancellationToken,
    connections: JoinHandle<()>,
    opened: OpenStore,
    /// Dropped last, because the store is in it.
    directory: TempDir,
}

impl Example {
    async fn start(address: IpAddr, access: AccessPolicy, options: WebOptions) -> Result<Self> {
        let directory = TempDir::with_prefix("ait-example-").context("no directory for it")?;
        let options_of_store = StoreOptions { syncs_changes: false, ..StoreOptions::default() };
        let opened = OpenStore::at(&directory.path().join("issues.json"), options_of_store);
        let begin = async {
            large(&opened, opened.tracker.now()).await?;
            let listeners = Listeners::bind(SocketAddr::new(address, 0)).await?;
            let port = listeners.port()?;
            anyhow::Ok((listeners, port))
        };
        let (listeners, port) = match begin.await {
            Ok(begun) => begun,
            Err(error) => {
                // Its threads would write to the directory that goes.
                opened.tracker.close().await;
                return Err(error);
            }
        };
        let ending = options.streams.child_token();
        let options = WebOptions {
            project_name: "example".to_owned(),
            streams: ending.clone(),
            is_example: true,
            ..options
        };
        let pages =
            web::router_with(ReadModel::new(opened.tracker.clone()), Metrics::new(), options);
        let limits = Limits { connections: CONNECTIONS, ..Limits::default() };
        let routes = with_security_layers(pages, access);
        let connections = tokio::spawn(http::serve(listeners, routes, limits, ending.clone()));
        Ok(Self { port, begun: Instant::now(), ending, connections, opened, directory })
    }

    async fn end(self) {
        self.ending.cancel();
        let _ended = self.connections.await;
        self.opened.tracker.close().await;
        drop(self.directory);
    }
}
