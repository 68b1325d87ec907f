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
//! The file is the document of `issues.json`, byte for byte, with one more key at the end. So a copied backup can
//! serve as `issues.json`; the next time that is written, the key is left out.
//!
//! * `madeAt`: when the backup was made; `issues`: the number of issues.
//! * `partial`: what was damaged, if the backup contains only the readable issues.
//! * `checksum`: the XXH3-128 of all bytes before the digits. The bytes after the digits are fixed, so every changed
//!   byte is detected.
//!
//! A file without that key, such as a copy of `issues.json`, is accepted, too, but cannot be verified.

use std::io::{self, BufWriter, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::BackupContent;
use crate::files::format::{self, Document, FormatError};
use ait_domain::{Timestamp, UnknownKeys};

/// The key of the metadata.
const KEY: &str = "backup";
/// The text before the metadata in an unchanged file.
const BEGIN: &[u8] = b",\n  \"backup\": ";
const BEFORE_DIGITS: &str = ",\n    \"checksum\": \"xxh3-128:";
const BEHIND_DIGITS: &[u8] = b"\"\n  }\n}\n";
const DIGITS: usize = 32;
/// The size of the write buffer, in bytes.
const CHUNK_BYTES: usize = 256 * 1024;

/// The metadata of a backup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupMetadata {
    /// When the backup was made.
    pub made_at: Timestamp,
    /// The number of issues.
    pub issues: usize,
    /// What was damaged, if the backup contains only the readable part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// The checksum; empty until it is written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checksum: String,
}

/// The content of a backup.
#[derive(Clone, Debug)]
pub struct Backup {
    /// The issues, and the unknown keys beside them.
    pub document: Document,
    /// The metadata; `None` for a file that is no backup and could not be verified.
    pub about: Option<BackupMetadata>,
}

/// Why bytes are no valid backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InvalidBackup {
    /// They were changed after they were written.
    Changed,
    /// They are no valid document.
    Format(FormatError),
}

/// Removes the metadata from a document that was copied from a backup.
pub fn forget(keys: &mut UnknownKeys) {
    // A key of that name with another structure belongs to the user.
    if keys.get(KEY).is_some_and(|text| serde_json::from_str::<BackupMetadata>(text).is_ok()) {
        keys.remove(KEY);
    }
}

/// Writes a backup that is made at a time. Returns its metadata with the checksum.
pub fn write(
    content: BackupContent,
    made_at: Timestamp,
    out: &mut impl Write,
) -> io::Result<BackupMetadata> {
    let BackupContent { mut unknown_keys, issues, damage } = content;
    // A document may have one key of this name only.
    unknown_keys.remove(KEY);
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, Hashing { out, hasher: Xxh3::new() });
    let mut count = 0;
    format::write_open(issues.inspect(|_| count += 1), &unknown_keys, &mut out)?;
    let about = BackupMetadata { made_at, issues: count, partial: damage, checksum: String::new() };
    let Some(open) = serde_json::to_vec_pretty(&AboutAlone { backup: &about })?
        .strip_suffix(b"\n  }\n}")
        .and_then(|text| text.strip_prefix(b"{\n").map(<[u8]>::to_vec))
    else {
        return Err(io::Error::other("the metadata of the backup has an unexpected form"));
    };
    out.write_all(b",\n")?;
    out.write_all(&open)?;
    out.write_all(BEFORE_DIGITS.as_bytes())?;
    out.flush()?;
    let digits = format!("{:032x}", out.get_ref().hasher.digest128());
    out.write_all(digits.as_bytes())?;
    out.write_all(BEHIND_DIGITS)?;
    out.flush()?;
    Ok(BackupMetadata { checksum: named(&digits), ..about })
}

/// Reads a backup or an `issues.json`.
///
/// # Errors
///
/// The bytes are neither, or the checksum does not match.
pub fn read(mut bytes: Vec<u8>) -> Result<Backup, InvalidBackup> {
    let Some((place, about)) = sealed(&bytes)? else {
        let document = format::parse(bytes).map_err(InvalidBackup::Format)?;
        // The metadata is there but was changed, so other bytes may have changed, too.
        let is_about = |text: &str| serde_json::from_str::<BackupMetadata>(text).is_ok();
        let is_seal = |(key, value): (&str, &RawValue)| key == KEY || is_about(value.get());
        return if document.unknown_keys.iter().any(is_seal) {
            Err(InvalidBackup::Changed)
        } else {
            Ok(Backup { document, about: None })
        };
    };
    bytes.truncate(place);
    bytes.extend_from_slice(format::CLOSE);
    let document = format::parse(bytes).map_err(InvalidBackup::Format)?;
    Ok(Backup { document, about: Some(about) })
}

