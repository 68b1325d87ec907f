//! Notifications about changes by any process, in both eras and over both transports.

use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::http::{Agent, Server, meta};
use crate::support::{Client, PATIENCE, ait, directory, request};

const QUEUE: &str = "tracker://queue";
/// Longer than a notification takes.
const A_WHILE: Duration = Duration::from_millis(700);

/// Runs a command in another process.
fn run_in_process(directory: &std::path::Path, arguments: &[&str]) {
    let done = ait(directory).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn file(directory: &std::path::Path, title: &str) {
    run_in_process(directory, &["add", title, "--classification", "bug"]);
}

/// Returns the URIs of the next notifications, sorted.
fn notified(client: &mut Client, count: usize) -> Vec<String> {
    let mut uris: Vec<_> = (0..count).map(|_| updated(&client.frame().unwrap())).collect();
    uris.sort();
    uris
}

fn updated(frame: &Value) -> String {
    assert_eq!(frame["method"], "notifications/resources/updated", "{frame}");
    frame["params"]["uri"].as_str().unwrap().to_owned()
}

/// Sends a request, and returns its response. Skips notifications about `watched`.
fn ask(client: &mut Client, method: &str, uri: &str, watched: &[&str]) -> Value {
    let id = client.ask(method, json!({ "uri": uri }));
    loop {
        let frame = client.frame().unwrap();
        if frame["id"] == id {
            return frame["result"].clone();
        }
        assert!(watched.contains(&&*updated(&frame)), "{frame}");
    }
}

/// Waits for notifications about all expected URIs. Allows duplicates and other watched URIs, because a process that
/// rereads everything cannot tell what changed.
fn hears(client: &mut Client, expected: &[&str], watched: &[&str]) {
    let mut missing = expected.to_vec();
    while !missing.is_empty() {
        let uri = updated(&client.frame().unwrap());
        assert!(watched.contains(&&*uri), "{uri}");
        missing.retain(|expected| *expected != uri);
    }
}

#[test]
fn a_session_is_notified_of_its_subscriptions_only() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let (one, other) = (client.add("one", "bug"), client.add("other", "feature"));
    let short = format!("tracker://issues/{}", &one[..8]);
    let both = [QUEUE, &*short];
    for uri in [QUEUE, &short, "tracker://config", "tracker://presets"] {
        assert_eq!(ask(&mut client, "resources/subscribe", uri, &both), json!({}));
    }
    // Another process files another issue.
    file(directory.path(), "third");
    hears(&mut client, &[QUEUE], &both);
    // The notification has the URI that the client used to subscribe.
    run_in_process(directory.path(), &["next", "--classification", "bug", "--agent", "x"]);
    hears(&mut client, &both, &both);
    run_in_process(directory.path(), &["complete", &other, "-m", "done", "--agent", "x"]);
    hears(&mut client, &[QUEUE], &both);
    assert_eq!(ask(&mut client, "resources/unsubscribe", QUEUE, &both), json!({}));
    file(directory.path(), "fourth");
    run_in_process(directory.path(), &["complete", &one, "-m", "done", "--agent", "x"]);
    hears(&mut client, &[&short], &[&short]);
    // Unsubscribe from everything, and from a URI without a subscription: no more notifications.
    for uri in [&*short, "tracker://nothing", "tracker://config", "tracker://presets"] {
        ask(&mut client, "resources/unsubscribe", uri, &[&short]);
    }
    file(directory.path(), "fifth");
    thread::sleep(A_WHILE);
    client.request("ping", json!({}));
    // The client can subscribe again.
    ask(&mut client, "resources/subscribe", QUEUE, &[]);
    file(directory.path(), "sixth");
    hears(&mut client, &[QUEUE], &[QUEUE]);
    ask(&mut client, "resources/unsubscribe", QUEUE, &[QUEUE]);
    assert!(client.close().success());
    assert_eq!(client.frame(), None);
}

