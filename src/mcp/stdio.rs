//! MCP over stdin and stdout, where the client is the parent process.
//!
//! stdout carries protocol frames and nothing else. The end of stdin means that the client is gone:
//! what was asked before it is still answered, and then the server ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{ClientRequest, GetMeta, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::McpServer;

/// How long calls that were asked for before the end may go on undecided.
const GRACE: Duration = Duration::from_millis(400);
/// How long answers may take to be written after that.
const LAST_ANSWERS: Duration = Duration::from_millis(400);

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
    let ended = shutdown.child_token();
    let input = EndOfInput { input, terminated: false, ended: ended.clone() };
    let transport = Introduced { inner: AsyncRwTransport::new_server(input, output), begun: false };
    // The service cancels the token that it is given when it ends, so it gets one of its own.
    let service = match server.serve_with_ct(transport, shutdown.child_token()).await {
        Ok(service) => service,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut waiting = Box::pin(service.waiting());
    tokio::select! {
        _ = &mut waiting => return Ok(()),
        () = async { ended.cancelled().await; tokio::time::sleep(GRACE).await } => {}
    }
    // A call that still waits for another process is withdrawn and answered so.
    tokio::spawn(async move { tracker.close().await });
    if tokio::time::timeout(LAST_ANSWERS, waiting).await.is_err() {
        tracing::warn!("the client did not take its last answers");
    }
    Ok(())
}

/// An input that tells when it has ended, and ends its last line.
struct EndOfInput<R> {
    input: R,
    terminated: bool,
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for EndOfInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.input).poll_read(context, buffer));
        let at_end = read.is_err() || buffer.filled().len() == before;
        if at_end && read.is_ok() && !self.terminated && buffer.remaining() > 0 {
            // A last message without a line feed is a message too.
            self.terminated = true;
            buffer.put_slice(b"\n");
        } else if at_end {
            self.ended.cancel();
        }
        Poll::Ready(read)
    }
}

/// A transport that passes over notifications before the session has begun.
///
/// They say nothing then, but rmcp would take one for a broken handshake and end the server.
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
                JsonRpcMessage::Notification(_) if !self.begun => {
                    tracing::debug!("a notification before the session began was ignored");
                    continue;
                }
                JsonRpcMessage::Request(request) => self.begun |= begins_session(&request.request),
                _ => {}
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Tells whether a session begins with this request: an `initialize`, or any request that carries
/// its own protocol version, except the ones that may come before either.
fn begins_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => other.get_meta().protocol_version().is_some(),
    }
}
