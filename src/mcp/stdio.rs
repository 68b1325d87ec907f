//! MCP over stdin and stdout, where the client is the parent process.
//!
//! stdout carries protocol frames and nothing else. The end of stdin means that the client is gone:
//! what was asked before it is still answered, and then the server ends. A signal to end is treated
//! as the end of stdin.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use rmcp::ServiceExt;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, GetExtensions, GetMeta, JsonRpcMessage,
    ProtocolVersion, RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
};
use tokio_util::sync::CancellationToken;

use super::McpServer;
use super::delivery::{Delivery, delivery};
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
        begun = server.serve(Pipe::new(inner)) => match begun {
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

/// A transport that knows which requests wait for their answers.
///
/// It passes over everything but requests before the session has begun. That means nothing then, but rmcp would
/// take it for a broken handshake and end the server.
struct Pipe<T> {
    inner: T,
    begun: bool,
    deliveries: HashMap<RequestId, Delivery>,
    /// What has to be written before more is read. Kept, because reading is broken off and begun again.
    refusal: Option<BoxFuture<'static, ()>>,
}

impl<T> Pipe<T> {
    fn new(inner: T) -> Self {
        Self { inner, begun: false, deliveries: HashMap::new(), refusal: None }
    }

    /// Takes note of a message from the client.
    ///
    /// # Errors
    ///
    /// The id of a request that cannot be told from another one, which is not answered yet.
    fn note(&mut self, message: &mut RxJsonRpcMessage<RoleServer>) -> Result<(), RequestId> {
        match message {
            JsonRpcMessage::Request(request) => {
                let Entry::Vacant(vacant) = self.deliveries.entry(request.id.clone()) else {
                    return Err(request.id.clone());
                };
                let (caller, delivery) = delivery(&CancellationToken::new());
                request.request.extensions_mut().insert(caller);
                vacant.insert(delivery);
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp answers it no more from here on.
                if let ClientNotification::CancelledNotification(it) = &notification.notification
                    && let Some(id) = &it.params.request_id
                {
                    self.deliveries.remove(id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Pipe<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let delivery = answered.and_then(|id| self.deliveries.remove(id));
        let sending = self.inner.send(message);
        async move {
            sending.await?;
            if let Some(delivery) = delivery {
                delivery.done();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusal) = &mut self.refusal {
                refusal.await;
                self.refusal = None;
            }
            let mut message = self.inner.receive().await?;
            match &message {
                JsonRpcMessage::Request(request) => self.begun |= begins_session(&request.request),
                _ if self.begun => {}
                _ => {
                    tracing::debug!("a message before the session began was ignored");
                    continue;
                }
            }
            let Err(id) = self.note(&mut message) else { return Some(message) };
            // rmcp would work on both and answer one of them.
            let text = "another request with this id is still under way: give each its own";
            let refusal = JsonRpcMessage::error(ErrorData::invalid_request(text, None), Some(id));
            // A client that is gone needs none.
            self.refusal = Some(self.inner.send(refusal).map(drop).boxed());
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, Lines};

    use super::*;
    use crate::domain::event::LAPSE_ACTION;
    use crate::domain::{Issue, Status};
    use crate::mcp::testing::{file_issue, only_issue, tracker};
    use crate::metrics::Metrics;
    use crate::tracker::Tracker;

    /// A client of a server in this process, with one issue to claim.
    struct Client {
        tracker: Tracker,
        input: DuplexStream,
        output: Lines<BufReader<DuplexStream>>,
        server: tokio::task::JoinHandle<Result<(), ServerInitializeError>>,
    }

    impl Client {
        async fn begin() -> Self {
            let tracker = tracker(|| ());
            file_issue(&tracker).await;
            let around = || unreachable!("nobody asks for it");
            let server = McpServer::new(tracker.clone(), Metrics::new(), around);
            let (input, server_input) = tokio::io::duplex(PIPE_BYTES);
            let (output, server_output) = tokio::io::duplex(PIPE_BYTES);
            let serving = serve(server, server_input, server_output, CancellationToken::new());
            let server = tokio::spawn(serving);
            let output = BufReader::new(output).lines();
            let mut client = Self { tracker, input, output, server };
            let info = json!({ "name": "test", "version": "1" });
            let introduction =
                json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
            client.send(&[
                json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": introduction }),
                json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            ])
            .await;
            assert_eq!(client.frame().await.unwrap()["id"], 0);
            client
        }

        async fn send(&mut self, messages: &[Value]) {
            let lines: Vec<_> = messages.iter().map(|it| format!("{it}\n")).collect();
            self.input.write_all(lines.concat().as_bytes()).await.unwrap();
        }

        async fn frame(&mut self) -> Option<Value> {
            let line = self.output.next_line().await.unwrap()?;
            Some(serde_json::from_str(&line).unwrap())
        }

        /// Ends the input, and gives what was answered since.
        async fn end(mut self) -> (Vec<Value>, Arc<Issue>) {
            let mut frames = Vec::new();
            drop(std::mem::replace(&mut self.input, tokio::io::duplex(1).0));
            while let Some(frame) = self.frame().await {
                frames.push(frame);
            }
            (&mut self.server).await.unwrap().unwrap();
            self.tracker.close().await;
            let issue = only_issue(&self.tracker).await;
            (frames, issue)
        }
    }

    fn claim(id: u64) -> Value {
        let params = json!({ "name": "get_next_issue", "arguments": { "agent": "b" } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    }

    fn cancel(id: u64) -> Value {
        let params = json!({ "requestId": id });
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
    }

    fn is_given_back(issue: &Issue) -> bool {
        let lapses = issue.history.iter().filter(|entry| entry.action == LAPSE_ACTION).count();
        let claims = issue.history.len() - 1 - lapses;
        assert!(issue.status == Status::InProgress && claims == lapses + 1 || claims == lapses);
        issue.status == Status::Created
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_cancelled_claim_is_either_answered_or_given_back() {
        for round in 0..200 {
            let mut client = Client::begin().await;
            client.send(&[claim(1)]).await;
            for _ in 0..round % 7 {
                tokio::task::yield_now().await;
            }
            client.send(&[cancel(1)]).await;
            let (frames, issue) = client.end().await;
            assert_eq!(frames.is_empty(), is_given_back(&issue), "{frames:?} {issue:?}");
        }
    }

    #[tokio::test]
    async fn a_claim_that_was_answered_stays_also_if_it_is_cancelled_afterwards() {
        let mut client = Client::begin().await;
        client.send(&[claim(1)]).await;
        assert_eq!(client.frame().await.unwrap()["id"], 1);
        client.send(&[cancel(1)]).await;
        let (frames, issue) = client.end().await;
        assert_eq!((frames.len(), issue.status), (0, Status::InProgress));
    }

    #[tokio::test]
    async fn a_claim_whose_answer_cannot_be_written_is_given_back() {
        let mut client = Client::begin().await;
        client.output = BufReader::new(tokio::io::duplex(1).0).lines();
        client.send(&[claim(1)]).await;
        let (_, issue) = client.end().await;
        assert_eq!(issue.history.last().unwrap().action, LAPSE_ACTION);
        assert!(is_given_back(&issue));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn of_requests_with_one_id_at_once_the_first_is_answered_and_the_others_refused() {
        for _ in 0..20 {
            let mut client = Client::begin().await;
            client.send(&[claim(1), claim(1)]).await;
            let (frames, issue) = client.end().await;
            let holds = |frame: &&Value| frame["result"]["isError"] == false;
            assert!(frames.iter().any(|frame| holds(&frame)), "{frames:?}");
            assert_eq!((frames.len(), issue.status), (2, Status::InProgress), "{frames:?}");
        }
    }
}
