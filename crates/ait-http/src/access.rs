//! The access policy: the host names the server answers to, and the origins whose pages may use it.
//!
//! A browser sends requests to this machine on behalf of any page. A foreign page can make its own host name resolve
//! to 127.0.0.1 (DNS rebinding); its requests carry that name in `Host`. Requests to another origin carry the page's
//! origin in `Origin` (RFC 6454). Both are checked on every route, as the MCP specification requires of local servers.
//! If requests need a token, a host name alone gains nothing, so the server answers to all of them.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::tokens::{ThrottleLimits, Tokens};

/// The names of this machine for itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// How much of a refused value an error quotes.
const SHOWN_BYTES: usize = 100;

/// The host names and origins that the server answers to, and the tokens that requests need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessPolicy {
    hosts: Vec<AllowedHost>,
    origins: Vec<AllowedOrigin>,
    tokens: Tokens,
    throttle_limits: ThrottleLimits,
}

impl AccessPolicy {
    /// Allows the hosts `localhost`, `127.0.0.1`, `[::1]` and those given, for programs, the server's own pages, and
    /// pages of the origins given.
    pub fn new(hosts: Vec<AllowedHost>, origins: Vec<AllowedOrigin>) -> Self {
        Self { hosts, origins, ..Self::default() }
    }

    /// Requires one of these tokens, and allows any host name then.
    #[must_use]
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }

    /// Sets the limits for failed authentication.
    #[must_use]
    pub fn with_throttle_limits(self, throttle_limits: ThrottleLimits) -> Self {
        Self { throttle_limits, ..self }
    }

    /// Returns the limits for failed authentication.
    pub(super) fn throttle_limits(&self) -> ThrottleLimits {
        self.throttle_limits
    }

    /// Returns the origins, besides the server's own, whose pages may read responses.
    pub fn origins(&self) -> &[AllowedOrigin] {
        &self.origins
    }

    /// Returns the accepted tokens. If there are none, requests need no token.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Returns true if pages of the origin in a header may read responses.
    pub(super) fn lists(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok().and_then(|origin| origin.parse().ok());
        origin.is_some_and(|origin| self.origins.contains(&origin))
    }

    fn allows_host(&self, authority: &Authority) -> bool {
        let host = authority.host();
        !self.tokens.is_empty()
            || LOOPBACK.iter().any(|name| name.eq_ignore_ascii_case(host))
            || self.hosts.iter().any(|allowed| {
                // Clients omit default ports.
                let port = allowed.port.is_none_or(|port| match authority.port_u16() {
                    Some(given) => given == port,
                    None => matches!(port, 80 | 443),
                });
                allowed.name.eq_ignore_ascii_case(host) && port
            })
    }

    /// Returns true if a request to `host` may come from a page of `origin`: the server's own under that host name, or
    /// an allowed one.
    fn allows_origin(&self, origin: &AllowedOrigin, host: &Authority) -> bool {
        origin.is_of(host) || self.origins.contains(origin)
    }
}

/// Returns true if a request comes from a page of this server: it has one `Origin`, which is that of its `Host`.
pub fn has_own_origin(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.parse::<AllowedOrigin>().ok());
    let host = headers.get(header::HOST).and_then(|host| host_of(host.to_str().ok()?));
    origin.zip(host).is_some_and(|(origin, host)| origin.is_of(&host))
}

/// A host name of the server, for one port or all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllowedHost {
    name: String,
    port: Option<u16>,
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

/// A text that is no host name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not a host: give a name such as tracker.example or tracker.example:8443")]
pub struct BadHost(String);

impl FromStr for AllowedHost {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        let authority = host_of(text.trim()).ok_or_else(|| BadHost(text.to_owned()))?;
        Ok(Self { name: authority.host().to_ascii_lowercase(), port: authority.port_u16() })
    }
}

/// The origin of a page: scheme, host and port (RFC 6454).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllowedOrigin {
    scheme: String,
    name: String,
    /// `None` only for schemes without a default port.
    port: Option<u16>,
}

impl AllowedOrigin {
    /// Returns true if this is the origin of the pages of a host.
    fn is_of(&self, host: &Authority) -> bool {
        let port = host.port_u16().or(default_port(&self.scheme));
        let is_web = matches!(self.scheme.as_str(), "http" | "https");
        is_web && self.name.eq_ignore_ascii_case(host.host()) && self.port == port
    }
}

/// A text that is no origin.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} is not an origin: give scheme and host without a path, such as https://app.example or \
     http://localhost:6274"
)]
pub struct BadOrigin(String);

impl FromStr for AllowedOrigin {
    type Err = BadOrigin;