#[test]
fn a_stateless_client_listens_until_it_cancels() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    let id = {
        let arguments =
            json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" });
        let call = json!({ "name": "add_issue", "arguments": arguments, "_meta": meta() });
        let result = client.request("tools/call", call);
        crate::support::id_in(result["content"][0]["text"].as_str().unwrap())
    };
    let mine = format!("tracker://issues/{id}");
    let listen = |uris: Value| json!({ "notifications": { "resourceSubscriptions": uris, "toolsListChanged": true }, "_meta": meta() });
    let stream = client.ask("subscriptions/listen", listen(json!([QUEUE, "file:///etc", mine])));
    let accepted = client.frame().unwrap();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        accepted["params"]["notifications"],
        json!({ "resourceSubscriptions": [QUEUE, mine] }),
        "the acknowledgement has only known resources and supported kinds"
    );
    // A change before the subscription began may be reported, because the server cannot rule it out.
    assert_eq!(notified(&mut client, 2), [&*mine, QUEUE]);
    file(directory.path(), "another");
    let frame = client.frame().unwrap();
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(frame["params"]["_meta"][subscription], stream);
    assert!([QUEUE, &*mine].contains(&&*updated(&frame)), "{frame}");
    run_in_process(directory.path(), &["next", "--agent", "x"]);
    hears(&mut client, &[&mine, QUEUE], &[&mine, QUEUE]);
    let enough = json!({ "requestId": stream, "reason": "enough", "_meta": meta() });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": enough }));
    // After this response, no earlier notification is still in flight.
    let id = client.ask("tools/list", json!({ "_meta": meta() }));
    while client.frame().unwrap()["id"] != id {}
    file(directory.path(), "after the cancellation");
    thread::sleep(A_WHILE);
    // The subscription sends no frame before this response.
    let tools = client.request("tools/list", json!({ "_meta": meta() }));
    assert!(tools["tools"].is_array(), "{tools}");
}

#[test]
fn a_listening_client_does_not_delay_the_shutdown() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    let params = json!({ "notifications": { "resourceSubscriptions": [QUEUE] }, "_meta": meta() });
    let stream = client.ask("subscriptions/listen", params);
    client.frame().unwrap();
    assert_eq!(notified(&mut client, 1), [QUEUE]);
    let begun = std::time::Instant::now();
    assert!(client.close().success());
    // rmcp alone would wait for five seconds.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let end = client.frame().unwrap();
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(stream), &json!("complete")));
    assert_eq!(client.frame(), None);
}

#[test]
fn a_change_right_after_the_acknowledgement_is_reported() {
    let directory = directory();
    let other = crate::support::directory();
    // The first read of a large store takes a while.
    let issues: Vec<Value> = (0..3_000)
        .map(|number| json!({ "title": format!("t{number}"), "description": "d".repeat(500) }))
        .collect();
    let import = other.path().join("many.json");
    std::fs::write(&import, Value::Array(issues).to_string()).unwrap();
    run_in_process(directory.path(), &["import", import.to_str().unwrap(), "--agent", "a"]);
    let mut writer = Client::start(directory.path());
    writer.add("first", "bug");
    for _ in 0..5 {
        let mut client = Client::spawn(&mut ait(directory.path()));
        let params =
            json!({ "notifications": { "resourceSubscriptions": [QUEUE] }, "_meta": meta() });
        client.ask("subscriptions/listen", params);
        assert_eq!(client.frame().unwrap()["method"], "notifications/subscriptions/acknowledged");
        writer.add("right after it", "bug");
        assert_eq!(notified(&mut client, 1), [QUEUE]);
    }
}

/// The client opens more subscriptions than the limit of concurrent requests.
#[test]
fn open_subscriptions_do_not_block_other_requests() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    for _ in 0..40 {
        let notifications = json!({ "resourceSubscriptions": ["tracker://stats"] });
        let params = json!({ "notifications": notifications, "_meta": meta() });
        client.ask("subscriptions/listen", params);
        assert_eq!(client.frame().unwrap()["method"], "notifications/subscriptions/acknowledged");
    }
    let result = client.request("tools/list", json!({ "_meta": meta() }));
    assert_eq!(result["tools"].as_array().unwrap().len(), 7);
}

