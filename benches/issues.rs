//! Issues of typical length.

use agent_issue_tracker::domain::{
    AgentName, AttributeValues, Attributes, Before, Classification, CommentText, Description,
    Event, EventKind, IssueId, Link, LinkKind, Timestamp, Title,
};
use agent_issue_tracker::store::files::format::Document;
use chrono::Utc;
use uuid::Uuid;

pub const DESCRIPTION_CHARS: usize = 600;
pub const COMMENT_CHARS: usize = 200;

/// Text with quotes and line feeds, which JSON must escape.
const PROSE: &str = "When a file ends without a line feed, the importer drops its last line.\n\n\
    Steps: save \"a,b\" without a line feed, run the import, look at the count. Expected one row, \
    got none. The loop in the reader stops at the last separator that it finds and never looks at \
    what is left in the buffer. ";

/// The content of an issue to file.
#[derive(Clone)]
pub struct Filing {
    pub title: Title,
    pub description: Description,
}

impl Filing {
    pub fn new(number: usize) -> Self {
        let title =
            format!("The importer drops the last line of a file without a line feed ({number})");
        Self {
            title: Title::try_from(title).expect("a valid title"),
            description: Description::try_from(prose(number, DESCRIPTION_CHARS))
                .expect("a valid description"),
        }
    }
}

pub fn agent() -> AgentName {
    AgentName::try_from("developer-3").expect("a valid name")
}

pub fn comment(number: usize) -> CommentText {
    CommentText::try_from(prose(number, COMMENT_CHARS)).expect("a valid comment")
}

fn prose(number: usize, chars: usize) -> String {
    format!("{number}. ").chars().chain(PROSE.chars().cycle()).take(chars).collect()
}

/// Creates a document with `size` issues, each with three history entries and one comment. One half waits to be
/// claimed, the other half for review.
pub fn document(size: usize) -> Document {
    document_with(size, |_, _| Attributes::default())
}

/// Creates the same document, but every fifth issue is blocked by the one before it and has five labels.
pub fn document_with_blocked(size: usize) -> Document {
    document_with(size, |number, before| {
        let Some(blocker) = before.filter(|_| number % 5 == 4) else {
            return Attributes::default();
        };
        let label = |offset| {
            format!("area/part-{}", (number + offset) % 50).parse().expect("a valid label")
        };
        let mut labels: Vec<_> = (0..5).map(label).collect();
        labels.sort();
        let links = vec![Link { kind: LinkKind::BlockedBy, to: blocker }];
        AttributeValues { labels, links, ..AttributeValues::default() }.into()
    })
}

/// Creates a document in which each issue gets attributes from its number and the issue before it.
fn document_with(
    size: usize,
    attributes: impl Fn(usize, Option<IssueId>) -> Attributes,
) -> Document {
    let mut document = Document::default();
    let at = Timestamp::from(Utc::now());
    let mut before = None;
    for number in 0..size {
        let issue = IssueId::from(Uuid::new_v4());
        let Filing { title, description } = Filing::new(number);
        let filed = EventKind::Filed {
            attributes: attributes(number, before.replace(issue)),
            title: title.into_string(),
            description: description.into_string(),
            classification: Classification::ALL[number % Classification::ALL.len()],
        };
        let comment = comment(number).into_string();
        let last = if number.is_multiple_of(2) {
            EventKind::Returned { comment }
        } else {
            EventKind::Completed { comment }
        };
        for kind in [filed, EventKind::Claimed, last] {
            apply(&mut document, issue, at, agent().into_string(), kind);
        }
    }
    document
}

/// Applies one event to a document.
pub fn apply(
    document: &mut Document,
    issue: IssueId,
    at: Timestamp,
    agent: String,
    kind: EventKind,
) {
    let before = document.issues.get(issue).map(|issue| Before::of(&issue));
    let event = Event { before, ..Event::new(issue, at, agent, kind) };
    document.issues.apply(&event).expect("an event that fits");
}

/// Words that occur in most texts.
const COMMON: [&str; 24] = [
    "the", "of", "in", "by", "when", "before", "after", "a", "to", "and", "is", "not", "with",
    "it", "page", "list", "name", "file", "fails", "shows", "error", "line", "count", "server",
];

/// Words that occur in some texts.
const USUAL: [&str; 16] = [
    "login", "token", "expires", "retry", "request", "browser", "sorts", "column", "agent",
    "claim", "reader", "drops", "import", "restart", "queue", "timeout",
];

/// Syllables of the rare words.
const SYLLABLES: [&str; 20] = [
    "ra", "te", "lo", "mi", "con", "per", "sta", "ver", "gen", "dul", "fra", "kel", "nor", "pim",
    "qua", "zet", "hob", "jus", "wex", "yul",
];

/// Creates a document of open issues with different texts: half of the words are common, a tenth are usual, and the
/// others are among 8,000 rare ones.
pub fn different(size: usize) -> Document {
    let mut random = fastrand::Rng::with_seed(7);
    let mut word = || match random.usize(..10) {
        0..5 => COMMON[random.usize(..COMMON.len())].to_owned(),
        5 => USUAL[random.usize(..USUAL.len())].to_owned(),
        _ => (0..3).map(|_| SYLLABLES[random.usize(..SYLLABLES.len())]).collect(),
    };
    let mut words = |count: usize| (0..count).map(|_| word()).collect::<Vec<_>>().join(" ");
    let mut document = Document::default();
    let now = chrono::DateTime::<Utc>::from(Timestamp::from(Utc::now()));
    for number in 0..size {
        let id = IssueId::from(Uuid::new_v4());
        // One issue per minute, the last one now.
        let minutes = chrono::TimeDelta::minutes(i64::try_from(size - number).unwrap_or(0));
        let at = Timestamp::from(now - minutes);
        let filed = EventKind::Filed {
            attributes: Attributes::default(),
            title: format!("{} {number}", words(7)),
            description: words(100),
            classification: Classification::ALL[number % Classification::ALL.len()],
        };
        apply(&mut document, id, at, agent().into_string(), filed);
        if number.is_multiple_of(3) {
            let holder = format!("developer-{}", number % 50);
            apply(&mut document, id, at, holder, EventKind::Claimed);
        }
    }
    document
}

/// Creates the same document, but nine of ten issues are closed, as after some months of work.
pub fn mostly_closed(size: usize) -> Document {
    let mut document = different(size);
    let ids: Vec<_> = document.issues.issues().map(|issue| (issue.id, issue.modified_at)).collect();
    for (_, (id, at)) in ids.into_iter().enumerate().filter(|(number, _)| number % 10 != 0) {
        apply(
            &mut document,
            id,
            at,
            agent().into_string(),
            EventKind::Closed { comment: "done".into() },
        );
    }
    document
}
