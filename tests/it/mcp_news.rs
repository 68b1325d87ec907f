//! Clients are told of what changes, by whichever process, in both eras and over both transports.

use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::http::{Agent, Server, meta};
use crate::support::{Client, PATIENCE, ait, directory, request};

const QUEUE: &str = "tracker://queue";
/// Longer than it takes until somebody is told.
const A_WHILE: Duration = Duration::from_millis(700);

/// Does something in another process.
fn elsewhere(directory: &std::path::Path, arguments: &[&str]) {
    let done = ait(directory).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn file(directory: &std::path::Path, title: &str) {
    elsewhere(directory, &["add", title, "--classification", "bug"]);
}

/// The addresses of the next notifications, as many as that, in their order.
fn told(client: &mut Client, count: usize) -> Vec<String> {
    let mut uris: Vec<_> = (0..count).map(|_| updated(&client.frame().unwrap())).collect();
    uris.sort();
    uris
}

fn updated(frame: &Value) -> String {
    assert_eq!(frame["method"], "notifications/resources/updated", "{frame}");
    frame["params"]["uri"].as_str().unwrap().to_owned()
}

/// The answer to a request, past what the client is told meanwhile of what it watches.
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

/// Waits until the client was told of all of these. It may be told of others that it watches, and of some
/// more than once: a process that reads everything anew does not know what has changed.
fn hears(client: &mut Client, expected: &[&str], watched: &[&str]) {
    let mut missing = expected.to_vec();
    while !missing.is_empty() {
        let uri = updated(&client.frame().unwrap());
        assert!(watched.contains(&&*uri), "{uri}");
        missing.retain(|it| *it != uri);
    }
}

#[test]
fn a_client_with_a_session_is_told_of_what_it_subscribed_to_and_nothing_else() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let (one, other) = (client.add("one", "bug"), client.add("other", "feature"));
    let short = format!("tracker://issues/{}", &one[..8]);
    let both = [QUEUE, &*short];
    for uri in [QUEUE, &short, "tracker://config", "tracker://presets"] {
        assert_eq!(ask(&mut client, "resources/subscribe", uri, &both), json!({}));
    }
    // Another issue, by another process.
    file(directory.path(), "third");
    hears(&mut client, &[QUEUE], &both);
    // The issue is called as the client has called it.
    elsewhere(directory.path(), &["next", "--classification", "bug", "--agent", "x"]);
    hears(&mut client, &both, &both);
    elsewhere(directory.path(), &["complete", &other, "-m", "done", "--agent", "x"]);
    hears(&mut client, &[QUEUE], &both);
    assert_eq!(ask(&mut client, "resources/unsubscribe", QUEUE, &both), json!({}));
    file(directory.path(), "fourth");
    elsewhere(directory.path(), &["complete", &one, "-m", "done", "--agent", "x"]);
    hears(&mut client, &[&short], &[&short]);
    // All there is, and one that was not subscribed to: nothing is told any more.
    for uri in [&*short, "tracker://nothing", "tracker://config", "tracker://presets"] {
        ask(&mut client, "resources/unsubscribe", uri, &[&short]);
    }
    file(directory.path(), "fifth");
    thread::sleep(A_WHILE);
    client.request("ping", json!({}));
    // And it can be had again.
    ask(&mut client, "resources/subscribe", QUEUE, &[]);
    file(directory.path(), "sixth");
    hears(&mut client, &[QUEUE], &[QUEUE]);
    ask(&mut client, "resources/unsubscribe", QUEUE, &[QUEUE]);
    assert!(client.close().success());
    assert_eq!(client.frame(), None);
}

#[test]
fn a_client_of_the_stateless_era_listens_until_it_has_heard_enough() {
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
        "only what there is, and what it said it can do"
    );
    // What has changed before it is heard is told of without being known.
    assert_eq!(told(&mut client, 2), [&*mine, QUEUE]);
    file(directory.path(), "another");
    let frame = client.frame().unwrap();
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(frame["params"]["_meta"][subscription], stream);
    assert!([QUEUE, &*mine].contains(&&*updated(&frame)), "{frame}");
    elsewhere(directory.path(), &["next", "--agent", "x"]);
    hears(&mut client, &[&mine, QUEUE], &[&mine, QUEUE]);
    let enough = json!({ "requestId": stream, "reason": "enough", "_meta": meta() });
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": enough }));
    // Behind the answer to this, nothing of before is on its way.
    let id = client.ask("tools/list", json!({ "_meta": meta() }));
    while client.frame().unwrap()["id"] != id {}
    file(directory.path(), "unheard");
    thread::sleep(A_WHILE);
    // No frame of the subscription comes before this answer.
    let tools = client.request("tools/list", json!({ "_meta": meta() }));
    assert!(tools["tools"].is_array(), "{tools}");
}

#[test]
fn a_client_that_listens_does_not_keep_the_process() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    let params = json!({ "notifications": { "resourceSubscriptions": [QUEUE] }, "_meta": meta() });
    let stream = client.ask("subscriptions/listen", params);
    client.frame().unwrap();
    assert_eq!(told(&mut client, 1), [QUEUE]);
    let begun = std::time::Instant::now();
    assert!(client.close().success());
    // rmcp would wait for five seconds.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let end = client.frame().unwrap();
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(stream), &json!("complete")));
    assert_eq!(client.frame(), None);
}

