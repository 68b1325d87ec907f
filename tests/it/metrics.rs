//! The meters, read by a strict parser of the OpenMetrics text format.

use std::collections::BTreeMap;
use std::fs;

use agent_issue_tracker::metrics::Metrics;
use agent_issue_tracker::store::StoreHealth;
use serde_json::json;

use crate::support::files::wait_for_file;
use crate::support::{Client, directory, get};

/// A parsed exposition: the type of each family, and the value of each sample by its name and labels
/// as written.
#[derive(Debug, Default)]
struct Exposition {
    types: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl Exposition {
    /// Parses a text and panics on any deviation from the format.
    #[track_caller]
    fn parse(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
        let mut exposition = Self::default();
        let mut family = String::new();
        for line in body.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(help.len() > 5 && help.ends_with('.') && !help.ends_with(".."), "{line}");
                family = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, family, "{line}");
                let previous = exposition.types.insert(family.clone(), kind.to_owned());
                assert!(previous.is_none(), "{line} comes twice");
            } else if let Some(rest) = line.strip_prefix("# UNIT ") {
                let (name, unit) = rest.split_once(' ').unwrap();
                assert!(name == family && name.ends_with(&format!("_{unit}")), "{line}");
            } else {
                exposition.sample(&family, line);
            }
        }
        exposition.check_histograms();
        exposition
    }

    #[track_caller]
    fn sample(&mut self, family: &str, line: &str) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.strip_suffix('}').unwrap();
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (key, quoted) = label.split_once('=').unwrap();
            assert!(key.bytes().all(|byte| byte.is_ascii_lowercase()), "{line}");
            assert!(quoted.len() > 2 && quoted.starts_with('"') && quoted.ends_with('"'), "{line}");
        }
        let suffixes: &[&str] = match &*self.types[family] {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_count", "_sum"],
            other => panic!("{family} is a {other}"),
        };
        let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("{line} in {family}"));
        assert!(suffixes.contains(&suffix) && name.starts_with("ait_"), "{line}");
        let previous = self.samples.insert(series.to_owned(), value.parse().unwrap());
        assert!(previous.is_none(), "{line} comes twice");
    }

    /// Checks that buckets are cumulative and that the last one equals the count.
    #[track_caller]
    fn check_histograms(&self) {
        for (series, count) in &self.samples {
            let Some((name, labels)) = series.split_once("_count") else { continue };
            let labels = labels.trim_matches(['{', '}']);
            let bucket = |bound: &str| {
                let rest = if labels.is_empty() { String::new() } else { format!(",{labels}") };
                self.samples[&format!("{name}_bucket{{le=\"{bound}\"{rest}}}")]
            };
            let bounds = ["0.0001", "0.001", "0.01", "0.1", "1.0", "10.0", "+Inf"].map(bucket);
            assert!(bounds.is_sorted(), "{series}: {bounds:?}");
            assert_eq!(bounds[6], *count, "{series}");
        }
    }

    #[track_caller]
    fn value(&self, series: &str) -> f64 {
        *self.samples.get(series).unwrap_or_else(|| panic!("no {series} in {self:#?}"))
    }

    fn operations(&self, tool: &str, outcome: &str) -> f64 {
        self.value(&format!("ait_operations_total{{tool=\"{tool}\",outcome=\"{outcome}\"}}"))
    }
}

#[track_caller]
fn scrape(client: &Client) -> Exposition {
    let response = get(client.port(), "/metrics");
    assert_eq!(response.status, 200);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.headers["content-type"], kind);
    assert_eq!(response.headers["cache-control"], "no-store");
    assert_eq!(response.headers["x-content-type-options"], "nosniff");
    Exposition::parse(&response.body)
}

