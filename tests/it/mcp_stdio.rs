//! The protocol over stdin and stdout, frame by frame, in both eras.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::files::{issues_in_file, stored_issues};
use crate::support::http::lock_turn;
use crate::support::{Client, ait, directory, initialize_params, request, signal};

/// The `_meta` of a request in the stateless era.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Compares a transcript with its snapshot after masking ids and times.
fn assert_transcript(name: &str, frames: &[Value]) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>");
    settings.add_filter(r"\d{4}-\d{2}-\d{2}T[0-9:.]{12}Z", "<time>");
    settings.add_filter(
        concat!(r#""version": ""#, env!("CARGO_PKG_VERSION")),
        r#""version": "<version>"#,
    );
    settings.bind(|| insta::assert_json_snapshot!(name, frames));
}

#[test]
fn session_with_initialize_matches_the_transcript() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    let mut frames = vec![client.initialize()];
    let issue = json!({ "title": "T", "description": "D", "classification": "bug", "agent": "a" });
    for (tool, arguments) in [
        ("add_issue", issue),
        ("list_issues", json!({})),
        ("get_next_issue", json!({ "agent": "a" })),
        ("get_next_issue", json!({ "agent": "a" })),
        ("complete_issue", json!({ "issue_id": "00000000", "comment": "c", "agent": "a" })),
    ] {
        frames.push(client.request("tools/call", json!({ "name": tool, "arguments": arguments })));
    }
    frames.push(client.request("ping", json!({})));
    frames.push(client.request("tools/call", json!({ "name": "drop_issue", "arguments": {} })));
    frames.push(client.request("no/such/method", json!({})));
    assert_transcript("initialize_era", &frames);
}

#[test]
fn stateless_session_matches_the_transcript() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    let mut frames = vec![client.request("server/discover", json!({ "_meta": meta() }))];
    let issue = json!({ "title": "T", "description": "D", "classification": "bug", "agent": "a" });
    for (tool, arguments) in [("add_issue", issue), ("get_next_issue", json!({ "agent": "a" }))] {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
        frames.push(client.request("tools/call", params));
    }
    frames.push(client.request("ping", json!({ "_meta": meta() })));
    assert_transcript("stateless_era", &frames);
    let tools = client.request("tools/list", json!({ "_meta": meta() }));
    assert_eq!((&tools["ttlMs"], &tools["cacheScope"]), (&json!(3_600_000), &json!("public")));
}

#[test]
fn unknown_protocol_version_gets_the_newest() {
    let directory = directory();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::spawn(&mut ait(directory.path()));
        let mut params = initialize_params();
        params["protocolVersion"] = json!(asked);
        assert_eq!(client.request("initialize", params)["protocolVersion"], spoken);
        client.call("list_issues", json!({})).ok();
    }
}

#[test]
fn undeclared_capabilities_are_refused() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    for method in
        ["logging/setLevel", "tasks/get", "resources/directory/read", "subscriptions/listen"]
    {
        let params =
            json!({ "level": "info", "taskId": "1", "uri": "skill://x", "notifications": {} });
        let error = client.request(method, params);
        assert_eq!(error["code"], -32601, "{method}: {error}");
    }
}

#[test]
fn stdout_has_exactly_one_frame_for_each_request() {
    let directory = directory();
    let mut client = Client::spawn(ait(directory.path()).env("RUST_LOG", "trace"));
    client.initialize();
    client.send_line("");
    client.send_line(r#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#);
    client.add("t", "bug");
    assert!(client.close().success());
    assert_eq!(client.frame(), None);
    assert!(client.log().whole().contains("TRACE"), "no TRACE line was logged");
}

/// Some programs on Windows write the mark before the first line.
#[test]
fn a_byte_order_mark_before_a_message_is_skipped() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    client.send_line(concat!(
        "\u{feff}",
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","#,
        r#""capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#
    ));
    let result = client.frame().unwrap()["result"].clone();
    assert_eq!(result["protocolVersion"], "2025-03-26", "{result}");
    // This revision allows batches.
    assert!(result["instructions"].as_str().unwrap().contains("takes no batches"), "{result}");
    let server = &result["serverInfo"];
    assert_eq!(server["title"], "Agent issue tracker");
    assert!(server["icons"][0]["src"].as_str().unwrap().starts_with("data:image/svg+xml,%3Csvg"));
}