#[test]
fn a_change_right_behind_the_acknowledgement_is_told() {
    let directory = directory();
    let other = crate::support::directory();
    // The first look at a large store takes a while.
    let issues: Vec<Value> = (0..3_000)
        .map(|number| json!({ "title": format!("t{number}"), "description": "d".repeat(500) }))
        .collect();
    let import = other.path().join("many.json");
    std::fs::write(&import, Value::Array(issues).to_string()).unwrap();
    elsewhere(directory.path(), &["import", import.to_str().unwrap(), "--agent", "a"]);
    let mut writer = Client::start(directory.path());
    writer.add("first", "bug");
    for _ in 0..5 {
        let mut client = Client::spawn(&mut ait(directory.path()));
        let params =
            json!({ "notifications": { "resourceSubscriptions": [QUEUE] }, "_meta": meta() });
        client.ask("subscriptions/listen", params);
        assert_eq!(client.frame().unwrap()["method"], "notifications/subscriptions/acknowledged");
        writer.add("right behind it", "bug");
        assert_eq!(told(&mut client, 1), [QUEUE]);
    }
}

/// The messages of an open stream of server-sent events, as they come.
fn events(response: reqwest::blocking::Response) -> Receiver<Value> {
    let (sender, receiver) = channel();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    thread::spawn(move || {
        let lines = BufReader::new(response).lines().map_while(Result::ok);
        let data =
            lines.filter_map(|line| line.strip_prefix("data:").map(|it| it.trim().to_owned()));
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
fn over_http_a_session_hears_on_its_stream_and_others_hear_nothing() {
    let directory = directory();
    let server = Server::start(directory.path());
    let (mut one, other) = (Agent::connect(server.port), Agent::connect(server.port));
    let (heard, unheard) = (events(one.listen()), events(other.listen()));
    let reply = one.request("resources/subscribe", json!({ "uri": QUEUE }));
    assert_eq!(reply.json()["result"], json!({}), "{}", reply.body);
    file(directory.path(), "by another process");
    assert_eq!(updated(&next(&heard)), QUEUE);
    // Many changes are told of at once, and the last of them too.
    let many: Vec<_> = (0..20)
        .map(|number| json!({ "title": format!("t{number}"), "classification": "bug" }))
        .collect();
    let import = directory.path().join("many.json");
    std::fs::write(&import, Value::Array(many).to_string()).unwrap();
    elsewhere(directory.path(), &["import", import.to_str().unwrap(), "--agent", "a"]);
    let waits = |agent: &mut Agent| {
        let reply = agent.request("resources/read", json!({ "uri": QUEUE }));
        let text = reply.json()["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&text).unwrap()["waiting"]["bug"]["count"].clone()
    };
    let mut third = Agent::connect(server.port);
    let mut times = 0;
    loop {
        assert_eq!(updated(&next(&heard)), QUEUE);
        times += 1;
        if waits(&mut third) == 21 {
            break;
        }
    }
    thread::sleep(A_WHILE);
    times += heard.try_iter().count();
    assert!(times < 10, "{times} notifications");
    assert_eq!(unheard.try_iter().count(), 0);
    one.request("resources/unsubscribe", json!({ "uri": QUEUE }));
    third.add("after the end");
    thread::sleep(A_WHILE);
    assert_eq!(heard.try_iter().count(), 0);
}

#[test]
fn over_http_a_request_to_listen_is_answered_for_as_long_as_its_connection_is_there() {
    let directory = directory();
    let server = Server::start(directory.path());
    let agent = Agent::new(server.port);
    let params = json!({ "notifications": { "resourceSubscriptions": [QUEUE] }, "_meta": meta() });
    let heard = events(agent.stream(&request(1, "subscriptions/listen", params)));
    assert_eq!(next(&heard)["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(updated(&next(&heard)), QUEUE);
    file(directory.path(), "one");
    assert_eq!(updated(&next(&heard)), QUEUE);
    file(directory.path(), "two");
    assert_eq!(updated(&next(&heard)), QUEUE);
    // The end of the server is the end of what there is to hear, and is said.
    server.signal("TERM");
    let end = next(&heard);
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(1), &json!("complete")));
}

#[test]
fn the_stream_that_was_opened_last_is_the_one_that_hears() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    let first = events(agent.listen());
    agent.request("resources/subscribe", json!({ "uri": QUEUE }));
    // Longer than between two streams of a client that means to have both.
    thread::sleep(Duration::from_millis(5_200));
    let second = events(agent.listen());
    file(directory.path(), "one");
    assert_eq!(updated(&next(&second)), QUEUE);
    assert!(first.recv_timeout(PATIENCE).is_err(), "the first has ended");
    // One that asks for what it may have missed, with an id of before a restart.
    thread::sleep(Duration::from_millis(5_200));
    let third = events(agent.listen_from("77"));
    file(directory.path(), "two");
    assert_eq!(updated(&next(&third)), QUEUE);
}

#[test]
fn a_session_watches_a_thousand_addresses_at_most() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let issues: Vec<Value> = (0..1001)
        .map(|number| json!({ "title": format!("t{number}"), "classification": "bug" }))
        .collect();
    let import = directory.path().join("many.json");
    std::fs::write(&import, Value::Array(issues).to_string()).unwrap();
    elsewhere(directory.path(), &["import", import.to_str().unwrap(), "--agent", "a"]);
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
