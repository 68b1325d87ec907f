//! Issues on Backlog of Nulab, by version 2 of its API.
//!
//! Bodies are forms. The status can only be set by a change, not when an issue is filed. `updatedSince` is a day, so
//! the issues of the day are read again. A change of nothing is an error (code 7), as it is when a call is repeated.
//! Servers of earlier versions leave fields out.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use ait_domain::{LinkKind, Priority, Timestamp};
use async_trait::async_trait;
use form_urlencoded::Serializer;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use crate::http::{Answer, Call, Http};
use crate::marker;
use crate::remote::{
    Listing, NewRemoteIssue, Remote, RemoteChange, RemoteComment, RemoteError, RemoteIssue,
    RemoteLink, RemotePage, State,
};
use crate::settings::{Kind, Secret, SyncSettings, terms};

const FORM: &str = "application/x-www-form-urlencoded";
/// How many items a page has.
const PER_PAGE: usize = 100;
/// How many pages of comments are read of one issue.
const MAX_PAGES: usize = 100;
/// What comes in if the settings do not say.
const USUAL_PULL: &str = "status:open";
/// The time that Nulab asks for between writes.
const SPACING: Duration = Duration::from_secs(1);
/// The code of an error that says that a change changes nothing.
const NO_CHANGE: u64 = 7;
/// The ids that all spaces have: of statuses, of resolutions, of priorities.
const OPEN: u64 = 1;
const IN_PROGRESS: u64 = 2;
const RESOLVED: u64 = 3;
const CLOSED: u64 = 4;
const FIXED: u64 = 0;
const WILL_NOT_FIX: u64 = 1;
/// Will not be fixed, is invalid, is a duplicate.
const REJECTIONS: std::ops::RangeInclusive<u64> = 1..=3;
const NORMAL: u64 = 3;

type Form = Vec<(&'static str, String)>;

pub(crate) struct Backlog {
    http: Http,
    url: String,
    project: String,
    filter: Filter,
    /// The parameter with the key, if it is sent in addresses.
    key: Option<String>,
    place: OnceCell<Place>,
    /// The keys of issues by their ids, by which children name their parents.
    keys: Mutex<HashMap<u64, String>>,
}

/// Which issues come in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Filter {
    /// The name of a status, or `open`; `None` for all.
    status: Option<String>,
    assignee: Option<String>,
}

/// What the numbers of the project and of the account are.
struct Place {
    project: u64,
    account: u64,
    issue_type: u64,
}

#[derive(Deserialize)]
struct Named {
    id: u64,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Issue {
    id: u64,
    parent_issue_id: Option<u64>,
    issue_key: String,
    issue_type: Option<Named>,
    summary: String,
    description: Option<String>,
    status: Option<Named>,
    resolution: Option<Named>,
    priority: Option<Named>,
    assignee: Option<Named>,
    created_user: Option<Named>,
    created: Timestamp,
    updated: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    id: u64,
    content: Option<String>,
    created_user: Option<Named>,
    created: Timestamp,
}

impl Backlog {
    pub fn new(settings: &SyncSettings, secret: Secret) -> Result<Self, String> {
        let variable = Kind::Backlog.variable();
        let mut headers = HeaderMap::new();
        let key = if settings.has_key_in_url {
            Some(Serializer::new(String::new()).append_pair("apiKey", &secret.0).finish())
        } else {
            let key = HeaderValue::from_str(&secret.0);
            let mut key = key.map_err(|_| format!("{variable} is no key"))?;
            key.set_sensitive(true);
            headers.insert("backlog-api-key", key);
            None
        };
        let SyncSettings { url, project, pull, .. } = settings;
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if project.is_empty() || !project.bytes().all(is_allowed) {
            return Err(format!("project is {project:?}: give its key, such as ABC"));
        }
        Ok(Self {
            http: Http::new(url, headers, SPACING)?,
            url: url.clone(),
            project: project.clone(),
            filter: Filter::parse(if pull.is_empty() { USUAL_PULL } else { pull })?,
            key,
            place: OnceCell::new(),
            keys: Mutex::default(),
        })
    }

