//! The pages that show the issues of a query: the list and the board.

use super::{InvalidParameter, ListQuery, Parameters, joined, query_string};
use ait_domain::string_enum;

string_enum! {
    /// What the issues of a group of the list have in common, and the cards in a row of the board.
    pub(crate) enum Rows {
        /// Their status. Only in the list: the columns of the board have it.
        Status = "status",
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
    /// The list, with groups if it has any.
    List(Option<Rows>),
    /// The board, with rows if it has any.
    Board(Option<Rows>),
}

impl Place {
    /// Parses what an address of the list has besides its query.
    pub fn list(parameters: &Parameters) -> Result<Self, InvalidParameter> {
        let expected = || joined(Rows::words());
        Ok(Self::List(parameters.get("rows", expected, Rows::from_word)?))
    }

    /// Parses what an address of the board has besides its query.
    pub fn board(parameters: &Parameters) -> Result<Self, InvalidParameter> {
        let words = Rows::words().filter(|word| *word != Rows::Status.as_str());
        let known = |word: &str| Rows::from_word(word).filter(|rows| *rows != Rows::Status);
        Ok(Self::Board(parameters.get("rows", || joined(words), known)?))
    }

    /// Returns the place and the query that an address names: the list of all issues if it names neither page.
    pub fn of_address(address: &str) -> (Self, ListQuery) {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let parameters = Parameters::of_page(Some(query));
        let place = match path {
            "/board" => Self::board(&parameters),
            _ => Self::list(&parameters),
        };
        (place.unwrap_or(Self::List(None)), ListQuery::parse(Some(query)).unwrap_or_default())
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::List(_) => "/",
            Self::Board(_) => "/board",
        }
    }

    pub fn is_board(self) -> bool {
        matches!(self, Self::Board(_))
    }

    /// Returns the groups of the list, or the rows of the board.
    pub fn rows(self) -> Option<Rows> {
        let (Self::List(rows) | Self::Board(rows)) = self;
        rows
    }

    /// Returns the address of the page with the issues of a query.
    pub fn address(self, query: &ListQuery) -> String {
        format!("{}{}", self.path(), self.query_string(query))
    }

    /// Returns what follows the path in that address, which is what a saved view keeps.
    pub fn query_string(self, query: &ListQuery) -> String {
        let mut parameters = query.parameters();
        parameters.extend(self.rows().map(|rows| ("rows", rows.to_string())));
        query_string(parameters)
    }

    /// Returns the same page with what a saved view keeps. The board has no rows by status.
    pub fn with_view(self, saved: &str) -> (Self, ListQuery) {
        match Self::of_address(&format!("{}{saved}", self.path())) {
            (place, query) if place.is_board() == self.is_board() => (place, query),
            (_, query) => (Self::Board(None), query),
        }
    }

    /// Returns the page that shows the same issues in the other form.
    pub fn other(self) -> Self {
        match self {
            Self::List(_) => Self::Board(None),
            Self::Board(_) => Self::List(None),
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
            ("/?rows=status", "/?rows=status"),
            ("/board?rows=status", "/"),
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
    fn a_view_has_the_same_rows_on_both_pages() {
        for (saved, list, board) in [
            ("?label=ui&rows=agent", "/?label=ui&rows=agent", "/board?label=ui&rows=agent"),
            ("?label=ui&rows=status", "/?label=ui&rows=status", "/board?label=ui"),
            ("?label=ui", "/?label=ui", "/board?label=ui"),
            ("?rows=whole", "/?rows=whole", "/board?rows=whole"),
            ("", "/", "/board"),
        ] {
            for (page, expected) in [("/?rows=label", list), ("/board?rows=label", board)] {
                let (place, query) = Place::of_address(page).0.with_view(saved);
                assert_eq!(place.address(&query), expected, "{saved} on {page}");
            }
        }
    }

    #[test]
    fn the_other_page_has_the_same_query() {
        let (place, query) = Place::of_address("/board?ready=true&rows=whole");
        assert_eq!(place.other().address(&query), "/?ready=true");
        assert_eq!(place.other().other().address(&query), "/board?ready=true");
    }
}
