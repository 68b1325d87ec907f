//! A corpus of issues and queries, and a slow, simple evaluator that computes which issues match each query.

use agent_issue_tracker::domain::Timestamp;
use serde_json::{Value, json};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const STATUSES: [&str; 6] =
    ["created", "in_progress", "completed", "in_review", "closed", "rejected"];
const KINDS: [&str; 3] = ["bug", "improvement", "feature"];
const AGENTS: [&str; 4] = ["dev-1", "dev-2", "lead", "Reviewer One"];
const LABELS: [&str; 4] = ["ui", "api", "area/login", "wontfix"];
const WORDS: [&str; 8] =
    ["Login", "session", "expired", "Überlauf", "100%", "a_b", "back\\slash", "timeout"];

pub fn id(number: usize) -> String {
    format!("{:08x}-7d54-4b0a-9e6f-{number:012x}", number.wrapping_mul(0x9E37_79B1) as u32)
}

/// Returns issues of all kinds as JSON, the oldest first. No timestamp is near a limit in a query.
pub fn corpus(now: Timestamp) -> Vec<Value> {
    let time = |hours_ago: i64| {
        let at = now.unix_millis() - hours_ago * HOUR_MS - HOUR_MS / 2;
        Timestamp::from_unix_millis(at).to_string()
    };
    (0..180_usize).map(|n| issue(n, &time)).collect()
}

fn issue(n: usize, time: &impl Fn(i64) -> String) -> Value {
    let status = STATUSES[n % 6];
    let filed = 1_000 - 5 * n as i64;
    let (history, comments) = history(n, filed);
    let changed = history.last().unwrap().0;
    let mut issue = json!({
        "id": id(n),
        "title": format!("{} {}", WORDS[n % 8], WORDS[n / 8 % 8]),
        "description": format!("number {n}: {}", WORDS[n / 3 % 8]),
        "classification": KINDS[n / 6 % 3], "createdAt": time(filed), "modifiedAt": time(changed),
        "status": status,
        "history": history.iter().map(|(at, agent, action)| json!({
            "timestamp": time(*at), "agent": agent, "action": action
        })).collect::<Vec<_>>(),
        "comments": comments.iter().map(|(at, agent, text)| json!({
            "timestamp": time(*at), "agent": agent, "text": text
        })).collect::<Vec<_>>(),
    });
    if n.is_multiple_of(3) {
        issue["priority"] = json!(n / 3 % 5);
    }
    let labels = LABELS.iter().enumerate().filter(|(index, _)| n.is_multiple_of(index + 2));
    let mut labels: Vec<_> = labels.map(|(_, label)| *label).collect();
    labels.sort_unstable();
    if !labels.is_empty() {
        issue["labels"] = json!(labels);
    }
    if n % 5 == 1 {
        issue["assignee"] = json!(AGENTS[n % 3]);
    }
    match n % 7 {
        0 => issue["due"] = json!(&time(filed)[..10]),
        1 => issue["due"] = json!(time(filed - 900)),
        // Another program's, which is no date.
        2 => issue["due"] = json!("soon"),
        _ => {}
    }
    if n % 4 == 1 {
        issue["estimate"] = json!(f64::from(u32::try_from(n % 5).unwrap()) / 2.0);
    }
    let mut links = Vec::new();
    if n > 20 && n.is_multiple_of(9) {
        links.push(json!({"kind": "parent", "to": id(n % 20)}));
    }
    if n > 30 && n.is_multiple_of(8) {
        links.push(json!({"kind": "blocked_by", "to": id(n - 30)}));
    }
    if !links.is_empty() {
        issue["links"] = json!(links);
    }
    if n.is_multiple_of(13) && !matches!(status, "closed" | "rejected") {
        issue["parked"] = json!({"reason": "later", "since": time(changed), "by": "lead"});
        if n.is_multiple_of(2) {
            // This parking has ended.
            issue["parked"]["until"] = json!(time(0));
        }
    }
    issue
}

type Entry = (i64, &'static str, &'static str);

