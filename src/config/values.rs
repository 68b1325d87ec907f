//! The types of the settings' values: how to parse them, and the errors for invalid ones.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tracing_subscriber::filter::Targets;

use ait_domain::{Usage, string_enum};

/// Shows types as the values that they wrap.
macro_rules! shown_as_value {
    ($($name:ident)+) => {
        $(impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        })+
    };
}
shown_as_value! { Port ProjectName RepositoryUrl Address LogFilter Switch Limit }

/// Takes any text as a value.
macro_rules! taken_as_given {
    ($($name:ident)+) => {
        $(impl FromStr for $name {
            type Err = Infallible;

            fn from_str(text: &str) -> Result<Self, Infallible> {
                Ok(Self(text.into()))
            }
        })+
    };
}
taken_as_given! { FilePath StoreUrl Secret }

/// Parses the wrapped value; of another text, says what it is not.
macro_rules! parsed_as_value {
    ($($name:ident: $problem:literal;)+) => {
        $(impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                text.parse().map(Self).map_err(|_| format!("{text:?} {}", $problem))
            }
        })+
    };
}
parsed_as_value! {
    Port: "is not a port: give a number from 0 to 65535";
    Switch: "is neither true nor false";
    Limit: "is not a number: give one such as 3, or 0 for no limit";
}

/// A TCP port; 0 means any free port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port(pub u16);

/// What the tokens of models cost, in a currency that the project chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Price {
    /// How the names of the models begin.
    pub model: String,
    /// What a million tokens cost, in millionths of the currency: those that the model reads, those from its cache, and
    /// those that it writes.
    costs: [u64; 3],
}

impl Price {
    /// Returns what a usage costs by the most exact of some prices, in millionths of the currency. `None` if none is
    /// for its model.
    pub fn micros(prices: &[Self], usage: &Usage) -> Option<u64> {
        let fits = |price: &&Self| usage.model.starts_with(&price.model);
        let price = prices.iter().filter(fits).max_by_key(|price| price.model.len())?;
        let uncached = usage.input.saturating_sub(usage.cached);
        let parts = [uncached, usage.cached, usage.output].into_iter().zip(price.costs);
        let micros: u128 = parts.map(|(tokens, cost)| u128::from(tokens) * u128::from(cost)).sum();
        u64::try_from(micros / 1_000_000).ok()
    }
}

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const MAX: f64 = 1e6;
        let cost = |text: &str| {
            let cost = text.trim().parse().ok().filter(|cost| (0.0..=MAX).contains(cost))?;
            Some((cost * 1e6).round() as u64)
        };
        let parse = || {
            let (model, costs) = text.split_once('=')?;
            let costs: Vec<u64> = costs.split('/').map(cost).collect::<Option<_>>()?;
            let costs = costs.try_into().ok()?;
            let model = Some(model.trim()).filter(|model| !model.is_empty())?;
            Some(Self { model: model.to_owned(), costs })
        };
        parse().ok_or_else(|| {
            format!(
                "{text:?} is no price: give MODEL=INPUT/CACHED/OUTPUT, what a million tokens of each kind cost, such as \
                 claude-opus=15/1.5/75"
            )
        })
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [input, cached, output] = self.costs.map(|cost| cost as f64 / 1e6);
        write!(f, "{}={input}/{cached}/{output}", self.model)
    }
}

/// The most characters of the name of a project.
const MAX_NAME_CHARS: usize = 100;

/// The name of a project.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectName(pub String);

impl FromStr for ProjectName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let length = text.chars().count();
        if (1..=MAX_NAME_CHARS).contains(&length) && !text.contains(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "{text:?} is not a name: give one line of 1 to {MAX_NAME_CHARS} characters"
            ))
        }
    }
}

/// The most characters of the address of a repository.
const MAX_URL_CHARS: usize = 300;

/// The address of the web page of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepositoryUrl(pub String);

impl FromStr for RepositoryUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_plain =
            |character: char| character.is_ascii_alphanumeric() || "-._~/:%+".contains(character);
        let is_host =
            rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphanumeric()));
        // Without a name, a password, a query or a fragment, which do not belong into links.
        if is_host && text.chars().all(is_plain) && text.len() <= MAX_URL_CHARS {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "{text:?} is not the address of a repository: give one such as https://github.com/acme/shop, of at \
                 most {MAX_URL_CHARS} characters and without ?, # and @"
            ))
        }
    }
}

/// An address to listen on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address(pub IpAddr);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "localhost" {
            return Ok(Self::default());
        }
        text.parse().map(Self).map_err(|_| {
            format!("{text:?} is not an IP address: give one such as 127.0.0.1, 192.0.2.7, or 0.0.0.0 for all")
        })
    }
}

