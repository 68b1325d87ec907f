//! The baseline: the same HTTP server with a handler that only returns bytes.
//!
//! This program starts itself as that server, so that both servers are separate processes with the same number of
//! threads.

use std::io::{self, Write};

use agent_issue_tracker::http::{AccessPolicy, Limits, serve, with_security_layers};
use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::any;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use benches::fixture;

/// The line on stderr that announces the port of a server, without the port.
pub const READY: &str = "pages: http://localhost:";
/// The environment variable that turns this program into the baseline server.
pub const VARIABLE: &str = "AIT_BENCH_BASELINE";

/// A number with many digits is JSON, and so is each prefix of it.
static DIGITS: [u8; 1 << 20] = [b'1'; 1 << 20];

/// Serves until it is killed. Returns false if this process is not the baseline server.
pub fn run() -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    fixture::runtime().block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        writeln!(io::stderr(), "{READY}{port}").expect("a parent that listens");
        let routes = Router::new().route("/{length}", any(answer));
        let routes = with_security_layers(routes, AccessPolicy::default());
        serve(listener, routes, Limits::default(), CancellationToken::new()).await;
    });
    true
}

/// Reads the whole request and returns as many bytes as the path says.
async fn answer(Path(length): Path<usize>, _request: Bytes) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], Bytes::from_static(&DIGITS[..length]))
}
