//! Random values of each field of the table, and how tools, commands and searches are told them.

use std::collections::BTreeMap;

use agent_issue_tracker::domain::fields::FIELDS;
use agent_issue_tracker::domain::{Classification, LinkKind, ValueField};
use fastrand::Rng;
use serde_json::{Value, json};

/// A random value of a field, and how faces are told it.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// As the issue has it; `null` for none.
    pub stored: Value,
    /// What sets it with a tool or over `/api`, if they can.
    pub arguments: Vec<(&'static str, Value)>,
    /// What sets it with a command, if one can.
    pub options: Vec<String>,
    /// A term of a search that finds it.
    pub term: String,
}

pub const NONE: &str = "none";

pub type Samples = BTreeMap<&'static str, Sample>;

/// Returns a sample for each field that people and agents give an issue. `before` is the issue as it is. A new field
/// of the table has to be told here how it is given.
pub fn samples(before: &Value, others: &[String], rng: &mut Rng) -> Samples {
    let mut sample = |name: &'static str| {
        let sample = match name {
            // What happened to the issue.
            "id" | "createdAt" | "modifiedAt" | "status" | "history" | "comments" | "claim" => {
                return None;
            }
            "title" | "description" => text(name, rng),
            "classification" => {
                let kinds =
                    [Classification::Bug, Classification::Improvement, Classification::Feature];
                let kind = rng.choice(kinds).unwrap().as_str();
                Sample {
                    stored: json!(kind),
                    arguments: vec![(name, json!(kind))],
                    options: vec![format!("--classification={kind}")],
                    term: format!("kind:{kind}"),
                }
            }
            "labels" => labels(&before[name], rng),
            "links" => links(others, rng),
            "parked" => parked(rng),
            name => {
                let field = ValueField::from_word(name);
                let field = field.unwrap_or_else(|| panic!("{name}: how is it given?"));
                value(field, name_of_agent(rng), rng)
            }
        };
        Some((name, sample))
    };
    FIELDS.iter().filter_map(|(name, _)| sample(name)).collect()
}

/// Returns a text with a word that no other text has. Spreadsheets would run some of its beginnings.
fn text(name: &'static str, rng: &mut Rng) -> Sample {
    let word = format!("w{:08x}", rng.u32(..));
    let begin = rng.choice(["=1+", "@", "'", "''", "\"", "\\", "", "<b>", "Ü", "a, b;"]).unwrap();
    let end = if name == "title" { "🔥 &amp; \"q\"" } else { "\n\n* one\n\ttwo\n" };
    let text = format!("{begin}{word} {end}");
    Sample {
        stored: json!(text),
        arguments: vec![(name, json!(text))],
        options: vec![format!("--{name}={text}")],
        term: word,
    }
}

fn labels(before: &Value, rng: &mut Rng) -> Sample {
    let mut labels: Vec<_> = ["ui", "area/login:x", "0.1_b-", "api"].to_vec();
    labels.retain(|_| rng.bool());
    labels.sort_unstable();
    let before: Vec<_> =
        before.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let added: Vec<_> = labels.iter().filter(|label| !before.contains(label)).collect();
    let removed: Vec<_> = before.iter().filter(|label| !labels.contains(label)).collect();
    let signs = added.iter().map(|label| format!("+{label}"));
    let signs: Vec<_> = signs.chain(removed.iter().map(|label| format!("-{label}"))).collect();
    Sample {
        stored: if labels.is_empty() { Value::Null } else { json!(labels) },
        arguments: vec![("labels_add", json!(added)), ("labels_remove", json!(removed))],
        options: signs.iter().map(|sign| format!("--label={sign}")).collect(),
        term: format!("label:{}", labels.first().unwrap_or(&NONE)),
    }
}

fn links(others: &[String], rng: &mut Rng) -> Sample {
    let [whole, blockers @ ..] = others else { panic!("no other issues") };
    let parent = rng.bool().then_some(whole);
    let mut blockers = blockers.to_vec();
    blockers.retain(|_| rng.bool());
    let link = |kind: LinkKind, to: &String| json!({ "kind": kind, "to": to });
    let blocked = blockers.iter().map(|to| link(LinkKind::BlockedBy, to));
    let links: Vec<_> =
        parent.map(|to| link(LinkKind::Parent, to)).into_iter().chain(blocked).collect();
    let parent = parent.map_or(NONE, String::as_str);
    let given = if blockers.is_empty() { NONE.to_owned() } else { blockers.join(",") };
    Sample {
        stored: if links.is_empty() { Value::Null } else { sorted(json!(links)) },
        arguments: vec![("parent", json!(parent)), ("blocked_by", json!(blockers))],
        options: vec![format!("--parent={parent}"), format!("--blocked-by={given}")],
        term: format!("parent:{parent}"),
    }
}

/// Being parked is a change of its own in tools and commands.
fn parked(rng: &mut Rng) -> Sample {
    let is_parked = rng.bool();
    let since = "2026-01-31T09:30:00.000Z";
    let mut parked = json!({ "reason": "=later, \"perhaps\"\n…", "since": since, "by": "lead" });
    if rng.bool() {
        parked["until"] = json!("2196-01-31T09:30:00.000Z");
    }
    Sample {
        stored: if is_parked { parked } else { Value::Null },
        term: if is_parked { "is:parked" } else { "-is:parked" }.to_owned(),
        ..Sample::default()
    }
}

