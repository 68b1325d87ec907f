//! The floor: the same HTTP server around a handler that only answers.
//!
//! This program starts itself as that server, so that both are processes of their own with as many
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

/// What a server writes to stderr when it has a port, which follows.
pub const READY: &str = "pages: http://localhost:";
/// The environment variable that makes this server of this program.
pub const VARIABLE: &str = "AIT_BENCH_FLOOR";

/// A number with many digits is JSON, and so is its beginning.
static DIGITS: [u8; 1 << 20] = [b'1'; 1 << 20];

/// Serves until it is killed; false when this process is no such server.
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

/// Takes the whole request and answers with as many bytes as its path says.
async fn answer(Path(length): Path<usize>, _request: Bytes) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], Bytes::from_static(&DIGITS[..length]))
}