#[test]
fn invalid_lines_get_errors_with_their_ids() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let long = "x".repeat(17 << 20);
    let (parse_error, invalid) = (-32700, -32600);
    for (line, code, id, reason) in [
        ("this is not JSON".to_owned(), parse_error, Value::Null, "not valid JSON"),
        (r#"{"jsonrpc":"2.0","id":70"#.to_owned(), parse_error, json!(70), "not valid JSON"),
        (
            format!(r#"{{"jsonrpc":"2.0","id":71,"method":"ping","params":{{"x":{deep}}}}}"#),
            parse_error,
            json!(71),
            "recursion limit",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":"a","method":"ping","params":{{"x":"{long}"}}}}"#),
            invalid,
            json!("a"),
            "at most 16777216 bytes",
        ),
        (
            r#"[{"jsonrpc":"2.0","id":72,"method":"ping"}]"#.to_owned(),
            invalid,
            Value::Null,
            "batches",
        ),
        (r#"{"jsonrpc":"1.0","id":73,"method":"ping"}"#.to_owned(), invalid, json!(73), "2.0"),
    ] {
        client.send_line(&line);
        let frame = client.frame().unwrap();
        let shown = &line[..line.len().min(80)];
        assert_eq!((&frame["error"]["code"], &frame["id"]), (&json!(code), &id), "{shown}");
        let message = frame["error"]["message"].as_str().unwrap();
        assert!(message.contains(reason), "{shown}: {message}");
    }
    // The error does not repeat a long method name in full.
    let error = client.request(&"m".repeat(100_000), json!({}));
    assert_eq!(error["code"], -32601);
    assert!(error["message"].as_str().unwrap().len() < 300, "{error}");
    client.add("t", "bug");
}

/// Returns the resident memory of a process in KiB.
#[cfg(target_os = "linux")]
fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_reads_nothing_cannot_fill_the_memory() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let long = "x".repeat(20_000);
    let add = json!({ "title": "t", "description": long, "classification": "bug", "agent": "a" });
    (0..50).for_each(|_| drop(client.call("add_issue", add.clone()).ok()));
    let id = client.add("with comments", "bug");
    let back = json!({ "issue_id": id, "comment": long, "agent": "a" });
    (0..20).for_each(|_| drop(client.call("return_issue", back.clone())));
    assert!(client.close().success());

    let mut child = ait(directory.path()).spawn().unwrap();
    let log = crate::support::Log::of(child.stderr.take().unwrap());
    log.wait_for("pages: ");
    let before = memory_kib(child.id());
    let mut input = child.stdin.take().unwrap();
    let asked = std::thread::spawn(move || {
        writeln!(input, "{}", request(0, "initialize", initialize_params())).unwrap();
        let params = json!({ "name": "list_issues", "arguments": { "issue_id": id } });
        // Each response has 400 KB.
        (1..4_000)
            .take_while(|&id| {
                writeln!(input, "{}", request(id, "tools/call", params.clone())).is_ok()
            })
            .count()
    });
    let most = (0..100).map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        memory_kib(child.id())
    });
    let most = most.max().unwrap();
    signal(&child, "TERM");
    crate::support::wait(&mut child);
    assert!(asked.join().unwrap() < 3_999, "the pipes were never full");
    assert!(most < before + (64 << 10), "{before} KiB before, {most} KiB");
}

#[test]
fn notification_before_the_session_does_not_end_the_server() {
    let directory = directory();
    let mut client = Client::spawn(&mut ait(directory.path()));
    let stray = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
    client.send(&stray);
    // Requests that start no session, because of an unknown version or missing fields.
    for (key, value) in
        [("protocolVersion", json!("2099-01-01")), ("clientCapabilities", Value::Null)]
    {
        let mut meta = meta();
        meta[format!("io.modelcontextprotocol/{key}")] = value;
        let refused = client.request("tools/list", json!({ "_meta": meta }));
        assert!(refused["code"].as_i64().unwrap() < 0, "{refused}");
        client.send(&stray);
    }
    client.request("server/discover", json!({ "_meta": meta() }));
    client.send(&stray);
    assert_eq!(client.initialize()["serverInfo"]["name"], "agent-issue-tracker");
    client.add("t", "bug");
}

