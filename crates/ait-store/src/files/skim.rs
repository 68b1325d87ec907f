//! Reads an edited `issues.json` as a stream.
//!
//! The database keeps the text of each issue as `issues.json` shows it, with a checksum. A text in the file with a
//! known checksum is an issue that no edit changed: it is neither parsed nor kept. Only edited issues cost memory.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::fs::{FileFingerprint, FileSystem};
use super::open::{OpenError, read_issues, unreadable};
use crate::State;
use crate::backup::format as backup;
use ait_domain::{Issue, IssueId, UnknownKeys};

/// How much of the file is read at a time, in bytes.
const READ_BYTES: usize = 256 * 1024;

/// The issues of the store by the XXH3 of their texts.
pub(crate) type KnownTexts = HashMap<u64, IssueId>;

/// Issues from elsewhere, in their order.
#[derive(Default)]
pub(crate) struct OtherIssues {
    /// `None` for an issue that the store has just so.
    pub issues: IndexMap<IssueId, Option<Arc<Issue>>>,
    pub unknown_keys: UnknownKeys,
}

impl From<&State> for OtherIssues {
    fn from(state: &State) -> Self {
        let issues = state.issues.issues().map(|issue| (issue.id, Some(issue)));
        Self { issues: issues.collect(), unknown_keys: state.unknown_keys.clone() }
    }
}

/// An edited `issues.json`.
pub(crate) struct EditedFile {
    pub content: OtherIssues,
    pub fingerprint: FileFingerprint,
    /// The 128-bit XXH3 of the file.
    pub hash: u128,
}

/// Reads `issues.json`. Returns `None` if it does not exist.
pub(crate) fn read_edited(
    fs: &dyn FileSystem,
    path: &Path,
    known: &KnownTexts,
) -> Result<Option<EditedFile>, OpenError> {
    let failed = |source| unreadable(path, source);
    let Some(file) = fs.open(path).map_err(failed)? else { return Ok(None) };
    let fingerprint = fs.fingerprint_of(&file).map_err(failed)?;
    let mut reader = BufReader::with_capacity(
        READ_BYTES,
        HashingReader { fs, file: &file, offset: 0, hasher: Xxh3::new() },
    );
    let mut json = serde_json::Deserializer::from_reader(&mut reader);
    let read = Skim { known }.deserialize(&mut json).and_then(|found| json.end().map(|()| found));
    if let Ok(mut content) = read {
        backup::forget(&mut content.unknown_keys);
        let hash = reader.get_ref().hasher.digest128();
        return Ok(Some(EditedFile { content, fingerprint, hash }));
    }
    // Whole, because a repair and the position of an error need all of it.
    let found = read_issues(fs, path)?;
    Ok(found.map(|found| EditedFile {
        content: OtherIssues::from(&found.state),
        fingerprint: found.fingerprint,
        hash: found.hash,
    }))
}

/// Reads a file from its beginning to its end, and hashes what it reads.
struct HashingReader<'a> {
    fs: &'a dyn FileSystem,
    file: &'a File,
    offset: u64,
    hasher: Xxh3,
}

impl Read for HashingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fs.read_at(self.file, self.offset, buffer.len())?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.hasher.update(&bytes);
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }
}

/// Reads the object of a document.
struct Skim<'a> {
    known: &'a KnownTexts,
}

impl<'de> DeserializeSeed<'de> for Skim<'_> {
    type Value = OtherIssues;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<OtherIssues, D::Error> {
        document.deserialize_map(self)
    }
}

impl<'de> de::Visitor<'de> for Skim<'_> {
    type Value = OtherIssues;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the key \"issues\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OtherIssues, A::Error> {
        let mut issues = None;
        let mut unknown_keys = UnknownKeys::default();
        while let Some(key) = map.next_key::<String>()? {
            let is_new = match &*key {
                "issues" => issues.replace(map.next_value_seed(SkimIssues(self.known))?).is_none(),
                _ => unknown_keys.insert(key, map.next_value()?),
            };
            if !is_new {
                return Err(de::Error::custom("a key is there twice"));
            }
        }
        let issues = issues.ok_or_else(|| de::Error::missing_field("issues"))?;
        Ok(OtherIssues { issues, unknown_keys })
    }
}

