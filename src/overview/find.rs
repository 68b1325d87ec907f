//! Finding issues: filters that combine, text search, any order, pages.

use regex::{Regex, RegexBuilder};

use super::digest::Digest;
use super::orders::{Direction, SortKey};
use super::signatures::Candidates;
use super::survey::Survey;
use crate::domain::{Classification, ContentFilter, Counts, Status, Statuses};
use crate::tracker::IssueStore;

/// The most issues with a text that are looked for: what says more than that is to be asked for more
/// closely, and whoever asks waits for the same time at any size of the store.
pub const MAX_FOUND: usize = 500;

/// Which issues somebody wants to see.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Only those in one of these statuses.
    pub statuses: Statuses,
    /// Only those of this classification.
    pub classification: Option<Classification>,
    /// Only those to which this agent did anything.
    pub agent: Option<String>,
    /// Only those in whose title, description or comments each of these texts occurs, in whichever case,
    /// or whose id begins with it. They are in lower case.
    pub texts: Vec<String>,
}

/// An order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sorting {
    /// By what.
    pub key: SortKey,
    /// In which direction.
    pub direction: Direction,
}

/// The last changed first.
impl Default for Sorting {
    fn default() -> Self {
        Self { key: SortKey::Activity, direction: Direction::Descending }
    }
}

/// A part of what was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The positions of the issues on the page.
    pub positions: Vec<usize>,
    /// The number of the page, from 1: the last one when there are not so many as was asked for.
    pub page: usize,
    /// How many issues fit.
    pub total: usize,
    /// How many fit in each status, whichever statuses were asked for.
    pub counts: Counts,
    /// Whether `total` is how many fit; when not, more than that do, and so many can be shown.
    pub is_exact: bool,
    /// Whether the same is true of `counts`.
    pub has_exact_counts: bool,
}

impl Listing {
    /// How many pages there are; one for nothing.
    pub fn pages(&self, page_size: usize) -> usize {
        self.total.div_ceil(page_size).max(1)
    }
}

impl Survey<'_> {
    /// Finds a page of issues; pages are counted from 1.
    ///
    /// Costs about the same however many issues say a text. The first search makes an index of the
    /// texts, which takes some microseconds for each issue.
    pub fn find(&mut self, filter: &Filter, order: Sorting, page: usize, size: usize) -> Listing {
        let agent = match filter.agent.as_deref().map(|agent| self.names().find(agent)) {
            Some(None) => return page_of([].into_iter(), 0, Counts::default(), (page, size)),
            found => found.flatten(),
        };
        let search = (!filter.texts.is_empty()).then(|| Search::new(&filter.texts, self));
        let (index, issues) = (&mut *self.index, &self.issues);
        let in_order = index.orders.get(order.key, &index.digests, &index.names);
        let in_order = || -> Box<dyn Iterator<Item = usize>> {
            match order.direction {
                Direction::Ascending => Box::new(in_order.iter().copied()),
                Direction::Descending => Box::new(in_order.iter().rev().copied()),
            }
        };
        let digests = &index.digests;
        let fits = |digest: &Digest| {
            filter.classification.is_none_or(|kind| digest.classification == kind)
                && agent.is_none_or(|agent| digest.was_touched_by(agent))
        };
        let is_asked_for = |position: &usize| filter.statuses.contains(digests[*position].status);
        let Some(search) = search else {
            let counts = if filter.classification.is_none() && agent.is_none() {
                issues.counts()
            } else {
                counted(digests.iter().filter(|digest| fits(digest)))
            };
            let found = in_order().filter(|at| is_asked_for(at) && fits(&digests[*at]));
            let total = filter.statuses.iter().map(|status| counts.in_status(status)).sum();
            return page_of(found, total, counts, (page, size));
        };
        let finds = |at: &usize| fits(&digests[*at]) && search.finds(*at, &digests[*at], issues);
        let mut found: Vec<_> = in_order().filter(finds).take(MAX_FOUND + 1).collect();
        let has_exact_counts = found.len() <= MAX_FOUND;
        let counts = counted(found.iter().map(|&at| &digests[at]));
        if has_exact_counts {
            found.retain(is_asked_for);
        } else {
            let all = in_order().filter(|at| is_asked_for(at) && finds(at));
            found = all.take(MAX_FOUND + 1).collect();
        }
        let is_exact = found.len() <= MAX_FOUND;
        found.truncate(MAX_FOUND);
        let listing = page_of(found.iter().copied(), found.len(), counts, (page, size));
        Listing { is_exact, has_exact_counts, ..listing }
    }
}

/// How often each status occurs.
fn counted<'a>(digests: impl Iterator<Item = &'a Digest>) -> Counts {
    let mut counts = [0; Status::ALL.len()];
    digests.for_each(|digest| counts[digest.status as usize] += 1);
    Counts::of(|status| counts[status as usize])
}

/// A page of the issues that were found, of which is known how many there are.
fn page_of(
    found: impl Iterator<Item = usize>,
    total: usize,
    counts: Counts,
    (page, size): (usize, usize),
) -> Listing {
    let all = Listing {
        positions: Vec::new(),
        page: 1,
        total,
        counts,
        is_exact: true,
        has_exact_counts: true,
    };
    let page = page.clamp(1, all.pages(size));
    Listing { positions: found.skip((page - 1) * size).take(size).collect(), page, ..all }
}

/// A search for texts, from what is quickly told to what is true.
struct Search {
    content: ContentFilter,
    /// For each text, which issues may say it; and whether ids may begin with it.
    candidates: Vec<(Candidates, bool)>,
    /// What the written form of an issue contains that says the texts.
    written: Vec<Regex>,
}

impl Search {
    fn new(texts: &[String], survey: &mut Survey) -> Self {
        let (signatures, issues) = (&mut survey.index.signatures, &survey.issues);
        let is_of_id = |text: &str| text.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-');
        let candidates =
            texts.iter().map(|text| (signatures.candidates(text, issues), is_of_id(text)));
        Self {
            candidates: candidates.collect(),
            written: texts.iter().filter_map(|text| written(text)).collect(),
            content: ContentFilter { texts: texts.to_vec(), ..ContentFilter::default() },
        }
    }

    fn finds(&self, position: usize, digest: &Digest, issues: &IssueStore) -> bool {
        let may_say = self.candidates.iter().zip(&self.content.texts).all(
            |((candidates, is_of_id), text)| {
                candidates.contains(position)
                    || *is_of_id && digest.id.to_string().starts_with(text)
            },
        );
        may_say
            && issues
                .written_at(position)
                .is_none_or(|json| self.written.iter().all(|text| text.is_match(json)))
            && self.content.fits(&issues.at(position))
    }
}

/// What finds a text in JSON, in whichever case; `None` when that is not sure to find all that contains
/// it in lower case: beyond ASCII, letters change in ways that a pattern does not know.
fn written(text: &str) -> Option<Regex> {
    if !text.is_ascii() || text.ends_with('i') {
        // The lower case of İ is an i with a dot on it.
        return None;
    }
    let json = serde_json::to_string(text).ok()?;
    let escaped = json.strip_prefix('"')?.strip_suffix('"')?;
    RegexBuilder::new(&regex::escape(escaped)).case_insensitive(true).build().ok()
}
