//! The document around the content of every page: head, header, navigation and footer.

use maud::{DOCTYPE, Markup, html};

use super::components::{undirected, with_code};
use super::{dialogs, icons};
use crate::actions::action::INBOX_PATH;
use crate::assets::{APPEARANCE, SCRIPT, STYLE, WORKER};
use crate::project::Project;
use crate::strings::{self, layout, wall};
use ait_domain::Timestamp;

/// How often a page reloads in browsers without scripts.
const REFRESH_S: u32 = 30;

/// The beginning of the attribute with the time of the page.
pub(super) const NOW: &str = "data-now=\"";

/// A page in the navigation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tab {
    Issues,
    Board,
    Agents,
    Activity,
    Statistics,
    Inbox,
    Memory,
    Sync,
}

/// What the document needs beside the content.
#[derive(Default)]
pub(crate) struct Layout<'a> {
    pub title: &'a str,
    /// The current page in the navigation.
    pub tab: Option<Tab>,
    /// How many issues are open, if known.
    pub open: Option<usize>,
    /// How many things need a person.
    pub attention: usize,
    /// The moment that the page shows.
    pub now: Option<Timestamp>,
    /// The version of the store that the page shows, if the page follows changes.
    pub version: Option<&'a str>,
    /// The id of the store, by which a page notices that another one has taken its port.
    pub store: Option<&'a str>,
    /// Why the store cannot be changed.
    pub trouble: Option<&'a str>,
    /// Whether the store is damaged.
    pub is_damaged: bool,
    /// Further elements of the head.
    pub head: Option<&'a Markup>,
    /// Whether the page is that of an issue.
    pub is_of_issue: bool,
    /// Whether the page has forms that change issues.
    pub has_forms: bool,
    /// The path of the same data as JSON.
    pub json: Option<&'a str>,
    /// The path of the same data as CSV.
    pub csv: Option<&'a str>,
}

