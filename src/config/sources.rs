//! The sources of a setting's value: flag over environment over `ait.toml` over default.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

use toml_edit::{Document, Item, Value};

use super::settings::{CHECK, REQUIRE_CHECK, SETTINGS, Setting, TEXTS};
use crate::domain::Timestamp;
use crate::mcp::texts::Texts;
use crate::query_language::{ParsedQuery, SavedQueries, is_saved_name};
use crate::small_file;
use crate::sync::SyncSettings;

/// The name of a project's settings file, which lies beside the store.
pub const FILE_NAME: &str = "ait.toml";
/// The name of the table with the saved queries.
pub const QUERIES: &str = "queries";
/// The name of the table with the syncs.
pub const SYNC: &str = "sync";

/// The source of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The command line.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A line of `ait.toml`, counted from 1.
    File(usize),
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "--{name}"),
            Self::Variable(name) => f.write_str(name),
            Self::File(line) => write!(f, "{FILE_NAME}, line {line}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value with its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sourced<T> {
    pub value: T,
    pub source: Source,
}

/// An invalid setting.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value is invalid.
    #[error("{place}: {problem}")]
    BadValue {
        /// The variable, or the file and the line.
        place: String,
        /// What is wrong, and how to fix it.
        problem: String,
    },
    /// `ait.toml` has an unknown key.
    #[error("{place}: there is no setting {key:?}; the settings are {known}")]
    UnknownKey {
        /// The file and the line.
        place: String,
        key: String,
        /// The known keys.
        known: String,
    },
    /// `ait.toml` cannot be read.
    #[error("{} cannot be read ({cause}): put a readable text file there, or move it away", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: String,
    },
}

/// Returns true if a line of a directory's `ait.toml` begins with a word, however wrong the rest of the file is.
pub(super) fn mentions(directory: &Path, word: &str) -> bool {
    let bytes = small_file::read_bytes(&directory.join(FILE_NAME), small_file::MAX_BYTES);
    let begins = |line: &[u8]| line.trim_ascii_start().starts_with(word.as_bytes());
    bytes.is_ok_and(|bytes| bytes.split(|byte| *byte == b'\n').any(begins))
}

/// The environment and the settings in `ait.toml`.
pub(super) struct Sources<'a> {
    environment: &'a dyn Fn(&str) -> Option<OsString>,
    file: Settings,
}

/// The settings in an `ait.toml`.
#[derive(Default)]
struct Settings {
    path: PathBuf,
    given: BTreeMap<&'static str, Given>,
    /// The queries in the table `[queries]`.
    queries: SavedQueries,
    /// The syncs in the tables `[sync.NAME]`.
    syncs: Vec<SyncSettings>,
    /// The texts in the table `[texts]`, and what is wrong with the others.
    texts: Texts,
    wrong_texts: Vec<ConfigError>,
}

/// The entries of a table, with their lines.
type Entries<'a> = Vec<(&'a str, &'a Item, usize)>;

/// The value of a key: one text or a list.
struct Given {
    texts: Vec<String>,
    is_list: bool,
    line: usize,
}

/// The chosen values as texts with their sources, by the names of the settings.
pub(super) type Shown = BTreeMap<&'static str, (String, Source)>;

/// Chooses settings where an invalid one may be passed over, and notes what it chose.
pub(super) struct Chooser<'a, E> {
    pub sources: &'a Sources<'a>,
    /// Gets the name of each invalid setting, and decides whether to go on with its default.
    pub invalid: &'a mut dyn FnMut(&str, ConfigError) -> Result<(), E>,
    pub shown: Shown,
}

