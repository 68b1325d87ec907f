//! The framing of the journal: one frame a line, each of which can be verified alone.
//!
//! ```text
//! crc SP length SP json LF
//! ```
//!
//! * `length`: the number of bytes of `json`, as eight lower-case hex digits; at most 16 MiB.
//! * `crc`: the CRC-32C (Castagnoli, as in RFC 3720, section 12.1) of the journal's epoch (16 bytes),
//!   the frame's offset in the file (8 bytes; both big endian) and the text from `length` to the end
//!   of `json`, as eight lower-case hex digits. Because of epoch and offset, bytes of an older journal,
//!   or of another place, never pass.
//! * Nothing else is accepted: no upper case, no other white space, so that no flipped bit goes
//!   unnoticed.
//!
//! The first frame of a file names the epoch, and is itself made with the epoch 0.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The most bytes that the JSON of one frame may have.
pub(super) const MAX_JSON_BYTES: usize = 16 * 1024 * 1024;

const HEX_CHARS: usize = 8;
/// `crc SP length SP`
const PREFIX_BYTES: usize = 2 * (HEX_CHARS + 1);
/// What a frame has beside its JSON.
pub(super) const OVERHEAD_BYTES: usize = PREFIX_BYTES + 1;

/// 128 bits as 32 lower-case hex digits: the epoch of a journal, or the hash of a content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Hex128(pub u128);

/// The epoch with which the first frame of a journal is made.
pub(super) const NO_EPOCH: Hex128 = Hex128(0);

/// Appends a frame that is to stand at `offset`.
pub(super) fn encode(epoch: Hex128, offset: u64, json: &[u8], frames: &mut Vec<u8>) {
    // Nobody could read what is longer. The limits of texts leave far less.
    assert!(json.len() <= MAX_JSON_BYTES, "a frame of {} bytes", json.len());
    let start = frames.len();
    frames.extend_from_slice(format!("00000000 {:08x} ", json.len()).as_bytes());
    frames.extend_from_slice(json);
    let crc = checksum(epoch, offset, &frames[start + HEX_CHARS + 1..]);
    frames[start..start + HEX_CHARS].copy_from_slice(format!("{crc:08x}").as_bytes());
    frames.push(b'\n');
}

/// The JSON of the frame that begins with the first of these bytes, and the length of the frame.
///
/// `None` when they do not begin with a whole frame that was made for this epoch and offset.
pub(super) fn decode(epoch: Hex128, offset: u64, bytes: &[u8]) -> Option<(&[u8], usize)> {
    let prefix = bytes.get(..PREFIX_BYTES)?;
    let (crc, length) = (hex(&prefix[..HEX_CHARS])?, hex(&prefix[HEX_CHARS + 1..][..HEX_CHARS])?);
    if prefix[HEX_CHARS] != b' ' || prefix[PREFIX_BYTES - 1] != b' ' {
        return None;
    }
    let length = usize::try_from(length).ok().filter(|&length| length <= MAX_JSON_BYTES)?;
    let end = PREFIX_BYTES + length;
    if bytes.get(end) != Some(&b'\n') || checksum(epoch, offset, &bytes[HEX_CHARS + 1..end]) != crc
    {
        return None;
    }
    Some((&bytes[PREFIX_BYTES..end], end + 1))
}

/// The JSON of a line that has the form of a frame, whatever its checksum.
pub(super) fn unchecked(line: &[u8]) -> Option<&[u8]> {
    let json = line.strip_suffix(b"\n")?.get(PREFIX_BYTES..)?;
    let length = hex(&line[HEX_CHARS + 1..][..HEX_CHARS])?;
    (usize::try_from(length) == Ok(json.len())).then_some(json)
}

fn checksum(epoch: Hex128, offset: u64, text: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&epoch.0.to_be_bytes());
    let crc = crc32c::crc32c_append(crc, &offset.to_be_bytes());
    crc32c::crc32c_append(crc, text)
}

/// The value of lower-case hex digits, and nothing but those.
fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u32::from(digit))
    })
}

impl fmt::Display for Hex128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Hex128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hex128 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex128 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let value = u128::from_str_radix(&text, 16).map(Self).map_err(de::Error::custom)?;
        if value.to_string() == text {
            Ok(value)
        } else {
            Err(de::Error::custom("expected 32 lower-case hex digits"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EPOCH: Hex128 = Hex128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);

    fn frame(offset: u64, json: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(EPOCH, offset, json, &mut bytes);
        bytes
    }

    #[test]
    fn a_frame_is_read_where_and_when_it_was_written_and_nowhere_else() {
        let bytes = frame(77, b"{}");
        assert_eq!(bytes, b"12003aaf 00000002 {}\n");
        assert_eq!(decode(EPOCH, 77, &bytes), Some((&b"{}"[..], bytes.len())));
        assert_eq!(decode(EPOCH, 78, &bytes), None);
        assert_eq!(decode(Hex128(1), 77, &bytes), None);
        assert_eq!(decode(EPOCH, 77, &bytes.to_ascii_uppercase()), None);
    }

    /// The check value of CRC-32C that catalogues of checksums give.
    #[test]
    fn the_checksum_is_the_one_that_the_format_names() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn no_flipped_bit_and_no_cut_goes_unnoticed() {
        let bytes = frame(5, br#"{"n":1,"x":"some text"}"#);
        for cut in 0..bytes.len() {
            assert_eq!(decode(EPOCH, 5, &bytes[..cut]), None, "cut at {cut}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[cut] ^= 1 << bit;
                assert_eq!(decode(EPOCH, 5, &flipped), None, "bit {bit} of byte {cut}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_can_be_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..200), offset: u64) {
            prop_assert_eq!(decode(EPOCH, offset, &bytes), None);
        }

        #[test]
        fn what_is_written_is_read(json in "[ -~]{0,300}", offset: u64, rest in prop::collection::vec(any::<u8>(), 0..50)) {
            let mut bytes = frame(offset, json.as_bytes());
            let length = bytes.len();
            bytes.extend(rest);
            prop_assert_eq!(decode(EPOCH, offset, &bytes), Some((json.as_bytes(), length)));
        }
    }
}
