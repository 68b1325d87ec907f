//! The keys of an object that this version does not know.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{self, Deserialize, Deserializer, MapAccess};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

/// Unknown keys and their values, to the letter as they were found, in their order.
///
/// Kept as text, because reading a number and writing it again can change it. Behind one pointer,
/// because nearly every object has none.
#[derive(Clone, Debug, Default)]
pub struct Extra(Option<Box<Entries>>);

type Entries = IndexMap<String, Box<RawValue>>;

impl Extra {
    /// Adds a key; false when it is there already, which takes the new value then.
    pub fn insert(&mut self, key: String, value: Box<RawValue>) -> bool {
        self.0.get_or_insert_default().insert(key, value).is_none()
    }

    /// Takes a key out, if it is there.
    pub fn remove(&mut self, key: &str) {
        if let Some(entries) = &mut self.0 {
            entries.shift_remove(key);
        }
    }

    /// Tells whether there is no such key.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|entries| entries.is_empty())
    }

    /// The text of the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.as_ref()?.get(key).map(|value| value.get())
    }

    /// The keys with the text of their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0
            .iter()
            .flat_map(|entries| entries.iter())
            .map(|(key, value)| (key.as_str(), &**value))
    }
}

// Equal texts are equal.
impl Eq for Extra {}

impl PartialEq for Extra {
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(text).eq(other.iter().map(text))
    }
}

fn text<'a>((key, value): (&'a str, &'a RawValue)) -> (&'a str, &'a str) {
    (key, value.get())
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Extra;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
                let mut extra = Extra::default();
                while let Some((key, value)) = map.next_entry()? {
                    extra.insert(key, value);
                }
                Ok(extra)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