impl<E> Chooser<'_, E> {
    /// Returns the value of a setting, if it is set.
    pub fn choose<T: FromStr<Err: fmt::Display> + fmt::Display>(
        &mut self,
        setting: &Setting,
        flag: Option<T>,
    ) -> Result<Option<Sourced<T>>, E> {
        let chosen = self.sources.choose(setting, flag);
        self.take(setting, chosen)
    }

    /// Returns the value of a setting, or its default.
    pub fn choose_or<T: FromStr<Err: fmt::Display> + fmt::Display>(
        &mut self,
        setting: &Setting,
        flag: Option<T>,
        default: T,
    ) -> Result<Sourced<T>, E> {
        let chosen = self.choose(setting, flag)?;
        let chosen = chosen.unwrap_or(Sourced { value: default, source: Source::Default });
        self.note(setting, &chosen.value, &chosen.source);
        Ok(chosen)
    }

    /// Returns the values of a list setting together, as `show` shows them.
    pub fn list<T: FromStr<Err: fmt::Display>, C: FromIterator<T>>(
        &mut self,
        setting: &Setting,
        flags: Vec<T>,
        show: impl Fn(&C) -> Option<String>,
    ) -> Result<C, E> {
        let chosen = self.sources.list(setting, flags);
        let chosen = self.valid(setting, chosen)?;
        let (values, source) =
            chosen.map_or((Vec::new(), Source::Default), |chosen| (chosen.value, chosen.source));
        let value = values.into_iter().collect();
        if let Some(text) = show(&value) {
            self.note(setting, text, &source);
        }
        Ok(value)
    }

    /// Returns what was chosen for a setting.
    pub fn take<T: fmt::Display>(
        &mut self,
        setting: &Setting,
        chosen: Result<Option<Sourced<T>>, ConfigError>,
    ) -> Result<Option<Sourced<T>>, E> {
        let chosen = self.valid(setting, chosen)?;
        if let Some(Sourced { value, source }) = &chosen {
            self.note(setting, value, source);
        }
        Ok(chosen)
    }

    pub fn valid<T: Default>(
        &mut self,
        setting: &Setting,
        chosen: Result<T, ConfigError>,
    ) -> Result<T, E> {
        chosen.or_else(|error| (self.invalid)(setting.name, error).map(|()| T::default()))
    }

    fn note(&mut self, setting: &Setting, value: impl fmt::Display, source: &Source) {
        self.shown.insert(setting.name, (value.to_string(), source.clone()));
    }
}

impl<'a> Sources<'a> {
    /// Combines the environment with the `ait.toml` of a directory, if it exists.
    pub fn new(
        environment: &'a dyn Fn(&str) -> Option<OsString>,
        directory: &Path,
    ) -> Result<Self, ConfigError> {
        Ok(Self { environment, file: Settings::read(directory.join(FILE_NAME))? })
    }

    /// Returns the environment alone.
    pub fn without_file(environment: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Self { environment, file: Settings::default() }
    }

    /// Returns the saved queries, by name.
    pub fn queries(&self) -> SavedQueries {
        self.file.queries.clone()
    }

    /// Returns the texts that the file replaces, and what is wrong with the others.
    pub fn texts(&self) -> (Texts, &[ConfigError]) {
        (self.file.texts.clone(), &self.file.wrong_texts)
    }

    /// Returns the syncs, in the order of the file.
    pub fn syncs(&self) -> Vec<SyncSettings> {
        self.file.syncs.clone()
    }

    /// Returns the value of a setting, if it is set.
    pub fn choose<T: FromStr<Err: fmt::Display>>(
        &self,
        setting: &Setting,
        flag: Option<T>,
    ) -> Result<Option<Sourced<T>>, ConfigError> {
        if let Some(given) = self.file.given.get(setting.name).filter(|given| given.is_list) {
            let problem = format!("{} takes one value, not a list", setting.name);
            return Err(self.file.invalid(given.line, problem));
        }
        let flag = flag.map(|value| vec![value]).unwrap_or_default();
        let chosen = self.values(setting, flag, |variable| vec![variable])?;
        Ok(chosen.and_then(|Sourced { mut value, source }| {
            Some(Sourced { value: value.pop()?, source })
        }))
    }

