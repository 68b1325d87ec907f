//! The numbers that stand in statements for statuses, classifications and kinds of links.

use super::rows::SLOTS;
use ait_domain::{Classification, LinkKind, Status};

/// Fills the numbers into a statement: `{created}` and the words of all other statuses, `{parent}` and those of all
/// other kinds of links. `{ended}` is the first status that ends an issue, behind which there are only such ones.
pub(crate) fn with_numbers(statement: &str) -> String {
    let ended = Status::ALL.iter().find(|status| status.has_ended());
    let statuses = Status::ALL.iter().map(|status| (status.as_str(), *status as usize));
    let links = LinkKind::ALL.iter().map(|kind| (kind.as_str(), *kind as usize));
    let others = [
        ("ended", ended.map_or(Status::ALL.len(), |status| *status as usize)),
        ("last_kind", Classification::of_work().count() - 1),
        ("last_slot", SLOTS - 1),
    ];
    let numbers = statuses.chain(links).chain(others);
    numbers.fold(statement.to_owned(), |statement, (word, number)| {
        statement.replace(&format!("{{{word}}}"), &number.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_that_end_an_issue_come_last() {
        let statuses = Status::ALL.iter();
        assert!(statuses.skip_while(|status| status.is_open()).all(|status| status.has_ended()));
    }

    #[test]
    fn the_indexes_of_the_schemas_have_these_numbers() {
        let known = ["= {created}", "= {completed}", "< {ended}"].map(with_numbers);
        assert_eq!(known, ["= 0", "= 2", "< 4"]);
        let sqlite = include_str!("../sqlite/schema.sql");
        let postgres = include_str!("../postgres/schema.sql");
        for (schema, expected) in [(sqlite, 5), (postgres, 6)] {
            let words = schema.split("status ").skip(1);
            let compared: Vec<_> = words.filter(|rest| rest.starts_with(['=', '<', '>'])).collect();
            assert_eq!(compared.len(), expected);
            for rest in compared {
                assert!(known.iter().any(|known| rest.starts_with(known)), "status {rest}");
            }
        }
    }
}
