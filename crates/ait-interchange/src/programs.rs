//! What other programs write that the table of names does not cover: small adapters, which make of their documents and
//! objects the objects of the one conversion, `partial_issue`.
//!
//! | program | what is adapted |
//! |---|---|
//! | task-master | tags, subtasks, dependencies between subtasks |
//! | Trello | cards with the names of their lists, members, checklists and comments |
//! | Jira, Azure DevOps | the values in `fields` |
//! | Taskwarrior | names of its own, deleted and recurring tasks |
//! | Redmine, Vikunja, Linear | relations; numbers of priorities; the tasks in buckets |

use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value as Json, json};

use super::{Values, defaults, jira, words};

/// The values of a document.
pub(super) type Document<'a> = IndexMap<String, &'a RawValue>;

/// An issue within a document.
pub(super) struct Item<'a> {
    /// Where it is.
    pub origin: &'a RawValue,
    /// Its object, if that is another one.
    pub adapted: Option<String>,
}

impl<'a> Item<'a> {
    /// Returns the object to read.
    pub fn text(&self) -> &str {
        self.adapted.as_deref().unwrap_or(self.origin.get())
    }

    pub(super) fn plain(origin: &'a RawValue) -> Self {
        Self { origin, adapted: None }
    }
}

/// Returns the issues of a document of a program whose issues are not in one list, or are not complete there.
pub(super) fn items<'a>(document: &Document<'a>) -> Option<Vec<Item<'a>>> {
    trello(document).or_else(|| task_master(document))
}

fn parsed(value: &RawValue) -> Json {
    serde_json::from_str(value.get()).unwrap_or_default()
}

fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// Reads the cards of a board of Trello.
fn trello<'a>(board: &Document<'a>) -> Option<Vec<Item<'a>>> {
    let of_board = |key: &str| board.get(key).map(|value| parsed(value)).unwrap_or_default();
    let cards = list(board.get("cards")?).filter(|_| board.contains_key("lists"))?;
    let all = ["lists", "members", "checklists", "actions"].map(of_board);
    let adapt = |origin: &'a RawValue| Item { origin, adapted: Some(card(parsed(origin), &all)) };
    Some(cards.into_iter().map(adapt).collect())
}

/// Returns the values of a list; none for anything else.
fn rows(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn card(card: Json, [lists, members, checklists, actions]: &[Json; 4]) -> String {
    let by_id = |json: &Json, id: &Json| rows(json).iter().find(|row| row["id"] == *id).cloned();
    let column = by_id(lists, &card["idList"]).unwrap_or_default();
    let line = |item: &Json| {
        let mark = if item["state"] == "complete" { "x" } else { " " };
        format!("- [{mark}] {}", item["name"].as_str().unwrap_or_default())
    };
    let section = |list: &'_ Json| {
        let lines: Vec<_> = rows(&list["checkItems"]).iter().map(line).collect();
        (list["name"].as_str().unwrap_or("Checklist").to_owned(), Some(lines.join("\n")))
    };
    let of_card = rows(checklists).iter().filter(|list| list["idCard"] == card["id"]);
    let sections: Vec<_> = of_card.map(section).collect();
    let sections = sections.iter().map(|(name, text)| (name.as_str(), text.clone()));
    let description = card["desc"].as_str().unwrap_or_default().to_owned();
    let is_comment = |action: &&Json| {
        action["type"] == "commentCard" && action["data"]["card"]["id"] == card["id"]
    };
    let comment = |action: &Json| {
        json!({
            "text": action["data"]["text"], "author": action["memberCreator"]["username"],
            "created": action["date"],
        })
    };
    let comments: Vec<_> = rows(actions).iter().filter(is_comment).map(comment).collect();
    let assignees = rows(&card["idMembers"]).iter().filter_map(|id| by_id(members, id));
    let label = |label: &Json| {
        let name = &label["name"];
        if name.as_str().is_none_or(str::is_empty) { label["color"].clone() } else { name.clone() }
    };
    // The list is the status, under any name.
    let is_unknown = column["name"].as_str().is_none_or(|name| words::status_of(name).is_none());
    // An id begins with the time of the card, in seconds.
    let seconds = card["id"].as_str().and_then(|id| u32::from_str_radix(id.get(..8)?, 16).ok());
    let is_done = card["closed"] == true || card["dueComplete"] == true || column["closed"] == true;
    let category = if is_done { "done" } else { "new" };
    let adapted = json!({
        "id": card["id"], "title": card["name"],
        "description": defaults::with_sections(description, sections),
        "status": column["name"], "statusCategory": is_unknown.then_some(category), "done": is_done,
        "labels": rows(&card["labels"]).iter().map(label).collect::<Vec<_>>(),
        "assignees": assignees.collect::<Vec<_>>(), "comments": comments, "createdAt": seconds,
        "modifiedAt": card["dateLastActivity"], "number": card["idShort"], "url": card["url"],
        "due": card["due"], "start": card["start"], "attachments": card["attachments"],
        "customFieldItems": card["customFieldItems"], "isTemplate": card["isTemplate"],
    });
    adapted.to_string()
}

