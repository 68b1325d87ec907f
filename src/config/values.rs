//! The values of settings: how they are read from a text, and what is said of one that is none.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

use tracing_subscriber::EnvFilter;

use super::sources::{Chosen, Source};

/// A port of this machine; 0 stands for any that is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port(pub u16);

/// A port that is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not a port: give a number from 0 to 65535")]
pub struct BadPort(String);

impl FromStr for Port {
    type Err = BadPort;

    fn from_str(text: &str) -> Result<Self, BadPort> {
        text.parse().map(Self).map_err(|_| BadPort(text.to_owned()))
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An address to listen on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address(pub IpAddr);

/// An address that is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not an IP address: give one such as 127.0.0.1, 192.0.2.7, or 0.0.0.0 for all")]
pub struct BadAddress(String);

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        if text == "localhost" {
            return Ok(Self::default());
        }
        text.parse().map(Self).map_err(|_| BadAddress(text.to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Default for Address {
    fn default() -> Self {
        Self(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

/// The place of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePath(pub PathBuf);

impl FromStr for FilePath {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.into()))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// What is logged, as [`EnvFilter`] has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFilter(pub String);

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(format!(
                "{text:?} is no filter of a log ({error}): give error, warn, info or debug"
            )),
        }
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is done on file systems of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NetworkFileSystem {
    /// Nothing is changed.
    #[default]
    Refuse,
    /// Changes are made: no other machine uses the store.
    Allow,
}

impl FromStr for NetworkFileSystem {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "refuse" => Ok(Self::Refuse),
            "allow" => Ok(Self::Allow),
            _ => Err(format!("{word:?} is neither refuse nor allow")),
        }
    }
}

impl fmt::Display for NetworkFileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "refuse",
            Self::Allow => "allow",
        })
    }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(set)")
    }
}

impl<T: Default> Default for Chosen<T> {
    fn default() -> Self {
        Self { value: T::default(), source: Source::Default }
    }
}

/// A value and where it comes from, as a person reads them.
pub(super) fn row<T: fmt::Display>(value: Option<&T>, source: &Source) -> Option<(String, Source)> {
    value.map(|value| (value.to_string(), source.clone()))
}

/// The same for a value that was chosen.
pub(super) fn chosen<T: fmt::Display>(chosen: Option<&Chosen<T>>) -> Option<(String, Source)> {
    chosen.and_then(|chosen| row(Some(&chosen.value), &chosen.source))
}