impl Layout<'_> {
    /// Returns the whole document.
    pub fn around(&self, project: &Project, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang=(strings::LANGUAGE) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if self.has_forms {
                        // Without a referrer policy of its own, forms would be sent without their origin.
                        meta name="referrer" content="same-origin";
                    } @else if self.version.is_some() { noscript { meta http-equiv="refresh" content=(REFRESH_S); } }
                    title { (self.tab_title(project)) }
                    link rel="icon" href=(project.icon_of(self.attention).path) type="image/svg+xml";
                    script src=(APPEARANCE.path) {}
                    link rel="stylesheet" href=(STYLE.path);
                    @if let Some(head) = self.head { (head) }
                    // It names all assets, by which a page notices another version of the program.
                    script src=(SCRIPT.path) data-worker=(WORKER.path) data-sheet=(STYLE.path) defer {}
                }
                body data-changed="The page has been updated." {
                    (icons::sprite())
                    a.skip href="#main" { "Skip to content" }
                    (self.header(project))
                    main #main tabindex="-1" data-now=[self.now.map(|now| now.unix_millis())]
                        data-version=[self.version] data-store=[self.store]
                    {
                        @if project.is_example { p #example.notice { (layout::EXAMPLE) } }
                        @if let Some(trouble) = self.trouble {
                            p #trouble.notice.bad role="alert" { (with_code(trouble)) }
                        }
                        (content)
                    }
                    footer.bottom {
                        p {
                            @if project.has_actions {
                                "These pages show the queue. People file issues here and change them in the \
                                 list, on their pages or on the command line, agents through MCP."
                            } @else {
                                "These pages are read-only. Agents change issues through MCP, people on the \
                                 command line."
                            }
                        }
                        (appearance(project))
                        p {
                            button #notify type="button" hidden data-off="Notify me of what needs attention"
                                data-on="Do not notify me any more" data-note="{count} need attention" {}
                        }
                        p { button #open-help type="button" hidden { (strings::dialogs::SHORTCUTS) } }
                        @if project.has_projects { p { a href="/projects" { "All projects" } } }
                        @if let Some(json) = self.json {
                            p {
                                a href=(json) { "View as JSON" }
                                @if let Some(csv) = self.csv { " · " a href=(csv) download { "Download as CSV" } }
                            }
                        }
                    }
                    p #said.unseen role="status" {}
                    (dialogs::dialogs(project))
                }
            }
        }
    }

    fn tab_title(&self, project: &Project) -> String {
        let title = if self.is_damaged {
            format!("Damaged: {}", self.title)
        } else {
            self.title.to_owned()
        };
        let project = undirected(&project.name);
        if self.is_of_issue {
            return layout::tab_of_issue(self.attention, &title, &project);
        }
        layout::tab(self.attention, self.open, &title, &project)
    }

    fn header(&self, project: &Project) -> Markup {
        let tabs = [
            (Tab::Inbox, INBOX_PATH, strings::attention::TITLE),
            (Tab::Issues, "/", strings::ISSUES),
            (Tab::Board, "/board", strings::board::TITLE),
            (Tab::Agents, "/agents", strings::agents::TITLE),
            (Tab::Activity, "/activity", strings::activity::TITLE),
            (Tab::Statistics, "/stats", strings::stats::TAB),
            (Tab::Memory, "/memory", strings::memory::TITLE),
            (Tab::Sync, "/sync", strings::sync::TITLE),
        ];
        let tabs =
            tabs.into_iter().filter(|(tab, ..)| *tab != Tab::Sync || !project.syncs.is_empty());
        html! {
            header.top {
                a.brand href="/" title=(undirected(&project.name)) {
                    img src=(project.icon.path) alt="" width="28" height="28";
                    bdi { (undirected(&project.name)) }
                }
                nav.tabs aria-label="Pages" {
                    ul {
                        @for (tab, path, name) in tabs {
                            li {
                                a href=(path) aria-current=[(self.tab == Some(tab)).then_some("page")] {
                                    (name)
                                    @if tab == Tab::Inbox && self.attention > 0 { " " span.count { (self.attention) } }
                                }
                            }
                        }
                    }
                }
                @if project.has_actions { a.new href="/new" { "New issue" } }
                (self.live())
            }
        }
    }

    /// Renders the state of the page, and the controls for its reader, which the script shows.
    fn live(&self) -> Markup {
        html! {
            div.follow hidden[self.version.is_none()] {
                p #live.live data-state="off"
                    data-connecting="connecting" data-connected="live"
                    data-disconnected="stale since {time}, ages as of then: reconnecting"
                    data-stale="stale since {time}, ages as of then: reloading"
                    data-troubled="connected: see the problem" data-failing="waiting for the store"
                    data-paused="paused, ages as of {time}"
                {
                    @if self.has_forms { "reload the page to see changes" } @else { "reloads every " (REFRESH_S) " s" }
                }
                button #step type="button" hidden data-step="{count} changes" data-step-one="1 change" {}
                button #pause type="button" hidden data-pause=(layout::PAUSE) data-resume="Resume" {
                    (layout::PAUSE)
                }
            }
        }
    }
}

/// Renders the choice of the appearance and the language. The script shows it.
fn appearance(project: &Project) -> Markup {
    let choices =
        [("Theme", "theme", &wall::THEMES[..]), ("Rows", "density", &wall::DENSITIES[..])];
    html! {
        div #appearance.appearance role="group" aria-label="Appearance" hidden {
            @for (label, name, options) in choices {
                label {
                    (label)
                    select name=(name) autocomplete="off" {
                        @for (value, shown) in options { option value=(value) { (shown) } }
                    }
                }
            }
            label {
                "Language"
                select name="lang" autocomplete="off" {
                    @for language in project.languages.all() {
                        option value=(language.tag) lang=(language.tag) translate="no" { (language.name()) }
                    }
                }
            }
        }
    }
}
