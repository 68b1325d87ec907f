//! Issues on GitHub, by its REST API of 2022-11-28.
//!
//! A pull request is no issue. A closed issue is rejected here if it was closed as not planned or as a duplicate.
//! GitHub has no preconditions for changes, so an issue is read just before.

use std::time::Duration;

use ait_domain::{LinkKind, Timestamp};
use ait_interchange::attributes::label_of;
use async_trait::async_trait;
use form_urlencoded::{Serializer, byte_serialize};
use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LINK};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::http::{Answer, Call, Http};
use crate::marker;
use crate::remote::{
    Listing, NewRemoteIssue, Remote, RemoteChange, RemoteComment, RemoteError, RemoteIssue,
    RemoteLink, RemotePage, State,
};
use crate::settings::{Kind, Secret, SyncSettings, terms};

const JSON: &str = "application/json";
/// How many items a page has at most.
const PER_PAGE: &str = "100";
/// How many pages of comments are read of one issue.
const MAX_PAGES: usize = 100;
/// What comes in if the settings do not say.
const USUAL_PULL: &str = "state:open";

pub(crate) struct GitHub {
    http: Http,
    /// The address of the repository in the API.
    base: String,
    url: String,
    project: String,
    filter: Filter,
    /// The name of the account of the token.
    account: OnceCell<String>,
}

/// Which issues come in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Filter {
    state: Option<String>,
    labels: Vec<String>,
    assignee: Option<String>,
    author: Option<String>,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Dependencies {
    /// Also those that were closed.
    #[serde(default)]
    total_blocked_by: usize,
}

#[derive(Deserialize)]
struct Issue {
    number: u64,
    /// Its address in the API.
    url: String,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    state_reason: Option<String>,
    #[serde(default)]
    labels: Vec<Named>,
    #[serde(default)]
    assignees: Vec<User>,
    user: Option<User>,
    /// The type, in organizations that have types.
    #[serde(rename = "type")]
    kind: Option<Named>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default)]
    comments: usize,
    pull_request: Option<Value>,
    parent_issue_url: Option<String>,
    issue_dependencies_summary: Option<Dependencies>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    user: Option<User>,
    created_at: Timestamp,
    body: Option<String>,
}

