//! The settings of claims.

use clap::Args;

use super::listed;
use super::settings::{
    CHECK, CLAIM_GRACE, CLAIM_TTL, CLAIMS, MAX_ATTEMPTS, MAX_CLAIMS, OVERLAP, PROVIDERS,
    REQUIRE_CHECK, REVIEW,
};
use super::sources::{Chooser, ConfigError};
use super::values::{Limit, Period, Switch};
use crate::domain::{Check, Checks, ClaimPolicy, ClaimSettings, ReviewPolicy};

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

/// Collects the settings.
pub(super) fn collect<E>(
    chooser: &mut Chooser<'_, E>,
    flags: ClaimFlags,
) -> Result<ClaimSettings, E> {
    let defaults = ClaimSettings::default();
    let no_limit = Limit::default();
    let grace = Period(defaults.grace);
    let ttl = Period(defaults.ttl);
    let checks: Vec<Check> = chooser.list(&CHECK, Vec::new(), listed)?;
    let checks = Checks::try_from(checks)
        .map_err(|problem| ConfigError::BadValue { place: CHECK.name.to_owned(), problem });
    Ok(ClaimSettings {
        checks: chooser.valid(&CHECK, checks)?,
        requires_check: chooser.choose_or(&REQUIRE_CHECK, None, Switch::default())?.value.0,
        policy: chooser.choose_or(&CLAIMS, flags.claims, defaults.policy)?.value,
        grace: chooser.choose_or(&CLAIM_GRACE, flags.claim_grace, grace)?.value.0,
        ttl: chooser.choose_or(&CLAIM_TTL, flags.claim_ttl, ttl)?.value.0,
        max_attempts: chooser.choose_or(&MAX_ATTEMPTS, flags.max_attempts, no_limit)?.value.get(),
        max_claims: chooser.choose_or(&MAX_CLAIMS, flags.max_claims, no_limit)?.value.get(),
        review: chooser.choose_or(&REVIEW, flags.review, defaults.review)?.value,
        providers: chooser.list(&PROVIDERS, Vec::new(), listed)?,
        overlap: chooser.choose_or(&OVERLAP, None, defaults.overlap)?.value,
    })
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
        assert_eq!((REQUIRE_CHECK.default, settings.requires_check), ("false", false));
        assert_eq!(REVIEW.default, settings.review.to_string());
        assert_eq!(OVERLAP.default, settings.overlap.to_string());
    }
}