/// Returns the history and the comments of an issue. Each entry has its age in hours, the agent and the text.
fn history(n: usize, filed: i64) -> (Vec<Entry>, Vec<Entry>) {
    let mut history = vec![(filed, AGENTS[n % 4], "Issue filed")];
    for round in 0..n % 5 {
        let ends = ["Issue returned to created status", "Claim lapsed"];
        history.push((0, AGENTS[(n + round) % 3], "Issue claimed for work"));
        history.push((0, AGENTS[(n + round) % 3], ends[round % 2]));
    }
    let status = STATUSES[n % 6];
    if status == "in_progress" {
        history.push((0, AGENTS[n % 3], "Issue claimed for work"));
    }
    if matches!(status, "completed" | "in_review" | "closed") {
        history.push((0, AGENTS[n % 3], "Issue completed"));
    }
    if status == "in_review" {
        history.push((0, "Reviewer One", "Issue claimed for review"));
    }
    if n.is_multiple_of(7) {
        history.push((0, "lead", "Comment added"));
    }
    if n.is_multiple_of(11) {
        history.push((0, "lead", "Issue changed: labels"));
    }
    (filed - history.len() as i64 + 1..=filed)
        .rev()
        .zip(&mut history)
        .for_each(|(hours_ago, entry)| entry.0 = hours_ago);
    let comments = history.iter().filter(|(.., action)| *action == "Comment added");
    let comments = comments.map(|(at, agent, _)| (*at, *agent, WORDS[n / 7 % 8])).collect();
    (history, comments)
}

pub type Predicate = Box<dyn Fn(&Value, &[Value]) -> bool>;

fn is_open(issue: &Value) -> bool {
    !matches!(issue["status"].as_str(), Some("closed" | "rejected"))
}

fn linked(issue: &Value, kind: &str) -> Vec<String> {
    let links = issue["links"].as_array().cloned().unwrap_or_default();
    let links = links.iter().filter(|link| link["kind"] == kind);
    links.map(|link| link["to"].as_str().unwrap().to_owned()).collect()
}

fn of_id<'a>(all: &'a [Value], id: &str) -> &'a Value {
    all.iter().find(|issue| issue["id"] == id).unwrap()
}

fn is_blocked(issue: &Value, all: &[Value]) -> bool {
    linked(issue, "blocked_by").iter().any(|id| is_open(of_id(all, id)))
}

