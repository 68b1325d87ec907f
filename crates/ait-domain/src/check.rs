//! The commands that work must pass.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::Classification;

/// A shell command that work must pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Which work; `None` for what has no check of its own.
    kind: Option<Classification>,
    command: Arc<str>,
}

impl Check {
    /// Returns the command.
    pub fn command(&self) -> &str {
        &self.command
    }
}

impl FromStr for Check {
    type Err = Infallible;

    /// Parses a command, or `KIND=COMMAND`. Before a command may be other words with `=`, which set variables.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let of_kind = text.split_once('=').and_then(|(word, command)| {
            let kind = Classification::of_work().find(|kind| kind.as_str() == word.trim())?;
            Some(Self { kind: Some(kind), command: command.trim().into() })
        });
        Ok(of_kind.unwrap_or_else(|| Self { kind: None, command: text.trim().into() }))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{kind}={}", self.command),
            None => f.write_str(&self.command),
        }
    }
}

/// The checks of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checks(Arc<[Check]>);

impl Checks {
    /// Returns the command for work of a kind, if there is one: its own, else the one for what has none.
    pub fn of(&self, kind: Classification) -> Option<&str> {
        let of = |kind| self.0.iter().find(move |check| check.kind == kind);
        let check = of(Some(kind)).or_else(|| of(None));
        check.map(|check| &*check.command).filter(|command| !command.is_empty())
    }
}

impl TryFrom<Vec<Check>> for Checks {
    type Error = String;

    /// Refuses two checks for the same work, of which one would never run.
    fn try_from(checks: Vec<Check>) -> Result<Self, String> {
        let is_second = |(at, check): (usize, &Check)| {
            checks[..at].iter().any(|earlier| earlier.kind == check.kind)
        };
        match checks.iter().enumerate().find(|one| is_second(*one)) {
            Some((_, check)) => Err(format!(
                "{check:?} is the second check for the same work: join the commands with &&, or begin it with a \
                 classification and =, as in docs=COMMAND",
                check = check.to_string()
            )),
            None => Ok(Self(checks.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_the_check_of_its_kind_or_else_the_one_of_all() {
        let texts = ["RUST_LOG=info cargo test", "docs= mdl docs", "feature="];
        let checks = |texts: &[&str]| {
            let checks: Vec<Check> = texts.iter().map(|text| text.parse().unwrap()).collect();
            Checks::try_from(checks)
        };
        assert!(checks(&["cargo test", "cargo clippy"]).is_err());
        let checks = checks(&texts).unwrap();
        assert_eq!(checks.of(Classification::Bug), Some("RUST_LOG=info cargo test"));
        assert_eq!(checks.of(Classification::Docs), Some("mdl docs"));
        assert_eq!(checks.of(Classification::Feature), None);
        assert_eq!(Checks::default().of(Classification::Bug), None);
    }
}
