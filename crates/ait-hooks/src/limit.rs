//! Holds the agents of a provider whose limit a client reports.

use chrono::Local;

use super::session::HookInput;
use super::transcript::ToldClaim;
use ait_domain::{AgentName, Timestamp};
use ait_query::time_arg::TimeArg;
use ait_tracker::{StoreError, Tracker};

/// How Claude Code 2.1.197 names the reason in `StopFailure`.
const RATE_LIMIT: &str = "rate_limit";
/// What its message says before the time at which the limit ends, as in `You've hit your session limit · resets 3pm`.
const RESETS: &str = "resets ";
/// How long a limit lasts if the message does not say it, in milliseconds: the next agent that meets it reports it
/// again.
const USUAL_MS: i64 = 15 * 60 * 1000;

impl HookInput {
    /// Returns true if the model failed because its provider has reached a limit.
    pub fn has_reached_limit(&self) -> bool {
        self.error.as_deref() == Some(RATE_LIMIT)
    }
}

/// Gives the provider of an agent whose model has reached a limit nothing until that ends. The agent is the one of the
/// session, or made one of the claims. If no setting says whose agents are whose, nothing happens.
///
/// # Errors
///
/// The store cannot be read or changed.
pub async fn hold_after_limit(
    tracker: &Tracker,
    input: &HookInput,
    agent: Option<&AgentName>,
    claims: &[ToldClaim],
) -> Result<(), StoreError> {
    if !input.has_reached_limit() {
        return Ok(());
    }
    let now = tracker.now();
    let usual = || Timestamp::from_unix_millis(now.unix_millis() + USUAL_MS);
    let until = input.last_assistant_message.as_deref().and_then(|text| end_of_limit(text, now));
    let claimants = claims.iter().filter_map(|claim| AgentName::try_from(&*claim.agent).ok());
    let agents: Vec<_> = agent.cloned().into_iter().chain(claimants).collect();
    for provider in tracker.claim_settings().providers.iter() {
        if let Some(agent) = agents.iter().find(|agent| provider.has(agent.as_str())) {
            tracker.hold(provider, Some(until.unwrap_or_else(usual)), agent.clone()).await?;
        }
    }
    Ok(())
}

/// Returns when a limit ends, as the message to a person says it in the zone of this machine.
fn end_of_limit(message: &str, now: Timestamp) -> Option<Timestamp> {
    let said = message.split_once(RESETS)?.1.split(['(', '·', '\n']).next()?;
    let said = said.trim().trim_start_matches("at ").trim_end_matches('.');
    let end = TimeArg::parse(said, &Local).ok()?.time_after(now);
    (end > now).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_limit_is_read_from_the_message() {
        let now = Timestamp::from(chrono::Utc::now());
        for (message, is_read) in [
            ("You've hit your session limit · resets 3pm (Europe/Berlin)", true),
            ("You've hit your limit · resets 11:30am", true),
            ("You've hit your limit · resets at 14:30.\n/upgrade for more", true),
            ("You've hit your weekly limit · resets Dec 3, 3pm (UTC)", false),
            ("API Error: 429", false),
            ("resets ", false),
        ] {
            let end = end_of_limit(message, now);
            assert_eq!(end.is_some_and(|end| end > now), is_read, "{message}");
            // A day in which the clocks change is an hour longer.
            assert!(end.is_none_or(|end| end.millis_since(now) <= 25 * 3_600_000), "{message}");
        }
    }
}