    fn from_str(text: &str) -> Result<Self, BadOrigin> {
        let bad = || BadOrigin(text.to_owned());
        let (scheme, rest) = text.trim().split_once("://").ok_or_else(bad)?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
        let authority = host_of(rest).filter(|_| is_scheme).ok_or_else(bad)?;
        let scheme = scheme.to_ascii_lowercase();
        let port = authority.port_u16().or(default_port(&scheme));
        Ok(Self { scheme, name: authority.host().to_ascii_lowercase(), port })
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme, self.name)?;
        match self.port {
            Some(port) if default_port(&self.scheme) != Some(port) => write!(formatter, ":{port}"),
            _ => Ok(()),
        }
    }
}

/// Parses a host with or without a port: a name, an IPv4 address, or an IPv6 address in brackets.
fn host_of(text: &str) -> Option<Authority> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host();
    let is_name = |host: &str| {
        !host.is_empty()
            && host
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "-._".contains(character))
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host =
        address.map_or_else(|| is_name(host), |address| address.parse::<Ipv6Addr>().is_ok());
    let after = authority.as_str().strip_prefix(host)?;
    let is_port = |port: &str| {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        is_number && (port.is_empty() || port.parse::<u16>().is_ok())
    };
    let is_whole = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
    (is_host && is_whole).then_some(authority)
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Passes on a request to a host name of this server that comes from no foreign page.
pub(super) async fn check(
    State(access): State<Arc<AccessPolicy>>,
    request: Request,
    next: Next,
) -> Response {
    match access.refusal(request.uri(), request.headers()) {
        None => next.run(request).await,
        Some((status, text)) => {
            tracing::debug!("refused: {text}");
            (status, text + "\n").into_response()
        }
    }
}

impl AccessPolicy {
    fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<(StatusCode, String)> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(given), None) = (hosts.next(), hosts.next()) else {
            let text = "a request must have one Host header, such as Host: localhost";
            return Some((StatusCode::BAD_REQUEST, text.to_owned()));
        };
        let foreign = |name: &str| {
            let name = shown(name.as_bytes());
            let text = format!(
                "this server does not answer to the host {name}: open it as localhost, or start it with \
                 --allow-host and that name if it is yours"
            );
            Some((StatusCode::FORBIDDEN, text))
        };
        let Some(host) = given.to_str().ok().and_then(host_of) else {
            return foreign(&String::from_utf8_lossy(given.as_bytes()));
        };
        // A request to a proxy also names the host in its first line.
        for authority in std::iter::once(&host).chain(uri.authority()) {
            if !self.allows_host(authority) {
                return foreign(authority.as_str());
            }
        }
        let foreign_origin = headers.get_all(header::ORIGIN).iter().find(|given| {
            let origin = given.to_str().ok().and_then(|given| given.parse().ok());
            !origin.is_some_and(|origin| self.allows_origin(&origin, &host))
        })?;
        let text = format!(
            "pages of {} may not use this server: to allow them, start it with --allow-origin and that \
             origin",
            shown(foreign_origin.as_bytes())
        );
        Some((StatusCode::FORBIDDEN, text))
    }
}

