//! The pages that show the issues of a query: the list and the board.

use super::{InvalidParameter, ListQuery, Parameters, joined, query_string};
use ait_domain::string_enum;

string_enum! {
    /// What the cards in a row of the board have in common.
    pub(crate) enum Rows {
        /// Their holder, or else their assignee.
        Agent = "agent",
        /// The whole that they are parts of.
        Whole = "whole",
        /// The first of their labels.
        Label = "label",
    }
}

/// A page that shows the issues of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    List,
    /// The board, with rows if it has any.
    Board(Option<Rows>),
}

impl Place {
    /// Parses the parameters of the board that are not those of the list.
    pub fn board(parameters: &Parameters) -> Result<Self, InvalidParameter> {
        let expected = || joined(Rows::words());
        Ok(Self::Board(parameters.get("rows", expected, Rows::from_word)?))
    }

    /// Returns the place and the query that an address names: the list of all issues if it names neither page.
    pub fn of_address(address: &str) -> (Self, ListQuery) {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let place = match path {
            "/board" => Self::board(&Parameters::of_page(Some(query))),
            _ => Ok(Self::List),
        };
        (place.unwrap_or(Self::List), ListQuery::parse(Some(query)).unwrap_or_default())
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::List => "/",
            Self::Board(_) => "/board",
        }
    }

    /// Returns the address of the page with the issues of a query.
    pub fn address(self, query: &ListQuery) -> String {
        let mut parameters = query.parameters();
        if let Self::Board(Some(rows)) = self {
            parameters.push(("rows", rows.to_string()));
        }
        format!("{}{}", self.path(), query_string(parameters))
    }

    /// Returns the page that shows the same issues in the other form.
    pub fn other(self) -> Self {
        match self {
            Self::List => Self::Board(None),
            Self::Board(_) => Self::List,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_pages_survive_a_round_trip() {
        for (address, expected) in [
            ("/", "/"),
            ("/?status=open&x=1", "/?status=open"),
            ("/board", "/board"),
            ("/board?q=a+b&rows=label&done=park", "/board?q=a+b&rows=label"),
            ("/board?label=UI&rows=agent", "/board?rows=agent"),
            ("/board?label=ui&rows=x", "/?label=ui"),
            ("https://evil.example/?label=ui", "/?label=ui"),
        ] {
            let (place, query) = Place::of_address(address);
            assert_eq!(place.address(&query), expected);
        }
    }

    #[test]
    fn the_other_page_has_the_same_query() {
        let (place, query) = Place::of_address("/board?ready=true&rows=whole");
        assert_eq!(place.other().address(&query), "/?ready=true");
        assert_eq!(place.other().other().address(&query), "/board?ready=true");
    }
}