    async fn call(&self, method: Method, path: &str, form: &Form) -> Result<Answer, RemoteError> {
        let mut url = format!("{}/api/v2{path}", self.url);
        let pairs = Serializer::new(String::new()).extend_pairs(form).finish();
        let is_query = method == Method::GET;
        let query =
            self.key.iter().chain(is_query.then_some(&pairs).filter(|pairs| !pairs.is_empty()));
        let query: Vec<&str> = query.map(String::as_str).collect();
        if !query.is_empty() {
            url = format!("{url}?{}", query.join("&"));
        }
        let is_repeatable = method != Method::POST;
        let body = (!is_query).then(|| (FORM, pairs.into_bytes()));
        let headers = HeaderMap::new();
        self.http.call(Call { method, url: &url, body, headers, is_repeatable }).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        form: &Form,
    ) -> Result<T, RemoteError> {
        let answer = self.call(method, path, form).await?;
        self.check(&answer)?;
        serde_json::from_slice(&answer.body).map_err(|error| {
            let url = &self.url;
            RemoteError::Unavailable(format!("{url} does not answer as Backlog does: {error}"))
        })
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        self.ask(Method::GET, path, &Form::new()).await
    }

    fn check(&self, answer: &Answer) -> Result<(), RemoteError> {
        let said = || {
            let errors = errors(answer);
            let errors = errors.iter().map(|(message, code)| {
                format!("Backlog: {} (code {code})", message.trim_end_matches('.'))
            });
            errors.collect::<Vec<_>>().join(", ")
        };
        let variable = Kind::Backlog.variable();
        match answer.status {
            200..=299 => Ok(()),
            300..=399 => Err(RemoteError::Unavailable(format!(
                "{} redirects: set url to the address of the space",
                self.url
            ))),
            401 => Err(RemoteError::Unavailable(format!(
                "Authentication failed (HTTP 401): check {variable}"
            ))),
            403 => Err(RemoteError::Unavailable(format!(
                "{}: the account of {variable} must be a member of {}",
                said(),
                self.project
            ))),
            404 => Err(RemoteError::Missing("it".to_owned())),
            status => Err(RemoteError::Refused(format!("{} (HTTP {status})", said()))),
        }
    }

    /// Reads the numbers that calls need.
    async fn place(&self) -> Result<&Place, RemoteError> {
        let project = &self.project;
        let read = || async {
            let found = self.get::<Named>(&format!("/projects/{project}")).await;
            let found = found.map_err(|error| match error {
                RemoteError::Missing(_) => RemoteError::Unavailable(format!(
                    "Backlog: No such project (code 6): check project, which is {project}"
                )),
                error => error,
            })?;
            let types: Vec<Named> = self
                .ask(Method::GET, &format!("/projects/{project}/issueTypes"), &Vec::new())
                .await?;
            let issue_type = types.first().map_or(1, |first| first.id);
            Ok(Place {
                project: found.id,
                account: self.get::<Named>("/users/myself").await?.id,
                issue_type,
            })
        };
        self.place.get_or_try_init(read).await
    }

    /// Returns an issue with its parent.
    async fn linked(&self, issue: Issue) -> Result<RemoteIssue, RemoteError> {
        let mut links = Vec::new();
        if let Some(parent) = issue.parent_issue_id {
            let mut keys = self.keys.lock().await;
            if let Entry::Vacant(unknown) = keys.entry(parent) {
                match self.get::<Issue>(&format!("/issues/{parent}")).await {
                    Err(RemoteError::Missing(_)) => {}
                    found => drop(unknown.insert(found?.issue_key)),
                }
            }
            let to = keys.get(&parent).cloned();
            links.extend(to.map(|to| RemoteLink { kind: LinkKind::Parent, to }));
        }
        Ok(RemoteIssue { links, ..self.remote_issue(issue) })
    }