/// Quotes the beginning of a value.
pub(super) fn shown(value: &[u8]) -> String {
    let end = value.len().min(SHOWN_BYTES);
    format!("{:?}", String::from_utf8_lossy(&value[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(access: &AccessPolicy, uri: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        access.refusal(&uri.parse().unwrap(), &map).map(|(status, _)| status.as_u16())
    }

    /// Headers, and the status of the refusal: by default, and with more hosts and origins allowed.
    type Case = (&'static [(&'static str, &'static str)], Option<u16>, Option<u16>);

    #[test]
    fn only_local_and_allowed_hosts_and_origins_are_accepted() {
        let own = AccessPolicy::default();
        let more = AccessPolicy::new(
            vec![
                "Tracker.example".parse().unwrap(),
                "other.example:8443".parse().unwrap(),
                "third.example:443".parse().unwrap(),
            ],
            vec!["http://localhost:6274".parse().unwrap(), "https://app.example".parse().unwrap()],
        );
        let cases: Vec<Case> = vec![
            (&[("host", "localhost")], None, None),
            (&[("host", "LOCALHOST:3000")], None, None),
            (&[("host", "127.0.0.1:3000")], None, None),
            (&[("host", "[::1]:3000")], None, None),
            (&[], Some(400), Some(400)),
            (&[("host", "localhost"), ("host", "localhost")], Some(400), Some(400)),
            (&[("host", "evil.example")], Some(403), Some(403)),
            (&[("host", "localhost.evil.example")], Some(403), Some(403)),
            (&[("host", "evil.example@localhost")], Some(403), Some(403)),
            (&[("host", "localhost@evil.example")], Some(403), Some(403)),
            (&[("host", "localhost:+80")], Some(403), Some(403)),
            (&[("host", "localhost:")], None, None),
            (&[("host", "[::2]")], Some(403), Some(403)),
            (&[("host", "third.example")], Some(403), None),
            (&[("host", "third.example:80")], Some(403), Some(403)),
            (&[("host", "localhost"), ("origin", "tauri://localhost")], Some(403), Some(403)),
            (&[("host", "localhost:port")], Some(403), Some(403)),
            (&[("host", "localhost:99999")], Some(403), Some(403)),
            (&[("host", "")], Some(403), Some(403)),
            (&[("host", "tracker.example")], Some(403), None),
            (&[("host", "TRACKER.example:9")], Some(403), None),
            (&[("host", "other.example:8443")], Some(403), None),
            (&[("host", "other.example")], Some(403), Some(403)),
            (&[("host", "localhost:3000"), ("origin", "http://localhost:3000")], None, None),
            (&[("host", "localhost:3000"), ("origin", "http://localhost:6274")], Some(403), None),
            (
                &[("host", "localhost:3000"), ("origin", "http://127.0.0.1:3000")],
                Some(403),
                Some(403),
            ),
            (&[("host", "localhost:3000"), ("origin", "https://app.example")], Some(403), None),
            (&[("host", "localhost:3000"), ("origin", "https://app.example:443")], Some(403), None),
            (&[("host", "localhost:3000"), ("origin", "http://app.example")], Some(403), Some(403)),
            (&[("host", "localhost:3000"), ("origin", "null")], Some(403), Some(403)),
            (&[("host", "localhost"), ("origin", "http://localhost")], None, None),
            (
                &[("host", "tracker.example"), ("origin", "https://tracker.example")],
                Some(403),
                None,
            ),
        ];
        for (headers, by_default, with_more) in cases {
            assert_eq!(refused(&own, "/", headers), by_default, "{headers:?}");
            assert_eq!(refused(&more, "/", headers), with_more, "{headers:?}");
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "null")];
        assert_eq!(refused(&own, "/", &twice), Some(403));
        assert_eq!(refused(&own, "http://evil.example/", &[("host", "localhost")]), Some(403));
        assert_eq!(refused(&own, "http://localhost/", &[("host", "localhost")]), None);
    }

    #[test]
    fn only_pages_of_the_same_host_and_port_are_the_servers_own() {
        for (headers, expected) in [
            (vec![("host", "localhost:3000"), ("origin", "http://localhost:3000")], true),
            (vec![("host", "tracker.example"), ("origin", "https://tracker.example")], true),
            (vec![("host", "[::1]:3000"), ("origin", "http://[::1]:3000")], true),
            (vec![("host", "localhost:3000")], false),
            (vec![("origin", "http://localhost:3000")], false),
            (vec![("host", "localhost:3000"), ("origin", "null")], false),
            (vec![("host", "localhost:3000"), ("origin", "http://127.0.0.1:3000")], false),
            (vec![("host", "localhost:3000"), ("origin", "http://localhost:3001")], false),
            (vec![("host", "localhost"), ("origin", "tauri://localhost")], false),
            (vec![("host", "a"), ("origin", "http://a"), ("origin", "http://a")], false),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in &headers {
                map.append(*name, value.parse().unwrap());
            }
            assert_eq!(has_own_origin(&map), expected, "{headers:?}");
        }
    }

    #[test]
    fn with_tokens_any_host_is_accepted_but_no_foreign_origin() {
        let access = AccessPolicy::new(Vec::new(), vec!["https://app.example".parse().unwrap()]);
        let access = access.with_tokens(Tokens::single("0123456789abcdef").unwrap());
        for (headers, status) in [
            (vec![("host", "tracker.example")], None),
            (vec![("host", "192.0.2.1:3000")], None),
            (vec![("host", "tracker.example:port")], Some(403)),
            (vec![("host", "")], Some(403)),
            (vec![], Some(400)),
            (vec![("host", "x.example"), ("origin", "https://x.example")], None),
            (vec![("host", "x.example"), ("origin", "https://app.example")], None),
            (vec![("host", "x.example"), ("origin", "https://evil.example")], Some(403)),
            (vec![("host", "x.example"), ("origin", "null")], Some(403)),
        ] {
            assert_eq!(refused(&access, "/", &headers), status, "{headers:?}");
        }
        let proxied = refused(&access, "http://y.example/", &[("host", "x.example")]);
        assert_eq!(proxied, None);
    }

    #[test]
    fn errors_for_hosts_and_origins_show_an_example() {
        for text in
            ["", "a b", "http://x", "x/y", "u@x", "x:99999", ":80", "*", "*.x", "a,b", "[::"]
        {
            assert!(
                text.parse::<AllowedHost>().unwrap_err().to_string().contains("tracker.example")
            );
        }
        for text in ["", "null", "x.example", "https://", "https://x/", "https://u@x", "1://x", "*"]
        {
            assert!(text.parse::<AllowedOrigin>().unwrap_err().to_string().contains("https://"));
        }
        let origin: AllowedOrigin = "HTTPS://App.Example:443".parse().unwrap();
        assert_eq!(origin.to_string(), "https://app.example");
    }
}
