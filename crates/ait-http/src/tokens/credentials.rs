//! The secret in a request: RFC 6750 (`Bearer`) for programs, RFC 7617 (`Basic`) for browsers.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The credentials of a request.
#[derive(PartialEq, Eq)]
pub(crate) enum Credentials {
    Nothing,
    /// A header without a secret, or more than one header.
    Malformed,
    /// A secret, valid or not.
    Secret(Vec<u8>),
}

/// Returns the credentials in the headers of a request.
pub(crate) fn credentials_in(headers: &HeaderMap) -> Credentials {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (None, _) => Credentials::Nothing,
        (Some(value), None) => {
            secret_in(value.as_bytes()).map_or(Credentials::Malformed, Credentials::Secret)
        }
        _ => Credentials::Malformed,
    }
}

/// Returns true if the credentials of a request are those of `Bearer`.
pub(crate) fn is_bearer(headers: &HeaderMap) -> bool {
    let value = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let scheme = value.and_then(|value| value.split(|byte| *byte == b' ').next());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer"))
}

/// Returns the token of `Bearer`, or the password of `Basic`; ignores the user name.
fn secret_in(value: &[u8]) -> Option<Vec<u8>> {
    let end = value.iter().position(|byte| *byte == b' ')?;
    let (scheme, rest) = value.split_at(end);
    let rest = rest.trim_ascii();
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Some(rest.to_vec());
    }
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return None;
    }
    let pair = STANDARD.decode(rest).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some(pair[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_credentials_are_those_of_a_program() {
        for (value, expected) in
            [("Bearer x", true), ("bEARER x", true), ("Basic x", false), ("Bearers x", false)]
        {
            let mut headers = HeaderMap::new();
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(is_bearer(&headers), expected, "{value}");
        }
        assert!(!is_bearer(&HeaderMap::new()));
    }

    #[test]
    fn bearer_and_basic_credentials_are_parsed() {
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        for (values, expected) in [
            (vec![], Credentials::Nothing),
            (vec!["Bearer s3cret".to_owned()], Credentials::Secret(b"s3cret".into())),
            (vec!["bEARER  s3cret ".to_owned()], Credentials::Secret(b"s3cret".into())),
            (vec![basic("anybody:s3cret")], Credentials::Secret(b"s3cret".into())),
            (
                vec![basic(":s3cret").replace("Basic", "bAsIc")],
                Credentials::Secret(b"s3cret".into()),
            ),
            (vec![basic("a:s3:cret:")], Credentials::Secret(b"s3:cret:".into())),
            (vec![basic("s3cret")], Credentials::Malformed),
            (vec![basic("ä:ö")], Credentials::Secret("ö".into())),
            (vec!["Basic".to_owned()], Credentials::Malformed),
            (vec!["Basic %%%".to_owned()], Credentials::Malformed),
            (vec!["Bearer".to_owned()], Credentials::Malformed),
            (vec!["Bearer ".to_owned()], Credentials::Secret(Vec::new())),
            (vec!["s3cret".to_owned()], Credentials::Malformed),
            (vec!["Digest username=\"a\"".to_owned()], Credentials::Malformed),
            (vec!["".to_owned()], Credentials::Malformed),
            (vec!["Bearer s3cret".to_owned(); 2], Credentials::Malformed),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            assert!(credentials_in(&headers) == expected, "{values:?}");
        }
    }
}
