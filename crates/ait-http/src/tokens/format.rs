//! The text format of tokens, and its errors.
//!
//! Errors quote no word of a line, because any of them could be the secret.

use std::collections::HashMap;
use std::fmt;

use super::{Principal, Scope, Token, Tokens};

/// The minimum length of a secret, in characters.
const MIN_CHARS: usize = 16;
/// The maximum length of the name of a token, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Why a token text is invalid. Never contains any of the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct BadToken {
    /// The number of the line, from 1; `None` for the text as a whole.
    line: Option<usize>,
    problem: Problem,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
enum Problem {
    #[error(
        "there is no token: give a secret of at least {MIN_CHARS} characters, such as \
         `openssl rand -hex 32` prints"
    )]
    Empty,
    #[error(
        "write NAME read-only SECRET, NAME read-write SECRET or NAME lead SECRET, with spaces between, \
         and before the secret the role of its agents, if they have one"
    )]
    Form,
    #[error("the second word must be read-only, read-write or lead")]
    Scope,
    #[error("the third of four words must be a role, of a-z, 0-9, `-` and `_`")]
    Role,
    #[error(
        "the name may have ASCII letters, digits, `.`, `_` and `-`, and at most {MAX_NAME_CHARS} \
         characters"
    )]
    Name,
    #[error(
        "the secret is too short: use at least {MIN_CHARS} random characters, such as \
         `openssl rand -hex 32` prints"
    )]
    Short,
    #[error(
        "the secret has a character that cannot be sent: use visible ASCII characters only, such as \
         `openssl rand -hex 32` prints"
    )]
    Characters,
    #[error("line {0} has the same name: give each token its own")]
    SameName(usize),
    #[error("line {0} has the same secret: give each token its own")]
    SameSecret(usize),
}

impl fmt::Display for BadToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "line {line}: {}", self.problem),
            None => self.problem.fmt(formatter),
        }
    }
}

pub(super) fn single(secret: &str) -> Result<Tokens, BadToken> {
    let token =
        default_token(secret.trim_ascii()).map_err(|problem| BadToken { line: None, problem })?;
    Ok(Tokens([token].into()))
}

pub(super) fn parse(text: &str) -> Result<Tokens, BadToken> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<(usize, &str)> = (1..)
        .zip(text.lines().map(str::trim_ascii))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .collect();
    if let [(number, secret)] = lines[..]
        && !secret.contains(|character: char| character.is_ascii_whitespace())
    {
        let bad = |problem| BadToken { line: Some(number), problem };
        return Ok(Tokens([default_token(secret).map_err(bad)?].into()));
    }
    let mut tokens = Vec::new();
    let mut names = HashMap::new();
    let mut secrets = HashMap::new();
    for (number, line) in lines {
        let bad = |problem| BadToken { line: Some(number), problem };
        let token = token(line).map_err(bad)?;
        if let Some(other) = names.insert(token.principal.name.clone(), number) {
            return Err(bad(Problem::SameName(other)));
        }
        if let Some(other) = secrets.insert(token.secret_hash, number) {
            return Err(bad(Problem::SameSecret(other)));
        }
        tokens.push(token);
    }
    if tokens.is_empty() {
        return Err(BadToken { line: None, problem: Problem::Empty });
    }
    Ok(Tokens(tokens.into()))
}

fn token(line: &str) -> Result<Token, Problem> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (name, scope, role, secret) = match words[..] {
        [name, scope, secret] => (name, scope, None, secret),
        [name, scope, role, secret] => (name, scope, Some(role), secret),
        _ => return Err(Problem::Form),
    };
    let scope = match scope {
        "read-only" => Scope::ReadOnly,
        "read-write" => Scope::ReadWrite,
        "lead" => Scope::Lead,
        _ => return Err(Problem::Scope),
    };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !is_name || name.len() > MAX_NAME_CHARS {
        return Err(Problem::Name);
    }
    let is_of_role = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if role.is_some_and(|role| !role.bytes().all(is_of_role)) {
        return Err(Problem::Role);
    }
    check(secret)?;
    Ok(Token::new(name, scope, role, secret))
}

fn default_token(secret: &str) -> Result<Token, Problem> {
    check(secret)?;
    Ok(Token::new(Principal::UNNAMED, Scope::ReadWrite, None, secret))
}

