//! The settings of claims.

use std::time::Duration;

use clap::Args;

use super::settings::{CLAIM_GRACE, CLAIM_TTL, CLAIMS, MAX_ATTEMPTS, MAX_CLAIMS, REVIEW, Setting};
use super::sources::{Chooser, Source, Sourced};
use super::values::{self, Limit, Period};
use crate::domain::{ClaimPolicy, ClaimSettings, ReviewPolicy};

/// The flags of the settings of claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Args)]
pub struct ClaimFlags {
    /// Whose claims a change may end.
    #[arg(long = CLAIMS.name, value_name = "POLICY", help = CLAIMS.line())]
    pub claims: Option<ClaimPolicy>,

    /// How long an agent may take to come back.
    #[arg(long = CLAIM_GRACE.name, value_name = "TIME", help = CLAIM_GRACE.line())]
    pub claim_grace: Option<Period>,

    /// How long a client over HTTP may be silent.
    #[arg(long = CLAIM_TTL.name, value_name = "TIME", help = CLAIM_TTL.line())]
    pub claim_ttl: Option<Period>,

    /// After how many failed attempts an issue is parked.
    #[arg(long = MAX_ATTEMPTS.name, value_name = "COUNT", help = MAX_ATTEMPTS.line())]
    pub max_attempts: Option<Limit>,

    /// How many issues an agent may hold.
    #[arg(long = MAX_CLAIMS.name, value_name = "COUNT", help = MAX_CLAIMS.line())]
    pub max_claims: Option<Limit>,

    /// Who may review.
    #[arg(long = REVIEW.name, value_name = "POLICY", help = REVIEW.line())]
    pub review: Option<ReviewPolicy>,
}

impl ClaimFlags {
    /// Returns these flags, with unset ones taken from `others`.
    pub(super) fn or(self, others: Self) -> Self {
        Self {
            claims: self.claims.or(others.claims),
            claim_grace: self.claim_grace.or(others.claim_grace),
            claim_ttl: self.claim_ttl.or(others.claim_ttl),
            max_attempts: self.max_attempts.or(others.max_attempts),
            max_claims: self.max_claims.or(others.max_claims),
            review: self.review.or(others.review),
        }
    }
}

/// The effective settings of claims and their sources. Those that are not set have their defaults.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimConfig {
    /// Whose claims a change may end.
    pub claims: Option<Sourced<ClaimPolicy>>,
    /// How long an agent may take to come back.
    pub claim_grace: Option<Sourced<Period>>,
    /// How long a client over HTTP may be silent.
    pub claim_ttl: Option<Sourced<Period>>,
    /// After how many failed attempts an issue is parked.
    pub max_attempts: Option<Sourced<Limit>>,
    /// How many issues an agent may hold.
    pub max_claims: Option<Sourced<Limit>>,
    /// Who may review.
    pub review: Option<Sourced<ReviewPolicy>>,
}

impl ClaimConfig {
    /// Collects the settings.
    pub(super) fn collect<E>(chooser: &mut Chooser<'_, E>, flags: ClaimFlags) -> Result<Self, E> {
        Ok(Self {
            claims: chooser.choose(&CLAIMS, flags.claims)?,
            claim_grace: chooser.choose(&CLAIM_GRACE, flags.claim_grace)?,
            claim_ttl: chooser.choose(&CLAIM_TTL, flags.claim_ttl)?,
            max_attempts: chooser.choose(&MAX_ATTEMPTS, flags.max_attempts)?,
            max_claims: chooser.choose(&MAX_CLAIMS, flags.max_claims)?,
            review: chooser.choose(&REVIEW, flags.review)?,
        })
    }

    pub fn settings(&self) -> ClaimSettings {
        fn of<T: Copy>(chosen: Option<&Sourced<T>>) -> Option<T> {
            chosen.map(|chosen| chosen.value)
        }
        let defaults = ClaimSettings::default();
        let period = |chosen: &Option<Sourced<Period>>, default: Duration| {
            of(chosen.as_ref()).map_or(default, |period| period.0)
        };
        ClaimSettings {
            policy: of(self.claims.as_ref()).unwrap_or(defaults.policy),
            review: of(self.review.as_ref()).unwrap_or(defaults.review),
            max_attempts: of(self.max_attempts.as_ref()).and_then(Limit::get),
            max_claims: of(self.max_claims.as_ref()).and_then(Limit::get),
            grace: period(&self.claim_grace, defaults.grace),
            ttl: period(&self.claim_ttl, defaults.ttl),
        }
    }

    /// Returns the settings for display.
    pub(super) fn rows(&self) -> [(Setting, Option<(String, Source)>); 6] {
        let or_default = |setting: Setting, chosen: Option<(String, Source)>| {
            (setting, Some(chosen.unwrap_or_else(|| (setting.default.to_owned(), Source::Default))))
        };
        [
            or_default(CLAIMS, values::chosen(self.claims.as_ref())),
            or_default(CLAIM_GRACE, values::chosen(self.claim_grace.as_ref())),
            or_default(CLAIM_TTL, values::chosen(self.claim_ttl.as_ref())),
            or_default(MAX_ATTEMPTS, values::chosen(self.max_attempts.as_ref())),
            or_default(MAX_CLAIMS, values::chosen(self.max_claims.as_ref())),
            or_default(REVIEW, values::chosen(self.review.as_ref())),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_in_the_help_are_those_of_the_settings() {
        let settings = ClaimSettings::default();
        assert_eq!(CLAIMS.default, settings.policy.to_string());
        assert_eq!(CLAIM_GRACE.default, Period(settings.grace).to_string());
        assert_eq!(CLAIM_TTL.default, Period(settings.ttl).to_string());
        assert_eq!(MAX_ATTEMPTS.default, "0");
        assert_eq!(MAX_CLAIMS.default, "0");
        assert_eq!((settings.max_attempts, settings.max_claims), (None, None));
        assert_eq!(REVIEW.default, settings.review.to_string());
    }
}
