//! The bytes of a backup.
//!
//! ```json
//! {
//!   "issues": [ … ],
//!   "backup": {
//!     "madeAt": "2026-01-31T09:30:00.000Z",
//!     "issues": 3,
//!     "checksum": "xxh3-128:0123456789abcdef0123456789abcdef"
//!   }
//! }
//! ```
//!
//! The document of `issues.json`, byte for byte, with one more key behind all others. So a copy of it is
//! an `issues.json` too; the key is left out when that is next written.
//!
//! * `madeAt`: when; `issues`: how many there are.
//! * `partial`: what was damaged, when the backup has only the part of the issues that could be read.
//! * `checksum`: XXH3-128 of all bytes before the digits. What follows these is always the same, so that
//!   no byte of the file can change unnoticed.
//!
//! A file without that key, such as a copy of `issues.json`, is read as well; only nobody can tell then
//! whether it is what somebody wrote.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::domain::{Extra, Timestamp};
use crate::store::json::format::{self, Document, FormatError};

/// The key of what a backup tells about itself.
const KEY: &str = "backup";
/// What stands before that in a file that was not changed.
const BEGIN: &[u8] = b",\n  \"backup\": ";
const BEFORE_DIGITS: &str = ",\n    \"checksum\": \"xxh3-128:";
const BEHIND_DIGITS: &[u8] = b"\"\n  }\n}\n";
const DIGITS: usize = 32;
/// The end of every document.
const CLOSE: &[u8] = b"\n}\n";
/// How much is gathered before it is passed on.
const CHUNK_BYTES: usize = 256 * 1024;

/// What a backup tells about itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// When it was made.
    pub made_at: Timestamp,
    /// How many issues it has.
    pub issues: usize,
    /// What was damaged, when it has only what could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Which checksum it has; empty until it is written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checksum: String,
}

/// What a backup holds.
#[derive(Clone, Debug)]
pub struct Backup {
    /// The issues, and whatever else was kept beside them.
    pub document: Document,
    /// What it tells about itself; `None` for a file that was not written as a backup, and was not
    /// checked either.
    pub about: Option<About>,
}

/// What is wrong with the bytes of a backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// They are not what was written.
    Changed,
    /// They hold no issues.
    Format(FormatError),
}

/// Leaves out what a backup told about itself, in a document that was copied from one.
pub fn forget(extra: &mut Extra) {
    // A key of that name that says something else is somebody's own.
    if extra.get(KEY).is_some_and(|text| serde_json::from_str::<About>(text).is_ok()) {
        extra.remove(KEY);
    }
}

/// Writes a backup; gives what it tells about itself, with its checksum.
///
/// # Errors
///
/// Those of `out`.
pub fn write(document: &Document, about: About, out: &mut impl Write) -> io::Result<About> {
    let mut document = document.clone();
    // Whatever has this name, there is room for one.
    document.extra.remove(KEY);
    let mut sink = Sink { out, hasher: Xxh3::new(), held: Vec::with_capacity(CHUNK_BYTES) };
    format::write(&document, &mut sink)?;
    sink.open()?;
    let Some(open) = serde_json::to_vec_pretty(&AboutAlone { backup: &about })?
        .strip_suffix(b"\n  }\n}")
        .and_then(|text| text.strip_prefix(b"{\n").map(<[u8]>::to_vec))
    else {
        return Err(io::Error::other("what a backup tells about itself has another form"));
    };
    sink.write_all(b",\n")?;
    sink.write_all(&open)?;
    sink.write_all(BEFORE_DIGITS.as_bytes())?;
    sink.pass_on(0)?;
    let digits = format!("{:032x}", sink.hasher.digest128());
    out.write_all(digits.as_bytes())?;
    out.write_all(BEHIND_DIGITS)?;
    Ok(About { checksum: named(&digits), ..about })
}

/// Reads a backup, or an `issues.json`.
///
/// # Errors
///
/// It is neither, or the checksum does not fit.
pub fn read(mut bytes: Vec<u8>) -> Result<Backup, Flaw> {
    let Some((place, about)) = sealed(&bytes)? else {
        let document = format::parse(bytes).map_err(Flaw::Format)?;
        // Written as a backup, and changed since then: perhaps only in its form, perhaps not.
        let is_about = |text: &str| serde_json::from_str::<About>(text).is_ok();
        let is_seal = |(key, value): (&str, &RawValue)| key == KEY || is_about(value.get());
        return if document.extra.iter().any(is_seal) {
            Err(Flaw::Changed)
        } else {
            Ok(Backup { document, about: None })
        };
    };
    bytes.truncate(place);
    bytes.extend_from_slice(CLOSE);
    let document = format::parse(bytes).map_err(Flaw::Format)?;
    Ok(Backup { document, about: Some(about) })
}

