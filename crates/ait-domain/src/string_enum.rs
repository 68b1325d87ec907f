//! Enums whose values have words: in JSON, in settings, on the command line and in addresses.

/// Defines an enum with a word for each value.
#[macro_export]
macro_rules! string_enum {
    ($(#[$doc:meta])* $vis:vis enum $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[derive(serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All values, in display order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word of the value.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Returns the value of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::words().zip(Self::ALL).find(|(one, _)| *one == word).map(|(_, value)| *value)
            }

            /// Returns the words of all values.
            pub fn words() -> impl Iterator<Item = &'static str> + Clone {
                Self::ALL.iter().map(|value| value.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                Self::from_word(word).ok_or_else(|| {
                    let words: Vec<_> = Self::words().collect();
                    format!("{word:?} is neither {}", words.join(" nor "))
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