fn check(secret: &str) -> Result<(), Problem> {
    if secret.is_empty() {
        Err(Problem::Empty)
    } else if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        Err(Problem::Characters)
    } else if secret.len() < MIN_CHARS {
        Err(Problem::Short)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names and scopes of the tokens in a text with these secrets.
    fn parsed(text: &str, secrets: &[&str]) -> Vec<(String, Scope)> {
        let tokens = Tokens::parse(text).unwrap();
        assert_eq!(tokens.0.len(), secrets.len(), "{text:?}");
        let principals =
            secrets.iter().map(|secret| tokens.principal_with(secret.as_bytes()).unwrap());
        principals.map(|principal| (principal.name().to_owned(), principal.scope())).collect()
    }

    #[test]
    fn tokens_are_parsed_from_lines() {
        let one = "0123456789abcdef";
        let two = "~!@#$%^&*()_+:\"'\\";
        let alone = [("default".to_owned(), Scope::ReadWrite)];
        for text in [
            one.to_owned(),
            format!("{one}\n"),
            format!("\u{feff}{one}\r\n"),
            format!("# a remark\n\n  {one}  \n\n"),
        ] {
            assert_eq!(parsed(&text, &[one]), alone, "{text:?}");
        }
        let both = [("a.b-c_1".to_owned(), Scope::ReadOnly), ("d".to_owned(), Scope::ReadWrite)];
        for text in [
            format!("a.b-c_1 read-only {one}\nd read-write {two}"),
            format!("\n# x\r\n a.b-c_1\tread-only  {one}\r\n   # y z\r\nd read-write {two} \r\n"),
        ] {
            assert_eq!(parsed(&text, &[one, two]), both, "{text:?}");
        }
        assert_eq!(parsed(&format!("d read-write {two}\n"), &[two]), both[1..]);
        let single = Tokens::single(&format!(" {two}\n")).unwrap();
        assert_eq!(single, Tokens::parse(two).unwrap());
        assert_eq!(single.principal_with(two.as_bytes()).unwrap().name(), "default");
    }

    #[test]
    fn only_the_complete_secret_is_valid() {
        let tokens =
            Tokens::parse("a read-only 0123456789abcdef\nb read-write ABCDEF9876543210").unwrap();
        for wrong in
            ["", "0", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "a", "default"]
        {
            assert_eq!(tokens.principal_with(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(Tokens::default().is_empty() && Tokens::default().principal_with(b"").is_none());
    }

    #[test]
    fn errors_name_the_line_without_quoting_it() {
        let good = "good read-write XXXXXXXXXXXXXXXX";
        for (text, line, said) in [
            ("".to_owned(), "", "at least 16"),
            ("# only\n\n# remarks\n".to_owned(), "", "openssl"),
            ("SECRETSECRETSEC".to_owned(), "line 1: ", "at least 16"),
            ("# x\nSECRETSECRETSECRET\u{7f}".to_owned(), "line 2: ", "ASCII"),
            ("SECRETSECRET\u{a0}SECRET".to_owned(), "line 1: ", "ASCII"),
            ("SECRETSECRETSECRETÄ".to_owned(), "line 1: ", "ASCII"),
            ("SECRETSECRETSECRET1\nSECRETSECRETSECRET2".to_owned(), "line 1: ", "NAME read-only"),
            ("NAME SECRETSECRETSECRET".to_owned(), "line 1: ", "NAME read-only"),
            ("NAME read-only SECRETSECRETSECRET x".to_owned(), "line 1: ", "must be a role"),
            (
                "NAME read-only reviewer SECRETSECRETSECRET x".to_owned(),
                "line 1: ",
                "NAME read-only",
            ),
            (format!("{good}\nNAME SECRETSECRETSECRET read-only"), "line 2: ", "read-write"),
            (
                "NAME Read-Only SECRETSECRETSECRET".to_owned(),
                "line 1: ",
                "read-only, read-write or lead",
            ),
            ("SECRETSECRETSECRET read-only NAME".to_owned(), "line 1: ", "at least 16"),
            ("N(ME read-only SECRETSECRETSECRET".to_owned(), "line 1: ", "name may have"),
            (format!("{} read-only SECRETSECRETSECRET", "N".repeat(65)), "line 1: ", "64"),
            (format!("{good}\n\ngood read-only SECRETSECRETSECRET"), "line 3: ", "line 1 has"),
            (format!("{good}\nNAME read-only XXXXXXXXXXXXXXXX"), "line 2: ", "same secret"),
        ] {
            let bad = Tokens::parse(&text).unwrap_err();
            let told = format!("{bad} {bad:?}");
            assert!(told.starts_with(line) && told.contains(said), "{text:?}: {told}");
            for word in ["SECRETS", "XXXX", "good"] {
                assert!(!told.contains(word), "{text:?}: {told}");
            }
        }
        for (text, said) in
            [(" \n", "no token"), ("SECRETS", "at least 16"), ("SECRET SECRET SECRET", "ASCII")]
        {
            let told = Tokens::single(text).unwrap_err().to_string();
            assert!(told.contains(said) && !told.contains("SECRETS"), "{told}");
        }
    }

    #[test]
    fn debug_output_shows_no_secret_or_digest() {
        let shown = format!("{:?}", Tokens::single("XXXXXXXXXXXXXXXX").unwrap());
        assert_eq!(shown, "[Principal { name: \"default\", scope: ReadWrite, role: None }]");
    }
}