impl Default for Address {
    fn default() -> Self {
        Self(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

/// The path of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePath(pub PathBuf);

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// A log filter in the syntax of [`Targets`]: a level, or targets with their levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFilter(pub String);

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<Targets>() {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(format!(
                "{text:?} is not a log filter ({error}): give error, warn, info or debug"
            )),
        }
    }
}

/// A setting that is on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Switch(pub bool);

string_enum! {
    /// The policy for network file systems.
    #[derive(Default)]
    pub enum NetworkFileSystem {
        /// Refuse all changes.
        #[default]
        Refuse = "refuse",
        /// Allow changes, because no other machine uses the store.
        Allow = "allow",
    }
}

/// The retention limit of the event log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeptEvents {
    /// The maximum size in bytes.
    Bytes(u64),
    /// The maximum age.
    Age(Duration),
}

/// The units of sizes and their bytes. A size is displayed in the first unit that divides it.
const SIZE_UNITS: [(&str, u64); 14] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
    ("B", 1),
];

impl FromStr for KeptEvents {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(bytes) = size(text) {
            return Ok(Self::Bytes(bytes));
        }
        humantime::parse_duration(text).map(Self::Age).map_err(|_| {
            format!(
                "{text:?} is neither a size nor a time: give a size such as 1GiB or 500MB, or a time such as \
                 30d or 12h"
            )
        })
    }
}

/// Parses a number with a unit into bytes.
fn size(text: &str) -> Option<u64> {
    let (number, bytes) = SIZE_UNITS.iter().find_map(|(unit, bytes)| {
        let number = text.strip_suffix(unit)?.trim_end();
        number.ends_with(|last: char| last.is_ascii_digit()).then_some((number, bytes))
    })?;
    number.parse::<u64>().ok()?.checked_mul(*bytes)
}

impl fmt::Display for KeptEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes(bytes) => {
                let mut units = SIZE_UNITS.iter();
                let whole = units.find(|(_, unit)| bytes >= *unit && bytes % unit == 0);
                let (unit, each) = whole.unwrap_or(&("B", 1));
                write!(f, "{}{unit}", bytes / each)
            }
            Self::Age(age) => humantime::format_duration(age).fmt(f),
        }
    }
}

/// A time span, which may be zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Period(pub Duration);

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self(Duration::ZERO));
        }
        let parsed = humantime::parse_duration(text).map(Self);
        parsed.map_err(|_| {
            format!("{text:?} is not a time: give one such as 30s or 60m, or 0 for none")
        })
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() { f.write_str("0") } else { humantime::format_duration(self.0).fmt(f) }
    }
}

/// A maximum number; 0 for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit(usize);

impl Limit {
    /// Returns the maximum; `None` for no limit.
    pub fn get(self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.0)
    }
}

/// The URL of a database that is the store. Whether it is valid is found out when the store is opened, so that a wrong
/// one never leads to another store. It is shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(pub String);

impl StoreUrl {
    /// Returns the URL without its password.
    pub fn without_password(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else { return self.0.clone() };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = match authority.rsplit_once('@') {
            Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
            None => authority.to_owned(),
        };
        let (path, parameters) = path.split_once('?').unwrap_or((path, ""));
        let is_shown = |parameter: &&str| !parameter.starts_with("password=");
        let parameters: Vec<_> =
            parameters.split('&').filter(|one| !one.is_empty()).filter(is_shown).collect();
        let mark = if parameters.is_empty() { "" } else { "?" };
        format!("{scheme}://{authority}{path}{mark}{}", parameters.join("&"))
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_password())
    }
}

/// A text that is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_urls_are_shown_without_passwords() {
        for (given, shown) in [
            ("postgres://ann:secret@db/issues?schema=a", "postgres://ann@db/issues?schema=a"),
            ("postgres://ann:se%40cret@[::1]:5432/i", "postgres://ann@[::1]:5432/i"),
            ("postgres://ann:p@ss@db/i", "postgres://ann@db/i"),
            ("postgres://db/i?password=secret&schema=a", "postgres://db/i?schema=a"),
            ("postgresql:///i?user=ann&password=secret", "postgresql:///i?user=ann"),
            ("postgres://:secret@db", "postgres://@db"),
            ("issues.json", "issues.json"),
        ] {
            let url: StoreUrl = given.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
        }
    }

    #[test]
    fn kept_events_parses_a_size_or_a_duration() {
        let size = |bytes| Ok(KeptEvents::Bytes(bytes));
        let hours = |hours: u64| Ok(KeptEvents::Age(Duration::from_secs(hours * 3600)));
        for (text, expected, shown) in [
            ("1GiB", size(1 << 30), "1GiB"),
            ("2G", size(2 << 30), "2GiB"),
            ("500MB", size(500_000_000), "500MB"),
            ("1500 kB", size(1_500_000), "1500kB"),
            ("7B", size(7), "7B"),
            ("0B", size(0), "0B"),
            ("30d", hours(720), "30days"),
            ("12h", hours(12), "12h"),
            ("1day 6h", hours(30), "1day 6h"),
        ] {
            let parsed: Result<KeptEvents, _> = text.parse();
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(parsed.unwrap().to_string(), shown);
            assert_eq!(shown.parse(), expected, "{shown}");
        }
        for text in ["", "1", "GiB", "-1GB", "1.5GB", "1 gib", "99999999TiB", "soon"] {
            let error = text.parse::<KeptEvents>().unwrap_err();
            assert!(error.contains("1GiB") && error.contains("30d"), "{error}");
        }
    }
}