    /// Returns the ids of the statuses that the project has beside the usual ones.
    async fn own_statuses(&self) -> Result<Vec<u64>, RemoteError> {
        let path = format!("/projects/{}/statuses", self.project);
        match self.get::<Vec<Named>>(&path).await {
            Ok(statuses) => {
                Ok(statuses.iter().map(|status| status.id).filter(|id| *id > CLOSED).collect())
            }
            // Servers of earlier versions have no others.
            Err(RemoteError::Missing(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn wants(&self, issue: &Issue, place: &Place) -> bool {
        let status = issue.status.as_ref();
        let is_in_status = match self.filter.status.as_deref() {
            None => true,
            Some("open") => status.is_none_or(|status| status.id != CLOSED),
            Some(name) => status.is_some_and(|status| has_name(status, name)),
        };
        let is_assigned = match self.filter.assignee.as_deref() {
            None => true,
            Some("me") => issue.assignee.as_ref().is_some_and(|user| user.id == place.account),
            Some(name) => issue.assignee.as_ref().is_some_and(|user| has_name(user, name)),
        };
        is_in_status && is_assigned
    }

    fn remote_issue(&self, issue: Issue) -> RemoteIssue {
        let (description, marker) =
            marker::unmarked(issue.description.as_deref().unwrap_or_default());
        let is_rejected = issue.resolution.is_some_and(|reason| REJECTIONS.contains(&reason.id));
        let state = match issue.status.map_or(OPEN, |status| status.id) {
            OPEN => State::Open,
            RESOLVED => State::Resolved,
            CLOSED if is_rejected => State::Rejected,
            CLOSED => State::Closed,
            // In progress, or a status of the project's own between open and closed.
            _ => State::Active,
        };
        // Backlog has 2 for high, 3 for normal and 4 for low. Normal is what an issue without a priority counts as.
        let priority = issue.priority.filter(|priority| priority.id != NORMAL);
        let priority =
            priority.and_then(|priority| Priority::try_from(priority.id.checked_sub(1)?).ok());
        RemoteIssue {
            url: format!("{}/view/{}", self.url, issue.issue_key),
            key: issue.issue_key,
            updated_at: issue.updated,
            revision: None,
            created_at: issue.created,
            author: issue.created_user.and_then(|user| user.name),
            kind: issue.issue_type.and_then(|kind| kind.name),
            title: issue.summary,
            description,
            marker,
            state,
            priority,
            labels: Vec::new(),
            links: Vec::new(),
            // Backlog does not say; a comment changes the time of the last change.
            comments: 1,
            is_wanted: false,
        }
    }
}

#[async_trait]
impl Remote for Backlog {
    async fn list(&self, listing: Listing) -> Result<RemotePage, RemoteError> {
        let place = self.place().await?;
        let offset: usize = listing.next.as_deref().and_then(|next| next.parse().ok()).unwrap_or(0);
        let mut form: Form = vec![
            ("projectId[]", place.project.to_string()),
            ("sort", "updated".to_owned()),
            ("order", "asc".to_owned()),
            ("count", PER_PAGE.to_string()),
            ("offset", offset.to_string()),
        ];
        match listing.since {
            // The day may be one in the time zone of the space, so the day before is read, too.
            Some(since) => {
                const DAY_MS: i64 = 24 * 60 * 60 * 1000;
                let day = Timestamp::from_unix_millis(since.unix_millis() - DAY_MS).to_string();
                form.push(("updatedSince", day.chars().take(10).collect()));
            }
            None => {
                if self.filter.status.as_deref() == Some("open") {
                    let open =
                        [OPEN, IN_PROGRESS, RESOLVED].map(|id| ("statusId[]", id.to_string()));
                    let own = self.own_statuses().await?;
                    form.extend(
                        open.into_iter().chain(own.iter().map(|id| ("statusId[]", id.to_string()))),
                    );
                }
                if self.filter.assignee.as_deref() == Some("me") {
                    form.push(("assigneeId[]", place.account.to_string()));
                }
            }
        }
        let found: Vec<Issue> = self.ask(Method::GET, "/issues", &form).await?;
        let next = (found.len() == PER_PAGE).then(|| (offset + PER_PAGE).to_string());
        let keys = found.iter().map(|issue| (issue.id, issue.issue_key.clone()));
        self.keys.lock().await.extend(keys);
        let mut issues = Vec::new();
        for issue in found {
            let is_wanted = self.wants(&issue, place);
            issues.push(RemoteIssue { is_wanted, ..self.linked(issue).await? });
        }
        Ok(RemotePage { issues, next, ..RemotePage::default() })
    }

    async fn read(&self, key: &str) -> Result<RemoteIssue, RemoteError> {
        match self.get(&format!("/issues/{key}")).await {
            Ok(issue) => self.linked(issue).await,
            Err(RemoteError::Missing(_)) => Err(RemoteError::Missing(key.to_owned())),
            Err(error) => Err(error),
        }
    }

    async fn comments(&self, key: &str) -> Result<Vec<RemoteComment>, RemoteError> {
        let mut comments = Vec::new();
        let mut last = 0;
        for _ in 0..MAX_PAGES {
            let mut form: Form = vec![("order", "asc".to_owned()), ("count", PER_PAGE.to_string())];
            if last > 0 {
                form.push(("minId", (last + 1).to_string()));
            }
            let page: Vec<Comment> =
                self.ask(Method::GET, &format!("/issues/{key}/comments"), &form).await?;
            let is_last = page.len() < PER_PAGE;
            last = page.last().map_or(last, |comment| comment.id);
            // Without a text it is a list of changes.
            comments.extend(page.into_iter().filter_map(|comment| {
                let author = comment.created_user.and_then(|user| user.name);
                Some(RemoteComment {
                    id: comment.id.to_string(),
                    author: author.unwrap_or_else(|| "unknown".to_owned()),
                    created_at: comment.created,
                    text: comment.content?,
                })
            }));
            if is_last {
                break;
            }
        }
        Ok(comments)
    }

    async fn change(
        &self,
        seen: &RemoteIssue,
        change: &RemoteChange,
    ) -> Result<RemoteIssue, RemoteError> {
        let mut form = Form::new();
        form.extend(change.title.iter().map(|title| ("summary", title.clone())));
        form.extend(change.description.iter().map(|text| ("description", text.clone())));
        if let Some(status) = change.status {
            let (status, resolution) = match status {
                State::Open => (OPEN, None),
                State::Active => (IN_PROGRESS, None),
                State::Resolved => (RESOLVED, Some(FIXED)),
                State::Closed => (CLOSED, Some(FIXED)),
                State::Rejected => (CLOSED, Some(WILL_NOT_FIX)),
            };
            form.push(("statusId", status.to_string()));
            let resolution = resolution.map_or_else(String::new, |id| id.to_string());
            form.push(("resolutionId", resolution));
        }
        if let Some(priority) = change.priority {
            form.push(("priorityId", priority_id(priority).to_string()));
        }
        let path = format!("/issues/{}", seen.key);
        if let Some(is_assigned) = change.is_assigned {
            let account = self.place().await?.account;
            let assignee = self.get::<Issue>(&path).await?.assignee.map(|user| user.id);
            // An issue has one assignee, and a person stays it.
            if assignee.is_none_or(|id| id == account) {
                let account = is_assigned.then(|| account.to_string());
                form.push(("assigneeId", account.unwrap_or_default()));
            }
        }
        if form.is_empty() {
            return self.read(&seen.key).await;
        }
        let answer = self.call(Method::PATCH, &path, &form).await?;
        if errors(&answer).iter().all(|(_, code)| *code != NO_CHANGE) {
            self.check(&answer).map_err(|error| match error {
                RemoteError::Missing(_) => RemoteError::Missing(seen.key.clone()),
                error => error,
            })?;
        }
        self.read(&seen.key).await
    }

    async fn comment(&self, key: &str, text: &str) -> Result<(), RemoteError> {
        let form: Form = vec![("content", text.to_owned())];
        let path = format!("/issues/{key}/comments");
        self.ask::<Value>(Method::POST, &path, &form).await.map(drop)
    }

    async fn create(&self, new: &NewRemoteIssue) -> Result<RemoteIssue, RemoteError> {
        let place = self.place().await?;
        let form: Form = vec![
            ("projectId", place.project.to_string()),
            ("summary", new.title.clone()),
            ("description", new.description.clone()),
            ("issueTypeId", place.issue_type.to_string()),
            ("priorityId", priority_id(new.priority).to_string()),
        ];
        Ok(self.remote_issue(self.ask(Method::POST, "/issues", &form).await?))
    }
}

/// Returns the messages and the codes of the errors in an answer.
fn errors(answer: &Answer) -> Vec<(String, u64)> {
    let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let errors = json["errors"].as_array().cloned().unwrap_or_default();
    let error = |error: &Value| {
        Some((error["message"].as_str()?.to_owned(), error["code"].as_u64().unwrap_or_default()))
    };
    errors.iter().filter_map(error).collect()
}

fn has_name(named: &Named, name: &str) -> bool {
    named.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
}

/// Returns the id of the nearest priority there.
fn priority_id(priority: Option<Priority>) -> u64 {
    priority.map_or(NORMAL, |priority| (u64::from(priority.get()) + 1).clamp(2, 4))
}

impl Filter {
    /// Parses terms such as `status:open assignee:me`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for (key, value) in terms(text)? {
            match (key, value) {
                ("status", "all") => filter.status = None,
                ("status", name) => filter.status = Some(name.to_owned()),
                ("assignee", name) => filter.assignee = Some(name.to_owned()),
                _ => {
                    return Err(format!(
                        "pull cannot have {key}:{value}: it can have status:open, status:all, status:NAME, assignee:me and \
                         assignee:NAME"
                    ));
                }
            }
        }
        Ok(filter)
    }
}
