//! Work items of Azure DevOps, by version 7.1 of its API.
//!
//! A query returns ids alone, and work items are read in batches of 200. `reporting/workitemrevisions` would save the
//! query, but it returns every revision of every work item of the project from its first day on, and no links. A change
//! tests the revision that was read, so that no edit is overwritten. The states of each type belong to categories, by
//! which they are mapped. Descriptions and comments are HTML, from which Azure removes HTML comments, so markers stand
//! in the text. An answer with status 203 or 302, or in HTML, is a page for signing in.

use std::collections::HashMap;

use ait_domain::{LinkKind, Priority, Timestamp};
use ait_interchange::attributes::label_of;
use async_trait::async_trait;
use form_urlencoded::byte_serialize;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, OnceCell};

use crate::azure_token;
use crate::html::{self, html_of, marked_there};
use crate::http::{Answer, Call, Http};
use crate::marker;
use crate::remote::{
    Listing, NewRemoteIssue, Remote, RemoteChange, RemoteComment, RemoteError, RemoteIssue,
    RemoteLink, RemotePage, State,
};
use crate::settings::{Kind, Secret, SyncSettings, terms};

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const VERSION: &str = "api-version=7.1";
/// What work items are read with.
const EXPANDED: &str = "$expand=relations&api-version=7.1";
const COMMENT_VERSION: &str = "api-version=7.1-preview.4";
/// How many work items one call reads at most.
const BATCH: usize = 200;
/// How many pages of comments are read of one work item.
const MAX_PAGES: usize = 100;
const USUAL_PULL: &str = "state:open";
/// The type of work items that are filed: every process has it.
const NEW_TYPE: &str = "Task";
/// The priority that work items begin with.
const USUAL_PRIORITY: u64 = 2;
const DESCRIPTION: &str = "System.Description";
const PRIORITY: &str = "Microsoft.VSTS.Common.Priority";

pub(crate) struct Azure {
    http: Http,
    url: String,
    project: String,
    filter: Filter,
    /// The header with the token; empty until `az` was asked for it.
    authorization: OnceCell<HeaderValue>,
    /// The account of the token, as work items name it.
    account: OnceCell<String>,
    /// The names of states with their categories, by type.
    states: Mutex<HashMap<String, Vec<(String, State)>>>,
}

/// Which work items come in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Filter {
    is_open: bool,
    kind: Option<String>,
    tags: Vec<String>,
    is_mine: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkItem {
    id: u64,
    rev: u64,
    fields: Map<String, Value>,
    #[serde(default)]
    multiline_fields_format: Map<String, Value>,
    relations: Option<Vec<Relation>>,
}

#[derive(Deserialize)]
struct Relation {
    rel: String,
    url: String,
}

#[derive(Deserialize)]
struct WorkItems {
    value: Vec<Option<WorkItem>>,
}

#[derive(Deserialize)]
struct Found {
    id: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueryResult {
    work_items: Vec<Found>,
}

#[derive(Deserialize)]
struct NamedState {
    name: String,
    category: String,
}

#[derive(Deserialize)]
struct NamedStates {
    value: Vec<NamedState>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    id: u64,
    text: Option<String>,
    #[serde(default)]
    format: Option<String>,
    created_by: Option<Value>,
    created_date: Timestamp,
    #[serde(default)]
    is_deleted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comments {
    comments: Vec<Comment>,
    continuation_token: Option<String>,
}

impl Azure {
    pub fn new(
        settings: &SyncSettings,
        secret: Result<Secret, String>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let authorization = match secret {
            Err(_) if azure_token::has_az(settings, environment) => OnceCell::new(),
            secret => OnceCell::new_with(Some(azure_token::header(&secret?)?)),
        };
        let SyncSettings { url, project, pull, .. } = settings;
        if project.is_empty() || project.contains(['/', '\\', '?', '#', '%']) {
            return Err(format!("project is {project:?}: give its name, such as Shop"));
        }
        let project = byte_serialize(project.as_bytes()).collect::<String>().replace('+', "%20");
        Ok(Self {
            http: Http::new(url, HeaderMap::new(), std::time::Duration::ZERO)?,
            url: url.clone(),
            project,
            filter: Filter::parse(if pull.is_empty() { USUAL_PULL } else { pull })?,
            authorization,
            account: OnceCell::new(),
            states: Mutex::default(),
        })
    }

