//! Splits a query into tokens.

use super::QueryError;
use super::keys::{self, Key};

/// A token with its place.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub kind: Kind<'a>,
    /// The byte at which it begins.
    pub begin: usize,
    /// The number of its first character, from 1.
    pub position: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    Open,
    Close,
    Or,
    Not,
    /// A text in quotes.
    Phrase(&'a str),
    Word(&'a str),
    /// `@name`.
    Saved(&'a str),
    /// `key:value`, where the key is known.
    Pair {
        key: Key,
        value: &'a str,
    },
}

/// Returns the tokens of a query. Parentheses are paired.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, QueryError> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new(), open: Vec::new() };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    /// The byte up to which the text is read.
    at: usize,
    tokens: Vec<Token<'a>>,
    /// Where the open parentheses are.
    open: Vec<usize>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), QueryError> {
        loop {
            let rest = self.text[self.at..].trim_start();
            self.at = self.text.len() - rest.len();
            let Some(first) = rest.chars().next() else { break };
            match first {
                '(' => {
                    self.open.push(self.at);
                    self.push(Kind::Open, 1);
                }
                ')' if self.open.pop().is_some() => self.push(Kind::Close, 1),
                ')' => return Err(self.error(self.at, "there is no parenthesis to close")),
                '"' => {
                    let phrase = self.quoted(self.at)?;
                    if phrase.trim().is_empty() {
                        self.at += phrase.len() + 2;
                    } else {
                        self.push(Kind::Phrase(phrase), phrase.len() + 2);
                    }
                }
                '-' if rest[1..].starts_with(|next: char| !next.is_whitespace() && next != '-') => {
                    self.push(Kind::Not, 1);
                }
                _ => self.word(rest)?,
            }
        }
        match self.open.last() {
            Some(&open) => Err(self.error(open, "this parenthesis is not closed: add )")),
            None => Ok(()),
        }
    }

    /// Reads a word, an operator, a saved query or a pair.
    fn word(&mut self, rest: &'a str) -> Result<(), QueryError> {
        let is_end = |next: char| next.is_whitespace() || (next == ')' && !self.open.is_empty());
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let saved = word.strip_prefix('@').filter(|name| is_saved_name(name));
        match (word, saved) {
            ("OR" | "|", _) => self.push(Kind::Or, word.len()),
            // All terms have to hold anyway.
            ("AND" | "&" | "-", _) => self.at += word.len(),
            ("NOT", _) => self.push(Kind::Not, word.len()),
            (_, Some(name)) => self.push(Kind::Saved(name), word.len()),
            _ => self.pair(word)?,
        }
        Ok(())
    }

    /// Reads a pair, or a word that is none.
    fn pair(&mut self, word: &'a str) -> Result<(), QueryError> {
        let name = word.split_once(':').map(|(name, _)| name);
        let Some((name, key)) = name.and_then(|name| Some((name, Key::named(name)?))) else {
            if let Some((name, near)) = name.and_then(|name| Some((name, keys::nearest_to(name)?)))
            {
                let message = format!(
                    "there is no key {name}: did you mean {near}:? To search for the text, put it in quotes"
                );
                return Err(self.error(self.at, message));
            }
            self.push(Kind::Word(word), word.len());
            return Ok(());
        };
        let begin = self.at + name.len() + 1;
        let is_quoted = self.text[begin..].starts_with('"');
        let (value, quotes) =
            if is_quoted { (self.quoted(begin)?, 2) } else { (&word[name.len() + 1..], 0) };
        self.push(Kind::Pair { key, value }, name.len() + 1 + value.len() + quotes);
        Ok(())
    }

    /// Returns the text between the quote at a byte and the next one.
    fn quoted(&self, begin: usize) -> Result<&'a str, QueryError> {
        let inside = &self.text[begin + 1..];
        let end = inside.find('"');
        end.map(|end| &inside[..end])
            .ok_or_else(|| self.error(begin, "this quote is not closed: add \""))
    }

    fn push(&mut self, kind: Kind<'a>, length: usize) {
        let position = self.position(self.at);
        self.tokens.push(Token { kind, begin: self.at, position });
        self.at += length;
    }

    fn position(&self, byte: usize) -> usize {
        self.text[..byte].chars().count() + 1
    }

    fn error(&self, byte: usize, message: impl Into<String>) -> QueryError {
        QueryError { position: self.position(byte), message: message.into() }
    }
}

/// Returns true if a saved query can have a name: 1 to 40 characters of `a-z`, `0-9`, `-` and `_`, beginning with a
/// letter.
pub fn is_saved_name(name: &str) -> bool {
    name.len() <= 40
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}
