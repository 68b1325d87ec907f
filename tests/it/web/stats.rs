//! The statistics page and its JSON.

use serde_json::{Value, json};

use super::serve;
use crate::support::files::{id, issue_json};
use crate::support::get;

/// Returns an issue in each status but rejected, all filed in the given year.
fn of_year(year: u32) -> Vec<Value> {
    let time = |month: u32| format!("{year}-{month:02}-10T09:30:00.000Z");
    let entry =
        |month, action: &str| json!({ "timestamp": time(month), "agent": "a", "action": action });
    let history = [
        entry(1, "Issue filed"),
        entry(2, "Issue claimed for work"),
        entry(4, "Issue completed"),
        entry(5, "Issue claimed for review"),
        entry(7, "Issue closed"),
    ];
    let statuses = ["created", "in_progress", "completed", "in_review", "closed"];
    let issue = |(number, status): (usize, &&str)| {
        let mut issue = issue_json(&id(number), "t", status);
        issue["createdAt"] = json!(time(1));
        issue["history"] = json!(history[..=number]);
        issue
    };
    statuses.iter().enumerate().map(issue).collect()
}

fn stats(port: u16, range: &str) -> Value {
    let answer = get(port, &format!("/api/stats?range={range}"));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "application/json");
    serde_json::from_str(&answer.body).unwrap()
}

#[test]
fn the_json_counts_the_issues_of_the_store() {
    let (_directory, mut client, port) = serve(&of_year(2025));
    let all = stats(port, "all");
    assert_eq!((&all["total"], &all["open"]), (&json!(5), &json!(4)));
    let done = json!({ "filed": 5, "completed": 3, "closed": 1, "rejected": 0, "returned": 0 });
    assert_eq!(all["throughput"]["total"], done);
    let day_ms = 86_400_000_u64;
    let lead = json!({ "count": 1, "medianMs": 181 * day_ms, "p90Ms": 181 * day_ms });
    let cycle = json!({ "count": 1, "medianMs": 59 * day_ms, "p90Ms": 59 * day_ms });
    assert_eq!((&all["lead"]["all"], &all["cycle"]["bug"]), (&lead, &cycle));
    client.add("t", "feature");
    let day = stats(port, "24h");
    assert_eq!((&day["range"], &day["throughput"]["total"]["filed"]), (&json!("24h"), &json!(1)));
    let points = day["flow"]["points"].as_array().unwrap();
    assert_eq!(points[points.len() - 1]["created"], 2);
}

#[test]
fn each_chart_has_a_table_with_its_numbers() {
    let (_directory, _client, port) = serve(&of_year(2025));
    let page = get(port, "/stats?range=all");
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert!(page.body.contains("href=\"/stats?range=all\" aria-current=\"page\""), "{}", page.body);
    for chart in ["open", "flow", "throughput", "lead", "cycle", "in-status", "ages"] {
        for expected in [
            format!("<section class=\"statistic\" id=\"stats-{chart}\">"),
            format!("role=\"img\" aria-labelledby=\"{chart}-title {chart}-desc\""),
            format!("<title id=\"{chart}-title\">"),
            format!("<desc id=\"{chart}-desc\">"),
            format!("<details class=\"numbers\" id=\"{chart}-numbers\">"),
        ] {
            assert!(page.body.contains(&expected), "no {expected:?} in {}", page.body);
        }
    }
    for forbidden in ["style=\"", "<style", "://", " onclick", "NaN"] {
        let hit = page
            .body
            .split('<')
            .find(|tag| format!("<{tag}").split('>').next().unwrap().contains(forbidden));
        assert_eq!(hit, None, "{forbidden}");
    }
    assert!(page.body.len() < 110_000, "{} bytes", page.body.len());
    assert!(get(port, "/stats").body.contains("href=\"/stats?range=7d\" aria-current=\"page\""));
}

#[test]
fn charts_without_data_are_replaced_by_texts() {
    let (_directory, mut client, port) = serve(&[]);
    for range in ["24h", "7d", "30d", "all"] {
        let body = get(port, &format!("/stats?range={range}")).body;
        assert!(body.contains("No issues yet") && !body.contains("role=\"img\""), "{body}");
        assert_eq!(stats(port, range)["total"], 0);
    }
    client.add("t", "bug");
    let body = get(port, "/stats?range=all").body;
    assert!(
        body.contains("No issue was closed in this period.")
            && body.contains("1 waiting to be claimed"),
        "{body}"
    );
}

#[test]
fn an_unknown_range_gets_400_with_the_valid_ranges() {
    let (_directory, _client, port) = serve(&of_year(2025));
    for path in ["/stats", "/api/stats"] {
        let refused = get(port, &format!("{path}?range=%3Cb%3E1y"));
        assert_eq!(refused.status, 400);
        assert!(
            refused.body.contains("24h, 7d, 30d, all")
                && (path != "/stats" || !refused.body.contains("<b>1y")),
            "{}",
            refused.body
        );
        assert_eq!(get(port, &format!("{path}?range=")).status, 200);
    }
    let error: Value = serde_json::from_str(&get(port, "/api/stats?range=1y").body).unwrap();
    assert!(error["error"].as_str().unwrap().contains("“range=1y”"), "{error}");
}

#[test]
fn absurd_times_do_not_break_the_statistics() {
    let mut issues = of_year(2025);
    issues[0]["createdAt"] = json!("0001-01-01T00:00:00.000Z");
    issues[1]["createdAt"] = json!("9999-12-31T23:59:59.999Z");
    issues[2]["history"][1]["timestamp"] = json!("9999-12-31T23:59:59.999Z");
    let (_directory, _client, port) = serve(&issues);
    for range in ["24h", "7d", "30d", "all"] {
        let page = get(port, &format!("/stats?range={range}"));
        assert_eq!((page.status, page.body.contains("NaN")), (200, false));
        let stats = stats(port, range);
        let points = stats["flow"]["points"].as_array().unwrap();
        let mut last = points[points.len() - 1].clone();
        last.as_object_mut().unwrap().remove("at");
        assert_eq!(last, stats["present"]);
    }
}