/// Reads the array of issues.
struct SkimIssues<'a>(&'a KnownTexts);

impl<'de> DeserializeSeed<'de> for SkimIssues<'_> {
    type Value = IndexMap<IssueId, Option<Arc<Issue>>>;

    fn deserialize<D: Deserializer<'de>>(self, array: D) -> Result<Self::Value, D::Error> {
        array.deserialize_seq(self)
    }
}

impl<'de> de::Visitor<'de> for SkimIssues<'_> {
    type Value = IndexMap<IssueId, Option<Arc<Issue>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of issues")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut issues = IndexMap::new();
        while let Some(text) = array.next_element::<Box<RawValue>>()? {
            let text = text.get();
            let (id, issue) = match self.0.get(&xxh3_64(text.as_bytes())) {
                Some(id) => (*id, None),
                None => {
                    let issue: Issue = serde_json::from_str(text).map_err(de::Error::custom)?;
                    (issue.id, Some(Arc::new(issue)))
                }
            };
            if issues.insert(id, issue).is_some() {
                return Err(de::Error::custom("an id is there twice"));
            }
        }
        Ok(issues)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::fs::RealFileSystem;

    const TIME: &str = "2026-01-31T09:30:00.000Z";

    fn issue(number: usize, title: &str) -> String {
        format!(
            r#"{{"id":"{number:08x}-0000-4000-8000-000000000000","title":"{title}","description":"","classification":"bug","createdAt":"{TIME}","modifiedAt":"{TIME}","status":"created","history":[{{"timestamp":"{TIME}","agent":"a","action":"x"}}],"comments":[]}}"#
        )
    }

    fn read(text: &[u8], known: &KnownTexts) -> Result<OtherIssues, OpenError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("issues.json");
        fs::write(&path, text).unwrap();
        let found = read_edited(&RealFileSystem, &path, known)?.unwrap();
        assert_eq!(found.hash, xxhash_rust::xxh3::xxh3_128(text));
        Ok(found.content)
    }

    fn titles(found: &OtherIssues) -> Vec<Option<&str>> {
        found.issues.values().map(|issue| issue.as_ref().map(|issue| &*issue.title)).collect()
    }

    #[test]
    fn a_text_that_the_store_has_is_not_parsed() {
        // Parsing it would fail.
        let known_text = r#"{"no": "issue"}"#;
        let id = IssueId::parse("00000007-0000-4000-8000-000000000000").unwrap();
        let known = KnownTexts::from([(xxh3_64(known_text.as_bytes()), id)]);
        let one = issue(1, "one");
        let two = issue(2, "two");
        let text = format!("{{\"issues\": [{one}, {known_text},\n{two}], \"more\": [1]}}");
        let found = read(text.as_bytes(), &known).unwrap();
        assert_eq!(titles(&found), [Some("one"), None, Some("two")]);
        assert_eq!(found.issues.get_index_of(&id), Some(1));
        assert_eq!(found.unknown_keys.get("more"), Some("[1]"));
        // Not where the text differs in anything.
        assert!(read(text.replace("\"no\": ", "\"no\":").as_bytes(), &known).is_err());
    }

    #[test]
    fn what_has_to_be_repaired_or_refused_is_read_whole() {
        let one = issue(1, "one");
        let cut = issue(2, r"cut \ud83d");
        let repaired = format!("\u{feff}{{\"issues\": [{one}, {cut}]}}");
        let found = read(repaired.as_bytes(), &KnownTexts::new()).unwrap();
        assert_eq!(titles(&found), [Some("one"), Some("cut \u{fffd}")]);
        for (text, problem) in [
            (format!("{{\"issues\": [{one},\n{one}]}}"), "line 2"),
            (format!("{{\"issues\": [{one}]"), "cut off"),
            (format!("{{\"issues\": [{one}]}} x"), "line 1"),
            ("{\"issues\": [], \"issues\": []}".to_owned(), "issues"),
            ("{\"a\": 1}".to_owned(), "issues"),
            ("[]".to_owned(), "issues"),
        ] {
            let refusal = read(text.as_bytes(), &KnownTexts::new()).err().unwrap();
            assert!(matches!(refusal, OpenError::Format { .. }), "{text}");
            assert!(refusal.to_string().contains(problem), "{text}: {refusal}");
        }
    }
}
