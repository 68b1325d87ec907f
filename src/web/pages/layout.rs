//! The document around the content of every page: head, header, navigation and footer.

use maud::{DOCTYPE, Markup, html};

use super::icons;
use crate::domain::Timestamp;
use crate::web::assets::{ICON, SCRIPT, STYLE};
use crate::web::strings::{self, layout};

/// How often a page reloads in browsers without scripts.
const REFRESH_S: u32 = 30;

/// A page in the navigation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::web) enum Tab {
    Issues,
    Board,
    Agents,
    Activity,
    Statistics,
}

/// What the document needs beside the content.
#[derive(Default)]
pub(in crate::web) struct Layout<'a> {
    pub title: &'a str,
    /// The current page in the navigation.
    pub tab: Option<Tab>,
    /// How many issues are open, if known.
    pub open: Option<usize>,
    /// The moment that the page shows.
    pub now: Option<Timestamp>,
    /// The version of the store that the page shows, if the page follows changes.
    pub version: Option<&'a str>,
    /// Why the store cannot be changed.
    pub trouble: Option<&'a str>,
    /// Further elements of the head.
    pub head: Option<&'a Markup>,
    /// The path of the same data as JSON.
    pub json: Option<&'a str>,
}

impl Layout<'_> {
    /// Returns the whole document.
    pub fn around(&self, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang=(strings::LANGUAGE) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if self.version.is_some() { noscript { meta http-equiv="refresh" content=(REFRESH_S); } }
                    title { (layout::tab(self.open, self.title)) }
                    link rel="icon" href=(ICON.path) type="image/svg+xml";
                    link rel="stylesheet" href=(STYLE.path);
                    @if let Some(head) = self.head { (head) }
                    script src=(SCRIPT.path) defer {}
                }
                body data-changed=(layout::CHANGED) {
                    (icons::sprite())
                    a.skip href="#main" { (layout::SKIP) }
                    (self.header())
                    main #main tabindex="-1" data-now=[self.now.map(|now| now.unix_millis())]
                        data-version=[self.version]
                    {
                        @if let Some(trouble) = self.trouble {
                            p #trouble.notice.bad role="alert" { (trouble) }
                        }
                        (content)
                    }
                    footer.bottom {
                        p { (layout::READ_ONLY) }
                        @if let Some(json) = self.json { p { a href=(json) { (layout::AS_JSON) } } }
                    }
                    p #said.unseen role="status" {}
                }
            }
        }
    }

    fn header(&self) -> Markup {
        let tabs = [
            (Tab::Issues, "/", strings::ISSUES),
            (Tab::Board, "/board", strings::board::TITLE),
            (Tab::Agents, "/agents", strings::agents::TITLE),
            (Tab::Activity, "/activity", strings::activity::TITLE),
            (Tab::Statistics, "/stats", strings::stats::TITLE),
        ];
        html! {
            header.top {
                a.brand href="/" {
                    img src=(ICON.path) alt="" width="28" height="28";
                    span { (strings::SITE) }
                }
                nav.tabs aria-label=(layout::PAGES) {
                    ul {
                        @for (tab, path, name) in tabs {
                            li {
                                a href=(path) aria-current=[(self.tab == Some(tab)).then_some("page")] {
                                    (name)
                                }
                            }
                        }
                    }
                }
                p #live.live hidden[self.version.is_none()] data-state="off"
                    data-connecting=(layout::CONNECTING) data-connected=(layout::CONNECTED)
                    data-disconnected=(layout::DISCONNECTED)
                {
                    (layout::reloads(REFRESH_S))
                }
            }
        }
    }
}