    /// Makes a call below the project, and reads the answer.
    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Value)>,
    ) -> Result<T, RemoteError> {
        let url = format!("{}/{}/_apis/wit/{path}", self.url, self.project);
        self.ask_at(method, &url, body).await
    }

    async fn ask_at<T: DeserializeOwned>(
        &self,
        method: Method,
        url: &str,
        body: Option<(&'static str, Value)>,
    ) -> Result<T, RemoteError> {
        // A query changes nothing, and a change tests the revision.
        let is_repeatable = method != Method::POST || url.contains("/wiql?");
        let body = body.map(|(media_type, body)| (media_type, body.to_string().into_bytes()));
        let authorization = self.authorization.get_or_try_init(azure_token::header_of_az).await;
        let authorization = authorization.map_err(RemoteError::Unavailable)?.clone();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, authorization)]);
        let call = Call { method, url, body, headers, is_repeatable };
        let answer = self.http.call(call).await?;
        self.check(&answer)?;
        serde_json::from_slice(&answer.body).map_err(|error| {
            let url = &self.url;
            RemoteError::Unavailable(format!("{url} does not answer as Azure DevOps does: {error}"))
        })
    }

    fn check(&self, answer: &Answer) -> Result<(), RemoteError> {
        let said = || {
            let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            json["message"].as_str().unwrap_or("no reason given").to_owned()
        };
        let media_type = answer.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_page = media_type.is_some_and(|media_type| media_type.starts_with("text/html"));
        match answer.status {
            status if is_page || matches!(status, 203 | 302 | 401) => {
                Err(RemoteError::Unavailable(format!(
                    "Authentication failed (HTTP {status}): check {}",
                    Kind::Azure.variable()
                )))
            }
            200..=299 => Ok(()),
            300..=399 => Err(RemoteError::Unavailable(format!(
                "{} redirects: set url to the address of the organization",
                self.url
            ))),
            403 => Err(RemoteError::Unavailable(format!("Azure DevOps: {} (HTTP 403)", said()))),
            404 => Err(RemoteError::Missing("it".to_owned())),
            412 => Err(RemoteError::Changed("it".to_owned())),
            status => {
                Err(RemoteError::Refused(format!("Azure DevOps: {} (HTTP {status})", said())))
            }
        }
    }

    async fn account(&self) -> Result<&str, RemoteError> {
        let read = || async {
            let url = format!("{}/_apis/connectionData?api-version=7.1-preview.1", self.url);
            let data: Value = self.ask_at(Method::GET, &url, None).await?;
            let user = &data["authenticatedUser"];
            let name = user["properties"]["Account"]["$value"].as_str();
            let name = name.or_else(|| user["providerDisplayName"].as_str());
            name.map(str::to_owned).ok_or_else(|| {
                RemoteError::Unavailable("Azure DevOps does not say whose token it is".to_owned())
            })
        };
        Ok(self.account.get_or_try_init(read).await?)
    }

    /// Returns the states of a type with what they mean.
    async fn states(&self, kind: &str) -> Result<Vec<(String, State)>, RemoteError> {
        let mut known = self.states.lock().await;
        if let Some(states) = known.get(kind) {
            return Ok(states.clone());
        }
        let path: String = byte_serialize(kind.as_bytes()).collect();
        let path = format!("workitemtypes/{}/states?{VERSION}", path.replace('+', "%20"));
        let found: NamedStates = self.ask(Method::GET, &path, None).await?;
        let state = |category: &str| match category {
            "Proposed" => State::Open,
            "Resolved" => State::Resolved,
            "Completed" => State::Closed,
            "Removed" => State::Rejected,
            _ => State::Active,
        };
        let states = found.value.into_iter().map(|found| (found.name, state(&found.category)));
        let states: Vec<_> = states.collect();
        known.insert(kind.to_owned(), states.clone());
        Ok(states)
    }

    /// Returns the name of a state of a type, or of the one that is nearest.
    async fn state_name(&self, kind: &str, state: State) -> Result<String, RemoteError> {
        let states = self.states(kind).await?;
        let others: &[State] = match state {
            State::Resolved => &[State::Active],
            State::Active => &[State::Open],
            State::Rejected => &[State::Closed],
            State::Open | State::Closed => &[],
        };
        let wanted = [state].into_iter().chain(others.iter().copied());
        let name = |wanted| states.iter().find(|(_, state)| *state == wanted);
        let found = wanted.filter_map(name).next().map(|(name, _)| name.clone());
        found.ok_or_else(|| {
            RemoteError::Refused(format!("the type {kind} has no state that means {state}"))
        })
    }

    /// Returns the ids of the work items of a listing, those that changed first before the others.
    async fn query(&self, since: Option<Timestamp>) -> Result<Vec<u64>, RemoteError> {
        let quoted = |text: &str| text.replace('\'', "''");
        let mut query =
            "SELECT [System.Id] FROM WorkItems WHERE [System.TeamProject] = @project".to_owned();
        if let Some(since) = since {
            query.push_str(&format!(" AND [System.ChangedDate] >= '{since}'"));
        } else {
            if let Some(kind) = &self.filter.kind {
                query.push_str(&format!(" AND [System.WorkItemType] = '{}'", quoted(kind)));
            }
            for tag in &self.filter.tags {
                query.push_str(&format!(" AND [System.Tags] CONTAINS '{}'", quoted(tag)));
            }
            if self.filter.is_mine {
                query.push_str(" AND [System.AssignedTo] = @me");
            }
        }
        query.push_str(" ORDER BY [System.ChangedDate]");
        let path = format!("wiql?timePrecision=true&{VERSION}");
        let body = Some((JSON, json!({ "query": query })));
        let found: QueryResult =
            self.ask(Method::POST, &path, body).await.map_err(|error| match error {
                RemoteError::Missing(_) => RemoteError::Unavailable(
                    "Azure DevOps: there is no such project (HTTP 404): check project and url"
                        .to_owned(),
                ),
                error => error,
            })?;
        Ok(found.work_items.into_iter().map(|found| found.id).collect())
    }

    async fn wants(&self, item: &WorkItem) -> Result<bool, RemoteError> {
        let Filter { is_open, kind, tags, is_mine } = &self.filter;
        let own = item.tags();
        let has = |tag: &String| own.iter().any(|own| own.eq_ignore_ascii_case(tag));
        let is_kind = kind.as_ref().is_none_or(|kind| item.kind().eq_ignore_ascii_case(kind));
        let is_assigned = !is_mine || {
            let account = self.account().await?;
            item.assignee().is_some_and(|name| name.eq_ignore_ascii_case(account))
        };
        let is_in_state = !is_open || !self.state(item).await?.has_ended();
        Ok(tags.iter().all(has) && is_kind && is_assigned && is_in_state)
    }

    async fn state(&self, item: &WorkItem) -> Result<State, RemoteError> {
        let states = self.states(&item.kind()).await?;
        let name = item.text("System.State");
        Ok(states.iter().find(|(own, _)| *own == name).map_or(State::Active, |(_, state)| *state))
    }

    async fn remote_issue(&self, item: WorkItem) -> Result<RemoteIssue, RemoteError> {
        let state = self.state(&item).await?;
        let time = |name| {
            Timestamp::parse(&item.text(name)).ok_or_else(|| {
                RemoteError::Unavailable(format!("work item {} has no {name}", item.id))
            })
        };
        let text = item.text(DESCRIPTION);
        let is_markdown = item
            .multiline_fields_format
            .get(DESCRIPTION)
            .and_then(Value::as_str)
            .is_some_and(|format| format.eq_ignore_ascii_case("markdown"));
        let text = if is_markdown { text } else { html::to_markdown(&text) };
        let (description, marker) = marker::unmarked(&marked_there(&text));
        let priority = item.fields.get(PRIORITY).and_then(Value::as_u64);
        let priority = priority.filter(|priority| *priority != USUAL_PRIORITY);
        Ok(RemoteIssue {
            key: item.id.to_string(),
            url: format!("{}/{}/_workitems/edit/{}", self.url, self.project, item.id),
            updated_at: time("System.ChangedDate")?,
            revision: Some(item.rev),
            created_at: time("System.CreatedDate")?,
            author: item.person("System.CreatedBy", "displayName"),
            kind: Some(item.kind()),
            title: item.text("System.Title"),
            description,
            marker,
            state,
            priority: priority.and_then(|priority| Priority::try_from(priority).ok()),
            labels: item.tags(),
            links: item.links(),
            comments: item
                .fields
                .get("System.CommentCount")
                .and_then(Value::as_u64)
                .map_or(1, |count| usize::try_from(count).unwrap_or(usize::MAX)),
            is_wanted: false,
        })
    }

    async fn read_item(&self, key: &str) -> Result<WorkItem, RemoteError> {
        let path = format!("workitems/{key}?{EXPANDED}");
        self.ask(Method::GET, &path, None).await.map_err(|error| named(error, key))
    }
}

