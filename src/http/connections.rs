//! Connections: how many there are, how long they may dawdle, and how they end.
//!
//! hyper speaks HTTP/1.1 on each; here is what it leaves to its caller.

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How many bytes a request line and its headers may have together.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How long, and how many bytes, an ended connection is still read, so that its last answer arrives.
const LINGER: Duration = Duration::from_secs(1);
/// The same while the server ends, when clients have been quiet anyway.
const LAST_LINGER: Duration = Duration::from_millis(100);
const LINGER_BYTES: u64 = 4 << 20;
/// How many connections too many are told so at a time; more are closed without a word.
const REFUSALS: usize = 64;
/// The rest after the system could not give a connection, for lack of file descriptors, say.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// What connections may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many connections there may be at a time; the next is answered with 503.
    pub connections: usize,
    /// How long a connection may take from its begin, or from the last answer, to the end of the
    /// next request's headers. One that has begun a request by then is answered with 408; one that
    /// has not is closed.
    pub headers: Duration,
    /// How long a client may take nothing of an answer that waits for it.
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let patience = Duration::from_secs(30);
        // An open page has one as long as it is open.
        Self { connections: 2_048, headers: patience, write: patience }
    }
}

/// The bytes of a connection, which fail when nobody takes them.
type Io = Pin<Box<TimeoutStream<TcpStream>>>;

/// Serves connections until `shutdown`; returns when the requests that are under way then have ended.
///
/// Each request has the address of its caller in its extensions, as [`ConnectInfo`].
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let connections = TaskTracker::new();
    let mut is_failing = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        let (stream, caller) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_of_one_connection(&error) {
                    // Once is enough, for as long as it lasts.
                    if !is_failing {
                        tracing::warn!("cannot take a connection: {error}");
                    }
                    is_failing = true;
                    sleep(ACCEPT_REST).await;
                }
                continue;
            }
        };
        is_failing = false;
        let stream = prepared(stream, limits);
        if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
            let (routes, shutdown) = (routes.clone(), shutdown.clone());
            connections.spawn(async move {
                connection(stream, caller, routes, limits, shutdown).await;
                drop(slot);
            });
        } else if let Ok(refusal) = Arc::clone(&refusals).try_acquire_owned() {
            connections.spawn(async move {
                let text = format!(
                    "there are {} connections already, which is the limit; try again later\n",
                    limits.connections
                );
                let text = closing("503 Service Unavailable", "Retry-After: 1\r\n", &text);
                end(stream, &text, LINGER).await;
                drop(refusal);
            });
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// Errors of `accept` that the next connection need not share.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn prepared(stream: TcpStream, limits: Limits) -> Io {
    // Small answers on a kept connection would wait 40 ms for the other side's acknowledgement.
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
    let last_words = match outcome {
        Err(error) if error.is_timeout() && !parts.read_buf.is_empty() => {
            let text = format!(
                "the headers of this request took more than {} s to arrive\n",
                limits.headers.as_secs_f32()
            );
            closing("408 Request Timeout", "", &text)
        }
        // hyper has answered what it could not understand.
        Err(error) if !error.is_parse() => {
            tracing::debug!("a connection failed: {error}");
            return;
        }
        Err(_) | Ok(()) => Vec::new(),
    };
    let linger = if is_ending { LAST_LINGER } else { LINGER };
    end(parts.io.into_inner(), &last_words, linger).await;
}

/// A whole response, after which the connection ends.
fn closing(status: &str, headers: &str, text: &str) -> Vec<u8> {
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: \
         nosniff\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
    .into_bytes()
}

/// Ends a connection so that what was written last arrives: one that is closed while there are bytes
/// to be read is reset, and the other side loses what it did not read yet.
async fn end(mut stream: Io, last_words: &[u8], linger: Duration) {
    let lingering = async {
        stream.write_all(last_words).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(LINGER_BYTES), &mut tokio::io::sink()).await
    };
    if let Ok(Err(error)) = timeout(linger, lingering).await {
        tracing::debug!("a connection did not end well: {error}");
    }
}
