//! The project whose issues the pages show: its name, its saved queries, and an icon in a colour of its own, so that
//! the tabs of several projects are told apart.

use std::iter;
use std::path::PathBuf;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::assets::Asset;
use super::repository::Repository;
use ait_language::Languages;
use ait_query::SavedQueries;
use ait_sync::{LastRun, SyncSettings, WaitingCache};

/// What stands for the colour in the icon.
const COLOUR: &str = "{colour}";
/// The colours. Each has a contrast of at least 4.5:1 with white.
const COLOURS: [&str; 8] =
    ["#4a5bd4", "#8a3ec2", "#b03a78", "#b0402c", "#8a5a00", "#3f7a1e", "#0f7566", "#1b6fa8"];

/// The end of the icon, before which a badge is drawn.
const END: &str = "</svg>";
/// The most that a badge counts; more show as this number with a plus.
const MAX_COUNTED: usize = 9;

/// The project of a store.
pub(super) struct Project {
    pub name: String,
    pub icon: Asset,
    /// The queries that have names.
    pub queries: Arc<SavedQueries>,
    /// Its directory, if that is known.
    pub root: Option<PathBuf>,
    /// The pages of its repository.
    pub repository: Option<Repository>,
    /// The icon with a badge, by the number in it from 1; the last one stands for all larger numbers.
    pub badged: Vec<Asset>,
    /// Whether people may change its issues on the pages.
    pub has_actions: bool,
    /// The syncs with remote trackers.
    pub syncs: Vec<SyncSettings>,
    /// Where they keep how their last runs ended.
    pub sync_directory: PathBuf,
    /// What they send next.
    pub waiting: WaitingCache,
    /// The languages of the pages, and the tag of the one for readers who have not chosen.
    pub languages: Languages,
    pub language: Option<String>,
    /// Whether a page lists the other projects of the user.
    pub has_projects: bool,
    /// Whether an empty project can show an example.
    pub has_example: bool,
    /// Whether this is the example.
    pub is_example: bool,
}

impl Project {
    /// Creates a project, whose name determines its colour.
    pub fn new(name: &str, queries: Arc<SavedQueries>, repository: Option<&str>) -> Self {
        let number = xxh3_64(name.as_bytes()) % COLOURS.len() as u64;
        let colour = COLOURS[usize::try_from(number).unwrap_or_default()];
        let plain = ait_http::ICON.replace(COLOUR, colour);
        let badged = (1..=MAX_COUNTED + 1).map(|count| image(plain.replace(END, &badge(count))));
        Self {
            name: name.to_owned(),
            queries,
            root: None,
            repository: repository.map(Repository::new),
            badged: badged.collect(),
            icon: image(plain),
            has_actions: false,
            syncs: Vec::new(),
            sync_directory: PathBuf::new(),
            waiting: WaitingCache::default(),
            languages: Languages::default(),
            language: None,
            has_projects: false,
            has_example: false,
            is_example: false,
        }
    }

    /// Returns the icon of a tab with so many things that need attention.
    pub fn icon_of(&self, count: usize) -> &Asset {
        match count.checked_sub(1) {
            None => &self.icon,
            Some(index) => &self.badged[index.min(MAX_COUNTED)],
        }
    }

    /// Returns how the last runs of the syncs ended, in their order. Reads files.
    pub fn last_runs(&self) -> Vec<Option<LastRun>> {
        let syncs = self.syncs.iter();
        syncs.map(|sync| LastRun::read(&self.sync_directory, &sync.name)).collect()
    }

    pub fn icons(&self) -> impl Iterator<Item = &Asset> {
        iter::once(&self.icon).chain(&self.badged)
    }
}

fn image(body: String) -> Asset {
    Asset::new("icon.svg", "image/svg+xml", body)
}

/// Draws a badge at the upper right, and ends the icon.
fn badge(count: usize) -> String {
    let (text, size) = match count {
        ..=MAX_COUNTED => (count.to_string(), 17),
        _ => (format!("{MAX_COUNTED}+"), 14),
    };
    format!(
        "<circle cx=\"22\" cy=\"10\" r=\"10\" fill=\"#b3261e\" stroke=\"#fff\" stroke-width=\"1.5\"/>\
         <text x=\"22\" y=\"16\" font-family=\"system-ui,sans-serif\" font-size=\"{size}\" font-weight=\"700\" \
         text-anchor=\"middle\" fill=\"#fff\">{text}</text>{END}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(name: &str) -> Project {
        Project::new(name, Arc::default(), None)
    }

    #[test]
    fn projects_differ_in_the_colour_of_their_icons() {
        let icons: Vec<_> = ["api", "shop", "docs"].map(|name| project(name).icon.path).into();
        assert!(icons[0] != icons[1] && icons[1] != icons[2] && icons[0] != icons[2], "{icons:?}");
        assert_eq!(icons[0], project("api").icon.path);
        assert!(!project("api").icon.body.contains('{'));
    }

    #[test]
    fn icons_count_what_needs_attention_up_to_nine() {
        let project = project("api");
        assert_eq!(project.icon_of(0).path, project.icon.path);
        for (count, text) in
            [(1, ">1</text>"), (9, ">9</text>"), (10, ">9+</text>"), (700, ">9+</text>")]
        {
            let icon = project.icon_of(count);
            assert!(
                icon.body.contains(text) && icon.body.trim_end().ends_with(END),
                "{count}: {}",
                icon.body
            );
        }
        assert_eq!(project.icons().count(), MAX_COUNTED + 2);
    }
}
