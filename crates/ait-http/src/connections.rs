//! Connections: their number, their timeouts, and how they close.
//!
//! hyper speaks HTTP/1.1 on each of them; this module does what hyper leaves to its caller.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Listeners;

/// The maximum size of a request line and its headers together.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How long a closing connection is still read, so that its last response arrives.
const LINGER: Duration = Duration::from_secs(1);
/// How long a closing connection is still read during a shutdown, when clients have been quiet anyway.
const SHUTDOWN_LINGER: Duration = Duration::from_millis(100);
/// How much of a closing connection is still read.
const LINGER_BYTES: u64 = 4 << 20;
/// How many excess connections get 503 at a time; more are closed without a response.
const REFUSALS: usize = 64;
/// The pause after a failed `accept`, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The limits of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many connections may be open at a time; the next one gets 503.
    pub connections: usize,
    /// How long a connection may take from its start, or from the last response, to the end of the next request's
    /// headers. Then it is closed, with 408 if it began a request.
    pub headers: Duration,
    /// How long a client may read nothing of a response.
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let patience = Duration::from_secs(30);
        // Every open page keeps one connection.
        Self { connections: 2_048, headers: patience, write: patience }
    }
}

/// A connection on which stalled writes fail.
type Io = Pin<Box<TimeoutStream<TcpStream>>>;

/// Serves connections until `shutdown`, and returns when the requests in flight have ended.
///
/// Each request carries the address of its caller as the extension [`ConnectInfo`].
pub async fn serve(
    listener: impl Into<Listeners>,
    routes: Router,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let listeners = listener.into();
    let slots = Arc::new(Semaphore::new(limits.connections));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let connections = TaskTracker::new();
    let mut is_failing = false;
    loop {
        let accepted = tokio::select! {
            accepted = listeners.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        let (stream, caller) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !concerns_one_connection(&error) {
                    // Logged once for as long as it lasts.
                    if !is_failing {
                        tracing::warn!("failed to accept a connection: {error}");
                    }
                    is_failing = true;
                    sleep(ACCEPT_PAUSE).await;
                }
                continue;
            }
        };
        is_failing = false;
        let stream = prepare(stream, limits);
        if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
            let routes = routes.clone();
            let shutdown = shutdown.clone();
            connections.spawn(async move {
                connection(stream, caller, routes, limits, shutdown).await;
                drop(slot);
            });
        } else if let Ok(refusal) = Arc::clone(&refusals).try_acquire_owned() {
            connections.spawn(async move {
                let text = format!(
                    "there are {} connections, which is the limit; try again later\n",
                    limits.connections
                );
                let text = last_response("503 Service Unavailable", "Retry-After: 1\r\n", &text);
                close(stream, &text, LINGER).await;
                drop(refusal);
            });
        }
    }
    drop(listeners);
    connections.close();
    connections.wait().await;
}

/// Returns true for errors of `accept` that concern one connection only.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn prepare(stream: TcpStream, limits: Limits) -> Io {
    // Otherwise small responses on a kept connection wait 40 ms for an acknowledgement (Nagle).
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("cannot set TCP_NODELAY: {error}");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write));
    Box::pin(stream)
}

async fn connection(
    stream: Io,
    caller: SocketAddr,
    routes: Router,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(caller));
        routes.call(request)
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut is_ending = false;
    let outcome = loop {
        tokio::select! {
            outcome = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break outcome,
            () = shutdown.cancelled(), if !is_ending => {
                Pin::new(&mut connection).graceful_shutdown();
                is_ending = true;
            }
        }
    };
    let parts = connection.into_parts();
    let last_bytes = match outcome {
        Err(error) if error.is_timeout() && !parts.read_buf.is_empty() => {
            let text = format!(
                "the headers of this request took more than {} s to arrive\n",
                limits.headers.as_secs_f32()
            );
            last_response("408 Request Timeout", "", &text)
        }
        // hyper responds to requests that it cannot parse.
        Err(error) if !error.is_parse() => {
            tracing::debug!("a connection failed: {error}");
            return;
        }
        Err(_) | Ok(()) => Vec::new(),
    };
    let linger = if is_ending { SHUTDOWN_LINGER } else { LINGER };
    close(parts.io.into_inner(), &last_bytes, linger).await;
}

/// Returns the last response of a connection, as bytes.
fn last_response(status: &str, headers: &str, text: &str) -> Vec<u8> {
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: \
         nosniff\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
    .into_bytes()
}

/// Closes a connection so that the last response arrives: closing it with unread input would reset it, and the other
/// side would lose what it has not read yet.
async fn close(mut stream: Io, last_bytes: &[u8], linger: Duration) {
    let lingering = async {
        stream.write_all(last_bytes).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(LINGER_BYTES), &mut tokio::io::sink()).await
    };
    if let Ok(Err(error)) = timeout(linger, lingering).await {
        tracing::debug!("failed to close a connection cleanly: {error}");
    }
}
