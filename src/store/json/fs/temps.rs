//! The names of temporary files: `.issues.json.Ab3dEf.tmp`; and `.issues.json.Ab3dEf.<marks>.tmp` where a mark tells
//! what may stand under it, as 16 hexadecimal digits each.

use std::path::{Path, PathBuf};

use super::Stamp;

pub(super) const SUFFIX: &str = ".tmp";
pub(super) const RANDOM_CHARS: usize = 6;
const MARK_CHARS: usize = 16;

/// How the name of each temporary file of a target begins.
pub(super) fn prefix(target: &Path) -> String {
    format!(".{}.", target.file_name().unwrap_or_default().to_string_lossy())
}

/// The name of a temporary file.
#[derive(PartialEq, Debug)]
pub(super) enum TempName {
    Plain,
    Marked,
}

/// What a name is for a target with this prefix; `None` when it is none of a temporary file, or of one of another
/// target: `issues.json.bak` has some too.
pub(super) fn parse(name: &str, prefix: &str) -> Option<TempName> {
    let middle = name.strip_prefix(prefix)?.strip_suffix(SUFFIX)?;
    let (random, marks) = middle.split_once('.').map_or((middle, None), |(it, m)| (it, Some(m)));
    let is_random =
        random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_marks = |marks: &str| {
        marks.len() == 2 * MARK_CHARS && marks.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match marks {
        None => is_random.then_some(TempName::Plain),
        Some(marks) => (is_random && is_marks(marks)).then_some(TempName::Marked),
    }
}

/// The name of a temporary file that tells which two files may stand under it.
pub fn marked(temp: &Path, known: [Stamp; 2]) -> PathBuf {
    let name = temp.file_name().unwrap_or_default().to_string_lossy();
    let [one, other] = known.map(|stamp| stamp.mark());
    let plain = name.strip_suffix(SUFFIX).unwrap_or(&name);
    temp.with_file_name(format!("{plain}.{one:016x}{other:016x}{SUFFIX}"))
}

/// Tells whether what has a name is one of the two files that the name tells of.
pub fn is_known(temp: &Path, stamp: &Stamp) -> bool {
    let name = temp.file_name().unwrap_or_default().to_string_lossy();
    let marks = name.strip_suffix(SUFFIX).and_then(|name| name.rsplit('.').next());
    let mark = format!("{:016x}", stamp.mark());
    marks.is_some_and(|marks| marks.starts_with(&mark) || marks.ends_with(&mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(inode: u64) -> Stamp {
        Stamp { length_bytes: 1, modified_ns: 2, changed_ns: 3, device: 4, inode }
    }

    #[test]
    fn a_name_tells_whose_it_is_and_what_may_stand_under_it() {
        let prefix = prefix(Path::new("/d/issues.json"));
        let plain = Path::new("/d/.issues.json.Ab3dEf.tmp");
        let marked = marked(plain, [stamp(1), stamp(2)]);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(parse(&name(plain), &prefix), Some(TempName::Plain));
        assert_eq!(parse(&name(&marked), &prefix), Some(TempName::Marked));
        assert_eq!(marked.parent(), plain.parent());
        for other in [".issues.json.bak.Ab3dEf.tmp", ".issues.json.Ab3d.tmp", "issues.json"] {
            assert_eq!(parse(other, &prefix), None, "{other}");
        }
        let renamed = Stamp { changed_ns: 9, device: 8, ..stamp(2) };
        assert!(is_known(&marked, &stamp(1)) && is_known(&marked, &renamed));
        let edited = Stamp { modified_ns: 9, ..stamp(2) };
        assert!(!is_known(&marked, &stamp(3)) && !is_known(&marked, &edited));
    }
}
