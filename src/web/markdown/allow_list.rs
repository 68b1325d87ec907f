//! The last line of defence: finds out whether rendered HTML has anything that is not on an allow-list.

use crate::domain::IssueId;

/// The schemes of addresses that become links.
pub(super) const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// The elements that rendered texts may contain.
pub(super) const ELEMENTS: [&str; 29] = [
    "a",
    "blockquote",
    "br",
    "button",
    "code",
    "del",
    "details",
    "div",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "ins",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// The attributes that each element may have. Elements that are not listed may have none.
pub(super) const ATTRIBUTES: [(&str, &[&str]); 8] = [
    ("a", &["href", "title", "rel"]),
    ("button", &["class", "type", "hidden", "aria-label", "data-copied"]),
    ("div", &["class", "role", "tabindex", "aria-label"]),
    ("ol", &["start"]),
    ("pre", &["tabindex"]),
    ("span", &["role", "aria-label"]),
    ("td", &["align"]),
    ("th", &["align", "scope"]),
];

/// The elements without content and end tag.
const VOID: [&str; 2] = ["br", "hr"];
/// What each link tells browsers and search engines.
pub(super) const REL: &str = "nofollow noopener noreferrer";

/// Returns true if HTML is well-formed and has only the elements, attributes and addresses on the lists.
///
/// Expects the HTML of a serializer: `<` and `>` in texts are escaped, and so is `"` in values.
pub(super) fn is_allowed(html: &str) -> bool {
    let mut open = Vec::new();
    let mut pieces = html.split('<');
    if pieces.next().is_some_and(|text| text.contains('>')) {
        return false;
    }
    pieces.all(|piece| {
        let Some((tag, text)) = piece.split_once('>') else { return false };
        if text.contains('>') {
            return false;
        }
        if let Some(name) = tag.strip_prefix('/') {
            return open.pop() == Some(name);
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if !VOID.contains(&name) {
            open.push(name);
        }
        ELEMENTS.contains(&name) && are_allowed(name, attributes)
    }) && open.is_empty()
}

fn are_allowed(element: &str, mut attributes: &str) -> bool {
    let known =
        ATTRIBUTES.iter().find(|(name, _)| *name == element).map_or(&[][..], |(_, all)| all);
    let mut has_rel = false;
    while !attributes.is_empty() {
        let Some((name, rest)) = attributes.split_once("=\"") else { return false };
        let Some((value, rest)) = rest.split_once('"') else { return false };
        let is_value_allowed = match name {
            "href" => is_address(value),
            "rel" => value == REL,
            "scope" => value == "col",
            "class" => ["code", "copy"].contains(&value),
            "type" => value == "button",
            "hidden" => value.is_empty(),
            _ => true,
        };
        if !known.contains(&name) || !is_value_allowed {
            return false;
        }
        has_rel |= name == "rel";
        attributes = match rest.strip_prefix(' ') {
            Some(more) => more,
            None if rest.is_empty() => rest,
            None => return false,
        };
    }
    has_rel || element != "a"
}

/// Returns true for an address with one of [`SCHEMES`], and for that of an issue. Texts themselves cannot contain links
/// to issues.
fn is_address(address: &str) -> bool {
    match address.strip_prefix("/issues/") {
        Some(id) => IssueId::parse(id).is_some(),
        None => has_allowed_scheme(address),
    }
}

/// Returns true if an address has one of [`SCHEMES`].
pub(super) fn has_allowed_scheme(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_on_the_lists_is_allowed() {
        let link = |address: &str| format!("<p><a href=\"{address}\" rel=\"{REL}\">x</a></p>");
        for html in [
            "",
            "text &lt;script&gt;",
            "<p>a<br>\nb</p>\n<hr>",
            "<ol start=\"3\">\n<li>x</li>\n</ol>",
            "<table><tr><th align=\"left\" scope=\"col\">x</th></tr></table>",
            &link("https://x.example/?q=1&amp;r"),
            &link("MAILTO:a@x.example"),
            &link("/issues/3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73"),
        ] {
            assert!(is_allowed(html), "{html}");
        }
        for html in [
            "<script>x</script>",
            "<p onclick=\"x\">x</p>",
            "<P>x</P>",
            "<p>x",
            "x</p>",
            "<p><em>x</p></em>",
            "<p",
            "a > b",
            "<p>a > b</p>",
            "<!-- x -->",
            "<br/>",
            "<th scope=\"row\">x</th>",
            "<div class=\"notice\">x</div>",
            "<button type=\"submit\">x</button>",
            "<button class=\"copy\" data-copy=\"x\">x</button>",
            "<ol start=3><li>x</li></ol>",
            "<ol start=\"3\"onclick=\"x\"></ol>",
            "<ol start=\"3></ol>",
            "<a href=\"https://x.example/\">x</a>",
            "<a href=\"https://x.example/\" rel=\"opener\">x</a>",
            &link("javascript:alert(1)"),
            &link(" javascript:alert(1)"),
            &link("//x.example"),
            &link("/issues/3f2a9c1e"),
            &link("/issues/../x"),
            &link("/"),
            &link(""),
        ] {
            assert!(!is_allowed(html), "{html}");
        }
    }
}
