//! The last line of defence: removes from rendered HTML all that is not on an allow-list.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use crate::domain::IssueId;

/// The schemes of addresses that become links.
pub(super) const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// The elements that rendered texts may contain.
pub(super) const ELEMENTS: [&str; 25] = [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "div",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// The attributes that each element may have. Elements that are not listed may have none.
pub(super) const ATTRIBUTES: [(&str, &[&str]); 6] = [
    ("a", &["href", "title"]),
    ("div", &["role", "tabindex", "aria-label"]),
    ("ol", &["start"]),
    ("span", &["role", "aria-label"]),
    ("td", &["align"]),
    ("th", &["align", "scope"]),
];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    let attributes = ATTRIBUTES.map(|(element, names)| (element, names.iter().copied().collect()));
    builder
        .tags(HashSet::from(ELEMENTS))
        .tag_attributes(HashMap::from(attributes))
        .set_tag_attribute_value("th", "scope", "col")
        .url_schemes(HashSet::from(SCHEMES))
        .url_relative(UrlRelative::Custom(Box::new(issue_path)))
        .link_rel(Some("nofollow noopener noreferrer"));
    builder
});

/// Returns a relative address if it is that of an issue. Texts themselves cannot contain such links.
fn issue_path(address: &str) -> Option<Cow<'_, str>> {
    let id = address.strip_prefix("/issues/")?;
    IssueId::parse(id).map(|_| Cow::Borrowed(address))
}

/// Removes all elements and attributes that are not on the lists.
pub(super) fn clean(html: &str) -> String {
    CLEANER.clean(html).to_string()
}
