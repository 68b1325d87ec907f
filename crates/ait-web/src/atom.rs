//! The newest events as an Atom 1.0 feed (RFC 4287).

use std::borrow::Cow;

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;

use super::WebState;
use super::activity_api::read;
use super::etag;
use super::pages::components::{issue_path, undirected};
use super::pages::error::ErrorPage;
use super::query::ActivityQuery;
use super::strings;
use ait_domain::text::shortened;
use ait_domain::{IssueId, Timestamp};
use ait_tracker::activity::title_in;
use ait_tracker::{IndexedIssues, NumberedEvent, StoreId};

const ATOM: &str = "application/atom+xml";
/// How many events a feed has.
const ENTRIES: usize = 100;
/// How many characters of a comment an entry has.
const MAX_COMMENT_CHARS: usize = 2_000;

/// Answers with the newest events as a feed.
pub(super) async fn feed(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ErrorPage> {
    let query = ActivityQuery::parse_feed(query.as_deref())?;
    let events = read(&query, ENTRIES, &state).await?.events;
    let ids = events.iter().map(|event| event.event.issue);
    let issues = state.tracker.issues_around(ids).await?;
    let store = state.tracker.store_id().await;
    let feed = Feed { project: &state.project.name, store, issues: &issues };
    Ok(etag::respond(&request, ATOM, feed.render(&query, &events).into_bytes()))
}

struct Feed<'a> {
    project: &'a str,
    store: StoreId,
    issues: &'a IndexedIssues,
}

impl Feed<'_> {
    /// Renders the document. Its links are relative, because the server does not know by which name clients
    /// reach it.
    fn render(&self, query: &ActivityQuery, events: &[NumberedEvent]) -> String {
        let query = query.query_string();
        // A feed without entries was never updated.
        let epoch = Timestamp::from_unix_millis(0);
        let updated = events.first().map_or(epoch, |event| event.event.at);
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
             <feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"{language}\">\n\
             <id>urn:ait:{store}:activity{filter}</id>\n\
             <title>{title}</title>\n\
             <updated>{updated}</updated>\n\
             <link rel=\"self\" type=\"{ATOM}\" href=\"/activity.atom{query}\"/>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"/activity{query}\"/>\n",
            language = strings::LANGUAGE,
            store = self.store,
            filter = escaped(&query.replacen('?', ":", 1)),
            title = escaped(&undirected(&strings::activity::feed(self.project))),
            query = escaped(&query),
        );
        events.iter().for_each(|event| self.render_entry(event, &mut xml));
        xml.push_str("</feed>\n");
        xml
    }

    fn render_entry(&self, numbered: &NumberedEvent, xml: &mut String) {
        let NumberedEvent { position, event } = numbered;
        let issue = self.issues.get(event.issue);
        let title = issue.as_ref().map(|issue| issue.title.as_str());
        let title = title.or_else(|| title_in(event)).unwrap_or(strings::activity::NO_ISSUE);
        let kind = event.kind.word();
        let action = strings::activity::action(kind);
        let sentence = format!("{} {action}: {title}", event.agent);
        let link = match event.issue {
            IssueId::NIL => "/activity".to_owned(),
            id => issue_path(id),
        };
        *xml += &format!(
            "<entry>\n\
             <id>urn:ait:{store}:{position}</id>\n\
             <title>{sentence}</title>\n\
             <updated>{at}</updated>\n\
             <author><name>{agent}</name></author>\n\
             <category term=\"{kind}\" label=\"{label}\"/>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{link}\"/>\n",
            store = self.store,
            sentence = escaped(&undirected(&sentence)),
            at = event.at,
            agent = escaped(&undirected(&event.agent)),
            label = escaped(action),
        );
        if let Some(comment) = event.kind.comment() {
            let comment = shortened(comment, MAX_COMMENT_CHARS);
            *xml += &format!("<summary>{}</summary>\n", escaped(&comment));
        }
        xml.push_str("</entry>\n");
    }
}

/// Escapes a text for the elements and attributes of XML 1.0.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |character: char| {
        !matches!(character, '&' | '<' | '>' | '"' | '\'' | '\u{fffe}' | '\u{ffff}')
            && (character >= ' ' || matches!(character, '\n' | '\t'))
    };
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML parsers would turn it into a line feed.
            '\r' => escaped.push_str("&#13;"),
            _ if is_plain(character) => escaped.push(character),
            // XML cannot contain it, not even escaped.
            _ => escaped.push('\u{fffd}'),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_invalid_xml_characters_replaced() {
        for (text, expected) in [
            ("plain ä\n\tß", "plain ä\n\tß"),
            ("<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"),
            ("]]>", "]]&gt;"),
            ("a\r\nb", "a&#13;\nb"),
            (
                "\u{0}\u{1b}[31m\u{fffe}\u{ffff}\u{fffd}",
                "\u{fffd}\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("\u{7f}\u{1f600}", "\u{7f}\u{1f600}"),
        ] {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
    }
}
