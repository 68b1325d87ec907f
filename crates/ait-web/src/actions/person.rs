//! The person who acts: the access token of the request, and the name that the person gave once.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maud::{Markup, html};

use super::fields::{AGENT, Fields};
use crate::strings::actions as text;
use ait_domain::AgentName;
use ait_http::{Principal, Scope};

/// The cookie with the name.
const COOKIE: &str = "ait-name";
/// How long browsers keep what a person chose: a year.
pub(crate) const MAX_AGE_S: u32 = 365 * 24 * 60 * 60;

/// A person who may act.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Person {
    /// The name of the access token; empty if the server has none.
    pub principal: String,
    /// The name for the history, as far as it is known.
    pub name: String,
}

/// The sender of a request: a person who may act, or `None` for one whose access token is read-only.
pub(crate) struct ActingPerson(pub Option<Person>);

impl<S: Sync> FromRequestParts<S> for ActingPerson {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let principal = parts.extensions.get::<Principal>();
        if principal.is_some_and(|principal| principal.scope() == Scope::ReadOnly) {
            return Ok(Self(None));
        }
        let principal = principal.map_or_else(String::new, |known| known.name().to_owned());
        let name = name_from_cookie(&parts.headers).map(|name| name.to_string());
        // The name of a token that was given without one says nothing of its holder.
        let name = name.unwrap_or_else(|| match principal.as_str() {
            Principal::UNNAMED => String::new(),
            named => named.to_owned(),
        });
        Ok(Self(Some(Person { principal, name })))
    }
}

/// Returns the name in the cookie of a request, if it is a valid one.
fn name_from_cookie(headers: &HeaderMap) -> Option<AgentName> {
    let name = URL_SAFE_NO_PAD.decode(cookie(headers, COOKIE)?).ok()?;
    String::from_utf8(name).ok()?.parse().ok()
}

/// Returns the value of a cookie of a request.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).map(str::trim);
    pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Returns the value of `Set-Cookie` that makes a browser remember a name. Scripts cannot read it, and requests from
/// other sites do not carry it.
pub(super) fn name_cookie(name: &AgentName) -> String {
    let value = URL_SAFE_NO_PAD.encode(name.as_str());
    format!("{COOKIE}={value}; Path=/; Max-Age={MAX_AGE_S}; SameSite=Strict; HttpOnly")
}

/// Renders the field for the name of the person, which is known after the first time.
pub(super) fn your_name(fields: &Fields, person: &Person) -> Markup {
    let name = match fields.get(AGENT) {
        "" => person.name.as_str(),
        typed => typed,
    };
    html! {
        label.who {
            span { (text::YOUR_NAME) }
            input type="text" name=(AGENT) value=(name) required maxlength=(AgentName::MAX_CHARS)
                autocomplete="nickname" dir="auto";
        }
    }
}

/// Renders the name of the person without a field, if it is known.
pub(super) fn known_name(person: &Person) -> Markup {
    html! {
        @if person.name.is_empty() { (your_name(&Fields::default(), person)) }
        @else { input type="hidden" name=(AGENT) value=(person.name); }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_its_cookie() {
        for name in ["ann", "Ann Lee; x=1", "アン,\"\\", &"ä".repeat(200)] {
            let set = name_cookie(&name.parse().unwrap());
            let pair = set.split(';').next().unwrap();
            assert!(set.is_ascii() && set.len() < 1_000, "{set}");
            let mut headers = HeaderMap::new();
            headers.append(header::COOKIE, "theme=dark".parse().unwrap());
            headers.append(header::COOKIE, format!("a=b; {pair};c=d").parse().unwrap());
            assert_eq!(name_from_cookie(&headers).unwrap().as_str(), name);
        }
        for cookie in
            ["ait-name=%%", "ait-name=", "ait-names=YW5u", "x=ait-name=YW5u", "ait-name=IA"]
        {
            let mut headers = HeaderMap::new();
            headers.append(header::COOKIE, cookie.parse().unwrap());
            assert_eq!(name_from_cookie(&headers), None, "{cookie}");
        }
    }
}
