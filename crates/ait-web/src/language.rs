//! Which language a reader gets: the one in the address, the one chosen before, that of the settings, or the one that
//! the browser asks for.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use super::actions::person::{MAX_AGE_S, cookie};
use super::project::Project;
use super::query::Parameters;
use ait_language::Language;

/// The parameter of an address and the cookie with the chosen language.
const LANG: &str = "lang";
const COOKIE: &str = "ait-lang";

/// The language of an answer.
pub(super) struct Chosen {
    /// `None` if nothing says which.
    language: Option<Arc<Language>>,
    /// Whether the browser is to remember it.
    is_new: bool,
}

impl Chosen {
    /// Chooses the language for a request with these headers and this query string.
    pub fn of(headers: &HeaderMap, query: Option<&str>, project: &Project) -> Self {
        let find = |tag: &str| project.languages.find(tag).cloned();
        let parameters = Parameters::of_page(query);
        let named = parameters.get(LANG, String::new, find).ok().flatten();
        let language = named.clone();
        let language = language.or_else(|| cookie(headers, COOKIE).and_then(find));
        let language = language.or_else(|| project.language.as_deref().and_then(find));
        let language = language.or_else(|| project.languages.accepted(accepted(headers)).cloned());
        Self { language, is_new: named.is_some() }
    }

    /// Returns a page in the language.
    pub fn translated(&self, page: Vec<u8>) -> Vec<u8> {
        match &self.language {
            Some(language) if !language.is_as_written() => {
                language.markup(&String::from_utf8_lossy(&page)).into_bytes()
            }
            _ => page,
        }
    }

    /// Says what the language depends on, and lets the browser remember a choice.
    pub fn noted_in(&self, mut response: Response) -> Response {
        let depends = HeaderValue::from_static("accept-language, cookie");
        response.headers_mut().append(header::VARY, depends);
        let language = self.language.as_ref().filter(|_| self.is_new);
        let cookie = language.map(|language| {
            format!("{COOKIE}={}; Path=/; Max-Age={MAX_AGE_S}; SameSite=Lax", language.tag)
        });
        if let Some(Ok(cookie)) = cookie.map(|cookie| HeaderValue::from_str(&cookie)) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}

fn accepted(headers: &HeaderMap) -> &str {
    headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
