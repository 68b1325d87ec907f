//! The settings of a sync: the table `[sync.NAME]` in `ait.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs};

use ait_domain::string_enum;
use ait_system::small_file;

use crate::remote::{Field, State};

string_enum! {
    /// The kind of a remote.
    pub enum Kind {
        Azure = "azure",
        Backlog = "backlog",
        GitHub = "github",
    }
}

string_enum! {
    /// What is sent to a remote.
    pub enum Push {
        Status = "status",
        Comments = "comments",
        Title = "title",
        Description = "description",
        Priority = "priority",
        Labels = "labels",
        /// While an agent holds an issue, the account of the sync is an assignee there.
        Assignee = "assignee",
        /// Issues that began here are filed there.
        New = "new",
    }
}

impl Push {
    /// Returns the word for sending a field.
    pub fn of(field: Field) -> Self {
        match field {
            Field::Title => Self::Title,
            Field::Description => Self::Description,
            Field::Status => Self::Status,
            Field::Priority => Self::Priority,
            Field::Labels => Self::Labels,
        }
    }
}

impl Kind {
    /// The variable with the secret, unless the settings name another one.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Azure => "AZURE_DEVOPS_TOKEN",
            Self::Backlog => "BACKLOG_API_KEY",
            Self::GitHub => "GITHUB_TOKEN",
        }
    }

    /// Returns the fields that issues have there.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Self::Azure => Field::ALL,
            Self::Backlog => &[Field::Title, Field::Description, Field::Status, Field::Priority],
            Self::GitHub => &[Field::Title, Field::Description, Field::Status, Field::Labels],
        }
    }

    /// Returns the state there that a state is shown as.
    pub fn nearest(self, state: State) -> State {
        match self {
            Self::GitHub if !state.has_ended() => State::Open,
            _ => state,
        }
    }

    /// The keys of the table that a remote of this kind needs.
    fn needed(self) -> &'static [&'static str] {
        match self {
            Self::Azure | Self::Backlog => &["project", "url"],
            Self::GitHub => &["project"],
        }
    }

    fn usual_url(self) -> &'static str {
        match self {
            Self::Azure | Self::Backlog => "",
            Self::GitHub => "https://api.github.com",
        }
    }
}

/// A sync.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncSettings {
    pub name: String,
    pub kind: Kind,
    /// The project there, such as `acme/shop`.
    pub project: String,
    /// The address of the remote's API, without a slash at its end.
    pub url: String,
    /// What comes in, in the words of the remote.
    pub pull: String,
    pub push: BTreeSet<Push>,
    /// The file with the secret; relative to `ait.toml`.
    pub token_file: Option<String>,
    /// Whether the key of Backlog is sent in the address, for servers that do not know its header.
    pub has_key_in_url: bool,
    /// How often a server runs the sync by itself.
    pub every: Option<Duration>,
}

/// The secret for a remote. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(set)")
    }
}

/// The keys of the table.
const KEYS: [&str; 8] =
    ["kind", "project", "url", "pull", "push", "token-file", "key-in-url", "every"];
/// What a sync sends if the settings do not say.
const USUAL_PUSH: [Push; 2] = [Push::Status, Push::Comments];
/// The shortest time between two runs.
const SHORTEST: Duration = Duration::from_secs(10);