    /// Returns the values of a list setting, if it is set. In the environment they are separated by commas.
    pub fn list<T: FromStr<Err: fmt::Display>>(
        &self,
        setting: &Setting,
        flags: Vec<T>,
    ) -> Result<Option<Sourced<Vec<T>>>, ConfigError> {
        let parts = |variable: &'_ str| -> Vec<String> {
            if setting.name == CHECK.name {
                return vec![variable.to_owned()];
            }
            let items = variable.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(str::to_owned).collect()
        };
        self.values(setting, flags, |variable| parts(&variable))
    }

    fn values<T: FromStr<Err: fmt::Display>>(
        &self,
        setting: &Setting,
        flags: Vec<T>,
        split: impl Fn(String) -> Vec<String>,
    ) -> Result<Option<Sourced<Vec<T>>>, ConfigError> {
        // An invalid value in the file is an error even if another source overrides it.
        let file = self.file.given.get(setting.name);
        let of_file = file.map(|given| parsed(&given.texts, || self.file.place(given.line)));
        let of_file = of_file.transpose()?;
        let is_fixed = [CHECK.name, REQUIRE_CHECK.name].contains(&setting.name)
            && self.file.given.contains_key(REQUIRE_CHECK.name);
        if is_fixed {
            // An agent has its environment in its own hands.
            let line = file.map_or(0, |given| given.line);
            return Ok(of_file.map(|value| Sourced { value, source: Source::File(line) }));
        }
        if !flags.is_empty() {
            return Ok(Some(Sourced { value: flags, source: Source::Flag(setting.name) }));
        }
        if let Some(text) = set((self.environment)(setting.variable)) {
            let texts = split(text.to_string_lossy().into_owned());
            let value = parsed(&texts, || setting.variable.to_owned())?;
            return Ok(Some(Sourced { value, source: Source::Variable(setting.variable) }));
        }
        let line = file.map_or(0, |given| given.line);
        Ok(of_file.map(|value| Sourced { value, source: Source::File(line) }))
    }
}