#[async_trait]
impl Remote for Azure {
    async fn list(&self, listing: Listing) -> Result<RemotePage, RemoteError> {
        let ids: Vec<u64> = match &listing.next {
            Some(next) => next.split(',').filter_map(|id| id.parse().ok()).collect(),
            None => self.query(listing.since).await?,
        };
        let (batch, rest) = ids.split_at(ids.len().min(BATCH));
        let list = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let next = (!rest.is_empty()).then(|| list(rest));
        let mut issues = Vec::new();
        if !batch.is_empty() {
            // What vanished meanwhile is null.
            let path = format!("workitems?ids={}&errorPolicy=omit&{EXPANDED}", list(batch));
            let found: WorkItems = self.ask(Method::GET, &path, None).await?;
            for item in found.value.into_iter().flatten() {
                let is_wanted = self.wants(&item).await?;
                issues.push(RemoteIssue { is_wanted, ..self.remote_issue(item).await? });
            }
        }
        Ok(RemotePage { issues, next, ..RemotePage::default() })
    }

    async fn read(&self, key: &str) -> Result<RemoteIssue, RemoteError> {
        self.remote_issue(self.read_item(key).await?).await
    }

    async fn comments(&self, key: &str) -> Result<Vec<RemoteComment>, RemoteError> {
        let first = format!("workItems/{key}/comments?$top=200&order=asc&{COMMENT_VERSION}");
        let mut path = first.clone();
        let mut comments = Vec::new();
        for _ in 0..MAX_PAGES {
            let page: Comments = self.ask(Method::GET, &path, None).await?;
            let shown = page.comments.into_iter().filter(|comment| !comment.is_deleted);
            comments.extend(shown.map(|comment| {
                let text = comment.text.unwrap_or_default();
                let is_markdown = comment.format.is_some_and(|format| format == "markdown");
                let text = if is_markdown { text } else { html::to_markdown(&text) };
                let author = comment.created_by.and_then(|user| name_of(&user, "displayName"));
                RemoteComment {
                    id: comment.id.to_string(),
                    author: author.unwrap_or_else(|| "unknown".to_owned()),
                    created_at: comment.created_date,
                    text: marked_there(&text),
                }
            }));
            let Some(token) = page.continuation_token else { break };
            let token: String = byte_serialize(token.as_bytes()).collect();
            path = format!("{first}&continuationToken={token}");
        }
        Ok(comments)
    }

