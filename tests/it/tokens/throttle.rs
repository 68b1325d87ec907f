//! Failed authentication is delayed and logged, and does not affect callers with a valid token.

use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::http::{
    self, AccessPolicy, Limits, Principal, ThrottleLimits, Tokens, with_security_layers,
};
use axum::http::HeaderMap;
use axum::routing::get as on_get;
use axum::{Extension, Router};
use reqwest::Method;

use super::{WAITING, WRITER, WRONG, ask, assert_log_has_no_secret, basic, bearer, serve};
use crate::support::http::{Raw, asked};
use crate::support::{PATIENCE, directory, until};

/// The delay before a failed attempt gets its response.
const DELAY: Duration = Duration::from_secs(1);

#[test]
fn failed_attempts_are_delayed_limited_and_logged() {
    let directory = directory();
    let server = serve(directory.path(), &[]);
    let head = |path: &str| {
        asked(
            &format!("GET {path}"),
            &format!("Host: localhost\r\nAuthorization: Bearer {WRONG}\r\n"),
        )
    };
    let start = Instant::now();
    let long = format!("/{}", "a".repeat(10_000));
    let answer = Raw::connect(server.port).send(head(&long)).rest();
    assert!(answer.starts_with("HTTP/1.1 401 ") && start.elapsed() >= DELAY, "{answer}");
    let log = server.log().wait_for("sent an invalid token for \"GET\" \"/aaaa");
    let line = log.lines().find(|line| line.contains("sent an invalid token")).unwrap();
    assert!(line.contains("WARN") && line.contains("127.0.0.1:") && line.len() < 300, "{line}");
    let crowd: Vec<_> = (0..10 * WAITING)
        .map(|_| {
            let mut raw = Raw::connect(server.port);
            raw.send(head("/"));
            raw
        })
        .collect();
    let answers: Vec<_> = crowd.into_iter().map(|mut raw| raw.rest()).collect();
    let count = |status: &str| answers.iter().filter(|answer| answer.starts_with(status)).count();
    let (late, refused) = (count("HTTP/1.1 401 "), count("HTTP/1.1 429 "));
    assert_eq!((late + refused, refused > 0), (answers.len(), true), "{late} and {refused}");
    let refusal = answers.iter().find(|answer| answer.starts_with("HTTP/1.1 429 ")).unwrap();
    assert!(refusal.contains("retry-after: 1\r\n") && refusal.contains("connection: close"));
    assert!(refusal.contains("Authorization: Bearer TOKEN"), "{refusal}");
    // The next line counts the attempts that were not logged.
    assert_eq!(ask(server.port, &Method::GET, "/", &basic(WRONG)).status, 401);
    let mut rejected = 0;
    until("all attempts are logged", || {
        let log = server.log().text();
        let lines = log.lines().filter(|line| line.contains("sent an invalid token"));
        let more = lines
            .clone()
            .filter_map(|line| line.split_once("; ")?.1.split(' ').next()?.parse::<usize>().ok());
        rejected = more.sum();
        lines.count() == late + 2
    });
    assert_eq!(rejected, refused);
    assert_log_has_no_secret(&server);
}

/// Serves a route that needs the writer's token in this process. Failed attempts wait practically for ever.
async fn in_process(waiting: usize) -> u16 {
    let limits = ThrottleLimits { delay: PATIENCE * 100, waiting };
    let policy = AccessPolicy::default().with_tokens(Tokens::single(WRITER).unwrap());
    let policy = policy.with_throttle_limits(limits);
    let shown = async |Extension(principal): Extension<Principal>, headers: HeaderMap| {
        format!("{} {:?}", principal.name(), headers.get("authorization"))
    };
    let routes = Router::new().route("/", on_get(shown));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let routes = with_security_layers(routes, policy);
    tokio::spawn(http::serve(listener, routes, Limits::default(), Default::default()));
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_attempts_do_not_delay_valid_tokens() {
    let port = in_process(3).await;
    tokio::task::spawn_blocking(move || {
        let (sender, answers) = channel();
        let attempt = || {
            let (stream, sender) =
                (TcpStream::connect(("127.0.0.1", port)).unwrap(), sender.clone());
            let mut raw = Raw::of(stream.try_clone().unwrap());
            thread::spawn(move || {
                let headers = format!("Host: localhost\r\nAuthorization: {}\r\n", basic(WRONG));
                let answer = raw.send(asked("GET /", &headers)).rest();
                let _receiver_is_gone = sender.send(answer);
            });
            stream
        };
        // One attempt more than may wait: only that one gets a response, 429.
        let waiting: Vec<_> = (0..4).map(|_| attempt()).collect();
        let refused = answers.recv_timeout(PATIENCE).unwrap();
        assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
        for _ in 0..20 {
            // The handler gets the name, not the secret.
            assert_eq!(ask(port, &Method::GET, "/", &bearer(WRITER)).body, "default None");
            assert_eq!(ask(port, &Method::GET, "/", "").status, 401);
            assert_eq!(ask(port, &Method::GET, "/", &bearer(WRONG)).status, 429);
        }
        assert!(answers.try_recv().is_err(), "an attempt was answered early");
        // A disconnected attempt still counts as waiting.
        waiting.iter().for_each(|stream| stream.shutdown(Shutdown::Both).unwrap_or_default());
        for _ in 0..20 {
            assert_eq!(ask(port, &Method::GET, "/", &bearer(WRONG)).status, 429);
            thread::sleep(Duration::from_millis(5));
        }
    })
    .await
    .unwrap();
}