impl GitHub {
    pub fn new(settings: &SyncSettings, secret: Secret) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        let mut token = HeaderValue::from_str(&format!("Bearer {}", secret.0))
            .map_err(|_| format!("{} is no token", Kind::GitHub.variable()))?;
        token.set_sensitive(true);
        headers.insert(AUTHORIZATION, token);
        headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
        headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        let SyncSettings { url, project, .. } = settings;
        let is_word = |part: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_allowed)
        };
        if !project.split_once('/').is_some_and(|(owner, name)| is_word(owner) && is_word(name)) {
            return Err(format!("project is {project:?}: give OWNER/NAME, such as acme/shop"));
        }
        let pull = if settings.pull.is_empty() { USUAL_PULL } else { &settings.pull };
        Ok(Self {
            http: Http::new(url, headers, Duration::ZERO)?,
            base: format!("{url}/repos/{project}"),
            url: url.clone(),
            project: project.clone(),
            filter: Filter::parse(pull)?,
            account: OnceCell::new(),
        })
    }

    async fn call(
        &self,
        method: Method,
        url: &str,
        body: Option<Value>,
    ) -> Result<Answer, RemoteError> {
        let is_repeatable =
            method != Method::POST || url.ends_with("/assignees") || url.ends_with("/labels");
        let body = body.map(|body| (JSON, body.to_string().into_bytes()));
        let headers = HeaderMap::new();
        self.http.call(Call { method, url, body, headers, is_repeatable }).await
    }

    /// Makes a call about an issue, and reads the answer.
    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<T, RemoteError> {
        let answer = self.call(method, &format!("{}{path}", self.base), body).await?;
        let answer = self.checked(answer)?;
        self.parsed(&answer)
    }

    fn parsed<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, RemoteError> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            let url = &self.url;
            RemoteError::Unavailable(format!("{url} does not answer as GitHub does: {error}"))
        })
    }

    /// Returns the answer of a call that succeeded.
    fn checked(&self, answer: Answer) -> Result<Answer, RemoteError> {
        let said = || {
            let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let details = json["errors"].as_array().into_iter().flatten();
            let details = details.filter_map(|error| {
                let what = [&error["field"], &error["message"], &error["code"]];
                let what: Vec<&str> = what.into_iter().filter_map(Value::as_str).collect();
                (!what.is_empty()).then(|| what.join(" "))
            });
            let message = json["message"].as_str().unwrap_or("no reason given").to_owned();
            [message].into_iter().chain(details).collect::<Vec<_>>().join(": ")
        };
        let variable = Kind::GitHub.variable();
        match answer.status {
            200..=299 | 304 => Ok(answer),
            300..=399 => Err(RemoteError::Unavailable(format!(
                "{} has moved: set project to its new name",
                self.project
            ))),
            401 => Err(RemoteError::Unavailable(format!(
                "Authentication failed (HTTP 401): check {variable}"
            ))),
            403 => Err(RemoteError::Unavailable(format!(
                "GitHub: {} (HTTP 403): the token in {variable} must have read and write access to the issues of {}",
                said(),
                self.project
            ))),
            404 | 410 => Err(RemoteError::Missing("it".to_owned())),
            status => Err(RemoteError::Refused(format!("GitHub: {} (HTTP {status})", said()))),
        }
    }

    /// Says what the remote lacks.
    fn named(error: RemoteError, what: &str) -> RemoteError {
        match error {
            RemoteError::Missing(_) => RemoteError::Missing(what.to_owned()),
            error => error,
        }
    }

    /// Returns the name of the account of the token.
    async fn account(&self) -> Result<&str, RemoteError> {
        let read = || async {
            let answer = self.call(Method::GET, &format!("{}/user", self.url), None).await?;
            Ok(self.parsed::<User>(&self.checked(answer)?)?.login)
        };
        Ok(self.account.get_or_try_init(read).await?)
    }

    /// Returns a name in the filter, where `me` is the account.
    async fn person<'a>(
        &'a self,
        name: &'a Option<String>,
    ) -> Result<Option<&'a str>, RemoteError> {
        match name.as_deref() {
            Some("me") => Ok(Some(self.account().await?)),
            name => Ok(name),
        }
    }

    async fn first_page(&self, since: Option<Timestamp>) -> Result<String, RemoteError> {
        let Filter { state, labels, assignee, author } = &self.filter;
        let assignee = self.person(assignee).await?;
        let author = self.person(author).await?;
        let mut query = Serializer::new(String::new());
        query.extend_pairs([("sort", "updated"), ("direction", "asc"), ("per_page", PER_PAGE)]);
        if let Some(since) = since {
            // What came in stays tied, whether the filter lets it in any more or not.
            query.append_pair("state", "all").append_pair("since", &since.to_string());
            return Ok(format!("{}/issues?{}", self.base, query.finish()));
        }
        query.append_pair("state", state.as_deref().unwrap_or("all"));
        if !labels.is_empty() {
            query.append_pair("labels", &labels.join(","));
        }
        query.extend_pairs(assignee.map(|name| ("assignee", name)));
        query.extend_pairs(author.map(|name| ("creator", name)));
        Ok(format!("{}/issues?{}", self.base, query.finish()))
    }

    /// Returns true if the filter lets an issue in.
    async fn wants(&self, issue: &Issue) -> Result<bool, RemoteError> {
        let Filter { state, labels, assignee, author } = &self.filter;
        let is_same = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
        let has = |label: &String| issue.labels.iter().any(|own| is_same(&own.name, label));
        let is_assigned = match self.person(assignee).await? {
            None => true,
            Some("none") => issue.assignees.is_empty(),
            Some("*") => !issue.assignees.is_empty(),
            Some(name) => issue.assignees.iter().any(|user| is_same(&user.login, name)),
        };
        let is_of_author = self
            .person(author)
            .await?
            .is_none_or(|name| issue.user.as_ref().is_some_and(|user| is_same(&user.login, name)));
        let is_in_state = state.as_ref().is_none_or(|state| *state == issue.state);
        Ok(is_in_state && labels.iter().all(has) && is_assigned && is_of_author)
    }

    /// Returns an issue with its links. Blockers cost a call, which is made only for issues that have some.
    async fn linked(&self, issue: Issue) -> Result<RemoteIssue, RemoteError> {
        let link = |kind, url: &str| Some(RemoteLink { kind, to: self.number_at(url)?.to_owned() });
        let parent = issue.parent_issue_url.as_deref();
        let mut links: Vec<_> =
            parent.and_then(|url| link(LinkKind::Parent, url)).into_iter().collect();
        if issue.issue_dependencies_summary.as_ref().is_some_and(|all| all.total_blocked_by > 0) {
            let path =
                format!("/issues/{}/dependencies/blocked_by?per_page={PER_PAGE}", issue.number);
            let blockers: Vec<Issue> = match self.ask(Method::GET, &path, None).await {
                Err(RemoteError::Missing(_)) => Vec::new(),
                found => found?,
            };
            let blockers = blockers.iter();
            links.extend(blockers.filter_map(|blocker| link(LinkKind::BlockedBy, &blocker.url)));
        }
        Ok(RemoteIssue { links, ..issue.into() })
    }

    /// Returns the number of an issue by its address in the API; `None` if it is in another repository.
    fn number_at<'u>(&self, url: &'u str) -> Option<&'u str> {
        let (repository, number) = url.rsplit_once("/issues/")?;
        let own = format!("/repos/{}", self.project).to_ascii_lowercase();
        repository.to_ascii_lowercase().ends_with(&own).then_some(number)
    }
}

