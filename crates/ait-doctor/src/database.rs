//! Checks of a store in a database.

use super::{Check, CheckContext, Finding};
use ait_domain::Timestamp;
use ait_store::{DatabaseHealth, Probe};
use ait_tracker::hints;

/// The tolerated difference between the clocks of this machine and the database.
const CLOCK_TOLERANCE_MS: i64 = 30_000;

/// Asks the database for what the next read and the next change would answer.
pub(super) async fn examine(context: &CheckContext, url: &str) -> Vec<Finding> {
    let check = Check::Database;
    let health = context.store.health(Probe::Trial).await;
    let finding = match (health.trouble, health.warning) {
        (Some(trouble), _) => {
            let reason = hints::for_store(&trouble, &hints::COMMANDS);
            Finding::problem(check, reason).fix(format!("`psql {url}` tries the connection"))
        }
        (None, Some(warning)) => {
            Finding::warning(check, warning).fix("docs/postgres.md says how to set the server up")
        }
        (None, None) => {
            let oldest_s = health.database.as_ref().map_or(0, |found| found.oldest_snapshot_s);
            Finding::ok(
                check,
                format!(
                    "{url} can be read and changed; the oldest open transaction is {oldest_s} s old"
                ),
            )
        }
    };
    let mut findings = vec![finding];
    findings.extend(health.database.iter().flat_map(|found| slow(context.now, found)));
    findings
}

/// Returns what does not keep the store from working, but is not as it should be.
fn slow(now: Timestamp, found: &DatabaseHealth) -> Vec<Finding> {
    let check = Check::Database;
    let mut findings = Vec::new();
    if !found.missing_indexes.is_empty() {
        let names = found.missing_indexes.join(", ");
        let warning =
            format!("indexes are missing or not valid: {names}; claims and lists are slow");
        findings.push(Finding::warning(check, warning).fix(
            "as the owner of the schema, REINDEX those that are not valid, and create the missing ones as in \
             crates/ait-store/src/postgres/schema.sql",
        ));
    }
    if !found.search_repair.is_empty() {
        let warning = if found.has_search_index {
            "the extension pg_trgm is in the schema of a project: with that, the search indexes of all are dropped"
        } else {
            "searches read all texts, because the index issue_search_texts is missing or not valid"
        };
        findings.push(Finding::warning(check, warning).fix(format!(
            "as a superuser of the database: `{}` (pg_trgm comes with the package postgresql-contrib)",
            found.search_repair.join("; ")
        )));
    }
    if !found.bloated_tables.is_empty() {
        let names = found.bloated_tables.join(", ");
        let warning = format!("tables have many more old rows than current ones: {names}");
        findings.push(Finding::warning(check, warning).fix(
            "end transactions that are open for long (pg_stat_activity), check that autovacuum is on, and VACUUM the \
             tables",
        ));
    }
    let ahead_ms = found.clock.unix_millis() - now.unix_millis();
    if ahead_ms.abs() > CLOCK_TOLERANCE_MS {
        let warning = format!(
            "the clock of the database says {}, that of this machine {now}: times in histories come from this one",
            found.clock
        );
        findings.push(Finding::warning(check, warning).fix("set the clock that is wrong"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(clock: &str, now: &str) -> usize {
        let [clock, now] = [clock, now].map(|time| Timestamp::parse(time).unwrap());
        let found = DatabaseHealth {
            oldest_snapshot_s: 0,
            clock,
            missing_indexes: Vec::new(),
            has_search_index: true,
            search_repair: Vec::new(),
            bloated_tables: Vec::new(),
        };
        slow(now, &found).len()
    }

    #[test]
    fn a_wrong_clock_is_found_in_either_direction() {
        let now = "2026-01-31T12:00:30Z";
        assert_eq!(warnings("2026-01-31T12:00:00Z", now), 0);
        assert_eq!(warnings("2026-01-31T12:01:00Z", now), 0);
        assert_eq!(warnings("2026-01-31T11:59:59Z", now), 1);
        assert_eq!(warnings("2026-01-31T12:01:01Z", now), 1);
    }
}
