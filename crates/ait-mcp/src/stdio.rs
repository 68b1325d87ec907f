//! MCP over stdin and stdout, where the client is the parent process.
//!
//! stdout carries protocol frames and nothing else. At the end of stdin the server answers what was asked before, and
//! ends. A signal to end counts as the end of stdin.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use memchr::memchr;
use rmcp::ServiceExt;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, GetExtensions, GetMeta, JsonRpcError,
    JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::delivery::{Delivery, delivery};
use super::waiting::may_wait;
use super::{McpServer, message};
use ait_tracker::MAX_WAITING;

/// How long calls in flight may stay undecided after the end of the input.
const GRACE: Duration = Duration::from_millis(400);
/// How long writing the last responses may take after that.
const SHUTDOWN_RESPONSES: Duration = Duration::from_millis(250);
/// The longest message. Of a longer one, only the id is read.
const MAX_LINE_BYTES: usize = 16 << 20;
/// The most requests that are handled, or whose responses are not written yet. The next ones wait in the pipe.
/// This bounds the memory for the responses to a client that does not read them.
const MAX_IN_FLIGHT: usize = 32;

/// Serves one client until the end of the input or until `shutdown`. Returns false if the input ended before a session
/// began.
///
/// # Errors
///
/// The client broke the protocol before the session began.
pub async fn serve<R, W>(
    server: McpServer,
    input: R,
    output: W,
    shutdown: CancellationToken,
) -> Result<bool, ServerInitializeError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let tracker = server.tracker.clone();
    let ended = shutdown.child_token();
    // rmcp waits for open subscriptions before it ends, so they must end first.
    let server = server.with_shutdown(ended.clone());
    let transport = Lines::new(input, output, ended.clone());
    let grace_is_over = async {
        ended.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::pin!(grace_is_over);
    let service = tokio::select! {
        begun = server.serve(transport) => match begun {
            Ok(service) => service,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(shutdown.is_cancelled()),
            Err(error) => return Err(error),
        },
        // The client does not read the responses that come before a session.
        () = &mut grace_is_over => return Ok(shutdown.is_cancelled()),
    };
    let mut waiting = Box::pin(service.waiting());
    tokio::select! {
        _ = &mut waiting => return Ok(true),
        () = &mut grace_is_over => {}
    }
    // Withdraws and answers calls that still wait for another process.
    tokio::spawn(async move { tracker.close().await });
    if tokio::time::timeout(SHUTDOWN_RESPONSES, waiting).await.is_err() {
        tracing::warn!("the client did not read its last responses");
    }
    Ok(true)
}

/// A transport with one message per line. Keeps the deliveries of the requests in flight.
///
/// Before the session begins it ignores everything but requests: rmcp would take anything else for a broken
/// handshake and end the server.
struct Lines<R, W> {
    input: BufReader<R>,
    /// The part of a line that has arrived. Kept here because rmcp drops and repeats `receive`.
    line: Vec<u8>,
    /// Whether the rest of an overlong line is being skipped.
    skips: bool,
    output: Arc<Mutex<W>>,
    begun: bool,
    in_flight: HashMap<RequestId, InFlight>,
    permits: Arc<Semaphore>,
    /// One for each call that may wait, which must not hold up other requests.
    waiting: Arc<Semaphore>,
    /// An error response to write before the next read. Kept here like `line`.
    refusal: Option<BoxFuture<'static, ()>>,
    /// Cancelled at the end of the input; ends the input when cancelled.
    ended: CancellationToken,
}

/// What belongs to a request until its response is written.
struct InFlight {
    delivery: Delivery,
    /// `None` for a subscription, which is answered when it ends and must not hold up other requests.
    _permit: Option<OwnedSemaphorePermit>,
}