/// Returns the offset of the metadata and its content. Returns `None` if the bytes do not end like a backup.
fn sealed(bytes: &[u8]) -> Result<Option<(usize, BackupMetadata)>, InvalidBackup> {
    let Some(hashed) = bytes.strip_suffix(BEHIND_DIGITS) else { return Ok(None) };
    let Some((hashed, digits)) = hashed.split_at_checked(hashed.len().saturating_sub(DIGITS))
    else {
        return Ok(None);
    };
    let Some(rest) = hashed.strip_suffix(BEFORE_DIGITS.as_bytes()) else { return Ok(None) };
    if format!("{:032x}", xxh3_128(hashed)).as_bytes() != digits {
        return Err(InvalidBackup::Changed);
    }
    let place = rest.windows(BEGIN.len()).rposition(|window| window == BEGIN);
    let about = place.and_then(|place| {
        let text = [&rest[place + BEGIN.len()..], b"}"].concat();
        let about: BackupMetadata = serde_json::from_slice(&text).ok()?;
        Some((place, BackupMetadata { checksum: named(str::from_utf8(digits).ok()?), ..about }))
    });
    about.map(Some).ok_or(InvalidBackup::Changed)
}

fn named(digits: &str) -> String {
    format!("xxh3-128:{digits}")
}

#[derive(Serialize)]
struct AboutAlone<'a> {
    backup: &'a BackupMetadata,
}

/// Hashes what it passes on.
struct Hashing<'a, W> {
    out: &'a mut W,
    hasher: Xxh3,
}

impl<W: Write> Write for Hashing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    /// Does nothing: when the output has to be flushed is up to the caller.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "{\n  \"issues\": [],\n  \"other\": {\n  \"backup\": 1e400}\n}\n";

    fn made_at() -> Timestamp {
        Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap()
    }

    fn written(document: Document) -> (Vec<u8>, BackupMetadata) {
        let content = BackupContent::of(document, Some("a \"b\"\n".to_owned()));
        let mut bytes = Vec::new();
        let about = write(content, made_at(), &mut bytes).unwrap();
        (bytes, about)
    }

    fn sample() -> Vec<u8> {
        written(format::parse(PLAIN).unwrap()).0
    }

    #[test]
    fn a_backup_is_the_document_plus_a_backup_key() {
        let text = String::from_utf8(sample()).unwrap();
        let begin = PLAIN.strip_suffix("\n}\n").unwrap();
        let key = ",\n  \"backup\": {\n    \"madeAt\": \"2026-01-31T09:30:00.000Z\",\n    \
                   \"issues\": 0,\n    \"partial\": \"a \\\"b\\\"\\n\",\n    \"checksum\": \"xxh3-128:";
        let digits = text.strip_prefix(begin).unwrap().strip_prefix(key).unwrap();
        assert!(
            digits.strip_suffix("\"\n  }\n}\n").is_some_and(|digits| digits.len() == 32),
            "{text}"
        );
    }

    #[test]
    fn a_backup_round_trips_without_duplicating_its_metadata() {
        let first = read(sample()).unwrap();
        assert_eq!(first.about.as_ref().map(|about| about.made_at), Some(made_at()));
        let plain = |document: &Document| {
            let mut bytes = Vec::new();
            format::write(document, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(plain(&first.document), PLAIN);
        let (again, about) = written(format::parse(sample()).unwrap());
        assert_eq!((again, Some(about)), (sample(), first.about));
    }

    #[test]
    fn a_plain_document_is_read_as_unverified() {
        assert_eq!(read(PLAIN.into()).unwrap().about, None);
        assert!(matches!(read(b"{".to_vec()), Err(InvalidBackup::Format(_))));
    }

    #[test]
    fn every_flipped_bit_and_truncation_is_detected() {
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
    fn a_reformatted_backup_fails_its_checksum() {
        let text = String::from_utf8(sample()).unwrap();
        for other in [text.replace('\n', "\r\n"), format!("{text}\n"), text.replace("  ", " ")] {
            assert_eq!(read(other.into_bytes()).unwrap_err(), InvalidBackup::Changed);
        }
    }
}