fn actions(issue: &Value) -> Vec<(String, String, i64)> {
    let entries = issue["history"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    entries
        .map(|entry| (text(&entry["agent"]), text(&entry["action"]), millis(&entry["timestamp"])))
        .collect()
}

pub fn millis(time: &Value) -> i64 {
    Timestamp::parse(time.as_str().unwrap()).unwrap().unix_millis()
}

fn holder(issue: &Value) -> Option<String> {
    let is_claimed = matches!(issue["status"].as_str(), Some("in_progress" | "in_review"));
    let claims = actions(issue).into_iter().rev();
    let mut claims = claims.filter(|(_, action, _)| action.starts_with("Issue claimed"));
    claims.next().filter(|_| is_claimed).map(|(agent, ..)| agent)
}

fn claims(issue: &Value) -> usize {
    actions(issue).iter().filter(|(_, action, _)| action.starts_with("Issue claimed")).count()
}

/// Counts the returns. A lapsed claim is no return.
fn returns(issue: &Value) -> usize {
    actions(issue).iter().filter(|(_, action, _)| action.starts_with("Issue returned")).count()
}

fn active(issue: &Value) -> i64 {
    let quiet = ["Issue claimed", "Issue returned", "Claim lapsed", "Issue changed"];
    let actions = actions(issue).into_iter();
    let loud =
        actions.filter(|(_, action, _)| !quiet.iter().any(|quiet| action.starts_with(quiet)));
    loud.map(|(.., at)| at).max().unwrap()
}

pub fn says(issue: &Value, text: &str) -> bool {
    let comments = issue["comments"].as_array().unwrap().iter().map(|comment| &comment["text"]);
    let texts = [&issue["title"], &issue["description"]].into_iter().chain(comments);
    let text = text.to_lowercase();
    let mut texts = texts.map(|text| text.as_str().unwrap().to_lowercase());
    texts.any(|whole| whole.contains(&text)) || issue["id"].as_str().unwrap().starts_with(&text)
}

fn is_parked(issue: &Value) -> bool {
    issue["parked"].is_object() && issue["parked"]["until"].is_null()
}

/// Returns the last moment at which an issue is in time, in milliseconds since 1970.
fn due(issue: &Value) -> Option<i64> {
    let text = issue["due"].as_str()?;
    let time = if text.len() == 10 { format!("{text}T23:59:59.999Z") } else { text.to_owned() };
    Some(chrono::DateTime::parse_from_rfc3339(&time).ok()?.timestamp_millis())
}

fn priority(issue: &Value) -> u64 {
    issue["priority"].as_u64().unwrap_or(2)
}

fn has_label(issue: &Value, label: &str) -> bool {
    issue["labels"].as_array().is_some_and(|labels| labels.contains(&json!(label)))
}

type Terms = Vec<(String, Predicate)>;

/// Returns all terms, each with its meaning.
fn terms(now: Timestamp) -> Terms {
    let now = now.unix_millis();
    [
        attribute_terms(),
        people_and_link_terms(),
        number_and_time_terms(now),
        state_and_word_terms(now),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn attribute_terms() -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    for status in STATUSES {
        add(&format!("status:{status}"), Box::new(move |issue, _| issue["status"] == status));
    }
    add("status:open", Box::new(|issue, _| is_open(issue)));
    add("is:open", Box::new(|issue, _| is_open(issue)));
    add(
        "status:created,closed",
        Box::new(|issue, _| issue["status"] == "created" || issue["status"] == "closed"),
    );
    for kind in KINDS {
        add(&format!("kind:{kind}"), Box::new(move |issue, _| issue["classification"] == kind));
    }
    for label in LABELS {
        add(&format!("label:{label}"), Box::new(move |issue, _| has_label(issue, label)));
    }
    add("label:none", Box::new(|issue, _| issue["labels"].is_null()));
    add("label:ui,api", Box::new(|issue, _| has_label(issue, "ui") || has_label(issue, "api")));
    add("priority:<=1", Box::new(|issue, _| priority(issue) <= 1));
    add("priority:2", Box::new(|issue, _| priority(issue) == 2));
    add("priority:>p2", Box::new(|issue, _| priority(issue) > 2));
    add("priority:1..3", Box::new(|issue, _| (1..=3).contains(&priority(issue))));
    terms
}

fn people_and_link_terms() -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    for agent in AGENTS {
        let quoted = if agent.contains(' ') { format!("\"{agent}\"") } else { agent.to_owned() };
        let is_holder: Predicate =
            Box::new(move |issue, _| holder(issue).as_deref() == Some(agent));
        add(&format!("holder:{quoted}"), is_holder);
        add(&format!("assignee:{quoted}"), Box::new(move |issue, _| issue["assignee"] == agent));
        add(&format!("filer:{quoted}"), Box::new(move |issue, _| actions(issue)[0].0 == agent));
        add(
            &format!("agent:{quoted}"),
            Box::new(move |issue, _| {
                let mut actors = actions(issue).into_iter();
                issue["assignee"] == agent || actors.any(|(name, ..)| name == agent)
            }),
        );
    }
    add("holder:none", Box::new(|issue, _| holder(issue).is_none()));
    add("assignee:none", Box::new(|issue, _| issue["assignee"].is_null()));
    let (parent, short) = (id(9), id(9)[..8].to_owned());
    add(
        &format!("parent:{short}"),
        Box::new(move |issue, _| linked(issue, "parent") == [parent.clone()]),
    );
    add("parent:none", Box::new(|issue, _| linked(issue, "parent").is_empty()));
    let blocker = id(34);
    add(
        &format!("blocked-by:{blocker}"),
        Box::new(move |issue, _| linked(issue, "blocked_by").contains(&blocker)),
    );
    let blocked = id(64);
    add(
        &format!("blocks:{}", &blocked[..8]),
        Box::new(move |issue, all| {
            let own = issue["id"].as_str().unwrap().to_owned();
            linked(of_id(all, &blocked), "blocked_by").contains(&own)
        }),
    );
    let one = id(77);
    for form in
        [format!("id:{}", &one[..8]), format!("#{}", &one[..8]), format!("issue-{}", &one[..8])]
    {
        let one = one.clone();
        add(&form, Box::new(move |issue, _| issue["id"] == one.as_str()));
    }
    terms
}

fn number_and_time_terms(now: i64) -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    for (text, range) in [
        ("0", 0..=0),
        (">=2", 2..=usize::MAX),
        (">1", 2..=usize::MAX),
        ("<1", 0..=0),
        ("1..2", 1..=2),
    ] {
        let return_range = range.clone();
        add(
            &format!("returns:{text}"),
            Box::new(move |issue, _| return_range.contains(&returns(issue))),
        );
        add(&format!("claims:{text}"), Box::new(move |issue, _| range.contains(&claims(issue))));
    }
    let estimate = |issue: &Value| issue["estimate"].as_f64();
    add("estimate:none", Box::new(move |issue, _| estimate(issue).is_none()));
    add("estimate:<1", Box::new(move |issue, _| estimate(issue).is_some_and(|own| own < 1.0)));
    add(
        "estimate:0.5..1.5",
        Box::new(move |issue, _| estimate(issue).is_some_and(|own| (0.5..=1.5).contains(&own))),
    );
    add("due:none", Box::new(|issue, _| due(issue).is_none()));
    add(
        "is:overdue",
        Box::new(move |issue, _| is_open(issue) && due(issue).is_some_and(|due| due < now)),
    );
    add("due:<2d", Box::new(move |issue, _| due(issue).is_some_and(|due| due < now + 2 * DAY_MS)));
    add(
        "due:>=-20d",
        Box::new(move |issue, _| due(issue).is_some_and(|due| due >= now - 20 * DAY_MS)),
    );
    for days in [7, 20] {
        let then = now - days * DAY_MS;
        let at = |key: &'static str| move |issue: &Value| millis(&issue[key]);
        for (key, member) in [("created", "createdAt"), ("changed", "modifiedAt")] {
            let time = at(member);
            add(&format!("{key}:>-{days}d"), Box::new(move |issue, _| time(issue) > then));
            add(&format!("{key}:<-{days}d"), Box::new(move |issue, _| time(issue) < then));
        }
        add(&format!("idle:>{days}d"), Box::new(move |issue, _| active(issue) < then));
        add(&format!("idle:<{days}d"), Box::new(move |issue, _| active(issue) > then));
    }
    let day = Timestamp::from_unix_millis(now - 10 * DAY_MS).to_string()[..10].to_owned();
    let begin = Timestamp::parse(&format!("{day}T00:00:00Z")).unwrap().unix_millis();
    let on_day =
        move |issue: &Value| (begin..begin + DAY_MS).contains(&millis(&issue["createdAt"]));
    add(&format!("created:{day}"), Box::new(move |issue, _| on_day(issue)));
    add(
        &format!("created:<={day}"),
        Box::new(move |issue, _| millis(&issue["createdAt"]) < begin + DAY_MS),
    );
    terms
}