/// A line of the input.
enum Line {
    Whole(Vec<u8>),
    /// The beginning of a line of more than [`MAX_LINE_BYTES`].
    TooLong(Vec<u8>),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    fn new(input: R, output: W, ended: CancellationToken) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            skips: false,
            output: Arc::new(Mutex::new(output)),
            begun: false,
            in_flight: HashMap::new(),
            permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            refusal: None,
            ended,
        }
    }

    /// Reads the next line. Returns `None` at the end of the input. A call that is dropped loses nothing.
    async fn next_line(&mut self) -> Option<Line> {
        while self.skips {
            let bytes = self.input.fill_buf().await.ok().filter(|bytes| !bytes.is_empty())?;
            let end = memchr(b'\n', bytes);
            let skipped = end.map_or(bytes.len(), |end| end + 1);
            self.input.consume(skipped);
            self.skips = end.is_none();
        }
        let room = (MAX_LINE_BYTES + 1).saturating_sub(self.line.len()) as u64;
        let mut bounded = (&mut self.input).take(room);
        bounded.read_until(b'\n', &mut self.line).await.ok()?;
        let line = std::mem::take(&mut self.line);
        if line.len() > MAX_LINE_BYTES {
            self.skips = line.last() != Some(&b'\n');
            return Some(Line::TooLong(line));
        }
        // The last line may lack its line feed.
        if line.is_empty() { None } else { Some(Line::Whole(line)) }
    }

    /// Receives the next message, or an error to answer. Returns `None` at the end of the input.
    async fn next_message(&mut self) -> Option<Result<RxJsonRpcMessage<RoleServer>, JsonRpcError>> {
        let ended = self.ended.clone();
        loop {
            let line = tokio::select! {
                line = self.next_line() => line,
                () = ended.cancelled() => None,
            };
            let line = match line? {
                Line::Whole(line) => line,
                Line::TooLong(line) => {
                    return Some(Err(message::too_long(&line, MAX_LINE_BYTES)));
                }
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            // A character that is cut must not leave a request without a response.
            let line = match String::from_utf8(line) {
                Ok(line) => line,
                Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
            };
            match message::parse(line.as_bytes()) {
                Ok((message, _)) => return Some(Ok(message)),
                Err(invalid) if invalid.is_notification => {
                    tracing::debug!("ignored an invalid notification");
                }
                Err(invalid) => return Some(Err(invalid.response)),
            }
        }
    }

    /// Registers a message from the client.
    ///
    /// # Errors
    ///
    /// The id of a request, if another one with this id is in flight.
    fn register(
        &mut self,
        message: &mut RxJsonRpcMessage<RoleServer>,
        permit: OwnedSemaphorePermit,
    ) -> Result<(), RequestId> {
        match message {
            JsonRpcMessage::Request(request) => {
                let Entry::Vacant(vacant) = self.in_flight.entry(request.id.clone()) else {
                    return Err(request.id.clone());
                };
                let (caller, delivery) = delivery(&CancellationToken::new());
                request.request.extensions_mut().insert(caller);
                let is_open_ended =
                    matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                let permit = match &request.request {
                    ClientRequest::CallToolRequest(call)
                        if may_wait(&call.params.name, call.params.arguments.as_ref()) =>
                    {
                        Arc::clone(&self.waiting).try_acquire_owned().unwrap_or(permit)
                    }
                    _ => permit,
                };
                let _permit = (!is_open_ended).then_some(permit);
                vacant.insert(InFlight { delivery, _permit });
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp no longer responds to it.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.remove(id);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Answers a message with an error before the next one is read.
    fn refuse(&mut self, error: JsonRpcError) {
        // A client that has disconnected needs no response.
        self.refusal = Some(self.write(JsonRpcMessage::Error(error)).map(drop).boxed());
    }

    fn write(
        &self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&line).await?;
            output.flush().await
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let in_flight = answered.and_then(|id| self.in_flight.remove(id));
        let writing = self.write(message);
        async move {
            writing.await?;
            if let Some(in_flight) = in_flight {
                in_flight.delivery.done();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let ended = self.ended.clone();
        loop {
            if let Some(refusal) = &mut self.refusal {
                tokio::select! {
                    () = refusal => {}
                    () = ended.cancelled() => return None,
                }
                self.refusal = None;
            }
            let permit = tokio::select! {
                permit = Arc::clone(&self.permits).acquire_owned() => permit.ok()?,
                () = ended.cancelled() => return None,
            };
            let mut message = match self.next_message().await {
                Some(Ok(message)) => message,
                Some(Err(error)) => {
                    self.refuse(error);
                    continue;
                }
                None => {
                    ended.cancel();
                    return None;
                }
            };
            match &message {
                JsonRpcMessage::Request(request) => self.begun |= begins_session(&request.request),
                _ if self.begun => {}
                _ => {
                    tracing::debug!("ignored a message before the session began");
                    continue;
                }
            }
            let Err(id) = self.register(&mut message, permit) else { return Some(message) };
            // rmcp would process both and answer one of them.
            let text = "another request with this id is in flight: give each its own";
            self.refuse(JsonRpcError::new(Some(id), ErrorData::invalid_request(text, None)));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns true if a session begins with this request: `initialize`, or a request with complete metadata, except
/// those that may come before either.
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
    use tokio::io::{self, DuplexStream};

    use super::*;
    use crate::McpOptions;
    use crate::testing::{file_issue, only_issue, tracker};
    use ait_domain::event::LAPSE_ACTION;
    use ait_domain::{ClaimProof, Issue, Status};
    use ait_http::metrics::Metrics;
    use ait_tracker::Tracker;
    use ait_tracker::read_model::ReadModel;

    /// A client of a server in this process, with one issue to claim.
    struct Client {
        tracker: Tracker,
        input: DuplexStream,
        output: io::Lines<BufReader<DuplexStream>>,
        server: tokio::task::JoinHandle<Result<bool, ServerInitializeError>>,
    }

    impl Client {
        async fn begin() -> Self {
            let tracker = tracker(|_| ());
            file_issue(&tracker).await;
            let context = || unreachable!("no test reads the context");
            let server = McpServer::new(
                ReadModel::new(tracker.clone()),
                Metrics::new(),
                McpOptions::default(),
                context,
            );
            let (input, server_input) = tokio::io::duplex(64 << 10);
            let (output, server_output) = tokio::io::duplex(64 << 10);
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
            let lines: Vec<_> = messages.iter().map(|message| format!("{message}\n")).collect();
            self.input.write_all(lines.concat().as_bytes()).await.unwrap();
        }

        async fn frame(&mut self) -> Option<Value> {
            let line = self.output.next_line().await.unwrap()?;
            Some(serde_json::from_str(&line).unwrap())
        }

        /// Ends the input. Returns the responses since, and the issue.
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

    fn is_created(issue: &Issue) -> bool {
        assert!(matches!(issue.status, Status::Created | Status::InProgress));
        issue.status == Status::Created
    }

    fn is_released(issue: &Issue) -> bool {
        let lapses = issue.history.iter().filter(|entry| entry.action == LAPSE_ACTION).count();
        let claims = issue.history.len() - 1 - lapses;
        assert!(issue.status == Status::InProgress && claims == lapses + 1 || claims == lapses);
        issue.status == Status::Created
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_cancelled_claim_is_either_answered_or_released() {
        for round in 0..200 {
            let mut client = Client::begin().await;
            client.send(&[claim(1)]).await;
            for _ in 0..round % 7 {
                tokio::task::yield_now().await;
            }
            client.send(&[cancel(1)]).await;
            let (frames, issue) = client.end().await;
            assert_eq!(frames.is_empty(), is_released(&issue), "{frames:?} {issue:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_cancelled_wait_is_either_answered_or_claims_nothing() {
        for round in 0..200 {
            let mut client = Client::begin().await;
            client.send(&[claim(1)]).await;
            assert_eq!(client.frame().await.unwrap()["id"], 1);
            let mut waiting = claim(2);
            waiting["params"]["arguments"]["wait_seconds"] = 600.into();
            client.send(&[waiting]).await;
            let issue = only_issue(&client.tracker).await.id;
            let comment = "again".try_into().unwrap();
            let agent = "a".try_into().unwrap();
            let proof = ClaimProof::default();
            client.tracker.return_issue(issue.into(), comment, agent, proof).await.unwrap();
            for _ in 0..round % 9 {
                tokio::task::yield_now().await;
            }
            client.send(&[cancel(2)]).await;
            let (frames, issue) = client.end().await;
            assert_eq!(frames.is_empty(), is_created(&issue), "{frames:?} {issue:?}");
        }
    }

    #[tokio::test]
    async fn calls_that_wait_do_not_hold_up_others() {
        let mut client = Client::begin().await;
        client.send(&[claim(1)]).await;
        assert_eq!(client.frame().await.unwrap()["id"], 1);
        let waiting = 2..2 + 2 * MAX_IN_FLIGHT as u64;
        for id in waiting.clone() {
            let mut claim = claim(id);
            claim["params"]["arguments"]["wait_seconds"] = 600.into();
            client.send(&[claim]).await;
        }
        client.send(&[json!({ "jsonrpc": "2.0", "id": 1_000, "method": "ping" })]).await;
        assert_eq!(client.frame().await.unwrap()["id"], 1_000);
        // The end of the input ends all waits.
        let (frames, issue) = client.end().await;
        let mut answered: Vec<_> =
            frames.iter().map(|frame| frame["id"].as_u64().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, waiting.collect::<Vec<_>>());
        let text = |frame: &Value| frame["result"]["content"][0]["text"].to_string();
        assert!(frames.iter().all(|frame| text(frame).contains("No issue is waiting")));
        assert_eq!(issue.status, Status::InProgress);
    }

    #[tokio::test]
    async fn a_cancellation_after_the_response_keeps_the_claim() {
        let mut client = Client::begin().await;
        client.send(&[claim(1)]).await;
        assert_eq!(client.frame().await.unwrap()["id"], 1);
        client.send(&[cancel(1)]).await;
        let (frames, issue) = client.end().await;
        assert_eq!((frames.len(), issue.status), (0, Status::InProgress));
    }

    #[tokio::test]
    async fn a_claim_is_released_if_its_response_cannot_be_written() {
        let mut client = Client::begin().await;
        client.output = BufReader::new(tokio::io::duplex(1).0).lines();
        client.send(&[claim(1)]).await;
        let (_, issue) = client.end().await;
        assert_eq!(issue.history.last().unwrap().action, LAPSE_ACTION);
        assert!(is_released(&issue));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_concurrent_request_with_a_duplicate_id_is_rejected() {
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