#[test]
fn malformed_initialize_gets_an_error_that_names_the_gap() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let info = json!({ "name": "x", "version": "1" });
    for (params, reason) in [
        (json!({}), "it lacks protocolVersion, capabilities, clientInfo"),
        (json!({ "protocolVersion": "2025-06-18", "clientInfo": info }), "it lacks capabilities"),
        (
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x" } }),
            "missing field `version`",
        ),
    ] {
        let error = client.request("initialize", params);
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().ends_with(reason), "{error}");
    }
    client.initialize();
    client.add("t", "bug");
}

#[test]
fn malformed_call_gets_an_error_with_the_expected_form() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    for arguments in [json!([1]), json!("x"), json!(5)] {
        let params = json!({ "name": "list_issues", "arguments": arguments });
        let result = client.request("tools/call", params);
        assert_eq!((&result["isError"], result.get("resultType")), (&json!(true), None));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("`arguments` must be an object"), "{text}");
    }
    for params in [json!({}), json!({ "name": 5 }), json!({ "name": "x", "arguments": 5 })] {
        let error = client.request("tools/call", params);
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains("add_issue"), "{error}");
    }
}

#[test]
fn lone_surrogates_are_replaced() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let call = |id: u64, title: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add_issue","arguments":{{"title":"{title}","description":"","classification":"bug","agent":"a"}}}}}}"#
        )
    };
    client.send_line(&call(100, r"cut \ud83d"));
    client.answer(100).unwrap().ok();
    assert_eq!(stored_issues(directory.path())[0]["title"], "cut \u{fffd}");
    client.send_line(&call(101, r"whole \ud83d\ude00"));
    client.answer(101).unwrap().ok();
    assert_eq!(stored_issues(directory.path())[1]["title"], "whole \u{1f600}");
}

#[test]
fn a_client_that_never_reads_stderr_is_still_served() {
    let directory = directory();
    let mut command = ait(directory.path());
    let mut child = command.env("RUST_LOG", "trace").spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut frames = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut ask = |id, method, params| {
        writeln!(input, "{}", request(id, method, params)).unwrap();
        frames.next().unwrap().unwrap();
    };
    ask(0, "initialize", initialize_params());
    // Each call logs more than 1 KB, and a pipe holds 64 KB.
    let long = json!({ "name": "list_issues", "arguments": { "issue_id": "x".repeat(500) } });
    (1..=200).for_each(|id| ask(id, "tools/call", long.clone()));
    let short = json!({ "name": "list_issues", "arguments": {} });
    (201..=1_500).for_each(|id| ask(id, "tools/call", short.clone()));
    let start = Instant::now();
    drop(input);
    assert!(crate::support::wait(&mut child).success());
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(frames.next().is_none(), "stdout has more than the frames");
}

