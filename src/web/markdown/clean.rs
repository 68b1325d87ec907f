//! The last check of what was made of a text: what is not on the list does not reach a page.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

/// What an address that a reader may follow can begin with.
pub(super) const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Every element that a text can give.
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

/// The attributes that elements can have; all others have none.
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
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("nofollow noopener noreferrer"));
    builder
});

/// HTML with nothing in it but what is on the list.
pub(super) fn cleaned(html: &str) -> String {
    CLEANER.clean(html).to_string()
}
