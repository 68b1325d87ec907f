//! Access tokens for HTTP.
//!
//! A token has a name, a scope and a secret. `format` parses tokens, `credentials` finds the secret
//! in a request, and `throttle` slows down guessing.

pub(super) mod credentials;
mod format;
pub(super) mod throttle;

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use format::BadToken;
pub use throttle::ThrottleLimits;

/// What a token permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Reading pages, metrics and resources, and calling read-only tools.
    ReadOnly,
    /// Everything.
    ReadWrite,
    /// Everything that read-write may, and what concerns the project and other agents.
    Lead,
}

/// The identity behind a request: its token, without the secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Principal {
    name: Arc<str>,
    scope: Scope,
    role: Option<Arc<str>>,
}

impl Principal {
    /// The name of a token that was given without one.
    pub const UNNAMED: &str = "default";

    /// Returns the name of the token.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the token permits.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns the role of agents with the token, if it has one.
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }
}

/// All valid tokens. Clones share them. If there are none, requests need none.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Tokens(Arc<[Token]>);

#[derive(Clone, PartialEq, Eq)]
struct Token {
    principal: Principal,
    secret_hash: [u8; 32],
}

impl Tokens {
    /// Parses a token file: on each line a name, the scope, a role if agents with it have one, and the secret; or a
    /// single secret and nothing else, which becomes a read-write token named `default`.
    ///
    /// Ignores empty lines and those that begin with `#`.
    ///
    /// # Errors
    ///
    /// The text has no tokens, or a line is invalid or repeats another.
    pub fn parse(text: &str) -> Result<Self, BadToken> {
        format::parse(text)
    }

    /// Returns a single read-write token named `default`. Trims white space around the secret.
    ///
    /// # Errors
    ///
    /// The secret is too short, or cannot be sent in a header.
    pub fn single(secret: &str) -> Result<Self, BadToken> {
        format::single(secret)
    }

    /// Returns true if there are no tokens, so that requests need none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the principal with this secret.
    ///
    /// Compares hashes (SHA-256): how long that takes tells nothing about the secrets themselves.
    pub(super) fn principal_with(&self, secret: &[u8]) -> Option<&Principal> {
        let hash: [u8; 32] = Sha256::digest(secret).into();
        self.0.iter().find(|token| token.secret_hash == hash).map(|token| &token.principal)
    }
}

impl Token {
    fn new(name: &str, scope: Scope, role: Option<&str>, secret: &str) -> Self {
        let principal = Principal { name: name.into(), scope, role: role.map(Into::into) };
        Self { principal, secret_hash: Sha256::digest(secret).into() }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|token| &token.principal)).finish()
    }
}