/// Reads the tasks of task-master: `{"tasks": […]}`, or such an object for each tag.
fn task_master<'a>(document: &Document<'a>) -> Option<Vec<Item<'a>>> {
    let tags: Vec<(&str, Document<'a>)> = if document.contains_key("tasks") {
        vec![("master", document.clone())]
    } else {
        let tag = |value: &&'a RawValue| serde_json::from_str::<Document<'a>>(value.get()).ok();
        let tags = document.iter().filter_map(|(name, value)| Some((name.as_str(), tag(value)?)));
        tags.filter(|(_, tag)| tag.contains_key("tasks")).collect()
    };
    let mut items = Vec::new();
    for (tag, document) in &tags {
        let tasks = list(document.get("tasks")?)?;
        let is_theirs = |origin: &&RawValue| {
            let task = parsed(origin);
            ["subtasks", "dependencies"].iter().any(|key| task.get(*key).is_some())
        };
        if !tasks.is_empty() && !tasks.iter().any(is_theirs) {
            return None;
        }
        add_tasks(tasks, tag, None, &mut items);
    }
    (!items.is_empty()).then_some(items)
}

/// Adds tasks of task-master, each with its subtasks behind it. `whole` is the number of the task that they are parts
/// of.
fn add_tasks<'a>(
    tasks: Vec<&'a RawValue>,
    tag: &str,
    whole: Option<&str>,
    items: &mut Vec<Item<'a>>,
) {
    let of_all: Vec<Json> = tasks.iter().map(|task| parsed(task)["id"].clone()).collect();
    for origin in tasks {
        let task = parsed(origin);
        let number = text_of(&task["id"]);
        let number = whole.map_or(number.clone(), |whole| format!("{whole}.{number}"));
        let siblings: Vec<&Json> = of_all.iter().filter(|id| **id != task["id"]).collect();
        let subtasks: Option<Document<'a>> = serde_json::from_str(origin.get()).ok();
        let subtasks = subtasks.and_then(|task| list(task.get("subtasks")?)).unwrap_or_default();
        let adapted = self::task(task, tag, &number, whole.map(|whole| (whole, &siblings[..])));
        items.push(Item { origin, adapted: Some(adapted) });
        add_tasks(subtasks, tag, Some(&number), items);
    }
}

fn text_of(json: &Json) -> String {
    json.as_str().map_or(json.to_string(), str::to_owned)
}

