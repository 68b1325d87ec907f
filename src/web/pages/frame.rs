//! What stands around the content of every page.

use maud::{DOCTYPE, Markup, html};

use super::icons;
use crate::domain::Timestamp;
use crate::web::assets::{ICON, SCRIPT, STYLE};
use crate::web::words::Words;

/// How often a page loads itself anew where the script does not run.
const REFRESH_S: u32 = 30;

/// The pages in the navigation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::web) enum Tab {
    Issues,
    Board,
    Agents,
    Activity,
    Statistics,
}

/// A page around its content.
pub(in crate::web) struct Frame<'a> {
    pub words: &'a Words,
    /// What the page is called.
    pub title: &'a str,
    /// Where it stands in the navigation.
    pub tab: Option<Tab>,
    /// How many issues are open, if that is known.
    pub open: Option<usize>,
    /// Which moment the page shows.
    pub now: Timestamp,
    /// Where the store stood then, for a page that changes with it.
    pub place: Option<&'a str>,
    /// Why nothing can be changed.
    pub trouble: Option<&'a str>,
    /// What else its head says.
    pub head: Option<&'a Markup>,
    /// Where the same data is as JSON.
    pub json: Option<&'a str>,
}

impl Frame<'_> {
    /// The whole document.
    pub fn around(&self, content: &Markup) -> Markup {
        let words = &self.words.frame;
        html! {
            (DOCTYPE)
            html lang=(words.language) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if self.place.is_some() { noscript { meta http-equiv="refresh" content=(REFRESH_S); } }
                    title { ((words.tab)(self.open, self.title)) }
                    link rel="icon" href=(ICON.path) type="image/svg+xml";
                    link rel="stylesheet" href=(STYLE.path);
                    @if let Some(head) = self.head { (head) }
                    script src=(SCRIPT.path) defer {}
                }
                body data-changed=(words.live.changed) {
                    (icons::sprite())
                    a.skip href="#main" { (words.skip) }
                    (self.header())
                    main #main tabindex="-1" data-now=(self.now.unix_millis()) data-place=[self.place] {
                        @if let Some(trouble) = self.trouble {
                            p #trouble.notice.bad role="alert" { (trouble) }
                        }
                        (content)
                    }
                    footer.bottom {
                        p { (words.read_only) }
                        @if let Some(json) = self.json { p { a href=(json) { (words.as_json) } } }
                    }
                    p #said.unseen role="status" {}
                }
            }
        }
    }

    fn header(&self) -> Markup {
        let (frame, terms) = (&self.words.frame, &self.words.terms);
        let tabs = [
            (Tab::Issues, "/", terms.issues),
            (Tab::Board, "/board", frame.board),
            (Tab::Agents, "/agents", frame.agents),
            (Tab::Activity, "/activity", frame.activity),
            (Tab::Statistics, "/stats", frame.statistics),
        ];
        let live = &frame.live;
        html! {
            header.top {
                a.brand href="/" {
                    img src=(ICON.path) alt="" width="28" height="28";
                    span { (terms.site) }
                }
                nav.tabs aria-label=(frame.pages) {
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
                p #live.live hidden[self.place.is_none()] data-state="off" data-connecting=(live.connecting)
                    data-connected=(live.connected) data-disconnected=(live.disconnected)
                {
                    ((live.reloads)(REFRESH_S))
                }
            }
        }
    }
}
