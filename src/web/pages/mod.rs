//! The pages: data in, markup out; one file each. Here is what they share.

pub(super) mod issues;
pub(super) mod not_found;

use axum::http::{HeaderName, header};
use axum::response::IntoResponse;
use maud::{DOCTYPE, Markup, html};

/// Where the style sheet is; changes with the version, so that it can be cached for good.
pub(super) const STYLE_PATH: &str = concat!("/assets/", env!("CARGO_PKG_VERSION"), "/style.css");
/// Where the icon is.
pub(super) const ICON_PATH: &str = concat!("/assets/", env!("CARGO_PKG_VERSION"), "/icon.svg");

/// How often a page loads itself anew.
const REFRESH_S: u32 = 30;

/// The style sheet.
pub(super) async fn style() -> impl IntoResponse {
    asset("text/css; charset=utf-8", include_str!("../assets/style.css"))
}

/// The icon.
pub(super) async fn icon() -> impl IntoResponse {
    asset("image/svg+xml", include_str!("../assets/icon.svg"))
}

fn asset(
    kind: &'static str,
    body: &'static str,
) -> ([(HeaderName, &'static str); 2], &'static str) {
    // Short, because a build of the same version may bring another file.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=300")], body)
}

/// A page around its content.
fn layout(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="refresh" content=(REFRESH_S);
                title { (title) }
                link rel="icon" href=(ICON_PATH) type="image/svg+xml";
                link rel="stylesheet" href=(STYLE_PATH);
            }
            body {
                header.top {
                    a.brand href="/" {
                        img src=(ICON_PATH) alt="" width="28" height="28";
                        "Issue tracker"
                    }
                    span.quiet { "reloads every " (REFRESH_S) " s" }
                }
                main { (content) }
            }
        }
    }
}