#[test]
fn a_signal_ends_a_process_whose_client_reads_nothing() {
    let directory = directory();
    let mut child = ait(directory.path()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // More bytes than the pipes of both directions hold, and the client reads no response.
    let pings = std::thread::spawn(move || {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        (0..40_000).take_while(|_| writeln!(input, "{ping}").is_ok()).count()
    });
    let log = crate::support::Log::of(child.stderr.take().unwrap());
    log.wait_for("pages: ");
    std::thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    signal(&child, "TERM");
    crate::support::wait(&mut child);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(pings.join().unwrap() < 40_000, "the pipes were never full");
}

#[test]
fn requests_before_stdin_eof_are_all_answered() {
    let directory = directory();
    let mut child = ait(directory.path()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = vec![request(0, "initialize", initialize_params())];
    for id in 1..=50 {
        let arguments = json!({ "title": format!("t{id}"), "description": "", "classification": "bug", "agent": "a" });
        let params = json!({ "name": "add_issue", "arguments": arguments });
        lines.push(request(id, "tools/call", params));
    }
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    // The last line has no line feed and still counts as a request.
    input.write_all(text.join("\n").as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), 51);
    // On a slow disk some calls may be refused; those change nothing.
    let confirmed = answers.matches(" filed: ").count();
    assert_eq!(stored_issues(directory.path()).len(), confirmed);
    assert!(confirmed > 0);
}

#[test]
fn concurrent_calls_get_their_own_responses() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let add = json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" });
    let asked: Vec<_> = (0..100).map(|_| client.ask_tool("add_issue", add.clone())).collect();
    for id in asked {
        client.answer(id).unwrap().ok();
    }
    let asked: Vec<_> =
        (0..100).map(|_| client.ask_tool("get_next_issue", json!({ "agent": "a" }))).collect();
    let mut claimed: Vec<_> = asked
        .into_iter()
        .map(|id| client.answer(id).unwrap().issue()["id"].as_str().unwrap().to_owned())
        .collect();
    claimed.sort();
    claimed.dedup();
    assert_eq!(claimed.len(), 100);
}

#[test]
fn shutdown_is_quick_and_publishes_all_changes() {
    for how in ["end of input", "TERM", "INT"] {
        let directory = directory();
        let mut client = Client::start(directory.path());
        // An open page connection must not delay the shutdown.
        let page = std::net::TcpStream::connect(("127.0.0.1", client.port())).unwrap();
        let mut answered: Vec<_> = (0..5).map(|n| client.add(&format!("t{n}"), "bug")).collect();
        let start = Instant::now();
        let status = if how == "end of input" {
            client.close()
        } else {
            client.signal(how);
            client.wait()
        };
        // Twice the sum of all time limits; a hang would take far longer.
        assert!(start.elapsed() < Duration::from_secs(4), "{how}: {:?}", start.elapsed());
        assert!(status.success(), "{how}: {status}, {}", client.log().text());
        drop(page);
        let issues = issues_in_file(directory.path());
        let mut kept: Vec<_> = issues.iter().map(|issue| issue["id"].as_str().unwrap()).collect();
        kept.sort_unstable();
        answered.sort();
        assert_eq!(kept, answered, "{how}");
    }
}

#[test]
fn a_client_that_closes_stderr_is_still_served() {
    let directory = directory();
    let mut command = ait(directory.path());
    let mut child = command.env("RUST_LOG", "trace").spawn().unwrap();
    drop(child.stderr.take());
    let mut input = child.stdin.take().unwrap();
    let hello = request(0, "initialize", initialize_params());
    let list = request(1, "tools/call", json!({ "name": "list_issues", "arguments": {} }));
    input.write_all(format!("{hello}\n{list}\n").as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
}

#[test]
fn cancelled_call_waiting_for_a_lock_changes_nothing() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("first", "bug");
    let lock = lock_turn(directory.path());
    let add =
        json!({ "title": "cancelled", "description": "", "classification": "bug", "agent": "a" });
    let id = client.ask_tool("add_issue", add);
    // The server dispatches frames in order, so the ping response means that the call was dispatched.
    client.request("ping", json!({}));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    client.request("ping", json!({}));
    client.call("list_issues", json!({})).ok();
    lock.unlock().unwrap();
    client.add("second", "bug");
    let titles: Vec<_> =
        stored_issues(directory.path()).iter().map(|issue| issue["title"].clone()).collect();
    assert_eq!(titles, ["first", "second"]);
}

#[test]
fn stdin_eof_withdraws_a_call_waiting_for_a_lock() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("first", "bug");
    let lock = lock_turn(directory.path());
    let add = json!({ "title": "late", "description": "", "classification": "bug", "agent": "a" });
    let id = client.ask_tool("add_issue", add);
    client.request("ping", json!({}));
    let start = Instant::now();
    client.close();
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    let answer = client.answer(id).expect("the call is answered before the end").refusal();
    assert!(answer.contains("nothing was changed"), "{answer}");
    lock.unlock().unwrap();
    assert_eq!(stored_issues(directory.path()).len(), 1);
}
