//! Names of sessions, which say all that is needed to take a session up again.
//!
//! `STORE.RANDOM.CLIENT`: the id of the store in hexadecimal, 128 random bits in hexadecimal, and what
//! the client said of itself in `initialize`, as JSON in base64url (RFC 4648, section 5) without padding.
//! That is ASCII without white space, as the MCP specification demands. Nothing in it is secret and nothing is to
//! be trusted: whoever can make one up can as well begin a session.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::{Implementation, InitializeRequestParams, ProtocolVersion};
use uuid::Uuid;

use crate::tracker::StoreId;

/// How many bytes of JSON may describe a client; of one that says more, only the name is kept.
const MAX_CLIENT_BYTES: usize = 1024;
/// How many characters of a name and a version are kept then.
const MAX_NAME_CHARS: usize = 64;
/// The longest name of a session.
const MAX_BYTES: usize = 2 * 32 + 2 + MAX_CLIENT_BYTES.div_ceil(3) * 4;

/// A new name for a session on a store.
pub(super) fn new(store: StoreId, client: &InitializeRequestParams) -> String {
    let json = |client| serde_json::to_vec(client).unwrap_or_default();
    let mut client_json = json(client);
    if client_json.len() > MAX_CLIENT_BYTES {
        let short = |text: &str| text.chars().take(MAX_NAME_CHARS).collect::<String>();
        let info = &client.client_info;
        let mut bare = InitializeRequestParams::default();
        // It is negotiated anew when the session is taken up; an unknown one would be, too.
        if ProtocolVersion::KNOWN_VERSIONS.contains(&client.protocol_version) {
            bare.protocol_version = client.protocol_version.clone();
        }
        bare.client_info = Implementation::new(short(&info.name), short(&info.version));
        client_json = json(&bare);
    }
    let client = URL_SAFE_NO_PAD.encode(client_json);
    format!("{store}.{}.{client}", Uuid::new_v4().simple())
}

/// What a client said when it began the session; `None` when the session is of another store, or the
/// text is no name of a session.
pub(super) fn client_of(id: &str, store: StoreId) -> Option<InitializeRequestParams> {
    let mut parts = id.split('.');
    let (of, random, client) = (parts.next()?, parts.next()?, parts.next()?);
    let is_random =
        random.len() == 32 && random.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    let is_whole = id.len() <= MAX_BYTES && parts.next().is_none();
    if of.parse() != Ok(store) || !is_random || !is_whole {
        return None;
    }
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(client).ok()?).ok()
}

/// What a session is remembered by when it was ended: the random part of its name. What the client said has more
/// than one way to be written.
pub(super) fn key_of(id: &str) -> Option<u128> {
    u128::from_str_radix(id.split('.').nth(1)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "00112233445566778899aabbccddeeff";

    fn client(name: &str) -> InitializeRequestParams {
        let mut client = InitializeRequestParams::default();
        client.protocol_version = ProtocolVersion::V_2025_06_18;
        client.client_info = Implementation::new(name, "1.2");
        client
    }

    #[test]
    fn a_name_brings_the_client_back_for_its_own_store_alone() {
        let store: StoreId = STORE.parse().unwrap();
        let other = STORE.replace("00", "01").parse().unwrap();
        let id = new(store, &client("any"));
        assert!(id.starts_with(STORE), "{id}");
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert_eq!(client_of(&id, store), Some(client("any")));
        assert_eq!(client_of(&id, other), None);
        assert_ne!(id, new(store, &client("any")));
    }

    #[test]
    fn a_name_stays_short_whatever_the_client_says() {
        let store: StoreId = STORE.parse().unwrap();
        let id = new(store, &client(&"ä".repeat(5_000)));
        assert!(id.len() <= MAX_BYTES, "{}", id.len());
        assert_eq!(client_of(&id, store).unwrap().client_info.name, "ä".repeat(64));
        let version = client_of(&id, store).unwrap().protocol_version;
        assert_eq!(version, ProtocolVersion::V_2025_06_18);
        let strange = format!("\"{}\"", "v".repeat(5_000));
        let mut client = client("any");
        client.protocol_version = serde_json::from_str(&strange).unwrap();
        assert!(client_of(&new(store, &client), store).is_some());
    }

    #[test]
    fn texts_that_are_no_names_are_passed_over() {
        let store: StoreId = STORE.parse().unwrap();
        let id = new(store, &client("any"));
        let long = format!("{id}{}", "A".repeat(MAX_BYTES));
        let halves = id.rsplit_once('.').unwrap();
        for text in [
            "",
            "x",
            STORE,
            halves.0,
            &id[1..],
            &format!("{id}.x"),
            &long,
            &format!("{}.e30", halves.0),
        ] {
            assert_eq!(client_of(text, store), None, "{text}");
        }
    }
}