/// Returns a task of task-master under the number that it has in its tag. An address of its own tells tasks of
/// different tags apart. A subtask comes with the number of its whole and the ids of the other subtasks there.
fn task(mut task: Json, tag: &str, number: &str, whole: Option<(&str, &[&Json])>) -> String {
    let Some(values) = task.as_object_mut() else { return task.to_string() };
    values.remove("id");
    if let Some((whole, siblings)) = whole {
        // A number names a subtask of the same task, if there is one; 2.1 is one of another task.
        let name = |on: &Json| match text_of(on) {
            on_text if siblings.contains(&on) => format!("{whole}.{on_text}"),
            on_text => on_text,
        };
        let dependencies = values.get("dependencies").and_then(Json::as_array);
        let dependencies: Vec<String> = dependencies.into_iter().flatten().map(name).collect();
        values.insert("dependencies".to_owned(), json!(dependencies));
        values.insert("parent".to_owned(), json!(whole));
    }
    let mut taken =
        |key: &str| values.remove(key).and_then(|value| value.as_str().map(str::to_owned));
    let description = taken("description").unwrap_or_default();
    let sections = [("Details", taken("details")), ("Test strategy", taken("testStrategy"))];
    let description = defaults::with_sections(description, sections);
    values.remove("subtasks");
    values.insert("description".to_owned(), json!(description));
    values.insert("url".to_owned(), json!(format!("task-master://{tag}/{number}")));
    values.insert("number".to_owned(), json!(number));
    task.to_string()
}

/// Reads the tasks in the buckets or projects of Vikunja.
pub(super) fn in_buckets<'a>(buckets: &[&'a RawValue]) -> Option<Vec<Item<'a>>> {
    let mut items = Vec::new();
    for bucket in buckets {
        let bucket: Document<'a> = serde_json::from_str(bucket.get()).ok()?;
        let title = bucket.get("title").map(|title| parsed(title));
        for origin in list(bucket.get("tasks")?).unwrap_or_default() {
            let mut task = parsed(origin);
            let values = task.as_object_mut().filter(|task| task.contains_key("percent_done"))?;
            values.entry("bucket").or_insert(json!(title));
            items.push(Item { origin, adapted: Some(task.to_string()) });
        }
    }
    (!items.is_empty()).then_some(items)
}

/// Returns why an object is rightly left out.
pub(super) fn no_issue(values: &Values) -> Option<String> {
    let is_set =
        |key: &str| values.get(key).is_some_and(|value| !matches!(value.get(), "null" | "false"));
    let has =
        |key: &str, text: &str| values.get(key).is_some_and(|value| value.get().contains(text));
    let is_request = is_set("pull_request")
        || is_set("isPullRequest")
        || is_set("source_branch") && is_set("target_branch")
        || ["html_url", "url"].iter().any(|key| has(key, "/pull/"))
        || has("web_url", "/merge_requests/");
    if is_request {
        return Some("a pull request is no issue".to_owned());
    }
    // A card that others are copied from.
    if is_set("isTemplate") {
        return Some("a template is no work".to_owned());
    }
    let of_taskwarrior = is_taskwarrior(values).then(|| parsed(&values["status"]));
    match of_taskwarrior.as_ref().and_then(Json::as_str) {
        Some("deleted") => Some("it was deleted in Taskwarrior".to_owned()),
        Some("recurring") => Some("a template of recurring tasks is no work".to_owned()),
        _ => None,
    }
}

fn is_taskwarrior(values: &Values) -> bool {
    let marks = ["uuid", "entry", "description", "status"];
    marks.iter().all(|key| values.contains_key(*key)) && !values.contains_key("title")
}

/// Makes an object for the conversion of that of a program. Returns true if it did.
pub(super) fn adapt(values: &mut Values) -> bool {
    let has = |values: &Values, keys: &[&str]| keys.iter().all(|key| values.contains_key(*key));
    if has(values, &["fields"]) {
        return jira::flatten(values) || azure(values);
    }
    if is_taskwarrior(values) {
        taskwarrior(values);
    } else if has(values, &["done", "percent_done"]) {
        vikunja(values);
    } else if has(values, &["tracker", "subject", "relations"]) {
        redmine(values);
    } else if has(values, &["identifier", "priority"]) {
        // Linear has 1 for urgent to 4 for low.
        name_priority(values, &["none", "urgent", "high", "medium", "low"]);
    } else {
        return false;
    }
    true
}