#[test]
fn stdio_calls_appear_in_the_metrics() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("one", "bug");
    client.add("two", "feature");
    client.call("get_next_issue", json!({ "agent": "a" })).issue();
    client.call("get_next_issue", json!({ "agent": "a", "classification": "improvement" })).ok();
    let unknown = json!({ "issue_id": "00000000", "comment": "c", "agent": "a" });
    client.call("complete_issue", unknown).refusal();
    client.call("complete_issue", json!({ "agent": "a" })).refusal();
    for name in ["no_such_tool", "another\"\n"] {
        let error = client.request("tools/call", json!({ "name": name, "arguments": {} }));
        assert!(error["code"].is_i64(), "{error}");
    }
    client.request("tools/call", json!({ "name": "list_issues", "arguments": 7 }));
    wait_for_file(directory.path(), |issues| issues.len() == 2);

    let meters = scrape(&client);
    let types: Vec<_> = meters.types.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
    insta::assert_snapshot!(types.join("\n"), @r"
    ait_build info
    ait_http_sessions gauge
    ait_http_sessions_opened counter
    ait_issues gauge
    ait_journal_bytes gauge
    ait_operation_duration_seconds histogram
    ait_operations counter
    ait_operations_in_progress gauge
    ait_start_time_seconds gauge
    ait_store_bytes gauge
    ait_store_sync_duration_seconds histogram
    ");
    for (tool, outcome, count) in [
        ("add_issue", "ok", 2.0),
        ("get_next_issue", "ok", 1.0),
        ("get_next_issue", "empty", 1.0),
        ("complete_issue", "refused", 2.0),
        ("unknown", "refused", 2.0),
        ("list_issues", "refused", 1.0),
    ] {
        assert_eq!(meters.operations(tool, outcome), count, "{tool} {outcome}");
    }
    let operations =
        meters.samples.keys().filter(|series| series.starts_with("ait_operations_total"));
    assert_eq!(operations.count(), 6, "{meters:#?}");
    assert_eq!(meters.value("ait_operation_duration_seconds_count{tool=\"add_issue\"}"), 2.0);
    // Calls that reached no tool have no duration.
    let timed = |tool| format!("ait_operation_duration_seconds_count{{tool=\"{tool}\"}}");
    assert!(!meters.samples.contains_key(&timed("unknown")));
    assert!(!meters.samples.contains_key(&timed("list_issues")));
    assert!(meters.value("ait_operation_duration_seconds_sum{tool=\"add_issue\"}") > 0.0);
    for (status, count) in [("created", 1.0), ("in_progress", 1.0), ("closed", 0.0)] {
        assert_eq!(meters.value(&format!("ait_issues{{status=\"{status}\"}}")), count);
    }
    assert!(meters.value("ait_store_sync_duration_seconds_count") >= 3.0);
    let bytes = fs::metadata(directory.path().join("issues.json")).unwrap().len();
    assert_eq!(meters.value("ait_store_bytes"), bytes as f64);
    assert!(meters.value("ait_journal_bytes") > 0.0);
    assert_eq!(meters.value("ait_http_sessions"), 0.0);
    assert!(meters.value("ait_start_time_seconds") > 1.7e9);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(meters.value(&format!("ait_build_info{{version=\"{version}\"}}")), 1.0);
}

#[test]
fn unreadable_store_omits_only_the_issue_metrics() {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), "{").unwrap();
    let mut client = Client::start(directory.path());
    client.call("list_issues", json!({})).refusal();
    let meters = scrape(&client);
    assert_eq!(meters.operations("list_issues", "failed"), 1.0);
    assert_eq!(meters.value("ait_store_bytes"), 1.0);
    assert!(meters.samples.keys().all(|series| !series.starts_with("ait_issues")));
    assert!(
        !meters.types.contains_key("ait_issues") && !meters.types.contains_key("ait_journal_bytes")
    );
}

#[test]
fn sessions_are_counted() {
    let metrics = Metrics::new();
    let same = metrics.clone();
    for _ in 0..3 {
        same.session_opened();
    }
    same.sessions_listening(4);
    let meters = Exposition::parse(&metrics.text(None, &StoreHealth::default()).unwrap());
    assert_eq!(meters.value("ait_http_sessions"), 4.0);
    assert_eq!(meters.value("ait_http_sessions_opened_total"), 3.0);
}

#[test]
fn calls_count_as_in_progress_until_they_end_or_panic() {
    let metrics = Metrics::new();
    let in_progress = || {
        let text = metrics.text(None, &StoreHealth::default()).unwrap();
        Exposition::parse(&text).value("ait_operations_in_progress")
    };
    let (one, two) = (metrics.begin(), metrics.begin());
    assert_eq!(in_progress(), 2.0);
    drop(one);
    assert_eq!(in_progress(), 1.0);
    std::thread::spawn(move || {
        let _call = two;
        panic!("on purpose");
    })
    .join()
    .unwrap_err();
    assert_eq!(in_progress(), 0.0);
}