/// Returns the value of a variable unless it is empty.
pub(super) fn set(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

fn parsed<T: FromStr<Err: fmt::Display>>(
    texts: &[String],
    place: impl Fn() -> String,
) -> Result<Vec<T>, ConfigError> {
    let parse = |text: &String| {
        let problem =
            |error: T::Err| ConfigError::BadValue { place: place(), problem: error.to_string() };
        text.trim().parse().map_err(problem)
    };
    texts.iter().map(parse).collect()
}

impl Settings {
    fn read(path: PathBuf) -> Result<Self, ConfigError> {
        match small_file::read(&path, small_file::MAX_BYTES) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(ConfigError::Unreadable { path, cause: error.to_string() }),
        }
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, ConfigError> {
        let mut settings = Self { path, ..Self::default() };
        let line_of = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
        let table = Document::parse(text).map_err(|error| {
            let line = line_of(error.span().map_or(0, |span| span.start));
            settings.invalid(line, error.message().to_owned())
        })?;
        for (key, value) in table.iter().filter_map(|(name, _)| table.get_key_value(name)) {
            let line = line_of(key.span().map_or(0, |span| span.start));
            let entries = |expected: &str| {
                let problem = || settings.invalid(line, format!("{} must {expected}", key.get()));
                let table = value.as_table_like().ok_or_else(problem)?;
                let line = |value: &Item| line_of(value.span().map_or(0, |span| span.start));
                Ok(table.iter().map(|(name, value)| (name, value, line(value))).collect())
            };
            match key.get() {
                QUERIES => {
                    let entries = entries("be a table of queries: [queries]")?;
                    settings.read_queries(entries)?;
                    continue;
                }
                SYNC => {
                    let entries = entries("have a table for each: [sync.NAME]")?;
                    settings.read_syncs(entries)?;
                    continue;
                }
                TEXTS => {
                    let entries = entries("be a table of texts: [texts]")?;
                    settings.read_texts(entries);
                    continue;
                }
                _ => {}
            }
            let known = SETTINGS.iter().filter(|setting| setting.is_in_file());
            let Some(setting) = known.clone().find(|setting| setting.name == key.get()) else {
                let known: Vec<_> =
                    known.map(|setting| setting.name).chain([QUERIES, SYNC, TEXTS]).collect();
                let key = key.get().to_owned();
                let known = known.join(", ");
                return Err(ConfigError::UnknownKey { place: settings.place(line), key, known });
            };
            let texts = value.as_value().and_then(texts).ok_or_else(|| {
                let name = setting.name;
                let expected = "be a text, a number, true, false or a list of texts";
                settings.invalid(line, format!("{name} must {expected}"))
            })?;
            let is_list = value.is_array();
            settings.given.insert(setting.name, Given { texts, is_list, line });
        }
        Ok(settings)
    }

    /// Reads the table of saved queries, and checks each.
    fn read_queries(&mut self, entries: Entries<'_>) -> Result<(), ConfigError> {
        let mut queries = SavedQueries::new();
        for (name, value, line) in &entries {
            if !is_saved_name(name) {
                let problem = format!(
                    "{name:?} is no name for a query: use a letter and then at most 39 of a-z, 0-9, - and _"
                );
                return Err(self.invalid(*line, problem));
            }
            let Some(text) = value.as_str() else {
                return Err(self.invalid(*line, format!("the query {name} must be a text")));
            };
            queries.insert((*name).to_owned(), text.to_owned());
        }
        for (name, _, line) in entries {
            ParsedQuery::parse(&queries[name], &queries, Timestamp::MAX)
                .map_err(|error| self.invalid(line, format!("the query {name}: {error}")))?;
        }
        self.queries = queries;
        Ok(())
    }

    /// Reads the table of texts.
    fn read_texts(&mut self, entries: Entries<'_>) {
        for (key, value, line) in entries {
            let text = value.as_str().ok_or_else(|| format!("{key} must be a text"));
            let source = Source::File(line).to_string();
            let set = text.and_then(|text| self.texts.set(key, text, source));
            if let Err(problem) = set {
                self.wrong_texts.push(self.invalid(line, problem));
            }
        }
    }

    /// Reads the tables of syncs.
    fn read_syncs(&mut self, entries: Entries<'_>) -> Result<(), ConfigError> {
        for (name, table, line) in entries {
            let invalid = |problem| self.invalid(line, format!("[{SYNC}.{name}]: {problem}"));
            if !is_saved_name(name) {
                let expected = "a name is a letter and then at most 39 of a-z, 0-9, - and _";
                return Err(invalid(expected.to_owned()));
            }
            let Some(table) = table.as_table_like() else {
                return Err(invalid("it must be a table".to_owned()));
            };
            let value = |(key, value): (&str, &Item)| {
                let texts = value.as_value().and_then(texts);
                let expected = || format!("{key} must be a text or a list of texts");
                Ok((key.to_owned(), texts.ok_or_else(expected)?))
            };
            let values = table.iter().map(value).collect::<Result<_, _>>().map_err(invalid)?;
            let duration = |text: &str| humantime::parse_duration(text).ok();
            let sync = SyncSettings::new(name, &values, duration).map_err(invalid)?;
            self.syncs.push(sync);
        }
        Ok(())
    }

    fn invalid(&self, line: usize, problem: String) -> ConfigError {
        ConfigError::BadValue { place: self.place(line), problem }
    }

    fn place(&self, line: usize) -> String {
        format!("{}, line {line}", self.path.display())
    }
}

/// Returns a value in the form it would have on the command line.
fn texts(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Boolean(switch) => Some(switch.value().to_string()),
        _ => None,
    };
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => Some(vec![text(value)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::{AGENT, ALLOW_HOST, PORT};
    use crate::config::{AllowedHost, Port};
    use crate::domain::AgentName;

    fn settings(text: &str) -> Result<Settings, ConfigError> {
        Settings::parse("/p/ait.toml".into(), text)
    }

    fn sources<'a>(text: &str, environment: &'a dyn Fn(&str) -> Option<OsString>) -> Sources<'a> {
        Sources { environment, file: settings(text).unwrap() }
    }

    #[test]
    fn flag_overrides_environment_overrides_file() {
        let text = "# of the project\nport = 4000\nagent = \"team\"\n";
        let none = |_: &str| None;
        let some = |name: &str| (name == "PORT").then(|| "5000".into());
        let port = |sources: &Sources<'_>, flag| sources.choose(&PORT, flag).unwrap();
        let chosen = |port, source| Some(Sourced { value: Port(port), source });
        assert_eq!(port(&sources("", &none), None), None);
        assert_eq!(port(&sources(text, &none), None), chosen(4000, Source::File(2)));
        assert_eq!(port(&sources(text, &some), None), chosen(5000, Source::Variable("PORT")));
        assert_eq!(port(&sources("port = 0x1F90", &none), None), chosen(8080, Source::File(1)));
        let flag = Some(Port(6000));
        assert_eq!(port(&sources(text, &some), flag), chosen(6000, Source::Flag("port")));
        let agent: Option<Sourced<AgentName>> = sources(text, &none).choose(&AGENT, None).unwrap();
        assert_eq!(agent.unwrap().source.to_string(), "ait.toml, line 3");
    }

    #[test]
    fn list_settings_accept_arrays_strings_and_comma_lists() {
        let none = |_: &str| None;
        let some =
            |name: &str| (name == "AIT_ALLOW_HOST").then(|| "a.example, b.example:80,".into());
        let hosts = |sources: &Sources<'_>| -> Vec<String> {
            let hosts: Option<Sourced<Vec<AllowedHost>>> =
                sources.list(&ALLOW_HOST, Vec::new()).unwrap();
            let hosts = hosts.map(|hosts| hosts.value).unwrap_or_default();
            hosts.iter().map(ToString::to_string).collect()
        };
        assert_eq!(hosts(&sources("allow-host = \"c.example\"", &none)), ["c.example"]);
        let list = "allow-host = [\"c.example\", \"d.example\"]";
        assert_eq!(hosts(&sources(list, &none)), ["c.example", "d.example"]);
        assert_eq!(hosts(&sources(list, &some)), ["a.example", "b.example:80"]);
        assert!(hosts(&sources("", &none)).is_empty());
    }

    #[test]
    fn invalid_settings_are_reported_with_line_even_if_overridden() {
        let none = |_: &str| None;
        let error = |text: &str| {
            let read = settings(text).map(|file| Sources { environment: &none, file });
            let chosen = read.and_then(|sources| sources.choose(&PORT, Some(Port(1))));
            chosen.unwrap_err().to_string()
        };
        for (text, expected) in [
            ("\n\nprot = 1", "/p/ait.toml, line 3: there is no setting \"prot\"; the settings are"),
            ("file = \"x\"", "line 1: there is no setting \"file\""),
            ("port = 1\nport = 2", "line 2: "),
            ("a = 1\nport = [", "/p/ait.toml, line 2: "),
            ("port = \"web\"", "line 1: \"web\" is not a port: give a number from 0 to 65535"),
            ("# x\nport = 65536", "line 2: \"65536\" is not a port"),
            ("port = [1, 2]", "line 1: port takes one value, not a list"),
            ("port = []", "line 1: port takes one value"),
            ("port = true", "line 1: \"true\" is not a port"),
            ("port = 1.5", "line 1: port must be a text, a number, true, false or a list of texts"),
            ("[port]\nx = 1", "line 1: port must be"),
        ] {
            let error = error(text);
            assert!(error.contains(expected), "{error}");
        }
    }
}
