//! Tokens: what callers over HTTP show, so that they are served.
//!
//! A token has a name and a mode; what is kept of its secret is a digest. `format` reads them from a
//! text, `credentials` finds the secret in a request, and `gate` stands before the routes, where
//! `attempts` keeps those back who guess.

mod attempts;
mod credentials;
mod format;
pub(super) mod gate;

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

pub use attempts::AttemptLimits;
pub use format::BadToken;

/// The name of a token that came without one.
const DEFAULT_NAME: &str = "default";

/// What the holder of a token may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Look at the pages and the meters, and call the tools that change nothing.
    ReadOnly,
    /// Everything.
    ReadWrite,
}

/// Who asks, as far as the token tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Principal {
    name: Arc<str>,
    mode: Mode,
}

impl Principal {
    /// The name of the token.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its holder may do.
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

/// The tokens that are good. Clones share them; none at all means that nobody needs one.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Tokens(Arc<[Token]>);

#[derive(Clone, PartialEq, Eq)]
struct Token {
    principal: Principal,
    digest: [u8; 32],
}

impl Tokens {
    /// Reads the text of a file with tokens: on each line a name, `read-only` or `read-write`, and the
    /// secret; or one secret and nothing else, which is read-write and called `default`.
    ///
    /// Empty lines and those that begin with `#` mean nothing.
    ///
    /// # Errors
    ///
    /// A text without tokens, and the first line that is none or repeats another.
    pub fn parse(text: &str) -> Result<Self, BadToken> {
        format::parse(text)
    }

    /// A single token, which is read-write and called `default`. White space around it is no part of it.
    ///
    /// # Errors
    ///
    /// A secret that is too short, or that cannot be sent in a header.
    pub fn single(secret: &str) -> Result<Self, BadToken> {
        format::single(secret)
    }

    /// Tells whether there is none, so that nobody needs one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose secret this is, if anybody's.
    ///
    /// Takes as long for a wrong secret as for another of the same length, however much of it is right:
    /// digests are compared, each of them, and each to its end.
    fn principal_with(&self, secret: &[u8]) -> Option<&Principal> {
        let digest = Sha256::digest(secret);
        self.0.iter().fold(None, |found, token| {
            let is_equal = bool::from(token.digest.ct_eq(&digest));
            if is_equal { Some(&token.principal) } else { found }
        })
    }
}

impl Token {
    fn new(name: &str, mode: Mode, secret: &str) -> Self {
        let principal = Principal { name: name.into(), mode };
        Self { principal, digest: Sha256::digest(secret).into() }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|token| &token.principal)).finish()
    }
}
