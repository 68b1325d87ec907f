//! The unknown keys of a JSON object.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{self, Deserialize, Deserializer, MapAccess};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// Unknown keys and their values, verbatim and in their original order.
///
/// Values are kept as text, because parsing a number and writing it again can change it. The map is boxed, because
/// nearly every object has none.
#[derive(Clone, Debug, Default)]
pub struct UnknownKeys(Option<Box<Entries>>);

type Entries = IndexMap<String, Box<RawValue>>;

impl UnknownKeys {
    /// Inserts a key. Returns false if the key was present; its value is replaced then.
    pub fn insert(&mut self, key: String, value: Box<RawValue>) -> bool {
        self.0.get_or_insert_default().insert(key, value).is_none()
    }

    /// Removes a key, if present.
    pub fn remove(&mut self, key: &str) {
        if let Some(entries) = &mut self.0 {
            entries.shift_remove(key);
        }
    }

    /// Renames a key, if present, to the first free one of `imported_KEY`, `imported_KEY_2` and so on. It moves to the
    /// end.
    pub fn set_aside(&mut self, key: &str) {
        let Some(entries) = &mut self.0 else { return };
        let Some(value) = entries.shift_remove(key) else { return };
        let first = format!("imported_{key}");
        let others = (2..).map(|number| format!("imported_{key}_{number}"));
        let free = std::iter::once(first).chain(others).find(|name| !entries.contains_key(name));
        entries.insert(free.unwrap_or_default(), value);
    }

    /// Returns true if there are no unknown keys.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|entries| entries.is_empty())
    }

    /// Returns the JSON text of a key's value.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.as_ref()?.get(key).map(|value| value.get())
    }

    /// Returns the keys after a change of one value by a JSON merge patch (RFC 7396).
    #[must_use]
    pub fn patched(&self, key: &str, patch: &Value) -> Self {
        let mut value = self.get(key).and_then(|text| serde_json::from_str(text).ok());
        merge_patch(value.get_or_insert_default(), patch);
        let mut keys = self.clone();
        if let Ok(value) = to_raw_value(&value) {
            keys.insert(key.to_owned(), value);
        }
        keys
    }

    /// Returns the keys with the JSON text of their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0
            .iter()
            .flat_map(|entries| entries.iter())
            .map(|(key, value)| (key.as_str(), &**value))
    }
}

fn merge_patch(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    for (key, change) in changes {
        if change.is_null() {
            value.as_object_mut().map(|members| members.remove(key));
        } else {
            merge_patch(&mut value[key], change);
        }
    }
}

// Equality compares texts, so it is reflexive.
impl Eq for UnknownKeys {}

impl PartialEq for UnknownKeys {
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(text).eq(other.iter().map(text))
    }
}

fn text<'a>((key, value): (&'a str, &'a RawValue)) -> (&'a str, &'a str) {
    (key, value.get())
}

impl Serialize for UnknownKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for UnknownKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = UnknownKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UnknownKeys, A::Error> {
                let mut keys = UnknownKeys::default();
                while let Some((key, value)) = map.next_entry()? {
                    keys.insert(key, value);
                }
                Ok(keys)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_changes_the_members_that_it_names() {
        let keys = |text: &str| serde_json::from_str::<UnknownKeys>(text).unwrap();
        for (before, patch, after) in [
            ("{}", r#"{"a":1}"#, r#"{"k":{"a":1}}"#),
            (
                r#"{"k":{"a":1,"b":{"c":2}},"x":1.00}"#,
                r#"{"b":{"c":null,"d":3}}"#,
                r#"{"k":{"a":1,"b":{"d":3}},"x":1.00}"#,
            ),
            (r#"{"k":[1]}"#, r#"{"a":null}"#, r#"{"k":{}}"#),
            (r#"{"k":{"a":1}}"#, r#"[2]"#, r#"{"k":[2]}"#),
        ] {
            let patched = keys(before).patched("k", &serde_json::from_str(patch).unwrap());
            assert_eq!(patched, keys(after), "{before} {patch}");
        }
    }
}
