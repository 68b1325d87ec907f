//! What happened, as a feed that readers of news subscribe to: Atom 1.0 (RFC 4287).

use std::borrow::Cow;

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;

use super::activity_api::read;
use super::address::ActivityAddress;
use super::etag;
use super::pages::error::{ErrorPage, Form};
use super::pages::parts::{address, undirected};
use super::site::Site;
use super::words::Words;
use crate::activity::title_in;
use crate::domain::text::shortened;
use crate::domain::{IssueId, Timestamp};
use crate::tracker::{IssueStore, NumberedEvent, StoreId};

const ATOM: &str = "application/atom+xml";
/// How many events a feed has.
const ENTRIES: usize = 100;
/// How much of a comment an entry has.
const MAX_COMMENT_CHARS: usize = 2_000;

/// Answers with the newest events as a feed.
pub(super) async fn feed(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Response {
    match written(query.as_deref(), &site).await {
        Ok(xml) => etag::answer(&request, ATOM, xml.into_bytes()),
        Err(error) => error.into_response(Form::Page, &site),
    }
}

async fn written(query: Option<&str>, site: &Site) -> Result<String, ErrorPage> {
    let asked = ActivityAddress::parse_feed(query)
        .map_err(|bad| ErrorPage::bad_address(&bad, site.words))?;
    let events = read(&asked, ENTRIES, site).await?.events;
    let state = site.tracker.snapshot().await;
    let issues = state.map_err(|error| ErrorPage::unreadable(&error, site.words))?.issues;
    let feed = Feed { store: site.tracker.store_id().await, issues: &issues, words: site.words };
    Ok(feed.write(&asked, &events))
}

/// What entries are made of.
struct Feed<'a> {
    store: StoreId,
    issues: &'a IssueStore,
    words: &'a Words,
}

impl Feed<'_> {
    /// The whole document. Its links are relative: only the reader knows by which name it came here.
    fn write(&self, asked: &ActivityAddress, events: &[NumberedEvent]) -> String {
        let query = asked.query();
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
            language = self.words.frame.language,
            store = self.store,
            filter = escaped(&query.replacen('?', ":", 1)),
            title = escaped(self.words.activity.feed),
            query = escaped(&query),
        );
        events.iter().for_each(|event| self.write_entry(event, &mut xml));
        xml.push_str("</feed>\n");
        xml
    }

    fn write_entry(&self, numbered: &NumberedEvent, xml: &mut String) {
        let NumberedEvent { position, event } = numbered;
        let words = &self.words.activity;
        let issue = self.issues.get(event.issue);
        let title = issue.as_ref().map(|issue| issue.title.as_str());
        let title = title.or_else(|| title_in(event)).unwrap_or(words.no_issue);
        let kind = event.kind.word();
        let did = (words.did)(kind);
        let sentence = (words.sentence)(&event.agent, did, title);
        let link = match event.issue {
            IssueId::NIL => "/activity".to_owned(),
            id => address(id),
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
            label = escaped(did),
        );
        if let Some(comment) = event.kind.comment() {
            let comment = shortened(comment, MAX_COMMENT_CHARS);
            *xml += &format!("<summary>{}</summary>\n", escaped(&comment));
        }
        xml.push_str("</entry>\n");
    }
}

/// A text as XML 1.0 can hold it, in elements and in attributes.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |one: char| {
        !matches!(one, '&' | '<' | '>' | '"' | '\'' | '\u{fffe}' | '\u{ffff}')
            && (one >= ' ' || matches!(one, '\n' | '\t'))
    };
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for one in text.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // A line break, whichever program wrote it; readers of XML take it for one anyway.
            '\r' => escaped.push_str("&#13;"),
            one if is_plain(one) => escaped.push(one),
            // No document can hold it, escaped or not.
            _ => escaped.push('\u{fffd}'),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced_and_what_it_would_read_is_escaped() {
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
