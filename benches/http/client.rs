//! Cheap clients, because they share the cores with the measured server.
//!
//! A connection is kept open, speaks minimal HTTP/1.1 and only accepts responses with a `Content-Length`.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use benches::issues::{self, Filing};

/// The longest accepted response.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// All ids have as many digits as this one, so that equal responses have equal lengths.
const FIRST_ID: u64 = 1_000_000;

const REVISION: &str = "Mcp-Protocol-Version";

/// A repeated operation of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `list_issues` with 20 issues.
    List,
    /// `add_issue`.
    Add,
}

impl Operation {
    pub fn tool(self) -> &'static str {
        match self {
            Self::List => "list_issues",
            Self::Add => "add_issue",
        }
    }

    pub fn arguments(self) -> Value {
        match self {
            Self::List => json!({ "take": 20 }),
            Self::Add => {
                let Filing { title, description } = Filing::new(0);
                json!({
                    "title": title.as_str(),
                    "description": description.as_str(),
                    "classification": "bug",
                    "agent": issues::agent().as_str(),
                })
            }
        }
    }
}

/// The head of an HTTP response.
struct Head {
    status: u16,
    /// The offset of the body.
    length: usize,
    body_length: usize,
    session: Option<String>,
}

impl Head {
    /// Parses a head. Returns `None` if it is incomplete.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let text = str::from_utf8(&bytes[..end]).expect("a head of ASCII");
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.get(9..12)?.parse().ok());
        let (mut body_length, mut session) = (0, None);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            if name.eq_ignore_ascii_case("content-length") {
                body_length = value.parse().expect("a length");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                session = Some(value.to_owned());
            } else {
                assert!(
                    !name.eq_ignore_ascii_case("transfer-encoding"),
                    "a chunked response: {text}"
                );
            }
        }
        Some(Self { status: status.expect("a status"), length: end + 4, body_length, session })
    }
}

/// A connection to a server.
pub struct Connection {
    port: u16,
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    pub async fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a server that listens");
        stream.set_nodelay(true).expect("a socket");
        Self { port, stream, answer: Vec::with_capacity(16 << 10) }
    }

    /// Sends a request and waits for the whole response.
    async fn exchange(&mut self, request: &[u8]) -> Head {
        self.stream.write_all(request).await.expect("a server that listens");
        self.answer.clear();
        let mut head = None;
        while self.answer.len() < MAX_ANSWER_BYTES {
            let count = self.stream.read_buf(&mut self.answer).await.expect("an answer");
            assert!(count > 0, "the server has closed the connection");
            head = head.or_else(|| Head::parse(&self.answer));
            if let Some(head) =
                head.take_if(|head| self.answer.len() >= head.length + head.body_length)
            {
                assert_eq!(
                    self.answer.len(),
                    head.length + head.body_length,
                    "more than asked for"
                );
                return head;
            }
        }
        panic!("an answer of more than {MAX_ANSWER_BYTES} bytes");
    }

    /// Loads a page. Returns its length.
    pub async fn get(&mut self, path: &str) -> usize {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let head = self.exchange(request.as_bytes()).await;
        assert_eq!(head.status, 200, "{path}");
        head.body_length
    }
}

/// An agent with its own connection.
pub struct Agent {
    connection: Connection,
    /// The request line and all headers but the last.
    head: String,
    /// The last member of the parameters, with the comma before it.
    meta: &'static str,
    last_id: u64,
}

impl Agent {
    /// Connects an agent with a session.
    pub async fn connect(port: u16) -> Self {
        let mut agent = Self::on(Connection::open(port).await, "/mcp", "");
        let introduction = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{introduction}}}"
        );
        let head = agent.post(&message).await;
        assert_eq!(head.status, 200);
        agent.head += REVISION;
        agent.head += ": 2025-11-25\r\nMcp-Session-Id: ";
        agent.head += &head.session.expect("a session");
        agent.head += "\r\n";
        let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(agent.post(message).await.status, 202);
        agent
    }

    /// Connects an agent without a session, which can only repeat one operation.
    pub async fn stateless(port: u16, operation: Operation) -> Self {
        let meta = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let mut agent = Self::on(Connection::open(port).await, "/mcp", meta);
        agent.head += REVISION;
        agent.head += ": 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ";
        agent.head += operation.tool();
        agent.head += "\r\n";
        agent
    }

    /// Connects an agent that asks the baseline server for responses of this length.
    pub async fn of_baseline(port: u16, answer_bytes: usize) -> Self {
        Self::on(Connection::open(port).await, &format!("/{answer_bytes}"), "")
    }

    fn on(connection: Connection, path: &str, meta: &'static str) -> Self {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\n"
        );
        Self { connection, head, meta, last_id: FIRST_ID }
    }

    /// Opens a new connection, because the server closes idle ones.
    pub async fn reconnect(&mut self) {
        self.connection = Connection::open(self.connection.port).await;
    }

    async fn post(&mut self, message: &str) -> Head {
        let Self { connection, head, .. } = self;
        let request = format!("{head}Content-Length: {}\r\n\r\n{message}", message.len());
        connection.exchange(request.as_bytes()).await
    }

    /// Calls a tool, which must succeed. Returns the length of the response.
    pub async fn call(&mut self, operation: Operation, arguments: &str) -> usize {
        self.last_id += 1;
        let message = call(self.last_id, operation, arguments, self.meta);
        let head = self.post(&message).await;
        let body = &self.connection.answer[head.length..];
        // The flag is near the end; searching all of a long response would take time.
        let end = &body[body.len().saturating_sub(64)..];
        let is_error = end.windows(14).any(|window| window == br#""isError":true"#);
        assert!(head.status == 200 && !is_error, "{}", String::from_utf8_lossy(body));
        body.len()
    }
}

/// Returns a tool call as JSON-RPC.
pub fn call(id: u64, operation: Operation, arguments: &str, meta: &str) -> String {
    let tool = operation.tool();
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\
         \"arguments\":{arguments}{meta}}}}}"
    )
}
