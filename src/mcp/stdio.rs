//! MCP over stdin and stdout, where the client is the parent process.
//!
//! stdout carries protocol frames and nothing else. The end of stdin means that the client is gone:
//! what was asked before it is still answered, and then the server ends. A signal to end is treated
//! as the end of stdin.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
};
use tokio_util::sync::CancellationToken;

use super::McpServer;
use crate::json_text;

/// How long calls that were asked for before the end may go on undecided.
const GRACE: Duration = Duration::from_millis(400);
/// How long answers may take to be written after that.
const LAST_ANSWERS: Duration = Duration::from_millis(250);
/// The longest message, which is that of rmcp; of a longer one only parts are seen, and ignored.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// How much may wait between stdin and the server.
const PIPE_BYTES: usize = 64 << 10;

/// Serves one client until its end of the input or until `shutdown`.
///
/// # Errors
///
/// The client breaks the protocol before the session began.
pub async fn serve<R, W>(
    server: McpServer,
    input: R,
    output: W,
    shutdown: CancellationToken,
) -> Result<(), ServerInitializeError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let tracker = server.tracker().clone();
    let (lines, input_lines) = tokio::io::duplex(PIPE_BYTES);
    let ended = shutdown.child_token();
    // rmcp waits for listeners before it ends, and they would for it.
    let server = server.until(ended.clone());
    tokio::spawn(forward(input, lines, ended.clone()));
    let inner = AsyncRwTransport::new_server(input_lines, output);
    let grace_is_over = async {
        ended.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::pin!(grace_is_over);
    let service = tokio::select! {
        begun = server.serve(Introduced { inner, begun: false }) => match begun {
            Ok(service) => service,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(error),
        },
        // The client went away, and does not take the answers that come before a session.
        () = &mut grace_is_over => return Ok(()),
    };
    let mut waiting = Box::pin(service.waiting());
    tokio::select! {
        _ = &mut waiting => return Ok(()),
        () = &mut grace_is_over => {}
    }
    // A call that still waits for another process is withdrawn and answered so.
    tokio::spawn(async move { tracker.close().await });
    if tokio::time::timeout(LAST_ANSWERS, waiting).await.is_err() {
        tracing::warn!("the client did not take its last answers");
    }
    Ok(())
}

/// Hands the lines of the input on until it ends or `ended` is cancelled, and cancels it then.
///
/// Each line is made fit to be parsed: a last one without a line feed is a message too, and a text
/// that was cut within a character is no reason to leave a request without an answer.
async fn forward(input: impl AsyncRead + Unpin, mut lines: DuplexStream, ended: CancellationToken) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut input).take(MAX_LINE_BYTES);
        let read = tokio::select! {
            read = bounded.read_until(b'\n', &mut line) => read,
            () = ended.cancelled() => break,
        };
        if !read.is_ok_and(|bytes| bytes > 0) {
            break;
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        if let Err(invalid) = str::from_utf8(&line) {
            tracing::debug!("a message is not UTF-8: {invalid}");
            line = String::from_utf8_lossy(&line).into_owned().into_bytes();
        }
        if let Some(mended) = json_text::without_lone_surrogates(&line) {
            line = mended;
        }
        let written = tokio::select! {
            written = lines.write_all(&line) => written,
            () = ended.cancelled() => break,
        };
        if written.is_err() {
            break;
        }
    }
    ended.cancel();
}

/// A transport that passes over everything but requests before the session has begun.
///
/// It means nothing then, but rmcp would take it for a broken handshake and end the server.
struct Introduced<T> {
    inner: T,
    begun: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Introduced<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            match &message {
                JsonRpcMessage::Request(request) => self.begun |= begins_session(&request.request),
                _ if self.begun => {}
                _ => {
                    tracing::debug!("a message before the session began was ignored");
                    continue;
                }
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Tells whether a session begins with this request: an `initialize`, or any request that is complete
/// in itself, except the ones that may come before either.
fn begins_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.protocol_version().is_some_and(known)
                && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}
