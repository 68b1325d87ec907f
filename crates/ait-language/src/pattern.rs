//! Keys with places for other texts.

/// What may stand at a place of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// `{n}`: a number with its separators, and a `k` or `M` behind it.
    Number,
    /// `{text}`: another text of the table.
    Text,
    /// `{}`: anything, which stays as it is.
    Any,
}

const PLACES: [(&str, Place); 3] =
    [("{n}", Place::Number), ("{text}", Place::Text), ("{}", Place::Any)];

/// A key with places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// What is before the first place, between places, and after the last one.
    words: Vec<String>,
    pub places: Vec<Place>,
    /// How many bytes of a text are given. A longer pattern says more of a text.
    pub weight: usize,
}

impl Pattern {
    /// Finds the places of a key.
    pub fn parse(key: &str) -> Self {
        let mut pattern = Self { words: Vec::new(), places: Vec::new(), weight: 0 };
        let mut rest = key;
        let next = |rest: &str| {
            let found = PLACES
                .iter()
                .filter_map(|(name, place)| Some((rest.find(name)?, name.len(), *place)));
            found.min_by_key(|(at, ..)| *at)
        };
        while let Some((at, length, place)) = next(rest) {
            pattern.words.push(rest[..at].to_owned());
            pattern.places.push(place);
            rest = &rest[at + length..];
        }
        pattern.words.push(rest.to_owned());
        pattern.weight = pattern.words.iter().map(String::len).sum();
        pattern
    }

    /// Returns true if a text that begins with this byte may be like this.
    pub fn may_begin_with(&self, byte: u8) -> bool {
        match (self.words[0].bytes().next(), self.places.first()) {
            (Some(first), _) => first == byte,
            (None, Some(Place::Number)) => is_of_number(byte),
            (None, _) => true,
        }
    }

    /// Gives `take` what stands at the places, in each way in which a text is like this, until it returns something.
    pub fn matches<'a, T>(
        &self,
        text: &'a str,
        mut take: impl FnMut(&[&'a str]) -> Option<T>,
    ) -> Option<T> {
        // Most texts are like none of the patterns, which these tell fast.
        let is_long = text.len() >= self.weight + self.places.len();
        self.words.last().filter(|last| is_long && text.ends_with(&***last))?;
        let rest = text.strip_prefix(&*self.words[0])?;
        fill(&self.words[1..], &self.places, rest, &mut Vec::new(), &mut take)
    }
}

/// Finds what stands at places, each with the words behind it.
fn fill<'a, T>(
    words: &[String],
    places: &[Place],
    text: &'a str,
    found: &mut Vec<&'a str>,
    take: &mut impl FnMut(&[&'a str]) -> Option<T>,
) -> Option<T> {
    let (Some((word, words)), Some((place, places))) = (words.split_first(), places.split_first())
    else {
        return if text.is_empty() { take(found) } else { None };
    };
    let mut try_end = |end: usize| {
        let part = &text[..end];
        if !accepts(*place, part) {
            return None;
        }
        found.push(part);
        let taken = fill(words, places, &text[end + word.len()..], found, take);
        found.pop();
        taken
    };
    if places.is_empty() {
        return try_end(text.strip_suffix(&**word)?.len());
    }
    text.match_indices(&**word).find_map(|(end, _)| try_end(end))
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':' | b'%')
}

fn accepts(place: Place, text: &str) -> bool {
    match place {
        Place::Number => {
            let number = text.strip_suffix(['k', 'M']).unwrap_or(text);
            !number.is_empty() && number.bytes().all(is_of_number)
        }
        Place::Text | Place::Any => !text.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_take_what_fits_them() {
        for (key, text, found) in [
            ("Inbox", "Inbox", Some(vec![])),
            ("Inbox", "Inbox ", None),
            ("{n} issues", "1,024 issues", Some(vec!["1,024"])),
            ("{n} issues", "all issues", None),
            ("{n} in", "1.2k in", Some(vec!["1.2k"])),
            ("{n} issues", " issues", None),
            ("{} ago", "3 min ago", Some(vec!["3 min"])),
            ("{n} to {n} of {n}", "1 to 50 of 379", Some(vec!["1", "50", "379"])),
            ("{} of {n}", "a of b of 3", Some(vec!["a of b", "3"])),
            ("by {}, {text}", "by a, b, c", Some(vec!["a", "b, c"])),
            ("({n}) {text} · {}", "(3) Issues · shop", Some(vec!["3", "Issues", "shop"])),
        ] {
            let matched = Pattern::parse(key).matches(text, |places| Some(places.to_vec()));
            assert_eq!(matched, found, "{key}: {text}");
        }
    }
}