/// Returns the messages of a stream of server-sent events as they arrive.
fn events(response: reqwest::blocking::Response) -> Receiver<Value> {
    let (sender, receiver) = channel();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    thread::spawn(move || {
        let lines = BufReader::new(response).lines().map_while(Result::ok);
        let data =
            lines.filter_map(|line| line.strip_prefix("data:").map(|data| data.trim().to_owned()));
        for data in data.filter(|data| !data.is_empty()) {
            if sender.send(serde_json::from_str(&data).unwrap()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn next(events: &Receiver<Value>) -> Value {
    events.recv_timeout(PATIENCE).unwrap()
}

#[test]
fn over_http_only_sessions_with_subscriptions_are_notified() {
    let directory = directory();
    let server = Server::start(directory.path());
    let (mut one, other) = (Agent::connect(server.port), Agent::connect(server.port));
    let (subscribed, unsubscribed) = (events(one.listen()), events(other.listen()));
    let reply = one.request("resources/subscribe", json!({ "uri": QUEUE }));
    assert_eq!(reply.json()["result"], json!({}), "{}", reply.body);
    file(directory.path(), "by another process");
    assert_eq!(updated(&next(&subscribed)), QUEUE);
    // Many changes share few notifications, and one follows the last change.
    let many: Vec<_> = (0..20)
        .map(|number| json!({ "title": format!("t{number}"), "classification": "bug" }))
        .collect();
    let import = directory.path().join("many.json");
    std::fs::write(&import, Value::Array(many).to_string()).unwrap();
    run_in_process(directory.path(), &["import", import.to_str().unwrap(), "--agent", "a"]);
    let waits = |agent: &mut Agent| {
        let reply = agent.request("resources/read", json!({ "uri": QUEUE }));
        let text = reply.json()["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&text).unwrap()["waiting"]["bug"]["count"].clone()
    };
    let mut third = Agent::connect(server.port);
    let mut times = 0;
    loop {
        assert_eq!(updated(&next(&subscribed)), QUEUE);
        times += 1;
        if waits(&mut third) == 21 {
            break;
        }
    }
    thread::sleep(A_WHILE);
    times += subscribed.try_iter().count();
    assert!(times < 10, "{times} notifications");
    assert_eq!(unsubscribed.try_iter().count(), 0);
    one.request("resources/unsubscribe", json!({ "uri": QUEUE }));
    third.add("after the end");
    thread::sleep(A_WHILE);
    assert_eq!(subscribed.try_iter().count(), 0);
}

#[test]
fn over_http_a_listen_request_lasts_as_long_as_its_connection() {
    let directory = directory();
    let server = Server::start(directory.path());
    let agent = Agent::new(server.port);
    let params = json!({ "notifications": { "resourceSubscriptions": [QUEUE] }, "_meta": meta() });
    let stream = events(agent.stream(&request(1, "subscriptions/listen", params)));
    assert_eq!(next(&stream)["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(updated(&next(&stream)), QUEUE);
    file(directory.path(), "one");
    assert_eq!(updated(&next(&stream)), QUEUE);
    file(directory.path(), "two");
    assert_eq!(updated(&next(&stream)), QUEUE);
    // A shutdown of the server completes the subscription with a result.
    server.signal("TERM");
    let end = next(&stream);
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(1), &json!("complete")));
}

#[test]
fn only_the_newest_stream_of_a_session_is_notified() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    let first = events(agent.listen());
    agent.request("resources/subscribe", json!({ "uri": QUEUE }));
    file(directory.path(), "one");
    assert_eq!(updated(&next(&first)), QUEUE);
    let second = events(agent.listen());
    // The new stream may have missed a change, so it gets a notification at once.
    assert_eq!(updated(&next(&second)), QUEUE);
    file(directory.path(), "two");
    assert_eq!(updated(&next(&second)), QUEUE);
    thread::sleep(A_WHILE);
    assert!(matches!(first.try_recv(), Err(TryRecvError::Empty)), "the first is open and silent");
    assert_eq!(agent.delete().status, 204);
    assert!(first.recv_timeout(PATIENCE).is_err() && second.iter().count() == 0);
}

#[test]
fn a_session_has_at_most_a_thousand_subscriptions() {
    let directory = directory();
    // With a large budget, a page of the list has 500 rows.
    let mut client = Client::spawn(ait(directory.path()).args(["--max-reply-tokens", "1000000"]));
    client.initialize();
    let issues: Vec<Value> = (0..1001)
        .map(|number| json!({ "title": format!("t{number}"), "classification": "bug" }))
        .collect();
    let import = directory.path().join("many.json");
    std::fs::write(&import, Value::Array(issues).to_string()).unwrap();
    run_in_process(directory.path(), &["import", import.to_str().unwrap(), "--agent", "a"]);
    let listed = client.call("list_issues", json!({ "take": 500 })).ok();
    let mut ids: Vec<_> = ids_in(&listed);
    for skip in [500, 1000] {
        let listed = client.call("list_issues", json!({ "take": 500, "skip": skip })).ok();
        ids.extend(ids_in(&listed));
    }
    let (last, thousand) = ids.split_last().unwrap();
    let mut subscribe = |id: &String| {
        client.request("resources/subscribe", json!({ "uri": format!("tracker://issues/{id}") }))
    };
    for id in thousand {
        assert_eq!(subscribe(id), json!({}));
    }
    assert_eq!(subscribe(&thousand[0]), json!({}));
    let refused = subscribe(last);
    assert!(refused["message"].as_str().unwrap().contains("resources/unsubscribe"), "{refused}");
}

fn ids_in(listed: &str) -> Vec<String> {
    let listed: Value = serde_json::from_str(listed).unwrap();
    let rows = listed["issues"].as_array().unwrap();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}