#[async_trait]
impl Remote for GitHub {
    async fn list(&self, listing: Listing) -> Result<RemotePage, RemoteError> {
        let url = match listing.next {
            Some(next) => next,
            None => self.first_page(listing.since).await?,
        };
        let mut headers = HeaderMap::new();
        if let Some(version) = listing.version.and_then(|version| version.parse().ok()) {
            headers.insert(IF_NONE_MATCH, version);
        }
        let method = Method::GET;
        let call = Call { method, url: &url, body: None, headers, is_repeatable: true };
        let answer = self.checked(self.http.call(call).await?).map_err(|error| match error {
            RemoteError::Missing(_) => RemoteError::Unavailable(format!(
                "GitHub: Not Found (HTTP 404): check project, and that {} may read {}",
                Kind::GitHub.variable(),
                self.project
            )),
            error => error,
        })?;
        if answer.status == 304 {
            return Ok(RemotePage { is_unchanged: true, ..RemotePage::default() });
        }
        let text = |name| answer.headers.get(name).and_then(|value| value.to_str().ok());
        let next = text(LINK).and_then(next_page);
        if let Some(next) = next.filter(|next| !next.starts_with(&format!("{}/", self.url))) {
            return Err(RemoteError::Unavailable(format!(
                "the next page is at {}, which is not below url",
                next.split('?').next().unwrap_or_default()
            )));
        }
        let next = next.map(str::to_owned);
        let version = text(ETAG).map(str::to_owned);
        let found: Vec<Issue> = self.parsed(&answer)?;
        let mut issues = Vec::new();
        for issue in found.into_iter().filter(|issue| issue.pull_request.is_none()) {
            let is_wanted = self.wants(&issue).await?;
            issues.push(RemoteIssue { is_wanted, ..self.linked(issue).await? });
        }
        Ok(RemotePage { issues, next, version, is_unchanged: false })
    }

    async fn read(&self, key: &str) -> Result<RemoteIssue, RemoteError> {
        let issue = self.ask::<Issue>(Method::GET, &format!("/issues/{key}"), None).await;
        self.linked(issue.map_err(|error| Self::named(error, &format!("issue {key}")))?).await
    }

    async fn comments(&self, key: &str) -> Result<Vec<RemoteComment>, RemoteError> {
        let mut url = format!("{}/issues/{key}/comments?per_page={PER_PAGE}", self.base);
        let mut comments = Vec::new();
        for _ in 0..MAX_PAGES {
            let answer = self.checked(self.call(Method::GET, &url, None).await?)?;
            let page: Vec<Comment> = self.parsed(&answer)?;
            comments.extend(page.into_iter().map(|comment| RemoteComment {
                id: comment.id.to_string(),
                author: comment.user.map_or_else(|| "ghost".to_owned(), |user| user.login),
                created_at: comment.created_at,
                text: comment.body.unwrap_or_default(),
            }));
            let link = answer.headers.get(LINK).and_then(|value| value.to_str().ok());
            let is_ours = |next: &&str| next.starts_with(&format!("{}/", self.url));
            match link.and_then(next_page).filter(is_ours) {
                Some(next) => url = next.to_owned(),
                None => break,
            }
        }
        Ok(comments)
    }