/// Returns a name that spreadsheets, shells and pages could take for something else.
pub fn name_of_agent(rng: &mut Rng) -> String {
    let begin = rng.choice(["=", "+", "-", "@", "'", "x", "Ü", "0", "[", "none "]).unwrap();
    let end = rng.choice([" <b>&;", ", b", " \"b\"", "\n-", "\u{202e}\\", "ß\t%_", "…"]).unwrap();
    format!("{begin}{}{end}{}", rng.u8(..), "x".repeat(rng.choice([0, 180]).unwrap()))
}

/// Returns a value of a field, or none. `name` is the name of an agent.
pub fn value(field: ValueField, name: String, rng: &mut Rng) -> Sample {
    let (stored, typed) = match field {
        ValueField::Priority => {
            let number = rng.u8(..5);
            (json!(number), format!("{}{number}", rng.choice(["", "p", "P"]).unwrap()))
        }
        // Commands take an `@` before a name for that of another program.
        ValueField::Assignee if name.starts_with('@') => (json!(name), format!("@{name}")),
        ValueField::Assignee => (json!(name), name),
        ValueField::Due => {
            let year = rng.choice([1970, 1999, 2026, 2027, 2400, 9999]).unwrap();
            let day = format!("{year}-{:02}-{:02}", rng.u8(1..=12), rng.u8(1..=28));
            match rng.u8(..4) {
                0 => (json!(format!("{day}T00:00:00.000Z")), format!("{day}T00:00:00Z")),
                1 => (json!(format!("{day}T09:59:59.250Z")), format!("{day}T13:29:59.25+03:30")),
                _ => (json!(day), day),
            }
        }
        ValueField::Estimate => {
            let units = rng.choice([0, 1, 8, 13, 999_999, 1_000_000]).unwrap();
            let decimals = rng.choice(["", ".0", ".5", ".50", ".25", ".01"]).unwrap();
            let typed = format!("{units}{}", if units < 1_000_000 { decimals } else { ".00" });
            let number = typed.parse::<f64>().unwrap();
            (if number.fract() == 0.0 { json!(units) } else { json!(number) }, typed)
        }
        ValueField::Budget => match rng.u8(..3) {
            0 => (json!("2.5"), "2.50 USD".to_owned()),
            1 => (json!("500000 tokens"), "500k tokens".to_owned()),
            _ => (json!("0 tokens"), "0 tokens".to_owned()),
        },
        ValueField::Touches => {
            let path = rng.choice(["-a.rs", "=src/**", "@b c/?\u{202e}<b>", "none/*"]).unwrap();
            (json!(format!("src, {path}")), format!("src/,./{path} "))
        }
    };
    let searched = match field {
        ValueField::Touches | ValueField::Budget => "any".to_owned(),
        ValueField::Priority | ValueField::Estimate => stored.to_string(),
        // A comma separates several names, and a quotation mark ends one.
        ValueField::Assignee => {
            let name = stored.as_str().unwrap();
            if name.contains([',', '"']) { "*".to_owned() } else { name.to_owned() }
        }
        ValueField::Due => stored.as_str().unwrap()[..10].to_owned(),
    };
    Sample {
        arguments: vec![(field.as_str(), stored.clone())],
        stored,
        options: vec![option(field, &typed)],
        term: match &*searched {
            "*" => format!("-{field}:{NONE}"),
            searched => format!("{field}:\"{searched}\""),
        },
    }
}

/// Returns a sample without a value.
pub fn none(field: ValueField) -> Sample {
    Sample {
        options: vec![option(field, NONE)],
        // An issue without a priority counts as one with the default.
        term: format!("{field}:{}", if field == ValueField::Priority { "2" } else { "none" }),
        ..Sample::default()
    }
}

fn option(field: ValueField, value: &str) -> String {
    let name = if field == ValueField::Assignee { "assign" } else { field.as_str() };
    format!("--{name}={value}")
}

pub fn sorted(mut list: Value) -> Value {
    if let Some(items) = list.as_array_mut() {
        items.sort_by_key(ToString::to_string);
    }
    list
}

/// Compares all sampled fields of an issue.
#[track_caller]
pub fn check(face: &str, samples: &Samples, issue: &Value) {
    for (name, sample) in samples {
        let found = match name {
            &"links" => sorted(issue[name].clone()),
            name => issue[name].clone(),
        };
        let found = if found == json!([]) { Value::Null } else { found };
        assert_eq!(found, sample.stored, "{face}: {name} in {issue}");
    }
}

/// Returns the arguments of a tool that set the values.
pub fn arguments(samples: &Samples) -> Value {
    let given = samples.values().flat_map(|sample| sample.arguments.clone());
    Value::Object(given.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns the arguments that file an issue with the values.
pub fn filing(samples: &Samples) -> Value {
    let mut given = arguments(samples);
    let given = given.as_object_mut().unwrap();
    if let Some(labels) = given.remove("labels_add") {
        given.insert("labels".to_owned(), labels);
    }
    given.retain(|name, value| name != "labels_remove" && *value != NONE);
    json!(given)
}

/// Returns the arguments as `/api` has them.
pub fn body(arguments: &Value) -> Value {
    let mut body = json!({ "agent": "bot" });
    for (name, value) in arguments.as_object().unwrap() {
        let mut words = name.split('_');
        let mut key = words.next().unwrap().to_owned();
        for word in words {
            key += &(word[..1].to_uppercase() + &word[1..]);
        }
        body[key] = if *value == NONE { Value::Null } else { value.clone() };
    }
    body
}