/// Where what a backup tells about itself begins, and what that is; `None` when the bytes do not end as
/// those of a backup.
fn sealed(bytes: &[u8]) -> Result<Option<(usize, About)>, Flaw> {
    let Some(hashed) = bytes.strip_suffix(BEHIND_DIGITS) else { return Ok(None) };
    let Some((hashed, digits)) = hashed.split_at_checked(hashed.len().saturating_sub(DIGITS))
    else {
        return Ok(None);
    };
    let Some(rest) = hashed.strip_suffix(BEFORE_DIGITS.as_bytes()) else { return Ok(None) };
    if format!("{:032x}", xxh3_128(hashed)).as_bytes() != digits {
        return Err(Flaw::Changed);
    }
    let place = rest.windows(BEGIN.len()).rposition(|window| window == BEGIN);
    let about = place.and_then(|place| {
        let text = [&rest[place + BEGIN.len()..], b"}"].concat();
        let about: About = serde_json::from_slice(&text).ok()?;
        Some((place, About { checksum: named(str::from_utf8(digits).ok()?), ..about }))
    });
    about.map(Some).ok_or(Flaw::Changed)
}

fn named(digits: &str) -> String {
    format!("xxh3-128:{digits}")
}

#[derive(Serialize)]
struct AboutAlone<'a> {
    backup: &'a About,
}

/// Hashes what it passes on in chunks, and holds back at least the end of a document.
struct Sink<'a, W> {
    out: &'a mut W,
    hasher: Xxh3,
    held: Vec<u8>,
}

impl<W: Write> Sink<'_, W> {
    /// Takes back the end of the document, so that another key can follow.
    fn open(&mut self) -> io::Result<()> {
        let length = self.held.strip_suffix(CLOSE).map(<[u8]>::len);
        let length = length.ok_or_else(|| io::Error::other("the document has another end"))?;
        self.held.truncate(length);
        Ok(())
    }

    /// Passes on everything but the last bytes.
    fn pass_on(&mut self, but: usize) -> io::Result<()> {
        let length = self.held.len().saturating_sub(but);
        self.out.write_all(&self.held[..length])?;
        self.hasher.update(&self.held[..length]);
        self.held.drain(..length);
        Ok(())
    }
}

impl<W: Write> Write for Sink<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= CHUNK_BYTES {
            self.pass_on(CLOSE.len())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "{\n  \"issues\": [],\n  \"other\": {\n  \"backup\": 1e400}\n}\n";

    fn about() -> About {
        let made_at = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        About { made_at, issues: 0, partial: Some("a \"b\"\n".to_owned()), checksum: String::new() }
    }

    fn sample() -> Vec<u8> {
        let document = format::parse(PLAIN).unwrap();
        let mut bytes = Vec::new();
        write(&document, about(), &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_bytes_are_those_of_the_document_and_a_key_more() {
        let text = String::from_utf8(sample()).unwrap();
        let begin = PLAIN.strip_suffix("\n}\n").unwrap();
        let key = ",\n  \"backup\": {\n    \"madeAt\": \"2026-01-31T09:30:00.000Z\",\n    \
                   \"issues\": 0,\n    \"partial\": \"a \\\"b\\\"\\n\",\n    \"checksum\": \"xxh3-128:";
        let digits = text.strip_prefix(begin).unwrap().strip_prefix(key).unwrap();
        assert!(digits.strip_suffix("\"\n  }\n}\n").is_some_and(|it| it.len() == 32), "{text}");
    }

    #[test]
    fn what_is_written_is_read_and_what_a_copy_told_of_itself_is_not_written_again() {
        let first = read(sample()).unwrap();
        assert_eq!(first.about.as_ref().map(|it| it.made_at), Some(about().made_at));
        let plain = |document: &Document| {
            let mut bytes = Vec::new();
            format::write(document, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(plain(&first.document), PLAIN);
        let copied = format::parse(sample()).unwrap();
        let mut again = Vec::new();
        assert_eq!(Some(write(&copied, about(), &mut again).unwrap()), first.about);
        assert_eq!(again, sample());
    }

    #[test]
    fn a_document_that_was_not_written_as_a_backup_is_read_and_not_called_checked() {
        assert_eq!(read(PLAIN.into()).unwrap().about, None);
        assert!(matches!(read(b"{".to_vec()), Err(Flaw::Format(_))));
    }

    #[test]
    fn no_flipped_bit_and_no_cut_goes_unnoticed() {
        let bytes = sample();
        for place in 0..bytes.len() {
            assert!(read(bytes[..place].to_vec()).is_err(), "cut at {place}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[place] ^= 1 << bit;
                assert!(read(flipped).is_err(), "bit {bit} of byte {place}");
            }
        }
    }

    #[test]
    fn another_form_of_the_same_backup_is_not_taken_for_it() {
        let text = String::from_utf8(sample()).unwrap();
        for other in [text.replace('\n', "\r\n"), format!("{text}\n"), text.replace("  ", " ")] {
            assert_eq!(read(other.into_bytes()).unwrap_err(), Flaw::Changed);
        }
    }
}