    async fn change(
        &self,
        seen: &RemoteIssue,
        change: &RemoteChange,
    ) -> Result<RemoteIssue, RemoteError> {
        let needs_item = change.status.is_some() || change.is_assigned.is_some();
        let item = if needs_item { Some(self.read_item(&seen.key).await?) } else { None };
        let mut patch = Vec::new();
        let mut set = |field: &str, value: Value| {
            patch.push(json!({"op": "add", "path": format!("/fields/{field}"), "value": value}));
        };
        if let Some(title) = &change.title {
            set("System.Title", title.as_str().into());
        }
        if let Some(description) = &change.description {
            set(DESCRIPTION, html_of(description).into());
        }
        if let Some(priority) = change.priority {
            set(PRIORITY, priority_there(priority).into());
        }
        if !change.labels_add.is_empty() || !change.labels_remove.is_empty() {
            let is_kept = |name: &&String| {
                label_of(name).is_none_or(|label| !change.labels_remove.contains(&label))
            };
            let kept = seen.labels.iter().filter(is_kept).cloned();
            let added = change.labels_add.iter().map(ToString::to_string);
            set("System.Tags", kept.chain(added).collect::<Vec<_>>().join("; ").into());
        }
        if let (Some(is_assigned), Some(item)) = (change.is_assigned, &item) {
            let account = self.account().await?;
            // A work item has one assignee, and a person stays it.
            if item.assignee().is_none_or(|name| name.eq_ignore_ascii_case(account)) {
                set("System.AssignedTo", if is_assigned { account } else { "" }.into());
            }
        }
        if let (Some(status), Some(item)) = (change.status, &item) {
            set("System.State", self.state_name(&item.kind(), status).await?.into());
        }
        if let (Some(item), true) = (item, patch.is_empty()) {
            return self.remote_issue(item).await;
        }
        if let Some(rev) = seen.revision {
            patch.insert(0, json!({"op": "test", "path": "/rev", "value": rev}));
        }
        let path = format!("workitems/{}?{VERSION}", seen.key);
        let item = self.ask(Method::PATCH, &path, Some((JSON_PATCH, patch.into()))).await;
        self.remote_issue(item.map_err(|error| named(error, &seen.key))?).await
    }