fn set(values: &mut Values, key: &str, value: &Json) {
    if let Ok(raw) = to_raw_value(value) {
        values.insert(key.to_owned(), raw);
    }
}

/// Renames a key in its place.
fn rename(values: &mut Values, from: &str, to: &str) {
    if let Some((place, _, value)) = values.shift_remove_full(from) {
        values.shift_insert(place, to.to_owned(), value);
    }
}

/// Puts the values of a work item of Azure DevOps, such as `System.Title`, beside the others.
fn azure(values: &mut Values) -> bool {
    let Some(fields) = values.get("fields") else { return false };
    let fields: Values = serde_json::from_str(fields.get()).unwrap_or_default();
    if !fields.contains_key("System.Title") {
        return false;
    }
    values.shift_remove("fields");
    for (name, value) in fields {
        let name = name.rsplit('.').next().unwrap_or(&name).to_owned();
        values.entry(name).or_insert(value);
    }
    true
}

/// Taskwarrior has names of its own; its `id` and `urgency` change without a change of the task.
fn taskwarrior(values: &mut Values) {
    let is_started = values.shift_remove("start").is_some();
    values.shift_remove("urgency");
    values.shift_remove("id");
    for (from, to) in [
        ("uuid", "id"),
        ("description", "title"),
        ("entry", "createdAt"),
        ("end", "closedAt"),
        ("annotations", "comments"),
        // A recurring task is no whole.
        ("parent", "template"),
    ] {
        rename(values, from, to);
    }
    match parsed(&values["status"]).as_str() {
        Some("completed") => set(values, "status", &json!("done")),
        Some("pending") if is_started => set(values, "status", &json!("started")),
        _ => {}
    }
}

/// Replaces the number of a priority by its word. The numbers of some programs ascend, or begin with none.
fn name_priority(values: &mut Values, words: &[&str]) {
    let number = values.get("priority").and_then(|value| parsed(value).as_u64());
    if let Some(word) = number.and_then(|number| words.get(usize::try_from(number).ok()?)) {
        set(values, "priority", &json!(word));
    }
}

/// The priorities of Vikunja ascend from 1 to 5; 0 is none.
fn vikunja(values: &mut Values) {
    name_priority(values, &["none", "low", "medium", "high", "urgent", "do now"]);
    let Some(related) = values.get("related_tasks") else { return };
    let mut related = parsed(related);
    let Some(kinds) = related.as_object_mut() else { return };
    // The other tasks have the other ends of these.
    kinds.retain(|kind, _| !matches!(kind.as_str(), "subtask" | "blocking"));
    for (kind, field) in [("parenttask", "parent"), ("blocked", "blocked_by")] {
        if let Some(tasks) = kinds.remove(kind) {
            let ids = tasks.as_array().into_iter().flatten().map(|task| task["id"].clone());
            set(values, field, &json!(ids.collect::<Vec<_>>()));
        }
    }
    set(values, "related_tasks", &related);
}

/// Adds the blockers of an issue of Redmine. A relation lies between `issue_id` and `issue_to_id`.
fn redmine(values: &mut Values) {
    let id = values.get("id").map(|id| parsed(id)).unwrap_or_default();
    let relations = parsed(&values["relations"]);
    let relations = relations.as_array().cloned().unwrap_or_default();
    let is_order =
        |relation: &Json| matches!(relation["relation_type"].as_str(), Some("blocks" | "precedes"));
    let blockers = relations
        .iter()
        .filter(|relation| is_order(relation) && relation["issue_to_id"] == id)
        .map(|relation| relation["issue_id"].clone());
    set(values, "blocked_by", &json!(blockers.collect::<Vec<_>>()));
    if relations.iter().all(is_order) {
        values.shift_remove("relations");
    }
}