impl SyncSettings {
    /// Reads a table, whose values are texts or lists of texts.
    ///
    /// # Errors
    ///
    /// What is wrong, with the key.
    pub fn new(
        name: &str,
        table: &BTreeMap<String, Vec<String>>,
        duration: impl Fn(&str) -> Option<Duration>,
    ) -> Result<Self, String> {
        if let Some(unknown) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("there is no key {unknown:?}; the keys are {}", KEYS.join(", ")));
        }
        let text = |key: &str| table.get(key).and_then(|texts| texts.first()).cloned();
        let kinds = || Kind::words().collect::<Vec<_>>().join(", ");
        let kind = text("kind").ok_or_else(|| format!("kind is missing: {}", kinds()))?;
        let kind = Kind::from_word(&kind)
            .ok_or_else(|| format!("{kind:?} is no kind of a remote: give {}", kinds()))?;
        if let Some(missing) = kind.needed().iter().find(|key| text(key).is_none()) {
            return Err(format!("{missing} is missing: a remote of the kind {kind} needs it"));
        }
        let push = match table.get("push") {
            None => USUAL_PUSH.into(),
            Some(words) => words
                .iter()
                .map(|word| {
                    let known = || Push::words().collect::<Vec<_>>().join(", ");
                    Push::from_word(word).ok_or_else(|| {
                        format!("push cannot send {word:?}: it can send {}", known())
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        let every = text("every").map(|text| {
            duration(&text)
                .filter(|every| *every >= SHORTEST)
                .ok_or_else(|| format!("every is {text:?}: give a time from 10s on, such as 5m"))
        });
        let url = text("url").unwrap_or_else(|| kind.usual_url().to_owned());
        let url = url.trim_end_matches('/').to_owned();
        let is_safe = url.starts_with("https://") || is_of_this_machine(&url);
        if !is_safe || url.contains(['@', '?', '#', '\\']) {
            return Err(format!(
                "url is {url:?}: give an address that begins with https:// and has neither a user nor a query in it"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            kind,
            project: text("project").unwrap_or_default(),
            url,
            pull: text("pull").unwrap_or_default(),
            push,
            token_file: text("token-file"),
            has_key_in_url: text("key-in-url").is_some_and(|value| value == "true"),
            every: every.transpose()?,
        })
    }

    /// Reads the secret: from the file that the settings name, or else from the environment.
    ///
    /// # Errors
    ///
    /// There is none, or the file can be read by others.
    pub fn secret(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
        directory: &Path,
    ) -> Result<Secret, String> {
        let variable = self.kind.variable();
        let Some(file) = &self.token_file else {
            let token = environment(variable).filter(|token| !token.trim().is_empty());
            let missing = || {
                format!(
                    "{variable} is not set: set it to a token of the remote, or name a file with it as token-file in \
                     [sync.{}]",
                    self.name
                )
            };
            return Ok(Secret(token.ok_or_else(missing)?.trim().to_owned()));
        };
        const BY_OTHERS: u32 = 0o077;
        let path = directory.join(file);
        let shown = path.display();
        let mode = fs::metadata(&path).map(|found| found.permissions().mode());
        let mode = mode.map_err(|error| format!("{shown} cannot be read: {error}"))?;
        if mode & BY_OTHERS != 0 {
            return Err(format!("others can read the token in {shown}: run `chmod 600 {shown}`"));
        }
        let text = small_file::read(&path, small_file::MAX_BYTES)
            .map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let token = text.trim();
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if is_token { Ok(Secret(token.to_owned())) } else { Err(format!("{shown} has no token")) }
    }
}

/// Splits a filter such as `state:open label:"to do"` into keys and values.
#[cfg(feature = "http")]
pub(crate) fn terms(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut terms = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let wrong = || format!("pull cannot be read at {rest:?}: write terms such as KEY:VALUE");
        let (key, value) = rest.split_once(':').ok_or_else(wrong)?;
        let quoted = value.strip_prefix('"').and_then(|value| value.split_once('"'));
        let plain = || value.split_once(char::is_whitespace).unwrap_or((value, ""));
        let (value, after) = quoted.unwrap_or_else(plain);
        if value.is_empty() || key.contains(char::is_whitespace) {
            return Err(wrong());
        }
        terms.push((key, value));
        rest = after.trim_start();
    }
    Ok(terms)
}

/// Returns true if an address without encryption stays on this machine.
pub(crate) fn is_of_this_machine(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &[(&str, &str)]) -> Result<SyncSettings, String> {
        let table = text
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.split(' ').map(str::to_owned).collect()));
        SyncSettings::new("a", &table.collect(), |_| Some(Duration::from_secs(60)))
    }

    #[test]
    fn tables_are_checked() {
        let project = ("project", "acme/shop");
        let kind = ("kind", "github");
        let taken = settings(&[kind, project, ("push", "status new")]).unwrap();
        assert_eq!(taken.push, BTreeSet::from([Push::Status, Push::New]));
        assert_eq!(taken.url, "https://api.github.com");
        for (table, expected) in [
            (&[project][..], "kind is missing"),
            (&[("kind", "x"), project], "no kind of a remote: give azure, backlog, github"),
            (&[kind], "project is missing"),
            (&[kind, project, ("x", "1")], "no key \"x\""),
            (&[kind, project, ("push", "all")], "push cannot send \"all\""),
            (&[kind, project, ("url", "http://example.com")], "begins with https://"),
            (&[kind, project, ("url", "http://localhost.example.com")], "begins with https://"),
            (&[kind, project, ("url", "https://a:b@example.com")], "neither a user"),
            (&[kind, project, ("url", "https://example.com?.visualstudio.com")], "nor a query"),
            (&[kind, project, ("url", "https://example.com#.visualstudio.com")], "nor a query"),
        ] {
            let error = settings(table).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(settings(&[kind, project, ("url", "http://127.0.0.1:80/")]).is_ok());
    }

    #[test]
    fn secrets_are_read_from_private_files_and_shown_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        fs::write(&path, "SECRET\n").unwrap();
        let read = |mode, of: &SyncSettings| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            of.secret(&|_| Some("OTHER".to_owned()), directory.path())
        };
        let of_file =
            settings(&[("kind", "github"), ("project", "a/b"), ("token-file", "token")]).unwrap();
        let secret = read(0o600, &of_file).unwrap();
        assert_eq!((secret.0.as_str(), format!("{secret:?}").as_str()), ("SECRET", "(set)"));
        let refused = read(0o640, &of_file).unwrap_err();
        assert!(refused.contains("chmod 600") && !refused.contains("SECRET"), "{refused}");
        let of_variable = SyncSettings { token_file: None, ..of_file };
        assert_eq!(
            of_variable.secret(&|_| Some(" T ".to_owned()), directory.path()).unwrap().0,
            "T"
        );
        let missing = of_variable.secret(&|_| None, directory.path()).unwrap_err();
        assert!(missing.contains("GITHUB_TOKEN is not set"), "{missing}");
    }
}
