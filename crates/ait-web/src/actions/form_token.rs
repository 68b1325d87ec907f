//! The tokens in forms, without which no form is accepted.
//!
//! A token is a MAC (HMAC-SHA-256, RFC 2104) with a secret of this process over what its form may do: one action on
//! one version of one issue, or filing the one new issue, for the holder of one access token. A page of another
//! origin cannot read it, so it cannot forge the form. Every action makes a new version, so a token is good for one
//! change.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

use super::action::Action;
use ait_domain::IssueId;

/// Makes and checks tokens.
pub(crate) struct FormTokens {
    /// Keyed with the secret of this process.
    mac: Hmac<Sha256>,
}

/// What a form may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Purpose<'a> {
    pub action: Action,
    /// Whether the person has confirmed it.
    pub is_confirmed: bool,
    pub issue: IssueId,
    /// The version of the issue that the form shows.
    pub version: &'a str,
    /// The name of the access token; empty if the server has none.
    pub principal: &'a str,
}

impl<'a> Purpose<'a> {
    /// Returns what a form may do that is about no issue.
    pub fn of_project(action: Action, principal: &'a str) -> Self {
        Self { action, is_confirmed: false, issue: IssueId::NIL, version: "", principal }
    }
}

impl FormTokens {
    /// Creates tokens with a new secret.
    pub fn new() -> Self {
        // Random ids have 122 bits each from the random numbers of the system.
        let secret = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
        let mac = Hmac::new_from_slice(&secret).expect("a key of any length is valid");
        Self { mac }
    }

    /// Returns the token for a purpose.
    pub fn token(&self, purpose: &Purpose<'_>) -> String {
        URL_SAFE_NO_PAD.encode(self.mac_of(purpose).finalize().into_bytes())
    }

    /// Returns true if a token is the one for a purpose.
    pub fn is_valid(&self, given: &str, purpose: &Purpose<'_>) -> bool {
        let given = URL_SAFE_NO_PAD.decode(given);
        given.is_ok_and(|given| self.mac_of(purpose).verify_slice(&given).is_ok())
    }

    fn mac_of(&self, purpose: &Purpose<'_>) -> Hmac<Sha256> {
        let Purpose { action, is_confirmed, issue, version, principal } = purpose;
        let action = action.as_str();
        // Only the version, at the end, can contain a line break.
        let text = format!("{action}\n{is_confirmed}\n{issue}\n{principal}\n{version}");
        self.mac.clone().chain_update(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_for_its_purpose_alone() {
        let tokens = FormTokens::new();
        let others = FormTokens::new();
        let purpose = Purpose {
            action: Action::Return,
            is_confirmed: false,
            issue: Uuid::from_u128(1).into(),
            version: "1.0.00000000",
            principal: "ann",
        };
        let token = tokens.token(&purpose);
        assert!(tokens.is_valid(&token, &purpose));
        assert!(!others.is_valid(&token, &purpose));
        for other in [
            Purpose { action: Action::Comment, ..purpose },
            Purpose { is_confirmed: true, ..purpose },
            Purpose { issue: Uuid::from_u128(2).into(), ..purpose },
            Purpose { version: "2.0.00000000", ..purpose },
            Purpose { principal: "", version: "ann\n1.0.00000000", ..purpose },
            Purpose { principal: "bob", ..purpose },
        ] {
            assert!(!tokens.is_valid(&token, &other), "{other:?}");
        }
        for wrong in ["", &token[1..], &token[..token.len() - 1], &format!("{token}=")] {
            assert!(!tokens.is_valid(wrong, &purpose), "{wrong}");
        }
    }
}