    async fn change(
        &self,
        seen: &RemoteIssue,
        change: &RemoteChange,
    ) -> Result<RemoteIssue, RemoteError> {
        let path = format!("/issues/{}", seen.key);
        if !change.labels_add.is_empty() {
            let labels = json!({"labels": change.labels_add});
            self.ask::<Value>(Method::POST, &format!("{path}/labels"), Some(labels)).await?;
        }
        let is_removed = |name: &&String| {
            label_of(name).is_some_and(|label| change.labels_remove.contains(&label))
        };
        for name in seen.labels.iter().filter(is_removed) {
            let name: String = byte_serialize(name.as_bytes()).collect();
            let path = format!("{path}/labels/{}", name.replace('+', "%20"));
            match self.ask::<Value>(Method::DELETE, &path, None).await {
                Err(RemoteError::Missing(_)) => {}
                done => drop(done?),
            }
        }
        if let Some(is_assigned) = change.is_assigned {
            let method = if is_assigned { Method::POST } else { Method::DELETE };
            let assignees = json!({"assignees": [self.account().await?]});
            self.ask::<Value>(method, &format!("{path}/assignees"), Some(assignees)).await?;
        }
        let mut fields = Map::new();
        if let Some(title) = &change.title {
            fields.insert("title".to_owned(), title.as_str().into());
        }
        if let Some(description) = &change.description {
            fields.insert("body".to_owned(), description.as_str().into());
        }
        if let Some(status) = change.status {
            let (state, reason) = match status {
                State::Closed => ("closed", "completed"),
                State::Rejected => ("closed", "not_planned"),
                _ => ("open", "reopened"),
            };
            fields.insert("state".to_owned(), state.into());
            fields.insert("state_reason".to_owned(), reason.into());
        }
        if fields.is_empty() {
            return self.read(&seen.key).await;
        }
        let fields = Some(Value::Object(fields));
        Ok(self.ask::<Issue>(Method::PATCH, &path, fields).await?.into())
    }

    async fn comment(&self, key: &str, text: &str) -> Result<(), RemoteError> {
        let path = format!("/issues/{key}/comments");
        self.ask::<Value>(Method::POST, &path, Some(json!({"body": text}))).await.map(drop)
    }

    async fn create(&self, new: &NewRemoteIssue) -> Result<RemoteIssue, RemoteError> {
        let NewRemoteIssue { title, description, labels, .. } = new;
        let body = json!({"title": title, "body": description, "labels": labels});
        Ok(self.ask::<Issue>(Method::POST, "/issues", Some(body)).await?.into())
    }
}

impl From<Issue> for RemoteIssue {
    fn from(issue: Issue) -> Self {
        let (description, marker) = marker::unmarked(issue.body.as_deref().unwrap_or_default());
        let state = match (issue.state.as_str(), issue.state_reason.as_deref()) {
            ("closed", Some("not_planned" | "duplicate")) => State::Rejected,
            ("closed", _) => State::Closed,
            _ => State::Open,
        };
        Self {
            key: issue.number.to_string(),
            url: issue.html_url,
            updated_at: issue.updated_at,
            revision: None,
            created_at: issue.created_at,
            author: issue.user.map(|user| user.login),
            kind: issue.kind.map(|kind| kind.name),
            title: issue.title,
            description,
            marker,
            state,
            priority: None,
            labels: issue.labels.into_iter().map(|label| label.name).collect(),
            links: Vec::new(),
            comments: issue.comments,
            is_wanted: false,
        }
    }
}

impl Filter {
    /// Parses terms such as `state:open label:"good first issue" assignee:me`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for (key, value) in terms(text)? {
            match (key, value) {
                ("state", "open" | "closed") => filter.state = Some(value.to_owned()),
                ("state", "all") => filter.state = None,
                ("label", label) => filter.labels.push(label.to_owned()),
                ("assignee", name) => filter.assignee = Some(name.to_owned()),
                ("author", name) => filter.author = Some(name.to_owned()),
                _ => {
                    return Err(format!(
                        "pull cannot have {key}:{value}: it can have state:open, state:closed, state:all, label:NAME, \
                         assignee:me, assignee:NAME and author:NAME"
                    ));
                }
            }
        }
        Ok(filter)
    }
}

/// Returns the address of the next page in a `Link` header (RFC 8288).
fn next_page(link: &str) -> Option<&str> {
    link.split(',').find_map(|link| {
        let (address, parameters) = link.split_once(';')?;
        let is_next = parameters.split(';').any(|parameter| parameter.trim() == r#"rel="next""#);
        is_next.then(|| address.trim().trim_start_matches('<').trim_end_matches('>'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read() {
        let text = r#"state:open label:"good first issue" label:bug assignee:me"#;
        let filter = Filter::parse(text).unwrap();
        assert_eq!(filter.state.as_deref(), Some("open"));
        assert_eq!(filter.labels, ["good first issue", "bug"]);
        assert_eq!(filter.assignee.as_deref(), Some("me"));
        for text in ["open", "state:", "state:x", "milestone:1"] {
            assert!(Filter::parse(text).unwrap_err().contains("pull cannot"), "{text}");
        }
    }

    #[test]
    fn the_next_page_is_found_among_links() {
        let link = r#"<https://a/?page=1>; rel="prev", <https://a/?page=3>; rel="next""#;
        assert_eq!(next_page(link), Some("https://a/?page=3"));
        assert_eq!(next_page(r#"<https://a/?page=1>; rel="first""#), None);
    }
}