fn state_and_word_terms(now: i64) -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    add(
        "is:ready",
        Box::new(|issue, all| {
            let own = issue["id"].as_str().unwrap().to_owned();
            let has_part =
                all.iter().any(|other| is_open(other) && linked(other, "parent").contains(&own));
            issue["status"] == "created"
                && !is_parked(issue)
                && !is_blocked(issue, all)
                && !has_part
        }),
    );
    add("is:blocked", Box::new(|issue, all| is_open(issue) && is_blocked(issue, all)));
    add("is:parked", Box::new(|issue, _| is_open(issue) && is_parked(issue)));
    add(
        "is:claimed",
        Box::new(|issue, _| issue["status"] == "in_progress" || issue["status"] == "in_review"),
    );
    add("is:stale", Box::new(move |issue, _| is_open(issue) && active(issue) < now - 14 * DAY_MS));
    for text in
        ["login", "LOGIN", "Überlauf", "100%", "a_b", "back\\slash", "number 1", "nowhere", "12"]
    {
        let written = if text.contains(' ') { format!("\"{text}\"") } else { text.to_owned() };
        add(&written, Box::new(move |issue, _| says(issue, text)));
    }
    terms
}

/// Returns queries with their meaning: single terms, negated terms, pairs and groups.
pub fn queries(now: Timestamp) -> Vec<(String, Predicate)> {
    let mut queries = Vec::new();
    let count = terms(now).len();
    let term = |index: usize| terms(now).remove(index % count);
    for index in 0..count {
        queries.push(term(index));
        let (text, holds) = term(index * 7 + 3);
        let (other, holds_too) = term(index * 5 + 1);
        let (third, holds_third) = term(index * 3 + 2);
        let (query, predicate): (String, Predicate) = match index % 4 {
            0 => (
                format!("{text} -{other}"),
                Box::new(move |issue, all| holds(issue, all) && !holds_too(issue, all)),
            ),
            1 => (
                format!("({text} OR {other}) {third}"),
                Box::new(move |issue, all| {
                    (holds(issue, all) || holds_too(issue, all)) && holds_third(issue, all)
                }),
            ),
            2 => (
                format!("{text} {other} OR -({third})"),
                Box::new(move |issue, all| {
                    holds(issue, all) && holds_too(issue, all) || !holds_third(issue, all)
                }),
            ),
            _ => (
                format!("NOT {text} AND {other}"),
                Box::new(move |issue, all| !holds(issue, all) && holds_too(issue, all)),
            ),
        };
        queries.push((query, predicate));
        let (text, holds) = term(index * 11 + 5);
        queries.push((format!("-{text}"), Box::new(move |issue, all| !holds(issue, all))));
    }
    assert!(queries.len() >= 200, "{}", queries.len());
    queries
}

pub fn expected(predicate: &Predicate, all: &[Value]) -> Vec<String> {
    let found = all.iter().filter(|issue| predicate(issue, all));
    found.map(|issue| issue["id"].as_str().unwrap().to_owned()).collect()
}
