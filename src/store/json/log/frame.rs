//! One line of a segment: a checksum, a length and JSON.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The length of a line before its JSON, in bytes: two numbers of eight hex digits, each followed by a space.
const PREFIX_BYTES: usize = 18;
/// The maximum size of the JSON of a line, in bytes: a changed issue of the largest size, before and after.
pub const MAX_JSON_BYTES: usize = 48 * 1024 * 1024;

/// The result of reading a line at the start of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// A valid line.
    Whole {
        /// Its JSON.
        json: &'a [u8],
        /// The length of the line, in bytes.
        length: usize,
    },
    /// There is no valid line.
    Invalid,
}

/// Appends a line to `out`.
pub fn write(salt: u32, json: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(format!("00000000 {:08x} ", json.len()).as_bytes());
    out.extend_from_slice(json);
    let sum = checksum(salt, &out[begin + 9..]);
    out[begin..begin + 8].copy_from_slice(format!("{sum:08x}").as_bytes());
    out.push(b'\n');
}

/// Returns the checksum of the rest of a line, or of a text: the low 32 bits of its seeded XXH3-64.
pub fn checksum(salt: u32, bytes: &[u8]) -> u32 {
    xxh3_64_with_seed(bytes, salt.into()) as u32
}

/// Reads the line at the start of `bytes`.
pub fn read(salt: u32, bytes: &[u8]) -> Frame<'_> {
    let whole = || {
        let (expected, length) = (hex(bytes.get(..8)?)?, hex(bytes.get(9..17)?)? as usize);
        if bytes[8] != b' ' || bytes.get(17) != Some(&b' ') || length > MAX_JSON_BYTES {
            return None;
        }
        let end = PREFIX_BYTES + length;
        let json = bytes.get(PREFIX_BYTES..end)?;
        let is_whole = bytes.get(end) == Some(&b'\n') && checksum(salt, &bytes[9..end]) == expected;
        is_whole.then_some(Frame::Whole { json, length: end + 1 })
    };
    whole().unwrap_or(Frame::Invalid)
}

/// Finds the first valid line anywhere in `bytes`, and returns its offset and JSON.
pub fn find(salt: u32, bytes: &[u8]) -> Option<(usize, &[u8])> {
    memchr::memmem::find_iter(bytes, b" {").find_map(|brace| {
        let begin = (brace + 1).checked_sub(PREFIX_BYTES)?;
        match read(salt, &bytes[begin..]) {
            Frame::Whole { json, .. } => Some((begin, json)),
            Frame::Invalid => None,
        }
    })
}

fn hex(digits: &[u8]) -> Option<u32> {
    let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    let text = str::from_utf8(digits).ok().filter(|_| digits.iter().all(is_digit))?;
    u32::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(salt: u32, json: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write(salt, json.as_bytes(), &mut out);
        out
    }

    #[test]
    fn a_line_round_trips() {
        let bytes = [line(7, "{\"a\":1}"), line(7, "{}")].concat();
        let Frame::Whole { json, length } = read(7, &bytes) else { panic!() };
        assert_eq!(json, b"{\"a\":1}");
        assert_eq!(read(7, &bytes[length..]), Frame::Whole { json: b"{}", length: 21 });
        assert_eq!(read(8, &bytes), Frame::Invalid);
    }

    #[test]
    fn every_changed_or_missing_byte_is_detected() {
        let good = line(7, "{\"a\":1}");
        for index in 0..good.len() {
            assert_eq!(read(7, &good[..index]), Frame::Invalid, "cut at {index}");
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[index] ^= 1 << bit;
                assert_eq!(read(7, &bad), Frame::Invalid, "bit {bit} of byte {index}");
            }
        }
    }

    #[test]
    fn a_line_is_found_at_any_offset() {
        let good = line(7, "{\"a\":1}");
        for before in ["", "x", "\n", "0000 {"] {
            let bytes = [before.as_bytes(), &good].concat();
            assert_eq!(find(7, &bytes), Some((before.len(), &b"{\"a\":1}"[..])));
        }
        assert_eq!(find(7, &good[1..]), None);
    }
}