    async fn comment(&self, key: &str, text: &str) -> Result<(), RemoteError> {
        let path = format!("workItems/{key}/comments?{COMMENT_VERSION}");
        let body = Some((JSON, json!({ "text": html_of(text) })));
        self.ask::<Value>(Method::POST, &path, body).await.map(drop)
    }

    async fn create(&self, new: &NewRemoteIssue) -> Result<RemoteIssue, RemoteError> {
        let tags: Vec<&str> = new.labels.iter().map(|label| label.as_str()).collect();
        let set = |field: &str, value: Value| json!({"op": "add", "path": format!("/fields/{field}"), "value": value});
        let mut patch = vec![
            set("System.Title", new.title.as_str().into()),
            set(DESCRIPTION, html_of(&new.description).into()),
            set("System.Tags", tags.join("; ").into()),
        ];
        if new.priority.is_some() {
            patch.push(set(PRIORITY, priority_there(new.priority).into()));
        }
        let path = format!("workitems/${NEW_TYPE}?{VERSION}");
        let item = self.ask(Method::POST, &path, Some((JSON_PATCH, patch.into()))).await?;
        self.remote_issue(item).await
    }
}

impl WorkItem {
    fn text(&self, field: &str) -> String {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn kind(&self) -> String {
        self.text("System.WorkItemType")
    }

    fn tags(&self) -> Vec<String> {
        let tags = self.text("System.Tags");
        let tags = tags.split(';').map(str::trim).filter(|tag| !tag.is_empty());
        tags.map(str::to_owned).collect()
    }

    /// Returns the links that say what the work item is a part of and what it waits for.
    fn links(&self) -> Vec<RemoteLink> {
        let relations = self.relations.iter().flatten().filter_map(|relation| {
            let kind = match relation.rel.as_str() {
                "System.LinkTypes.Hierarchy-Reverse" => LinkKind::Parent,
                "System.LinkTypes.Dependency-Reverse" => LinkKind::BlockedBy,
                _ => return None,
            };
            Some(RemoteLink { kind, to: relation.url.rsplit('/').next()?.to_owned() })
        });
        relations.collect()
    }

    fn assignee(&self) -> Option<String> {
        self.person("System.AssignedTo", "uniqueName")
    }

    fn person(&self, field: &str, key: &str) -> Option<String> {
        name_of(self.fields.get(field)?, key)
    }
}

/// Returns the name of a person, which is an object, or a text on servers of earlier versions.
fn name_of(person: &Value, key: &str) -> Option<String> {
    person[key].as_str().or_else(|| person.as_str()).map(str::to_owned)
}

fn named(error: RemoteError, key: &str) -> RemoteError {
    match error {
        RemoteError::Missing(_) => RemoteError::Missing(format!("work item {key}")),
        RemoteError::Changed(_) => RemoteError::Changed(format!("work item {key}")),
        error => error,
    }
}

/// Returns the priority there, which begins at 1.
fn priority_there(priority: Option<Priority>) -> u64 {
    priority.map_or(USUAL_PRIORITY, |priority| u64::from(priority.get()).max(1))
}

impl Filter {
    /// Parses terms such as `state:open type:Bug tag:agents assignee:me`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for (key, value) in terms(text)? {
            match (key, value) {
                ("state", "open") => filter.is_open = true,
                ("state", "all") => filter.is_open = false,
                ("type", kind) => filter.kind = Some(kind.to_owned()),
                ("tag", tag) => filter.tags.push(tag.to_owned()),
                ("assignee", "me") => filter.is_mine = true,
                _ => {
                    return Err(format!(
                        "pull cannot have {key}:{value}: it can have state:open, state:all, type:NAME, tag:NAME and \
                         assignee:me"
                    ));
                }
            }
        }
        Ok(filter)
    }
}
